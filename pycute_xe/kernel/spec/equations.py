"""Equations as users write them: ``D[m,n] = relu(sum(k, A[m,k]*B[k,n], f32))``.

The text is what a specification prints; a sum runs as far as the mode that its variable indexes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import partial, reduce
from itertools import accumulate
from math import inf
from typing import TypeVar

from pycute_xe.errors import KernelError, quoted
from pycute_xe.identifiers import name_fault
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.spec.expression import (
    MOST_LEVELS,
    TOO_DEEP,
    Const,
    Element,
    Expression,
    Slot,
    Where,
    apply,
    as_expression,
    check_depth,
    leaves,
    rounded_to,
    total,
)
from pycute_xe.kernel.spec.functions import FUNCTIONS, REDUCTIONS, function
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.specification import AnyClaim, Claim
from pycute_xe.numeric import as_numeric, numerics
from pycute_xe.signatures import typed

__all__ = [
    "Reader",
    "parse",
    "demand_names",
    "tree_of",
    "Notation",
    "read_claim",
    "read_index",
]

T = TypeVar("T")
_SIGNS: dict[type[ast.operator], str] = {ast.Add: "add", ast.Mult: "mul", ast.Div: "div"}


def parse(
    text: str,
    fragments: frozenset[str],
    indices: tuple[str, ...],
    divided: tuple[str, ...] = (),
    operation: str = "epilogue",
) -> Expression:
    """Return the expression that a text says; it is read, never executed.

    Names in ``fragments`` stand for registers, others for operands; ``X[m,n]`` is an element.
    An index in ``divided`` may be divided by an integer: ``scale[k/128,n]``, rounded down.
    A type's name called like a function rounds to it. Raises `KernelError` at what has no meaning.

    >>> print(parse("relu(2*acc + bias[n])", frozenset({"acc"}), ("m", "n")))
    relu(2*acc + bias[n])
    """
    return Reader(text, fragments, indices, divided, operation).whole()


def tree_of(text: str, operation: str, read: Callable[[ast.expr], T]) -> T:
    """Return what a reader makes of a text; `KernelError` where it is not an expression."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        wrong = f"{type(text).__name__} is not text"
        raise KernelError(operation, {"text": text}, wrong, 'write "relu(acc)"')
    try:
        if _nests(text):
            raise RecursionError
        demand_names(text, operation)
        return read(ast.parse(text.replace("[]", "").strip(), mode="eval").body)
    except (SyntaxError, RecursionError, ValueError, MemoryError) as error:
        if isinstance(error, KernelError):
            raise
        why = _unread(text, error) if isinstance(error, (SyntaxError, ValueError)) else TOO_DEEP
        raise KernelError(operation, {"text": text[:80]}, *why) from error


def demand_names(text: str, operation: str) -> None:
    """Raise `KernelError` for a name in a text that Python would read as another one."""
    for word in re.findall(r"\w+", text):
        if not word.isascii() and word.isidentifier() and (fault := name_fault(word)) is not None:
            raise KernelError(operation, {"text": text[:80]}, *fault)


_PAIRS = {"(": ")", "[": "]"}


def _nests(text: str) -> bool:
    """Whether brackets or signs nest deeper than an expression may: a browser's stack is small."""
    steps = accumulate((sign in "([{") - (sign in ")]}") for sign in text)
    signs = re.search(rf"(?:(?:[-+~]|not\b)\s*){{{MOST_LEVELS}}}", text)
    return max(steps, default=0) > MOST_LEVELS or signs is not None


