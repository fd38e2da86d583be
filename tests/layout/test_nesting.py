"""Tuples that nest too deeply are refused by name, whatever takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe import Layout
from pycute_xe.errors import CuteError, InputError, ShapeError
from pycute_xe.expressions.evaluation import evaluate
from pycute_xe.signatures import MOST_LEVELS

L = Layout((4, 8), (8, 1))
DEPTHS = (1_000, 100_000)
NAMES = (
    *("size", "depth", "product", "congruent", "compatible", "idx2crd", "crd2idx", "shape_div"),
    *("make_layout", "make_ordered_layout", "tile_to_shape", "composition", "logical_divide"),
    *("zipped_divide", "logical_product", "unflatten", "dice", "slice_", "ceil_div", "elem_less"),
    *("make_tensor", "make_identity_layout", "make_identity_tensor", "coalesce", "take", "get"),
)


def deep(levels: int) -> Any:
    value: Any = 2
    for _ in range(levels):
        value = (value,)
    return value


def calls(function: Callable[..., Any], value: Any) -> list[tuple[Any, ...]]:
    """Arguments with the value in each required place, and a layout in all others."""
    wanted = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    places = range(len(wanted))
    return [
        *(tuple(value if i == at else L for i in places) for at in places),
        (value,) * len(wanted),
    ]


@pytest.mark.parametrize(
    ("name", "levels"),
    [*((name, 1_000) for name in NAMES), *((name, 100_000) for name in sampled(NAMES, 5))],
)
@pytest.mark.long
def test_a_deep_argument_gives_an_answer_or_a_refusal(name: str, levels: int) -> None:
    refused = 0
    for arguments in calls(getattr(cx, name), deep(levels)):
        try:
            getattr(cx, name)(*arguments)
        except CuteError:
            refused += 1
    assert refused, name


@pytest.mark.parametrize("levels", [MOST_LEVELS + 1, *DEPTHS])
@pytest.mark.parametrize("strides", [False, True])
def test_layouts_nest_at_most_to_the_limit(levels: int, strides: bool) -> None:
    kept = Layout(deep(MOST_LEVELS), deep(MOST_LEVELS) if strides else None)
    assert cx.depth(kept) == 100
    with pytest.raises(ShapeError, match=r"shape nests more than 100 levels deep\. Way out: nest"):
        Layout(deep(levels), deep(levels) if strides else None)


def test_a_list_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ShapeError, match="the shape nests more than 100 levels deep"):
        Layout(loop)


@pytest.mark.parametrize("levels", [MOST_LEVELS + 1, *DEPTHS])
def test_text_nests_at_most_to_the_limit(levels: int) -> None:
    tree = "(" * MOST_LEVELS + "2" + ")" * MOST_LEVELS
    assert cx.depth(Layout.from_str(f"{tree}:{tree}")) == 100
    tree = "(" * levels + "2" + ")" * levels
    with pytest.raises(InputError, match="column 101: brackets nest more than 100 levels deep"):
        Layout.from_str(f"{tree}:{tree}")


@pytest.mark.parametrize("text", ["(" * 1_000, "-" * 1_999 + "4", "(" * 10_000, "4" + "(0)" * 600])
def test_deep_expressions_are_refused(text: str) -> None:
    if text[0] == "-":
        assert evaluate(text) == -4
        return
    with pytest.raises(InputError, match=r"brackets nest deeper than 50|characters are too many"):
        evaluate(text)
