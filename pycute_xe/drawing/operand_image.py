"""What a kernel's statements make of an operand: which element each register element holds."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pycute_xe.drawing.images import Image
from pycute_xe.errors import KernelError, UndecidableError
from pycute_xe.holding.elements import Content
from pycute_xe.holding.following import follow
from pycute_xe.holding.memory import FAR
from pycute_xe.holding.nodes import Call, Choice, Converted, Leaf, Node, Picked
from pycute_xe.kernel import Kernel

__all__ = ["operand_image"]


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
        if (product := read.statement.touched.product) is not None:
            for operand, name in (("A", product.a), ("B", product.b)):
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
            modes = _modes(kernel, leaf.operand, _tile_of(kernel, "B" if operand == "A" else "A"))
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


def _tile_of(kernel: Kernel, operand: str) -> str:
    """Return the operand of the kernel whose tile the first MMA reads as A or B, "" for none."""
    _, content = _multiplied_first(kernel).get(operand, ("", None))
    leaves = (_tile(part.node) for part in (content.parts if content else ()))
    return next((leaf.operand for leaf in leaves if leaf is not None), "")


def _modes(kernel: Kernel, operand: str, other: str) -> tuple[int | None, ...]:
    """Return the operand's modes along which its tile is loaded, the depth last.

    A share of an MMA is loaded so; a tile that is written down has the order of the operand. The
    depth is the mode that the other operand has, too; where both or neither have it, none is moved.
    """
    sizes = {o.name: o.modes for o in kernel.operands}
    along: dict[str, tuple[int | None, ...]] = {}
    for statement in kernel.statements():
        memory = statement.touched.memory
        if memory is not None and memory.fills:
            along.setdefault(memory.operand, memory.modes)
    if operand not in along:
        raise KernelError(
            "draw",
            {"kernel": kernel.name, "operand": operand},
            f"no statement declares the tile of {operand} that it loads",
            "draw the kernel's mma instead",
        )
    modes = along[operand]
    theirs = [sizes[other][mode] for mode in along.get(other, ()) if mode is not None]
    shared = [mode is not None and sizes[operand][mode] in theirs for mode in modes]
    return modes[::-1] if shared == [True, False] else modes
