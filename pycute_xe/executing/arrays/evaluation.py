"""The value of a term at every point of the axes of its variables.

A table says what each kind of term is on arrays. What a sum runs over is an axis of its own; terms
inside that do not depend on it are evaluated outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial, reduce
from math import copysign, prod
from typing import Any, Protocol, TypeAlias

import numpy as np

from pycute_xe.converting import convert, host_dtype
from pycute_xe.executing.arrays.recording import recorded
from pycute_xe.executing.arrays.terms import (
    Axis,
    Field,
    Lifted,
    Lifter,
    Place,
    Points,
    index_field,
    joined,
    run_of,
    spread,
    whole,
)
from pycute_xe.executing.arrays.values import (
    Value,
    converted,
    demand_room,
    gathered,
    looked_up,
    mask_of,
    numbers,
    of_dtype,
    put_together,
    selected,
    taken,
    widened,
    wrapped,
)
from pycute_xe.holding.elements import Recurrence, State
from pycute_xe.holding.nodes import (
    Bound,
    Call,
    Choice,
    Converted,
    Leaf,
    Lost,
    Number,
    Scalar,
    Summed,
    Undefined,
    undecided,
)
from pycute_xe.kernel import Index, Kernel
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.kernel.ir.kernel import MOST_TRIPS
from pycute_xe.kernel.spec.functions import FUNCTIONS, reduction
from pycute_xe.numeric import Numeric, as_numeric

__all__ = [
    "VALUES",
    "Ahead",
    "Contents",
    "Evaluation",
    "Run",
    "Trip",
    "looked_up",
    "reads",
    "summed",
]


F32, INTEGERS = as_numeric("f32"), as_numeric("s64")

Contents: TypeAlias = tuple[Array, Numeric, tuple[Field, ...]]
"""What a fragment holds, the type of it, and where the elements of a term lie in that."""


class Trip(Protocol):
    """A trip of a recurrence, and the state with which it begins."""

    @property
    def recurrence(self) -> Recurrence:
        """The recurrence."""
        ...

    @property
    def number(self) -> int:
        """What the variable of its loop is."""
        ...

    @property
    def known(self) -> dict[Any, Any]:
        """What is known of what depends on it."""
        ...

    def state(self, ev: Evaluation, term: Lifted) -> Contents:
        """Return what a fragment holds when it begins, its type, and where a term lies in it."""
        ...


@dataclass(eq=False)
class Run:
    """What a run has: its kernel, sizes, memory as it was at first, and what was computed before.

    ``tables`` are the operands that indices look up, ``farthest`` how far from zero their entries
    may lie. ``over`` gives the state of a fragment in or
    behind a recurrence that is over, ``asked`` are the states that stores ask for; ``again`` are
    the operands whose product is asked for more than once. A run of a ``block`` of work-groups
    shares all but that.
    """

    kernel: Kernel
    sizes: Mapping[str, int]
    memory: Mapping[str, Array]
    lifter: Lifter
    over: Callable[[Evaluation, Lifted], Contents]
    farthest: int
    tables: Mapping[str, Array] = field(default_factory=dict[str, Array])
    known: dict[Any, Any] = field(default_factory=dict[Any, Any])
    types: Mapping[str, Numeric] = field(default_factory=dict[str, Numeric])
    again: frozenset[tuple[str, str]] = frozenset()
    asked: list[tuple[Evaluation, Lifted]] = field(
        default_factory=list["tuple[Evaluation, Lifted]"]
    )
    block: Points | None = None

    def of(self, block: Points | None) -> Run:
        """Return the run of a block of work-groups."""
        return replace(self, block=block)

    def wide(self, name: str) -> tuple[Array, Numeric]:
        """Return an operand as it is multiplied: float32 of narrow floats."""
        numeric = self.types[name]
        if not is_narrow(numeric):
            return self.memory[name], numeric
        if ("wide", name) not in self.known:
            self.known["wide", name] = widened(self.memory[name], numeric)
        return self.known["wide", name], F32

    def look_up(self, operand: str, at: tuple[Field, ...]) -> Field:
        """Return elements of an integer operand as a field."""
        return looked_up(self.tables[operand], at, self.farthest)


def is_narrow(numeric: Numeric) -> bool:
    """Whether elements are made float32 before they are multiplied."""
    return numeric.kind == "float" and (numeric.bits < 32 or numeric.name == "tf32")


@dataclass(eq=False)
class Evaluation:
    """Values of terms where ``env`` says what variables are.

    ``own`` are the variables that the evaluation around it does not have, ``inside`` the trips of
    recurrences in which it is done, the innermost first; ``ahead`` knows what all trips have.
    """

    run: Run
    env: dict[str, Field]
    outer: Evaluation | None = None
    own: frozenset[str] = frozenset()
    inside: tuple[Trip, ...] = ()
    ahead: Ahead | None = None
    values: dict[int, Value] = field(default_factory=dict[int, Value])
    factors: dict[int, Value] = field(default_factory=dict[int, Value])
    fields: dict[int, tuple[Place, Field]] = field(
        default_factory=dict["int", "tuple[Place, Field]"]
    )
    products: dict[int, Any] = field(default_factory=dict[int, Any])
    sums: dict[Any, tuple[Evaluation, Axis, tuple[Field, ...]]] = field(
        default_factory=dict["Any", "tuple[Evaluation, Axis, tuple[Field, ...]]"]
    )

    def value(self, term: Lifted) -> Value:
        """Return the value of a term."""
        known = self.values.get(term.number)
        if known is None:
            if self.outer is not None and self.own.isdisjoint(term.names):
                return self.outer.value(term)
            if self.ahead is not None and self.ahead.has(term):
                known = self.ahead.value(self.ahead.ev.value(term))
            else:
                known = VALUES[term.kind](self, term)
            self.values[term.number] = known
        return known

    def factor(self, term: Lifted) -> Value:
        """Return the value of a term as it is multiplied: float32 of narrow floats."""
        if self.outer is not None and self.own.isdisjoint(term.names):
            return self.outer.factor(term)
        if term.number not in self.factors:
            self.factors[term.number] = self.wide(term)
        return self.factors[term.number]

    def wide(self, term: Lifted) -> Value:
        """Return the same, where no other evaluation knows it."""
        if term.kind is Leaf:
            array, numeric = self.run.wide(term.given[0])
            axes, elements = gathered(array, tuple(map(self.place, term.places)))
            return Value(axes, elements, numeric)
        if term.kind is Choice:
            return _choice(self, term, Evaluation.factor)
        one = self.value(term)
        return Value(one.axes, widened(one.array, one.type), F32) if is_narrow(one.type) else one

    def place(self, place: Place) -> Field:
        """Return a place as a field."""
        if self.outer is not None and self.own.isdisjoint(place.names):
            return self.outer.place(place)
        known = self.fields.get(id(place))
        if known is None:
            out = self.index(place.base)
            for names, table in place.parts:
                out = out + self.tabled(names, table)
            known = self.fields[id(place)] = place, out
        return known[1]

    def forget(self) -> None:
        """Let go of values, and of evaluations inside, which know this one."""
        self.values.clear()
        self.factors.clear()
        self.products.clear()
        self.sums.clear()

    def tabled(self, names: tuple[str, ...], table: Ints) -> Field:
        """Return a table of some variables as a field."""
        at = tuple(self.env[name] for name in names)
        if len(at) == 1 and [x.size for x in at[0].axes] == [table.size] and at[0].line[1] == 0:
            return Field(0, ((at[0].axes, table),))
        axes, entries = gathered(table, at)
        return Field(0, ((axes, entries),)) if axes else Field(int(entries))

    def index(self, index: Index) -> Field:
        """Return an index as a field."""
        return index_field(index, self.env, self.run.look_up)

    def summed_over(self, term: Lifted) -> tuple[Evaluation, Axis, tuple[Field, ...]]:
        """Return where a sum's body is evaluated, its axis, and what must be below zero."""
        over = term.given[1]
        if over not in self.sums:
            self.sums[over] = (
                self._summed_over(term) if self.ahead is None else self.ahead.sum(self, term)
            )
        return self.sums[over]

    def _summed_over(self, term: Lifted) -> tuple[Evaluation, Axis, tuple[Field, ...]]:
        own = _Over(Axis(1))
        for bound in term.given[1]:
            own = own.within(self, bound)
        return own.evaluation(self), own.axis, own.tests

    @property
    def trips(self) -> tuple[Trip, ...]:
        """The trips of recurrences in which it is done, the innermost first."""
        return self.inside or (() if self.outer is None else self.outer.trips)

    def state(self, term: Lifted) -> Contents:
        """Return what a fragment holds when a trip begins, or behind, and where a term lies in it.

        State of other trips than that at hand is asked for when the recurrence is over.
        """
        recurrence, _, behind, outer = term.given
        if not behind and recurrence.loop.var not in outer:
            for trip in self.trips:
                if trip.recurrence is recurrence:
                    return trip.state(self, term)
        return self.run.over(self, term)


