"""Tickets on arrays: whether a run drew them so, and one order of arrival where none is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.kernel.spec.specification import Specification
from pycute_xe.kernel.spec.table_checks import tickets_broken

__all__ = ["arrived", "in_order", "with_tickets"]


def in_order(of: NDArray[Any]) -> NDArray[np.int64]:
    """Return the tickets of entries that come in the order of their places.

    >>> in_order(np.array([[4, 1, 4], [1, 1, 4]])).tolist()
    [[0, 0, 1], [1, 2, 2]]
    """
    flat = np.asarray(of).ravel()
    order = np.argsort(flat, kind="stable")
    inner = flat[order]
    begins = np.searchsorted(inner, inner)
    out = np.empty(flat.shape, np.int64)
    out[order] = np.arange(flat.size) - begins
    return out.reshape(of.shape)


def with_tickets(specification: Specification, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays with the outputs that are tickets, in the order of places if none is known."""
    out = dict(arrays)
    for one in specification.tickets:
        if one.operand not in out:
            out[one.operand] = in_order(_whole(out[one.of]))
    return out


def arrived(
    specification: Specification, arrays: Mapping[str, Any], outputs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return inputs of a run with its tickets: the order of arrival by which the rest is judged.

    What the run wrote in their place is left out where equal entries do not have 0, 1, 2, ….
    """
    out = dict(arrays)
    for one in specification.tickets:
        of, drawn = _whole(arrays[one.of]), np.asarray(outputs[one.operand])
        if tickets_broken(drawn, of) is None:
            out[one.operand] = drawn.astype(np.int64)
    return with_tickets(specification, out)


def _whole(array: Any) -> NDArray[Any]:
    return array.whole() if hasattr(array, "whole") else np.asarray(array)
