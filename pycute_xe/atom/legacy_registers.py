"""Floor 6: what registers hold after the messages of an older name."""

from __future__ import annotations

from pycute_xe.atom.block2d_name import Block2DName
from pycute_xe.atom.legacy_lowering import lower
from pycute_xe.atom.placed_message import PlacedMessage
from pycute_xe.atom.register_picture import ANY_TARGET, Place, RegisterPicture
from pycute_xe.bulk import table

__all__ = ["register_picture"]


def register_picture(name: Block2DName, value_bits: int) -> RegisterPicture:
    """Return the picture of the registers, in values of a width, rows and columns as CUTLASS's.

    The messages fill whole registers, one after the other. Registers are read in elements of the
    name, or in values where these are wider. Nothing for a prefetch. Raises `LegalityError` where
    no messages can move the block.
    """
    slots: list[Place | None] = []
    if not name.is_prefetch:
        for part in lower(name, ANY_TARGET):
            slots += _held(part, value_bits)
    turned = [p and (p[1], p[0]) for p in slots] if name.mode == "T" else slots
    return RegisterPicture(value_bits, tuple(turned), max(name.bits, value_bits, 8))


def _held(part: PlacedMessage, value_bits: int) -> list[Place | None]:
    """(row, column) in memory of each value in the registers of one message."""
    message = part.message
    per_element, wide = max(1, message.bits // value_bits), max(1, value_bits // message.bits)
    slots: list[Place | None] = [None] * (message.register_bytes(ANY_TARGET) * 8 // value_bits)
    columns = message.width * message.count
    where = table(message.position)[: columns * message.height].tolist()
    for index in range(0, len(where), wide):
        y, column = divmod(index, columns)
        # Memory columns and register slots, both in values.
        first = (part.x + column) * message.bits // value_bits
        at = where[index] * message.bits // value_bits
        for k in range(per_element):
            slots[at + k] = part.y + y, first + k
    return slots
