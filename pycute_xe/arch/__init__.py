"""The machine by formula: surfaces, messages, instructions, registers and their rules.

Facts are rows of ``atoms/``: a `target`, and rules that bound a quantity and name their source.
`block2d`, `lsc` and `dpas` are messages and instructions as values, `registers` says who owns which
byte, `banks` counts conflicts, `regions` makes moves of a
permutation of registers. What a message or an instruction does is a layout here;
`pycute_xe.machine` executes the same messages by walking the documents instead, and tests compare
the two.
"""

from __future__ import annotations

from pycute_xe.arch.block2d import Block2D, Surface
from pycute_xe.arch.dpas import Dpas, dpas_types
from pycute_xe.arch.registers import Occupancy, RegisterMap, occupancy
from pycute_xe.arch.rules import Broken
from pycute_xe.arch.target import SlmLimit, Target, get_target, grf_bytes, is_target, targets

__all__ = [
    "Block2D",
    "Broken",
    "Dpas",
    "Occupancy",
    "RegisterMap",
    "SlmLimit",
    "Surface",
    "Target",
    "dpas_types",
    "get_target",
    "is_target",
    "grf_bytes",
    "occupancy",
    "targets",
]
