"""Layouts in colours of one's own, and several in one drawing."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from every import every
from svg_cells import SVG, cells_of

import pycute_xe as cx
from pycute_xe.drawing import Drawing, draw
from pycute_xe.errors import ShapeError


def colours(drawing: Drawing, panel: str) -> list[list[str]]:
    """The colour class of every cell of a panel, row by row."""
    rows: dict[int, dict[int, str]] = {}
    for group in ElementTree.fromstring(drawing.svg).iter(f"{SVG}g"):
        if group.get("data-operand") != panel:
            continue
        for cell in group.iter(f"{SVG}g"):
            names = cell.get("class", "").split()
            if "c" in names:
                row, col = int(cell.get("data-row", "")), int(cell.get("data-col", ""))
                rows.setdefault(row, {})[col] = names[-1]
    return [[row[col] for col in sorted(row)] for _, row in sorted(rows.items())]


def test_layouts_stand_in_panels_of_their_names() -> None:
    a, b = cx.Layout((3, 4), (4, 1)), cx.Layout((3, 4))
    drawing = draw({"rows": a, "columns": b})
    assert drawing.title == "rows, columns"
    for name, layout in {"rows": a, "columns": b}.items():
        shown = {(c["row"], c["col"]): c["offset"] for c in cells_of(drawing, name)}
        assert shown == {(i, j): layout(i, j) for i in range(3) for j in range(4)}


def width(drawing: Drawing) -> int:
    return int(ElementTree.fromstring(drawing.svg).get("width", ""))


def test_wide_layouts_stand_below_each_other() -> None:
    narrow, wide = cx.Layout((2, 14)), cx.Layout((2, 15))
    assert width(draw({"a": narrow, "b": narrow})) > width(draw({"a": narrow}))
    assert width(draw({"a": wide, "b": wide})) == width(draw({"a": wide}))


def test_values_of_one_number_have_one_colour() -> None:
    layout, other = cx.Layout((4, 4)), cx.Layout((4, 4), (4, 1))
    drawing = draw({"a": layout, "b": other}, colour=lambda offset: offset // 8)
    first, second = colours(drawing, "a"), colours(drawing, "b")
    half, rest = first[0][0], first[0][2]
    assert half != rest
    assert first == [[half, half, rest, rest]] * 4
    assert second == [[half] * 4] * 2 + [[rest] * 4] * 2


def test_each_layout_can_have_its_own_colours() -> None:
    layout = cx.Layout((2, 2))
    drawing = draw({"a": layout, "b": layout}, colour={"a": lambda o: o % 2, "b": lambda o: o // 2})
    first, second = colours(drawing, "a"), colours(drawing, "b")
    assert first[0] == second[0][:1] * 2
    assert [list(column) for column in zip(*first, strict=True)] == second
    assert draw({"a": layout, "b": layout}, colour={"a": lambda o: 7}).svg != drawing.svg


def test_one_legend_serves_layouts_of_one_kind_only() -> None:
    offsets, coordinates = cx.Layout((2, 2)), cx.make_identity_layout((2, 2))
    (alone, other) = (draw(layout).scene for layout in (offsets, coordinates))
    assert alone.legend_title != other.legend_title
    assert draw({"a": offsets, "b": offsets}).scene.legend_title == alone.legend_title
    mixed = draw({"a": offsets, "b": coordinates}).scene
    assert (mixed.legend_title, mixed.legend) == ("", ())


def test_sixteen_numbers_have_sixteen_colours() -> None:
    found = colours(draw(cx.Layout(32), colour=lambda offset: offset), "")[0]
    assert len(set(found)) == 16
    assert found[:16] == found[16:]


def test_coordinates_and_swizzled_layouts_are_coloured_by_their_values() -> None:
    identity = draw(cx.make_identity_layout((2, 3)), colour=lambda c: c[1])
    assert colours(identity, "")[0] == colours(identity, "")[1]
    assert len(set(colours(identity, "")[0])) == 3
    swizzled = cx.composition(cx.Swizzle(1, 0, 1), cx.Layout((2, 2), (2, 1)))
    rows = colours(draw(swizzled, colour=lambda offset: offset % 2), "")
    assert rows[0] == rows[1][::-1]


@every(
    ("x", "options"),
    [
        ({}, {}),
        ({"a": 4}, {}),
        ({"a": cx.Layout(4), "b": (4, 8)}, {"colour": lambda offset: offset}),
        (cx.make_mma_atom(cx.XE_DPAS_TT(8, "f32", "bf16")), {"colour": lambda offset: offset}),
        (cx.Layout(4), {"what": "A", "colour": lambda offset: offset}),
        (cx.Layout(4), {"colour": lambda offset: offset / 2}),
        (cx.Layout(4), {"colour": {0: 1}.get}),
        (cx.Layout(4), {"colour": {"a": lambda offset: offset}}),
        ({"a": cx.Layout(4)}, {"what": "A"}),
    ],
)
def test_what_has_no_such_drawing_is_refused(x: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ShapeError, match="Way out"):
        draw(x, **options)
