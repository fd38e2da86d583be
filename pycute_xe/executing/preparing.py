"""Floor 9: memory with the operands of a problem in it, for the reference executor."""

from __future__ import annotations

from pycute_xe.arch import Target
from pycute_xe.executing.problem import Problem
from pycute_xe.executing.surfaces import place, place_poison
from pycute_xe.executing.thread import Machine
from pycute_xe.kernel import Await, Kernel
from pycute_xe.machine import Memory, Trace
from pycute_xe.machine.races import Span

__all__ = ["prepared"]


def prepared(kernel: Kernel, problem: Problem, target: Target, trace: Trace) -> Machine:
    """Return a machine before the first work-group begins."""
    memory = Memory()
    placed = {
        o.name: place(memory, o, problem.inputs[o.name], target)
        if o.role in ("in", "inout")
        else place(memory, o, problem.blank(o.name), target)
        if o.role == "scratch" and o.value_type.kind != "float"
        else place_poison(memory, o, problem.shape(o.name), target)
        for o in kernel.operands
        if o.modes
    }
    scalars = {o.name: problem.inputs[o.name] for o in kernel.inputs if not o.modes}
    waits = any(isinstance(s, Await) for s in kernel.statements())
    spans = {
        name: Span(memory, at.base, at.nbytes, at.told, ordered=waits)
        for name, at in placed.items()
        if kernel.operand(name).written
    }
    return Machine(kernel, memory, placed, scalars, problem.sizes, target, trace, spans)
