"""Terms in the coordinates of what they are stored to, and of what a recurrence carries over.

A store writes position ``p`` of subgroup ``s`` to a place in a tile. The coordinates of that place
become variables in the stead of ``s`` and ``p``, and so do those of the registers of a recurrence;
every place of a term is a sum of functions of them, of the grid and of the variables of sums. That
is looked at in the tables, never assumed. Registers of a recurrence of which all that is ever
computed is the same share a place: the row of a query, not the lanes that hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count as counted
from typing import Any, TypeAlias

import numpy as np

from pycute_xe.executing.arrays.terms import (
    Lifted,
    Lifter,
    Place,
    Registers,
    bounds_of,
    free_of,
    names_of,
    separated,
)
from pycute_xe.holding.columns import distinct
from pycute_xe.holding.elements import Recurrence, State
from pycute_xe.holding.nodes import (
    Accumulated,
    Bound,
    Call,
    Carried,
    Choice,
    Converted,
    Leaf,
    Lost,
    Node,
    Number,
    Picked,
    Scalar,
    Summed,
    Undefined,
    mapped,
    undecided,
)
from pycute_xe.kernel import Index, Loop
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX

__all__ = [
    "apart_of",
    "boxed",
    "is_inside",
    "named",
    "needed_by",
    "outside_of",
    "reached",
    "space_of",
    "lift",
    "steps_of",
]


def partition(column: Ints) -> Ints:
    """Return numbers, from 0 up in the order of the values, for what is equal."""
    return np.unique(column, return_inverse=True)[1].reshape(-1)


def boxed(columns: Sequence[Ints]) -> tuple[list[list[int]], Ints]:
    """Return what columns together tell apart, as coordinates, and which entries are where.

    Each coordinate is a list of columns. Entries that all columns tell nothing apart of share a
    place; where there are as many everywhere, a last axis tells them apart.

    >>> rows, columns = np.repeat(np.arange(2), 3), np.tile(np.arange(3), 2)
    >>> boxed([rows, columns])
    ([[0], [1]], array([[0, 1, 2],
           [3, 4, 5]]))
    """
    numbers = [partition(column) for column in columns]
    sizes = [int(n.max()) + 1 if n.size else 0 for n in numbers]
    groups = [[i] for i, size in enumerate(sizes) if size > 1]
    whole = numbered([numbers[g[0]] for g in groups], columns[0].size)
    every = int(whole.max()) + 1 if whole.size else 0
    if groups and every != int(np.prod([sizes[g[0]] for g in groups])):
        groups = [[g[0] for g in groups]]
        keys, shape = [whole], [every]
    else:
        keys, shape = [numbers[g[0]] for g in groups], [sizes[g[0]] for g in groups]
    flat: Ints = np.zeros(columns[0].size, np.int64)
    for key, size in zip(keys, shape, strict=True):
        flat = flat * size + key
    order = np.argsort(flat, kind="stable")
    counts = np.bincount(flat, minlength=every)
    if counts.size and (counts != counts[0]).any():
        raise undecided("some places are written by more registers than others")
    rank = int(counts[0]) if counts.size else 0
    return groups, order.reshape(*shape, rank) if rank != 1 else order.reshape(shape)


def numbered(numbers: Sequence[Ints], size: int) -> Ints:
    """Return numbers, from 0 up, for what several columns together tell apart."""
    flat: Ints = np.zeros(size, np.int64)
    for one in numbers:
        flat = partition(flat * (int(one.max()) + 1) + one)
    return flat


def apart_of(table: Ints, rank: int) -> tuple[int, list[tuple[tuple[int, ...], Ints]] | None]:
    """Return what the last axes add to the first two, None where they do not only add."""
    if not rank:
        return 0, []
    along = table[0, 0] - table[0, 0].reshape(-1)[0]
    corner = (0,) * rank
    own = table[(..., *corner)]
    if not np.array_equal(own.reshape(own.shape + (1,) * rank) + along, table):
        return 0, None
    return separated(along)


def coordinates_of(space: Registers) -> list[Ints]:
    """Return for each coordinate which one each register has: (subgroup, position)."""
    out: list[Ints] = []
    index = space.index if space.again is None else space.again
    for axis, count in enumerate(index.shape[: len(space.names)]):
        numbers: Ints = np.zeros(space.shape[0] * space.shape[1], np.int64)
        shape = [1] * index.ndim
        shape[axis] = count
        line: Ints = np.arange(count, dtype=np.int64)
        numbers[index] = line.reshape(shape)
        out.append(numbers.reshape(space.shape))
    return out


def nodes_of(recurrence: Recurrence, name: str) -> tuple[Node, Node]:
    """Return what a fragment holds before a recurrence, and behind a trip."""
    nodes = tuple(content.single for content in recurrence.parts[name])
    if nodes[0] is None or nodes[1] is None:
        raise undecided(f"several statements fill {name}, which a loop carries over")
    return nodes[0], nodes[1]


def space_of(lifter: Lifter, recurrence: Recurrence, name: str) -> Registers:
    """Return the coordinates of the registers of a fragment that a recurrence carries over.

    Registers of which all that is ever computed is the same share a place.
    """
    if (id(recurrence), name) in lifter.spaces:
        return lifter.spaces[id(recurrence), name]
    for (one, own), columns in _columns_of(lifter, recurrence, name).items():
        if (id(one), own) not in lifter.spaces:
            lifter.spaces[id(one), own] = _space(lifter, one, own, columns)
    return lifter.spaces[id(recurrence), name]


def _columns_of(lifter: Lifter, recurrence: Recurrence, name: str) -> dict[Part, list[_Column]]:
    """Return what tells registers of a fragment apart, and of those whose state it needs."""
    needed = reached(recurrence, (name,))
    columns_of = {part: _columns(lifter, *part) for part in needed}
    pairs = [(part, state) for part in needed for state in _states_in(*part)]
    for _ in range(len(needed) + 2):
        changed = [
            _add(columns_of[part], column.label, _gathered(lifter, column.numbers, state))
            for part, state in pairs
            for column in tuple(columns_of[_part(state)])
        ]
        if not any(changed):
            return columns_of
    raise undecided(f"what {name} depends on goes round")


def _space(lifter: Lifter, recurrence: Recurrence, one: str, known: list[_Column]) -> Registers:
    shape = lifter.subgroups, _count(recurrence, one)
    columns = _finest(known) or [_Column("", np.zeros(shape, np.int64))]
    groups, index = boxed([column.numbers.reshape(-1) for column in columns])
    again = index if index.ndim > len(groups) else None
    index = index if again is None else again[..., 0]
    own, subgroups = f"{one}__{len(lifter.spaces)}_subgroup", np.arange(shape[0])
    names: tuple[str, ...] = ()
    for group in groups:
        label = " ".join(columns[i].label for i in group)
        values = tuple(np.unique(columns[i].numbers).tobytes() for i in group)
        names = (*names, lifter.name(recurrence, label, values, names))
    return Registers(shape, names, index, own, subgroups, again)


def _count(recurrence: Recurrence, name: str) -> int:
    return recurrence.parts[name][0].count


@dataclass(frozen=True, eq=False)
class _Column:
    """A number for each register, (subgroup, position), and what it is a place in."""

    label: str
    numbers: Ints


def _finest(columns: list[_Column]) -> list[_Column]:
    """Return columns without those that another one tells apart, too."""
    numbers = [partition(c.numbers.reshape(-1)) for c in columns]
    sizes = [int(n.max()) + 1 for n in numbers]
    kept: list[int] = []
    for i in sorted(range(len(columns)), key=lambda i: -sizes[i]):
        fine = (numbered([numbers[j], numbers[i]], numbers[i].size).max() + 1 for j in kept)
        if not any(int(n) == sizes[j] for j, n in zip(kept, fine, strict=True)):
            kept.append(i)
    return [columns[i] for i in sorted(kept)]


def _add(columns: list[_Column], label: str, column: Ints) -> bool:
    """Add a column unless one of them tells the same apart; return whether it was new."""
    number = partition(column.reshape(-1))
    if not number.any():
        return False
    if any(np.array_equal(partition(c.numbers.reshape(-1)), number) for c in columns):
        return False
    columns.append(_Column(label, column))
    return True


def _gathered(lifter: Lifter, column: Ints, state: State) -> Ints:
    """Return what tells registers apart that read others, of which a column is known."""
    few, select = _few(lifter, state)
    return _first(few.picked(column))[:, select]


def _few(lifter: Lifter, state: State) -> tuple[State, Ints | slice]:
    """Return a state with what its positions hold once each, and which of these each holds."""
    if not state.bound or state.subgroup is not None:
        return state, slice(None)
    if id(state) not in lifter.few:
        first, select = distinct(state.which.reshape(len(state.which), -1))
        lifter.few[id(state)] = state, replace(state, which=state.which[first]), select
    return lifter.few[id(state)][1:]


def _first(table: Ints) -> Ints:
    """Return a column: of more axes than two, a number for what all of them say."""
    if table.ndim == 2:
        return table
    rank = table.ndim - 2
    if apart_of(table, rank)[1] is not None:
        return table[(..., *(0,) * rank)]
    rows: Any = table.reshape(table.shape[0] * table.shape[1], -1)
    unique: Any = np.unique(rows, axis=0, return_inverse=True)
    number: Ints = np.asarray(unique[1], np.int64)
    return number.reshape(table.shape[:2])


def _columns(lifter: Lifter, recurrence: Recurrence, name: str) -> list[_Column]:
    shape = lifter.subgroups, _count(recurrence, name)
    out: list[_Column] = []
    for leaf in (x for x in _ends(nodes_of(recurrence, name)) if isinstance(x, Leaf)):
        for i in range(leaf.table.shape[-1]):
            column = _first(leaf.table[..., i])[:, leaf.select]
            _add(out, f"{leaf.operand}.{i}", np.broadcast_to(column, shape))
    if SUBGROUP_INDEX in free_of(lifter, nodes_of(recurrence, name)):
        _add(out, "subgroup", np.broadcast_to(np.arange(shape[0])[:, None], shape))
    return out


def _ends(nodes: tuple[Node, ...]) -> list[Node]:
    out: list[Node] = []

    def leaf(x: Node) -> Node:
        out.append(x)
        return x

    for node in nodes:
        mapped(node, leaf)
    return out


Part: TypeAlias = tuple[Recurrence, str]
"""A recurrence and a fragment that it carries on."""


def _part(state: State) -> Part:
    if state.recurrence is None:
        raise undecided(f"{state.fragment} is carried over")
    return state.recurrence, state.name


@lru_cache(maxsize=256)
def _states_in(recurrence: Recurrence, name: str) -> list[State]:
    return [x for x in _ends(nodes_of(recurrence, name)) if isinstance(x, State)]


@lru_cache(maxsize=256)
def reached(recurrence: Recurrence, names: tuple[str, ...]) -> list[Part]:
    """Return the fragments of all recurrences whose state those of some names need, and these."""
    out = [(recurrence, name) for name in dict.fromkeys(names)]
    for part in out:
        needs = dict.fromkeys(map(_part, _states_in(*part)))
        out += [other for other in needs if other not in out]
    return out


def needed_by(recurrence: Recurrence, names: Iterable[str]) -> list[str]:
    """Return those of one recurrence alone."""
    return [name for one, name in reached(recurrence, tuple(names)) if one is recurrence]


def named(recurrence: Recurrence) -> str:
    """Return what a term names that depends on the state with which a trip begins."""
    return f"state {id(recurrence)}"


def is_inside(one: Recurrence, other: Recurrence) -> bool:
    """Whether a recurrence is in the loop of another one."""
    return any(x is other.loop for x in one.enclosing)


@lru_cache(maxsize=256)
def outside_of(lifter: Lifter, recurrence: Recurrence, name: str) -> frozenset[str]:
    """Return the variables outside a recurrence on which a fragment's state depends."""
    variables, bound = set[str](), {SUBGROUP_INDEX, recurrence.loop.var}
    for one, own in reached(recurrence, (name,)):
        loop = one.loop
        variables |= loop.start.names | loop.stop.names | free_of(lifter, nodes_of(one, own))
        if is_inside(recurrence, one):
            variables |= {loop.var, named(one)}
        else:
            inner = (
                x for x in one.enclosing if isinstance(x, Loop) and x not in recurrence.enclosing
            )
            bound |= {loop.var, *(x.var for x in inner)}
    return frozenset(variables - bound)


