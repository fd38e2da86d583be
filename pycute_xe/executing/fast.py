"""Floor 9: the fast executor: statements done by all work-groups at once, products by BLAS.

Where the maps of a kernel cancel between its operands and what it stores, whole matrices take the
place of registers. Where they do not, a block of work-groups after the other does every statement
on registers that are gathered and scattered as the maps say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.converting import host_dtype
from pycute_xe.executing.groups.ahead import Ahead
from pycute_xe.executing.groups.later import Later
from pycute_xe.executing.groups.racing import Races
from pycute_xe.executing.groups.registers import Groups
from pycute_xe.executing.groups.rooms import fragment_rooms
from pycute_xe.executing.groups.statements import STATEMENTS, perform
from pycute_xe.executing.groups.touching import Touches
from pycute_xe.executing.groups.units import done_apart, goes_apart
from pycute_xe.executing.groups.windows import Windows
from pycute_xe.executing.problem import Problem, poison
from pycute_xe.executing.surfaces import plan
from pycute_xe.executing.tiled.running import tiled
from pycute_xe.executing.whole_matrices.planning import planned
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.kernel.amounts import launches
from pycute_xe.machine import Trace

__all__ = ["execute", "gather"]

Outputs: TypeAlias = dict[str, NDArray[Any]]
Progress: TypeAlias = Callable[[float], None]

# Bytes that the registers of a block of work-groups may take, index tables included.
_ROOM = 1 << 28


def execute(
    kernel: Kernel,
    problem: Problem,
    target: Target,
    _trace: Trace,
    progress: Progress | None = None,
) -> Outputs:
    """Run a kernel and return its outputs by name.

    Equal to the reference executor bit for bit in integers, and within K·2⁻²⁴·Σ|a||b| for each
    element of a float32 accumulator: sums may be taken in another order. Raises `KernelError` for
    a kind of statement without a meaning, `MachineError` for what a machine leaves undefined.
    """
    for statement in kernel.statements():
        # A kind without a meaning is refused even where no subgroup comes to it.
        STATEMENTS[statement]
    matrices = planned(kernel, tuple(sorted(problem.sizes.items())))
    if matrices is None:
        found = None if goes_apart(kernel) else tiled(kernel, problem, progress)
        return gather(kernel, problem, target, progress) if found is None else dict(found)
    memory = dict(problem.inputs)
    stored = {store.operand for store in matrices.stores}
    for operand in kernel.operands:
        if not operand.written:
            continue
        # A store of a plan covers its operand, so that nothing is left of what was there.
        shape, dtype = problem.shape(operand.name), host_dtype(operand.value_type)
        untouched = operand.name not in stored
        memory[operand.name] = problem.blank(operand.name) if untouched else np.empty(shape, dtype)
    matrices.run(memory)
    if progress is not None:
        progress(1.0)
    return {o.name: memory[o.name] for o in kernel.outputs}


def gather(
    kernel: Kernel, problem: Problem, target: Target, progress: Progress | None = None
) -> Outputs:
    """Run a kernel statement by statement on registers, as `execute` does without a plan.

    Where two subgroups touch an element, it is run again to see whether anything orders them.
    """
    touches = Touches(kernel)
    found = _gathered(kernel, problem, target, touches, progress)
    if touches.contested:
        races = Races(touches.contested, kernel.subgroups)
        _gathered(kernel, problem, target, races, None)
        races.check()
    return found


def _gathered(
    kernel: Kernel,
    problem: Problem,
    target: Target,
    watched: Touches | Races,
    progress: Progress | None,
) -> Outputs:
    memory = dict(problem.inputs)
    for operand in kernel.operands:
        if operand.written:
            memory[operand.name] = _padded(operand, problem, target)
    grid = _grid(kernel, problem.sizes, memory)
    if goes_apart(kernel):
        _apart(kernel, problem, memory, grid, watched, progress)
        return {o.name: _cut(memory[o.name], problem.shape(o.name)) for o in kernel.outputs}
    block = max(1, _ROOM // _bytes_of_group(kernel))
    for first in range(0, grid.shape[0], block):
        part = grid[first : first + block]
        groups = Groups.of(kernel, problem.sizes, memory, part)
        groups.watched, groups.first = watched, first
        watched.enter(part.shape[0])
        perform(groups, kernel.body)
        groups.meetings.close()
        if progress is not None:
            progress((first + part.shape[0]) / grid.shape[0])
    return {o.name: _cut(memory[o.name], problem.shape(o.name)) for o in kernel.outputs}


def _apart(
    kernel: Kernel,
    problem: Problem,
    memory: dict[str, NDArray[Any]],
    grid: NDArray[np.int64],
    watched: Touches | Races,
    progress: Progress | None,
) -> None:
    """Do work-groups one by one."""
    windows = Windows(kernel, memory)
    later = Later(memory, windows)
    looked = {
        x.operand for s in kernel.statements() for i in s.touched.indices for x in i.looked_up
    }
    still = not any(kernel.operand(name).written for name in looked)
    ahead = Ahead(kernel, problem.sizes, memory, grid) if still else None

    def one(number: int) -> tuple[str, Groups]:
        at = ", ".join(f"{n} = {i}" for (n, _), i in zip(kernel.grid, grid[number], strict=True))
        groups = Groups.of(kernel, problem.sizes, later, grid[number : number + 1])
        groups.names |= {n: int(i) for (n, _), i in zip(kernel.grid, grid[number], strict=True)}
        groups.watched, groups.first = watched, number
        groups.known, groups.ahead = {} if still else None, ahead
        watched.enter(1)
        return f"work-group {at}", groups

    for done, _ in enumerate(done_apart(map(one, range(grid.shape[0])), windows), 1):
        if progress is not None:
            progress(done / grid.shape[0])
    for operand in kernel.outputs:
        later.settle(operand.name)


def _padded(operand: Operand, problem: Problem, target: Target) -> NDArray[Any]:
    """Return an output with what messages may touch behind its rows."""
    shape, x = problem.shape(operand.name), operand.contiguous
    blank = problem.blank(operand.name)
    if not shape or not blank.size:
        return blank
    row = plan(operand, shape, target).width * 8 // operand.value_type.bits
    wide = (*shape[:x], row, *shape[x + 1 :])
    if wide == shape:
        return blank
    # closed: what is not an output is read
    out = np.zeros(wide, blank.dtype) if operand.role != "out" else poison(operand, wide)
    _window(out, shape)[...] = blank
    return out


def _cut(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    return np.ascontiguousarray(_window(array, shape))


def _window(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    return array[tuple(slice(0, extent) for extent in shape)]


def _grid(
    kernel: Kernel, sizes: Mapping[str, int], memory: Mapping[str, NDArray[Any]]
) -> NDArray[np.int64]:
    """Return the work-groups of a grid in order: (work-groups, axes)."""
    counts = [
        max(0, int(count.at(sizes, lambda name, at: int(memory[name][at]))))
        for _, count in kernel.grid
    ]
    launches(kernel, counts)
    return np.indices(counts, dtype=np.int64).reshape(len(counts), int(np.prod(counts))).T


def _bytes_of_group(kernel: Kernel) -> int:
    rooms = fragment_rooms(kernel)
    held = sum(
        room * (host_dtype(kernel.fragment(name).value_type).itemsize + 1)
        for name, room in rooms.items()
    )
    # Indices of the largest fragment, a few for each mode.
    tables = 64 * max(rooms.values(), default=1)
    shared = sum(10 * array.elements for array in kernel.shared)
    return kernel.subgroups * (held + tables + shared)
