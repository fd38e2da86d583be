"""Narrow floats in emitted text: every code is the number that its type says."""

from __future__ import annotations

import numpy as np
import pytest
from widened_codes import widened

import pycute_xe as cx
from pycute_xe.numeric import numerics

NARROW = [n for n in numerics() if cx.as_numeric(n).row.code and cx.as_numeric(n).bits <= 8]


@pytest.mark.parametrize("name", NARROW)
def test_every_code_is_its_number(name: str) -> None:
    found, wanted = widened(name)
    assert np.array_equal(found, wanted, equal_nan=True)
