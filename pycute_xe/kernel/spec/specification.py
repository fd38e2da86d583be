"""What a kernel should compute: an expression in index notation for each output."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pycute_xe.converting import beyond
from pycute_xe.errors import KernelError, plural
from pycute_xe.identifiers import name_fault
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
from pycute_xe.kernel.spec.places import (
    Situated,
    is_inside,
    is_positive,
    never_negative,
    outside,
    situated_elements,
)
from pycute_xe.kernel.spec.recurrences import Jump, Recurrence, Rules
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.table_operands import check_tables, drawn
from pycute_xe.kernel.spec.tables import Assumption, Tickets
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import checked_fields, typed
from pycute_xe.typing import glance, shown

__all__ = [
    "AnyClaim",
    "Claim",
    "Overflow",
    "Specification",
    "WRAPPING",
    "without_value",
]


@checked_fields
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
        for name in self.indices:
            if (fault := name_fault(name)) is not None:
                raise KernelError("Claim", {"output": self.output, "index": name}, *fault)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that stand for all values."""
        return self.indices

    @property
    def place(self) -> str:
        """The place, as text."""
        return ",".join(self.indices)

    def __str__(self) -> str:
        """As an equation."""
        return f"{self.output}[{self.place}] = {self.value}"


Overflow: TypeAlias = Literal["assumed", "wraps"]
"""Whether integers of 32 bits and more are assumed not to overflow, or wrap as registers do."""

WRAPPING = "integers wrap"
"""The line of a specification that says so."""

AnyClaim: TypeAlias = Claim | Scatter
"""What is claimed of an output."""


