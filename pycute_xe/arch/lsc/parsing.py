"""vISA text as LSC messages."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import cast

from pycute_xe.arch.block2d import Block2D, Op
from pycute_xe.arch.lsc.fields import SIZES, Address, DataType, Operand, null_or_name, operations
from pycute_xe.arch.lsc.message import Block2DMessage, Message
from pycute_xe.errors import CuteError, InputError
from pycute_xe.signatures import typed

__all__ = ["parse", "NAME", "Reader", "number", "operand"]

# ------------------------------------------------------------ reader
# Reading text piece by piece; what does not fit is refused with its column.

NAME = r"(?:%[0-9]+|%{0,2}[A-Za-z_][A-Za-z_0-9]*)(?:[.][0-9]+)?"
NUMBER = r"0[xX][0-9a-fA-F]{1,16}\b|[0-9]{1,20}\b"
_TYPED = r":\s*u?[bwdq]\b"
_BLANK = re.compile(r"(\s|//[^\n]*)*")


class Reader:
    """A text and how far it has been read; blanks and ``//`` comments are skipped.

    >>> reader = Reader("lsc_load .ugm // comment")
    >>> reader.take(r"[a-z_]+", "a word"), reader.take(r"[.]", "a dot"), reader.maybe("flat")
    ('lsc_load', '.', None)
    """

    def __init__(self, text: object) -> None:
        """Start at the beginning; `InputError` unless it is a string."""
        if not isinstance(text, str):
            raise InputError(
                "parse", {"text": text}, "the text is not a string", "give a line of vISA text"
            )
        self.text = text
        self.place = 0
        self._places: dict[str, int] = {}
        self._skip()

    def maybe(self, pattern: str) -> str | None:
        """Read what matches, if it comes next."""
        match = re.compile(pattern).match(self.text, self.place)
        if match is None:
            return None
        self.place = match.end()
        self._skip()
        return match.group()

    def follows(self, pattern: str) -> bool:
        """Whether what comes next matches; nothing is read."""
        return re.compile(pattern).match(self.text, self.place) is not None

    def take(self, pattern: str, what: str) -> str:
        """Read what matches; `InputError` at the column where something else stands."""
        text = self.maybe(pattern)
        if text is None:
            raise self.error(f"expected {what}")
        return text

    def ended(self) -> bool:
        """Whether only blanks and comments are left."""
        return self.place == len(self.text)

    def mark(self, field: str, place: int | None = None) -> None:
        """Remember where the text of a field stands: at a place, here if none is given."""
        self._places[field] = self.place if place is None else place

    @contextmanager
    def within(self, place: int) -> Generator[None]:
        """Report what is refused inside as an error of the text.

        It points at the field that is refused, the last of several that were marked; at the place
        where none was.
        """
        try:
            yield
        except InputError:
            raise
        except CuteError as refused:
            marked = [self._places[name] for name in refused.operands if name in self._places]
            at = max(marked, default=place)
            raise self.error(refused.condition, refused.fix, at) from refused

    def error(self, condition: str, fix: str = "", place: int | None = None) -> InputError:
        """Make the error that points at a place, the present one if none is given."""
        at = self.place if place is None else place
        before = self.text[:at]
        start = before.rfind("\n") + 1
        line = self.text[start:].split("\n", 1)[0].replace("\t", " ")
        where = f"column {at - start + 1}"
        if "\n" in self.text.strip():
            where = f"line {before.count(chr(10)) + 1}, {where}"
        pointed = f"{fix or 'correct the text'}\n    {line}\n    {' ' * (at - start)}^"
        return InputError("parse", {"text": self.text.strip()}, f"{where}: {condition}", pointed)

    def _skip(self) -> None:
        blanks = _BLANK.match(self.text, self.place)
        self.place = blanks.end() if blanks else self.place


def number(text: str) -> int:
    """Return a decimal number, leading zeros and all, or a hexadecimal one.

    >>> number("0x10"), number("-010")
    (16, -10)
    """
    return int(text, 16 if "x" in text.lower() else 10)


def operand(reader: Reader, what: str) -> int | str:
    """Read a number, perhaps typed, or a name, perhaps with its region.

    >>> operand(Reader("-16:d"), "x"), operand(Reader("V3 (0, 1)"), "x")
    (-16, 'V3(0,1)')
    """
    sign = reader.maybe(r"-") or ""
    digits = reader.maybe(NUMBER)
    if digits is not None:
        reader.maybe(_TYPED)
        return number(sign + digits)
    if sign:
        raise reader.error("expected a number")
    name = reader.take(NAME, f"{what}: a number or a name such as V12")
    return name + _listed(reader, "(,)") + _listed(reader, "<;,>")


def _listed(reader: Reader, marks: str) -> str:
    """Numbers between marks, if the first mark comes next: ``(0,1)``, ``<0;1,0>``."""
    opening, *rest = marks
    if reader.maybe(re.escape(opening)) is None:
        return ""
    text = opening
    for mark in rest:
        text += reader.take("[0-9]+", "a number")
        text += reader.take(re.escape(mark), mark)
    return text


# ------------------------------------------------------------ parsing

_SIZE = r"([du](?:8[uc]32|16[uc]32h?|8|16|32|64))"
_DATA = _SIZE + r"(?:x([0-9]{1,3}))?(t)?\b"
_QUAD = _SIZE + r"\s*[.]\s*([xyzw]+)\b"
_UNADDRESSED = rf"{NAME}\s*:"
"""How a store begins that leaves its address out, as `Block2D` prints it."""
_ADDRESS = ("V1", "V2", "V3", "V4", "V5", "V6")
"""The operands of an address that is left out: those of `Block2DMessage`."""
_BLOCK = r"[du](8|16|32|64)\s*\.\s*(?:([0-9]{1,9})x)?([0-9]{1,9})x([0-9]{1,9})([nt]?)([nt]?)\b"


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands before the operands, and where the operation and the sizes stand."""

    predicate: str | None
    op: str
    sfid: str
    l1: str
    l3: str
    exec_mask: str
    exec_size: int | None
    size_place: int

    def size(self, transpose: bool) -> int:
        """The execution size; left out, it is 1 for a transposed message, else all 32."""
        if self.exec_size is not None:
            return self.exec_size
        return 1 if transpose else 32


