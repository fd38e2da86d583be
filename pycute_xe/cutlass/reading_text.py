"""Floor 6: C++ text as tokens with their places, and how a slip in it is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from pycute_xe.errors import CuteError, InputError

__all__ = ["Reader", "Token", "at_place", "refuse"]

_TOKEN = re.compile(
    r"(?P<blank>(?:\s|//[^\n]*|/\*.*?\*/)+)"
    r"|(?P<flag>smem_ptr\[\d{1,4}b\]\(unset\))"
    r"|(?P<number>-?\d+)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark>::|[<>,;:=(){}@&*])",
    re.DOTALL,
)
_MOST_DIGITS = 18
MOST_LEVELS = 60
"""How deep brackets may nest."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text: what kind it is, what it says and where it begins."""

    kind: str
    text: str
    at: int


def refuse(text: str, at: int, condition: str, fix: str) -> NoReturn:
    """Raise `InputError` with the line and the column, both counted from 1.

    >>> refuse("Layout<8>", 7, "8 is a value", "write _8")
    Traceback (most recent call last):
    pycute_xe.errors.InputError: from_cute(text='8>'): line 1, column 8: 8 is a value...
    """
    raise InputError("from_cute", _given(text, at), f"{_place(text, at)}: {condition}", fix)


def at_place(text: str, at: int, error: CuteError) -> CuteError:
    """Return an error of the library with the place in the text where it arose."""
    if error.operation == "from_cute":
        return error
    kind = type(error)
    condition = f"{_place(text, at)}: {error.condition}"
    return kind("from_cute", _given(text, at), condition, error.fix)


def _given(text: str, at: int) -> dict[str, object]:
    line = text[at:].split("\n", 1)[0]
    return {"text": repr(line if len(line) < 40 else line[:40] + "…")}


def _place(text: str, at: int) -> str:
    before = text[:at]
    return f"line {before.count(chr(10)) + 1}, column {at - before.rfind(chr(10))}"


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            tensor = "ptr[" in text[: at + 1]
            fix = "print the layout alone: print(tensor.layout())" if tensor else "leave it out"
            refuse(text, at, f"{text[at]!r} is not a part of a C++ type", fix)
        kind = match.lastgroup or ""
        if kind == "number" and len(match[0]) > _MOST_DIGITS:
            refuse(text, at, f"the number has more than {_MOST_DIGITS} digits", "use a smaller one")
        if kind != "blank":
            found.append(Token(kind, match[0], at))
        at = match.end()
    return [*found, Token("end", "", len(text.rstrip()))]


class Reader:
    """A position in the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.index = 0
        self.level = 0

    def peek(self, ahead: int = 0) -> Token:
        """Return the token that comes next or later, of kind "end" behind the last."""
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def follows(self, *texts: str) -> bool:
        """Whether the next tokens read so."""
        ahead = self.tokens[self.index : self.index + len(texts)]
        return [token.text for token in ahead] == list(texts)

    def step(self) -> Token:
        """Return the next token and step over it."""
        token = self.peek()
        if token.kind != "end":
            self.index += 1
        return token

    def skip(self, text: str) -> bool:
        """Step over a token if it comes next."""
        found = self.peek().kind != "end" and self.peek().text == text
        if found:
            self.index += 1
        return found

    def take(self, text: str, wanted: str = "", fix: str = "") -> None:
        """Step over a token, or refuse what stands there."""
        if not self.skip(text):
            self.expected(wanted or repr(text), fix)

    def deeper(self) -> None:
        """Enter a bracket."""
        self.level += 1
        if self.level > MOST_LEVELS:
            self.refuse(f"brackets nest more than {MOST_LEVELS} levels deep", "nest fewer levels")

    def expected(self, wanted: str, fix: str = "") -> NoReturn:
        """Refuse the next token, saying what should stand there."""
        found = repr(self.peek().text) if self.peek().text else "the end"
        self.refuse(
            f"{wanted} expected, not {found}",
            fix or "write a type, as in Layout<Shape<_8,_4>,Stride<_4,_1>>",
        )

    def refuse(self, condition: str, fix: str) -> NoReturn:
        """Refuse at the next token."""
        refuse(self.text, self.peek().at, condition, fix)
