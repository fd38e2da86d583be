"""What a kernel says of the plan that it follows: which of its names are the plan's tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pycute_xe.signatures import checked_fields

__all__ = ["Planned"]

THINGS = {
    "work": "work",
    "count": "count",
    "scratch": "W",
    "locks": "locks",
    "a": "A",
    "b": "B",
    "d": "D",
}
VARIABLES = {
    "unit": "u",
    "turn": "i",
    "units": "U",
    "rows": "M",
    "columns": "N",
    "depth": "K",
    "batch": "L",
}


@checked_fields
@dataclass(frozen=True, slots=True)
class Planned:
    """The operands, extents and variables by which a kernel looks its work up in a plan's tables.

    Work-group ``unit`` of ``units`` does ``count[unit]`` pieces, one a ``turn``; piece ``turn`` is
    the row ``work[unit, turn, …]``. Parts of a tile of ``d`` = ``a`` ``b`` are added up in
    ``scratch``, in the order of ``locks``, both empty where pieces are whole tiles. What it says is
    checked by whoever relies on it. C++: the tile scheduler of a kernel.

    >>> Planned().things["W"], Planned(scratch="parts").things["parts"]
    ('W', 'W')
    """

    work: str = "work"
    count: str = "count"
    scratch: str = "W"
    locks: str = "locks"
    a: str = "A"
    b: str = "B"
    d: str = "D"
    unit: str = "u"
    turn: str = "i"
    units: str = "U"
    rows: str = "M"
    columns: str = "N"
    depth: str = "K"
    batch: str = "L"

    @property
    def things(self) -> dict[str, str]:
        """What operands are called in a kernel of `scheduled`, by their names here."""
        return {name: usual for part, usual in THINGS.items() if (name := getattr(self, part))}

    @property
    def variables(self) -> dict[str, str]:
        """What extents and variables are called in a kernel of `scheduled`, by their names here."""
        return {name: usual for part, usual in VARIABLES.items() if (name := getattr(self, part))}

    def renamed(self, things: Mapping[str, str], variables: Mapping[str, str]) -> Planned:
        """Return it of a kernel of other names."""
        new: dict[str, Any] = {}
        for part in fields(self):
            names = things if part.name in THINGS else variables
            new[part.name] = names.get(getattr(self, part.name), getattr(self, part.name))
        return Planned(**new)
