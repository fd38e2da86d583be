"""Floor 6: registers for what a work-item holds, and the same seen as another tiling walks it."""

from __future__ import annotations

from typing import Any

from pycute_xe.algebra import (
    composition,
    filter_zeros,
    logical_product,
    make_layout_like,
    right_inverse,
    upcast,
    with_shape,
    zipped_divide,
)
from pycute_xe.algebra.simplify import scaled
from pycute_xe.errors import CuteError, DivisibilityError
from pycute_xe.int_tuple import leaves, product_each
from pycute_xe.layout import Layout, make_layout, size

__all__ = ["fragment_layout", "retile_layout"]


def retile_layout(
    fragment: Layout, layout_tv: Layout, tiler_mn: tuple[int, ...], atom_values: int
) -> Layout:
    """Return a fragment's layout ((FrgV, FrgX), rest…) in the order of a tiled copy's values.

    ``fragment`` is (V, RestM, RestN), as an MMA partitions a tile: V values of one instruction, and
    its repetitions. Law: where the first V values of a work-item in ``layout_tv`` are those of an
    instruction, value ``i`` of the result is the value of the fragment that `partition_S` (or
    ``_D``) puts at ``i``. Raises `DivisibilityError` where the repetitions are not whole copies.
    C++: ``TiledCopy::retile``.
    """
    threads, count = size(layout_tv[0]), size(fragment[0])
    try:
        # Where in the tile the V values of an instruction go together, and in which order.
        inverse = with_shape(right_inverse(layout_tv), tuple(tiler_mn))
        groups = upcast(inverse, threads * count)
        order = logical_product(Layout(count), right_inverse(groups))
        atoms = zipped_divide(order, atom_values)
        tile, rest = zipped_divide(fragment, (count, *product_each(groups.shape)))
        values = composition(tile, atoms)
    except CuteError as error:
        raise DivisibilityError(
            "retile",
            {"fragment": fragment, "layout_tv": layout_tv, "tiler": tiler_mn},
            f"the fragment is not whole repetitions of the copy: {error.condition}",
            "partition with an MMA of the same tile, or use make_tiled_copy_A(atom, mma)",
        ) from error
    others: list[Any] = list(rest)[1:]
    return make_layout(values, *others)


def fragment_layout(held: Layout) -> Layout:
    """Return a compact layout of a fragment's shape: the values of one instruction first.

    Law: the first mode counts colexicographically; the others follow in the order of their strides,
    in that of their modes where those are coordinates. What has stride 0 is held once. C++:
    ``make_fragment_like``.

    >>> print(fragment_layout(Layout(((2, 4), 3, 5), ((32, 1), 500, 100))))
    ((2,4),3,5):((1,2),40,8)
    """
    if len(held) < 2 or any(type(d) is not int for d in leaves(held.stride)):
        return Layout(held.shape)
    first, others = held[0], make_layout_like(make_layout(*list(held)[1:]))
    kept = Layout(filter_zeros(first).shape)  # whose extents of 1 have stride 0
    once = Layout(first.shape, kept.stride)
    return make_layout(once, *(scaled(m, size(kept)) for m in others))
