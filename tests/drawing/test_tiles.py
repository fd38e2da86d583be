"""Layouts of tiles: what is beside what, where tiles end, and what they are named."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from every import every
from hypothesis import given
from strategies import layouts
from svg_cells import SVG, cells_of, root_of

import pycute_xe as cx
from pycute_xe.drawing import draw
from pycute_xe.drawing.scene import Panel
from pycute_xe.drawing.tiles import arranged
from pycute_xe.errors import RankError, ShapeError

L = cx.Layout
# Element (i, j) is at 100 * i + j: an offset says where the element is.
MATRIX = L((8, 12), (100, 1))
TILER = (4, 3)
DIVIDES = {
    cx.logical_divide: None,
    cx.zipped_divide: "tiles",
    cx.tiled_divide: None,
    cx.flat_divide: None,
}


def panel_of(x: Any, **options: Any) -> Panel:
    (panel,) = draw(x, **options).scene.panels
    return panel


def tiles_of(panel: Panel) -> dict[str, list[list[int]]]:
    """The offsets in each frame, by the name of the tile."""
    (height, width), (_, columns) = panel.tile, panel.tiles
    at = {(c.row, c.col): int(c.label) for c in panel.cells}
    out: dict[str, list[list[int]]] = {}
    for i, name in enumerate(panel.tile_names):
        top, left = i // columns * height, i % columns * width
        out[name] = [[at[top + r, left + c] for c in range(width)] for r in range(height)]
    return out


@pytest.mark.parametrize("divide", DIVIDES)
def test_each_divide_shows_its_tiles_where_they_are_in_the_matrix(divide: Any) -> None:
    """A frame holds 4 x 3 neighbours of the matrix, and its name is the coordinate of the tile."""
    found = tiles_of(panel_of(divide(MATRIX, TILER), view=DIVIDES[divide]))
    assert len(found) == 2 * 4
    for i, j in product(range(2), range(4)):
        wanted = [[100 * (4 * i + r) + 3 * j + c for c in range(3)] for r in range(4)]
        assert found[f"({i},{j})"] == wanted


@pytest.mark.parametrize("divide", DIVIDES)
def test_a_swizzled_divide_shows_swizzled_offsets(divide: Any) -> None:
    swizzled = cx.composition(cx.Swizzle(2, 0, 3), L((8, 8), (8, 1)))
    found = tiles_of(panel_of(divide(swizzled, (4, 2)), view=DIVIDES[divide]))
    for i, j in product(range(2), range(4)):
        wanted = [[swizzled(4 * i + r, 2 * j + c) for c in range(2)] for r in range(4)]
        assert found[f"({i},{j})"] == wanted


BLOCK, COPIES = L((2, 3)), L((4, 5))
PRODUCTS = {
    cx.logical_product: "tiles",
    cx.zipped_product: "tiles",
    cx.tiled_product: None,
    cx.flat_product: None,
    cx.blocked_product: "blocks",
}


@pytest.mark.parametrize("multiply", PRODUCTS)
def test_each_product_shows_its_copies(multiply: Any) -> None:
    """A frame is the block, a copy number further on."""
    found = tiles_of(panel_of(multiply(BLOCK, COPIES), view=PRODUCTS[multiply]))
    for i, j in product(range(4), range(5)):
        start = 6 * COPIES(i, j)
        assert found[f"({i},{j})"] == [[start + BLOCK(r, c) for c in range(3)] for r in range(2)]


def test_a_raked_product_shows_one_element_of_each_copy() -> None:
    found = tiles_of(panel_of(cx.raked_product(BLOCK, COPIES), view="blocks"))
    for r, c in product(range(2), range(3)):
        wanted = [[6 * COPIES(i, j) + BLOCK(r, c) for j in range(5)] for i in range(4)]
        assert found[f"({r},{c})"] == wanted


@pytest.mark.parametrize("divide", DIVIDES)
def test_a_tiler_of_every_second_row_gathers_them_in_a_tile(divide: Any) -> None:
    found = tiles_of(panel_of(divide(MATRIX, (L(4, 2), 3)), view=DIVIDES[divide]))
    assert len(found) == 2 * 4
    for i, j in product(range(2), range(4)):
        assert found[f"({i},{j})"] == [
            [100 * (2 * r + i) + 3 * j + c for c in range(3)] for r in range(4)
        ]


def test_modes_that_no_divide_leaves_have_no_frames() -> None:
    """Work-items and values of an operand in registers, and the copies of a block with gaps."""
    fragment = L(((4, 8), (2, 2)), ((16, 1), (8, 128)))
    for layout in (fragment, L(((2, 2), (2, 3)), ((4, 1), (2, 8)))):
        assert panel_of(layout).tile_names == ()
        assert panel_of(layout, view="blocks").tile_names


def test_tiles_of_a_line_are_columns() -> None:
    found = tiles_of(panel_of(cx.logical_divide(L(24), L(4, 2))))
    assert len(found) == 6
    assert found["(1,0)"] == [[1], [3], [5], [7]]
    assert found["(0,1)"] == [[8], [10], [12], [14]]


def test_a_zipped_divide_has_a_frame_around_each_column_and_its_modes_as_they_are() -> None:
    layout = cx.zipped_divide(MATRIX, TILER)
    found = tiles_of(panel_of(layout))
    for i, j in product(range(2), range(4)):
        tile = [[100 * (4 * i + r) + 3 * j + c] for c in range(3) for r in range(4)]
        assert found[f"({i},{j})"] == tile
    for cell in panel_of(layout).cells:
        assert int(cell.label) == layout(cell.row, cell.col)


def test_equal_layouts_have_two_readings_and_the_caption_names_the_other() -> None:
    """Divided or multiplied: the value is the same, so the picture cannot know."""
    multiplied = cx.zipped_product(L((2, 3)), L((4, 4)))
    divided = cx.logical_divide(L((6, 16)), (2, 4))
    assert multiplied == divided
    assert "also view='tiles' or 'columns'" in draw(divided).scene.caption[-1]
    assert "also view='columns' or 'blocks'" in draw(divided, view="tiles").scene.caption[-1]
    assert panel_of(divided).tile == (2, 4)
    assert panel_of(divided, view="tiles").tile == (2, 3)
    assert panel_of(divided, view="grid").tile_names == ()


@pytest.mark.parametrize("divide", DIVIDES)
def test_the_views_that_a_caption_names_can_be_typed(divide: Any) -> None:
    for layout, count in ((divide(MATRIX, TILER), 2), (cx.logical_divide(L(24), L(4, 2)), 1)):
        views = re.findall(r"'(\w+)'", draw(layout).scene.caption[-1])
        assert len(views) == (count if len(layout) == 2 else 0)
        for view in views:
            assert panel_of(layout, view=view).tile_names


@given(layouts(max_size=32, negative=True).filter(lambda a: len(a) == 2))
def test_a_grid_of_tiles_is_the_layout_at_other_places(layout: cx.Layout) -> None:
    for view in ("tiles", "columns", "blocks", "grid", None):
        if view == "tiles" and not all(isinstance(s, tuple) and len(s) == 2 for s in layout.shape):
            continue
        found = arranged(layout, view)
        for cell in cells_of(draw(layout, view=view)):
            assert cell["offset"] == layout(cell["row"], cell["col"])
        assert cx.size(found.grid) == cx.size(layout)


@pytest.mark.parametrize("divide", DIVIDES)
def test_cells_in_place_name_their_coordinates_in_the_layout(divide: Any) -> None:
    """Where a picture is not the grid of modes 0 and 1: the tile's index, and which tile."""
    layout = divide(MATRIX, TILER)
    for cell in cells_of(draw(layout, view=DIVIDES[divide])):
        if len(layout) == 2:
            assert cell["offset"] == layout(cell["row"], cell["col"])
        else:
            assert cell["offset"] == layout(cell["row"] + 12 * cell["col"])


