"""Floor 9: where the messages of a tiled copy start, as indices with the subgroup in them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra.simplify import flat_modes
from pycute_xe.atom import TiledCopy
from pycute_xe.atom.reordering import layout_of
from pycute_xe.emitting.indices import divided
from pycute_xe.emitting.instructions import Message, Region2D
from pycute_xe.emitting.registers import Registers
from pycute_xe.errors import KernelError
from pycute_xe.holding.tables import anchors
from pycute_xe.kernel import AtomicStore, Kernel, Load, Prefetch, Store
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.layout import size

__all__ = ["digits", "messages"]

Copying = Prefetch | Load | Store | AtomicStore


def messages(kernel: Kernel, registers: Registers, statement: Copying) -> Iterator[Message]:
    """Yield the messages of a tiled copy in their order.

    Raises `KernelError` where a message starts inside one of its elements, and where no sum of a
    subgroup's part and a message's part says where it starts.
    """
    copy, modes = statement.copy, statement.modes
    operand = kernel.operand(statement.operand)
    step = copy.atom.values * 16 * copy.value_type.bits // 8
    shared, own = _parts(copy)
    y_mode = modes[copy.y_mode]
    for j, offsets in enumerate(own):
        at = list(statement.at)
        y = Index()
        for axis, mode in enumerate(modes):
            moved = shared[axis] + offsets[axis]
            if mode is not None:
                at[mode] += moved
            elif axis == copy.y_mode:
                y = moved
        x = divided(at[operand.contiguous], copy.value_type.bits, copy.op.bits)
        register = ""
        if not isinstance(statement, Prefetch):
            register = registers.view(statement.fragment, "ud", j * step)
        surface = Region2D(operand.name, y_mode, tuple(at))
        yield Message(copy.op.message, register, surface, x, y if y_mode is None else at[y_mode])


def _parts(copy: TiledCopy) -> tuple[list[Index], list[list[int]]]:
    """Return where a subgroup's messages start, for each axis, and what each message adds."""
    found = anchors(copy)
    base, own = found[:, 0], found[0] - found[0, 0]
    if not np.array_equal(found, base[:, None] + own[None]):
        raise KernelError(
            "emit",
            {"copy": copy},
            "the messages of its subgroups do not start at the same places of their tiles",
            "use a copy whose subgroups take like blocks",
        )
    return [
        digits(base[:, axis], SUBGROUP_INDEX, copy) for axis in range(base.shape[1])
    ], own.tolist()


def digits(values: NDArray[np.int64], name: str, what: object) -> Index:
    """Return an index of a number's digits that has these values as the number goes from 0 on.

    Raises `KernelError` naming ``what`` where no layout has these values.

    >>> print(digits(np.array([0, 8, 1, 9]), "lane", "an example"))
    8*lane-15*(lane/2)
    """
    first = int(values[0])
    layout = layout_of(tuple(int(v) - first for v in values))
    if layout is None:
        raise KernelError(
            "emit",
            {"copy": what},
            f"no layout says where it starts for each {name.removeprefix('xe_')}",
            "use a tiling that CuTe's layouts can say",
        )
    out, below, total = Index(None, first), 1, size(layout)
    for extent, step in flat_modes(layout):
        digit = Index(name) // below
        if below * extent < total:
            digit = digit % extent
        out, below = out + digit * step, below * extent
    return out
