"""Floor 9: what registers hold, and what a specification claims, as formulas at a point."""

from __future__ import annotations

from collections.abc import Mapping

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.nodes import (
    Accumulated,
    Call,
    Carried,
    Choice,
    Converted,
    Leaf,
    Lost,
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
from pycute_xe.numeric import Numeric
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
    summed,
)
from pycute_xe.verifying.laws import LIMITS, UNDEFINED, applied, extreme, rounded
from pycute_xe.verifying.naming import Naming
from pycute_xe.verifying.views import View

__all__ = ["EXACT", "claimed", "held"]

EXACT = frozenset({"f32", "f64", "s32", "u32", "s64", "u64", "tf32"})
"""Accumulators in which sums are read as real arithmetic."""


def held(node: Node, view: View, naming: Naming) -> Formula:
    """Return what a node's positions hold, as a formula at the points of a view.

    Raises `UndecidableError` for contents that have no formula.
    """
    return LIMITS.check(_Held(view, naming).formula(node, ()))


class _Held:
    def __init__(self, view: View, naming: Naming) -> None:
        self.view, self.naming = view, naming

    def formula(self, node: Node, scope: tuple[str, ...]) -> Formula:
        match node:
            case Call(name, arguments):
                return applied(name, tuple(self.formula(a, scope) for a in arguments))
            case Converted(to, body):
                return rounded(to, self.formula(body, scope))
            case Summed():
                return self.total(node, scope)
            case Accumulated(numeric, start, terms):
                parts = (self.formula(start, scope), *(self.total(t, scope) for t in terms))
                return _typed(numeric, add(*parts))
            case Choice():
                return self.choice(node, scope)
            case Picked():
                return self.picked(node, scope)
            case Number() | Scalar() | Leaf() | Undefined() | Carried() | Lost():
                return self.leaf(node)

    def leaf(self, node: Number | Scalar | Leaf | Undefined | Carried | Lost) -> Formula:
        match node:
            case Number(value):
                return number(value)
            case Scalar(operand):
                return (Term(1.0, (Place(operand, ()),)),)
            case Leaf():
                return _element(self.place(node), self.naming)
            case Undefined():
                return call(UNDEFINED)
            case Carried(fragment):
                raise UndecidableError(
                    "verify", {"fragment": fragment}, "what it held before a loop is not known", ""
                )
            case Lost(fragment, why):
                raise UndecidableError("verify", {"fragment": fragment}, why, "claim what it holds")

    def choice(self, node: Choice, scope: tuple[str, ...]) -> Formula:
        left, right = self.naming.text(node.index), self.naming.text(node.below)
        then, otherwise = (self.formula(x, scope) for x in (node.then, node.otherwise))
        return choose(f"{left} < {right}", f"{left} >= {right}", then, otherwise)

    def picked(self, node: Picked, scope: tuple[str, ...]) -> Formula:
        (place,) = self.place(node.test).at
        then, otherwise = (self.formula(x, scope) for x in (node.then, node.otherwise))
        return choose(f"{place} < 0", f"{place} >= 0", then, otherwise)

    def total(self, node: Summed, scope: tuple[str, ...]) -> Formula:
        bounds: list[Bounds] = []
        for bound in node.over:
            if len(bound) == 2:
                bounds.append(Bounds(bound[0], "0", str(bound[1])))
            else:
                low, high = self.naming.text(bound[1]), self.naming.text(bound[2])
                bounds.append(Bounds(bound[0], low, high))
        inner = self.formula(node.body, (*scope, *(b.name for b in bounds)))
        if node.how == "sum":
            return summed(tuple(bounds), inner)
        return extreme(node.how, tuple(bounds), inner)

    def place(self, leaf: Leaf) -> Place:
        bound = tuple(self.naming.variable_of.get(name, name) for name in leaf.bound)
        texts = self.view.leaf(leaf, bound)
        base = (self.naming.text(index) for index in leaf.base)
        return Place(leaf.operand, tuple(_plus(b, t) for b, t in zip(base, texts, strict=True)))


def claimed(
    value: Expression, naming: Naming, indices: Mapping[str, str], fresh: str = "t"
) -> Formula:
    """Return what a specification claims, at indices that are formulas of a point.

    Variables of sums keep their names behind a prefix.
    """
    return LIMITS.check(_Claimed(naming, fresh).formula(value, dict(indices)))


class _Claimed:
    def __init__(self, naming: Naming, fresh: str) -> None:
        self.naming, self.fresh, self.count = naming, fresh, 0

    def formula(self, value: Expression, names: dict[str, str]) -> Formula:
        match value:
            case Const(constant):
                return number(constant)
            case Element(operand, at):
                place = Place(operand, tuple(self.text(i, names) for i in at))
                return _element(place, self.naming)
            case Apply(name, arguments):
                return applied(name, tuple(self.formula(a, names) for a in arguments))
            case Rounded(to, body):
                return rounded(to, self.formula(body, names))
            case Total():
                return self.total(value, names)
            case Where(index, below, then, otherwise):
                left, right = self.text(index, names), self.text(below, names)
                return choose(
                    f"{left} < {right}",
                    f"{left} >= {right}",
                    self.formula(then, names),
                    self.formula(otherwise, names),
                )
            case Slot(fragment):
                raise UndecidableError(
                    "verify", {"fragment": fragment}, "a specification speaks of operands", ""
                )

    def total(self, value: Total, names: dict[str, str]) -> Formula:
        inner = dict(names)
        bounds: list[Bounds] = []
        for name, extent in value.over:
            self.count += 1
            inner[name] = f"{self.fresh}{self.count}_{name}"
            bounds.append(Bounds(inner[name], "0", self.text(extent, names)))
        body = self.formula(value.body, inner)
        if value.how != "sum":
            return extreme(value.how, tuple(bounds), body)
        total = summed(tuple(bounds), body)
        return total if value.accumulator is None else _typed(value.accumulator, total)

    def text(self, index: Index, names: Mapping[str, str]) -> str:
        return self.naming.text(index, names)


def _element(place: Place, naming: Naming) -> Formula:
    """Return an element; of a type without a zero, what lies outside must not be taken for zero."""
    found: Formula = (Term(1.0, (place,)),)
    return call(WHOLE, found) if place.operand in naming.zeroless and place.at else found


def _typed(numeric: Numeric, formula: Formula) -> Formula:
    """Sums in a narrow accumulator round at every step: nothing is assumed of them but that."""
    return formula if numeric.name in EXACT else call(f"accumulated in {numeric}", formula)


def _plus(left: str, right: str) -> str:
    return right if left == "0" else left if right == "0" else f"{left} + {right}"
