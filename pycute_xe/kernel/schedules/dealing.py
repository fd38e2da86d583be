"""Floor 7: schedules that deal out whole tiles: one each, or in turns to work-groups that stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from pycute_xe.errors import KernelError
from pycute_xe.kernel.schedules.plan import Counts, Piece, Plan
from pycute_xe.signatures import held_fields, typed

__all__ = ["DataParallel", "Persistent", "Raster", "checked_counts"]


MOST_CORES = 1 << 20


@held_fields
@dataclass(frozen=True)
class Raster:
    """The order in which tiles are numbered: along N or along M, in strips.

    ``along="N"`` numbers a row of tiles after the other. A strip is ``2**log_swizzle`` rows wide,
    and its tiles are numbered across it first, so that work-groups of one time share operands. The
    last strip is as wide as the others: numbers beyond the tiles stay without work.
    Source: sycl-tla 6601377d, gemm/kernel/xe_tile_scheduler_group.hpp.

    >>> [tile for tile in Raster("N", 1).tiles((2, 3, 1))]
    [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    >>> [tile for tile in Raster("M", 1).tiles((1, 3, 1))]
    [(0, 0), (0, 1), (0, 2), None]
    """

    along: Literal["M", "N"] = "N"
    log_swizzle: int = 0

    def __post_init__(self) -> None:
        """Check the parts."""
        if self.along not in ("M", "N") or not 0 <= self.log_swizzle <= 8:
            raise KernelError(
                "Raster",
                {"along": self.along, "log_swizzle": self.log_swizzle},
                'along must be "M" or "N", log_swizzle 0 to 8',
                'write Raster("N", 1)',
            )

    def tiles(self, counts: Counts) -> Iterator[tuple[int, int] | None]:
        """Yield tile after tile, None for a number without one."""
        rows, columns = counts[:2] if self.along == "N" else counts[1::-1]
        wide = 1 << self.log_swizzle
        for strip in range(0, rows, wide):
            for column in range(columns):
                for row in range(strip, strip + wide):
                    if row >= rows:
                        yield None
                    else:
                        yield (row, column) if self.along == "N" else (column, row)

    def __str__(self) -> str:
        """In words."""
        strips = f", strips of {1 << self.log_swizzle}" if self.log_swizzle else ""
        return f"along {self.along}{strips}"


@held_fields
@dataclass(frozen=True)
class DataParallel:
    """One work-group for each tile, which computes all of its K.

    >>> print(DataParallel().plan((4, 5, 16)))
    data-parallel: 20 tiles in 20 pieces on 20 work-groups
    """

    raster: Raster = field(default_factory=Raster)

    @typed
    def plan(self, *groups: Counts) -> Plan:
        """Return what each work-group does, for problems of these counts of tiles."""
        ids = _numbered(self.raster, checked_counts("DataParallel", groups))
        units = tuple((piece,) if piece else () for piece in ids)
        return Plan("data-parallel", groups, units)


@held_fields
@dataclass(frozen=True)
class Persistent:
    """As many work-groups as there is room for; unit u computes tiles u, u + units, ...

    ``cores`` is how many work-groups fit at a time, one for each Xe-core; with fewer tiles there
    are as many units as tiles. Raises `KernelError` unless ``cores`` is 1 or more.

    >>> print(Persistent(8).plan((4, 5, 16)))
    persistent: 20 tiles in 20 pieces on 8 work-groups
    """

    cores: int
    raster: Raster = field(default_factory=Raster)

    def __post_init__(self) -> None:
        """Check the parts."""
        checked_cores("Persistent", self.cores)

    @typed
    def plan(self, *groups: Counts) -> Plan:
        """Return what each work-group does, for problems of these counts of tiles."""
        ids = _numbered(self.raster, checked_counts("Persistent", groups))
        tiles = sum(piece is not None for piece in ids)
        units = min(self.cores, tiles)
        dealt = tuple(tuple(p for p in ids[u::units] if p is not None) for u in range(units))
        return Plan("persistent", groups, dealt)


def _numbered(raster: Raster, groups: tuple[Counts, ...]) -> list[Piece | None]:
    return [
        Piece(*tile, group, 0, counts[2]) if tile is not None else None
        for group, counts in enumerate(groups)
        for tile in raster.tiles(counts)
    ]


def checked_cores(name: str, cores: object) -> None:
    """Refuse what is not a count of cores."""
    if type(cores) is not int or not 1 <= cores <= MOST_CORES:
        wrong = f"{cores!r} is not a count of 1 to {MOST_CORES:,}"
        raise KernelError(name, {"cores": cores}, wrong, f"{name}(20)")


def checked_counts(name: str, groups: tuple[Counts, ...]) -> tuple[Counts, ...]:
    """Refuse problems without tiles."""
    for group, counts in enumerate(groups):
        if len(counts) != 3 or any(type(c) is not int for c in counts):
            wrong = f"{counts!r} are not counts of tiles along M, N and K"
        elif min(counts[1:]) < 1 or counts[0] < 0:
            wrong = f"group {group} has {counts} tiles along M, N and K"
        else:
            continue
        raise KernelError(
            name, {"groups": groups}, wrong, "use tile_counts(M, N, K, tile); M may have none"
        )
    if not groups:
        raise KernelError(name, {"groups": groups}, "no problem is given", "give counts of tiles")
    return groups
