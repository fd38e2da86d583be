"""Operations on symbols give, for every choice of numbers, what they give on the numbers."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from every import every
from numpy.typing import NDArray
from sampling import WHOLE
from symbolic_cases import CASES, Case, chosen

from pycute_xe.algebra import left_inverse, right_inverse
from pycute_xe.bulk import table
from pycute_xe.int_tuple import compatible
from pycute_xe.layout import Layout, cosize, size
from pycute_xe.symbolic import SymbolicInt, substitute

CHOICES = 200 if WHOLE else 20


@every("case", CASES.values(), ids=CASES.keys())
def test_printed(case: Case) -> None:
    assert str(case.result()) == case.printed


def leaves(value: Any) -> list[Any]:
    if isinstance(value, Layout):
        value = (value.shape, value.stride)
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [getattr(value, "value", value)]


@every("case", CASES.values(), ids=CASES.keys())
def test_numbers_can_wait(case: Case) -> None:
    result = case.result()
    assert any(isinstance(leaf, SymbolicInt) for leaf in leaves(case.operands))
    random = Random(case.printed)
    for _ in range(CHOICES):
        numbers = chosen(random)
        found = substitute(result, numbers)
        operands = tuple(substitute(operand, numbers) for operand in case.operands)
        wanted = case.operation(*operands)
        if isinstance(wanted, int):
            assert found == wanted
        elif case.operation is right_inverse:
            # A longer one may happen to exist for these numbers.
            assert_inverse(operands[0], found)
            assert np.array_equal(table(found), table(wanted)[: size(found)])
        elif case.operation is left_inverse:
            images = table(operands[0])
            assert [found(int(i)) for i in images] == list(range(size(operands[0])))
            assert size(found) >= cosize(operands[0])
        else:
            assert compatible(size(wanted), found.shape)
            assert len(found) == len(wanted) or "coalesce" in case.operation.__name__
            assert same_values(table(found), table(wanted)), numbers


def same_values(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Equal offsets, or equal coordinates; a mode in which nothing moves may be left out."""
    if one.ndim == other.ndim == 1:
        return np.array_equal(one, other)
    shared = min(one.shape[1], other.shape[1])
    rests_zero = not one[:, shared:].any() and not other[:, shared:].any()
    return rests_zero and np.array_equal(one[:, :shared], other[:, :shared])


def assert_inverse(layout: Layout, inverse: Layout) -> None:
    assert [layout(int(i)) for i in table(inverse)] == list(range(size(inverse)))
