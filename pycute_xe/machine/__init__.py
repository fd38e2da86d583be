"""The one machine that everything executes on.

Byte memory, register files that know what is initialised, shared local memory that knows who
touched what, messages and instructions as the documents describe them, barriers, and a trace.
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
