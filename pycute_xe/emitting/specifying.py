"""A specification as functions of Python on NumPy arrays: what a program compares with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isinf
from textwrap import dedent
from typing import TypeAlias, assert_never

from pycute_xe.converting import bounds
from pycute_xe.errors import KernelError
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
    parts,
)
from pycute_xe.kernel.spec.functions import OF_INTEGERS, function, reduction
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.numeric import Numeric

__all__ = ["Valued", "dtype_name", "operations", "size_text", "sources", "valued"]

_INFIX = {"add": "+", "mul": "*", "div": "/"}
Axes: TypeAlias = frozenset[str]


def dtype_name(numeric: Numeric) -> str:
    """Return the name of a type in NumPy or ml_dtypes; tf32, which neither has, is its own.

    >>> from pycute_xe.numeric import as_numeric
    >>> dtype_name(as_numeric("bf16")), dtype_name(as_numeric("tf32"))
    ('bfloat16', 'tf32')
    """
    return numeric.row.dtype or numeric.name


def size_text(index: Index) -> str:
    """Return an index of sizes and elements as an expression of Python on ``s`` and ``x``.

    >>> from pycute_xe.kernel.index import Tiles
    >>> size_text(Tiles("K", 32) - 1)
    "-1 + (31 + s['K']) // 32"
    """
    return _index(index, {})


def _index(index: Index, variables: dict[str, str]) -> str:
    """Return an index as an expression of Python: variables by name, sizes in ``s``."""
    terms = [str(index.offset)] if index.offset or not index.terms else []
    for atom, scale in index.terms:
        if isinstance(atom, str):
            text = variables.get(atom, f"s[{atom!r}]")
        elif isinstance(atom, Quotient):
            text = f"({_index(atom.index, variables)}) // {atom.divisor}"
            text = text if scale == 1 else f"({text})"
        else:
            at = "".join(f", {_index(i, variables)}" for i in atom.at)
            text = f"take(x[{atom.operand!r}]{at})"
        terms.append(text if scale == 1 else f"{scale} * {text}")
    return " + ".join(terms)


# ------------------------------------------------------------ values


@dataclass(frozen=True)
class Valued:
    """The lines that compute an output, the expression it is, and the largest array on the way."""

    lines: tuple[str, ...]
    value: str
    row: str


def valued(claim: Claim, output: Operand) -> Valued:
    """Return what computes a claim, on ``x`` (arrays), ``s`` (sizes) and ``at`` (a window)."""
    return _Writing(claim, output).valued()


class _Writing:
    """A claim as it is written: each binding of a variable has an axis, each sum a name."""

    def __init__(self, claim: Claim, output: Operand) -> None:
        self.claim = claim
        self.extents: dict[str, Index] = {}
        self.lines: list[str] = []
        self.made: dict[str, str] = {}
        self.heaviest: set[Axes] = set()
        self.variables = {
            name: self.variable(name, extent, f"at[{number}]")
            for number, (name, extent) in enumerate(zip(claim.indices, output.modes, strict=True))
        }
        self.window = tuple(self.variables.values())

    def valued(self) -> Valued:
        text, axes = self.value(self.claim.value, self.variables)
        self.heaviest.add(axes)
        lines = [line.replace("rank", str(len(self.extents)), 1) for line in self.lines]
        return Valued(tuple(lines), text, self.row())

    def row(self) -> str:
        """Return how many numbers the largest array has for each row of the window."""
        fixed = {*self.window[:-2], *self.window[-2:-1]}
        products = {
            " * ".join(f"({self.extent(name)})" for name in sorted(axes - fixed)) or "1"
            for axes in self.heaviest
        }
        return f"max({', '.join(sorted(products))}, 1)"

    def extent(self, name: str) -> str:
        """Return how far a variable runs at most, of sizes alone."""
        extent = self.extents[name]
        bound = extent.names - {n.rpartition("_")[0] for n in self.extents}
        known = not extent.looked_up and bound == extent.names
        return size_text(extent) if known else "max(s.values())"

    def variable(self, name: str, extent: Index, values: str) -> str:
        """Return the name of a variable of the program, made by a line the first time."""
        key = f"{name} below {values}"
        if key not in self.made:
            number = len(self.extents)
            self.made[key] = own = f"{name if name.isascii() else 'v'}_{number}"
            self.extents[own] = extent
            self.lines.append(f"{own} = axis(rank, {number}, {values})")
        return self.made[key]

    def value(self, value: Expression, names: dict[str, str]) -> tuple[str, Axes]:
        """Return an expression of Python, and the variables whose axes its array has."""
        match value:
            case Const(number):
                return _number(number), frozenset()
            case Element(operand, at):
                inside = "".join(f", {_index(i, names)}" for i in at)
                text = f"take(x[{operand!r}]{inside})" if at else f"x[{operand!r}]"
                return text, self.axes(at, names)
            case Apply(name, arguments):
                return self.applied(name, [self.value(a, names) for a in arguments])
            case Rounded(to, body):
                text, axes = self.value(body, names)
                return f"rounded({text}, {dtype_name(to)!r})", axes
            case Where(index, below, then, otherwise):
                (yes, one), (no, other) = (self.value(v, names) for v in (then, otherwise))
                condition = f"{_index(index, names)} < {_index(below, names)}"
                axes = self.axes((index, below), names) | one | other
                return f"np.where({condition}, {yes}, {no})", axes
            case Total():
                return self.total(value, names)
            case Slot():
                raise KernelError("emit", {"value": value}, "a claim names a fragment", "")

    @staticmethod
    def axes(indices: tuple[Index, ...], names: dict[str, str]) -> Axes:
        """Return the variables that indices depend on."""
        return frozenset(names[n] for index in indices for n in index.names if n in names)

    def applied(self, name: str, given: list[tuple[str, Axes]]) -> tuple[str, Axes]:
        """Return a function of expressions: an operator, NumPy's function, or others of these."""
        row = function(name, len(given))
        axes = frozenset[str]().union(*(a for _, a in given))
        if row.of is not None:
            text = row.unfolded(self.function, *(text for text, _ in given))
            return str(text), axes
        return self.function(name, *(text for text, _ in given)), axes

    def function(self, name: str, *given: str | float) -> str:
        """Return a function of texts and numbers."""
        row = function(name, len(given))
        texts = [one if isinstance(one, str) else _number(one) for one in given]
        if row.of is not None:
            return str(row.unfolded(self.function, *texts))
        if name in _INFIX:
            return f"({f' {_INFIX[name]} '.join(texts)})"
        if name not in OF_INTEGERS:
            texts = [f"wide({_bare(text)})" for text in texts]
        elif len(texts) == 1:
            texts = [_bare(texts[0])]
        if row.ufunc:
            return f"np.{row.ufunc}({', '.join(texts)})"
        return f"{row.meaning.__name__}(np, {', '.join(texts)})"

    def total(self, value: Total, names: dict[str, str]) -> tuple[str, Axes]:
        """Return the name of a sum or an extreme, made by a line the first time."""
        row, inner, over, limits = reduction(value.how), dict(names), list[str](), list[str]()
        for name, extent in value.over:
            limit = _index(extent, names)
            inner[name] = self.variable(name, extent, limit)
            over.append(inner[name])
            if self.axes((extent,), names):
                limits.append(f"({inner[name]} < {limit})")
        factors = [value.body]
        if row.law == "sum" and not limits:
            factors = list(_factors(value.body))
        written = [self.value(factor, inner) for factor in factors]
        self.heaviest |= {axes for _, axes in written}
        texts = [text for text, _ in written]
        if limits:
            texts = [f"np.where({' & '.join(limits)}, {texts[0]}, {_number(row.nothing)})"]
            self.heaviest.add(self.axes(tuple(e for _, e in value.over), names) | {*over})
        listed = f"({', '.join(over)},)"
        match row.law:
            case "sum":
                text = f"total({listed}, {', '.join(texts)})"
            case "greatest" | "least":
                combine = f"np.{row.function.ufunc}"
                text = f"extreme({combine}, {_number(row.nothing)}, {listed}, {texts[0]})"
            case _:
                assert_never(row.law)
        kind = value.accumulator
        if kind is not None and kind.kind != "float":
            text = f"wrapped({text}, {kind.bits}, {bounds(kind)[0]})"
        if text not in self.made:
            self.made[text] = f"t{len(self.made)}"
            self.lines.append(f"{self.made[text]} = {text}")
        axes = frozenset[str]().union(*(axes for _, axes in written))
        return self.made[text], (axes | self.axes(tuple(e for _, e in value.over), names)) - {*over}


