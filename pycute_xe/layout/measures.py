"""How large a layout is, and how far it reaches."""

from __future__ import annotations

from typing import Any

from pycute_xe.basis import Basis
from pycute_xe.errors import RankError, quoted
from pycute_xe.int_tuple import depth as tuple_depth, flatten_tuple, leaves, product, rank_of
from pycute_xe.layout.core import Layout, as_layout, completed
from pycute_xe.signatures import typed
from pycute_xe.typing import IntTuple, Shape, Stride, is_tuple
from pycute_xe.unknown import Symbolic, naming

__all__ = ["coshape", "cosize", "depth", "has_symbols", "rank", "shape", "size", "stride"]


@typed
def shape(value: Any, *modes: int) -> Shape:
    """Return the shape of a layout (or of a tensor), or of one of its modes.

    >>> shape(Layout((4, (2, 3))), 1)
    (2, 3)
    """
    return part_of(value.shape, modes)


@typed
def stride(value: Any, *modes: int) -> Stride:
    """Return the strides of a layout, or of one of its modes.

    >>> stride(Layout((4, 8), (8, 1)), 0)
    8
    """
    return part_of(value.stride, modes)


def part_of(tree: IntTuple, modes: tuple[int, ...]) -> IntTuple:
    for mode in modes:
        if type(mode) is not int or not is_tuple(tree) or not -len(tree) <= mode < len(tree):
            raise RankError(
                "mode",
                {"of": tree, "mode": mode},
                f"{quoted(tree)} has no mode {quoted(mode)}",
                "use an integer below the rank",
            )
        tree = tree[mode]
    return tree


@typed
def size(value: Any, *modes: int) -> Any:
    """Return the number of coordinates: the product of the extents (of one mode if given).

    >>> size(Layout((4, 8))), size(Layout((4, 8)), 1)
    (32, 8)
    """
    tree = value.shape if hasattr(value, "shape") else value
    return product(part_of(tree, modes))


@typed
def rank(value: Any, *modes: int) -> int:
    """Return the number of modes, 1 for a layout whose shape is an integer.

    >>> rank(Layout((4, (2, 3)))), rank(Layout(4))
    (2, 1)
    """
    return rank_of(part_of(value.shape if hasattr(value, "shape") else value, modes))


@typed
def depth(value: Any) -> int:
    """Return how deep the shape nests.

    >>> depth(Layout((4, (2, 3))))
    2
    """
    return tuple_depth(value.shape if hasattr(value, "shape") else value)


@naming
@typed
def coshape(layout: Layout) -> IntTuple:
    """Return the extents of the smallest box of offsets that holds the image, counted from zero.

    For integer strides that is `cosize`; for basis strides the extents of the coordinate box.
    C++: ``coshape``.

    >>> coshape(Layout((2, 4), (1, 4))), coshape(Layout.from_str("(2,4):(1@0,1@1)"))
    (14, (2, 4))
    """
    total: Any = 0
    shape = flatten_tuple(as_layout(layout).shape)
    for s, d in zip(shape, flatten_tuple(layout.stride), strict=True):
        value = d.value if isinstance(d, Basis) else d
        total = total + (s - 1) * (-d if value < 0 else d)
    return _plus_one(completed(layout.stride, total))


def _plus_one(tree: IntTuple) -> IntTuple:
    return tuple(map(_plus_one, tree)) if is_tuple(tree) else tree + 1


@typed
def cosize(layout: Layout) -> Any:
    """Return one more than the largest offset: the elements a buffer must have.

    Strides count by magnitude, as in CuTe. For basis strides the size of the coordinate box.
    C++: ``cosize``.

    >>> cosize(Layout((4, 8), (1, 5)))
    39
    """
    reach = 1
    shape = flatten_tuple(as_layout(layout).shape)
    for s, d in zip(shape, flatten_tuple(layout.stride), strict=True):
        if type(d) is not int:
            return product(coshape(layout))
        reach = reach + (s - 1) * (-d if d < 0 else d)
    return reach


@typed
def has_symbols(*values: Any) -> bool:
    """Tell whether layouts, tuples or leaves have symbols among their leaves.

    >>> has_symbols(Layout(4), (2, 3))
    False
    """
    trees = ((v.shape, v.stride) if isinstance(v, Layout) else v for v in values)
    found = (leaf for tree in trees for leaf in leaves(tree))
    return any(isinstance(getattr(leaf, "value", leaf), Symbolic) for leaf in found)
