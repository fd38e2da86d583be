"""What a kernel should compute: an expression in index notation for each output.

An element that a claim names must lie inside its operand for all sizes >= 1. An index is bounded
from below by a linear form: a quotient lies between two such forms. What is not shown that way is
tried at small sizes: a claim that names a place outside at all of them is refused. `verify` decides
the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice, product
from typing import TypeAlias

from pycute_xe.converting import beyond
from pycute_xe.errors import KernelError, plural
from pycute_xe.kernel.index import Index, Quotient
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
    parts,
)
from pycute_xe.kernel.spec.recurrences import Jump, Recurrence, Rules
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.table_checks import check_assumption
from pycute_xe.kernel.spec.tables import (
    Assumption,
)
from pycute_xe.signatures import checked_fields, typed
from pycute_xe.typing import glance, shown

__all__ = [
    "Guard",
    "Situated",
    "is_inside",
    "never_negative",
    "outside",
    "situated_elements",
    "AnyClaim",
    "Claim",
    "Specification",
    "without_value",
]


Guard: TypeAlias = "tuple[Index, Index]"
"""``index < below``."""

MOST_PROBLEMS, MOST_POINTS = 256, 256
"""Sizes, and points of each, that are tried."""


@dataclass(frozen=True)
class Situated:
    """An element with the ranges of the variables around it, and the conditions it is under.

    ``ranges`` are the variables with their extents, outermost first; of ``guards`` each holds.
    """

    element: Element
    ranges: tuple[tuple[str, Index], ...]
    guards: tuple[Guard, ...] = ()

    def __str__(self) -> str:
        """The element."""
        return str(self.element)


def situated_elements(value: Expression, ranges: tuple[tuple[str, Index], ...]) -> list[Situated]:
    """Return the elements that an expression names, operands that are looked up among them.

    >>> m = Index("m")
    >>> value = Where(m + 1, Index("M"), Element("A", (m + 1,)), Element("A", (m,)))
    >>> [(str(one), len(one.guards)) for one in situated_elements(value, (("m", Index("M")),))]
    [('A[m+1]', 1), ('A[m]', 1)]
    """
    return list(_situated(value, Situated(Element(""), ranges)))


def _situated(value: Expression, around: Situated) -> Iterator[Situated]:
    indices: tuple[Index, ...] = ()
    match value:
        case Element(_, at):
            indices = at
            if at:
                yield replace(around, element=value)
        case Total(_, over, body):
            indices = tuple(extent for _, extent in over)
            yield from _situated(body, replace(around, ranges=(*around.ranges, *over)))
        case Where(index, below, then, otherwise):
            indices = (index, below)
            sides = ((then, (index, below)), (otherwise, (below, index + 1)))
            for side, guard in sides:
                yield from _situated(side, replace(around, guards=(*around.guards, guard)))
        case _:
            for part in parts(value):
                yield from _situated(part, around)
    for index in indices:
        for looked in index.looked_up:
            yield replace(around, element=Element(looked.operand, looked.at))


def is_inside(one: Situated, extents: tuple[Index, ...]) -> bool:
    """Whether bounds show that an element lies inside, whatever the sizes.

    >>> m, inside = Index("m"), (("m", Index("M")),)
    >>> is_inside(Situated(Element("A", (m // 8,)), inside), (Index("M", 7) // 8,))
    True
    >>> is_inside(Situated(Element("A", (m + 1,)), inside), (Index("M"),))
    False
    """
    return all(
        _is_positive(index, one) and _is_positive(extent - index - 1, one)
        for index, extent in zip(one.element.at, extents, strict=True)
    )


def _is_positive(index: Index, one: Situated) -> bool:
    """Whether an index is 0 or more, alone or because a guard's difference is."""
    spare = [index, *(index - (below - guard - 1) for guard, below in one.guards)]
    return any(never_negative(i, one.ranges) for i in spare)


def never_negative(index: Index, ranges: tuple[tuple[str, Index], ...]) -> bool:
    """Whether bounds show that an index is 0 or more, where variables run from 0 to extents.

    >>> never_negative(Index("M") - 1 - Index("m"), (("m", Index("M")),))
    True
    """
    if index.looked_up:
        return False
    bound = frozenset(name for name, _ in ranges)
    form = _linear(index, Fraction(1), bound)
    for name, extent in reversed(ranges):
        scale = form.pop(name, Fraction(0))
        if scale < 0:
            if extent.looked_up:
                return False
            _add(form, _linear(extent - 1, scale, bound))
    while quotients := [atom for atom in form if isinstance(atom, Quotient)]:
        for atom in quotients:
            _add(form, _quotient(atom, form.pop(atom), frozenset()))
    offset = form.pop("", Fraction(0))
    # An integer above -1 is 0 or more.
    return all(scale >= 0 for scale in form.values()) and offset + sum(form.values()) > -1


Form: TypeAlias = "dict[str | Quotient, Fraction]"
"""Multiples of names and of quotients of sizes; the constant has no name."""


def _linear(index: Index, scale: Fraction, bound: frozenset[str]) -> Form:
    """Return a form that is at most ``scale * index``, quotients of variables resolved."""
    form: Form = {"": scale * index.offset}
    for atom, times in index.terms:
        own = scale * times
        if isinstance(atom, Quotient):
            inner = atom.index.names & bound
            _add(form, _quotient(atom, own, bound) if inner else {atom: own})
        elif isinstance(atom, str):
            _add(form, {atom: own})
    return form


def _quotient(atom: Quotient, scale: Fraction, bound: frozenset[str]) -> Form:
    """Return a form that is at most a multiple of a quotient, between two exact ones."""
    form = _linear(atom.index, scale / atom.divisor, bound)
    if scale > 0:
        _add(form, {"": -scale * (atom.divisor - 1) / atom.divisor})
    return form


def _add(form: Form, more: Form) -> None:
    for name, scale in more.items():
        form[name] = form.get(name, Fraction(0)) + scale


def outside(one: Situated, extents: tuple[Index, ...]) -> dict[str, int] | None:
    """Return sizes and variables at which an element lies outside, if it does at all small sizes.

    At sizes of 1 indices agree that differ elsewhere: those are left out where others are tried.
    What has a value at some sizes may be asked for those alone, and `verify` says where it has not.

    >>> m = Index("m")
    >>> outside(Situated(Element("A", (m + 1,)), (("m", Index("M")),)), (Index("M"),))
    {'M': 2, 'm': 1}
    """
    pairs = zip(one.element.at, extents, strict=True)
    points = (_outside_mode(one, index, extent) for index, extent in pairs)
    return next((point for point in points if point is not None), None)


def _outside_mode(one: Situated, index: Index, extent: Index) -> dict[str, int] | None:
    guards = [part for guard in one.guards for part in guard]
    needed = set[str]().union(*(part.names for part in (index, extent, *guards)))
    ranges: list[tuple[str, Index]] = []
    for name, count in reversed(one.ranges):
        if name in needed:
            ranges.insert(0, (name, count))
            needed |= count.names
    every = (index, extent, *guards, *(count for _, count in ranges))
    if any(part.looked_up for part in every):
        return None
    sizes = sorted(needed - {name for name, _ in ranges})
    steps = sorted({1, *(d for part in every for d in _steps(part))})
    some = sorted({n for step in steps for n in (step - 1, step, step + 1, 2 * step + 1) if n > 1})
    first: dict[str, int] | None = None
    for problem in islice(product(some, repeat=len(sizes)), MOST_PROBLEMS):
        env = dict(zip(sizes, problem, strict=True))
        points = islice(_points(tuple(ranges), env, steps), MOST_POINTS)
        wrong = (
            point
            for point in points
            if all(left.at(point) < right.at(point) for left, right in one.guards)
            and not 0 <= index.at(point) < extent.at(point)
        )
        witness = next(wrong, None)
        if witness is None:
            return None
        first = first or witness
    return first


def _steps(index: Index) -> Iterator[int]:
    """Yield the constants by which an index changes its way: divisors and offsets."""
    yield abs(index.offset)
    for atom, _ in index.terms:
        if isinstance(atom, Quotient):
            yield atom.divisor
            yield from _steps(atom.index)


def _points(
    ranges: tuple[tuple[str, Index], ...], env: dict[str, int], steps: list[int]
) -> Iterator[dict[str, int]]:
    """Yield points of nested ranges: the first and the last of each, and those around steps."""
    if not ranges:
        yield env
        return
    (name, extent), rest = ranges[0], ranges[1:]
    count = extent.at(env)
    near = {n + d for n in (0, *steps) for d in (-1, 0, 1)} | {count - 1, count - 2}
    for value in sorted(n for n in near if 0 <= n < count):
        yield from _points(rest, {**env, name: value}, steps)


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


AnyClaim: TypeAlias = Claim | Scatter
"""What is claimed of an output."""


@checked_fields
@dataclass(frozen=True, slots=True)
class Specification:
    """What each output should be, and what is taken for granted of the inputs.

    ``value`` is read in real arithmetic but for the roundings and accumulators it names. Elements
    outside an operand do not occur, nor what no run is given: scratch, and what an output held.
    Without claims it says what is taken for granted, and no more.
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
    def check(self, operands: tuple[Operand, ...]) -> None:
        """Check that every output has one claim, and every element as many indices as modes."""
        known = {operand.name: operand for operand in operands}
        _check_defined(self, known)
        for assumption in self.tables:
            check_assumption(assumption, known)
        outputs = [name for name, operand in known.items() if operand.role in ("out", "inout")]
        claimed = [claim.output for claim in self.claims]
        if claimed and sorted(outputs) != sorted(claimed):
            raise KernelError(
                "computes",
                {"outputs": ", ".join(outputs), "claims": ", ".join(claimed)},
                "each output needs exactly one claim",
                "claim each operand that is written, once",
            )
        known |= {one.name: one.operand for one in self.defines}
        for claim in self.claims:
            _check_claim(claim, known)

    @property
    def rules(self) -> Rules:
        """How states follow from those before."""
        return Rules(self.defines, self.jumps)

    def __str__(self) -> str:
        """One equation a line, and the assumptions."""
        lines = [*map(str, self.defines), *map(str, self.jumps), *map(str, self.claims)]
        return "\n".join([*lines, *(f"assuming {x}" for x in (*self.assumes, *self.tables))])


def _check_defined(specification: Specification, known: dict[str, Operand]) -> None:
    """Refuse definitions of names that are taken, and elements outside their operands."""
    taken = [one.name for one in specification.defines]
    others = {one.name for one in specification.defines if known.get(one.name) != one.operand}
    twice = next((n for n in taken if taken.count(n) > 1 or (n in known and n in others)), None)
    if twice is not None:
        wrong = f"{twice} is defined, and stands for something else"
        raise KernelError("computes", {"name": twice}, wrong, "use another name")
    inside = known | {one.name: one.operand for one in specification.defines}
    for one in specification.defines:
        ranges = tuple(zip(one.indices, one.extents, strict=True))
        for value, bound in ((one.start, ranges[1:]), (one.step, ranges)):
            line = Claim(one.name, one.indices, value)
            _check_value(line, value, dict(bound), inside)
            for element in situated_elements(value, bound):
                _check_given(line, element, inside)
    for jump in specification.jumps:
        _check_jump(jump, specification, inside)


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
    ranges = (steps + 1, Index(None, jump.steps + 1), *extents)
    _check_value(line, jump.value, dict(zip(jump.indices, ranges, strict=True)), known)


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
    for one in situated_elements(claim.value, tuple(ranges.items())):
        _check_given(claim, one, known)


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
