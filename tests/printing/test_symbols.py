"""What is not known as a number has formulas and explanations, and no tables or pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe.errors import ShapeError, UndecidableError

M = cx.symbol("M", multiple_of=8)
LAYOUT = cx.Layout((M, 4), (1, M))


@pytest.mark.parametrize("show", [cx.layout_table, cx.print_layout, cx.to_latex, cx.draw])
@pytest.mark.parametrize("layout", [LAYOUT, cx.Layout(4, M), cx.Layout((4, M), (cx.E(0), cx.E(1)))])
def test_tables_and_pictures_need_numbers(show: Callable[[Any], Any], layout: cx.Layout) -> None:
    with pytest.raises(ShapeError, match="M is not known as an integer"):
        show(layout)


def test_a_formula_stands_as_it_prints() -> None:
    assert cx.latex_math(LAYOUT) == r"\left(M,4\right):\left(1,M\right)"


def test_the_steps_of_a_symbolic_divide_end_in_its_result() -> None:
    told = cx.explain(cx.logical_divide, LAYOUT, (8, 2))
    assert told.refusal is None
    assert told.result == cx.logical_divide(LAYOUT, (8, 2))
    assert told.steps[-1].value == told.result
    assert "M" in str(told)


def test_a_refusal_names_the_fact_and_the_step() -> None:
    told = cx.explain(cx.composition, cx.Layout((cx.symbol("N"), 4), (1, 100)), cx.Layout(8, 2))
    assert isinstance(told.refusal, UndecidableError)
    assert told.steps[-1].text == f"this cannot go on: {told.refusal.condition}"
    assert told.ending.startswith("Refused at step 2.1: UndecidableError: composition(")


def test_sums_stand_in_brackets() -> None:
    told = cx.explain(LAYOUT, (M - 1, 3))
    assert "(M - 1)·1" in told.steps[0].text


@pytest.mark.parametrize(
    ("operation", "operands"),
    [
        (cx.coalesce, (LAYOUT,)),
        (cx.composition, (LAYOUT, cx.Layout((4, 2), (1, 4)))),
        (cx.right_inverse, (LAYOUT,)),
        (LAYOUT, (3, 2)),
    ],
)
def test_other_rules(operation: Any, operands: tuple[Any, ...]) -> None:
    told = cx.explain(operation, *operands)
    assert told.result == operation(*operands)
    assert told.steps[-1].value == told.result
