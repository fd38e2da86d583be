"""Floor 7: schedules of many problems at once: grouped by problem, or experts by their rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import index

from pycute_xe.errors import KernelError
from pycute_xe.kernel.schedules.dealing import Persistent, Raster, checked_cores
from pycute_xe.kernel.schedules.plan import Counts, Plan
from pycute_xe.signatures import held_fields, typed

__all__ = ["Grouped", "moe_counts"]


@held_fields
@dataclass(frozen=True)
class Grouped:
    """Tiles of many problems, numbered group by group and dealt out to ``cores`` work-groups.

    Unit u searches for tile u, u + cores, ... of all. Strips of a swizzled raster are filled up in
    every group, so that numbers without a tile cost a turn.
    Source: sycl-tla 6601377d, gemm/kernel/xe_tile_scheduler_group.hpp.

    >>> print(Grouped(20).plan((3, 2, 8), (0, 2, 8), (1, 5, 16)))
    grouped: 11 tiles in 11 pieces on 11 work-groups
    """

    cores: int
    raster: Raster = field(default_factory=lambda: Raster("M"))

    def __post_init__(self) -> None:
        """Check the parts."""
        checked_cores("Grouped", self.cores)

    @typed
    def plan(self, *groups: Counts) -> Plan:
        """Return what each work-group does, for problems of these counts of tiles."""
        dealt = Persistent(self.cores, self.raster).plan(*groups)
        return Plan("grouped", dealt.groups, dealt.units)


@typed
def moe_counts(
    rows: Iterable[int], n: int, k: int, tile: tuple[int, int, int]
) -> tuple[Counts, ...]:
    """Return the counts of tiles of each expert, from how many rows it was given.

    Raises `KernelError` for a negative number of rows.

    >>> moe_counts([70, 0, 32], 64, 128, (32, 64, 32))
    ((3, 1, 4), (0, 1, 4), (1, 1, 4))
    """
    given = tuple(rows)
    if not all(hasattr(r, "__index__") for r in given):
        raise KernelError(
            "moe_counts", {"rows": given[:8]}, "rows must be integers", "count the rows of experts"
        )
    counted = tuple(map(index, given))
    if any(r < 0 for r in counted) or min(n, k, *tile) < 1:
        raise KernelError(
            "moe_counts",
            {"rows": counted[:8], "n": n, "k": k},
            "an expert has 0 rows or more, N and K are 1 or more",
            "count the rows that are routed to each expert",
        )
    tm, tn, tk = tile
    return tuple((-(-r // tm), -(-n // tn), -(-k // tk)) for r in counted)
