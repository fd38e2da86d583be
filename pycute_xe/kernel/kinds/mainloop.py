"""The loop over K of a GEMM: loads, prefetches, what becomes of operands, the MMA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.composed import ComposedLayout
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index, Tiles
from pycute_xe.kernel.ir.barriers import NamedBarrier
from pycute_xe.kernel.ir.named import NamedArrive, NamedWait
from pycute_xe.kernel.ir.statements import (
    BarrierArrive,
    BarrierWait,
    Fence,
    If,
    Loop,
    Mma,
    Statement,
)
from pycute_xe.kernel.kinds.side import MEET, Side
from pycute_xe.layout import Layout, make_layout

__all__ = ["Stretch", "by_some", "doubled", "produced_loop", "register_loop", "shared_loop"]


@dataclass(frozen=True)
class Stretch:
    """A part of the loop over K: trips ``start`` to ``stop - 1``, and which tile a trip takes."""

    start: Index
    stop: Index
    tile: Callable[[Index], Index] = field(default=lambda trip: trip)
    whole: bool = False

    @classmethod
    def over(cls, mma: TiledMma) -> Stretch:
        """Return the loop over all of K."""
        return cls(Index(), Tiles("K", mma.tile_mnk[2]), whole=True)


def _all_k(sides: tuple[Side, ...]) -> tuple[Statement, ...]:
    """Return the loads of what all k share."""
    return tuple(s for side in sides for s in side.before_loop(None, Index()))


def register_loop(
    mma: TiledMma, sides: tuple[Side, ...], products: tuple[Mma, ...], part: Stretch
) -> tuple[Statement, ...]:
    """Return the loop in which every subgroup loads what it multiplies, prefetching ahead.

    Where one group of several tiles shares scales, a loop over groups loads them once for each; a
    part of K may begin inside a group, so that its trips load their own. The last group's trips
    run to its end: beyond K, loads give zeros. A part prefetches nothing of another.
    """
    depth, trip = mma.tile_mnk[2], Index("k")
    groups = frozenset[int]().union(*(side.groups for side in sides))
    ready = (*_all_k(sides), *_warm_up(sides, part))
    largest = max(groups, default=depth)
    if not part.whole or len(groups) > 1 or largest == depth:
        body = _trip(depth, sides, part, trip, tuple(sorted(groups)), products)
        return (*ready, Loop("k", part.start, part.stop, body))
    trips, group = largest // depth, Index("g")
    scales = tuple(s for side in sides for s in side.before_loop(largest, group * largest))
    body = _trip(depth, sides, part, group * trips + trip, (), products)
    inner = Loop("k", Index(), Index(None, trips), body)
    return (*ready, Loop("g", Index(), Tiles("K", largest), (*scales, inner)))


def _distances(sides: tuple[Side, ...]) -> dict[int, tuple[Side, ...]]:
    """Return the sides by how many tiles ahead they are prefetched."""
    distances = dict.fromkeys(side.ahead for side in sides if side.ahead)
    return {ahead: tuple(s for s in sides if s.ahead == ahead) for ahead in distances}


def _warm_up(sides: tuple[Side, ...], part: Stretch) -> tuple[Statement, ...]:
    """Return the prefetches before the loop."""
    out: list[Statement] = []
    for number, (ahead, some) in enumerate(_distances(sides).items()):
        var = f"p{number}" if number else "p"
        first = tuple(side.prefetch(part.tile(Index(var))) for side in some)
        inner = first if part.whole else (If(Index(var), part.stop, first),)
        out.append(Loop(var, part.start, part.start + ahead, inner))
    return tuple(out)


def _later(sides: tuple[Side, ...], part: Stretch, k: Index) -> tuple[Statement, ...]:
    """Return the prefetches of a trip, each of a tile that there is."""
    return tuple(
        If(k + ahead, part.stop, tuple(side.prefetch(part.tile(k + ahead)) for side in some))
        for ahead, some in _distances(sides).items()
    )


def _trip(
    depth: int,
    sides: tuple[Side, ...],
    part: Stretch,
    k: Index,
    groups: tuple[int, ...],
    products: tuple[Statement, ...],
) -> tuple[Statement, ...]:
    """Return what is done with one tile of K; ``groups`` are those whose scales it loads itself."""
    element = part.tile(k) * depth
    return (
        BarrierArrive(),
        *(s for group in groups for side in sides for s in side.before_loop(group, element)),
        *(s for side in sides for s in side.load(part.tile(k))),
        *_later(sides, part, k),
        *(statement for side in sides for statement in side.ready()),
        *products,
        BarrierWait(),
    )


# ------------------------------------------------------------------ through shared memory


def _direct(
    mma: TiledMma, sides: tuple[Side, ...], part: Stretch, k: Index
) -> tuple[Statement, ...]:
    """Return what a trip loads for itself: scales, and operands that pass shared memory by."""
    element = part.tile(k) * mma.tile_mnk[2]
    scales = (side.before_loop(group, element) for side in sides for group in sorted(side.groups))
    beside = tuple(side for side in sides if not side.stages)
    loads = (s for side in beside for s in side.load(part.tile(k)))
    return (*(s for some in scales for s in some), *loads, *_later(beside, part, k))


def shared_loop(
    mma: TiledMma, sides: tuple[Side, ...], products: tuple[Mma, ...], part: Stretch
) -> tuple[Statement, ...]:
    """Return the loop that multiplies what lies in shared memory, and what fills it first.

    One barrier a trip is enough from two stages on: behind it, what is stored was read a trip ago.
    """
    k, shared = Index("k"), tuple(side for side in sides if side.stages)
    beside = tuple(side for side in sides if not side.stages)
    stages = shared[0].stages
    takes = tuple(side.take(k) for side in shared)
    multiply = (*(s for side in sides for s in side.ready()), *products)

    def loads(trip: Index) -> tuple[Statement, ...]:
        return tuple(s for side in shared for s in side.load(part.tile(trip)))

    def stores(trip: Index) -> tuple[Statement, ...]:
        return tuple(side.store(trip) for side in shared)

    ready = (*_all_k(sides), *_warm_up(beside, part))
    own = _direct(mma, sides, part, k)
    if stages == 1:
        body = (*loads(k), *own, BarrierArrive(), BarrierWait(), *stores(k), *MEET)
        return (*ready, Loop("k", part.start, part.stop, (*body, *takes, *multiply)))
    fills = (part.start + trip for trip in range(stages - 1))
    first = tuple(s for trip in fills for s in (*loads(trip), *stores(trip)))
    ahead = k + (stages - 1)
    body = (*MEET, *takes, *own, *loads(ahead), *stores(ahead), *multiply)
    return (*ready, *first, Loop("k", part.start, part.stop, body))


def produced_loop(
    mma: TiledMma, sides: tuple[Side, ...], products: tuple[Mma, ...], part: Stretch
) -> tuple[Statement, ...]:
    """Return the loop in which tile ``k`` is produced by some subgroups, and consumed by others.

    Each stage has two named barriers: number ``1 + stage`` fires when it is full,
    ``1 + stages + stage`` when it is empty again.
    """
    k, count = Index("k"), mma.num_subgroups
    shared = tuple(side for side in sides if side.stages)
    beside = tuple(side for side in sides if not side.stages)
    stages = shared[0].stages
    full = NamedBarrier(k % stages + 1, count, count)
    empty = NamedBarrier(k % stages + (1 + stages), count, count)
    produced: tuple[Statement, ...] = (
        *(statement for side in shared for statement in side.load(part.tile(k))),
        If(Index(None, stages - 1), k, (NamedArrive(empty, "consumer"), NamedWait(empty))),
        *(side.store(k) for side in shared),
        Fence(),
        NamedArrive(full, "producer"),
    )
    consumed: tuple[Statement, ...] = (
        NamedArrive(full, "consumer"),
        NamedWait(full),
        *(side.take(k) for side in shared),
        If(k + stages, part.stop, (NamedArrive(empty, "producer"),)),
        *_direct(mma, sides, part, k),
        *(statement for side in sides for statement in side.ready()),
        *products,
    )
    before = (*_all_k(sides), *_warm_up(beside, part))
    producers = If(Index(None, count - 1), Index(SUBGROUP_INDEX), produced)
    loop = Loop("k", part.start, part.stop, (producers, by_some(mma, consumed)))
    return (*((by_some(mma, before),) if before else ()), loop)


def by_some(mma: TiledMma, body: tuple[Statement, ...]) -> If:
    """Return what only the subgroups of an MMA do, not those beside them."""
    return If(Index(SUBGROUP_INDEX), Index(None, mma.num_subgroups), body)


def doubled(statement: Statement) -> Statement:
    """Return a statement in which subgroups beyond those of the MMA do what the first ones do."""
    if isinstance(statement, (Loop, If)):
        return replace(statement, body=tuple(map(doubled, statement.body)))
    changed: dict[str, Any] = {}
    if (memory := statement.touched.memory) is not None:
        changed["copy"] = _doubled_copy(memory.copy)
    if (shared := statement.touched.shared) is not None:
        changed["places"] = _doubled_places(shared.places)
    return replace(statement, **changed) if changed else statement


def _doubled_copy(copy: TiledCopy) -> TiledCopy:
    threads, values = copy.layout_tv_tiled
    return replace(copy, layout_tv_tiled=make_layout(make_layout(threads, Layout(2, 0)), values))


def _doubled_places(places: Layout | ComposedLayout) -> Layout | ComposedLayout:
    if isinstance(places, ComposedLayout):
        inner = _doubled_places(places.layout)
        return replace(places, layout=inner)
    subgroups, elements = places
    return make_layout(make_layout(subgroups, Layout(2, 0)), elements)
