"""Floor 9: an explanation as a value: steps, and the result or the refusal they end in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pycute_xe.errors import CuteError

__all__ = ["Explanation", "Step"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what was done, the value it gave (``None`` for a remark), how deep it stands.

    A step at depth 1 belongs to the nearest step before it at depth 0, and so on.
    """

    text: str
    value: Any = None
    depth: int = 0

    def __str__(self) -> str:
        """The text, and the value after an arrow."""
        return self.text if self.value is None else f"{self.text} → {self.value}"


@dataclass(frozen=True, repr=False)
class Explanation:
    """How an operation came to its result, step by step. Made by `explain`.

    ``result`` is what the operation returned and ``refusal`` the error it raised, one of them
    ``None``; the steps tell which error, so two explanations compare without it. ``print`` shows
    plain text, a notebook a list.
    """

    title: str
    rule: str
    steps: tuple[Step, ...]
    result: Any = None
    refusal: CuteError | None = field(default=None, compare=False)

    def numbered(self) -> Iterator[tuple[str, Step]]:
        """Yield each step with its number, such as ``2.1``.

        >>> steps = (Step("flatten"), Step("look", depth=1), Step("merge"))
        >>> [number for number, _ in Explanation("t", "r", steps).numbered()]
        ['1', '1.1', '2']
        """
        counts: list[int] = []
        for step in self.steps:
            counts = [*counts, 0][: step.depth + 1]
            counts[-1] += 1
            yield ".".join(map(str, counts)), step

    @property
    def ending(self) -> str:
        """The last line: the result, or the refusal and the step it happened at."""
        if self.refusal is None:
            return f"Result: {self.result}"
        kind = type(self.refusal).__name__
        *_, (number, _) = ("", None), *self.numbered()
        where = f" at step {number}" if number else ""
        return f"Refused{where}: {kind}: {self.refusal}"

    def __repr__(self) -> str:
        """The title."""
        return f"<{type(self).__name__} {self.title}>"

    def __str__(self) -> str:
        """Plain text: title, rule, numbered steps, ending."""
        lines = [self.title, self.rule]
        for number, step in self.numbered():
            lines.append(f"{'   ' * step.depth} {number}. {step}")
        return "\n".join([*lines, self.ending])

    def _repr_markdown_(self) -> str:
        """Notebooks show this: a nested list, values as code."""
        lines = [f"**{_code(self.title)}**", "", _escaped(self.rule), ""]
        for number, step in self.numbered():
            value = "" if step.value is None else f" → {_code(step.value)}"
            lines.append(f"{'    ' * step.depth}- {number}: {_escaped(step.text)}{value}")
        head, _, rest = self.ending.partition(": ")
        return "\n".join([*lines, "", f"**{head}:** {_code(rest)}", ""])


def _code(value: Any) -> str:
    return f"`{value}`"


def _escaped(text: str) -> str:
    """Keep Markdown from reading ``*``, ``_`` and ``<`` of a formula as its own."""
    for sign in "\\*_<[":
        text = text.replace(sign, f"\\{sign}")
    return text
