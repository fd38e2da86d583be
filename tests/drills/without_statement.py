"""A copy without the statement has no name for it."""

from __future__ import annotations

import pycute_xe as cx

assert not hasattr(cx.kernel, "Negate")
