"""A copy without a minimum: every reader that is asked for one refuses it by name."""

from __future__ import annotations

import pytest
import test_reductions as reductions

import pycute_xe as cx
from pycute_xe.kernel import Reduce, total

for make in (
    lambda: Reduce("min", "x", "r", cx.Layout(16)),
    lambda: total("k", 4, 1, how="min"),
    lambda: reductions.columns("min"),
):
    with pytest.raises(cx.KernelError, match=r"not a known reduction.*use sum, max"):
        make()
for how in ("sum", "max"):
    assert cx.verify(reductions.columns(how))
