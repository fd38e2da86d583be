"""Floor 9: what each kind of statement means to many work-groups at once."""

from __future__ import annotations

import numpy as np

from pycute_xe.algebra import coalesce
from pycute_xe.bulk import table
from pycute_xe.converting import convert, wrap
from pycute_xe.errors import KernelError
from pycute_xe.executing.elementwise import Sources, mapped
from pycute_xe.executing.groups.inner import inner_places
from pycute_xe.executing.groups.registers import Groups, Meaning
from pycute_xe.executing.groups.touching import ADD, READ, WRITE
from pycute_xe.executing.numbers import widened
from pycute_xe.executing.products import multiplied_into
from pycute_xe.holding.tables import moved, multiplied
from pycute_xe.kernel import (
    AtomicStore,
    Await,
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    If,
    Index,
    Load,
    Loop,
    Map,
    Meanings,
    Mma,
    NamedArrive,
    NamedWait,
    Part,
    Prefetch,
    Reduce,
    Reorder,
    SharedLoad,
    SharedStore,
    Signal,
    Statement,
    Store,
)
from pycute_xe.kernel.amounts import trips
from pycute_xe.kernel.spec.reductions import reduction

__all__ = ["STATEMENTS", "perform"]

STATEMENTS: Meanings[Meaning] = Meanings("run")


def perform(groups: Groups, body: tuple[Statement, ...]) -> None:
    """Let the active subgroups do the statements of a body in turn.

    Raises `KernelError` for a kind without a meaning, and `MachineError` for what a machine leaves
    undefined.
    """
    for statement in body:
        meaning = STATEMENTS[statement]
        groups.doing = type(statement).__name__.lower()
        meaning(groups, statement)


@STATEMENTS.of(Fill)
def _(groups: Groups, statement: Fill) -> None:
    fragment = groups.kernel.fragment(statement.fragment)
    value = convert(np.asarray(float(statement.value)), fragment.value_type)
    groups.put(fragment.name, slice(0, fragment.elements), value)


@STATEMENTS.of(Prefetch)
def _(groups: Groups, statement: Prefetch) -> None:
    if inner_places(groups, statement) is None:
        groups.places(statement)


@STATEMENTS.of(Load)
def _(groups: Groups, statement: Load) -> None:
    watched = groups.watched is not None and groups.watched.watches(statement.operand)
    inner = None if watched else inner_places(groups, statement)
    if inner is not None:
        elements, flat = inner
        found = groups.memory[statement.operand].reshape(-1)[flat]
        groups.put(statement.fragment, elements, found)
        return
    places, array = groups.places(statement), groups.memory[statement.operand]
    found = np.zeros(places.inside.shape, array.dtype)
    if array.size:
        found[places.inside] = array[tuple(x[places.inside] for x in places.at)]
        if groups.watched is not None and watched:
            kept = places.inside & groups.mask()[:, :, None]
            at = tuple(x[kept] for x in places.at)
            groups.touch(READ, statement.operand, kept, at, found[kept])
    groups.put(statement.fragment, places.elements, found)


@STATEMENTS.of(Store)
def _(groups: Groups, statement: Store) -> None:
    places = groups.places(statement)
    values = groups.get(statement.fragment, places.elements)
    kept = places.inside & groups.mask()[:, :, None]
    at = tuple(x[kept] for x in places.at)
    new = values[kept]
    groups.touch(WRITE, statement.operand, kept, at, new)
    groups.memory[statement.operand][at] = new


@STATEMENTS.of(AtomicStore)
def _(groups: Groups, statement: AtomicStore) -> None:
    places = groups.places(statement)
    values = groups.get(statement.fragment, places.elements)
    array, numeric = groups.memory[statement.operand], statement.copy.value_type
    if numeric.bits < 8:
        raise groups.fault(
            {"operand": statement.operand, "type": numeric},
            "no atomic adds elements narrower than a byte",
            "add in a wider type",
        )
    kept = places.inside & groups.mask()[:, :, None]
    at, new = tuple(x[kept] for x in places.at), values[kept]
    groups.touch(ADD, statement.operand, kept, at, new)
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(array, at, new)


@STATEMENTS.of(Reorder)
def _(groups: Groups, statement: Reorder) -> None:
    to = moved(statement.slots)
    groups.write(statement.destination, to, groups.get(statement.source, slice(0, to.size)))


@STATEMENTS.of(Part)
def _(groups: Groups, statement: Part) -> None:
    source, destination = (
        groups.kernel.fragment(name) for name in (statement.source, statement.destination)
    )
    held = groups.get(source.name, slice(0, source.elements))
    taken = held[:, :, statement.first + moved(statement.slots)]
    groups.put(destination.name, slice(0, destination.elements), taken)


@STATEMENTS.of(Convert)
def _(groups: Groups, statement: Convert) -> None:
    source, destination = (
        groups.kernel.fragment(name) for name in (statement.source, statement.destination)
    )
    whole = slice(0, source.elements)
    values = groups.get(source.name, whole)
    new = convert(widened(values, source.value_type), destination.value_type)
    groups.put(destination.name, whole, new)


@STATEMENTS.of(Map)
def _(groups: Groups, statement: Map) -> None:
    kernel, gathers = groups.kernel, dict(statement.gathers)
    destination = kernel.fragment(statement.destination)

    def slot(name: str) -> np.ndarray:
        fragment = kernel.fragment(name)
        held = groups.get(name, slice(0, fragment.elements))
        if name in gathers:
            held = held[:, :, moved(gathers[name])]
        return widened(held, fragment.value_type)

    def below(index: Index, limit: Index) -> np.ndarray:
        return groups.below(index, limit, destination.elements)

    sources = Sources(slot, lambda name: groups.memory[name], below)
    new = mapped(statement.value, destination.value_type, sources)
    groups.put(destination.name, slice(0, destination.elements), new)


