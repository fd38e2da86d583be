"""Formulas against each other, term by term: where two differ is told by counting."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pycute_xe.errors import UndecidableError
from pycute_xe.kernel.spec.functions import COMPARING, reduction
from pycute_xe.numeric import as_numeric
from pycute_xe.verifying.comparison import compare
from pycute_xe.verifying.formula import Bounds, Formula, Place, Term, add, call, multiply, number
from pycute_xe.verifying.guards import Guard
from pycute_xe.verifying.laws import applied, is_number, reduced
from pycute_xe.verifying.regions import Region
from pycute_xe.verifying.translation import F32, Reading

POINTS = Region.where(("x",), "0 <= x < 8")
EXTENTS = {
    name: ("100",) * modes for name, modes in (("A", 1), ("B", 1), ("C", 1), ("P", 2), ("Q", 2))
}


def of(operand: str, *at: str) -> Formula:
    return (Term(1.0, (Place(operand, at),)),)


def guarded(formula: Formula, *guards: Guard) -> Formula:
    return tuple(Term(t.scale, t.places, t.atoms, t.over, guards) for t in formula)


def over(low: str, high: str, *factors: Formula) -> Formula:
    """The sum over k of a product."""
    out = number(1.0)
    for factor in factors:
        out = multiply(out, factor)
    return tuple(Term(t.scale, t.places, t.atoms, (Bounds("k", low, high),)) for t in out)


def wrong(actual: Formula, wanted: Formula) -> set[int]:
    """The points from 0 to 7 at which two formulas differ."""
    found = compare(POINTS, actual, wanted, EXTENTS)
    points = POINTS if found is None else found.points
    return {x for x in range(8) if found and not points.within(f"x = {x}").is_empty}


def test_a_term_under_a_condition_is_missing_where_it_does_not_hold() -> None:
    always, early = of("A", "x"), guarded(of("A", "x"), Guard("x", "<", "3"))
    assert wrong(early, always) == wrong(always, early) == {3, 4, 5, 6, 7}
    assert wrong(early, guarded(of("A", "x"), Guard("x", "<", "5"))) == {3, 4}
    assert wrong(early, early) == set()


def test_what_is_summed_beside_what_should_be_is_foreign() -> None:
    eight = over("0", "8", of("A", "x + k"))
    assert wrong(over("0", "9", of("A", "x + k")), eight) == set(range(8))
    assert wrong(over("0", "7", of("A", "x + k")), eight) == set(range(8))
    more = add(eight, guarded(of("A", "x + 8"), Guard("x", ">=", "6")))
    assert wrong(more, eight) == {6, 7}


def tanh(*at: str) -> Formula:
    return call("tanh", of("A", *at))


WHOLE = over("0", "8", tanh("k"))


def test_functions_summed_in_parts_are_taken_once_each() -> None:
    first, last = over("0", "4", tanh("k")), over("4", "8", tanh("k"))
    assert wrong(add(first, last), WHOLE) == set()
    assert wrong(add(first, over("3", "8", tanh("k"))), WHOLE) == set(range(8))
    assert wrong(add(over("0", "8", tanh("floor(k/2)")), last), WHOLE) == set(range(8))
    assert wrong(add(first, over("5", "8", tanh("k"))), WHOLE) == set(range(8))


def test_a_claim_that_takes_a_function_twice_is_not_matched_with_parts() -> None:
    parts = add(over("0", "2", tanh("k")), over("2", "4", tanh("k")))
    with pytest.raises(UndecidableError, match="split differently"):
        wrong(parts, over("0", "8", tanh("floor(k/2)")))


def test_elements_beside_functions_of_parts_are_those_of_the_claim() -> None:
    def product(low: str, high: str, third: str) -> Formula:
        return over(low, high, of("B", "k"), of("C", third), tanh("k"))

    claim = product("0", "8", "k")
    assert wrong(add(product("0", "4", "k"), product("4", "8", "k")), claim) == set()
    assert wrong(add(product("0", "4", "k"), product("4", "8", "k + 1")), claim) == set(range(8))


def test_functions_of_other_sums_of_the_same_operands_differ() -> None:
    def value(at: str) -> Formula:
        return call("tanh", over("0", "4", of("Q", "x", "k"), of("B", at)))

    assert wrong(value("k"), value("k")) == set()
    assert wrong(value("k"), value("k + 1")) == set(range(8))


def test_maxima_of_sums_that_are_split_in_two_ways_are_those_of_all() -> None:
    """Of P[k,·]·Q[x,·] for k up to 8: parts that meet at 4, and parts that meet at 2."""
    score = over("0", "4", of("Q", "x", "k"), of("P", "j", "k"))

    def largest(*ends: int) -> Formula:
        parts = [
            reduced(reduction("max"), (Bounds("j", str(a), str(b)),), score)
            for a, b in pairwise(ends)
        ]
        return applied("max", tuple(parts))

    assert wrong(largest(0, 4, 8), largest(0, 2, 8)) == set()
    assert wrong(largest(0, 4, 9), largest(0, 2, 8)) == set(range(8))


def test_exponentials_of_what_may_be_infinite_do_not_cancel() -> None:
    """A maximum over no element is minus infinity: zero times infinity is not 1."""
    largest = reduced(reduction("max"), (Bounds("j", "0", "x"),), of("A", "j"))
    for start, cancels in ((number(-9.0), True), (None, False)):
        top = largest if start is None else applied("max", (start, largest))
        factors = (top, multiply(number(-1.0), top))
        found = applied("mul", tuple(applied("exp2", (f,)) for f in factors))
        assert is_number(found) == cancels


def test_what_excuses_a_rounding_ends_at_comparisons() -> None:
    """A value that is rounded later need not be rounded before; one that is compared must be."""
    wide = as_numeric("f64")
    near = Reading(near=True, sums=True, finest=wide)
    for function in COMPARING:
        assert near.operand(function, True) == Reading(finest=wide)
    assert near.operand("mul", False) is near
    assert Reading().operand("mul", True) == Reading(near=True, sums=True, finest=F32)
    assert Reading(real=False).operand("mul", True) == Reading(real=False)
