"""Views of tilings and kernels: work-groups, permutations, reorders; and who owns an element."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.drawing.scene import Plan
from pycute_xe.drawing.values import of_reorder
from pycute_xe.drawing.zooms import of_permutation, of_zooms
from pycute_xe.errors import CoordError, ShapeError

BF16 = cx.XE_DPAS_TT(8, "f32", "bf16")
MMA = cx.workgroup_mma(BF16, (64, 128, 32), ((2, 4, 1), (4, 1, 0)))
MIXED = cx.make_tiled_mma(BF16, cx.Layout((2, 2, 1)), (32, cx.Layout((16, 2, 2), (1, 32, 16)), 16))


@pytest.mark.parametrize(("mma", "operand"), [(MMA, "A"), (MMA, "B"), (MMA, "C"), (MIXED, "C")])
def test_each_zoom_shows_who_holds_an_element(mma: cx.TiledMma, operand: str) -> None:
    """Each cell of the tile, and each work-item, against the partitions of all work-items."""
    tile, items = of_zooms(mma, operand, 0).panels
    rows, cols = mma.operand_tile(operand)[:: -1 if operand == "B" else 1]
    covered = 0
    for i, cell in enumerate(tile.cells):
        data = dict(cell.data)
        covered += data["height"] * data["width"]
        if i % 3:
            continue
        owners = mma.owner_of(operand, data["row"], data["col"])
        last = mma.owner_of(
            operand, data["row"] + data["height"] - 1, data["col"] + data["width"] - 1
        )
        wanted = sorted({o.subgroup for o in owners})
        assert wanted == sorted({o.subgroup for o in last})
        listed = re.search(r"of subgroups? ([\d, ]+):", cell.tip)
        assert listed is not None
        assert list(map(int, listed[1].split(", "))) == wanted
        step = min(owners).value // (len(items.cells) // 16)
        assert cell.lines[-1] == f"#{step}"
    assert covered == rows * cols
    for cell in items.cells[::23]:
        data = dict(cell.data)
        found = mma.owner_of(operand, data["row"], data["col"])
        assert (0, data["lane"]) in {(o.subgroup, o.work_item) for o in found}


@pytest.mark.parametrize("operand", ["A", "B", "C"])
def test_frames_of_a_work_group_are_its_subgroups(operand: str) -> None:
    panel = of_zooms(MMA, operand, 0).panels[0]
    (height, width), (lines, columns) = panel.tile, panel.tiles
    for i, name in enumerate(panel.tile_names):
        row, col = panel.rows[i // columns * height], panel.cols[i % columns * width]
        owners = sorted({o.subgroup for o in MMA.owner_of(operand, row, col)})
        more = [f"+{len(owners) - 1}"] if len(owners) > 1 else []
        assert name.split() == [f"S{owners[0]}", *more]
    assert lines * columns * len(owners) == MMA.num_subgroups


def test_subgroups_that_interleave_have_no_frames() -> None:
    panel = of_zooms(MIXED, "C", 0).panels[0]
    assert panel.tile_names == ()
    for cell in panel.cells:
        (owner,) = MIXED.owner_of("C", cell.row, cell.col)
        assert cell.lines[0] == f"S{owner.subgroup}"


@pytest.mark.long
def test_a_work_group_fits_below_900_pixels() -> None:
    mma = cx.workgroup_mma(BF16)
    assert (mma.tile_mnk, mma.num_subgroups) == ((256, 256, 32), 32)
    copies = cx.make_block_2d_copy_A(mma, ("ld", 1)), cx.make_block_2d_copy_B(mma, (1, "ld"))
    scenes = [*(of_zooms(mma, name, 0) for name in "ABC"), *(of_zooms(c, None, 0) for c in copies)]
    for scene in scenes:
        assert Plan(scene).width < 900


def test_a_large_message_is_shown_in_part() -> None:
    copy = cx.make_block_2d_copy(cx.XE_LOAD_2D(8, 32, 64), ("ld", 1), "u8")
    scene = of_zooms(copy, None, 0)
    assert Plan(scene).width < 900
    cells = scene.panels[1].cells
    assert {(c.row, c.col) for c in cells} == {(i, j) for i in range(24) for j in range(24)}
    assert "24 × 24 of the 32 × 64 elements of message 0" in scene.caption[-1]


def test_owners_are_those_who_partition() -> None:
    for operand, tile in (("A", (64, 32)), ("B", (128, 32)), ("C", (64, 128))):
        places = cx.make_identity_tensor(tile)
        for thread in (0, 37, 127):
            part = getattr(MMA.get_slice(thread), f"partition_{operand}")(places)
            for i in (0, 5, cx.size(part.layout) - 1):
                place = part(i)[::-1] if operand == "B" else part(i)
                owner = cx.atom.Owner(thread // 16, thread % 16, i)
                assert owner in MMA.owner_of(operand, *place)
    copy = cx.make_block_2d_copy_B(MMA, (1, "ld"))
    places = cx.make_identity_tensor((128, 32))
    part = copy.get_slice(70).partition_D(places)
    assert cx.atom.Owner(4, 6, 9) in copy.owner_of(*part(9))
    assert len(copy.owner_of(0, 0)) == 2  # both rows of subgroups load it
    for wrong in ((64, 0), (0, -1), (0,)):
        with pytest.raises(CoordError, match="not in a tile of 64 x 32"):
            cx.make_block_2d_copy_A(MMA, ("ld", 1)).owner_of(*wrong)


def test_owners_in_a_kernel_are_those_of_the_tile() -> None:
    kernel = cx.kernel.gemm(MMA)
    found = cx.kernel.owner_of(kernel, "A", 70, 100)
    assert (found.where, found.fragment) == ({"m": 1, "k": 3}, "tArA")
    assert {o.subgroup for o in found.owners} == {0, 1, 2, 3}
    assert found.owners == cx.make_block_2d_copy_A(MMA, ("ld", 1)).owner_of(6, 4)
    of_b = cx.kernel.owner_of(kernel, "B", 100, 130)
    assert of_b.where == {"n": 1, "k": 3}
    assert of_b.owners == cx.make_block_2d_copy_B(MMA, (1, "ld")).owner_of(2, 4)
    assert cx.kernel.owner_of(kernel, "D", 0, 127).owners == MMA.owner_of("C", 0, 127)
    with pytest.raises(CoordError, match="has the modes M, K"):
        cx.kernel.owner_of(kernel, "A", 3)


def test_a_permutation_only_moves_parts() -> None:
    before, after = of_permutation(MIXED, "C").panels
    taken = [Counter[Any](), Counter[Any]()]
    for panel, count in zip((before, after), taken, strict=True):
        for cell in panel.cells:
            count[cell.lines] += dict(cell.data)["height"] * dict(cell.data)["width"]
    assert taken[0] == taken[1]
    assert [c.lines for c in before.cells] != [c.lines for c in after.cells]


@pytest.mark.parametrize(
    ("operand", "more"),
    sampled([("A", {"a": "col"}), ("B", {"copy_b": "XE_2D_U16x16x16_LD_N"})], 2),
)
def test_arrows_lead_to_the_same_element(operand: str, more: dict[str, Any]) -> None:
    scene = of_reorder(cx.kernel.gemm(MMA, **more), operand, 1)
    before, after = scene.panels
    at = [{(c.row, c.col): c for c in panel.cells} for panel in (before, after)]
    assert len(scene.arrows) == 32
    for start, end in scene.arrows:
        source = at[0][before.rows[start[1]], before.cols[start[2]]]
        goal = at[1][after.rows[end[1]], after.cols[end[2]]]
        assert source.lines == goal.lines
    assert cx.draw(cx.kernel.gemm(MMA, **more), operand, view="reorder").svg.count("arrow") == 32


def test_views_that_there_are_not_are_refused() -> None:
    kernel = cx.kernel.gemm(MMA)
    for thing, what, view, words in (
        (MMA, "C", "far", "drawn as 'far'"),
        (kernel, "A", "zooms", "a Kernel cannot be drawn as"),
        (kernel, "D", "reorder", "name A or B"),
        (MMA, "E", "zooms", "one of A, B, C, D"),
    ):
        with pytest.raises(ShapeError, match=words):
            cx.draw(thing, what, view=view)
    with pytest.raises(CoordError, match="8 subgroups"):
        cx.draw(MMA, "A", view="zooms", subgroup=8)
