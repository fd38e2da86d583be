"""What differs between two layouts: shapes, extents, and the offsets at coordinates."""

from __future__ import annotations

from typing import Any

from pycute_xe.algebra import coalesce
from pycute_xe.algebra.compose import flat_modes, from_modes
from pycute_xe.bulk import along, columns_of, entries
from pycute_xe.comparing.changes import NAMES, Difference, Row
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CuteError
from pycute_xe.f2 import F2Layout
from pycute_xe.int_tuple import idx2crd
from pycute_xe.layout import Layout, cosize, size

__all__ = ["AnyLayout", "differing_layouts"]

AnyLayout = Layout | ComposedLayout | F2Layout
MOST = 1 << 20
"""Coordinates whose offsets are compared one by one."""
_EXAMPLES = 3


def differing_layouts(one: AnyLayout, other: AnyLayout) -> Difference:
    """Return what differs between two layouts, as functions of coordinates and as written."""
    sides = one, other
    rows = [
        Row("shape", "", *(str(x.shape) for x in sides)),
        Row("size", "", *(_answer(size, x) for x in sides)),
        Row(NAMES, "", str(one), str(other)),
    ]
    if isinstance(one, Layout) and isinstance(other, Layout):
        rows.append(Row("cosize", "", *(_answer(cosize, x) for x in (one, other))))
    notes: tuple[str, ...] = ()
    compared = _compared(one, other)
    if compared is None:
        same = one == other or _coalesced(one) == _coalesced(other)
        rows.append(Row("offsets", "", *((str(one), str(other)) if not same else ("", ""))))
        if not same:
            notes = ("the offsets were not compared one by one",)
    else:
        values, notes = compared
        rows += values
    return Difference("layout", str(one), str(other), tuple(rows), notes=notes)


def _answer(ask: Any, layout: AnyLayout) -> int | str:
    try:
        answer = ask(layout)
    except (CuteError, TypeError, AttributeError):
        return "unknown"
    return answer if isinstance(answer, int) else str(answer)


def _coalesced(layout: AnyLayout) -> object:
    return coalesce(layout) if isinstance(layout, Layout) else layout


def _compared(one: AnyLayout, other: AnyLayout) -> tuple[list[Row], tuple[str, ...]] | None:
    """Return rows and words of the indices that both have; ``None`` for too many or symbols."""
    sizes = [_answer(size, x) for x in (one, other)]
    if not all(isinstance(n, int) and 0 < n <= MOST for n in sizes):
        return None
    try:
        mine, yours = (_offsets(x) for x in (one, other))
    except CuteError:
        return None
    count = min(len(mine), len(yours))
    ranks = len(mine[0]), len(yours[0])
    if ranks[0] != ranks[1]:
        return [Row("offsets", "coordinates of", *ranks)], ()
    apart = [i for i in range(count) if mine[i] != yours[i]]
    rows = [
        Row("offsets", f"at {_at(one, other, i)}", _offset(mine[i]), _offset(yours[i]))
        for i in apart[:_EXAMPLES]
    ]
    if not apart:
        rows.append(Row("offsets", "", "", ""))
    reached = {*mine}, {*yours}
    alone = len(reached[0] - reached[1]), len(reached[1] - reached[0])
    rows.append(Row("offsets", "that it alone reaches", *alone))
    words = (f"{len(apart):,} of {count:,} coordinates have another offset",) if apart else ()
    return rows, words


def _offsets(layout: AnyLayout) -> list[tuple[int, ...]]:
    """Return the offset at every index, first mode fastest: as a coordinate each."""
    rank = columns_of("table", layout) if isinstance(layout, Layout) else 0
    if not isinstance(layout, Layout) or not rank:
        return [(offset,) for offset in entries(layout)]
    parts = (_column(layout, mode) for mode in range(rank))
    return list(zip(*map(entries, parts), strict=True))


def _column(layout: Layout, mode: int) -> Layout:
    """Return the layout of one mode of the coordinates."""
    return from_modes([(s, along(d, mode)) for s, d in flat_modes(layout)])


def _at(one: AnyLayout, other: AnyLayout, index: int) -> str:
    if one.shape != other.shape:
        return f"index {index}"
    return str(idx2crd(index, one.shape)).replace(" ", "")


def _offset(row: tuple[int, ...]) -> int | str:
    return row[0] if len(row) == 1 else f"({', '.join(map(str, row))})"