def test_frames_are_thick_and_around_the_cells() -> None:
    """Corners of each frame in the SVG, against the boxes of the cells."""
    drawing = draw(cx.zipped_divide(MATRIX, TILER), view="tiles")
    root = root_of(drawing.svg)
    (path,) = (p for p in root.iter(f"{SVG}path") if p.get("class") == "f tile")
    boxes = [
        tuple(float(r.get(name, "")) for name in ("x", "y", "width", "height"))
        for g in root.iter(f"{SVG}g")
        for r in g.findall(f"{SVG}rect")
        if g.get("class", "").startswith("c ")
    ]
    frames = path.get("d", "").split("z")[:-1]
    assert len(frames) == 8
    for frame in frames:
        left, rest = frame[1:].split(" ", 1)
        top, rest = rest.split("h", 1)
        wide, rest = rest.split("v", 1)
        x, y, w, h = float(left), float(top), float(wide), float(rest.split("h")[0])
        inside = [b for b in boxes if x < b[0] < x + w and y < b[1] < y + h]
        assert len(inside) == 12
        assert min(b[0] for b in inside) == x + 0.5
        assert max(b[1] + b[3] for b in inside) == y + h - 0.5
    assert ".tile{stroke-width:2.5}" in drawing.svg


def test_layouts_by_name_have_tiles_too() -> None:
    drawing = draw({"a": MATRIX, "b": cx.zipped_divide(MATRIX, TILER)})
    assert [bool(panel.tile_names) for panel in drawing.scene.panels] == [False, True]
    assert "b: Frames: tiles of 12 × 1" in " ".join(drawing.scene.caption)


@every(
    ("error", "layout", "view"),
    [
        (ShapeError, L((4, 4)), "tile"),
        (ShapeError, L(4), "tiles"),
        (ShapeError, L((2, 2, 2)), "blocks"),
        (ShapeError, L((2, (2, 2))), "tiles"),
        (ShapeError, L((2, 2, 2)), "columns"),
        (ShapeError, L((2, 2, 2)), "tiles"),
        (RankError, L((2, 2, 2)), None),
        (RankError, L((2, 2, 2)), "grid"),
        (RankError, L(((2, 2), (2, 2), 2)), "grid"),
        (ShapeError, L((cx.symbol("M"), (4, 2))), None),
    ],
    ids=str,
)
def test_what_has_no_tiles_is_refused(error: Any, layout: Any, view: str | None) -> None:
    with pytest.raises(error, match="Way out") as refused:
        draw(layout, view=view)
    for other in re.findall(r"use '(\w+)'", refused.value.fix):
        assert draw(layout, view=other).scene.cells == cx.size(layout)
