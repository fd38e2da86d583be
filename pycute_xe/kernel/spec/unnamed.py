"""What no claim names: what lies behind a length is arbitrary, and never reaches a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import InputError
from pycute_xe.kernel.ir.operands import shape_of
from pycute_xe.kernel.probes import Field
from pycute_xe.kernel.spec.evaluation import named_elements

if TYPE_CHECKING:
    from pycute_xe.kernel.ir.kernel import Kernel

__all__ = ["with_nan_behind"]

MOST = 1 << 18
"""Elements of operands up to which it is asked which of them a claim names."""


def with_nan_behind(
    kernel: Kernel, inputs: Mapping[str, Field], sizes: Mapping[str, int]
) -> dict[str, Field]:
    """Return inputs that are NaN where tables say that no claim names them.

    Of kernels that assume nothing of tables, and of large problems, they are as they were.
    """
    computes = kernel.computes
    small = sum(prod(shape_of(o, sizes)) for o in kernel.operands) <= MOST
    if computes is None or not computes.tables or not computes.claims or not small:
        return dict(inputs)
    try:
        named = named_elements(computes, kernel.operands, inputs, sizes)
    except InputError:  # a claim without a value is wrong as it is
        return dict(inputs)
    outputs = {o.name for o in kernel.outputs}
    return {
        name: replace(value, values=partial(_nan_behind, value, named[name]))
        if value.numeric.kind == "float" and name not in outputs and not named[name].all()
        else value
        for name, value in inputs.items()
    }


def _nan_behind(
    value: Field, named: NDArray[np.bool_], places: tuple[NDArray[np.int64], ...]
) -> NDArray[Any]:
    return np.where(named[places], value.values(places), np.nan)
