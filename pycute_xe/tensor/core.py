"""A tensor, something that can be indexed seen through a layout.

A tensor without data is a counting tensor: its values are the offsets, or the coordinates, of its
layout. The identity tensor is the one whose value at a coordinate is the coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, cast

from pycute_xe.algebra import composition, recast_layout, zipped_divide
from pycute_xe.algebra.swizzled import cosize
from pycute_xe.bulk import numpy_dtype
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import (
    CoordError,
    DivisibilityError,
    DTypeError,
    RankError,
    ShapeError,
    plural,
    quoted,
)
from pycute_xe.f2 import F2Layout
from pycute_xe.int_tuple import crd2idx, idx2crd, leaves, product, product_each
from pycute_xe.layout import Layout, make_identity_layout, make_layout, slice_and_offset
from pycute_xe.layout.core import has_none
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import shortly, typed, typed_fields
from pycute_xe.typing import Coord, Shape, Stride, Tiler, glance, is_tuple, shown

__all__ = [
    "Tensor",
    "domain_offset",
    "make_identity_tensor",
    "make_tensor",
    "local_partition",
    "local_tile",
    "recast",
]

MOST_OWNED = 1 << 24
"""Elements that a tensor without data owns."""

AnyLayout: TypeAlias = Layout | ComposedLayout | F2Layout


def _without_slices(index: Any) -> Any:
    """Return an index with ``None`` for each ``:``."""
    if is_tuple(index):
        return tuple(map(_without_slices, index))
    if not isinstance(index, slice):
        return index
    if index != slice(None):
        raise CoordError(
            "Tensor",
            {"index": quoted(cast("object", index))},
            "a slice with an end or a step is not a mode",
            "keep the mode with : or None, and take a part with compose",
        )
    return None


@typed_fields
@dataclass(frozen=True, slots=True)
class Tensor:
    """Data (or ``None`` to count), the offset it starts at, and a layout.

    Law: ``t(c) == t.data[t.base + t.layout(c)]``; a counting tensor gives the sum itself. A
    coordinate that holds ``None`` gives a sub-tensor. The layout may be swizzled: then the offset
    of a sub-tensor stays beneath the swizzle and the base stays. XOR strides index and slice, but
    do not tile: that raises `ShapeError`. C++: ``cute::Tensor``.

    >>> t = make_tensor(None, Layout((4, 8), (8, 1)))
    >>> t(1, 2), t(1, None)(2)
    (10, 10)
    """

    data: Any
    base: Any
    layout: AnyLayout

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The kind and the first line of the text."""
        return glance(self)

    @property
    def shape(self) -> Shape:
        """The shape of the layout."""
        return self.layout.shape

    @property
    def stride(self) -> Stride:
        """The strides of the layout."""
        return self.layout.stride

    def __eq__(self, other: object) -> bool:
        """Whether data, base and layout are the same; arrays are where they are the same array."""
        if not isinstance(other, Tensor):
            return NotImplemented
        same = self.data is other.data
        if not same and not hasattr(self.data, "__array__"):
            same = not hasattr(other.data, "__array__") and bool(self.data == other.data)
        return same and (self.base, self.layout) == (other.base, other.layout)

    def __len__(self) -> int:
        """The rank of the layout."""
        return len(self.layout)

    @typed
    def __getitem__(self, index: Any) -> Any:
        """Return what a call with the same coordinate does; ``:`` keeps a mode, as ``None`` does.

        Raises `CoordError` for a slice with an end or a step.

        >>> t = make_tensor(None, Layout((4, 8), (8, 1)))
        >>> t[1, 2], t[1, :](2), t[1, None](2)
        (10, 10, 10)
        """
        coord = _without_slices(index)
        return self(*coord) if is_tuple(coord) else self(coord)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write the element at a coordinate into the data.

        Raises `CoordError` for a coordinate that keeps a mode, for a tensor without data and for an
        offset past the end.

        >>> data = [0] * 8
        >>> make_tensor(data, Layout((4, 2)))[1, 1] = 7
        >>> data
        [0, 0, 0, 0, 0, 7, 0, 0]
        """
        place = Tensor(None, self.base, self.layout)[index]
        if self.data is None or isinstance(place, Tensor):
            wrong = "the tensor has no data" if self.data is None else "a mode is kept"
            fix = "give an element's coordinate, and data that can be written"
            raise CoordError("Tensor", {"index": quoted(index)}, f"{wrong}: nothing to write", fix)
        try:
            self.data[place] = value
        except (IndexError, OverflowError) as error:
            raise self._beyond(index, place) from error

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: the length of a tensor is its rank, not that of an array. Raises `CoordError`."""
        raise CoordError(
            "Tensor",
            {"tensor": self},
            "a tensor is not an array",
            "tensor.data[table(tensor.layout)] has its elements",
        )

    def __iter__(self) -> Iterator[Any]:
        """Yield the elements, first mode fastest.

        >>> list(make_tensor("abcdef", Layout((2, 3), (3, 1))))
        ['a', 'd', 'b', 'e', 'c', 'f']
        """
        return (self(i) for i in range(product(self.shape)))

    @typed
    def __call__(self, *coord: Coord) -> Any:
        """Return the value at a coordinate, or a sub-tensor where it holds ``None``.

        Raises `CoordError` where the offset is past the end of the data.
        """
        crd: Coord = coord[0] if len(coord) == 1 else coord
        if crd is None:
            return self
        if isinstance(self.layout, Layout):
            part, offset = slice_and_offset(crd, self.layout)
        else:
            part, offset = self.layout.sliced(crd), 0
        place = self.base + offset
        if part.shape != ():
            return Tensor(self.data, place, part)
        if not isinstance(part, Layout):
            place = place + part(())
        if self.data is None:
            return place
        try:
            return self.data[place]
        except (IndexError, OverflowError) as error:
            raise self._beyond(crd, place) from error

    def _beyond(self, coord: Coord, place: Any) -> CoordError:
        """Return the refusal of an offset at which the data have no element."""
        extent = f", which has {len(self.data)} elements" if hasattr(self.data, "__len__") else ""
        wrong = f"offset {shortly(place)} is past the end of the data{extent}"
        fix = f"use a coordinate of shape {self.shape}, and data of cosize(layout) elements"
        if type(place) is not int:
            wrong = f"offset {quoted(place)} is {type(place).__name__}, not an integer"
            fix = "use integer strides and a coordinate of integers, or a tensor without data"
        return CoordError("Tensor", {"coord": coord, "layout": self.layout}, wrong, fix)

    @property
    def beneath(self) -> Layout:
        """The layout that tiles and partitions rearrange: beneath the swizzle, if there is one.

        Raises `ShapeError` for XOR strides.

        >>> from pycute_xe.swizzle import Swizzle
        >>> print(make_tensor(None, ComposedLayout(Swizzle(1, 1, 1), 0, Layout((4, 2)))).beneath)
        (4,2):(1,4)
        """
        if isinstance(self.layout, F2Layout):
            raise ShapeError(
                "Tensor",
                {"layout": self.layout},
                "a layout of XOR strides is not tiled",
                "tile the swizzled layout, and take as_f2 of the result",
            )
        return self.layout if isinstance(self.layout, Layout) else self.layout.layout

    @typed
    def rearranged(self, layout: Layout, offset: Any = 0) -> Tensor:
        """Return the tensor over another layout, ``offset`` further on, beneath the same swizzle.

        Law: ``t.rearranged(f(t.beneath), t.beneath(c))`` holds what ``f`` selects, seen from ``c``.

        >>> print(make_tensor(None, Layout((4, 8))).rearranged(Layout(2, 4), 1))
        1 o 2:4
        """
        if isinstance(self.layout, ComposedLayout):
            swizzle, start = self.layout.swizzle, self.layout.offset + offset
            return Tensor(self.data, self.base, ComposedLayout(swizzle, start, layout))
        return Tensor(self.data, self.base + offset, layout)

    @typed
    def compose(self, *tilers: Tiler) -> Tensor:
        """Return the tensor read through a layout or a tiler. C++: ``Tensor::compose``."""
        tiler = tilers[0] if len(tilers) == 1 else tilers
        return self.rearranged(composition(self.beneath, tiler))

    def __str__(self) -> str:
        """The base and the layout, as CuTe prints a tensor."""
        where = f"({','.join(map(str, self.base))})" if is_tuple(self.base) else self.base
        return f"{where} o {self.layout}"