def _unread(text: str, error: Exception) -> tuple[str, str]:
    """Return what keeps a text from being an expression, and the expression that it nearly is."""
    place = getattr(error, "offset", None)
    at = f": {getattr(error, 'msg', '')} at column {place}" if place else ""
    wrong = f"{quoted(text.strip())} is not an expression{at}"
    unclosed: list[str] = []
    for letter in text:
        if letter in _PAIRS:
            unclosed.append(_PAIRS[letter])
        elif unclosed and letter == unclosed[-1]:
            unclosed.pop()
    closed = text.strip() + "".join(reversed(unclosed))
    for nearly in (closed, closed.rpartition("=")[2].strip(), closed.rstrip(" +-*/,")):
        try:
            ast.parse(nearly, mode="eval")
        except (SyntaxError, ValueError):
            continue
        return wrong, f'write "{nearly}"'
    return wrong, 'write names, numbers, + - * / and functions, such as "relu(x + 1)"'


class Reader:
    """What reads a tree of Python's parser as an expression."""

    beside: tuple[str, ...] = ()
    """What may be called beside functions."""

    def __init__(
        self,
        text: str,
        fragments: frozenset[str],
        indices: tuple[str, ...],
        divided: tuple[str, ...],
        operation: str,
    ) -> None:
        self.text, self.fragments, self.indices = text, fragments, indices
        self.divided, self.operation = divided, operation

    def whole(self) -> Expression:
        """Return what the text says, no deeper than expressions may nest."""
        expression = tree_of(self.text, self.operation, self.read)
        check_depth(self.operation, {"text": self.text[:80]}, expression)
        return expression

    def read(self, node: ast.expr) -> Expression:
        """Return what a node says."""
        match node:
            case ast.Constant(value) if isinstance(value, (int, float)):
                return as_expression(value)
            case ast.Name(name):
                return Slot(name) if name in self.fragments else Element(name)
            case ast.Subscript(ast.Name(name), place):
                return Element(name, self.places(place))
            case ast.Call(ast.Name(name), arguments, []):
                if name not in {*FUNCTIONS, *REDUCTIONS, *numerics()}:
                    # Refused before what stands in its brackets.
                    function(name, beside=self.beside)
                return self.called(name, [self.read(a) for a in arguments])
            case ast.BinOp(left, sign, right) if type(sign) in {ast.Sub, *_SIGNS}:
                return self.combined(sign, self.read(left), self.read(right))
            case ast.UnaryOp(ast.USub(), inner):
                return -self.read(inner)
            case ast.UnaryOp(ast.UAdd(), inner):
                return self.read(inner)
            case _:
                raise self.meaningless(node)

    def combined(self, sign: ast.operator, left: Expression, right: Expression) -> Expression:
        """Return a sum, a product or a quotient."""
        if isinstance(sign, ast.Sub):
            return left - right
        return apply(_SIGNS[type(sign)], left, right)

    def called(self, name: str, arguments: list[Expression]) -> Expression:
        """Return a function of expressions, or a rounding."""
        if name in numerics() and len(arguments) == 1:
            return rounded_to(as_numeric(name), arguments[0])
        if name in REDUCTIONS and len(arguments) > 2:
            return reduce(partial(apply, name), arguments)
        return apply(name, *arguments)

    def places(self, node: ast.expr) -> tuple[Index, ...]:
        """Return the indices of an element."""
        return tuple(map(self.place, node.elts if isinstance(node, ast.Tuple) else [node]))

    def place(self, part: ast.expr) -> Index:
        """Return one index."""
        match part:
            case ast.Name(name) if name in self.indices:
                return Index(name)
            case ast.BinOp(ast.Name(name), ast.Div() | ast.FloorDiv(), ast.Constant(size)) if (
                name in self.divided and type(size) is int and size > 0
            ):
                return Index(name) // size
            case _:
                known = [*self.indices, *(f"{name}/128" for name in self.divided)]
                raise self.refused(part, f"an index is one of {', '.join(known)}")

    def meaningless(self, node: ast.expr) -> KernelError:
        """Return the refusal of what Python has and expressions do not, by its own text."""
        match node:
            case ast.BinOp(left, ast.Pow() | ast.BitXor(), ast.Constant(2)):
                factor = ast.unparse(left)
                fix = f"write {factor}*{factor}" if isinstance(left, ast.Name) else "use x*x"
            case ast.Call(ast.Attribute(_, name)) if name in FUNCTIONS:
                fix = f"write {name}({', '.join(map(ast.unparse, node.args))})"
            case _:
                fix = f"use numbers, names, + - * / and {', '.join(sorted(FUNCTIONS))}"
        wrong = f"{quoted(ast.unparse(node))[1:-1]} has no meaning here"
        return KernelError(self.operation, {"text": self.text[:80]}, wrong, fix)

    def refused(self, node: ast.AST, wrong: str) -> KernelError:
        """Return the refusal of a node."""
        example = "(B - zero[n]) * scale[k/128,n]" if self.divided else "relu(alpha*acc + bias[n])"
        return KernelError(
            self.operation,
            {"text": self.text, "at": ast.unparse(node)},
            wrong,
            f'write, for example, "{example}"',
        )


