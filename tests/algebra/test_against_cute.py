"""The algebra against CuTe C++, layout by layout (tests/data/README.md says where they come from).

Equal here means equal shapes and equal strides, nesting included: more than the same function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from every import every
from golden import rows, to_coord, to_layout, to_tiler, to_tuple

from pycute_xe import algebra
from pycute_xe.algebra import composition, zipped_divide
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import DivisibilityError
from pycute_xe.int_tuple import crd2idx, idx2crd, shape_div
from pycute_xe.layout import (
    dice,
    flatten,
    group,
    make_identity_layout,
    make_ordered_layout,
    size,
    slice_,
    slice_and_offset,
)
from pycute_xe.swizzle import Swizzle
from pycute_xe.tensor import (
    Tensor,
    local_partition,
    local_tile,
    make_identity_tensor,
    make_tensor,
)

Row = dict[str, Any]

LAYOUT = ("coalesce", "filter", "filter_zeros", "left_inverse", "nullspace", "right_inverse")
LAYOUT_TILER = (
    "composition",
    *(f"{kind}_divide" for kind in ("logical", "zipped", "tiled", "flat")),
    *(f"{kind}_product" for kind in ("logical", "zipped", "tiled", "flat", "blocked", "raked")),
)


def tensor(value: Any) -> Tensor:
    """A layout counts its offsets; a shape is an identity tensor."""
    if isinstance(value, dict):
        return make_tensor(None, to_layout(value))
    return make_identity_tensor(to_tuple(value))


def divided_identity(shape: Any, tiler: Any) -> Tensor:
    whole = make_identity_tensor(to_tuple(shape))
    return Tensor(None, whole.base, zipped_divide(whole.layout, to_tiler(tiler)))


def index_of(coord: Any, layout: Row) -> Any:
    whole = to_layout(layout)
    return crd2idx(to_tuple(coord), whole.shape, whole.stride)


def tile_of(value: Any, tile: Any, coord: Any, *proj: Any) -> Tensor:
    return local_tile(tensor(value), to_tuple(tile), to_coord(coord), *map(to_tuple, proj))


def partition_of(value: Any, threads: Row, index: int) -> Tensor:
    return local_partition(tensor(value), to_layout(threads), index)


def swizzled(swizzle: list[int], layout: Row) -> Any:
    return algebra.composition(Swizzle(*swizzle), to_layout(layout))


# Every operation of the data, as a function of its JSON arguments.
CALLS: dict[str, Callable[..., Any]] = {
    **{op: lambda a, op=op: getattr(algebra, op)(to_layout(a)) for op in LAYOUT},
    **{
        op: lambda a, b, op=op: getattr(algebra, op)(to_layout(a), to_tiler(b))
        for op in LAYOUT_TILER
    },
    "composition_tile": lambda a, b: composition(to_layout(a), to_tiler(b)),
    "composition_identity": lambda a, b: composition(
        make_identity_layout(to_tuple(a)), to_tiler(b)
    ),
    "zipped_divide_identity": divided_identity,
    "coalesce_by_mode": lambda a, by: algebra.coalesce(to_layout(a), to_tuple(by)),
    "complement": lambda a, *n: algebra.complement(to_layout(a), *map(to_tuple, n)),
    "upcast": lambda a, n: algebra.upcast(to_layout(a), n),
    "downcast": lambda a, n: algebra.downcast(to_layout(a), n),
    "recast_layout": lambda a, old, new: algebra.recast_layout(to_layout(a), old, new),
    "tile_to_shape": lambda a, *b: algebra.tile_to_shape(to_layout(a), *map(to_tuple, b)),
    "flatten": lambda a: flatten(to_layout(a)),
    "group": lambda a, begin, end: group(to_layout(a), begin, end),
    "slice": lambda c, a: slice_(to_coord(c), to_layout(a)),
    "dice": lambda c, a: dice(to_coord(c), to_layout(a)),
    "slice_and_offset": lambda c, a: slice_and_offset(to_coord(c), to_layout(a)),
    "make_identity_layout": lambda a: make_identity_layout(to_tuple(a)),
    "make_ordered_layout": lambda a, order: make_ordered_layout(to_tuple(a), to_tuple(order)),
    "local_tile": tile_of,
    "local_tile_identity": tile_of,
    "local_tile_proj": tile_of,
    "local_partition": partition_of,
    "local_partition_identity": partition_of,
    "shape_div": lambda a, b: shape_div(to_tuple(a), to_tuple(b)),
    "idx2crd": lambda i, a: idx2crd(i, to_tuple(a)),
    "crd2idx": index_of,
    "max_common_layout": lambda a, b: algebra.max_common_layout(to_layout(a), to_layout(b)),
    "max_common_vector": lambda a, b: algebra.max_common_vector(to_layout(a), to_layout(b)),
    "composition_swizzle": swizzled,
    "tile_to_shape_swizzle": lambda z, a, b: algebra.tile_to_shape(swizzled(z, a), to_tuple(b)),
    "upcast_swizzle": lambda z, a, n: algebra.upcast(swizzled(z, a), n),
    "downcast_swizzle": lambda z, a, n: algebra.downcast(swizzled(z, a), n),
}


def text(value: Any) -> str:
    if isinstance(value, dict):
        return text(value["tile"]) if "tile" in value else str(to_layout(value))
    if isinstance(value, list):
        return f"({','.join(map(text, value))})"
    return str(value)


def name(row: Row) -> str:
    return f"{row['op']}-{'-'.join(map(text, row['args']))}"


def is_exception(row: Row) -> bool:
    """The one case where C++ returns a layout that is not the composition (see below)."""
    return row["op"] == "composition_tile" and row["args"][1]["tile"][0] == {
        "shape": [[2, 8]],
        "stride": [[6, 6]],
    }


def grows_twice(row: Row) -> bool:
    """Whether C++ counts the parts of an element in two leaves of stride 1."""
    op, args = row["op"], row["args"]
    narrower = op == "downcast" or (op == "recast_layout" and args[1] > args[2])
    return narrower and to_layout(args[0]).stride == (1, 1)


DATA = rows("cute_layout_algebra")
CASES = [row for row in DATA["cases"] if not is_exception(row) and not grows_twice(row)]
GROWN = [row for row in DATA["cases"] if grows_twice(row)]
EXCEPTIONS = [row for row in DATA["cases"] if is_exception(row)]


def test_all_operations_are_covered() -> None:
    assert {row["op"] for row in DATA["cases"]} == set(CALLS)
    assert len(CASES) + len(GROWN) == 371
    assert len(GROWN) == 3
    assert len(STRAIGHT) == 2
    assert len(EXCEPTIONS) == 1


@every("row", CASES, ids=name)
def test_same_as_cute(row: Row) -> None:
    got = CALLS[row["op"]](*row["args"])
    if "value" in row:
        assert got == to_tuple(row["value"])
    elif "swizzle" in row:
        offset, inner = row["offset_within"], to_layout(row["layout"])
        assert got == ComposedLayout(Swizzle(*row["swizzle"]), offset, inner)
    elif "base" in row:
        assert got.layout == to_layout(row["layout"])
        assert got.base == to_tuple(row["base"])
    elif "offset" in row:
        assert got == (to_layout(row["layout"]), row["offset"])
    else:
        assert got == to_layout(row["layout"])


@pytest.mark.parametrize("row", GROWN, ids=name)
def test_cute_counts_parts_twice(row: Row) -> None:
    layout, old, new = to_layout(row["args"][0]), *row["args"][1:]
    got = CALLS[row["op"]](*row["args"])
    assert size(got) * new == size(layout) * old < size(to_layout(row["layout"])) * new


def steps_in_two_modes(row: Row) -> bool:
    """Whether the tiler starts with a mode that steps through two modes and meets no end."""
    first = row["args"][1]["tile"][:1] if row["op"] == "composition_tile" else []
    return first in ([{"shape": [2, 4], "stride": [6, 0]}], [{"shape": 2, "stride": 3}])


STRAIGHT = [row for row in DATA["invalid"] if steps_in_two_modes(row)]


@pytest.mark.parametrize("row", STRAIGHT, ids=name)
def test_right_where_cute_refuses(row: Row) -> None:
    a, b = to_layout(row["args"][0])[0], to_tiler(row["args"][1])[0]
    found = CALLS[row["op"]](*row["args"])[0]
    assert [found(i) for i in range(size(b))] == [a(b(i)) for i in range(size(b))]


@every("row", [row for row in DATA["invalid"] if not steps_in_two_modes(row)], ids=name)
def test_refused_by_cute_too(row: Row) -> None:
    with pytest.raises(DivisibilityError, match="Way out: "):
        CALLS[row["op"]](*row["args"])


def test_cute_returns_another_function_where_we_refuse() -> None:
    (row,) = EXCEPTIONS
    whole, tiler = to_layout(row["args"][0]), to_tiler(row["args"][1])
    a, b, found = whole[0], tiler[0], to_layout(row["layout"])[0]
    assert size(found) == size(b)
    wrong = [i for i in range(size(b)) if found(i) != a(b(i))]
    assert len(wrong) > 0
    with pytest.raises(DivisibilityError) as caught:
        composition(whole, tiler)
    assert caught.value.operation == "composition"
    assert caught.value.operands == {"a": a, "b": b}
