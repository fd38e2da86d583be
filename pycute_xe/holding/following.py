"""Floor 8: following a kernel's statements: what is stored where, for all sizes at once."""

from __future__ import annotations

from itertools import count
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.computing import changed, follow_map, follow_mma, follow_reduce
from pycute_xe.holding.contents import Content, combined, nothing, number, undecided, whole
from pycute_xe.holding.follower import HOLDS, Around, Followed, Follower, Form, Promise, Read, Write
from pycute_xe.holding.looping import follow_loop, last_writers, written_by
from pycute_xe.holding.nodes import Choice, Leaf, Node
from pycute_xe.holding.placing import of_some, taken
from pycute_xe.holding.recurring import follow_recurrence
from pycute_xe.holding.roles import check_roles
from pycute_xe.holding.sharing import load_shared, store_shared
from pycute_xe.holding.tables import by_subgroup, copied, moved
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
    Kernel,
    Load,
    Loop,
    Map,
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
from pycute_xe.kernel.ir.roles import chooses, doing

__all__ = ["HOLDS", "Around", "Followed", "Read", "Write", "follow", "placed"]

Ints: TypeAlias = NDArray[np.int64]

FAR = -(1 << 40)
"""A place outside every operand: what a load pads with is zero, as what lies outside is."""


def follow(kernel: Kernel, form: Form = "proof") -> Followed:
    """Follow every register element of a kernel to what is stored.

    Loops are closed to sums, and what they claim or rescale, or (``form="recur"``) to recurrences.

    Raises `UndecidableError` where a content has no map, `KernelError` for kinds of statements that
    have no meaning here, `MachineError` for blocks that start between elements.

    >>> import pycute_xe as cx
    >>> found = follow(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))))
    >>> [(w.statement.operand, w.places.shape) for w in found.writes]
    [('D', (32, 2048, 2))]
    """
    for statement in kernel.statements():  # refused by name, whatever else stays undecided
        HOLDS[statement]
    check_roles(kernel)
    state = {x.name: nothing(x.elements) for x in (*kernel.fragments, *kernel.shared)}
    walker = Follower(kernel, state, Followed(), count(), form=form)
    walker.run(kernel.body)
    return walker.found


def placed(
    kernel: Kernel,
    statement: Prefetch | Load | Store | AtomicStore,
    around: tuple[Around, ...] = (),
) -> tuple[tuple[Index, ...], Ints, NDArray[np.bool_]]:
    """Return where a copy's register elements belong: index, table, and which of them move.

    The table is (subgroup, element, mode of the operand). Subgroups that conditions around the
    statement leave out touch nothing.
    """
    operand = kernel.operand(statement.operand)
    tables = copied(statement.copy)
    subgroups, elements, _ = tables.places.shape
    out = np.zeros((subgroups, elements, len(operand.modes)), dtype=np.int64)
    outside = np.broadcast_to(tables.padded, (subgroups, elements)).copy()
    for axis, mode in enumerate(statement.modes):
        if mode is None:
            outside |= tables.places[..., axis] != 0
        else:
            out[..., mode] += tables.places[..., axis]
    base: list[Index] = []
    for mode, index in enumerate(statement.at):
        rest, own = by_subgroup(index, subgroups)
        out[..., mode] += own[:, None]
        base.append(rest)
    outside[~np.array(doing(around, subgroups))] = True
    out[outside] = FAR
    return tuple(base), out, tables.moves


@HOLDS.of(Fill)
def _(walker: Follower, statement: Fill) -> None:
    fragment = walker.kernel.fragment(statement.fragment)
    value = float(statement.value)
    walker.state[fragment.name] = number(fragment.elements, value, fragment.value_type)


@HOLDS.of(Load)
def _(walker: Follower, statement: Load) -> None:
    fragment = walker.kernel.fragment(statement.fragment)
    base, table, moves = placed(walker.kernel, statement)
    elements = np.flatnonzero(moves[: fragment.elements])
    leaf = Leaf(statement.operand, base, table[:, elements], np.arange(elements.size))
    old = walker.state[fragment.name]
    walker.state[fragment.name] = old.over(elements, whole(elements.size, leaf))


@HOLDS.of(Prefetch)
def _(walker: Follower, statement: Prefetch) -> None:
    """Registers hold what they held."""
    del walker, statement


@HOLDS.of(Store, AtomicStore)
def _(walker: Follower, statement: Store | AtomicStore) -> None:
    base, table, moves = placed(walker.kernel, statement)
    content, who = walker.read(statement, statement.fragment), walker.doing
    for part in content.parts:
        kept = np.flatnonzero(moves[part.elements])
        if not kept.size:
            continue
        elements = part.elements[kept]
        node = of_some(taken(part.node, kept), who)
        found = Write(statement, walker.around, base, table[who][:, elements], elements, node, who)
        walker.found.writes.append(found)


