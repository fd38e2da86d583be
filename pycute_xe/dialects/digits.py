"""Layouts of coordinates from digits, each of which steps along one dimension of a tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pycute_xe.basis import E
from pycute_xe.layout import Layout

__all__ = ["Digit", "layout_of_digits"]

Digit = tuple[int, int, int]
"""An extent, the step in elements, and the dimension along which it steps."""


def layout_of_digits(parts: Iterable[Iterable[Digit]]) -> Layout:
    """Return the layout with a mode for each part, whose digits count the first one fastest.

    >>> print(layout_of_digits([[(2, 1, 0), (4, 2, 0)], [(2, 1, 1), (4, 0, 0)], []]))
    (8,(2,4),1):(1@0,(1@1,0),0)
    """
    shape, stride = list[Any](), list[Any]()
    for digits in parts:
        runs = _merged([digit for digit in digits if digit[0] > 1])
        extents = tuple(n for n, _, _ in runs)
        steps = tuple(step * E(dim) if step else 0 for _, step, dim in runs)
        shape.append(extents if len(runs) > 1 else (*extents, 1)[0])
        stride.append(steps if len(runs) > 1 else (*steps, 0)[0])
    return Layout(tuple(shape), tuple(stride))


def _merged(digits: list[Digit]) -> list[Digit]:
    """Make one digit of neighbours that count on."""
    runs = list[Digit]()
    for n, step, dim in digits:
        if runs and runs[-1][0] * runs[-1][1] == step and (runs[-1][2] == dim or not step):
            runs[-1] = (runs[-1][0] * n, runs[-1][1], dim)
        else:
            runs.append((n, step, dim))
    return runs
