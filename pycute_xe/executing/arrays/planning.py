"""Floor 9: a kernel on whole arrays: followed once, run for any sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.executing.arrays.counters import waits
from pycute_xe.executing.arrays.evaluating import Run
from pycute_xe.executing.arrays.faults import demand_sound
from pycute_xe.executing.arrays.scanning import exits
from pycute_xe.executing.arrays.storing import Stored, store, stored
from pycute_xe.executing.arrays.terms import Lifter
from pycute_xe.executing.arrays.wholes import product_of
from pycute_xe.executing.problem import Problem
from pycute_xe.holding.contents import undecided
from pycute_xe.holding.follower import Followed
from pycute_xe.holding.following import follow
from pycute_xe.kernel import Kernel, Load, Loop
from pycute_xe.kernel.ir.identities import identified

__all__ = ["Plan", "plan", "run_on_arrays"]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Plan:
    """A kernel's stores as terms."""

    kernel: Kernel
    found: Followed
    lifter: Lifter
    stores: tuple[Stored, ...]
    again: frozenset[tuple[str, str]]


def plan(kernel: Kernel) -> Plan:
    """Return the plan of a kernel, remembered. Raises `UndecidableError` where it has none."""
    found = _known(kernel)
    if isinstance(found, UndecidableError):
        raise found
    return found


@lru_cache(maxsize=128)
def _known(kernel: Kernel) -> Plan | UndecidableError:
    try:
        return _planned(kernel)
    except UndecidableError as error:
        return error


def _planned(kernel: Kernel) -> Plan:
    found, lifter = follow(kernel, form="recur"), Lifter(kernel.subgroups)
    stores = (stored(lifter, write, i) for i, write in enumerate(found.writes))
    kept = tuple(one for one in stores if one is not None)
    return Plan(kernel, found, lifter, kept, _again(lifter))


def _again(lifter: Lifter) -> frozenset[tuple[str, str]]:
    """Return the operands of which several terms are elements of the product."""
    pairs = [pair for term in lifter.terms.values() if (pair := product_of(term)) is not None]
    return frozenset(pair for pair in pairs if pairs.count(pair) > 1)


def run_on_arrays(problem: Problem) -> Mapping[str, Array]:
    """Return the outputs of a problem.

    Raises `UndecidableError` for what arrays do not tell: another machine has to run it.
    """
    if problem.empty:
        raise undecided("an extent is zero")
    if any("__" in name for name in _names(problem.kernel)):
        return _by_identities(problem)
    kernel = problem.kernel
    made, turns = plan(kernel), waits(kernel)
    out = {o.name: problem.blank(o.name) for o in kernel.operands if o.written}
    loaded = {s.operand for s in kernel.statements() if isinstance(s, Load)} & out.keys()
    memory = dict(problem.inputs)
    for name, array in out.items():
        if turns:  # what is loaded is what others have left there
            memory[name] = array
        else:
            memory.setdefault(name, array.copy() if name in loaded else array)
    types = {o.name: o.value_type for o in (*kernel.operands, *kernel.fragments, *kernel.shared)}
    again = frozenset[tuple[str, str]]() if turns else made.again
    run = Run(kernel, problem.sizes, memory, made.lifter, exits, types=types, again=again)
    demand_sound(run, made.found)
    counts = [one.write.statement.operand for one in made.stores]
    several = {name for name in out if counts.count(name) > 1 and not (turns and name in loaded)}
    touched = {name: np.zeros(out[name].shape, np.bool_) for name in several}
    for one in made.stores:
        name = one.write.statement.operand
        store(run, one, out[name], touched.get(name), name in loaded and not turns)
    return {o.name: out[o.name] for o in kernel.outputs}


def _names(kernel: Kernel) -> list[str]:
    loops = [s.var for s in kernel.statements() if isinstance(s, Loop)]
    things = (*kernel.operands, *kernel.fragments, *kernel.shared)
    return [*kernel.sizes, *(name for name, _ in kernel.grid), *loops, *(x.name for x in things)]


def _by_identities(problem: Problem) -> Mapping[str, Array]:
    """Run a kernel with other names, where its own may be taken for those of variables of sums."""
    kernel, identities = identified(problem.kernel)
    names = identities.names
    own = {name: identity for identity, name in names.items()}
    sizes = {identities.sizes[name]: size for name, size in problem.sizes.items()}
    inputs = {own[name]: array for name, array in problem.inputs.items()}
    try:
        found = run_on_arrays(Problem(kernel, sizes, inputs))
    except UndecidableError as error:
        raise undecided(identities.text(error.condition)) from error
    return {names[identity]: array for identity, array in found.items()}
