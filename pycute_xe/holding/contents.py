"""Floor 8: the contents of fragments, and what each kind of statement does to them.

A content is a partition of a fragment's elements, a node for each part. The statements are followed
once for all work-groups, subgroups and sizes; a loop is followed once for all its trips.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.nodes import Carried, Node, Number, Undefined
from pycute_xe.holding.patience import charge
from pycute_xe.holding.placing import taken
from pycute_xe.numeric import Numeric

__all__ = [
    "Content",
    "Part",
    "carried",
    "combined",
    "loop_over",
    "loops_named_in",
    "nothing",
    "undecided",
    "whole",
]

Ints: TypeAlias = NDArray[np.int64]

PART, NUMBER = 20, 0.005
"""Units for a part of contents that are combined, and for an element of them."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some elements of a fragment, and what they hold: element ``elements[p]`` position ``p``."""

    elements: Ints
    node: Node


@dataclass(frozen=True, eq=False)
class Content:
    """What the elements of a fragment hold: parts that are disjoint and together all of it."""

    count: int
    parts: tuple[Part, ...]

    @property
    def single(self) -> Node | None:
        """The node of a content that is one part in the order of the elements."""
        if len(self.parts) != 1:
            return None
        part = self.parts[0]
        if np.array_equal(part.elements, np.arange(self.count)):
            return part.node
        order = np.empty_like(part.elements)
        order[part.elements] = np.arange(self.count)
        return taken(part.node, order)

    def at(self, elements: Ints) -> Content:
        """Return a content whose element ``i`` is this one's ``elements[i]``."""
        if len(self.parts) == 1:
            node = self.single
            if node is not None:
                return whole(len(elements), taken(node, elements))
        owner = np.full(self.count, -1, dtype=np.int64)
        place = np.zeros(self.count, dtype=np.int64)
        for number, part in enumerate(self.parts):
            owner[part.elements] = number
            place[part.elements] = np.arange(len(part.elements))
        parts: list[Part] = []
        for number, part in enumerate(self.parts):
            mine = np.flatnonzero(owner[elements] == number)
            if mine.size:
                parts.append(Part(mine, taken(part.node, place[elements[mine]])))
        return Content(len(elements), tuple(parts))

    def over(self, elements: Ints, new: Content) -> Content:
        """Return this content with ``elements[i]`` replaced by element ``i`` of another."""
        gone = np.zeros(self.count, dtype=bool)
        gone[elements] = True
        parts: list[Part] = []
        for part in self.parts:
            kept = np.flatnonzero(~gone[part.elements])
            if kept.size == len(part.elements):
                parts.append(part)
            elif kept.size:
                parts.append(Part(part.elements[kept], taken(part.node, kept)))
        parts += [Part(elements[p.elements], p.node) for p in new.parts if p.elements.size]
        return Content(self.count, tuple(parts))

    def each(self, change: Callable[[Node], Node]) -> Content:
        """Return the content with every node changed."""
        return replace(self, parts=tuple(Part(p.elements, change(p.node)) for p in self.parts))


def whole(count: int, node: Node) -> Content:
    """Return a content of one part."""
    return Content(count, (Part(np.arange(count), node),))


def nothing(count: int) -> Content:
    """Return what a fragment holds before anything is written to it."""
    return whole(count, Undefined())


def carried(count: int, fragment: str, loop: str) -> Content:
    """Return the content that stands for what a fragment held when a trip of a loop began."""
    return whole(count, Carried(fragment, loop, np.arange(count)))


def number(count: int, value: float, numeric: Numeric) -> Content:
    """Return a content of one number, as a type holds it."""
    return whole(count, Number(value, numeric))


def combined(
    count: int, contents: tuple[Content, ...], make: Callable[[tuple[Node, ...]], Node]
) -> Content:
    """Return a content made element by element of others, part by part."""
    nodes = [content.single for content in contents]
    if all(node is not None for node in nodes):
        return whole(count, make(tuple(n for n in nodes if n is not None)))
    charge(PART * sum(len(content.parts) for content in contents) + NUMBER * count * len(contents))
    owner = np.zeros(count, dtype=np.int64)  # a number for which parts hold an element
    for content in contents:
        own = np.zeros(count, dtype=np.int64)
        for number_, part in enumerate(content.parts):
            own[part.elements] = number_
        owner = owner * len(content.parts) + own
    parts: list[Part] = []
    for combination in np.unique(owner):
        charge(PART + NUMBER * count * len(contents))
        mine = np.flatnonzero(owner == combination)
        picked = tuple(content.at(mine).single for content in contents)
        if any(node is None for node in picked):
            raise undecided("registers that several statements fill are combined")
        parts.append(Part(mine, make(tuple(n for n in picked if n is not None))))
    return Content(count, tuple(parts))


def undecided(what: str, fix: str = "") -> UndecidableError:
    """Return the refusal of what holding has no map for."""
    return UndecidableError("holding", {}, what, fix)


def loop_over(var: str) -> str:
    """Return how a refusal names the loop whose trips stand in the way, for `loops_named_in`."""
    return f"the loop over {var}"


def loops_named_in(reason: str) -> set[str]:
    """Return the variables of the loops that a refusal names.

    >>> sorted(loops_named_in(f"x is rescaled in {loop_over('k')} by what may be infinite"))
    ['k']
    """
    return set(re.findall(loop_over(r"(\w+)"), reason))
