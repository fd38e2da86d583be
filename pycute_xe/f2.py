"""Strides over the field of two elements, under which a swizzle is linear.

Adding without carries is XOR, multiplying without carries shifts and XORs. With that arithmetic a
swizzled layout is again a shape and one stride for each leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CongruenceError, CoordError, DivisibilityError, ShapeError
from pycute_xe.int_tuple import congruent, crd2idx, leaves, rank_of
from pycute_xe.layout import Layout, as_layout, has_symbols, slice_and_offset, unchecked
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import Coord, Shape, Stride, is_tuple, shown

__all__ = ["F2", "F2Layout", "as_f2"]

_IDENTITY = Swizzle(0, 0, 0)


@dataclass(frozen=True, slots=True)
class F2:
    """A non-negative integer that adds and multiplies without carries.

    Law: ``F2(a) + F2(b) == F2(a ^ b)``, and ``(a ^ b) * F2(d) == a * F2(d) + b * F2(d)``.
    Raises `CoordError` for negative values. Its counterpart is a polynomial over GF(2).

    >>> F2(5) + F2(6), 3 * F2(5), 3 * F2(3)
    (F2(3), F2(15), F2(5))
    """

    value: int

    def __post_init__(self) -> None:
        """Check the value."""
        if type(self.value) is not int or self.value < 0:
            raise CoordError(
                "F2", {"value": self.value}, "not a non-negative integer", "use 0 or more"
            )

    def __add__(self, other: F2 | int) -> F2:
        """Add bit by bit; the integer zero is neutral."""
        if isinstance(other, F2):
            return F2(self.value ^ other.value)
        return self if other == 0 else NotImplemented

    __radd__ = __add__

    def __mul__(self, scale: int | F2) -> F2:
        """Multiply without carries."""
        left = scale.value if isinstance(scale, F2) else scale
        if type(left) is not int:
            return NotImplemented
        if left < 0:
            raise CoordError("F2", {"scale": left}, "a negative scale", "use 0 or more")
        total = 0
        for i in range(left.bit_length()):
            total ^= self.value << i if left >> i & 1 else 0
        return F2(total)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"F2({self.value})"


@dataclass(frozen=True, slots=True)
class F2Layout:
    """A shape with XOR strides: the sum, without carries, of coordinates times strides.

    Law: ``X(c) == offset ^ (c_0 * d_0 ^ c_1 * d_1 ^ …)``, products without carries too. Offsets in
    elements; a stride of 0 may be the integer. Raises `CongruenceError` where shape and strides
    nest differently, `ShapeError` for a stride that is not an `F2` or an offset that is not a
    non-negative integer.

    >>> X = F2Layout((4, 2), (F2(1), F2(6)))
    >>> [X(i) for i in range(8)], X(1, 1)
    ([0, 1, 2, 3, 6, 7, 4, 5], 7)
    >>> print(X)
    (4,2):(F2(1),F2(6))
    """

    shape: Shape
    stride: Stride
    offset: int = 0

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Check the shape (as a layout's), the nesting, the strides and the offset."""
        # A list becomes a tuple, so that the value cannot change.
        object.__setattr__(self, "shape", Layout(self.shape).shape)
        given = {"shape": self.shape, "stride": self.stride, "offset": self.offset}
        if not congruent(self.shape, self.stride):
            raise CongruenceError(
                "F2Layout", given, "shape and stride nest differently", "give each leaf a stride"
            )
        object.__setattr__(self, "stride", _with_zeros(self.stride))
        good = all(isinstance(d, F2) for d in leaves(self.stride))
        if not good or type(self.offset) is not int or self.offset < 0:
            raise ShapeError(
                "F2Layout",
                given,
                "the strides are not F2 values, or the offset is not a non-negative integer",
                "F2Layout((4, 2), (F2(1), F2(6)), 0)",
            )

    def sliced(self, coord: Coord) -> F2Layout:
        """Return the modes where the coordinate holds ``None``, at the offset of the others.

        Law: ``X.sliced(c)(d) == X(c with d for None)``. Raises `CoordError` where the coordinate
        does not fit. The counterpart for plain layouts is ``slice_and_offset``.

        >>> print(F2Layout((4, 2), (F2(1), F2(6))).sliced((None, 1)))
        6 xor (4):(F2(1))
        """
        inner, start = slice_and_offset(coord, unchecked(self.shape, self.stride))
        return F2Layout(inner.shape, inner.stride, self.offset ^ _number(start))

    def __len__(self) -> int:
        """Return the rank: the number of top-level modes."""
        return rank_of(self.shape)

    def __call__(self, *coord: Coord) -> Any:
        """Return the offset of a coordinate, or the slice where it holds ``None``.

        Raises `CoordError` where the coordinate does not fit.
        """
        crd: Coord = coord[0] if len(coord) == 1 else coord
        if any(entry is None for entry in leaves(crd)):
            return self.sliced(crd)
        total: Any = crd2idx(crd, self.shape, self.stride)
        return self.offset ^ _number(total)

    def __str__(self) -> str:
        """Like a layout; an offset follows the word ``xor``."""
        text = f"{_text(self.shape)}:{_text(self.stride)}"
        return f"{self.offset} xor {text}" if self.offset else text


