"""Floor 8: whether barriers order what the subgroups of a work-group do to a tile in memory.

Two accesses to an element by two subgroups, one of them a store, are in order where a barrier is
arrived at after the one and waited for before the other, and a fence lies between a store and the
arrival. Statements are walked with the accesses that are open: conditions leave all of them open
that one of their ways does, and a loop is walked until no more are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.follower import Around, situated
from pycute_xe.holding.memory import Tile
from pycute_xe.holding.placement import placed
from pycute_xe.kernel import AtomicStore, If, Kernel, Load, Loop, Statement, Store
from pycute_xe.kernel.ir.paths import at_least

__all__ = ["is_ordered"]

Ints: TypeAlias = NDArray[np.int64]

Open: TypeAlias = "tuple[int, int]"
"""A statement's number, and how far it is over: not at all, fenced, or arrived at a barrier."""

MADE, FENCED, ARRIVED = 0, 1, 2


def is_ordered(kernel: Kernel, tile: Tile) -> bool:
    """Whether every two accesses of two subgroups to an element of a tile are in order."""
    walker = _Walker(kernel)
    for number, (statement, around) in enumerate(situated(kernel.body)):
        walker.numbers.setdefault((id(statement), tuple(map(id, around))), number)
        mine = isinstance(statement, (Load, Store, AtomicStore))
        if mine and statement.operand == tile.operand.name:
            walker.accesses[number] = _access(kernel, tile, statement, around)
    walker.body(kernel.body, (), frozenset())
    return walker.ordered


@dataclass(frozen=True, eq=False)
class _Access:
    """For each position how many subgroups touch it, and the first of them."""

    stores: bool
    many: Ints
    owner: Ints

    def meets(self, other: _Access) -> bool:
        """Whether two subgroups touch an element that one of them stores."""
        both = (self.many > 0) & (other.many > 0) if self.stores or other.stores else self.many < 0
        alone = (self.many == 1) & (other.many == 1) & (self.owner == other.owner)
        return bool((both & ~alone).any())


def _access(
    kernel: Kernel, tile: Tile, statement: Load | Store | AtomicStore, around: tuple[Around, ...]
) -> _Access:
    base, table, moves = placed(kernel, statement, around)
    positions = tile.positions(base, table)[:, moves]
    touched = np.zeros((kernel.subgroups, tile.count + 1), dtype=bool)
    touched[np.arange(kernel.subgroups)[:, None], positions] = True
    inside = touched[:, :-1]
    return _Access(
        not isinstance(statement, Load), inside.sum(axis=0, dtype=np.int64), inside.argmax(axis=0)
    )


@dataclass(eq=False)
class _Walker:
    kernel: Kernel
    numbers: dict[tuple[int, tuple[int, ...]], int] = field(
        default_factory=dict["tuple[int, tuple[int, ...]]", int]
    )
    accesses: dict[int, _Access] = field(default_factory=dict[int, _Access])
    ordered: bool = True

    def body(
        self, body: tuple[Statement, ...], around: tuple[Around, ...], opened: frozenset[Open]
    ) -> frozenset[Open]:
        for statement in body:
            meets = statement.touched.meets
            if isinstance(statement, (Loop, If)):
                opened = self.inside(statement, around, opened)
            elif meets == "fence":
                opened = frozenset((n, FENCED if how == MADE else how) for n, how in opened)
            elif meets == "arrive":
                opened = frozenset((n, ARRIVED if how == FENCED else how) for n, how in opened)
            elif meets == "wait":
                opened = frozenset((n, how) for n, how in opened if how != ARRIVED)
            else:
                opened = self.access(statement, around, opened)
        return opened

    def inside(
        self, statement: Loop | If, around: tuple[Around, ...], opened: frozenset[Open]
    ) -> frozenset[Open]:
        inner = (*around, statement)
        after = self.body(statement.body, inner, opened)
        if isinstance(statement, If):
            return opened | after
        while not after <= opened:
            opened, after = opened | after, self.body(statement.body, inner, opened | after)
        surely = at_least(statement.stop - statement.start, self.kernel) >= 1
        return after if surely else opened | after

    def access(
        self, statement: Statement, around: tuple[Around, ...], opened: frozenset[Open]
    ) -> frozenset[Open]:
        number = self.numbers[id(statement), tuple(map(id, around))]
        mine = self.accesses.get(number)
        if mine is None:
            return opened
        others = (self.accesses[n] for n, _ in opened)
        if (mine.stores and mine.meets(mine)) or any(mine.meets(other) for other in others):
            self.ordered = False
        return opened | {(number, MADE if mine.stores else FENCED)}
