"""Sums of products in float32: what does not depend on a sum's variable is taken out of it.

A sum is a product of factors, each with its own axes, under conditions outside of which it is zero.
Of a sum inside a sum the inner one is taken first and its factors stay apart, so that no array has
more axes than it needs: Σ_j a[i,j]·Σ_d q[i,d]·k[j,d]·v[j,e] is two products of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from pycute_xe.executing.arrays.evaluation import F32, VALUES, Evaluation, summed
from pycute_xe.executing.arrays.recording import recorded
from pycute_xe.executing.arrays.terms import Axis, Field, Lifted, joined, run_of, whole
from pycute_xe.executing.arrays.values import (
    Tests,
    Value,
    contract,
    demand_room,
    gathered,
    is_finite,
    mask_of,
    masked,
    numbers,
    taken,
    zeroed,
)
from pycute_xe.holding.nodes import Call, Choice, Number, Summed
from pycute_xe.kernel.arrays import Ints

__all__ = ["Product", "product_value"]


@dataclass(frozen=True, eq=False)
class Product:
    """Factors; their product is zero but where tests are below zero, or are not."""

    factors: tuple[Value, ...]
    tests: Tests = ()

    def times(self, other: Product) -> Product:
        """Return the product of two."""
        return Product((*self.factors, *other.factors), (*self.tests, *other.tests))

    def value(self) -> Value:
        """Multiply it out."""
        return zeroed(_multiplied_out(self.factors), self.tests)


def _number(value: float) -> Value:
    return Value((), np.asarray(value, np.float32), F32)


def _room(axes: Sequence[Axis]) -> int:
    return prod(axis.size for axis in axes)


_mul = recorded(np.multiply)


def _multiplied(x: Value, y: Value) -> Value:
    axes = joined(sorted((x.axes, y.axes), key=len, reverse=True))
    demand_room(axes)
    return Value(axes, whole(_mul(x.over(axes), y.over(axes)), axes), F32)


def _multiplied_out(factors: Sequence[Value]) -> Value:
    factors = sorted(factors, key=lambda x: _room(x.axes))
    return reduce(_multiplied, factors) if factors else _number(1.0)


# ------------------------------------------------------------ factors


def _is_zero(term: Lifted) -> bool:
    return term.kind is Number and term.given[0] == 0


def _is_sum(term: Lifted) -> bool:
    return term.kind is Summed and term.given[0] == "sum" and term.given[2] == F32


def _product(ev: Evaluation, term: Lifted) -> Product:
    """Return the factors of a term."""
    if ev.outer is not None and ev.own.isdisjoint(term.names):
        return _product(ev.outer, term)
    if term.number not in ev.products:
        ahead = ev.ahead
        if ahead is not None and ahead.has(term):
            every = _product(ahead.ev, term)
            tests = tuple((ahead.field(test), holds) for test, holds in every.tests)
            ev.products[term.number] = Product(tuple(map(ahead.value, every.factors)), tests)
        else:
            ev.products[term.number] = _factors(ev, term)
    return ev.products[term.number]


def _factors(ev: Evaluation, term: Lifted) -> Product:
    if term.kind is Call and term.given == ("mul", F32):
        one, other = (_product(ev, part) for part in term.parts)
        return one.times(other)
    if term.kind is Call and term.given == ("add", F32) and any(map(_is_zero, term.parts)):
        return _product(ev, next((x for x in term.parts if not _is_zero(x)), term.parts[0]))
    if _is_sum(term):
        return _eliminated(ev, term)
    if term.kind is Choice and any(map(_is_zero, term.parts)):
        holds = _is_zero(term.parts[1])
        test, one = ev.place(term.places[0]), term.parts[0 if holds else 1]
        if test.surely(holds):
            return _product(ev, one)
        if test.surely(not holds):
            return Product((_number(0.0),))
        return _product(ev, one).times(Product((), ((test, holds),)))
    value = ev.value(term)
    return Product((Value(value.axes, numbers(value, F32), F32),))


# ------------------------------------------------------------ sums


def _eliminated(ev: Evaluation, term: Lifted) -> Product:
    """Return a sum: its factors and tests that do not depend on its variable are taken out."""
    inner, axis, bounds = ev.summed_over(term)
    body = _product(inner, term.parts[0])
    body = body.times(Product((), tuple((test, True) for test in bounds)))
    mine = [x for x in body.factors if axis in x.axes]
    tests = [x for x in body.tests if axis in x[0].axes]
    rest = Product(
        tuple(x for x in body.factors if axis not in x.axes),
        tuple(x for x in body.tests if axis not in x[0].axes),
    )
    if not axis.size:
        return Product((_number(0.0),))
    if tests:
        rest = rest.times(_somewhere(tests, axis))
        axis, mine, tests = _cut(axis, mine, tests)
    made = _picked(mine, tests, axis) if tests else None
    return rest.times(Product(tuple(_total(mine, tests, axis)) if made is None else made))


def _cut(
    axis: Axis, factors: list[Value], tests: list[tuple[Field, bool]]
) -> tuple[Axis, list[Value], list[tuple[Field, bool]]]:
    """Return a sum over those points of its variable alone at which tests of nothing else hold."""
    own = [x for x in tests if x[0].axes == (axis,)]
    if not own:
        return axis, factors, tests
    which: Ints = np.flatnonzero(whole(mask_of(own, (axis,)), (axis,)))
    cut, first = Axis(which.size), run_of(which)
    index = which if first is None else slice(first, first + which.size)
    out: list[Value] = []
    for one in factors:
        at = one.axes.index(axis)
        axes = (*one.axes[:at], cut, *one.axes[at + 1 :])
        out.append(Value(axes, taken(one.array, (*(slice(None),) * at, index)), F32))
    rest = [
        (test.moved({axis: (cut, which)}), holds) for test, holds in tests if test.axes != (axis,)
    ]
    return cut, out, rest


def _somewhere(tests: list[tuple[Field, bool]], axis: Axis) -> Product:
    """Return the condition that a sum has terms, where there are points at which it has none."""
    axes = joined(test.axes for test, _ in tests)
    any_of: Any = mask_of(tests, axes).any(axis=axes.index(axis))
    if any_of.all():
        return Product(())
    own = tuple(x for x in axes if x is not axis)
    return Product((), ((Field(0, ((own, -whole(any_of, own).astype(np.int64)),)), True),))


def _picked(
    factors: list[Value], tests: list[tuple[Field, bool]], axis: Axis
) -> tuple[Value, ...] | None:
    """Return the terms that tests leave of a sum, None where they leave more than one of them."""
    axes = (axis, *(x for x in joined(test.axes for test, _ in tests) if x is not axis))
    mask: Any = mask_of(tests, axes)
    mask = whole(mask, axes) if mask.shape[0] != axis.size else mask
    if not factors or (mask.sum(axis=0) > 1).any():
        return None
    which: Ints = np.where(mask.any(axis=0), mask.argmax(axis=0), -1)
    at = Field(0, ((axes[1:], whole(which, axes[1:])),)) if axes[1:] else Field(int(which))
    out: list[Value] = []
    for one in factors:
        places = (at if x is axis else x.points for x in one.axes)
        own, elements = gathered(one.array, tuple(places))
        out.append(Value(own, elements, F32))
    return tuple(out)


def _total(factors: list[Value], tests: list[tuple[Field, bool]], axis: Axis) -> list[Value]:
    """Return the sum over an axis of a product of factors that have it, as one."""
    if not factors:
        factors = [Value((axis,), np.ones(axis.size, np.float32), F32)]
    if tests:
        kept = masked(factors, tests)
        factors = [zeroed(_multiplied_out(factors), tests)] if kept is None else list(kept)
    while len(factors) > 2 or (len(factors) == 2 and not _apart(*factors)):
        pairs = combinations(factors, 2)
        x, y = min(pairs, key=lambda pair: _room(joined((pair[0].axes, pair[1].axes))))
        factors = [_multiplied(x, y), *(z for z in factors if z is not x and z is not y)]
    if len(factors) == 2:
        x, y = factors
        return [contract(x, y, axis, F32, axis.size, None)]
    return [summed(factors[0], axis)]


def _apart(x: Value, y: Value) -> bool:
    """Whether the product of two factors has more axes than one of them."""
    return set(x.axes) != set(y.axes)


def product_value(ev: Evaluation, term: Lifted) -> Value:
    """Return the value of a sum, by its factors where it is one of float32.

    Where that is not finite it is added term by term: a factor of infinity may meet a zero there,
    and a sum may overflow of which a small factor was taken out.
    """
    if _is_sum(term):
        value = _product(ev, term).value()
        if is_finite(value):
            return value
    return _others(ev, term)


_others = VALUES[Summed]
