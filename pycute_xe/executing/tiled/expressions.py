"""Floor 9: what an elementwise statement computes of tiles: in float32, step by step, in place.

The same steps as `pycute_xe.executing.elementwise` takes; arrays that nothing else looks at are
written over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert
from pycute_xe.executing.numbers import widened
from pycute_xe.executing.tiled.axes import NotTiled
from pycute_xe.kernel import Index
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    Where,
)
from pycute_xe.kernel.spec.functions import function
from pycute_xe.numeric import Numeric

__all__ = ["Leaves", "as_held", "evaluated"]

Array: TypeAlias = NDArray[Any]
Owned: TypeAlias = "tuple[Any, bool]"


@dataclass(frozen=True)
class Leaves:
    """Where leaves come from: an array and whether it may be written over.

    ``below`` is True or False where that is so of all elements.
    """

    slot: Callable[[str], Owned]
    scalar: Callable[[str], Array]
    below: Callable[[Index, Index], Any]


def evaluated(value: Expression, leaves: Leaves) -> Owned:
    """Return the value of an expression in float32, and whether nothing else looks at it."""
    if isinstance(value, Const):
        return np.float32(value.value), False
    if isinstance(value, Slot):
        return leaves.slot(value.fragment)
    if isinstance(value, Element) and not value.at:
        return np.float32(leaves.scalar(value.operand)), False
    if isinstance(value, Apply):
        return _applied(value, leaves)
    if isinstance(value, Rounded):
        return as_held(*evaluated(value.body, leaves), value.to)
    if isinstance(value, Where):
        return _chosen(value, leaves)
    raise NotTiled


def as_held(array: Any, own: bool, to: Numeric) -> Owned:
    """Return float32 rounded to a type of floats, as numbers."""
    if to.name == "f32":
        return array, own
    narrow = convert(array, to)
    if to.name == "bf16" and own and array.flags.c_contiguous:
        bits = array.view(np.uint32)
        np.left_shift(narrow.view(np.uint16), 16, out=bits, dtype=np.uint32)
        return array, True
    return widened(narrow, to), True


def _applied(value: Apply, leaves: Leaves) -> Owned:
    found = [evaluated(argument, leaves) for argument in value.arguments]
    arrays = [array for array, _ in found]
    row = function(value.function, len(arrays))
    if not row.ufunc:
        out = row.meaning(np, *arrays)
        return np.asarray(out).astype(np.float32, copy=False), True
    step: np.ufunc = getattr(np, row.ufunc)
    if np.size(arrays[0]) < np.size(arrays[-1]):
        found = found[::-1]
    room = next(
        (array for array, own in found if own and np.ndim(array) and _holds(array, arrays)), None
    )
    if room is None:
        return step(*arrays), True
    return step(*arrays, out=room), True


def _holds(room: Array, arrays: list[Any]) -> bool:
    """Whether what is computed of arrays has the shape of one of them."""
    shapes = [np.shape(array) for array in arrays]
    return all(not s or s == room.shape for s in shapes) or (
        room.shape == np.broadcast_shapes(*shapes)
    )


def _chosen(value: Where, leaves: Leaves) -> Owned:
    where = leaves.below(value.index, value.below)
    if where is True or where is False:
        return evaluated(value.then if where else value.otherwise, leaves)
    one, own = evaluated(value.then, leaves)
    other, _ = evaluated(value.otherwise, leaves)
    if own and np.ndim(other) == 0 and one.shape == np.broadcast_shapes(one.shape, where.shape):
        np.copyto(one, other, where=~where)
        return one, True
    masks, first, second = (np.asarray(x) for x in (where, one, other))
    return np.where(masks, first, second), True
