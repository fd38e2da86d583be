"""The registers of a whole subgroup, and which elements of a tile they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

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
from pycute_xe.algebra.compose import scaled
from pycute_xe.bulk import entries
from pycute_xe.errors import (
    CoordError,
    CuteError,
    DivisibilityError,
    RankError,
    ShapeError,
    quoted,
)
from pycute_xe.int_tuple import leaves, product_each
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.tensor import Tensor

__all__ = [
    "SubgroupTensor",
    "demand_thread",
    "in_order",
    "make_subgroup_tensor",
    "Owner",
    "owners_in",
    "fragment_layout",
    "retile_layout",
]

# ------------------------------------------------------------ retiling
# Registers for what a work-item holds, and the same seen as another tiling walks it.


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


def fragment_layout(fragment: Layout) -> Layout:
    """Return a compact layout of a fragment's shape: the values of one instruction first.

    Law: the first mode counts colexicographically; the others follow in the order of their strides,
    in that of their modes where those are coordinates. What has stride 0 is held once. C++:
    ``make_fragment_like``.

    >>> print(fragment_layout(Layout(((2, 4), 3, 5), ((32, 1), 500, 100))))
    ((2,4),3,5):((1,2),40,8)
    """
    if len(fragment) < 2 or any(type(d) is not int for d in leaves(fragment.stride)):
        return Layout(fragment.shape)
    first, others = fragment[0], make_layout_like(make_layout(*list(fragment)[1:]))
    kept = Layout(filter_zeros(first).shape)  # whose extents of 1 have stride 0
    once = Layout(first.shape, kept.stride)
    return make_layout(once, *(scaled(m, size(kept)) for m in others))


# ------------------------------------------------------------ owning
# Which work-items hold an element of a tile.

_SUBGROUP = 16


class Owner(NamedTuple):
    """One holder of an element: its subgroup, the work-item within, and which value it is."""

    subgroup: int
    work_item: int
    value: int


def owners_in(
    tv: Layout, tile: tuple[int, ...], place: tuple[Any, ...], what: object
) -> tuple[Owner, ...]:
    """Return who holds an element of a tile, by a (work-item, value) map to offsets in it.

    Raises `CoordError` for a place outside the tile, naming ``what``.

    >>> owners_in(Layout((32, 4), (4, 1)), (4, 32), (1, 20), "an example")
    (Owner(subgroup=1, work_item=4, value=1),)
    """
    inside = len(place) == len(tile) and all(
        type(p) is int and 0 <= p < extent for p, extent in zip(place, tile, strict=True)
    )
    if not inside:
        raise CoordError(
            "owner_of",
            {"in": what, "place": place},
            f"{quoted(place)} is not in a tile of {' x '.join(map(str, tile))}",
            "count from 0",
        )
    offset = sum(p * step for p, step in zip(place, Layout(tile).stride, strict=True))
    threads = size(tv[0])
    holding = (i for i, at in enumerate(entries(tv)) if at == offset)
    owners = sorted((i % threads, i // threads) for i in holding)
    return tuple(Owner(t // _SUBGROUP, t % _SUBGROUP, v) for t, v in owners)


# ------------------------------------------------------------ subgroup tensor


@typed_fields
@dataclass(frozen=True, slots=True)
class SubgroupTensor:
    """One work-item's registers with the layout of its whole subgroup.

    ``tv_layout`` maps (work-item, value) to where in the subgroup's part of a tile the value lies,
    values in the order of the registers. Raises `ShapeError` where registers and values differ in
    number. C++: ``SubgroupTensor``, whose ``tensor()`` and ``tv_layout()`` these are.
    """

    tensor: Tensor
    tv_layout: Layout

    def __post_init__(self) -> None:
        """Check that the values are those of the registers."""
        count = size(self.tensor.beneath)
        if len(self.tv_layout) != 2 or size(self.tv_layout[1]) != count:
            raise ShapeError(
                "make_subgroup_tensor",
                {"tensor": self.tensor, "tv_layout": self.tv_layout},
                f"{self.tv_layout} does not map (work-item, value) of {count} values",
                "give a layout of two modes, the second of as many values as the tensor",
            )

    def __str__(self) -> str:
        """The registers and the layout."""
        return f"{self.tensor}, of the subgroup {self.tv_layout}"


@typed
def make_subgroup_tensor(tensor: Tensor, tv_layout: Layout) -> SubgroupTensor:
    """Return registers with the layout of their subgroup. C++: ``make_subgroup_tensor``.

    >>> from pycute_xe.tensor import make_tensor
    >>> print(make_subgroup_tensor(make_tensor(None, Layout(8)), Layout((16, 8), (8, 1))))
    0 o 8:1, of the subgroup (16,8):(8,1)
    """
    return SubgroupTensor(tensor, tv_layout)


def in_order(registers: Tensor, values: Layout) -> Layout:
    """Return a layout of values in the order of the registers that hold them.

    >>> from pycute_xe.tensor import make_tensor
    >>> print(in_order(make_tensor(None, Layout((2, 4), (4, 1))), Layout((2, 4))))
    (4,2):(2,1)
    """
    order = right_inverse(registers.beneath)
    return values if order == Layout(size(order)) else composition(values, order)


def demand_thread(thread: object, count: int) -> None:
    """Refuse anything but the number of one of the work-items of a tiling."""
    if type(thread) is not int or not 0 <= thread < count:
        condition = f"{quoted(thread)} is not one of the {count} work-items"
        raise RankError("get_slice", {"thread": thread}, condition, f"use 0 to {count - 1}")
