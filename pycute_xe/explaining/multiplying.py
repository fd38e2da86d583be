"""Floor 9: how the products come to their results."""

from __future__ import annotations

from pycute_xe.algebra.compose import as_tiler
from pycute_xe.explaining.composing import tell_composition
from pycute_xe.explaining.gathering import Gathering
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
        return _PRODUCT.by_mode(script, block, tiler)
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


_PRODUCT = Gathering(
    "product",
    tell_logical_product,
    verb="times",
    whole="block",
    first="block",
    second="copies",
    kept="_ keeps the block and makes one copy, 1:0",
)
tell_zipped_product = _PRODUCT.zipped
tell_tiled_product = _PRODUCT.tiled
tell_flat_product = _PRODUCT.flat


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
