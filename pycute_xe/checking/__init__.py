"""Floor 9: checking against a target: which rules hold, which refuse, and who says so."""

from __future__ import annotations

from pycute_xe.checking.checker import check
from pycute_xe.checking.report import Checked, Finding, Resource

__all__ = ["Checked", "Finding", "Resource", "check"]
