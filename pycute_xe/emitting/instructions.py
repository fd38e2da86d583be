"""Floor 9: what statements become in every language: messages, DPAS and moves on variables."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.arch import Block2D
from pycute_xe.arch.dpas import DpasMessage
from pycute_xe.emitting.operands import Condition, Flags, Place, Scalar, Source
from pycute_xe.kernel.index import Index

__all__ = [
    "LANE",
    "Access",
    "Addition",
    "Alu",
    "Barrier",
    "Fencing",
    "Instruction",
    "Message",
    "Multiply",
    "Region2D",
]

LANE = "xe_lane"
"""The number of a work-item in its subgroup, in indices."""


@dataclass(frozen=True, slots=True)
class Region2D:
    """The rows of an operand that a message sees: which mode runs down, and the other indices.

    ``at`` has an index for each mode; those of the modes that run along x and y do not count.
    """

    operand: str
    y_mode: int | None
    at: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A block-2D message: the registers it fills or stores, empty for a prefetch; x and y.

    x counts elements of the block, y rows.
    """

    block: Block2D
    register: str
    surface: Region2D
    x: Index
    y: Index


@dataclass(frozen=True, slots=True)
class Multiply:
    """A DPAS on variables."""

    message: DpasMessage


@dataclass(frozen=True, slots=True)
class Alu:
    """An instruction on registers of so many lanes; ``where`` are the lanes that it is for."""

    op: str
    lanes: int
    to: Place | Flags
    sources: tuple[Source, ...]
    where: Flags | None = None

    @property
    def scalars(self) -> tuple[str | Index | Condition, ...]:
        """The scalars that it reads, each once."""
        return tuple(dict.fromkeys(s.value for s in self.sources if isinstance(s, Scalar)))

    @property
    def text(self) -> str:
        """The instruction as vISA writes it; ``%0``, ``%1`` … stand for its scalars."""
        where = "" if self.where is None else f"({self.where}) "
        read = " ".join(map(self._read, self.sources))
        return f"{where}{self.op} (M1_NM, {self.lanes}) {self.to} {read}"

    def _read(self, source: Source) -> str:
        if not isinstance(source, Scalar):
            return str(source)
        changed = f"({source.modifier})" if source.modifier else ""
        return f"{changed}%{self.scalars.index(source.value)}(0,0)<0;1,0>"


@dataclass(frozen=True, slots=True)
class Access:
    """A message of 16 work-items, or fewer, to shared memory: what it moves, and each one's byte.

    ``stores`` tells its direction; ``at`` counts the work-items by `LANE`.
    """

    stores: bool
    size: str
    lanes: int
    register: str
    at: Index


@dataclass(frozen=True, slots=True)
class Addition:
    """An atomic addition of 16 work-items' elements, of those that lie inside the surface.

    ``x`` counts bytes and ``y`` rows, both with `LANE`; work-items from ``lanes`` on are off.
    """

    operation: str
    size: str
    lanes: int
    register: str
    surface: Region2D
    x: Index
    y: Index


@dataclass(frozen=True, slots=True)
class Fencing:
    """A fence of shared memory."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """Half of the barrier of a work-group."""

    half: str


Instruction = Message | Multiply | Alu | Access | Addition | Fencing | Barrier
