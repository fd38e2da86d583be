"""Floor 7: the loop over K of a GEMM: loads, prefetches, what becomes of operands, the MMA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.statements import (
    BarrierArrive,
    BarrierWait,
    If,
    Loop,
    Mma,
    Statement,
)
from pycute_xe.kernel.kinds.parts import Side

__all__ = ["Stretch", "mainloop", "stretched"]


def mainloop(
    mma: TiledMma,
    sides: tuple[Side, ...],
    stages: int,
    accumulators: tuple[str, ...] = ("tCrC",),
) -> tuple[Statement, ...]:
    """Return the loop over K with its prefetches ahead.

    The first side is multiplied by each of the others, into an accumulator for each. What all k
    share is loaded before the loop. Where one group of several tiles shares scales, a loop over
    groups loads them once for each. The last group's trips run to its end: beyond K, loads give
    zeros.
    """
    depth = mma.tile_mnk[2]
    groups = frozenset[int]().union(*(side.groups for side in sides))
    ready = tuple(s for side in sides for s in side.before_loop(None, Index()))
    if stages:
        fetched = tuple(s.prefetch(Index("p")) for s in sides)
        ready = (*ready, Loop("p", Index(), Index(None, stages), fetched))
    products = tuple(
        Mma(mma, accumulator, sides[0].read, side.read)
        for accumulator, side in zip(accumulators, sides[1:], strict=True)
    )
    largest = max(groups, default=depth)
    if len(groups) > 1 or largest == depth:
        body = _trip(depth, sides, stages, Index("k"), tuple(sorted(groups)), products)
        return (*ready, Loop("k", Index(), Tiles("K", depth), body))
    trips, group = largest // depth, Index("g")
    scales = tuple(s for side in sides for s in side.before_loop(largest, group * largest))
    body = _trip(depth, sides, stages, group * trips + Index("k"), (), products)
    inner = Loop("k", Index(), Index(None, trips), body)
    return (*ready, Loop("g", Index(), Tiles("K", largest), (*scales, inner)))


def _trip(
    depth: int,
    sides: tuple[Side, ...],
    stages: int,
    k: Index,
    groups: tuple[int, ...],
    products: tuple[Statement, ...],
) -> tuple[Statement, ...]:
    """Return what is done with one tile of K; ``groups`` are those whose scales it loads itself."""
    ahead = k + stages
    fetched = tuple(side.prefetch(ahead) for side in sides)
    return (
        BarrierArrive(),
        *(s for group in groups for side in sides for s in side.before_loop(group, k * depth)),
        *(side.load(k) for side in sides),
        *((If(ahead, Tiles("K", depth), fetched),) if stages else ()),
        *(statement for side in sides for statement in side.reorder()),
        *products,
        BarrierWait(),
    )


@dataclass(frozen=True)
class Stretch:
    """A part of the loop over K: trips ``start`` to ``stop - 1``, and which tile a trip takes."""

    start: Index
    stop: Index
    tile: Callable[[Index], Index] = field(default=lambda trip: trip)


def stretched(
    mma: TiledMma, sides: tuple[Side, Side], stages: int, part: Stretch
) -> tuple[Statement, ...]:
    """Return the loop over a part of K that multiplies into ``tCrC``.

    It prefetches ahead within its part, and nothing of another. A trip loads the scales of its
    group itself, for a part may begin inside a group.
    """
    trip, ahead = Index("k"), Index("k") + stages
    ready = tuple(s for side in sides for s in side.before_loop(None, Index()))
    element = part.tile(trip) * mma.tile_mnk[2]
    scales = (side.before_loop(group, element) for side in sides for group in sorted(side.groups))
    first = tuple(s.prefetch(part.tile(Index("p"))) for s in sides)
    warm_up = Loop("p", part.start, part.start + stages, (If(Index("p"), part.stop, first),))
    later = If(ahead, part.stop, tuple(s.prefetch(part.tile(ahead)) for s in sides))
    body: tuple[Statement, ...] = (
        BarrierArrive(),
        *(statement for loaded in scales for statement in loaded),
        *(side.load(part.tile(trip)) for side in sides),
        *((later,) if stages else ()),
        *(statement for side in sides for statement in side.reorder()),
        Mma(mma, "tCrC", sides[0].read, sides[1].read),
        BarrierWait(),
    )
    return (*ready, *((warm_up,) if stages else ()), Loop("k", part.start, part.stop, body))
