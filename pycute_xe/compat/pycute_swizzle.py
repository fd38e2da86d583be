"""Floor 11: the swizzles of NVIDIA's pycute, for `pycute_xe.compat.pycute`."""

from __future__ import annotations

from pycute_xe import swizzle as swizzles

__all__ = ["Swizzle"]


class Swizzle(swizzles.Swizzle):
    """The XOR function of ``bits`` bits, with pycute's methods.

    >>> S = Swizzle(2, 0, 3)
    >>> print(S, S(0b01000), S.size())
    SW_2_0_3 9 32
    """

    __slots__ = ()

    @property
    def yyy_msk(self) -> int:
        """The bits that are read."""
        return self.yyy_mask

    @property
    def zzz_msk(self) -> int:
        """The bits that change."""
        return self.zzz_mask

    def size(self) -> int:
        """Return the period of the function."""
        return 1 << (self.bits + self.base + abs(self.shift))

    def cosize(self) -> int:
        """Return the size: the function is a bijection."""
        return self.size()

    def __str__(self) -> str:
        """As pycute prints."""
        return f"SW_{self.bits}_{self.base}_{self.shift}"

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"Swizzle({self.bits},{self.base},{self.shift})"
