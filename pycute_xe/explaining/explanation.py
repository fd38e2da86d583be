"""An explanation as a value: steps, and the result or the refusal they end in."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from textwrap import wrap
from typing import Any, NoReturn

from pycute_xe.algebra.compose import as_tiler, flat_modes
from pycute_xe.errors import CuteError
from pycute_xe.int_tuple import leaves, unflatten_tuple
from pycute_xe.layout import Layout
from pycute_xe.signatures import checked_fields
from pycute_xe.typing import Mode, is_tuple, shown

__all__ = [
    "Explanation",
    "Step",
    "Script",
    "Stopped",
    "mode_text",
    "times",
    "LINES",
    "AtomExplanation",
    "section",
    "nearest_operand",
    "refinement_of",
]


@checked_fields
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


@checked_fields
@dataclass(frozen=True, repr=False)
class Explanation:
    """How an operation came to its result, step by step. Made by `explain`.

    ``result`` is what the operation returned and ``refusal`` the error it raised, one of them
    ``None``; the steps tell which error, so two explanations compare without it. Of a refused
    composition, divide or product ``question`` is the operation and its layouts; what it would have
    taken stands below the refusal. ``print`` shows plain text, a notebook a list.
    """

    title: str
    rule: str
    steps: tuple[Step, ...]
    result: Any = None
    refusal: CuteError | None = field(default=None, compare=False)
    question: tuple[Any, ...] = field(default=(), compare=False)

    _repr_mimebundle_ = shown

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

    @property
    def nearest(self) -> Any:
        """The second operand nearest to the given one that is taken, if one is near."""
        return nearest_operand(*self.question) if self.question else None

    @property
    def refinement(self) -> tuple[int, ...] | None:
        """The least shape of indices that has the cuts of both operands, if there is one."""
        return refinement_of(*self.question[1:]) if self.question else None

    def ways(self) -> list[str]:
        """Return what would have been taken, line by line.

        >>> Explanation("t", "r", ()).ways()
        []
        """
        lines: list[str] = []
        if self.nearest is not None:
            lines.append(f"Nearest operand that is taken: {self.nearest}")
        if self.refinement is not None:
            lines.append(f"Least refinement of both: {self.refinement}")
        return lines

    def __repr__(self) -> str:
        """The title."""
        return f"<{type(self).__name__} {self.title}>"

    def __str__(self) -> str:
        """Plain text: title, rule, numbered steps, ending."""
        lines = [self.title, self.rule]
        for number, step in self.numbered():
            lines.append(f"{'   ' * step.depth} {number}. {step}")
        return "\n".join([*lines, self.ending, *self.ways()])

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


# ------------------------------------------------------------ script
# The steps of an explanation while they are being written down.


class Stopped(Exception):
    """The rule cannot go on: the operation refuses at the step written last."""


class Script:
    """Steps in order; steps said inside another belong to it."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.depth = 0

    def say(self, text: str, value: Any = None) -> None:
        """Write a step."""
        self.steps.append(Step(text, value, self.depth))

    def stop(self, text: str) -> NoReturn:
        """Write the step at which the rule stops."""
        self.say(text)
        raise Stopped

    @contextmanager
    def within(self, text: str) -> Generator[None]:
        """Write a step, and what follows as parts of it."""
        self.say(text)
        self.depth += 1
        # Not in a ``finally``: where the rule stops, nothing follows.
        yield
        self.depth -= 1


def mode_text(mode: Mode) -> str:
    """Return a mode as it prints.

    >>> mode_text((4, 2))
    '4:2'
    """
    return f"{mode[0]}:{mode[1]}"


def times(left: Any, right: Any) -> str:
    """Return a product as it is read, sums in brackets.

    >>> times(3, 8), times("M - 1", 4)
    ('3·8', '(M - 1)·4')
    """
    return f"{_factor(left)}·{_factor(right)}"


def _factor(value: Any) -> str:
    text = str(value)
    return f"({text})" if any(sign in text for sign in " +/%") else text


# ------------------------------------------------------------ atom explanation
# An atom explained on one screen, as a value.

WIDTH = 100
LINES = 40
_MARGIN = 11


