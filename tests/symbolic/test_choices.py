"""Operations that choose by comparing are right, whatever numbers are put in later.

docs/algebra/symbolic.md lists them. The other operations give the same function either way
(test_cases).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pycute_xe import algebra
from pycute_xe.algebra import (
    laws,
    left_inverse,
    max_common_layout,
    max_common_vector,
    right_inverse,
)
from pycute_xe.errors import UndecidableError
from pycute_xe.layout import Layout, size
from pycute_xe.symbolic import substitute, symbol

PAGE = Path(__file__).resolve().parents[2] / "docs" / "algebra" / "symbolic.md"
VALUES = range(1, 10)
m = symbol("m")

# Each with an m for which numbers put in first give another layout.
CHOOSING: list[tuple[Callable[..., Any], Layout, int]] = [
    (right_inverse, Layout((4, 2), (m, 1)), 2),
    (right_inverse, Layout((4, 2), (1, m)), 4),
    (right_inverse, Layout((2, m, 2), (1, 4, 2)), 1),
    (right_inverse, Layout((m, 4), (1, 2)), 2),
    (max_common_layout, Layout((2, 4), (m, 1)), 4),
    (max_common_layout, Layout((4, 2), (1, m)), 4),
    (max_common_vector, Layout((2, 4), (m, 1)), 4),
    (max_common_vector, Layout((4, 2), (1, m)), 4),
    (left_inverse, Layout((m, 4), (4, 1)), 1),
    (left_inverse, Layout((4, m), (m, 1)), 1),
    (left_inverse, Layout((4, m), (2, 16)), 1),
    (left_inverse, Layout((m, 4), (2, 4 * m)), 1),
    (algebra.sort, Layout((4, m), (1, m)), 1),
]
IDS = [f"{operation.__name__}({layout})" for operation, layout, _ in CHOOSING]
COMMON = (max_common_layout, max_common_vector)


def put_in(value: Any, number: int) -> Any:
    """The value with m put in; what has become a number by itself stays."""
    return substitute(value, m=number) if "m" in str(value) else value


def operands(operation: Callable[..., Any], layout: Layout) -> tuple[Layout, ...]:
    return (layout, layout) if operation in COMMON else (layout,)


@pytest.mark.parametrize(("operation", "layout", "_"), CHOOSING, ids=IDS)
def test_the_answer_is_right_for_every_number(
    operation: Callable[..., Any], layout: Layout, _: int
) -> None:
    symbolic = operation(*operands(operation, layout))
    for number in VALUES:
        given, found = put_in(layout, number), put_in(symbolic, number)
        if operation is max_common_vector:
            found = max_common_layout(given, given)
            assert size(found) >= put_in(symbolic, number)
        if operation in COMMON or operation is right_inverse:
            # The laws ask for the longest.
            assert [given(found(i)) for i in range(size(found))] == list(range(size(found)))
        else:
            assert getattr(laws, operation.__name__)(given, found) is None, number


@pytest.mark.parametrize(("operation", "layout", "number"), CHOOSING, ids=IDS)
def test_numbers_put_in_first_may_give_another_layout(
    operation: Callable[..., Any], layout: Layout, number: int
) -> None:
    later = put_in(operation(*operands(operation, layout)), number)
    first = operation(*operands(operation, put_in(layout, number)))
    assert str(later) != str(first)
    if operation is right_inverse or operation in COMMON:
        assert size(later) <= size(first)
    if operation is right_inverse:
        assert [later(i) for i in range(size(later))] == [first(i) for i in range(size(later))]


@pytest.mark.parametrize("layout", [Layout((4, m), (m, 1)), Layout((4, 2), (m, 1))], ids=str)
def test_sort_asks_where_the_order_depends_on_the_symbol(layout: Layout) -> None:
    with pytest.raises(UndecidableError) as error:
        algebra.sort(layout)
    assert error.value.fact == "m > 1"


def test_the_page_lists_the_operations_that_choose() -> None:
    _, _, text = PAGE.read_text(encoding="utf-8").partition("## Operations that choose\n")
    rows = [line for line in text.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row.split(" | ")[0])}
    assert listed == {operation.__name__ for operation, _, _ in CHOOSING}
    for row in rows:
        told = row.split(" | ")[2]
        layout, number = re.findall(r"`(\(.+?\)[^`]*)`", told)[0], int(re.findall(r"\d+", told)[-1])
        name = re.findall(r"`([a-z_]+)`", row)[0]
        assert (name, layout, number) in {
            (operation.__name__, str(example), at) for operation, example, at in CHOOSING
        }
