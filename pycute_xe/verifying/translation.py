"""What registers hold, and what a specification claims, as formulas at a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import frexp, isfinite

import numpy as np

from pycute_xe.converting import convert
from pycute_xe.holding.nodes import (
    Accumulated,
    Call,
    Carried,
    Choice,
    Converted,
    Leaf,
    Lost,
    NoClosedFormError,
    Node,
    Number,
    Picked,
    Scalar,
    Summed,
    Undefined,
)
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
from pycute_xe.kernel.spec.functions import COMPARING, NEAREST, UNROUNDED, reduction
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.verifying.formula import (
    WHOLE,
    Bounds,
    Formula,
    Place,
    Term,
    add,
    call,
    choose,
    number,
    span,
)
from pycute_xe.verifying.guards import Guard
from pycute_xe.verifying.laws import (
    LIMITS,
    UNDEFINED,
    applied,
    as_computed,
    lowest_bits,
    reduced,
    rounded,
)
from pycute_xe.verifying.points import Naming, View
from pycute_xe.verifying.refusing import undecided

__all__ = ["EXACT", "claimed", "formula_of"]

# ------------------------------------------------------------ reading
# Where what is computed in finite types is read as real arithmetic, and where it is not.
#
# A sum or a product in floats is off by a rounding, and is claimed all the same: it is read as one
# of real numbers, and the verdict says so. What is only moved, converted, chosen or compared is
# exact. So is what becomes a wide integer afterwards: a last bit of a float is a number there.

FEW_BITS = 16
"""Integers that are so narrow are changed by a float's last bit at ties alone."""


F32 = as_numeric("f32")


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= abs(other) * 2.0**-24


@dataclass(frozen=True, slots=True)
class Reading:
    """How a value is read by what becomes of it.

    ``real`` says that operations in floats are read as those of real numbers. Where ``near``, a
    rounding of that kind follows, with which those of numbers and of integers that become floats
    are excused; where ``sums``, those of sums of integers are, which become floats on their way
    into a narrower type. ``finest`` is the type to which constants are then taken.
    """

    real: bool = True
    near: bool = False
    sums: bool = False
    finest: Numeric = F32

    @classmethod
    def of(cls, kind: Numeric) -> Reading:
        """Return how what elements of a type hold is read."""
        # closed: every other type is computed in f32
        return cls(sums=kind.kind == "float", finest=kind if kind.name == "f64" else F32)

    def operand(self, function: str, rounds: bool) -> Reading:
        """Return how an argument of a function is read."""
        if function in COMPARING:
            return Reading(self.real, finest=self.finest)
        return replace(self, near=self.real, sums=self.real) if rounds else self

    def converted(self, to: Numeric, left: Sequence[Numeric] = ()) -> Reading:
        """Return how what is converted to a type is read, where roundings to some are left out."""
        if to.kind != "float":
            return Reading(to.bits <= FEW_BITS or self.finest in left, finest=self.finest)
        return Reading(self.real, sums=self.real, finest=self.finest)

    def constant(self, value: float, numeric: Numeric | None) -> float:
        """Return the number that a constant of a type stands for."""
        if numeric is None:
            return value
        kept = float(convert(np.array([value]), numeric)[0])
        return self.excused(value) if self.near and _is_close(kept, value) else kept

    def excused(self, value: float) -> float:
        """Return a constant as the outputs that take part in it may have it."""
        kept = float(convert(np.array([value]), self.finest)[0])
        return kept if self.near and _is_close(kept, value) else value

    def excuses(self, to: Numeric, formula: Formula, rounds: bool) -> bool:
        """Whether a conversion to a type in which is computed is left out.

        That of integers, and that of what a computation that ``rounds`` gives.
        """
        if to.name not in ("f32", "f64") or not (self.near or self.sums):
            return False
        if rounds:
            return True
        if not span(formula).whole:
            return False
        moved = len(formula) == 1 and not formula[0].over and len(formula[0].places) < 2
        return self.near or not moved


# ------------------------------------------------------------ translating

EXACT = frozenset({"f32", "f64", "s32", "u32", "s64", "u64", "tf32"})
"""Accumulators in which sums are read as real arithmetic, or integers overflow nowhere."""


def formula_of(node: Node, view: View, naming: Naming, kind: Numeric, real: set[str]) -> Formula:
    """Return what a node's positions hold of a type, as a formula at the points of a view.

    ``real`` takes in what was read as real arithmetic. Raises `UndecidableError` for contents that
    have no formula.
    """
    return LIMITS.check(_Formulas(view, naming, real).formula(node, Reading.of(kind)))