ROOM = 1 << 23
"""Numbers of a table of places."""


def lift(lifter: Lifter, node: Node, space: Registers) -> Lifted:
    """Return a node in the coordinates of a space."""
    return _Walk(lifter, space).of(node)


@dataclass(eq=False)
class _Walk:
    lifter: Lifter
    space: Registers
    called: dict[str, Index] = field(default_factory=dict[str, Index])
    columns: dict[str, tuple[str, Ints]] = field(default_factory=dict["str", "tuple[str, Ints]"])
    known: dict[int, tuple[Node, Lifted]] = field(
        default_factory=dict["int", "tuple[Node, Lifted]"]
    )

    def used(self, node: Node) -> set[str]:
        """Return what variables of sums around a node are called, of those that it names."""
        names = names_of(self.lifter, node)
        indices = {str(index) for name, index in self.called.items() if name in names}
        return indices | {whole for name, (whole, _) in self.columns.items() if name in names}

    def place(self, base: Index, parts: Iterable[tuple[tuple[str, ...], Ints]]) -> Place:
        """Return a place in which variables of sums are called alike where they do the like."""
        return Place(base.substitute(self.called) if self.called else base, self.fused(parts))

    def fused(
        self, parts: Iterable[tuple[tuple[str, ...], Ints]]
    ) -> tuple[tuple[tuple[str, ...], Ints], ...]:
        out: dict[tuple[str, ...], Ints] = {}
        for names, table in parts:
            for name in names:
                if name in self.called:
                    own = str(self.called[name])
                    names = tuple(own if n == name else n for n in names)
                elif name in self.columns:
                    names, table = _fuse(names, table, name, self.columns)
            out[names] = out[names] + table if names in out else table
        return tuple((names, table) for names, table in out.items() if table.any())

    def of(self, node: Node) -> Lifted:
        if id(node) not in self.known:
            self.known[id(node)] = node, LIFTS[type(node)](self, node)
        return self.known[id(node)][1]

    def table(
        self, base: Index, table: Ints, select: Ints | slice, bound: tuple[str, ...]
    ) -> Place:
        """Return a place: an index plus ``table[s, select[p], …]``, the last axes are ``bound``."""
        corner = (0,) * len(bound)
        own = table[(..., *corner)]
        column = np.broadcast_to(own[:, select], self.space.shape)
        offset, rest = apart_of(table, len(bound))
        if rest is None:
            entries = self.space.index.size * int(np.prod(table.shape[2:]))
            if entries > ROOM:
                raise undecided("a place mixes too many variables")
            whole = np.broadcast_to(table[:, select], (*self.space.shape, *table.shape[2:]))
            flat = whole.reshape(-1, *table.shape[2:])[self.space.index]
            constant, parts = separated(flat)
            names = (*self.space.names, *bound)
            named = [(tuple(names[a] for a in axes), x) for axes, x in parts]
            return self.place(base + constant, named)
        constant, parts = self.space.of(np.ascontiguousarray(column))
        parts += [(tuple(bound[a] for a in axes), x) for axes, x in rest]
        return self.place(base + (constant + offset), parts)


