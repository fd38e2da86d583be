"""Floor 9: operands of instructions on registers: a place that is walked, a number, a scalar."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pycute_xe.emitting.regions import Region
from pycute_xe.kernel.index import Index

__all__ = [
    "BYTES",
    "Condition",
    "Flags",
    "Number",
    "Place",
    "Scalar",
    "Source",
    "modified",
    "number",
    "place",
]

GRF = 64
BYTES = {"ud": 4, "d": 4, "f": 4, "uw": 2, "w": 2, "hf": 2, "bf": 2, "ub": 1, "b": 1}
"""Bytes of an element of each type of vISA that fragments are seen in."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A number that is 1 where one index is below another, and 0 elsewhere."""

    index: Index
    below: Index


@dataclass(frozen=True, slots=True)
class Place:
    """Elements of a variable of a type, from one on: a source walks a region, a result a stride.

    ``modifier`` is what is done to a source as it is read: ``abs``, ``-`` or nothing.
    """

    name: str
    kind: str
    element: int
    walk: Region | int
    modifier: str = ""

    def __str__(self) -> str:
        """As vISA writes it: the variable, the register and element in it, and how it walks."""
        row, column = divmod(self.element * BYTES[self.kind], GRF)
        walk = f"<{self.walk}>" if isinstance(self.walk, int) else str(self.walk)
        changed = f"({self.modifier})" if self.modifier else ""
        return f"{changed}{self.name}({row},{column // BYTES[self.kind]}){walk}"


@dataclass(frozen=True, slots=True)
class Number:
    """The bits of a number of a type."""

    bits: int
    kind: str

    def __str__(self) -> str:
        """As vISA writes it: in hexadecimal, floats with all their digits."""
        return f"0x{self.bits:0{8 if self.kind == 'f' else 1}x}:{self.kind}"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number that all lanes share: the name of an operand, an index, a condition on indices."""

    value: str | Index | Condition
    modifier: str = ""


@dataclass(frozen=True, slots=True)
class Flags:
    """A variable that holds a bit for each lane."""

    name: str

    def __str__(self) -> str:
        """As vISA writes it."""
        return self.name


Source = Place | Number | Scalar


def place(name: str, kind: str, element: int, read: Region | None, stride: int = 1) -> Place:
    """Return an operand; ``read`` is the region of a source, None for a destination.

    >>> print(place("tCrC_f", "f", 33, Region(1, 1, 0)), place("tErD_bf", "bf", 16, None))
    tCrC_f(2,1)<1;1,0> tErD_bf(0,16)<1>
    """
    return Place(name, kind, element, stride if read is None else read)


def number(bits: int, kind: str = "f") -> Number:
    """Return the bits of a number, of f32 unless a type is given.

    >>> print(number(0x3F800000), number(16, "uw"))
    0x3f800000:f 0x10:uw
    """
    return Number(bits, kind)


def modified(source: Place | Scalar, modifier: str) -> Place | Scalar:
    """Return a source that is read with a modifier.

    >>> print(modified(place("x", "f", 0, Region(1, 1, 0)), "abs"))
    (abs)x(0,0)<1;1,0>
    """
    return replace(source, modifier=modifier)
