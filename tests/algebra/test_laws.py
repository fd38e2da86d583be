"""Every operation against its law, and every law against wrong results.

Most operands are drawn so that the operation takes them; where anything is drawn, some are refused.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st
from lawful import WRAPPER, Case, check_law, check_rejection
from strategies import (
    COIN,
    bijections,
    blocks_and_copies,
    blocks_and_mode_copies,
    contiguous_layouts,
    coordinate_layouts,
    extents,
    filled_shapes,
    identities,
    injective_layouts,
    layout_and,
    layouts,
    mode_tilers,
    mode_walks,
    packed_layouts,
    ranked,
    shapes,
    strides_for,
    tilers,
    walks,
)

from pycute_xe import algebra
from pycute_xe.algebra import laws
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CuteError
from pycute_xe.layout import Layout, make_identity_layout, make_ordered_layout, rank, size
from pycute_xe.swizzle import Swizzle

SIZE = 24
ANY = layouts(SIZE, negative=True)
SPREAD = injective_layouts(SIZE, fill=True)
ONE_TO_ONE = injective_layouts(SIZE)
COMPACT = bijections(SIZE)
COORDINATES = identities(SIZE) | shapes(max_size=12).flatmap(coordinate_layouts)
SMALL = layouts(12)
FLAT_IDENTITIES = extents(max_size=SIZE).map(lambda e: make_identity_layout(tuple(e)))
WIDTHS = st.sampled_from((1, 2, 3, 4, 8))
BITS = st.sampled_from((4, 6, 8, 16, 32))


def each(layout: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any]]:
    """The one operand of an operation."""
    return st.tuples(layout)


def for_shape(shape: st.SearchStrategy[Any], leaves: st.SearchStrategy[Any]) -> Any:
    """A shape, and a tuple that nests as it does."""
    return shape.flatmap(lambda s: st.tuples(st.just(s), strides_for(s, leaves)))


@st.composite
def swizzled(draw: st.DrawFn, layout: Layout) -> ComposedLayout:
    """A layout under a swizzle, at some offset."""
    bits = draw(st.integers(0, 3))
    shift = draw(st.integers(bits, 4)) * draw(st.sampled_from((1, 1, -1)))
    return ComposedLayout(
        Swizzle(bits, draw(st.integers(0, 2)), shift), draw(st.integers(0, 9)), layout
    )


@st.composite
def added(draw: st.DrawFn) -> tuple[Layout, Layout]:
    """Two layouts of one size whose leaves divide each other in order."""
    a = draw(layouts(SIZE, negative=True))
    b = Layout(a.shape, draw(strides_for(a.shape, st.integers(-9, 20))))
    return a, algebra.coalesce(b) if draw(st.booleans()) else b


@st.composite
def partly_alike(draw: st.DrawFn) -> tuple[Layout, Layout]:
    """Two layouts that may hold the same elements at the start."""
    b = draw(injective_layouts(SIZE, gaps=draw(st.booleans())))
    others = st.just(b) | st.just(algebra.coalesce(b)) | st.just(Layout(b.shape)) | SMALL
    return draw(others), b


@st.composite
def coalesced_modes(draw: st.DrawFn, layout: Layout) -> tuple[Any, ...]:
    """A profile of the first modes, some down to their own modes."""
    count = draw(st.integers(0, rank(layout)))
    return tuple(
        draw(coalesced_modes(mode)) if isinstance(mode.shape, tuple) and draw(COIN) else 1
        for mode in list(layout)[:count]
    )


def reshaped(layout: Layout) -> st.SearchStrategy[Any]:
    """The layout's size in digits of its own domain, nested anyhow: every walk is even."""
    return walks(layout).map(lambda walk: walk.shape)


# Divides and products take a layout and a layout, or a tuple of what is for each mode.
DIVIDED = layout_and(lambda a: tilers(a, repeats=True), ANY) | layout_and(mode_tilers, ranked(ANY))
REPEATED = blocks_and_copies(repeats=True) | blocks_and_mode_copies()
UNTILED = st.tuples(ANY, st.none())

