"""Floor 7: when two values of an output show that they are not the same computation."""

from __future__ import annotations

import math

from pycute_xe.kernel.spec.expression import Apply, Const, Expression, Total, parts
from pycute_xe.kernel.spec.functions import CHOOSING, OF_INTEGERS
from pycute_xe.numeric import Numeric

__all__ = ["differ_by", "is_moved", "tolerance_of"]


def tolerance_of(value: Expression, numeric: Numeric) -> float:
    """Return by how much of itself a right output may be off what is claimed, by roundings alone.

    >>> from pycute_xe.kernel.spec.expression import Slot, apply
    >>> from pycute_xe.numeric import as_numeric
    >>> tolerance_of(Slot("x") + 1, as_numeric("f32"))
    0.0
    >>> tolerance_of(apply("exp", Slot("x")), as_numeric("f16"))
    0.015625
    """
    if numeric.kind != "float" or _exact(value):
        return 0.0
    return 2.0 ** -(18 if numeric.bits >= 32 else 6)


def differ_by(actual: float, expected: float, tolerance: float) -> bool:
    """Whether a value is further from what is expected than so much of that.

    Poison is never near what is expected, and NaN is near NaN alone.

    >>> differ_by(1.0, 1.01, 2.0**-6), differ_by(float("nan"), 1.0, 2.0**-6)
    (False, True)
    """
    if math.isnan(expected) or math.isnan(actual) or math.isinf(expected):
        return not (actual == expected or (math.isnan(expected) and math.isnan(actual)))
    return abs(actual - expected) > tolerance * abs(expected)


def is_moved(value: Expression) -> bool:
    """Whether every input comes out as it is, chosen among others or rounded: nothing is computed.

    >>> from pycute_xe.kernel.spec.expression import Slot, apply, rounded_to
    >>> is_moved(rounded_to("bf16", apply("relu", Slot("x")))), is_moved(Slot("x") + 1)
    (True, False)
    """
    if isinstance(value, Total) and value.how == "sum":
        return False
    if isinstance(value, Apply) and value.function not in CHOOSING:
        signs = [a for a in value.arguments if isinstance(a, Const) and abs(a.value) == 1]
        if value.function != "mul" or not signs:
            return False
    return all(map(is_moved, parts(value)))


def _exact(value: Expression) -> bool:
    """Whether small integers make it exact: nothing but sums, products and comparisons."""
    if isinstance(value, Apply):
        return value.function in OF_INTEGERS and all(_exact(a) for a in value.arguments)
    body = getattr(value, "body", None)
    return body is None or _exact(body)
