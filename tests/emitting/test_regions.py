"""Moves between regions, walked as the vISA manual says: every element gets where it should."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

import pycute_xe as cx
from pycute_xe.bulk import table
from pycute_xe.emitting.instructions import Move, moves_from


def walked(found: list[Move], source: np.ndarray, size: int) -> np.ndarray:
    """Element i of a region <v;w,h> is v * (i div w) + h * (i mod w) from its first."""
    held, out = source.view(np.uint8), np.full(size, 0xEE, np.uint8)
    for move in found:
        v, w, h = move.region.vertical, move.region.width, move.region.horizontal
        for i in range(move.count):
            at = (move.source + v * (i // w) + h * (i % w)) * move.bytes
            to = (move.to + i * move.stride) * move.bytes
            out[to : to + move.bytes] = held[at : at + move.bytes]
    return out


LAYOUTS = st.permutations([2, 4, 8, 2]).flatmap(
    lambda shape: st.permutations(range(4)).map(lambda order: (tuple(shape), tuple(order)))
)


@given(LAYOUTS, st.sampled_from([8, 16, 32]), st.integers(0, 3))
def test_moves_do_what_their_permutation_says(
    layout: tuple[tuple[int, ...], tuple[int, ...]], bits: int, left_out: int
) -> None:
    places = table(cx.make_ordered_layout(*layout)).reshape(-1).copy()
    if left_out:
        places[:: 4 * left_out] = -1
    kind = np.dtype(f"u{bits // 8}")
    source = (np.arange(places.size) * 7 + 1).astype(kind)
    out = walked(moves_from(places, bits), source, places.size * kind.itemsize).view(kind)
    kept = places >= 0
    assert np.array_equal(out[kept], source[places[kept]])
    assert (out[~kept].view(np.uint8) == 0xEE).all()


def test_few_moves_are_enough_for_neighbours() -> None:
    """Halves of a register exchanged travel as dwords, 16 at a time."""
    places = np.arange(64).reshape(2, 2, 16)[:, ::-1].reshape(-1)
    found = moves_from(places, 16)
    assert all(move.bytes == 4 for move in found)
    assert len(found) <= 4


def test_elements_that_part_do_not_travel_together() -> None:
    places = np.array([0, 3, 2, 1])
    source = np.array([11, 22, 33, 44], np.uint16)
    out = walked(moves_from(places, 16), source, 8).view(np.uint16)
    assert out.tolist() == [11, 44, 33, 22]
