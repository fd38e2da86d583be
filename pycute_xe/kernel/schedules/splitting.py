"""Floor 7: schedules that cut K: split-K and stream-K, by CUTLASS's rules for Xe or on all cores.

Source of the rules: sycl-tla 6601377d, gemm/kernel/xe_persistent_tile_scheduler_params_streamk.hpp
and xe_tile_scheduler_streamk.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pycute_xe.errors import KernelError
from pycute_xe.kernel.schedules.dealing import checked_cores, checked_counts
from pycute_xe.kernel.schedules.plan import Counts, Fixup, Piece, Plan, fixed_up
from pycute_xe.signatures import held_fields, typed

__all__ = ["SplitK", "StreamK"]

MIN_TILES = 8
"""Fewer tiles of K than these are left to a neighbour; CUTLASS's ``min_iters_per_sk_unit_``."""


@held_fields
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


@held_fields
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
