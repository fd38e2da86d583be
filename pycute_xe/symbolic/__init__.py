"""Integers known by assumptions, as leaves of shapes and strides.

A symbol, or an expression of sympy (`adoption`, `terms`), becomes a `value`, a `SymbolicInt` that
the algebra computes with as with any integer. What it asks of one, such as whether 4 divides it,
`integer_sets` decides by isl for all integers that the assumptions allow, or `UndecidableError`
names the fact that is missing. Results are symbolic again; `substitute` puts numbers in.
"""

from __future__ import annotations

from pycute_xe.symbolic.adoption import from_sympy, substitute
from pycute_xe.symbolic.divisors import assume, get_divisibility
from pycute_xe.symbolic.value import SymbolicInt, symbol, symbols

__all__ = [
    "SymbolicInt",
    "assume",
    "from_sympy",
    "get_divisibility",
    "substitute",
    "symbol",
    "symbols",
]
