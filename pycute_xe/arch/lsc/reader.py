"""Reading text piece by piece; what does not fit is refused with its column."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

from pycute_xe.errors import CuteError, InputError

__all__ = ["NAME", "NUMBER", "Reader", "number", "operand"]

NAME = r"(?:%[0-9]+|%{0,2}[A-Za-z_][A-Za-z_0-9]*)(?:[.][0-9]+)?"
NUMBER = r"0[xX][0-9a-fA-F]{1,16}\b|[0-9]{1,20}\b"
_TYPED = r":\s*u?[bwdq]\b"
_BLANK = re.compile(r"(\s|//[^\n]*)*")


class Reader:
    """A text and how far it has been read; blanks and ``//`` comments are skipped.

    >>> reader = Reader("lsc_load .ugm // comment")
    >>> reader.take(r"[a-z_]+", "a word"), reader.take(r"[.]", "a dot"), reader.maybe("flat")
    ('lsc_load', '.', None)
    """

    def __init__(self, text: object) -> None:
        """Start at the beginning; `InputError` unless it is a string."""
        if not isinstance(text, str):
            raise InputError(
                "parse", {"text": text}, "the text is not a string", "give a line of vISA text"
            )
        self.text = text
        self.place = 0
        self._places: dict[str, int] = {}
        self._skip()

    def maybe(self, pattern: str) -> str | None:
        """Read what matches, if it comes next."""
        found = re.compile(pattern).match(self.text, self.place)
        if found is None:
            return None
        self.place = found.end()
        self._skip()
        return found.group()

    def take(self, pattern: str, what: str) -> str:
        """Read what matches; `InputError` at the column where something else stands."""
        found = self.maybe(pattern)
        if found is None:
            raise self.error(f"expected {what}")
        return found

    def ended(self) -> bool:
        """Whether only blanks and comments are left."""
        return self.place == len(self.text)

    def mark(self, field: str, place: int | None = None) -> None:
        """Remember where the text of a field stands: at a place, here if none is given."""
        self._places[field] = self.place if place is None else place

    @contextmanager
    def within(self, place: int) -> Generator[None]:
        """Report what is refused inside as an error of the text.

        It points at the field that is refused, the last of several that were marked; at the place
        where none was.
        """
        try:
            yield
        except InputError:
            raise
        except CuteError as refused:
            marked = [self._places[name] for name in refused.operands if name in self._places]
            at = max(marked, default=place)
            raise self.error(refused.condition, refused.fix, at) from refused

    def error(self, condition: str, fix: str = "", place: int | None = None) -> InputError:
        """Make the error that points at a place, the present one if none is given."""
        at = self.place if place is None else place
        before = self.text[:at]
        start = before.rfind("\n") + 1
        line = self.text[start:].split("\n", 1)[0].replace("\t", " ")
        where = f"column {at - start + 1}"
        if "\n" in self.text.strip():
            where = f"line {before.count(chr(10)) + 1}, {where}"
        pointed = f"{fix or 'correct the text'}\n    {line}\n    {' ' * (at - start)}^"
        return InputError("parse", {"text": self.text.strip()}, f"{where}: {condition}", pointed)

    def _skip(self) -> None:
        found = _BLANK.match(self.text, self.place)
        self.place = found.end() if found else self.place


def number(text: str) -> int:
    """Return a decimal number, leading zeros and all, or a hexadecimal one.

    >>> number("0x10"), number("-010")
    (16, -10)
    """
    return int(text, 16 if "x" in text.lower() else 10)


def operand(reader: Reader, what: str) -> int | str:
    """Read a number, perhaps typed, or a name, perhaps with its region.

    >>> operand(Reader("-16:d"), "x"), operand(Reader("V3 (0, 1)"), "x")
    (-16, 'V3(0,1)')
    """
    sign = reader.maybe(r"-") or ""
    found = reader.maybe(NUMBER)
    if found is not None:
        reader.maybe(_TYPED)
        return number(sign + found)
    if sign:
        raise reader.error("expected a number")
    name = reader.take(NAME, f"{what}: a number or a name such as V12")
    return name + _listed(reader, "(,)") + _listed(reader, "<;,>")


def _listed(reader: Reader, marks: str) -> str:
    """Numbers between marks, if the first mark comes next: ``(0,1)``, ``<0;1,0>``."""
    opening, *rest = marks
    if reader.maybe(re.escape(opening)) is None:
        return ""
    found = opening
    for mark in rest:
        found += reader.take("[0-9]+", "a number")
        found += reader.take(re.escape(mark), mark)
    return found
