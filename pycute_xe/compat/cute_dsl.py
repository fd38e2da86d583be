"""The names of NVIDIA's CuTe DSL, so that its layout code runs outside of a kernel.

``from pycute_xe.compat import cute_dsl as cute`` takes the place of ``import cutlass.cute as cute``
for layouts, tuples, swizzles and tensors: the same names, arguments and nesting of results.
Deliberate differences:

- Functions are called as they are, without ``@cute.jit``; numbers of the run time are symbols.
- Where no layout is the answer, these functions raise a `CuteError`; the DSL at times returns
  another function.
- Equal orders share a stride in ``make_ordered_layout`` and ``make_layout_like``, as in C++; the
  functions of these names in `pycute_xe` run them left to right unless asked.
- A swizzle prints as in C++, ``Sw<2,4,3>``.
- Atoms, kernels and what needs a GPU are not repeated here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pycute_xe import algebra, int_tuple, layout as plain, tensor as tensors
from pycute_xe.algebra import (
    append_ones,
    complement,
    composition,
    filter,
    filter_zeros,
    get_nonswizzle_portion,
    get_swizzle_portion,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout_image_mask,
    make_layout_tv,
    max_common_layout,
    max_common_vector,
    nullspace,
    prepend_ones,
    right_inverse,
    swizzled as _swizzled,
    zipped_divide,
    zipped_product,
)
from pycute_xe.basis import Basis, E as _basis_element
from pycute_xe.chained import make_composed_layout
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import RankError
from pycute_xe.int_tuple import (
    ceil_div,
    congruent as is_congruent,
    elem_less,
    flatten_tuple as flatten_to_tuple,
    increment_coord,
    product,
    product_like,
    repeat_like,
    round_up,
    shape_div,
    weakly_congruent as is_weakly_congruent,
)
from pycute_xe.layout import (
    Layout,
    depth,
    is_major,
    leading_dim,
    make_identity_layout,
    make_layout,
)
from pycute_xe.layout.modes import MOST_MODES
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle
from pycute_xe.symbolic import assume, get_divisibility
from pycute_xe.tensor import (
    Tensor,
    domain_offset,
    local_partition,
    make_identity_tensor,
    make_tensor,
)
from pycute_xe.typing import Coord, IntTuple, Shape, Tiler, is_tuple

__all__ = [
    "ComposedLayout",
    "E",
    "Layout",
    "Swizzle",
    "Tensor",
    "append",
    "append_ones",
    "assume",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "complement",
    "composition",
    "cosize",
    "crd2idx",
    "depth",
    "dice",
    "domain_offset",
    "elem_less",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "flatten_to_tuple",
    "get",
    "get_divisibility",
    "get_nonswizzle_portion",
    "get_swizzle_portion",
    "group_modes",
    "idx2crd",
    "increment_coord",
    "is_congruent",
    "is_major",
    "is_weakly_congruent",
    "leading_dim",
    "left_inverse",
    "local_partition",
    "local_tile",
    "logical_divide",
    "logical_product",
    "make_composed_layout",
    "make_identity_layout",
    "make_identity_tensor",
    "make_layout",
    "make_layout_image_mask",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "make_swizzle",
    "make_tensor",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "prepend",
    "prepend_ones",
    "product",
    "product_each",
    "product_like",
    "raked_product",
    "rank",
    "recast_layout",
    "repeat_like",
    "right_inverse",
    "round_up",
    "select",
    "shape",
    "shape_div",
    "size",
    "slice_",
    "slice_and_offset",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "transform_leaf",
    "zipped_divide",
    "zipped_product",
]

# Operations on layouts, swizzled ones and tuples: overloads leave their kind open.
swizzled: Any = _swizzled
layouts: Any = plain

# ------------------------------------------------------------ layouts and parts


@typed
def E(mode: int | Sequence[int]) -> Basis:
    """Return the basis element of a mode, or of a path of modes.

    >>> print(E(1), E([0, 1]))
    1@1 1@1@0
    """
    return _basis_element(*((mode,) if isinstance(mode, int) else mode))


@typed
def make_swizzle(b: int, m: int, s: int) -> Swizzle:
    """Return the swizzle of ``b`` bits from bit ``m`` on, ``s`` bits apart.

    >>> print(make_swizzle(2, 4, 3))
    Sw<2,4,3>
    """
    return Swizzle(b, m, s)


@typed
def make_ordered_layout(shape: Shape, order: IntTuple) -> Layout:
    """Return a compact layout whose modes run in an order; equal orders share a stride.

    >>> print(make_ordered_layout((4, 3, 2), (0, 1, 1)))
    (4,3,2):(1,4,4)
    """
    return plain.make_ordered_layout(shape, order, share_ties=True)


@typed
def make_layout_like(input: Any) -> Layout:
    """Return a compact layout in the order of another; equal strides stay equal.

    >>> print(make_layout_like(Layout((4, 12, 5), (3, 24, 3))))
    (4,12,5):(1,20,1)
    """
    return algebra.make_layout_like(input, share_ties=True)


@typed
def recast_layout(new_type_bits: int, old_type_bits: int, src_layout: Any) -> Any:
    """Return the layout of the same memory in elements of another width.

    >>> print(recast_layout(32, 64, Layout((4, 2))))
    (8,2):(1,8)
    """
    return swizzled.recast_layout(src_layout, old_type_bits, new_type_bits)


@typed
def shape(input: Any, *, mode: int | Sequence[int] | None = None) -> Shape:
    """Return the shape of a layout or a tensor, or that of a mode.

    >>> shape(Layout((4, (2, 3))), mode=1)
    (2, 3)
    """
    return plain.shape(input, *_path(mode))


@typed
def size(a: Any, mode: int | Sequence[int] | None = None) -> Any:
    """Return the number of coordinates, or that of a mode.

    >>> size(Layout((4, 8))), size(Layout((4, 8)), mode=[1])
    (32, 8)
    """
    return plain.size(a, *_path(mode))


@typed
def rank(a: Any, mode: int | Sequence[int] | None = None) -> int:
    """Return the number of modes, or that of the modes of a mode.

    >>> rank(Layout((4, (2, 3)))), rank(Layout((4, (2, 3, 5))), mode=[1])
    (2, 3)
    """
    return plain.rank(a, *_path(mode))


@typed
def cosize(a: Any, mode: int | Sequence[int] | None = None) -> Any:
    """Return one more than the largest offset, or that of a mode.

    >>> cosize(Layout((4, 8), (1, 5)))
    39
    """
    return swizzled.cosize(a, *_path(mode))


def _path(mode: int | Sequence[int] | None) -> tuple[int, ...]:
    return () if mode is None else (mode,) if isinstance(mode, int) else tuple(mode)


@typed
def get(input: Any, mode: int | Sequence[int]) -> Any:
    """Return a mode of a layout or of a tuple, or a mode within a mode.

    >>> print(get(Layout((4, (3, 6))), mode=[1, 0]))
    3:4
    """
    return swizzled.get(input, *_path(mode))


@typed
def select(input: Any, mode: Sequence[int]) -> Any:
    """Return a layout or a tuple of the chosen modes.

    >>> print(select(Layout((2, 3, 5)), mode=[2, 0]))
    (5,2):(6,1)
    """
    return swizzled.select(input, *mode)


@typed
def group_modes(input: Any, begin: int, end: int | None = None) -> Any:
    """Gather modes ``begin`` to ``end - 1`` into one; to the last where no end is given.

    >>> print(group_modes(Layout((2, 3, 5)), 1))
    (2,(3,5)):(1,(2,6))
    """
    return swizzled.group(input, begin, plain.rank(input) if end is None else end)


@typed
def slice_(src: Any, coord: Coord) -> Any:
    """Return the modes where the coordinate holds ``None``.

    >>> print(slice_(Layout((4, 8), (8, 1)), (2, None)))
    (8):(1)
    """
    return src(coord) if isinstance(src, Tensor) else swizzled.slice_(coord, src)


@typed
def dice(src: Any, dicer: Coord) -> Any:
    """Return the modes where the coordinate holds no ``None``.

    >>> print(dice(Layout((4, 8), (8, 1)), (2, None)))
    (4):(8)
    """
    return layouts.dice(dicer, src)


@typed
def slice_and_offset(coord: Coord, src: Any) -> tuple[Any, Any]:
    """Return the slice at a coordinate and the offset at which it starts.

    >>> slice_and_offset((None, 2), Layout((4, 8), (8, 1)))
    (Layout((4,), (8,)), 2)
    """
    return swizzled.slice_and_offset(coord, src)


@typed
def append(input: Any, elem: Any, up_to_rank: int | None = None) -> Any:
    """Add a mode at the end, as often as it takes to reach a rank; of a tuple, an entry.

    >>> print(append(Layout((2, 3)), Layout(1), 4), append((2, 3), 1, 4))
    (2,3,1,1):(1,2,0,0) (2, 3, 1, 1)
    """
    if isinstance(input, (Layout, ComposedLayout)):
        return swizzled.append(input, elem, up_to_rank)
    entries, count = _entries(input, up_to_rank)
    return entries + (elem,) * count


@typed
def prepend(input: Any, elem: Any, up_to_rank: int | None = None) -> Any:
    """Add a mode at the front, as often as it takes to reach a rank; of a tuple, an entry.

    >>> print(prepend(Layout((2, 3)), Layout(1)), prepend((2, 3), 1))
    (1,2,3):(0,1,2) (1, 2, 3)
    """
    if isinstance(input, (Layout, ComposedLayout)):
        return swizzled.prepend(input, elem, up_to_rank)
    entries, count = _entries(input, up_to_rank)
    return (elem,) * count + entries


def _entries(value: Any, up_to_rank: int | None) -> tuple[tuple[Any, ...], int]:
    """Return the entries of a tuple or of an integer, and how many it takes to reach a rank."""
    entries: tuple[Any, ...] = value if is_tuple(value) else (value,)
    count = 1 if up_to_rank is None else up_to_rank - len(entries)
    if not 0 <= count <= MOST_MODES:
        given = {"input": value, "up_to_rank": up_to_rank}
        wrong = f"the tuple has {len(entries)} entries"
        raise RankError("append", given, wrong, "use its rank or a little more")
    return entries, count


def flatten(a: Any) -> Any:
    """Return the same function of a flat shape, or the leaves of a tuple.

    >>> print(flatten(Layout(((2, 3), 4))), flatten(((2, 3), 4)), flatten(4))
    (2,3,4):(1,2,6) (2, 3, 4) 4
    """
    return a if isinstance(a, int) else swizzled.flatten(a)


@typed
def product_each(a: IntTuple) -> IntTuple:
    """Return the size of every mode; an integer stays one.

    >>> product_each(((2, 3), 4)), product_each(8)
    ((6, 4), 8)
    """
    each = int_tuple.product_each(a)
    return each if is_tuple(a) else each[0]


@typed
def transform_leaf(f: Callable[..., Any], *args: Any) -> Any:
    """Apply a function to each leaf of a tuple, or to the leaves of several at one place.

    >>> transform_leaf(lambda x, y: x + y, (1, (2, 3)), (10, (20, 30)))
    (11, (22, 33))
    """
    return int_tuple.transform_leaf(args[0], f, *args[1:])


@typed
def crd2idx(coord: Coord, layout: Any) -> Any:
    """Return the offset of a coordinate in a layout, or its index in a shape.

    >>> crd2idx((1, 2), Layout((4, 8), (8, 1))), crd2idx((1, 2), (4, 8))
    (10, 9)
    """
    if isinstance(layout, (Layout, ComposedLayout)):
        return layout(coord)
    return int_tuple.crd2idx(coord, layout)


@typed
def idx2crd(idx: Any, shape: Shape) -> Coord:
    """Return the coordinate of an index.

    >>> idx2crd(9, (4, 8))
    (1, 2)
    """
    return int_tuple.idx2crd(idx, shape)


# ------------------------------------------------------------ operations


@typed
def coalesce(input: Any, *, target_profile: Any = None) -> Any:
    """Return the same function with as few modes as its order allows, or mode by mode.

    >>> print(coalesce(Layout((2, (1, 6)), (1, (6, 2)))))
    12:1
    """
    return algebra.coalesce(input, target_profile)


@typed
def raked_product(block: Any, tiler: Layout) -> Any:
    """Repeat a layout mode by mode, the blocks interleaved, each mode coalesced.

    >>> print(raked_product(Layout(2, 3), Layout((3,))))
    (6):(1)
    """
    out = algebra.raked_product(block, tiler)
    return algebra.coalesce(out, (1,) * len(out))


@typed
def blocked_product(block: Any, tiler: Layout) -> Any:
    """Repeat a layout mode by mode, each block in one piece.

    >>> print(blocked_product(Layout((2, 5), (5, 1)), Layout((3, 4))))
    ((2,3),(5,4)):((5,10),(1,30))
    """
    return _whole_copies(block, tiler.shape, algebra.blocked_product(block, tiler))


def _whole_copies(block: Any, copies: Shape, product: Any) -> Any:
    """Return a product whose copies stay a tuple of one mode beside a block without modes."""
    if is_tuple(plain.shape(block)) or not is_tuple(copies) or len(copies) != 1:
        return product
    first, second = product[0]
    return make_layout(make_layout(first, make_layout(second)))


@typed
def tile_to_shape(atom: Any, trg_shape: Shape, order: IntTuple) -> Any:
    """Repeat a layout until it fills a shape, the copies in the given order of modes.

    >>> print(tile_to_shape(Layout((2, 2), (2, 1)), (4, 6), (0, 1)))
    ((2,2),(2,3)):((2,4),(1,8))
    """
    out = algebra.tile_to_shape(atom, trg_shape, order)
    return out if isinstance(out, ComposedLayout) else _whole_copies(atom, trg_shape, out)


def _unpacked(layout: Any, *halves: int) -> Any:
    """Return a layout of two modes in which some are replaced by their modes, one mode too."""
    first, second = layout[0], layout[1]
    modes = [*(first if 0 in halves else [first]), *(second if 1 in halves else [second])]
    return make_layout(*modes)


def _on_layouts(operation: Callable[[Any, Any], Any], *halves: int) -> Callable[[Any, Any], Any]:
    """Return a divide or product with its modes unpacked, of what is beneath a swizzle too."""

    def unpacked(target: Any, tiler: Any) -> Any:
        if isinstance(target, ComposedLayout):
            return target.with_layout(unpacked(target.layout, tiler))
        return _unpacked(operation(target, tiler), *halves)

    return unpacked


@typed
def tiled_divide(target: Any, tiler: Tiler) -> Any:
    """As `zipped_divide`, with the rest modes unpacked, also one alone.

    >>> print(tiled_divide(Layout((4,)), (4,)))
    ((4),1):((1),0)
    """
    return _on_layouts(zipped_divide, 1)(target, tiler)


@typed
def flat_divide(target: Any, tiler: Tiler) -> Any:
    """As `zipped_divide`, with all modes unpacked, also one alone.

    >>> print(flat_divide(Layout((8,)), (Layout(8),)))
    (8,1):(1,0)
    """
    return _on_layouts(zipped_divide, 0, 1)(target, tiler)


@typed
def tiled_product(block: Any, tiler: Layout) -> Any:
    """As `zipped_product`, with the copies unpacked, also one mode alone.

    >>> print(tiled_product(Layout((8, 1), (2, 16)), Layout((2,))))
    ((8,1),2):((2,16),1)
    """
    return _on_layouts(zipped_product, 1)(block, tiler)


@typed
def flat_product(block: Any, tiler: Layout) -> Any:
    """As `zipped_product`, with all modes unpacked, also one alone.

    >>> print(flat_product(Layout((4,)), Layout(6)))
    (4,6):(1,4)
    """
    return _on_layouts(zipped_product, 0, 1)(block, tiler)


@typed
def local_tile(input: Tensor, tiler: Tiler, coord: Coord, proj: Any = None) -> Tensor:
    """Return the tile of a tensor at a tile coordinate; ``None`` in ``proj`` leaves a mode out.

    >>> print(local_tile(make_identity_tensor((8, 16)), (4, 3, 8), (1, 5, 1), proj=(1, None, 1)))
    (4,8) o (4,8):(1@0,1@1)
    """
    marks = tuple("X" if part is None else part for part in proj) if is_tuple(proj) else proj
    return tensors.local_tile(input, tiler, coord, marks)
