"""How many clocks of a trip L2 and memory need for the bytes that a core's work-groups bring.

Machine code does not say them: the size of a block stands in a register, and which of them two
subgroups share only the kernel knows. So the bytes are those of `cost`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pycute_xe.costing import Device, cost_of, facts_of
from pycute_xe.errors import InputError
from pycute_xe.kernel import Kernel

__all__ = ["Brought", "brought"]


@dataclass(frozen=True, slots=True)
class Brought:
    """Clocks of a trip that a level needs for its bytes, at the rates of a device's figures."""

    level: str
    least: float
    most: float
    figures: tuple[str, ...]

    @property
    def structures(self) -> tuple[tuple[str, float], ...]:
        """Both ends, as a report lists them."""
        return (
            (f"{self.level} alone, fast", self.least),
            (f"{self.level} alone, slow", self.most),
        )


def brought(
    kernel: Kernel, device: Device, sizes: Mapping[str, int], dpas: int, threads: int
) -> tuple[Brought, ...]:
    """Return what L2 and memory need in a trip of so many DPAS of a thread of so many of a core.

    Law: clocks of a trip, times trips, times waves of work-groups on the cores, are those that the
    bounds of `cost` have: L2 brings what subgroups of a work-group do not share to the core that
    has most of them, memory every operand once, both while the threads compute. Raises as `cost`,
    and `InputError` for a loop without DPAS.
    """
    if not dpas:
        wrong, fix = "the main loop has no DPAS to tell its trips by", "leave sizes out"
        raise InputError("timing", {"kernel": kernel.name}, wrong, fix)
    estimate = cost_of(facts_of(kernel, device.target), device, sizes)
    facts = estimate.facts
    at_once = max(1, threads // facts.subgroups)
    waves = -(-facts.groups // (at_once * device.cores))
    trips = facts.dpas / (facts.groups * facts.subgroups * dpas)
    l2, memory, clock = device["l2"], device["memory rate"], device["clock"]
    reached = device["memory"]
    busiest = -(-facts.groups // device.cores) / waves
    of_core = busiest * facts.fetched / (facts.groups * trips)
    of_all = facts.least / (waves * trips)
    fast = memory.most * reached.most * 1e3 / clock.least
    slow = memory.least * reached.least * 1e3 / clock.most
    return (
        Brought("L2", of_core / l2.most, of_core / l2.least, ("l2",)),
        Brought("memory", of_all / fast, of_all / slow, ("memory rate", "memory", "clock")),
    )
