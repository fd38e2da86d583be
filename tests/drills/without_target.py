"""A copy without the target refuses its name, with the known ones."""

from __future__ import annotations

import pytest

import pycute_xe as cx

with pytest.raises(cx.CuteError, match="one of pvc, bmg, lnl, ptl"):
    cx.check("XE_LOAD_2D<16,32,32,16>", "xyz")
