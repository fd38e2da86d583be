"""How far ahead a kernel prefetches, in trips of its loop and in time, beside memory's latency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pycute_xe.costing.device import Device, Figure
from pycute_xe.costing.facts import Facts
from pycute_xe.kernel import If, Kernel, Load, Loop, Prefetch, Statement

__all__ = ["Ahead", "aheads"]


@dataclass(frozen=True, slots=True)
class Ahead:
    """An operand that is prefetched: trips ahead of its load, and the seconds these take."""

    operand: str
    trips: int
    seconds: tuple[float, float]
    latency: Figure

    @property
    def in_time(self) -> bool | None:
        """Whether it is there when it is loaded: None where the intervals overlap."""
        least, most = (value * 1e-9 for value in (self.latency.least, self.latency.most))
        if self.seconds[0] >= most:
            return True
        return False if self.seconds[1] < least else None

    def __str__(self) -> str:
        least, most = (f"{value * 1e9:,.0f}" for value in self.seconds)
        latency = f"{self.latency.least:.4g} to {self.latency.most:.4g} ns of memory's latency"
        match self.in_time:
            case True:
                answer = "in time"
            case False:
                answer = "late"
            case None:
                answer = "in time or late"
        trips = f"{self.trips} trip{'s' * (self.trips != 1)} ahead"
        return f"{self.operand} {trips}, {least} to {most} ns: {answer} ({latency})"


def aheads(
    kernel: Kernel, counted: Facts, device: Device, interval: tuple[float, float]
) -> tuple[Ahead, ...] | None:
    """Return how far ahead each operand is prefetched; None for a kernel that does not prefetch.

    A trip takes the time of the kernel divided by its waves and its trips. An operand that is not
    loaded in the loop that prefetches it, or a loop whose trips depend on tables, is left out.
    """
    statements = [*kernel.statements()]
    if not any(isinstance(one, Prefetch) for one in statements):
        return None
    out: dict[str, Ahead] = {}
    for loop in (one for one in statements if isinstance(one, Loop)):
        if not (loop.start.names | loop.stop.names) <= set(counted.sizes) or loop.stop.looked_up:
            continue
        count = loop.stop.at(counted.sizes) - loop.start.at(counted.sizes)
        if count < 1:
            continue
        for operand, trips in _distances(loop):
            each = (seconds * trips / (counted.waves * count) for seconds in interval)
            least, most = each
            out[operand] = Ahead(operand, trips, (least, most), device["latency"])
    return tuple(out.values())


def _distances(loop: Loop) -> Iterator[tuple[str, int]]:
    """Yield each operand that a loop prefetches and loads, and how many trips lie between."""
    inside = [*_inside(loop.body)]
    for one in inside:
        if not isinstance(one, Prefetch):
            continue
        for other in inside:
            if isinstance(other, Load) and other.operand == one.operand:
                trips = _trips(one, other, loop.var)
                if trips is not None:
                    yield one.operand, trips


def _inside(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for one in body:
        yield one
        if isinstance(one, If):
            yield from _inside(one.body)


def _trips(prefetch: Prefetch, load: Load, var: str) -> int | None:
    """Return by how many trips two indices differ; None where they differ otherwise."""
    trips: int | None = None
    for ahead, here in zip(prefetch.at, load.at, strict=True):
        apart, scale = ahead - here, dict(here.terms).get(var, 0)
        if apart.terms or not scale:
            if apart.terms or apart.at({}):
                return None
            continue
        count, rest = divmod(apart.at({}), scale)
        if rest or trips is not None:
            return None
        trips = count
    return trips
