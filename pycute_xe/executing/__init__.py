"""Running kernels on NumPy arrays."""

from __future__ import annotations

from pycute_xe.executing.problem import Report
from pycute_xe.executing.runner import run

__all__ = ["Report", "run"]
