"""DPAS messages from text: vISA, or assembly as the disassembler prints it."""

from __future__ import annotations

import re
from functools import cache

from pycute_xe.arch.dpas.message import DpasMessage, Register, element_bytes, is_null
from pycute_xe.arch.dpas.types import precisions, spellings
from pycute_xe.arch.target import grf_bytes
from pycute_xe.errors import InputError, quoted
from pycute_xe.signatures import typed

__all__ = ["parse"]

_NAME = r"(%?[A-Za-z_]\w*)"
_SPACE = re.compile(r"\s*")


@typed
def parse(text: str) -> DpasMessage:
    """Return the DPAS that a line of vISA or of assembly says, operands included.

    vISA: ``dpas.W.A.depth.repeat (mask, size) dst src0 src1 src2``; null, %null and V0 are the null
    operand, and an offset that is left out is 0. Assembly: ``dpas.8x8 (16|M0) r3:f r11:f r19:bf
    r27.0:bf``. Case does not matter in names of types. Law: ``parse(str(m)) == m``.
    Raises `InputError` that names the column, from 1, where the text stops making sense.
    Document: vISA manual, DPAS.md, text.

    >>> parse("dpas.u4.s8.8.4 (M1, 16) V1.0 null V3.0 V4(1,8)").src2
    Register(name='V4', offset=96)
    >>> parse("dpas.8x1 (16|M0) r3:d null:d r11:b r19.0:b").instruction().K
    32
    >>> parse("dpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0")
    Traceback (most recent call last):
        ...
    pycute_xe.errors.InputError: parse(text=dpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0): column 39: ...
    """
    if type(text) is not str:
        text = quoted(text)
    scanner = _Scanner(text)
    _refuse_unlike(scanner)
    unmasked = scanner.maybe(r"\(W\)\s*(?=dpas)") is not None
    scanner.take(r"dpas\.", "dpas.", "write dpas.W.A.depth.repeat")
    assembly = unmasked or scanner.ahead(r"\d+x")
    message = _assembly(scanner, unmasked) if assembly else _visa(scanner)
    if not scanner.done():
        raise scanner.error("the instruction ends here", "leave out the rest")
    return message


