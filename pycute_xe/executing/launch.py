"""A grid on the reference executor: its work-groups, or some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.executing.problem import Problem
from pycute_xe.executing.reference import DOES, body_of
from pycute_xe.executing.surfaces import Placed, fetch, place, place_field, place_poison
from pycute_xe.executing.thread import Env, Machine, Thread, launched, shared_room
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.kernel.ir.kernel import launches
from pycute_xe.kernel.probes import Field
from pycute_xe.machine import Memory, Progress, RegisterFile, Trace, workgroup
from pycute_xe.machine.races import Span
from pycute_xe.machine.slm import FencedSlm

__all__ = ["Part", "execute", "perform"]

# ------------------------------------------------------------ preparing
# Memory with the operands of a problem in it, for the reference executor.


def prepared(kernel: Kernel, problem: Problem, target: Target, trace: Trace) -> Machine:
    """Return a machine before the first work-group begins."""
    memory = Memory()
    placed = {o.name: _placed(memory, problem, o, target) for o in kernel.operands if o.modes}
    scalars = {o.name: problem.inputs[o.name][()] for o in kernel.inputs if not o.modes}
    counters = (s.touched.counter for s in kernel.statements())
    waits = any(counter is not None and counter.least is not None for counter in counters)
    spans = {
        name: Span(memory, at.base, at.nbytes, at.element_at, ordered=waits)
        for name, at in placed.items()
        if kernel.operand(name).written
    }
    return Machine(kernel, memory, placed, scalars, problem.sizes, target, trace, spans)


def _placed(memory: Memory, problem: Problem, operand: Operand, target: Target) -> Placed:
    shape = problem.shape(operand.name)
    if operand.role in ("in", "inout"):
        given = problem.inputs[operand.name]
        if isinstance(given, Field):
            return place_field(memory, operand, given, target)
        return place(memory, operand, given, target)
    byte = 0 if operand.is_counter else 0xFF
    return place_poison(memory, operand, shape, target, byte, problem.pages)


# ------------------------------------------------------------ launching


def execute(
    kernel: Kernel,
    problem: Problem,
    target: Target,
    trace: Trace,
    progress: Callable[[float], None] | None = None,
) -> dict[str, NDArray[Any]]:
    """Run every work-group of the grid on one machine and return the outputs by name.

    Raises `MachineError` for whatever hardware leaves undefined, and `KernelError` for a statement
    without a meaning here.
    """
    machine = perform(kernel, problem, target, trace, Part(), progress)
    return {o.name: fetch(machine.memory, machine.placed[o.name]) for o in kernel.outputs}


@dataclass(frozen=True)
class Part:
    """Which work-groups of a grid run, by their variables, and which of their subgroups.

    None stands for all. Subgroups that share memory or meet at counters only run together.
    """

    groups: tuple[Env, ...] | None = None
    subgroups: tuple[int, ...] | None = None


def perform(
    kernel: Kernel,
    problem: Problem,
    target: Target,
    trace: Trace,
    part: Part,
    progress: Callable[[float], None] | None = None,
) -> Machine:
    """Run a part of a grid on one machine, and return the machine as it is then.

    Raises as `execute` does.
    """
    for statement in kernel.statements():
        DOES[statement]
    machine = prepared(kernel, problem, target, trace)
    env = dict(problem.sizes)
    groups = _grid(machine, env) if part.groups is None else part.groups
    mine = range(kernel.subgroups) if part.subgroups is None else part.subgroups
    going = (_group(machine, env, at, number, mine) for number, at in enumerate(groups))
    for done, name in enumerate(launched(going, machine.counters), 1):
        machine.close(name)
        if progress is not None:
            progress(done / len(groups))
    return machine


def _grid(machine: Machine, env: Env) -> list[Env]:
    kernel = machine.kernel
    counts = [max(0, count.at(env, machine.look_up)) for _, count in kernel.grid]
    names = [name for name, _ in kernel.grid]
    groups = product(*map(range, launches(kernel, counts)))
    return [dict(zip(names, group, strict=True)) for group in groups]


def _group(
    machine: Machine, env: Env, at: Env, number: int, subgroups: Sequence[int]
) -> tuple[str, Iterator[list[str]]]:
    """Return a work-group that is about to begin, and its name."""
    name = f"work-group {', '.join(f'{v} = {i}' for v, i in at.items())}".strip()
    machine.counters.enter(name, number)
    return name, _run_group(machine, {**env, **at}, name, subgroups)


def _run_group(
    machine: Machine, env: Env, group: str, subgroups: Sequence[int]
) -> Iterator[list[str]]:
    kernel = machine.kernel
    offsets, nbytes = machine.registers()
    shared, room = shared_room(kernel)
    slm = FencedSlm(room)
    watched = [Progress(i, len(subgroups)) for i in range(len(subgroups))]
    threads = [
        Thread(
            machine,
            subgroup,
            RegisterFile(nbytes, machine.target.grf_bytes),
            offsets,
            slm,
            shared,
            mine,
            group,
        )
        for subgroup, mine in zip(subgroups, watched, strict=True)
    ]
    bodies = [body_of(t, kernel.body, {**env, "subgroup": t.subgroup}) for t in threads]
    yield from workgroup.stepped(bodies, watched, trace=machine.trace)
