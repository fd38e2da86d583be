"""Explanations end where the operation ends, and say what they are about."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from every import every
from hypothesis import given, settings, strategies as st
from strategies import (
    coordinate_layouts,
    injective_layouts,
    layout_and,
    layouts,
    mode_tilers,
    ranked,
    tilers,
    walks,
)

import pycute_xe as cx
from pycute_xe.errors import CuteError, DivisibilityError, InputError, ShapeError
from pycute_xe.explaining import EXPLAINED, Explanation, explain

L = cx.Layout
SWIZZLED = cx.ComposedLayout(cx.Swizzle(1, 0, 3), 0, L((8, 8), (8, 1)))
DIVIDES = (cx.logical_divide, cx.zipped_divide, cx.tiled_divide, cx.flat_divide)
PRODUCTS = (cx.logical_product, cx.zipped_product, cx.tiled_product, cx.flat_product)
ANY = layouts(negative=True)
FEWER = settings(max_examples=max(5, settings().max_examples // 2))


def ends_like(operation: Callable[..., Any], *operands: Any) -> Explanation:
    """Check the law: steps and operation reach one result, or both refuse."""
    told = explain(operation, *operands)
    try:
        result = operation(*operands)
    except CuteError as error:
        result = error
    if isinstance(result, CuteError):
        assert type(told.refusal) is type(result)
        assert str(told.refusal) == str(result)
        assert told.result is None
        assert told.steps[-1].value is None, "the step at which it refuses gives nothing"
        assert told.ending.endswith(str(result))
        return told
    assert told.refusal is None
    assert told.result == result
    assert told.steps[-1].value == result
    assert type(told.steps[-1].value) is type(result)
    assert str(told).endswith(f"Result: {result}")
    return told


# ------------------------------------------------------------------ the law


@given(layout_and(walks, layouts()))
def test_compositions_that_hold(pair: tuple[cx.Layout, cx.Layout]) -> None:
    assert ends_like(cx.composition, *pair).refusal is None


@given(ANY, ANY)
def test_compositions_of_anything(a: cx.Layout, b: cx.Layout) -> None:
    ends_like(cx.composition, a, b)


@given(ranked(layouts()).flatmap(lambda a: st.tuples(st.just(a), coordinate_layouts(a.shape))))
def test_compositions_with_basis_strides(pair: tuple[cx.Layout, cx.Layout]) -> None:
    ends_like(cx.composition, *pair)


@given(layout_and(mode_tilers, ranked(layouts())))
def test_compositions_by_mode(pair: tuple[cx.Layout, Any]) -> None:
    ends_like(cx.composition, *pair)


@given(ANY, st.integers(1, 200))
def test_complements(layout: cx.Layout, cotarget: int) -> None:
    ends_like(cx.complement, layout, cotarget)


@given(injective_layouts(fill=True), st.integers(1, 200))
def test_complements_that_hold(layout: cx.Layout, cotarget: int) -> None:
    assert ends_like(cx.complement, layout, cotarget).refusal is None


@given(st.one_of(ANY, injective_layouts(), coordinate_layouts((4, 5))))
def test_operations_on_one_layout(layout: cx.Layout) -> None:
    for operation in (cx.coalesce, cx.right_inverse, cx.left_inverse):
        ends_like(operation, layout)


@given(ranked(layouts()), st.integers(0, 5))
def test_coalescing_by_mode(layout: cx.Layout, count: int) -> None:
    ends_like(cx.coalesce, layout, (1,) * count)


def name_of(value: object) -> str:
    """An id without addresses, which differ from process to process."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize("divide", DIVIDES)
@FEWER
@given(data=st.data())
def test_divides(divide: Any, data: st.DataObject) -> None:
    layout, tiler = data.draw(layout_and(tilers, injective_layouts()))
    ends_like(divide, layout, tiler)
    layout, tiler = data.draw(layout_and(mode_tilers, ranked(layouts())))
    ends_like(divide, layout, tiler)
    ends_like(divide, data.draw(ANY), data.draw(st.one_of(ANY, st.integers(1, 9), st.none())))


