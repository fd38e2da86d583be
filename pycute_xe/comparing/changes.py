"""What a comparison found, as values that print: rows, owners that change, lines of a listing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import TypeVar

from pycute_xe.signatures import checked_fields
from pycute_xe.typing import shown

__all__ = ["Change", "Difference", "NAMES", "Owner", "Row", "Value", "change_of_owners", "fitting"]

Owner = tuple[int, int]
"""(work-item, value)."""

Place = TypeVar("Place", bound=tuple[int, ...])

NAMES = "names"
"""The section of rows that say what something is called or how it is written, not what it is."""

Value = int | str | None

_LINES = 25
_EXAMPLES = 3
_COLUMNS = 100
_PARAGRAPH = 5
"""Lines that the rows of a section take at most; fewer where a screen is full."""
_LEAST = 6
"""Lines of a listing that are shown at least, where there are so many."""


@checked_fields
@dataclass(frozen=True)
class Change:
    """How the owners of the elements of a common block change.

    ``elements`` are compared; of them ``other_work_item`` have another work-item, ``other_value``
    the same one under another value number, and ``other_byte`` begin in another byte of the
    registers, where two of them are compared. The first owner counts where several work-items
    repeat an element; ``other_repeats`` are those whose first owner stays and further ones do not.
    ``examples``: (row, column), first owner before, another one after. ``who`` are the words for
    the two parts of an owner.
    """

    elements: int
    other_work_item: int
    other_value: int
    other_byte: int
    examples: tuple[tuple[tuple[int, ...], tuple[int, int], tuple[int, int]], ...]
    other_repeats: int = 0
    who: tuple[str, str] = ("work-item", "value number")

    @property
    def moved(self) -> int:
        """Elements of which some owner is another."""
        return self.other_work_item + self.other_value + self.other_repeats

    @property
    def brief(self) -> str:
        """How many elements have other owners, and the first of them."""
        text = f"{self.moved} of {self.elements} elements change"
        if self.other_repeats:
            text += f", {self.other_repeats} of them further owners alone"
        return f"{text}, first {self._examples(1)}" if self.examples else text

    def _examples(self, most: int) -> str:
        whose, which = self.who
        one, two = ("T", "V") if whose == "work-item" else (f"{whose} ", f"{which} ")
        return "; ".join(
            f"({', '.join(map(str, place))}): {one}{t}·{two}{v} → {one}{to}·{two}{at}"
            for place, (t, v), (to, at) in self.examples[:most]
        )

    def __str__(self) -> str:
        """One line of figures, then the examples on another."""
        if not self.elements:
            return "no element in common"
        if not (self.moved or self.other_byte):
            return f"all {self.elements} elements alike"
        text = (
            f"of {self.elements} elements {self.other_work_item} change {self.who[0]}, "
            f"{self.other_value} only {self.who[1]}"
        )
        if self.other_byte:
            text += f", {self.other_byte} byte"
        if self.other_repeats:
            text += f", {self.other_repeats} further owners"
        return "\n  ".join((text, self._examples(_EXAMPLES))) if self.examples else text


def change_of_owners(
    before: Mapping[Place, tuple[Owner, ...]],
    after: Mapping[Place, tuple[Owner, ...]],
    other_byte: int = 0,
) -> Change:
    """Return how all owners of the elements that both have change.

    >>> print(change_of_owners({(0, 0): ((0, 0), (1, 0))}, {(0, 0): ((0, 0),)}).brief)
    1 of 1 elements change, 1 of them further owners alone
    """
    common = sorted(before.keys() & after.keys())
    first = {p: (before[p][0], after[p][0]) for p in common}
    moved = [p for p, (old, new) in first.items() if old[0] != new[0]]
    renumbered = [p for p, (old, new) in first.items() if old[0] == new[0] and old != new]
    repeats = sum(old == new and before[p] != after[p] for p, (old, new) in first.items())
    shown = [*moved[:_EXAMPLES], *renumbered[:_EXAMPLES]][:_EXAMPLES]
    examples = tuple((place, *first[place]) for place in shown)
    return Change(len(common), len(moved), len(renumbered), other_byte, examples, repeats)


@checked_fields
@dataclass(frozen=True, slots=True)
class Row:
    """What is said of both: ``None`` where it is said of the other alone.

    >>> print(Row("bytes", "load A per k", 16384, 8192), "|", Row("grid", "z", None, "S").differs)
    load A per k 16,384 → 8,192 | True
    """

    section: str
    what: str
    before: Value
    after: Value

    @property
    def differs(self) -> bool:
        """Whether the two are not the same."""
        return self.before != self.after

    @property
    def texts(self) -> tuple[str, str]:
        """Before and after as texts."""
        before, after = map(_text, (self.before, self.after))
        return before, after

    def __str__(self) -> str:
        """What, before and after."""
        return f"{self.what} {' → '.join(self.texts)}".strip()


def _text(value: Value) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "none" if value is None else value


@checked_fields
@dataclass(frozen=True, repr=False)
class Difference:
    """What differs between two values of one kind.

    ``rows`` say of both what was compared, alike or not (``changed`` are the others); ``owners``
    how owners of elements change, by operand or by account; ``listing`` which lines of a kernel are
    removed (-) and added (+), two blanks before a line that stays. ``notes``: in words. Law: from
    the second to the first rows, changes and lines are exchanged, and ``equal`` is the same.

    >>> from pycute_xe.comparing.changes import Row
    >>> found = Difference("kernel", "a", "b", (Row("grid", "m", "M", "N"),))
    >>> found.verdict, found.equal
    ('other grid', False)
    """

    kind: str
    before: str
    after: str
    rows: tuple[Row, ...]
    owners: tuple[tuple[str, Change], ...] = ()
    listing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    _repr_mimebundle_ = shown

    @property
    def changed(self) -> tuple[Row, ...]:
        """The rows of which the two sides differ."""
        return tuple(row for row in self.rows if row.differs)

    @property
    def sections(self) -> tuple[str, ...]:
        """The headings under which anything differs, names and ways of writing left out."""
        differing = dict.fromkeys(row.section for row in self.changed if row.section != NAMES)
        if any(line[0] != " " for line in self.listing):
            differing["statements"] = None
        return tuple(differing)

    @property
    def equal(self) -> bool:
        """Whether nothing differs in effect: names and ways of writing may."""
        return not self.sections and not any(c.moved or c.other_byte for _, c in self.owners)

    @property
    def verdict(self) -> str:
        """The answer in a line: equal, or what differs, owners first."""
        moved = [f"{what} {c.moved} of {c.elements}" for what, c in self.owners if c.moved]
        if moved:
            rest = f" and {len(moved) - 2} more" if len(moved) > 2 else ""
            return f"different owners: {', '.join(moved[:2])}{rest}"
        others = [name for name in self.sections if name != "messages"]
        if self.equal:
            renamed = any(row.section == NAMES for row in self.changed)
            return "equal, written otherwise" if renamed else "equal"
        if not self.owners:
            return f"other {', '.join(self.sections)}"
        if "messages" in self.sections:
            return "same owners, other messages"
        differences = ", ".join(others) if others else "bytes of registers"
        return f"same owners, other {differences}"

    def __repr__(self) -> str:
        """The two sides."""
        return f"<{type(self).__name__} {self.before} → {self.after}>"

    def __str__(self) -> str:
        """The verdict, then what differs: at most 25 lines of 100 columns."""
        listing = self._near()
        most, lines = _PARAGRAPH, [self.verdict, *self._paragraphs(_PARAGRAPH)]
        while most > 1 and len(lines) + min(len(listing), _LEAST) > _LINES:
            most -= 1
            lines = [self.verdict, *self._paragraphs(most)]
        return "\n".join(map(fitting, _cut([*lines, *listing])))

    def _paragraphs(self, most: int) -> Iterator[str]:
        """Yield what is said above the listing, up to so many lines of a section."""
        yield from _paragraph(f"{self.kind}: {self.before} → {self.after}", "  ", most)
        for what, change in self.owners:
            if change.moved:
                yield from _paragraph(f"owners of {what}: {change.brief}", "  ", most)
        for section in dict.fromkeys(row.section for row in self.changed):
            differences = "; ".join(str(row) for row in self.changed if row.section == section)
            yield from _paragraph(f"{section:16} {differences}", " " * 17, most)
        for words in self.notes:
            yield from _paragraph(f"* {words}", "  ", most)
        alike = dict.fromkeys(row.section for row in self.rows if not row.differs)
        same = [name for name in alike if name not in self.sections and name != NAMES]
        if same and not self.equal:
            yield from _paragraph(f"alike: {', '.join(same)}", "  ", most)

    def _near(self) -> list[str]:
        """What is shown of the listing: each change with the line above it."""
        changed = [i for i, line in enumerate(self.listing) if line[0] != " "]
        near = sorted({j for i in changed for j in (i - 1, i) if j >= 0})
        return [self.listing[i] for i in near]


def _paragraph(text: str, indent: str, most: int) -> list[str]:
    """Return a text as lines, so many at most."""
    lines = wrap(text, _COLUMNS - 2, subsequent_indent=indent, break_on_hyphens=False)
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1]} …"]


def _cut(lines: list[str]) -> list[str]:
    """Return as many lines as fit a screen; the last says how many do not."""
    if len(lines) <= _LINES:
        return lines
    return [*lines[: _LINES - 1], f"… and {len(lines) - _LINES + 1} more lines"]


def fitting(line: str) -> str:
    """Return a line of 100 columns at most.

    >>> len(fitting("x" * 200))
    100
    """
    return line if len(line) <= _COLUMNS else line[: _COLUMNS - 1] + "…"
