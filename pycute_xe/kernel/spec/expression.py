"""Scalar expressions over elements of operands: what an element of an output should be.

Index notation: ``sum(k, A[m,k] * B[k,n])``. Indices stay tuples, one for each mode of an operand.
The same expressions, over `Slot` leaves, say what an elementwise statement does to registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, as_index
from pycute_xe.kernel.spec.functions import function, reduction
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import MOST_LEVELS, checked_fields, typed

__all__ = [
    "Apply",
    "Const",
    "Element",
    "Expression",
    "Rounded",
    "Slot",
    "Total",
    "Where",
    "apply",
    "as_expression",
    "leaves",
    "parts",
    "rebuilt",
    "rounded_to",
    "total",
    "TOO_DEEP",
    "check_depth",
    "indices_of",
    "own_indices",
]


class _Scalar:
    """Arithmetic that all expressions share."""

    def __add__(self, other: Expression | float) -> Expression:
        return apply("add", self, other)

    def __radd__(self, other: float) -> Expression:
        return apply("add", other, self)

    def __sub__(self, other: Expression | float) -> Expression:
        return apply("add", self, apply("mul", -1.0, other))

    def __rsub__(self, other: float) -> Expression:
        return apply("add", other, apply("mul", -1.0, self))

    def __mul__(self, other: Expression | float) -> Expression:
        return apply("mul", self, other)

    def __rmul__(self, other: float) -> Expression:
        return apply("mul", other, self)

    def __truediv__(self, other: Expression | float) -> Expression:
        return apply("div", self, other)

    def __rtruediv__(self, other: float) -> Expression:
        return apply("div", other, self)

    def __neg__(self) -> Expression:
        return apply("mul", -1.0, self)


@checked_fields
@dataclass(frozen=True, slots=True)
class Const(_Scalar):
    """A number, an integer among them as the float that it is."""

    value: float

    def __post_init__(self) -> None:
        """Turn an integer into a float."""
        if type(self.value) is int and abs(self.value) <= 1 << 1023:
            object.__setattr__(self, "value", float(self.value))

    def __str__(self) -> str:
        return f"{self.value:g}"


@checked_fields
@dataclass(frozen=True, slots=True)
class Element(_Scalar):
    """An element of an operand, or a scalar operand where there is no index."""

    operand: str
    at: tuple[Index, ...] = ()

    def __str__(self) -> str:
        return f"{self.operand}[{','.join(map(str, self.at))}]" if self.at else self.operand


@checked_fields
@dataclass(frozen=True, slots=True)
class Slot(_Scalar):
    """What the registers of a fragment hold, element by element."""

    fragment: str

    def __str__(self) -> str:
        return self.fragment


@checked_fields
@dataclass(frozen=True, slots=True)
class Apply(_Scalar):
    """A scalar function of expressions."""

    function: str
    arguments: tuple[Expression, ...]

    def __post_init__(self) -> None:
        function(self.function, len(self.arguments))

    def __str__(self) -> str:
        signs = {"add": " + ", "mul": "*", "div": "/"}
        if self.function in signs:
            return signs[self.function].join(_inside(a, self.function) for a in self.arguments)
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@checked_fields
@dataclass(frozen=True, slots=True)
class Total(_Scalar):
    """A sum, a maximum or a minimum over ``0 <= variable < extent``.

    ``how`` is the name of a row of `pycute_xe.kernel.spec.functions`.
    ``accumulator`` is the type it is accumulated in: rounding happens after each step there, in
    an order that is left open; None where it makes no difference to what is claimed.
    """

    how: str
    over: tuple[tuple[str, Index], ...]
    body: Expression
    accumulator: Numeric | None = None

    def __post_init__(self) -> None:
        reduction(self.how)

    def __str__(self) -> str:
        alone = {index for x in leaves(self.body) if isinstance(x, Element) for index in x.at}
        # A variable that indexes a mode runs as far as that; of any other it is said, and of one
        # that runs as far as another index.
        inside = {n for index in alone for n in index.names}
        spans = (
            n if Index(n) in alone and not extent.names & inside else f"{n} < {extent}"
            for n, extent in self.over
        )
        typed = f", {self.accumulator}" if self.accumulator else ""
        return f"{self.how}({', '.join(spans)}, {self.body}{typed})"


@checked_fields
@dataclass(frozen=True, slots=True)
class Rounded(_Scalar):
    """An expression converted to an element type: rounded to nearest even, integers saturated."""

    to: Numeric
    body: Expression

    def __str__(self) -> str:
        return f"{self.to}({self.body})"


@checked_fields
@dataclass(frozen=True, slots=True)
class Where(_Scalar):
    """``then`` where ``index < below``, else ``otherwise``."""

    index: Index
    below: Index
    then: Expression
    otherwise: Expression

    def __str__(self) -> str:
        return f"where({self.index} < {self.below}, {self.then}, {self.otherwise})"


Expression: TypeAlias = Const | Element | Slot | Apply | Total | Rounded | Where


def as_expression(value: object) -> Expression:
    """Return an expression; a number stands for itself.

    Raises `KernelError` for anything else.

    >>> print(as_expression(2) * Element("A", (Index("m"),)))
    2*A[m]
    """
    if isinstance(value, (Const, Element, Slot, Apply, Total, Rounded, Where)):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        with suppress(OverflowError):
            return Const(float(value))
    raise KernelError(
        "expression",
        {"value": value},
        f"{type(value).__name__} is neither an expression nor a number",
        "write elements, numbers and functions of them",
    )


@typed
def apply(name: str, *arguments: object) -> Expression:
    """Return a function of expressions. Raises `KernelError` for unknown functions.

    >>> print(apply("relu", Slot("tCrC") + 1))
    relu(tCrC + 1)
    """
    return Apply(name, tuple(map(as_expression, arguments)))


@typed
def total(
    over: str,
    extent: Index | int | str,
    body: object,
    *,
    how: str = "sum",
    accumulator: Numeric | str | None = None,
) -> Expression:
    """Return the sum (or maximum, or minimum) of a body over ``0 <= over < extent``.

    Raises `KernelError` for an unknown reduction.

    >>> m, k = Index("m"), Index("k")
    >>> print(total("k", "K", Element("A", (m, k))))
    sum(k, A[m,k])
    """
    numeric = None if accumulator is None else as_numeric(accumulator)
    return Total(how, ((over, as_index(extent)),), as_expression(body), numeric)


@typed
def rounded_to(to: Numeric | str, body: object) -> Expression:
    """Return an expression converted to a type.

    >>> print(rounded_to("bf16", Slot("tCrC")))
    bf16(tCrC)
    """
    return Rounded(as_numeric(to), as_expression(body))


def rebuilt(
    value: Expression,
    leaf: Callable[[Element | Slot], Expression],
    steps: Numeric | None = None,
) -> Expression:
    """Return an expression with every leaf replaced by what ``leaf`` makes of it.

    With ``steps`` the result of every function is rounded to a type.
    """

    def inside(part: Expression) -> Expression:
        return rebuilt(part, leaf, steps)

    match value:
        case Element() | Slot():
            return leaf(value)
        case Apply(arguments=arguments):
            result = replace(value, arguments=tuple(map(inside, arguments)))
            return result if steps is None else rounded_to(steps, result)
        case Where(then=then, otherwise=otherwise):
            return replace(value, then=inside(then), otherwise=inside(otherwise))
        case Total(body=body) | Rounded(body=body):
            return replace(value, body=inside(body))
        case Const():
            return value


def leaves(value: Expression) -> Iterator[Element | Slot]:
    """Yield the leaves of an expression, left to right.

    >>> [str(x) for x in leaves(apply("relu", Slot("tCrC")) + Element("bias", (Index("n"),)))]
    ['tCrC', 'bias[n]']
    """
    if isinstance(value, (Element, Slot)):
        yield value
    for part in parts(value):
        yield from leaves(part)


def parts(value: Expression) -> tuple[Expression, ...]:
    """Return the expressions that one is made of; leaves and numbers have none.

    >>> [str(part) for part in parts(Slot("tCrC") + 1)]
    ['tCrC', '1']
    """
    match value:
        case Apply(_, arguments):
            return arguments
        case Total() | Rounded():
            return (value.body,)
        case Where():
            return (value.then, value.otherwise)
        case Const() | Element() | Slot():
            return ()


def _inside(value: Expression, around: str) -> str:
    if not isinstance(value, Apply) or value.function not in ("add", "div", "mul"):
        return str(value)
    tight = around == "add" or (around == "mul" and value.function == "mul")
    return str(value) if tight else f"({value})"


# ------------------------------------------------------------ looking
# What is looked for in expressions: their depth, and the indices they depend on.

TOO_DEEP = (
    f"the expression nests more than {MOST_LEVELS} levels deep",
    f"nest at most {MOST_LEVELS} levels, each term of a sum is one",
)
"""What is wrong with an expression that nests too deep, and the way out."""


def check_depth(operation: str, given: Mapping[str, object], value: Expression) -> None:
    """Raise `KernelError` for an expression that nests deeper than tuples may.

    >>> from pycute_xe.kernel.spec.expression import Slot, apply
    >>> check_depth("Map", {}, apply("relu", Slot("acc")))
    """
    level, inner = 0, {id(value): value}  # what occurs twice is looked into once
    while inner:
        level += 1
        if level > MOST_LEVELS:
            raise KernelError(operation, given, *TOO_DEEP)
        inner = {id(part): part for one in inner.values() for part in parts(one)}


def indices_of(value: Expression) -> Iterator[tuple[Index, frozenset[str]]]:
    """Yield the indices of an expression, each with the names that sums around it bind.

    >>> from pycute_xe.kernel.spec.expression import total
    >>> row = total("k", "K", Element("A", (Index("m"), Index("k"))))
    >>> [(str(index), sorted(bound)) for index, bound in indices_of(row)]
    [('K', []), ('m', ['k']), ('k', ['k'])]
    """
    yield from _indices(value, frozenset())


def own_indices(value: Expression) -> tuple[Index, ...]:
    """Return the indices of an expression itself, without those of its parts.

    >>> [str(index) for index in own_indices(Element("A", (Index("m"), Index("k"))))]
    ['m', 'k']
    """
    match value:
        case Element(_, at):
            return at
        case Where(index, below):
            return (index, below)
        case Total(_, over):
            return tuple(extent for _, extent in over)
        case Apply() | Const() | Rounded() | Slot():
            return ()


def _indices(value: Expression, bound: frozenset[str]) -> Iterator[tuple[Index, frozenset[str]]]:
    inside = bound
    if isinstance(value, Total):
        inside = bound | {name for name, _ in value.over}
    yield from ((index, bound) for index in own_indices(value))
    for part in parts(value):
        yield from _indices(part, inside)
