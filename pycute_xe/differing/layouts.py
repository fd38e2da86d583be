"""What differs between two layouts: shapes, extents, and the offsets at coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycute_xe.algebra import coalesce
from pycute_xe.bulk import table
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
    if mine.shape[1] != yours.shape[1]:
        return [Row("offsets", "coordinates of", mine.shape[1], yours.shape[1])], ()
    apart = np.flatnonzero((mine[:count] != yours[:count]).any(axis=1))
    rows = [
        Row("offsets", f"at {_at(one, other, int(i))}", _offset(mine[i]), _offset(yours[i]))
        for i in apart[:_EXAMPLES]
    ]
    if not apart.size:
        rows.append(Row("offsets", "", "", ""))
    alone = [len({*map(tuple, a.tolist())} - {*map(tuple, b.tolist())}) for a, b in
             ((mine, yours), (yours, mine))]  # fmt: skip
    rows.append(Row("offsets", "that it alone reaches", *alone))
    words = (f"{apart.size:,} of {count:,} coordinates have another offset",) if apart.size else ()
    return rows, words


def _offsets(layout: AnyLayout) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the offset at every index, first mode fastest: a row each."""
    offsets = np.asarray(table(layout), np.int64)
    count = size(layout)
    return offsets.reshape(count, -1)


def _at(one: AnyLayout, other: AnyLayout, index: int) -> str:
    if one.shape != other.shape:
        return f"index {index}"
    return str(idx2crd(index, one.shape)).replace(" ", "")


def _offset(row: Any) -> int | str:
    values = [int(x) for x in row]
    return values[0] if len(values) == 1 else f"({', '.join(map(str, values))})"
