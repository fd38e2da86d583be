"""Floor 9: what statements become in every language: messages, DPAS and moves on variables."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.arch import Block2D
from pycute_xe.arch.dpas import DpasMessage
from pycute_xe.kernel.index import Index

__all__ = ["Alu", "Barrier", "Instruction", "Message", "Multiply", "Region2D"]


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
    """An instruction on registers, as vISA text; ``%0``, ``%1`` … stand for scalar operands."""

    text: str
    scalars: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Barrier:
    """Half of the barrier of a work-group."""

    half: str


Instruction = Message | Multiply | Alu | Barrier
