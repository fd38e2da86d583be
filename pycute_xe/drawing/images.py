"""Register images: which element of a tile each register element of a subgroup holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.atom.copy_atom import SUBGROUP
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Meanings
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.layout import Layout, size

__all__ = [
    "SHOWN",
    "Image",
    "Place",
    "Registers",
    "Slot",
    "copied",
    "held",
    "multiplied",
    "position",
    "registers_of",
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


@dataclass(eq=False)
class Registers:
    """What a subgroup's fragments hold of the tiles in memory, and what the first MMA reads."""

    subgroup: int
    images: dict[str, Image] = field(default_factory=dict[str, Image])
    read: dict[str, tuple[str, Image | None]] = field(
        default_factory=dict[str, "tuple[str, Image | None]"]
    )

    def forget(self, statement: ir.Statement) -> None:
        """Drop what is no longer an image of a tile."""
        for name in (*statement.touched.writes, *statement.touched.updates):
            self.images.pop(name, None)


SHOWN: Meanings[Callable[[Registers, ir.Statement], None]] = Meanings("draw")


@SHOWN.of(ir.Load)
def _(registers: Registers, load: ir.Load) -> None:
    registers.images[load.fragment] = {
        slot.element: slot.place for slot in copied(load.copy, registers.subgroup)
    }


@SHOWN.of(ir.Reorder)
def _(registers: Registers, moves: ir.Reorder) -> None:
    image, extent = registers.images.get(moves.source), size(moves.slots)
    registers.forget(moves)
    if image is not None:
        moved = {moves.slots(e): at for e, at in image.items() if e < extent}
        registers.images[moves.destination] = moved


@SHOWN.of(ir.Part)
def _(registers: Registers, part: ir.Part) -> None:
    image = registers.images.get(part.source)
    registers.forget(part)
    if image is not None:
        taken = ((e, part.first + part.slots(e)) for e in range(size(part.slots)))
        registers.images[part.destination] = {e: image[of] for e, of in taken if of in image}


@SHOWN.of(ir.Convert)
def _(registers: Registers, converts: ir.Convert) -> None:
    image = registers.images.get(converts.source)
    registers.forget(converts)
    if image is not None:
        registers.images[converts.destination] = image


@SHOWN.of(ir.Mma)
def _(registers: Registers, mma: ir.Mma) -> None:
    for operand, name in (("A", mma.a), ("B", mma.b)):
        registers.read.setdefault(operand, (name, registers.images.get(name)))
    registers.forget(mma)


@SHOWN.of(ir.Map)
def _(registers: Registers, maps: ir.Map) -> None:
    """What is scaled by broadcast values stays an image of the tile that it scales."""
    broadcast = {name for name, _ in maps.gathers}
    own = [name for name in maps.sources if name not in broadcast]
    image = registers.images.get(own[0]) if len(own) == 1 else None
    registers.forget(maps)
    if image is not None:
        registers.images[maps.destination] = image


@SHOWN.of(*ir.COMPUTING, ir.SharedLoad)
def _(registers: Registers, statement: ir.Statement) -> None:
    """What is computed or comes from shared memory is not an image of a tile."""
    registers.forget(statement)


@SHOWN.of(ir.Loop, ir.If, ir.Prefetch, ir.Store, ir.AtomicStore, ir.SharedStore, ir.Await)
@SHOWN.of(ir.Signal, ir.BarrierArrive, ir.BarrierWait, ir.Fence, ir.NamedArrive, ir.NamedWait)
def _(_registers: Registers, _statement: ir.Statement) -> None:
    """Registers stay as they are; bodies are walked."""


def registers_of(kernel: Kernel, subgroup: int) -> Registers:
    """Follow the loads and moves of a kernel as they stand, right or wrong, for one trip.

    Raises `KernelError` for a kind of statement that has no meaning here.
    """
    registers = Registers(subgroup)
    for statement in kernel.statements():
        SHOWN[statement](registers, statement)
    return registers


def held(kernel: Kernel, operand: str, registers: Registers) -> tuple[Image, str]:
    """Return the image of A or B that the kernel's first MMA reads, and its fragment's name.

    Raises `KernelError` when nothing loads the fragment.
    """
    name, image = registers.read.get(operand, ("", None))
    if image is None:
        raise KernelError(
            "draw",
            {"kernel": kernel.name, "operand": operand},
            f"no statement loads what the MMA reads as {operand}",
            "draw the kernel's mma instead",
        )
    return image, name


def _pair(coord: Any) -> Place:
    """The first two entries of a coordinate; the integer zero stands for the origin."""
    entries = cast("tuple[int, ...]", coord if isinstance(coord, tuple) else (coord,))
    first, second, *_ = (*entries, 0, 0)
    return first, second


def _sum(left: Place, right: Place) -> Place:
    return left[0] + right[0], left[1] + right[1]
