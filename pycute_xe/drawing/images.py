"""Register images: which element of a tile each register element of a subgroup holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.atom.copy_atom import SUBGROUP
from pycute_xe.layout import Layout, size

__all__ = [
    "Image",
    "Place",
    "Slot",
    "copied",
    "multiplied",
    "pair",
    "position",
]

Place = tuple[int, int]
"""A coordinate in an operand's tile, in CuTe's mode order."""
Image = dict[int, Place]
"""Register element, counted in the fragment's type → the tile element it holds."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A register element of an operand: its number, its place in the tile, its instruction."""

    element: int
    place: Place
    group: int


def position(op: Dpas, operand: str) -> Layout:
    """Return the instruction's map of an operand's coordinate to its register element."""
    return {"A": op.position_A, "B": op.position_B, "C": op.position_C}[operand]


def multiplied(mma: TiledMma, operand: str, subgroup: int) -> Iterator[Slot]:
    """Yield what each register element of a subgroup's operand means to the MMA.

    Instructions lie one after the other: repetitions along the operand's first mode, then along
    its second, each in the order the DPAS reads its registers.
    """
    atom, (threads, rest) = mma.atoms(operand)
    order = position(mma.atom.op, operand)
    base = pair(threads(mma.operand_subgroups(operand)(subgroup)))
    inside = [(order(i), pair(atom(i))) for i in range(size(order))]
    for group in range(size(rest)):
        corner = _sum(base, pair(rest(group)))
        for element, place in inside:
            yield Slot(group * size(order) + element, _sum(corner, place), group)


def copied(copy: TiledCopy, subgroup: int) -> Iterator[Slot]:
    """Yield what the messages of a subgroup put into, or take out of, its registers.

    From the register image of the message, not from CuTe's layout, where the two differ.
    """
    atom = copy.block
    order = atom.register_tv.position
    for message in range(copy.messages):
        corner = pair(copy.anchors(subgroup, message))
        for offset in range(atom.width * atom.height):
            y, x = divmod(offset, atom.width)
            step = [0, 0]
            step[copy.x_mode], step[copy.y_mode] = x, y
            element = message * SUBGROUP * atom.values + order(offset)
            yield Slot(element, _sum(corner, (step[0], step[1])), message)


def pair(coord: Any) -> Place:
    """The first two entries of a coordinate; the integer zero stands for the origin."""
    entries = cast("tuple[int, ...]", coord if isinstance(coord, tuple) else (coord,))
    first, second, *_ = (*entries, 0, 0)
    return first, second


def _sum(left: Place, right: Place) -> Place:
    return left[0] + right[0], left[1] + right[1]