@HOLDS.of(Reorder)
def _(walker: Follower, statement: Reorder) -> None:
    content, to = walker.read(statement, statement.source), moved(statement.slots)
    old = nothing(walker.kernel.fragment(statement.destination).elements)
    last = np.full(old.count, -1, dtype=np.int64)
    last[to] = np.arange(to.size)  # of two that go to one place the later stays
    reached = np.flatnonzero(last >= 0)
    walker.state[statement.destination] = old.over(reached, content.at(last[reached]))


@HOLDS.of(Part)
def _(walker: Follower, statement: Part) -> None:
    content = walker.read(statement, statement.source)
    walker.state[statement.destination] = content.at(statement.first + moved(statement.slots))


@HOLDS.of(Convert)
def _(walker: Follower, statement: Convert) -> None:
    source, to = (walker.kernel.fragment(n) for n in (statement.source, statement.destination))
    content = walker.read(statement, source.name)
    walker.state[to.name] = content.each(lambda n: changed(n, source.value_type, to.value_type))


@HOLDS.of(Map)
def _(walker: Follower, statement: Map) -> None:
    follow_map(walker, statement)


@HOLDS.of(Reduce)
def _(walker: Follower, statement: Reduce) -> None:
    follow_reduce(walker, statement)


@HOLDS.of(Mma)
def _(walker: Follower, statement: Mma) -> None:
    follow_mma(walker, statement)


@HOLDS.of(BarrierArrive, BarrierWait, Fence, NamedArrive, NamedWait)
def _(walker: Follower, statement: Statement) -> None:
    """Construction has paired the halves; registers hold what they held."""
    del walker, statement


@HOLDS.of(Await, Signal)
def _(walker: Follower, statement: Await | Signal) -> None:
    """What other work-groups have done by then is not a map of this one's variables.

    A run takes what memory holds when a statement's turn comes.
    """
    if walker.form == "recur":
        return
    raise undecided(
        f"{type(statement).__name__}: work-groups that wait for one another are not followed",
        "ask covers(plan), and run it with the reference executor",
    )


@HOLDS.of(SharedStore)
def _(walker: Follower, statement: SharedStore) -> None:
    store_shared(walker, statement)


@HOLDS.of(SharedLoad)
def _(walker: Follower, statement: SharedLoad) -> None:
    load_shared(walker, statement)


@HOLDS.of(If)
def _(walker: Follower, statement: If) -> None:
    if chooses(statement):
        _follow_some(walker, statement)
        return
    before, outer = dict(walker.state), walker.around
    walker.around = (*outer, statement)
    walker.run(statement.body)
    walker.around = outer
    for name in written_by(statement.body):
        new, old = walker.state[name], before[name]

        def make(nodes: tuple[Node, ...]) -> Node:
            return Choice(statement.index, statement.below, nodes[0], nodes[1])

        walker.state[name] = combined(new.count, (new, old), make)


def _follow_some(walker: Follower, statement: If) -> None:
    """Follow what some subgroups do: registers of the others are never looked at."""
    before = walker.active
    mine = doing((statement,), walker.kernel.subgroups)
    walker.active = tuple(x and y for x, y in zip(before, mine, strict=True)) if before else mine
    if any(walker.active):
        walker.run(statement.body)
    walker.active = before


@HOLDS.of(Loop)
def _(walker: Follower, statement: Loop) -> None:
    def trial(
        entry: dict[str, Content], keep: bool, settled: dict[str, Content] | None = None
    ) -> dict[str, Content]:
        last = {} if settled is None else last_writers(statement, settled)
        found = walker.found if keep else Followed()
        inner = Follower(
            walker.kernel,
            dict(entry),
            found,
            walker.names,
            (*walker.around, statement),
            walker.active,
            last,
            walker.form,
        )
        inner.run(statement.body)
        return inner.state

    def promised(name: str, when: str, found: Content, claimed: Content) -> None:
        inside = walker.around if when == "start" else (*walker.around, statement)
        promise = Promise(statement, inside, name, when, found, claimed)
        walker.found.promises.append(promise)

    written = written_by(statement.body)
    if walker.form == "recur":
        walker.state = follow_recurrence(
            walker.kernel, statement, walker.around, written, walker.state, trial, walker.fresh
        )
        return
    walker.state = follow_loop(
        walker.kernel, statement, written, walker.state, trial, walker.fresh, promised
    )
