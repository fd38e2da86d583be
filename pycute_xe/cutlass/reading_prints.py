"""Floor 6: what CuTe's ``print`` shows, read back: layouts, atoms and their tilings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pycute_xe.basis import Basis
from pycute_xe.composed import ComposedLayout
from pycute_xe.cutlass.reading_meanings import SharedPointer, composed
from pycute_xe.cutlass.reading_printed_atoms import copy_atom, mma_atom, tiled_copy, tiled_mma
from pycute_xe.cutlass.reading_text import Reader, at_place, refuse
from pycute_xe.cutlass.template_name import KINDS, WITH_BLOCKS
from pycute_xe.errors import CuteError
from pycute_xe.layout import Layout
from pycute_xe.swizzle import Swizzle

__all__ = ["printed_value"]

_STATIC = re.compile(r"_([0-9]{1,18})")
_TREE = "write what print() shows, as in ((2,4),8):((1,16),2)"
_MMA = ("ThrID", "Shape_MNK", "LayoutA_TV", "LayoutB_TV", "LayoutC_TV")
_COPY = ("ThrID", "ValLayoutSrc", "ValLayoutDst", "ValLayoutRef", "ValueType")
_BLOCK = ("Width", "Height", "CopyType", "ValueType", "XMode", "YMode", "TiledStrides")
_BITS = ("ValueType", "CopyType")
_HEADS: dict[str, tuple[str, ...]] = {
    "TiledMMA": ("ThrLayoutVMNK", "PermutationMNK"),
    "MMA_Atom": _MMA,
    "TiledCopy": ("Tiler_MN", "TiledLayout_TV"),
    "Copy_Atom": _COPY,
}
"""The lines that CuTe prints below each head. Sources: mma_atom.hpp, copy_atom.hpp."""

_ATOM_OF = {"TiledMMA": "MMA_Atom", "TiledCopy": "Copy_Atom"}
_BUILD: dict[str, Callable[..., Any]] = {
    "TiledMMA": tiled_mma,
    "MMA_Atom": mma_atom,
    "TiledCopy": tiled_copy,
    "Copy_Atom": copy_atom,
}


def printed_value(reader: Reader, op: Any, value_type: Any) -> Any:
    """Return the value of a printed text, `NotImplemented` for a text that is not a print.

    >>> printed_value(Reader("(_4,8):(_1,4)"), None, None)
    Layout((4, 8), (1, 4))
    """
    _skip_label(reader)
    if reader.peek().text in _HEADS and reader.peek(1).text in (*_lines_of(reader), "("):
        return _printed_atom(reader, op, value_type)
    starts = reader.peek().kind in ("number", "flag") or reader.peek().text in ("(", "Sw")
    static = _STATIC.fullmatch(reader.peek().text) or reader.peek().text == "_"
    if not starts and not static:
        return NotImplemented
    if op is not None or value_type is not None:
        reader.refuse("a layout has neither op nor value_type", "leave them out")
    at = reader.peek().at
    try:
        found = _layout(reader)
    except CuteError as error:
        raise at_place(reader.text, at, error) from None
    if reader.peek().kind != "end":
        reader.expected("the end", _TREE)
    return found


def _skip_label(reader: Reader) -> None:
    """Step over the name of a variable that stands before its print: ``tiled_mma: TiledMMA``."""
    name = reader.peek()
    is_label = name.kind == "name" and name.text not in _HEADS and not _STATIC.fullmatch(name.text)
    if is_label and reader.follows(name.text, ":"):
        reader.step()
        reader.step()


def _lines_of(reader: Reader) -> tuple[str, ...]:
    return _HEADS[reader.peek().text]


def _printed_atom(reader: Reader, op: Any, value_type: Any) -> Any:
    head, at = reader.peek().text, reader.peek().at
    found = _section(reader, head)
    if head in _ATOM_OF:
        found |= _section(reader, _ATOM_OF[head])
    if reader.peek().kind != "end":
        reader.expected("the end", "read one print at a time")
    if value_type is not None and "ValueType" not in found:
        refuse(reader.text, at, "an MMA has its types in its operation", "leave value_type out")
    try:
        build = _BUILD[head]
        return build(found, op, value_type) if "ValueType" in found else build(found, op)
    except CuteError as error:
        raise at_place(reader.text, at, error) from None


def _section(reader: Reader, head: str) -> dict[str, Any]:
    """Read a head and its lines, each once and in any order."""
    reader.take(head, fix=f"paste the whole print, with its {head}")
    kind, keys = _kind(reader) if head == "Copy_Atom" else ("", ())
    wanted = (*keys, *(key for key in _HEADS[head] if key not in keys))
    found: dict[str, Any] = {}
    while reader.peek().text in wanted:
        key = reader.peek().text
        if key in found:
            reader.refuse(f"{key} stands twice", "leave one out")
        reader.step()
        reader.take(":", fix="write name: value, as print() does")
        at = reader.peek().at
        try:
            found[key] = _bits(reader) if key in _BITS else _layout(reader)
        except CuteError as error:
            raise at_place(reader.text, at, error) from None
    missing = [key for key in wanted if key not in found]
    if missing:
        reader.expected(missing[0], f"paste the whole print: it has {', '.join(wanted)}")
    return found | ({"Kind": kind} if kind else {})


def _kind(reader: Reader) -> tuple[str, tuple[str, ...]]:
    """Read the operation that a block-2D atom names, and return the lines that it adds."""
    if not reader.skip("("):
        return "", ()
    kind = reader.peek().text
    if kind not in KINDS:
        reader.expected("a block-2D operation", f"write one of {', '.join(KINDS)}")
    reader.step()
    reader.take(")", fix="write Copy_Atom (XE_LOAD_2D), as print() does")
    return kind, (("BlockWidth", *_BLOCK) if kind in WITH_BLOCKS else _BLOCK)


def _bits(reader: Reader) -> int:
    if reader.peek().kind != "number":
        reader.expected("a number of bits", "write 16b, as print() does")
    value = int(reader.step().text)
    reader.take("b", fix="write 16b, as print() does")
    return value


def _layout(reader: Reader) -> Any:
    """Read a layout, a swizzled one, a tuple of such or of integers, or ``_``."""
    if reader.peek().text == "Sw":
        return _swizzled(reader)
    shape = _tree(reader)
    return Layout(shape, _tree(reader)) if reader.skip(":") else shape


def _swizzled(reader: Reader) -> Swizzle | ComposedLayout:
    reader.take("Sw")
    reader.take("<")
    numbers: list[int] = []
    for mark in (",", ",", ">"):
        if reader.peek().kind != "number":
            reader.expected("a number", "write Sw<3,4,3>")
        numbers.append(int(reader.step().text))
        reader.take(mark, fix="write Sw<3,4,3>")
    swizzle = Swizzle(*numbers)
    if not reader.skip("o"):
        return swizzle
    if reader.peek().kind == "flag":
        flag = reader.step().text
        offset: Any = SharedPointer(int(flag[flag.index("[") + 1 : flag.index("b]")]))
    else:
        offset = _tree(reader)
    reader.take("o", fix="write Sw<3,4,3> o 0 o (8,64):(64,1)")
    return composed(swizzle, offset, _layout(reader))


def _tree(reader: Reader) -> Any:
    if reader.peek().text != "(":
        return _leaf(reader)
    reader.step()
    reader.deeper()
    modes: list[Any] = []
    while not reader.skip(")"):
        modes.append(_layout(reader))
        if reader.peek().text not in (",", ")"):
            reader.expected("',' or ')'", _TREE)
        reader.skip(",")
    reader.level -= 1
    return tuple(modes)


def _leaf(reader: Reader) -> Any:
    token = reader.peek()
    static = _STATIC.fullmatch(token.text)
    if token.text == "_":
        reader.step()
        negative = reader.peek().text.startswith("-") and reader.peek().at == token.at + 1
        return _leaf(reader) if negative else None  # _-4 is a static integer
    if token.kind != "number" and static is None:
        reader.expected("an integer or '('", _TREE)
    reader.step()
    value = int(static[1] if static else token.text)
    path: list[int] = []
    while reader.skip("@"):
        if reader.peek().kind != "number":
            reader.expected("the number of a mode", "write 1@0")
        path.append(int(reader.step().text))
    return Basis(value, tuple(reversed(path))) if path else value
