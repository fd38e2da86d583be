"""DPAS, the systolic matrix instruction: its types, operand layouts, rules and text.

`types` reads the rows of the facts; a `message` is one DPAS with its operands, the rules it must
keep and its text as vISA and as assembly; `parsing` reads such text. Where operands lie in
registers is a formula here; `pycute_xe.machine.dpas` executes the instruction by walking the
document instead, and tests compare the two.
"""

from __future__ import annotations

from pycute_xe.arch.dpas.message import Dpas, DpasMessage, Register
from pycute_xe.arch.dpas.parsing import parse
from pycute_xe.arch.dpas.types import dpas_types

__all__ = ["Dpas", "DpasMessage", "Register", "dpas_types", "parse"]
