"""Floor 9: kernels as products of whole matrices: decided from the tables of their statements.

Every statement is followed once, for all work-groups and all trips of the loops around it. Where a
fragment stops being part of a matrix, or trips depend on one another other than by a sum, there is
no plan; nothing is assumed of a kernel's form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import KernelError, MachineError
from pycute_xe.exactness import is_exact
from pycute_xe.executing.whole_matrices.bodies import asks_indices, written_in
from pycute_xe.executing.whole_matrices.computing import Plan
from pycute_xe.executing.whole_matrices.fields import Axis, Constant, Field, NotWhole, covers, over
from pycute_xe.executing.whole_matrices.multiplying import product_of
from pycute_xe.executing.whole_matrices.nodes import Elementwise, Source, Storing
from pycute_xe.holding.tables import copied, demand_whole_registers, moved
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Meanings,
    Mma,
    Prefetch,
    Reorder,
    Statement,
    Store,
    walk,
)
from pycute_xe.kernel.index import SUBGROUP_INDEX

__all__ = ["Planner", "planned"]

Ints: TypeAlias = NDArray[np.int64]
Copying: TypeAlias = "Load | Store | Prefetch"


@dataclass(eq=False)
class Planner:
    """What the fragments hold so far; ``trips`` binds the loops' variables to all their values."""

    kernel: Kernel
    sizes: dict[str, int]
    grid: Ints
    held: dict[str, Field | Constant] = field(default_factory=dict[str, "Field | Constant"])
    trips: dict[str, Ints] = field(default_factory=dict[str, "NDArray[np.int64]"])
    sums: frozenset[str] = frozenset()
    stores: list[Storing] = field(default_factory=list[Storing])

    def do(self, body: tuple[Statement, ...]) -> None:
        """Follow a body; `NotWhole` where it leaves whole matrices."""
        for statement in body:
            if type(statement) not in tuple(PLANNED):
                raise NotWhole
            PLANNED[statement](self, statement)

    def get(self, name: str) -> Field | Constant:
        """Return what a fragment holds."""
        if name not in self.held:
            raise NotWhole
        return self.held[name]

    def extents(self, operand: str) -> tuple[int, ...]:
        """Return the extents of an operand."""
        return tuple(mode.at(self.sizes) for mode in self.kernel.operand(operand).modes)

    def corner(self, index: Index) -> tuple[Ints, Ints | None]:
        """Return an index for each work-group, and what each trip adds to it."""
        if index.looked_up or SUBGROUP_INDEX in index.names:
            raise NotWhole
        moving = {
            atom: c for atom, c in index.terms if Index.of({atom: c}, 0).names & set(self.trips)
        }
        still = Index.of({a: c for a, c in index.terms if a not in moving}, index.offset)
        names: dict[str, Any] = dict(self.sizes)
        trips = None
        if moving:
            if Index.of(moving, 0).names & {name for name, _ in self.kernel.grid}:
                raise NotWhole
            bound: dict[str, Any] = names | self.trips
            trips = np.asarray(Index.of(moving, 0).at(bound))
        names |= {name: self.grid[:, i] for i, (name, _) in enumerate(self.kernel.grid)}
        return np.broadcast_to(still.at(names), self.grid.shape[:1]), trips

    def axes(self, statement: Copying) -> tuple[Axis, ...]:
        """Return the axes of an operand as the elements that a copy moves lie along them."""
        tables = copied(statement.copy)
        demand_whole_registers(statement.copy)
        out: list[Axis] = []
        for mode, (index, extent) in enumerate(
            zip(statement.at, self.extents(statement.operand), strict=True)
        ):
            corner, trips = self.corner(index)
            if mode in statement.modes:
                places = tables.places[:, :, statement.modes.index(mode)]
            else:
                places = np.zeros(tables.places.shape[:2], np.int64)
                whole = corner if trips is None else corner[:, None] + trips
                if whole.size and (whole.min() < 0 or whole.max() >= extent):
                    raise NotWhole
            out.append(Axis(extent, corner, places, trips))
        for axis, mode in enumerate(statement.modes):
            # Beyond a mode of extent 1 that the operand does not have, there are zeros.
            if mode is None and tables.places[:, tables.moves, axis].any():
                raise NotWhole
        self.aligned(statement)
        return tuple(out)

    def aligned(self, statement: Copying) -> None:
        """Demand that blocks start at elements of their message, whatever the names are."""
        copy, mode = statement.copy, statement.modes[statement.copy.x_mode]
        if mode is None:
            return
        index = statement.at[mode]
        steps = [index.offset, *(c for _, c in index.terms)]
        if any(step * copy.value_type.bits % copy.op.bits for step in steps):
            raise NotWhole


PLANNED: Meanings[Callable[[Planner, Any], None]] = Meanings("run")


@lru_cache(maxsize=64)
def planned(kernel: Kernel, sizes: tuple[tuple[str, int], ...]) -> Plan | None:
    """Return how to compute a kernel on whole matrices at some sizes, None where it is not that.

    A store of a plan writes every element of its operand, from the place that the maps say.
    """
    known = dict(sizes)
    try:
        counts = [max(0, count.at(known)) for _, count in kernel.grid]
        if not 0 < prod(counts) <= 1 << 20 or not all(known.values()):
            return None
        grid = np.indices(counts, dtype=np.int64).reshape(len(counts), prod(counts)).T
        planner = Planner(kernel, known, grid)
        planner.do(kernel.body)
    except (NotWhole, KernelError, MachineError):
        # What is wrong, if anything, is said by who does the statements one by one.
        return None
    return Plan(tuple(planner.stores))


@PLANNED.of(Fill)
def _(planner: Planner, statement: Fill) -> None:
    planner.held[statement.fragment] = Constant(statement.value)


