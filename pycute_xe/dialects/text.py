"""Attributes of MLIR as text, read into names, numbers and lists.

The grammar, blanks allowed between tokens::

    attribute = "#" name [ "<" [ "{" ] fields [ "}" ] ">" ]
    fields    = [ field { "," field } ]
    field     = key "=" value | attribute            one without a key is the parent
    value     = integer | "true" | "false" | list | attribute | word
    list      = "[" [ value { "," value } ] "]"

Aliases, ``#name = #attribute``, may stand in lines before the attribute.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from pycute_xe.errors import InputError, quoted
from pycute_xe.signatures import MOST_LEVELS

__all__ = ["Attribute", "Fields", "read_attribute"]

_NAME = re.compile(r"#[A-Za-z_][\w.$]*")
_KEY = re.compile(r"[A-Za-z_]\w*")
_INTEGER = re.compile(r"-?\d+")
_BLANKS = re.compile(r"(?:\s|//[^\n]*(?:\n|$))*")
_MOST_DIGITS = 9

OPERATION = "dialects.parse"


@dataclass(frozen=True)
class Attribute:
    """An attribute: its name and its fields, as they stand in the text."""

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])


def read_attribute(text: str, aliases: Mapping[str, str] | None = None) -> Attribute:
    """Read the last attribute of a text; those above it are aliases that it may use.

    ``aliases`` are more of these, by name without ``#``. Raises `InputError` with the line and the
    column (both from 1) where the text stops being an attribute.

    >>> read_attribute("#ttg.slice<{dim = 0, parent = #ttg.linear<{lane = [[1]]}>}>").fields["dim"]
    0
    >>> read_attribute("#ttg.linear<{lane = [[1]}>")
    Traceback (most recent call last):
    pycute_xe.errors.InputError: dialects.parse(text='#ttg.linear<{lane = [[1]}>'): \
