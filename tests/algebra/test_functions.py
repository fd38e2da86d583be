"""Chains of functions and layouts of XOR strides: compositions, inverses, relations, matrices."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe import (
    BitMatrix,
    Chained,
    ComposedLayout,
    F2Layout,
    Layout,
    Swizzle,
    bit_matrix,
    from_bit_matrix,
    make_composed_layout,
)
from pycute_xe.errors import CuteError, DivisibilityError, ShapeError
from pycute_xe.f2 import F2, as_f2


def values(function: Any) -> list[Any]:
    return [function(i) for i in range(cx.size(Layout(function.shape)))]


def random_f2(rng: random.Random, most: int = 63) -> F2Layout:
    shape = [rng.choice((2, 4, 8)) for _ in range(rng.randint(1, 3))]
    strides = [F2(rng.choice((1, 2, 4, rng.randint(0, most)))) for _ in shape]
    return F2Layout(tuple(shape), tuple(strides), rng.choice((0, 0, rng.randint(0, most))))


def test_matrices_both_ways() -> None:
    rng = random.Random(50)
    for _ in range(2000 if WHOLE else 30):
        layout = random_f2(rng)
        matrix = bit_matrix(layout)
        offsets = values(layout)
        assert [layout.offset ^ matrix(i) for i in range(len(offsets))] == offsets
        again = from_bit_matrix(matrix, layout.shape, layout.offset)
        assert values(again) == offsets
        assert bit_matrix(from_bit_matrix(matrix)) == matrix
        for i, row in enumerate(matrix.rows):
            assert row == tuple(matrix(1 << j) >> i & 1 for j in range(len(matrix.columns)))
        assert 1 << matrix.rank == len(set(offsets))
        gone = {i for i in range(len(offsets)) if matrix(i) == 0}
        assert len(gone) == 1 << len(matrix.kernel)
        assert set(matrix.kernel) <= gone
        assert values(cx.coalesce(layout)) == offsets


def test_the_algebra_of_xor_strides() -> None:
    rng = random.Random(51)
    inverted = 0
    for _ in range(2000 if WHOLE else 30):
        layout = random_f2(rng)
        offsets = values(layout)
        assert cx.is_injective(layout) == (len(set(offsets)) == len(offsets))
        assert cx.is_surjective(layout) == (set(offsets) == set(range(max(offsets) + 1)))
        assert values(cx.image(layout)) == sorted(set(offsets))
        other = random_f2(rng)
        if max(values(other)) < len(offsets):
            composed = cx.composition(layout, other)
            assert values(composed) == [offsets[i] for i in values(other)]
        if len(set(offsets)) == len(offsets):
            left = cx.left_inverse(layout)
            assert [left(x) for x in offsets] == list(range(len(offsets)))
            inverted += 1
        else:
            with pytest.raises(DivisibilityError, match="have one offset"):
                cx.left_inverse(layout)
        if 0 in offsets:
            right = values(cx.right_inverse(layout))
            assert [offsets[i] for i in right] == list(range(len(right)))
            longer = range(2 * len(right))
            assert not all(x in set(offsets) for x in longer)
    assert inverted > 3


def test_inverses_of_swizzles_as_pycute_gives_them() -> None:
    # NVlabs/CuTe, test/test_inverse_right.py (commit 13af37e): involutions
    for layout in (F2Layout((8, 8), (F2(1), F2(9))), F2Layout((4, 4), (F2(1), F2(5)))):
        assert cx.right_inverse(layout) == layout
    turned = cx.right_inverse(F2Layout((8, 8), (F2(9), F2(1))))
    assert turned == F2Layout((8, 8), (F2(8), F2(9)))


def test_sums_of_xor_strides() -> None:
    # NVlabs/CuTe, test/test_layout_add.py: F2 strides
    a, b = F2Layout(16, F2(1)), F2Layout((4, 4), (F2(2), F2(8)))
    assert cx.layout_add(a, b) == F2Layout(16, F2(3))
    assert values(cx.layout_add(b, b)) == [0] * 16
    with pytest.raises(DivisibilityError, match="differ"):
        cx.layout_add(a, F2Layout(8, F2(1)))


FUNCTIONS: list[Any] = [
    Layout((4, 8), (8, 1)),
    Layout(32, 3),
    ComposedLayout(Swizzle(2, 0, 3), 4, Layout((4, 8))),
    F2Layout((4, 8), (F2(1), F2(5))),
]


@pytest.mark.parametrize("outer", [*FUNCTIONS, Swizzle(2, 1, 2)], ids=str)
@pytest.mark.parametrize("inner", [Layout((4, 3), (2, 8)), *FUNCTIONS[2:]], ids=str)
def test_chains_are_what_they_say(outer: Any, inner: Any) -> None:
    for offset in (0, 1, 3):
        chain = make_composed_layout(outer, offset, inner)
        inside = [offset + inner(i) for i in range(len(values(inner)))]
        expected = [outer(x) for x in inside]
        assert values(chain) == expected
        assert cx.is_injective(chain) == (len(set(expected)) == len(expected))
        assert cx.is_surjective(chain) == (set(expected) == set(range(max(expected) + 1)))
        assert cx.functionally_equal(chain, chain)
        assert not cx.functionally_equal(chain, Layout(len(expected), 1000))
        assert chain((1, None))(2) == chain(1, 2)
        try:
            listed = values(cx.image(chain))
        except DivisibilityError:
            continue
        assert listed == sorted(set(expected))
        assert values(cx.composition(chain, Layout(2, 2))) == [expected[0], expected[2]]


def test_inverses_of_chains() -> None:
    outer, inner = Layout((4, 8), (8, 1)), Layout((2, 3), (8, 2))
    for chain in (
        Chained(outer, 1, inner),
        Chained(Layout(64, 2), 3, inner),
        Chained(Swizzle(2, 0, 2), 0, Chained(Swizzle(1, 0, 3), 1, inner)),
        Chained(ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 8))), 0, inner),
    ):
        undone = cx.left_inverse(chain)
        assert [undone(x) for x in values(chain)] == list(range(6))


def test_chains_that_leave_their_outer_function_have_no_inverse() -> None:
    beyond = Chained(Layout((3, 8), (8, 1)), 0, Layout(4, 8))
    assert cx.is_injective(beyond)
    repeated = Chained(Layout((2, 4), (0, 3)), 1, Layout(2))
    assert cx.is_injective(repeated)
    for chain in (beyond, repeated):
        with pytest.raises(DivisibilityError, match="does not tell the indices apart"):
            cx.left_inverse(chain)
    longer = Chained(Layout(2, 3), 0, Layout(3))  # the last mode goes on
    assert [cx.left_inverse(longer)(value) for value in values(longer)] == [0, 1, 2]


def test_refusals() -> None:
    with pytest.raises(ShapeError, match="not a function, an offset and a layout"):
        Chained(4, 0, Layout(4))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ShapeError, match="non-negative integer"):
        BitMatrix((1, -2))
    with pytest.raises(ShapeError, match="reaches bit 3"):
        _ = BitMatrix((1, 2)) @ BitMatrix((8,))
    with pytest.raises(DivisibilityError, match="not a power of two"):
        bit_matrix(F2Layout(3, F2(1)))
    with pytest.raises(DivisibilityError, match="the matrix 4"):
        from_bit_matrix((1, 2), 8)
    with pytest.raises(DivisibilityError, match="no index has the offset 0"):
        cx.right_inverse(F2Layout(2, F2(1), 4))
    with pytest.raises(CuteError, match="one by one"):
        cx.is_surjective(ComposedLayout(Swizzle(2, 0, 2), 0, Layout(1 << 21)))
    with pytest.raises(ShapeError, match="not numbers"):
        cx.is_surjective(ComposedLayout(Swizzle(0, 0, 0), 0, Layout(cx.symbol("N"))))


def test_swizzles_of_layouts_are_what_the_matrix_says() -> None:
    X = ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4)))
    assert values(from_bit_matrix(bit_matrix(X))) == values(X) == values(as_f2(X))


def test_what_is_within_a_chain_is_rearranged() -> None:
    # as CuTe IR folds: CUTLASS 7107b05, cutlass_compiler/cute_ir/test
    chain = make_composed_layout(Layout((4, 5)), 2, Layout((4, 5)))
    assert cx.coalesce(chain) == make_composed_layout(Layout((4, 5)), 2, Layout(20))
    block = make_composed_layout(Layout((2, 3), (3, 1)), 2, Layout((3, 4), (4, 1)))
    tiler = Layout((2, 5), (1, 2))
    for operation in (cx.logical_product, cx.blocked_product, cx.raked_product):
        assert operation(block, tiler) == block.with_inner(operation(block.inner, tiler))
    cut = cx.zipped_divide(block, (3, 2))
    assert values(cut) == [block(i, j) for j in range(4) for i in range(3)]
    deeper = Chained(Swizzle(1, 0, 2), 0, block)
    assert cx.logical_divide(deeper, 3).inner == cx.logical_divide(block, 3)
    assert cx.flatten(Chained(Swizzle(1, 0, 2), 0, chain)) == Chained(Swizzle(1, 0, 2), 0, chain)
