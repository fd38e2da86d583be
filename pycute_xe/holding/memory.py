"""Operands that a work-group stores to and loads back: what lies in each element.

All accesses of such an operand lie around one place, which a work-group does not change: then its
elements there are an array like those of shared memory, a position for each. What other work-groups
store, and whether barriers order those of this one, are other questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.contents import Follower, nothing, number
from pycute_xe.holding.elements import Content, Part, relocated, whole
from pycute_xe.holding.nodes import (
    BESIDE,
    Call,
    Carried,
    Converted,
    Leaf,
    Node,
    Number,
    Picked,
    Undefined,
    contains,
    mapped,
    undecided,
)
from pycute_xe.holding.patience import remembered
from pycute_xe.holding.tables import Copied, by_subgroup, copied
from pycute_xe.kernel import Index, Kernel, Operand
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.kernel.ir.program import at_least, doing
from pycute_xe.kernel.ir.visiting import Enclosing, visit
from pycute_xe.kernel.spec.places import never_negative

__all__ = [
    "Tile",
    "ever_left",
    "load_back",
    "loaded_back",
    "store_through",
    "FAR",
    "placed",
    "is_ordered",
]

# ------------------------------------------------------------ placement
# Where the register elements of a copy belong in its operand, as tables.


FAR = -(1 << 40)
"""A place outside every operand: what a load pads with is zero, as what lies outside is."""


def placed(
    kernel: Kernel,
    access: MemoryAccess,
    enclosing: tuple[Enclosing, ...] = (),
) -> tuple[tuple[Index, ...], Ints, NDArray[np.bool_]]:
    """Return where a copy's register elements belong: index, table, and which of them move.

    The table is (subgroup, element, mode of the operand). Subgroups that conditions around the
    access leave out touch nothing.
    """
    tables, rank = copied(access.copy), len(kernel.operand(access.operand).modes)
    subgroups = tables.places.shape[0]
    split = [by_subgroup(index, subgroups) for index in access.at]
    own, does = [numbers for _, numbers in split], tuple(doing(enclosing, subgroups))

    def make() -> Ints:
        return _table_of(tables, access.modes, rank, own, does)

    key = access.copy, access.modes, rank, tuple(x.tobytes() for x in own), does
    return tuple(rest for rest, _ in split), remembered(("placed", *key), make), tables.moves


def _table_of(
    tables: Copied,
    modes: tuple[int | None, ...],
    rank: int,
    own: list[Ints],
    does: tuple[bool, ...],
) -> Ints:
    """Return where register elements lie, relative to what all subgroups have in common."""
    subgroups, elements, _ = tables.places.shape
    out = np.zeros((subgroups, elements, rank), dtype=np.int64)
    outside = np.broadcast_to(tables.padded, (subgroups, elements)).copy()
    for axis, mode in enumerate(modes):
        if mode is None:
            outside |= tables.places[..., axis] != 0
        else:
            out[..., mode] += tables.places[..., axis]
    for mode, numbers in enumerate(own):
        out[..., mode] += numbers[:, None]
    outside[~np.array(does)] = True
    out[outside] = FAR
    out.setflags(write=False)  # copies of other tiles have the same
    return out


# ------------------------------------------------------------ memory

MOST = 1 << 20
"""Elements of an operand that are told apart, and 16 times as many with the subgroup."""


@dataclass(frozen=True, eq=False)
class Tile:
    """Elements of an operand around ``base``: position ``p`` is ``p`` in a box from ``low`` on."""

    operand: Operand
    base: tuple[Index, ...]
    low: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many elements there are."""
        return prod(self.shape)

    @cached_property
    def places(self) -> Ints:
        """The element of each position, relative to the base."""
        axes = np.indices(self.shape).reshape(len(self.shape), -1).T
        return axes + np.array(self.low)

    def positions(self, base: tuple[Index, ...], table: Ints) -> Ints:
        """Return an access's positions by subgroup and element, ``count`` for what is nowhere."""
        far = (table == FAR).any(axis=-1)
        offsets = [i.offset for i in base]
        inside = np.where(far[..., None], 0, table + np.array(offsets) - np.array(self.low))
        flat = np.ravel_multi_index(tuple(np.moveaxis(inside, -1, 0)), self.shape, mode="clip")
        return np.where(far, self.count, np.asarray(flat, np.int64))

    def begun(self) -> Content:
        """Return what lies there first: integers of scratch are zero, others undefined."""
        if self.operand.role == "inout":
            table = self.places[None]
            leaf = Leaf(self.operand.name, self.base, table, np.arange(self.count))
            return whole(self.count, leaf)
        undefined = self.operand.value_type.kind == "float" or self.operand.role == "out"
        return (
            nothing(self.count) if undefined else number(self.count, 0.0, self.operand.value_type)
        )