FEW = 1 << 12
"""Elements, in a trip, of what is evaluated for all trips at once: more gain nothing by it."""


@dataclass(frozen=True, eq=False)
class Ahead:
    """What does not depend on state, evaluated for all trips of a recurrence: of one of them.

    The trips are an axis of ``ev``, on which the one at hand is point ``at``; terms that name
    ``state`` are not known before.
    """

    ev: Evaluation
    axis: Axis
    at: int
    state: str

    def has(self, term: Lifted) -> bool:
        """Whether a term is evaluated for all trips: it needs no state, and is not large."""
        if self.state in term.names:
            return False
        fields = (self.ev.env[name] for name in term.names if name in self.ev.env)
        own = (axis for axis in joined(x.axes for x in fields) if axis is not self.axis)
        return prod(axis.size for axis in own) <= FEW

    def value(self, value: Value) -> Value:
        """Return a value of all trips at the trip at hand."""
        if self.axis not in value.axes:
            return value
        index = (*(slice(None),) * value.axes.index(self.axis), self.at)
        axes = tuple(axis for axis in value.axes if axis is not self.axis)
        return Value(axes, taken(value.array, index), value.type)

    def field(self, field: Field) -> Field:
        """Return a field of all trips at the trip at hand."""
        out = Field(field.offset)
        for axes, part in field.parts:
            if self.axis in axes:
                part = np.asarray(part.take(self.at, axes.index(self.axis)), np.int64)
                axes = tuple(axis for axis in axes if axis is not self.axis)
            out = out + (Field(0, ((axes, part),)) if axes else Field(int(part)))
        return out

    def sum(self, ev: Evaluation, term: Lifted) -> tuple[Evaluation, Axis, tuple[Field, ...]]:
        """Return where a sum's body is evaluated in the trip at hand: over what all trips have."""
        inner, axis, tests = self.ev.summed_over(term)
        own = {name: self.field(inner.env[name]) for name in inner.own}
        ahead = replace(self, ev=inner)
        at = Evaluation(ev.run, {**ev.env, **own}, ev, inner.own, ahead=ahead)
        return at, axis, tuple(map(self.field, tests))


