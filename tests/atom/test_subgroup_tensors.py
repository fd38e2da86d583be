"""Fragments of a whole subgroup, and parts of tensors of more than two modes."""

from __future__ import annotations

from itertools import product

import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.atom.reordering import reorder_from_copy, reorder_to_copy
from pycute_xe.errors import ShapeError

MMAS = {
    "small": cx.workgroup_mma(
        cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 64, 32), ((2, 2, 1), (2, 1, 0))
    ),
    "bytes": cx.workgroup_mma(cx.XE_DPAS_TT(4, "s32", "s8"), (16, 64, 64), ((2, 2, 1), (2, 1, 0))),
}
MAKERS = {"A": cx.make_block_2d_copy_A, "B": cx.make_block_2d_copy_B, "C": cx.make_block_2d_copy_D}
STRIDES = (("ld", 1), (1, "ld"))


@pytest.mark.parametrize(
    ("name", "operand", "strides"),
    sampled(product(MMAS, "ABC", STRIDES), 4, [("small", "C", STRIDES[0])]),
)
def test_fragments_of_a_subgroup_reorder_as_their_tilings_do(
    name: str, operand: str, strides: tuple[object, object]
) -> None:
    mma = MMAS[name]
    if operand == "C" and strides[0] == 1:
        strides = STRIDES[0]
    copy = MAKERS[operand](mma, strides)
    places = cx.make_identity_tensor(mma.operand_tile(operand))
    for thread in (0, 33):
        held = getattr(mma.get_slice(thread), f"partition_sg_fragment_{operand}")(places)
        mine = copy.get_slice(thread)
        if operand == "C":
            found = cx.reorder(held, mine.partition_sg_fragment_S(places))
            wanted = reorder_to_copy(mma, "C", copy)
        else:
            found = cx.reorder(mine.partition_sg_fragment_D(places), held)
            wanted = reorder_from_copy(copy, mma, operand)
        assert [found(i) for i in range(cx.size(found))] == [
            wanted(i) for i in range(cx.size(wanted))
        ]


def test_the_values_of_each_work_item_are_those_it_partitions() -> None:
    mma = MMAS["small"]
    places = cx.make_identity_tensor((64, 32))
    of_group = mma.get_slice(16).partition_sg_fragment_A(places)
    origin = mma.get_slice(16).partition_A(places)(0)
    for lane in (0, 3, 15):
        mine = mma.get_slice(16 + lane).partition_A(places)
        for i in range(cx.size(mine.layout)):
            y, x = of_group.tv_layout(lane, i)
            assert mine(i) == (origin[0] + y, origin[1] + x)


def test_registers_of_a_part_and_what_is_not_a_part() -> None:
    mine, places = MMAS["small"].get_slice(5), cx.make_identity_tensor((64, 32))
    for operand, shape in (("A", (64, 32)), ("B", (64, 32)), ("C", (64, 64))):
        tile = cx.make_identity_tensor(shape)
        part = getattr(mine, f"partition_{operand}")(tile)
        made = getattr(mine, f"make_fragment_{operand}")(part)
        assert made == getattr(mine, f"partition_fragment_{operand}")(tile)
        with pytest.raises(ShapeError, match=f"give partition_{operand}"):
            getattr(mine, f"make_fragment_{operand}")(places)


@pytest.mark.parametrize("operand", "AB")
def test_further_modes_stay_behind(operand: str) -> None:
    """A tile of every (m, k, batch): as many parts as tiles, each as the part of one tile."""
    mma = MMAS["small"]
    whole = cx.make_identity_tensor((128, 96, 3))
    tiles = cx.local_tile(whole, (64, 32), (1, None))
    assert tiles.shape == (64, 32, 3, 3)
    copy = MAKERS[operand](mma, ("ld", 1)).get_slice(21)
    for partition in (
        getattr(mma.get_slice(21), f"partition_{operand}"),
        copy.partition_S,
        copy.partition_D,
    ):
        found, rank = partition(tiles), len(partition(tiles(None, None, 0, 0)))
        assert len(found) == rank + 2
        for k, batch in ((0, 0), (2, 1), (1, 2)):
            one = partition(tiles(None, None, k, batch))
            part = found(*(None,) * rank, k, batch)
            assert [part(i) for i in range(cx.size(part.layout))] == [
                one(i) for i in range(cx.size(one.layout))
            ]
