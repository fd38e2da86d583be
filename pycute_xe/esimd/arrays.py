"""What vectors are made of: elements at an index, elements picked by a mask, names of types."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import ShapeError
from pycute_xe.esimd.types import whole
from pycute_xe.numeric import as_numeric

__all__ = ["MOST_ELEMENTS", "merged", "place_in", "sizes_differ", "type_name"]

MOST_ELEMENTS = 1 << 20
"""Of a vector: far more than the registers of a thread hold."""


def type_name(kind: np.dtype[Any]) -> str:
    """Return the name of an element type."""
    return "bool" if kind == np.bool_ else as_numeric(kind).name


def sizes_differ(operation: str, wanted: int, given: int) -> ShapeError:
    """Return the refusal of another number of elements."""
    return ShapeError(
        operation,
        {"elements": wanted, "given": given},
        f"{wanted} elements meet {given}",
        "select a part first",
    )


def place_in(size: int, index: Any) -> Any:
    """Return an index that is in range, or a slice as it is; else `ShapeError` or `InputError`.

    >>> place_in(4, -1)
    -1
    """
    if isinstance(index, slice):
        part = cast("Any", index)
        ends = {"start": part.start, "stop": part.stop, "step": part.step}
        whole("simd", **{end: value for end, value in ends.items() if value is not None})
        if part.step == 0:
            raise ShapeError(
                "simd", {"step": 0}, "the step of a slice must not be 0", "use 1 or more"
            )
        return part
    (number,) = whole("simd", index=index)
    if not -size <= number < size:
        condition = f"the vector has {size} elements"
        raise ShapeError("simd", {"index": number}, condition, f"use 0 to {size - 1}")
    return number


def merged(
    size: int, kind: np.dtype[Any], mask: NDArray[Any], on: NDArray[Any], off: NDArray[Any]
) -> NDArray[Any]:
    """Return elements where a mask is on, and others where it is off, in a type.

    Each has one element or ``size`` of them, else `ShapeError`.

    >>> merged(2, np.dtype("u1"), np.array([True, False]), np.array(7), np.array([1, 2])).tolist()
    [7, 2]
    """
    flat = [one.reshape(-1) for one in (mask, on, off)]
    for choice in flat:
        if choice.size not in (1, size):
            raise sizes_differ("merge", size, choice.size)
    with np.errstate(all="ignore"):
        return np.where(flat[0].astype(np.bool_), flat[1].astype(kind), flat[2].astype(kind))
