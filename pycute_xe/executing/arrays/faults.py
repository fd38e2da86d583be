"""What would stop the machine, looked for before a run: from places alone.

Whatever is not shown to be sound is left to the byte machine, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import CuteError
from pycute_xe.executing.arrays.evaluation import Run
from pycute_xe.executing.arrays.terms import Axis, Field, Points, constants, index_field, points_of
from pycute_xe.executing.space import undeclared_operands
from pycute_xe.holding.contents import Followed
from pycute_xe.holding.elements import State
from pycute_xe.holding.exploration import disorder, has_roles
from pycute_xe.holding.nodes import Choice, Lost, Node, Undefined, undecided
from pycute_xe.holding.ordering import clashes
from pycute_xe.holding.shared import outside
from pycute_xe.holding.tables import Copied, beside, copied, demand_whole_registers, moved
from pycute_xe.kernel import If, Index, Kernel, Loop, Statement
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.effects import CounterAccess, MemoryAccess, Touched
from pycute_xe.kernel.ir.kernel import MOST_TRIPS, trips
from pycute_xe.kernel.ir.program import chooses, doing
from pycute_xe.kernel.ir.visiting import Enclosing, visit
from pycute_xe.layout import Layout

__all__ = ["demand_sound", "waits"]

# ------------------------------------------------------------ counters
# Work-groups that wait for one another: whether counters order what they do to memory.
#
# Statements are done one after the other, each by all work-groups at once. That is what a machine
# does where every tile is stored before others add to it, and loads come last; each of that has to
# be in order by a counter: a wait that no sum of signals but that of the earlier one reaches.

Place: TypeAlias = tuple[str, tuple[int, ...]]


def waits(kernel: Kernel) -> bool:
    """Whether work-groups wait for one another."""
    return any(s.touched.counter is not None for s in kernel.statements())


@dataclass(eq=False)
class _Event:
    """An access of a work-group: where, and by how much counters change or must have."""

    access: MemoryAccess | CounterAccess
    place: Place
    amount: int
    group: tuple[int, ...]
    number: int = 0
    reached: dict[Place, int] = field(default_factory=dict[Place, int])
    signals: dict[Place, int] = field(default_factory=dict[Place, int])
    turn: int = 0  # how many waits and signals of the work-group came before

    @property
    def memory(self) -> MemoryAccess | None:
        """The tile that is loaded or stored; None where a counter is accessed."""
        return self.access if isinstance(self.access, MemoryAccess) else None

    @property
    def counter(self) -> CounterAccess | None:
        """The counter that is accessed; None where a tile is loaded or stored."""
        return self.access if isinstance(self.access, CounterAccess) else None

    @property
    def is_wait(self) -> bool:
        """Whether the work-group waits."""
        return self.counter is not None and self.counter.least is not None

    @property
    def is_signal(self) -> bool:
        """Whether the work-group adds to a counter."""
        return self.counter is not None and self.counter.by is not None


def demand_counted(run: Run) -> None:
    """Raise `UndecidableError` where counters do not order what work-groups do to memory."""
    kernel = run.kernel
    effects = [s.touched for s in kernel.statements()]
    counting = [x.counter for x in effects if x.counter is not None]
    counters = {x.operand for x in counting}
    accesses = [x.memory for x in effects if x.memory is not None and not x.memory.prefetches]
    if any(x.operand in counters for x in accesses):
        raise undecided("a counter is loaded or stored, too")
    if any(kernel.operand(name).role != "scratch" for name in counters):
        raise undecided("a counter does not begin with zero")
    if any(x.into or (x.least is None) == (x.by is None) for x in counting):
        raise undecided("a counter is neither only waited for nor only signalled")
    written = {x.operand for x in accesses if x.stores}
    shared = written & {x.operand for x in accesses if x.loads}
    if any(kernel.operand(name).value_type.bits < 32 for name in shared):
        raise undecided("what lies beside the rows of what work-groups hand on is not kept")
    groups = _events(run, shared)
    totals: dict[Place, int] = {}
    for event in (e for one in groups for e in one if e.is_signal):
        totals[event.place] = totals.get(event.place, 0) + event.amount
    _demand_end(groups)
    for one in groups:
        _annotate(one)
    tiles: dict[Place, list[_Event]] = {}
    for event in (e for one in groups for e in one if e.memory is not None):
        tiles.setdefault(event.place, []).append(event)
    for place, events in tiles.items():
        _demand_turns(place, events, totals)


def _events(run: Run, shared: set[str]) -> list[list[_Event]]:
    """Return what each work-group does, in its order."""
    kernel, events = run.kernel, dict[tuple[int, ...], list[tuple[tuple[int, ...], _Event]]]()
    loops: tuple[Loop, ...] | None = None
    for number, visited in enumerate(visit(kernel.body)):
        access = _ordered_access(visited.effects, shared)
        if access is None:
            continue
        if loops is not None and visited.loops != loops:
            raise undecided("counters and what they order lie in different loops")
        loops, enclosing = visited.loops, visited.enclosing
        if any(SUBGROUP_INDEX in i.names for one in enclosing for i in one.touched.indices):
            raise undecided("some subgroups alone wait or signal")
        own = tuple(name for name, _ in kernel.grid)
        variables = tuple(one.var for one in loops)
        if any(SUBGROUP_INDEX in i.names for i in access.at):
            raise undecided("subgroups move tiles of their own")
        for names, at, amount in _access_points(run, access, enclosing):
            group = tuple(names[n] for n in own)
            key = (*(names[n] for n in variables), number)
            event = _Event(access, (access.operand, at), amount, group)
            events.setdefault(group, []).append((key, event))
    return [[e for _, e in sorted(x, key=lambda pair: pair[0])] for x in events.values()]


def _ordered_access(effects: Touched, shared: set[str]) -> MemoryAccess | CounterAccess | None:
    """Return the access of a statement to a counter, or to a tile of a shared operand."""
    memory, counter = effects.memory, effects.counter
    if memory is None or memory.prefetches or memory.operand not in shared:
        return counter
    if counter is not None:
        raise undecided("one statement accesses a counter and what counters order")
    return memory


def _access_points(
    run: Run, access: MemoryAccess | CounterAccess, enclosing: tuple[Enclosing, ...]
) -> Iterator[tuple[dict[str, int], tuple[int, ...], int]]:
    """Yield the variables, the place and the amount of an access, each time it is done."""
    (points,) = points_of(run.kernel, run.sizes, enclosing, run.look_up, together=True)
    axis = Axis(points.size)
    env = constants(run.sizes) | points.with_axis(axis)

    def numbers(index: Index) -> list[int]:
        return index_field(index, env, run.look_up).over((axis,)).tolist()

    at = [numbers(index) for index in access.at]
    amounts = [0] * points.size
    if isinstance(access, MemoryAccess):
        _demand_tiles(access, at)
    elif (amount := access.by if access.least is None else access.least) is not None:
        amounts = numbers(amount)
    names = list(points.columns)
    rows = zip(*(points.columns[n].tolist() for n in names), strict=True)
    for values, amount, *place in zip(rows, amounts, *at, strict=True):
        yield dict(zip(names, values, strict=True)), tuple(place), amount


def _demand_tiles(memory: MemoryAccess, at: list[list[int]]) -> None:
    """Demand that tiles are those of one grid: two of them are one, or lie apart."""
    tables = copied(memory.copy)
    for axis, mode in enumerate(memory.modes):
        if mode is None:
            continue
        most = int(tables.places[..., axis].max()) + 1
        if any(x % most for x in at[mode]):
            raise undecided("tiles overlap that work-groups hand on")


def _demand_end(groups: list[list[_Event]]) -> None:
    """Demand that no work-group waits for ever."""
    counters: dict[Place, int] = {}
    going = [iter([*one]) for one in groups]
    heads = [next(one, None) for one in going]
    moved = True
    while moved:
        moved = False
        for i, one in enumerate(going):
            while (event := heads[i]) is not None:
                if event.is_wait and counters.get(event.place, 0) < event.amount:
                    break
                if event.is_signal:
                    if event.amount < 0:
                        raise undecided("a signal takes back what others gave")
                    counters[event.place] = counters.get(event.place, 0) + event.amount
                heads[i], moved = next(one, None), True
    if any(head is not None for head in heads):
        raise undecided("work-groups wait for ever")


def _annotate(events: list[_Event]) -> None:
    """Note what each event comes after, and what is signalled behind it."""
    reached: dict[Place, int] = {}
    for number, event in enumerate(events):
        event.number, event.reached = number, dict(reached)
        if event.is_wait:
            reached[event.place] = max(reached.get(event.place, 0), event.amount)
    signals: dict[Place, int] = {}
    turn = 0
    for event in reversed(events):
        event.signals, event.turn = dict(signals), turn
        if event.is_signal:
            signals[event.place] = event.amount  # the first one behind it
        turn -= event.counter is not None


def _demand_turns(place: Place, events: list[_Event], totals: dict[Place, int]) -> None:
    accesses = [(e, e.memory) for e in events if e.memory is not None]
    stores = [e for e, memory in accesses if memory.overwrites]
    adds = [e for e, memory in accesses if memory.adds]
    loads = [e for e, memory in accesses if memory.fills]
    if len(stores) != 1:
        raise undecided(f"{place[0]} is not stored once before others use it")
    pairs = [(stores[0], e) for e in (*adds, *loads)] + [(e, load) for e in adds for load in loads]
    for one, other in pairs:
        if not _before(one, other, totals):
            raise undecided(f"no counter orders what work-groups do to {place[0]}")


def _before(one: _Event, other: _Event, totals: dict[Place, int]) -> bool:
    if one.group == other.group:
        return one.number < other.number and one.turn < other.turn
    return any(
        other.reached.get(counter, 0) > totals[counter] - by for counter, by in one.signals.items()
    )


# ------------------------------------------------------------ faults

Guard: TypeAlias = tuple[Choice, bool]


def demand_sound(run: Run, followed: Followed) -> None:
    """Raise `UndecidableError` where a run may fault, or its order matters."""
    _meet(run.kernel, dict(run.sizes))
    touched = [s.touched for s in run.kernel.statements()]
    looked = {x.operand for one in touched for i in one.indices for x in i.looked_up}
    if any(operand.written and operand.name in looked for operand in run.kernel.operands):
        raise undecided("an index is looked up in what the kernel writes")
    if waits(run.kernel):
        demand_counted(run)
    else:
        _loads_before_stores(run.kernel)
    loops = [s for s in run.kernel.statements() if isinstance(s, Loop)]
    if any(SUBGROUP_INDEX in (s.stop - s.start).names | s.start.names for s in loops):
        raise undecided("subgroups do different trips")
    for looked in (x for _, count in run.kernel.grid for x in count.looked_up):
        _demand_element(run, looked.operand, looked.at, ())
    for statement, enclosing, _ in visit(run.kernel.body):
        _demand_places(run, statement, enclosing)
    for read in followed.reads:
        for part in read.content.parts:
            for guards in _ways(part.node, ()):
                if _happens(run, read.enclosing, guards):
                    raise undecided(f"{read.fragment} is read, which was never written")


# ---------------------------------------------------------------- registers


def _ways(node: Node, guards: tuple[Guard, ...]) -> Iterator[tuple[Guard, ...]]:
    """Yield the conditions under which a node was never written, or may not have been."""
    match node:
        case Undefined() | Lost():
            yield guards
        case Choice(_, _, then, otherwise):
            yield from _ways(then, (*guards, (node, True)))
            yield from _ways(otherwise, (*guards, (node, False)))
        case State() if node.recurrence is not None:
            before = node.recurrence.parts[node.name][0]
            if any(True for part in before.parts for _ in _ways(part.node, ())):
                yield guards
        case _:
            return


def _happens(run: Run, enclosing: tuple[Enclosing, ...], guards: tuple[Guard, ...]) -> bool:
    """Whether a statement is done at a point where conditions hold."""
    tests = [(choice.index - choice.below, holds) for choice, holds in guards]
    names = frozenset[str]().union(*(test.names for test, _ in tests))
    groups = _points(run, enclosing, names)
    if not all(group.size for group in groups):
        return False
    env, axes = _env(run, groups)
    holds: NDArray[np.bool_] = np.ones((1,) * len(axes), np.bool_)
    for test, wanted in tests:
        if test.names - env.keys():
            return True
        field = index_field(test, env, run.look_up)
        holds = holds & ((field.over(axes) < 0) == wanted)
    return bool(holds.any())


# ---------------------------------------------------------------- messages


def _points(run: Run, enclosing: tuple[Enclosing, ...], names: frozenset[str]) -> list[Points]:
    key = "points", tuple(map(id, enclosing)), names
    if key not in run.known:
        run.known[key] = points_of(run.kernel, run.sizes, enclosing, run.look_up, names)
    return run.known[key]


def _env(run: Run, groups: list[Points]) -> tuple[dict[str, Field], tuple[Axis, ...]]:
    env, axes = constants(run.sizes), tuple(Axis(group.size) for group in groups)
    for group, axis in zip(groups, axes, strict=True):
        env |= group.with_axis(axis)
    return env, axes


def _demand_trips(run: Run, loop: Loop, enclosing: tuple[Enclosing, ...]) -> None:
    """Raise `InputError` where a loop takes too many trips, whether or not these are stored.

    `UndecidableError` where some subgroups alone may do it.
    """
    groups = _points(run, enclosing, loop.start.names | loop.stop.names)
    if not all(group.size for group in groups):
        return
    env, axes = _env(run, groups)
    start, stop = (index_field(i, env, run.look_up).over(axes) for i in (loop.start, loop.stop))
    longest = np.unravel_index(int(np.argmax(stop - start)), start.shape)
    if any(SUBGROUP_INDEX in i.names for one in enclosing for i in one.touched.indices):
        if stop[longest] - start[longest] > MOST_TRIPS:
            raise undecided(f"the loop {loop.var} may take too many trips")
        return
    trips(loop, int(start[longest]), int(stop[longest]))


def _demand_places(run: Run, statement: Statement, enclosing: tuple[Enclosing, ...]) -> None:
    for looked in (x for index in statement.touched.indices for x in index.looked_up):
        _demand_element(run, looked.operand, looked.at, enclosing)
    effects = statement.touched
    if names := undeclared_operands(effects):
        raise undecided(f"which elements of {names[0]} are accessed is not declared")
    shared = effects.shared
    if shared is not None and outside(run.kernel, shared, enclosing):
        raise undecided(f"{shared.array} is used outside")
    if effects.memory is not None:
        _demand_messages(run, effects.memory, enclosing)
    if isinstance(statement, Loop) and (statement.start.looked_up or statement.stop.looked_up):
        _demand_trips(run, statement, enclosing)
    if effects.counter is not None:
        _demand_element(run, effects.counter.operand, effects.counter.at, enclosing)
    if (move := effects.move) is not None and move.slots is not None:
        _demand_whole_bytes(run.kernel, move.destination, move.slots)
    product = effects.product
    if product is not None and product.accumulator in (product.a, product.b):
        raise undecided("instructions read what earlier ones of a multiplication wrote")


def _demand_whole_bytes(kernel: Kernel, destination: str, slots: Layout) -> None:
    """Demand that no byte is written in part: it would count as unwritten."""
    fragment = kernel.fragment(destination)
    reached = np.zeros(fragment.elements, np.bool_)
    reached[moved(slots)] = True
    inside = max(1, 8 // fragment.value_type.bits)
    whole = reached.reshape(-1, inside)
    if (whole.any(axis=1) != whole.all(axis=1)).any():
        raise undecided(f"a byte of {fragment.name} is written in part")


def _demand_element(
    run: Run, operand: str, at: tuple[Index, ...], enclosing: tuple[Enclosing, ...]
) -> None:
    for index, extent in zip(at, run.memory[operand].shape, strict=True):
        _demand_within(run, index, enclosing, extent, (0,))


def _demand_messages(run: Run, memory: MemoryAccess, enclosing: tuple[Enclosing, ...]) -> None:
    copy = memory.copy
    if not any(doing(enclosing, run.kernel.subgroups)):
        return
    if not memory.prefetches:
        try:
            copied(copy)
            demand_whole_registers(copy)
        except CuteError as error:
            raise undecided(error.condition) from error
    narrow = copy.value_type.bits < 8 or copy.value_type.name == "tf32"
    if memory.adds and narrow:
        raise undecided(f"an atomic adds elements of {copy.value_type}")
    shape = run.memory[memory.operand].shape
    for mode, ahead in beside(memory):
        _demand_within(run, memory.at[mode], enclosing, shape[mode], ahead)
    mode, ratio = memory.modes[copy.x_mode], copy.op.bits // copy.value_type.bits
    if mode is not None and ratio > 1:
        numbers = _numbers(run, memory.at[mode], enclosing)
        if numbers.size and (numbers % ratio).any():
            raise undecided(f"a block starts between two {copy.op.bits}-bit elements")


def _numbers(run: Run, index: Index, enclosing: tuple[Enclosing, ...]) -> Ints:
    """Return what an index is wherever a statement is done."""
    key = "numbers", tuple(map(id, enclosing)), index
    if key not in run.known:
        run.known[key] = _everywhere(run, index, enclosing)
    return run.known[key]


def _everywhere(run: Run, index: Index, enclosing: tuple[Enclosing, ...]) -> Ints:
    groups = _points(run, enclosing, index.names)
    if not all(group.size for group in groups):
        return np.zeros(0, np.int64)
    env, axes = _env(run, groups)
    if SUBGROUP_INDEX in index.names:
        subgroups = np.flatnonzero(doing(enclosing, run.kernel.subgroups))
        axis = Axis(subgroups.size)
        env[SUBGROUP_INDEX] = Field(0, (((axis,), subgroups),))
        axes = (*axes, axis)
    return index_field(index, env, run.look_up).over(axes)


def _demand_within(
    run: Run,
    index: Index,
    enclosing: tuple[Enclosing, ...],
    high: int,
    ahead: list[int] | tuple[int, ...],
) -> None:
    numbers = _numbers(run, index, enclosing)
    if not numbers.size:
        return
    if numbers.min() + min(ahead) < 0 or numbers.max() + max(ahead) >= high:
        raise undecided(f"{index} is outside")


# ---------------------------------------------------------------- order


def _meet(kernel: Kernel, sizes: dict[str, int]) -> None:
    """Demand that barriers order what subgroups do to shared memory."""
    mixed = (s for s in kernel.statements() if isinstance(s, If) and not chooses(s))
    if kernel.shared and any(SUBGROUP_INDEX in (s.index - s.below).names for s in mixed):
        raise undecided("which subgroups share memory depends on more than their numbers")
    if not kernel.shared and not has_roles(kernel):
        return
    if _ordered(kernel):
        return
    if has_roles(kernel):
        wrong = disorder(kernel, sizes)
        if wrong is not None:
            raise undecided(wrong.words)
        return
    raise undecided("no barrier orders what subgroups do to shared memory")


@lru_cache(maxsize=128)
def _ordered(kernel: Kernel) -> bool:
    """Whether that is so for all sizes."""
    if not has_roles(kernel):
        return not clashes(kernel)
    try:
        return disorder(kernel, {}) is None
    except CuteError:
        return False


def _loads_before_stores(kernel: Kernel) -> None:
    """Demand that what is loaded of an operand that is stored to is what its subgroup stores."""
    accesses = [
        (number, effects.memory, enclosing)
        for number, (_, enclosing, effects) in enumerate(visit(kernel.body))
        if effects.memory is not None
    ]
    stores = [access for access in accesses if access[1].stores]
    written = {memory.operand for _, memory, _ in stores}
    adds = {name: {m.adds for _, m, _ in stores if m.operand == name} for name in written}
    if any(len(both) > 1 for both in adds.values()):
        raise undecided("an operand is stored and added to")
    for loaded_at, load, enclosing in accesses:
        if not load.fills:
            continue
        for stored_at, store, around in stores:
            if load.operand != store.operand:
                continue
            if loaded_at > stored_at or store.adds:
                raise undecided(f"{load.operand} is loaded behind a store")
            if enclosing != around or not _same_tiles(load, store):
                raise undecided(f"{load.operand} is loaded by others than store it")


def _same_tiles(load: MemoryAccess, store: MemoryAccess) -> bool:
    """Whether each subgroup loads what it stores."""
    if load.at != store.at or load.modes != store.modes:
        return False
    loaded, stored = (_sets(copied(memory.copy)) for memory in (load, store))
    return loaded.shape == stored.shape and bool((loaded == stored).all())


def _sets(tables: Copied) -> Ints:
    """Return the places of each subgroup in order."""
    rows = tables.places[:, np.flatnonzero(tables.moves & ~tables.padded)]
    order = np.lexsort(tuple(rows[..., i] for i in range(rows.shape[2])), axis=-1)
    return np.take_along_axis(rows, order[..., None], axis=1)