def loaded_back(kernel: Kernel, asked: str = "") -> dict[str, Tile | UndecidableError]:
    """Return the operands that are loaded where a store to them may come first, with their tiles.

    Scratch is one wherever it is used: nothing else says what lies in it. So is what is asked.
    """
    out: dict[str, Tile | UndecidableError] = {}
    for operand in kernel.operands:
        mine = list(_accesses(kernel, operand.name))
        scratch = operand.role == "scratch" and bool(mine)
        if not operand.written or not (scratch or _stored_before(mine) or operand.name == asked):
            continue
        try:
            out[operand.name] = _tile(kernel, operand, mine)
        except UndecidableError as error:
            out[operand.name] = error
    return out


Met: TypeAlias = "tuple[int, MemoryAccess, tuple[Enclosing, ...]]"


def _accesses(kernel: Kernel, name: str) -> Iterator[Met]:
    """Yield the loads of an operand and the stores to it, with their place in the program."""
    for place, (_, enclosing, effects) in enumerate(visit(kernel.body)):
        access = effects.memory
        if access is not None and not access.prefetches and access.operand == name:
            yield place, access, enclosing


def _stored_before(mine: list[Met]) -> bool:
    """Whether a store may come before a load: in the program, or in a loop around both."""
    for early, store, enclosing in mine:
        loops = {id(one) for one in enclosing if isinstance(one, ir.Loop)}
        for late, load, outer in mine:
            again = any(id(one) in loops for one in outer)
            if store.stores and load.fills and (early < late or again):
                return True
    return False


