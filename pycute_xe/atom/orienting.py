"""The messages of a block-2D copy in a tile, and the mode of the tile that memory follows."""

from __future__ import annotations

from pycute_xe.atom.copy_answers import BlockAnswers, CopyAnswers, PlacedMessage
from pycute_xe.atom.register_picture import ANY_TARGET, SUBGROUP, UNITS, Place, places_by_work_item
from pycute_xe.bulk import entries, layout_of
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.layout import Layout, size

__all__ = ["block_messages", "memory_modes", "parts_layout", "reading_unit"]


def block_messages(atom: BlockAnswers) -> tuple[PlacedMessage, ...]:
    """Return the block-2D messages of an atom, the same on every target.

    Raises `LegalityError` if no target has them, `KernelError` if a message ends inside a register
    and another follows.

    >>> from pycute_xe.cutlass import get_atom
    >>> [part.y for part in block_messages(get_atom("XE_2D_U8x32x4_LD_T"))]
    [0, 16]
    """
    parts = atom.messages(ANY_TARGET)
    dense = atom.values * SUBGROUP * atom.value_type.bits
    filled = sum(part.message.register_bytes(ANY_TARGET) for part in parts) * 8
    if len(parts) > 1 and dense != filled:
        wrong = "its messages end inside registers"
        raise KernelError("ownership", {"copy": atom}, wrong, "see registers()")
    return parts


def parts_layout(
    atom: BlockAnswers, parts: tuple[PlacedMessage, ...], right: int, down: int
) -> Layout:
    """Return message of an atom → offset in a tile whose steps along and across rows are given.

    Raises `KernelError` if the messages are not at regular distances.
    """
    bits = atom.value_type.bits
    starts = [p.x * p.message.bits // bits * right + p.y * down for p in parts]
    layout = layout_of(starts)
    if layout is None:
        wrong = f"its {len(parts)} messages start at irregular distances"
        raise KernelError("ownership", {"copy": atom}, wrong, "use a name of a smaller block")
    return layout


def memory_modes(atom: CopyAnswers, tv: Layout, tile: tuple[int, ...]) -> tuple[int, int]:
    """Return the modes of a tile that run along rows of memory and across them.

    Law: with them the messages of the first block bring to each work-item the elements that
    ``tv`` gives it, registers read in some width; (1, 0) if no choice does, or if both do. Of a
    prefetch, the block is the one that ``tv`` covers.

    >>> from pycute_xe.cutlass import get_atom
    >>> columns = Layout((16, 16), (16, 1))
    >>> memory_modes(get_atom("XE_2D_U16x16x16_LD_N"), columns, (16, 16))
    (1, 0)
    >>> memory_modes(get_atom("XE_2D_U16x16x16_LD_T"), columns, (16, 16))
    (0, 1)
    """
    plain = (1, 0)
    if not isinstance(atom, BlockAnswers) or len(tile) != 2:
        return plain
    try:
        dealt, places = _dealt_by_messages(atom), _claimed(tv, tile, atom.values, plain)
    except CuteError:  # no message moves it, or symbols stand for numbers
        return plain
    claimed = [sorted(lane) for lane in places]
    turned = [sorted((x, y) for y, x in lane) for lane in claimed]
    brought = [[sorted(lane) for lane in lanes] for lanes in dealt.values()]
    return (0, 1) if turned in brought and claimed not in brought else plain


def reading_unit(
    atom: CopyAnswers, tv: Layout, tile: tuple[int, ...], modes: tuple[int, int]
) -> int:
    """Return the width in bits in which work-items find in registers what a tiling says.

    Law: registers read in it hold the first block in the order of ``tv``. The atom's `unit_bits` if
    it is one, or if no width is. ``modes`` are those along rows of memory and across them.

    >>> from pycute_xe.cutlass import get_atom
    >>> vnni, columns = get_atom("XE_2D_U16x16x16_LD_V"), Layout((16, 16), (16, 1))
    >>> reading_unit(vnni, columns, (16, 16), (1, 0))
    32
    >>> pairs = Layout(((2, 8), (2, 8)), ((1, 16), (128, 2)))
    >>> reading_unit(vnni, pairs, (16, 16), (1, 0))
    16
    """
    own = max(atom.unit_bits, atom.value_type.bits)
    if not isinstance(atom, BlockAnswers) or len(tile) != 2 or not atom.registers().slots:
        return own
    try:
        dealt, claimed = _dealt_by_messages(atom), _claimed(tv, tile, atom.values, modes)
    except CuteError:  # symbols stand for numbers
        return own
    shown = [unit for unit, lanes in dealt.items() if lanes == claimed]
    return own if own in shown else next(iter(shown), own)


Lanes = list[list[Place]]
"""For each work-item its elements, (row, column) in memory, in the order of its values."""


def _claimed(tv: Layout, tile: tuple[int, ...], values: int, modes: tuple[int, int]) -> Lanes:
    """What a tiling gives to the work-items of the first subgroup of its first block."""
    threads = size(tv[0])
    places = [(offset % tile[0], offset // tile[0]) for offset in entries(tv)[: threads * values]]
    memory = [(place[modes[1]], place[modes[0]]) for place in places]
    return [memory[lane::threads] for lane in range(SUBGROUP)]


def _dealt_by_messages(atom: BlockAnswers) -> dict[int, Lanes]:
    """What the messages of an atom bring to work-items, by the width in which registers are read.

    Widths go from that of a value to that of the atom. A prefetch brings nothing: of it, it is what
    its layouts say.
    """
    picture, bits = atom.registers(), atom.value_type.bits
    if not picture.slots:
        return {
            bits: [[atom.place_in_memory(*place) for place in lane] for lane in atom.ownership()]
        }
    out: dict[int, Lanes] = {}
    for unit in UNITS:
        if unit % bits or unit > max(atom.unit_bits, bits):
            continue
        lanes = places_by_work_item(picture, unit)
        out[unit] = [[atom.place_in_memory(*p) for p in lane if p is not None] for lane in lanes]
    return out
