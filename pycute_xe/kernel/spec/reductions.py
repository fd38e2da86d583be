"""How many values become one: a row for each reduction.

Every reader takes what it does from the row; a column that a row leaves empty is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

import numpy as np

from pycute_xe.errors import KernelError
from pycute_xe.kernel.spec.functions import Function, function

__all__ = ["REDUCTIONS", "REDUCTION_OF", "Reduction", "reduction"]


@dataclass(frozen=True, slots=True)
class Reduction:
    """A function of two values that is repeated over many, in any order.

    ``nothing`` is what it makes of none. ``law`` says what may be assumed of it: of a sum, that it
    is linear; of the greatest or the least, that an element may be taken twice. ``atomic`` are the
    operations of messages that do it in memory, by type.
    """

    name: str
    noun: str
    combine: str
    nothing: float
    law: Literal["sum", "greatest", "least"]
    atomic: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def function(self) -> Function:
        """The function of two values."""
        return function(self.combine, 2)

    def start(self, dtype: Any) -> Any:
        """Return what arrays of a dtype begin with.

        >>> import numpy as np
        >>> reduction("max").start(np.dtype("f4")), int(reduction("min").start(np.dtype("i8")))
        (-inf, 9223372036854775807)
        """
        if dtype.kind == "f":
            return self.nothing
        ends = np.iinfo(dtype)
        return min(max(self.nothing, ends.min), ends.max)

    def ufunc(self) -> Any:
        """Return NumPy's function of two arrays."""
        return getattr(np, self.function.ufunc)


REDUCTIONS: dict[str, Reduction] = {
    row.name: row
    for row in (
        Reduction("sum", "sum", "add", 0, "sum", {"f32": "fadd", "s32": "iadd", "u32": "iadd"}),
        Reduction("max", "maximum", "max", -inf, "greatest"),
        Reduction("min", "minimum", "min", inf, "least"),
    )
}
"""By name. A new reduction is one more row."""

REDUCTION_OF = {row.combine: row.name for row in REDUCTIONS.values()}
"""The reductions by their functions of two values."""


def reduction(name: str) -> Reduction:
    """Return the reduction of a name. Raises `KernelError` for an unknown one.

    >>> reduction("min").nothing
    inf
    """
    found = REDUCTIONS.get(name)
    if found is None:
        known = ", ".join(REDUCTIONS)
        raise KernelError("reduction", {"how": name}, "it is not a known reduction", f"use {known}")
    return found
