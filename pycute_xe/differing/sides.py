"""Two values side by side: what is said of each, and the record of what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, TypeAlias

from pycute_xe.bulk import entries
from pycute_xe.comparing.changes import Change, Difference, Row, Value
from pycute_xe.layout import Layout, size

__all__ = ["Fact", "Line", "Owned", "Side", "between", "compared", "owned_by"]

Fact: TypeAlias = "tuple[str, str, Value]"
"""Section, what, value."""

_EXAMPLES = 3

# ------------------------------------------------------------ owners


@dataclass(frozen=True, eq=False)
class Owned:
    """Elements by their owners: a place for each entry, and the two parts of its owner."""

    places: Sequence[tuple[int, ...]]
    first: Sequence[int]
    second: Sequence[int]
    nouns: tuple[str, str] = ("work-item", "value number")


@lru_cache(maxsize=32)
def owned_by(layout: Layout, tile: tuple[int, ...], turned: bool = False) -> Owned:
    """Return the owners that a layout (work-item, value) → offset in a tile says.

    The tile's first mode is the fastest; ``turned`` exchanges rows and columns.

    >>> owned_by(Layout((2, 2), (2, 1)), (2, 2)).places
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    threads = size(layout[0])
    offsets = entries(layout)
    count = len(offsets)
    modes: list[list[int]] = []
    for extent in tile[:-1]:
        modes.append([offset % extent for offset in offsets])
        offsets = [offset // extent for offset in offsets]
    modes.append(offsets)
    places = list(zip(*(modes[::-1] if turned else modes), strict=True))
    return Owned(places, [i % threads for i in range(count)], [i // threads for i in range(count)])


def compared(one: Owned, other: Owned) -> Change:
    """Return how the owners of the elements that both have change.

    >>> plain, turned = (owned_by(Layout((2, 2), s), (2, 2)) for s in ((1, 2), (2, 1)))
    >>> print(compared(plain, turned).moved, compared(plain, plain))
    2 all 4 elements alike
    """
    mine, yours = _by_place(one), _by_place(other)
    common = mine.keys() & yours.keys()
    changed = [place for place in common if mine[place] != yours[place]]
    # Of several owners the least speaks for an element; where it stays, its repeats change.
    ends = [(place, min(mine[place]), min(yours[place])) for place in sorted(changed)]
    moved = [change for change in ends if change[1][0] != change[2][0]]
    renumbered = [x for x in ends if x[1][0] == x[2][0] and x[1] != x[2]]
    repeats = len(ends) - len(moved) - len(renumbered)
    examples = (*moved[:_EXAMPLES], *renumbered[:_EXAMPLES])[:_EXAMPLES]
    figures = (len(common), len(moved), len(renumbered), 0)
    return Change(*figures, examples, repeats, one.nouns)


_Owners = frozenset[tuple[int, int]] | tuple[tuple[int, int], ...]


def _by_place(owned: Owned) -> Mapping[tuple[int, ...], _Owners]:
    """Return the owners of each element: a tuple of one where no element has several."""
    single = zip(zip(owned.first, owned.second, strict=True))
    alone: dict[tuple[int, ...], tuple[tuple[int, int]]]
    alone = dict(zip(owned.places, single, strict=True))
    if len(alone) == len(owned.places):
        return alone
    several: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    for place, first, second in zip(owned.places, owned.first, owned.second, strict=True):
        several.setdefault(place, set()).add((first, second))
    return {
        place: frozenset(owners) if len(owners) > 1 else tuple(owners)
        for place, owners in several.items()
    }


# ------------------------------------------------------------ listings


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a listing: what it is, in full, and how it reads; ``details`` are what it hides."""

    value: Any
    text: str
    details: tuple[tuple[str, str], ...] = ()


def aligned(one: tuple[Line, ...], other: tuple[Line, ...]) -> Iterator[str]:
    """Yield the lines of both: those that stay once, removed ones with -, added ones with +.

    Law: exchanged, the same lines stay, and marks change.
    """
    if [(x.text, x.details) for x in one] > [(x.text, x.details) for x in other]:
        marks = {"-": "+", "+": "-", " ": " "}
        turned = [marks[line[0]] + line[1:] for line in aligned(other, one)]
        yield from _removed_first(turned)
        return
    keys: dict[Any, int] = {}
    numbers = [[keys.setdefault(line.value, len(keys)) for line in side] for side in (one, other)]
    for tag, i, j, k, m in SequenceMatcher(None, *numbers, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (f"  {line.text}" for line in one[i:j])
            continue
        hidden = _hidden(one[i:j], other[k:m])
        yield from (f"- {line.text}{hidden.get((line.text, 0), '')}" for line in one[i:j])
        yield from (f"+ {line.text}{hidden.get((line.text, 1), '')}" for line in other[k:m])


def _removed_first(lines: list[str]) -> Iterator[str]:
    """Yield lines with those that are removed before those added in their place."""
    added: list[str] = []
    for line in lines:
        if line[0] == "+":
            added.append(line)
            continue
        if line[0] == " ":
            yield from added
            added = []
        yield line
    yield from added


def _hidden(one: Iterable[Line], other: Iterable[Line]) -> dict[tuple[str, int], str]:
    """Return what is added to lines that read alike and are not: the first part that differs."""
    suffixes: dict[tuple[str, int], str] = {}
    theirs = {line.text: line for line in other}
    for line in one:
        twin = theirs.get(line.text)
        if twin is None:
            continue
        was, now = dict(line.details), dict(twin.details)
        name = next((n for n in sorted({*was, *now}) if was.get(n) != now.get(n)), None)
        if name is not None:
            suffixes[line.text, 0] = f"  where {name} is {was.get(name)}"
            suffixes[line.text, 1] = f"  where {name} is {now.get(name)}"
    return suffixes


# ------------------------------------------------------------ sides


@dataclass(frozen=True, eq=False)
class Side:
    """One of two values: what is said of it, who owns its elements, and its listing."""

    kind: str
    label: str
    facts: tuple[Fact, ...]
    owners: Mapping[str, Owned] = field(default_factory=dict[str, Owned])
    lines: tuple[Line, ...] = ()


def between(one: Side, other: Side, notes: tuple[str, ...] = ()) -> Difference:
    """Return what differs between two sides of a kind."""
    before, after = ({(s, w): value for s, w, value in side.facts} for side in (one, other))
    order = {section: i for i, (section, _) in enumerate(dict.fromkeys((*before, *after)))}
    keys = sorted({*before, *after}, key=lambda key: (order[key[0]], key[1]))
    named = [name for name in one.owners if name in other.owners]
    return Difference(
        one.kind,
        one.label,
        other.label,
        tuple(Row(*key, before.get(key), after.get(key)) for key in keys),
        tuple((name, compared(one.owners[name], other.owners[name])) for name in named),
        tuple(aligned(one.lines, other.lines)),
        notes,
    )
