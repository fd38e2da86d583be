"""Two values side by side: what is said of each, and the record of what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.bulk import table
from pycute_xe.comparing.changes import Change, Difference, Row, Value
from pycute_xe.layout import Layout, size

__all__ = ["Fact", "Line", "Owned", "Side", "between", "compared", "owned_by"]

Ints: TypeAlias = "NDArray[np.int64]"
Fact: TypeAlias = "tuple[str, str, Value]"
"""Section, what, value."""

_EXAMPLES = 3

# ------------------------------------------------------------ owners


@dataclass(frozen=True, eq=False)
class Owned:
    """Elements by their owners: ``places`` (entries, modes), and the two parts of each owner."""

    places: Ints
    first: Ints
    second: Ints
    nouns: tuple[str, str] = ("work-item", "value number")


def owned_by(layout: Layout, tile: tuple[int, ...], turned: bool = False) -> Owned:
    """Return the owners that a layout (work-item, value) → offset in a tile says.

    The tile's first mode is the fastest; ``turned`` exchanges rows and columns.

    >>> owned_by(Layout((2, 2), (2, 1)), (2, 2)).places.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    threads = size(layout[0])
    offsets = np.asarray(table(layout), np.int64).reshape(-1)
    places: list[Any] = []
    for extent in tile[:-1]:
        offsets, rest = np.divmod(offsets, extent)
        places.append(rest)
    places.append(offsets)
    values, work_items = np.divmod(np.arange(offsets.size), threads)
    ordered = places[::-1] if turned else places
    return Owned(np.stack(ordered, axis=1), work_items, values)


def compared(one: Owned, other: Owned) -> Change:
    """Return how the owners of the elements that both have change.

    >>> plain, turned = (owned_by(Layout((2, 2), s), (2, 2)) for s in ((1, 2), (2, 1)))
    >>> print(compared(plain, turned).moved, compared(plain, plain))
    2 all 4 elements alike
    """
    extents = np.maximum(one.places.max(axis=0), other.places.max(axis=0)) + 1
    seconds = int(max(one.second.max(), other.second.max())) + 1
    span = int(max(one.first.max(), other.first.max()) + 1) * seconds
    mine, yours = (_keys(owned, extents, seconds, span) for owned in (one, other))
    ours, theirs = _firsts(mine, span), _firsts(yours, span)
    common, i, j = np.intersect1d(ours // span, theirs // span, True, return_indices=True)
    before, after = ours[i] % span, theirs[j] % span
    moved = before // seconds != after // seconds
    renumbered = ~moved & (before != after)
    repeats = 0
    if len(ours) < len(mine) or len(theirs) < len(yours):
        apart = np.isin(common, np.setxor1d(mine, yours, True) // span)
        repeats = int((apart & ~moved & ~renumbered).sum())
    shown = [*np.flatnonzero(moved)[:_EXAMPLES], *np.flatnonzero(renumbered)[:_EXAMPLES]]
    examples = tuple(
        (
            tuple(int(x) for x in np.unravel_index(common[k], tuple(extents))),
            divmod(int(before[k]), seconds),
            divmod(int(after[k]), seconds),
        )
        for k in shown[:_EXAMPLES]
    )
    figures = (common.size, int(moved.sum()), int(renumbered.sum()), 0)
    return Change(*figures, examples, repeats, one.nouns)


def _keys(owned: Owned, extents: Ints, seconds: int, span: int) -> Ints:
    """Return a number for each element and owner of it, in their order, each once."""
    places = np.ravel_multi_index(tuple(owned.places.T), tuple(extents))
    keys = np.sort(places * span + (owned.first * seconds + owned.second))
    return keys[np.append(True, keys[1:] != keys[:-1])]


def _firsts(keys: Ints, span: int) -> Ints:
    """Return the first of the keys of each element."""
    places = keys // span
    return keys[np.append(True, places[1:] != places[:-1])]


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
