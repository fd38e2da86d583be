"""What a kernel costs on a device: `cost`.

`device` reads the figures of devices, each with its source (`atoms/device.toml`). `facts` counts
what a kernel does at a size, from what executing and checking count; `account` makes bounds of
these and the figures, says what binds and what was assumed, and `roofline` draws it. `calibrating`
judges reports of runs and replaces figures by what these decide; `own` reads and writes a file of
such figures.
"""

from __future__ import annotations

from pycute_xe.costing.account import Cost, cost, cost_of
from pycute_xe.costing.calibrating import Calibration, Judged, calibrate
from pycute_xe.costing.device import Device, devices
from pycute_xe.costing.facts import KernelFacts, facts_of
from pycute_xe.costing.own import OwnFigures, read_figures

__all__ = [
    "Calibration",
    "Cost",
    "Device",
    "Judged",
    "KernelFacts",
    "OwnFigures",
    "calibrate",
    "cost",
    "cost_of",
    "devices",
    "facts_of",
    "read_figures",
]