line 1, column 25: ',' or ']' expected, not '}'. Way out: write #name<{key = value, …}>
    """
    if type(text) is not str:
        wrong = f"text is of type {type(text).__name__}"
        raise InputError(OPERATION, {"text": quoted(text)}, wrong, 'give "#ttg.blocked<{…}>"')
    known: dict[str, Attribute] = {}
    for name, meaning in (aliases or {}).items():
        known[f"#{name.lstrip('#')}"] = _Reader(meaning, known).whole()
    return _Reader(text, known).whole()


class _Reader:
    """A position in a text."""

    def __init__(self, text: str, known: dict[str, Attribute]) -> None:
        self.text = text
        self.known = known
        self.place = 0
        self.level = 0

    def whole(self) -> Attribute:
        """Read aliases and attributes to the end; the last one counts."""
        last: Attribute | None = None
        while last is None or self._peek():
            name = self._match(_NAME, "an attribute, '#name<{…}>',")
            if self._peek() == "=":
                self._take("=")
                self.known[name] = last = self._attribute()
            elif last is None or self._peek() != "":
                last = self._named(name)
                self._end()
            else:
                last = self._named(name)
        return last

    def _end(self) -> None:
        if self._peek():
            self._fail("the end")

    def _attribute(self) -> Attribute:
        return self._named(self._match(_NAME, "an attribute, '#name<{…}>',"))

    def _named(self, name: str) -> Attribute:
        if self._peek() != "<":
            if name in self.known:
                return self.known[name]
            wrong = f"{name} is an alias that the text does not define"
            fix = f"put '{name} = #…' in a line above it, or give aliases={{{name[1:]!r}: '#…'}}"
            if "." in name:
                wrong, fix = f"{name} has no fields", f"write {name}<{{key = value, …}}>"
            raise InputError(OPERATION, {"text": repr(self.text)}, wrong, fix)
        self._take("<")
        braces = self._peek() == "{"
        if braces:
            self._take("{")
        fields = self._fields("}" if braces else ">")
        if braces:
            self._take("}")
        self._take(">")
        return Attribute(name[1:], fields)

    def _fields(self, end: str) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        while self._peek() != end:
            if fields and self._peek() != ",":
                self._fail(f"',' or {end!r}")
            if fields:
                self._take(",")
            self._peek()
            start = self.place
            if self._peek() == "#" and not fields:
                fields["parent"] = self._value()
                continue
            key = self._match(_KEY, "a key")
            if key in fields:
                self.place = start
                self._fail(f"another key than {key}, which stands there already,")
            self._take("=")
            fields[key] = self._value()
        return fields

    def _value(self) -> Any:
        self.level += 1
        if self.level > MOST_LEVELS:
            self._fail(f"at most {MOST_LEVELS} levels")
        value = self._leaf_or_list()
        self.level -= 1
        return value

    def _leaf_or_list(self) -> Any:
        first = self._peek()
        if first == "[":
            return self._list()
        if first == "#":
            return self._attribute()
        if _INTEGER.match(self.text, self.place):
            start = self.place
            digits = self._match(_INTEGER, "an integer")
            if len(digits) > _MOST_DIGITS:
                self.place = start
                self._fail(f"an integer of at most {_MOST_DIGITS} digits")
            return int(digits)
        word = self._match(_KEY, "an integer, a list or an attribute")
        return {"true": True, "false": False}.get(word, word)

    def _list(self) -> list[Any]:
        self._take("[")
        values: list[Any] = []
        while self._peek() != "]":
            if values:
                if self._peek() != ",":
                    self._fail("',' or ']'")
                self._take(",")
            values.append(self._value())
        self._take("]")
        return values

    def _peek(self) -> str:
        blanks = _BLANKS.match(self.text, self.place)
        self.place = blanks.end() if blanks else self.place
        return self.text[self.place : self.place + 1]

    def _take(self, mark: str) -> None:
        if self._peek() != mark:
            self._fail(repr(mark))
        self.place += 1

    def _match(self, pattern: re.Pattern[str], what: str) -> str:
        self._peek()
        match = pattern.match(self.text, self.place)
        if match is None:
            self._fail(what)
        self.place = match.end()
        return match.group()

    def _fail(self, expected: str) -> NoReturn:
        before = self.text[: self.place]
        line, column = before.count("\n") + 1, self.place - before.rfind("\n")
        rest = self.text[self.place : self.place + 12].split("\n")[0]
        there = repr(rest[:1] if not rest[:1].isalnum() else rest) if rest else "the end"
        wrong = f"line {line}, column {column}: {expected} expected, not {there}"
        raise InputError(
            OPERATION, {"text": repr(self.text)}, wrong, "write #name<{key = value, …}>"
        )


class Fields:
    """The fields of an attribute, taken one by one, each checked.

    Raises `InputError` naming the attribute and the field.

    >>> fields = Fields(read_attribute("#ttg.dot_op<{opIdx = 0}>"), ("opIdx",), ("kWidth",))
    >>> fields.number("opIdx", 0, 1), fields.number("kWidth", 1, 8, 1)
    (0, 1)
    """

    def __init__(
        self, attribute: Attribute, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
    ) -> None:
        """Refuse keys that are neither required nor optional, and required ones that lack."""
        self.attribute = attribute
        self.names = required + optional
        missing = [key for key in required if key not in attribute.fields]
        if missing:
            raise self.refusal(f"it lacks {', '.join(missing)}", "write them all")
        unknown = [key for key in attribute.fields if key not in self.names]
        if unknown:
            fix = f"its fields are {', '.join(self.names)}"
            raise self.refusal(f"{unknown[0]} is not a field of #{attribute.name}", fix)

    def refusal(self, wrong: str, fix: str) -> InputError:
        """Return an error about this attribute."""
        return InputError(OPERATION, {"text": f"#{self.attribute.name}<…>"}, wrong, fix)

    def number(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """Return an integer between two bounds."""
        value = self.attribute.fields.get(key, default)
        if type(value) is not int or not least <= value <= most:
            fix = f"give an integer from {least} to {most}"
            raise self.refusal(f"{key} = {quoted(value)}", fix)
        return value

    def items(self, key: str, default: list[Any] | None = None) -> list[Any]:
        """Return a list."""
        value = self.attribute.fields.get(key, default)
        if type(value) is not list:
            raise self.refusal(f"{key} = {quoted(value)} is not a list", "write [8, 1]")
        return cast("list[Any]", value)

    def row(self, value: object) -> tuple[int, ...]:
        """Return a coordinate that stands in a list."""
        row = cast("list[int]", value)
        if type(value) is not list or not _are_counts(row):
            raise self.refusal(f"{quoted(row)} is not a coordinate", "write [[0, 1], [0, 2]]")
        return tuple(row)

    def numbers(self, key: str) -> tuple[int, ...]:
        """Return a list of integers of at least 0."""
        value = self.items(key)
        if not _are_counts(value):
            raise self.refusal(f"{key} = {quoted(value)}", "give a list of integers, [8, 1]")
        return tuple(value)

    def attribute_at(self, key: str) -> Attribute:
        """Return an attribute that is a field."""
        value = self.attribute.fields.get(key)
        if not isinstance(value, Attribute):
            raise self.refusal(f"{key} = {quoted(value)}", "give an attribute, #name<{…}>")
        return value


def _are_counts(row: list[Any]) -> bool:
    return all(type(one) is int and one >= 0 for one in row)