def _with_zeros(stride: Any) -> Any:
    """Return strides in which the integer zero, which adds to every kind, is one of XOR."""
    if is_tuple(stride):
        return tuple(map(_with_zeros, stride))
    return F2(0) if type(stride) is int and stride == 0 else stride


def _number(total: F2 | int) -> int:
    """Return an offset as a number: the sum of no strides is the integer zero."""
    return total.value if isinstance(total, F2) else 0


def _text(value: Any) -> str:
    return f"({','.join(map(_text, value))})" if is_tuple(value) else str(value)


def as_f2(composed: ComposedLayout | Layout | F2Layout) -> F2Layout:
    """Return a layout of XOR strides that is the same function as a swizzled layout.

    Law: ``as_f2(X)(i) == X(i)`` for ``0 <= i < size(X)``. A leaf whose bits the swizzle treats
    differently becomes several. Cost grows with the bits of the extents.
    Raises `DivisibilityError` where the layout adds with carries, which XOR cannot, or where such
    a leaf does not split evenly; `ShapeError` for strides that are negative or of a basis.

    >>> print(as_f2(ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4)))))
    (4,4):(F2(1),F2(5))
    >>> print(as_f2(ComposedLayout(Swizzle(2, 0, 3), 0, Layout((4, 16)))))
    (4,(2,4,2)):(F2(1),(F2(4),F2(9),F2(32)))
    """
    if isinstance(composed, F2Layout):
        return composed
    if not isinstance(composed, ComposedLayout):
        composed = ComposedLayout(_IDENTITY, 0, as_layout(composed))
    taken = composed.offset
    inner = composed.layout
    if has_symbols(inner):
        raise ShapeError(
            "as_f2",
            {"layout": composed},
            "the bits of a symbol are not known",
            "substitute numbers first",
        )
    for s, d in zip(leaves(inner.shape), leaves(inner.stride), strict=True):
        if d < 0:
            raise ShapeError(
                "as_f2", {"layout": composed}, f"stride {d} is negative", "reverse the mode"
            )
        for i in range((s - 1).bit_length()):
            if taken & d << i:
                raise _uneven(composed, f"the mode {s}:{d} adds with a carry")
            taken |= d << i

    def tree(shape: Shape, stride: Stride) -> tuple[Any, Any]:
        if not is_tuple(shape):
            return _leaf(composed, shape, stride)
        parts = [tree(s, d) for s, d in zip(shape, stride, strict=True)]
        return tuple(s for s, _ in parts), tuple(d for _, d in parts)

    return F2Layout(*tree(inner.shape, inner.stride), composed.swizzle(composed.offset))


def _leaf(composed: ComposedLayout, s: int, d: int) -> tuple[Any, Any]:
    """Split one leaf where the swizzled images of its bits stop being shifts of each other."""
    runs = list(_runs(composed, s, d))
    if len(runs) == 1:
        return runs[0]
    return tuple(n for n, _ in runs), tuple(v for _, v in runs)


def _runs(composed: ComposedLayout, s: int, d: int) -> Iterator[tuple[int, F2]]:
    first = 0
    for i in range(1, (s - 1).bit_length()):
        start = composed.swizzle(d << first)
        if composed.swizzle(d << i) != start << (i - first):
            if s % (1 << (i - first)):
                raise _uneven(composed, f"a mode of extent {s} does not split after bit {i}")
            yield 1 << (i - first), F2(start)
            s >>= i - first
            first = i
    yield s, F2(composed.swizzle(d << first))


def _uneven(composed: ComposedLayout, condition: str) -> DivisibilityError:
    return DivisibilityError(
        "as_f2", {"layout": composed}, condition, "use powers of two whose bits do not overlap"
    )