def reads(run: Run, env: dict[str, Field], terms: Iterable[Lifted]) -> Iterator[tuple[Field, ...]]:
    """Yield the places of each operand that terms read, variables of sums left out."""
    for term in terms:
        if term.kind is Leaf and term.places:
            names = frozenset[str]().union(*(place.names for place in term.places))
            ev = Evaluation(run, {**dict.fromkeys(names, Field()), **env})
            yield tuple(map(ev.place, term.places))


@dataclass(frozen=True, eq=False)
class _Over:
    """The points of a sum: an axis, its variables as fields, and what must be below zero."""

    axis: Axis
    fields: tuple[tuple[str, Field], ...] = ()
    tests: tuple[Field, ...] = ()

    def evaluation(self, ev: Evaluation) -> Evaluation:
        """Return where the body of the sum is evaluated."""
        own = dict(self.fields)
        return Evaluation(ev.run, {**ev.env, **own}, ev, frozenset(own))

    def of(self, which: Ints) -> _Over:
        """Return some of the points, or one several times."""
        change = {self.axis: (axis := Axis(which.size), which)}
        fields = tuple((name, field.moved(change)) for name, field in self.fields)
        return _Over(axis, fields, tuple(test.moved(change) for test in self.tests))

    def within(self, ev: Evaluation, bound: Bound) -> _Over:
        """Return the points with one variable more, which runs fastest."""
        start, length = Field(), Field(bound[1]) if len(bound) == 2 else Field()
        if len(bound) == 3:
            inner = self.evaluation(ev)
            start = inner.index(bound[1])
            length = inner.index(bound[2]) + start * -1
        masked = any(axis is not self.axis for axis in length.axes)
        if length.parts and not masked:
            counts = np.maximum(length.over((self.axis,)), 0)
        else:
            most = 0 if length.surely(True) else length.range[1]
            counts = np.full(self.axis.size, max(0, most))
        if counts.max(initial=0) > MOST_TRIPS:
            raise undecided(f"{bound[0]} takes too many values")
        size = int(counts.sum())
        which = np.repeat(np.arange(counts.size), counts)
        wide = self.of(which)
        steps = np.arange(size) - np.repeat(np.cumsum(counts) - counts, counts)
        step = Field(0, (((wide.axis,), steps),))
        change = {self.axis: (wide.axis, which)}
        field, tests = start.moved(change) + step, wide.tests
        if masked and length.range[0] < length.range[1]:
            tests = (*tests, step + length.moved(change) * -1)
        return _Over(wide.axis, (*wide.fields, (bound[0], field)), tests)


