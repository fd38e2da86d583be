"""Drawings as PNG: the pixels are those of the SVG; what is missing is said."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from svg_cells import SVG, root_of

import pycute_xe as cx
from pycute_xe.drawing import Drawing, draw
from pycute_xe.drawing.scene import Cell, Plan, Scene, make_panel
from pycute_xe.drawing.style import COLOURS
from pycute_xe.errors import InputError, ToolError

DRAWING = draw(cx.Layout((2, 8)))


def pixels(data: bytes) -> list[bytes]:
    """The rows of a PNG of 8-bit RGBA, by the definition of the format."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, width = 8, b"", 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, _, depth, colours = struct.unpack(">IIBB", body[:10])
            assert (depth, colours) == (8, 6)
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    raw, line = zlib.decompress(packed), 4 * width
    rows: list[bytes] = []
    above = bytes(line)
    for start in range(0, len(raw), line + 1):
        method, row = raw[start], bytearray(raw[start + 1 : start + 1 + line])
        for i in range(line) if method else ():
            left, corner = (row[i - 4], above[i - 4]) if i > 3 else (0, 0)
            row[i] = row[i] + _guess(method, left, above[i], corner) & 255
        above = bytes(row)
        rows.append(above)
    return rows


def _guess(method: int, left: int, up: int, corner: int) -> int:
    if method < 4:
        return (0, left, up, (left + up) // 2)[method]
    return min((left, up, corner), key=lambda v: abs(left + up - corner - v))


@pytest.mark.long
def test_a_png_shows_each_cell_in_its_colour_with_its_label(tmp_path: Path) -> None:
    path = DRAWING.save(tmp_path / "a.png")
    rows = pixels(path.read_bytes())
    plan = Plan(DRAWING.scene)
    assert (len(rows), len(rows[0]) // 4) == (2 * plan.height, 2 * plan.width)
    labelled = 0
    for group in root_of(DRAWING.svg).iter(f"{SVG}g"):
        kind, box = group.get("class", "").split(), group.find(f"{SVG}rect")
        if "c" not in kind or box is None or not kind[-1].startswith("t"):
            continue
        x, y, w, h = (int(2 * float(box.get(n, ""))) for n in ("x", "y", "width", "height"))
        corner = rows[y + 2][4 * (x + 2) : 4 * (x + 2) + 3].hex()
        assert f"#{corner}" == COLOURS[int(kind[-1][1:])]
        inside = b"".join(rows[i][4 * x : 4 * (x + w)] for i in range(y, y + h))
        labelled += any(max(inside[i : i + 3]) < 60 for i in range(0, len(inside), 4))
    assert labelled == DRAWING.scene.cells
    # The heading, in the font of running text.
    top = plan.title_y
    assert any(
        max(row[i : i + 3]) < 60 for row in rows[2 * top - 20 : 2 * top] for i in range(96, 400, 4)
    )


@pytest.mark.long
def test_both_lines_of_a_label_are_as_wide_in_a_cell(tmp_path: Path) -> None:
    panel = make_panel(
        "", [Cell(0, col, 4, ("11", "11")) for col in range(17)], ("", "x"), framed=False
    )
    drawing = Drawing(Scene("t", (), (panel,)))
    rows = pixels(drawing.save(tmp_path / "a.png").read_bytes())
    (spot,), size = Plan(drawing.scene).spots, Plan(drawing.scene).cells
    assert size.lines == 2
    for col in range(17):
        x, y, high = 2 * spot.x(col), 2 * spot.y(0), size.height
        ends: list[tuple[int, int]] = []
        for line in (rows[y : y + high], rows[y + high : y + 2 * high]):
            dark = [i for row in line for i in range(2 * size.width) if row[4 * (x + i)] < 60]
            ends.append((min(dark), max(dark)))
        assert ends[0] == ends[1]


def test_the_ending_says_the_format(tmp_path: Path) -> None:
    assert DRAWING.save(tmp_path / "a.PNG").read_bytes()[:4] == b"\x89PNG"
    for name in ("a.svg", "a"):
        assert DRAWING.save(tmp_path / name).read_text(encoding="utf-8") == DRAWING.svg
    with pytest.raises(InputError, match=r"\.jpg is not a format.*Way out: name it \.svg or \.png"):
        DRAWING.save(tmp_path / "a.jpg")


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ToolError, match=r"pip install 'pycute-xe\[png\]'"):
        DRAWING.save(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_without_fonts_there_is_no_picture_without_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resvg_py

    def bare(**options: object) -> bytes:
        return resvg_py.svg_to_bytes(**options, skip_system_fonts=True)

    monkeypatch.setitem(sys.modules, "resvg_py", SimpleNamespace(svg_to_bytes=bare))
    with pytest.raises(ToolError, match=r"finds none of the fonts.*Way out: install a font"):
        DRAWING.save(tmp_path / "a.png")
