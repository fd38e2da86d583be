"""What is defined step by step: a state that follows from the one before.

A specification may define a name that is not an operand, in two lines: what it is at first, and
what it is one step on. Claims, and what loops hold, speak of it as of an operand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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
    leaves,
)
from pycute_xe.signatures import checked_fields

__all__ = ["Jump", "Recurrence", "Rules", "at_places", "unfolded", "without_last"]


@checked_fields
@dataclass(frozen=True, slots=True)
class Recurrence:
    """``name[0, …] = start`` and ``name[t+1, …] = step``, of ``name[t, …]`` among others.

    The first of ``indices`` counts the steps; ``extents`` are how many there are, and how far the
    others run. The name has one element more along the first than there are steps.
    """

    name: str
    indices: tuple[str, ...]
    extents: tuple[Index, ...]
    start: Expression
    step: Expression

    @property
    def operand(self) -> Operand:
        """The operand that it would be if it lay in memory."""
        steps, *others = self.extents
        return Operand(self.name, "f32", (steps + 1, *others))

    @property
    def every_step(self) -> Expression:
        """What a state is one step on; sums up to a step run as far as there are steps."""
        steps = self.extents[0]
        plain = not steps.is_constant
        return self.step if plain else _as_far(self.step, self.indices[0], steps.offset)

    def __str__(self) -> str:
        """The two lines."""
        time, *others = self.indices
        first, later = (",".join((i, *others)) for i in ("0", f"{time}+1"))
        pairs = [*zip(self.indices, self.extents, strict=True)]
        elements = [x for v in (self.start, self.step) for x in leaves(v) if isinstance(x, Element)]
        plain = {str(i) for x in elements if x.operand != self.name for i in x.at}
        bare = {i for i, n in pairs if i in plain and (n.is_simple or not n.terms)}
        spans = ", ".join(f"{i} < {n}" for i, n in pairs if i not in bare)
        step = f"{self.step} for {spans}" if spans else self.step
        return f"{self.name}[{first}] = {self.start}\n{self.name}[{later}] = {step}"


def at_places(value: Expression, names: Mapping[str, Index], inner: str = "") -> Expression:
    """Return an expression with other indices for names; ``inner`` marks what sums in it bind.

    >>> print(at_places(Element("A", (Index("m"),)), {"m": Index("m") + 1}))
    A[m+1]
    """
    match value:
        case Const() | Slot():
            return value
        case Element(operand, at):
            return Element(operand, tuple(i.substitute(names) for i in at))
        case Apply(function, arguments):
            return Apply(function, tuple(at_places(a, names, inner) for a in arguments))
        case Rounded(to, body):
            return Rounded(to, at_places(body, names, inner))
        case Where(index, below, then, otherwise):
            test = index.substitute(names), below.substitute(names)
            return Where(*test, *(at_places(x, names, inner) for x in (then, otherwise)))
        case Total(_, over, body):
            own = {name: Index(f"{name}{inner}") for name, _ in over}
            spans = tuple((f"{n}{inner}", extent.substitute(names)) for n, extent in over)
            return replace(value, over=spans, body=at_places(body, {**names, **own}, inner))


@checked_fields
@dataclass(frozen=True, slots=True)
class Jump:
    """``name[t+i, …] = value``: a state some steps on, of the one at ``t`` and what came between.

    The first two of ``indices`` are ``t``, a multiple of ``steps``, and ``i``. It is said of
    ``first`` steps, 0 or 1, up to ``steps``: with 1 as ``name[t+i+1, …] = value``. It is claimed,
    and never trusted: a verifier shows it by induction over ``i``.
    """

    name: str
    indices: tuple[str, ...]
    steps: int
    value: Expression
    first: int = field(default=0, metadata={"later": True})

    def __str__(self) -> str:
        """As an equation."""
        time, later, *others = self.indices
        place = ",".join((f"{time}+{later}" + "+1" * self.first, *others))
        return f"{self.name}[{place}] = {self.value} for {later} < {self.steps + 1 - self.first}"

    def at(self, time: Index, later: Index, at: tuple[Index, ...], mark: str = "") -> Expression:
        """Return what the state is ``later`` steps behind a time, at other places."""
        places = dict(zip(self.indices, (time, later - self.first, *at), strict=True))
        return at_places(_as_far(self.value, self.indices[1], self.steps), places, mark)


def _as_far(value: Expression, later: str, steps: int) -> Expression:
    """Return an expression whose sums up to ``later`` run as far as they may, under a condition."""
    match value:
        case Total("sum", ((name, extent),), body) if extent == Index(later):
            inside = Where(Index(name), extent, body, Const(0.0))
            return replace(value, over=((name, Index(None, steps)),), body=inside)
        case Apply(function, arguments):
            return Apply(function, tuple(_as_far(a, later, steps) for a in arguments))
        case Total(body=body):
            return replace(value, body=_as_far(body, later, steps))
        case _:
            return value


def without_last(value: Expression, later: str) -> Expression:
    """Return an expression whose sums up to ``later + 1`` are sums up to it, and a term more.

    >>> body = Element("x", (Index("j") + Index("t"),))
    >>> print(without_last(Total("sum", (("j", Index("i") + 1),), body), "i"))
    sum(j < i, x[j+t]) + x[i+t]
    """
    match value:
        case Total("sum", ((name, extent),), body) if extent == Index(later) + 1:
            last = at_places(body, {name: Index(later)}, "_last")
            return replace(value, over=((name, Index(later)),)) + last
        case Apply(function, arguments):
            return Apply(function, tuple(without_last(a, later) for a in arguments))
        case Total(body=body):
            return replace(value, body=without_last(body, later))
        case _:
            return value


@dataclass(frozen=True)
class Rules:
    """How states follow from those before: by steps, and by jumps where there are some."""

    defines: tuple[Recurrence, ...]
    jumps: tuple[Jump, ...] = ()

    def one(self, name: str) -> Recurrence | None:
        """Return the definition of a state, if it is one."""
        return next((one for one in self.defines if one.name == name), None)

    def jump(self, name: str) -> Jump | None:
        """Return how a state follows from one some steps before, if that is claimed."""
        return next((one for one in self.jumps if one.name == name), None)


def unfolded(value: Expression, rules: Rules, counters: frozenset[str]) -> Expression:
    """Return an expression in which states are replaced by what they follow from, where it shows.

    The state at 0 is the first one; that at ``t + 1`` follows from the one at ``t``, for ``t``
    among the ``counters``, which are never negative. One that jumps follows from the one at the
    last multiple of its steps before it.
    """
    return _Unfolding(rules, counters).value(value, 0) if rules.defines else value


@dataclass(frozen=True)
class _Unfolding:
    rules: Rules
    counters: frozenset[str]

    def value(self, value: Expression, depth: int) -> Expression:
        match value:
            case Element(name, at) if (one := self.rules.one(name)) is not None:
                return self.state(value, one, at, depth)
            case Const() | Slot() | Element():
                return value
            case Apply(function, arguments):
                return Apply(function, tuple(self.value(a, depth) for a in arguments))
            case Where(then=then, otherwise=otherwise):
                sides = (self.value(x, depth) for x in (then, otherwise))
                return Where(value.index, value.below, *sides)
            case Total(body=body) | Rounded(body=body):
                return replace(value, body=self.value(body, depth))

    def state(
        self, value: Element, one: Recurrence, at: tuple[Index, ...], depth: int
    ) -> Expression:
        """Return a state by one before, under names of their own for what sums bind."""
        time, mark = at[0], f"_{one.name}{depth}"
        if time == Index():
            return at_places(one.start, dict(zip(one.indices, (time, *at[1:]), strict=True)), mark)
        jump, later = self.rules.jump(one.name), int(time.offset > 0)
        if not is_counted(time - later, self.counters):
            return value
        if jump is not None:
            first = (time - later) // jump.steps * jump.steps
            from_here = first == time or later < jump.first
            return value if from_here else jump.at(first, time - first, at[1:], mark)
        if not later:
            return value
        places = dict(zip(one.indices, (time - 1, *at[1:]), strict=True))
        return self.value(at_places(one.every_step, places, mark), depth + 1)


def is_counted(index: Index, counters: frozenset[str]) -> bool:
    """Whether an index is never negative: a sum of multiples of counters and of their quotients."""
    inside = (atom.index if isinstance(atom, Quotient) else None for atom, _ in index.terms)
    parts = zip(index.terms, inside, strict=True)
    return index.offset >= 0 and all(
        scale > 0 and (is_counted(inner, counters) if inner is not None else atom in counters)
        for (atom, scale), inner in parts
    )