@typed
def make_tensor(data: Any, layout: AnyLayout | Shape = None, stride: Stride = None) -> Tensor:
    """Return a tensor of data, or of its own zeros, seen through a layout (or shape and strides).

    ``data`` is anything with ``[]`` over integer offsets, or ``None`` to count. The layout may be
    swizzled or of XOR strides. A layout alone, plain or swizzled, owns a list of as many zeros as
    its `cosize`. Raises `ShapeError` where that is not a number. C++: ``make_tensor``.

    >>> make_tensor("abcdef", Layout((2, 3)))(1, 2)
    'f'
    >>> own = make_tensor(Layout((2, 2), (3, 1)))
    >>> own[1, 1] = 7
    >>> own.data
    [0, 0, 0, 0, 7]
    >>> from pycute_xe.swizzle import Swizzle
    >>> make_tensor("abcdefgh", ComposedLayout(Swizzle(1, 1, 1), 0, Layout((4, 2))))(0, 1)
    'g'
    """
    if layout is None:
        return _owning(data)
    if isinstance(data, AnyLayout) and not isinstance(layout, AnyLayout):
        wrong = "data is a layout, which is given second"
        raise ShapeError("make_tensor", {"data": data}, wrong, "write make_tensor(data, layout)")
    if isinstance(layout, (ComposedLayout, F2Layout)):
        return Tensor(data, 0, layout)
    whole = layout if isinstance(layout, Layout) else Layout(layout, stride)
    return Tensor(data, whole(0), whole)


