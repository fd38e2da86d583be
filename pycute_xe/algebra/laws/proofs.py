"""Floor 3: what takes the place of listing where symbols stand for numbers.

Numbers are listed. Of symbols three things are enough: one coordinate that stands for all (see
`points`), strides in order that are digits of a number, and a complement that is shown to be one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycute_xe.algebra.inverse import complement
from pycute_xe.algebra.laws.points import equal, same
from pycute_xe.algebra.laws.tiling import Places, find_places
from pycute_xe.algebra.simplify import flat_modes
from pycute_xe.int_tuple import ceil_div, product
from pycute_xe.layout import Layout, has_symbols, size
from pycute_xe.typing import IntTuple
from pycute_xe.unknown import in_order

__all__ = ["ProvedPlaces", "places_among", "unfilled"]


def unfilled(layout: Layout, result: Layout, end: IntTuple) -> str | None:
    """Claim that sums of two layouts' offsets are all integers below the least end, each once.

    They are where each stride is the number of offsets that the smaller ones reach: the digits
    of a number. The least end is the least that whole copies of the layout reach.

    >>> unfilled(Layout((2, 2), (1, 6)), Layout((3, 2), (2, 12)), 24)
    >>> unfilled(Layout((2, 2), (1, 6)), Layout((3, 2), (2, 6)), 24)
    'the strides below 6 reach 12 offsets'
    """
    reach: Any = 1
    for d, s in _moving(layout, result):
        if not same(d, reach):
            return f"the strides below {d} reach {reach} offsets"
        reach = reach * s
    span = _span(layout)
    least = ceil_div(product(end), span) * span
    return equal("the number of offsets reached", reach, "the least that copies fill", least)


def _moving(*layouts: Layout) -> list[tuple[Any, ...]]:
    """Return (stride, extent) of the leaves that move, by stride."""
    modes = [mode for layout in layouts for mode in flat_modes(layout)]
    return in_order([(d, s) for s, d in modes if s != 1 and d != 0])


def _span(layout: Layout) -> Any:
    """Return how far the leaf of the greatest stride reaches, 1 where nothing moves."""
    modes = _moving(layout)
    return modes[-1][0] * modes[-1][1] if modes else 1


@dataclass(frozen=True)
class ProvedPlaces:
    """As `Places`, where symbols decide: a layout, unbounded in its last mode.

    ``period`` copies stand below ``free``.
    """

    layout: Layout
    free: Any
    period: Any
    repeats: bool = True

    def __call__(self, k: Any) -> Any:
        """Return the place of copy ``k``."""
        return self.layout(k)

    def short(self, count: Any, end: Any) -> str | None:
        """Claim that so many copies hold what is below ``end``, in whole periods."""
        needed = ceil_div(end, self.free) * self.period
        return equal("the number of tiles", count, "of those needed", needed)


def places_among(part: Layout, *others: Any) -> Places | ProvedPlaces:
    """Return where copies of a part start: listed, or with symbols anywhere, a proved complement.

    Raises as `complement` where symbols leave it open.

    >>> places_among(Layout((2, 2), (1, 6))).free
    12
    """
    if not has_symbols(part, *others):
        return find_places(part)
    span = _span(part)
    twice = complement(part, 2 * span)
    broken = unfilled(part, twice, 2 * span)
    if broken:
        return Places((), 0, repeats=False)
    return ProvedPlaces(twice, span, size(twice) // 2)