_SUMS: dict[type[ast.operator], Callable[[Index, Index], Index]] = {
    ast.Add: lambda x, y: x + y,
    ast.Sub: lambda x, y: x - y,
}
_QUOTIENTS: dict[type[ast.operator], Callable[[Index, int], Index]] = {
    ast.Div: lambda x, by: x // by,
    ast.FloorDiv: lambda x, by: x // by,
    ast.Mod: lambda x, by: x % by,
}
_CALLED = ("ceil_div", "Mod", "floor")
# Each comparison as ``index < below``.
_BELOW: dict[type[ast.cmpop], Callable[[Index, Index], tuple[Index, Index]]] = {
    ast.Lt: lambda x, y: (x, y),
    ast.LtE: lambda x, y: (x, y + 1),
    ast.Gt: lambda x, y: (y, x),
    ast.GtE: lambda x, y: (y, x + 1),
}


def read_claim(text: str, operands: Iterable[Operand]) -> AnyClaim:
    """Return the claim that an equation makes of an output.

    A place that is not a name for each mode is looked up: the claim scatters, and its variables run
    as far as modes that they index, or as ``for t < T, i < counts[t]`` says behind the equation,
    and other conditions there, as ``slots[t] > 3``, leave elements out.

    >>> D, K = Operand("D", "f32", ("M", "N"), role="out"), Operand("K", "f32", ("T", "N"))
    >>> print(read_claim("D[m,n] = where(m < n, 1, 0)", (D,)))
    D[m,n] = where(m < n, 1, 0)
    >>> print(read_claim("D[slots[t],n] = K[t,n]", (D, K, Operand("slots", "s32", ("T",)))))
    D[slots[t],n] = K[t,n] for t < T, n < N
    """
    equation, spans, ranges = text.partition(" for ")
    left, equals, right = equation.partition("=")
    if not equals or left.strip()[-1:] in "<>" or right.startswith("="):
        wrong = f"{quoted(text)} is not an equation"
        fix = 'write "D[m,n] = relu(A[m,n])"'
        if right.startswith("="):
            fix = f'write "{left.strip()} = {right[1:].strip()}"'
        raise KernelError("computes", {"text": text[:80]}, wrong, fix)
    known = {operand.name: operand for operand in operands}

    def place(node: ast.expr) -> tuple[str, tuple[str, ...]] | Scatter:
        match node:
            case ast.Subscript(ast.Name(name), ast.Tuple(parts)) if not spans and all(
                isinstance(part, ast.Name) for part in parts
            ):
                return name, tuple(ast.unparse(part) for part in parts)
            case ast.Subscript(ast.Name(name), ast.Name(index)) if not spans:
                return name, (index,)
            case ast.Subscript(ast.Name(name), at) if name in known and (
                spans or any(isinstance(node, ast.Subscript) for node in ast.walk(at))
            ):
                return _scattered(name, at, (right.strip(), ranges.strip()), known)
            case _:
                wrong = f"{left.strip()} is not an output with a name for each mode"
                modes = known[left.strip()].modes if left.strip() in known else ("M", "N")
                output = left.strip() if left.strip() in known else "D"
                fix = f'write "{output}[{",".join(str(mode).lower() for mode in modes)}] = …"'
                raise KernelError("computes", {"text": text[:80]}, wrong, fix)

    match tree_of(left, "computes", place):
        case Scatter() as scatter:
            return scatter
        case output, indices:
            value = Notation(right.strip(), frozenset(), indices, known).whole()
            return Claim(output, indices, value)