@pytest.mark.parametrize("multiply", PRODUCTS)
@FEWER
@given(data=st.data())
def test_products(multiply: Any, data: st.DataObject) -> None:
    ends_like(multiply, data.draw(injective_layouts()), data.draw(injective_layouts(24)))
    ends_like(multiply, data.draw(ANY), data.draw(st.one_of(ANY, st.integers(1, 9), st.none())))
    layout = data.draw(ranked(injective_layouts()))
    ends_like(multiply, layout, tuple(data.draw(injective_layouts(8)) for _ in layout))


@pytest.mark.parametrize("multiply", [cx.blocked_product, cx.raked_product])
@given(block=st.one_of(injective_layouts(), ANY), tiler=st.one_of(injective_layouts(24), ANY))
def test_ranked_products(multiply: Any, block: cx.Layout, tiler: cx.Layout) -> None:
    ends_like(multiply, block, tiler)


@given(layout_and(lambda a: st.integers(0, cx.size(a)), st.one_of(ANY, coordinate_layouts((4, 5)))))
def test_calls(pair: tuple[cx.Layout, int]) -> None:
    layout, index = pair
    ends_like(layout, index)
    ends_like(layout, cx.idx2crd(index, layout.shape))
    ends_like(cx.crd2idx, index, layout.shape, layout.stride)
    ends_like(cx.crd2idx, index, layout.shape)


@every(
    ("operation", "operands"),
    [
        (cx.composition, (cx.Swizzle(2, 4, 3), L((8, 64), (64, 1)))),
        (cx.composition, (cx.Swizzle(0, 4, 3), L((8, 64), (64, 1)))),
        (cx.composition, (cx.Swizzle(2, 4, 3), 16, L((8, 64), (64, 1)))),
        (cx.composition, (cx.Swizzle(2, 4, 3), cx.Swizzle(2, 4, 3))),
        (cx.composition, (cx.Swizzle(2, 4, 3), cx.Swizzle(1, 0, 3))),
        (cx.composition, (L((8, 8), (8, 1)), cx.Swizzle(1, 0, 3))),
        (cx.composition, (L((8, 9), (8, 1)), cx.Swizzle(1, 0, 3))),
        (cx.composition, (L((8, 8), (8, 1)), SWIZZLED)),
        (cx.composition, (L((8, 8), (8, 1)), SWIZZLED(None, 1))),
        (cx.composition, (SWIZZLED, L((4, 2)))),
        (cx.composition, (SWIZZLED, L((3, 5)))),
        (cx.composition, (SWIZZLED, (4, None))),
        (cx.logical_divide, (SWIZZLED, (4, 2))),
        (cx.zipped_divide, (SWIZZLED, (4, 3))),
        (cx.blocked_product, (SWIZZLED, L((2, 2)))),
        (cx.coalesce, (SWIZZLED,)),
        (cx.right_inverse, (SWIZZLED,)),
        (cx.left_inverse, (SWIZZLED,)),
        (cx.right_inverse, (SWIZZLED(None, 1),)),
        (cx.right_inverse, (cx.ComposedLayout(cx.Swizzle(1, 0, 3), 64, L((8, 8), (8, 1))),)),
        (SWIZZLED, ((3, 4),)),
        (SWIZZLED, (3, 4)),
        (SWIZZLED, (63,)),
    ],
    ids=name_of,
)
def test_swizzles(operation: Any, operands: Any) -> None:
    ends_like(operation, *operands)


