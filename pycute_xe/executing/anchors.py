"""Floor 9: where each message of a tiled copy starts, in the message's own units."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pycute_xe.atom import TiledCopy
from pycute_xe.bulk import table
from pycute_xe.errors import MachineError

__all__ = ["anchors", "column_of"]


@lru_cache(maxsize=256)
def anchors(copy: TiledCopy) -> NDArray[np.int64]:
    """Return the tile coordinate of each message's first value: (subgroups, messages, modes)."""
    flat = np.atleast_2d(table(copy.anchors))
    if flat.shape[0] == 1 and flat.shape[1] == copy.num_subgroups * copy.messages:
        flat = flat.T
    rank = len(copy.tiler_mn)
    padded = np.zeros((copy.num_subgroups * copy.messages, rank), dtype=np.int64)
    padded[:, : flat.shape[1]] = flat
    # The table runs subgroups first.
    return padded.reshape(copy.messages, copy.num_subgroups, rank).transpose(1, 0, 2)


def column_of(copy: TiledCopy, x: int) -> int:
    """Return a column counted in values as the message counts it.

    Raises `MachineError` when the column falls between two elements of the message.
    """
    column, rest = divmod(x * copy.value_type.bits, copy.op.bits)
    if rest:
        raise MachineError(
            "copy",
            {"op": copy.op, "x": x},
            f"x is not a multiple of the message's {copy.op.bits}-bit elements",
            "align the blocks",
        )
    return column
