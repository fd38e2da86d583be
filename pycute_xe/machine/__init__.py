"""The one machine that everything executes on.

A `workgroup` runs threads, generators that stop where they meet at barriers. A thread has a file
of `registers` that know what was written, and sends messages (`block2d`, `lsc`, over the spaces of
`lsc_spaces`) or multiplies (`dpas`), as the documents describe them, byte by byte. `memory` is
global and `slm` shared, with fences or without; both note who touched what, and `races` says which
accesses nothing orders. A `trace` counts what was done. Executors, ESIMD kernels and machine code
run here.
"""

from __future__ import annotations

from pycute_xe.machine import block2d, dpas, lsc, workgroup
from pycute_xe.machine.memory import Memory
from pycute_xe.machine.registers import RegisterFile
from pycute_xe.machine.slm import Slm
from pycute_xe.machine.trace import Event, Progress, Trace
from pycute_xe.machine.workgroup import BarrierArrive, BarrierWait, NamedBarrier

__all__ = [
    "BarrierArrive",
    "BarrierWait",
    "Event",
    "Memory",
    "NamedBarrier",
    "Progress",
    "RegisterFile",
    "Slm",
    "Trace",
    "block2d",
    "dpas",
    "lsc",
    "workgroup",
]
