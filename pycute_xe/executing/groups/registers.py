"""Floor 9: registers of many work-groups at once, gathered and scattered by index tables.

A fragment is an array (work-groups, subgroups, elements) and a mask of what has been written.
Where statements are done by some subgroups only, the others' registers and memory stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import host_dtype
from pycute_xe.errors import MachineError
from pycute_xe.executing.groups.ahead import Ahead
from pycute_xe.executing.groups.late import Late
from pycute_xe.executing.groups.meeting import Meetings
from pycute_xe.executing.groups.racing import Races
from pycute_xe.executing.groups.rooms import fragment_rooms
from pycute_xe.executing.groups.shared import SharedArray
from pycute_xe.executing.groups.touching import Touched, Touches
from pycute_xe.holding.tables import copied, demand_whole_registers
from pycute_xe.kernel import AtomicStore, Index, Kernel, Load, Prefetch, Store
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX

__all__ = ["Copying", "Groups", "Meaning", "Places"]

Array: TypeAlias = NDArray[Any]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Copying: TypeAlias = "Load | Store | AtomicStore | Prefetch"
Where: TypeAlias = "slice | Ints"


@dataclass(frozen=True, eq=False)
class Places:
    """Where register elements lie in an operand: an index for each mode, and which are inside.

    ``elements`` are the register elements; ``at`` and ``inside`` are (work-groups, subgroups,
    elements). Places outside are moved inside, so that all can be looked up.
    """

    elements: Ints
    at: tuple[Ints, ...]
    inside: Bools


@dataclass(eq=False)
class Groups:
    """The work-groups of a block: what their names, registers and shared arrays hold.

    ``names`` binds extents, the grid's and the loops' variables, ``subgroup``: numbers, or arrays
    that broadcast to (work-groups, subgroups). ``active`` are those that do the statement at hand,
    None for all. ``first`` is the number of the first work-group in the grid; ``watched`` is told
    what is done to outputs.
    """

    kernel: Kernel
    memory: Mapping[str, Array]
    names: dict[str, Any]
    shape: tuple[int, int]
    values: dict[str, Array] = field(default_factory=dict[str, Array])
    ready: dict[str, Bools] = field(default_factory=dict[str, Bools])
    meetings: Meetings = field(init=False)
    shared: dict[str, SharedArray] = field(default_factory=dict[str, SharedArray])
    watched: Touches | Races | None = None
    first: int = 0
    active: Bools | None = None
    doing: str = ""
    late: dict[str, Late] = field(default_factory=dict[str, Late])
    known: dict[int, tuple[Index, Any]] | None = None
    ahead: Ahead | None = None

    def __post_init__(self) -> None:
        """Start with no arrivals."""
        self.meetings = Meetings(self.shape)

    @classmethod
    def of(
        cls, kernel: Kernel, sizes: Mapping[str, int], memory: Mapping[str, Array], grid: Ints
    ) -> Groups:
        """Return work-groups with nothing in their registers; ``grid`` is (work-groups, axes)."""
        shape = grid.shape[0], kernel.subgroups
        names: dict[str, Any] = dict(sizes)
        names |= {name: grid[:, axis, None] for axis, (name, _) in enumerate(kernel.grid)}
        names[SUBGROUP_INDEX] = np.arange(kernel.subgroups, dtype=np.int64)[None, :]
        out = cls(kernel, memory, names, shape)
        for name, room in fragment_rooms(kernel).items():
            dtype = host_dtype(kernel.fragment(name).value_type)
            out.values[name] = np.zeros((*shape, room), dtype)
            out.ready[name] = np.zeros((*shape, room), np.bool_)
        for array in kernel.shared:
            out.shared[array.name] = SharedArray(array, shape, out.meetings)
        return out

    def touch(self, kind: int, name: str, kept: Bools, at: tuple[Ints, ...], values: Any) -> None:
        """Tell of what is about to be done to elements of an operand; ``kept`` says by whom."""
        if self.watched is not None:
            group, subgroup, _ = np.nonzero(kept)
            thread: Ints = (self.first + group) * self.shape[1] + subgroup
            self.watched.touch(Touched(kind, name, at, thread, values), self.memory[name])

    def meet(self, half: Literal["arrived", "passed"]) -> None:
        """Count a half of a barrier of the work-groups that do it."""
        if isinstance(self.watched, Races):
            count: Ints = getattr(self.watched, half)
            count[self.first : self.first + self.shape[0]] += self.mask().any(axis=1)

    def anyone(self) -> bool:
        """Whether some subgroup does the statement at hand."""
        return self.active is None or bool(self.active.any())

    def mask(self) -> Bools:
        """Who does the statement at hand: (work-groups, subgroups)."""
        return np.ones(self.shape, np.bool_) if self.active is None else self.active

    @contextmanager
    def where(self, condition: Any) -> Generator[bool]:
        """Let only those go on for whom a condition holds; yield whether there are any."""
        before = self.active
        if np.ndim(condition) == 0:
            # The same for all: either none is left out, or all are.
            yield bool(condition) and self.anyone()
            return
        self.active = self.mask() & condition
        try:
            yield self.anyone()
        finally:
            self.active = before

    def number(self, index: Index) -> Any:
        """Return what an index is, a number or an array that broadcasts to all subgroups."""
        if not index.terms:
            return index.offset
        if self.known is None:
            return index.at(self.names, self._look_up)
        if id(index) not in self.known:
            found = self.ahead and self.ahead.number(index, self.first, self.names)
            read = index.at(self.names, self._look_up) if found is None else found
            self.known[id(index)] = index, read
        return self.known[id(index)][1]

    def below(self, index: Index, limit: Index, elements: int) -> Bools:
        """Tell for which elements of each subgroup an index is below another.

        What depends on the element is compared with what does not: no index of all is made.
        """
        own, shared = Index(), Index()
        for atom, scale in (index - limit).terms:
            part = Index.of({atom: scale}, 0)
            if ELEMENT_INDEX in part.names:
                own = own + part
            else:
                shared = shared + part
        bound = -np.broadcast_to(self.number(shared + (index - limit).offset), self.shape)
        names = {n: x[..., None] if np.ndim(x) else x for n, x in self.names.items()}
        names[ELEMENT_INDEX] = np.arange(elements)
        inside: Any = own.at(names)
        return inside < bound[:, :, None]

    def _look_up(self, name: str, at: tuple[Any, ...]) -> Any:
        array = self.memory[name]
        if all(type(x) is int for x in at):
            if all(0 <= x < extent for x, extent in zip(at, array.shape, strict=True)):
                return int(array[at])
            raise self.fault({"operand": name}, f"an index looks up an element outside {name}", "")
        places = np.broadcast_arrays(*at, np.zeros(self.shape, np.int64))[:-1]
        inside = np.ones(self.shape, np.bool_)
        for place, extent in zip(places, array.shape, strict=True):
            inside &= (place >= 0) & (place < extent)
        if not (inside | ~self.mask()).all():
            raise self.fault({"operand": name}, f"an index looks up an element outside {name}", "")
        kept = tuple(np.where(inside, place, 0) for place in places)
        return array[kept].astype(np.int64)

    def fault(self, given: dict[str, object], wrong: str, fix: str) -> MachineError:
        """Return the refusal of what a machine leaves undefined."""
        return MachineError(self.doing, given, wrong, fix)

    def get(self, name: str, where: Where) -> Array:
        """Return elements of a fragment; `MachineError` where a subgroup reads what none wrote."""
        if name in self.late:
            self.settle(name)
        if self.active is None and self.ready[name].all():
            return self.values[name][:, :, where]
        ready = self.ready[name][:, :, where]
        if self.active is not None:
            ready = ready | ~self.active.reshape(self.shape + (1,) * (ready.ndim - 2))
        if not ready.all():
            group, subgroup, *_ = np.argwhere(~ready)[0].tolist()
            given: dict[str, object] = {"fragment": name, "work-group": group}
            given["subgroup"] = subgroup
            told = f"an element of {name} is uninitialised"
            raise self.fault(given, told, "load or write it first")
        return self.values[name][:, :, where]

    def settle(self, name: str) -> None:
        """Put a fragment that is still a matrix into its registers."""
        late = self.late.pop(name)
        self.values[name][:, :, : late.count] = late.values()
        self.ready[name][:, :, : late.count] = True

    def put(self, name: str, where: Where, new: Any) -> None:
        """Write elements of a fragment, broadcast to all subgroups that are active."""
        if name in self.late:
            self.settle(name)
        values, ready = self.values[name], self.ready[name]
        if isinstance(where, np.ndarray) and where.size and (np.diff(where) == 1).all():
            where = slice(int(where[0]), int(where[-1]) + 1)  # side by side: no index is needed
        if self.active is None:
            values[:, :, where] = new
            ready[:, :, where] = True
            return
        elements: Ints = np.arange(values.shape[2], dtype=np.int64)[where]
        whole = np.broadcast_to(new, (*self.shape, elements.size))
        group, subgroup = np.nonzero(self.active)
        at = group[:, None], subgroup[:, None], elements
        values[at] = whole[group, subgroup]
        ready[at] = True

    def write(self, name: str, where: Ints, new: Any) -> None:
        """Write those elements of a fragment that are reached; the others become uninitialised."""
        fragment = self.kernel.fragment(name)
        reached = np.zeros(fragment.elements, np.bool_)
        reached[where] = True
        if fragment.value_type.bits < 8:  # a byte is written when all its elements are
            inside = 8 // fragment.value_type.bits
            reached = np.repeat(reached.reshape(-1, inside).all(axis=1), inside)
        self.put(name, where, new)
        lost = np.flatnonzero(~reached)
        if lost.size:
            self.ready[name][:, :, lost] &= ~self.mask()[:, :, None]

    def places(self, statement: Copying) -> Places:
        """Return where in the operand each register element of a copy lies.

        Raises `MachineError` where a block starts between two elements of its message, and where
        an index along a mode outside the tile is outside the operand.
        """
        tables, array = copied(statement.copy), self.memory[statement.operand]
        elements = np.flatnonzero(tables.moves)
        corners = [np.broadcast_to(self.number(index), self.shape) for index in statement.at]
        if not isinstance(statement, Prefetch) and self.mask().any():
            demand_whole_registers(statement.copy)
        self._aligned(statement, corners)
        inside = np.broadcast_to(~tables.padded[elements], (*self.shape, elements.size)).copy()
        at: list[Ints] = []
        for mode, corner in enumerate(corners):
            extent, place = array.shape[mode], corner[:, :, None]
            if mode in statement.modes:
                axis = statement.modes.index(mode)
                place = place + tables.places[None, :, elements, axis]
                kept = (place >= 0) & (place < extent)
                if axis not in (statement.copy.x_mode, statement.copy.y_mode):
                    self._bounded(statement, mode, kept | tables.padded[elements])
                inside &= kept
            else:
                self._bounded(statement, mode, (place >= 0) & (place < extent))
            at.append(np.clip(place, 0, extent - 1))
        for axis, mode in enumerate(statement.modes):
            if mode is None:
                inside &= tables.places[None, :, elements, axis] == 0
        return Places(elements, tuple(np.broadcast_to(x, inside.shape) for x in at), inside)

    def _bounded(self, statement: Copying, mode: int, inside: Bools) -> None:
        """Demand that indices choose a surface of the operand."""
        if (~inside & self.mask()[:, :, None]).any():
            extent = self.memory[statement.operand].shape[mode]
            raise self.fault(
                {"operand": statement.operand, "mode": mode},
                f"an index is outside: {statement.operand} has {extent} there",
                "bound the index by the extent",
            )

    def _aligned(self, statement: Copying, corners: list[Ints]) -> None:
        copy = statement.copy
        mode = statement.modes[copy.x_mode]
        if mode is None:
            return
        off = corners[mode] * copy.value_type.bits % copy.op.bits != 0
        if (off & self.mask()).any():
            raise self.fault(
                {"op": copy.op, "operand": statement.operand},
                f"a block starts between two {copy.op.bits}-bit elements",
                "align the blocks",
            )


Meaning: TypeAlias = Callable[[Groups, Any], None]