@STATEMENTS.of(Reduce)
def _(groups: Groups, statement: Reduce) -> None:
    source, destination = (
        groups.kernel.fragment(name) for name in (statement.source, statement.destination)
    )
    values = widened(groups.get(source.name, slice(0, source.elements)), source.value_type)
    where, inverse = np.unique(moved(statement.slots), return_inverse=True)
    row, floats = reduction(statement.how), values.dtype.kind == "f"
    totals = np.full((*groups.shape, where.size), row.start(values.dtype), values.dtype)
    combine = row.ufunc()
    with np.errstate(over="ignore", invalid="ignore"):
        for element, to in enumerate(inverse.tolist()):  # in ascending order, as in a loop
            combine(totals[:, :, to], values[:, :, element], out=totals[:, :, to])
    new = (convert if floats else wrap)(totals, destination.value_type)
    groups.write(destination.name, where, new)


@STATEMENTS.of(Mma)
def _(groups: Groups, statement: Mma) -> None:
    if statement.accumulator in (statement.a, statement.b):
        raise KernelError(
            "run",
            {"fragment": statement.accumulator},
            "instructions would read what earlier ones of the same multiplication wrote",
            "accumulate in a fragment of its own",
        )
    tables, op = multiplied(statement.mma), statement.mma.atom.op
    a, b = groups.get(statement.a, tables.a), groups.get(statement.b, tables.b)
    total = groups.get(statement.accumulator, tables.c)
    with np.errstate(over="ignore", invalid="ignore"):
        new = multiplied_into(total, a, b, (op.A, op.B, op.D), tables.step)
    flat = tables.c.reshape(-1)
    groups.put(statement.accumulator, flat, new.reshape(*groups.shape, flat.size))


@STATEMENTS.of(BarrierArrive)
def _(groups: Groups, _statement: BarrierArrive) -> None:
    groups.meet("arrived")
    groups.meetings.arrive(groups.mask())
    met = np.asarray(groups.mask().any(axis=1), np.bool_).reshape(-1, 1)
    _count_late(groups, np.broadcast_to(met, groups.shape))


@STATEMENTS.of(BarrierWait)
def _(groups: Groups, _statement: BarrierWait) -> None:
    groups.meet("passed")
    groups.meetings.wait(groups.mask())


def _count_late(groups: Groups, who: np.ndarray) -> None:
    for array in groups.shared.values():
        array.arrived(who)


@STATEMENTS.of(NamedArrive)
def _(groups: Groups, statement: NamedArrive) -> None:
    barrier = statement.barrier
    numbers = np.broadcast_to(groups.number(barrier.number), groups.shape)
    counts = (barrier.producers, barrier.consumers)
    groups.meetings.signal(numbers, groups.mask(), statement.role, counts)
    _count_late(groups, groups.mask())


@STATEMENTS.of(NamedWait)
def _(groups: Groups, statement: NamedWait) -> None:
    numbers = np.broadcast_to(groups.number(statement.barrier.number), groups.shape)
    groups.meetings.wait_for(numbers, groups.mask())


@STATEMENTS.of(Fence)
def _(groups: Groups, _statement: Fence) -> None:
    for array in groups.shared.values():
        array.fence(groups.mask())


def _shared_places(groups: Groups, statement: SharedLoad | SharedStore) -> np.ndarray:
    """(work-groups, subgroups, elements) → element of the array."""
    places = table(coalesce(statement.places)).reshape(-1, groups.shape[1]).T
    first = np.broadcast_to(groups.number(statement.at), groups.shape)
    return first[:, :, None] + places


@STATEMENTS.of(SharedLoad)
def _(groups: Groups, statement: SharedLoad) -> None:
    places = _shared_places(groups, statement)
    found = groups.shared[statement.array].load(places, groups.mask())
    groups.put(statement.fragment, slice(0, places.shape[2]), found)


@STATEMENTS.of(SharedStore)
def _(groups: Groups, statement: SharedStore) -> None:
    places = _shared_places(groups, statement)
    values = groups.get(statement.fragment, slice(0, places.shape[2]))
    groups.shared[statement.array].store(places, values, groups.mask())


@STATEMENTS.of(Await, Signal)
def _(groups: Groups, statement: Await | Signal) -> None:
    """Work-groups that wait are done one by one, and never come here."""
    raise groups.fault({"at": statement.at}, "work-groups that wait are done one by one", "")


@STATEMENTS.of(Loop)
def _(groups: Groups, statement: Loop) -> None:
    start, stop = groups.number(statement.start), groups.number(statement.stop)
    chosen = groups.mask()
    if not chosen.any():
        return
    first = int(np.broadcast_to(start, groups.shape)[chosen].min())
    last = int(np.broadcast_to(stop, groups.shape)[chosen].max())
    for value in trips(statement, first, last):
        with groups.where((start <= value) & (value < stop)) as anyone:
            if anyone:
                groups.names[statement.var] = value
                perform(groups, statement.body)
    groups.names.pop(statement.var, None)


@STATEMENTS.of(If)
def _(groups: Groups, statement: If) -> None:
    with groups.where(groups.number(statement.index) < groups.number(statement.below)) as anyone:
        if anyone:
            perform(groups, statement.body)
