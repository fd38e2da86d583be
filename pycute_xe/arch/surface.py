"""Floor 5: a surface, the rectangle of memory that a block-2D message sees."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.arch.rules import Broken, judge, nearest, rules
from pycute_xe.arch.target import Target, get_target
from pycute_xe.errors import ShapeError
from pycute_xe.signatures import typed_fields

__all__ = ["Surface"]


@typed_fields
@dataclass(frozen=True, slots=True)
class Surface:
    """Rows of bytes in memory: base address, width in bytes, height in rows, pitch in bytes.

    Row ``y`` occupies bytes ``base + y*pitch … base + y*pitch + width - 1``; a message reads zero
    and drops what it writes elsewhere. Sizes are the true ones: the minus-1 encoding of the
    instruction is left to emission. A surface may be illegal on a target, see `broken_rules`.
    Raises `ShapeError` for negative numbers.
    Documents: vISA manual, LSC_UNTYPED.md; OpenCL extension cl_intel_subgroup_2d_block_io.

    >>> Surface(base=0, width=512, height=128, pitch=512).broken_rules("bmg")
    ()
    """

    base: int
    width: int
    height: int
    pitch: int

    def __post_init__(self) -> None:
        """Refuse negative numbers."""
        if min(self.base, self.width, self.height, self.pitch) < 0:
            raise ShapeError(
                "Surface", self.quantities, "a size or address is negative", "use 0 or more"
            )

    @property
    def quantities(self) -> dict[str, int]:
        """The numbers that rules of surfaces speak about, by name, in bytes and rows."""
        return {
            "base": self.base,
            "width": self.width,
            "height": self.height,
            "pitch": self.pitch,
        }

    def broken_rules(self, target: str | Target) -> tuple[Broken, ...]:
        """Return the rules of a target that the surface breaks, errors first.

        Raises `TargetError` for an unknown target.

        >>> [(b.rule, b.level) for b in Surface(64, 256, 16, 260).broken_rules("bmg")]
        [('pitch-16', 'warning')]
        """
        return judge(rules("block2d", "surface", get_target(target).name), self.quantities)

    def nearest_legal(self, target: str | Target, strict: bool = True) -> Surface:
        """Return the least surface, nowhere smaller than this one, that breaks no rule.

        With ``strict`` no warning is left either. What is padding between the old and the new
        width is the business of whoever moves the bytes.
        Raises `LegalityError` where only a smaller surface would be legal.

        >>> Surface(base=4, width=6, height=3, pitch=6).nearest_legal("pvc")
        Surface(base=64, width=64, height=3, pitch=64)
        """
        levels = ("error", "warning") if strict else ("error",)
        found = rules("block2d", "surface", get_target(target).name)
        judged = [rule for rule in found if rule.level in levels]
        values = self.quantities
        for quantity in ("base", "width", "height", "pitch"):
            values[quantity] = nearest(judged, quantity, values)
        return Surface(**values)