# ---------------------------------------------------------------- kinds of terms


def _number(_ev: Evaluation, term: Lifted) -> Value:
    value, numeric = term.given
    return _numeral(value, copysign(1, value), numeric)


@cache
def _numeral(value: float, _sign: float, numeric: Numeric | None) -> Value:
    """Return a number as a type holds it; zeros of both signs are two."""
    if numeric is None:
        return Value((), np.asarray(value, np.float64), as_numeric("f64"))
    return Value((), convert(np.asarray(value, np.float64), numeric), numeric)


def _undefined(_ev: Evaluation, _term: Lifted) -> Value:
    raise undecided("a register that was never written is read")


def _lost(_ev: Evaluation, term: Lifted) -> Value:
    raise undecided(term.given[0])


def _scalar(ev: Evaluation, term: Lifted) -> Value:
    name = term.given[0]
    return Value((), ev.run.memory[name], ev.run.types[name])


def _leaf(ev: Evaluation, term: Lifted) -> Value:
    name = term.given[0]
    axes, array = gathered(ev.run.memory[name], tuple(map(ev.place, term.places)))
    return Value(axes, array, ev.run.types[name])


def _call(ev: Evaluation, term: Lifted) -> Value:
    name, numeric = term.given
    values = [ev.value(part) for part in term.parts]
    if name not in FUNCTIONS:
        return _as_bits(name, values[0])
    if numeric is None:
        floats = [v.type for v in values if v.type.kind == "float" and v.axes]
        numeric = INTEGERS if not floats else max(floats, key=lambda t: t.bits)
        numeric = F32 if numeric.kind == "float" and numeric.bits < 64 else numeric
    axes = _axes_of(tuple(value.axes for value in values))
    arrays = [spread(numbers(v, numeric), v.axes, axes) for v in values]
    dtype = np.dtype(np.int64) if numeric.kind != "float" else host_dtype(numeric)
    row = FUNCTIONS[name]
    if row.ufunc and axes:
        out = of_dtype(_ufunc(row.ufunc)(*arrays), dtype)
    else:
        out = _computed(dtype, partial(row.meaning, np), *arrays)
    return Value(axes, whole(out, axes), numeric)


@cache
def _ufunc(name: str) -> Callable[..., Array]:
    return recorded(getattr(np, name))


@recorded
def _computed(dtype: np.dtype[Any], function: Callable[..., Any], *arrays: Array) -> Array:
    return np.asarray(function(*arrays)).astype(dtype, copy=False)


def _as_bits(name: str, one: Value) -> Value:
    """Return the lowest bits of integers, or the nearest of a float type's numbers."""
    wide = widened(one.array, one.type)
    if name.startswith("lowest bits of "):
        to = as_numeric(name.removeprefix("lowest bits of "))
        return Value(one.axes, wrapped(wide, to), to)
    to = as_numeric(name.removeprefix("nearest ").split()[0])
    return Value(one.axes, of_dtype(wide, host_dtype(to)), to)


@lru_cache(maxsize=1 << 12)
def _axes_of(groups: tuple[tuple[Axis, ...], ...]) -> tuple[Axis, ...]:
    """Return the axes of several arrays together, in the order of the one that has most."""
    axes = joined(sorted(groups, key=len, reverse=True))
    demand_room(axes)
    return axes


def _converted(ev: Evaluation, term: Lifted) -> Value:
    to, one = term.given[0], ev.value(term.parts[0])
    if one.type == to:
        return one
    return Value(one.axes, converted(widened(one.array, one.type), to), to)


def _summed(ev: Evaluation, term: Lifted) -> Value:
    how, _, numeric = term.given
    inner, axis, tests = ev.summed_over(term)
    body = inner.value(term.parts[0])
    if numeric is None:
        numeric = body.type if body.type.kind == "float" else INTEGERS
        numeric = F32 if numeric.kind == "float" and numeric.bits < 64 else numeric
    array = numbers(body, numeric)
    nothing = reduction(how).start(array.dtype)
    axes = joined((body.axes, *(test.axes for test in tests)))
    if axis not in axes:
        axes = (*axes, axis)
    demand_room(axes)
    values: Array = Value(body.axes, array, numeric).over(axes)
    left = [(test, True) for test in tests if not test.surely(True)]
    if left:
        otherwise = np.full((1,) * len(axes), nothing, array.dtype)
        values = selected(mask_of(left, axes), values, otherwise, axes)
    return summed(Value(axes, whole(values, axes), numeric), axis, how)


