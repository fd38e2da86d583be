"""Floor 9: the sums of a loop as a product of two windows, for one work-group.

A loop that only loads, reorders and multiplies adds a product of parts of two operands to an
accumulator. Which element of the product each register holds is planned once for windows of a
shape, from the maps of the statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import KernelError, MachineError
from pycute_xe.executing.groups.late import Late, Where
from pycute_xe.executing.groups.registers import Groups
from pycute_xe.executing.groups.sums import Form, Sum, Term, form_of, matrices_of
from pycute_xe.executing.numbers import widened
from pycute_xe.executing.products import multiplied_into
from pycute_xe.executing.whole_matrices.computing import product
from pycute_xe.executing.whole_matrices.fields import Constant, Field, NotWhole
from pycute_xe.executing.whole_matrices.nodes import Product
from pycute_xe.executing.whole_matrices.planning import Planner
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Fill,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Mma,
    Operand,
    Prefetch,
    Reorder,
    Statement,
    walk,
)

__all__ = ["Windows"]

Ints: TypeAlias = NDArray[np.int64]
Window: TypeAlias = tuple[slice, ...]

ROOM = 1 << 28
"""How many elements of operands are kept as they are multiplied."""


@dataclass(frozen=True, eq=False)
class _Adding:
    """A loop as what it adds: its loads, its moves, its one product."""

    loop: Loop
    loads: tuple[Load, ...]
    moves: tuple[Statement, ...]
    accumulator: str
    steps: dict[int, tuple[Index, Index | None, int]]


@dataclass(frozen=True, eq=False)
class _Planned:
    """A product of windows, where in it each register element lies, and which lie outside.

    ``where`` says it of the matrix of a ``form``, None where the product is not one.
    """

    node: Product
    places: Ints
    outside: NDArray[np.bool_] | None
    form: Form | None
    where: Where | None


@dataclass(eq=False)
class Windows:
    """What is kept while work-groups are done one by one: plans, and operands as they multiply."""

    kernel: Kernel
    memory: Mapping[str, NDArray[Any]]
    _loops: dict[int, _Adding | None] = field(default_factory=dict[int, "_Adding | None"])
    _plans: dict[Any, _Planned | None] = field(default_factory=dict[Any, "_Planned | None"])
    _wide: dict[Any, NDArray[Any]] = field(default_factory=dict[Any, "NDArray[Any]"])

    def multiplies(self, groups: Groups, loop: Loop, first: int, last: int) -> bool:
        """Do all trips of a loop at once where it only adds a product; return whether it did.

        ``groups`` is one work-group, of which all subgroups take part.
        """
        if id(loop) not in self._loops:
            self._loops[id(loop)] = _adding(self.kernel, loop)
        adding = self._loops[id(loop)]
        if adding is None or groups.active is not None or last <= first:
            return False
        windows: dict[str, Window] = {}
        for load in adding.loads:
            found = _window(groups, adding, load, first, last)
            if found is None:
                return False
            windows[load.operand] = found
        shapes = tuple((n, tuple(s.stop - s.start for s in w)) for n, w in windows.items())
        if not all(extent > 0 for _, shape in shapes for extent in shape):
            return True  # all of it lies outside, and adds zeros
        key = id(loop), shapes, last - first
        if key not in self._plans:
            self._plans[key] = _planned(self.kernel, loop, shapes, last - first)
        plan = self._plans[key]
        if plan is None:
            return False
        self._add(groups, adding, plan, windows)
        return True

    def _add(
        self, groups: Groups, adding: _Adding, plan: _Planned, windows: dict[str, Window]
    ) -> None:
        name, elements = adding.accumulator, slice(0, plan.places.shape[1])
        late = groups.late.get(name)
        if late is not None and late.total is None and plan.form and plan.where:
            one, other = (tuple((s.start, s.stop) for s in windows[x]) for x in plan.form.names)
            term = Term(plan.form, (one, other))
            groups.late[name] = Late(elements.stop, Sum((term,), self.multiply), plan.where)
            return
        node, floats = plan.node, plan.node.types[2].kind == "float"
        parts = {
            load.operand: self._part(load.operand, load.modes, windows[load.operand], floats)
            for load in adding.loads
        }
        if floats:
            node = replace(node, types=(node.types[2], node.types[2], node.types[2]))
        whole = product(node, parts).reshape(-1)
        held = groups.get(name, elements)
        added = whole[plan.places]
        if plan.outside is not None:
            added[plan.outside] = 0
        with np.errstate(over="ignore", invalid="ignore"):
            groups.put(name, elements, held + added[None])

    def multiply(
        self, term: Term, into: NDArray[Any] | None = None, once: frozenset[Any] = frozenset()
    ) -> NDArray[Any]:
        """Return the matrix of a term, in ``into`` where that is given.

        ``once`` are the matrices, as `matrices_of` names them, of which each element is asked for
        once.
        """
        form, types = term.form, term.form.types
        floats, sides = types[2].kind == "float", list[NDArray[Any]]()
        for i, key in enumerate(matrices_of(term)):
            window, modes = tuple(slice(*x) for x in term.boxes[i]), (form.rows[i], form.depth[i])
            if floats and key in once:
                numeric = self.kernel.operand(form.names[i]).value_type
                part = widened(np.ascontiguousarray(self.memory[form.names[i]][window]), numeric)
            else:
                part = self._part(form.names[i], modes, window, floats)
            sides.append(part.transpose(form.axes[i]).reshape(-1, part.shape[form.depth[i]]))
        kinds = (types[2], types[2], types[2]) if floats else types
        with np.errstate(over="ignore", invalid="ignore"):
            return multiplied_into(None, sides[0], sides[1], kinds, form.step, into)

    def _part(
        self, name: str, modes: tuple[int | None, ...], window: Window, floats: bool
    ) -> NDArray[Any]:
        """Return a window of an operand, of floats as they are multiplied."""
        array = self.memory[name]
        if not floats:
            return array[window]
        # Of a batch or of experts, matrix by matrix: some may never be asked for.
        chosen = tuple(slice(None) if mode in modes else one for mode, one in enumerate(window))
        key = name, tuple(one.start for one in chosen)
        if key not in self._wide:
            if sum(kept.size for kept in self._wide.values()) > ROOM:
                self._wide.clear()
            numeric = self.kernel.operand(name).value_type
            self._wide[key] = widened(np.ascontiguousarray(array[chosen]), numeric)
        inside = (w if mode in modes else slice(None) for mode, w in enumerate(window))
        return self._wide[key][tuple(inside)]


def _adding(kernel: Kernel, loop: Loop) -> _Adding | None:
    """Return a loop that only adds a product, None for another one."""
    own = [s for s in loop.body if not isinstance(s, (BarrierArrive, BarrierWait, Prefetch, If))]
    if any(not isinstance(s, Prefetch) for x in loop.body if isinstance(x, If) for s in x.body):
        return None
    loads = tuple(s for s in own if isinstance(s, Load))
    products = [s for s in own if isinstance(s, Mma)]
    if len(products) != 1 or any(not isinstance(s, (Load, Reorder, Mma)) for s in own):
        return None
    accumulator = products[0].accumulator
    written = {name for s in walk(kernel.body) for name in s.touched.to_memory}
    names = [load.operand for load in loads]
    others = {n for s in own for n in (*s.touched.reads, *s.touched.writes)}
    if (
        len(set(names)) != len(names)
        or written & set(names)
        or accumulator in others
        or kernel.fragment(accumulator).value_type.bits < 32
        or own[-1] is not products[0]
    ):
        return None
    return _Adding(loop, loads, tuple(own), accumulator, {})


def _window(groups: Groups, adding: _Adding, load: Load, first: int, last: int) -> Window | None:
    """Return the part of an operand that all trips of a loop load; None where trips differ."""
    out: list[slice] = []
    shape = groups.memory[load.operand].shape
    for mode, index in enumerate(load.at):
        begin, step = _start(groups, adding, index, first)
        reach = load.copy.tiler_mn[load.modes.index(mode)] if mode in load.modes else 1
        if begin is None or begin < 0 or step not in (0, reach):
            return None
        if mode not in load.modes and begin >= shape[mode]:
            return None  # refused by who does the statements one by one
        out.append(slice(begin, min(begin + reach + step * (last - first - 1), shape[mode])))
    return tuple(out)


def _start(groups: Groups, adding: _Adding, index: Index, first: int) -> tuple[int | None, int]:
    """Return an index in the first trip and how much a trip adds; None where trips differ."""
    if id(index) not in adding.steps:
        var = adding.loop.var
        step = dict(index.terms).get(var, 0)
        rest = index - Index(var) * step
        mixed = var in rest.names or "subgroup" in rest.names
        adding.steps[id(index)] = index, None if mixed else rest, step
        if groups.ahead is not None:
            groups.ahead.ask(rest)
    _, rest, step = adding.steps[id(index)]
    if rest is None:
        return None, 0
    return int(np.asarray(groups.number(rest)).reshape(-1)[0]) + step * first, step


@lru_cache(maxsize=512)
def _planned(
    kernel: Kernel, loop: Loop, shapes: tuple[tuple[str, tuple[int, ...]], ...], trips: int
) -> _Planned | None:
    """Plan a loop on operands that are the windows alone."""
    adding = _adding(kernel, loop)
    if adding is None:
        return None
    operands = tuple(_cut(kernel.operand(name), shape) for name, shape in shapes)
    moves = tuple(_moved(s, loop) if isinstance(s, Load) else s for s in adding.moves)
    body = (Fill(adding.accumulator), Loop(loop.var, Index(), Index(None, trips), moves))
    alone = Kernel("window", kernel.subgroups, operands, kernel.fragments, (), body)
    held = _field(alone, adding.accumulator)
    if held is None or isinstance(held, Constant) or not isinstance(held.node, Product):
        return None
    places = np.zeros(held.axes[0].places.shape, np.int64)
    outside = np.zeros(places.shape, np.bool_)
    for axis in held.axes:
        at = axis.corner[0] + axis.places
        outside |= (at < 0) | (at >= axis.extent)
        places = places * axis.extent + at
    some = outside if outside.any() else None
    wide = [axis for axis in held.axes if axis.places.any()]
    rest = [axis for axis in held.axes if not axis.places.any()]
    where = None
    if len(wide) == 2 and all(axis.extent == 1 for axis in rest):
        where = Where(wide[0].places, wide[1].places)
    modes = {load.operand: load.modes for load in adding.loads}
    form = form_of(held.node, modes, dict(shapes)) if where is not None else None
    return _Planned(held.node, np.where(outside, 0, places), some, form, where)


def _field(kernel: Kernel, fragment: str) -> Field | Constant | None:
    """Return what a fragment holds behind one work-group, whose operands have integer extents."""
    planner = Planner(kernel, {}, np.zeros((1, 0), np.int64))
    with suppress(NotWhole, KernelError, MachineError):
        planner.do(kernel.body)
        return planner.held.get(fragment)
    return None


def _cut(operand: Operand, shape: tuple[int, ...]) -> Operand:
    modes = tuple(Index(None, extent) for extent in shape)
    return Operand(operand.name, operand.value_type, modes, operand.contiguous)


def _moved(load: Load, loop: Loop) -> Load:
    """Return a load whose tile begins at the window's first element."""
    at: list[Any] = [Index(loop.var) * dict(i.terms).get(loop.var, 0) for i in load.at]
    return replace(load, at=tuple(at))