@every(
    ("operation", "operands"),
    [
        (L((4, 8)), ((1, 2, 3),)),
        (cx.crd2idx, (1, (4, 8), 3)),
        (cx.crd2idx, ((1, 2), (4, 8), (1, (2, 3)))),
        (cx.composition, (L((4, 8)), (2, 2, 2))),
        (cx.composition, (L((4, 8)), "x")),
        (cx.composition, (L(()), L(4))),
        (cx.coalesce, (L((4, 8)), (1, 1, 1))),
        (cx.logical_divide, (L((4, 8)), (2, 2, 2))),
        (cx.complement, (cx.make_identity_layout((2, 3)), 10)),
        (cx.complement, (L((2, 2), (2, 3)), 10)),
        (cx.complement, (L((2, 2), (1, 3)), 10)),
        (cx.complement, (L((2, 2), (1, 3)), 4)),
        (cx.complement, (L((3, 4), (1, 4)), 100)),
        (cx.logical_divide, (L(24), L((2, 2), (1, 3)))),
        (cx.logical_divide, (L(4), L((2, 2, 2), (1, 3, 7)))),
        (cx.logical_product, (L((2, 2), (1, 3)), 5)),
        (cx.logical_product, (L((2, 2), (1, 3)), L(2, 3))),
        (cx.complement, (L((2, 3), (2, 7)), 40)),
        (cx.left_inverse, (L((2, 3), (3, 7)),)),
        (cx.left_inverse, (L((2, 3), (2, 5)),)),
        (cx.right_inverse, (L((2, 4), (1, 1)),)),
        (cx.left_inverse, (L((2, 2), (1, 0)),)),
        (cx.left_inverse, (L((4, 4), (1, 2)),)),
        (cx.left_inverse, (L((4, 4), (2, 9)),)),
        (cx.right_inverse, (L(4, -1),)),
    ],
    ids=name_of,
)
def test_refusals_are_told(operation: Any, operands: Any) -> None:
    ends_like(operation, *operands)


# ------------------------------------------------------------------ what is said


def test_the_steps_of_a_composition() -> None:
    told = explain(cx.composition, L((6, 2), (8, 2)), L((4, 3), (3, 1)))
    assert told.title == "composition((6,2):(8,2), (4,3):(3,1))"
    # The walk over 6:8 with step 3 takes every third of six elements: two, 24 apart.
    values = [str(step.value) for step in told.steps if step.value is not None]
    assert values == [
        "(6,2):(8,2)",
        "2:24",
        "2:2",
        "(2,2):(24,2)",
        "3:8",
        "((2,2),3):((24,2),8)",
    ]
    assert [number for number, _ in told.numbered()] == [
        *("1", "2", "2.1", "2.2", "2.3", "3", "3.1", "4", "5")
    ]


@pytest.mark.parametrize(
    ("operation", "operands", "told"),
    [
        (cx.composition, ((4, 8), (2,)), "B has 1 entries: the other modes of A drop out"),
        (cx.composition, ((4, 8), cx.Layout((2, 2), (1, 3))), "reach 4, over its end at 4"),
        (cx.composition, ((4, 8), cx.Layout(2, 8)), "a step of 8 is 2 times its 4 elements"),
        (cx.composition, ((4, 8), cx.Layout(2, 4)), "a step of 4 is just its 4 elements"),
        (cx.zipped_divide, ((4, 8), (2, 2, 2)), "the tiler has 3 entries, the layout 2 modes"),
    ],
)
def test_what_a_step_says(operation: Any, operands: Any, told: str) -> None:
    shape, other = operands
    assert told in str(cx.explain(operation, cx.Layout(shape, (1, 5)), other))


def test_it_names_the_step_that_refuses() -> None:
    told = explain(cx.composition, L((4, 6), (1, 100)), L((2, 3), (1, 3)))
    assert isinstance(told.refusal, DivisibilityError)
    *_, (number, last) = told.numbered()
    assert number == "3.1"
    assert last.text == "4:1: a step of 3 does not divide its 4 elements"
    assert told.ending.startswith("Refused at step 3.1: DivisibilityError: composition(")


