"""Terms in the coordinates of what they are stored to.

A store writes position ``p`` of subgroup ``s`` to a place in a tile. The coordinates of that place
become variables in the stead of ``s`` and ``p``, and so do those of the registers of a recurrence;
every place of a term is a sum of functions of them, of the grid and of the variables of sums. That
is looked at in the tables, never assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count as counted
from typing import Any

import numpy as np

from pycute_xe.executing.arrays.places import separated
from pycute_xe.executing.arrays.states import coordinates_of, nodes_of, outside_of, space_of
from pycute_xe.executing.arrays.terms import (
    Lifted,
    Lifter,
    Place,
    Space,
    apart_of,
    bounds_of,
    names_of,
)
from pycute_xe.holding.contents import undecided
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
    Recurrence,
    Scalar,
    State,
    Summed,
    Undefined,
)
from pycute_xe.kernel import Index
from pycute_xe.kernel.arrays import Ints

__all__ = ["lift", "steps_of"]


ROOM = 1 << 23
"""Numbers of a table of places."""


def lift(lifter: Lifter, node: Node, space: Space) -> Lifted:
    """Return a node in the coordinates of a space."""
    return _Walk(lifter, space).of(node)


@dataclass(eq=False)
class _Walk:
    lifter: Lifter
    space: Space
    called: dict[str, Index] = field(default_factory=dict[str, Index])
    columns: dict[str, tuple[str, Ints]] = field(default_factory=dict["str", "tuple[str, Ints]"])
    known: dict[int, tuple[Node, Lifted]] = field(
        default_factory=dict["int", "tuple[Node, Lifted]"]
    )

    def used(self, node: Node) -> set[str]:
        """Return what variables of sums around a node are called, of those that it names."""
        names = names_of(self.lifter, node)
        found = {str(index) for name, index in self.called.items() if name in names}
        return found | {whole for name, (whole, _) in self.columns.items() if name in names}

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

    def table(self, base: Index, table: Ints, select: Ints | None, bound: tuple[str, ...]) -> Place:
        """Return a place: an index plus ``table[s, select[p], …]``, the last axes are ``bound``."""
        corner = (0,) * len(bound)
        own = table[(..., *corner)]
        column = own if select is None else own[:, select]
        column = np.broadcast_to(column, self.space.shape)
        offset, rest = apart_of(table, len(bound))
        if rest is None:
            entries = self.space.index.size * int(np.prod(table.shape[2:]))
            if entries > ROOM:
                raise undecided("a place mixes too many variables")
            whole = table if select is None else table[:, select]
            whole = np.broadcast_to(whole, (*self.space.shape, *table.shape[2:]))
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
    found, order = _totalled(walk, node, tiles, rows)
    if order is not None and not narrow:
        found, _ = _totalled(walk, node, tiles, rows[:, order])
    return found


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
    found = walk.lifter.make(Summed, given, (body,), (), names, more - names)
    return found, _order(body, tile) if tiles else None


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
    for numbers in coordinates:
        places.append(walk.table(Index(), node.picked(numbers), None, node.bound))
    places += [walk.place(value, ()) for _, value in node.at]
    outer = tuple(var for var, _ in node.at)
    names = frozenset({f"state {id(recurrence)}"}) if not node.behind else frozenset[str]()
    more = outside_of(walk.lifter, recurrence, node.name) | names
    given = (recurrence, node.name, node.behind, outer)
    found = walk.lifter.make(State, given, (), tuple(places))
    merged = found.names | more
    if merged != found.names:
        object.__setattr__(found, "names", merged)
    return found


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