def _fuse(
    names: tuple[str, ...], table: Ints, name: str, columns: dict[str, tuple[str, Ints]]
) -> tuple[tuple[str, ...], Ints]:
    """Return a table with a variable of a sum replaced by the one that runs over all of them."""
    whole, column = columns[name]
    if whole not in names:
        return tuple(whole if n == name else n for n in names), table.take(
            column, axis=names.index(name)
        )
    one, other = names.index(whole), names.index(name)
    moved = np.moveaxis(table, (one, other), (0, 1))[np.arange(column.size), column]
    rest = [n for n in names if n not in (whole, name)]
    return (whole, *rest), moved


def _lost(walk: _Walk, node: Lost | Carried) -> Lifted:
    why = node.why if isinstance(node, Lost) else f"{node.fragment} is carried over"
    return walk.lifter.make(Lost, (why,))


def _leaf(walk: _Walk, node: Leaf) -> Lifted:
    places = tuple(
        walk.table(base, node.table[..., i], node.select, node.bound)
        for i, base in enumerate(node.base)
    )
    return walk.lifter.make(Leaf, (node.operand,), (), places)


def _summed(walk: _Walk, node: Summed, narrow: bool = False) -> Lifted:
    """Lift a sum; one that is rounded in between keeps the order of its terms."""
    tiles = [bound for bound in node.over if len(bound) == 2]
    counts = [bound[1] for bound in tiles]
    size = int(np.prod(counts, dtype=np.int64))
    rows = np.indices(counts, dtype=np.int64).reshape(len(counts), size)
    summed, order = _totalled(walk, node, tiles, rows)
    if order is not None and not narrow:
        summed, _ = _totalled(walk, node, tiles, rows[:, order])
    return summed