def summed(value: Value, axis: Axis, how: str = "sum") -> Value:
    """Return the sum of a value, or another reduction, over one of its axes."""
    row, at = reduction(how), value.axes.index(axis)
    totals = _reduced(row.ufunc(), value.array, at, row.start(value.array.dtype))
    return Value(tuple(a for a in value.axes if a is not axis), totals, value.type)


@recorded
def _reduced(ufunc: np.ufunc, array: Array, axis: int, nothing: float) -> Array:
    return ufunc.reduce(array, axis=axis, dtype=array.dtype, initial=nothing)


def _choice(
    ev: Evaluation, term: Lifted, asked: Callable[[Evaluation, Lifted], Value] = Evaluation.value
) -> Value:
    test = ev.place(term.places[0])
    for part, holds in zip(term.parts, (True, False), strict=True):
        if test.surely(holds):
            return asked(ev, part)
    below = test.negative(test.axes)
    if below.all():
        return asked(ev, term.parts[0])
    if not below.any():
        return asked(ev, term.parts[1])
    if len(test.axes) == 1 and any(part.kind is Choice for part in term.parts):
        sides = list(_sides(ev, term, test.axes[0], np.ones(test.axes[0].size, np.bool_)))
        if len(sides) > 2:
            return _pieced(test.axes[0], [(asked(ev, part), which) for part, which in sides])
    then, otherwise = (asked(ev, part) for part in term.parts)
    numeric = _common(then.type, otherwise.type)
    if then.type != otherwise.type:
        then, otherwise = (Value(v.axes, numbers(v, numeric), numeric) for v in (then, otherwise))
    sides = sorted((then.axes, otherwise.axes, test.axes), key=len, reverse=True)
    axes = joined(sides)
    demand_room(axes)
    mask = spread(below, test.axes, axes)
    return Value(axes, selected(mask, then.over(axes), otherwise.over(axes), axes), numeric)


def _sides(ev: Evaluation, term: Lifted, axis: Axis, mask: Array) -> Iterator[tuple[Lifted, Ints]]:
    """Yield what conditions on one axis choose, and at which of its points."""
    test = ev.place(term.places[0]) if term.kind is Choice else None
    if test is not None and test.axes in ((axis,), ()):
        below = whole(test.negative((axis,)), (axis,))
        yield from _sides(ev, term.parts[0], axis, mask & below)
        yield from _sides(ev, term.parts[1], axis, mask & ~below)
    elif mask.any():
        yield term, np.flatnonzero(mask)


def _pieced(axis: Axis, sides: Sequence[tuple[Value, Ints]]) -> Value:
    """Return a value that is another one at some points of an axis and others."""
    numeric = reduce(_common, (value.type for value, _ in sides))
    axes = joined([*sorted((value.axes for value, _ in sides), key=len, reverse=True), (axis,)])
    demand_room(axes)
    same = all(value.type == numeric for value, _ in sides)
    mode, parts, where = axes.index(axis), list[Array](), list[Any]()
    for value, which in sides:
        array = value.over(axes) if same else spread(numbers(value, numeric), value.axes, axes)
        first = run_of(which)
        index = which if first is None else slice(first, first + which.size)
        where.append((*(slice(None),) * mode, index))
        parts.append(taken(array, where[-1]) if array.shape[mode] > 1 else array)
    return Value(axes, put_together(tuple(x.size for x in axes), tuple(where), *parts), numeric)


def _common(one: Numeric, other: Numeric) -> Numeric:
    if one == other:
        return one
    if one.kind != "float" and other.kind != "float":
        return INTEGERS
    if 64 in (one.bits, other.bits):
        return as_numeric("f64")
    return F32


def _state(ev: Evaluation, term: Lifted) -> Value:
    array, numeric, places = ev.state(term)
    axes, elements = gathered(array, places)
    return Value(axes, elements, numeric)


# `products` adds those of sums of products.
VALUES: dict[type, Callable[[Evaluation, Lifted], Value]] = {
    Number: _number,
    Undefined: _undefined,
    Lost: _lost,
    Scalar: _scalar,
    Leaf: _leaf,
    Call: _call,
    Converted: _converted,
    Summed: _summed,
    Choice: _choice,
    State: _state,
}
