"""Floor 9: how the products come to their results."""

from __future__ import annotations

from pycute_xe.algebra.compose import as_tiler
from pycute_xe.algebra.divide import unpacked, zip_modes
from pycute_xe.explaining.composing import tell_composition
from pycute_xe.explaining.inverting import tell_gaps
from pycute_xe.explaining.script import Script, times
from pycute_xe.layout import Layout, cosize, make_layout, pair, size
from pycute_xe.typing import Tiler, is_tuple

__all__ = [
    "tell_blocked_product",
    "tell_flat_product",
    "tell_logical_product",
    "tell_raked_product",
    "tell_tiled_product",
    "tell_zipped_product",
]


def tell_logical_product(script: Script, block: Layout, tiler: Tiler) -> Layout:
    """Write the complement of the block, and the copies in it; by mode for a tuple."""
    if tiler is None:
        script.say("_ keeps the mode", block)
        return block
    if is_tuple(tiler):
        parts: list[Layout] = []
        for i, entry in enumerate(tiler):
            name = "_" if entry is None else entry
            with script.within(f"mode {i}, {block[i]}, times {name}"):
                parts.append(tell_logical_product(script, block[i], entry))
        out = make_layout(*parts, *list(block)[len(tiler) :])
        script.say("the modes together", out)
        return out
    copies = as_tiler(tiler)
    room = size(block) * cosize(copies)
    with script.within(
        f"the free offsets: complement of the block {block} up to "
        f"size·cosize = {times(size(block), cosize(copies))} = {room}"
    ):
        free, hole = tell_gaps(script, block, room)
        if hole is not None and size(free) < cosize(copies):
            script.stop(f"{size(free)} places are free, {cosize(copies)} are needed")
    with script.within(f"A = the free offsets {free}, composed with B = the copies {copies}"):
        placed = tell_composition(script, free, copies)
    out = pair(block, placed)
    script.say("mode 0 is the block, mode 1 walks over the copies", out)
    return out


def tell_zipped_product(script: Script, block: Layout, tiler: Tiler) -> Layout:
    """Write the product by mode, and the blocks and the copies gathered."""
    if tiler is None:
        out = make_layout(block, Layout(1, 0))
        script.say("_ keeps the block and makes one copy, 1:0", out)
        return out
    with script.within("logical_product"):
        found = tell_logical_product(script, block, tiler)
    if not is_tuple(tiler):
        script.say("one tiler for the whole block: (block, copies) already", found)
        return found
    blocks, copies = zip_modes(found, tiler)
    script.say("the blocks of the modes, gathered", make_layout(*blocks))
    script.say("the copies of the modes, gathered", make_layout(*copies))
    out = make_layout(make_layout(*blocks), make_layout(*copies))
    script.say("((blocks), (copies))", out)
    return out


def tell_tiled_product(script: Script, block: Layout, tiler: Tiler) -> Layout:
    """Write the zipped product, and the copies unpacked."""
    with script.within("zipped_product"):
        first, second = tell_zipped_product(script, block, tiler)
    out = make_layout(first, *unpacked(second))
    script.say("the modes of the copies stand by themselves", out)
    return out


def tell_flat_product(script: Script, block: Layout, tiler: Tiler) -> Layout:
    """Write the zipped product, and both halves unpacked."""
    with script.within("zipped_product"):
        first, second = tell_zipped_product(script, block, tiler)
    out = make_layout(*unpacked(first), *unpacked(second))
    script.say("the modes of block and copies stand by themselves", out)
    return out


def tell_blocked_product(script: Script, block: Layout, tiler: Layout) -> Layout:
    """Write the product of equal ranks, and each block's mode before its copies'."""
    blocks, copies = _ranked(script, block, tiler)
    out = make_layout(*(pair(b, c) for b, c in zip(blocks, copies, strict=True)))
    script.say("mode by mode (block, copies): each block stays in one piece", out)
    return out


def tell_raked_product(script: Script, block: Layout, tiler: Layout) -> Layout:
    """Write the product of equal ranks, and each block's mode after its copies'."""
    blocks, copies = _ranked(script, block, tiler)
    out = make_layout(*(pair(c, b) for b, c in zip(blocks, copies, strict=True)))
    script.say("mode by mode (copies, block): the blocks interleave", out)
    return out


def _ranked(script: Script, block: Layout, tiler: Layout) -> tuple[Layout, Layout]:
    rank = max(len(block), len(tiler))
    one = [Layout(1, 0)]
    wide = make_layout(*block, *one * (rank - len(block)))
    many = make_layout(*tiler, *one * (rank - len(tiler)))
    script.say(f"both with {rank} modes, filled up with 1:0: the block {wide}, the copies {many}")
    with script.within("logical_product"):
        first, second = tell_logical_product(script, wide, many)
    return first, second
