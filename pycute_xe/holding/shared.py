"""What the elements of shared arrays hold: what a subgroup stored, another one loads.

An array's content has a position for each element and one row for all subgroups. That a load comes
behind a barrier after the store is another question (`pycute_xe.holding.ordering`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pycute_xe.holding.contents import Follower, Read, combined
from pycute_xe.holding.elements import Content, Part, relocated, whole
from pycute_xe.holding.likeness import MOST_TURNS, Turns, alike, pruned, turn
from pycute_xe.holding.nodes import Choice, Node, Undefined, undecided
from pycute_xe.holding.periods import period
from pycute_xe.holding.tables import by_subgroup, moved
from pycute_xe.kernel import Index, Kernel, Loop, SharedLoad, SharedStore
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.ir.effects import SharedAccess
from pycute_xe.kernel.ir.program import doing
from pycute_xe.kernel.ir.visiting import Enclosing, visit

__all__ = ["Places", "ever_stored", "load_shared", "outside", "places_of", "store_shared"]


@dataclass(frozen=True, eq=False)
class Places:
    """Where in an array the elements of subgroups lie: ``table + at[t]`` in turn ``t`` of a loop.

    ``table`` is (subgroup, element). There are as many turns as ``at`` has entries; where
    ``walked``, as many as the loop has trips.
    """

    table: Ints
    at: tuple[int, ...]
    loop: Loop | None = None
    walked: bool = False

    @property
    def var(self) -> str:
        """The variable by which they take turns, empty where there is one turn."""
        return self.loop.var if self.loop is not None else ""

    @property
    def turns(self) -> range:
        """The turns."""
        return range(len(self.at))

    def in_turn(self, number: int) -> Ints:
        """Return the places in a turn."""
        return self.table + self.at[number]


def places_of(kernel: Kernel, shared: SharedAccess, enclosing: tuple[Enclosing, ...]) -> Places:
    """Return where an access lies. Raises `UndecidableError` for places known only in a run."""
    table = moved(shared.places).reshape(-1, kernel.subgroups).T
    rest, own = by_subgroup(shared.at, kernel.subgroups)
    table = table + own[:, None]
    table = _of_those(table, np.flatnonzero(doing(enclosing, kernel.subgroups)))
    if rest.is_constant:
        return Places(table, (rest.offset,))
    loops = {one.var: one for one in enclosing if isinstance(one, Loop)}
    names = sorted(rest.names)
    loop = loops.get(names[0]) if len(names) == 1 else None
    span = period(rest, names[0]) if loop is not None else 0
    walked = not span and loop is not None
    if walked and loop is not None and not rest.looked_up:
        span = _trips(loop)
    if not 0 < span <= MOST_TURNS:
        raise undecided(
            f"where elements of {shared.array} lie depends on {rest}",
            "use a constant, or a loop's variable modulo the number of stages",
        )
    return Places(table, tuple(rest.at({names[0]: r}) for r in range(span)), loop, walked)


def _trips(loop: Loop) -> int:
    """Return the trips of a loop from 0 up to a constant; 0 where they are many or not known."""
    if not (loop.start == Index() and loop.stop.is_constant):
        return 0
    return loop.stop.offset if 0 < loop.stop.offset <= MOST_TURNS else 0


def store_shared(walker: Follower, statement: SharedStore) -> None:
    """Follow what a store puts into an array."""
    content, old = walker.read(statement, statement.fragment), walker.state[statement.array]
    places = _inside(walker, statement.access)
    written = [_stored(old, content, places.in_turn(t), walker.doing) for t in places.turns]
    walker.state[statement.array] = _by_turns(written, places)


def load_shared(walker: Follower, statement: SharedLoad) -> None:
    """Follow what a load takes from an array."""
    stored, places = walker.state[statement.array], _inside(walker, statement.access)
    if places.walked and stored.single is not None:
        _load_by_trips(walker, statement, stored.single, places)
        return
    flat: list[Content] = []
    for t in places.turns:
        mine = stored
        if places.loop is not None:
            turns = replace(Turns.every(places.loop, len(places.at)), now=frozenset({t}))
            mine = stored.each(partial(pruned, turns=turns))
        flat.append(mine.at(places.in_turn(t).reshape(-1)))
    read = _by_turns(flat, places)
    walker.followed.reads.append(Read(statement, walker.enclosing, statement.array, read))
    loads = [_loaded(content, places.table.shape) for content in flat]
    walker.state[statement.fragment] = _by_turns(loads, places)


def _load_by_trips(walker: Follower, statement: SharedLoad, stored: Node, places: Places) -> None:
    """Follow a load whose places go on with every trip: the loop's variable is one of its own."""
    which = np.stack([places.in_turn(t) for t in places.turns], axis=-1)
    node = relocated(stored, which, np.zeros_like(which), (places.var,))
    content = whole(which.shape[1], node)
    walker.followed.reads.append(Read(statement, walker.enclosing, statement.array, content))
    walker.state[statement.fragment] = content


