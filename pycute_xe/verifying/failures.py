"""Floor 9: where a kernel fails first: the smallest problem, the work-item, the elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pycute_xe.errors import UndecidableError
from pycute_xe.verifying.naming import Naming
from pycute_xe.verifying.regions import Region

__all__ = ["Failure", "smallest"]


@dataclass(frozen=True)
class Failure:
    """A smallest failing point: sizes and variables by name, and what is wrong there.

    ``element`` and ``found`` are the elements of ``operand`` that should be, and that is, at the
    place; ``output`` and ``index`` say where running the kernel shows it. ``faults`` tells that
    running it is stopped by the machine instead. ``filled`` are inputs that show it, where they are
    one number everywhere.
    """

    claim: str
    message: str
    sizes: Mapping[str, int]
    variables: Mapping[str, int]
    operand: str = ""
    element: tuple[int, ...] | None = None
    found: tuple[int, ...] | None = None
    output: str = ""
    index: tuple[int, ...] = ()
    subgroup: int = 0
    register_element: int = 0
    element_bits: int = 32
    faults: bool = False
    filled: tuple[tuple[str, float], ...] = ()
    points: Region | None = field(default=None, compare=False)

    @property
    def key(self) -> tuple[object, ...]:
        """Order of failures: the sum of the sizes, the sizes, the variables, the place."""
        return (
            sum(self.sizes.values()),
            tuple(self.sizes.values()),
            tuple(self.variables.values()),
        )

    @property
    def rank(self) -> tuple[object, ...]:
        """Order of failures of a kernel: at equal sizes what stops a run comes first."""
        size, sizes, place = self.key
        return size, sizes, not self.faults, place

    @property
    def lane_and_value(self) -> tuple[int, int]:
        """The work-item of its subgroup that owns the register element, and which of its values."""
        packed = max(1, 8 // self.element_bits)
        unit, inside = divmod(self.register_element, packed)
        return unit % 16, unit // 16 * packed + inside


LONGEST = 1 << 24
"""An extent from which on no surface has it."""


def smallest(region: Region, naming: Naming) -> dict[str, int] | None:
    """Return the least point of a region: by the sum of the sizes, then in order of the names.

    Raises `UndecidableError` where every point has an extent that no surface has.
    """
    point = _least(region, naming)
    if point is None or all(point[size] < LONGEST for size in naming.sizes):
        return point
    within = " and ".join(f"{size} < {LONGEST}" for size in naming.sizes)
    point = _least(region.within(within), naming)
    if point is None:
        raise UndecidableError(
            "verify",
            {},
            "it fails only where an extent is 2**24 or more, which surfaces do not have",
            "leave out what is done at such sizes",
        )
    return point


def _least(region: Region, naming: Naming) -> dict[str, int] | None:
    sizes = naming.sizes
    rest = tuple(n for n in region.names if n not in sizes)
    total = " + ".join(sizes) or "0"
    return region.to(("T", *region.names), f"T = {total}").least(("T", *sizes, *rest))
