"""What is shown by induction: what loops claim to hold, and what states are some steps on.

A state is zero outside of its extents, as every operand is, and follows from the one before inside
of them alone: beyond its last step, or its last column, nothing is claimed of it but that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.contents import Promise, combined, loop_over
from pycute_xe.holding.nodes import Node
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
from pycute_xe.kernel.spec.recurrences import Jump, Rules, at_places, unfolded, without_last
from pycute_xe.numeric import as_numeric
from pycute_xe.verifying.comparison import compare
from pycute_xe.verifying.formula import Bounds, Formula, Place, conditions_of
from pycute_xe.verifying.matching import Difference, Extents, conjunction
from pycute_xe.verifying.points import Space, registers
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Region
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
        for jump in self.rules.jumps:
            self.jump(jump)

    def jump(self, jump: Jump) -> None:
        """Show that a jump of no steps changes nothing, and that one step more is a step."""
        one = self.rules.one(jump.name)
        if one is None:
            raise undecided(f"{jump.name} is not defined", "define it")
        names = {name: f"x_{number}" for number, name in enumerate(jump.indices)}
        time, later, *others = names.values()
        inside = [f"0 <= {time}", f"0 <= {later} < {jump.steps}"]
        for other, extent in zip(others, one.extents[1:], strict=True):
            inside.append(f"0 <= {other} < {self.space.naming.text(extent)}")
        sizes = self.space.naming.sizes
        text = " and ".join([*self.space.sizes, *inside])
        points = Region.where((*sizes, *names.values()), text)
        # There is a state behind every step: how many a run asks for does not matter here.
        endless = {
            state.name: (f"{time} + {later} + 2", *self.extents[state.name][1:])
            for state in self.rules.defines
        }
        extents = {**self.extents, **endless}
        for pair in self._sides(jump):
            ours, theirs = (claimed(x, self.space.naming, names, F32) for x in pair)
            try:
                wrong = compare(points, ours, theirs, extents, self.least)
            except UndecidableError as error:
                raise _untold(jump, error.condition) from error
            if wrong is not None:
                raise _untold(jump, wrong.words)

    def _sides(self, jump: Jump) -> Iterator[tuple[Expression, Expression]]:
        """Yield what must be equal: without a step, and with one step more."""
        t, i, *others = (Index(name) for name in jump.indices)
        yield jump.at(t, Index(), (*others,)), Element(jump.name, (t, *others))
        again = Element(jump.name, (t + i + 1, *others))
        step = unfolded(again, Rules(self.rules.defines), frozenset(jump.indices[:2]))
        later = without_last(at_places(jump.value, {jump.indices[1]: i + 1}), jump.indices[1])
        rest = tuple(one for one in self.rules.defines if one.name != jump.name)
        counters = frozenset(jump.indices[:2])
        yield _put(step, jump), _put(unfolded(later, Rules(rest), counters), jump)

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
            points = self.space.in_registers(promise.around, view)
            wrong = self._wrong(points, *formulas)
            if wrong is not None:
                when = "at its start" if promise.when == "start" else "after a trip"
                var, fragment = promise.loop.var, promise.fragment
                raise undecided(
                    f"{fragment} is not what {loop_over(var)} claims {when}: {wrong.words}",
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
        self, points: Region, forms: tuple[Formula, ...], conditions: tuple[str, ...]
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
        for place, over in _places(plain, ()):
            if place.operand not in states:
                continue
            limits = zip(place.at, self.extents[place.operand], strict=True)
            within = tuple(f"0 <= {text} < {end}" for text, end in limits)
            if not over:
                texts += within
                continue
            spans = tuple(f"{b.low} <= {b.name} < {b.high}" for b in over)
            every = points.to((*points.names, *(b.name for b in over))).within(conjunction(spans))
            if not (every - every.within(conjunction(within))).is_empty:
                raise undecided(f"{place.operand} is claimed outside of its extents", "sum less")
        return points.within(conjunction(tuple(texts))) if texts else points


def _places(
    formula: Formula, over: tuple[Bounds, ...]
) -> Iterator[tuple[Place, tuple[Bounds, ...]]]:
    """Yield the elements of a formula, each with the sums that it stands in."""
    for term in formula:
        inner = (*over, *term.over)
        for place in term.places:
            yield place, inner
        for atom in term.atoms:
            for argument in atom.arguments:
                yield from _places(argument, inner)


def _untold(jump: Jump, why: str) -> UndecidableError:
    time, later, *_ = jump.indices
    condition = f"{jump.name} at {time}+{later} is not shown to be what is claimed: {why}"
    return undecided(condition, "correct the claim", state=jump.name)


def _put(value: Expression, jump: Jump) -> Expression:
    """Put the claimed form for a state some steps on."""
    t, i = (Index(name) for name in jump.indices[:2])

    def put(part: Expression, depth: int) -> Expression:
        match part:
            case Element(name, (time, *others)) if name == jump.name and time == t + i:
                return jump.at(t, i, (*others,), f"_put{depth}")
            case Const() | Slot() | Element():
                return part
            case Apply(function, arguments):
                return Apply(function, tuple(put(a, depth) for a in arguments))
            case Where(index, below, then, otherwise):
                return Where(index, below, put(then, depth), put(otherwise, depth))
            case Total(body=body) | Rounded(body=body):
                return replace(part, body=put(body, depth + 1))

    return put(value, 0)
