"""Following a kernel's statements: what is stored where, for all sizes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.arithmetic import changed, follow_map, follow_mma, follow_reduce, tested
from pycute_xe.holding.columns import some_columns
from pycute_xe.holding.contents import (
    HOLDS,
    Followed,
    Follower,
    Form,
    Names,
    Promise,
    Read,
    Write,
    carried,
    combined,
    nothing,
    number,
)
from pycute_xe.holding.elements import (
    Content,
    Recurrence,
    State,
    of_some,
    substituted,
    taken,
    whole,
)
from pycute_xe.holding.likeness import alike
from pycute_xe.holding.loops import (
    Trial,
    arrays_at,
    behind,
    carried_over,
    follow_loop,
    last_writers,
    written_by,
)
from pycute_xe.holding.memory import (
    FAR,
    Tile,
    ever_left,
    load_back,
    loaded_back,
    placed,
    store_through,
)
from pycute_xe.holding.nodes import (
    Carried,
    Choice,
    Leaf,
    Lost,
    Node,
    Picked,
    Undefined,
    contains,
    loops_in_the_way,
    mapped,
    undecided,
)
from pycute_xe.holding.patience import remembering
from pycute_xe.holding.recurrences import Entering, adds, carried_in
from pycute_xe.holding.shared import ever_stored, load_shared, store_shared
from pycute_xe.holding.tables import moved
from pycute_xe.kernel import Index, Kernel, NamedArrive, NamedWait, walk
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.effects import Touched
from pycute_xe.kernel.ir.program import at_least, chooses, doing, mixes
from pycute_xe.kernel.ir.reach import too_far
from pycute_xe.kernel.ir.visiting import Enclosing, visit

__all__ = [
    "FAR",
    "HOLDS",
    "Followed",
    "Read",
    "Write",
    "demand_elements",
    "demand_reach",
    "follow",
    "placed",
    "unplaced_in",
]

# ------------------------------------------------------------ recurring
# Loops closed for a run: sums where a trip only adds, recurrences where it does more.

Contents: TypeAlias = "dict[str, Content]"


def follow_recurrence(
    kernel: Kernel,
    loop: ir.Loop,
    enclosing: tuple[Enclosing, ...],
    written: tuple[str, ...],
    shared: Mapping[str, Ints],
    before: Contents,
    trial: Trial,
    fresh: Callable[[str], str],
) -> Contents:
    """Return what fragments hold behind a loop, of which nothing is claimed.

    ``shared`` are the elements of shared arrays that some trip stores to. What is neither a sum
    over the trips nor written anew is state, and so is what state needs. What a trip stores of
    state that it has written for the last time is what the next one begins with.
    """
    entry = {name: carried_over(loop, name, before[name], shared) for name in written}
    out = trial(before | entry, False)
    arrays = arrays_at(loop, written, before, out, shared)
    if arrays:
        out = trial(before | entry | arrays, False) | {name: out[name] for name in arrays}
    rest = tuple(name for name in written if name not in arrays)
    states = _states(rest, out, loop.var)
    recurrence = Recurrence(loop, enclosing)
    begun = {
        name: entry[name].each(_marker(recurrence, name, fresh(name), enclosing, False))
        for name in states
    }
    entering = Entering(loop, before, out, fresh, known=arrays | begun)
    at_trip = entering.all(tuple(name for name in rest if name not in states))
    stores = any(_stores(one.effects) for one in visit(loop.body))
    read = set[str]().union(*(carried_in(out[name], loop.var) for name in states))
    again = [name for name in sorted(states & read) if _is_written(before[name])] if stores else []
    later = {name: begun[name].each(_later(recurrence)) for name in again}
    after = trial(before | at_trip, not later)
    if later:
        after |= {n: x for n, x in trial(before | at_trip, True, later).items() if n not in states}
    surely = at_least(loop.stop - loop.start, kernel) >= 1
    result = dict(before)
    for name in written:
        if name in states:
            recurrence.parts[name] = before[name], after[name]
            mark = _marker(recurrence, name, fresh(name), enclosing, True)
            result[name] = carried(before[name].count, name, loop.var).each(mark)
        elif adds(out[name], name, loop.var):
            ended = {loop.var: loop.stop}
            result[name] = at_trip[name].each(lambda n, ended=ended: substituted(n, ended))
        else:
            result[name] = behind(loop, surely, before[name], after[name])
    return result


def _states(names: tuple[str, ...], out: Contents, loop: str) -> set[str]:
    """Return the fragments that are state."""
    needs = {name: carried_in(out[name], loop) & set(names) for name in names}
    state = {name for name in names if needs[name] and not adds(out[name], name, loop)}
    while True:
        more = {n for name in state for n in needs[name]}
        more |= {name for name in names if needs[name] & state}
        if more <= state:
            return state
        state |= more


def _stores(effects: Touched) -> bool:
    """Whether a statement stores registers to memory, or may: which elements is not declared."""
    memory = effects.memory
    return (memory is not None and memory.stores) or bool(effects.unplaced)


def _is_written(content: Content) -> bool:
    return not any(contains(part.node, Undefined, Lost) for part in content.parts)


def _later(recurrence: Recurrence) -> Callable[[Node], Node]:
    """Return what turns state with which a trip begins into that with which the next one does."""
    var = recurrence.loop.var

    def leaf(node: Node) -> Node:
        if not isinstance(node, State) or node.recurrence is not recurrence:
            return node
        return replace(node, at=(*node.at, (var, Index(var) + 1)))

    return lambda node: mapped(node, leaf)


def _marker(
    recurrence: Recurrence, name: str, own: str, enclosing: tuple[Enclosing, ...], behind: bool
) -> Callable[[Node], Node]:
    at = tuple((one.var, Index(one.var)) for one in enclosing if isinstance(one, ir.Loop))

    def leaf(node: Node) -> Node:
        if not isinstance(node, Carried) or not node.begins(name, recurrence.loop.var):
            return node
        where = node.which, node.subgroup, node.bound
        return State(own, "", *where, recurrence, name, at, behind)

    return lambda node: mapped(node, leaf)


# ------------------------------------------------------------ roles
# Fragments of kernels whose subgroups do different things: each has one set of owners.


def check_roles(kernel: Kernel) -> None:
    """Demand that whoever reads a fragment has written all of it. Raises `UndecidableError`."""
    writers: dict[str, tuple[bool, ...]] = {}
    visits = list(visit(kernel.body))
    for _, enclosing, effects in visits:
        mine = doing(enclosing, kernel.subgroups)
        for name in (*effects.writes, *effects.updates):
            if writers.setdefault(name, mine) != mine:
                raise undecided(
                    f"{name} is written by different subgroups in different statements",
                    "give each of them a fragment of its own",
                )
    for _, enclosing, effects in visits:
        mine = doing(enclosing, kernel.subgroups)
        for name in (*effects.reads, *effects.updates):
            if any(
                one and not other for one, other in zip(mine, writers.get(name, mine), strict=True)
            ):
                raise undecided(f"{name} is read by subgroups that do not write it")


# ------------------------------------------------------------ following


def follow(kernel: Kernel, asked: str = "", form: Form = "proof") -> Followed:
    """Follow every register element of a kernel to what is stored, and ``asked`` to its end.

    Loops are closed to sums, and what they claim or rescale, or (``form="recur"``) to recurrences.

    Raises `UndecidableError` where a content has no map, `KernelError` for kinds of statements that
    have no meaning here, `MachineError` for blocks that start between elements.

    >>> import pycute_xe as cx
    >>> found = follow(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))))
    >>> [(w.access.operand, w.places.shape) for w in found.writes]
    [('D', (32, 2048, 2))]
    """
    for statement in kernel.statements():  # refused by name, whatever else stays undecided
        HOLDS[statement]
    demand_reach(kernel)
    if form == "proof":
        demand_elements(kernel)
    check_roles(kernel)
    state = {x.name: nothing(x.elements) for x in (*kernel.fragments, *kernel.shared)}
    memory = loaded_back(kernel, asked) if form == "proof" else {}
    state |= {name: tile.begun() for name, tile in memory.items() if isinstance(tile, Tile)}
    walker = Follower(kernel, state, Followed(memory), Names(), form=form)
    with remembering():
        walker.run(kernel.body)
    walker.followed.left.update(
        (name, walker.state[name]) for name in memory if name in walker.state
    )
    return walker.followed


def demand_reach(kernel: Kernel) -> None:
    """Raise `UndecidableError` for an index that the hardware's 32 bits do not hold."""
    if (far := too_far(kernel)) is not None:
        raise undecided(f"{far}, and an index has 32 bits with a sign", "use indices below 2**31")


