"""The steps of a rule of the algebra, as it applied to the operands at hand."""

from __future__ import annotations

from pycute_xe.explaining.dispatch import EXPLAINED, explain
from pycute_xe.explaining.explanation import Explanation, Step

__all__ = ["EXPLAINED", "Explanation", "Step", "explain"]
