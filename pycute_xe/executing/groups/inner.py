"""Floor 9: loads of tiles that lie inside their operand: one flat table of places, no masks."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.executing.groups.registers import Copying, Groups
from pycute_xe.holding.tables import copied, demand_whole_registers
from pycute_xe.kernel import Prefetch

__all__ = ["inner_places"]

Ints: TypeAlias = NDArray[np.int64]


def inner_places(groups: Groups, statement: Copying) -> tuple[Ints, Ints] | None:
    """Return the register elements of a copy, and where each lies in its operand counted flat.

    The places broadcast to (work-groups, subgroups, elements): what all subgroups load alike is
    there once. None where a tile of a work-group is not whole inside the operand, which
    `Groups.places` then tells apart element by element.
    """
    copy, array = statement.copy, groups.memory[statement.operand]
    tables = copied(copy)
    elements = np.flatnonzero(tables.moves)
    ratio = copy.op.bits // copy.value_type.bits
    if None in statement.modes or tables.padded[elements].any() or not array.flags.c_contiguous:
        return None
    flat: Ints = np.zeros((1, 1, elements.size), dtype=np.int64)
    for mode, index in enumerate(statement.at):
        corner = np.asarray(groups.number(index))
        corner = corner.reshape((1,) * (2 - corner.ndim) + corner.shape)
        ahead: Ints = np.zeros((1, 1), dtype=np.int64)
        if mode in statement.modes:
            axis = statement.modes.index(mode)
            ahead = tables.places[:, elements, axis]
            if axis == copy.x_mode and ratio > 1 and (corner % ratio).any():
                return None
        low, high = corner + ahead.min(axis=1), corner + ahead.max(axis=1)
        if low.min() < 0 or high.max() >= array.shape[mode]:
            return None
        if (ahead == ahead[:1]).all():
            ahead = ahead[:1]
        step = array.strides[mode] // array.itemsize
        flat = flat + (corner[:, :, None] + ahead[None]) * step
    if not isinstance(statement, Prefetch) and groups.anyone():
        demand_whole_registers(copy)
    return elements, flat
