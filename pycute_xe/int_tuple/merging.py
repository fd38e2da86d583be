"""Modes of which one goes on from the other, said as one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pycute_xe.typing import TUPLE, Mode, Shape, Stride

__all__ = ["merge", "merged", "unbounded"]


def merge(modes: Iterable[Mode], shapes: list[Any], strides: list[Any]) -> None:
    """Add modes, which may nest, to lists of extents and strides, merged with what is there.

    >>> shapes, strides = [2], [1]
    >>> merge([((1, 4), (9, 2)), (3, 100)], shapes, strides)
    >>> shapes, strides
    ([8, 3], [1, 100])
    """
    for s, d in modes:
        if type(s) is TUPLE:
            merge(zip(s, d), shapes, strides)
        elif s == 1:
            continue
        elif shapes and shapes[-1] * strides[-1] == d:
            shapes[-1] = shapes[-1] * s
        else:
            shapes.append(s)
            strides.append(d)


def merged(modes: Iterable[Mode]) -> list[Mode]:
    """Drop size-1 modes and merge each mode with the next where one continues the other.

    >>> merged([(2, 1), (1, 9), (4, 2), (3, 100)])
    [(8, 1), (3, 100)]
    """
    shapes: list[Any] = []
    strides: list[Any] = []
    merge(modes, shapes, strides)
    return list(zip(shapes, strides))


def unbounded(shape: Shape, stride: Stride) -> list[Mode]:
    """Return the merged modes, but keep the last, which has no end even when its extent is 1.

    >>> unbounded((2, 4, 1), (1, 2, 8)), unbounded((2, 4, 1), (1, 2, 5))
    ([(8, 1)], [(8, 1), (1, 5)])
    """
    out = merged([(shape, stride)])
    while type(shape) is TUPLE and shape:
        shape, stride = shape[-1], stride[-1]
    if type(shape) is not TUPLE and shape == 1 and not (out and out[-1][0] * out[-1][1] == stride):
        out.append((shape, stride))
    return out
