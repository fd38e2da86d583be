"""Floor 9: `replay`: a counterexample run, so that everybody can see what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from pycute_xe.arch import get_target
from pycute_xe.converting import convert
from pycute_xe.errors import InputError, KernelError, MachineError
from pycute_xe.executing.problem import prepare
from pycute_xe.executing.runner import Executor, demand_executor, outputs_of
from pycute_xe.kernel import Counterexample, Kernel
from pycute_xe.kernel.amounts import MOST_BYTES, amount, weight
from pycute_xe.kernel.showing import differ_by, tolerance_of
from pycute_xe.kernel.spec.computing import compute
from pycute_xe.kernel.spec.specification import Specification
from pycute_xe.kernel.telling_inputs import VARIANTS
from pycute_xe.machine import Trace
from pycute_xe.signatures import shortly

__all__ = ["Replay", "replay"]


@dataclass(frozen=True, eq=False)
class Replay:
    """A counterexample run: what the kernel gives, what it should give, and where they differ.

    ``fault`` is what stopped the run, if anything did: then ``actual`` is what should be.
    """

    counterexample: Counterexample
    inputs: dict[str, NDArray[Any]]
    actual: NDArray[Any]
    expected: NDArray[Any]
    output: str
    fault: MachineError | KernelError | None = None
    tolerance: float = 0.0

    @property
    def place(self) -> tuple[int, ...]:
        """The element of the output that is looked at."""
        return self.counterexample.index or (0,) * self.expected.ndim

    @property
    def shows(self) -> bool:
        """Whether the output element that the counterexample names is wrong, or the run faulted."""
        if self.fault is not None:
            return True
        place = self.place
        actual, expected = (float(x[place]) for x in (self.actual, self.expected))
        return differ_by(actual, expected, self.tolerance)

    def __str__(self) -> str:
        """The element, as it is and as it should be."""
        if self.fault is not None:
            return f"{self.fault}\n{self.counterexample}"
        place = self.place
        name = f"{self.output}[{', '.join(map(str, place))}]"
        actual, expected = (float(x[place]) for x in (self.actual, self.expected))
        return f"{name} is {actual:g}, should be {expected:g}\n{self.counterexample}"


def replay(
    kernel: Kernel, counterexample: Counterexample, executor: Executor = "reference"
) -> Replay:
    """Run a counterexample on its own inputs, and compare with the kernel's specification.

    ``executor`` as for `run`. A run that the machine stops, or that the executor refuses, shows the
    counterexample too, and so does a claim that has no value there. Raises `KernelError` for a
    kernel without a specification, `InputError` for sizes whose operands take more than 1 GiB.
    """
    _demand(kernel, counterexample)
    demand_executor("replay", executor)
    first = _played(kernel, counterexample, executor, 0)
    if first.shows:
        return first
    others = (_played(kernel, counterexample, executor, variant) for variant in VARIANTS[1:])
    return next((other for other in others if other.shows), first)


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


def _demand_room(kernel: Kernel, sizes: dict[str, int]) -> None:
    """Refuse sizes at which a run takes more memory than a replay may."""
    if set(kernel.sizes) <= sizes.keys() and (nbytes := weight(kernel, sizes)) > MOST_BYTES:
        raise InputError(
            "replay",
            {"kernel": kernel.name, **sizes},
            f"the operands take {amount(nbytes)}, must be at most {amount(MOST_BYTES)}",
            "verify(kernel, params) with smaller sizes finds a counterexample that is run",
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
    claims = _claims(kernel)
    known = {n: s for n, s in counterexample.sizes.items() if n in kernel.sizes}
    _demand_room(kernel, known)
    inputs = counterexample.inputs(kernel, variant)
    problem = prepare(kernel, (), {**known, **inputs}, None)
    name = counterexample.output or kernel.outputs[0].name
    numeric = kernel.operand(name).value_type
    try:
        wanted = compute(claims, kernel.operands, problem.inputs, problem.sizes)[name]
    except InputError as error:
        nothing = problem.blank(name)
        fault = KernelError(
            "replay",
            {"claim": claims.of(name)},
            f"the claim has no value at these sizes: {error.condition}",
            error.fix,
        )
        return Replay(counterexample, inputs, nothing, nothing, name, fault)
    expected = convert(wanted, numeric)
    tolerance = tolerance_of(claims.of(name).value, numeric)
    try:
        outputs = outputs_of(problem, get_target("bmg"), Trace(), executor)
    except (MachineError, KernelError) as fault:
        return Replay(counterexample, inputs, expected, expected, name, fault, tolerance)
    return Replay(counterexample, inputs, outputs[name], expected, name, None, tolerance)
