"""Scenes: how many cells, which frames, and room for what stands around the cells."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, pairwise
from xml.etree import ElementTree

import pytest
from dejavu import dejavu_width
from svg_cells import SVG, cells_of

import pycute_xe as cx
from pycute_xe.drawing import Drawing, draw
from pycute_xe.drawing.scene import MARGIN, Cell, Panel, Plan, Scene, frames, make_panel
from pycute_xe.errors import ShapeError
from pycute_xe.kernel.schedules import Grouped, StreamK

AXES = ("row", "col")
PLACES = [(row, col) for row in range(3) for col in range(4)]


def panel_of(
    groups: Iterable[Iterable[tuple[int, int]]], name: str = "", slot: tuple[int, int] = (0, 0)
) -> Panel:
    cells = [Cell(*at, 0, ("0",), group=i) for i, places in enumerate(groups) for at in places]
    return make_panel(name, cells, AXES, slot=slot)


def test_only_rectangles_have_frames() -> None:
    left = {at for at in PLACES if at[1] < 2}
    right = {at for at in PLACES if at[1] >= 2}
    assert set(frames(panel_of([left, right]))) == {(0, 0, 3, 2), (0, 2, 3, 2)}
    moved = {(2, 1)}  # what is left is an L, what it joins is ragged
    assert frames(panel_of([left - moved, right | moved])) == ()
    assert frames(panel_of([left - moved, right])) == ((0, 2, 3, 2),)


@pytest.mark.parametrize("cells", [8192, 8193])
def test_a_drawing_has_at_most_8192_cells(cells: int) -> None:
    halves = [[(0, col) for col in range(4096)], [(0, col) for col in range(cells - 4096)]]
    panels = tuple(panel_of([half], slot=(0, i)) for i, half in enumerate(halves))
    if cells <= 8192:
        assert Scene("title", (), panels).cells == cells
        return
    with pytest.raises(ShapeError, match="8193 cells"):
        Scene("title", (), panels)


def test_an_atom_of_many_cells_has_its_first_panel() -> None:
    drawing = draw(cx.make_copy_atom(cx.XE_LOAD_2D(8, 32, 64), "u2"))
    assert [(panel.name, len(panel.cells)) for panel in drawing.scene.panels] == [
        ("in memory", 32 * 256)
    ]
    caption = " ".join(drawing.scene.caption)
    assert 'draw(atom, "registers")' in caption
    assert 'draw(atom, "memory")' not in caption  # this one is here


def test_a_register_has_64_bytes() -> None:
    """A row of 16 values of 32 bits of C is a register: row r is in register r."""
    kernel = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    held = [cell for panel in draw(kernel, "C").scene.panels for cell in panel.cells]
    tile = [cell for cell in held if cell.row < 8 and cell.col < 16]
    assert len(tile) == 128
    for cell in tile:
        assert cell.tip.endswith(f"in register {cell.row}, byte {4 * cell.col} of it")


def test_small_cells_have_no_labels() -> None:
    for extent, labelled in ((8, True), (60, False)):
        drawing = draw(cx.Layout((extent, extent)))
        assert len(cells_of(drawing)) == extent**2
        assert bool(Plan(drawing.scene).cells.lines) == labelled


def test_panels_stand_apart_and_leave_room_for_headings() -> None:
    heading = "a panel whose heading is much wider than its cells"
    beside = (panel_of([PLACES]), panel_of([PLACES], slot=(1, 0)))
    plan = Plan(Scene("title", (), beside))
    first, second = plan.spots
    assert second.left - plan.gutter[0] > first.left + 4 * plan.cells.width
    narrow = (panel_of([PLACES[:1]], heading), panel_of([PLACES], slot=(1, 0)))
    first, second = Plan(Scene("title", (), narrow)).spots
    assert second.left - first.left > 6 * len(heading)
    below = (panel_of([PLACES]), panel_of([PLACES], slot=(0, 1)))
    plan = Plan(Scene("title", (), below))
    first, second = plan.spots
    assert second.top - plan.gutter[1] > first.top + 3 * plan.cells.height


def test_each_line_of_a_caption_has_room() -> None:
    panels = (panel_of([PLACES]),)
    tops = [Plan(Scene("title", ("line",) * lines, panels)).panels_y for lines in (1, 2, 5)]
    assert tops[1] - tops[0] >= 12  # the size of its font
    assert tops[2] - tops[1] >= 36


def boxes_of(scene: Scene) -> list[tuple[float, float, float]]:
    """Left, top and bottom of every cell of the only panel."""
    found: list[tuple[float, float, float]] = []
    for group in ElementTree.fromstring(Drawing(scene).svg).iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect")
        if "c" in group.get("class", "").split() and box is not None:
            left, top, high = (float(box.get(name, "")) for name in ("x", "y", "height"))
            found.append((left, top, top + high))
    return found


def test_owners_of_one_place_share_its_cell() -> None:
    """Three cells at one place stand below each other, within the height of a cell alone."""
    cells = [Cell(0, 0, i, (str(i),)) for i in range(3)]
    panel = make_panel("", [*cells, Cell(0, 1, 3, ("3",))], AXES)
    *shared, alone = boxes_of(Scene("title", (), (panel,)))
    assert len({left for left, _, _ in shared}) == 1
    edges = [alone[1], *chain(*(box[1:] for box in shared)), alone[2] + 1]
    assert all(above <= below for above, below in pairwise(edges))


def column_names(drawing: Drawing) -> list[ElementTree.Element]:
    """The names above the columns, which have no class; those of rows and axes have one."""
    groups = ElementTree.fromstring(drawing.svg).iter(f"{SVG}g")
    (axes,) = (group for group in groups if group.get("class") == "a")
    return [text for text in axes.iter(f"{SVG}text") if text.get("class") is None]


def test_numbers_of_small_cells_do_not_meet() -> None:
    """10 px is the size of their font; a digit is about 0.6 of that wide."""
    texts = column_names(draw(cx.Layout((26, 128))))
    spans = [(float(t.get("x", "")), 3.0 * len(t.text or "")) for t in texts]
    assert len(spans) > 1
    assert all(x + half <= y - other for (x, half), (y, other) in pairwise(spans))


def test_a_terminal_shows_the_first_owner_of_a_place() -> None:
    first, second, beside = (Cell(0, col, i, (str(i),)) for i, col in enumerate((0, 0, 1)))

    def text(*cells: Cell) -> str:
        return Drawing(Scene("title", (), (make_panel("", cells, AXES),))).text(80, colour=True)

    assert text(first, second, beside) == text(first, beside)
    assert text(second, first, beside) == text(second, beside) != text(first, beside)


def test_in_a_narrow_terminal_padding_is_a_dot_and_no_owner_a_dash() -> None:
    kinds = (("0",), 0), (("·",), None), (("–",), None), (("10",), 10)
    cells = [Cell(0, col, colour, label) for col, (label, colour) in enumerate(kinds * 16)]
    text = Drawing(Scene("title", (), (make_panel("", cells, AXES),))).text(72, colour=False)
    assert text.splitlines()[-1] == "0 " + "0·–a" * 16


def test_neighbours_of_one_name_are_named_once() -> None:
    cells = [Cell(0, col, 0, ("0",)) for col in range(4)]
    panel = make_panel("", cells, AXES).headed("who", ("0,8", "0,8", "1,9", "0,8"), ())
    names = column_names(Drawing(Scene("title", (), (panel,))))
    assert [name.text for name in names] == ["0,8", "1,9", "0,8"]


def test_every_column_that_has_labels_has_its_name() -> None:
    """Pairs of work-items, eight across or four columns each; parts of 16 in the smallest cells."""
    pairs = [f"{t},{t + 8}" for t in range(8)]
    for name in ("XE_2D_U64x8x4_LD_T", "XE_1D_LOAD_GLOBAL<u16,u64>"):
        drawing = draw(cx.get_atom(name), "registers")
        assert [text.text for text in column_names(drawing)] == pairs
        assert all(f">{pair}</text>" in draw(cx.get_atom(name)).svg for pair in pairs)
    atom = cx.XE_DPAS_TT(8, "f32", "bf16")
    permuted = (32, cx.Layout((16, 2, 2), (1, 32, 16)), 16)
    mma = cx.make_tiled_mma(atom, cx.Layout((2, 2, 1)), permuted)
    first = draw(mma, view="zooms").svg.split('class="panel', 2)[1]
    assert re.findall(r'<text x="[^>]*>(\d+)<', first.split("</g>")[0]) == ["0", "32"]


def test_what_columns_count_is_said_above_the_first_one() -> None:
    """In the middle of 200 columns nobody would see it who does not scroll."""
    root = ElementTree.fromstring(draw(cx.Layout((2, 200))).svg)
    heading = next(t for t in root.iter(f"{SVG}text") if t.text == "mode 1 →")
    cell = next(g for g in root.iter(f"{SVG}g") if g.get("class", "").startswith("c "))
    box = cell.find(f"{SVG}rect")
    assert box is not None
    assert heading.get("x") == box.get("x")


@pytest.mark.parametrize("columns", [2, 12, 30, 100])
def test_titles_and_captions_stay_inside_and_on_a_page_of_1300_px(columns: int) -> None:
    """Names of templates are capitals, digits and signs, which are wider than prose."""
    names = " ".join(["XE_LOAD_2D_TRANSPOSE<32,16,8>"] * 6)
    panel = panel_of([[(0, col) for col in range(columns)]])
    plan = Plan(Scene(names, (names, f"Note: {names}"), (panel,)))
    lines = [(line, 17, True) for line in plan.title]
    lines += [(line, 12, warns) for line, warns in plan.caption]
    # The site's column is 768 px wide there.
    assert max(dejavu_width(*line) for line in lines) <= min(plan.width, 768) - 2 * MARGIN
    assert all("XE_LOAD_2D_TRANSPOSE<32,16,8>" in line for line in plan.title)


def test_a_small_layout_is_as_narrow_as_a_telephone() -> None:
    """400 px less the site's margins of 16 px."""
    assert Plan(draw(cx.Layout((8, 8), (8, 1))).scene).width <= 368


