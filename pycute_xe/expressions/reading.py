"""Expressions of the layout algebra as text, read into a tree of nodes.

CuTe's ``(4,8):(8,1)`` is not Python, so the grammar is its own, and nothing in it can name an
attribute, assign, loop or import. Blanks are allowed between tokens::

    expression = pair { "o" pair }                     "o" is composition
    pair       = term [ ":" term ]                     a layout
    term       = factor { "*" factor }                 2*E(1)
    factor     = { "-" } atom { call | index }
    call       = "(" [ argument { "," argument } [ "," ] ] ")"
    argument   = [ name "=" ] expression
    index      = "[" [ "-" ] integer "]"               a mode
    atom       = integer { "@" integer }               4  _4  1@0
               | "_" | "None" | "Sw<" integers ">" | name
               | "(" [ expression { "," expression } [ "," ] ] ")"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from pycute_xe.errors import InputError, quoted

__all__ = [
    "parse_expression",
    "tokens",
    "Call",
    "Compose",
    "Group",
    "Index",
    "Keep",
    "Name",
    "Node",
    "Number",
    "Pair",
    "Product",
    "SwizzleText",
    "Tuple",
    "ExpressionError",
]

# ------------------------------------------------------------ expression error
# What is wrong with an expression, and where.


class ExpressionError(InputError):
    """An expression that cannot be read or evaluated; ``column`` counts from 1."""

    def __init__(self, text: str, column: int, condition: str, fix: str) -> None:
        """Keep the text and the column beside the four parts."""
        self.text = text
        self.column = column
        super().__init__("layout", {"expression": repr(text)}, f"column {column}: {condition}", fix)

    @property
    def pointer(self) -> str:
        """Two lines: the expression, and a mark under the column.

        >>> print(ExpressionError("4:x", 3, "unknown name", "").pointer)
          4:x
            ^
        """
        shown = "".join(sign if sign.isprintable() else " " for sign in self.text)
        return f"  {shown}\n  {' ' * (self.column - 1)}^"


# ------------------------------------------------------------ nodes
# The parts of an expression of the layout algebra.


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression, and the column (from 1) where it begins."""

    column: int


@dataclass(frozen=True, slots=True)
class Number(Node):
    """An integer, or a basis element where there is a path, inside out as it is printed."""

    value: int
    path: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Keep(Node):
    """``_`` or ``None``: the mode stays whole."""


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name."""

    text: str


@dataclass(frozen=True, slots=True)
class SwizzleText(Node):
    """A swizzle as it prints."""

    numbers: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    """Several expressions, or one followed by a comma."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group(Node):
    """One expression in brackets; next to a colon a tuple of one, as CuTe prints it."""

    item: Node


@dataclass(frozen=True, slots=True)
class Product(Node):
    """Factors; ``negative`` where the number of minus signs is odd."""

    factors: tuple[Node, ...]
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Pair(Node):
    """A shape and its strides."""

    shape: Node
    stride: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """Something called with arguments, some of them by name."""

    callee: Node
    arguments: tuple[Node, ...]
    named: tuple[tuple[Name, Node], ...]


@dataclass(frozen=True, slots=True)
class Index(Node):
    """One mode of something."""

    of: Node
    mode: int


@dataclass(frozen=True, slots=True)
class Compose(Node):
    """Parts joined by ``o``."""

    parts: tuple[Node, ...]


