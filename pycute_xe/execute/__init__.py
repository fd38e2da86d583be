"""Floor 9: running kernels on NumPy arrays."""

from __future__ import annotations

from pycute_xe.execute.report import Report
from pycute_xe.execute.runner import Replay, replay, run

__all__ = ["Replay", "Report", "replay", "run"]
