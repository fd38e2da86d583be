"""Floor 4: a tensor, something that can be indexed seen through a layout.

A tensor without data is a counting tensor: its values are the offsets, or the coordinates, of its
layout. The identity tensor is the one whose value at a coordinate is the coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycute_xe.algebra import composition, zipped_divide
from pycute_xe.errors import RankError
from pycute_xe.int_tuple import crd2idx, idx2crd, product_each
from pycute_xe.layout import Layout, make_identity_layout, make_layout, slice_and_offset
from pycute_xe.typing import Coord, Shape, Stride, Tiler, is_tuple

__all__ = ["Tensor", "local_partition", "local_tile", "make_identity_tensor", "make_tensor"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Data (or ``None`` to count), the offset it starts at, and a layout.

    Law: ``t(c) == t.data[t.base + t.layout(c)]``; a counting tensor gives the sum itself. A
    coordinate that holds ``None`` gives a sub-tensor. C++: ``cute::Tensor``.

    >>> t = make_tensor(None, Layout((4, 8), (8, 1)))
    >>> t(1, 2), t(1, None)(2)
    (10, 10)
    """

    data: Any
    base: Any
    layout: Layout

    @property
    def shape(self) -> Shape:
        """The shape of the layout."""
        return self.layout.shape

    @property
    def stride(self) -> Stride:
        """The strides of the layout."""
        return self.layout.stride

    def __len__(self) -> int:
        """The rank of the layout."""
        return len(self.layout)

    def __call__(self, *coord: Coord) -> Any:
        """Return the value at a coordinate, or a sub-tensor where it holds ``None``."""
        crd: Coord = coord[0] if len(coord) == 1 else coord
        if crd is None:
            return self
        layout, offset = slice_and_offset(crd, self.layout)
        place = self.base + offset
        if layout.shape != ():
            return Tensor(self.data, place, layout)
        return place if self.data is None else self.data[place]

    def compose(self, *tilers: Tiler) -> Tensor:
        """Return the tensor read through a layout or a tiler. C++: ``Tensor::compose``."""
        tiler = tilers[0] if len(tilers) == 1 else tilers
        return Tensor(self.data, self.base, composition(self.layout, tiler))

    def __str__(self) -> str:
        """The base and the layout, as CuTe prints a tensor."""
        where = f"({','.join(map(str, self.base))})" if is_tuple(self.base) else self.base
        return f"{where} o {self.layout}"


def make_tensor(data: Any, layout: Layout | Shape, stride: Stride = None) -> Tensor:
    """Return a tensor of data seen through a layout (or a shape and strides).

    ``data`` is anything with ``[]`` over integer offsets, or ``None`` to count.
    C++: ``make_tensor``.

    >>> make_tensor("abcdef", Layout((2, 3)))(1, 2)
    'f'
    """
    whole = layout if isinstance(layout, Layout) else Layout(layout, stride)
    return Tensor(data, whole(0), whole)


def make_identity_tensor(shape: Shape) -> Tensor:
    """Return the tensor whose value at a coordinate is that coordinate.

    C++: ``make_identity_tensor``.

    >>> make_identity_tensor((4, 8))(1, 2)
    ArithTuple((1, 2))
    """
    return make_tensor(None, make_identity_layout(shape))


def local_tile(tensor: Tensor, tiler: Tiler, coord: Coord, proj: Coord = None) -> Tensor:
    """Return the tile of a tensor at a tile coordinate.

    Law: with all coordinates given the result has the tiler's shape; a ``None`` in ``coord`` keeps
    that rest mode, behind the tile modes. ``proj`` drops the entries of tiler and coordinate where
    it holds ``"X"``. A tiler that is no tuple cuts the whole tensor, seen as one mode.
    Raises as `zipped_divide` does. C++: ``local_tile``.

    >>> print(local_tile(make_identity_tensor((8, 16)), (4, 8), (1, 1)))
    (4,8) o (4,8):(1@0,1@1)
    """
    if proj is not None:
        keep = [i for i, entry in enumerate(proj) if entry != "X"]
        tiler, coord = tuple(tiler[i] for i in keep), tuple(coord[i] for i in keep)
    tile, rest = zipped_divide(tensor.layout, tiler)
    divided = Tensor(tensor.data, tensor.base, make_layout(tile, rest))
    if is_tuple(coord):
        coord = coord + (None,) * (len(rest) - len(coord))
    return divided((None,) * len(tile) if is_tuple(tile.shape) else None, coord)


def local_partition(tensor: Tensor, threads: Layout, index: int, proj: Coord = None) -> Tensor:
    """Return the elements of a tensor that belong to one thread of a thread layout.

    Law: the partitions of all threads cover the tensor once. Raises `RankError` when the thread
    layout has more modes than the tensor. C++: ``local_partition``.

    >>> print(local_partition(make_identity_tensor((8, 8)), Layout((4, 2)), 5))
    (1,1) o (2,4):(4@0,2@1)
    """
    coord: Any = idx2crd(index, threads.shape, threads.stride)
    tiler: tuple[Any, ...] = product_each(threads.shape)
    flat = tuple(_flat_coord(coord, threads))
    if proj is not None:
        keep = [i for i, entry in enumerate(proj) if entry != "X"]
        tiler, flat = tuple(tiler[i] for i in keep), tuple(flat[i] for i in keep)
    if len(tiler) > len(tensor):
        raise RankError(
            "local_partition",
            {"tensor": tensor, "threads": threads},
            f"{len(tiler)} thread modes for {len(tensor)} tensor modes",
            "leave modes out with proj",
        )
    tile, rest = zipped_divide(tensor.layout, tiler)
    divided = Tensor(tensor.data, tensor.base, make_layout(tile, rest))
    return divided(flat, (None,) * len(rest))


def _flat_coord(coord: Coord, threads: Layout) -> list[Any]:
    """Fold the coordinate inside each mode of the thread layout into one integer."""
    if not is_tuple(threads.shape):
        return [coord]
    return [crd2idx(c, s) for c, s in zip(coord, threads.shape, strict=True)]
