"""What is shown by induction: what loops claim to hold, and what states are some steps on.

A state is zero outside of its extents, as every operand is, and follows from the one before inside
of them alone: beyond its last step, or its last column, nothing is claimed of it but that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.contents import Promise, combined
from pycute_xe.holding.nodes import NoClosedFormError, Node, loops_in_the_way
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    Total,
    Where,
)
from pycute_xe.kernel.spec.places import Situated, is_positive
from pycute_xe.kernel.spec.recurrences import (
    Jump,
    Recurrence,
    Rules,
    at_places,
    unfolded,
    without_last,
)
from pycute_xe.numeric import as_numeric
from pycute_xe.verifying.comparison import compare
from pycute_xe.verifying.formula import Bounds, Formula, Place, conditions_of
from pycute_xe.verifying.guards import Guard
from pycute_xe.verifying.matching import Difference, Extents, mentions
from pycute_xe.verifying.points import Space, registers
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Region, conjunction
from pycute_xe.verifying.translation import claimed, formula_of

__all__ = ["Induction"]

CASES = 2
"""Conditions of a claim by whose cases a trip is looked at."""
F32 = as_numeric("f32")


@dataclass(frozen=True, eq=False)
class Induction:
    """The steps of a kernel's inductions; ``real`` takes in what was read as real arithmetic."""

    kernel: Kernel
    space: Space
    extents: Extents
    least: float
    real: set[str]

    @property
    def rules(self) -> Rules:
        """How states follow from those before."""
        return self.kernel.computes.rules if self.kernel.computes is not None else Rules(())

    def jumps(self) -> None:
        """Show what states are said to be some steps on. Raises `UndecidableError` otherwise."""
        for number, jump in enumerate(self.rules.jumps):
            self.jump(jump, self.rules.jumps[:number])

    def jump(self, jump: Jump, shown: tuple[Jump, ...]) -> None:
        """Show that a jump of no steps changes nothing, and that one step more is a step.

        Later states follow from all before them, of which the jump is supposed, and from others by
        the jumps that are ``shown``.
        """
        one = self.rules.one(jump.name)
        if one is None:
            raise undecided(f"{jump.name} is not defined", "define it")
        names = {name: f"x_{number}" for number, name in enumerate(jump.indices)}
        time, later, *others = names.values()
        end, *extents = self.extents[jump.name]
        inside = [f"0 <= {time}", f"0 <= {later} < {jump.steps}"]
        inside += [f"{jump.steps}*{time} + {later} + 1 < {end}"]
        inside += [f"0 <= {i} < {extent}" for i, extent in zip(others, extents, strict=True)]
        text = " and ".join([*self.space.sizes, *inside])
        points = Region.where((*self.space.naming.sizes, *names.values()), text)
        for pair in _Steps(self.rules, jump, one, shown).sides():
            try:
                ours, theirs = (self._followed(points, side, names) for side in pair)
                wrong = compare(points, ours, theirs, self.extents, self.least)
            except UndecidableError as error:
                raise _untold(jump, error.condition, loops_in_the_way(error)) from error
            if wrong is not None:
                raise _untold(jump, wrong.words)

    def _followed(
        self, points: Region, ways: tuple[Expression, ...], names: Mapping[str, str]
    ) -> Formula:
        """Return the last of several ways to say one thing: they are, as all states lie inside."""
        formulas = [claimed(value, self.space.naming, names, F32) for value in ways]
        for formula in formulas:
            self._demand_inside(points, formula)
        return formulas[-1]

    def _demand_inside(self, points: Region, formula: Formula) -> None:
        """Raise `UndecidableError` where a state that counts lies outside of its extents."""
        states = {one.name for one in self.rules.defines}
        for place, over, guards in _places(formula, (), ()):
            if place.operand not in states:
                continue
            spans = (f"{b.low} <= {b.name} < {b.high}" for b in over)
            every = points.to((*points.names, *(b.name for b in over)))
            every = every.within(conjunction((*spans, *guards)))
            limits = zip(place.at, self.extents[place.operand], strict=True)
            within = tuple(f"0 <= {text} < {extent}" for text, extent in limits)
            if not (every - every.within(conjunction(within))).is_empty:
                raise undecided(f"{place.operand} is claimed outside of its extents", "sum less")

    # ------------------------------------------------------------ loops

    def kept(self, promise: Promise) -> None:
        """Compare what a loop claims with what is so. Raises `UndecidableError` where they differ.

        What is shown with a wrong claim is worth nothing: so nothing is shown.
        """
        forms: list[tuple[Node, ...]] = []

        def together(nodes: tuple[Node, ...]) -> Node:
            forms.append(nodes)
            return nodes[0]

        contents = (promise.actual, promise.claimed, promise.plain, promise.entry)
        every = combined(promise.actual.count, contents, together)
        for part, nodes in zip(every.parts, forms, strict=True):
            view = registers(self.kernel.subgroups, part.elements.size)
            kind = self.kernel.fragment(promise.fragment).value_type
            formulas = (formula_of(n, view, self.space.naming, kind, self.real) for n in nodes)
            points = self.space.in_registers(promise.enclosing, view)
            wrong = self._wrong(points, *formulas)
            if wrong is not None:
                when = "at its start" if promise.when == "start" else "after a trip"
                var, fragment = promise.loop.var, promise.fragment
                raise NoClosedFormError(
                    (var,),
                    f"{fragment} is not what the loop over {var} claims {when}: {wrong.words}",
                    "correct the claim, or leave it out",
                    loop=var,
                    fragment=fragment,
                )

    def _wrong(
        self, points: Region, actual: Formula, wanted: Formula, plain: Formula, entry: Formula
    ) -> Difference | None:
        """Return where a fragment is not what is claimed.

        States outside of their extents are zero; where a claim has cases, a state may be itself in
        one, and in another what it follows from.
        """
        inside = self._inside(points, plain)
        beyond = points - inside
        wrong = None if beyond.is_empty else self._compared(beyond, actual, plain)
        if wrong is not None:
            return wrong
        conditions = conditions_of((entry,), points.names)[:CASES] if plain != wanted else ()
        return self._by_cases(inside, (actual, wanted, plain), conditions)

    def _by_cases(
        self, points: Region, forms: tuple[Formula, ...], conditions: tuple[Guard, ...]
    ) -> Difference | None:
        if points.is_empty:
            return None
        actual, wanted, plain = forms
        if not conditions:
            if wanted != plain:
                try:
                    if self._compared(points, actual, plain) is None:
                        return None
                except UndecidableError:
                    pass  # what it follows from may decide it
            return self._compared(points, actual, wanted)
        there = points.within(conditions[0])
        for where in (there, points - there):
            wrong = self._by_cases(where, forms, conditions[1:])
            if wrong is not None:
                return wrong
        return None

    def _compared(self, points: Region, actual: Formula, wanted: Formula) -> Difference | None:
        return compare(points, actual, wanted, self.extents, self.least)

    def _inside(self, points: Region, plain: Formula) -> Region:
        """Return the points at which every state that a claim speaks of lies in its extents."""
        texts: list[str] = []
        states = {one.name for one in self.rules.defines}
        for place, over, _ in _places(plain, (), ()):
            if place.operand not in states:
                continue
            limits = zip(place.at, self.extents[place.operand], strict=True)
            within = tuple(f"0 <= {text} < {end}" for text, end in limits)
            texts += [text for text in within if not mentions(text, over)]
            summed = tuple(text for text in within if mentions(text, over))
            if not summed:
                continue
            spans = tuple(f"{b.low} <= {b.name} < {b.high}" for b in over)
            every = points.to((*points.names, *(b.name for b in over))).within(conjunction(spans))
            if not (every - every.within(conjunction(summed))).is_empty:
                raise undecided(f"{place.operand} is claimed outside of its extents", "sum less")
        return points.within(conjunction(tuple(texts))) if texts else points


