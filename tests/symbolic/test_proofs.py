"""The laws of the algebra, proved of symbols: once for all sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sampling import sampled
from symbolic_cases import CASES, Case

from pycute_xe.algebra import laws, left_inverse
from pycute_xe.errors import UndecidableError
from pycute_xe.int_tuple import flatten_tuple, unflatten_tuple
from pycute_xe.layout import Layout

JUDGED = {name: case for name, case in CASES.items() if hasattr(laws, case.operation.__name__)}


def judged(case: Case, result: Any) -> str | None:
    """What the law of the operation says of a result."""
    law = getattr(laws, case.operation.__name__)
    if case.operation.__name__ == "coalesce":
        return law(case.operands[0], result, *case.operands[1:])
    return law(*case.operands, result)


@pytest.mark.parametrize("name", sampled(JUDGED, 10))
def test_proved(name: str) -> None:
    case = JUDGED[name]
    assert judged(case, case.result()) is None


def wrong(layout: Layout) -> Iterator[Layout]:
    """The layout with one stride, or one extent, changed."""
    shape, stride = flatten_tuple(layout.shape), flatten_tuple(layout.stride)
    for i in range(len(shape)):
        if shape[i] == 1:
            continue  # along one coordinate a stride says nothing
        steps, extents = list(stride), list(shape)
        steps[i] = stride[i] * 3
        yield Layout(layout.shape, unflatten_tuple(tuple(steps), layout.shape))
        extents[i] = shape[i] * 2
        yield Layout(unflatten_tuple(tuple(extents), layout.shape), layout.stride)


@pytest.mark.parametrize("case", JUDGED.values(), ids=JUDGED.keys())
def test_nothing_wrong_is_proved(case: Case) -> None:
    for changed in sampled(wrong(case.result()), 1):
        if case.operation is left_inverse and changed.stride == case.result().stride:
            continue  # a longer one undoes the layout as well
        try:
            assert judged(case, changed)
        except UndecidableError:
            continue


def test_at_least_thirty_cases() -> None:
    assert len(CASES) >= 30
    assert len(JUDGED) >= 30
