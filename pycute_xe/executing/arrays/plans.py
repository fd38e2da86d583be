"""A kernel on whole arrays: followed once, run for any sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from pycute_xe.errors import UndecidableError
from pycute_xe.executing.arrays.evaluation import Run
from pycute_xe.executing.arrays.faults import demand_sound, waits
from pycute_xe.executing.arrays.lifting import needed_by, steps_of
from pycute_xe.executing.arrays.products import product_of
from pycute_xe.executing.arrays.recording import Changed, Tape
from pycute_xe.executing.arrays.storing import Stored, Written, store, stores_of, written
from pycute_xe.executing.arrays.terms import Lifter
from pycute_xe.executing.arrays.trips import over
from pycute_xe.executing.arrays.values import copied
from pycute_xe.executing.problem import Problem
from pycute_xe.executing.tickets import takes_tickets, with_tickets
from pycute_xe.holding.contents import Followed
from pycute_xe.holding.elements import State
from pycute_xe.holding.following import follow
from pycute_xe.holding.nodes import undecided
from pycute_xe.kernel import Kernel, Loop
from pycute_xe.kernel.arrays import Array
from pycute_xe.kernel.index import Looked
from pycute_xe.kernel.ir.identities import identified
from pycute_xe.kernel.ir.reach import farthest_entry

__all__ = ["Plan", "plan", "run_on_arrays"]


KEPT = 4
"""Runs of which a plan remembers the steps."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A kernel's stores as terms, and what is known of the runs done last."""

    kernel: Kernel
    followed: Followed
    lifter: Lifter
    stores: tuple[Stored, ...]
    again: frozenset[tuple[str, str]]
    tapes: dict[object, Tape] = field(default_factory=dict["object", "Tape"])

    @property
    def turns(self) -> bool:
        """Whether work-groups wait for one another, so that stores are done in turn."""
        return waits(self.kernel)

    @cached_property
    def loaded(self) -> frozenset[str]:
        """The operands that are stored to and loaded."""
        accesses = (s.touched.memory for s in self.kernel.statements())
        loaded = {memory.operand for memory in accesses if memory is not None and memory.fills}
        return frozenset(o.name for o in self.kernel.operands if o.written and o.name in loaded)

    @cached_property
    def farthest(self) -> int:
        """How far from zero entries of tables may lie: all indices are then of 64 bits."""
        return farthest_entry(self.kernel)

    @cached_property
    def looked(self) -> frozenset[Looked]:
        """The elements of tables that statements and the grid ask for."""
        counts = (count for _, count in self.kernel.grid)
        indices = (*(i for s in self.kernel.statements() for i in s.touched.indices), *counts)
        return frozenset(looked for index in indices for looked in index.looked_up)

    def run(self, problem: Problem) -> Mapping[str, Array]:
        """Return what the kernel leaves in its operands.

        Raises `UndecidableError` where the run may fault, or its order matters.
        """
        names = {looked.operand for looked in self.looked}
        tables = {name: problem.inputs[name] for name in names if name in problem.inputs}
        key = (*problem.sizes.items(), *((name, x.tobytes()) for name, x in tables.items()))
        tape = self.tapes.get(key)
        with np.errstate(all="ignore"):
            if tape is not None:
                try:
                    out = self._blank(problem)
                    tape.play([*problem.inputs.values(), *out.values()])
                except Changed:
                    self.tapes.pop(key, None)
                else:
                    return out
            out, tape = self._blank(problem), Tape()
            self._record(problem, out, tables, tape)
        if tape.ended():
            while len(self.tapes) >= KEPT:
                self.tapes.pop(next(iter(self.tapes)), None)
            self.tapes[key] = tape
        return out

    def _blank(self, problem: Problem) -> dict[str, Array]:
        return {o.name: problem.blank(o.name) for o in self.kernel.operands if o.written}

    def _record(
        self,
        problem: Problem,
        outputs: Mapping[str, Array],
        tables: Mapping[str, Array],
        tape: Tape,
    ) -> None:
        """Do what the kernel does, on a tape."""
        kernel = self.kernel
        things = (*kernel.operands, *kernel.fragments, *kernel.shared)
        types = {thing.name: thing.value_type for thing in things}
        again = frozenset[tuple[str, str]]() if self.turns else self.again
        memory = {name: tape.input(array) for name, array in problem.inputs.items()}
        out = {name: tape.input(array) for name, array in outputs.items()}
        for name, array in out.items():
            if self.turns:  # what is loaded is what others have left there
                memory[name] = array
            elif name not in memory:
                memory[name] = copied(array) if name in self.loaded else array
        run = Run(
            kernel,
            problem.sizes,
            memory,
            self.lifter,
            over,
            self.farthest,
            tables,
            types=types,
            again=again,
        )
        demand_sound(run, self.followed)
        places = tuple(written(run, one, self.looked) for one in self.stores)
        self._demand_apart(run, places)
        for one, each in zip(self.stores, places, strict=True):
            states = [x for x in one.term.every() if x.kind is State and x.given[2]]
            run.asked.extend((where.ev, state) for where in each for state in states)
        for one, each in zip(self.stores, places, strict=True):
            for where in each:
                loaded = one.operand in self.loaded and not self.turns
                store(one, where, out[one.operand], loaded)

    def _demand_apart(self, run: Run, places: tuple[tuple[Written, ...], ...]) -> None:
        """Demand that no two statements store one element, if they do not do so in turn."""
        names = [one.operand for one in self.stores]
        for name in {name for name in names if names.count(name) > 1}:
            if self.turns and name in self.loaded:
                continue
            touched = np.zeros(run.memory[name].shape, np.bool_)
            mine = (each for one, each in zip(names, places, strict=True) if one == name)
            if not all(where.reaches_new(touched) for each in mine for where in each):
                raise undecided(f"two statements store one element of {name}")