def _scattered(
    output: str, place: ast.expr, texts: tuple[str, str], known: dict[str, Operand]
) -> Scatter:
    """Return the claim of places that are looked up: what lies there, and how far variables run."""
    sizes = {n for o in known.values() for mode in o.modes for n in mode.names}
    given, conditions = ranges_of(texts[1])
    names = [x for x in ast.walk(place) if isinstance(x, ast.Name)]
    names.sort(key=lambda x: x.col_offset)
    free = dict.fromkeys(x.id for x in names if x.id not in {*sizes, *known, *_CALLED})
    indices = tuple(dict.fromkeys((*given, *free)))
    reader = Notation(texts[0], frozenset(), indices, known)
    at = reader.places(place)
    value = reader.whole()
    inner = [Element(x.operand, x.at) for index in at for x in index.looked_up]
    named = (*inner, Element(output, at), *(x for x in leaves(value) if isinstance(x, Element)))

    def extent(name: str) -> Index:
        if name in given:
            return tree_of(given[name], "computes", reader.index)
        pairs = ((x, known[x.operand].modes) for x in named if x.operand in known)
        for x, modes in pairs:
            for index, mode in zip(x.at, modes, strict=False):
                if index == Index(name):
                    return mode
        wrong = f"{name} indexes no mode by itself, and nothing says how far it runs"
        fix = f'write " for {name} < T" behind the equation'
        raise KernelError("computes", {"text": texts[0][:80]}, wrong, fix)

    when = tuple(tree_of(text, "computes", reader.condition) for text in conditions)
    return Scatter(output, at, tuple((name, extent(name)) for name in indices), value, when)


def ranges_of(text: str) -> tuple[dict[str, str], list[str]]:
    """Return how far variables run, of ``t < T, i < counts[t]``, and what else is asked."""
    given: dict[str, str] = {}
    conditions: list[str] = []

    def read(node: ast.expr) -> None:
        for one in node.elts if isinstance(node, ast.Tuple) else [node]:
            match one:
                case ast.Compare(ast.Name(name), [ast.Lt()], [extent]) if name not in given:
                    given[name] = ast.unparse(extent)
                case ast.Compare():
                    conditions.append(ast.unparse(one))
                case _:
                    wrong = f"{quoted(ast.unparse(one))} does not say how far a variable runs"
                    raise KernelError("computes", {"text": text[:80]}, wrong, 'write "t < T"')

    if text:
        tree_of(text, "computes", read)
    return given, conditions


@typed
def read_index(text: str, names: tuple[str, ...], operation: str = "Index") -> Index:
    """Return the index that a text says of some names, as Python or sympy prints it.

    Sums, multiples, ``//`` and ``%`` by positive integers, ``floor(x/4)`` and ``Mod(x, 4)``. Raises
    `KernelError` for anything else.

    >>> print(read_index("8*(t//4) + Mod(v, 2)", ("t", "v")))
    v+8*(t/4)-2*(v/2)
    """
    notation = Notation(text, frozenset(), names, {}, operation)
    return tree_of(text, operation, notation.index)


