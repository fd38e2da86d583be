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
from pycute_xe.kernel.amounts import weight
from pycute_xe.kernel.binding import shape_of
from pycute_xe.kernel.showing import differ_by, tolerance_of
from pycute_xe.kernel.telling_inputs import telling_fields, telling_inputs, variants
from pycute_xe.verifying.evaluating import Extents, value_with
from pycute_xe.verifying.failures import Failure
from pycute_xe.verifying.formula import Formula, atoms_within
from pycute_xe.verifying.laws import UNDEFINED
from pycute_xe.verifying.patience import charge

__all__ = ["is_seen"]

INPUTS, ELEMENT = 100, 0.1
"""Units that it takes to make the inputs of a replay, and each element of arrays."""
DENSE = 1 << 16
"""Bytes of operands up to which inputs are arrays, which are looked at faster."""


def is_seen(
    kernel: Kernel,
    claim: Claim,
    failure: Failure,
    formulas: tuple[Formula, Formula],
    point: Mapping[str, int],
    extents: Extents,
) -> bool:
    """Tell whether what is stored and what is claimed are told apart on inputs of a replay.

    Of large problems the inputs are made only where they are looked at. Raises `UndecidableError`
    where the sums are too long to try.
    """
    numeric = kernel.operand(failure.output).value_type
    tolerance = tolerance_of(claim.value, numeric)
    dense = weight(kernel, failure.sizes) <= DENSE
    inputs = telling_inputs if dense else telling_fields
    elements = sum(prod(shape_of(o, failure.sizes)) for o in kernel.inputs) if dense else 0
    given: list[Mapping[str, Any]] = []
    for variant in variants(kernel):
        charge(INPUTS + elements * ELEMENT)
        place = failure.element, failure.index, variant
        filled = dict(failure.filled)
        given.append(inputs(kernel, failure.sizes, failure.operand, *place, filled))

    @cache
    def element(name: str, at: tuple[int, ...]) -> NDArray[np.float64]:
        return np.array([float(one[name][at]) if name in one else np.nan for one in given])

    pairs = (np.broadcast_to(value_with(f, point, extents, element), len(given)) for f in formulas)
    written = all(atom.name != UNDEFINED for atom in atoms_within(formulas[0]))
    for actual, wanted in zip(*pairs, strict=True):
        if written or not np.isnan(actual):
            actual, wanted = convert(np.array([actual, wanted]), numeric).astype(np.float64)
        if differ_by(float(actual), float(wanted), tolerance):
            return True
    return False