def _bare(text: str) -> str:
    """Return an argument of a call without parentheses around all of it."""
    depth = 0
    for number, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[1:-1] if text[0] == "(" and number == len(text) - 1 else text
    return text


def _number(value: float) -> str:
    """Return a number as Python writes it, an integer without a point."""
    if isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    whole = float(value).is_integer() and abs(value) < 2**53
    return str(int(value)) if whole else repr(float(value))


def _factors(value: Expression) -> Iterator[Expression]:
    if isinstance(value, Apply) and value.function == "mul":
        for argument in value.arguments:
            yield from _factors(argument)
    else:
        yield value


def _within(value: Expression) -> Iterator[Expression]:
    yield value
    for part in parts(value):
        yield from _within(part)


def sources(specification: Specification) -> list[str]:
    """Return the source of each function that claims name and NumPy does not have.

    Raises `KernelError` for a function whose meaning has no source of its own.
    """
    out: dict[str, str] = {}
    names = {
        p.function for c in specification.claims for p in _within(c.value) if isinstance(p, Apply)
    }
    for name in sorted(_base(names)):
        row = function(name)
        if row.ufunc:
            continue
        try:
            out[name] = dedent(inspect.getsource(row.meaning))
        except (OSError, TypeError) as error:
            condition = f"the meaning of {name} has no source that a program could hold"
            fix = "give its row a ufunc, or a function of a file"
            raise KernelError("emit", {"function": name}, condition, fix) from error
    return list(out.values())


