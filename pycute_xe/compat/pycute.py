"""The names of NVIDIA's pycute, so that code written for it runs unchanged.

``from pycute_xe.compat.pycute import *`` takes the place of ``from pycute import *``: the same
names, arguments, nesting and printed forms. Deliberate differences:

- Where no layout is the answer, these functions raise a `CuteError`; pycute returns another
  function, fails an assertion, or divides by zero.
- ``logical_product(layout, n)`` with an integer raises: pycute divides there.
- Layouts are values: hashable, and nothing can be assigned to ``layout.shape``.
- Shapes are positive integers and strides integers; ``cosize`` counts strides by magnitude.
- The submodules ``int_tuple``, ``layout``, ``swizzle`` and ``typing`` are not repeated here.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any, Union

from pycute_xe import algebra, layout as core, swizzle as swizzles
from pycute_xe.algebra.compose import flat_modes, from_modes
from pycute_xe.algebra.inverse import gaps
from pycute_xe.compat.pycute_tuples import (
    Integer,
    crd2crd,
    crd2idx,
    flatten,
    has_none,
    idx2crd,
    is_int,
    prefix_product,
    shiftl,
    shiftr,
    signum,
    slice_,
    tuple_max,
)
from pycute_xe.errors import DivisibilityError, RankError, ShapeError
from pycute_xe.int_tuple import elem_scale, inner_product, product, shape_div
from pycute_xe.layout.core import moves
from pycute_xe.signatures import typed
from pycute_xe.typing import is_tuple

__all__ = [
    "ABC",
    "ComposedLayout",
    "Integer",
    "Layout",
    "LayoutBase",
    "Swizzle",
    "Union",
    "chain",
    "coalesce",
    "complement",
    "composition",
    "cosize",
    "crd2crd",
    "crd2idx",
    "elem_scale",
    "filter",
    "flatten",
    "has_none",
    "hier_unzip",
    "idx2crd",
    "inner_product",
    "is_int",
    "is_layout",
    "is_tuple",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_layout",
    "prefix_product",
    "product",
    "reduce",
    "right_inverse",
    "shape_div",
    "shiftl",
    "shiftr",
    "signum",
    "size",
    "slice_",
    "slice_and_offset",
    "tiled_divide",
    "tiled_product",
    "tuple_max",
    "zipped_divide",
    "zipped_product",
]

# ------------------------------------------------------------ pycute layouts
# Layouts as NVIDIA's pycute has them: sizes are methods, and a call takes a coordinate.


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

    >>> from pycute_xe.compat.pycute import Swizzle
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


# ------------------------------------------------------------ pycute swizzle
# The swizzles of NVIDIA's pycute.


class Swizzle(swizzles.Swizzle):
    """The XOR function of ``bits`` bits, with pycute's methods.

    >>> S = Swizzle(2, 0, 3)
    >>> print(S, S(0b01000), S.size())
    SW_2_0_3 9 32
    """

    __slots__ = ()

    @property
    def yyy_msk(self) -> int:
        """The bits that are read."""
        return self.yyy_mask

    @property
    def zzz_msk(self) -> int:
        """The bits that change."""
        return self.zzz_mask

    def size(self) -> int:
        """Return the period of the function."""
        return 1 << (self.bits + self.base + abs(self.shift))

    def cosize(self) -> int:
        """Return the size: the function is a bijection."""
        return self.size()

    def __str__(self) -> str:
        """As pycute prints."""
        return f"SW_{self.bits}_{self.base}_{self.shift}"

    def __repr__(self) -> str:
        """An expression that evaluates back."""
        return f"Swizzle({self.bits},{self.base},{self.shift})"


# ------------------------------------------------------------ pycute


@typed
def make_layout(*layouts: Any) -> Layout:
    """Gather layouts, or an iterable of them, as the modes of one.

    >>> print(make_layout(Layout(4, 2), Layout(8, 16)))
    (4, 8):(2, 16)
    """
    if len(layouts) == 1 and not is_layout(layouts[0]):
        layouts = tuple(layouts[0])
    return Layout(tuple(part.shape for part in layouts), tuple(part.stride for part in layouts))


@typed
def size(layout: Any) -> Any:
    """Return the number of coordinates of a layout or a shape.

    >>> size(Layout((4, 8))), size((2, 3))
    (32, 6)
    """
    return layout.size() if isinstance(layout, (Layout, ComposedLayout)) else core.size(layout)


@typed
def cosize(layout: Any) -> Any:
    """Return one more than the largest offset.

    >>> cosize(Layout((4, 8), (1, 5)))
    39
    """
    answer = core.cosize(layout) if isinstance(layout, core.Layout) else layout.cosize
    return answer() if callable(answer) else answer


def _by_mode(function: Callable[..., Layout], layout: Any, parts: tuple[Any, ...]) -> Layout:
    if len(parts) > len(layout):
        raise RankError(
            function.__name__,
            {"layout": layout, "parts": parts},
            f"{len(parts)} entries for {len(layout)} modes",
            "give at most one entry for each mode",
        )
    changed: Iterable[Layout] = map(function, layout, parts)
    return make_layout(*changed, *list(layout)[len(parts) :])


@typed
def coalesce(layout: core.Layout, profile: Any = None) -> Layout:
    """Return the same function with as few modes as its order allows, or mode by mode.

    >>> print(coalesce(Layout((2, (1, 6)), (1, (6, 2)))))
    12:1
    """
    return own(algebra.coalesce(layout, profile))


@typed
def filter(layout: core.Layout, profile: Any = None) -> Layout:
    """Drop stride-0 and size-1 modes, then coalesce, or mode by mode.

    >>> print(filter(Layout((4, 2, 8), (0, 1, 2))))
    16:1
    """
    if is_tuple(profile):
        return _by_mode(filter, layout, profile)
    return own(algebra.filter(layout))


@typed
def composition(layoutA: core.Layout, layoutB: Any) -> Any:
    """Return ``layoutA ∘ layoutB``; raises `DivisibilityError` where no layout is the result.

    For a tuple the modes of ``layoutA`` beyond it stay, as in pycute (in C++ they drop out).

    >>> print(composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))))
    ((2, 2), 3):((24, 2), 8)
    """
    if is_tuple(layoutB):
        return _by_mode(composition, layoutA, layoutB)
    return layoutA if layoutB is None else own(algebra.composition(layoutA, layoutB))


@typed
def complement(layout: Any, max_idx: Any = 1) -> Layout:
    """Return a layout of the offsets that ``layout`` skips, up to ``max_idx``.

    >>> print(complement(Layout((2, 2), (1, 6)), 24))
    (3, 2):(2, 12)
    """
    return own(algebra.complement(Layout(layout) if is_int(layout) else layout, max_idx))


@typed
def right_inverse(layout: core.Layout | int | None) -> Any:
    """Return ``R`` with ``layout(R(i)) == i``; ``None`` stays, an integer is its layout.

    As in pycute it ends where two modes have one stride, and where a stride is 0.

    >>> print(right_inverse(Layout((4, 8), (8, 1))))
    (8, 4):(4, 1)
    """
    if layout is None or not isinstance(layout, core.Layout):
        return None if layout is None else Layout(layout)
    algebra.right_inverse(layout)  # refuses what has none
    if moves(layout.stride):
        wrong = "its strides are steps of a coordinate, and not of an offset"
        raise ShapeError("right_inverse", {"layout": layout}, wrong, "use cx.right_inverse")
    return own(_chained(layout))


def _chained(layout: core.Layout) -> core.Layout:
    """Return the modes by ascending stride, as long as each goes on where the last one ends."""
    placed: list[tuple[int, int, int]] = []
    where = 1
    for s, d in flat_modes(layout):
        if s != 1:
            placed.append((d, s, where))
        where *= s
    out: list[tuple[int, int]] = []
    reach = 1
    for d, s, at in sorted(placed):
        if d != reach:
            break
        out.append((s, at))
        reach *= s
    return algebra.coalesce(from_modes(out))


@typed
def left_inverse(layout: core.Layout | int | None) -> Any:
    """Return ``R`` with ``R(layout(i)) == i``; ``None`` stays, an integer is its layout.

    Where the layout and its complement together hit every offset, the answer is pycute's, which
    counts offsets that are never hit behind the others; elsewhere `pycute_xe.left_inverse`.

    >>> print(left_inverse(Layout((4, 8), (8, 1))), left_inverse(Layout(4, 2)))
    (8, 4):(4, 1) (2, 4):(4, 1)
    """
    if layout is None or not isinstance(layout, core.Layout):
        return None if layout is None else Layout(layout)
    result = algebra.left_inverse(layout)
    try:
        rest, hole = gaps(layout, 1)
    except DivisibilityError:
        return own(result)
    whole = hole is None and all(d != 0 for s, d in flat_modes(layout) if s != 1)
    return own(_chained(core.make_layout(layout, rest)) if whole else result)


@typed
def logical_divide(layoutA: core.Layout, layoutB: Any) -> Any:
    """Split a layout into (tile, rest), or each of its modes.

    >>> print(logical_divide(Layout(16), 4))
    (4, 4):(1, 4)
    """
    return layoutA if layoutB is None else own(algebra.logical_divide(layoutA, layoutB))


@typed
def logical_product(layoutA: core.Layout, layoutB: Any) -> Any:
    """Repeat a layout: (layout, copies), or each of its modes. An integer is refused.

    >>> print(logical_product(Layout(4), Layout(3)))
    (4, 3):(1, 4)
    """
    if layoutB is None:
        return layoutA
    if is_int(layoutB):
        raise ShapeError(
            "logical_product",
            {"layoutA": layoutA, "layoutB": layoutB},
            "pycute divides by an integer here, CuTe multiplies",
            "write Layout(n), or logical_divide",
        )
    if is_tuple(layoutB):
        return _by_mode(logical_product, layoutA, layoutB)
    return own(algebra.logical_product(layoutA, layoutB))


@typed
def hier_unzip(splitter: Callable[..., Any], layoutA: Any, layoutB: Any) -> Layout:
    """Split mode by mode, then gather the first parts and the second: ``((…), (…, rest))``.

    ``None`` leaves a first part of ``1:0``.

    >>> print(hier_unzip(logical_divide, Layout((8, 16)), (4, 8)))
    ((4, 8), (2, 2)):((1, 8), (4, 64))
    """
    if layoutB is None:
        return make_layout(Layout(1, 0), layoutA)
    if not is_tuple(layoutB):
        return splitter(layoutA, layoutB)
    named = len(layoutB)
    if named > len(layoutA):
        return _by_mode(splitter, layoutA, layoutB)  # which refuses
    parts = [hier_unzip(splitter, layoutA[i], layoutB[i]) for i in range(named)]
    rest = [layoutA[i] for i in range(named, len(layoutA))]
    return make_layout(make_layout(p[0] for p in parts), make_layout(*[p[1] for p in parts], *rest))


def _unpacked(zipped: Layout) -> Layout:
    return make_layout(zipped[0], *zipped[1])


@typed
def zipped_divide(layoutA: Any, layoutB: Any) -> Layout:
    """Split and gather: ``((tiles), (rests))``."""
    return hier_unzip(logical_divide, layoutA, layoutB)


@typed
def tiled_divide(layoutA: Any, layoutB: Any) -> Layout:
    """As `zipped_divide`, with the rests unpacked."""
    return _unpacked(zipped_divide(layoutA, layoutB))


@typed
def zipped_product(layoutA: Any, layoutB: Any) -> Layout:
    """Repeat and gather: ``((blocks), (copies))``."""
    return hier_unzip(logical_product, layoutA, layoutB)


@typed
def tiled_product(layoutA: Any, layoutB: Any) -> Layout:
    """As `zipped_product`, with the copies unpacked."""
    return _unpacked(zipped_product(layoutA, layoutB))


@typed
def slice_and_offset(crd: Any, layout: Any) -> tuple[Layout, Any]:
    """Return the layout that ``None`` keeps, and the offset at which it starts.

    >>> slice_and_offset((None, 2), Layout((4, 8), (8, 1)))
    (Layout((4,),(8,)), 2)
    """
    kept = Layout(slice_(crd, layout.shape), slice_(crd, layout.stride))
    return kept, crd2idx(crd, layout.shape, layout.stride)
