"""What inputs are known to be: what one kernel claims of an output, the next one is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.kernel.probes import Field
from pycute_xe.kernel.spec.evaluation import compute_part
from pycute_xe.kernel.spec.specification import Specification

if TYPE_CHECKING:
    from pycute_xe.kernel.ir.kernel import Kernel

__all__ = ["as_given"]


def as_given(
    kernel: Kernel, inputs: Mapping[str, Field], sizes: Mapping[str, int]
) -> dict[str, Field]:
    """Return inputs of which those that are known to be something are that, in their own types."""
    out = dict(inputs)
    computes = kernel.computes
    for claim in computes.given if computes is not None else ():
        known = Specification((claim,), defines=computes.defines if computes is not None else ())
        field = out[claim.output]
        window = tuple(map(range, field.shape))
        values = compute_part(known, out, sizes, claim.output, window)
        out[claim.output] = replace(field, values=partial(_entry, values))
    return out


def _entry(values: NDArray[Any], places: tuple[NDArray[np.int64], ...]) -> NDArray[Any]:
    return values[places]