@typed
def parse(text: str) -> Message | Block2DMessage:
    """Return the message of a line of vISA text, in the document's or the compiler's spelling.

    The null register is ``%null``, ``null`` or ``V0``; conversions are ``d8u32`` or ``d8c32``; a
    leading ``u`` of data sizes, ``flat``, ``x1``, the execution size and blanks may differ too.
    A block without an address, as `Block2D` prints it, has the operands V1 to V6.
    Law: ``parse(str(m)) == m``. Raises `InputError` that points at the column.
    Document: vISA manual, LSC_UNTYPED.md, Text.

    >>> print(parse("lsc_load.ugm (M1, 16)  V13:d32x1  flat[ V12 + 256 ]:a64  // a gather"))
    lsc_load.ugm (M1,16) V13:d32 flat[V12+0x100]:a64
    >>> parse("lsc_load.ugm (M1,16) V13:d33 flat[V12]:a64")
    Traceback (most recent call last):
    pycute_xe.errors.InputError: parse(text=...): column 26: expected a data size...
    """
    reader = Reader(text)
    place = reader.place
    head = _head(reader)
    with reader.within(place):
        message = _block(reader, head) if operations()[head.op].block2d else _message(reader, head)
    if not reader.ended():
        raise reader.error("expected the end of the message")
    return message


