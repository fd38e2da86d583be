"""`calibrate`: what runs on a real device decide about its figures.

One law serves all figures: no resource was busy longer than the fastest run took. So a rate was at
least what the run reached, and a step took at most what the run left it. The other end of a figure
is not decided by a time alone, since latencies may have filled the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from types import MappingProxyType

from pycute_xe.arch.registers import occupancy
from pycute_xe.costing.account import Bound, Cost, bounds_of, cost_of
from pycute_xe.costing.device import Device, Figure, devices, get_device
from pycute_xe.costing.facts import Facts, KernelFacts, facts_of
from pycute_xe.costing.own import OwnFigures
from pycute_xe.emitting.measurement import Measurement
from pycute_xe.errors import InputError, TargetError, quoted
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.ir.identity import identity
from pycute_xe.signatures import typed

__all__ = ["Calibration", "Judged", "calibrate"]

RATES = MappingProxyType({"DPAS": "clock", "L1": "l1", "L2": "l2", "memory": "memory"})
"""The rate that a run decides by each resource: the most that it has, times its share of time."""

STEPS = MappingProxyType({"widen": "widened", "convert": "converted", "function": "computed"})
"""The steps of vector pipes, and how the facts of a kernel name their counts."""

PEAKS = ("DPAS", "ALU", "L1", "memory")
"""Resources whose best figures no run passes; the most of L2 is a guess on some targets."""

NEARLY = 1.001
"""By how much rounding may put a run before a peak."""


@dataclass(frozen=True)
class Judged:
    """A report, and what `cost` says of its kernel and sizes before and after it was taken."""

    report: str
    seconds: float
    before: Cost
    after: Cost

    def __str__(self) -> str:
        """The measured time, then both intervals and how far their middles are off."""
        lines = [f"{self.report}: {self.seconds * 1e3:.4g} ms"]
        for when, one in (("before", self.before), ("after", self.after)):
            place = "inside" if one.least <= self.seconds <= one.most else "outside"
            off = sqrt(one.least * one.most) / self.seconds - 1
            time = f"{one.least * 1e3:.4g} to {one.most * 1e3:.4g} ms"
            lines.append(f"{when:6} {time}, {place}, its middle is off by {off:+.0%}")
        return "\n    ".join(lines)


@dataclass(frozen=True)
class Calibration(OwnFigures):
    """Figures that reports decide, and how far `cost` was off before and after.

    `write` makes a file of the figures; ``cost(…, figures=calibration)`` takes the value itself.
    """

    judged: tuple[Judged, ...] = ()

    @property
    def device(self) -> Device:
        """The device with these figures: what ``explore`` and `cost` take."""
        return self.on(self.judged[0].before.device)

    def __str__(self) -> str:
        """The figures that changed, then each report."""
        lines = [f"{self.product}: figures changed: {len(self.rows)}, reports: {len(self.judged)}"]
        before = self.judged[0].before.device
        for row in self.rows:
            old = before[row.name]
            lines.append(f"  {row}; before {old.least:.4g} to {old.most:.4g}")
        if not self.rows:
            lines.append("  every run is slower than the figures allow: it decides none of them")
        return "\n".join([*lines, *(f"  {one}" for one in self.judged)])


@typed
def calibrate(
    reports: Sequence[Measurement] | Mapping[str, Measurement],
    kernels: Iterable[Kernel],
    device: str | Device | None = None,
) -> Calibration:
    """Return the figures of a device that measured runs decide, and how far `cost` was off.

    ``reports`` are what `read_report` reads, by the names of their files or as they are;
    ``kernels`` those that were measured, which reports name by identity; ``device`` the product, if
    not the one that the driver names. Law: no resource was busy longer than the fastest run, so
    that ``clock`` (by DPAS), ``l1``, ``l2`` and ``memory`` (by bytes that L2 cannot have kept) were
    at least what it reached, and ``widen``, ``convert`` and ``function`` at most what it left. A
    figure that no run decides stays. Raises `InputError` for a report of another kernel, of wrong
    results, with too few registers or faster than the peak; `TargetError` for an unknown device,
    and as `cost`. No counterpart in CUTLASS.

    >>> import pycute_xe as cx
    >>> from pycute_xe.kernel.ir.identity import identity
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> sizes = (("M", 4096), ("N", 4096), ("K", 4096))
    >>> run = Measurement("gemm", identity(gemm), "Arc B580", "gpu", "26.1", sizes, 256, 0.5,
    ...     (0.00125,), 2 * 4096**3, 3 * 2 * 4096**2, 1.0, 0.0, "")
    >>> [(row.name, round(row.least)) for row in calibrate([run], [gemm]).rows]
    [('clock', 2726)]
    """
    named = _named(reports)
    by_identity = {identity(kernel): kernel for kernel in kernels}
    if not named:
        wrong = "no report is given"
        raise InputError("calibrate", {"reports": named}, wrong, "give what --save wrote")
    products = {name: _device(name, report, device) for name, report in named.items()}
    chosen = next(iter(products.values()))
    for name, other in products.items():
        if other.name != chosen.name:
            wrong = f"{name} is of {other.name}, another report of {chosen.name}"
            raise InputError("calibrate", {"report": name}, wrong, "calibrate each device apart")
    costs = {name: _cost(name, one, by_identity, chosen) for name, one in named.items()}
    rows: dict[str, Figure] = {}
    for name, before in costs.items():
        fastest = min(named[name].seconds)
        _demand_possible(name, fastest, before)
        for row in _decided(name, fastest, before.facts, chosen.with_rows((*rows.values(),))):
            rows[row.name] = row
    own = OwnFigures(chosen.name, tuple(rows.values()))
    after = own.on(chosen)
    judged = tuple(
        Judged(name, named[name].usual, one, _on(one, after)) for name, one in costs.items()
    )
    return Calibration(own.product, own.rows, judged)


def _named(reports: Sequence[Measurement] | Mapping[str, Measurement]) -> dict[str, Measurement]:
    if isinstance(reports, Sequence):
        named = {f"report {number}": one for number, one in enumerate(reports, 1)}
    else:
        named = dict(reports)
    for name, one in named.items():
        if not isinstance(one, Measurement):  # pyright: ignore[reportUnnecessaryIsInstance]
            wrong = f"{name} is a {type(one).__name__}, not a Measurement"
            raise InputError("calibrate", {"report": name}, wrong, "read it by read_report")
    return named


def _device(name: str, report: Measurement, device: str | Device | None) -> Device:
    """Return the product that a report is of."""
    if report.kind != "gpu":
        wrong = f"{name} is of a {report.kind}, {quoted(report.device)}, not of an Xe GPU"
        raise TargetError("calibrate", {"report": name}, wrong, "run the program on a GPU")
    if device is not None:
        return get_device(device)
    for one in devices():
        if re.search(rf"\b{re.escape(one.driver)}\b", report.device):
            return one
    known = ", ".join(one.name for one in devices())
    wrong = f"{name} is of the unknown device {quoted(report.device)}"
    raise TargetError("calibrate", {"report": name}, wrong, f"name its device, one of {known}")


def _cost(name: str, report: Measurement, kernels: Mapping[str, Kernel], device: Device) -> Cost:
    """Return what a report's kernel costs at its sizes in its mode of registers."""
    kernel = kernels.get(report.identity)
    if kernel is None:
        wrong = f"{name} is of the unknown kernel {quoted(report.kernel)} {report.identity[:12]}"
        raise InputError("calibrate", {"report": name}, wrong, "give the kernel it measured, too")
    if not report.equal:
        wrong = f"the results of {name} were wrong: {quoted(report.different)}"
        raise InputError("calibrate", {"report": name}, wrong, "take a run that is right")
    known = facts_of(kernel, device.target)
    return cost_of(_ran(name, known, report.registers), device, dict(report.sizes))


