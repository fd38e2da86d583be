"""A roofline: the rate that a device's levels of memory allow, and where a kernel lies."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor, log2

from pycute_xe.costing.device import Device
from pycute_xe.costing.facts import Facts
from pycute_xe.drawing.scene import Cell, Panel, Scene
from pycute_xe.errors import InputError

__all__ = ["roofline", "roofs"]

LEVELS = ("L1", "L2", "memory")
STEP = 0.5
"""Of powers of two: a row and a column are half an octave."""
_DPAS, _KERNEL = 3, 4


def roofs(device: Device) -> Mapping[str, tuple[float, float]]:
    """Return bytes a second that all cores get from each level, at the least and at the most."""
    clock, memory = device["clock"], device["memory rate"]
    cores = device.cores * 1e6

    def of_cores(name: str) -> tuple[float, float]:
        rate = device[name]
        return cores * rate.least * clock.least, cores * rate.most * clock.most

    reached = device["memory"]
    ends = (memory.least * reached.least * 1e9, memory.most * reached.most * 1e9)
    return {"L1": of_cores("l1"), "L2": of_cores("l2"), "memory": ends}


def roofline(
    title: str, facts: Facts, device: Device, peak: float, rates: tuple[float, float]
) -> Scene:
    """Return operations a byte against TFLOP/s: a band for each level, and the kernel in each.

    ``peak`` are the TFLOP/s of DPAS, ``rates`` those of the kernel. Raises `InputError` for a
    kernel without DPAS.
    """
    if not facts.operations:
        wrong = "a kernel without DPAS has no operations a byte"
        raise InputError("draw", {"cost": title}, wrong, "draw a kernel that multiplies")
    at = {level: facts.intensity[level] for level in LEVELS if level in facts.intensity}
    bands = roofs(device)
    meets = [peak * 1e12 / bands[level][0] for level in at]
    columns = _steps(min(at.values()) / 4, max(*at.values(), *meets))
    rows = _steps(min(rates[0], peak / 16), peak)[::-1]
    cells: list[Cell] = []
    for col, step in enumerate(columns):
        for row, of in enumerate(rows):
            cell = _cell(row, col, (2**step, 2**of), at, bands, peak, rates)
            if cell is not None:
                cells.append(cell)
    panel = Panel(
        "", tuple(cells), tuple(range(len(rows))), tuple(range(len(columns))), "TFLOP/s",
        "operations a byte", False, row_names=tuple(f"{2**of:.4g}" for of in rows),
        col_names=tuple(f"{2**step:.4g}" for step in columns), compact=True,
    )  # fmt: skip
    caption = (
        "A band is what a level's bytes allow, between the least and the most of its figures.",
        "The kernel's cells span its interval, in the column of its operations for a byte of each.",
        "Estimates by cost: nothing was measured.",
    )
    return Scene(title, caption, (panel,), "roof", (*LEVELS, "DPAS", "the kernel"))


def _steps(least: float, most: float) -> list[float]:
    """Return half octaves that hold both."""
    first, last = floor(log2(least) / STEP), ceil(log2(most) / STEP)
    return [step * STEP for step in range(first, last + 1)]


def _cell(
    row: int,
    col: int,
    place: tuple[float, float],
    at: Mapping[str, float],
    bands: Mapping[str, tuple[float, float]],
    peak: float,
    rates: tuple[float, float],
) -> Cell | None:
    """Return the cell of so many operations a byte and TFLOP/s; None where nothing is."""
    bytes_for, rate = place
    half = 2 ** (STEP / 2)
    low, high = rate / half, rate * half
    tip = f"{bytes_for:.3g} operations a byte, {rate:.3g} TFLOP/s"
    for level, intensity in at.items():
        here = bytes_for / half <= intensity < bytes_for * half
        if here and rates[0] <= high and low <= rates[1]:
            return Cell(row, col, _KERNEL, (level[:2],), (), f"the kernel by {level}: {tip}")
    for number, level in enumerate(LEVELS):
        ends = [min(peak, bytes_for * rate_of * 1e-12) for rate_of in bands.get(level, ())]
        if level in at and ends and ends[0] < high and low < ends[1] and ends[0] < peak:
            return Cell(row, col, number, (level[:2],), (), f"{level} allows: {tip}")
    if low < peak <= high:
        return Cell(row, col, _DPAS, ("D",), (), f"all of DPAS: {tip}")
    return None