def outside(
    kernel: Kernel, shared: SharedAccess, enclosing: tuple[Enclosing, ...]
) -> list[tuple[str, Index, Index]]:
    """Return what no machine does in an access: in words, and that it happens where ``i < j``."""
    array, places = kernel.shared_array(shared.array), places_of(kernel, shared, enclosing)
    conditions: list[tuple[str, Index, Index]] = []
    for t in places.turns:
        low, high = (int(x) for x in (places.in_turn(t).min(), places.in_turn(t).max()))
        if array.value_type.bits < 8:
            words = f"elements of {array} are narrower than a byte and cannot be addressed"
        elif low < 0 or high >= array.elements:
            words = f"elements {low} to {high} of {array.name} are used, there are {array.elements}"
        else:
            continue
        index = (Index(places.var) - t) % len(places.at) if places.loop else Index()
        conditions.append((words, index, Index(None, 1)))
    return conditions


def _inside(walker: Follower, shared: SharedAccess) -> Places:
    """Return the places of an access. Raises `UndecidableError` where some lie outside."""
    if outside(walker.kernel, shared, walker.enclosing):
        raise undecided(f"elements outside {shared.array} are used")
    places = places_of(walker.kernel, shared, walker.enclosing)
    return replace(places, table=_of_those(places.table, walker.doing))


def _of_those(table: Ints, subgroups: Ints) -> Ints:
    """Return a table in which subgroups that touch nothing stand for one that does."""
    if not 0 < subgroups.size < table.shape[0]:
        return table
    out = np.broadcast_to(table[subgroups[0]], table.shape).copy()
    out[subgroups] = table[subgroups]
    return out


def ever_stored(kernel: Kernel, loop: Loop, array: str) -> Ints:
    """Return the elements of an array that some trip of a loop stores to."""
    elements: list[Ints] = [np.arange(0)]
    for statement, enclosing, _ in visit(loop.body, (loop,)):
        shared = statement.touched.shared
        if shared is not None and shared.stores and shared.array == array:
            places = places_of(kernel, shared, enclosing)
            elements += [places.in_turn(t).reshape(-1) for t in places.turns]
    return np.unique(np.concatenate(elements))


def _by_turns(contents: list[Content], places: Places) -> Content:
    """Join what is held in each turn by conditions on the loop's variable."""
    out = contents[-1]
    for number in reversed(range(len(contents) - 1)):
        chosen = partial(_chosen, *turn(places.var, len(contents), number))
        out = combined(out.count, (contents[number], out), chosen)
    return out


def _chosen(index: Index, below: Index, nodes: Sequence[Node]) -> Node:
    if alike(nodes[0], nodes[1]):
        return nodes[1]
    return Choice(index, below, *nodes)


def _stored(old: Content, content: Content, table: Ints, subgroups: Ints) -> Content:
    """Return an array's content after some subgroups' elements went to their places."""
    for part in content.parts:
        to = table[subgroups[:, None], part.elements]
        whose = np.broadcast_to(subgroups[:, None], to.shape).reshape(1, -1)
        numbers: Ints = np.arange(part.elements.size)
        which = np.broadcast_to(numbers, to.shape).reshape(1, -1)
        # Of two that go to one place the later stays; two subgroups there are a race.
        places, last = np.unique(to.reshape(-1)[::-1], return_index=True)
        kept = to.size - 1 - last
        node = relocated(part.node, which[:, kept], whose[:, kept])
        old = old.over(places, whole(places.size, node))
    return old


def _loaded(flat: Content, shape: tuple[int, ...]) -> Content:
    """Return a fragment's content from that of its elements subgroup by subgroup."""
    owner, place = (numbers.reshape(shape) for numbers in flat.owners())
    # What one subgroup takes from places that were never written is not looked at in others.
    blank = [isinstance(part.node, Undefined) for part in flat.parts]
    unwritten = np.array([*blank, False])[owner].any(axis=0)
    owner[:, unwritten] = len(flat.parts)
    if (owner != owner[:1]).any():
        raise undecided("subgroups load what different statements stored")
    parts = [Part(np.flatnonzero(unwritten), Undefined())] if unwritten.any() else []
    for number, part in enumerate(flat.parts):
        mine = np.flatnonzero(owner[0] == number)
        if mine.size:
            which = place[:, mine]
            parts.append(Part(mine, relocated(part.node, which, np.zeros_like(which))))
    return Content(shape[1], tuple(parts))
