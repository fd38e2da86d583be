"""Floor 9: which elements of an output two subgroups touch, so that their order matters.

A run keeps the last subgroup that touched each element in each way, and the last work-group that
moved each tile. What another one touched as well is contested: a second run compares it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.groups.late import Where
from pycute_xe.kernel import AtomicStore, Kernel, Load, Store

__all__ = ["ADD", "READ", "WRITE", "Touched", "Touches", "Window", "codes_of"]

Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]

READ, WRITE, ADD = 0, 1, 2
_MANY: Final = -1
# Ways to hold a tile that are told apart.
_WAYS: Final = 1 << 8


@dataclass(frozen=True, eq=False)
class Touched:
    """Elements of an operand, which subgroup of the grid touched each, and the values it moved."""

    kind: int
    name: str
    at: tuple[Ints, ...]
    thread: Ints
    values: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Window:
    """A tile of an operand of a ``shape``, ``full`` are its extents before it is cut.

    ``where`` tells which element of it each register of the work-group holds.
    """

    slices: tuple[slice, ...]
    full: tuple[int, ...]
    shape: tuple[int, ...]
    where: Where | None = None

    @property
    def begins(self) -> tuple[int, ...]:
        """Where it begins."""
        return tuple(one.start for one in self.slices)

    @property
    def aligned(self) -> bool:
        """Whether it is one of a grid of tiles, none of which overlap."""
        return all(first % n == 0 for first, n in zip(self.begins, self.full, strict=True))


class Touches:
    """The last subgroup, from 1, that touched each element of the outputs, for each way."""

    def __init__(self, kernel: Kernel) -> None:
        """Watch what is stored, and loads of that."""
        kinds = {Load: READ, Store: WRITE, AtomicStore: ADD}
        done = [
            (s.operand, kinds[type(s)])
            for s in kernel.statements()
            if isinstance(s, (Load, Store, AtomicStore))
        ]
        # Memory to work in is shared by turns, which the reference executor judges.
        scratch = {o.name for o in kernel.operands if o.role == "scratch"}
        stored = {name for name, kind in done if kind != READ} - scratch
        self.ways = {name: {kind for n, kind in done if n == name} for name in stored}
        self.last: dict[tuple[str, int], NDArray[np.int32]] = {}
        self.contested: dict[str, Bools] = {}
        self.tiles: dict[str, dict[tuple[int, ...], tuple[Window, int]]] = {}
        self.apart: set[str] = set()
        self._ways: list[Where] = []

    def enter(self, count: int) -> None:
        """Begin so many work-groups more: nothing is counted for each."""

    def watches(self, name: str) -> bool:
        """Whether loads of an operand matter."""
        return name in self.ways

    def touch(self, one: Touched, array: NDArray[Any]) -> None:
        """Note what is about to be done to an array."""
        if one.name not in self.ways or not one.thread.size:
            return
        flat: Ints = np.ravel_multi_index(one.at, array.shape)
        me = (one.thread + 1).astype(np.int32)
        doubtful = self._in_tiles(one, flat, array.size)
        for kind in self._against(one.name, one.kind):
            before = self._of(one.name, kind, array.size)[flat]
            other = (before != 0) & (before != me)
            if kind == one.kind:
                other &= codes_of(array[one.at]) != codes_of(one.values)
            doubtful |= other
        self._keep(one, flat, me, doubtful, array.size)
        if doubtful.any():
            marked = self.contested.setdefault(one.name, np.zeros(array.size, bool))
            marked[flat[doubtful]] = True

    def touch_window(self, name: str, kind: int, window: Window, group: int) -> None:
        """Note what the work-group ``group``, from 1, does to all elements of a window."""
        if name not in self.ways or any(one.start >= one.stop for one in window.slices):
            return
        me = group * _WAYS + self._way(window.where)
        for other in self._against(name, kind):
            before = self.last.get((name, other))
            if before is not None and before.reshape(window.shape)[window.slices].any():
                self._contest(name, window)
        tiles = self.tiles.setdefault(name, {})
        full = next((other.full for other, _ in tiles.values()), window.full)
        if name not in self.apart and full == window.full and window.aligned:
            for other in self._against(name, kind):
                found = tiles.get((other, *window.begins))
                if found is not None and found[1] != me:
                    self._contest(name, window)
            before = tiles.get((kind, *window.begins))
            several = before is not None and before[1] != me
            tiles[(kind, *window.begins)] = window, _MANY if several else me
            return
        self._part(name)
        room = prod(window.shape)
        for other in self._against(name, kind):
            before = self._of(_by_group(name), other, room).reshape(window.shape)[window.slices]
            if ((before != 0) & (before != me)).any():
                self._contest(name, window)
        mine = self._of(_by_group(name), kind, room).reshape(window.shape)[window.slices]
        mine[...] = np.where((mine == 0) | (mine == me), me, _MANY)

    def _against(self, name: str, kind: int) -> list[int]:
        """Return what clashes with a kind: two loads do not, nor do two additions."""
        return [other for other in sorted(self.ways[name]) if kind != other or kind == WRITE]

    def _way(self, where: Where | None) -> int:
        """Return the number of a way to hold a tile: of another one, other subgroups do."""
        if where is None:
            return 0
        for number, known in enumerate(self._ways, 1):
            if known.same(where):
                return number
        if len(self._ways) < _WAYS - 1:
            self._ways.append(where)
        return len(self._ways)

    def _in_tiles(self, one: Touched, flat: Ints, room: int) -> Bools:
        """Tell which elements some work-group moved as part of a whole tile."""
        out = np.zeros(flat.size, bool)
        if self.tiles.get(one.name):
            self._part(one.name)
        if one.name in self.apart:
            for kind in self._against(one.name, one.kind):
                out |= self._of(_by_group(one.name), kind, room)[flat] != 0
        return out

    def _contest(self, name: str, window: Window) -> None:
        room = prod(window.shape)
        marked = self.contested.setdefault(name, np.zeros(room, bool))
        marked.reshape(window.shape)[window.slices] = True

    def _part(self, name: str) -> None:
        """Note tiles element by element from now on: they are not those of one grid."""
        self.apart.add(name)
        for (kind, *_), (window, me) in self.tiles[name].items():
            mine = self._of(_by_group(name), kind, prod(window.shape))
            mine.reshape(window.shape)[window.slices] = me
        self.tiles[name] = {}

    def _keep(self, one: Touched, flat: Ints, me: Any, doubtful: Bools, room: int) -> None:
        """Remember who touched each element, and that it was several."""
        last = self._of(one.name, one.kind, room)
        before = last[flat]
        several = (before != 0) & (before != me)
        last[flat] = me
        beside = last[flat] != me  # another one touches it in the same statement
        if beside.any() and one.kind == WRITE:
            codes = codes_of(one.values)
            final = np.zeros(room, codes.dtype)
            final[flat] = codes
            doubtful |= final[flat] != codes
        last[flat[several | beside]] = _MANY

    def _of(self, name: str, kind: int, room: int) -> NDArray[np.int32]:
        if (name, kind) not in self.last:
            self.last[name, kind] = np.zeros(room, np.int32)
        return self.last[name, kind]


def _by_group(name: str) -> str:
    """Where work-groups are kept; no operand has such a name."""
    return f"{name} by work-group"


def codes_of(values: NDArray[Any]) -> Ints:
    """Return the bytes of each value as a number."""
    kept = np.ascontiguousarray(values).reshape(-1)
    return kept.view(f"u{kept.itemsize}").astype(np.int64)
