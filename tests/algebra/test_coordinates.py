"""Complements, inverses, divides and products of layouts that map to coordinates.

The oracle lists coordinates with loops; the operands marked so are those of NVlabs/CuTe's tests
(test_complement.py, test_inverse_right.py, test_inverse_left.py at commit 13af37e).
"""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st
from sampling import WHOLE
from strategies import bijections, layouts, mode_tilers, ranked as of_modes

from pycute_xe.algebra import (
    coalesce,
    coalesce_z,
    complement,
    composition,
    functionally_equal,
    is_injective,
    layout_add,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout_like,
    right_inverse,
    tiler_to_layout,
    zipped_divide,
)
from pycute_xe.basis import ArithTuple, E
from pycute_xe.errors import CuteError, DivisibilityError, ShapeError
from pycute_xe.f2 import F2, F2Layout
from pycute_xe.int_tuple import transform_leaf
from pycute_xe.layout import Layout, make_layout, size

# The C operand of SM70's 8x8x4 MMA, as NVlabs/CuTe's tests have it.
SM70 = Layout(((2, 2, 2), (2, 2, 2)), ((E(0), 2 * E(1), 4 * E(0)), (E(1), 2 * E(0), 4 * E(1))))
TORN = Layout(((2, 2, 2), (2, 2, 2)), ((E(0), 2 * E(1), 6 * E(0)), (E(1), 2 * E(0), 4 * E(1))))
THEIRS = [
    Layout(3, E(0)),
    Layout(3, 4 * E(2)),
    Layout((2, 5, 3), (4 * E(1), 5 * E(0), 16 * E(1))),
    Layout((2, 3, 5), (4 * E(1), 5 * E(0), 7 * E(2, 1))),
    Layout((2, 3, 5), (4 * E(1), 0, 7 * E(2, 1))),
    Layout((4, 5), (E(0), E(1))),
    Layout((4, 5), (E(1), E(0))),
    Layout((4, 5), (E(1), E(4, 1))),
    Layout((4, 5), (2 * E(0), 2 * E(1))),
    Layout((3, (2, 2)), (34 * E(0), (2 * E(0), 2 * E(1)))),
    SM70,
    TORN,
]


def padded(value: Any, ranks: Any) -> Any:
    """A coordinate as plain tuples, with the zeros that its space has and it leaves out."""
    if not isinstance(ranks, tuple):
        return value
    given = tuple(value) if isinstance(value, tuple) else ()
    return tuple(padded(given[i] if i < len(given) else 0, r) for i, r in enumerate(ranks))


def points(layout: Layout, ranks: Any) -> list[Any]:
    return [padded(layout(i), ranks) for i in range(size(layout))]


def space(layout: Layout) -> Any:
    """The nesting of the coordinates of a layout, with 0 at its leaves."""
    tree: Any = {}
    flat = [d for d in flattened(layout.stride) if d != 0]
    for d in flat:
        at = tree
        for mode in d.modes:
            at = at.setdefault(mode, {})
    return ranked(tree)


def flattened(tree: Any) -> list[Any]:
    return (
        [leaf for part in tree for leaf in flattened(part)] if isinstance(tree, tuple) else [tree]
    )


def ranked(tree: Any) -> Any:
    return tuple(ranked(tree.get(i, {})) for i in range(max(tree) + 1)) if tree else 0


@pytest.mark.parametrize("layout", THEIRS, ids=str)
def test_inverses_undo_coordinates(layout: Layout) -> None:
    ranks = space(layout)
    left, right = left_inverse(layout), right_inverse(layout)
    seen = points(layout, ranks)
    for i in range(size(layout)):
        assert seen[left(seen[i])] == seen[i]
    for i in range(size(right)):
        assert right(seen[right(i)]) == right(i)
    if len(set(seen)) == len(seen):
        assert [left(c) for c in seen] == list(range(size(layout)))


def random_coordinates(rng: random.Random) -> Layout:
    """Modes that go on along one of two axes each, with even gaps, shuffled."""
    reach = [1, 1]
    modes = []
    for _ in range(rng.randint(1, 4)):
        axis, extent = rng.randrange(2), rng.choice((2, 3, 4))
        reach[axis] *= rng.choice((1, 1, 2))
        modes.append((extent, reach[axis] * E(axis)))
        reach[axis] *= extent
    rng.shuffle(modes)
    return Layout(tuple(s for s, _ in modes), tuple(d for _, d in modes))


