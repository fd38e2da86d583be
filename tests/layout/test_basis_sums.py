"""Coordinates that subtract and have an order, and strides along several axes."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe import E, Layout
from pycute_xe.basis import ArithTuple
from pycute_xe.errors import CuteError
from pycute_xe.int_tuple import idx2crd
from pycute_xe.layout import has_symbols


def test_coordinates_subtract() -> None:
    # NVlabs/CuTe, test/test_atuple.py (commit 02e137e): test_atuple_sub
    assert ArithTuple((1, 2, 3)) - ArithTuple((7, 8, 9)) == (-6, -6, -6)
    assert ArithTuple((1, 2, 3)) - (7, 8, 9) == (-6, -6, -6)
    assert (7, 8, 9) - ArithTuple((1, 2, 3)) == (6, 6, 6)
    assert ArithTuple((1, 2, (3, 4))) - (7, 8, (9, 10)) == (-6, -6, (-6, -6))
    assert 4 * E(0) - E(0) == 3 * E(0)
    assert E(0) - E(0) == 0
    assert E(0) - 0 == E(0)
    assert 0 - E(0) == -1 * E(0)
    assert 4 * E(0) - E(1) == (4, -1)
    with pytest.raises(CuteError, match="no sum"):
        ArithTuple((1, 2, 3)) - 7


def test_the_order_of_coordinates_is_that_of_their_indices() -> None:
    # the same file: test_atuple_lt, test_sbasis_lt
    shape = (4, (5, 6), 2)
    coords = [ArithTuple(idx2crd(i, shape)) for i in range(cx.size(shape))]
    shuffled = coords[:]
    random.Random(40).shuffle(shuffled)
    assert sorted(shuffled) == coords
    assert all(c > 0 for c in coords[1:])
    assert not coords[0] > 0
    assert ArithTuple((3, 0)) <= E(1)
    assert ArithTuple((0, 1)) >= E(1)


SUMS = [
    (8, E(0) + E(1), lambda i: (i, i)),
    (12, 2 * E(0) + 3 * E(2), lambda i: (2 * i, 0, 3 * i)),
    ((4, 3), (E(0) + E(1, 1), E(1, 1)), lambda i: (i % 4, (0, i % 4 + i // 4))),
]


@pytest.mark.parametrize(("shape", "stride", "value"), SUMS)
def test_a_layout_takes_sums_as_strides(shape: Any, stride: Any, value: Any) -> None:
    layout = Layout(shape, stride)
    assert [layout(i) for i in range(cx.size(shape))] == [value(i) for i in range(cx.size(shape))]
    assert Layout.from_str(str(layout)) == layout
    assert eval(repr(layout), {"Layout": Layout, "E": E}) == layout
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert hash(Layout(shape, stride)) == hash(layout)
    assert cx.functionally_equal(cx.coalesce(layout), layout)


# NVlabs/CuTe, test/test_layout_add.py: AT_LAYOUTS, all of size 12.
THEIRS = [
    Layout(12, 0),
    Layout(12, E(0)),
    Layout(12, 2 * E(0)),
    Layout((4, 3), (E(0), E(1))),
    Layout((4, 3), (E(1), E(0))),
    Layout((4, 3), (E(0), E(0))),
    Layout((4, 3), (2 * E(0), 3 * E(1))),
    Layout((2, 6), (E(0), E(1))),
]


def test_layouts_of_coordinates_add_as_pycute_adds_them() -> None:
    added = refused = 0
    for a in THEIRS:
        for b in THEIRS:
            try:
                out = cx.layout_add(a, b)
            except CuteError:
                refused += 1  # no order of modes serves both
                continue
            added += 1
            assert cx.layout_add(b, a) == out
            for i in range(12):
                assert out(i) == ArithTuple(()) + a(i) + b(i)
    assert (added, refused) == (64, 0)
    out = cx.layout_add(Layout(12, E(0)), Layout((4, 3), (E(1), E(2))))
    assert [out(i) for i in range(12)] == [(i, i % 4, i // 4) for i in range(12)]


def test_compositions_with_sums() -> None:
    diagonal = Layout(4, E(0) + E(1))
    matrix = Layout((4, 8), (8, 1))
    assert cx.composition(matrix, diagonal) == Layout(4, 9)
    both = cx.composition(Layout((4, 8), (E(1), E(0))), diagonal)
    assert [both(i) for i in range(4)] == [(i, i) for i in range(4)]
    assert cx.composition(diagonal, Layout(2, 2)) == Layout(2, 2 * E(0) + 2 * E(1))


@pytest.mark.parametrize(
    "act",
    [
        cx.left_inverse,
        cx.right_inverse,
        cx.image,
        cx.is_injective,
        cx.is_surjective,
        lambda layout: cx.complement(layout, (4, 4)),
        lambda layout: cx.upcast(layout, 2),
        lambda layout: layout.to_cpp(),
        lambda layout: cx.analysis(layout),
    ],
)
def test_what_needs_one_axis_refuses_sums(act: Any) -> None:
    with pytest.raises(CuteError):
        act(Layout((4, 2), (E(0) + E(1), 2 * E(0))))


def test_the_box_of_sums_holds_every_coordinate() -> None:
    for shape, stride, value in SUMS[:2]:
        box = cx.coshape(Layout(shape, stride))
        seen = [value(i) for i in range(cx.size(shape))]
        assert box == tuple(1 + max(c[k] for c in seen) for k in range(len(seen[0])))


def test_sums_are_drawn_and_printed_as_their_coordinates() -> None:
    skewed = Layout((2, 2), (E(0) + E(1), E(1)))
    assert [cell.lines for cell in cx.draw(skewed).scene.panels[0].cells] == [
        ("0,0",), ("1,1",), ("0,1",), ("1,2",)
    ]  # fmt: skip
    assert "e_{0}+e_{1}" in cx.to_latex(skewed)
    assert skewed(1, 1) == (1, 2)


def test_symbols_in_sums_are_found_and_substituted() -> None:
    pitch = cx.symbol("pitch")
    skewed = Layout(4, pitch * E(0) + E(1))
    assert has_symbols(skewed)
    assert cx.substitute(skewed, pitch=3) == Layout(4, 3 * E(0) + E(1))
