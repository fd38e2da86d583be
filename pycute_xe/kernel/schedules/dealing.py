"""Schedules that deal out whole tiles: one each, or in turns to work-groups that stay."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import index
from typing import Literal

from pycute_xe.errors import KernelError
from pycute_xe.kernel.schedules.plan import Counts, Fixup, Piece, Plan, fixed_up
from pycute_xe.signatures import checked_fields, typed

__all__ = [
    "DataParallel",
    "Persistent",
    "Raster",
    "checked_counts",
    "Grouped",
    "moe_counts",
    "SplitK",
    "StreamK",
]

MOST_CORES = 1 << 20


@checked_fields
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


@checked_fields
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


@checked_fields
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


# ------------------------------------------------------------ grouping
# Schedules of many problems at once: grouped by problem, or experts by their rows.


@checked_fields
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


# ------------------------------------------------------------ splitting
# Schedules that cut K: split-K and stream-K, by CUTLASS's rules for Xe or on all cores.
#
# Source of the rules: sycl-tla 6601377d,
# gemm/kernel/xe_persistent_tile_scheduler_params_streamk.hpp and xe_tile_scheduler_streamk.hpp.

MIN_TILES = 8
"""Fewer tiles of K than these are left to a neighbour; CUTLASS's ``min_iters_per_sk_unit_``."""


@checked_fields
@dataclass(frozen=True)
class SplitK:
    """Every tile in so many parts of K, each part to a work-group.

    Parts are contiguous; the first ``k % parts`` have one tile of K more. ``rules="xe"`` is
    CUTLASS's grid: no more work-groups than cores or tiles, which take turns, and no more parts
    than cores; "all" launches a work-group for each part.

    >>> print(SplitK(4, 20).plan((2, 1, 100)))
    split-K by 4: 2 tiles in 8 pieces on 8 work-groups
    >>> print(SplitK(4, 20, rules="xe").plan((2, 1, 100)))
    split-K by 4: 2 tiles in 8 pieces on 2 work-groups
    """

    parts: int
    cores: int
    fixup: Fixup = "ordered"
    rules: Literal["all", "xe"] = "all"

    def __post_init__(self) -> None:
        """Check the parts."""
        checked_cores("SplitK", self.cores)
        if type(self.parts) is not int or self.parts < 1:
            raise KernelError(
                "SplitK", {"parts": self.parts}, f"{self.parts!r} is not 1 or more", "SplitK(4, 20)"
            )
        _check_fixup("SplitK", self.fixup, self.rules, ("all", "xe"))

    @typed
    def plan(self, *groups: Counts) -> Plan:
        """Return what each work-group does, for problems of these counts of tiles."""
        tiles = _tiles("SplitK", groups)
        depth = groups[0][2]
        parts = min(self.parts, depth, self.cores if self.rules == "xe" else depth)
        bounds = _bounds(depth, parts)
        cut = [
            fixed_up([replace(t, start=a, stop=b) for a, b in bounds], self.fixup) for t in tiles
        ]
        ids = [pieces[part] for part in range(parts) for pieces in cut]
        grid = min(self.cores, len(tiles)) if self.rules == "xe" else len(ids)
        units = tuple(tuple(ids[u::grid]) for u in range(grid))
        return Plan(f"split-K by {self.parts}", groups, units, self.fixup)