@pytest.mark.long
def test_random_inverses_and_complements() -> None:
    rng = random.Random(34)
    for _ in range(2000 if WHOLE else 20):
        layout = random_coordinates(rng)
        ranks = space(layout)
        seen = points(layout, ranks)
        assert [left_inverse(layout)(c) for c in seen] == list(range(size(layout)))
        right = right_inverse(layout)
        ends = tuple(size(mode) for mode in right)
        for c in product(*map(range, ends)):
            assert padded(layout(right(c)), ranks) == c
        # nothing longer: the next coordinate along each axis is not hit, the others at 0
        for axis, end in enumerate(ends):
            assert padded((0,) * axis + (end,), ranks) not in seen
        rest = points(complement(layout, (48,) * len(ranks)), ranks)
        sums = [tuple(a + b for a, b in zip(c, d, strict=True)) for c in seen for d in rest]
        assert len(set(sums)) == len(sums)
        assert set(product(*(range(48) for _ in ranks))) <= set(sums)


def test_complements_as_pycute_gives_them() -> None:
    # docs/04_layout_algebra.md of NVlabs/CuTe, without the modes of extent 1 that it keeps
    layout = Layout((2, 5, 3), (4 * E(1), 5 * E(0), 16 * E(1)))
    assert complement(layout) == Layout((5, (4, 2)), (E(0), (E(1), 8 * E(1))))
    assert complement(Layout(3, E(0))) == Layout((1,), (0,))


def test_inverses_as_pycute_gives_them() -> None:
    assert right_inverse(Layout((4, 5), (E(1), E(0)))) == Layout((5, 4), (4, 1))
    assert right_inverse(Layout((4, 5), (2 * E(0), 2 * E(1)))) == Layout((1, 1), (0, 0))
    assert size(right_inverse(SM70)) == 64


def test_divides_by_coordinates() -> None:
    rng = random.Random(35)
    tried = 0
    while tried < 60:
        layout = Layout((rng.choice((8, 12)), rng.choice((6, 8))), (rng.choice((1, 8)), 100))
        s, t, d = rng.choice((2, 4)), rng.choice((2, 3)), rng.choice((1, 2))
        if layout.shape[0] % (s * d) or layout.shape[1] % t:
            continue
        tile = Layout((t, s), (E(1), d * E(0)))
        divided = logical_divide(layout, tile)
        values = [layout(i) for i in range(size(layout))]
        assert sorted(divided(i) for i in range(size(divided))) == sorted(values)
        for i, j in product(range(t), range(s)):
            assert divided((i, j), 0) == layout(j * d, i)
        tried += 1


def test_products_of_coordinates_do_not_overlap() -> None:
    rng = random.Random(36)
    refused = 0
    for _ in range(60):
        block = random_coordinates(rng)
        ranks = space(block)
        counted = rng.choice((2, 3, 5))
        try:
            out = logical_product(block, counted)
        except DivisibilityError:
            refused += 1
            continue
        assert out[0] == block
        seen = points(out, ranks)
        assert len(set(seen)) == len(seen) == counted * size(block)
    assert refused < 40  # copies that do not fill the gaps evenly
    out = logical_product(Layout((2, 3), (E(0), E(1))), Layout((4, 2), (E(1), E(0))))
    wanted = set(product(range(4), range(12)))
    assert set(points(out, (0, 0))) == wanted