def _tile(kernel: Kernel, operand: Operand, mine: list[Met]) -> Tile:
    """Return the box around all accesses. Raises `UndecidableError` without one."""
    loops = {s.var for s in kernel.statements() if isinstance(s, ir.Loop)}
    spans: list[Ints] = []
    bases: set[tuple[Index, ...]] = set()
    for _, access, enclosing in mine:
        if access.adds:
            raise undecided(f"{operand.name} is loaded while others add to it", "load a copy")
        base, table, moves = placed(kernel, access, enclosing)
        bases.add(tuple(index - index.offset for index in base))
        used = table[:, moves]
        offsets = np.array([index.offset for index in base])
        spans.append(used[(used != FAR).all(axis=-1)] + offsets)
    names = frozenset[str]().union(*(i.names for base in bases for i in base))
    if len(bases) > 1 or names & loops or any(i.looked_up for base in bases for i in base):
        raise undecided(
            f"{operand.name} is loaded after it was stored to, on some path, and its accesses do "
            "not lie around one place of the work-group",
            "load and store it at indices of the grid and constants",
        )
    every = np.concatenate(spans)
    low = every.min(axis=0) if every.size else np.zeros(len(operand.modes), np.int64)
    high = every.max(axis=0) if every.size else low
    shape = tuple(int(n) for n in high - low + 1)
    if prod(shape) * max(1, kernel.subgroups // 16) > MOST:
        raise undecided(f"the work-group uses {prod(shape)} elements of {operand.name}")
    return Tile(operand, bases.pop(), tuple(int(n) for n in low), shape)


def ever_left(kernel: Kernel, loop: ir.Loop, tile: Tile) -> Ints:
    """Return the positions of a tile that some trip of a loop stores to."""
    positions: list[Ints] = [np.arange(0)]
    for _, enclosing, effects in visit(loop.body, (loop,)):
        access = effects.memory
        if access is not None and access.stores and access.operand == tile.operand.name:
            base, table, moves = placed(kernel, access, enclosing)
            positions.append(tile.positions(base, table)[:, moves].reshape(-1))
    every = np.unique(np.concatenate(positions))
    return every[every < tile.count]


def store_through(walker: Follower, access: MemoryAccess, tile: Tile) -> None:
    """Follow what a store leaves in an operand that is loaded back."""
    name, content = access.operand, walker.state[access.fragment]
    base, table, moves = placed(walker.kernel, access)
    positions, subgroups = tile.positions(base, table), walker.doing
    old = walker.state[name]
    for part in content.parts:
        kept = np.flatnonzero(moves[part.elements])
        to = positions[subgroups[:, None], part.elements[kept]]
        whose, which = (np.broadcast_to(x, to.shape) for x in (subgroups[:, None], kept))
        inside = to < tile.count
        if not inside.any():
            continue
        # Of two that go to one place the later stays; two subgroups there are a race.
        places, last = np.unique(to[inside][::-1], return_index=True)
        last = np.count_nonzero(inside) - 1 - last
        which, whose = (x[inside][last][None] for x in (which, whose))
        node = _unclipped(tile, _own(relocated(part.node, which, whose), name), tile.places[places])
        old = old.over(places, whole(places.size, node))
    walker.state[name] = old


def _own(node: Node, name: str) -> Node:
    """Return a node in which what a tile held is told without a subgroup: all have one tile."""

    def leaf(x: Node) -> Node:
        if not isinstance(x, Carried) or x.fragment != name or x.subgroup is None:
            return x
        return replace(x, which=x.which[0], subgroup=None)

    return mapped(node, leaf)


def _unclipped(tile: Tile, node: Node, at: Ints) -> Node:
    """Return a node as it is inside the operand: nothing asks what is stored outside."""
    match node:
        case Call(_, arguments):
            return replace(node, arguments=tuple(_unclipped(tile, x, at) for x in arguments))
        case Converted(_, body):
            return replace(node, body=_unclipped(tile, body, at))
        case Picked(test, then, otherwise) if not test.bound:
            for mode, (index, extent) in enumerate(zip(tile.base, tile.operand.modes, strict=True)):
                if np.array_equal(test.table[:, test.select], at[None, :, [mode]]):
                    if test.base == (index - extent,):
                        return _unclipped(tile, then, at)
                    if test.base == (index,):
                        return _unclipped(tile, otherwise, at)
            return node
        case _:
            return node


def load_back(walker: Follower, access: MemoryAccess, tile: Tile) -> Content:
    """Return what the elements of a fragment hold that a load fills.

    Raises `UndecidableError` where nothing may lie there.
    """
    count = walker.kernel.fragment(access.fragment).elements
    base, table, moves = placed(walker.kernel, access)
    elements, subgroups = np.flatnonzero(moves[:count]), walker.doing
    positions = tile.positions(base, table)[:, elements]
    positions = np.where(
        np.isin(np.arange(len(positions)), subgroups)[:, None], positions, positions[subgroups[0]]
    )
    content = walker.state[access.operand]
    owner, place = content.owners(more=1)  # what is nowhere has no owner
    owners = owner[positions]
    if (owners != owners[:1]).any():
        raise undecided(f"subgroups load what different statements stored to {access.operand}")
    out = Content(elements.size, ())
    for number_, part in enumerate((*content.parts, None)):
        mine = np.flatnonzero(owners[0] == number_)
        if not mine.size:
            continue
        node: Node = Number(0.0)
        if part is not None:
            which = place[positions[:, mine]]
            stored = relocated(part.node, which, np.zeros_like(which))
            node = _clipped(walker.kernel, tile, stored, positions[:, mine])
        if contains(node, Undefined):
            raise undecided(
                f"{access.operand} is loaded before anything was stored there, on some path",
                "store to it first",
            )
        out = replace(out, parts=(*out.parts, Part(mine, node)))
    return out


def _lay_there(tile: Tile, node: Leaf, at: Ints) -> bool:
    """Whether elements are those that lay at places of a tile at first."""
    same = (node.operand, node.base, node.bound) == (tile.operand.name, tile.base, ())
    return same and np.array_equal(node.table[:, node.select], at)


def _clipped(kernel: Kernel, tile: Tile, node: Node, positions: Ints) -> Node:
    """Return a node that is zero where the place it is loaded from lies outside the operand.

    Of a row, what lies behind its end is not known: a surface may be wider than the operand.
    """
    at: Ints = tile.places[positions]
    own: Ints = np.arange(positions.shape[1], dtype=np.int64)
    if isinstance(node, Leaf) and _lay_there(tile, node, at):
        return node  # it is zero outside as it is
    for mode, (index, extent) in enumerate(zip(tile.base, tile.operand.modes, strict=True)):
        table = at[..., mode][..., None]
        if not never_negative(extent - 1 - index - int(table.max()), kernel.grid):
            behind = Call(BESIDE, ()) if mode == tile.operand.contiguous else Number(0.0)
            node = Picked(Leaf("", (index - extent,), table, own), node, behind)
        if not never_negative(index + int(table.min()), kernel.grid):
            node = Picked(Leaf("", (index,), table, own), Number(0.0), node)
    return node


# ------------------------------------------------------------ visible
# Whether barriers order what the subgroups of a work-group do to a tile in memory.
#
# Two accesses to an element by two subgroups, one of them a store, are in order where a barrier is
# arrived at after the one and waited for before the other, and a fence lies between a store and the
# arrival. Statements are walked with the accesses that are open: conditions leave all of them open
# that one of their ways does, and a loop is walked until no more are.


Open: TypeAlias = "tuple[int, int]"
"""A statement's number, and how far it is over: not at all, fenced, or arrived at a barrier."""

MADE, FENCED, ARRIVED = 0, 1, 2


def is_ordered(kernel: Kernel, tile: Tile) -> bool:
    """Whether every two accesses of two subgroups to an element of a tile are in order."""
    walker = _Walker(kernel)
    for place, (statement, enclosing, _) in enumerate(visit(kernel.body)):
        walker.numbers.setdefault((id(statement), tuple(map(id, enclosing))), place)
    for place, access, enclosing in _accesses(kernel, tile.operand.name):
        walker.accesses[place] = _access(kernel, tile, access, enclosing)
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
    kernel: Kernel, tile: Tile, access: MemoryAccess, enclosing: tuple[Enclosing, ...]
) -> _Access:
    base, table, moves = placed(kernel, access, enclosing)
    positions = tile.positions(base, table)[:, moves]
    touched = np.zeros((kernel.subgroups, tile.count + 1), dtype=bool)
    touched[np.arange(kernel.subgroups)[:, None], positions] = True
    inside = touched[:, :-1]
    return _Access(access.stores, inside.sum(axis=0, dtype=np.int64), inside.argmax(axis=0))


