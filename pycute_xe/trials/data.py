"""Floor 10: what a trial feeds a kernel: numbers whose every sum is exact, and edges of types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from pycute_xe.kernel import Kernel, Mma, Operand
from pycute_xe.kernel.binding import shape_of
from pycute_xe.kernel.field import Field, drawn, edges
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Total,
    Where,
    leaves,
    parts,
)
from pycute_xe.kernel.spec.functions import CHOOSING
from pycute_xe.kernel.spec.reductions import reduction
from pycute_xe.numeric import Numeric

__all__ = ["DATA", "EDGES", "INEXACT", "WIDE", "Data", "Grain", "exact", "fields"]

Sizes: TypeAlias = Mapping[str, int]

EDGES = "edge values of the types"


@dataclass(frozen=True)
class Grain:
    """Numbers that are whole multiples of ``unit``, at most ``most`` in size."""

    most: float
    unit: float = 1.0

    def fits(self, bits: int) -> bool:
        """Whether a significand of so many bits holds every one of them."""
        return self.most <= self.unit * 2.0**bits


@dataclass(frozen=True)
class Data:
    """Small numbers for the operands of sums, and for all others: largest, and unit.

    Floats that are not summed have at most so many ``bits``, as far as their type holds them.
    """

    name: str
    summed: Grain
    others: Grain
    bits: int = 8

    def grain(self, operand: Operand, summed: bool) -> Grain:
        """Return the numbers that an operand is given, as far as its type holds them."""
        wanted, kind = self.summed if summed else self.others, operand.value_type
        if kind.kind != "float":
            most = (1 << min(kind.bits - (kind.kind == "signed"), 20)) - 1
            return Grain(min(max(1.0, wanted.most // wanted.unit), most))
        bits = min(kind.row.significand, 8 if summed else self.bits) if kind.bits >= 8 else 1
        return Grain(min(wanted.most, wanted.unit * 2**bits), wanted.unit)


WIDE = (
    Data("integers of 8 bits and numbers of 12", Grain(127), Grain(2047 / 16, 1 / 16), 12),
    Data("integers of 8 bits and sixteenths", Grain(127), Grain(127 / 16, 1 / 16)),
    Data("integers of 8 bits", Grain(127), Grain(127)),
    Data("integers of 5 bits and sixteenths", Grain(31), Grain(127 / 16, 1 / 16)),
)
"""Numbers whose products have more bits than narrow types hold, so that their roundings show."""
DATA = (
    Data("small integers and sixteenths", Grain(2), Grain(127 / 16, 1 / 16)),
    Data("small integers", Grain(2), Grain(5)),
    Data("the integers -1, 0 and 1", Grain(1), Grain(1)),
)
"""What is fed to a kernel: the first of these that leaves every number exact."""

INEXACT = Data("eighths", Grain(1 / 4, 1 / 8), Grain(1 / 2, 1 / 8))


def exact(kernel: Kernel, sizes: Sizes, among: tuple[Data, ...] = DATA) -> Data | None:
    """Return the first data on which everything that is claimed is exact, None for none."""
    claims = kernel.computes.claims if kernel.computes is not None else ()
    floats = {s.mma.atom.op.C for s in kernel.statements() if isinstance(s, Mma)}
    bits = min((kind.row.significand or 24 for kind in floats), default=24)
    summed = _summed(kernel)
    for data in among:
        grains = {o.name: data.grain(o, o.name in summed) for o in kernel.inputs}
        if all(_grain(claim.value, grains, sizes, bits) is not None for claim in claims):
            return data
    return None


def _summed(kernel: Kernel) -> frozenset[str]:
    """The operands that stand in a sum of a claim."""
    claims = kernel.computes.claims if kernel.computes is not None else ()
    inside = [part for claim in claims for part in _within(claim.value) if isinstance(part, Total)]
    return frozenset(x.operand for total in inside for x in leaves(total) if isinstance(x, Element))


def _within(value: Expression) -> list[Expression]:
    return [value, *(inner for part in parts(value) for inner in _within(part))]


def _grain(value: Expression, given: Mapping[str, Grain], sizes: Sizes, bits: int) -> Grain | None:
    """Return the numbers that an expression may be, None where some are not exact."""
    inner = [_grain(part, given, sizes, bits) for part in parts(value)]
    known = [one for one in inner if one is not None]
    if len(known) < len(inner):
        return None
    found = _GRAINS[type(value)](value, known, given, sizes)
    limit = min(bits, 24) if isinstance(value, Total) else 24
    return found if found is not None and found.fits(limit) else None


def _widest(known: list[Grain]) -> Grain:
    return Grain(max(g.most for g in known), min(g.unit for g in known))


def _of_apply(value: Any, known: list[Grain], _given: Any, _sizes: Any) -> Grain | None:
    if value.function in CHOOSING:
        return _widest(known)
    return _COMBINED[value.function](known) if value.function in _COMBINED else None


def _product(known: list[Grain]) -> Grain:
    most, unit = 1.0, 1.0
    for one in known:
        most, unit = most * one.most, unit * one.unit
    return Grain(most, unit)


def _sum(known: list[Grain]) -> Grain:
    return Grain(sum(g.most for g in known), min(g.unit for g in known))


_COMBINED: Mapping[str, Callable[[list[Grain]], Grain]] = {"add": _sum, "mul": _product}


def _of_const(value: Any, _known: Any, _given: Any, _sizes: Any) -> Grain | None:
    number = abs(value.value)
    unit = next((2.0**-i for i in range(9) if (number * 2**i).is_integer()), None)
    return Grain(number, unit) if unit is not None else None


def _of_element(value: Any, _known: Any, given: Mapping[str, Grain], _sizes: Any) -> Grain | None:
    return given.get(value.operand)


def _of_parts(_value: Any, known: list[Grain], _given: Any, _sizes: Any) -> Grain:
    return _widest(known)


def _of_total(value: Any, known: list[Grain], _given: Any, sizes: Sizes) -> Grain:
    count, most = 1, max(sizes.values(), default=1)

    def looked_up(_name: str, _at: tuple[int, ...]) -> int:
        return most

    for _, extent in value.over:
        # What is counted by other variables is no longer than what they are counted by.
        names = dict.fromkeys(extent.names, most) | dict(sizes)
        count *= max(1, extent.at(names, looked_up))
    law = reduction(value.how).law
    match law:
        case "sum":
            return Grain(known[0].most * count, known[0].unit)
        case "greatest" | "least":
            return known[0]
        case _:
            assert_never(law)


_GRAINS: Mapping[type, Callable[[Any, list[Grain], Any, Sizes], Grain | None]] = {
    Const: _of_const,
    Element: _of_element,
    Apply: _of_apply,
    Rounded: _of_parts,
    Where: _of_parts,
    Total: _of_total,
}


def fields(kernel: Kernel, sizes: Sizes, data: Data | None, seed: int) -> dict[str, Field]:
    """Return the inputs of a kernel by name; edge values where there are no ``data``."""
    summed = _summed(kernel)
    indices = [index for s in kernel.statements() for index in s.touched.indices]
    looked = {x.operand for index in indices for x in index.looked_up}
    out: dict[str, Field] = {}
    for number, operand in enumerate(kernel.inputs):
        shape, kind = shape_of(operand, sizes), operand.value_type
        draw = partial(drawn, (seed, number), shape)
        if operand.name in looked:
            values: Any = partial(_grained, kind, draw, Grain(1))
        elif data is None:
            values = partial(_edge, kind, draw)
        else:
            values = partial(_grained, kind, draw, data.grain(operand, operand.name in summed))
        out[operand.name] = Field(kind, shape, values)
    return out


def _edge(kind: Numeric, draw: Any, places: tuple[NDArray[np.int64], ...]) -> NDArray[Any]:
    found = edges(kind)
    return found[draw(places, 0, found.size - 1)]


def _grained(
    kind: Numeric, draw: Any, grain: Grain, places: tuple[NDArray[np.int64], ...]
) -> NDArray[Any]:
    most = int(grain.most / grain.unit)
    return draw(places, 0 if kind.kind == "unsigned" else -most, most) * grain.unit
