"""Floor 9: elementwise statements on tiles."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.tiled.axes import Axes, Held, NotTiled, laid
from pycute_xe.executing.tiled.block import Block
from pycute_xe.executing.tiled.expressions import Leaves, as_held, evaluated
from pycute_xe.holding.tables import moved
from pycute_xe.kernel import Index, Map
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX
from pycute_xe.kernel.spec.expression import Slot, leaves

__all__ = ["mapped"]

Array: TypeAlias = NDArray[Any]


def mapped(block: Block, statement: Map) -> Held:
    """Return what a statement computes; all elements that it reads must be known."""
    kernel = block.kernel
    destination = kernel.fragment(statement.destination)
    names = statement.sources
    sources = [block.get(name) for name in names]
    axes, orders, last = block.kept.of(
        _lying, statement, destination.elements, *(x.axes for x in sources)
    )

    def slot(name: str) -> tuple[Any, bool]:
        held, order = sources[names.index(name)], orders[names.index(name)]
        if order is None:
            return held.values, False
        return order.view(held.values), held.own and name == last

    def below(index: Index, limit: Index) -> Any:
        return _below(block, index, limit, axes, destination.elements)

    leaf = Leaves(slot, lambda name: block.memory.inputs[name], below)
    with np.errstate(all="ignore"):
        values, own = as_held(*evaluated(statement.value, leaf), destination.value_type)
    if axes is None and np.ndim(values):
        raise NotTiled
    if not own and np.ndim(values):
        for held in sources:
            held.own = held.own and held.values is not values and not _over(held.values, values)
    return Held(values, axes, own)


def _over(one: Any, other: Any) -> bool:
    return bool(np.ndim(one)) and np.may_share_memory(one, other)


def _lying(statement: Map, elements: int, *held: Axes | None) -> tuple[Axes | None, list[Any], str]:
    """Return the axes of the result, how each source lies along them, and which is used up."""
    slots = [x.fragment for x in leaves(statement.value) if isinstance(x, Slot)]
    last = statement.destination if slots.count(statement.destination) == 1 else ""
    gathers = dict(statement.gathers)
    taken: list[Axes | None] = []
    for name, axes in zip(statement.sources, held, strict=True):
        by = gathers.get(name)
        if axes is not None and by is not None:
            axes = axes.take(moved(by)[:elements])
        taken.append(None if axes is None else axes.first(elements))
    some = [axes for axes in taken if axes is not None]
    if not some:
        return None, [None for _ in taken], ""
    widest = max(some, key=lambda x: [len(x.axes), *(a.extent for a in x.axes)])
    last = "" if last in gathers else last
    return widest, [None if axes is None else laid(axes, widest) for axes in taken], last


def _below(block: Block, index: Index, limit: Index, axes: Axes | None, elements: int) -> Any:
    """Tell for which elements of a tile an index is below another."""
    own, shared = block.kept.of(_parted, index, limit)
    numbers = block.kept.of(_numbers, own, elements)
    names = {name: x[..., None] if np.ndim(x) else x for name, x in block.names.items()}
    names[SUBGROUP_INDEX] = np.arange(block.kernel.subgroups)
    bound = -np.asarray(shared.at(names, block.memory.look_up))
    if numbers.max() < bound.min():
        return True
    if numbers.min() >= bound.max():
        return False
    holders = None if axes is None else block.kept.of(Axes.holders, axes)
    if axes is None or holders is None:
        raise NotTiled
    along = block.kept.of(_along, axes, numbers, holders)
    if bound.ndim == 0 or bound.shape[-1] == 1:
        return along < bound.reshape(bound.shape[:-1] + (1,) * len(axes.axes))
    return along < bound[..., holders // elements]


def _parted(index: Index, limit: Index) -> tuple[Index, Index]:
    """Split what must be below zero into what depends on the element, and the rest."""
    difference = index - limit
    own, shared = Index(), Index(None, difference.offset)
    for atom, scale in difference.terms:
        part = Index.of({atom: scale}, 0)
        if part.names == frozenset((ELEMENT_INDEX,)):
            own = own + part
        elif ELEMENT_INDEX in part.names:
            raise NotTiled
        else:
            shared = shared + part
    return own, shared


def _numbers(own: Index, elements: int) -> Array:
    names: Any = {ELEMENT_INDEX: np.arange(elements)}
    return np.broadcast_to(np.asarray(own.at(names)), (elements,))


def _along(axes: Axes, numbers: Array, holders: Array) -> Array:
    """Return numbers of register elements along a tile, thin where they are alike."""
    out = numbers[holders % numbers.size]
    for i in range(len(axes.axes)):
        first = out.take([0], axis=i)
        if (out == first).all():
            out = first
    return out
