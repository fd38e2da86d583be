"""A copy without the type refuses its name."""

from __future__ import annotations

import pytest

import pycute_xe as cx

with pytest.raises(cx.DTypeError, match="unknown element type"):
    cx.as_numeric("f8e3m4")