def test_the_chips_of_a_legend_hold_their_names_and_stay_apart_and_inside() -> None:
    """Tiles of several problems have long names: `2:(3,0)` is wider than `T15`."""
    counts = [(12, 12, 4), (2, 1, 4)]
    plans = [StreamK(5, least=1).plan(counts[0]), Grouped(3).plan(*counts)]
    drawings = [*map(draw, plans), draw(cx.Layout((4, 4)))]
    for drawing in drawings:
        root = ElementTree.fromstring(drawing.svg)
        chips = [g for g in root.iter(f"{SVG}g") if (g.get("class") or "").startswith("k ")]
        assert chips
        right = float((root.get("viewBox") or "").split()[2])
        taken: list[tuple[float, float, float]] = []
        for chip in chips:
            box, text = chip.find(f"{SVG}rect"), chip.find(f"{SVG}text")
            assert box is not None
            assert text is not None
            assert text.text is not None
            x, y, wide = (float(box.get(name) or 0) for name in ("x", "y", "width"))
            assert len(text.text) * 11 * 0.6 <= wide
            assert x + wide <= right
            assert abs(float(text.get("x") or 0) - (x + wide / 2)) <= 0.5
            assert all(y != v or x >= u + w or u >= x + wide for u, v, w in taken)
            taken.append((x, y, wide))
        assert len(drawing.scene.legend) == len(chips)