def _owning(layout: Any) -> Tensor:
    """Return a tensor of zeros of its own."""
    if not isinstance(layout, (Layout, ComposedLayout)):
        wrong = "the layout is missing"
        raise ShapeError("make_tensor", {"data": quoted(layout)}, wrong, "give data and a layout")
    count = cosize(layout)
    plain = layout.layout if isinstance(layout, ComposedLayout) else layout
    steps = [*leaves(plain.stride)]
    if type(count) is not int or not all(type(d) is int and d >= 0 for d in steps):
        raise ShapeError(
            "make_tensor",
            {"layout": layout},
            "it does not reach a number of elements from 0 on",
            "use strides that are numbers, 0 or more, or give data",
        )
    if count > MOST_OWNED:
        wrong = f"{count} elements are more than {MOST_OWNED}"
        raise ShapeError("make_tensor", {"layout": layout}, wrong, "give data, as of NumPy")
    return make_tensor([0] * count, layout)


@typed
def make_identity_tensor(shape: Shape) -> Tensor:
    """Return the tensor whose value at a coordinate is that coordinate.

    C++: ``make_identity_tensor``.

    >>> make_identity_tensor((4, 8))(1, 2)
    ArithTuple((1, 2))
    """
    return make_tensor(None, make_identity_layout(shape))


@typed
def domain_offset(coord: Coord, tensor: Tensor) -> Tensor:
    """Return a tensor that begins at a coordinate of another, over the same layout.

    Law: ``domain_offset(c, t)(d) == t(c + d)`` for coordinates that nest as the shape does. The
    base moves; beneath a swizzle the offset does. Raises `CoordError` for a coordinate that does
    not fit. C++, CuTe DSL: same name.

    >>> corner = domain_offset((2, 3), make_tensor(None, Layout((4, 8), (8, 1))))
    >>> print(corner, corner(1, 1))
    19 o (4,8):(8,1) 28
    """
    if has_none(coord):
        fix = "give an integer for each mode, and slice the result"
        given = {"coord": coord, "tensor": tensor}
        raise CoordError("domain_offset", given, "None is not a place to begin at", fix)
    layout = tensor.beneath
    return tensor.rearranged(layout, layout(coord))


# ------------------------------------------------------------ cutting
# Tiles of a tensor, and the parts of it that belong to threads.