def plan(kernel: Kernel) -> Plan:
    """Return the plan of a kernel, remembered. Raises `UndecidableError` where it has none."""
    known = _known(kernel)
    if isinstance(known, UndecidableError):
        raise known
    return known


@lru_cache(maxsize=128)
def _known(kernel: Kernel) -> Plan | UndecidableError:
    try:
        return _planned(kernel)
    except UndecidableError as error:
        return error


def _planned(kernel: Kernel) -> Plan:
    followed, lifter = follow(kernel, form="recur"), Lifter(kernel.subgroups)
    stores = stores_of(lifter, followed.writes, waits(kernel))
    _lift_recurrences(lifter)
    roots = [*(one.term for one in stores), *(x for pair in lifter.stepped.values() for x in pair)]
    every = dict.fromkeys(x for root in roots for x in root.every())
    lifter.states = tuple(x for x in every if x.kind is State)
    return Plan(kernel, followed, lifter, stores, _again(lifter))


def _lift_recurrences(lifter: Lifter) -> None:
    """Lift what recurrences carry on, so that all terms that ask for state are there."""
    done = set[tuple[int, str]]()
    while more := {
        (id(term.given[0]), term.given[1]): term.given[0]
        for term in lifter.terms.values()
        if term.kind is State and (id(term.given[0]), term.given[1]) not in done
    }:
        for (number, name), recurrence in more.items():
            done.add((number, name))
            for one in needed_by(recurrence, (name,)):
                steps_of(lifter, recurrence, one)


def _again(lifter: Lifter) -> frozenset[tuple[str, str]]:
    """Return the operands of which several terms are elements of the product."""
    pairs = [pair for term in lifter.terms.values() if (pair := product_of(term)) is not None]
    return frozenset(pair for pair in pairs if pairs.count(pair) > 1)


def run_on_arrays(problem: Problem) -> Mapping[str, Array]:
    """Return the outputs of a problem.

    Raises `KernelError` as `with_tickets`, `UndecidableError` for what arrays do not tell: another
    machine has to run it.
    """
    if problem.empty:
        raise undecided("an extent is zero")
    if takes_tickets(problem.kernel):
        kernel, inputs = with_tickets(problem.kernel, problem.sizes, problem.inputs)
        left = {**inputs, **run_on_arrays(Problem(kernel, problem.sizes, inputs))}
        return {o.name: left[o.name] for o in problem.kernel.outputs}
    if _is_misnamed(problem.kernel):
        return _by_identities(problem)
    left = plan(problem.kernel).run(problem)
    return {o.name: left[o.name] for o in problem.kernel.outputs}


@lru_cache(maxsize=128)
def _is_misnamed(kernel: Kernel) -> bool:
    """Whether a name of a kernel's may be taken for that of a variable of a sum."""
    loops = [s.var for s in kernel.statements() if isinstance(s, Loop)]
    things = (*kernel.operands, *kernel.fragments, *kernel.shared)
    names = (*kernel.sizes, *(name for name, _ in kernel.grid), *loops, *(x.name for x in things))
    return any("__" in name for name in names)


def _by_identities(problem: Problem) -> Mapping[str, Array]:
    """Run a kernel with other names, where its own may be taken for those of variables of sums."""
    kernel, identities = identified(problem.kernel)
    names = identities.names
    own = {name: identity for identity, name in names.items()}
    sizes = {identities.sizes[name]: size for name, size in problem.sizes.items()}
    inputs = {own[name]: array for name, array in problem.inputs.items()}
    try:
        outputs = run_on_arrays(Problem(kernel, sizes, inputs))
    except UndecidableError as error:
        raise undecided(identities.text(error.condition)) from error
    return {names[identity]: array for identity, array in outputs.items()}
