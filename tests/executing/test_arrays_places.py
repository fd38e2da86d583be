"""Places of whole arrays against a loop over every point."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sampling import EXAMPLES

from pycute_xe.errors import UndecidableError
from pycute_xe.executing.arrays.lifting import apart_of, boxed
from pycute_xe.executing.arrays.terms import (
    Axis,
    Field,
    index_field,
    points_of,
    separated,
)
from pycute_xe.executing.arrays.values import Value, gathered, scattered
from pycute_xe.kernel import Fill, Fragment, If, Index, Kernel, Loop, Operand
from pycute_xe.numeric import as_numeric

F32 = as_numeric("f32")
K, Q, M = Index("k"), Index("q"), Index("m")

INDICES = [
    K * 4 + Q,
    (K * 4 + Q) // 3 - M,
    (K + M * 5) % 7 + Q // 2,
    Index(None, 11) - K * 2 - (Q + 1) // 2 * 3,
    (M * 8 + Q * 2) // 4 + ((K + Q) // 2) % 3,
    Index.element("table", (K + Q) % 5, M) * 2 + K,
]


def look_up(table: Any) -> Any:
    def look(_operand: str, at: tuple[Field, ...]) -> Field:
        axes, found = gathered(table, at)
        return Field(0, ((axes, found),)) if axes else Field(int(found))

    return look


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_an_index_is_what_it_is_at_each_point(index: Index) -> None:
    counts = {"k": 5, "q": 4, "m": 3}
    table = np.arange(15).reshape(5, 3) * 7 % 11
    axes = {name: Axis(count) for name, count in counts.items()}
    env = {name: Field(0, (((axis,), np.arange(axis.size)),)) for name, axis in axes.items()}
    field = index_field(index, env, look_up(table))
    found = field.over(tuple(axes.values()))
    for limit in (-3, 0, 1, 7):
        below = (field + Field(-limit)).negative(tuple(axes.values()))
        assert np.array_equal(np.broadcast_to(below, found.shape), found < limit)
    for point in product(*map(range, counts.values())):
        names = dict(zip(counts, point, strict=True))
        assert found[point] == index.at(names, lambda _, at: int(table[at]))


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.integers(0, 3),
    st.integers(0, 2**16),
)
def test_the_parts_of_a_table_add_up_to_it(shape: list[int], kind: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines = [rng.integers(-9, 9, n) for n in shape]
    table = sum(np.reshape(x, np.roll([n] + [1] * (len(shape) - 1), i)) for i, (x, n) in
                enumerate(zip(lines, shape, strict=True)))  # fmt: skip
    table = np.array(np.broadcast_to(table, shape))
    if kind == 0:
        table = rng.integers(-3, 3, shape)
    offset, parts = separated(table)
    total: Any = np.full(shape, offset)
    for axes, part in parts:
        wide = [n if i in axes else 1 for i, n in enumerate(shape)]
        total = total + np.reshape(part, wide)
    assert np.array_equal(total, table)
    if kind:
        assert all(len(axes) == 1 for axes, _ in parts)


def one_by_one(array: Any, axes: tuple[Axis, ...], places: tuple[Field, ...]) -> Any:
    at = [place.over(axes) for place in places]
    out = np.zeros([axis.size for axis in axes])
    for point in np.ndindex(*out.shape):
        place = tuple(int(x[point]) for x in at)
        if all(0 <= i < n for i, n in zip(place, array.shape, strict=True)):
            out[point] = array[place]
    return out


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**16), st.booleans(), st.booleans(), st.booleans())
def test_elements_at_places_and_zeros_outside(
    seed: int, shared: bool, in_a_row: bool, outside: bool
) -> None:
    rng = np.random.default_rng(seed)
    array = rng.integers(1, 99, (6, 5))
    axes = Axis(4), Axis(3), Axis(2)

    def line(axis: Axis, most: int) -> Field:
        numbers = np.arange(axis.size) if in_a_row else rng.integers(0, most, axis.size)
        return Field(int(rng.integers(-2, 4)) if outside else 0, (((axis,), numbers),))

    rows = line(axes[0], 6) + (line(axes[1], 2) if shared else Field())
    places = rows, line(axes[1], 5) + line(axes[2], 2)
    found_axes, found = gathered(array, places)
    order = [found_axes.index(axis) for axis in axes]
    assert np.array_equal(found.transpose(order), one_by_one(array, axes, places))


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("step", [1, 2])
def test_what_is_put_at_places_is_there(add: bool, step: int) -> None:
    rows, columns = Axis(3), Axis(2)
    places = (
        Field(1, (((rows,), np.arange(3)),)),
        Field(0, (((columns,), np.arange(2) * step),)),
    )
    array, new = np.ones((5, 4), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    scattered(array, places, Value((columns, rows), new, F32), (columns, rows), add)
    wanted = np.ones((5, 4), np.float32)
    for i, j in product(range(3), range(2)):
        wanted[1 + i, j * step] = new[j, i] + (1 if add else 0)
    assert np.array_equal(array, wanted)


def test_coordinates_of_what_is_no_box_are_one() -> None:
    groups, index = boxed([np.array([0, 0, 1]), np.array([0, 1, 1])])
    assert groups == [[0, 1]]
    assert index.tolist() == [0, 1, 2]
    groups, index = boxed([np.array([0, 1, 0, 1]), np.array([5, 5, 5, 5])])
    assert groups == [[0]]
    assert index.tolist() == [[0, 2], [1, 3]]  # two of each
    with pytest.raises(UndecidableError, match="more registers than others"):
        boxed([np.array([0, 0, 1])])


def kernel(grid: tuple[tuple[str, Index], ...]) -> Kernel:
    held = (Fragment("x", F32, 1),)
    return Kernel("points", 1, (Operand("X", "f32", ("S",)),), held, grid, (Fill("x"),))


@pytest.mark.parametrize("size", [0, 1, 5, 8])
def test_the_points_of_a_statement_are_those_of_nested_loops(size: int) -> None:
    grid = (("g", Index(None, 3)), ("h", Index("S") // 2))
    enclosing = (
        Loop("i", Index("g"), Index("S"), ()),
        If(Index("i"), Index("h") + 3, ()),
        Loop("j", Index(), Index("i") - 1, ()),
    )
    found = points_of(kernel(grid), {"S": size}, enclosing, look_up(np.zeros(1)))
    assert len(found) == 1
    columns = [found[0].columns[n].tolist() for n in "ghij"] if found[0].size else [[]] * 4
    wanted = [
        (g, h, i, j)
        for g in range(3)
        for h in range(size // 2)
        for i in range(g, size)
        if i < h + 3
        for j in range(i - 1)
    ]
    assert sorted(zip(*columns, strict=True)) == wanted
    assert found[0].size == len(wanted)


def test_variables_on_which_nothing_depends_stay_apart() -> None:
    grid = (("g", Index(None, 3)), ("h", Index(None, 2)))
    enclosing = (Loop("i", Index(), Index("g"), ()),)
    found = points_of(kernel(grid), {"S": 1}, enclosing, look_up(np.zeros(1)))
    assert sorted(sorted(group.columns) for group in found) == [["g", "i"], ["h"]]
    some = points_of(kernel(grid), {"S": 1}, enclosing, look_up(np.zeros(1)), frozenset({"h"}))
    assert [sorted(group.columns) for group in some] == [["h"]]


def test_a_table_that_does_more_than_add_is_told() -> None:
    s, p, q = np.ogrid[:2, :3, :4]
    offset, parts = apart_of(5 * s + p + 7 * q, 1)
    assert (offset, [(axes, x.tolist()) for axes, x in parts or []]) == (
        0,
        [((0,), [0, 7, 14, 21])],
    )
    assert apart_of((p + q) % 3 + 0 * s, 1)[1] is None
    assert apart_of(s * q + p, 1)[1] is None
