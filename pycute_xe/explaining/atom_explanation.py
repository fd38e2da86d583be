"""Floor 9: an atom explained on one screen, as a value."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from pycute_xe.explaining.explanation import Explanation
from pycute_xe.explaining.script import Script

__all__ = ["LINES", "WIDTH", "AtomExplanation", "section"]

WIDTH = 100
LINES = 40
_MARGIN = 11


class AtomExplanation(Explanation):
    """What an atom does, in sections: a step at depth 0 names one, those at depth 1 are its lines.

    ``result`` is the atom. Law: no printed line is longer than 100 characters.
    """

    def sections(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return each heading with its lines.

        >>> from pycute_xe.cutlass import get_atom
        >>> from pycute_xe.explaining import explain
        >>> told = explain(get_atom("XE_2D_U16x32x16_LD_V", "bf16"))
        >>> [heading for heading, _ in told.sections()][:4]
        ['name', 'shipped', 'owners', 'order']
        """
        found: list[tuple[str, list[str]]] = []
        for step in self.steps:
            if step.depth == 0:
                found.append((step.text, []))
            else:
                found[-1][1].append(step.text)
        return tuple((heading, tuple(lines)) for heading, lines in found)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield (heading, text) of each line of the sections; only their first has a heading."""
        for heading, texts in self.sections():
            shown = heading
            for text in texts:
                for line in _wrapped(text):
                    yield shown, line
                    shown = ""

    def __str__(self) -> str:
        """Plain text: title, rule, sections."""
        lines = [f"{heading:{_MARGIN}}{text}".rstrip() for heading, text in self.lines()]
        return "\n".join([self.title, *wrap(self.rule, WIDTH), *lines])

    def _repr_markdown_(self) -> str:
        """Notebooks show this: the text as it stands, for its tables line up."""
        return f"```text\n{self}\n```\n"


def _wrapped(text: str) -> list[str]:
    """Break a line at spaces; what follows stands two further in than it."""
    indent = len(text) - len(text.lstrip())
    room = WIDTH - _MARGIN
    further = " " * (indent + 2)
    # As it is where it fits: spaces line columns up.
    if len(text) <= room:
        return [text]
    return wrap(text, room, subsequent_indent=further, break_long_words=True)


def section(script: Script, heading: str, lines: list[str]) -> None:
    """Write a section; none without lines."""
    if lines:
        with script.within(heading):
            for line in lines:
                script.say(line)
