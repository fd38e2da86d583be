"""DPAS messages as text: vISA and assembly."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pycute_xe.arch.dpas.types import numeric_name, precisions
from pycute_xe.arch.target import grf_bytes
from pycute_xe.errors import CoordError
from pycute_xe.numeric import as_numeric, numerics
from pycute_xe.signatures import typed_fields

__all__ = ["assembly_text", "element_bytes", "visa_text", "DpasParts", "Register", "is_null"]

# ------------------------------------------------------------ parts
# What a DPAS message is made of: its registers, and the fields as text says them.

_NAME = re.compile(r"%?[A-Za-z_][A-Za-z_0-9]*")
_NULL = re.compile(r"(V0|%?null)")


def is_null(name: str) -> bool:
    """Tell whether a name is one of the null operand.

    >>> is_null("%null"), is_null("V0"), is_null("V1")
    (True, True, False)
    """
    return _NULL.fullmatch(name) is not None


@typed_fields
@dataclass(frozen=True, slots=True)
class Register:
    """Where an operand starts: the name of a variable (V7) or register (r19), and a byte in it.

    Raises `CoordError` for a malformed name or a negative offset.

    >>> Register("V1", 64)
    Register(name='V1', offset=64)
    """

    name: str
    offset: int = 0

    def __post_init__(self) -> None:
        """Refuse what text could not say."""
        if not _NAME.fullmatch(str(self.name)) or is_null(self.name):
            raise CoordError("Register", {"name": self.name}, "no register has this name", "use V1")
        if type(self.offset) is not int or self.offset < 0:
            raise CoordError(
                "Register", {"offset": self.offset}, "the offset must be 0 or more bytes", "use 0"
            )


@dataclass(frozen=True, slots=True)
class DpasParts:
    """The fields of a DPAS: precisions, operands, repeat count, depth, execution size and mask."""

    src1_type: str
    src2_type: str
    dst: Register
    src0: Register | None
    src1: Register
    src2: Register
    repeat: int = 8
    depth: int = 8
    exec_size: int = 16
    exec_mask: str = "M1"
    dst_type: str | None = None
    src0_type: str | None = None


# ------------------------------------------------------------ printing

NULL = "%null.0"


def visa_text(message: DpasParts) -> str:
    """Return the vISA text: raw operands with byte offsets, src2 as (register, dword)."""
    row, rest = divmod(message.src2.offset, grf_bytes())
    operands = (
        _raw(message.dst),
        _raw(message.src0) if message.src0 else NULL,
        _raw(message.src1),
        f"{message.src2.name}({row},{rest // 4})",
    )
    head = f"dpas.{message.src1_type}.{message.src2_type}.{message.depth}.{message.repeat}"
    return f"{head} ({message.exec_mask}, {message.exec_size}) {' '.join(operands)}"


def assembly_text(message: DpasParts) -> str:
    """Return the text as the disassembler prints it: registers with their types.

    Raises `CoordError` where an offset is inside an element of the operand's type.
    """
    mask, src0 = message.exec_mask, message.src0
    dst_type, src0_type = str(message.dst_type), str(message.src0_type)
    operands = (
        f"{_at(message.dst, dst_type)}:{dst_type}",
        f"{_at(src0, src0_type) if src0 else 'null'}:{src0_type}",
        f"{_at(message.src1, message.src1_type)}:{_precision(message.src1_type)}",
        f"{_at(message.src2, message.src2_type, always=True)}:{_precision(message.src2_type)}",
    )
    whole = "(W) " if mask.endswith("_NM") else ""
    channel = 4 * (int(mask[1]) - 1)
    head = f"{whole}dpas.{message.depth}x{message.repeat} ({message.exec_size}|M{channel})"
    return f"{head} {' '.join(operands)}"


def element_bytes(visa: str) -> int:
    """Return the bytes of an element that assembly counts offsets in; 1 below 8 bits.

    >>> element_bytes("hf"), element_bytes("s4"), element_bytes("df")
    (2, 1, 8)
    """
    numeric = numeric_name(visa)
    if numeric in numerics():
        return max(1, as_numeric(numeric).bits // 8)
    return {"w": 2, "uw": 2, "df": 8}.get(visa, 1)


def _raw(register: Register) -> str:
    return f"{register.name}.{register.offset}"


def _at(register: Register, visa: str, always: bool = False) -> str:
    """``r19``, or ``r19.8`` with an offset in elements."""
    size = element_bytes(visa)
    element, rest = divmod(register.offset, size)
    if rest:
        raise CoordError(
            "DpasMessage",
            {"register": register},
            f"byte {register.offset} is inside an element of {size} bytes",
            f"use {register.offset - rest}",
        )
    return f"{register.name}.{element}" if always or element else register.name


def _precision(visa: str) -> str:
    return precisions("assembly").get(numeric_name(visa), visa)
