"""Integers known by assumptions, as leaves of shapes and strides."""

from __future__ import annotations

from pycute_xe.symbolic.adoption import from_sympy, substitute
from pycute_xe.symbolic.value import SymbolicInt, symbol, symbols

__all__ = ["SymbolicInt", "from_sympy", "substitute", "symbol", "symbols"]
