"""Floor 9: what an elementwise statement computes, on arrays of any shape.

Floats are computed in float32 (float64 where the destination is), every step rounded; integers in
64 bits, and the destination keeps its lowest bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert, wrap
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    Where,
)
from pycute_xe.kernel.spec.functions import OF_INTEGERS, function
from pycute_xe.numeric import Numeric

__all__ = ["Sources", "mapped"]


@dataclass(frozen=True)
class Sources:
    """Where leaves of an expression come from, and where one index is below another.

    Arrays must broadcast against one another.
    """

    slot: Callable[[str], NDArray[Any]]
    scalar: Callable[[str], NDArray[Any]]
    below: Callable[[Index, Index], Any]


def mapped(value: Expression, to: Numeric, sources: Sources) -> NDArray[Any]:
    """Return the value of an expression, as the destination holds it: an array of its host dtype.

    Raises `KernelError` for what has no meaning in registers: sums over a variable, elements of
    tensors, and fractions where the destination holds integers.

    >>> from pycute_xe.kernel.spec.expression import apply
    >>> from pycute_xe.numeric import as_numeric
    >>> held = Sources(lambda name: np.array([-1.5, 2.0]), lambda name: np.array(3), lambda i, j: 0)
    >>> mapped(apply("relu", Slot("acc")) * Element("alpha"), as_numeric("bf16"), held).tolist()
    [0.0, 6.0]
    """
    if to.kind != "float":
        return wrap(_Evaluation(np.dtype(np.int64), sources).of(value), to)
    dtype = np.dtype(np.float64 if to.bits == 64 else np.float32)
    with np.errstate(all="ignore"):
        found = _Evaluation(dtype, sources).of(value)
        # A leaf may be the very array that it was read from.
        return convert(found.copy() if isinstance(value, (Slot, Element)) else found, to)


@dataclass(frozen=True)
class _Evaluation:
    dtype: np.dtype[Any]
    sources: Sources

    def of(self, value: Expression) -> NDArray[Any]:
        if isinstance(value, Const):
            return self.taken(np.asarray(value.value), value)
        if isinstance(value, Slot):
            return self.taken(self.sources.slot(value.fragment), value)
        if isinstance(value, Element) and not value.at:
            return self.taken(self.sources.scalar(value.operand), value)
        if isinstance(value, Apply):
            return self.applied(value)
        if isinstance(value, Rounded):
            return convert(self.of(value.body), value.to).astype(self.dtype)
        if isinstance(value, Where):
            where = self.sources.below(value.index, value.below)
            return np.where(where, self.of(value.then), self.of(value.otherwise))
        raise KernelError(
            "Map",
            {"value": value},
            f"{type(value).__name__} has no meaning in registers",
            "load the element into a fragment, reduce with a Reduce statement",
        )

    def applied(self, value: Apply) -> NDArray[Any]:
        if self.dtype.kind == "i" and value.function not in OF_INTEGERS:
            raise self.fraction(value)
        arguments = [self.of(argument) for argument in value.arguments]
        found = function(value.function, len(arguments)).meaning(np, *arguments)
        return np.asarray(found).astype(self.dtype, copy=False)

    def taken(self, array: NDArray[Any], value: Expression) -> NDArray[Any]:
        """Widen a leaf; integers come from integers alone."""
        if self.dtype.kind == "i" and array.dtype.kind not in "iu":
            if isinstance(value, Const) and not isfinite(value.value):
                raise KernelError(
                    "Map",
                    {"value": value},
                    f"{value} is not an integer, the destination holds integers",
                    "use a number that the destination holds",
                )
            if not (isinstance(value, Const) and value.value.is_integer()):
                raise self.fraction(value)
        if self.dtype.kind == "f" and array.dtype.kind in "iu":
            array = array.astype(np.float64)  # as conversions do
        return array.astype(self.dtype, copy=False)

    @staticmethod
    def fraction(value: Expression) -> KernelError:
        return KernelError(
            "Map",
            {"value": value},
            "its value may be a fraction, the destination holds integers",
            "compute in f32 and convert",
        )
