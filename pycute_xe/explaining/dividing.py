"""Floor 9: how the divides come to their results."""

from __future__ import annotations

from typing import Any

from pycute_xe.algebra.compose import as_tiler
from pycute_xe.algebra.divide import unpacked, zip_modes
from pycute_xe.explaining.composing import tell_composition
from pycute_xe.explaining.inverting import tell_gaps
from pycute_xe.explaining.script import Script
from pycute_xe.layout import Layout, make_layout, pair, size
from pycute_xe.typing import Tiler, is_tuple

__all__ = [
    "tell_flat_divide",
    "tell_logical_divide",
    "tell_tiled_divide",
    "tell_zipped_divide",
]


def tell_logical_divide(script: Script, layout: Layout, tiler: Tiler) -> Layout:
    """Write the complement of the tiler and the composition with both; by mode for a tuple."""
    if tiler is None:
        script.say("_ keeps the mode", layout)
        return layout
    if is_tuple(tiler):
        return _by_mode(script, layout, tiler)
    tile = as_tiler(tiler)
    total = size(layout)
    with script.within(f"the rest: complement of the tile {tile} in the {total} indices of A"):
        rest, hole = tell_gaps(script, tile, total)
        if hole is not None and hole < total:
            script.stop(f"the hole at {hole} is below {total}: no tile would hold that index")
    both = pair(tile, rest)
    with script.within(f"A = {layout}, composed with B = (tile, rest) = {both}"):
        out = tell_composition(script, layout, both)
    script.say("mode 0 is the tile, mode 1 walks over the tiles", out)
    return out


def _by_mode(script: Script, layout: Layout, tiler: tuple[Any, ...]) -> Layout:
    if len(tiler) > len(layout):
        script.stop(f"the tiler has {len(tiler)} entries, the layout {len(layout)} modes")
    parts: list[Layout] = []
    for i, entry in enumerate(tiler):
        name = "_" if entry is None else entry
        with script.within(f"mode {i}, {layout[i]}, divided by {name}"):
            parts.append(tell_logical_divide(script, layout[i], entry))
    out = make_layout(*parts, *list(layout)[len(tiler) :])
    script.say("the modes together", out)
    return out


def tell_zipped_divide(script: Script, layout: Layout, tiler: Tiler) -> Layout:
    """Write the divide by mode, and the tiles and the rests gathered."""
    if tiler is None:
        out = make_layout(layout, Layout(1, 0))
        script.say("_ takes the whole layout into the tile and leaves a rest of 1:0", out)
        return out
    with script.within("logical_divide"):
        divided = tell_logical_divide(script, layout, tiler)
    if not is_tuple(tiler):
        script.say("one tiler for the whole layout: (tile, rest) already", divided)
        return divided
    tiles, rests = zip_modes(divided, tiler)
    script.say("the tiles of the modes, gathered", make_layout(*tiles))
    script.say("the rests of the modes, gathered", make_layout(*rests))
    out = make_layout(make_layout(*tiles), make_layout(*rests))
    script.say("((tiles), (rests))", out)
    return out


def tell_tiled_divide(script: Script, layout: Layout, tiler: Tiler) -> Layout:
    """Write the zipped divide, and the rest unpacked."""
    with script.within("zipped_divide"):
        tile, rest = tell_zipped_divide(script, layout, tiler)
    out = make_layout(tile, *unpacked(rest))
    script.say("the modes of the rest stand by themselves", out)
    return out


def tell_flat_divide(script: Script, layout: Layout, tiler: Tiler) -> Layout:
    """Write the zipped divide, and both halves unpacked."""
    with script.within("zipped_divide"):
        tile, rest = tell_zipped_divide(script, layout, tiler)
    out = make_layout(*unpacked(tile), *unpacked(rest))
    script.say("the modes of tile and rest stand by themselves", out)
    return out