class Notation(Reader):
    """What reads index notation: sums, conditions, and indices with arithmetic.

    >>> A = Operand("A", "f32", ("M", "K"))
    >>> print(Notation("sum(k, A[m,k])", frozenset(), ("m",), {"A": A}).whole())
    sum(k, A[m,k])
    """

    beside = (*REDUCTIONS, "where")

    def __init__(
        self,
        text: str,
        fragments: frozenset[str],
        indices: tuple[str, ...],
        operands: dict[str, Operand],
        operation: str = "computes",
    ) -> None:
        """Name what may occur."""
        super().__init__(text, fragments, indices, (), operation)
        self.operands = operands
        self.sizes = {n for o in operands.values() for mode in o.modes for n in mode.names}
        whole = (o for o in operands.values() if o.value_type.kind != "float")
        self.scalars = {o.name for o in whole if not o.modes} - {*indices}

    def read(self, node: ast.expr) -> Expression:
        """Return what a node says."""
        match node:
            case ast.Name("inf"):
                return Const(inf)
            case ast.UnaryOp(ast.USub(), inner):
                value = self.read(inner)
                return Const(-value.value) if isinstance(value, Const) else -value
            case ast.Name(name) if name not in {*self.operands, *self.fragments}:
                known = ", ".join((*self.operands, *sorted(self.fragments)))
                raise self.unknown(name, known)
            case ast.Subscript(ast.Name(name)) if name not in {*self.operands, *self.fragments}:
                wrong, fix = f"{name} is not an operand", f"use {', '.join(self.operands)}"
                raise KernelError(self.operation, {"text": self.text[:80]}, wrong, fix)
            case ast.Call(ast.Name(how), [inner], []) if how in REDUCTIONS:
                raise self.unbound(how, inner)
            case ast.Call(ast.Name("where"), [condition, then, otherwise], []):
                return Where(*self.condition(condition), self.read(then), self.read(otherwise))
            case ast.Call(ast.Name(how), [over, *rest], []) if self.binds(how, over, len(rest)):
                return self.total(how, over, rest)
            case _:
                return super().read(node)

    def unbound(self, how: str, inner: ast.expr) -> KernelError:
        """Return the refusal of a sum that does not say over what it runs."""
        places = (x.slice for x in ast.walk(inner) if isinstance(x, ast.Subscript))
        names = (x.id for at in places for x in ast.walk(at) if isinstance(x, ast.Name))
        over = next((name for name in names if name not in self.indices), "k")
        wrong = f"{how} does not say over which index it runs"
        fix = f'write "{how}({over}, {ast.unparse(inner)})"'
        return KernelError(self.operation, {"text": self.text[:80]}, wrong, fix)

    def binds(self, how: str, node: ast.expr, more: int) -> bool:
        """Whether an argument is the variable of a sum or a maximum, and not a number."""
        if how not in REDUCTIONS:
            return False
        if isinstance(node, ast.Compare):
            return True
        name = node.id if isinstance(node, ast.Name) else None
        known = name in {*self.operands, *self.fragments}
        return more in (1, 2) and name is not None and (how not in FUNCTIONS or not known)

    def total(self, how: str, over: ast.expr, rest: list[ast.expr]) -> Expression:
        """Return a sum or a maximum over a variable."""
        extent = None
        if isinstance(over, ast.Compare):
            first, extent = self.condition(over, bound=True)
            name = str(first)
        else:
            name = ast.unparse(over)
        match rest:
            case [_, ast.Name(kind)] if kind in numerics():
                accumulator = as_numeric(kind)
            case [_]:
                accumulator = None
            case _:
                fix = f'write "{how}({name}, …)" or "{how}({name}, …, f32)"'
                raise KernelError(self.operation, {"text": self.text}, "it is not a sum", fix)
        outer, self.indices = self.indices, (*self.indices, name)
        body = self.read(rest[0])
        self.indices = outer
        extent = self.extent(name, body) if extent is None else extent
        return total(name, extent, body, how=how, accumulator=accumulator)

    def extent(self, name: str, body: Expression) -> Index:
        """Return how far a variable runs: the extent of the mode that it indexes."""
        for x in (x for x in leaves(body) if isinstance(x, Element)):
            operand = self.operands.get(x.operand)
            for index, mode in zip(x.at, operand.modes if operand else (), strict=False):
                if index == Index(name):
                    return mode
        wrong = f"{name} indexes no mode by itself, and nothing says how far it runs"
        fix = f'write "sum({name} < K, …)"'
        raise KernelError(self.operation, {"text": self.text}, wrong, fix)

    def condition(self, node: ast.expr, bound: bool = False) -> tuple[Index, Index]:
        """Return ``index < below``; with ``bound``, of a name that the condition binds."""
        match node:
            case ast.Compare(ast.Name(name), [ast.Lt()], [right]) if bound:
                return Index(name), self.index(right)
            case ast.Compare(left, [sign], [right]) if type(sign) in _BELOW and not bound:
                return _BELOW[type(sign)](self.index(left), self.index(right))
            case _:
                wrong = f"{ast.unparse(node)} does not say which of two indices is less"
                fix = f"write {'sum(j < i, …)' if bound else 'where(i < j, x, y)'}"
                raise KernelError(self.operation, {"text": self.text}, wrong, fix)

    def place(self, part: ast.expr) -> Index:
        """Return one index."""
        return self.index(part)

    def index(self, node: ast.expr) -> Index:
        """Return an index: names, integers, sums, multiples, quotients, and what is looked up."""
        match node:
            case ast.Constant(value) if type(value) is int:
                return Index(None, value)
            case ast.Name(name):
                return self.named_index(name)
            case ast.UnaryOp(ast.USub(), inner):
                return -1 * self.index(inner)
            case ast.Subscript(ast.Name(name), place):
                return Index.element(name, *self.places(place))
            case ast.Call(ast.Name(name), [ast.expr() as inner, *rest], []) if name in _CALLED:
                return self.called_index(name, inner, rest, node)
            case ast.BinOp(left, sign, right) if type(sign) in _SUMS:
                return _SUMS[type(sign)](self.index(left), self.index(right))
            case ast.BinOp(left, ast.Mult(), right):
                one, other = self.index(left), self.index(right)
                return other * one.offset if one.is_constant else one * self.number(right)
            case ast.BinOp(left, sign, right) if type(sign) in _QUOTIENTS:
                return _QUOTIENTS[type(sign)](self.index(left), self.number(right))
            case _:
                raise self.refused(node, "an index is made of names and integers")

    def named_index(self, name: str) -> Index:
        """Return a variable, an extent, or the value of a scalar."""
        if name in self.scalars:
            return Index.element(name)
        if name not in {*self.indices, *self.sizes}:
            raise self.unknown(name, ", ".join(sorted({*self.indices, *self.sizes})))
        return Index(name)

    def called_index(
        self, name: str, inner: ast.expr, rest: list[ast.expr], node: ast.expr
    ) -> Index:
        """Return ``ceil_div(x, 4)``, and as sympy prints them ``floor(x/4)`` and ``Mod(x, 4)``."""
        match name, inner, rest:
            case "ceil_div", _, [by]:
                divisor = self.number(by)
                return (self.index(inner) + (divisor - 1)) // divisor
            case "Mod", _, [by]:
                return self.index(inner) % self.number(by)
            case "floor", ast.BinOp(left, ast.Div(), right), []:
                return self.index(left) // self.number(right)
            case _:
                raise self.refused(node, "write floor(x/4), Mod(x, 4) or ceil_div(x, 4)")

    def number(self, node: ast.expr) -> int:
        """Return an integer by which an index is multiplied or divided."""
        index = self.index(node)
        if not index.is_constant:
            raise self.refused(node, "an index is multiplied and divided by integers only")
        return index.offset

    def unknown(self, name: str, known: str) -> KernelError:
        """Return the refusal of a name that stands for nothing."""
        given = {"text": self.text[:80]}
        return KernelError(self.operation, given, f"the name {name} is unknown", f"use {known}")