@PLANNED.of(Prefetch)
def _(planner: Planner, statement: Prefetch) -> None:
    copied(statement.copy)
    planner.aligned(statement)
    for mode, index in enumerate(statement.at):
        if mode not in statement.modes:
            corner, trips = planner.corner(index)
            if (
                trips is not None
                or corner.min() < 0
                or (corner.max() >= planner.extents(statement.operand)[mode])
            ):
                raise NotWhole


@PLANNED.of(Load)
def _(planner: Planner, statement: Load) -> None:
    name = statement.operand
    if any(name in s.touched.to_memory for s in walk(planner.kernel.body)):
        raise NotWhole
    tables, elements = copied(statement.copy), planner.kernel.fragment(statement.fragment).elements
    numeric = planner.kernel.operand(name).value_type
    known = tables.moves & ~tables.padded
    whole = Field(Source(name), numeric, planner.axes(statement), known)
    planner.held[statement.fragment] = whole.take(slice(0, elements))


@PLANNED.of(Reorder)
def _(planner: Planner, statement: Reorder) -> None:
    to, source = moved(statement.slots), planner.get(statement.source)
    elements = planner.kernel.fragment(statement.destination).elements
    back = np.full(elements, -1, np.int64)
    back[to] = np.arange(to.size)
    if (back < 0).any():
        raise NotWhole
    whole = source if isinstance(source, Constant) else source.take(back)
    planner.held[statement.destination] = whole


@PLANNED.of(Convert)
def _(planner: Planner, statement: Convert) -> None:
    source = planner.get(statement.source)
    if isinstance(source, Constant):
        raise NotWhole
    to = planner.kernel.fragment(statement.destination).value_type
    if to.kind == "float" and to.bits <= 32 and is_exact(source.numeric, to):
        planner.held[statement.destination] = source  # the same numbers
        return
    inputs = (("source", source.node, source.numeric),)
    node = Elementwise(None, inputs, to)
    planner.held[statement.destination] = Field(node, to, source.axes, source.known)


@PLANNED.of(Map)
def _(planner: Planner, statement: Map) -> None:
    kernel, gathers = planner.kernel, dict(statement.gathers)
    destination = kernel.fragment(statement.destination)
    fields: dict[str, Field] = {}
    for name in statement.sources:
        found, by = planner.get(name), gathers.get(name)
        if isinstance(found, Constant):
            raise NotWhole
        fields[name] = found.take(slice(0, destination.elements) if by is None else moved(by))
    if not fields or asks_indices(statement.value):
        raise NotWhole
    widest = max(fields.values(), key=lambda x: [len(x.axes), *(a.extent for a in x.axes)])
    inputs = tuple((n, over(x, widest.axes), x.numeric) for n, x in fields.items())
    node = Elementwise(statement.value, inputs, destination.value_type)
    planner.held[statement.destination] = Field(
        node, destination.value_type, widest.axes, widest.known
    )


@PLANNED.of(Mma)
def _(planner: Planner, statement: Mma) -> None:
    held = [planner.get(x) for x in (statement.accumulator, statement.a, statement.b)]
    before, a, b = held
    if isinstance(a, Constant) or isinstance(b, Constant):
        raise NotWhole
    once = not planner.trips or statement.accumulator in planner.sums
    if not once or statement.accumulator in (statement.a, statement.b):
        raise NotWhole
    count = next(iter(planner.trips.values())).size if planner.trips else 1
    planner.held[statement.accumulator] = product_of(statement.mma, before, a, b, count)


@PLANNED.of(Store)
def _(planner: Planner, statement: Store) -> None:
    found = planner.get(statement.fragment)
    twice = any(statement.operand == earlier.operand for earlier in planner.stores)
    if isinstance(found, Constant) or planner.trips or twice:
        raise NotWhole  # of two stores to an element, nothing may say which is the last
    elements = np.flatnonzero(copied(statement.copy).moves)
    axes = tuple(axis.take(elements) for axis in planner.axes(statement))
    numeric = statement.copy.value_type
    if found.numeric != numeric:
        inputs = (("source", found.node, found.numeric),)
        found = replace(found, node=Elementwise(None, inputs, numeric), numeric=numeric)
    turned = over(found.take(elements), axes)
    if None in turned.axes or not covers(axes):
        raise NotWhole
    planner.stores.append(Storing(statement.operand, turned))


@PLANNED.of(BarrierArrive, BarrierWait, Fence)
def _(planner: Planner, statement: Statement) -> None:
    """Nothing is shared but what is loaded, which nothing writes."""


@PLANNED.of(If)
def _(planner: Planner, statement: If) -> None:
    if not all(isinstance(s, (If, Prefetch)) for s in walk(statement.body)):
        raise NotWhole
    planner.do(statement.body)


@PLANNED.of(Loop)
def _(planner: Planner, statement: Loop) -> None:
    start, stop = (index.at(planner.sizes) for index in (statement.start, statement.stop))
    outer, sums = dict(planner.trips), planner.sums
    count = next(iter(outer.values())).size if outer else 1
    if count * max(0, stop - start) > 1 << 20:
        raise NotWhole
    inner = np.arange(start, max(start, stop), dtype=np.int64)
    planner.trips = {name: np.repeat(values, inner.size) for name, values in outer.items()}
    planner.trips[statement.var] = np.tile(inner, count)
    written, added = written_in(planner.kernel, statement)
    planner.sums = added & sums if outer else added
    for name in written - planner.sums:
        planner.held.pop(name, None)  # it holds what the trip before left
    planner.do(statement.body)
    for name in written - planner.sums:
        planner.held.pop(name, None)
    planner.trips, planner.sums = outer, sums
