"""Tickets, known beforehand: what each is for, or which one each work-group draws.

Where work-groups go on until all work is taken, a ticket has a work-group of its own
(`dealt_tiles`). Where each draws its tickets before all else, they are counted in the order of the
work-groups, one of the orders in which these may come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from pycute_xe.errors import KernelError
from pycute_xe.executing.arrays.terms import Axis, Field, constants, index_field, points_of
from pycute_xe.executing.arrays.values import looked_up
from pycute_xe.executing.space import given
from pycute_xe.kernel import Index, Kernel, Loop, Statement
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.kernel.ir.effects import CounterAccess
from pycute_xe.kernel.ir.operands import shape_of
from pycute_xe.kernel.ir.reach import farthest_entry
from pycute_xe.kernel.ir.tickets import misused
from pycute_xe.kernel.schedules.dealt_tiles import dealt_tiles
from pycute_xe.kernel.spec.arrivals import in_order

FIX = "give tables whose entries lie inside, and assume it by InRange"

__all__ = ["takings", "takes_tickets", "with_tickets"]


@lru_cache(maxsize=128)
def takes_tickets(kernel: Kernel) -> bool:
    """Whether a kernel draws tickets."""
    return any(_ticket(s) is not None for s in kernel.statements())


def _ticket(statement: Statement) -> CounterAccess | None:
    """Return the counter that a statement draws a ticket from, None where it draws none."""
    counter = statement.touched.counter
    return counter if counter is not None and counter.into else None


def with_tickets(
    kernel: Kernel, sizes: Mapping[str, int], inputs: Mapping[str, Array]
) -> tuple[Kernel, dict[str, Array]]:
    """Return a kernel that draws no tickets and its inputs, those tickets among them.

    Raises `KernelError` for other tickets than those that deal out work or are drawn before it.
    """
    first = _drawn_first(kernel)
    if first is None:
        return _dealt(kernel), dict(inputs)
    tables = dict(inputs)
    for counter in filter(None, map(_ticket, kernel.body)):
        tables[counter.into] = _tickets(kernel, counter, sizes, inputs)
    return first, tables


def takings(kernel: Kernel) -> Kernel:
    """Return the kernel that does nothing but draw the tickets."""
    takes = tuple(s for s in kernel.statements() if _ticket(s) is not None)
    loops = tuple(replace(s, body=takes) for s in kernel.body if isinstance(s, Loop))
    return replace(kernel, body=takes if set(takes) <= set(kernel.body) else loops)


_dealt = lru_cache(maxsize=128)(dealt_tiles)


@lru_cache(maxsize=128)
def _drawn_first(kernel: Kernel) -> Kernel | None:
    """Return a kernel to which its tickets are given; None where it draws them later on."""
    bare = kernel.without_claims()
    takes = [s for s in bare.body if _ticket(s) is not None]
    rest = tuple(s for s in bare.body if _ticket(s) is None)
    if not takes or kernel.body[: len(takes)] != tuple(takes):
        return None
    drawn = [*filter(None, map(_ticket, takes))]
    if any(one.least is not None for one in drawn) or not all(s.touched.only_counts for s in takes):
        return None
    counters, into = {one.operand for one in drawn}, {one.into for one in drawn}
    inner = replace(bare, body=rest)
    looked = {x.operand for one in drawn for i in (*one.at, *one.place) for x in i.looked_up}
    kept = {kernel.operand(n).role for n in into} <= {"scratch", "out"}
    if takes_tickets(inner) or not kept or looked & into or any(misused(kernel, s) for s in takes):
        return None
    operands = (
        replace(o, role="in") if o.name in into else o
        for o in kernel.operands
        if o.name not in counters
    )
    return replace(inner, operands=tuple(operands))


def _tickets(
    kernel: Kernel, counter: CounterAccess, sizes: Mapping[str, int], inputs: Mapping[str, Array]
) -> Array:
    """Return what a statement leaves of its tickets: how many work-groups before drew there."""
    farthest = farthest_entry(kernel)

    def look_up(operand: str, at: tuple[Field, ...]) -> Field:
        if operand not in inputs:
            given("run", kernel, inputs)(operand, ())  # says what is missing
        return looked_up(inputs[operand], at, farthest)

    (points,) = points_of(kernel, sizes, (), look_up, together=True)
    axis = Axis(points.size)
    env = constants(sizes) | points.with_axis(axis)

    def flat(operand: str, at: tuple[Index, ...]) -> tuple[Ints, tuple[int, ...]]:
        shape = shape_of(kernel.operand(operand), sizes)
        places = [index_field(i, env, look_up).over((axis,)) for i in at]
        pairs = zip(places, shape, strict=True)
        if any(((x < 0) | (x >= n)).any() for x, n in pairs):
            raise KernelError("run", {"operand": operand}, f"a place in {operand} is outside", FIX)
        return np.ravel_multi_index(places, shape), shape

    drawn_from, _ = flat(counter.operand, counter.at)
    places, shape = flat(counter.into, counter.place)
    out: Any = np.full(shape, -1, np.int32)
    out.reshape(-1)[places] = in_order(drawn_from)
    return out
