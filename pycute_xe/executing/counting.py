"""How much work a kernel does, counted without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from pycute_xe.arch import Target
from pycute_xe.errors import KernelError
from pycute_xe.executing.space import Space, anchors, given, grid_space, performed
from pycute_xe.executing.surfaces import Placed, plan
from pycute_xe.executing.tickets import takes_tickets, takings, with_tickets
from pycute_xe.kernel import (
    AtomicStore,
    FetchAdd,
    Kernel,
    Load,
    Mma,
    NamedWait,
    Prefetch,
    Statement,
    Store,
)
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.effects import Touched
from pycute_xe.kernel.ir.operands import shape_of

__all__ = ["Work", "work_done", "work_of"]

Copying: TypeAlias = Prefetch | Load | Store | AtomicStore


@dataclass(frozen=True)
class Work:
    """What a statement does in a run: how often, by all subgroups, and what that takes.

    ``sent`` is what a report calls its messages: load, store, prefetch, atomic, shared load, …;
    ``nbytes`` are those inside the surfaces.
    """

    statement: Statement
    times: int
    sent: str = ""
    messages: int = 0
    nbytes: int = 0
    dpas: int = 0
    barriers: int = 0


def work_of(
    kernel: Kernel, sizes: Mapping[str, int], inputs: Mapping[str, Any], target: Target
) -> Iterator[Work]:
    """Yield the work of each statement of a kernel, as what it touches says it.

    Of ``inputs`` only tables that indices look things up in are read. Law: the sums equal what the
    reference executor's trace counts. Raises `KernelError` where the work depends on what the
    kernel itself writes or on a table that is not given, and for a statement that moves what is in
    memory by messages of another kind.
    """
    if takes_tickets(kernel):
        yield from _works(takings(kernel), sizes, inputs, target)
        kernel, inputs = with_tickets(kernel, sizes, inputs)
    yield from _works(kernel, sizes, inputs, target)


def _works(
    kernel: Kernel, sizes: Mapping[str, int], inputs: Mapping[str, Any], target: Target
) -> Iterator[Work]:
    shapes = {o.name: shape_of(o, sizes) for o in kernel.operands if o.modes}
    placed = {o.name: plan(o, shapes[o.name], target) for o in kernel.operands if o.modes}
    everywhere = grid_space(kernel, sizes, given("run", kernel, inputs))
    for statement, space in performed(kernel.body, everywhere):
        if space.size:
            yield _work(kernel, placed, statement, space)


def _work(kernel: Kernel, placed: Mapping[str, Placed], statement: Statement, space: Space) -> Work:
    copying = isinstance(statement, (Prefetch, Load, Store, AtomicStore))
    nbytes = _bytes(placed, statement, space) if copying else 0
    return work_done(kernel, statement, space.size, nbytes)


def work_done(kernel: Kernel, statement: Statement, times: int, nbytes: int = 0) -> Work:
    """Return the work of a statement that subgroups execute so often in all.

    ``nbytes`` are those that its messages move inside the surfaces. Raises `KernelError` for a
    statement that moves what is in memory by messages of another kind.
    """
    touched = statement.touched
    if isinstance(statement, (Prefetch, Load, Store, AtomicStore)):
        return Work(statement, times, _sent(touched), statement.copy.messages * times, nbytes)
    if touched.from_shared or touched.to_shared:
        fragments = map(kernel.fragment, (*touched.reads, *touched.writes))
        nbytes = times * sum(one.bytes for one in fragments)
        return Work(statement, times, _sent(touched), times, nbytes)
    if isinstance(statement, NamedWait):
        return Work(statement, times, barriers=times // statement.barrier.consumers)
    if isinstance(statement, FetchAdd):  # one subgroup of each work-group adds
        groups, counter = times // kernel.subgroups, kernel.operand(statement.operand)
        nbytes = groups * counter.value_type.bits // 8
        return Work(statement, times, "atomic", groups, nbytes, barriers=2 * groups)
    if touched.meets:
        turns = {"wait": 1, "both": 2}.get(touched.meets, 0)
        return Work(statement, times, barriers=turns * (times // kernel.subgroups))
    if isinstance(statement, Mma):
        m_and_k, (n, _) = (statement.mma.repetitions(name) for name in "AB")
        return Work(statement, times, dpas=prod(m_and_k) * n * times)
    moved = {*touched.from_memory, *touched.to_memory, *touched.prefetched}
    if any(operand.modes for operand in kernel.operands if operand.name in moved):
        raise KernelError(
            "run",
            {"statement": type(statement).__name__},
            "how many messages it sends is not known",
            'use executor="reference", which counts them',
        )
    return Work(statement, times)


def _sent(touched: Touched) -> str:
    """Return what a report calls the messages of a statement, by what it touches."""
    if touched.prefetched:
        return "prefetch"
    if touched.from_memory and touched.to_memory:
        return "atomic"
    way = "load" if touched.from_memory or touched.from_shared else "store"
    return f"shared {way}" if touched.from_shared or touched.to_shared else way


def _bytes(placed: Mapping[str, Placed], statement: Copying, space: Space) -> int:
    """Sum the bytes inside the surfaces: rows and columns are clipped independently."""
    starts, operand = anchors(statement.copy), placed[statement.operand]
    (axis,) = (axis for axis in space.axes if SUBGROUP_INDEX in axis)
    if len(axis) == 1 and SUBGROUP_INDEX not in space.variables(*statement.at):
        every = starts[axis[SUBGROUP_INDEX]].reshape(-1, starts.shape[2])
        return _inside(operand, statement, space.without(axis), every)
    spaces = (space.at(SUBGROUP_INDEX, subgroup) for subgroup in range(len(starts)))
    pairs = zip(spaces, starts, strict=True)
    return sum(_inside(operand, statement, inner, own) for inner, own in pairs if inner.size)


def _inside(placed: Placed, statement: Copying, space: Space, starts: Ints) -> int:
    """Sum the bytes of messages that start at places of a tile, at every point of a space."""
    copy, y_mode = statement.copy, statement.modes[statement.copy.y_mode]
    # Only the extents of the surface count here, not where it lies.
    surface = placed.surface(y_mode, [0] * len(placed.shape))
    x_index = statement.at[placed.operand.contiguous]
    y_index = Index() if y_mode is None else statement.at[y_mode]
    x_names, y_names = space.variables(x_index), space.variables(y_index)
    joint = any(axis.keys() & x_names and axis.keys() & y_names for axis in space.axes)
    together = x_names | y_names if joint else None
    left = starts[:, [copy.x_mode]] + space.points(together or x_names, x_index)
    top = starts[:, [copy.y_mode]] + space.points(together or y_names, y_index)
    wide = _clipped(left, copy.block.width, surface.width, copy.value_type.bits)
    high = _clipped(top, copy.block.height, surface.height, 8)
    others = space.without(x_names | y_names).size
    if together:
        return int((wide * high).sum()) * others
    return int((wide.sum(axis=1) * high.sum(axis=1)).sum()) * others


def _clipped(starts: Ints, extent: int, limit: int, bits: int) -> Ints:
    """Return how much of each message is inside, in bytes or rows: (messages, points)."""
    first = starts * bits // 8
    return np.clip(first + extent * bits // 8, 0, limit) - np.clip(first, 0, limit)
