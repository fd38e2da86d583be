"""Layouts over the field of two elements: their algebra, and their way to CuTe and back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from sampling import EXAMPLES

from pycute_xe import Layout, as_f2
from pycute_xe.dialects import LinearLayout, parse
from pycute_xe.errors import CoordError, DivisibilityError, RankError, ShapeError

PLACES = ("register", "lane", "warp")


@st.composite
def shuffled(draw: st.DrawFn) -> LinearLayout:
    """Each bit of a tensor is a bit of a place; some places have bits that lead nowhere."""
    rank = draw(st.integers(1, 3))
    bits = [draw(st.integers(0, 3)) for _ in range(rank)]
    if not any(bits):
        bits[0] = 1
    vectors = [
        tuple(1 << b if i == dim else 0 for i in range(rank))
        for dim in range(rank)
        for b in range(bits[dim])
    ]
    vectors += [(0,) * rank] * draw(st.integers(0, 2))
    vectors = draw(st.permutations(vectors))
    cuts = sorted(draw(st.lists(st.integers(0, len(vectors)), min_size=2, max_size=2)))
    parts = [vectors[: cuts[0]], vectors[cuts[0] : cuts[1]], vectors[cuts[1] :]]
    bases = dict(zip(PLACES, parts, strict=True)) | {"block": []}
    return LinearLayout(bases, {f"dim{i}": 1 << bit for i, bit in enumerate(bits)})


@st.composite
def invertible(draw: st.DrawFn) -> LinearLayout:
    """A random invertible matrix: a permutation after which bases are added to others."""
    count = draw(st.integers(1, 8))
    columns = [1 << b for b in draw(st.permutations(range(count)))]
    for _ in range(draw(st.integers(0, 12))):
        i, j = draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))
        if i != j:
            columns[i] ^= columns[j]
    cut = draw(st.integers(0, count))
    low = draw(st.integers(0, count))
    vectors = [(c & ((1 << low) - 1), c >> low) for c in columns]
    return LinearLayout(
        {"register": vectors[:cut], "lane": vectors[cut:]},
        {"dim0": 1 << low, "dim1": 1 << (count - low)},
    )


def through(layout: LinearLayout) -> list[int]:
    """All offsets, by coordinates: a place at a time, the first fastest."""
    total = 1
    for name in layout.ins:
        total *= layout.size(name)
    offsets = list[int]()
    for place in range(total):
        inputs = dict[str, int]()
        for name in layout.ins:
            place, inputs[name] = divmod(place, layout.size(name))
        offset, step = 0, 1
        for entry, extent in zip(layout(**inputs), layout.shape, strict=True):
            offset, step = offset + entry * step, step * extent
        offsets.append(offset)
    return offsets


@settings(max_examples=max(30, EXAMPLES), deadline=None)
@given(shuffled())
def test_text_and_layouts_lead_back(layout: LinearLayout) -> None:
    encoding = parse(str(layout))
    # Text does not say dimensions of extent 1 apart from bases, so the shape is given.
    assert encoding.linear(layout.shape) == layout
    cute = layout.as_layout(PLACES)
    assert LinearLayout.from_layout(cute, layout.shape, PLACES).bases == layout.bases[:-1]
    offsets = through(layout)
    assert [cute(i) for i in range(len(offsets))] == offsets
    coordinates = layout.as_coordinates(PLACES)
    assert LinearLayout.from_layout(coordinates, layout.shape, PLACES).bases == layout.bases[:-1]
    exclusive = layout.as_f2(PLACES)
    assert [exclusive(i) for i in range(len(offsets))] == offsets


@settings(max_examples=max(30, EXAMPLES), deadline=None)
@given(invertible())
def test_the_inverse_undoes(layout: LinearLayout) -> None:
    back = layout.invert()
    assert layout.compose(back).columns == tuple(1 << i for i in range(len(layout.columns)))
    assert [LinearLayout.at(back, x) for x in through(layout)] == list(range(len(through(layout))))
    same = LinearLayout.from_layout(layout.as_f2(), layout.shape, ("register", "lane"))
    assert same.bases == layout.bases


@settings(max_examples=max(30, EXAMPLES), deadline=None)
@given(invertible(), st.randoms(use_true_random=False))
def test_invert_and_compose_leads_to_an_owner_of_the_same(layout: LinearLayout, rng) -> None:  # type: ignore[no-untyped-def]
    vectors = [layout.coordinate(column) for column in layout.columns] + [(0, 0)]
    rng.shuffle(vectors)
    other = LinearLayout({"lane": vectors[:2], "register": vectors[2:]}, layout.outs)
    moved = layout.invert_and_compose(other)
    assert moved.compose(other).columns == layout.columns


def test_dimensions_that_agree_stay_as_they_are() -> None:
    copies = {"register": [[1]], "lane": [[2]], "warp": [[0], [0]]}
    turned = {"register": [[2]], "lane": [[1]], "warp": [[0], [0]]}
    moved = LinearLayout(copies).invert_and_compose(LinearLayout(turned))
    assert moved.basis("warp") == ((0, 0, 1), (0, 0, 2))
    assert moved.basis("register") == ((0, 1, 0),)


def test_xor_strides_need_f2() -> None:
    layout = LinearLayout({"register": [[1], [3]], "lane": []})
    with pytest.raises(DivisibilityError, match="use as_f2"):
        layout.as_layout(("register",))
    assert [layout.as_f2(("register",))(i) for i in range(4)] == [0, 1, 3, 2]
    with pytest.raises(DivisibilityError, match="steps along 2 dimensions"):
        LinearLayout({"lane": [[1, 1], [0, 2]]}).as_coordinates(("lane",))


def test_strides_of_a_basis_are_coordinates() -> None:
    layout = Layout.from_str("((4,2),4):((1@1,1@0),2@0)")
    linear = LinearLayout.from_layout(layout, (8, 4))
    assert linear.basis("lane") == ((0, 1), (0, 2), (1, 0))
    assert linear.basis("register") == ((2, 0), (4, 0))


@pytest.mark.parametrize(
    ("bases", "outs", "error", "words"),
    [
        ({"lane": 3}, None, ShapeError, "rows of integers"),
        ({"lane": [[1.5]]}, None, ShapeError, "rows of integers"),
        ({3: [[1]]}, None, ShapeError, "rows of integers"),
        (None, None, ShapeError, "rows of integers"),
        ({"lane": [[1], [1, 2]]}, None, RankError, "1 coordinates"),
        ({"lane": [[-1]]}, None, CoordError, "leaves dim0"),
        ({"lane": [[4]]}, {"dim0": 4}, CoordError, "leaves dim0"),
        ({"lane": [[4]]}, {"dim0": 6}, ShapeError, "power of two"),
        ({"lane": [[4]]}, 8, ShapeError, "power of two"),
    ],
)
def test_other_bases_are_refused(bases, outs, error, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=words):
        LinearLayout(bases, outs)


def test_what_does_not_fit_is_refused() -> None:
    line = LinearLayout({"lane": [[1], [2]]})
    with pytest.raises(ShapeError, match="not an input"):
        line.compose(line)
    with pytest.raises(ShapeError, match="takes 2"):
        line.compose(LinearLayout({"dim0": [[1]]}))
    with pytest.raises(ShapeError, match="two owners"):
        LinearLayout({"lane": [[1], [1]]}).invert()
    with pytest.raises(ShapeError, match="no owner"):
        LinearLayout({"lane": [[2]]}).invert()
    with pytest.raises(ShapeError, match="one tensor is"):
        LinearLayout({"lane": [[1], [2], [4]]}).invert_and_compose(line)
    with pytest.raises(ShapeError, match="one tensor is"):
        line.invert_and_compose(LinearLayout({"lane": [[1, 0], [2, 0]]}))
    with pytest.raises(ShapeError, match="no owner in the outer"):
        line.invert_and_compose(LinearLayout({"lane": [[2]]}, {"dim0": 4}))
    with pytest.raises(CoordError, match="counts from 0 to 3"):
        line(lane=4)
    with pytest.raises(CoordError, match="input dimensions are lane"):
        line(register=1)
    with pytest.raises(DivisibilityError):
        LinearLayout.from_layout(Layout.from_str("(2,2):(1,1)"), (4,))
    with pytest.raises(ShapeError, match="power of two"):
        LinearLayout.from_layout(Layout.from_str("(3,2):(1,4)"), (8,))
    with pytest.raises(RankError, match="1 modes"):
        LinearLayout.from_layout(Layout.from_str("(4):(1)"), (4,))
    with pytest.raises(CoordError, match="reaches offset"):
        LinearLayout.from_layout(Layout.from_str("(4,2):(1,4)"), (4,))


def test_swizzled_layouts_are_linear() -> None:
    from pycute_xe import ComposedLayout, Swizzle

    swizzled = ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4)))
    linear = LinearLayout.from_layout(swizzled, (16,))
    assert linear.as_f2(("lane", "register"))(1, 1) == as_f2(swizzled)(1, 1)
    assert linear.basis("register") == ((5,), (10,))
