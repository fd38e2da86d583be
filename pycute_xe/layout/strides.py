"""Which mode of a layout is contiguous."""

from __future__ import annotations

from typing import Any

from pycute_xe.errors import CongruenceError
from pycute_xe.int_tuple import congruent, flatten_tuple
from pycute_xe.layout.modes import part_of
from pycute_xe.signatures import typed
from pycute_xe.typing import Shape, Stride, is_tuple

__all__ = ["is_major", "leading_dim"]


@typed
def leading_dim(shape: Shape, stride: Stride) -> int | tuple[int, ...] | None:
    """Return the first leaf of stride 1 whose extent is not 1: its mode, or a path if it is nested.

    ``None`` if no leaf is one. A symbolic stride is not 1, and a symbolic extent is not either.
    Raises `CongruenceError` where the two nest differently. CuTe DSL: same name.

    >>> leading_dim((4, 8), (8, 1)), leading_dim((4, (2, 8)), (2, (1, 8))), leading_dim(4, 2)
    (1, (1, 0), None)
    """
    if not congruent(shape, stride):
        raise CongruenceError(
            "leading_dim",
            {"shape": shape, "stride": stride},
            "shape and stride nest differently",
            "give one stride for each leaf of the shape, nested alike",
        )
    path = _first_of_one(shape, stride)
    return path if path is None or len(path) > 1 else path[0] if path else 0


def _first_of_one(shape: Any, stride: Any) -> tuple[int, ...] | None:
    if not is_tuple(shape):
        is_one = type(stride) is int and stride == 1
        return () if is_one and not (type(shape) is int and shape == 1) else None
    for i, (extent, step) in enumerate(zip(shape, stride, strict=True)):
        path = _first_of_one(extent, step)
        if path is not None:
            return (i, *path)
    return None


@typed
def is_major(mode: int | tuple[int, ...], stride: Stride) -> bool:
    """Tell whether the first stride of a mode is 1; a path names a mode within a mode.

    A symbolic stride is not 1. Raises `RankError` for a mode that the strides lack. CuTe DSL: same
    name.

    >>> is_major(1, (8, 1)), is_major(1, (8, (1, 4))), is_major((1, 1), (8, (1, 4)))
    (True, True, False)
    """
    path: tuple[int, ...] = (mode,) if isinstance(mode, int) else mode
    part = part_of(stride if is_tuple(stride) else (stride,), path)
    first = flatten_tuple(part)[:1]
    return len(first) == 1 and type(first[0]) is int and first[0] == 1
