"""Floor 12: the words and signs of an expression of the layout algebra."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pycute_xe.cli.expression_error import ExpressionError
from pycute_xe.errors import quoted

__all__ = ["Token", "tokens"]


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
        found = _TOKENS.match(text, at)
        if found is None:
            raise _foreign(text, at)
        kind = found.lastgroup or ""
        if kind == "name" and found[0] in _WORDS:
            raise ExpressionError(
                text,
                at + 1,
                f"{_WORDS[found[0]]} ({found[0]!r}) cannot stand in an expression",
                "write layouts and the operations on them",
            )
        if kind != "blank":
            yield Token(found[0] if kind == "symbol" else kind, found[0], at + 1)
        at = found.end()
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
