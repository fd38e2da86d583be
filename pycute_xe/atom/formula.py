"""Ownership as formulas of the work-item and the value, and formulas as layouts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from pycute_xe.algebra.compose import index_at
from pycute_xe.bulk import layout_of
from pycute_xe.errors import ShapeError
from pycute_xe.layout import Layout, make_layout

if TYPE_CHECKING:
    from pycute_xe.symbolic.terms import Expr

__all__ = ["formula_of", "parts_of"]

Places: TypeAlias = "Sequence[Sequence[Sequence[int]]]"
"""For each work-item the coordinate of each value."""


def parts_of(places: Places) -> tuple[Layout, ...] | None:
    """Return for each mode the layout (work-item, value) → its coordinate; None where none is.

    Law: the layout of mode ``i`` maps (t, v) to ``places[t][v][i]``. There is none where work-items
    have different numbers of values.

    >>> places = [[(v // 2, t + 16 * (v % 2)) for v in range(8)] for t in range(16)]
    >>> print(*parts_of(places))
    (16,(2,4)):(0,(0,1)) (16,(2,4)):(1,(16,0))
    """
    if len({len(lane) for lane in places}) > 1:
        return None
    out: list[Layout] = []
    for mode in range(len(places[0][0])):
        table = [[place[mode] for place in lane] for lane in places]
        first = table[0]
        threads, values = layout_of([lane[0] for lane in table]), layout_of(first)
        if threads is None or values is None:
            return None
        if any(x != lane[0] + y for lane in table for x, y in zip(lane, first, strict=True)):
            return None
        out.append(make_layout(threads, values))
    return tuple(out)


def formula_of(places: Places, what: object) -> tuple[Expr, ...]:
    """Return the coordinates as expressions of the work-item ``t`` and the value ``v``.

    Law: at integers they are ``places[t][v]``. Raises `ShapeError` where no layout says them.
    """
    parts = parts_of(places)
    if parts is None:
        counts = sorted({len(lane) for lane in places})
        wrong = "its coordinates are not a sum of multiples of digits of t and of v"
        fix = "read the table: ownership()"
        if len(counts) > 1:
            wrong = f"some work-items hold {counts[0]} values in this order and others {counts[-1]}"
            fix = 'read the table: in_order("registers")'
        raise ShapeError("formula", {"of": what}, wrong, fix)
    t, v = _symbols()
    return tuple(index_at(part[0], t) + index_at(part[1], v) for part in parts)


@cache
def _symbols() -> tuple[Any, Any]:
    from pycute_xe.symbolic.terms import sp

    t, v = sp.symbols("t v", integer=True, nonnegative=True)
    return t, v
