"""Complements and divides of layouts with XOR strides, judged by listing offsets."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe import F2, F2Layout, Layout
from pycute_xe.errors import CuteError, DivisibilityError, RankError, ShapeError

CALLS = 2_000 if WHOLE else 100


def layout(draw: Random) -> F2Layout:
    modes = draw.randint(1, 3)
    shape = tuple(draw.choice((1, 2, 2, 4)) for _ in range(modes))
    stride = tuple(F2(draw.choice((1, 2, 3, 4, 5, 6, 8, 9, 12))) for _ in range(modes))
    return F2Layout(shape, stride, draw.choice((0, 0, 3)))


def table(function: Any, count: int) -> list[int]:
    return [function(i) for i in range(count)]


def test_a_complement_fills_up_to_a_power_of_two() -> None:
    draw = Random(7)
    for _ in range(CALLS):
        x = layout(draw)
        end = draw.randint(1, 40)
        rest = cx.complement(x, end)
        size, count = cx.size(x.shape), cx.size(rest.shape)
        pairs = Counter(a ^ x.offset ^ b for a in table(x, size) for b in table(rest, count))
        reach = len(pairs)
        assert sorted(pairs) == list(range(reach))
        assert reach >= end
        assert reach & (reach - 1) == 0
        assert set(pairs.values()) == {size * count // reach}
        assert sorted(table(rest, count)) == table(rest, count)


def test_a_divide_keeps_offsets_and_begins_with_the_tile() -> None:
    draw, answered = Random(8), 0
    for _ in range(CALLS):
        x = layout(draw)
        tiler: Any = draw.choice(
            (1, 2, 4, Layout(2, 2), Layout((2, 2), (4, 1)), F2Layout(2, F2(3)))
        )
        try:
            tile, rest = (divided := cx.logical_divide(x, tiler)).shape
        except CuteError:
            continue
        answered += 1
        size = cx.size(x.shape)
        assert Counter(table(divided, size)) == Counter(table(x, size))
        first = Layout(tiler) if isinstance(tiler, int) else tiler
        count = cx.size(first.shape)
        assert (cx.size(tile), cx.size(rest)) == (count, size // count)
        assert table(divided, count) == [x(first(i)) for i in range(count)]
    assert answered > CALLS // 2


def test_modes_are_divided_one_by_one() -> None:
    x = F2Layout((4, (2, 4)), (F2(5), (F2(1), F2(2))))
    by_mode = cx.logical_divide(x, (2, None))
    assert by_mode.shape[0] == (2, 2)
    assert table(by_mode, 32) == table(x, 32)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (DivisibilityError, lambda x: cx.logical_divide(x, 3)),
        (DivisibilityError, lambda x: cx.logical_divide(x, Layout(2, 64))),
        (RankError, lambda x: cx.logical_divide(x, (2, 2, 2))),
        (ShapeError, lambda x: cx.complement(x, 0)),
        (DivisibilityError, lambda _: cx.complement(F2Layout(3, F2(1)), 8)),
    ],
)
def test_what_does_not_divide_is_rejected(error: type[CuteError], call: Any) -> None:
    with pytest.raises(error):
        call(F2Layout((4, 4), (F2(1), F2(5))))
