"""Checking against a target: which rules hold, which refuse, and who says so."""

from __future__ import annotations

from pycute_xe.checking.checker import check
from pycute_xe.checking.report import Bounds, Checked, Demand, Finding, Held, Resource

__all__ = ["Bounds", "Checked", "Demand", "Finding", "Held", "Resource", "check"]
