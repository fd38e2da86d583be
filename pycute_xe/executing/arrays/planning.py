"""Floor 9: a kernel on whole arrays: followed once, run for any sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.executing.arrays.counters import waits
from pycute_xe.executing.arrays.evaluating import Run
from pycute_xe.executing.arrays.faults import demand_sound
from pycute_xe.executing.arrays.lifting import Lifter
from pycute_xe.executing.arrays.scanning import exits
from pycute_xe.executing.arrays.storing import Stored, store, stored
from pycute_xe.executing.problem import Problem
from pycute_xe.holding.follower import Followed
from pycute_xe.holding.following import follow
from pycute_xe.kernel import Kernel, Load

__all__ = ["Plan", "plan", "run_on_arrays"]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Plan:
    """A kernel's stores as terms."""

    kernel: Kernel
    found: Followed
    lifter: Lifter
    stores: tuple[Stored, ...]


_PLANS: dict[int, tuple[Kernel, Plan | UndecidableError]] = {}
_MOST = 64


def plan(kernel: Kernel) -> Plan:
    """Return the plan of a kernel, remembered. Raises `UndecidableError` where it has none."""
    known = _PLANS.get(id(kernel))
    if known is None or known[0] is not kernel:
        while len(_PLANS) >= _MOST:
            _PLANS.pop(next(iter(_PLANS)))
        try:
            made: Plan | UndecidableError = _planned(kernel)
        except UndecidableError as error:
            made = error
        known = _PLANS[id(kernel)] = kernel, made
    if isinstance(known[1], UndecidableError):
        raise known[1]
    return known[1]


def _planned(kernel: Kernel) -> Plan:
    found, lifter = follow(kernel, "recur"), Lifter(kernel.subgroups)
    stores = (stored(lifter, write, i) for i, write in enumerate(found.writes))
    return Plan(kernel, found, lifter, tuple(one for one in stores if one is not None))


def run_on_arrays(problem: Problem) -> Mapping[str, Array]:
    """Return the outputs of a problem.

    Raises `UndecidableError` for what arrays do not tell: another machine has to run it.
    """
    kernel = problem.kernel
    made = plan(kernel)
    named = (*kernel.operands, *kernel.fragments, *kernel.shared)
    types = {one.name: one.value_type for one in named}
    run = Run(kernel, problem.sizes, _memory(problem), made.lifter, exits, types=types)
    demand_sound(run, made.found)
    out = {o.name: problem.blank(o.name) for o in kernel.operands if o.written}
    turns = waits(kernel)
    if turns:  # what is loaded is what others have left there
        run.memory = {**run.memory, **out}
    loaded = {s.operand for s in kernel.statements() if isinstance(s, Load)}
    counts = [one.write.statement.operand for one in made.stores]
    touched = {name: np.zeros(out[name].shape, np.bool_) for name in out if counts.count(name) > 1}
    for one in made.stores:
        name = one.write.statement.operand
        store(
            run,
            one,
            out[name],
            None if turns and name in loaded else touched.get(name),
            name in loaded and not turns,
        )
    return {o.name: out[o.name] for o in kernel.outputs}


def _memory(problem: Problem) -> dict[str, Array]:
    memory = dict(problem.inputs)
    for operand in problem.kernel.operands:
        if operand.written and operand.name not in memory:
            memory[operand.name] = problem.blank(operand.name)
    return memory
