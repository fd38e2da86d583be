"""Floor 9: how much work a kernel does, counted without doing it."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Surface, Target
from pycute_xe.execute.anchors import anchors
from pycute_xe.execute.problem import Problem, blank_surface
from pycute_xe.kernel import (
    BarrierWait,
    Kernel,
    Load,
    Loop,
    Mma,
    Prefetch,
    Statement,
    Store,
    When,
)
from pycute_xe.machine import Trace

__all__ = ["count_work"]

Ints: TypeAlias = NDArray[np.int64]
Ranges: TypeAlias = dict[str, Ints]


def count_work(kernel: Kernel, problem: Problem, target: Target, trace: Trace) -> None:
    """Add to a trace the messages, bytes, DPAS and barriers that running the kernel takes.

    Law: equal to what the reference executor's trace counts.
    """
    ranges = {var: np.arange(count.at(problem.sizes)) for var, count in kernel.grid}
    _Count(kernel, problem, target, trace).body(kernel.body, ranges)


class _Count:
    def __init__(self, kernel: Kernel, problem: Problem, target: Target, trace: Trace) -> None:
        self.kernel, self.sizes, self.trace = kernel, problem.sizes, trace
        self.surfaces: dict[str, Surface] = {}
        for operand in kernel.operands:
            shape = tuple(self.sizes[mode] for mode in operand.modes)
            self.surfaces[operand.name] = blank_surface(operand, shape, target)

    def body(self, body: tuple[Statement, ...], ranges: Ranges) -> None:
        for statement in body:
            match statement:
                case Loop(var, start, stop, inner):
                    last = stop if isinstance(stop, int) else stop.at(self.sizes)
                    self.body(inner, ranges | {var: np.arange(start, last)})
                case When(index, below, inner):
                    self.body(
                        inner, self._narrowed(index.var, index.offset, below.at(self.sizes), ranges)
                    )
                case Prefetch() | Load() | Store():
                    self.copy(statement, ranges)
                case Mma(mma):
                    each = prod(mma.repetitions("A")) * mma.repetitions("B")[0]
                    self.trace.dpas += each * mma.num_subgroups * _times(ranges)
                case BarrierWait():
                    self.trace.barriers += _times(ranges)
                case _:
                    pass

    @staticmethod
    def _narrowed(var: str | None, offset: int, below: int, ranges: Ranges) -> Ranges:
        if var is None:
            return ranges if offset < below else dict.fromkeys(ranges, np.arange(0))
        values = ranges[var]
        return ranges | {var: values[values + offset < below]}

    def copy(self, statement: Prefetch | Load | Store, ranges: Ranges) -> None:
        copy, times = statement.copy, _times(ranges)
        kind = {Prefetch: "prefetch", Load: "load", Store: "store"}[type(statement)]
        messages = copy.num_subgroups * copy.messages * times
        if messages:
            self.trace.messages[kind] += messages
            self.trace.nbytes[kind] += self._bytes(statement, ranges)

    def _bytes(self, statement: Prefetch | Load | Store, ranges: Ranges) -> int:
        """Sum the bytes inside the surface: rows and columns are clipped independently."""
        copy, surface = statement.copy, self.surfaces[statement.operand]
        tile = self.kernel.operand(statement.operand).tile
        starts = anchors(copy).reshape(-1, 2)
        unit = copy.value_type.bits // 8
        used = {index.var for index in statement.at}
        others = prod(len(values) for var, values in ranges.items() if var not in used)
        clipped: dict[int, Ints] = {}
        for mode, index in enumerate(statement.at):
            tiles = (ranges[index.var] if index.var else np.zeros(1, np.int64)) + index.offset
            first = starts[:, mode, None] + tiles[None, :] * tile[mode]
            along_x = mode == copy.x_mode
            scale = unit if along_x else 1
            extent = copy.atom.width * unit if along_x else copy.atom.height
            limit = surface.width if along_x else surface.height
            low = np.clip(first * scale, 0, limit)
            clipped[mode] = np.clip(first * scale + extent, 0, limit) - low
        if len(used) == 1 and None not in used:
            return int((clipped[0] * clipped[1]).sum()) * others
        return int((clipped[0].sum(axis=1) * clipped[1].sum(axis=1)).sum()) * others


def _times(ranges: Ranges) -> int:
    return prod(len(values) for values in ranges.values())