def _ran(name: str, known: KernelFacts, registers: int) -> KernelFacts:
    if known.registers > registers:
        wrong = f"{name} ran with {registers} registers of {known.registers}, so that it spilled"
        raise InputError("calibrate", {"report": name}, wrong, "run it with --registers 256")
    slm = sum(array.bytes for array in known.kernel.shared)
    resident = occupancy(slm, known.kernel.subgroups, known.target, registers).groups
    return replace(known, grf_mode=registers, resident=max(1, resident))


def _on(one: Cost, device: Device) -> Cost:
    return replace(one, device=device, bounds=bounds_of(one.facts, device), launch=device["launch"])


# ------------------------------------------------------------ what a run decides


def _bounds(counted: Facts, device: Device) -> dict[str, Bound]:
    """Return the bounds, memory's without the bytes that L2 may have kept from the run before."""
    brought = replace(counted, least=max(0, counted.least - device.cache))
    return {bound.resource: bound for bound in bounds_of(brought, device)}


def _demand_possible(name: str, seconds: float, before: Cost) -> None:
    """Refuse a run that the best figures of the device forbid."""
    device = before.device
    share = replace(device["memory"], least=1.0, most=1.0)
    at_peak = _bounds(before.facts, device.with_rows((share,)))
    for resource in PEAKS:
        least = at_peak[resource].least
        if least > seconds * NEARLY:
            wrong = f"{name} took {seconds * 1e6:.4g} µs, faster than the peak: {resource} alone "
            wrong += f"takes {least * 1e6:.4g} µs on {device.name}"
            raise InputError("calibrate", {"report": name}, wrong, "check its device and sizes")
    if not seconds:
        wrong = f"{name} has a run of 0 s"
        raise InputError("calibrate", {"report": name}, wrong, "use larger sizes")


def _decided(name: str, seconds: float, counted: Facts, device: Device) -> Iterator[Figure]:
    """Yield the figures that a run changes."""
    bounds = _bounds(counted, device)
    for resource, rate in RATES.items():
        old, reached = device[rate], device[rate].most * bounds[resource].least / seconds
        if reached > old.least:
            most = max(old.most, reached)
            law = f"{resource} was not busy longer than the fastest run of {name}"
            yield _measured(old, reached, most, f"the least: {law}")
    every = {step: getattr(counted, count) for step, count in STEPS.items()}
    total = counted.moves + sum(n * device[step].least for step, n in every.items())
    busy = bounds["ALU"].least
    for step, count in every.items():
        if not count:
            continue
        old = device[step]
        left = old.least + (seconds / busy - 1) * total / count
        if left < old.most:
            law = f"vector pipes were not busy longer than the fastest run of {name}"
            yield _measured(old, old.least, max(old.least, left), f"the most: {law}")


def _measured(old: Figure, least: float, most: float, law: str) -> Figure:
    kept = "" if least == most else f"; the other end is {old.kind}"
    return Figure(old.name, least, most, old.unit, "measured", f"{law}{kept}", "calibration")
