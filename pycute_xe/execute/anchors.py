"""Floor 9: where each message of a tiled copy starts, in the message's own units."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pycute_xe.atom import TiledCopy
from pycute_xe.bulk import table
from pycute_xe.errors import MachineError

__all__ = ["anchors", "place_of"]


@lru_cache(maxsize=256)
def anchors(copy: TiledCopy) -> NDArray[np.int64]:
    """Return the tile coordinate of each message's first value: shape (subgroups, messages, 2)."""
    flat = np.atleast_2d(table(copy.anchors))
    if flat.shape[0] == 1 and flat.shape[1] == copy.num_subgroups * copy.messages:
        flat = flat.T
    padded = np.zeros((copy.num_subgroups * copy.messages, 2), dtype=np.int64)
    padded[:, : flat.shape[1]] = flat
    # The table runs subgroups first.
    return padded.reshape(copy.messages, copy.num_subgroups, 2).transpose(1, 0, 2)


def place_of(copy: TiledCopy, coord: NDArray[np.int64]) -> tuple[int, int]:
    """Return the (x in message elements, y in rows) of a coordinate in values.

    Raises `MachineError` when the coordinate falls between two elements of the message.
    """
    x, rest = divmod(int(coord[copy.x_mode]) * copy.value_type.bits, copy.op.bits)
    if rest:
        raise MachineError(
            "copy",
            {"op": copy.op, "x": int(coord[copy.x_mode])},
            f"x is no multiple of the message's {copy.op.bits}-bit elements",
            "align the blocks",
        )
    return x, int(coord[copy.y_mode])
