"""Register images: which element of a tile each register element of a subgroup holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.atom.copy_atom import SUBGROUP
from pycute_xe.errors import KernelError, UndecidableError
from pycute_xe.holding.following import follow
from pycute_xe.holding.memory import FAR
from pycute_xe.holding.nodes import Call, Choice, Content, Converted, Leaf, Node, Picked
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.layout import Layout, size

__all__ = [
    "Image",
    "Place",
    "Slot",
    "copied",
    "operand_image",
    "multiplied",
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
    base = _pair(threads(mma.operand_subgroups(operand)(subgroup)))
    inside = [(order(i), _pair(atom(i))) for i in range(size(order))]
    for group in range(size(rest)):
        corner = _sum(base, _pair(rest(group)))
        for element, place in inside:
            yield Slot(group * size(order) + element, _sum(corner, place), group)


def copied(copy: TiledCopy, subgroup: int) -> Iterator[Slot]:
    """Yield what the messages of a subgroup put into, or take out of, its registers.

    From the register image of the message, not from CuTe's layout, where the two differ.
    """
    atom = copy.block
    order = atom.register_tv.position
    for message in range(copy.messages):
        corner = _pair(copy.anchors(subgroup, message))
        for offset in range(atom.width * atom.height):
            y, x = divmod(offset, atom.width)
            step = [0, 0]
            step[copy.x_mode], step[copy.y_mode] = x, y
            element = message * SUBGROUP * atom.values + order(offset)
            yield Slot(element, _sum(corner, (step[0], step[1])), message)


@lru_cache(maxsize=16)
def _multiplied_first(kernel: Kernel) -> dict[str, tuple[str, Content]]:
    """Return which fragments the kernel's first MMA reads as A and B, and what they hold."""
    try:
        reads = follow(kernel, form="recur").reads
    except UndecidableError as error:
        raise KernelError(
            "draw",
            {"kernel": kernel.name},
            f"what registers hold is not known: {error.condition}",
            "draw the kernel's mma instead",
        ) from error
    fragments: dict[str, tuple[str, Content]] = {}
    for read in reads:
        if isinstance(read.statement, ir.Mma):
            for operand, name in (("A", read.statement.a), ("B", read.statement.b)):
                if read.fragment == name:
                    fragments.setdefault(operand, (name, read.content))
    return fragments


def operand_image(kernel: Kernel, operand: str, subgroup: int) -> tuple[Image, str]:
    """Return the image of A or B that the kernel's first MMA reads, and its fragment's name.

    It is what the statements make of a tile as they stand, right or wrong: moved, converted, and
    scaled by broadcast values. Raises `KernelError` where the MMA reads no tile, for a kind of
    statement that has no meaning, and where it is not known what registers hold.
    """
    name, content = _multiplied_first(kernel).get(operand, ("", None))
    image: Image = {}
    for part in () if content is None else content.parts:
        leaf = _tile(part.node)
        if leaf is not None and not leaf.bound:
            places = leaf.table[subgroup % len(leaf.table), leaf.select]
            modes = _modes(kernel, leaf.operand)
            for element, at in zip(part.elements.tolist(), places.tolist(), strict=True):
                if min(at) > FAR // 2:  # what lies outside
                    first, second = (0 if mode is None else at[mode] for mode in modes)
                    image[element] = first, second
    if not image:
        raise KernelError(
            "draw",
            {"kernel": kernel.name, "operand": operand},
            f"no statement loads what the MMA reads as {operand}",
            "draw the kernel's mma instead",
        )
    return image, name


def _tile(node: Node) -> Leaf | None:
    """Return the elements of an operand of which a node has one at each position."""
    match node:
        case Leaf():
            return node
        case Converted(_, body):
            return _tile(body)
        case Call(_, arguments):
            # What is scaled by broadcast values stays an image of the tile that it scales.
            tiles = [x for x in map(_tile, arguments) if x is not None and _is_apart(x)]
            return tiles[0] if len(tiles) == 1 else None
        case Choice(_, _, then, otherwise) | Picked(_, then, otherwise):
            return _tile(then) or _tile(otherwise)
        case _:
            return None


def _is_apart(leaf: Leaf) -> bool:
    rows = leaf.table[0, leaf.select]
    return len(np.unique(rows, axis=0)) == len(rows)


def _modes(kernel: Kernel, operand: str) -> tuple[int | None, ...]:
    """Return the operand's modes along which its tile is loaded."""
    loads = (s for s in kernel.statements() if isinstance(s, ir.Load) and s.operand == operand)
    return next(loads).modes


def _pair(coord: Any) -> Place:
    """The first two entries of a coordinate; the integer zero stands for the origin."""
    entries = cast("tuple[int, ...]", coord if isinstance(coord, tuple) else (coord,))
    first, second, *_ = (*entries, 0, 0)
    return first, second


def _sum(left: Place, right: Place) -> Place:
    return left[0] + right[0], left[1] + right[1]
