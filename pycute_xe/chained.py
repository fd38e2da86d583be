"""Functions composed in general: a layout, a swizzle or another composition over a layout.

`ComposedLayout` is a swizzle over a layout, which most of the library reads. Here the outer
function is any, so that an affine layout, two swizzles and a layout read through a swizzled one
are values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import ShapeError, quoted
from pycute_xe.f2 import F2Layout
from pycute_xe.int_tuple import leaves, rank_of
from pycute_xe.layout import Layout, slice_and_offset
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import Coord, Shape, shown

__all__ = ["Chained", "Function", "make_composed_layout"]


@dataclass(frozen=True, slots=True)
class Chained:
    """The function ``c -> outer(offset + inner(c))`` of any outer function.

    Law: ``X(c) == X.outer(X.offset + X.inner(c))``; shape, size and rank are those of ``inner``.
    Outer is a swizzle or anything that has a shape, inner has one. Raises `ShapeError` for other
    parts. C++: ``cute::ComposedLayout``.

    >>> X = Chained(Layout((4, 8), (8, 1)), 1, Layout(3, 4))
    >>> [X(i) for i in range(3)]
    [8, 9, 10]
    >>> print(X)
    (4,8):(8,1) o 1 o 3:4
    """

    outer: Swizzle | Layout | ComposedLayout | F2Layout | Chained
    offset: Any
    inner: Layout | ComposedLayout | F2Layout | Chained

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Check the parts."""
        inner: Any = self.inner
        outer: Any = self.outer
        functions = (Layout, ComposedLayout, F2Layout, Chained)
        if not isinstance(inner, functions) or not isinstance(outer, (*functions, Swizzle)):
            parts = {"outer": quoted(outer), "inner": quoted(inner)}
            raise ShapeError(
                "Chained",
                parts,
                "the parts are not a function, an offset and a layout",
                "Chained(Layout((4, 8)), 0, Layout(8))",
            )

    @property
    def shape(self) -> Shape:
        """The shape of the inner layout."""
        return self.inner.shape

    def __len__(self) -> int:
        """Return the rank: the number of top-level modes."""
        return rank_of(self.shape)

    def with_inner(self, inner: Any) -> Chained:
        """Return the same outer function and offset over another layout.

        >>> print(Chained(Layout(8, 2), 1, Layout(8)).with_inner(Layout(4)))
        8:2 o 1 o 4:1
        """
        return Chained(self.outer, self.offset, inner)

    def sliced(self, coord: Coord) -> Chained:
        """Return the modes where the coordinate holds ``None``, at the offset of the others.

        Law: ``X.sliced(c)(d) == X(c with d for None)``. Raises `CoordError` where the coordinate
        does not fit. C++: ``slice``.

        >>> print(Chained(Layout((4, 8), (8, 1)), 0, Layout((4, 2))).sliced((None, 1)))
        (4,8):(8,1) o 4 o (4):(1)
        """
        if isinstance(self.inner, Layout):
            inner, start = slice_and_offset(coord, self.inner)
            return Chained(self.outer, self.offset + start, inner)
        return self.with_inner(self.inner.sliced(coord))

    def __call__(self, *coord: Coord) -> Any:
        """Return the value at a coordinate, or the slice where it holds ``None``."""
        crd: Coord = coord[0] if len(coord) == 1 else coord
        if any(entry is None for entry in leaves(crd)):
            return self.sliced(crd)
        return self.outer(self.offset + self.inner(crd))

    def __str__(self) -> str:
        """As CuTe prints: ``outer o offset o inner``."""
        return f"{self.outer} o {self.offset} o {self.inner}"


def make_composed_layout(outer: Any, offset: Any, inner: Any) -> ComposedLayout | Chained:
    """Return ``outer o offset o inner``: a `ComposedLayout` for a swizzle over a layout.

    Law: the result maps ``c`` to ``outer(offset + inner(c))``. Raises as the class does.
    C++: ``make_composed_layout``.

    >>> print(make_composed_layout(Swizzle(2, 0, 2), 0, Layout((4, 4))))
    Sw<2,0,2> o 0 o (4,4):(1,4)
    >>> S = make_composed_layout(Swizzle(2, 0, 2), 0, Layout((4, 4)))
    >>> make_composed_layout(Swizzle(1, 0, 1), 0, S)(1, 1)
    4
    """
    if isinstance(outer, Swizzle) and isinstance(inner, Layout):
        return ComposedLayout(outer, offset, inner)
    return Chained(outer, offset, inner)


Function: TypeAlias = Layout | ComposedLayout | F2Layout | Chained
"""A layout of any kind."""