@typed
def local_tile(tensor: Tensor, tiler: Tiler, coord: Coord, proj: Coord = None) -> Tensor:
    """Return the tile of a tensor at a tile coordinate.

    Law: with all coordinates given the result has the tiler's shape; a ``None`` in ``coord`` keeps
    that rest mode, behind the tile modes. ``proj`` drops the entries of tiler and coordinate where
    it holds ``"X"``. A tiler that is not a tuple cuts the whole tensor, seen as one mode. The last
    tile may reach over the edge, as predicates need it; symbolic coordinates are not judged.
    Raises `CoordError` for a coordinate past the last tile, `RankError` where ``proj`` has other
    modes than tiler and coordinate, and as `zipped_divide` does. C++: ``local_tile``.

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
    _demand_tiles({"tiler": tiler, "coord": coord}, coord, rest.shape)
    return divided((None,) * len(tile) if is_tuple(tile.shape) else None, coord)


def _demand_tiles(operands: dict[str, object], coord: Any, tiles: Any) -> None:
    """Refuse integers of a tile coordinate that are outside the tiles of their mode."""
    if is_tuple(coord) and is_tuple(tiles):
        for entry, count in zip(coord, tiles, strict=False):
            _demand_tiles(operands, entry, count)
        return
    count: Any = product(tiles)
    coord = cast("Any", coord)
    if not hasattr(coord, "__index__") or type(count) is not int or 0 <= coord < count:
        return
    wrong = f"tile {coord} is outside a mode of {plural(count, 'tile')}"
    raise CoordError("local_tile", operands, wrong, f"use 0 to {count - 1}, or None for all tiles")


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


# ------------------------------------------------------------ recasting
# The bytes of a tensor as elements of another width.


@typed
def recast(
    tensor: Tensor, value_type: Numeric | str, before: Numeric | str | None = None
) -> Tensor:
    """Return the tensor over the same bytes as elements of another type.

    Law: the layout is ``recast_layout(layout, old bits, new bits)``, the base counts new elements,
    and element ``c`` lies in the bytes that the old elements of ``c`` have. ``before`` is the type
    of a tensor that has no data; that of an array is its own. Raises `DTypeError` for data that are
    not a flat array of whole bytes, `DivisibilityError` for a base inside a new element, and
    as `recast_layout` does. C++: ``recast<NewType>(tensor)``.

    >>> from pycute_xe.layout import Layout
    >>> from pycute_xe.tensor import make_tensor
    >>> print(recast(make_tensor(None, Layout((8, 4), (1, 8))), "u32", "bf16"))
    0 o (4,4):(1,4)
    """
    new = as_numeric(value_type)
    old = _type_of(tensor.data) if before is None else as_numeric(before)
    layout = tensor.layout
    if isinstance(layout, F2Layout):
        layout = tensor.beneath  # refuses
    base = tensor.base
    if type(base) is not int or base * old.bits % new.bits:
        raise DivisibilityError(
            "recast",
            {"tensor": tensor, "from": old, "to": new},
            f"the base {base} of {old.bits}-bit elements is not at a whole element of {new.bits}",
            "recast the whole tensor before it is cut",
        )
    data = tensor.data if tensor.data is None else _seen(tensor.data, old, new)
    return Tensor(data, base * old.bits // new.bits, recast_layout(layout, old.bits, new.bits))


def _type_of(data: Any) -> Numeric:
    """Return the type of an array's elements."""
    if hasattr(data, "dtype"):
        return as_numeric(data.dtype)
    kept = "no data" if data is None else f"data of {type(data).__name__}"
    raise DTypeError(
        "recast",
        {"data": kept},
        f"a tensor with {kept} has no element type",
        'say which: recast(tensor, "u32", "bf16")',
    )


def _seen(data: Any, old: Numeric, new: Numeric) -> Any:
    """Return an array's bytes in another type."""
    flat = hasattr(data, "view") and data.ndim == 1 and data.flags.c_contiguous
    whole = min(old.bits, new.bits) >= 8 and flat and data.dtype.itemsize * 8 == old.bits
    if whole and data.nbytes * 8 % new.bits == 0:
        return data.view(numpy_dtype(new))
    raise DTypeError(
        "recast",
        {"from": old, "to": new},
        "the data are not a flat array of whole elements of both types",
        "give a one-dimensional contiguous NumPy array of types of 8 bits or more",
    )
