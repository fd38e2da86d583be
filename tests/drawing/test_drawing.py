"""What a drawing is made of: valid XML, titles, labels that fit, text for terminals, files."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from dejavu import dejavu_width
from every import every
from svg_cells import SVG, cells_of, root_of

import pycute_xe as cx
from pycute_xe.drawing import Drawing, draw
from pycute_xe.drawing.notebook import verdict as verdict_table
from pycute_xe.drawing.saving import write_files
from pycute_xe.drawing.scene import MARGIN, MONO
from pycute_xe.drawing.style import COLOURS, INK
from pycute_xe.errors import CoordError, CuteError, RankError, ShapeError

ATOM = cx.make_mma_atom(cx.XE_DPAS_TT(8, "f32", "bf16"))


MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
GEMM = cx.kernel.gemm(MMA)
PADDED = cx.make_copy_atom(cx.XE_LOAD_2D(8, 16, 12), "u8")
DRAWINGS: dict[str, Callable[[], Drawing]] = {
    "kernel A": lambda: draw(GEMM, "A"),
    "kernel B": lambda: draw(GEMM, "B", subgroup=3),
    "kernel D": lambda: draw(GEMM, "D", subgroup=31),
    "kernel": lambda: draw(GEMM),
    "broken": lambda: draw(cx.kernel.gemm(MMA, a="col", reorder_a=False), "A"),
    "tiled mma": lambda: draw(MMA, "C"),
    "mma atom": lambda: draw(ATOM),
    "copy": lambda: draw(cx.make_block_2d_copy_B(MMA, (1, "ld"))),
    "padded atom": lambda: draw(PADDED),
    "narrow atom": lambda: draw(cx.make_copy_atom(cx.XE_LOAD_2D(32, 8, 2), "f32")),
    "older atom": lambda: draw(cx.get_atom("XE_2D_U16x16x16_LD_V")),
    "wide atom": lambda: draw(cx.get_atom("XE_2D_U8x8x64_LD_V", "s4")),
    "transposed atom": lambda: draw(cx.get_atom("XE_2D_U64x8x4_LD_T")),
    "large atom": lambda: draw(cx.get_atom("XE_2D_U8x32x64_LD_V")),
    "prefetch": lambda: draw(cx.get_atom("XE_2D_U16x8x16_LD_N::PREFETCH")),
    "linear atom": lambda: draw(cx.get_atom("XE_1D_LOAD_GLOBAL<u16,u64>")),
    "operand": lambda: draw(cx.get_atom("XE_8x16x16_F32BF16BF16F32_TT"), "B"),
    "layout": lambda: draw(cx.Layout((8, (2, 4)), (2, (1, 16)))),
    "line": lambda: draw(cx.Layout(12, 100)),
    "identity": lambda: draw(cx.make_identity_layout((4, 8))),
    "one": lambda: draw(cx.Layout(1, 0)),
}


@cache
def drawn(name: str) -> Drawing:
    """A drawing, made once, when the first test asks for it."""
    return DRAWINGS[name]()


@pytest.fixture(params=DRAWINGS)
def drawing(request: pytest.FixtureRequest) -> Drawing:
    return drawn(request.param)


def test_it_is_xml_with_a_title_and_a_description(drawing: Drawing) -> None:
    root = root_of(drawing.svg)
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert desc is not None
    assert title.text == drawing.title
    assert desc.text
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert "\n\n" not in drawing.svg, "a blank line would end an HTML block in Markdown"
    assert len(drawing.svg.encode()) < 1_000_000


@pytest.mark.long
def test_every_cell_has_its_own_place(drawing: Drawing) -> None:
    root = root_of(drawing.svg)
    boxes = {
        (r.get("x"), r.get("y"))
        for g in root.iter(f"{SVG}g")
        if "c" in g.get("class", "").split()
        for r in g.findall(f"{SVG}rect")
    }
    assert len(boxes) == drawing.scene.cells == len(cells_of(drawing))


def test_panels_do_not_meet(drawing: Drawing) -> None:
    """Boxes around the cells of each panel, with the headings above them, in pixels of the SVG."""
    boxes: list[tuple[float, float, float, float]] = []
    for panel in root_of(drawing.svg).iter(f"{SVG}g"):
        if panel.get("class") != "panel":
            continue
        rects = [r for g in panel.iter(f"{SVG}g") for r in g.findall(f"{SVG}rect")]
        left = min(float(r.get("x", 0)) for r in rects)
        top = min(float(r.get("y", 0)) for r in rects) - 30
        right = max(float(r.get("x", 0)) + float(r.get("width", 0)) for r in rects)
        bottom = max(float(r.get("y", 0)) + float(r.get("height", 0)) for r in rects)
        boxes.append((left, top, right, bottom))
    for i, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:i]:
            apart = left > other[2] or other[0] > right or top > other[3] or other[1] > bottom
            assert apart, (boxes[i], other)


def test_no_text_leaves_its_box(drawing: Drawing) -> None:
    root = root_of(drawing.svg)
    width, height = (float(v) for v in root.get("viewBox", "").split()[2:])
    font = float(re.search(r"\.c text\{font-size:([\d.]+)px", drawing.svg).group(1))
    for g in root.iter(f"{SVG}g"):
        text, box = g.find(f"{SVG}text"), g.find(f"{SVG}rect")
        if "c" not in g.get("class", "").split() or text is None or box is None:
            continue
        lines = [text.text or "", *(t.text or "" for t in text if t.get("class") != "d")]
        longest = max(map(len, lines))
        assert longest * font * MONO <= float(box.get("width", 0))
        assert float(text.get("y", 0)) <= float(box.get("y", 0)) + float(box.get("height", 0))
    sizes = {"h": 17, "p": 12, "p bad": 12}
    for text in root.iter(f"{SVG}text"):
        kind = text.get("class", "")
        if kind in sizes:
            length = dejavu_width(text.text or "", sizes[kind], kind != "p")
            assert float(text.get("x", 0)) + length <= width - MARGIN
        assert 0 < float(text.get("y", 0)) < height


def test_styles_stay_inside_the_drawing(drawing: Drawing) -> None:
    scope = root_of(drawing.svg).get("id")
    sheet = re.search(r"<style>(.*)</style>", drawing.svg, re.DOTALL)
    assert sheet is not None
    rules = re.sub(r"@media[^{]*\{|^\}$", "", sheet.group(1), flags=re.MULTILINE)
    for selectors in re.findall(r"^([^{}]+)\{", rules, re.MULTILINE):
        for selector in selectors.split(","):
            assert selector.strip().startswith(f"#{scope}"), selector


def test_labels_colours_and_tips(gemm: cx.Kernel) -> None:
    root = ElementTree.fromstring(draw(gemm, "A").svg)
    for g in root.iter(f"{SVG}g"):
        if "c" not in g.get("class", "").split():
            continue
        lane, value = g.get("data-lane"), g.get("data-value")
        text, tip = g.find(f"{SVG}text"), g.find(f"{SVG}title")
        assert text is not None
        assert tip is not None
        assert "".join(text.itertext()) == f"T{lane}·V{value}"
        assert f"t{lane}" in g.get("class", "").split()
        row, col = g.get("data-row"), g.get("data-col")
        assert (tip.text or "").startswith(f"T{lane}·V{value} holds A[m={row}, k={col}]")


@pytest.mark.parametrize(
    ("what", "share"), [("A", (32, 32)), ("B", (32, 64)), ("D", (32, 64)), ("C", (32, 64))]
)
def test_a_share_is_drawn_once_with_its_coordinates(
    gemm: cx.Kernel, what: str, share: tuple[int, int]
) -> None:
    # Subgroup 6 of (8,4,1):(4,1,0) is at (1, 2): rows from 32 on, columns from 128 on.
    start = {"A": (32, 0), "B": (0, 128), "C": (32, 128), "D": (32, 128)}[what]
    cells = cells_of(draw(gemm, what, subgroup=6))
    places = {(c["row"], c["col"]) for c in cells}
    assert len(places) == len(cells) == share[0] * share[1]
    assert min(places) == start
    assert max(places) == (start[0] + share[0] - 1, start[1] + share[1] - 1)
    width = 4 if what in "CD" else 2
    assert sorted(c["byte"] for c in cells) == [width * i for i in range(len(cells))]


def test_the_caption_names_atom_message_and_tile(gemm: cx.Kernel) -> None:
    caption = " ".join(draw(gemm, "A").scene.caption)
    for part in (
        "256 × 256 × 32",
        "XE_LOAD_2D<16,32,32,16>",
        "V:d16.2x16x32nn",
        "XE_DPAS_TT<8,f32",
    ):
        assert part in caption


def test_layout_cells_carry_offsets() -> None:
    layout = cx.Layout((8, (2, 4)), (2, (1, 16)))
    for cell in cells_of(draw(layout)):
        assert cell["offset"] == layout(cell["row"], cell["col"])


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_labels_can_be_read_on_every_colour() -> None:
    assert len(set(COLOURS)) == 16
    for colour in COLOURS:
        assert (luminance(colour) + 0.05) / (luminance(INK) + 0.05) >= 4.5, colour


# ------------------------------------------------------------------ terminal


def test_text_shows_whole_labels_where_there_is_room() -> None:
    text = draw(ATOM, "B").text(width=200, colour=False)
    assert "T15·V14" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [68, 80, 120, 200, 600])
@pytest.mark.parametrize("what", ["A", "D"])
def test_text_fits_the_terminal(gemm: cx.Kernel, what: str, width: int) -> None:
    drawing = draw(gemm, what)
    lines = drawing.text(width=width, colour=False).splitlines()
    grid = lines[-32:]
    assert all(line.split()[0] == str(row) for row, line in enumerate(grid))
    assert max(map(len, grid)) <= width


def test_text_is_coloured_when_asked() -> None:
    text = draw(ATOM, "A").text(width=120, colour=True)
    assert "\x1b[" in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    expected = draw(ATOM, "A").text(width=120, colour=False)
    assert [line.rstrip() for line in plain.splitlines()] == expected.splitlines()


def test_printing_is_plain_when_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    print(draw(cx.Layout((2, 2))))
    out = capsys.readouterr().out
    assert out.endswith("0 0 2\n1 1 3\n")
    assert "\x1b" not in out


def test_a_rich_console_prints_it() -> None:
    from rich.console import Console

    console = Console(record=True, width=100, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    with console.file:
        console.print(draw(cx.Layout((2, 2))))
    assert "1 1 3" in console.export_text()


# ------------------------------------------------------------------ values and files


def test_a_drawing_is_a_value() -> None:
    first, second = draw(ATOM, "A"), draw(ATOM, "A")
    assert first == second
    assert hash(first) == hash(second)
    assert first.svg == second.svg == first._repr_svg_()
    with pytest.raises(AttributeError):
        first.scene = second.scene


def test_saving_is_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.svg"
    assert draw(ATOM, "A").save(path) == path
    assert path.read_text(encoding="utf-8") == draw(ATOM, "A").svg
    assert [p.name for p in path.parent.iterdir()] == ["a.svg"]


def test_a_failed_write_leaves_everything_as_it_was(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("before")

    def fail(_: Any) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_files({kept: b"after", tmp_path / "new" / "x": b"x", tmp_path / "bad": fail})
    assert kept.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_text("")
    path.chmod(0o640)
    draw(ATOM, "A").save(path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    draw(ATOM, "A").save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text(encoding="utf-8").startswith("<svg")


# ------------------------------------------------------------------ refusals


@every(
    ("error", "arguments"),
    [
        (ShapeError, (ATOM, "D")),
        (ShapeError, (ATOM, "AB")),
        (ShapeError, (ATOM, "")),
        (ShapeError, (cx.Layout(4), "A")),
        (ShapeError, (42,)),
        (ShapeError, (cx.Layout((128, 128)),)),
        (RankError, (cx.Layout((2, 2, 2)),)),
        (ShapeError, (cx.make_copy_atom(cx.XE_PREFETCH_2D(16, 8, 32), "bf16"), "registers")),
        (ShapeError, (cx.make_copy_atom(cx.XE_LOAD_2D(16, 8, 32), "bf16"), "A")),
    ],
)
def test_what_cannot_be_drawn_is_refused(error: type[CuteError], arguments: Any) -> None:
    with pytest.raises(error, match="Way out"):
        draw(*arguments)


@pytest.mark.parametrize("subgroup", [-1, 32])
def test_there_must_be_such_a_subgroup(gemm: cx.Kernel, subgroup: int) -> None:
    copy = cx.make_block_2d_copy_A(gemm.mma, ("ld", 1))
    for value, what in ((gemm, "A"), (gemm.mma, "A"), (copy, None)):
        with pytest.raises(CoordError):
            draw(value, what, subgroup=subgroup)


# ------------------------------------------------------------------ notebooks


def bundle(value: Any) -> dict[str, str]:
    """What a notebook shows of a value, by type."""
    return value._repr_mimebundle_()


@pytest.mark.long
def test_notebooks_show_values_by_themselves(gemm: cx.Kernel) -> None:
    copy = cx.make_block_2d_copy_A(gemm.mma, ("ld", 1))
    for value in (gemm.mma, ATOM, copy, copy.atom, cx.Layout((2, 2))):
        assert bundle(value)["image/svg+xml"].startswith("<svg")
    # What cannot be drawn keeps its text.
    assert [*bundle(cx.Layout((2, 2, 2)))] == ["text/plain"]


def cells(html: str) -> list[list[str]]:
    """The rows of all tables of a page that must be well formed."""
    root = ElementTree.fromstring(html)
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def shown(value: Any) -> str:
    """The table that a notebook shows."""
    return bundle(value)["text/html"]


def test_notebooks_tell_kernels_by_their_listing(gemm: cx.Kernel) -> None:
    assert ElementTree.fromstring(shown(gemm)).text == str(gemm)
    assert "image/svg+xml" not in bundle(gemm)


def test_notebooks_show_what_readers_found_as_tables(gemm: cx.Kernel) -> None:
    fits = cx.feeds("XE_2D_U16x32x16_LD_V", "XE_DPAS_TT<8,f32,bf16>", "B")
    assert ["copy", "XE_2D_U16x32x16_LD_V"] in cells(shown(fits))
    assert "free" in shown(fits)
    other = cells(shown(cx.diff("XE_2D_U16x16x16_LD_N", "XE_2D_U16x16x16_LD_V")))
    assert ["", "XE_2D_U16x16x16_LD_N", "XE_2D_U16x16x16_LD_V"] in other
    assert ["mode", "N", "V"] in other
    found = cx.search_atoms(feeds="XE_DPAS_TT<8,f32,bf16>", operand="B", name="XE_2D_U16x32*_LD_V")
    head, *rows = cells(shown(found))
    assert (head[0], head[5]) == ("name", "feeds")
    assert [(row[0], row[5]) for row in rows] == [(r.name, "B free") for r in found]
    legal = shown(cx.check(gemm, "bmg"))
    assert "legal" in legal
    assert [row[:1] for row in cells(legal) if row[0] == "registers"]
    refused = cx.check("XE_2D_U32x16x16_LD_V", "bmg")
    (finding, *_) = refused.findings
    assert [row for row in cells(shown(refused)) if finding.broken.rule in row]
    steps = cx.explain(cx.composition, cx.Layout((4, 8)), cx.Layout(2, 4))
    table = cells(shown(steps))
    assert [row[0] for row in table[1:]] == [number for number, _ in steps.numbered()]
    told = cx.explain(cx.get_atom("XE_2D_U16x32x16_LD_V"))
    assert [row[0] for row in cells(shown(told))] == [name for name, _ in told.sections()]
    for value in (fits, found, refused, steps, told):
        assert len(repr(value)) < 200 or value is found
        assert "\n" not in repr(value)


def test_notebooks_show_verdicts_of_proofs_that_answer_in_words() -> None:
    """Proofs may hold, fail, or be undecided: a table reads what they have."""
    common = {"statement": "each once", "seconds": 0.002, "counterexample": None}
    proofs = [
        SimpleNamespace(property="stores", answer="proved", condition="", reason="", **common),
        SimpleNamespace(property="bounds", answer="needs", condition="K % 8 == 0", **common),
        SimpleNamespace(property="flow", answer="undecided", reason="a < b?", **common),
    ]
    verdict = SimpleNamespace(kernel="gemm", scope="all sizes", proofs=proofs, assumptions=("x",))
    rows = cells(verdict_table(verdict))
    assert [row[0] for row in rows[1:]] == ["proved", "needs", "undecided"]
    assert [row[3] for row in rows[1:]] == ["", "K % 8 == 0", "a < b?"]


def test_neighbours_differ_in_colour() -> None:
    assert all(a != b for a, b in pairwise(COLOURS))