# ------------------------------------------------------------ tokens
# The words and signs of an expression of the layout algebra.


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text: its kind (a symbol is its own kind) and where it begins."""

    kind: str
    text: str
    column: int


_TOKENS = re.compile(
    r"(?P<blank>[ \t\r\n]+)"
    r"|(?P<swizzle>Sw<[ \t]*(-?\d+)[ \t]*,[ \t]*(-?\d+)[ \t]*,[ \t]*(-?\d+)[ \t]*>)"
    r"|(?P<number>_?[0-9]+(?![A-Za-z0-9_]))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol>[():,@*\-=\[\]])",
    re.ASCII,
)
_FOREIGN = {
    ".": "attributes and decimal points",
    '"': "strings",
    "'": "strings",
    "{": "sets and dictionaries",
    "+": "sums",
    "/": "divisions",
    "%": "remainders",
    "<": "comparisons",
    ">": "comparisons",
    "!": "comparisons",
    ";": "statements",
    "#": "comments",
}
_WORDS = {
    **dict.fromkeys(("for", "async", "await", "yield"), "comprehensions and generators"),
    **dict.fromkeys(("if", "else", "and", "or", "not", "is", "in"), "conditions"),
    **dict.fromkeys(("import", "from", "del", "global", "with", "def", "class"), "statements"),
    "lambda": "functions of one's own",
}


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text, the last of kind ``end``; blanks are left out.

    Raises `ExpressionError` at what cannot stand in an expression.

    >>> [token.kind for token in tokens("f(4:_2)")]
    ['name', '(', 'number', ':', 'number', ')', 'end']
    """
    at = 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise _foreign(text, at)
        kind = match.lastgroup or ""
        if kind == "name" and match[0] in _WORDS:
            raise ExpressionError(
                text,
                at + 1,
                f"{_WORDS[match[0]]} ({match[0]!r}) cannot stand in an expression",
                "write layouts and the operations on them",
            )
        if kind != "blank":
            yield Token(match[0] if kind == "symbol" else kind, match[0], at + 1)
        at = match.end()
    yield Token("end", "", len(text) + 1)


def _foreign(text: str, at: int) -> ExpressionError:
    sign = text[at]
    if sign.isdigit() and sign.isascii():
        word = re.match(r"\w+", text[at:], re.ASCII)
        return ExpressionError(
            text,
            at + 1,
            f"{quoted(word[0] if word else sign)} is not a number",
            "write decimal digits, as in 4:2",
        )
    what = f"{_FOREIGN[sign]} ({sign!r})" if sign in _FOREIGN else f"{sign!r}"
    condition = f"{what} cannot stand in an expression"
    return ExpressionError(text, at + 1, condition, "write layouts and the operations on them")


# ------------------------------------------------------------ expression

LENGTH_LIMIT = 2000
DIGITS_LIMIT = 18
# What a basis element may name: zeros are kept for all modes before it.
RANK_LIMIT = 16
DEPTH_LIMIT = 50


def parse_expression(text: str) -> Node:
    """Return the tree of an expression.

    Raises `ExpressionError` with the column where the text stops being one.

    >>> parse_expression("4:2")
    Pair(column=1, shape=Number(column=1, value=4, path=()), stride=Number(column=3, value=2, \
path=()))
    >>> parse_expression("size(4:2")
    Traceback (most recent call last):
    pycute_xe.expressions.reading.ExpressionError: layout(expression='size(4:2'): column 9: ',' \
or ')' expected, not the end. Way out: close the bracket of column 5
    """
    if len(text) > LENGTH_LIMIT:
        raise ExpressionError(
            text[:20] + "…", 1, f"{len(text)} characters are too many", f"at most {LENGTH_LIMIT}"
        )
    parser = _Parser(text)
    node = parser.expression()
    if parser.now.kind != "end":
        parser.fail("the end of the expression expected", "join layouts by o, or call one")
    return node