def _totalled(
    walk: _Walk, node: Summed, tiles: Sequence[tuple[str, int]], rows: Ints
) -> tuple[Lifted, Ints | None]:
    """Return a sum whose variables are called by how deep they lie, and a better order of a tile's.

    Sums over one tile are sums over one variable then, whatever order registers have: what is
    inside is the same term.
    """
    called, columns, over = dict(walk.called), dict(walk.columns), list[Bound]()
    used = walk.used(node.body)
    tile = _other(f"tile__{rows.shape[1]}", used)
    for bound in node.over:
        if len(bound) == 3:
            start, stop = (i.substitute(called) if called else i for i in bound[1:])
            name = _other("loop_", used | {str(x[0]) for x in over})
            called[bound[0]] = Index(name)
            over.append((name, start, stop))
    for bound, row in zip(tiles, rows, strict=True):
        columns[bound[0]] = tile, row
    if tiles:
        over.append((tile, rows.shape[1]))
    inner = _Walk(walk.lifter, walk.space, called, columns)
    body = inner.of(node.body)
    names, more = bounds_of(tuple(over))
    given = node.how, tuple(over), node.type
    summed = walk.lifter.make(Summed, given, (body,), (), names, more - names)
    return summed, _order(body, tile) if tiles else None


def _other(name: str, used: set[str]) -> str:
    """Return a name that is not used."""
    return next(own for i in counted() if (own := f"{name}_{i}") not in used)


