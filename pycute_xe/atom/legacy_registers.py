"""Floor 6: which work-item holds each element after the messages of an older name."""

from __future__ import annotations

from itertools import product

from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom.block2d_name import Block2DName
from pycute_xe.atom.copy_atom import SUBGROUP
from pycute_xe.atom.legacy_lowering import PlacedMessage, lower

__all__ = ["register_owners"]

Owners = dict[tuple[int, int], tuple[int, int]]


def register_owners(name: Block2DName) -> Owners:
    """Return (row, column) of `logical_shape` → (work-item, value) as the registers have it.

    Element ``i`` of the registers belongs to work-item ``i mod 16``, byte ``i`` below 8 bits; the
    messages fill registers one after the other. Nothing for a prefetch. Raises `LegalityError`
    where no messages can move the block.
    """
    found: Owners = {}
    if name.is_prefetch:
        return found
    first = 0
    for part in lower(name, "bmg"):
        for (y, x), place in _placed(name, part, first).items():
            found[(x, y) if name.mode == "T" else (y, x)] = place
        held = part.message.register_map.elements * part.message.element_bytes
        first += -(-held // grf_bytes()) * grf_bytes()
    return found


def _placed(name: Block2DName, part: PlacedMessage, first: int) -> Owners:
    """Row and element in memory → (work-item, value), for a message at byte ``first``."""
    message, bits = part.message, name.bits
    ratio, packed = message.bits // bits, max(1, 8 // bits)
    start = first * 8 // max(bits, 8)
    out: Owners = {}
    for y, block, x in product(range(message.height), range(message.count), range(message.width)):
        at = message.position((x, block), y)
        for k in range(ratio):
            unit, inside = divmod(at * ratio + k, packed)
            value, lane = divmod(start + unit, SUBGROUP)
            column = (part.x + block * message.width + x) * ratio + k
            out[part.y + y, column] = lane, value * packed + inside
    return out
