"""`replay`: a counterexample run, so that everybody can see what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import get_target
from pycute_xe.errors import InputError, KernelError, MachineError
from pycute_xe.executing.launch import Part, perform
from pycute_xe.executing.problem import Problem, demand_tables, prepare
from pycute_xe.executing.runner import Executor, demand_executor, outputs_of
from pycute_xe.executing.space import Group, given, writers, writing_subgroups
from pycute_xe.executing.surfaces import fetch_part
from pycute_xe.holding.patience import charge
from pycute_xe.kernel import Counterexample, Kernel
from pycute_xe.kernel.counterexample import array_of
from pycute_xe.kernel.ir.kernel import MOST_BYTES, MOST_STEPS, amount, groups_in, steps, weight
from pycute_xe.kernel.ir.operands import bind_sizes
from pycute_xe.kernel.probes import Field, differ_by, telling_fields, tolerance_of, variants
from pycute_xe.kernel.spec.arrivals import arrived
from pycute_xe.kernel.spec.evaluation import claimed_part, compute_part, kept_as
from pycute_xe.kernel.spec.given import as_given
from pycute_xe.kernel.spec.specification import Specification
from pycute_xe.kernel.spec.unnamed import with_nan_behind
from pycute_xe.machine import Trace
from pycute_xe.signatures import shortly, typed, typed_fields
from pycute_xe.trials.work import work_of_subgroup

__all__ = ["Replay", "replay", "shown", "together"]

WHOLE = 1 << 14
"""Statements up to which the reference runs the whole grid."""
SOON = 1 << 12
"""Statements up to which a replay inside `verify` runs the whole grid."""
MOST_WORK = 10_000_000
"""Work of a replay of a part of a grid, by `work_of_subgroup`."""
MOST_GROUPS = 64
"""Work-groups that a replay of a part of a grid runs, at most."""


@typed_fields
@dataclass(frozen=True, eq=False)
class Replay:
    """A counterexample run: what the kernel gives, what it should give, and where they differ.

    ``fault`` is what stopped the run, if anything did: then ``actual`` is what should be. Of a
    problem that is too large to be run as a whole, only the work-groups that the counterexample
    concerns are run: then ``actual`` and ``expected`` are one element, the one at ``origin``, and
    ``inputs`` are `Field`s, functions of places.
    """

    counterexample: Counterexample
    inputs: dict[str, Any]
    actual: NDArray[Any]
    expected: NDArray[Any]
    output: str
    fault: MachineError | KernelError | None = None
    tolerance: float = 0.0
    origin: tuple[int, ...] = field(default=())

    @property
    def place(self) -> tuple[int, ...]:
        """The element of the output that is looked at."""
        return self.counterexample.index or self.origin or (0,) * self.expected.ndim

    @property
    def values(self) -> tuple[float, float]:
        """What the element is, and what it should be."""
        at = (0,) * self.expected.ndim if self.origin else self.place
        return float(self.actual[at]), float(self.expected[at])

    @property
    def shows(self) -> bool:
        """Whether the output element that the counterexample names is wrong, or the run faulted."""
        return self.fault is not None or differ_by(*self.values, self.tolerance)

    def __str__(self) -> str:
        """The element, as it is and as it should be."""
        if self.fault is not None:
            return f"{self.fault}\n{self.counterexample}"
        name = f"{self.output}[{', '.join(map(str, self.place))}]"
        actual, expected = self.values
        return f"{name} is {actual:g}, should be {expected:g}\n{self.counterexample}"


@typed
def replay(
    kernel: Kernel, counterexample: Counterexample, executor: Executor = "reference"
) -> Replay:
    """Run a counterexample on its own inputs, and compare with the kernel's specification.

    ``executor`` as for `run`. A run that the machine stops, or that the executor refuses, shows the
    counterexample too, and so does a claim that has no value there. Of a problem of more than
    16,384 statements the reference runs only what the counterexample concerns: the
    work-groups that store the element and the one that is named. Raises `KernelError` for a kernel
    without a specification, `InputError` for sizes at which even that is too much.
    """
    _demand(kernel, counterexample)
    demand_executor("replay", executor)
    _claims(kernel)
    first = _played(kernel, counterexample, executor, 0)
    if first.shows:
        return first
    others = (_played(kernel, counterexample, executor, v) for v in variants(kernel)[1:])
    return next((other for other in others if other.shows), first)


def shown(kernel: Kernel, counterexample: Counterexample) -> bool:
    """Tell whether a run shows a counterexample, running no more of it than is needed.

    Raises as `replay` does, and `TooHardError` where the account of work does not allow it.
    """
    sizes = {n: s for n, s in counterexample.sizes.items() if n in kernel.sizes}
    part = steps(kernel, sizes) > SOON and not together(kernel)
    played = _played_part if part else _played_whole
    each = work_of_subgroup(kernel, sizes) * kernel.subgroups
    work = each if part else each * groups_in(kernel, sizes)
    for variant in variants(kernel):
        charge(work)
        if played(kernel, counterexample, variant).shows:
            return True
    return False


def _demand(kernel: object, counterexample: object) -> None:
    if not isinstance(counterexample, Counterexample):
        raise InputError(
            "replay",
            {"counterexample": shortly(counterexample)},
            "only a counterexample can be replayed",
            "verify(kernel).counterexample is one, or None where the kernel is right",
        )
    if not isinstance(kernel, Kernel):
        raise InputError(
            "replay",
            {"kernel": shortly(kernel)},
            "only a kernel runs",
            "replay(kernel, counterexample)",
        )


def _claims(kernel: Kernel) -> Specification:
    if kernel.computes is None:
        raise KernelError(
            "replay", {"kernel": kernel.name}, "nothing is claimed of it", "give it `computes`"
        )
    return kernel.computes


def _played(
    kernel: Kernel, counterexample: Counterexample, executor: Executor, variant: int
) -> Replay:
    sizes = {n: s for n, s in counterexample.sizes.items() if n in kernel.sizes}
    known = set(kernel.sizes) <= sizes.keys()
    alone = executor == "reference" and not together(kernel)
    if known and alone and steps(kernel, sizes) > WHOLE:
        return _played_part(kernel, counterexample, variant)
    if known and (weight(kernel, sizes) > MOST_BYTES or steps(kernel, sizes) > MOST_STEPS):
        raise _too_large(kernel, sizes)
    return _played_whole(kernel, counterexample, variant, executor)


def _too_large(kernel: Kernel, sizes: dict[str, int]) -> InputError:
    return InputError(
        "replay",
        {"kernel": kernel.name, **sizes},
        f"the operands take {amount(weight(kernel, sizes))}, must be at most {amount(MOST_BYTES)}"
        if weight(kernel, sizes) > MOST_BYTES
        else f"{steps(kernel, sizes)} statements are done, must be at most {MOST_STEPS}",
        "verify(kernel, params) with smaller sizes finds a counterexample that is run",
    )


def together(kernel: Kernel) -> bool:
    """Whether work-groups read what others write, so that a part of a grid is not run alone."""
    scratch = any(o.role == "scratch" for o in kernel.operands)
    return scratch or any(s.touched.counter is not None for s in kernel.statements())


def _played_whole(
    kernel: Kernel,
    counterexample: Counterexample,
    variant: int,
    executor: Executor = "reference",
) -> Replay:
    known = {n: s for n, s in counterexample.sizes.items() if n in kernel.sizes}
    inputs = counterexample.inputs(kernel, variant)
    problem = prepare(kernel, (), {**known, **inputs}, None)
    name = counterexample.output or kernel.outputs[0].name
    window = tuple(map(range, problem.shape(name)))
    made = _expected(kernel, counterexample, problem, name, window)
    if made.fault is not None:
        return made
    try:
        outputs = outputs_of(problem, get_target("bmg"), Trace(), executor)
    except (MachineError, KernelError) as fault:
        return replace(made, fault=fault)
    if kernel.computes is not None and kernel.computes.tickets:
        arrays = arrived(kernel.computes, problem.inputs, outputs)
        problem = replace(problem, inputs=arrays)
        made = _expected(kernel, counterexample, problem, name, window)
    return _beside(kernel, made, outputs[name], problem, window)


def _played_part(kernel: Kernel, counterexample: Counterexample, variant: int) -> Replay:
    """Run the work-groups that a counterexample concerns, and look at its element alone."""
    one = counterexample
    known = {n: s for n, s in one.sizes.items() if n in kernel.sizes}
    place = one.operand, one.element, one.index
    filled = {**one.filled, **{name: array_of(of) for name, of in one.tables.items()}}
    fields = telling_fields(kernel, known, *place, variant, filled)
    fields = as_given(kernel, fields, known)
    fields = fields if one.faults else with_nan_behind(kernel, fields, known)
    shapes = {name: array.shape for name, array in fields.items()}
    problem = Problem(kernel, bind_sizes(kernel.operands, shapes, known), dict(fields), pages=True)
    demand_tables("replay", problem)
    name = one.output or kernel.outputs[0].name
    at = one.index or (0,) * len(kernel.operand(name).modes)
    window = tuple(range(i, i + 1) for i in at)
    made = replace(_expected(kernel, one, problem, name, window), origin=at)
    if made.fault is not None:
        return made
    part = _concerned(kernel, problem, one, name, fields)
    try:
        machine = perform(kernel, problem, get_target("bmg"), Trace(), part)
    except (MachineError, KernelError) as fault:
        return replace(made, fault=fault)
    actual = fetch_part(machine.memory, machine.placed[name], window)
    return _beside(kernel, made, actual, problem, window)


def _beside(
    kernel: Kernel, made: Replay, actual: NDArray[Any], problem: Problem, window: tuple[range, ...]
) -> Replay:
    """Return what should be, with what is beside it; where nothing is claimed, only faults show."""
    computes = kernel.computes
    if computes is None or not (computes.claims or computes.tickets):
        return made
    claim, numeric = computes.known(made.output), kernel.operand(made.output).value_type
    claimed = claimed_part(computes, problem.inputs, problem.sizes, made.output, window)
    beside = np.where(claimed, actual, made.expected)
    tolerance = tolerance_of(claim.value, numeric) if claim is not None else 0.0  # of tickets
    return replace(made, actual=beside, tolerance=tolerance)


def _expected(
    kernel: Kernel,
    counterexample: Counterexample,
    problem: Problem,
    name: str,
    window: tuple[range, ...],
) -> Replay:
    """Return what a window should be, both as it is and as it should be; or why it has no value."""
    claims, nothing = kernel.computes, np.zeros(tuple(map(len, window)))
    if claims is None or not (claims.claims or claims.tickets):
        return Replay(counterexample, problem.inputs, nothing, nothing, name)
    try:
        wanted = compute_part(claims, problem.inputs, problem.sizes, name, window)
    except InputError as error:
        fault = KernelError(
            "replay",
            {"claim": claims.known(name) or name},
            f"the claim has no value at these sizes: {error.condition}",
            error.fix,
        )
        return Replay(counterexample, problem.inputs, nothing, nothing, name, fault)
    expected = kept_as(claims, wanted, kernel.operand(name).value_type)
    return Replay(counterexample, problem.inputs, expected, expected, name)


def _concerned(
    kernel: Kernel,
    problem: Problem,
    counterexample: Counterexample,
    output: str,
    fields: dict[str, Field],
) -> Part:
    """Return the work-groups that store the element, and the one that is named.

    Raises `InputError` where those are more than a replay runs.
    """
    look_up = given("replay", kernel, fields)
    names = [name for name, _ in kernel.grid]
    groups: dict[tuple[int, ...], Group] = {}
    if set(names) <= counterexample.where.keys():
        mine = {name: counterexample.where[name] for name in names}
        groups[tuple(mine.values())] = mine
    if counterexample.index:
        groups_ = writers(kernel, problem.sizes, look_up, output, counterexample.index, MOST_GROUPS)
        groups |= {tuple(group.values()): group for group in groups_}
    each, subgroups = work_of_subgroup(kernel, problem.sizes), range(kernel.subgroups)
    if not kernel.shared and len(groups) * each * len(subgroups) > MOST_WORK:
        groups_ = (
            writing_subgroups(kernel, problem.sizes, look_up, output, counterexample.index)
            if counterexample.index
            else ()
        )
        subgroups = groups_ or (counterexample.subgroup,)
    if len(groups) * each * len(subgroups) > MOST_WORK:
        raise _too_long(kernel, problem.sizes, len(groups) * each * len(subgroups))
    return Part(tuple(groups[key] for key in sorted(groups)), tuple(subgroups))


def _too_long(kernel: Kernel, sizes: dict[str, int], work: int) -> InputError:
    return InputError(
        "replay",
        {"kernel": kernel.name, **sizes},
        f"the work-groups that it concerns do {work:,} units of work, at most {MOST_WORK:,} are",
        "verify(kernel, params) with smaller sizes finds a counterexample that is run",
    )
