"""What rearranges the domain of a layout, beneath a swizzle if there is one.

What C++ overloads for tensors takes them here too: what is cut is the layout of the tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import gcd
from typing import Any, Concatenate, ParamSpec, Protocol, cast, overload

from pycute_xe import layout as plain
from pycute_xe.algebra import bits, common, compose, inverse, product, rearrange, refining
from pycute_xe.composed import AnyPlaced, ComposedLayout, on_domain, on_tensors
from pycute_xe.f2 import F2Layout
from pycute_xe.int_tuple import flatten_tuple, leaves
from pycute_xe.layout import Layout
from pycute_xe.layout.core import frozen, sliced
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import TUPLE, Coord, IntTuple, Tiler, at_most

Rest = ParamSpec("Rest")

__all__ = [
    "append",
    "append_ones",
    "blocked_product",
    "coalesce",
    "coalesce_z",
    "complement",
    "cosize",
    "flat_divide",
    "flat_product",
    "flatten",
    "get",
    "get_nonswizzle_portion",
    "get_swizzle_portion",
    "group",
    "layout_add",
    "logical_divide",
    "logical_product",
    "make_layout_like",
    "prepend",
    "prepend_ones",
    "raked_product",
    "select",
    "slice_",
    "slice_and_offset",
    "take",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "with_shape",
    "zipped_divide",
    "zipped_product",
    "max_common_layout",
    "max_common_vector",
]

# ------------------------------------------------------------ vectors
# What is contiguous in two layouts, swizzled ones among them.


def max_common_layout(a: Layout | ComposedLayout, b: Layout | ComposedLayout) -> Layout:
    """Return a layout of coordinates that hold the same elements, contiguous, in both layouts.

    Law: with ``R`` the result, ``a(R(i)) - a(0) == b(R(i)) - b(0)`` for ``0 <= i < size(R)``, and
    this is ``i`` but where both have one swizzle and start at one offset of its block: then both
    change places alike. Any other swizzle cuts it down to what it and the offset leave in order
    (C++ does not look at the offsets). Raises as `pycute_xe.algebra.common.max_common_layout`.
    C++: ``max_common_layout``.

    >>> from pycute_xe.swizzle import Swizzle
    >>> X = ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, 16)))
    >>> print(max_common_layout(X, Layout((8, 16))))
    8:1
    """
    common_modes = common.max_common_layout(_beneath(a), _beneath(b))
    count = plain.size(common_modes)
    most = _kept(count, a, b)
    return common_modes if most == count else compose.composition(common_modes, Layout(most))


def max_common_vector(a: Layout | ComposedLayout, b: Layout | ComposedLayout) -> Any:
    """Return how many elements at the start lie alike, contiguous, in both layouts.

    Law: the size of `max_common_layout`. Raises as that does. C++: ``max_common_vector``.

    >>> from pycute_xe.swizzle import Swizzle
    >>> max_common_vector(ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, 16))), Layout((8, 16)))
    8
    >>> X = ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4)))
    >>> max_common_vector(X, X)
    16
    """
    return _kept(common.max_common_vector(_beneath(a), _beneath(b)), a, b)


def _beneath(layout: Layout | ComposedLayout) -> Layout:
    return layout.layout if isinstance(layout, ComposedLayout) else layout


def _kept(count: Any, *layouts: Layout | ComposedLayout) -> Any:
    """Return how many of the first offsets both swizzles, or none, put out of order."""
    if _alike(*layouts):
        return count
    for layout in layouts:
        if isinstance(layout, ComposedLayout) and layout.swizzle.bits:
            unbroken = gcd(1 << layout.swizzle.base, layout.offset)
            count = count if at_most(count, unbroken) else unbroken
    return count


def _alike(a: Layout | ComposedLayout, b: Layout | ComposedLayout) -> bool:
    """Tell whether one swizzle acts on both, at one place of its block."""
    if not isinstance(a, ComposedLayout) or not isinstance(b, ComposedLayout):
        return False
    bits = (a.swizzle.yyy_mask | a.swizzle.zzz_mask).bit_length()
    return a.swizzle == b.swizzle and (a.offset - b.offset) % (1 << bits) == 0


@typed
def get_swizzle_portion(layout: Layout | ComposedLayout) -> Swizzle:
    """Return the swizzle of a layout; of a plain layout one that changes nothing.

    Law: ``X(c) == get_swizzle_portion(X)(X.offset + get_nonswizzle_portion(X)(c))``, the offset 0
    without a swizzle. Raises `ShapeError` for a value that is not a layout. C++, CuTe DSL: same
    name, which give ``Sw<0,4,3>`` for a plain layout too.

    >>> from pycute_xe.swizzle import Swizzle
    >>> print(get_swizzle_portion(ComposedLayout(Swizzle(2, 3, 3), 0, Layout(64))))
    Sw<2,3,3>
    >>> print(get_swizzle_portion(Layout(64)))
    Sw<0,4,3>
    """
    if isinstance(layout, ComposedLayout):
        return layout.swizzle
    plain.as_layout(layout)
    return Swizzle(0, 4, 3)


@typed
def get_nonswizzle_portion(layout: Layout | ComposedLayout) -> Layout:
    """Return the layout beneath a swizzle, or a plain layout itself.

    Raises `ShapeError` for a value that is not a layout. C++, CuTe DSL: same name.

    >>> from pycute_xe.swizzle import Swizzle
    >>> print(get_nonswizzle_portion(ComposedLayout(Swizzle(2, 3, 3), 5, Layout((8, 8)))))
    (8,8):(1,8)
    """
    return plain.as_layout(_beneath(layout))


# ------------------------------------------------------------ domain


def make_layout_like(layout: Layout | ComposedLayout, *, share_ties: bool = False) -> Layout:
    """Return a compact layout of the same shape whose modes run in the same order.

    Law: as `pycute_xe.algebra.rearrange.make_layout_like`, of what is beneath a swizzle. Equal
    strides run left to right, and with ``share_ties`` stay equal, as in C++: ``make_layout_like``.

    >>> from pycute_xe.swizzle import Swizzle
    >>> print(make_layout_like(ComposedLayout(Swizzle(3, 4, 3), 6, Layout((8, 2), (2, 16)))))
    (8,2):(1,8)
    """
    return rearrange.make_layout_like(_beneath(layout), share_ties=share_ties)


class OnTrees(Protocol[Rest]):
    """A function that takes the modes of a layout, and those of a tuple as of a shape."""

    @overload
    def __call__(self, layout: tuple[Any, ...], /, *args: Rest.args, **kw: Rest.kwargs) -> Any: ...
    @overload
    def __call__(self, layout: AnyPlaced, /, *args: Rest.args, **kw: Rest.kwargs) -> AnyPlaced: ...
    def __call__(self, layout: Any, /, *args: Rest.args, **kw: Rest.kwargs) -> Any:
        """Apply the function to the layout, or to the tuple."""
        ...


def _on_trees(function: Callable[Concatenate[Any, Rest], Any]) -> OnTrees[Rest]:
    """Let a function that takes the modes of layouts take those of tuples, as C++ does."""

    @wraps(function)
    def lifted(layout: Any, /, *args: Rest.args, **kwargs: Rest.kwargs) -> Any:
        if type(layout) is TUPLE:
            return function(plain.unchecked(layout, layout), *args, **kwargs).shape
        return function(layout, *args, **kwargs)

    return cast("OnTrees[Rest]", lifted)


append = on_domain(plain.append)
append_ones = on_tensors(rearrange.append_ones)
_flattened = on_tensors(plain.flatten)
get = _on_trees(on_domain(plain.get))
group = _on_trees(on_tensors(plain.group))
prepend = on_domain(plain.prepend)
prepend_ones = on_tensors(rearrange.prepend_ones)
select = _on_trees(on_domain(plain.select))
take = _on_trees(on_tensors(plain.take))

_coalesced = on_tensors(compose.coalesce)
flat_divide = on_tensors(inverse.flat_divide)
_divided = on_tensors(inverse.logical_divide)
tiled_divide = on_tensors(inverse.tiled_divide)
zipped_divide = on_tensors(inverse.zipped_divide)
blocked_product = on_domain(product.blocked_product)
flat_product = on_domain(product.flat_product)
logical_product = on_domain(product.logical_product)
raked_product = on_domain(product.raked_product)
tile_to_shape = on_domain(product.tile_to_shape)
tiled_product = on_domain(product.tiled_product)
with_shape = on_domain(rearrange.with_shape)
zipped_product = on_domain(product.zipped_product)


@overload
def complement(layout: F2Layout, cotarget: IntTuple = 1) -> F2Layout: ...
@overload
def complement(layout: Layout, cotarget: IntTuple = 1) -> Layout: ...
def complement(layout: Any, cotarget: IntTuple = 1) -> Any:
    """Return a layout of the offsets that ``layout`` skips, up to ``cotarget``, a size or a shape.

    Law: plain layouts as `pycute_xe.algebra.inverse.complement`; of XOR strides, both together hit
    each offset below a power of two by XOR, as often as ``layout`` repeats offsets. Raises as that,
    and `DivisibilityError` for XOR strides with extents that are not powers of two. C++:
    ``complement``, of integer strides.

    >>> print(complement(Layout((2, 2), (1, 6)), 24))
    (3,2):(2,12)
    >>> from pycute_xe.f2 import F2
    >>> print(complement(F2Layout((2, 2), (F2(1), F2(6))), 16))
    (2,2):(F2(2),F2(8))
    """
    if type(layout) is F2Layout:
        return bits.complement_of_bits(layout, cotarget)
    return inverse.complement(layout, cotarget)


@overload
def logical_divide(layout: F2Layout, tiler: Any) -> F2Layout: ...
@overload
def logical_divide(layout: AnyPlaced, tiler: Tiler) -> AnyPlaced: ...
def logical_divide(layout: Any, tiler: Any) -> Any:
    """Split a layout into (tile, rest), or each of its modes by a tuple of tilers.

    Law: plain layouts, those beneath swizzles and those of tensors as
    `pycute_xe.algebra.inverse.logical_divide`; of XOR strides mode 0 is ``composition(layout,
    tiler)``, and both modes have each offset as often as the layout. Raises as that, and
    `DivisibilityError` where a tiler does not divide XOR strides. C++: ``logical_divide``.

    >>> print(logical_divide(Layout((4, 2, 3), (2, 1, 8)), Layout(4, 2)))
    ((2,2),(2,3)):((4,1),(2,8))
    >>> from pycute_xe.f2 import F2
    >>> print(logical_divide(F2Layout((4, 4), (F2(1), F2(5))), (2, None)))
    ((2,2),4):((F2(1),F2(2)),F2(5))
    """
    if type(layout) is F2Layout:
        return bits.divided_bits(layout, tiler)
    return _divided(layout, tiler)


@overload
def coalesce(layout: F2Layout, profile: IntTuple = None) -> F2Layout: ...
@overload
def coalesce(layout: AnyPlaced, profile: IntTuple = None) -> AnyPlaced: ...
def coalesce(layout: Any, profile: IntTuple = None) -> Any:
    """Return the same function with as few modes as its order allows, flat.

    Law: plain layouts, those beneath swizzles and those of tensors as
    `pycute_xe.algebra.compose.coalesce`, which says what a profile does; of XOR strides the bits of
    the index are regrouped, without a profile. C++: ``coalesce``.

    >>> from pycute_xe.f2 import F2
    >>> print(coalesce(F2Layout((2, (2, 4)), (F2(1), (F2(2), F2(9))))))
    (4,4):(F2(1),F2(9))
    """
    if type(layout) is Layout:
        return compose.coalesce(layout, profile)
    if type(layout) is F2Layout and profile is None:
        return bits.coalesced(layout)
    placed: Any = layout
    return _coalesced(placed, profile)


@overload
def coalesce_z(layout: F2Layout, profile: None = None) -> F2Layout: ...
@overload
def coalesce_z(layout: Layout, profile: IntTuple = None) -> Layout: ...
def coalesce_z(layout: Any, profile: IntTuple = None) -> Any:
    """Return the same function of every integer with as few modes as its order allows, flat.

    Law: plain layouts as `pycute_xe.algebra.refining.coalesce_z`; of XOR strides, without a
    profile, a last mode of extent 1 stays as well. The counterpart is in NVIDIA's PyCuTe.

    >>> print(coalesce_z(Layout((2, 1, 6, 1), (1, 7, 8, 0))))
    (2,6,1):(1,8,0)
    >>> from pycute_xe.f2 import F2
    >>> print(coalesce_z(F2Layout((2, 2, 3), (F2(1), F2(2), F2(4)))))
    12:F2(1)
    """
    if type(layout) is F2Layout and profile is None:
        return bits.coalesced(layout, keeps_last=True)
    plain_layout: Any = layout
    return refining.coalesce_z(plain_layout, profile)


@overload
def layout_add(a: F2Layout, b: F2Layout | Layout) -> F2Layout: ...
@overload
def layout_add(a: Layout, b: F2Layout) -> F2Layout: ...
@overload
def layout_add(a: Layout, b: Layout) -> Layout: ...
def layout_add(a: Any, b: Any) -> Any:
    """Return the layout of the sums of two layouts' offsets, by XOR for those of XOR strides.

    Law: ``layout_add(a, b)(i) == a(i) + b(i)``, as `pycute_xe.algebra.common.layout_add`, or
    ``a(i) ^ b(i)`` where both have XOR strides or one has and the other none that moves. The
    counterpart is in NVIDIA's PyCuTe.

    >>> from pycute_xe.f2 import F2
    >>> print(layout_add(F2Layout(8, F2(1)), F2Layout(8, F2(2))))
    8:F2(3)
    """
    a, b = (
        F2Layout(one.shape, one.stride)
        if type(one) is Layout and type(other) is F2Layout and not any(leaves(one.stride))
        else one
        for one, other in ((a, b), (b, a))
    )
    if type(a) is F2Layout and type(b) is F2Layout:
        return bits.summed_bits(a, b)
    left: Any = a
    return common.layout_add(left, b)


@overload
def flatten(layout: tuple[Any, ...]) -> tuple[Any, ...]: ...
@overload
def flatten(layout: AnyPlaced) -> AnyPlaced: ...
def flatten(layout: Any) -> Any:
    """Return the same function of a flat shape, or the leaves of a tuple.

    Law: every leaf is a mode of its own; of layouts, composed layouts, tensors and tuples.
    C++: ``flatten``.

    >>> print(flatten(Layout(((2, 3), 4))), flatten(((2, 3), 4)))
    (2,3,4):(1,2,6) (2, 3, 4)
    """
    return flatten_tuple(layout) if type(layout) is tuple else _flattened(layout)


@overload
def slice_(coord: Coord, layout: ComposedLayout) -> ComposedLayout: ...
@overload
def slice_(coord: Coord, layout: Layout) -> Layout: ...
@overload
def slice_(coord: Coord, layout: tuple[Any, ...]) -> tuple[Any, ...]: ...
def slice_(coord: Coord, layout: Any) -> Any:
    """Return the modes where the coordinate holds ``None``, of a layout, swizzled too, or a tuple.

    Law: for a plain layout as `pycute_xe.layout.slice_`; a swizzled one keeps the offset of the
    other modes inside, as `ComposedLayout.sliced`. Raises `CoordError` where the coordinate does
    not fit. C++: ``slice``.

    >>> from pycute_xe.swizzle import Swizzle
    >>> print(slice_((None, 1), ComposedLayout(Swizzle(1, 1, 1), 0, Layout((4, 2)))))
    Sw<1,1,1> o 4 o (4):(1)
    >>> slice_((None, (1, None)), (2, (5, 7)))
    (2, 7)
    """
    if type(layout) is TUPLE and not isinstance(coord, Layout):
        return layout if coord is None else sliced(coord, frozen(layout, "layout"))
    return layout.sliced(coord) if type(layout) is ComposedLayout else plain.slice_(coord, layout)


@overload
def slice_and_offset(coord: Coord, layout: ComposedLayout) -> tuple[ComposedLayout, int]: ...
@overload
def slice_and_offset(coord: Coord, layout: Layout) -> tuple[Layout, Any]: ...
def slice_and_offset(coord: Coord, layout: Any) -> tuple[Any, Any]:
    """Return the slice at a coordinate and the offset at which it starts, 0 for a swizzled layout.

    Law: ``L(c with d for None) == offset + sub(d)``. Raises as `slice_`. C++: same name.

    >>> from pycute_xe.swizzle import Swizzle
    >>> print(*slice_and_offset((None, 1), ComposedLayout(Swizzle(1, 1, 1), 0, Layout((4, 2)))))
    Sw<1,1,1> o 4 o (4):(1) 0
    """
    if type(layout) is ComposedLayout:
        return layout.sliced(coord), 0
    return plain.slice_and_offset(coord, layout)


def cosize(layout: Layout | ComposedLayout, *modes: int) -> Any:
    """Return the elements that a buffer must have, of a plain or a swizzled layout.

    Law: above every offset; for plain layouts as `pycute_xe.layout.cosize`, for swizzled ones
    whole blocks of the swizzle where it acts (`ComposedLayout.cosize`). C++: ``cosize``.

    >>> from pycute_xe.swizzle import Swizzle
    >>> cosize(ComposedLayout(Swizzle(1, 1, 1), 0, Layout((4, 2))))
    8
    """
    if not isinstance(layout, ComposedLayout):
        return plain.cosize(layout, *modes)
    return get(layout, *modes).cosize if modes else layout.cosize
