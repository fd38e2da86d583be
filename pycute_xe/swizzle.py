"""Swizzles, XOR functions that spread neighbouring rows over different banks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycute_xe.errors import CoordError, ShapeError, quoted
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.typing import shown

__all__ = ["Swizzle", "make_swizzle"]


@typed_fields
@dataclass(frozen=True, slots=True)
class Swizzle:
    """The function that XORs ``bits`` bits of an offset onto ``bits`` others, ``shift`` away.

    The bits ``base … base+bits-1`` and the bits ``|shift|`` above them meet: with a positive shift
    the upper ones (``yyy_mask``) change the lower ones (``zzz_mask``), with a negative one the
    reverse. Law: ``S(S(x)) == x``; the lowest ``base`` bits stay, and so does every block of
    ``S.block`` offsets. Offsets are non-negative integers in elements, or NumPy arrays of them.
    Raises `ShapeError` for negative ``bits`` or ``base`` and for ``|shift| < bits``, `CoordError`
    for a negative offset. C++: ``cute::Swizzle<BBits,MBase,SShift>``.

    >>> S = Swizzle(2, 4, 3)
    >>> S(0b010000000), S(S(1234))
    (144, 1234)
    >>> print(S)
    Sw<2,4,3>
    """

    bits: int
    base: int
    shift: int

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Check the three numbers."""
        given = {"bits": self.bits, "base": self.base, "shift": self.shift}
        for name, value in given.items():
            if type(value) is not int or (name != "shift" and value < 0):
                wanted = "an integer" if name == "shift" else "a non-negative integer"
                raise ShapeError(
                    "Swizzle", given, f"{name} {quoted(value)} is not {wanted}", "use one"
                )
        if abs(self.shift) < self.bits:
            raise ShapeError(
                "Swizzle",
                given,
                f"{self.bits} bits moved by {abs(self.shift)} overlap themselves",
                f"use a shift of at least {self.bits} in magnitude",
            )

    @property
    def yyy_mask(self) -> int:
        """The bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def zzz_mask(self) -> int:
        """The bits that change."""
        return ((1 << self.bits) - 1) << (self.base - min(0, self.shift))

    @property
    def block(self) -> int:
        """The size in elements of the aligned blocks that the function maps onto themselves."""
        return 1 << self.zzz_mask.bit_length()

    @typed
    def __call__(self, offset: Any) -> Any:
        """Return the swizzled offset, element by element for an array."""
        if isinstance(offset, int) and offset < 0:
            raise CoordError(
                "Swizzle",
                {"swizzle": self, "offset": offset},
                "a negative offset has no bits to exchange",
                "start the layout at an offset that keeps all others non-negative",
            )
        try:
            read = offset & self.yyy_mask
        except TypeError:
            raise CoordError(
                "Swizzle",
                {"swizzle": self, "offset": repr(offset)},
                "it moves the bits of integers",
                "composition(swizzle, layout) puts it on a layout",
            ) from None
        return offset ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)

    def to_cpp(self) -> str:
        """Return the C++ type.

        >>> Swizzle(2, 4, 3).to_cpp()
        'Swizzle<2,4,3>'
        """
        return f"Swizzle<{self.bits},{self.base},{self.shift}>"

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"

    def __str__(self) -> str:
        """As CuTe prints."""
        return f"Sw<{self.bits},{self.base},{self.shift}>"


@typed
def make_swizzle(yyy_mask: int, zzz_mask: int) -> Swizzle:
    """Return the swizzle that reads the bits of one mask and changes those of the other.

    Law: the result has these two masks. Raises `ShapeError` where the masks are not two separate
    runs of equally many bits. C++: ``make_swizzle<Y,Z>``.

    >>> make_swizzle(0b11000000, 0b00000110)
    Swizzle(2, 1, 5)
    """
    bits, lowest = yyy_mask.bit_count(), min(yyy_mask & -yyy_mask, zzz_mask & -zzz_mask)
    shift = yyy_mask.bit_length() - zzz_mask.bit_length()
    if not yyy_mask and not zzz_mask:
        return Swizzle(0, 0, 0)
    if yyy_mask > 0 and zzz_mask > 0 and bits <= abs(shift):
        swizzle = Swizzle(bits, lowest.bit_length() - 1, shift)
        if (swizzle.yyy_mask, swizzle.zzz_mask) == (yyy_mask, zzz_mask):
            return swizzle
    raise ShapeError(
        "make_swizzle",
        {"yyy_mask": yyy_mask, "zzz_mask": zzz_mask},
        "the masks are not two separate runs of equally many bits",
        "use masks such as 0b1100 and 0b0011",
    )
