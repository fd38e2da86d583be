"""Who holds what of a tile: thread-value layouts, and masks of the offsets along one mode."""

from __future__ import annotations

from pycute_xe.algebra.compose import composition, filter_zeros
from pycute_xe.algebra.inverse import right_inverse
from pycute_xe.algebra.product import raked_product
from pycute_xe.algebra.relations import is_bijective
from pycute_xe.errors import CoordError, DivisibilityError, RankError, ShapeError
from pycute_xe.int_tuple import leaves, product_each
from pycute_xe.layout import Layout, as_layout, has_symbols, size, slice_and_offset
from pycute_xe.layout.core import moves
from pycute_xe.signatures import typed
from pycute_xe.typing import Coord, Shape, is_tuple, naming

__all__ = ["make_layout_image_mask", "make_layout_tv"]

MASK_BITS = 16


@naming
@typed
def make_layout_tv(thr_layout: Layout, val_layout: Layout) -> tuple[Shape, Layout]:
    """Return the tile that threads hold, each ``val_layout`` elements in one block, and who does.

    The result is ``(tiler, tv)``: the extents of the tile, and the layout from (thread, value) to
    the index in it. ``thr_layout`` maps a place of blocks to a thread, ``val_layout`` a place in a
    block to a value. Law: ``raked_product(thr_layout, val_layout)(tv(t, v)) == t + v *
    size(thr_layout)``. Raises `DivisibilityError` for a layout that does not number each thread or
    value once. CuTe DSL: same name. C++: what ``make_tiled_copy`` does first.

    >>> tiler, tv = make_layout_tv(Layout((2, 3), (3, 1)), Layout((2, 2), (2, 1)))
    >>> print(tiler, tv)
    (4, 6) ((3,2),(2,2)):((8,2),(4,1))
    """
    for what, layout in (("work-item", thr_layout), ("value", val_layout)):
        if not is_bijective(layout):
            raise DivisibilityError(
                "make_layout_tv",
                {"thr_layout": thr_layout, "val_layout": val_layout},
                f"{layout} does not number each {what} once",
                f"use a layout onto 0 to {size(layout) - 1}",
            )
    numbers = raked_product(thr_layout, val_layout)
    counts = Layout((size(thr_layout), size(val_layout)))
    return product_each(numbers.shape), composition(right_inverse(numbers), counts)


@naming
@typed
def make_layout_image_mask(layout: Layout, coord: Coord, mode: int) -> int:
    """Return the offsets along one mode, through a coordinate, as bits of a mask.

    Law: bit ``o`` is set where ``layout`` maps ``coord``, with some index in place of its entry
    ``mode``, to ``o``. Raises `CoordError` for a coordinate of other modes, `RankError` for a mode
    that the layout lacks, `ShapeError` for offsets that are not 0 to 15. CuTe DSL: same name, whose
    result is a signed number of 16 bits. C++: ``create_tma_multicast_mask``.

    >>> bin(make_layout_image_mask(Layout((2, 4), (1, 2)), (1, 0), 1))
    '0b10101010'
    """
    whole = as_layout(layout)
    given = {"layout": layout, "coord": coord, "mode": mode}
    if not 0 <= mode.__index__() < len(whole):
        fix = f"use 0 to {len(whole) - 1}"
        raise RankError("make_layout_image_mask", given, f"mode {mode} is not a mode", fix)
    if not is_tuple(coord) or len(coord) != len(whole):
        wrong = f"the coordinate must have an entry for each of the {len(whole)} modes"
        raise CoordError("make_layout_image_mask", given, wrong, "write one entry for each mode")
    if moves(whole.stride) or has_symbols(whole):
        wrong, fix = "offsets must be numbers", "compose to integer offsets, substitute symbols"
        raise ShapeError("make_layout_image_mask", given, wrong, fix)
    cut = tuple(None if i == mode else entry for i, entry in enumerate(coord))
    line, start = slice_and_offset(cut, whole)
    steps = filter_zeros(line)  # as many as the offsets allow, however long the mode is
    modes = zip(leaves(steps.shape), leaves(steps.stride), strict=True)
    ends = [(extent - 1) * by for extent, by in modes]
    least, most = (start + sum(pick(0, end) for end in ends) for pick in (min, max))
    if least < 0 or most >= MASK_BITS:
        wrong = f"the offsets go from {least} to {most}, and a mask has bits 0 to {MASK_BITS - 1}"
        fix = f"use a layout and a coordinate whose offsets are 0 to {MASK_BITS - 1}"
        raise ShapeError("make_layout_image_mask", given, wrong, fix)
    return sum(1 << place for place in {start + steps(i) for i in range(size(steps))})
