"""Sums of products: as products of matrices, of whole operands where several terms ask for them."""

from __future__ import annotations

import numpy as np

from pycute_xe.converting import host_dtype
from pycute_xe.executing.arrays.contracting import Product, product_value
from pycute_xe.executing.arrays.evaluation import VALUES, Evaluation, Run
from pycute_xe.executing.arrays.terms import Axis, Field, Lifted
from pycute_xe.executing.arrays.values import (
    Value,
    as_type,
    contract,
    gathered,
    is_finite,
    masked,
)
from pycute_xe.holding.nodes import Accumulated, Call, Choice, Leaf, Number, Summed, undecided
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.numeric import Numeric

__all__ = ["product_of"]


def _accumulated(ev: Evaluation, term: Lifted) -> Value:
    numeric, step = term.given
    start, total = term.parts[0], None
    if ev.run.again and product_of(term) in ev.run.again:
        product = _part_of_product(ev, term)
        if product is not None:
            return product
    if not (start.kind is Number and start.given[0] == 0):
        total = ev.value(start)
    products = [(axis, one) for part in term.parts[1:] for axis, one in _terms(ev, part)]
    narrow = numeric.kind == "float" and numeric.bits < 32
    turns = any(len(b) == 3 for one in term.parts[1:] for b in one.given[1]) or len(
        products
    ) >= len(term.parts)
    if narrow and len(products) > 1 and turns:
        raise undecided("several products are added by turns, each rounded")
    for axis, one in products:
        factors = masked(one.factors, one.tests)
        if factors is None:
            raise undecided("a condition leaves out products with what is not finite")
        x, *rest = factors
        y = rest[0] if rest else Value((axis,), np.ones(axis.size, x.array.dtype), x.type)
        total = contract(x, y, axis, numeric, step or axis.size or 1, total)
    if total is None:
        return Value((), np.zeros((), host_dtype(numeric)), numeric)
    return as_type(total, numeric)


def _terms(ev: Evaluation, term: Lifted) -> list[tuple[Axis, Product]]:
    """Return the products that a sum is made of, and what each is summed over."""
    inner, axis, tests = ev.summed_over(term)
    bounds = Product((), tuple((test, True) for test in tests))
    return [(axis, one.times(bounds)) for one in _products(inner, term.parts[0])]


def _products(ev: Evaluation, body: Lifted) -> list[Product]:
    """Return the products that a body is the sum of, each under its conditions."""
    if body.kind is Call and body.given[0] == "mul" and body.given[1] is None:
        return [Product(tuple(map(ev.factor, body.parts)))]
    if body.kind is not Choice:
        return [Product((ev.value(body),))]
    test = ev.place(body.places[0])
    out: list[Product] = []
    for side, holds in zip(body.parts, (True, False), strict=True):
        if side.kind is Number and side.given[0] == 0:
            continue
        if test.surely(not holds):
            continue
        mine = Product((), () if test.surely(holds) else ((test, holds),))
        out += (one.times(mine) for one in _products(ev, side))
    return out


def product_of(term: Lifted) -> tuple[str, str] | None:
    """Return the operands, each of two modes, of which a term is elements of a product."""
    if term.kind is not Accumulated or len(term.parts) != 2:
        return None
    start, body = term.parts[0], term.parts[1].parts[0]
    if start.kind is not Number or start.given[0] != 0 or body.kind is not Call:
        return None
    leaves = [part for part in body.parts if part.kind is Leaf and len(part.places) == 2]
    if body.given != ("mul", None) or len(leaves) != 2:
        return None
    return leaves[0].given[0], leaves[1].given[0]


def _part_of_product(ev: Evaluation, term: Lifted) -> Value | None:
    """Return elements of the product of two whole operands, which is computed once."""
    inner, axis, tests = ev.summed_over(term.parts[1])
    leaves = term.parts[1].parts[0].parts
    ends: list[tuple[str, int, Ints]] = []
    for leaf in leaves:
        fields = [inner.place(place) for place in leaf.places]
        along = [i for i, place in enumerate(fields) if axis in place.axes]
        if len(along) != 1 or fields[along[0]].axes != (axis,):
            return None
        ends.append((leaf.given[0], along[0], fields[along[0]].over((axis,))))
    across = tuple(
        inner.place(leaf.places[1 - along])
        for leaf, (_, along, _) in zip(leaves, ends, strict=True)
    )
    shape = tuple(ev.run.memory[name].shape[1 - along] for name, along, _ in ends)
    inside = all(place.inside(n) for place, n in zip(across, shape, strict=True))
    key = "product", term.given, tuple((name, along, at.tobytes()) for name, along, at in ends)
    if tests or (not inside and not _all_finite(ev.run, ends)):
        return None
    if key not in ev.run.known:
        ev.run.known[key] = _whole_product(ev.run, term.given, ends, shape)
    axes, elements = gathered(ev.run.known[key], across)
    return Value(axes, elements, term.given[0])


def _whole_product(
    run: Run, given: tuple[Numeric, int], ends: list[tuple[str, int, Ints]], shape: tuple[int, ...]
) -> Array:
    over = Axis(ends[0][2].size)
    values: list[Value] = []
    for (name, along, at), extent in zip(ends, shape, strict=True):
        places = (Field(0, (((over,), at),)), Axis(extent).points)
        array, numeric = run.wide(name)
        axes, elements = gathered(array, places if along == 0 else places[::-1])
        values.append(Value(axes, elements, numeric))
    numeric, step = given
    return contract(values[0], values[1], over, numeric, step or over.size or 1, None).array


def _all_finite(run: Run, ends: list[tuple[str, int, Ints]]) -> bool:
    for name, _, _ in ends:
        if ("finite", name) not in run.known:
            array, numeric = run.wide(name)
            run.known["finite", name] = is_finite(Value((), array, numeric))
    return all(run.known["finite", name] for name, _, _ in ends)


VALUES[Accumulated] = _accumulated
VALUES[Summed] = product_value
