"""Floor 4: a tensor, something that can be indexed seen through a layout.

A tensor without data is a counting tensor: its values are the offsets, or the coordinates, of its
layout. The identity tensor is the one whose value at a coordinate is the coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from pycute_xe.algebra import composition
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CoordError, ShapeError, quoted
from pycute_xe.f2 import F2Layout
from pycute_xe.layout import Layout, make_identity_layout, slice_and_offset
from pycute_xe.signatures import shortly, typed
from pycute_xe.typing import Coord, Shape, Stride, Tiler, is_tuple

__all__ = ["Tensor", "make_identity_tensor", "make_tensor"]

AnyLayout: TypeAlias = Layout | ComposedLayout | F2Layout


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

    def __getitem__(self, index: object) -> NoReturn:
        """Refuse brackets: a tensor is called, as its layout is. Raises `CoordError`."""
        wanted = quoted(index) if type(index) in (int, tuple) else "coord"
        raise CoordError(
            "Tensor",
            {"index": quoted(index)},
            "a tensor is called with a coordinate, not indexed with brackets",
            f"write tensor({wanted.strip('()')}); None keeps a mode, as in tensor(None, 2)",
        )

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
        held = f", which has {len(self.data)} elements" if hasattr(self.data, "__len__") else ""
        wrong = f"offset {shortly(place)} is past the end of the data{held}"
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
def make_tensor(data: Any, layout: AnyLayout | Shape, stride: Stride = None) -> Tensor:
    """Return a tensor of data seen through a layout (or a shape and strides).

    ``data`` is anything with ``[]`` over integer offsets, or ``None`` to count. The layout may be
    swizzled or of XOR strides. C++: ``make_tensor``.

    >>> make_tensor("abcdef", Layout((2, 3)))(1, 2)
    'f'
    >>> from pycute_xe.swizzle import Swizzle
    >>> make_tensor("abcdefgh", ComposedLayout(Swizzle(1, 1, 1), 0, Layout((4, 2))))(0, 1)
    'g'
    """
    if isinstance(layout, (ComposedLayout, F2Layout)):
        return Tensor(data, 0, layout)
    whole = layout if isinstance(layout, Layout) else Layout(layout, stride)
    return Tensor(data, whole(0), whole)


def make_identity_tensor(shape: Shape) -> Tensor:
    """Return the tensor whose value at a coordinate is that coordinate.

    C++: ``make_identity_tensor``.

    >>> make_identity_tensor((4, 8))(1, 2)
    ArithTuple((1, 2))
    """
    return make_tensor(None, make_identity_layout(shape))