def _head(reader: Reader) -> _Head:
    predicate = _predicate(reader)
    place = reader.place
    op = reader.take(r"lsc_[a-z_0-9]+", "an operation such as lsc_load").removeprefix("lsc_")
    known = tuple(operations())
    if op not in known:
        close = get_close_matches(op, known) or known
        names = ", ".join(f"lsc_{name}" for name in close)
        raise reader.error("unknown operation", f"one of {names}", place)
    reader.take(r"[.]", "a dot and the unit")
    sfid = reader.take(r"ugml\b|ugm\b|slm\b", "a unit: ugm, ugml or slm")
    l1, l3 = _caching(reader), _caching(reader)
    mask, size, place = "M1", None, reader.place
    if reader.maybe(r"\("):
        if reader.maybe(r"M[0-9]"):
            reader.place = place  # read again as a whole
            reader.take(r"\(", "an execution size in parentheses")
            mask = reader.take(r"M[1-8](_NM)?\b", "an execution mask M1 … M8 or M1_NM … M8_NM")
            reader.take(r",", "a comma")
        place = reader.place
        size = int(reader.take(r"(1|2|4|8|16|32)\b", "an execution size 1, 2, 4, 8, 16 or 32"))
        reader.take(r"\)", "a closing parenthesis")
    return _Head(predicate, op, sfid, l1 or "df", l3 or "df", mask, size, place)


def _predicate(reader: Reader) -> str | None:
    if not reader.maybe(r"\("):
        return None
    sign = reader.maybe(r"!") or ""
    name = reader.take(r"[A-Za-z_][A-Za-z_0-9]*([.](any|all))?", "a predicate such as P1")
    reader.take(r"\)", "a closing parenthesis")
    return sign + name


def _caching(reader: Reader) -> str | None:
    if not reader.maybe(r"[.]"):
        return None
    return reader.take(r"(df|uc|ca|wb|wt|st|ri)\b", "a caching: df, uc, ca, wb, wt, st or ri")


def _message(reader: Reader, head: _Head) -> Message:
    op = operations()[head.op]
    dst = src1 = src2 = None
    if op.kind == "store":
        address = _address(reader, op.strided)
        src1, data = _typed(reader, op.quad)
    else:
        dst, data = _typed(reader, op.quad)
        address = _surface_only(reader) if op.kind == "counter" else _address(reader, op.strided)
    if op.kind == "counter":
        src1 = _counted(reader, data)
    if op.kind == "atomic":
        src1, src2 = reader.maybe(NAME), reader.maybe(NAME)
    moved = head.size(data.transpose), data, address, dst, src1, src2
    return Message(op.name, head.sfid, *moved, head.l1, head.l3, head.predicate, head.exec_mask)


def _typed(reader: Reader, quad: bool) -> tuple[str, DataType]:
    """An operand with its data type: ``V13:d32x4``."""
    name = reader.take(NAME, "a register operand such as V13")
    reader.take(r":", "a colon and the data type")
    place = reader.place
    text = reader.maybe(_QUAD if quad else _DATA)
    if text is None:
        more = "and channels, as in d32.xyz" if quad else "perhaps x2 … x64, t for transposed"
        raise reader.error("expected a data size", f"{', '.join(SIZES)}, {more}")
    match = cast("re.Match[str]", re.fullmatch(_QUAD if quad else _DATA, text))
    size, second, *rest = match.groups()
    if second:
        reader.mark("mask" if quad else "vector", place + match.start(2))
    with reader.within(place):
        if quad:
            return name, DataType(_size(size), mask=second)
        return name, DataType(_size(size), int(second or 1), bool(rest[0]))


def _counted(reader: Reader, data: DataType) -> str:
    """The data operand of an append counter: its type, if given, is that of the destination."""
    place = reader.place
    name = reader.take(NAME, "a register operand such as V10")
    if reader.maybe(r":"):
        reader.place = place  # read again, type and all
        name, given = _typed(reader, quad=False)
        if given != data:
            raise reader.error(f"the destination is {data}", "use the same data size", place)
    return name


def _size(text: str) -> str:
    """A data size as the document spells it: d8u32 for d8c32, d32 for u32."""
    return "d" + text[1:].replace("c", "u")


