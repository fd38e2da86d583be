"""Floor 9: is a wrong value seen in a run? On the inputs that a replay tries, one after the other.

Two formulas may differ where no output tells: behind a saturating function, or by one rounding of
many. Then nothing is disproved: no run could show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert
from pycute_xe.kernel import Claim, Kernel
from pycute_xe.kernel.amounts import MOST_BYTES, MOST_STEPS, steps, weight
from pycute_xe.kernel.binding import shape_of
from pycute_xe.kernel.showing import differ_by, tolerance_of
from pycute_xe.kernel.telling_inputs import VARIANTS, telling_inputs
from pycute_xe.verifying.evaluating import Extents, value_with
from pycute_xe.verifying.failures import Failure
from pycute_xe.verifying.formula import Formula
from pycute_xe.verifying.patience import charge

__all__ = ["is_seen"]

INPUTS, ELEMENT = 100, 0.1
"""Units that it takes to make the inputs of a replay, and each element of them."""


def is_seen(
    kernel: Kernel,
    claim: Claim,
    failure: Failure,
    formulas: tuple[Formula, Formula],
    point: Mapping[str, int],
    extents: Extents,
) -> bool:
    """Tell whether what is stored and what is claimed are told apart on inputs of a replay.

    Problems that are too large for a replay are taken to be: it is said of them that none is done.
    Raises `UndecidableError` where the sums are too long to try.
    """
    if weight(kernel, failure.sizes) > MOST_BYTES or steps(kernel, failure.sizes) > MOST_STEPS:
        return True
    numeric = kernel.operand(failure.output).value_type
    tolerance = tolerance_of(claim.value, numeric)
    given: list[dict[str, NDArray[Any]]] = []
    elements = sum(prod(shape_of(o, failure.sizes)) for o in kernel.inputs)
    for variant in VARIANTS:
        charge(INPUTS + elements * ELEMENT)
        given.append(
            telling_inputs(
                kernel, failure.sizes, failure.operand, failure.element, failure.index, variant
            )
        )

    @cache
    def element(name: str, at: tuple[int, ...]) -> NDArray[np.float64]:
        return np.array([float(one[name][at]) if name in one else np.nan for one in given])

    pairs = (np.broadcast_to(value_with(f, point, extents, element), len(given)) for f in formulas)
    for actual, wanted in zip(*pairs, strict=True):
        if not np.isnan(actual) and not np.isnan(wanted):
            actual, wanted = convert(np.array([actual, wanted]), numeric).astype(np.float64)
        if differ_by(float(actual), float(wanted), tolerance):
            return True
    return False