@checked_fields
@dataclass(frozen=True)
class StreamK:
    """K of all tiles laid end to end, and cut into one stretch for each unit.

    A stretch ends where a tile does if it would begin or end within ``least`` tiles of K of that.
    Where there are more tiles than work-groups, whole waves are dealt out as whole tiles and only
    the last one or two are streamed. A unit computes its stretch backwards, so that the beginnings
    of tiles, for which others wait, come first; ``backwards=False`` turns that round.
    ``rules="xe"`` is CUTLASS's grid: no more work-groups than cores or tiles, so that fewer tiles
    than cores are not cut at all; "all" uses every core. ``mode="heuristic"`` streams only as
    CUTLASS does: not with full waves, with 8 tiles of K or fewer, nor with a last wave half full.

    >>> print(StreamK(20).plan((3, 7, 64)))
    stream-K: 21 tiles in 37 pieces on 20 work-groups
    >>> print(StreamK(20).plan((1, 2, 160)))
    stream-K: 2 tiles in 20 pieces on 20 work-groups
    >>> print(StreamK(20, rules="xe").plan((1, 2, 160)))
    stream-K: 2 tiles in 2 pieces on 2 work-groups
    """

    cores: int
    fixup: Fixup = "ordered"
    rules: Literal["all", "xe"] = "all"
    mode: Literal["stream", "heuristic"] = "stream"
    least: int = MIN_TILES
    backwards: bool = True

    def __post_init__(self) -> None:
        """Check the parts."""
        checked_cores("StreamK", self.cores)
        if type(self.least) is not int or self.least < 1:
            raise KernelError(
                "StreamK", {"least": self.least}, f"{self.least!r} is not 1 or more", "leave it out"
            )
        _check_fixup("StreamK", self.fixup, self.rules, ("all", "xe"))

    @typed
    def plan(self, *groups: Counts) -> Plan:
        """Return what each work-group does, for problems of these counts of tiles."""
        tiles = _tiles("StreamK", groups)
        depth = groups[0][2]
        grid = min(self.cores, len(tiles)) if self.rules == "xe" else self.cores
        streamed = self._streamed(len(tiles), grid, depth)
        units = min(grid, depth * streamed // self.least)
        if not units:
            streamed, grid = 0, min(grid, len(tiles))
        work: list[list[Piece]] = [[] for _ in range(grid)]
        if streamed:
            for unit, piece in self._stretches(tiles[:streamed], units, depth):
                work[unit].append(piece)
        for number, tile in enumerate(tiles[streamed:]):
            work[(units + number) % grid].append(tile)
        return Plan("stream-K", groups, tuple(map(tuple, work)), self.fixup)

    def _streamed(self, tiles: int, grid: int, depth: int) -> int:
        """Return how many tiles are cut; the others are dealt out whole."""
        full, rest = divmod(tiles, grid)
        if self.mode == "heuristic" and (not rest or depth <= self.least or 2 * rest >= grid):
            return 0
        return tiles - max(full - 1, 0) * grid

    def _stretches(self, tiles: list[Piece], units: int, depth: int) -> Iterator[tuple[int, Piece]]:
        """Yield the pieces of every unit in its order, waits and all."""
        total = depth * len(tiles)
        ends = [
            self._snapped(u * (total // units) + min(u, total % units), depth) for u in range(units)
        ]
        ends.append(total)
        cut: dict[int, list[Piece]] = {}
        mine: list[tuple[int, int, int]] = []
        for unit in range(units):
            begin, end = ends[unit], ends[unit + 1]
            inside = [t for t in range(begin // depth, -(-end // depth)) if begin < end]
            for t in reversed(inside) if self.backwards else inside:
                start, stop = max(begin - t * depth, 0), min(end - t * depth, depth)
                cut.setdefault(t, []).append(replace(tiles[t], start=start, stop=stop))
                mine.append((unit, t, start))
        done = {t: {p.start: p for p in fixed_up(x, self.fixup)} for t, x in cut.items()}
        for unit, t, start in mine:
            yield unit, done[t][start]

    def _snapped(self, at: int, depth: int) -> int:
        """Move a cut that is too near the ends of a tile there."""
        inside = at % depth
        if inside < self.least:
            return at - inside
        return at - inside + depth if inside > depth - self.least else at


def _bounds(depth: int, parts: int) -> list[tuple[int, int]]:
    each, more = divmod(depth, parts)
    starts = [s * each + min(s, more) for s in range(parts + 1)]
    return list(itertools.pairwise(starts))


def _tiles(name: str, groups: tuple[Counts, ...]) -> list[Piece]:
    """Return whole tiles, row by row, batch by batch. K must be the same in all."""
    checked_counts(name, groups)
    if len(set(groups)) != 1:
        raise KernelError(
            name,
            {"groups": groups},
            "the problems of a batch must have the same counts of tiles",
            "use Grouped for problems of different sizes",
        )
    return [
        Piece(m, n, group, 0, counts[2])
        for group, counts in enumerate(groups)
        for m in range(counts[0])
        for n in range(counts[1])
    ]


def _check_fixup(name: str, fixup: str, rules: str, known: tuple[str, ...]) -> None:
    if fixup not in ("ordered", "unordered", "first", "atomic") or rules not in known:
        raise KernelError(
            name,
            {"fixup": fixup, "rules": rules},
            'fixup must be "ordered", "unordered", "first" or "atomic", and rules "all" or "xe"',
            f'{name}(..., fixup="ordered")',
        )
