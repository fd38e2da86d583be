"""Values of the library from C++ text: types as written, and what CuTe prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

from pycute_xe.algebra import coalesce, filter_zeros
from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.copy_atom import CopyAtom, make_copy_atom
from pycute_xe.atom.linear_op import LinearOp, linear_names
from pycute_xe.atom.mma_atom import MmaAtom, make_mma_atom
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.basis import Basis
from pycute_xe.composed import ComposedLayout
from pycute_xe.cutlass.known_names import KINDS, WITH_BLOCKS, catalogue
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.legacy_name import LegacyCopyName
from pycute_xe.cutlass.names import get_atom
from pycute_xe.cutlass.reading_text import (
    STATIC,
    Reader,
    at_place,
    cpp_names,
    modes_of,
    parse_types,
    refuse,
)
from pycute_xe.cutlass.reading_values import SharedPointer, composed, value_of
from pycute_xe.errors import CuteError, DTypeError, InputError, ShapeError
from pycute_xe.int_tuple import leaves
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric, numerics
from pycute_xe.signatures import shortly, typed
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import is_tuple

__all__ = ["from_cute"]

# ------------------------------------------------------------ reading candidates
# Which atoms of the catalogue have the layouts that were printed.

# Of either kind of operation, which its overloads tell apart.
_made = cast("Callable[[Block2DOp | LinearOp, Numeric], CopyAnswers]", make_copy_atom)

_SHOWN = 6
Layouts = tuple[Layout, ...]


def mma_printed_so(thr_id: Layout, shape_mnk: Any, layouts: Layouts, op: Any) -> MmaAtom:
    """Return the MMA atom that prints so: the one there is, or that of ``op``.

    ``layouts`` are those of A, B and C. Raises `CuteError` where several atoms do, none does, or
    that of ``op`` does not.
    """
    wanted = (shape_mnk, *map(_plain, (thr_id, *layouts)))
    if op is not None:
        atom = _operation(op, None)
        if not isinstance(atom, MmaAtom):
            raise CuteError("print", {"op": op}, "op is not an MMA operation", "give XE_DPAS_TT<…>")
        if _mma_print(atom) != wanted:
            raise _other(atom, [a.name for a in _mmas() if _mma_print(a) == wanted])
        return atom
    atoms = [atom for atom in _mmas() if _mma_print(atom) == wanted]
    if len(atoms) == 1:
        return atoms[0]
    raise _several([atom.name for atom in atoms], "MMA atom", "op")


def _mma_print(atom: MmaAtom) -> tuple[Any, ...]:
    tvs = (atom.thr_id, atom.tv_layout_A, atom.tv_layout_B, atom.tv_layout_C)
    return (atom.shape_mnk, *map(_plain, tvs))


@cache
def _mmas() -> tuple[MmaAtom, ...]:
    linear = tuple(linear_names())
    names = (name for name in catalogue() if not name.startswith(("XE_2D", *linear)))
    atoms = (get_atom(name) for name in names if "TT" in name)
    return tuple(atom for atom in atoms if isinstance(atom, MmaAtom))


def copy_printed_so(
    layouts: Layouts, bits: int, op: Any, value_type: Any, fits: Callable[[CopyAnswers], bool]
) -> CopyAnswers:
    """Return the copy atom that prints so: the one there is, or that of ``op`` and ``value_type``.

    ``layouts`` are ThrID and those of source, destination and reference, ``bits`` those of a value;
    ``fits`` says whether an atom is the one of the tiling that was printed.
    Raises `CuteError` where several atoms do, none does, or the one that is told does not.
    """
    numeric = _type_of(bits, value_type)
    wanted = _in_one_form(layouts)
    stand_in = numeric or _of_width(bits)[0]
    if op is None:
        alike = (a for a in _copies(size(layouts[3]), stand_in) if _copy_print(a) == wanted)
        fitting = list(filter(fits, alike))
        if len(fitting) != 1:
            options = "op" if numeric or not fitting else "op= and value_type"
            raise _several(list(dict.fromkeys(map(str, fitting))), "copy atom", options)
        atom = fitting[0]
    else:
        atom = _of_operation(op, stand_in, wanted)
    if numeric is None:
        condition = f"{atom} prints so for every type of {bits} bits"
        named = ", ".join(f'"{kind}"' for kind in _of_width(bits))
        raise CuteError("print", {}, condition, f"give value_type= one of {named}")
    return atom


def _of_operation(op: Any, numeric: Numeric, wanted: Layouts) -> CopyAnswers:
    atom = _operation(op, numeric)
    if isinstance(atom, MmaAtom):
        raise CuteError("print", {"op": op}, "op is an MMA, not a copy", "give XE_LOAD_2D<…>")
    turned = [atom]
    if isinstance(atom, LegacyCopyAtom):
        turned.append(LegacyCopyAtom(atom.name, numeric, not atom.m_major))
    for candidate in turned:
        if _copy_print(candidate) == wanted:
            return candidate
    near = [str(a) for a in _copies(size(wanted[3]), numeric) if _copy_print(a) == wanted]
    raise _other(atom, near)


def _copy_print(atom: CopyAnswers) -> Layouts:
    tvs = cast("Any", atom)
    return _in_one_form((atom.thr_id, tvs.layout_src_tv, tvs.layout_dst_tv, atom.layout_ref_tv))


def _in_one_form(layouts: Layouts) -> Layouts:
    """The layouts in one form; a side without owners, memory, tells that and nothing else.

    CUTLASS's older traits differ among themselves in what they write there.
    """
    plain = map(_plain, layouts)
    return tuple(tv[0] if len(tv) > 1 and _unowned(tv[0]) else tv for tv in plain)


def _unowned(threads: Layout) -> bool:
    return size(threads) > 1 and size(filter_zeros(threads)) == 1


def _copies(count: int, numeric: Numeric) -> Iterator[CopyAnswers]:
    """Atoms of the catalogue that move so many values."""
    for name in catalogue():
        if "TT" in name and not name.startswith("XE_2D"):
            continue
        try:
            atoms = [cast("CopyAnswers", get_atom(name, numeric))]
            if isinstance(atoms[0], LegacyCopyAtom):
                atoms.append(LegacyCopyAtom(atoms[0].name, numeric, m_major=True))
            yield from (atom for atom in atoms if size(atom.layout_ref_tv) == count)
        except CuteError:
            continue  # not for values of this type


def _plain(layout: Layout) -> Layout:
    """A layout in the one form of all that print the same function by modes."""
    return coalesce(layout, (1,) * len(layout)) if len(layout) > 1 else coalesce(layout)


def _operation(op: Any, numeric: Numeric | None) -> MmaAtom | CopyAnswers:
    """The atom of an operation, named in any of the ways there are."""
    if isinstance(op, str):
        op = _named(op)
    if isinstance(op, (CopyAnswers, MmaAtom)):
        return op if numeric is None or isinstance(op, MmaAtom) else _retyped(op, numeric)
    if isinstance(op, Dpas):
        return make_mma_atom(op)
    if numeric is None:
        fix = "give its name, such as XE_DPAS_TT<8,float,bfloat16_t>"
        raise CuteError("print", {"op": op}, f"op {op} is not an MMA operation", fix)
    if isinstance(op, (Block2DOp, LinearOp)):
        return _made(op, numeric)
    if isinstance(op, LegacyCopyName):
        return LegacyCopyAtom(op, numeric)
    kind = type(op).__name__
    condition = f"op, of type {kind}, is not an operation for this print"
    raise CuteError(
        "from_cute", {"op": op}, condition, "give its name, such as XE_LOAD_2D<16,8,16>"
    )


def _retyped(atom: CopyAnswers, numeric: Numeric) -> CopyAnswers:
    if isinstance(atom, LegacyCopyAtom):
        return LegacyCopyAtom(atom.name, numeric, atom.m_major)
    return _made(cast("Any", atom).op, numeric)


def _named(text: str) -> Any:
    named, last = parse_types(Reader(text))
    return value_of(text, named, last)


def _type_of(bits: int, value_type: Any) -> Numeric | None:
    """The type of the values that was told, checked against the width that was printed."""
    if not _of_width(bits):
        known = ", ".join(map(str, sorted({as_numeric(name).bits for name in numerics()})))
        raise DTypeError("print", {"ValueType": f"{bits}b"}, "no type has this width", known)
    if value_type is None:
        return None
    by_name = cpp_names().get(value_type) if isinstance(value_type, str) else None
    numeric = by_name or as_numeric(value_type)
    if numeric.bits != bits:
        condition = f"{numeric} has {numeric.bits} bits, the printed values have {bits}"
        named = ", ".join(map(str, _of_width(bits)))
        raise DTypeError("print", {"value_type": numeric}, condition, f"one of {named}")
    return numeric


def _of_width(bits: int) -> tuple[Numeric, ...]:
    known = (*numerics(), "u128", "u256", "u512")
    kinds = tuple(kind for kind in map(as_numeric, known) if kind.bits == bits)
    return tuple(sorted(kinds, key=lambda kind: kind.kind != "unsigned"))


def _several(names: list[str], kind: str, options: str) -> CuteError:
    if not names:
        condition = f"no {kind} of the catalogue has these layouts"
        return CuteError("print", {}, condition, "give op=, or the type instead of its print")
    condition = f"{len(names)} {kind}s have these layouts: {_listed(names)}"
    if len(names) == 1:
        condition = f"{names[0]} has these layouts for tensors of both orders"
    return CuteError("print", {}, condition, f"tell which, as {options}=…")


def _other(atom: MmaAtom | CopyAnswers, near: list[str]) -> CuteError:
    condition = f"{atom} has other layouts than those printed"
    fix = f"these have them: {_listed(list(dict.fromkeys(near)))}" if near else "give another op"
    return CuteError("print", {"op": str(atom)}, condition, fix)


def _listed(names: list[str]) -> str:
    names = sorted(names, key=lambda name: name.startswith("XE_2D_"))  # older names last
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


# ------------------------------------------------------------ reading printed atoms

Lines = dict[str, Any]


def mma_atom(lines: Lines, op: Any) -> MmaAtom:
    """Return the atom of ``print(mma_atom)``, of the operation ``op`` where several print so.

    Raises `CuteError` with the candidates.
    """
    _demand_layouts(lines, "ThrID", "LayoutA_TV", "LayoutB_TV", "LayoutC_TV")
    layouts = (lines["LayoutA_TV"], lines["LayoutB_TV"], lines["LayoutC_TV"])
    return mma_printed_so(lines["ThrID"], lines["Shape_MNK"], layouts, op)


def tiled_mma(lines: Lines, op: Any) -> TiledMma:
    """Return the tiling of ``print(tiled_mma)``; see `mma_atom`."""
    atom = mma_atom(lines, op)
    _demand_layouts(lines, "ThrLayoutVMNK")
    threads = cast("Layout", lines["ThrLayoutVMNK"])
    condition = "ThrLayoutVMNK does not have the modes V, M, N, K, with 16 work-items as V"
    if len(threads) != 4:
        raise ShapeError("print", {"ThrLayoutVMNK": threads}, condition, "paste the whole line")
    shape, stride = threads.shape, threads.stride
    if any(type(d) is not int or d % SUBGROUP for d in leaves(stride[1:])):
        raise ShapeError("print", {"ThrLayoutVMNK": threads}, condition, "paste the whole line")
    subgroups = Layout(shape[1:], _divided(stride[1:]))
    tiled = TiledMma(atom, subgroups, _permutation(lines["PermutationMNK"]))
    if tiled.thr_layout_vmnk != threads:
        raise ShapeError("print", {"ThrLayoutVMNK": threads}, condition, "paste the whole line")
    return tiled


def _divided(stride: Any) -> Any:
    return tuple(map(_divided, stride)) if is_tuple(stride) else stride // SUBGROUP


def _permutation(modes: Any) -> tuple[Any, ...]:
    if is_tuple(modes):
        return modes
    raise ShapeError(
        "print", {"PermutationMNK": modes}, "it is not a tile (M, N, K)", "paste the whole line"
    )


def copy_atom(lines: Lines, op: Any, value_type: Any) -> CopyAnswers:
    """Return the atom of ``print(copy_atom)``; see `mma_atom`, and ``value_type`` of the width."""
    return _copy_atom(lines, op, value_type, lambda _: True)


def _copy_atom(
    lines: Lines, op: Any, value_type: Any, fits: Callable[[CopyAnswers], bool]
) -> CopyAnswers:
    names = ("ThrID", "ValLayoutSrc", "ValLayoutDst", "ValLayoutRef")
    _demand_layouts(lines, *names)
    layouts = tuple(lines[name] for name in names)
    bits = lines["ValueType"]
    if "Kind" not in lines:
        return copy_printed_so(layouts, bits, op, value_type, fits)
    own = _own_operation(lines)
    atom = copy_printed_so(layouts, bits, own, value_type, fits)
    if op is not None and copy_printed_so(layouts, bits, op, value_type, fits) != atom:
        raise InputError("print", {"op": op}, f"the print names {own} itself", "leave op out")
    return atom


def _own_operation(lines: Lines) -> Block2DOp:
    """The operation that the print of a block-2D atom names."""
    width = lines["Width"]
    sizes = (lines["CopyType"], lines["Height"], width, lines.get("BlockWidth", width))
    if not all(type(size) is int for size in sizes):
        fix = "paste the lines as they were printed"
        raise InputError("print", {"sizes": sizes}, "a size is not an integer", fix)
    return Block2DOp(lines["Kind"], *sizes)


def tiled_copy(lines: Lines, op: Any, value_type: Any) -> TiledCopy:
    """Return the tiling of ``print(tiled_copy)``; see `copy_atom`."""
    _demand_layouts(lines, "TiledLayout_TV")
    tile, layout = lines["Tiler_MN"], lines["TiledLayout_TV"]
    if not is_tuple(tile) or not all(type(extent) is int for extent in tile):
        fix = "paste the line Tiler_MN as it was printed"
        raise InputError("print", {"Tiler_MN": tile}, "it is not a tuple of extents", fix)

    def fits(atom: CopyAnswers) -> bool:
        return not isinstance(atom, CopyAtom) or modes_of(atom, layout, tile) is not None

    atom = _copy_atom(lines, op, value_type, fits)
    if not isinstance(atom, CopyAtom):
        return TiledCopy(cast("Any", atom), layout, tile, 1, 0)  # which says why not
    modes = modes_of(atom, layout, tile)
    if modes is None or modes != (lines.get("XMode", modes[0]), lines.get("YMode", modes[1])):
        raise ShapeError(
            "print",
            {"TiledLayout_TV": layout},
            f"it does not begin with one block of {atom}",
            "paste the print of one tiled copy",
        )
    return TiledCopy(atom, layout, tile, *modes)


def _demand_layouts(lines: Lines, *names: str) -> None:
    for name in names:
        if not isinstance(lines[name], Layout):
            raise InputError("print", {name: lines[name]}, "it is not a layout", "write 16:1")


# ------------------------------------------------------------ reading prints
# What CuTe's ``print`` shows, read back: layouts, atoms and their tilings.

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
    static = STATIC.fullmatch(reader.peek().text) or reader.peek().text == "_"
    if not starts and not static:
        return NotImplemented
    if op is not None or value_type is not None:
        reader.refuse("a layout has neither op nor value_type", "leave them out")
    at = reader.peek().at
    try:
        layout = _layout(reader)
    except CuteError as error:
        raise at_place(reader.text, at, error) from None
    if reader.peek().kind != "end":
        reader.expected("the end", _TREE)
    return layout


def _skip_label(reader: Reader) -> None:
    """Step over the name of a variable that stands before its print: ``tiled_mma: TiledMMA``."""
    name = reader.peek()
    is_label = name.kind == "name" and name.text not in _HEADS and not STATIC.fullmatch(name.text)
    if is_label and reader.follows(name.text, ":"):
        reader.step()
        reader.step()


def _lines_of(reader: Reader) -> tuple[str, ...]:
    return _HEADS[reader.peek().text]


def _printed_atom(reader: Reader, op: Any, value_type: Any) -> Any:
    head, at = reader.peek().text, reader.peek().at
    fields = _section(reader, head)
    if head in _ATOM_OF:
        fields |= _section(reader, _ATOM_OF[head])
    if reader.peek().kind != "end":
        reader.expected("the end", "read one print at a time")
    if value_type is not None and "ValueType" not in fields:
        refuse(reader.text, at, "an MMA has its types in its operation", "leave value_type out")
    try:
        build = _BUILD[head]
        return build(fields, op, value_type) if "ValueType" in fields else build(fields, op)
    except CuteError as error:
        raise at_place(reader.text, at, error) from None


def _section(reader: Reader, head: str) -> dict[str, Any]:
    """Read a head and its lines, each once and in any order."""
    reader.take(head, fix=f"paste the whole print, with its {head}")
    kind, keys = _kind(reader) if head == "Copy_Atom" else ("", ())
    wanted = (*keys, *(key for key in _HEADS[head] if key not in keys))
    fields: dict[str, Any] = {}
    while reader.peek().text in wanted:
        key = reader.peek().text
        if key in fields:
            reader.refuse(f"{key} stands twice", "leave one out")
        reader.step()
        reader.take(":", fix="write name: value, as print() does")
        at = reader.peek().at
        try:
            fields[key] = _bits(reader) if key in _BITS else _layout(reader)
        except CuteError as error:
            raise at_place(reader.text, at, error) from None
    missing = [key for key in wanted if key not in fields]
    if missing:
        reader.expected(missing[0], f"paste the whole print: it has {', '.join(wanted)}")
    return fields | ({"Kind": kind} if kind else {})


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
    static = STATIC.fullmatch(token.text)
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


# ------------------------------------------------------------ reading


@typed
def from_cute(text: str, *, op: Any = None, value_type: Any = None) -> Any:
    """Return the value of a C++ type, or of what CuTe prints of one.

    Types: ``Layout``, ``Swizzle``, ``ComposedLayout``, ``MMA_Atom``, ``TiledMMA``,
    ``TiledMMAHelper<…>::TiledMMA``, ``Copy_Atom``, ``TiledCopy``, the operations within, tuples,
    integers and element types, as programmers write them and as compilers do, with or without
    ``cute::``, after any ``using name = type;``. Prints: layouts, swizzled ones, MMA and copy atoms
    and their tilings. Law: ``from_cute(x.to_cpp()) == x``; a type of a tiled copy does not hold the
    tensor's shape and pitch, which stay unknown.

    A printed atom does not name its operation, and of its values the width only: ``op`` and
    ``value_type`` do, where several atoms print so. Raises `InputError` with line and column for
    what is not such a text, `CuteError` with the candidates for an atom that is not told, and what
    the values raise that cannot be built. C++: ``print(x)``, or the type of ``x``.

    >>> from_cute("Layout<Shape<_8, Int<33>>, Stride<_33, _1>>")
    Layout((8, 33), (33, 1))
    >>> print(from_cute("cute::MMA_Atom<cute::XE_DPAS_TT<8, float, cutlass::bfloat16_t>>"))
    XE_DPAS_TT<8,f32,bf16,bf16,f32>
    >>> print(from_cute("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"))
    Sw<3,3,3> o 0 o (8,64):(64,1)
    """
    if not isinstance(cast("object", text), str):
        raise InputError(
            "from_cute",
            {"text": shortly(text)},
            f"text is of type {type(text).__name__}",
            'give a str, as in from_cute("Layout<Shape<_8,_4>>")',
        )
    reader = Reader(text)
    value = printed_value(reader, op, value_type)
    if value is not NotImplemented:
        return value
    named, last = parse_types(reader)
    if op is not None or value_type is not None:
        option = "op" if op is not None else "value_type"
        condition = f"{option} tells what a printed atom leaves out; a type names it itself"
        raise InputError("from_cute", {option: option}, condition, f"leave {option} out")
    return value_of(text, named, last)
