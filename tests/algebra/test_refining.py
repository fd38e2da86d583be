"""Shapes that refine each other, against all shapes of a size; modes kept or gathered."""

from __future__ import annotations

from itertools import product as pairs
from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe import E, Layout
from pycute_xe.algebra import coalesce_z, common_coarsening, common_refinement, hier_unzip
from pycute_xe.errors import CuteError, DivisibilityError, RankError
from pycute_xe.int_tuple import compatible


def shapes_of(size: int, depth: int = 2) -> list[Any]:
    """Every shape of a size with extents above 1 in tuples, nested up to a depth."""
    out: list[Any] = [size]
    if depth:
        for factors in factorings(size):
            if len(factors) > 1:
                out += pairs(*(shapes_of(f, depth - 1) for f in factors))
    return out


def factorings(size: int) -> list[tuple[int, ...]]:
    if size == 1:
        return [()]
    return [
        (f, *rest) for f in range(2, size + 1) if size % f == 0 for rest in factorings(size // f)
    ]


def test_refinements_and_coarsenings_among_all_shapes() -> None:
    shapes = shapes_of(12)
    assert len(shapes) == 14
    refused = 0
    for a, b in pairs(shapes, repeat=2):
        above = [c for c in shapes if compatible(a, c) and compatible(b, c)]
        below = [c for c in shapes if compatible(c, a) and compatible(c, b)]
        coarse = common_coarsening(a, b)
        assert coarse in below
        assert all(compatible(c, coarse) for c in below)
        if not above:
            refused += 1
            with pytest.raises(DivisibilityError, match="no shape refines both"):
                common_refinement(a, b)
            continue
        fine = common_refinement(a, b)
        assert fine in above
        assert all(compatible(fine, c) for c in above)
    assert refused


# NVlabs/CuTe, test/test_compatibility.py (commit 1a4a2cd): two shapes, refinement, coarsening.
THEIRS = [
    (10, (2, 5), (2, 5), 10),
    (10, (10,), (10,), 10),
    (24, ((2, 2), 6), ((2, 2), 6), 24),
    ((2, 15), (2, (3, 5)), (2, (3, 5)), (2, 15)),
    ((4, (3, 5)), ((2, 2), 15), ((2, 2), (3, 5)), (4, 15)),
    (((2, 3), 20), (6, (4, 5)), ((2, 3), (4, 5)), (6, 20)),
    ((2, (3, 5)), ((3, 2), 5), None, 30),
    ((6, 5), (2, 15), None, 30),
    ((4, 6), (3, 8), None, 24),
    (((2, 3), 4), ((3, 2), 4), None, (6, 4)),
    ((2, 3), (2, 3, 1), None, 6),
    ((5, 3, 4), (10, 6), None, 60),
    (3, 4, None, None),
    (7, (2, 3), None, None),
    ((2, 3, 4), (6, 5), None, None),
]


@pytest.mark.parametrize(("a", "b", "fine", "coarse"), THEIRS)
def test_as_pycute_refines_and_coarsens(a: Any, b: Any, fine: Any, coarse: Any) -> None:
    for function, expected in ((common_refinement, fine), (common_coarsening, coarse)):
        for x, y in ((a, b), (b, a), (Layout(a), b)):
            if expected is None:
                with pytest.raises(DivisibilityError):
                    function(x, y)
            else:
                assert function(x, y) == expected


# NVlabs/CuTe, test/test_coalesce_z.py: what it holds beyond their size, too.
OPERANDS = [
    Layout(1, 0),
    Layout(1, 1),
    Layout((1, 1), (5, 7)),
    Layout((2, 4, 6), (24, 6, 1)),
    Layout((2, 1, 6), (4, 7, 8)),
    Layout((2, 1, 6, 1), (4, 7, 8, 57)),
    Layout((2, 1, 6, 1), (1, 7, 8, 48)),
    Layout((2, 1, 3), (2, 4, 4)),
    Layout(((2, 2), (2, 2)), ((1, 4), (8, 32))),
    Layout((2, 1, 6, 1), (E(1, 1), E(2, 3), 2 * E(1, 1), E(2, 3))),
    Layout(((2, 2), (2, 2)), ((E(0), E(1)), (2 * E(1), 2 * E(0)))),
]


@pytest.mark.parametrize("layout", OPERANDS, ids=str)
def test_coalesce_z_is_the_same_past_the_end(layout: Layout) -> None:
    out = coalesce_z(layout)
    assert cx.depth(out) <= 1
    assert cx.size(out) == cx.size(layout)
    assert [out(i) for i in range(cx.size(layout) + 10)] == [
        layout(i) for i in range(cx.size(layout) + 10)
    ]
    assert coalesce_z(out) == out


def test_coalesce_z_of_one_mode() -> None:
    layout = Layout(((2, (1, 6)), (3, 4, 1)), ((1, (6, 2)), (100, 300, 0)))
    out = coalesce_z(layout, (1, 1))
    assert out[1].shape == (12, 1)
    with pytest.raises(RankError, match="the profile has 3 modes"):
        coalesce_z(layout, (1, 1, 1))


def test_what_is_split_is_gathered() -> None:
    layout = Layout((8, (4, 6)), (1, (16, 64)))
    for tiler in (None, 4, (4, 2), (4, (2, 3)), (None, 4), (2,)):
        expected = cx.zipped_divide(layout, tiler)
        assert hier_unzip(cx.logical_divide, layout, tiler) == expected
    with pytest.raises(RankError, match="3 entries"):
        hier_unzip(cx.logical_divide, layout, (1, 2, 3))


def test_blocks_that_do_not_divide_a_target_round_it_up() -> None:
    for extent, other in pairs(range(1, 9), range(1, 7)):
        out = cx.tile_to_shape(Layout((3, 2)), (extent, other), rounded=True)
        wide, high = -(-extent // 3), -(-other // 2)
        assert [cx.size(mode) for mode in out] == [3 * wide, 2 * high]
        assert sorted(out(i) for i in range(cx.size(out))) == list(range(cx.size(out)))


def test_tuples_are_flattened() -> None:
    assert cx.flatten(((2, (3,)), 4)) == (2, 3, 4)
    assert cx.flatten(()) == ()


def test_one_stride_scales_the_compact_layout() -> None:
    # NVlabs/CuTe, test/test_layout.py
    assert Layout((4, 8), 2) == Layout((4, 8), (2, 8))
    assert Layout((3, (2, 4)), 5) == Layout((3, (2, 4)), (5, (15, 30)))
    assert Layout((4, 8), 3 * E(1)) == Layout((4, 8), (3 * E(1), 12 * E(1)))
    assert Layout((4, 8), 0) == Layout((4, 8), (0, 0))
    assert Layout((), 2) == Layout(())
    for shape, stride in (((4, 0), 2), ((4, 8), True), ((4, 8), (2,)), (4, (2,))):
        with pytest.raises(CuteError):
            Layout(shape, stride)


def test_orders_layouts_and_cotargets_as_cute_ir_takes_them() -> None:
    # CUTLASS 7107b05, cutlass_compiler/cute_ir/test/Dialect/Cute
    shape = (2, (2, 2), 2)
    assert cx.make_ordered_layout(shape, (0, 2, 1)) == Layout(shape, (1, (4, 8), 2))
    assert cx.make_ordered_layout(shape, (2, 1, 3)) == Layout(shape, (4, (1, 2), 8))
    with pytest.raises(CuteError, match="nest differently"):
        cx.make_ordered_layout(shape, (0, (1, 2, 3), 4))
    assert cx.complement(Layout(3, 2), Layout(6)) == Layout(2)
    assert cx.complement(Layout((3, (5, 2)), (1, (3, 15))), Layout((6, 20))) == Layout(4, 30)
    swizzled = cx.composition(cx.Swizzle(3, 4, 3), 6, Layout((8, 2), (2, 16)))
    assert cx.make_layout_like(swizzled) == Layout((8, 2), (1, 8))
    assert cx.make_identity_layout(4) == Layout(4)
    assert cx.cosize(Layout((4, 3, 2), (1, 4, 12)), 1) == 9
    assert cx.cosize(swizzled, 1) == swizzled[1].cosize


def test_coordinates_count_up() -> None:
    # CUTLASS 7107b05, cutlass_compiler/cute_ir/test, increment_coord.mlir
    assert cx.increment_coord((1, 2), (4, 8)) == (2, 2)
    assert cx.increment_coord((1, (2, 0)), (4, (3, 8))) == (2, (2, 0))
    assert cx.increment_coord((2, 2, 2), (3, 3, 3)) == (0, 0, 3)
    assert cx.increment_coord((0, 0, 3), (3, 3, 3)) == (1, 0, 3)
    with pytest.raises(CuteError, match="other modes"):
        cx.increment_coord((1, 2, 3), (4, 8))


def test_a_layout_alone_owns_zeros() -> None:
    tensor = cx.make_tensor(Layout((2, 2), (3, 1)))
    tensor[1, 1] = 7
    assert tensor.data == [0, 0, 0, 0, 7]
    assert cx.make_tensor(cx.composition(cx.Swizzle(1, 0, 1), Layout(4))).data == [0] * 4
    for layout, words in (
        (4, "layout is missing"),
        (Layout(4, -1), "number of elements"),
        (Layout(4, E(0)), "number of elements"),
        (Layout(1 << 25), "more than"),
        (Layout(cx.symbol("N")), "number of elements"),
    ):
        with pytest.raises(CuteError, match=words):
            cx.make_tensor(layout)
