"""Narrow floats in emitted text: every code is the number that its type says."""

from __future__ import annotations

import numpy as np
import pytest
from widened_codes import widened

import pycute_xe as cx
from pycute_xe.numeric import numerics

# The reader of vISA has no comparisons; ue8m0 is compared as C in `test_portable.py`.
ROWS = {name: cx.as_numeric(name).row for name in numerics()}
NARROW = [n for n, row in ROWS.items() if row.code and row.bits <= 8 and not row.positive]


@pytest.mark.parametrize("name", NARROW)
def test_every_code_is_its_number(name: str) -> None:
    found, wanted = widened(name)
    assert np.array_equal(found, wanted, equal_nan=True)
