"""Layouts as NVIDIA's pycute has them: sizes are methods, and a call takes a coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycute_xe import layout as core
from pycute_xe.compat.pycute_tuples import (
    crd2idx,
    has_none,
    prefix_product,
    slice_,
)
from pycute_xe.int_tuple import product

__all__ = ["ComposedLayout", "Layout", "LayoutBase", "is_layout", "own"]


class LayoutBase:
    """What `is_layout` recognises."""

    __slots__ = ()


def is_layout(x: object) -> bool:
    """Tell whether a value is a layout.

    >>> is_layout(Layout(4)), is_layout(4)
    (True, False)
    """
    return isinstance(x, (LayoutBase, core.Layout))


class Layout(core.Layout, LayoutBase):
    """A layout with pycute's methods and printed form; equal to the plain layout of its parts.

    >>> L = Layout((4, 1, 8))
    >>> print(L, L.size(), L.cosize(), len(L))
    (4, 1, 8):(1, 4, 4) 32 32 3
    """

    __slots__ = ()

    def __init__(self, shape: Any, stride: Any = None) -> None:
        """Check and keep the parts; without strides, the prefix product of the shape."""
        super().__init__(shape, prefix_product(shape) if stride is None else stride)

    def __call__(self, *args: Any) -> Any:
        """Return the offset of a coordinate, or the layout that ``None`` keeps."""
        crd = args[0] if len(args) == 1 else args
        if has_none(crd):
            return Layout(slice_(crd, self.shape), slice_(crd, self.stride))
        return crd2idx(crd, self.shape, self.stride)

    def __getitem__(self, index: int | slice) -> Layout:
        """Return a mode."""
        return own(super().__getitem__(index))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return Layout, (self.shape, self.stride)

    def size(self) -> Any:
        """Return the number of coordinates."""
        return product(self.shape)

    def cosize(self) -> Any:
        """Return one more than the largest offset."""
        return core.cosize(self)

    def __str__(self) -> str:
        """As pycute prints: Python tuples."""
        return f"{self.shape}:{self.stride}"

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"Layout({self.shape},{self.stride})"


def own(layout: core.Layout) -> Layout:
    """Return a layout of the package as one of pycute."""
    return Layout(layout.shape, layout.stride)


@dataclass(frozen=True, slots=True, repr=False)
class ComposedLayout(LayoutBase):
    """The function ``layoutB(offset + layoutA(c))``.

    >>> from pycute_xe.compat.pycute_swizzle import Swizzle
    >>> C = ComposedLayout(Swizzle(1, 0, 1), 2, Layout(2))
    >>> print(C, C(0), C(1))
    SW_1_0_1 o 2 o 2:1 3 2
    """

    layoutB: Any
    offset: Any
    layoutA: Any

    def __len__(self) -> int:
        """Return the rank."""
        return len(self.layoutA)

    def __call__(self, *args: Any) -> Any:
        """Return the offset of a coordinate."""
        return self.layoutB(self.offset + self.layoutA(*args))

    def __getitem__(self, index: int) -> ComposedLayout:
        """Return a mode."""
        return ComposedLayout(self.layoutB, self.offset, self.layoutA[index])

    def size(self) -> Any:
        """Return the number of coordinates."""
        own_size = isinstance(self.layoutA, LayoutBase)
        return self.layoutA.size() if own_size else core.size(self.layoutA)

    def cosize(self) -> Any:
        """Return the extent of the values."""
        return self.layoutB.cosize()

    def __str__(self) -> str:
        """As pycute prints."""
        return f"{self.layoutB} o {self.offset} o {self.layoutA}"

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"ComposedLayout({self.layoutB!r},{self.offset!r},{self.layoutA!r})"