@checked_fields
@dataclass(frozen=True, slots=True)
class Specification:
    """What each output should be, and what is taken for granted of the inputs.

    ``value`` is read in real arithmetic but for the roundings and accumulators it names. Elements
    outside an operand do not occur, nor what no run is given: scratch, and what an output held.
    Without claims it says what is taken for granted, and no more. Inputs may be ``given`` as
    elements of what is defined, or of other inputs: what another kernel claims. Roundings to
    ``real`` types are left out of what is compared. ``overflow`` says of integers of 32 bits and
    more that it is "assumed" not to happen, or that what is computed "wraps": integers are computed
    in 64 bits, and an accumulator or an output keeps the lowest bits, as registers do.
    Raises `KernelError` by `check` where it does not fit operands.

    >>> from pycute_xe.kernel.spec.expression import total
    >>> m, n, k = map(Index, "mnk")
    >>> spec = Specification((Claim("D", ("m", "n"), total(
    ...     "k", "K", Element("A", (m, k)) * Element("B", (k, n)))),))
    >>> print(spec)
    D[m,n] = sum(k, A[m,k]*B[k,n])
    """

    claims: tuple[AnyClaim, ...]
    assumes: tuple[str, ...] = ()
    defines: tuple[Recurrence, ...] = field(default=(), metadata={"later": True})
    tables: tuple[Assumption, ...] = field(default=(), metadata={"later": True})
    jumps: tuple[Jump, ...] = field(default=(), metadata={"later": True})
    given: tuple[Claim, ...] = field(default=(), metadata={"later": True})
    tickets: tuple[Tickets, ...] = field(default=(), metadata={"later": True})
    real: tuple[Numeric, ...] = field(default=(), metadata={"later": True})
    overflow: Overflow = field(default="assumed", metadata={"later": True})

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The kind and the first line of the text."""
        return glance(self)

    @typed
    def of(self, output: str) -> AnyClaim:
        """Return the claim about an output; `KernelError` for an output without one."""
        claim = self.known(output)
        if claim is not None:
            return claim
        raise KernelError(
            "computes", {"output": output}, f"nothing is claimed of {output}", "add a claim"
        )

    @typed
    def known(self, output: str) -> AnyClaim | None:
        """Return the claim about an output, if there is one."""
        return next((claim for claim in self.claims if claim.output == output), None)

    @typed
    def without(self, assumption: Assumption) -> Specification:
        """Return what is left where something is not assumed of tables.

        Raises `KernelError` for what was not assumed.
        """
        left = tuple(one for one in self.tables if one != assumption)
        if left == self.tables:
            wrong = f"{assumption} is not assumed"
            fix = "leave one of its `tables` out"
            raise KernelError("without", {"assumption": assumption}, wrong, fix)
        return replace(self, tables=left)

    @typed
    def check(self, operands: tuple[Operand, ...]) -> None:
        """Check that every output has one claim, and every element as many indices as modes."""
        known = {operand.name: operand for operand in operands}
        _check_defined(self, known)
        for assumption in self.tables:
            check_tables(assumption, known)
        outputs = [name for name, operand in known.items() if operand.role in ("out", "inout")]
        claimed = [claim.output for claim in self.claims] + [one.operand for one in self.tickets]
        if claimed and sorted(outputs) != sorted(claimed):
            raise KernelError(
                "computes",
                {"outputs": ", ".join(outputs), "claims": ", ".join(claimed)},
                "each output needs exactly one claim",
                "claim each operand that is written, once",
            )
        known |= {one.name: one.operand for one in self.defines}
        known |= {one.operand: drawn(one, known) for one in self.tickets}
        for claim in self.given:
            _check_input(claim, self, operands)
        for claim in (*self.given, *self.claims):
            _check_claim(claim, known)
        for kind in self.real:
            if kind.kind != "float":
                wrong, fix = f"roundings to {kind} are not those of real numbers", "name floats"
                raise KernelError("computes", {"real": kind}, wrong, fix)

    @property
    def granted(self) -> tuple[str, ...]:
        """What is taken for granted of inputs, in words."""
        return (*self.assumes, *(f"{claim.output} is given as {claim}" for claim in self.given))

    @property
    def rules(self) -> Rules:
        """How states follow from those before."""
        return Rules(self.defines, self.jumps)

    def __str__(self) -> str:
        """One equation a line, and the assumptions."""
        lines = [*map(str, self.defines), *map(str, self.jumps)]
        lines += [f"given {claim}" for claim in self.given]
        lines += [*map(str, self.tickets), *map(str, self.claims)]
        lines += [f"without roundings to {kind}" for kind in self.real]
        lines += [WRAPPING] if self.overflow == "wraps" else []
        return "\n".join([*lines, *(f"assuming {x}" for x in (*self.assumes, *self.tables))])


def _check_defined(specification: Specification, known: dict[str, Operand]) -> None:
    """Refuse definitions of names that are taken, and elements outside their operands."""
    taken = [one.name for one in specification.defines]
    others = {one.name for one in specification.defines if known.get(one.name) != one.operand}
    twice = next((n for n in taken if taken.count(n) > 1 or (n in known and n in others)), None)
    if twice is not None:
        wrong = f"{twice} is defined, and stands for something else"
        raise KernelError("computes", {"name": twice}, wrong, "use another name")
    inside = dict(known)  # and what is defined before it, so that none follows from itself
    for one in specification.defines:
        inside[one.name] = one.operand
        ranges = tuple(zip(one.indices, one.extents, strict=True))
        for value, bound in ((one.start, ranges[1:]), (one.step, ranges)):
            line = Claim(one.name, one.indices, value)
            _check_value(line, value, dict(bound), inside)
            for element in situated_elements(value, bound):
                _check_given(line, element, inside)
                _check_earlier(line, element, dict(bound))
    for jump in specification.jumps:
        _check_jump(jump, specification, inside)


def _check_earlier(line: Claim, one: Situated, bound: dict[str, Index]) -> None:
    """Refuse a state that follows from itself, or from one behind it."""
    name, time = line.output, line.indices[0]
    if one.element.operand != name:
        return
    if time not in bound or not is_positive(Index(time) - one.element.at[0], one):
        wrong = f"{one} is not known to be one of the states before it"
        raise _unfit(line, wrong, f"define what {name} is at {time}+1 by {name} up to {time}")


def _check_jump(jump: Jump, specification: Specification, known: dict[str, Operand]) -> None:
    """Refuse what is claimed of another name than a state, and elements outside their operands."""
    line = Claim(jump.name, jump.indices, jump.value)
    one = specification.rules.one(jump.name)
    if jump.steps < 1:
        wrong = f"it is claimed of {plural(max(jump.steps, 0), 'step')}"
        raise _unfit(line, wrong, "claim it of one step or more")
    if one is None or len(jump.indices) != len(one.indices) + 1:
        wrong = f"{jump.name} is not a state of {plural(len(jump.indices) - 1, 'mode')}"
        raise _unfit(line, wrong, "define it first, by what it is at 0 and one step on")
    if sum(other.name == jump.name for other in specification.jumps) > 1:
        raise _unfit(line, f"what {jump.name} is steps on is said twice", "say it once")
    steps, *extents = one.extents
    ranges = (steps + 1, Index(None, jump.steps + 1 - jump.first), *extents)
    _check_value(line, jump.value, dict(zip(jump.indices, ranges, strict=True)), known)


def _check_input(claim: Claim, specification: Specification, operands: tuple[Operand, ...]) -> None:
    """Refuse what is given of anything but an input, or as what follows from such inputs."""
    roles = {operand.name: operand.role for operand in operands}
    given = {other.output for other in specification.given}
    if roles.get(claim.output) != "in":
        wrong, fix = f"{claim.output} is not an input", "say what inputs are, and claim outputs"
        raise _unfit(claim, wrong, fix)
    drawn = {one.operand for one in specification.tickets}
    if not isinstance(claim.value, Element) or claim.value.operand in drawn:
        wrong = f"{claim.output} is not given as an element of what is defined, or of an input"
        raise _unfit(claim, wrong, 'define it step by step, and write "X[m] = S[m]"')
    if circle := sorted(given & set(_followed(claim.value, specification))):
        wrong = f"{claim.output} is given as what follows from {circle[0]}, which is given itself"
        raise _unfit(claim, wrong, "give it as what other inputs are, or follows from these")
    if sum(other.output == claim.output for other in specification.given) > 1:
        raise _unfit(claim, f"what {claim.output} is is given twice", "say it once")


def _followed(value: Expression, specification: Specification) -> list[str]:
    """Return the operands and states of an expression, and those from which these follow."""
    out: list[str] = []
    values = [value]
    for one in values:
        for name in dict.fromkeys(x.element.operand for x in situated_elements(one, ())):
            if name not in out:
                out.append(name)
                states = (s for s in specification.defines if s.name == name)
                values += [x for s in states for x in (s.start, s.step)]
    return out


def _check_claim(claim: AnyClaim, known: dict[str, Operand]) -> None:
    output = known[claim.output]
    match claim:
        case Claim(_, indices):
            rank = len(output.modes)
            if len(indices) != rank or len(set(indices)) != rank:
                raise _unfit(claim, f"{claim.output} has {rank} modes", "give it an index for each")
            ranges = dict(zip(indices, output.modes, strict=True))
        case Scatter():
            ranges = _check_scatter(claim, known)
    _check_value(claim, claim.value, ranges, known)
    if isinstance(claim.value, Const) and beyond(claim.value.value, output.value_type):
        wrong = f"{output.value_type} has no number {claim.value}"
        raise _unfit(claim, wrong, "claim a number that the output's type holds")
    for leaf in leaves(claim.value):
        if isinstance(leaf, Slot):
            raise _unfit(claim, f"{leaf} is a fragment", "claims speak of operands")
    inside = set[Situated]()
    for one in situated_elements(claim.value, tuple(ranges.items())):
        alone = _alone(one)
        if alone not in inside:
            _check_given(claim, one, known)
            inside.add(alone)


def _alone(one: Situated) -> Situated:
    """Return an element where only the variables are bound that its place depends on."""
    names = {n for index in one.element.at for n in index.names}
    names |= {n for pair in one.guards for index in pair for n in index.names}
    kept: list[tuple[str, Index]] = []
    for name, extent in reversed(one.ranges):
        if name in names:
            kept.append((name, extent))
            names |= extent.names
    return replace(one, ranges=tuple(reversed(kept)))


def _check_scatter(claim: Scatter, known: dict[str, Operand]) -> dict[str, Index]:
    """Check the places that are named; return how far variables run."""
    ranges = dict(claim.over)
    if len(claim.at) != len(known[claim.output].modes):
        rank = len(known[claim.output].modes)
        raise _unfit(claim, f"{claim.output} has {rank} modes", "give it an index for each")
    if len(ranges) != len(claim.over) or ranges.keys() & _sizes(known):
        raise _unfit(claim, "two of its variables have one name", "rename one")
    for number, (_, extent) in enumerate(claim.over):
        _check_names(claim, (extent,), dict(claim.over[:number]), known)
    pairs = [index for pair in claim.when for index in pair]
    _check_names(claim, (*claim.at, *pairs), ranges, known)
    idle = ranges.keys() - {name for index in claim.at for name in index.names}
    if idle:
        wrong = f"{sorted(idle)[0]} names no place, so that each is named again and again"
        raise _unfit(claim, wrong, "leave it out, or sum over it")
    for index in (*claim.at, *pairs, *ranges.values()):
        for looked in index.looked_up:
            _check_given(claim, Situated(Element(looked.operand, looked.at), claim.over), known)
    return ranges


def _check_given(claim: AnyClaim, one: Situated, known: dict[str, Operand]) -> None:
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
    claim: AnyClaim,
    value: Expression,
    bound: dict[str, Index],
    known: dict[str, Operand],
    under: tuple[tuple[str, Index], ...] = (),
) -> None:
    """Check the names, numbers and ranges of indices; ``bound`` says how far each one runs.

    ``under`` are the ends that conditions around it give to some.
    """
    inner: tuple[Expression, ...] = ()
    match value:
        case Element():
            _check_element(claim, value, bound, known, under)
        case Total(_, over, body):
            taken = {name for name, _ in over} & (bound.keys() | _sizes(known))
            if taken:
                raise _unfit(claim, f"{sorted(taken)[0]} is bound twice", "rename it")
            _check_names(claim, tuple(extent for _, extent in over), bound, known)
            _check_value(claim, body, bound | dict(over), known, under)
        case Apply(_, arguments):
            inner = arguments
        case Rounded(_, body):
            inner = (body,)
        case Where(index, below, then, otherwise):
            _check_names(claim, (index, below), bound, known)
            _check_value(claim, then, bound, known, (*under, (str(index), below)))
            inner = (otherwise,)
        case Const() | Slot():
            return
    for part in inner:
        _check_value(claim, part, bound, known, under)


def _check_element(
    claim: AnyClaim,
    value: Element,
    bound: dict[str, Index],
    known: dict[str, Operand],
    under: tuple[tuple[str, Index], ...],
) -> None:
    operand = known.get(value.operand)
    if operand is None or len(operand.modes) != len(value.at):
        what = "is not an operand" if operand is None else f"has {len(operand.modes)} modes"
        raise _unfit(claim, f"{value.operand} {what}", "index it as it is declared")
    _check_names(claim, value.at, bound, known)
    for index, extent in zip(value.at, operand.modes, strict=True):
        runs = bound.get(str(index))
        if runs is None:
            continue
        ends = (runs, *(end for name, end in under if name == str(index)))
        left = (extent - end for end in ends if end != extent and not end.looked_up)
        if len(ends) == sum(not never_negative(x, tuple(bound.items())) for x in left):
            wrong = f"{index} runs to {runs}, this mode of {value.operand} to {extent}"
            raise _unfit(claim, wrong, "index it by what runs as far")


def _check_names(
    claim: AnyClaim, indices: tuple[Index, ...], bound: dict[str, Index], known: dict[str, Operand]
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


def _unfit(claim: AnyClaim, wrong: str, fix: str) -> KernelError:
    return KernelError("computes", {"claim": claim}, wrong, fix)
