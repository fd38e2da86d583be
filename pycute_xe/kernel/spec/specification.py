"""Floor 7: what a kernel should compute: an expression in index notation for each output."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    Total,
    Where,
    as_expression,
    leaves,
)

__all__ = ["Claim", "Specification"]


@dataclass(frozen=True, slots=True)
class Claim:
    """``output[indices] = value`` for every index of the output."""

    output: str
    indices: tuple[str, ...]
    value: Expression

    def __post_init__(self) -> None:
        """Turn a number into an expression."""
        object.__setattr__(self, "value", as_expression(self.value))

    def __str__(self) -> str:
        """As an equation."""
        return f"{self.output}[{','.join(self.indices)}] = {self.value}"


@dataclass(frozen=True, slots=True)
class Specification:
    """What each output should be, and what is taken for granted of the inputs.

    ``value`` is read in real arithmetic but for the roundings and accumulators it names. Elements
    outside an operand do not occur. Raises `KernelError` by `check` where it does not fit operands.

    >>> from pycute_xe.kernel.spec.expression import total
    >>> m, n, k = map(Index, "mnk")
    >>> spec = Specification((Claim("D", ("m", "n"), total(
    ...     "k", "K", Element("A", (m, k)) * Element("B", (k, n)))),))
    >>> print(spec)
    D[m,n] = sum(k, A[m,k]*B[k,n])
    """

    claims: tuple[Claim, ...]
    assumes: tuple[str, ...] = ()

    def of(self, output: str) -> Claim:
        """Return the claim about an output; `KernelError` where there is none."""
        for claim in self.claims:
            if claim.output == output:
                return claim
        raise KernelError(
            "computes", {"output": output}, f"nothing is claimed of {output}", "add a claim"
        )

    def check(self, operands: Iterable[Operand]) -> None:
        """Check that every output has one claim, and every element as many indices as modes."""
        known = {operand.name: operand for operand in operands}
        outputs = [name for name, operand in known.items() if operand.written]
        claimed = [claim.output for claim in self.claims]
        if sorted(outputs) != sorted(claimed):
            raise KernelError(
                "computes",
                {"outputs": ", ".join(outputs), "claims": ", ".join(claimed)},
                "each output needs exactly one claim",
                "claim each operand that is written, once",
            )
        for claim in self.claims:
            _check_claim(claim, known)

    def __str__(self) -> str:
        """One equation a line, and the assumptions."""
        lines = [str(claim) for claim in self.claims]
        return "\n".join([*lines, *(f"assuming {text}" for text in self.assumes)])


def _check_claim(claim: Claim, known: dict[str, Operand]) -> None:
    rank = len(known[claim.output].modes)
    if len(claim.indices) != rank or len(set(claim.indices)) != rank:
        raise _unfit(claim, f"{claim.output} has {rank} modes", "give it an index for each")
    output = known[claim.output]
    ranges = dict(zip(claim.indices, output.modes, strict=True))
    _check_value(claim, claim.value, ranges, known)
    for leaf in leaves(claim.value):
        if isinstance(leaf, Slot):
            raise _unfit(claim, f"{leaf} is a fragment", "claims speak of operands")


def _check_value(
    claim: Claim, value: Expression, bound: dict[str, Index], known: dict[str, Operand]
) -> None:
    """Check the names, numbers and ranges of indices; ``bound`` says how far each one runs."""
    sizes = {n for o in known.values() for mode in o.modes for n in mode.names}
    if isinstance(value, Element):
        operand = known.get(value.operand)
        if operand is None or len(operand.modes) != len(value.at):
            what = "is not an operand" if operand is None else f"has {len(operand.modes)} modes"
            raise _unfit(claim, f"{value.operand} {what}", "index it as it is declared")
        for index, extent in zip(value.at, operand.modes, strict=True):
            free = index.names - bound.keys() - sizes
            if free:
                raise _unfit(claim, f"{sorted(free)[0]} is not bound", "sum over it")
            runs = bound.get(str(index))
            if runs is not None and len(index.names) == 1 and str(index) in index.names and runs != extent:
                wrong = f"{index} runs to {runs}, this mode of {value.operand} to {extent}"
                raise _unfit(claim, wrong, "index it by what runs as far")
    elif isinstance(value, Total):
        twice = {name for name, _ in value.over} & (bound.keys() | sizes)
        if twice:
            raise _unfit(claim, f"{sorted(twice)[0]} is bound twice", "rename it")
        _check_value(claim, value.body, bound | dict(value.over), known)
    elif isinstance(value, Apply):
        for argument in value.arguments:
            _check_value(claim, argument, bound, known)
    elif isinstance(value, Rounded):
        _check_value(claim, value.body, bound, known)
    elif isinstance(value, Where):
        _check_value(claim, value.then, bound, known)
        _check_value(claim, value.otherwise, bound, known)
    elif not isinstance(value, (Const, Slot)):
        raise _unfit(claim, f"{type(value).__name__} has no meaning here", "use expressions")


def _unfit(claim: Claim, wrong: str, fix: str) -> KernelError:
    return KernelError("computes", {"claim": claim}, wrong, fix)
