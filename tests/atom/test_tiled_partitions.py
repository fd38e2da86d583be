"""Tiled copies: which values of a tile each work-item takes, and tilings that are refused."""

from __future__ import annotations

from typing import Any

import pytest
from every import every

import pycute_xe as cx
from pycute_xe.atom import (
    XE_DPAS_TT,
    TiledCopy,
    make_block_2d_copy_C,
    make_block_2d_copy_D,
    workgroup_mma,
)
from pycute_xe.errors import DivisibilityError, RankError

MMA = workgroup_mma(
    XE_DPAS_TT(8, "f32", "bf16"), tile=(16, 32, 16), subgroups=((2, 1, 1), (1, 1, 0))
)
TILE = cx.make_identity_tensor((16, 32))
STORE = make_block_2d_copy_D(MMA, ("ld", 1))
LOAD = make_block_2d_copy_C(MMA, ("ld", 1))


def coordinates(tensor: Any) -> list[tuple[int, ...]]:
    return [tuple(tensor(i)) for i in range(cx.size(tensor.layout))]


@every("thread", [0, 3, 15, 16, 17, 31])
def test_registers_hold_a_column_and_memory_is_seen_from_the_first(thread: int) -> None:
    """A row of 32-bit values of a message is a register: lane t has column t, as DPAS has C."""
    subgroup, lane = divmod(thread, 16)
    held = [(8 * subgroup + row, 16 * block + lane) for block in (0, 1) for row in range(8)]
    seen = [(row, col - lane) for row, col in held]
    store, load = STORE.get_slice(thread), LOAD.get_slice(thread)
    assert coordinates(store.partition_S(TILE)) == coordinates(load.partition_D(TILE)) == held
    assert coordinates(store.partition_D(TILE)) == coordinates(load.partition_S(TILE)) == seen


def test_messages_start_where_their_subgroup_does() -> None:
    for copy in (STORE, LOAD):
        found = [tuple(copy.anchors(s, m)) for s in (0, 1) for m in (0, 1)]
        assert found == [(0, 0), (0, 16), (8, 0), (8, 16)]


@every("thread", [-1, 32, 100, True, 1.0])
def test_there_are_as_many_slices_as_work_items(thread: Any) -> None:
    with pytest.raises(RankError, match="one of the 32 work-items"):
        STORE.get_slice(thread)


@pytest.mark.parametrize(
    "layout_tv",
    [cx.Layout((16, 12), (8, 1)), cx.Layout((16, 4), (8, 1)), cx.Layout((24, 8), (8, 1))],
    ids=str,
)
def test_work_items_and_values_make_whole_messages(layout_tv: cx.Layout) -> None:
    atom = cx.make_copy_atom(cx.XE_LOAD_2D(16, 8, 16), "bf16")  # 8 values for each of 16
    with pytest.raises(DivisibilityError, match="8 values each"):
        cx.make_tiled_copy(atom, layout_tv, (8, 24))
    assert isinstance(cx.make_tiled_copy(atom, cx.Layout((16, 16), (16, 1)), (8, 32)), TiledCopy)


# What C++ (intel/sycl-tla at 6601377, compiled for the host) makes of tiles that are less than one
# DPAS for each subgroup, or not a multiple: tile, subgroups, tile of the MMA, a permutation.
ROUNDED = [
    ((1, 16, 16), ((1, 2, 1), (0, 1, 0)), (1, 32, 16), 1, cx.Layout(32)),
    ((1, 16, 16), ((1, 16, 1), (0, 1, 0)), (1, 256, 16), 1, cx.Layout(256)),
    ((1, 24, 16), ((1, 2, 1), (0, 1, 0)), (1, 32, 16), 1, cx.Layout(32)),
    ((1, 48, 16), ((1, 2, 1), (0, 1, 0)), (1, 64, 16), 1, cx.Layout((16, 2, 2), (1, 32, 16))),
    ((1, 16, 16), ((1, 1, 8), (0, 0, 1)), (1, 16, 128), 2, cx.Layout(128)),
    ((1, 16, 48), ((1, 1, 2), (0, 0, 1)), (1, 16, 64), 2, cx.Layout((16, 2, 2), (1, 32, 16))),
]


@pytest.mark.parametrize(("tile", "subgroups", "made", "mode", "permutation"), ROUNDED, ids=str)
def test_tiles_are_rounded_up_as_in_cpp_where_asked_for(
    tile: Any, subgroups: Any, made: Any, mode: int, permutation: cx.Layout
) -> None:
    op = XE_DPAS_TT(1, "f32", "bf16")
    with pytest.raises(DivisibilityError, match="not a multiple of"):
        workgroup_mma(op, tile, subgroups)
    rounded = workgroup_mma(op, tile, subgroups, round_up=True)
    assert rounded.tile_mnk == made
    assert rounded.permutation[mode] == permutation
    with pytest.raises(DivisibilityError, match="of the tile is 0"):
        workgroup_mma(op, (0, *tile[1:]), subgroups, round_up=True)
