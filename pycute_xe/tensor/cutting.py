"""Floor 4: tiles of a tensor, and the parts of it that belong to threads."""

from __future__ import annotations

from typing import Any

from pycute_xe.algebra import zipped_divide
from pycute_xe.errors import CoordError, RankError
from pycute_xe.int_tuple import crd2idx, idx2crd, product_each
from pycute_xe.layout import Layout, make_layout
from pycute_xe.signatures import typed
from pycute_xe.tensor.core import Tensor
from pycute_xe.typing import Coord, Tiler, is_tuple

__all__ = ["local_partition", "local_tile"]


@typed
def local_tile(tensor: Tensor, tiler: Tiler, coord: Coord, proj: Coord = None) -> Tensor:
    """Return the tile of a tensor at a tile coordinate.

    Law: with all coordinates given the result has the tiler's shape; a ``None`` in ``coord`` keeps
    that rest mode, behind the tile modes. ``proj`` drops the entries of tiler and coordinate where
    it holds ``"X"``. A tiler that is not a tuple cuts the whole tensor, seen as one mode.
    Raises `RankError` where ``proj`` has other modes than tiler and coordinate, and as
    `zipped_divide` does. C++: ``local_tile``.

    >>> from pycute_xe.tensor import make_identity_tensor
    >>> print(local_tile(make_identity_tensor((8, 16)), (4, 8), (1, 1)))
    (4,8) o (4,8):(1@0,1@1)
    """
    if proj is not None:
        tiler, coord = _projected("local_tile", proj, tiler, coord)
    tile, rest = zipped_divide(tensor.beneath, tiler)
    divided = tensor.rearranged(make_layout(tile, rest))
    if is_tuple(coord):
        coord = coord + (None,) * (len(rest) - len(coord))
    return divided((None,) * len(tile) if is_tuple(tile.shape) else None, coord)


@typed
def local_partition(tensor: Tensor, threads: Layout, index: int, proj: Coord = None) -> Tensor:
    """Return the elements of a tensor that belong to one thread of a thread layout.

    Law: the partitions of all threads cover the tensor once. ``index`` is one of the thread
    layout's offsets, and ``proj`` drops modes as in `local_tile`. Raises `CoordError` for another
    index, `RankError` when the thread layout has more modes than the tensor or others than
    ``proj``. C++: ``local_partition``.

    >>> from pycute_xe.tensor import make_identity_tensor
    >>> print(local_partition(make_identity_tensor((8, 8)), Layout((4, 2)), 5))
    (1,1) o (2,4):(4@0,2@1)
    """
    tiler: tuple[Any, ...] = product_each(threads.shape)
    flat = tuple(_thread_coord(threads, index))
    if proj is not None:
        tiler, flat = _projected("local_partition", proj, tiler, flat)
    if len(tiler) > len(tensor):
        raise RankError(
            "local_partition",
            {"tensor": tensor, "threads": threads},
            f"{len(tiler)} thread modes for {len(tensor)} tensor modes",
            "leave modes out with proj",
        )
    tile, rest = zipped_divide(tensor.beneath, tiler)
    return tensor.rearranged(make_layout(tile, rest))(flat, (None,) * len(rest))


def _thread_coord(threads: Layout, index: int) -> list[Any]:
    """Return a thread's coordinate, that inside each mode folded into one integer."""
    coord: Any = idx2crd(index, threads.shape, threads.stride)
    if crd2idx(coord, threads.shape, threads.stride) != index:
        raise CoordError(
            "local_partition",
            {"threads": threads, "index": index},
            f"no thread has the index {index}",
            "use an offset of the thread layout",
        )
    if not is_tuple(threads.shape):
        return [coord]
    return [crd2idx(c, s) for c, s in zip(coord, threads.shape, strict=True)]


def _projected(operation: str, proj: Coord, tiler: Tiler, coord: Coord) -> tuple[Any, Any]:
    """Return the entries of tiler and coordinate where ``proj`` does not hold ``"X"``."""
    for name, entries in (("tiler", tiler), ("coord", coord)):
        if not is_tuple(proj) or not is_tuple(entries) or len(entries) != len(proj):
            raise RankError(
                operation,
                {"proj": proj, name: entries},
                f"proj and {name} differ in their modes",
                'give proj one entry for each mode, "X" for those to leave out',
            )
    keep = [i for i, entry in enumerate(proj) if entry != "X"]
    return tuple(tiler[i] for i in keep), tuple(coord[i] for i in keep)
