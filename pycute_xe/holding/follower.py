"""A walk through a kernel's statements: what is known so far, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from pycute_xe.holding.contents import Content
from pycute_xe.holding.nodes import Node
from pycute_xe.holding.patience import charge
from pycute_xe.kernel import AtomicStore, If, Index, Kernel, Loop, Statement, Store
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.ir.program import Meanings

__all__ = [
    "HOLDS",
    "Around",
    "Followed",
    "Follower",
    "Form",
    "Promise",
    "Read",
    "Write",
    "situated",
]


STATEMENT = 100
"""Units for a statement that is followed."""

Around: TypeAlias = "Loop | If"
Form: TypeAlias = Literal["proof", "recur"]
"""How loops are closed: to sums and claims, for proofs, or to sums and recurrences, for runs."""


@dataclass(frozen=True, eq=False)
class Write:
    """A store's writes: element ``i`` of an operand gets what a node's position holds.

    Position ``p`` of subgroup ``who[s]`` goes to ``base[i] + places[s, p, i]``, where that is
    inside; tables of the node count ``s`` too. ``elements[p]`` is the register element, ``around``
    the loops and conditions, outermost first.
    """

    statement: Store | AtomicStore
    around: tuple[Around, ...]
    base: tuple[Index, ...]
    places: Ints
    elements: Ints
    node: Node
    who: Ints


@dataclass(frozen=True, eq=False)
class Read:
    """A statement that reads registers: which fragment, what it holds, under what."""

    statement: Statement
    around: tuple[Around, ...]
    fragment: str
    content: Content


@dataclass(frozen=True, eq=False)
class Promise:
    """What a fragment holds, and what it is claimed to hold, at a loop's start or after a trip."""

    loop: Loop
    around: tuple[Around, ...]
    fragment: str
    when: str
    found: Content
    claimed: Content


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
class Follower:
    """A walk through a kernel's statements with what every fragment holds so far."""

    kernel: Kernel
    state: dict[str, Content]
    found: Followed
    names: Iterator[int]
    around: tuple[Around, ...] = ()
    active: tuple[bool, ...] = ()
    settled: dict[int, tuple[str, Content]] = field(default_factory=dict[int, tuple[str, Content]])
    """What a fragment is known to hold behind a statement, by the statement's identity."""
    form: Form = "proof"

    @property
    def doing(self) -> Ints:
        """The subgroups that do the statement at hand."""
        every: Ints = np.arange(self.kernel.subgroups, dtype=np.int64)
        return every[np.array(self.active)] if self.active else every

    def read(self, statement: Statement, name: str) -> Content:
        """Return what a fragment holds, and remember that it was read."""
        content = self.state[name]
        self.found.reads.append(Read(statement, self.around, name, content))
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
        """Return a name for a variable that no other has: no identity has two underscores."""
        return f"{name}__{next(self.names)}"


HOLDS: Meanings[Callable[[Follower, Statement], None]] = Meanings("holding")


def situated(
    body: tuple[Statement, ...], around: tuple[Around, ...] = ()
) -> Iterator[tuple[Statement, tuple[Around, ...]]]:
    """Yield every statement with the loops and conditions around it, outermost first."""
    for statement in body:
        yield statement, around
        if isinstance(statement, (Loop, If)):
            yield from situated(statement.body, (*around, statement))
