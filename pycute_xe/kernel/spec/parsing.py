"""Expressions as users write them: ``relu(alpha*acc + beta*C[m,n] + bias[n])``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial, reduce
from typing import TypeVar

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.spec.expression import (
    TOO_DEEP,
    Element,
    Expression,
    Slot,
    apply,
    as_expression,
    check_depth,
    rounded_to,
)
from pycute_xe.kernel.spec.reductions import REDUCTIONS
from pycute_xe.numeric import as_numeric, numerics

__all__ = ["Reader", "parse", "tree_of"]

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
        raise KernelError(
            operation, {"text": text}, f"{type(text).__name__} is not text", 'write "relu(acc)"'
        )
    try:
        return read(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, RecursionError, ValueError, MemoryError) as error:
        if isinstance(error, KernelError):
            raise
        # Python's own parser has limits too, and says "too many nested parentheses".
        deep = isinstance(error, (RecursionError, MemoryError)) or "too many nested" in str(error)
        said = TOO_DEEP if deep else ("it is not an expression", 'write "relu(acc + bias[n])"')
        raise KernelError(operation, {"text": text[:80]}, *said) from error


class Reader:
    """What reads a tree of Python's parser as an expression."""

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
        found = tree_of(self.text, self.operation, self.read)
        check_depth(self.operation, {"text": self.text[:80]}, found)
        return found

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
                return self.called(name, [self.read(a) for a in arguments])
            case ast.BinOp(left, sign, right):
                return self.combined(sign, self.read(left), self.read(right))
            case ast.UnaryOp(ast.USub(), inner):
                return -self.read(inner)
            case ast.UnaryOp(ast.UAdd(), inner):
                return self.read(inner)
            case _:
                raise self.refused(node, f"{type(node).__name__} has no meaning here")

    def combined(self, sign: ast.operator, left: Expression, right: Expression) -> Expression:
        """Return a sum, a product or a quotient."""
        if isinstance(sign, ast.Sub):
            return left - right
        name = _SIGNS.get(type(sign))
        if name is None:
            raise KernelError(
                self.operation,
                {"text": self.text},
                f"{type(sign).__name__} has no meaning",
                "+ - * /",
            )
        return apply(name, left, right)

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

    def refused(self, node: ast.AST, wrong: str) -> KernelError:
        """Return the refusal of a node."""
        example = "(B - zero[n]) * scale[k/128,n]" if self.divided else "relu(alpha*acc + bias[n])"
        return KernelError(
            self.operation,
            {"text": self.text, "at": ast.unparse(node)},
            wrong,
            f'write, for example, "{example}"',
        )
