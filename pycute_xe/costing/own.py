"""Figures of one's own in the place of a device's: a value, and a file of TOML."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from pycute_xe.costing.device import UNITS, Device, Figure, get_device
from pycute_xe.errors import CuteError, InputError, TargetError, quoted

__all__ = ["AnyFigures", "OwnFigures", "read_figures", "with_own"]

KINDS = ("vendor", "measured", "derived", "assumed")
"""Where a figure may come from."""

MOST_BYTES = 1_000_000
"""What a file of figures may have."""

_WAY_OUT = "take a file that calibrate wrote"


@dataclass(frozen=True)
class OwnFigures:
    """Figures that replace those of a device, by its name.

    Raises `TargetError` for a figure that the device does not have.
    """

    product: str
    rows: tuple[Figure, ...]

    def __post_init__(self) -> None:
        """Check that the device has each figure."""
        device = get_device(self.product)
        for row in self.rows:
            _ = device[row.name]

    def on(self, device: Device) -> Device:
        """Return a device with these figures. Raises `TargetError` for another device's."""
        if device.name != self.product:
            wrong = f"the figures are of {self.product}, not of {device.name}"
            raise TargetError("cost", {"figures": self.product}, wrong, f"use {self.product}")
        return device.with_rows(self.rows)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write a file that ``cost(…, figures=path)`` reads; return its path.

        Law: `read_figures` of the file gives these figures. Raises `InputError` where the file
        cannot be written.
        """
        lines = ["# Figures of one's own, for cost(figures=) and pycute-xe cost --figures."]
        lines.append(f"device = {_text(self.product)}")
        for row in self.rows:
            value = f"[{row.least!r}, {row.most!r}]"
            lines += ["", "[[figure]]", f"name = {_text(row.name)}", f"value = {value}"]
            lines += [f"kind = {_text(row.kind)}", f"source = {_text(row.source)}"]
        try:
            Path(path).write_text("\n".join([*lines, ""]), encoding="utf-8")
        except (OSError, ValueError) as error:
            wrong = f"the file cannot be written: {getattr(error, 'strerror', None) or error}"
            raise InputError("write", {"path": path}, wrong, "name another file") from error
        return Path(path)


AnyFigures: TypeAlias = "Mapping[str, float] | OwnFigures | str | PathLike[str]"


def _text(value: str) -> str:
    return json.dumps(value.replace("\x7f", " "), ensure_ascii=False)


def with_own(device: Device, figures: AnyFigures | None) -> Device:
    """Return a device with figures of a call, of a calibration or of a file.

    Raises `TargetError` for a figure that the device does not have, or of another device, and as
    `read_figures`.
    """
    match figures:
        case None:
            return device
        case OwnFigures():
            return figures.on(device)
        case str() | PathLike():
            return read_figures(figures).on(device)
        case Mapping():
            return device.with_figures(dict(figures)) if figures else device
        case _:
            wrong = f"figures are a {type(figures).__name__}"
            fix = 'give a file, a calibration, or {"clock": 2000}'
            raise InputError("cost", {"figures": type(figures).__name__}, wrong, fix)


def read_figures(path: str | PathLike[str]) -> OwnFigures:
    """Return the figures of a file that `OwnFigures.write` wrote, or of the same form.

    Raises `InputError` that names the file and the row for what is not of this form.

    >>> try:
    ...     read_figures("nowhere.toml")
    ... except InputError as error:
    ...     print(error)
    cost(figures=nowhere.toml): the file cannot be read: ...
    """
    given = {"figures": str(path)}
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        content = tomllib.loads(data.decode())
    except (OSError, ValueError, RecursionError) as error:
        words = getattr(error, "strerror", None) or str(error)
        wrong = f"the file cannot be read: {quoted(words).strip(chr(39))}"
        raise InputError("cost", given, wrong, _WAY_OUT) from error
    match content:
        case {"device": str(product), "figure": [*rows], **rest} if not rest:
            try:
                name = get_device(product).name
                return OwnFigures(name, tuple(_row(row, Path(path).name) for row in rows))
            except CuteError as error:
                raise InputError("cost", given, error.condition, _WAY_OUT) from error
        case _:
            wrong = "the file does not have device and [[figure]], and nothing else"
            raise InputError("cost", given, wrong, _WAY_OUT)


def _row(row: Any, file: str) -> Figure:
    match row:
        case {"name": str(name), "value": [least, most], "kind": str(kind), "source": str(source)}:
            numbers = all(type(x) in (int, float) and isfinite(x) for x in (least, most))
            if name not in UNITS:
                wrong = f"{quoted(name)} is not the name of a figure"
            elif not numbers or not 0 < least <= most:
                wrong = f"the value of {name} is {[least, most]}, must be [least, most] above 0"
            elif kind not in KINDS:
                wrong = f"the kind of {name} is {quoted(kind)}, must be one of {', '.join(KINDS)}"
            else:
                return Figure(name, least, most, UNITS[name][0], kind, source, file)
        case _:
            wrong = f"a figure is {quoted(str(row))}"
    raise InputError("cost", {"figure": quoted(str(row))}, wrong, _WAY_OUT)
