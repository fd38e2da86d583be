"""The walk through statements that says what registers and memory hold.

A `Follower` has what is known so far, and the writes, reads and promises that it met; `HOLDS` is
its table of meanings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, TypeAlias

import numpy as np

from pycute_xe.holding.elements import Content, Part, whole
from pycute_xe.holding.likeness import sums_within
from pycute_xe.holding.nodes import Carried, Node, Number, Undefined, contains, undecided
from pycute_xe.holding.patience import charge
from pycute_xe.kernel import Kernel, Loop, Statement
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.kernel.ir.program import Meanings
from pycute_xe.kernel.ir.visiting import Enclosing
from pycute_xe.numeric import Numeric

__all__ = [
    "carried",
    "combined",
    "nothing",
    "HOLDS",
    "Followed",
    "Follower",
    "Form",
    "Promise",
    "Read",
    "Write",
]


PART, NUMBER = 20, 0.005
"""Units for a part of contents that are combined, and for an element of them."""


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


STATEMENT = 100
"""Units for a statement that is followed."""

Form: TypeAlias = Literal["proof", "recur"]
"""How loops are closed: to sums and claims, for proofs, or to sums and recurrences, for runs."""


@dataclass(frozen=True, eq=False)
class Write:
    """A store's writes: element ``i`` of an operand gets what a node's position holds.

    Position ``p`` of subgroup ``who[s]`` goes to ``base[i] + places[s, p, i]``, where that is
    inside; tables of the node count ``s`` too. ``elements[p]`` is the register element.
    """

    statement: Statement
    access: MemoryAccess
    enclosing: tuple[Enclosing, ...]
    base: tuple[Index, ...]
    places: Ints
    elements: Ints
    node: Node
    subgroups: Ints


@dataclass(frozen=True, eq=False)
class Read:
    """A statement that reads registers: which fragment, what it holds, under what."""

    statement: Statement
    enclosing: tuple[Enclosing, ...]
    fragment: str
    content: Content


@dataclass(frozen=True, eq=False)
class Promise:
    """What a fragment holds, and what it is claimed to hold, at a loop's start or after a trip.

    States stand in ``claimed`` by what they follow from, in ``plain`` for themselves; ``entry`` is
    the claim as it is when a trip begins.
    """

    loop: Loop
    enclosing: tuple[Enclosing, ...]
    fragment: str
    when: str
    actual: Content
    claimed: Content
    plain: Content
    entry: Content


@dataclass(eq=False)
class Followed:
    """What following a kernel found: writes and reads in the order of the statements.

    ``memory`` are the operands that are followed, each with its tile, or why it has no tile;
    ``left`` is what lies in each tile at the end.
    """

    memory: Mapping[str, object] = field(default_factory=dict[str, object])
    left: dict[str, Content] = field(default_factory=dict[str, Content])
    writes: list[Write] = field(default_factory=list[Write])
    reads: list[Read] = field(default_factory=list[Read])
    promises: list[Promise] = field(default_factory=list[Promise])


@dataclass(eq=False)
class Names:
    """Names for variables of sums; those of sums that cannot stand inside one another may agree.

    What parts of a tile have in common is then one node in all of them.
    """

    number: Iterator[int] = field(default_factory=count)
    shared: dict[int, tuple[Node, str]] = field(default_factory=dict[int, tuple[Node, str]])

    def fresh(self, name: str) -> str:
        """Return a name for a variable that no other has: no identity has two underscores."""
        return f"{name}__{next(self.number)}"

    def of(self, left: Node, right: Node, name: str) -> str:
        """Return a name for the sum of a product: all products of one left side have the same.

        Nothing may be put into the factors later, and no sum over it stand in one of them.
        """
        if id(left) not in self.shared:
            self.shared[id(left)] = left, "" if contains(left, Carried) else self.fresh(name)
        own = self.shared[id(left)][1]
        inside = not own or own in sums_within(right) or contains(right, Carried)
        return self.fresh(name) if inside else own


@dataclass(eq=False)
class Follower:
    """A walk through a kernel's statements with what every fragment holds so far."""

    kernel: Kernel
    state: dict[str, Content]
    followed: Followed
    names: Names
    enclosing: tuple[Enclosing, ...] = ()
    active: tuple[bool, ...] = ()
    settled: dict[int, tuple[str, Content]] = field(default_factory=dict[int, tuple[str, Content]])
    """What a fragment is known to hold behind a statement, by the statement's identity."""
    form: Form = "proof"

    @property
    def wraps(self) -> bool:
        """Whether integers of 32 bits keep the lowest bits of what is computed, as registers do.

        A proof assumes that they do not overflow, unless the specification says that they wrap.
        """
        computes = self.kernel.computes
        return self.form != "proof" or (computes is not None and computes.overflow == "wraps")

    @property
    def doing(self) -> Ints:
        """The subgroups that do the statement at hand."""
        every: Ints = np.arange(self.kernel.subgroups, dtype=np.int64)
        return every[np.array(self.active)] if self.active else every

    def read(self, statement: Statement, name: str) -> Content:
        """Return what a fragment holds, and remember that it was read."""
        content = self.state[name]
        self.followed.reads.append(Read(statement, self.enclosing, name, content))
        return content

    def run(self, body: tuple[Statement, ...]) -> None:
        """Follow statements one after the other."""
        for statement in body:
            charge(STATEMENT)
            HOLDS[statement](self, statement)
            if id(statement) in self.settled:
                name, content = self.settled[id(statement)]
                self.state[name] = content

    def fresh(self, name: str) -> str:
        """Return a name for a variable that no other has."""
        return self.names.fresh(name)


HOLDS: Meanings[Callable[[Follower, Statement], None]] = Meanings("holding")