def test_modes_that_collide_are_told_apart_from_modes_that_are_uneven() -> None:
    # Each mode fits into 4:1; together they reach 3 + 3.
    told = ends_like(cx.composition, L((4, 6), (1, 100)), L((4, 4), (1, 1)))
    assert told.steps[-1].text.startswith("in the mode 4:1 of A the modes of B together reach 6")
    # Two steps of 2 pass the first mode, and are 1 + 1 in the second one.
    told = ends_like(cx.composition, L((2, 4, 3), (1, 10, 100)), L((2, 2), (2, 2)))
    assert "in the mode 4:10 of A the modes of B together reach 2, below" in str(told)


def test_a_swizzle_is_told_in_bits() -> None:
    told = explain(SWIZZLED, (3, 4))
    # 3·8 + 4 = 28 = 0b11100; bit 3 is set, so bit 0 flips.
    assert told.result == 29
    assert "0b1000" in told.steps[-1].text
    assert told.title == f"({SWIZZLED})(3, 4)"


def test_markdown_is_a_nested_list() -> None:
    told = explain(cx.composition, L((6, 2), (8, 2)), L((4, 3), (3, 1)))
    lines = told._repr_markdown_().splitlines()
    assert lines[0] == "**`composition((6,2):(8,2), (4,3):(3,1))`**"
    assert lines[-1] == "**Result:** `((2,2),3):((24,2),8)`"
    assert [len(line) - len(line.lstrip()) for line in lines if "- " in line] == [
        *(0, 0, 4, 4, 4, 0, 4, 0, 0)
    ]
    markdown = explain(cx.composition, L((4, 2)), (None, 2))._repr_markdown_()
    assert re.search(r"(?<!\\)_", markdown.split("\n", 1)[1]) is None


def test_it_is_a_value() -> None:
    first = explain(cx.coalesce, L((2, 3)))
    assert first == explain(cx.coalesce, L((2, 3)))
    assert hash(first) == hash(explain(cx.coalesce, L((2, 3))))
    refused = [explain(cx.composition, L((4, 6), (1, 9)), L(3, 3)) for _ in range(2)]
    assert refused[0] == refused[1] != explain(cx.composition, L((4, 6), (1, 8)), L(3, 3))
    with pytest.raises(AttributeError):
        first.title = ""


def test_named_operands() -> None:
    told = explain(cx.coalesce, L(((2, 4), 3)), profile=(1, 1))
    assert told.result == cx.coalesce(L(((2, 4), 3)), (1, 1))
    assert explain(cx.complement, L(4, 2)).result == cx.complement(L(4, 2))


def test_every_explained_operation_is_public() -> None:
    assert all(hasattr(cx, name) for name in EXPLAINED)


@every(
    ("error", "said", "operation", "operands"),
    [
        (InputError, "composition", "compositon", (L(4), L(2))),
        (InputError, "cannot be explained", print, (1,)),
        (InputError, "cannot be explained", len, ([],)),
        (InputError, "do not fit", cx.composition, (L(4),)),
        (InputError, "do not fit", cx.coalesce, (L(4), 1, 2)),
        (InputError, "at one coordinate", L((4, 2)), ()),
        (InputError, "at one coordinate", L((4, 2)), (None, 1)),
        (ShapeError, "not a layout", cx.composition, (4, L(2))),
        (ShapeError, "not a layout", cx.complement, (SWIZZLED, 4)),
        (ShapeError, "not a layout", cx.coalesce, ((4, 2),)),
        (ShapeError, "second operand", cx.blocked_product, (L(4), 2)),
        (InputError, "with None", cx.crd2idx, ((None, 1), (4, 8))),
    ],
)
def test_slips(error: type[CuteError], said: str, operation: Any, operands: Any) -> None:
    with pytest.raises(error, match=said) as info:
        explain(operation, *operands)
    assert info.value.operation == "explain"
    assert info.value.fix
