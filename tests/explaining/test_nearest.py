"""The operand nearest to a refused one, against trying all; cuts that divide each other."""

from __future__ import annotations

import random
from itertools import pairwise, product
from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe import Layout
from pycute_xe.errors import CuteError
from pycute_xe.explaining import explain
from pycute_xe.explaining.explanation import nearest_operand, refinement_of


def taken(operation: Any, a: Layout, b: Layout) -> bool:
    try:
        operation(a, b)
    except CuteError:
        return False
    return True


@pytest.mark.parametrize("operation", [cx.composition, cx.logical_divide, cx.logical_product])
def test_no_operand_is_nearer(operation: Any) -> None:
    rng = random.Random(60)
    refused = 0
    while refused < 25:
        a = Layout((rng.choice((4, 6)), rng.choice((3, 8))), (rng.choice((1, 2)), 50))
        b = Layout(rng.randint(1, 6), rng.randint(1, 9))
        if taken(operation, a, b):
            continue
        refused += 1
        nearest = nearest_operand(operation, a, b)
        assert nearest is not None
        assert taken(operation, a, nearest)
        distance = abs(nearest.shape - b.shape) + abs(nearest.stride - b.stride)
        for s, d in product(range(1, 18), range(24)):
            if abs(s - b.shape) + abs(d - b.stride) < distance:
                assert not taken(operation, a, Layout(s, d))


def test_the_explanation_of_a_refusal_names_what_is_taken() -> None:
    why = explain(cx.composition, Layout((4, 6), (1, 100)), Layout(3, 3))
    assert why.refusal is not None
    assert why.nearest == Layout(2, 3)
    assert "Nearest operand that is taken: 2:3" in str(why)
    assert why.refinement is None
    why = explain(cx.logical_divide, Layout((4, 6), (1, 100)), 3)
    assert why.nearest is not None
    assert taken(cx.logical_divide, Layout((4, 6), (1, 100)), why.nearest)
    assert explain(cx.composition, Layout((4, 6)), Layout(4)).nearest is None


def test_the_least_refinement_has_the_cuts_of_both() -> None:
    for a, b, d in product((2, 3, 4, 6), (2, 3, 4), (1, 2, 4, 6, 8, 12)):
        refined = refinement_of(Layout((a, 6)), Layout(b, d))
        cuts = {1, a, 6 * a, d, d * b}
        chain = sorted(cuts)
        divides = all(y % x == 0 for x, y in pairwise(chain))
        assert (refined is not None) == divides
        if refined is not None:
            reach, seen = 1, {1}
            for extent in refined:
                reach *= extent
                seen.add(reach)
            assert seen == cuts


def test_what_has_no_single_layout_is_left_alone() -> None:
    assert nearest_operand(cx.composition, Layout(8), (3, 3)) is None
    assert nearest_operand(cx.composition, Layout(8), Layout(cx.symbol("N"), 3)) is None
    assert refinement_of(Layout(8), None) is None
