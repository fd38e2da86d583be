"""Reads the golden data under tests/data (tests/data/README.md) as values of the library."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pycute_xe.basis import Basis
from pycute_xe.layout import Layout

DATA = Path(__file__).resolve().parent / "data"


@cache
def rows(name: str) -> Any:
    """The rows of a data file, by its name without ``.json.gz``."""
    with gzip.open(DATA / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)


@contextmanager
def named(row: str) -> Iterator[None]:
    """Say at which row of a table a test of many rows failed."""
    try:
        yield
    except Exception as error:
        error.add_note(f"at row {row}")
        raise


def to_tuple(value: Any) -> Any:
    """Lists are tuples; ``{"basis": modes, "value": v}`` is a basis stride."""
    if isinstance(value, list):
        return tuple(map(to_tuple, value))
    if isinstance(value, dict):
        return Basis(value["value"], tuple(value["basis"]))
    return value


def to_layout(value: dict[str, Any]) -> Layout:
    """``{"shape": S, "stride": D}`` as a layout."""
    return Layout(to_tuple(value["shape"]), to_tuple(value["stride"]))


def to_tiler(value: Any) -> Any:
    """A layout, an integer, ``"_"``, or ``{"tile": [...]}`` of those."""
    if value == "_":
        return None
    if isinstance(value, dict):
        if "tile" in value:
            return tuple(map(to_tiler, value["tile"]))
        return to_layout(value)
    return value


def to_coord(value: Any) -> Any:
    """A coordinate, with ``"_"`` for ``None``."""
    if isinstance(value, list):
        return tuple(map(to_coord, value))
    return None if value == "_" else value
