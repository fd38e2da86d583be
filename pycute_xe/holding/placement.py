"""Floor 8: where the register elements of a copy belong in its operand, as tables."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.holding.follower import Around
from pycute_xe.holding.tables import by_subgroup, copied
from pycute_xe.kernel import AtomicStore, Index, Kernel, Load, Prefetch, Store
from pycute_xe.kernel.ir.roles import doing

__all__ = ["FAR", "placed"]

Ints: TypeAlias = NDArray[np.int64]

FAR = -(1 << 40)
"""A place outside every operand: what a load pads with is zero, as what lies outside is."""


def placed(
    kernel: Kernel,
    statement: Prefetch | Load | Store | AtomicStore,
    around: tuple[Around, ...] = (),
) -> tuple[tuple[Index, ...], Ints, NDArray[np.bool_]]:
    """Return where a copy's register elements belong: index, table, and which of them move.

    The table is (subgroup, element, mode of the operand). Subgroups that conditions around the
    statement leave out touch nothing.
    """
    operand = kernel.operand(statement.operand)
    tables = copied(statement.copy)
    subgroups, elements, _ = tables.places.shape
    out = np.zeros((subgroups, elements, len(operand.modes)), dtype=np.int64)
    outside = np.broadcast_to(tables.padded, (subgroups, elements)).copy()
    for axis, mode in enumerate(statement.modes):
        if mode is None:
            outside |= tables.places[..., axis] != 0
        else:
            out[..., mode] += tables.places[..., axis]
    base: list[Index] = []
    for mode, index in enumerate(statement.at):
        rest, own = by_subgroup(index, subgroups)
        out[..., mode] += own[:, None]
        base.append(rest)
    outside[~np.array(doing(around, subgroups))] = True
    out[outside] = FAR
    return tuple(base), out, tables.moves