class _Scanner:
    """A text, and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.skip()

    def skip(self) -> None:
        """Move past blanks."""
        blanks = _SPACE.match(self.text, self.at)
        self.at = blanks.end() if blanks else self.at

    def maybe(self, pattern: str) -> re.Match[str] | None:
        """Read a pattern if it is there."""
        match = _compiled(pattern).match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def ahead(self, pattern: str) -> bool:
        """Tell whether a pattern comes next."""
        return _compiled(pattern).match(self.text, self.at) is not None

    def take(self, pattern: str, wanted: str, fix: str) -> re.Match[str]:
        """Read a pattern that must be there."""
        match = self.maybe(pattern)
        if match is None:
            raise self.error(f"expected {wanted}", fix)
        return match

    def done(self) -> bool:
        """Tell whether only blanks are left."""
        self.skip()
        return self.at == len(self.text)

    def error(self, condition: str, fix: str, at: int | None = None) -> InputError:
        """Make the error that points at a column, the present one if none is given."""
        column = (self.at if at is None else at) + 1
        rest = self.text[column - 1 :].split(maxsplit=1)
        seen = f", found {quoted(rest[0])}" if rest else ", the text ends"
        return InputError("parse", {"text": self.text}, f"column {column}: {condition}{seen}", fix)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _refuse_unlike(scanner: _Scanner) -> None:
    """Name the relatives of DPAS that these targets do not have."""
    if scanner.ahead(r"(\([^)]*\)\s*)?dpasw\b"):
        raise scanner.error(
            "dpasw is for fused execution units, which no target from PVC on has [DPASW.md]",
            "use dpas",
        )
    if scanner.ahead(r"bdpas\b"):
        raise scanner.error("bdpas needs a platform after Xe3", "use dpas")
    if scanner.ahead(r"\(!?P\d+[^)]*\)"):
        raise scanner.error("dpas takes no predicate [DPAS.md, format]", "leave it out")


def _visa(scanner: _Scanner) -> DpasMessage:
    src1_type, src2_type = _precision(scanner), _precision(scanner)
    depth = scanner.take(r"(\d+)\.", "a depth and a dot", "write 8.")[1]
    repeat = scanner.take(r"\d+", "a repeat count", "write 1 to 8")[0]
    if scanner.ahead(r"\."):
        raise scanner.error("dpas has no modifier, saturation included [DPAS.md]", "leave it out")
    scanner.skip()
    size = scanner.take(
        r"\(\s*(?:(M[1-8](?:_NM)?)\s*,\s*)?(\d+)\s*\)", "(mask, size)", "write (M1, 16)"
    )
    return DpasMessage(
        src1_type,
        src2_type,
        _raw(scanner, "dst"),
        _raw_or_null(scanner, "src0"),
        _raw(scanner, "src1"),
        _region(scanner),
        repeat=int(repeat),
        depth=int(depth),
        exec_size=int(size[2]),
        exec_mask=(size[1] or "M1").upper(),
    )


def _precision(scanner: _Scanner) -> str:
    start = scanner.at
    word = scanner.take(r"(\w+)\.", "a precision and a dot", "write bf., hf., s8., …")[1].lower()
    if word not in spellings():
        known = ", ".join(spellings())
        raise scanner.error("unknown precision", f"one of {known}", start)
    return word


def _raw(scanner: _Scanner, part: str) -> Register:
    """A raw operand, ``V1.64``: a variable and a byte offset."""
    scanner.skip()
    start = scanner.at
    register = _raw_or_null(scanner, part)
    if register is None:
        raise scanner.error(f"{part} cannot be null, only src0 can", "name a variable", start)
    return register


def _raw_or_null(scanner: _Scanner, part: str) -> Register | None:
    scanner.skip()
    match = scanner.take(rf"{_NAME}(?:\.(\d+))?", f"{part}, a variable", "write V1.0")
    return None if is_null(match[1]) else Register(match[1], int(match[2] or 0))


def _region(scanner: _Scanner) -> Register:
    """src2, ``V4(1,8)``: a variable, a register of it and a dword of that."""
    scanner.skip()
    start = scanner.at
    pattern = rf"{_NAME}(?:\(\s*(\d+)\s*,\s*(\d+)\s*\)|\.(\d+))?"
    match = scanner.take(pattern, "src2, a variable", "write V4(0,0)")
    if is_null(match[1]):
        raise scanner.error("src2 cannot be null, only src0 can", "name a variable", start)
    if match[2] is None:
        offset = int(match[4] or 0)
        if offset % 4:
            raise scanner.error("src2 starts at a dword", "write V4(register,dword)", start)
        return Register(match[1], offset)
    return Register(match[1], int(match[2]) * grf_bytes() + int(match[3]) * 4)


def _assembly(scanner: _Scanner, unmasked: bool) -> DpasMessage:
    shape = scanner.take(r"(\d+)x(\d+)\s*", "depth x repeat", "write 8x8")
    size = scanner.take(r"\(\s*(\d+)\s*\|\s*M(\d+)\s*\)", "(size|channel)", "write (16|M0)")
    nibble, rest = divmod(int(size[2]), 4)
    if rest or nibble > 7:
        raise scanner.error("channels start at M0, M4, … M28", "write (16|M0)", size.start(2))
    dst, dst_type = _typed(scanner, "dst")
    src0, src0_type = _typed_or_null(scanner, "src0")
    src1, src1_type = _typed(scanner, "src1", precision=True)
    src2, src2_type = _typed(scanner, "src2", precision=True)
    return DpasMessage(
        src1_type,
        src2_type,
        dst,
        src0,
        src1,
        src2,
        repeat=int(shape[2]),
        depth=int(shape[1]),
        exec_size=int(size[1]),
        exec_mask=f"M{nibble + 1}{'_NM' if unmasked else ''}",
        dst_type=dst_type,
        src0_type=src0_type,
    )


def _typed(scanner: _Scanner, part: str, precision: bool = False) -> tuple[Register, str]:
    """An operand with its type, ``r27.0:bf``, the offset in elements of it."""
    scanner.skip()
    start = scanner.at
    register, kind = _typed_or_null(scanner, part, precision)
    if register is None:
        raise scanner.error(f"{part} cannot be null, only src0 can", "name a register", start)
    if part == "src2" and register.offset % 4:
        raise scanner.error("src2 starts at a dword", "write r27.0", start)
    return register, kind


def _typed_or_null(
    scanner: _Scanner, part: str, precision: bool = False
) -> tuple[Register | None, str]:
    scanner.skip()
    match = scanner.take(rf"{_NAME}(?:\.(\d+))?:", f"{part}, a register", "write r3:f")
    start = scanner.at
    kind = scanner.take(r"[A-Za-z]\w*", "a type", "write f, bf, hf, d or ud")[0].lower()
    if precision:
        kind = _unassembled().get(kind, kind)
        if kind not in spellings():
            raise scanner.error("unknown precision", "write bf, hf, tf32, b, …", start)
    if is_null(match[1]):
        return None, kind
    return Register(match[1], int(match[2] or 0) * element_bytes(kind)), kind


@cache
def _unassembled() -> dict[str, str]:
    """Precisions of assembly in vISA's spelling."""
    visa = precisions()
    return {spelled: visa[name] for name, spelled in precisions("assembly").items()}
