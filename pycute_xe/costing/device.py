"""Devices and how fast they are, every figure with its source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import Any

from pycute_xe.arch.target import Target, get_target, is_target
from pycute_xe.errors import TargetError, quoted
from pycute_xe.facts import Row, rows, rows_for

__all__ = ["Device", "Figure", "devices", "get_device"]


@dataclass(frozen=True)
class Figure:
    """A figure of a device: the least and the most it may be, its unit, kind and source.

    ``kind`` is vendor, measured, derived or assumed; ``file`` is the file of one's own, or the
    calibration, that it was taken from.
    """

    name: str
    least: float
    most: float
    unit: str
    kind: str
    source: str
    file: str = ""

    @property
    def origin(self) -> str:
        """Its kind, and the file of one's own that it stands in."""
        return f"{self.kind} ({self.file})" if self.file else self.kind

    @property
    def is_rate(self) -> bool:
        """Whether more of it is faster; the others say what one thing takes."""
        return UNITS[self.name][1]

    def scaled(self, factor: float) -> Figure:
        """Return the figure times a factor: what an estimate does with another one."""
        least, most = self.least * factor, self.most * factor
        return replace(self, least=least, most=most)

    def __str__(self) -> str:
        least, most = (f"{value:.4g}" for value in (self.least, self.most))
        value = least if least == most else f"{least} to {most}"
        return f"{self.name} {value} {self.unit} ({self.origin}: {self.source})"


UNITS: dict[str, tuple[str, bool]] = {
    "clock": ("MHz", True),
    "memory rate": ("GB/s", True),
    "dpas_row": ("clocks a row of DPAS", False),
    "alu": ("SIMD16 instructions a clock and engine", True),
    "l1": ("bytes a clock and core", True),
    "l2": ("bytes a clock and core", True),
    "memory": ("of the memory's rate", True),
    "launch": ("microseconds", False),
    "latency": ("nanoseconds", False),
    "widen": ("instructions for 16 elements", False),
    "convert": ("instructions for 16 elements", False),
    "function": ("instructions for an operation on 16 elements", False),
}
"""The unit of each figure, and whether it is a rate: more of it is faster."""


@dataclass(frozen=True)
class Device:
    """A product: its target, its Xe cores, its figures by name, and the bytes that its L2 keeps.

    ``driver`` are the words by which a driver names it.

    >>> b70 = get_device("b70")
    >>> b70.target, b70.cores, b70["dpas_row"].least
    (get_target('bmg'), 32, 2)
    """

    name: str
    target: Target
    cores: int
    figures: tuple[Figure, ...]
    cache: int = 0
    driver: str = ""

    def __getitem__(self, name: str) -> Figure:
        """Return a figure. Raises `TargetError` for one that the device does not have."""
        figure = next((f for f in self.figures if f.name == name), None)
        if figure is None:
            known = ", ".join(f.name for f in self.figures)
            wrong = f"{self.name} has no figure {name}"
            raise TargetError("cost", {"figure": name}, wrong, f"use one of {known}")
        return figure

    @property
    def engines(self) -> int:
        """Vector engines of a core. Raises `TargetError` where no row says how many."""
        if self.target.vector_engines is None:
            wrong = f"no row says how many vector engines a core of {self.target.name} has"
            raise TargetError("cost", {"target": self.target}, wrong, "add them to atoms/arch.toml")
        return self.target.vector_engines

    def with_figures(self, changed: dict[str, float]) -> Device:
        """Return the device with other values of some figures, assumed by the caller."""
        for name, value in changed.items():
            _ = self[name]
            if type(value) not in (int, float) or not 0 < value < inf:
                wrong = f"{name} is {quoted(value)}, not a number above 0"
                raise TargetError(
                    "cost", {"figure": name}, wrong, f"give {name} in {UNITS[name][0]}"
                )
        figures = tuple(
            Figure(f.name, changed[f.name], changed[f.name], f.unit, "assumed", "given by the call")
            if f.name in changed
            else f
            for f in self.figures
        )
        return replace(self, figures=figures)

    def with_rows(self, rows: tuple[Figure, ...]) -> Device:
        """Return the device with these figures in place of those of their names."""
        by_name = {figure.name: figure for figure in rows}
        figures = tuple(by_name.get(figure.name, figure) for figure in self.figures)
        return replace(self, figures=figures)

    def __str__(self) -> str:
        return f"{self.name} ({self.target.name}, {self.cores} Xe cores)"


@cache
def devices() -> tuple[Device, ...]:
    """Return every device of which figures are known.

    >>> [device.name for device in devices()]
    ['b580', 'b570', 'b60', 'b70', 'max1550', 'max1100']
    """
    return tuple(map(_read, rows("device", "device")))


def _read(row: Row) -> Device:
    target, source, kind = str(row["target"]), str(row["source"]), str(row["kind"])
    clock: Any = row["clock"]
    rate: Any = row["memory"]
    figures = [
        _figure("clock", clock, kind, source),
        _figure("memory rate", (rate, rate), kind, source),
    ]
    per_target = (*rows_for("device", "rate", target), *rows("device", "work"))
    for one in per_target:
        name = str(one.get("figure") or one["step"])
        value: Any = one["value"]
        figures.append(_figure(name, value, str(one["kind"]), str(one["source"])))
    cores: Any = row["cores"]
    cache: Any = row["l2"]
    name, driver = str(row["name"]), str(row["driver"])
    return Device(name, get_target(target), cores, tuple(figures), cache * 1_000_000, driver)


def _figure(name: str, value: tuple[float, float], kind: str, source: str) -> Figure:
    return Figure(name, value[0], value[1], UNITS[name][0], kind, source)


def get_device(given: str | Target | Device) -> Device:
    """Return a device by its name, or the first of a target.

    Raises `TargetError` for an unknown name and for a target of which no device is known.

    >>> get_device("bmg").name, get_device("b70").cores
    ('b580', 32)
    """
    if isinstance(given, Device):
        return given
    name = given.name if isinstance(given, Target) else given.strip().lower()
    named = next((device for device in devices() if device.name == name), None)
    if named is not None:
        return named
    known = ", ".join(device.name for device in devices())
    if not is_target(name):
        fix = f"use one of {known}, or a target"
        raise TargetError("cost", {"device": given}, "no device has this name", fix)
    target = get_target(name)
    first = next((device for device in devices() if device.target == target), None)
    if first is None:
        wrong = f"no figures of a device of {target.name} are known"
        raise TargetError("cost", {"target": target}, wrong, f"use one of {known}")
    return first
