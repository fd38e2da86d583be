"""Floor 6: along which modes of a tile the rows of a copy's messages run, told by its layout."""

from __future__ import annotations

from itertools import permutations
from math import prod

import numpy as np

from pycute_xe.atom.copy_atom import SUBGROUP, CopyAtom
from pycute_xe.bulk import table
from pycute_xe.layout import Layout, size

__all__ = ["modes_of"]


def modes_of(atom: CopyAtom, layout: Layout, tile: tuple[int, ...]) -> tuple[int, int] | None:
    """Return (x, y): the tile's modes along the rows of a block and across them.

    Law: the first values of the first 16 work-items of the tiled layout are the atom's, placed in
    the tile. ``None`` where no two modes are so.

    >>> from pycute_xe.atom import XE_LOAD_2D, make_block_2d_copy
    >>> copy = make_block_2d_copy(XE_LOAD_2D(16, 8, 16), (1, "ld"), "f16")
    >>> modes_of(copy.atom, copy.layout_tv_tiled, copy.tiler_mn)
    (0, 1)
    """
    threads, values = (size(mode) for mode in layout)
    if threads < SUBGROUP or values < atom.values:
        return None
    first = table(layout).reshape(values, threads)[: atom.values, :SUBGROUP]
    own = table(atom.layout_ref_tv).reshape(atom.values, SUBGROUP)
    rows, columns = np.divmod(own, atom.width)
    for y, x in permutations(range(len(tile)), 2):
        if tile[x] < atom.width or tile[y] < atom.height:
            continue
        if np.array_equal(first, columns * prod(tile[:x]) + rows * prod(tile[:y])):
            return x, y
    return None