class _Formulas:
    def __init__(self, view: View, naming: Naming, real: set[str]) -> None:
        self.view, self.naming, self.real = view, naming, real
        self.done: dict[tuple[int, Reading], Formula] = {}

    def formula(self, node: Node, how: Reading) -> Formula:
        """Return the formula of a node, which is made once where it stands in several places."""
        key = (id(node), how)
        if key not in self.done:
            self.done[key] = self.made(node, how)
        return self.done[key]

    def made(self, node: Node, how: Reading) -> Formula:
        match node:
            case Call():
                return self.called(node, how)
            case Converted(to, body) if how.real and to in self.naming.real:
                self.real.add(f"conversions to {to}")
                return self.formula(body, how)
            case Converted(to, body):
                inner = self.formula(body, how.converted(to, self.naming.real))
                if how.excuses(to, inner, _rounds(body)):
                    self.real.add(f"conversions to {to}")
                    return self.formula(body, how)
                return rounded(to, inner)
            case Summed():
                return self.total(node, how)
            case Accumulated(numeric, start, terms):
                inside = how.operand("add", numeric.kind == "float")
                added = (self.total(t, inside) for t in terms)
                out = _typed(numeric, add(self.formula(start, inside), *added))
                out = _kept(self.naming, numeric, out)
                opaque = call(f"accumulated in {numeric}", out)
                return self.computed("accumulated", numeric, out, opaque, how)
            case Choice(index, below, then, otherwise):
                sides = (self.formula(x, how) for x in (then, otherwise))
                return choose(self.naming.text(index), self.naming.text(below), *sides)
            case Picked(test, then, otherwise):
                sides = (self.formula(x, how) for x in (then, otherwise))
                (place,) = self.place(test).at
                return choose(place, "0", *sides)
            case Number() | Scalar() | Leaf() | Undefined() | Carried() | Lost():
                return self.leaf(node, how)

    def called(self, node: Call, how: Reading) -> Formula:
        name, kind, rounds = node.function, node.type, _rounds(node)
        inside = how.operand(name, rounds)
        arguments = tuple(self.formula(a, inside) for a in node.arguments)
        out = applied(name, as_computed(name, arguments, self.naming.wraps))
        if not rounds or kind is None:
            return out
        opaque = rounded(kind, out) if name in NEAREST else call(f"{name} in {kind}", *arguments)
        return self.computed(name, kind, out, opaque, how)

    def computed(
        self, what: str, numeric: Numeric, formula: Formula, opaque: Formula, how: Reading
    ) -> Formula:
        """Return what is computed in a type: as real numbers are, or not to be looked into."""
        if numeric.kind != "float":
            return formula
        if how.real:
            self.real.add(f"{what} in {numeric}")
            return formula
        return opaque

    def leaf(
        self, node: Number | Scalar | Leaf | Undefined | Carried | Lost, how: Reading
    ) -> Formula:
        match node:
            case Number(value, numeric):
                return number(how.constant(value, numeric))
            case Scalar(operand):
                return (Term(1.0, (Place(operand, (), self.naming.type_of[operand]),)),)
            case Leaf():
                return _element(self.place(node), self.naming)
            case Undefined():
                return call(UNDEFINED)
            case Carried(fragment):
                raise undecided("what it held before a loop is not known", fragment=fragment)
            case Lost(fragment, why, _, loops):
                raise NoClosedFormError(loops, why, "claim what it holds", fragment=fragment)

    def total(self, node: Summed, how: Reading) -> Formula:
        bounds: list[Bounds] = []
        for bound in node.over:
            ends = (0, bound[1]) if len(bound) == 2 else map(self.naming.text, bound[1:])
            bounds.append(Bounds(bound[0], *map(str, ends)))
        row = reduction(node.how)
        rounds = row.law == "sum" and node.type is not None and node.type.kind == "float"
        inside = how.operand(row.combine, rounds)
        out = reduced(row, tuple(bounds), self.formula(node.body, inside))
        if row.law != "sum" or node.type is None:
            return out
        opaque = call(f"summed in {node.type}", out)
        return self.computed("summed", node.type, out, opaque, how)

    def place(self, leaf: Leaf) -> Place:
        bound = tuple(self.naming.variable_of.get(name, name) for name in leaf.bound)
        texts = self.view.leaf(leaf, bound)
        base = (self.naming.text(index) for index in leaf.base)
        at = tuple(_plus(b, t) for b, t in zip(base, texts, strict=True))
        return Place(leaf.operand, at, self.naming.type_of.get(leaf.operand))


def claimed(
    value: Expression, naming: Naming, indices: Mapping[str, str], kind: Numeric
) -> Formula:
    """Return what a specification claims of a type, at indices that are formulas of a point.

    Variables of sums keep their names behind a prefix.
    """
    return LIMITS.check(_Claimed(naming).formula(value, dict(indices), Reading.of(kind)))


