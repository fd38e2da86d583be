"""Floor 6: what registers hold after the messages of an older name."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pycute_xe.arch.block2d import Block2D
from pycute_xe.atom.register_picture import ANY_TARGET, SUBGROUP, RegisterPicture, slots_in
from pycute_xe.bulk import table
from pycute_xe.cutlass.legacy_lowering import lower
from pycute_xe.cutlass.legacy_name import LegacyCopyName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["all_shown", "legacy_places", "register_picture"]


def register_picture(name: LegacyCopyName, places: NDArray[np.int64], bits: int) -> RegisterPicture:
    """Return the picture of the registers, in values of a width, from their `legacy_places`.

    Registers are read in elements of the name, or in values where these are wider.
    """
    return RegisterPicture(bits, slots_in(places), max(name.bits, bits, 8))


def legacy_places(name: LegacyCopyName, value_bits: int) -> NDArray[np.int64]:
    """Return the (row, column) in each slot, in values, as CUTLASS counts them; -1 for padding.

    The messages fill whole registers, one after the other. Nothing for a prefetch. Raises
    `LegalityError` where no messages can move the block.

    >>> from pycute_xe.cutlass import parse_block2d_name
    >>> legacy_places(parse_block2d_name("XE_2D_U16x16x16_LD_V"), 16)[:3].tolist()
    [[0, 0], [1, 0], [0, 1]]
    """
    import numpy as np

    if name.is_prefetch:
        return np.empty((0, 2), dtype=np.int64)
    parts: list[NDArray[np.int64]] = []
    for part in lower(name, ANY_TARGET):
        first, rest = divmod(part.x * part.message.bits, value_bits)
        held = _held(part.message, rest, value_bits)
        parts.append(np.where(held < 0, held, held + np.array((part.y, first))))
    places = np.concatenate(parts)
    return places[:, ::-1] if name.mode == "T" else places


@lru_cache(maxsize=1 << 8)
def _held(message: Block2D, start: int, value_bits: int) -> NDArray[np.int64]:
    """(row, column) of each value in the registers of a message that starts ``start`` bits on."""
    import numpy as np

    per_element, wide = max(1, message.bits // value_bits), max(1, value_bits // message.bits)
    columns = message.width * message.count
    index = np.arange(0, columns * message.height, wide)
    inside = np.arange(per_element)
    # Memory columns and register slots, both in values.
    first = (start + index % columns * message.bits) // value_bits
    at = table(message.position)[index] * message.bits // value_bits
    out = np.full((message.register_bytes(ANY_TARGET) * 8 // value_bits, 2), -1)
    slots = (at[:, None] + inside).reshape(-1)
    out[slots, 0] = np.repeat(index // columns, per_element)
    out[slots, 1] = (first[:, None] + inside).reshape(-1)
    out.flags.writeable = False
    return out


def all_shown(held: NDArray[np.int64], owned: NDArray[np.int64], whole: int) -> bool:
    """Return whether registers, in units of so many values, hold what work-items own, in order.

    What `CopyAnswers` asks of each work-item, asked of all at once: a search asks it of many atoms.
    """
    import numpy as np

    if not len(held):
        return False
    values = np.arange(len(owned[0]))
    unit, inside = values // whole, values % whole
    slots = (unit * SUBGROUP + np.arange(SUBGROUP)[:, None]) * whole + inside
    return bool(slots.max() < len(held) and (held[slots] == owned).all())
