"""What a kernel should compute: an expression in index notation for each output."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.converting import beyond
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
    check_depth,
    leaves,
)
from pycute_xe.kernel.spec.inside import (
    Situated,
    is_inside,
    never_negative,
    outside,
    situated_elements,
)
from pycute_xe.signatures import held_fields, typed

__all__ = ["Claim", "Specification", "without_value"]


@held_fields
@dataclass(frozen=True, slots=True)
class Claim:
    """``output[indices] = value`` for every index of the output."""

    output: str
    indices: tuple[str, ...]
    value: Expression

    def __post_init__(self) -> None:
        """Turn a number into an expression, and check how deep it nests."""
        object.__setattr__(self, "value", as_expression(self.value))
        check_depth("Claim", {"output": self.output}, self.value)

    def __str__(self) -> str:
        """As an equation."""
        return f"{self.output}[{','.join(self.indices)}] = {self.value}"


@held_fields
@dataclass(frozen=True, slots=True)
class Specification:
    """What each output should be, and what is taken for granted of the inputs.

    ``value`` is read in real arithmetic but for the roundings and accumulators it names. Elements
    outside an operand do not occur, nor what no run is given: scratch, and what an output held.
    Raises `KernelError` by `check` where it does not fit operands.

    >>> from pycute_xe.kernel.spec.expression import total
    >>> m, n, k = map(Index, "mnk")
    >>> spec = Specification((Claim("D", ("m", "n"), total(
    ...     "k", "K", Element("A", (m, k)) * Element("B", (k, n)))),))
    >>> print(spec)
    D[m,n] = sum(k, A[m,k]*B[k,n])
    """

    claims: tuple[Claim, ...]
    assumes: tuple[str, ...] = ()

    @typed
    def of(self, output: str) -> Claim:
        """Return the claim about an output; `KernelError` for an output without one."""
        for claim in self.claims:
            if claim.output == output:
                return claim
        raise KernelError(
            "computes", {"output": output}, f"nothing is claimed of {output}", "add a claim"
        )

    @typed
    def check(self, operands: tuple[Operand, ...]) -> None:
        """Check that every output has one claim, and every element as many indices as modes."""
        known = {operand.name: operand for operand in operands}
        outputs = [name for name, operand in known.items() if operand.role in ("out", "inout")]
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
    if isinstance(claim.value, Const) and beyond(claim.value.value, output.value_type):
        wrong = f"{output.value_type} has no number {claim.value}"
        raise _unfit(claim, wrong, "claim a number that the output's type holds")
    for leaf in leaves(claim.value):
        if isinstance(leaf, Slot):
            raise _unfit(claim, f"{leaf} is a fragment", "claims speak of operands")
    for one in situated_elements(claim.value, tuple(ranges.items())):
        _check_given(claim, one, known)


def _check_given(claim: Claim, one: Situated, known: dict[str, Operand]) -> None:
    """Refuse an element that has no value: that no run is given, or outside its operand."""
    operand = known[one.element.operand]
    wrong = without_value(one.element, operand)
    if wrong:
        raise _unfit(claim, *wrong)
    if is_inside(one, operand.modes):
        return
    point = outside(one, operand.modes)
    if point is not None:
        where = ", ".join(f"{name} = {value}" for name, value in point.items())
        wrong = f"{one} lies outside {operand.name} where {where}"
        fix = "guard it with a condition, as Where(m + 1, M, A[m+1], 0), or shorten the sum"
        raise _unfit(claim, wrong, fix)


def without_value(element: Element, operand: Operand) -> tuple[str, str] | None:
    """Return why a run begins without a value of an element, and the way out; or None.

    >>> without_value(Element("D", (Index("m"),)), Operand("D", "f32", ("M",), role="out"))[0]
    'D[m] has no value before the kernel stores it'
    """
    wrong = f"{element} has no value before the kernel stores it"
    fixes = {
        "scratch": "claim what the outputs should be in terms of inputs",
        "out": 'declare it with role="inout", or claim in terms of inputs',
    }
    return (wrong, fixes[operand.role]) if operand.role in fixes else None


def _check_value(
    claim: Claim, value: Expression, bound: dict[str, Index], known: dict[str, Operand]
) -> None:
    """Check the names, numbers and ranges of indices; ``bound`` says how far each one runs."""
    inner: tuple[Expression, ...] = ()
    match value:
        case Element():
            _check_element(claim, value, bound, known)
        case Total(_, over, body):
            taken = {name for name, _ in over} & (bound.keys() | _sizes(known))
            if taken:
                raise _unfit(claim, f"{sorted(taken)[0]} is bound twice", "rename it")
            _check_names(claim, tuple(extent for _, extent in over), bound, known)
            _check_value(claim, body, bound | dict(over), known)
        case Apply(_, arguments):
            inner = arguments
        case Rounded(_, body):
            inner = (body,)
        case Where(index, below, then, otherwise):
            _check_names(claim, (index, below), bound, known)
            inner = (then, otherwise)
        case Const() | Slot():
            return
    for part in inner:
        _check_value(claim, part, bound, known)


def _check_element(
    claim: Claim, value: Element, bound: dict[str, Index], known: dict[str, Operand]
) -> None:
    operand = known.get(value.operand)
    if operand is None or len(operand.modes) != len(value.at):
        what = "is not an operand" if operand is None else f"has {len(operand.modes)} modes"
        raise _unfit(claim, f"{value.operand} {what}", "index it as it is declared")
    _check_names(claim, value.at, bound, known)
    for index, extent in zip(value.at, operand.modes, strict=True):
        runs = bound.get(str(index))
        if (
            runs is not None
            and runs != extent
            and not never_negative(extent - runs, tuple(bound.items()))
        ):
            wrong = f"{index} runs to {runs}, this mode of {value.operand} to {extent}"
            raise _unfit(claim, wrong, "index it by what runs as far")


def _check_names(
    claim: Claim, indices: tuple[Index, ...], bound: dict[str, Index], known: dict[str, Operand]
) -> None:
    """Refuse indices of names that nothing binds, and elements that are not integers."""
    for index in indices:
        free = index.names - bound.keys() - _sizes(known)
        if free:
            wrong = f"{sorted(free)[0]} is not bound"
            raise _unfit(claim, wrong, "sum over it, or use an extent of an operand")
        for looked in index.looked_up:
            operand = known.get(looked.operand)
            integers = operand is not None and operand.value_type.kind != "float"
            if operand is None or not integers or len(looked.at) != len(operand.modes):
                wrong = f"{looked} is not an integer of an operand"
                raise _unfit(claim, wrong, "look up an operand of integers, as it is declared")


def _sizes(known: dict[str, Operand]) -> set[str]:
    return {name for o in known.values() for mode in o.modes for name in mode.names}


def _unfit(claim: Claim, wrong: str, fix: str) -> KernelError:
    return KernelError("computes", {"claim": claim}, wrong, fix)