class _Claimed:
    def __init__(self, naming: Naming) -> None:
        self.naming, self.count = naming, 0

    def formula(self, value: Expression, names: dict[str, str], how: Reading) -> Formula:
        match value:
            case Const(constant):
                return number(how.excused(constant))
            case Element(operand, at):
                numeric = self.naming.type_of[operand]
                place = Place(operand, tuple(self.text(i, names) for i in at), numeric)
                return _element(place, self.naming)
            case Apply(name, arguments):
                inside = how.operand(name, _rounds(value))
                parts = tuple(self.formula(a, names, inside) for a in arguments)
                return applied(name, as_computed(name, parts, self.naming.wraps))
            case Rounded(to, body) if how.real and to in self.naming.real:
                return self.formula(body, names, how)
            case Rounded(to, body):
                inner = self.formula(body, names, how.converted(to, self.naming.real))
                if how.excuses(to, inner, _rounds(body)):
                    return self.formula(body, names, how)
                return rounded(to, *as_computed("to", (inner,), self.naming.wraps))
            case Total():
                return self.total(value, names, how)
            case Where(index, below, then, otherwise):
                sides = (self.formula(x, names, how) for x in (then, otherwise))
                return choose(self.text(index, names), self.text(below, names), *sides)
            case Slot(fragment):
                raise undecided("a specification speaks of operands", fragment=fragment)

    def total(self, value: Total, names: dict[str, str], how: Reading) -> Formula:
        inner = dict(names)
        bounds: list[Bounds] = []
        for name, extent in value.over:
            self.count += 1
            inner[name] = f"t{self.count}_{name}"
            bounds.append(Bounds(inner[name], "0", self.text(extent, names)))
        row = reduction(value.how)
        inside = how.operand(row.combine, row.law == "sum")
        body = self.formula(value.body, inner, inside)
        if row.law != "sum":
            (body,) = as_computed(row.combine, (body,), self.naming.wraps)
        total = reduced(row, tuple(bounds), body)
        if row.law != "sum" or value.accumulator is None:
            return total
        return _kept(self.naming, value.accumulator, _typed(value.accumulator, total))

    def text(self, index: Index, names: Mapping[str, str]) -> str:
        return self.naming.text(index, names)


def _element(place: Place, naming: Naming) -> Formula:
    """Return an element, or inside of an operand that is given what it is given as.

    Of a type without a zero, what lies outside must not be taken for zero.
    """
    claim = naming.given.get(place.operand)
    if claim is not None:
        value = claimed(claim.value, naming, dict(zip(claim.indices, place.at, strict=True)), F32)
        ends = zip(place.at, naming.ends[place.operand], strict=True)
        inside = tuple(
            guard for i, end in ends for guard in (Guard("-1", "<", i), Guard(i, "<", end))
        )
        return tuple(replace(term, guards=(*term.guards, *inside)) for term in value)
    element: Formula = (Term(1.0, (place,)),)
    zeroless = place.numeric is not None and place.numeric.row.positive
    return call(WHOLE, element) if zeroless and place.at else element


def _rounds(value: object) -> bool:
    """Whether a value is a result that is read as one of real numbers, rounded again perhaps."""
    if isinstance(value, (Rounded, Converted)) and value.to.name in ("f32", "f64"):
        return _rounds(value.body)
    if isinstance(value, Call) and (value.type is None or value.type.kind != "float"):
        return False
    computes = isinstance(value, (Apply, Call))
    return computes and value.function not in UNROUNDED and not _is_exact(value)


def _is_exact(value: Call | Apply) -> bool:
    """Whether a sum or a product changes no more than a sign or an exponent, which only grows."""
    numbers = [a.value for a in value.arguments if isinstance(a, (Number, Const))]
    if value.function == "add":
        return 0.0 in numbers
    return value.function == "mul" and any(
        abs(n) >= 1 and isfinite(n) and frexp(abs(n))[0] == 0.5 for n in numbers
    )


def _typed(numeric: Numeric, formula: Formula) -> Formula:
    """Sums in a narrow accumulator round at every step: nothing is assumed of them but that."""
    return formula if numeric.name in EXACT else call(f"accumulated in {numeric}", formula)


def _kept(naming: Naming, numeric: Numeric, formula: Formula) -> Formula:
    """Return what an accumulator keeps: of integers that wrap the lowest bits."""
    return lowest_bits(numeric, formula) if naming.wraps and numeric.kind != "float" else formula


def _plus(left: str, right: str) -> str:
    return right if left == "0" else left if right == "0" else f"{left} + {right}"