def _address(reader: Reader, strided: bool) -> Address:
    place = reader.place
    model, surface = _model(reader)
    reader.take(r"\[", "an address: flat[V12]:a64, or a surface such as bti(0x4)[V12]:a32")
    reader.mark("scale")
    scale = reader.maybe(NUMBER)
    if scale:
        reader.take(r"[*]", "a star between scale and register")
    reader.mark("register")
    register = reader.take(NAME, "a register operand such as V12")
    sign = reader.maybe(r"[+-]")
    reader.mark("offset")
    offset = number(sign + reader.take(NUMBER, "an offset")) if sign else 0
    pitch = _pitch(reader, strided)
    reader.take(r"\]", "a closing bracket")
    reader.take(r":", "an address size: :a16, :a32 or :a64")
    bits = reader.take(r"a(16|32|64)\b", "an address size: a16, a32 or a64")
    with reader.within(place):
        return Address(model, int(bits[1:]), register, surface, number(scale or "1"), offset, pitch)


def _pitch(reader: Reader, strided: bool) -> Operand | None:
    place = reader.place
    if not reader.maybe(r","):
        return None
    if not strided:
        raise reader.error("only strided operations have a pitch", "leave it out", place)
    reader.mark("pitch")
    return operand(reader, "a pitch")


def _model(reader: Reader) -> tuple[str, Operand]:
    model = reader.maybe(r"(flat|bss|ss|bti)\b") or "flat"
    if model == "flat":
        return model, 0
    reader.take(r"\(", "a surface in parentheses")
    reader.mark("surface")
    surface = operand(reader, "a surface")
    reader.take(r"\)", "a closing parenthesis")
    return model, surface


def _surface_only(reader: Reader) -> Address:
    place = reader.place
    model, surface = _model(reader)
    if reader.place == place:
        raise reader.error("expected a surface such as bti(0xa0)")
    with reader.within(place):
        return Address(model, 32, None, surface)


def _block(reader: Reader, head: _Head) -> Block2DMessage:
    if head.size(transpose=True) != 1:
        condition = "block-2D messages have execution size 1"
        raise reader.error(condition, "write (M1_NM,1)", head.size_place)
    dst = src1 = None
    where = list[Operand](_ADDRESS)
    if head.op == "store_block2d":
        if not reader.follows(_UNADDRESSED):
            where = _block_address(reader)
        reader.mark("src1")
        src1, block = _typed_block(reader, "store")
    else:
        dst, block = _typed_block(reader, "load")
        if not reader.ended():
            where = _block_address(reader)
    if block.op == "prefetch":
        dst = None
    base, width, height, pitch, x, y = where
    moved = dst, src1, (base, width, height, pitch), x, y
    return Block2DMessage(
        block, head.sfid, *moved, head.l1, head.l3, head.exec_mask, head.predicate
    )


def _typed_block(reader: Reader, op: Op) -> tuple[str, Block2D]:
    """An operand with its block: ``V13:d16.2x16x32nn``, count, width, height."""
    name = reader.take(NAME, "a register operand such as V13")
    reader.take(r":", "a colon and the block")
    place = reader.place
    text = reader.take(_BLOCK, "a block such as d16.2x16x32nn: size, count, width, height")
    match = cast("re.Match[str]", re.fullmatch(_BLOCK, text))
    bits, count, width, height, transpose, vnni = match.groups()
    for index, field in enumerate(("count", "width", "height"), 2):
        reader.mark(field, place + max(match.start(index), 0))
        if match[index] and not int(match[index]):
            raise reader.error(f"the {field} is 0", "use 1 or more", place + match.start(index))
    if op == "load" and null_or_name("parse", "dst", name) is None:
        op = "prefetch"
    with reader.within(place):
        sizes = int(bits), int(height), int(width), int(count or 1)
        return name, Block2D(op, *sizes, transpose == "t", vnni == "t")


def _block_address(reader: Reader) -> list[Operand]:
    reader.maybe(r"flat\b")
    reader.take(r"\[", "a surface and a position: flat[base,width,height,pitch,x,y]")
    operands: list[Operand] = []
    for index, what in enumerate(("base", "width", "height", "pitch", "x", "y")):
        if index:
            reader.take(r",", f"a comma and the {what}")
        reader.mark(what if what in "xy" else f"surface {what}")
        operands.append(operand(reader, f"the {what}"))
    reader.take(r"\]", "a closing bracket (x and y take no immediate offsets here)")
    return operands