def _base(names: set[str]) -> set[str]:
    """Return the functions that some come to which are not made of others."""
    out: set[str] = set()

    def part(name: str, *_: object) -> None:
        row = function(name)
        if row.of is None:
            out.add(name)
        else:
            row.unfolded(part, *[None] * row.arity)

    for name in names:
        part(name)
    return out


# ------------------------------------------------------------ operations


def operations(
    specification: Specification,
    operands: tuple[Operand, ...],
    text: Callable[[Index], str] = size_text,
) -> str:
    """Return how many additions and multiplications sums of products take, as Python on ``s``.

    Each sum counts once, under whatever names it is claimed: two for each point of its variables.
    ``text`` says an index of sizes otherwise.

    >>> from pycute_xe.kernel.spec.reading import read_specification
    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> operations(gemm.computes, gemm.operands)
    "2 * s['M'] * s['K'] * s['N']"
    """
    modes = {operand.name: operand.modes for operand in operands}
    counted: dict[str, str] = {}
    for claim in specification.claims:
        match claim:
            case Claim(output, indices):
                ranges = dict(zip(indices, modes[output], strict=True))
            case Scatter():
                ranges = dict(claim.over)
        _count(claim.value, ranges, counted, text)
    return " + ".join(counted.values()) or "0"


def _count(
    value: Expression,
    ranges: dict[str, Index],
    counted: dict[str, str],
    text: Callable[[Index], str],
) -> None:
    if isinstance(value, Total):
        ranges = ranges | dict(value.over)
        law = reduction(value.how).law
        if law == "sum" and len(tuple(_factors(value.body))) > 1:
            names = dict.fromkeys(n for n in _free(value.body) if n in ranges)
            order = {name: f"v{number}" for number, name in enumerate(names)}
            extents = ["max(s.values())" if ranges[n].looked_up or ranges[n].names & ranges.keys()
                       else _product(ranges[n], text) for n in names]  # fmt: skip
            counted.setdefault(_renamed(value.body, order), " * ".join(["2", *extents]))
    for part in parts(value):
        _count(part, ranges, counted, text)


def _product(index: Index, text: Callable[[Index], str]) -> str:
    return text(index) if index.is_simple else f"({text(index)})"


def _free(value: Expression) -> Iterator[str]:
    """Yield the names of an expression's indices, but for those that sums within it bind."""
    if isinstance(value, Element):
        for index in value.at:
            yield from sorted(index.names)
        return
    bound = {name for name, _ in value.over} if isinstance(value, Total) else set[str]()
    for part in parts(value):
        yield from (name for name in _free(part) if name not in bound)


def _renamed(value: Expression, names: dict[str, str]) -> str:
    """Return a text that is the same for expressions which differ in names alone."""
    if isinstance(value, Element):
        at = (str(i.substitute({n: Index(to) for n, to in names.items()})) for i in value.at)
        return f"{value.operand}[{', '.join(at)}]"
    if isinstance(value, Total):
        names = names | {n: f"b{len(names) + i}" for i, (n, _) in enumerate(value.over)}
    inner = ", ".join(_renamed(part, names) for part in parts(value))
    word = value.function if isinstance(value, Apply) else type(value).__name__
    return f"{word}({inner})" if inner else str(value)
