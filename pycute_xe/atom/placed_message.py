"""Floor 6: a message, and where in the block of an atom it starts."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.arch.block2d import Block2D

__all__ = ["PlacedMessage"]


@dataclass(frozen=True, slots=True)
class PlacedMessage:
    """A message and where it starts in the block: ``x`` elements of the message, ``y`` rows.

    >>> print(PlacedMessage(Block2D("load", 16, 8, 16), 0, 8))
    lsc_load_block2d.ugm (M1,1) V:d16.1x16x8nn at x 0, y 8
    """

    message: Block2D
    x: int = 0
    y: int = 0

    def __str__(self) -> str:
        """The message as the vISA assembler takes it, then its place."""
        return f"{self.message} at x {self.x}, y {self.y}"
