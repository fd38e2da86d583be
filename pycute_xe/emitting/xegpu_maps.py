"""Floor 9: the scalar functions of epilogues as MLIR's elementwise operations on tiles of f32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from pycute_xe.emitting.xegpu_tiles import unsaid
from pycute_xe.emitting.xegpu_values import Values
from pycute_xe.kernel import Element, Expression, Slot
from pycute_xe.kernel.spec.expression import Apply, Const
from pycute_xe.kernel.spec.functions import SEQUENCE, function
from pycute_xe.numeric import Numeric

__all__ = ["SEQUENCES", "computed", "widened"]

_DEALT = "{layout_result_0 = #c}"


def computed(out: Values, value: Expression, held: dict[str, str], vector: str) -> str:
    """Compute a tile element by element; ``held`` are fragments by name."""
    match value:
        case Slot(name):
            return held[name]
        case Const(number):
            return Tile(out, vector).filled(number)
        case Element(operand, ()):
            one = widened(out, f"%{operand}", out.kernel.operand(operand).value_type)
            return out.made(f"vector.broadcast {one} {_DEALT} : f32 to {vector}", "all")
        case Apply(name, arguments):
            tile = Tile(out, vector)
            return tile.apply(name, *(computed(out, x, held, vector) for x in arguments))
        case _:
            raise unsaid(value, f"{value} has no operation here", "compute it on the host")


@dataclass(frozen=True)
class Tile:
    """What writes operations on tiles of f32, all of one type."""

    out: Values
    vector: str

    def filled(self, number: float) -> str:
        """Return a tile of one number."""
        return self.out.filled(number, self.vector, "f32", "#c")

    def operation(self, name: str, *values: str | float, types: str = "") -> str:
        """Write an operation of tiles and numbers."""
        read = ", ".join(v if isinstance(v, str) else self.filled(v) for v in values)
        return self.out.made(f"{name} {read} {_DEALT} : {types or self.vector}")

    def apply(self, name: str, *values: str | float) -> str:
        """Write a function of tiles and numbers; one that is made of others as these."""
        row = function(name, len(values))
        if row.of is not None:
            return row.unfolded(self.apply, *values)
        if row.mlir == SEQUENCE:
            return SEQUENCES[name](self, *values)
        if not row.mlir:
            raise unsaid(name, f"{name} has no operation here", "compute it on the host")
        return self.operation(row.mlir, *values)

    def chosen(
        self, condition: str, one: str | float, other: str | float, then: Any, otherwise: Any
    ) -> str:
        """Write one of two, by a comparison of two tiles."""
        where = self.operation(f"arith.cmpf {condition},", one, other)
        bits = self.vector.replace("xf32>", "xi1>")
        types = f"{bits}, {self.vector}"
        return self.operation("arith.select", where, then, otherwise, types=types)


def _sigmoid(tile: Tile, x: str) -> str:
    power = tile.apply("exp", tile.operation("arith.negf", x))
    return tile.apply("div", 1.0, tile.apply("add", 1.0, power))


def _gelu(tile: Tile, x: str) -> str:
    """Half of x, times 1 + erf(x / √2)."""
    error = tile.operation("math.erf", tile.apply("mul", x, 0.5**0.5))
    return tile.apply("mul", tile.apply("mul", x, 0.5), tile.apply("add", 1.0, error))


def _at_least(tile: Tile, x: str, y: str) -> str:
    return tile.chosen("oge", x, y, 1.0, 0.0)


def _below(tile: Tile, x: str, y: str) -> str:
    return tile.chosen("olt", x, y, x, -inf)


SEQUENCES: dict[str, Callable[..., str]] = {
    "sigmoid": _sigmoid,
    "gelu": _gelu,
    "at_least": _at_least,
    "below": _below,
}
"""By name: what writes a function of several operations."""


def widened(out: Values, value: str, numeric: Numeric, vector: str = "") -> str:
    """Return a float as f32: one number, or a tile whose type in f32 is ``vector``."""
    if numeric.name == "f32":
        return value
    if numeric.kind != "float":
        raise unsaid(numeric, "maps are said of floats", "convert first")
    kind, told = out.type_of(numeric), f" {_DEALT}" if vector else ""
    before, after = (vector.replace("xf32>", f"x{kind}>"), vector) if vector else (kind, "f32")
    return out.made(f"arith.extf {value}{told} : {before} to {after}", "wide")