def _places(
    formula: Formula, over: tuple[Bounds, ...], guards: tuple[Guard, ...]
) -> Iterator[tuple[Place, tuple[Bounds, ...], tuple[Guard, ...]]]:
    """Yield the elements of a formula, each with the sums and the conditions it stands in."""
    for term in formula:
        inner, conditions = (*over, *term.over), (*guards, *term.guards)
        for place in term.places:
            yield place, inner, conditions
        for atom in term.atoms:
            for argument in atom.arguments:
                yield from _places(argument, inner, conditions)


def _untold(jump: Jump, why: str, loops: tuple[str, ...] = ()) -> UndecidableError:
    time, later, *_ = jump.indices
    condition = f"{jump.name} at {time}+{later} is not shown to be what is claimed: {why}"
    return NoClosedFormError(loops, condition, "correct the claim", state=jump.name)


@dataclass(frozen=True)
class _Steps:
    """What a jump says of a state one step later, and what the state's definition says.

    Each side comes in several ways, every one what the one before it says by a rule.
    """

    rules: Rules
    jump: Jump
    one: Recurrence
    shown: tuple[Jump, ...]

    def sides(self) -> Iterator[tuple[tuple[Expression, ...], tuple[Expression, ...]]]:
        """Yield what must be equal: without a step, and with one step more."""
        jump, (t, i, *others) = self.jump, map(Index, self.jump.indices)
        begun, counters = t * jump.steps, frozenset(jump.indices[:2])
        here = {jump.indices[0]: begun}
        if not jump.first:
            yield (jump.at(begun, Index(), (*others,)),), (Element(jump.name, (begun, *others)),)
        again = Element(jump.name, (begun + i + 1, *others))
        step = unfolded(again, Rules(self.rules.defines), counters)
        value = at_places(jump.value, here | {jump.indices[1]: i + 1 - jump.first})
        later = without_last(value, jump.indices[1])
        rest = Rules(tuple(x for x in self.rules.defines if x.name != jump.name))
        yield self.ways(again, step), self.ways(later, unfolded(later, rest, counters))

    def ways(self, *values: Expression) -> tuple[Expression, ...]:
        """Return ways to say a thing, with jumps put in the place of states some steps on."""
        i, out = Index(self.jump.indices[1]), [*values]
        for jump in self.shown:
            one = self.rules.one(jump.name)
            if one and jump.steps == self.jump.steps and one.extents[0] == self.one.extents[0]:
                out.append(self.put(out[-1], jump, Index(None, jump.steps)))
        return (*out, self.put(out[-1], self.jump, i))

    def put(self, value: Expression, jump: Jump, most: Index) -> Expression:
        """Put a form for states of a jump's first to ``most`` steps on."""
        time, later, *others = self.jump.indices
        ranges = ((later, Index(None, jump.steps)), *zip(others, self.one.extents[1:], strict=True))
        begun = Index(time) * jump.steps

        def put(part: Expression, enclosing: Situated) -> Expression:
            match part:
                case Element(name, (at, *places)) if name == jump.name:
                    steps = at - begun
                    limits = (steps - jump.first, most - steps)
                    known = all(is_positive(x, enclosing) for x in limits)
                    if steps == Index() or steps.names & {time} or not known:
                        return part
                    return jump.at(begun, steps, (*places,), f"_put{len(enclosing.ranges)}")
                case Const() | Slot() | Element():
                    return part
                case Apply(function, arguments):
                    return Apply(function, tuple(put(a, enclosing) for a in arguments))
                case Where(index, below, then, otherwise):
                    both = (index, below), (below, index + 1)
                    sides = zip((then, otherwise), both, strict=True)
                    inside = (
                        put(side, replace(enclosing, guards=(*enclosing.guards, guard)))
                        for side, guard in sides
                    )
                    return Where(index, below, *inside)
                case Total(over=over, body=body):
                    within = replace(enclosing, ranges=(*enclosing.ranges, *over))
                    return replace(part, body=put(body, within))
                case Rounded(body=body):
                    return replace(part, body=put(body, enclosing))

        return put(value, Situated(Element(""), ranges))