def _order(body: Lifted, tile: str) -> Ints | None:
    """Return in which order the first table that tells a tile's elements apart goes up."""
    for place in _places(body):
        for names, table in place.parts:
            if names == (tile,) and np.unique(table).size == table.size:
                return None if (np.diff(table) > 0).all() else np.argsort(table)
    return None


def _places(term: Lifted) -> Iterator[Place]:
    if term.kind is not Choice:
        yield from term.places
    for part in term.parts:
        yield from _places(part)


def _accumulated(walk: _Walk, node: Accumulated) -> Lifted:
    narrow = node.numeric.kind == "float" and node.numeric.bits < 32
    parts = (walk.of(node.start), *(_summed(walk, term, narrow) for term in node.terms))
    return walk.lifter.make(Accumulated, (node.numeric, node.step), parts)


def _choice(walk: _Walk, node: Choice) -> Lifted:
    return _either(walk, node, walk.place(walk.space.own(node.index - node.below), ()))


def _picked(walk: _Walk, node: Picked) -> Lifted:
    test = node.test
    place = walk.table(test.base[0], test.table[..., 0], test.select, test.bound)
    return _either(walk, node, place)


def _either(walk: _Walk, node: Choice | Picked, place: Place) -> Lifted:
    return walk.lifter.make(Choice, (), (walk.of(node.then), walk.of(node.otherwise)), (place,))


def _state(walk: _Walk, node: State) -> Lifted:
    recurrence = node.recurrence
    if recurrence is None:
        raise undecided(f"{node.fragment} is carried over")
    space = space_of(walk.lifter, recurrence, node.name)
    coordinates = coordinates_of(space)
    places: list[Place] = []
    few, select = _few(walk.lifter, node)
    for numbers in coordinates:
        places.append(walk.table(Index(), few.picked(numbers), select, node.bound))
    places += [walk.place(value, ()) for _, value in node.at]
    outer = tuple(var for var, _ in node.at)
    names = frozenset({named(recurrence)}) if not node.behind else frozenset[str]()
    more = outside_of(walk.lifter, recurrence, node.name) | names
    given = (recurrence, node.name, node.behind, outer)
    state = walk.lifter.make(State, given, (), tuple(places))
    merged = state.names | more
    if merged != state.names:
        object.__setattr__(state, "names", merged)
    return state


LIFTS: dict[type, Callable[[_Walk, Any], Lifted]] = {
    Number: lambda walk, x: walk.lifter.make(Number, (x.value, x.type)),
    Undefined: lambda walk, _: walk.lifter.make(Undefined, ()),
    Lost: _lost,
    Carried: _lost,
    Scalar: lambda walk, x: walk.lifter.make(Scalar, (x.operand,)),
    Leaf: _leaf,
    Call: lambda walk, x: walk.lifter.make(
        Call, (x.function, x.type), tuple(map(walk.of, x.arguments))
    ),
    Converted: lambda walk, x: walk.lifter.make(Converted, (x.to,), (walk.of(x.body),)),
    Summed: _summed,
    Accumulated: _accumulated,
    Choice: _choice,
    Picked: _picked,
    State: _state,
}


def steps_of(lifter: Lifter, recurrence: Recurrence, name: str) -> tuple[Lifted, Lifted]:
    """Return what a fragment holds before a recurrence, and behind a trip, in its coordinates."""
    key = id(recurrence), name
    if key not in lifter.stepped:
        space = space_of(lifter, recurrence, name)
        start, step = nodes_of(recurrence, name)
        lifter.stepped[key] = lift(lifter, start, space), lift(lifter, step, space)
    return lifter.stepped[key]
