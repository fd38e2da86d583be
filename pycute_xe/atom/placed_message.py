"""Floor 6: a message, and where in the block of an atom it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.lsc import Message

__all__ = ["AnyPlaced", "Placed", "PlacedLinear", "PlacedMessage"]

AnyMessage = TypeVar("AnyMessage", bound=Block2D | Message, covariant=True)


@dataclass(frozen=True)
class Placed(Generic[AnyMessage]):
    """A message and where it starts in the block: ``x`` elements of the message, ``y`` rows.

    A linear message counts ``x`` in memory, in the elements of its data size, and has no rows.

    >>> print(PlacedMessage(Block2D("load", 16, 8, 16), 0, 8))
    lsc_load_block2d.ugm (M1,1) V:d16.1x16x8nn at x 0, y 8
    >>> from pycute_xe.arch.lsc import Address, DataType
    >>> block = DataType("d64", 64, transpose=True)
    >>> print(PlacedLinear(Message("load", "ugm", 1, block, Address("flat", 64, "V1"), "V"), 64))
    lsc_load.ugm (M1,1) V:d64x64t flat[V1]:a64 at element 64
    """

    message: AnyMessage
    x: int = 0
    y: int = 0

    def __str__(self) -> str:
        """The message as the vISA assembler takes it, then its place."""
        if isinstance(self.message, Block2D):
            return f"{self.message} at x {self.x}, y {self.y}"
        return f"{self.message} at element {self.x}"


PlacedMessage = Placed[Block2D]
"""One of block-2D messages."""

PlacedLinear = Placed[Message]
"""One of the messages that move what is contiguous, or what each work-item addresses."""

AnyPlaced = PlacedMessage | PlacedLinear
