"""Floor 9: how the divides come to their results."""

from __future__ import annotations

from pycute_xe.algebra.compose import as_tiler
from pycute_xe.explaining.composing import tell_composition
from pycute_xe.explaining.gathering import Gathering
from pycute_xe.explaining.inverting import tell_gaps
from pycute_xe.explaining.script import Script
from pycute_xe.layout import Layout, pair, size
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
        return _DIVIDE.by_mode(script, layout, tiler)
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


_DIVIDE = Gathering(
    "divide",
    tell_logical_divide,
    verb="divided by",
    whole="layout",
    first="tile",
    second="rest",
    kept="_ takes the whole layout into the tile and leaves a rest of 1:0",
)
tell_zipped_divide = _DIVIDE.zipped
tell_tiled_divide = _DIVIDE.tiled
tell_flat_divide = _DIVIDE.flat