class _Parser:
    """A position among the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.rest = tokens(text)
        self.now = next(self.rest)
        self.depth = 0

    def take(self) -> Token:
        """Step over a token and return it."""
        token = self.now
        self.now = next(self.rest)
        return token

    def accept(self, kind: str) -> Token | None:
        """Step over a token of a kind, if it comes next."""
        return self.take() if self.now.kind == kind else None

    def error(self, condition: str, fix: str) -> ExpressionError:
        """Return what is wrong with the token that comes next."""
        token = repr(self.now.text) if self.now.kind != "end" else "the end"
        return ExpressionError(self.text, self.now.column, f"{condition}, not {token}", fix)

    def fail(self, condition: str, fix: str) -> NoReturn:
        """Refuse the token that comes next."""
        raise self.error(condition, fix)

    def deeper(self, column: int) -> None:
        """Count one more level; refuse what is nested too deep to be meant."""
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            condition = f"brackets nest deeper than {DEPTH_LIMIT}"
            raise ExpressionError(self.text, column, condition, "write a simpler expression")

    def expression(self) -> Node:
        """Read pairs joined by ``o``."""
        parts = [self.pair()]
        while self.now.kind == "name" and self.now.text == "o":
            self.take()
            parts.append(self.pair())
        return parts[0] if len(parts) == 1 else Compose(parts[0].column, tuple(parts))

    def pair(self) -> Node:
        """Read a term, or a shape and its strides."""
        shape = self.term()
        if not self.accept(":"):
            return shape
        stride = self.term()
        if self.now.kind == ":":
            self.fail("a layout has one colon, and something else expected", "shape:stride")
        return Pair(shape.column, shape, stride)

    def term(self) -> Node:
        """Read factors joined by ``*``."""
        factors = [self.factor()]
        while self.accept("*"):
            factors.append(self.factor())
        return factors[0] if len(factors) == 1 else Product(factors[0].column, tuple(factors))

    def factor(self) -> Node:
        """Read an atom with its signs, calls and indices."""
        column, negative = self.now.column, False
        while self.accept("-"):
            negative = not negative
        node = self.atom()
        outer = self.depth
        while self.now.kind in ("(", "["):
            self.deeper(self.now.column)
            node = self.call(node) if self.now.kind == "(" else self.index(node)
        self.depth = outer
        return Product(column, (node,), negative=True) if negative else node

    def atom(self) -> Node:
        """Read what stands by itself."""
        token = self.now
        if token.kind == "number":
            return self.number()
        if token.kind == "swizzle":
            self.take()
            first, second, third = map(int, token.text[3:-1].split(","))
            return SwizzleText(token.column, (first, second, third))
        if token.kind == "name" and token.text != "o":
            self.take()
            is_keep = token.text in ("_", "None")
            return Keep(token.column) if is_keep else Name(token.column, token.text)
        if token.kind == "(":
            return self.brackets()
        condition = "a layout, a number or an operation expected"
        raise self.error(condition, "as in composition(8:1, 4:2)")

    def number(self) -> Node:
        """Read an integer, or a basis element."""
        token = self.now
        value = self.integer()
        path: list[int] = []
        while self.accept("@"):
            mode = self.integer()
            if mode >= RANK_LIMIT or len(path) >= RANK_LIMIT:
                condition = f"coordinates here have fewer than {RANK_LIMIT} modes"
                raise self.error(condition, "use a smaller basis element")
            path.append(mode)
        return Number(token.column, value, tuple(path))

    def integer(self) -> int:
        """Read digits, perhaps after the underscore of a static integer."""
        if self.now.kind != "number":
            self.fail("an integer expected", "as in 1@0 or [0]")
        if len(self.now.text) > DIGITS_LIMIT:
            self.fail(f"an integer of at most {DIGITS_LIMIT} digits expected", "use a smaller one")
        return int(self.take().text.removeprefix("_"))

    def brackets(self) -> Node:
        """Read a tuple, or one expression in brackets."""
        opening = self.take()
        outer = self.depth
        self.deeper(opening.column)
        items: list[Node] = []
        comma = False
        while self.now.kind != ")":
            items.append(self.expression())
            comma = self.accept(",") is not None
            self.demand_separated(opening, comma)
        self.take()
        self.depth = outer
        if len(items) == 1 and not comma:
            return Group(opening.column, items[0])
        return Tuple(opening.column, tuple(items))

    def demand_separated(self, opening: Token, comma: bool) -> None:
        """Refuse what follows an entry without a comma."""
        if not comma and self.now.kind != ")":
            fix = f"close the bracket of column {opening.column}"
            self.fail("',' or ')' expected", fix)

    def call(self, callee: Node) -> Node:
        """Read the arguments of a call."""
        opening = self.take()
        arguments: list[Node] = []
        named: list[tuple[Name, Node]] = []
        while self.now.kind != ")":
            node = self.expression()
            if isinstance(node, Name) and self.accept("="):
                named.append((node, self.expression()))
            elif named:
                condition = "an argument by place follows one by name"
                fix = "put it first, or name it"
                raise ExpressionError(self.text, node.column, condition, fix)
            else:
                arguments.append(node)
            self.demand_separated(opening, self.accept(",") is not None)
        self.take()
        return Call(callee.column, callee, tuple(arguments), tuple(named))

    def index(self, of: Node) -> Node:
        """Read the mode in square brackets."""
        self.take()
        negative = self.accept("-") is not None
        mode = self.integer()
        if not self.accept("]"):
            self.fail("']' expected", "one mode, as in [0]; take(L, 0, 2) gives several")
        return Index(of.column, of, -mode if negative else mode)