COMPOSED = layout_and(walks, ANY)
MIXED = (
    layout_and(walks, layouts(SIZE)).flatmap(lambda ab: st.tuples(swizzled(ab[0]), st.just(ab[1])))
    | mode_walks(SIZE)
    | layout_and(walks, FLAT_IDENTITIES)
    | layout_and(mode_tilers, ranked(ANY))
    | UNTILED
)

CASES = {
    # ---- the same values
    "coalesce": Case(
        algebra.coalesce,
        laws.coalesce,
        each(ANY | COORDINATES | layouts(SIZE).flatmap(swizzled))
        | layout_and(coalesced_modes, ranked(ANY | COORDINATES)),
        required=1,
    ),
    "filter": Case(algebra.filter, laws.filter, each(ANY | SPREAD | COORDINATES)),
    "filter_zeros": Case(algebra.filter_zeros, laws.filter_zeros, each(ANY | SPREAD | COORDINATES)),
    "image": Case(algebra.image, laws.image, each(SPREAD | layouts(SIZE))),
    "sort": Case(algebra.sort, laws.sort, each(ANY)),
    "with_shape": Case(algebra.with_shape, laws.with_shape, layout_and(reshaped, ANY)),
    "layout_add": Case(
        algebra.layout_add, laws.layout_add, added() | FLAT_IDENTITIES.map(lambda a: (a, a))
    ),
    "make_identity_layout": Case(
        make_identity_layout, laws.make_identity_layout, each(shapes(max_size=SIZE))
    ),
    # ---- composition
    "composition: walks": Case(
        algebra.composition, laws.composition, COMPOSED | COMPOSED | st.tuples(ANY, ANY)
    ),
    "composition: other operands": Case(algebra.composition, laws.composition, MIXED),
    # ---- complements and inverses
    "complement": Case(
        algebra.complement,
        laws.complement,
        st.tuples(SPREAD, st.integers(1, 200) | shapes(max_size=SIZE))
        | st.tuples(layouts(12), st.integers(1, 100)),
        # Where gaps are uneven several functions keep copies apart.
        decided=st.tuples(SPREAD, st.integers(1, 200) | shapes(max_size=SIZE)),
    ),
    "right_inverse": Case(
        algebra.right_inverse,
        laws.right_inverse,
        each(layouts(SIZE) | ONE_TO_ONE | COMPACT),
        decided=each(ONE_TO_ONE | COMPACT),
    ),
    "left_inverse": Case(
        algebra.left_inverse,
        laws.left_inverse,
        each(ONE_TO_ONE | COMPACT),
        decided=each(COMPACT),
        extents=False,
    ),
    "nullspace": Case(algebra.nullspace, laws.nullspace, each(ANY | SPREAD), decided=each(SPREAD)),
    # ---- what two share
    "max_common_layout": Case(algebra.max_common_layout, laws.max_common_layout, partly_alike()),
    "max_common_vector": Case(algebra.max_common_vector, laws.max_common_vector, partly_alike()),
    "greatest_common_domain": Case(
        algebra.greatest_common_domain,
        laws.greatest_common_domain,
        st.tuples(shapes(max_size=SIZE), shapes(max_size=SIZE) | layouts(SIZE)),
    ),
    # ---- divides
    "logical_divide": Case(
        algebra.logical_divide,
        laws.logical_divide,
        DIVIDED
        | layout_and(tilers, identities(SIZE))
        | UNTILED
        | st.tuples(layouts(SIZE), layouts(12)),
        # A tiler with uneven gaps may come with more tiles than it takes.
        decided=DIVIDED | layout_and(tilers, identities(SIZE)) | UNTILED,
    ),
    "zipped_divide": Case(
        algebra.zipped_divide, laws.zipped_divide, DIVIDED | UNTILED, examples=WRAPPER
    ),
    "tiled_divide": Case(
        algebra.tiled_divide, laws.tiled_divide, DIVIDED | UNTILED, examples=WRAPPER
    ),
    "flat_divide": Case(algebra.flat_divide, laws.flat_divide, DIVIDED | UNTILED, examples=WRAPPER),
    # ---- products
    "logical_product": Case(
        algebra.logical_product,
        laws.logical_product,
        REPEATED | UNTILED | st.tuples(SPREAD, layouts(6)) | st.tuples(layouts(12), layouts(4)),
        # Copies that leave holes may stand elsewhere.
        decided=REPEATED | UNTILED,
    ),
    "zipped_product": Case(
        algebra.zipped_product, laws.zipped_product, REPEATED | UNTILED, examples=WRAPPER
    ),
    "tiled_product": Case(
        algebra.tiled_product, laws.tiled_product, REPEATED | UNTILED, examples=WRAPPER
    ),
    "flat_product": Case(
        algebra.flat_product, laws.flat_product, REPEATED | UNTILED, examples=WRAPPER
    ),
    "blocked_product": Case(
        algebra.blocked_product, laws.blocked_product, blocks_and_copies(True), examples=WRAPPER
    ),
    "raked_product": Case(
        algebra.raked_product, laws.raked_product, blocks_and_copies(True), examples=WRAPPER
    ),
    "tile_to_shape": Case(
        algebra.tile_to_shape,
        laws.tile_to_shape,
        filled_shapes() | filled_shapes().map(lambda case: case[:2]),
        required=2,
    ),
    # ---- orders and units
    "make_layout_like": Case(algebra.make_layout_like, laws.make_layout_like, each(ANY)),
    "make_layout_like: ties share": Case(
        partial(algebra.make_layout_like, share_ties=True),
        partial(laws.make_layout_like, share_ties=True),
        each(ANY),
    ),
    "make_ordered_layout": Case(
        make_ordered_layout,
        laws.make_ordered_layout,
        for_shape(shapes(max_size=SIZE), st.integers(-2, 9)),
    ),
    "make_ordered_layout: ties share": Case(
        partial(make_ordered_layout, share_ties=True),
        partial(laws.make_ordered_layout, share_ties=True),
        for_shape(shapes(max_size=SIZE), st.integers(0, 2)),
    ),
    "upcast": Case(algebra.upcast, laws.upcast, packed_layouts()),
    "downcast": Case(algebra.downcast, laws.downcast, st.tuples(contiguous_layouts(), WIDTHS)),
    "recast_layout": Case(
        algebra.recast_layout,
        laws.recast_layout,
        st.tuples(contiguous_layouts(), BITS, BITS).filter(lambda case: case[1] >= case[2])
        | packed_layouts().map(lambda case: (case[0], 6, 6 * case[1])),
    ),
}
# The law does not say that none is larger.
UNDECIDED = {"greatest_common_domain"}


@pytest.mark.parametrize("name", CASES)
def test_the_law_holds(name: str) -> None:
    check_law(name, CASES[name])


@pytest.mark.parametrize("name", sorted(set(CASES) - UNDECIDED))
def test_the_law_rejects_other_results(name: str) -> None:
    check_rejection(name, CASES[name])


def test_every_law_is_tried() -> None:
    elsewhere = {"make_layout_tv", "make_layout_image_mask"}  # test_threads.py
    assert {name.partition(":")[0] for name in CASES} | elsewhere == set(laws.__all__)


def refuse(layout: Layout) -> Layout:
    raise CuteError("refuse", {"layout": layout}, "always")


def test_too_many_refusals_are_seen() -> None:
    with pytest.raises(AssertionError, match="never takes it refuses"):
        check_law("never takes it", Case(refuse, laws.sort, each(SMALL)))


@pytest.mark.long
def test_wrong_operations_are_seen() -> None:
    with pytest.raises(AssertionError, match=r"is wrong.*: size"):
        check_law("is wrong", Case(lambda a: Layout(size(a) + 1, 7), laws.coalesce, each(SMALL)))