@dataclass(eq=False)
class _Walker:
    kernel: Kernel
    numbers: dict[tuple[int, tuple[int, ...]], int] = field(
        default_factory=dict["tuple[int, tuple[int, ...]]", int]
    )
    accesses: dict[int, _Access] = field(default_factory=dict[int, _Access])
    ordered: bool = True

    def body(
        self,
        body: tuple[ir.Statement, ...],
        enclosing: tuple[Enclosing, ...],
        opened: frozenset[Open],
    ) -> frozenset[Open]:
        for statement in body:
            meets = statement.touched.meets
            if isinstance(statement, (ir.Loop, ir.If)):
                opened = self.inside(statement, enclosing, opened)
                continue
            # A statement that meets others, too, orders nothing of its own access.
            made = self.access(statement, enclosing, opened)
            if meets == "fence":
                opened = frozenset((n, FENCED if how == MADE else how) for n, how in opened)
            elif meets == "arrive":
                opened = frozenset((n, ARRIVED if how == FENCED else how) for n, how in opened)
            elif meets == "wait":
                opened = frozenset((n, how) for n, how in opened if how != ARRIVED)
            opened |= made
        return opened

    def inside(
        self, statement: ir.Loop | ir.If, enclosing: tuple[Enclosing, ...], opened: frozenset[Open]
    ) -> frozenset[Open]:
        inner = (*enclosing, statement)
        after = self.body(statement.body, inner, opened)
        if isinstance(statement, ir.If):
            return opened | after
        while not after <= opened:
            opened, after = opened | after, self.body(statement.body, inner, opened | after)
        surely = at_least(statement.stop - statement.start, self.kernel) >= 1
        return after if surely else opened | after

    def access(
        self, statement: ir.Statement, enclosing: tuple[Enclosing, ...], opened: frozenset[Open]
    ) -> frozenset[Open]:
        """Return a statement's access, as one that is open behind it; nothing without one."""
        number = self.numbers[id(statement), tuple(map(id, enclosing))]
        mine = self.accesses.get(number)
        if mine is None:
            return frozenset()
        others = (self.accesses[n] for n, _ in opened)
        if (mine.stores and mine.meets(mine)) or any(mine.meets(other) for other in others):
            self.ordered = False
        return frozenset({(number, MADE if mine.stores else FENCED)})
