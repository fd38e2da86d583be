"""How vectors are told: sizes that differ, and the types of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycute_xe.errors import ShapeError
from pycute_xe.numeric import as_numeric

__all__ = ["MOST_ELEMENTS", "sizes_differ", "type_name"]

MOST_ELEMENTS = 1 << 20
"""Of a vector: far more than the registers of a thread hold."""


def type_name(kind: np.dtype[Any]) -> str:
    """Return the name of an element type."""
    return "bool" if kind == np.bool_ else as_numeric(kind).name


def sizes_differ(operation: str, wanted: int, found: int) -> ShapeError:
    """Return the refusal of another number of elements."""
    return ShapeError(
        operation,
        {"elements": wanted, "given": found},
        f"{wanted} elements meet {found}",
        "select a part first",
    )
