"""Floor 9: how much work a kernel does, counted without doing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.executing.anchors import anchors
from pycute_xe.executing.problem import Problem
from pycute_xe.executing.space import Space
from pycute_xe.executing.surfaces import Placed, plan
from pycute_xe.kernel import (
    AtomicStore,
    Await,
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    If,
    Kernel,
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
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.machine import Trace

__all__ = ["COUNTS", "count_work"]

Copying = Prefetch | Load | Store | AtomicStore
Ints = NDArray[np.int64]
KINDS = {Prefetch: "prefetch", Load: "load", Store: "store", AtomicStore: "atomic"}


@dataclass(frozen=True, eq=False)
class Count:
    """What is counted: a kernel on a problem, into a trace."""

    kernel: Kernel
    placed: dict[str, Placed]
    trace: Trace

    def body(self, body: tuple[Statement, ...], space: Space) -> None:
        """Count the statements of a body, each at every point of a space."""
        for statement in body:
            COUNTS[statement](self, statement, space)


COUNTS: Meanings[Callable[[Count, Any, Space], None]] = Meanings("count")
"""What each kind of statement adds to the counts when it is executed at the points of a space."""


def count_work(kernel: Kernel, problem: Problem, target: Target, trace: Trace) -> None:
    """Add to a trace the messages, bytes, DPAS and barriers that running the kernel takes.

    Law: equal to what the reference executor's trace counts. Raises `KernelError` where the work
    depends on what the kernel itself writes.
    """
    placed = {o.name: plan(o, problem.shape(o.name), target) for o in kernel.operands if o.modes}
    space = Space(problem.sizes, (), _looking(kernel, problem))
    for name, count in kernel.grid:
        space = space.bound(name, Index(), count)
    space = space.bound(SUBGROUP_INDEX, Index(), Index(None, kernel.subgroups))
    Count(kernel, placed, trace).body(kernel.body, space)


def _looking(kernel: Kernel, problem: Problem) -> Callable[[str, tuple[Any, ...]], Any]:
    def look_up(name: str, at: tuple[Any, ...]) -> Any:
        operand = kernel.operand(name)
        if operand.written:
            raise KernelError(
                "run",
                {"operand": operand},
                f"what is done depends on elements of {name}, which the kernel writes",
                'use executor="reference"',
            )
        array = problem.inputs[name].astype(np.int64)
        for mode, (places, extent) in enumerate(zip(at, array.shape, strict=True)):
            low, high = np.min(places, initial=0), np.max(places, initial=-1)
            if low < 0 or high >= extent:
                raise MachineError(
                    "run",
                    {"operand": operand, "mode": mode},
                    f"index {low if low < 0 else high} is outside: there are {extent}",
                    "bound the index by the extent",
                )
        return array[at]

    return look_up


@COUNTS.of(Loop)
def _(count: Count, statement: Loop, space: Space) -> None:
    count.body(statement.body, space.bound(statement.var, statement.start, statement.stop))


@COUNTS.of(If)
def _(count: Count, statement: If, space: Space) -> None:
    count.body(statement.body, space.where(statement.index, statement.below))


@COUNTS.of(Fill, Reorder, Part, Convert, Map, Reduce, BarrierArrive, NamedArrive, Fence)
def _(_count: Count, _statement: Statement, _space: Space) -> None:
    """Registers and arrivals are not counted."""


@COUNTS.of(BarrierWait)
def _(count: Count, _statement: BarrierWait, space: Space) -> None:
    count.trace.barriers += space.size // count.kernel.subgroups


@COUNTS.of(NamedWait)
def _(count: Count, statement: NamedWait, space: Space) -> None:
    count.trace.barriers += space.size // statement.barrier.consumers


@COUNTS.of(Await, Signal)
def _(count: Count, _statement: Await | Signal, space: Space) -> None:
    count.trace.barriers += 2 * (space.size // count.kernel.subgroups)


@COUNTS.of(Mma)
def _(count: Count, statement: Mma, space: Space) -> None:
    mma = statement.mma
    count.trace.dpas += prod(mma.repetitions("A")) * mma.repetitions("B")[0] * space.size


@COUNTS.of(SharedLoad, SharedStore)
def _(count: Count, statement: SharedLoad | SharedStore, space: Space) -> None:
    if space.size:
        kind = "shared load" if isinstance(statement, SharedLoad) else "shared store"
        count.trace.messages[kind] += space.size
        count.trace.nbytes[kind] += count.kernel.fragment(statement.fragment).bytes * space.size


@COUNTS.of(Prefetch, Load, Store, AtomicStore)
def _(count: Count, statement: Copying, space: Space) -> None:
    messages = statement.copy.messages * space.size
    if messages:
        kind = KINDS[type(statement)]
        count.trace.messages[kind] += messages
        count.trace.nbytes[kind] += _bytes(count, statement, space)


def _bytes(count: Count, statement: Copying, space: Space) -> int:
    """Sum the bytes inside the surfaces: rows and columns are clipped independently."""
    starts = anchors(statement.copy)
    alone = {SUBGROUP_INDEX} in [set(axis) for axis in space.axes]
    if alone and SUBGROUP_INDEX not in space.variables(*statement.at):
        (mine,) = [axis[SUBGROUP_INDEX] for axis in space.axes if SUBGROUP_INDEX in axis]
        rest = tuple(axis for axis in space.axes if SUBGROUP_INDEX not in axis)
        inner = replace(space, axes=rest)
        return _inside(count, statement, inner, starts[mine].reshape(-1, starts.shape[2]))
    total = 0
    for subgroup in range(starts.shape[0]):
        inner = space.at(SUBGROUP_INDEX, subgroup)
        if inner.size:
            total += _inside(count, statement, inner, starts[subgroup])
    return total


def _inside(count: Count, statement: Copying, space: Space, starts: Ints) -> int:
    """Sum the bytes of messages that start at places of a tile, at every point of a space."""
    copy, placed = statement.copy, count.placed[statement.operand]
    y_mode, bits = statement.modes[copy.y_mode], copy.value_type.bits
    # Only the extents of the surface count here, not where it lies.
    surface = placed.surface(y_mode, [0] * len(placed.shape))
    x_index = statement.at[placed.operand.contiguous]
    y_index = Index() if y_mode is None else statement.at[y_mode]
    x_names, y_names = space.variables(x_index), space.variables(y_index)
    together = x_names | y_names if _joint(space, x_names, y_names) else None
    wide = _clipped(
        space,
        x_index,
        together or x_names,
        starts[:, copy.x_mode],
        copy.block.width,
        surface.width,
        bits,
    )
    high = _clipped(
        space,
        y_index,
        together or y_names,
        starts[:, copy.y_mode],
        copy.block.height,
        surface.height,
        8,
    )
    counted = frozenset(
        name for axis in space.axes for name in axis if axis.keys() & (x_names | y_names)
    )
    others = prod(
        next(iter(axis.values())).size for axis in space.axes if not axis.keys() & counted
    )
    if together:
        return int((wide * high).sum()) * others
    return int((wide.sum(axis=1) * high.sum(axis=1)).sum()) * others


def _joint(space: Space, x_names: frozenset[str], y_names: frozenset[str]) -> bool:
    """Whether columns and rows depend on one axis."""
    return any(axis.keys() & x_names and axis.keys() & y_names for axis in space.axes)


def _clipped(
    space: Space,
    index: Index,
    names: frozenset[str],
    starts: Ints,
    extent: int,
    limit: int,
    bits: int,
) -> Ints:
    """Return how much of each message is inside, in bytes or rows: (messages, points)."""
    inner, axis = space.joined(names)
    first = (starts[:, None] + inner.values(index, axis)[None, :]) * bits // 8
    return np.clip(first + extent * bits // 8, 0, limit) - np.clip(first, 0, limit)