def demand_elements(kernel: Kernel) -> None:
    """Raise `UndecidableError` for an operand that is written, some elements of it undeclared."""
    for name, words in unplaced_in(kernel):
        if kernel.operand(name).written:
            raise undecided(words, "declare a MemoryAccess")


def unplaced_in(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Yield the operands that statements name without elements, and words that say so."""
    for statement in kernel.statements():
        for name in statement.touched.unplaced:
            kind = type(statement).__name__
            yield name, f"which elements of {name} {kind} uses is not declared"


@HOLDS.of(ir.Fill)
def _(walker: Follower, statement: ir.Fill) -> None:
    fragment = walker.kernel.fragment(statement.fragment)
    value = float(statement.value)
    walker.state[fragment.name] = number(fragment.elements, value, fragment.value_type)


@HOLDS.of(ir.Load)
def _(walker: Follower, statement: ir.Load) -> None:
    fragment, access = walker.kernel.fragment(statement.fragment), statement.access
    old, tile = walker.state[fragment.name], walker.followed.memory.get(access.operand)
    base, table, moves = placed(walker.kernel, access)
    elements = np.flatnonzero(moves[: fragment.elements])
    table = some_columns(table, elements)
    leaf = Leaf(access.operand, base, table, np.arange(elements.size))
    new = whole(elements.size, leaf)
    try:
        if isinstance(tile, Tile):
            new = load_back(walker, access, tile)
        elif isinstance(tile, UndecidableError):
            raise tile
    except UndecidableError as error:
        why, loops = error.condition, loops_in_the_way(error)
        new = whole(elements.size, Lost(fragment.name, why, written=True, loops=loops))
    walker.state[fragment.name] = old.over(elements, new)


@HOLDS.of(ir.Store, ir.AtomicStore)
def _(walker: Follower, statement: ir.Store | ir.AtomicStore) -> None:
    access = statement.access
    base, table, moves = placed(walker.kernel, access)
    content, subgroups = walker.read(statement, statement.fragment), walker.doing
    for part in content.parts:
        kept = np.flatnonzero(moves[part.elements])
        if not kept.size:
            continue
        elements = part.elements[kept]
        node = of_some(taken(part.node, kept), subgroups)
        write = Write(
            statement,
            access,
            walker.enclosing,
            base,
            table[subgroups][:, elements],
            elements,
            node,
            subgroups,
        )
        walker.followed.writes.append(write)
    tile = walker.followed.memory.get(access.operand)
    if isinstance(tile, Tile) and access.overwrites:
        store_through(walker, access, tile)


@HOLDS.of(ir.Reorder)
def _(walker: Follower, statement: ir.Reorder) -> None:
    content, to = _converted(walker, statement), moved(statement.slots)
    old = nothing(walker.kernel.fragment(statement.destination).elements)
    last = np.full(old.count, -1, dtype=np.int64)
    last[to] = np.arange(to.size)  # of two that go to one place the later stays
    reached = np.flatnonzero(last >= 0)
    walker.state[statement.destination] = old.over(reached, content.at(last[reached]))


@HOLDS.of(ir.Part)
def _(walker: Follower, statement: ir.Part) -> None:
    content = walker.read(statement, statement.source)
    walker.state[statement.destination] = content.at(statement.first + moved(statement.slots))


@HOLDS.of(ir.Convert)
def _(walker: Follower, statement: ir.Convert) -> None:
    walker.state[statement.destination] = _converted(walker, statement)


def _converted(walker: Follower, statement: ir.Convert | ir.Reorder) -> Content:
    """Return what a fragment holds in the type of another."""
    source, to = (walker.kernel.fragment(n) for n in (statement.source, statement.destination))
    content = walker.read(statement, source.name)
    if source.value_type == to.value_type:
        return content
    return content.each(lambda n: changed(n, source.value_type, to.value_type))


HOLDS.of(ir.Map)(follow_map)
HOLDS.of(ir.Reduce)(follow_reduce)
HOLDS.of(ir.Mma)(follow_mma)
HOLDS.of(ir.SharedStore)(store_shared)
HOLDS.of(ir.SharedLoad)(load_shared)


@HOLDS.of(ir.Prefetch, ir.BarrierArrive, ir.BarrierWait, ir.Fence, NamedArrive, NamedWait)
def _(walker: Follower, statement: ir.Statement) -> None:
    """Construction has paired the halves; registers hold what they held."""
    del walker, statement


@HOLDS.of(ir.Await, ir.Signal)
def _(walker: Follower, statement: ir.Await | ir.Signal) -> None:
    """What other work-groups have done by then is not a map of this one's variables.

    A run takes what memory holds when a statement's turn comes.
    """
    if walker.form == "recur":
        return
    raise undecided(
        f"{type(statement).__name__}: work-groups that wait for one another are not followed",
        "ask covers(plan), and run it with the reference executor",
    )


@HOLDS.of(ir.FetchAdd)
def _(walker: Follower, statement: ir.FetchAdd) -> None:
    """A ticket is a number that the order of arrival decides."""
    del walker
    raise undecided(
        f"FetchAdd: what {statement.into} holds is decided by the order in which work-groups come",
        "deal tiles out of one counter, each work-group until all are taken",
    )


@HOLDS.of(ir.If)
def _(walker: Follower, statement: ir.If) -> None:
    if chooses(statement):
        _follow_some(walker, statement)
        return
    before, outer = dict(walker.state), walker.enclosing
    written = _known(written_by(statement.body), before)
    if mixes(statement):
        _demand_registers(walker, statement, written)
    walker.enclosing = (*outer, statement)
    walker.run(statement.body)
    walker.enclosing = outer
    for name in written:
        new, old = walker.state[name], before[name]
        if not mixes(statement):

            def make(nodes: tuple[Node, ...]) -> Node:
                if _spares(statement, *nodes):
                    return nodes[0]
                return Choice(statement.index, statement.below, nodes[0], nodes[1])

            walker.state[name] = combined(new.count, (new, old), make)
            continue
        shape = (walker.kernel.subgroups, new.count)
        test = whole(new.count, tested(statement.index - statement.below, shape))
        walker.state[name] = combined(new.count, (new, old, test), _picked)


def _spares(statement: ir.If, new: Node, old: Node) -> bool:
    """Whether a condition spares a mask that would change nothing: all that it keeps is ``old``.

    So the mask of a ragged tile is that of every tile.
    """
    if not isinstance(new, Picked) or not alike(new.then, old):
        return False
    most = int(new.test.table[:, new.test.select].max())
    last = new.test.base[0] + most + (statement.index - statement.below)
    return last.is_constant and last.offset < 0


def _picked(nodes: tuple[Node, ...]) -> Node:
    """Return what some subgroups hold and what the others do, by the place that is tested."""
    new, old, test = nodes
    if not isinstance(test, Leaf):
        raise undecided("a condition on the subgroup is not followed")
    return Picked(test, new, old)


def _demand_registers(walker: Follower, statement: ir.If, written: tuple[str, ...]) -> None:
    """Refuse conditions on the subgroup and more around what subgroups share."""
    inner = tuple(walk(statement.body))
    shares = any(s.touched.meets or s.touched.from_shared or s.touched.to_shared for s in inner)
    fragments = {fragment.name for fragment in walker.kernel.fragments}
    if shares or not fragments.issuperset(written) or walker.active or any(map(chooses, inner)):
        raise undecided(
            f"what some subgroups do where {statement.index} < {statement.below} is not followed",
            "let conditions on the subgroup's number stand alone around it",
        )


def _follow_some(walker: Follower, statement: ir.If) -> None:
    """Follow what some subgroups do: registers of the others are never looked at."""
    before = walker.active
    mine = doing((statement,), walker.kernel.subgroups)
    walker.active = tuple(x and y for x, y in zip(before, mine, strict=True)) if before else mine
    if any(walker.active):
        walker.run(statement.body)
    walker.active = before


@HOLDS.of(ir.Loop)
def _(walker: Follower, statement: ir.Loop) -> None:
    def trial(
        entry: dict[str, Content], keep: bool, settled: dict[str, Content] | None = None
    ) -> dict[str, Content]:
        last = {} if settled is None else last_writers(statement, settled)
        followed = walker.followed if keep else Followed(walker.followed.memory)
        inner = Follower(
            walker.kernel,
            dict(entry),
            followed,
            walker.names,
            (*walker.enclosing, statement),
            walker.active,
            last,
            walker.form,
        )
        inner.run(statement.body)
        return inner.state

    def promised(name: str, when: str, followed: Content, claimed: tuple[Content, ...]) -> None:
        inside = walker.enclosing if when == "start" else (*walker.enclosing, statement)
        promise = Promise(statement, inside, name, when, followed, *claimed)
        walker.followed.promises.append(promise)

    written = _known(written_by(statement.body), walker.state)
    arrays = {x.name: ever_stored(walker.kernel, statement, x.name) for x in walker.kernel.shared}
    for name, tile in walker.followed.memory.items():
        if isinstance(tile, Tile):
            arrays[name] = ever_left(walker.kernel, statement, tile)
    if walker.form == "recur":
        walker.state = follow_recurrence(
            walker.kernel,
            statement,
            walker.enclosing,
            written,
            arrays,
            walker.state,
            trial,
            walker.fresh,
        )
        return
    walker.state = follow_loop(
        walker.kernel, statement, written, arrays, walker.state, trial, walker.fresh, promised
    )


def _known(names: tuple[str, ...], state: dict[str, Content]) -> tuple[str, ...]:
    """Return those of some names whose contents are followed."""
    return tuple(name for name in names if name in state)