class AtomExplanation(Explanation):
    """What an atom does, in sections: a step at depth 0 names one, those at depth 1 are its lines.

    ``result`` is the atom. Law: no printed line is longer than 100 characters.
    """

    _repr_mimebundle_ = shown

    def sections(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return each heading with its lines.

        >>> from pycute_xe.cutlass import get_atom
        >>> from pycute_xe.explaining import explain
        >>> told = explain(get_atom("XE_2D_U16x32x16_LD_V", "bf16"))
        >>> [heading for heading, _ in told.sections()][:4]
        ['name', 'shipped', 'owners', 'order']
        """
        headings: list[tuple[str, list[str]]] = []
        for step in self.steps:
            if step.depth == 0:
                headings.append((step.text, []))
            else:
                headings[-1][1].append(step.text)
        return tuple((heading, tuple(lines)) for heading, lines in headings)

    def lines(self, width: int = WIDTH) -> Iterator[tuple[str, str]]:
        """Yield (heading, line) of the sections; only the first line of one has its heading."""
        for heading, texts in self.sections():
            shown = heading
            for text in texts:
                for line in _wrapped(text, width - _MARGIN):
                    yield shown, f"{shown:{_MARGIN}}{line}".rstrip()
                    shown = ""

    def __str__(self) -> str:
        """Plain text: title, rule, sections."""
        lines = (line for _, line in self.lines())
        return "\n".join([self.title, *wrap(self.rule, WIDTH), *lines])

    def _repr_markdown_(self) -> str:
        """Notebooks show this: the text as it stands, for its tables line up."""
        return f"```text\n{self}\n```\n"


def _wrapped(text: str, room: int) -> list[str]:
    """Break a line at spaces; what follows stands two further in than it."""
    # As it is where it fits: spaces line columns up.
    if len(text) <= room:
        return [text]
    further = " " * (len(text) - len(text.lstrip()) + 2)
    return wrap(text, room, subsequent_indent=further)


def section(script: Script, heading: str, lines: list[str]) -> None:
    """Write a section; none without lines."""
    if lines:
        with script.within(heading):
            for line in lines:
                script.say(line)


# ------------------------------------------------------------ nearest

MOST = 2_000
"""Operands that are tried before the search gives up."""


def nearest_operand(
    operation: Callable[[Layout, Any], Any], layout: Layout, operand: Any
) -> Layout | None:
    """Return the layout nearest to an operand that the operation takes, if one is near.

    Near is a small sum of differences of extents and strides, extents counting first among equals;
    at most two of these numbers change, each to at most twice itself and 4. Leaves stay where they
    are. Numbers that are not integers are not changed.

    >>> from pycute_xe.algebra import composition
    >>> print(nearest_operand(composition, Layout((4, 6), (1, 100)), Layout(3, 3)))
    2:3
    """
    if is_tuple(operand) or operand is None:
        return None
    tiler = as_tiler(operand)
    numbers = [*leaves(tiler.shape), *leaves(tiler.stride)]
    if any(type(number) is not int for number in numbers):
        return None
    for changed in _changes(numbers, len(numbers) // 2):
        half = len(numbers) // 2
        shape = unflatten_tuple(tuple(changed[:half]), tiler.shape)
        stride = unflatten_tuple(tuple(changed[half:]), tiler.shape)
        candidate = Layout(shape, stride)
        try:
            operation(layout, candidate)
        except CuteError:
            continue
        return candidate
    return None


def _changes(numbers: list[int], extents: int) -> Iterator[list[int]]:
    """Yield the numbers with one or two of them changed, the least changes first."""
    steps: list[tuple[int, int, int]] = []  # difference, place, new value
    for place, number in enumerate(numbers):
        lowest = 1 if place < extents else 0
        for value in range(lowest, 2 * number + 5):
            if value != number:
                steps.append((abs(value - number), place, value))
    steps.sort()
    pairs = [(a[0] + b[0], (a[1:], b[1:])) for a in steps for b in steps if a[1] < b[1]]
    one: list[tuple[int, tuple[tuple[int, int], ...]]] = [(s[0], (s[1:],)) for s in steps]
    ordered = sorted([*one, *pairs], key=lambda change: (change[0], len(change[1])))
    for _, places in ordered[:MOST]:
        out = list(numbers)
        for place, value in places:
            out[place] = value
        yield out


def refinement_of(layout: Layout, operand: Any) -> tuple[int, ...] | None:
    """Return the least shape of indices that has the cuts of a layout and those of an operand.

    The cuts of a layout are where its modes start and end among the indices, those of an operand
    where its strides start and end. ``None`` where two cuts do not divide each other.

    >>> refinement_of(Layout((4, 6)), Layout(3, 8)), refinement_of(Layout((4, 6)), Layout(3, 3))
    ((4, 2, 3), None)
    """
    if is_tuple(operand) or operand is None:
        return None
    cuts = {1}
    reach: Any = 1
    for s, _ in flat_modes(layout):
        reach = reach * s
        cuts.add(reach)
    for s, d in flat_modes(as_tiler(operand)):
        if s != 1:
            cuts |= {d, d * s}
    if any(type(cut) is not int or cut < 1 for cut in cuts):
        return None
    ordered = sorted(cuts)
    if any(high % low for low, high in pairwise(ordered)):
        return None
    return tuple(high // low for low, high in pairwise(ordered))
