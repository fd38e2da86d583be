"""How much work a kernel does, counted without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from pycute_xe.arch import Target
from pycute_xe.errors import KernelError
from pycute_xe.executing.space import (
    Space,
    anchors,
    given,
    grid_space,
    performed,
    undeclared_operands,
)
from pycute_xe.executing.surfaces import Placed, plan
from pycute_xe.executing.tickets import takes_tickets, takings, with_tickets
from pycute_xe.kernel import Kernel, Statement
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.kernel.ir.operands import shape_of

__all__ = ["Work", "work_done", "work_of"]


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
    memory = statement.touched.memory
    nbytes = 0 if memory is None else _bytes(placed, memory, space)
    return work_done(kernel, statement, space.size, nbytes)


def work_done(kernel: Kernel, statement: Statement, times: int, nbytes: int = 0) -> Work:
    """Return the work of a statement that subgroups execute so often in all.

    ``nbytes`` are those that its messages move inside the surfaces. Raises `KernelError` for a
    statement that moves what is in memory by messages of another kind.
    """
    touched = statement.touched
    sent, messages, nbytes = _messages(kernel, statement, times, nbytes)
    dpas = 0
    if (product := touched.product) is not None:
        m_and_k, (n, _) = (product.mma.repetitions(name) for name in "AB")
        dpas = prod(m_and_k) * n * times
    turns = {"wait": 1, "both": 2}.get(touched.meets, 0)
    barriers = turns * (times // kernel.subgroups)
    if (named := touched.named) is not None and named.waits:
        barriers += times // named.barrier.consumers
    return Work(statement, times, sent, messages, nbytes, dpas, barriers)


def _messages(
    kernel: Kernel, statement: Statement, times: int, nbytes: int
) -> tuple[str, int, int]:
    """Return what a report calls the messages of a statement, how many there are, and their bytes.

    Raises `KernelError` for messages that its effects do not declare, or of several kinds.
    """
    touched, names = statement.touched, undeclared_operands(statement.touched)
    ways: list[tuple[str, int, int]] = []
    if (memory := touched.memory) is not None:
        ways.append((_way(memory), memory.copy.messages * times, nbytes))
    if touched.shared is not None:
        fragments = map(kernel.fragment, (*touched.reads, *touched.writes))
        way = "load" if touched.shared.loads else "store"
        ways.append((f"shared {way}", times, times * sum(one.bytes for one in fragments)))
    if (counter := touched.counter) is not None and counter.into:
        groups = times // kernel.subgroups  # one subgroup of each work-group adds
        bits = kernel.operand(counter.operand).value_type.bits
        ways.append(("atomic", groups, groups * bits // 8))
    if len(ways) > 1 or any(one.modes for one in kernel.operands if one.name in names):
        raise KernelError(
            "run",
            {"statement": type(statement).__name__},
            "how many messages it sends is not known",
            'use executor="reference", which counts them',
        )
    return ways[0] if ways else ("", 0, 0)


def _way(memory: MemoryAccess) -> str:
    """Return what a report calls the messages of a tiled copy."""
    if memory.prefetches:
        return "prefetch"
    if memory.adds:
        return "atomic"
    return "load" if memory.loads else "store"


def _bytes(placed: Mapping[str, Placed], memory: MemoryAccess, space: Space) -> int:
    """Sum the bytes inside the surfaces: rows and columns are clipped independently."""
    starts, operand = anchors(memory.copy), placed[memory.operand]
    (axis,) = (axis for axis in space.axes if SUBGROUP_INDEX in axis)
    if len(axis) == 1 and SUBGROUP_INDEX not in space.variables(*memory.at):
        every = starts[axis[SUBGROUP_INDEX]].reshape(-1, starts.shape[2])
        return _inside(operand, memory, space.without(axis), every)
    spaces = (space.at(SUBGROUP_INDEX, subgroup) for subgroup in range(len(starts)))
    pairs = zip(spaces, starts, strict=True)
    return sum(_inside(operand, memory, inner, own) for inner, own in pairs if inner.size)


def _inside(placed: Placed, memory: MemoryAccess, space: Space, starts: Ints) -> int:
    """Sum the bytes of messages that start at places of a tile, at every point of a space."""
    copy, y_mode = memory.copy, memory.modes[memory.copy.y_mode]
    # Only the extents of the surface count here, not where it lies.
    surface = placed.surface(y_mode, [0] * len(placed.shape))
    x_index = memory.at[placed.operand.contiguous]
    y_index = Index() if y_mode is None else memory.at[y_mode]
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