def test_an_inverse_composes_with_its_layout() -> None:
    identity = composition(SM70, right_inverse(SM70))
    assert points(identity, (0, 0)) == [(i % 8, i // 8) for i in range(64)]
    assert make_layout(left_inverse(SM70)) == make_layout(right_inverse(SM70))


# NVlabs/CuTe, test/test_logical_divide.py (commit 2f1e813): test_zipped_divide_coord,
# which divides (8,8):(9,1).
TILERS = [
    Layout(4, E(0)),
    Layout(4, E(1)),
    Layout(4, 2 * E(0)),
    Layout(4, 2 * E(1)),
    Layout((4, 4), (E(1), 2 * E(0))),
    Layout((5, 7), (3 * E(1), 2 * E(0))),
]


@pytest.mark.parametrize("tiler", TILERS, ids=str)
def test_divides_by_the_tilers_of_pycute(tiler: Layout) -> None:
    layout = Layout((8, 8), (9, 1))
    divided = logical_divide(layout, tiler)
    assert len(divided) == 2
    for i in range(size(tiler)):
        x, y = padded(tiler(i), (0, 0))
        assert divided(i, 0) == 9 * x + y
    seen = {divided(i) for i in range(size(divided))}
    assert {layout(i) for i in range(64)} <= seen


@given(st.data())
def test_a_tiler_as_a_layout_composes_alike(data: st.DataObject) -> None:
    layout = data.draw(of_modes(layouts()))
    tiler = data.draw(mode_tilers(layout))
    try:
        wanted = composition(layout, tiler)
        found = composition(layout, tiler_to_layout(tiler))
    except CuteError:
        return
    assert found.shape == wanted.shape
    assert functionally_equal(found, wanted)
    if all(d != 0 for d in flattened(tiler_to_layout(tiler).stride)):
        try:
            divided = zipped_divide(layout, tiler)
        except CuteError:
            return
        assert functionally_equal(divided, logical_divide(layout, tiler_to_layout(tiler)))


@given(st.data())
def test_modes_that_a_coordinate_leaves_out_are_zero(data: st.DataObject) -> None:
    layout = data.draw(of_modes(layouts(negative=True)))
    count = data.draw(st.integers(0, len(layout)))
    given = tuple(data.draw(st.integers(0, 9)) for _ in range(count))
    whole = given + (0,) * (len(layout) - count)
    assert layout(ArithTuple(given)) == layout(whole) == layout(ArithTuple((*whole, 0, (0, 0))))


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 40)), min_size=1, max_size=5))
def test_xor_layouts_of_any_extents_coalesce(modes: list[tuple[int, int]]) -> None:
    xor = F2Layout(tuple(s for s, _ in modes), tuple(F2(d) for _, d in modes))
    count = size(xor)
    for short, most in ((coalesce(xor), count), (coalesce_z(xor), count + 9)):
        assert [short(i) for i in range(most)] == [xor(i) for i in range(most)]
    assert coalesce(coalesce(xor)) == coalesce(xor)
    assert layout_add(xor, Layout(count, 0)) == coalesce(xor)


@given(bijections(16), st.integers(2, 4))
def test_compact_layouts_like_coordinates_keep_their_order(shape: Layout, axes: int) -> None:
    strides = transform_leaf(shape.shape, lambda s: (s + 1) * E(s % axes))
    layout = Layout(shape.shape, strides)
    found = make_layout_like(layout)
    assert sorted(map(found, range(size(found)))) == list(range(size(found)))
    moved = [(d, e) for s, d, e in leaves_of(layout, found) if s != 1]
    for (d, e), (other, f) in product(moved, moved):
        if (d.modes, d.value) < (other.modes, other.value):
            assert e < f


def leaves_of(layout: Layout, other: Layout) -> list[tuple[Any, ...]]:
    trees = (layout.shape, layout.stride, other.stride)
    return list(zip(*map(flattened, trees), strict=True))


@given(layouts(12), st.integers(1, 5))
def test_copies_of_what_leaves_uneven_gaps_do_not_overlap(block: Layout, count: int) -> None:
    assume(is_injective(block))
    try:
        repeated = logical_product(block, count)
    except CuteError:
        return
    assert is_injective(repeated)
    assert size(repeated) == count * size(block)


def test_divides_along_a_part_of_an_axis_keep_the_other_parts() -> None:
    layout = Layout((4, (2, 6)), (1, (4, 8)))
    divided = logical_divide(layout, Layout(3, E(1, 1)))
    assert sorted(map(divided, range(size(divided)))) == list(range(48))
    assert divided == Layout((3, (4, (2, 2))), (8, (1, (4, 24))))


def test_copies_go_on_along_nested_axes() -> None:
    found = logical_product(Layout(4, 3 * E(2, 0)), 9)
    assert len({str(found(i)) for i in range(36)}) == 36
    assert logical_product(Layout(2, E(0)), Layout(3, E(1)))(1, 2) == (1, 2)


def test_a_step_along_an_axis_and_one_along_its_part_have_no_sum() -> None:
    with pytest.raises(ShapeError, match="which have no sum"):
        Layout((2, 2), (E(0), E(0, 1)))(1, 1)
    mixed = Layout((4, 1), (E(0), E(0, 0)))
    assert [mixed(i) for i in range(4)] == [(0,), (1,), (2,), (3,)]
