"""What a DPAS message is made of: its registers, and the fields as text says them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pycute_xe.errors import CoordError
from pycute_xe.signatures import typed_fields

__all__ = ["DpasParts", "Register", "is_null"]

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
