"""Floor 9: memory with the operands of a problem in it, for the reference executor."""

from __future__ import annotations

from pycute_xe.arch import Target
from pycute_xe.executing.paging import place_field, place_pages
from pycute_xe.executing.problem import Problem
from pycute_xe.executing.surfaces import Placed, place, place_poison
from pycute_xe.executing.thread import Machine
from pycute_xe.kernel import Await, Kernel, Operand
from pycute_xe.kernel.field import Field
from pycute_xe.machine import Memory, Trace
from pycute_xe.machine.races import Span

__all__ = ["prepared"]


def prepared(kernel: Kernel, problem: Problem, target: Target, trace: Trace) -> Machine:
    """Return a machine before the first work-group begins."""
    memory = Memory()
    placed = {o.name: _placed(memory, problem, o, target) for o in kernel.operands if o.modes}
    scalars = {o.name: problem.inputs[o.name][()] for o in kernel.inputs if not o.modes}
    waits = any(isinstance(s, Await) for s in kernel.statements())
    spans = {
        name: Span(memory, at.base, at.nbytes, at.told, ordered=waits)
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
    counts = operand.role == "scratch" and operand.value_type.kind != "float"
    if problem.pages:
        return place_pages(memory, operand, shape, target, 0 if counts else 0xFF)
    if counts:
        return place(memory, operand, problem.blank(operand.name), target)
    return place_poison(memory, operand, shape, target)
