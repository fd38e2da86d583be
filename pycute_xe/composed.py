"""The composed layout, a swizzle applied to the offsets of a layout.

It has the domain of its layout, so whatever rearranges the domain works on the layout within; it
has no strides, since a swizzle is not linear in integers (`pycute_xe.f2` has the strides it has).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, Protocol, Self, TypeVar

from pycute_xe.basis import Basis
from pycute_xe.errors import ShapeError
from pycute_xe.int_tuple import leaves
from pycute_xe.layout import Layout, cosize, slice_and_offset
from pycute_xe.layout.core import has_none
from pycute_xe.notation import cpp_tree
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import Coord, Shape, shown

__all__ = ["AnyLayout", "AnyPlaced", "ComposedLayout", "Placed", "on_domain", "on_tensors"]


@dataclass(frozen=True, slots=True)
class ComposedLayout:
    """The function ``c -> swizzle(offset + layout(c))``.

    Law: ``X(c) == X.swizzle(X.offset + X.layout(c))``. Shape, size and rank are those of the
    layout; ``X[i]`` is a mode at the same offset. Offsets are non-negative, in elements. Raises
    `ShapeError` where the parts are not a swizzle, an offset and a layout, for basis strides, and
    where an offset would be negative. C++: ``cute::ComposedLayout``.

    >>> X = ComposedLayout(Swizzle(1, 1, 1), 0, Layout((4, 2), (1, 4)))
    >>> [X(i) for i in range(8)]
    [0, 1, 2, 3, 6, 7, 4, 5]
    >>> print(X)
    Sw<1,1,1> o 0 o (4,2):(1,4)
    """

    swizzle: Swizzle
    offset: int
    layout: Layout

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Check the three parts and that no offset is negative."""
        # What a caller without a type checker may have handed in.
        parts: tuple[Any, ...] = (self.swizzle, self.offset, self.layout)
        if tuple(map(type, parts)) != (Swizzle, int, Layout):
            self._refuse(
                "the parts are not a swizzle, an integer and a layout",
                "ComposedLayout(Swizzle(2, 4, 3), 0, Layout((8, 64)))",
            )
        lowest = self.offset
        for s, d in zip(leaves(self.layout.shape), leaves(self.layout.stride), strict=True):
            if isinstance(d, Basis):
                self._refuse("a coordinate has no bits to exchange", "use integer strides")
            lowest += min(0, (s - 1) * d)
        if lowest < 0:
            self._refuse(f"the lowest offset is {lowest}", f"add {-lowest} to the offset")

    def _refuse(self, condition: str, fix: str) -> NoReturn:
        parts = {"swizzle": self.swizzle, "offset": self.offset, "layout": self.layout}
        raise ShapeError("ComposedLayout", parts, condition, fix)

    @property
    def shape(self) -> Shape:
        """The shape of the layout."""
        return self.layout.shape

    @property
    def stride(self) -> NoReturn:
        """Refuse: a swizzle has no integer strides."""
        raise ShapeError(
            "stride",
            {"layout": self},
            "a swizzled layout has no integer strides",
            "use as_f2 for its XOR strides, or .layout for those beneath the swizzle",
        )

    @property
    def cosize(self) -> Any:
        """One more than the largest offset, rounded up to whole blocks of the swizzle.

        C++ returns the cosize of the layout alone, too little where the offset is not zero or the
        layout ends inside a block.
        """
        end = self.offset + cosize(self.layout)
        read = self.swizzle.yyy_mask
        if end <= read & -read or not read:
            return end  # no offset has a bit that is read
        return -(-end // self.swizzle.block) * self.swizzle.block

    def with_layout(self, layout: Layout) -> ComposedLayout:
        """Return the same swizzle and offset over another layout.

        >>> print(ComposedLayout(Swizzle(1, 1, 1), 0, Layout(8)).with_layout(Layout(4, 2)))
        Sw<1,1,1> o 0 o 4:2
        """
        return ComposedLayout(self.swizzle, self.offset, layout)

    def to_cpp(self) -> str:
        """Return the C++ type; `ShapeError` for a leaf of the layout that is not a number.

        >>> ComposedLayout(Swizzle(1, 1, 1), 0, Layout((4, 2), (1, 4))).to_cpp()
        'ComposedLayout<Swizzle<1,1,1>,_0,Layout<Shape<_4,_2>,Stride<_1,_4>>>'
        """
        offset = cpp_tree(self.offset, "Int")
        return f"ComposedLayout<{self.swizzle.to_cpp()},{offset},{self.layout.to_cpp()}>"

    def sliced(self, coord: Coord) -> ComposedLayout:
        """Return the modes where the coordinate holds ``None``, at the offset of the others.

        Law: ``X.sliced(c)(d) == X(c with d for None)``: the offset goes inside, since the swizzle
        acts on the sum. Raises `CoordError` where the coordinate does not fit. C++: ``slice``,
        which turns the result into a plain layout where it can; the function is the same.

        >>> print(ComposedLayout(Swizzle(1, 1, 1), 0, Layout((4, 2), (1, 4))).sliced((None, 1)))
        Sw<1,1,1> o 4 o (4):(1)
        """
        inner, start = slice_and_offset(coord, self.layout)
        return ComposedLayout(self.swizzle, self.offset + start, inner)

    @typed
    def __call__(self, *coord: Coord) -> Any:
        """Return the offset of a coordinate, or the slice where it holds ``None``."""
        crd: Coord = coord[0] if len(coord) == 1 else coord
        if has_none(crd):
            return self.sliced(crd)
        return self.swizzle(self.offset + self.layout(crd))

    def __len__(self) -> int:
        """Return the rank: the number of top-level modes."""
        return len(self.layout)

    def __getitem__(self, index: int | slice) -> ComposedLayout:
        """Return one mode, or several, at the same offset."""
        return self.with_layout(self.layout[index])

    def __iter__(self) -> Iterator[ComposedLayout]:
        """Yield the modes, first to last."""
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"ComposedLayout({self.swizzle!r}, {self.offset!r}, {self.layout!r})"

    def __str__(self) -> str:
        """As CuTe prints: ``swizzle o offset o layout``."""
        return f"{self.swizzle} o {self.offset} o {self.layout}"


Rest = ParamSpec("Rest")
AnyLayout = TypeVar("AnyLayout", Layout, ComposedLayout)


class OnDomain(Protocol[Rest]):
    """A function of layouts that also takes composed layouts, and then returns one."""

    def __call__(self, layout: AnyLayout, /, *args: Rest.args, **kwargs: Rest.kwargs) -> AnyLayout:
        """Apply the function to the layout, or to the layout beneath the swizzle."""
        ...


def on_domain(function: Callable[Concatenate[Layout, Rest], Layout]) -> OnDomain[Rest]:
    """Let a function that only rearranges the domain of a layout take composed layouts too.

    Law: ``on_domain(f)(X) == X.with_layout(f(X.layout))``, and plain layouts go to ``f`` itself.
    Of a chain of functions the innermost layout is rearranged.
    CuTe C++ overloads its operations for ``ComposedLayout`` in this way.

    >>> from pycute_xe.layout import flatten
    >>> print(on_domain(flatten)(ComposedLayout(Swizzle(1, 1, 1), 0, Layout((2, (2, 2))))))
    Sw<1,1,1> o 0 o (2,2,2):(1,2,4)
    """

    @wraps(function)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        if not args or type(args[0]) is Layout:
            return function(*args, **kwargs)
        if type(args[0]) is ComposedLayout:
            return args[0].with_layout(function(args[0].layout, *args[1:], **kwargs))
        if hasattr(args[0], "with_inner"):  # any function over what is rearranged
            return args[0].with_inner(lifted(args[0].inner, *args[1:], **kwargs))
        return function(*args, **kwargs)

    return lifted


class Placed(Protocol):
    """What is seen through a layout, as a tensor is: its domain may be rearranged."""

    @property
    def beneath(self) -> Layout:
        """The layout that is rearranged, beneath a swizzle if there is one."""
        ...

    def rearranged(self, layout: Layout, offset: Any = 0) -> Self:
        """Return the same seen through another layout."""
        ...


AnyPlaced = TypeVar("AnyPlaced", bound="Layout | ComposedLayout | Placed")


class OnTensors(Protocol[Rest]):
    """A function of layouts that also takes composed layouts and tensors, and then returns one."""

    def __call__(self, layout: AnyPlaced, /, *args: Rest.args, **kwargs: Rest.kwargs) -> AnyPlaced:
        """Apply the function to the layout, or to the layout beneath the tensor."""
        ...


def on_tensors(function: Callable[Concatenate[Layout, Rest], Layout]) -> OnTensors[Rest]:
    """Let a function that only rearranges the domain of a layout take tensors too.

    Law: ``on_tensors(f)(t) == t.rearranged(f(t.beneath))``; the data stay where they are. C++
    overloads the same functions for ``Tensor``.

    >>> from pycute_xe.layout import flatten
    >>> from pycute_xe.tensor import make_tensor
    >>> print(on_tensors(flatten)(make_tensor("abcd", Layout((2, (1, 2)), (2, (1, 1))))))
    0 o (2,1,2):(2,1,1)
    """
    lifted = on_domain(function)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is not Layout and hasattr(args[0], "rearranged"):
            return args[0].rearranged(function(args[0].beneath, *args[1:], **kwargs))
        return lifted(*args, **kwargs)

    return called  # pyright: ignore[reportReturnType]
