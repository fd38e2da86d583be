"""Floor 9: the reference executor: every message and every DPAS on the machine, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra import coalesce
from pycute_xe.arch import Surface, Target
from pycute_xe.bulk import numpy_dtype, table
from pycute_xe.errors import KernelError
from pycute_xe.execute.anchors import anchors, place_of
from pycute_xe.execute.problem import Problem, fetch, place, place_poison
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Fill,
    Fragment,
    Kernel,
    Load,
    Loop,
    Mma,
    Prefetch,
    Reorder,
    Statement,
    Store,
    When,
)
from pycute_xe.kernel.index import Index
from pycute_xe.machine import (
    BarrierArrive as Arrive,
)
from pycute_xe.machine import (
    BarrierWait as Wait,
)
from pycute_xe.machine import Memory, RegisterFile, Trace, block2d, dpas, workgroup

__all__ = ["execute"]

Meeting = Arrive | Wait
Progress = Callable[[float], None]


def execute(
    kernel: Kernel,
    problem: Problem,
    target: Target,
    trace: Trace,
    progress: Progress | None = None,
) -> NDArray[Any]:
    """Run every work-group of the grid on one machine and return D (M, N).

    Raises `MachineError` for whatever hardware leaves undefined.
    """
    memory = Memory()
    surfaces = {
        name: place(memory, kernel.operand(name), array, target)
        for name, array in problem.inputs.items()
    }
    output = kernel.operand("D")
    shape = (problem.sizes["M"], problem.sizes["N"])
    surfaces["D"] = place_poison(memory, output, shape, target)
    machine = _Machine(kernel, memory, surfaces, problem.sizes, target, trace)
    counts = [count.at(problem.sizes) for _, count in kernel.grid]
    groups = list(product(*map(range, counts)))
    for done, group in enumerate(groups, 1):
        env = dict(zip((var for var, _ in kernel.grid), group, strict=True))
        threads = [machine.thread(s, env) for s in range(kernel.mma.num_subgroups)]
        workgroup.run(threads, trace=trace)
        if progress is not None:
            progress(done / len(groups))
    return fetch(memory, output, surfaces["D"], shape)


@dataclass(frozen=True)
class _Machine:
    """What all work-groups share."""

    kernel: Kernel
    memory: Memory
    surfaces: Mapping[str, Surface]
    sizes: Mapping[str, int]
    target: Target
    trace: Trace

    def thread(self, subgroup: int, env: Mapping[str, int]) -> Iterator[Meeting]:
        """One subgroup: a generator that yields at barriers."""
        offsets, nbytes = _registers(self.kernel, self.target.grf_bytes)
        registers = RegisterFile(nbytes, self.target.grf_bytes)
        return _Thread(self, subgroup, registers, offsets).run(self.kernel.body, dict(env))


def _registers(kernel: Kernel, grf: int) -> tuple[dict[str, int], int]:
    """Give each fragment whole registers, one after the other, and count all bytes."""
    offsets: dict[str, int] = {}
    at = 0
    for fragment in kernel.fragments:
        offsets[fragment.name] = at
        at += -(-_room(kernel, fragment) // grf) * grf
    return offsets, at


def _room(kernel: Kernel, fragment: Fragment) -> int:
    """Bytes of a fragment, and of the padding that a message writes behind it."""
    room = fragment.bytes
    for statement in kernel.statements():
        if isinstance(statement, Load) and statement.fragment == fragment.name:
            atom = statement.copy.atom
            image = atom.register_tv.elements * atom.value_type.bits // 8
            step = atom.values * 16 * atom.value_type.bits // 8
            room = max(room, (statement.copy.messages - 1) * step + image)
    return room


@dataclass(frozen=True)
class _Thread:
    """One subgroup's registers and what it does with them."""

    machine: _Machine
    subgroup: int
    registers: RegisterFile
    offsets: Mapping[str, int]

    def run(self, body: tuple[Statement, ...], env: dict[str, int]) -> Iterator[Meeting]:
        for statement in body:
            match statement:
                case Loop(var, start, stop, inner):
                    last = stop if isinstance(stop, int) else stop.at(self.machine.sizes)
                    for value in range(start, last):
                        yield from self.run(inner, env | {var: value})
                case When(index, below, inner):
                    if index.at(env) < below.at(self.machine.sizes):
                        yield from self.run(inner, env)
                case BarrierArrive():
                    yield Arrive()
                case BarrierWait():
                    yield Wait()
                case _:
                    self.do(statement, env)

    def do(self, statement: Statement, env: Mapping[str, int]) -> None:
        match statement:
            case Fill(name, value):
                self.fill(name, value)
            case Prefetch() | Load() | Store():
                self.copy(statement, env)
            case Reorder():
                self.reorder(statement)
            case Mma():
                self.multiply(statement)
            case _:
                raise KernelError("run", {"statement": statement}, "no such statement here", "")

    def fill(self, name: str, value: float) -> None:
        fragment = self.machine.kernel.fragment(name)
        data = np.full(16 * fragment.slots, value, dtype=numpy_dtype(fragment.value_type))
        self.registers.write(self.offsets[name], data.view(np.uint8), "fill")

    def copy(self, statement: Prefetch | Load | Store, env: Mapping[str, int]) -> None:
        copy, machine = statement.copy, self.machine
        surface = machine.surfaces[statement.operand]
        tile = machine.kernel.operand(statement.operand).tile
        corner = _corner(statement.at, tile, env)
        step = copy.atom.values * 16 * copy.value_type.bits // 8
        message, trace = copy.op.message, machine.trace
        for j, anchor in enumerate(anchors(copy)[self.subgroup]):
            x, y = place_of(copy, anchor + corner)
            if isinstance(statement, Prefetch):
                block2d.prefetch(machine.memory, message, surface, x, y, trace)
                continue
            move = block2d.load if isinstance(statement, Load) else block2d.store
            at = self.offsets[statement.fragment] + j * step
            move(machine.memory, self.registers, message, surface, x, y, at, trace)

    def reorder(self, statement: Reorder) -> None:
        source = self.machine.kernel.fragment(statement.source)
        target = self.machine.kernel.fragment(statement.destination)
        data = self.registers.read(self.offsets[source.name], source.bytes, "reorder")
        elements = data.view(numpy_dtype(source.value_type))
        out = np.empty(elements.size, dtype=numpy_dtype(target.value_type))
        out[table(coalesce(statement.slots))] = elements
        self.registers.write(self.offsets[target.name], out.view(np.uint8), "reorder")

    def multiply(self, statement: Mma) -> None:
        op = statement.mma.atom.op
        reps_m, reps_k = statement.mma.repetitions("A")
        reps_n, _ = statement.mma.repetitions("B")
        acc, a, b = (
            self.offsets[name] for name in (statement.accumulator, statement.a, statement.b)
        )
        for k, n, m in product(range(reps_k), range(reps_n), range(reps_m)):
            c = acc + (m + reps_m * n) * op.bytes_D
            src1 = b + (n + reps_n * k) * op.bytes_B
            src2 = a + (m + reps_m * k) * op.bytes_A
            dpas.execute(self.registers, op, c, c, src1, src2, self.machine.trace)


def _corner(
    at: tuple[Index, Index], tile: tuple[int, ...], env: Mapping[str, int]
) -> NDArray[np.int64]:
    return np.array([i.at(env) * extent for i, extent in zip(at, tile, strict=True)])
