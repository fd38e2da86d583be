"""Copy atoms and MMA operands in three panels, against the machine and the atoms' own answers."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from every import every
from sampling import sampled
from svg_cells import SVG, cells_of

import pycute_xe as cx
from pycute_xe.arch import Surface
from pycute_xe.atom import CopyAtom
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.cutlass import LegacyCopyAtom, get_atom, parse_block2d_name, shipped_names
from pycute_xe.drawing import Drawing, draw
from pycute_xe.drawing.scene import Cell, Panel, frames
from pycute_xe.errors import LegalityError, ShapeError
from pycute_xe.machine import Memory, RegisterFile, block2d

MEMORY, REGISTERS, ITEMS = "in memory", "in registers", "in work-items"
LOADS = [n for n in shipped_names() if "_LD_" in n and "PREFETCH" not in n]
STORES = [n for n in shipped_names() if "_ST_" in n]
PREFETCHES = [n for n in shipped_names() if "PREFETCH" in n]
TEMPLATES = [
    cx.make_copy_atom(cx.XE_LOAD_2D(16, 32, 32, 16), "bf16"),
    cx.make_copy_atom(cx.XE_LOAD_2D(16, 16, 12), "u16"),
    cx.make_copy_atom(cx.XE_LOAD_2D(8, 16, 12), "u8"),
    cx.make_copy_atom(cx.XE_LOAD_2D_VNNI(16, 16, 32, 16), "bf16"),
    cx.make_copy_atom(cx.XE_LOAD_2D_TRANSPOSE(32, 16, 8), "bf16"),
    cx.make_copy_atom(cx.XE_LOAD_2D(16, 8, 16), "u4"),
]
OPERANDS = [
    (name, operand)
    for name in (
        "XE_DPAS_TT<8,f32,bf16>",
        "XE_DPAS_TT<4,s32,s8>",
        "XE_DPAS_TT<3,f32,tf32>",
        "XE_DPAS_TT<2,s32,s4,s8>",
        "XE_8x16x16_F32BF16BF16F32_TT",
        "XE_1x16x32_S32S8S8S32_TT",
    )
    for operand in "ABC"
]


def panels(drawing: Drawing) -> dict[str, Panel]:
    return {panel.name: panel for panel in drawing.scene.panels}


def data(cell: Cell) -> dict[str, int]:
    return dict(cell.data)


def place(cell: Cell) -> tuple[int, int] | None:
    found = data(cell)
    return (found["row"], found["col"]) if "row" in found else None


def loaded(atom: CopyAnswers) -> list[int]:
    """The byte of memory that each register byte comes from, -1 for none, by moving tags."""
    row_bytes, height = memory_extents(atom)
    out: list[int] = []
    for part in atom.messages("bmg"):
        count = 64 * part.message.registers("bmg")
        digits: list[np.ndarray] = []
        for digit in (0, 1):
            tags = np.arange(row_bytes * height) // 255**digit % 255 + 1
            memory, registers = Memory(), RegisterFile(1 << 14)
            base = memory.place(tags.astype(np.uint8))
            surface = Surface(base, row_bytes, height, row_bytes)
            block2d.load(memory, registers, part.message, surface, part.x, part.y, 0)
            digits.append(registers.read(0, count, "the test").astype(int))
        low, high = digits
        out += np.where(low > 0, low - 1 + 255 * (high - 1), -1).tolist()
    return out


def memory_extents(atom: CopyAnswers) -> tuple[int, int]:
    """Bytes of a row, and rows, in memory."""
    rows, cols = atom.shape
    if transposed(atom):
        rows, cols = cols, rows
    return cols * atom.value_type.bits // 8, rows


def transposed(atom: CopyAnswers) -> bool:
    return isinstance(atom, LegacyCopyAtom) and atom.name.mode == "T"


def arrived(atom: CopyAnswers) -> list[tuple[int, int] | None]:
    """The (row, column) of the block in each register slot, by the bytes that the machine moved."""
    bits, row_bytes = atom.value_type.bits, memory_extents(atom)[0]
    slots: list[tuple[int, int] | None] = []
    moved = loaded(atom)
    for at in range(len(moved) * 8 // bits):
        byte = moved[at * bits // 8]
        if byte < 0:
            slots.append(None)
            continue
        y, x = divmod(byte, row_bytes)
        column = (8 * x + at * bits % 8) // bits
        slots.append((column, y) if transposed(atom) else (y, column))
    return slots


@pytest.mark.parametrize("atom", [*map(get_atom, sampled(LOADS, 10)), *TEMPLATES], ids=str)
def test_registers_are_drawn_as_the_machine_fills_them(atom: Any) -> None:
    cells = panels(draw(atom, "registers"))[REGISTERS].cells
    expected = arrived(atom)
    drawn = [place(cell) for cell in cells]
    shared = min(len(drawn), len(expected))
    assert drawn[:shared] == expected[:shared]
    assert not any([*drawn[shared:], *expected[shared:]])
    bits = atom.value_type.bits
    assert [data(cell)["byte"] for cell in cells] == [i * bits // 8 for i in range(len(cells))]
    assert all(cell.colour is None for cell in cells if place(cell) is None)


@pytest.mark.parametrize("name", sampled([*LOADS, *STORES], 6))
def test_panels_of_every_shipped_name_say_what_its_atom_says(name: str) -> None:
    atom = get_atom(name)
    assert isinstance(atom, LegacyCopyAtom)
    drawing = draw(atom)
    said = {(c.row, c.col): place(c) for c in panels(drawing)[ITEMS].cells}
    assert said == {
        (value, lane): where
        for lane, held in enumerate(atom.ownership())
        for value, where in enumerate(held)
    }
    panel = panels(drawing)[MEMORY]
    assert len(panel.cells) == atom.shape[0] * atom.shape[1]
    for cell in panel.cells:
        row, col = data(cell)["row"], data(cell)["col"]
        assert (data(cell)["lane"], data(cell)["value"]) == atom.owner_of(row, col)
        assert cell.lines == tuple(
            f"{k}{v}" for k, v in zip("TV", atom.owner_of(row, col), strict=True)
        )
    agree_on_colours_and_marks(drawing, atom.registers().owners())
    drew_marks = any(cell.wrong for cell in panels(drawing)[ITEMS].cells)
    swapped = atom.name.fact_of("dealt") == "sides swapped"
    assert drew_marks != atom.faithful or swapped
    verdict = [line for line in drawing.scene.caption if line.startswith("Faithful")]
    assert bool(verdict) == atom.faithful
    for unit in atom.faithful_units:
        assert f"{unit}-bit" in " ".join(drawing.scene.caption)


def agree_on_colours_and_marks(
    drawing: Drawing, holders: dict[tuple[int, int], tuple[int, int]]
) -> None:
    """Of each value one colour in all panels, except where several work-items are said to own it.

    Corners are red exactly where a work-item is said to own what the registers do not give it.
    """
    of_first: dict[Any, int | None] = {}
    for panel in drawing.scene.panels:
        for cell in panel.cells:
            where, found = place(cell), data(cell)
            if where is None:
                assert cell.wrong == ("lane" in found), "nobody holds what lies outside"
                continue
            owner = found["lane"], found["value"]
            assert cell.colour == owner[0]
            if panel.name in (REGISTERS, ITEMS):
                assert cell.wrong == (holders[where] != owner)
            if panel.name != ITEMS:
                assert of_first.setdefault(where, cell.colour) == cell.colour
    items = panels(drawing)[ITEMS].cells
    assert {place(c) for c in items if of_first.get(place(c)) == c.colour} >= set(of_first)


@pytest.mark.parametrize("atom", TEMPLATES, ids=str)
def test_panels_of_templates_say_what_their_atoms_say(atom: CopyAtom) -> None:
    drawing = draw(atom)
    agree_on_colours_and_marks(drawing, atom.registers().owners())
    assert any(c.wrong for c in panels(drawing)[ITEMS].cells) != atom.faithful
    padding = sum(place(c) is None for c in panels(drawing)[REGISTERS].cells)
    assert padding == atom.registers().padding
    assert (f"{padding} slots of them padding" in " ".join(drawing.scene.caption)) == (padding > 0)


@pytest.mark.parametrize(("name", "operand"), OPERANDS)
def test_panels_of_operands_say_what_their_atom_says(name: str, operand: Any) -> None:
    atom: Any = get_atom(name)
    drawing = draw(atom, operand)
    assert list(panels(drawing)) == [operand, REGISTERS, ITEMS]
    agree_on_colours_and_marks(drawing, atom.registers(operand).owners())
    slots = [place(cell) for cell in panels(drawing)[REGISTERS].cells]
    assert slots == list(atom.registers(operand).slots)
    for cell in panels(drawing)[operand].cells:
        assert place(cell) == (cell.row, cell.col)
        assert (data(cell)["lane"], data(cell)["value"]) == atom.owner_of(
            operand, cell.row, cell.col
        )


@every(
    "name",
    [
        "XE_1D_LOAD_GLOBAL<u32>",
        "XE_1D_LOAD_GLOBAL<u16,u64>",
        "XE_1D_STORE_GLOBAL<u64,u16>",
        "XE_1D_LDSM<u8>",
        "XE_1D_LDSM<u32,u128>",
        "XE_1D_STSM<u32>",
    ],
)
def test_panels_of_linear_atoms_say_what_their_atoms_say(name: str) -> None:
    atom: Any = get_atom(name)
    drawing = draw(atom)
    picture = atom.registers()
    agree_on_colours_and_marks(drawing, picture.owners())
    assert [place(c) for c in panels(drawing)[REGISTERS].cells] == list(picture.slots)
    assert any(c.wrong for c in panels(drawing)[ITEMS].cells) != atom.faithful
    owned = atom.ownership()
    if len(owned) == 1:  # each work-item at an address of its own: a row of the drawing
        assert "Each work-item moves its own row" in " ".join(drawing.scene.caption)
        owned = [[(lane, x) for _, x in owned[0]] for lane in range(16)]
    items = {(c.col, c.row): place(c) for c in panels(drawing)[ITEMS].cells}
    assert items == {(t, v): at for t, held in enumerate(owned) for v, at in enumerate(held)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("XE_2D_U16x8x32_LD_N", [(0, 0, 8, 16), (0, 16, 8, 16)]),  # two blocks of one message
        ("XE_2D_U16x32x16_LD_T", [(0, 0, 16, 16), (0, 16, 16, 16)]),  # two messages
    ],
)
def test_blocks_of_messages_are_framed_in_memory(
    name: str, expected: list[tuple[int, int, int, int]]
) -> None:
    panel = panels(draw(get_atom(name)))[MEMORY]
    assert panel.framed
    assert list(frames(panel)) == expected
    assert not panels(draw(get_atom("XE_2D_U16x8x16_LD_N")))[MEMORY].framed


def test_registers_of_several_lines_are_framed() -> None:
    panel = panels(draw(get_atom("XE_2D_U8x8x32_LD_V")))[REGISTERS]
    assert panel.framed
    assert list(frames(panel)) == [(2 * i, 0, 2, 32) for i in range(4)]


def test_long_rows_go_on_below() -> None:
    panel = panels(draw(get_atom("XE_2D_Packed_U4x1x128_LD_N")))[MEMORY]
    assert [panel.row_name(i) for i in range(4)] == ["0", "+32", "+64", "+96"]
    assert all(place(c) == (0, 32 * c.row + c.col) for c in panel.cells)


def test_b_of_an_older_atom_shows_both_conventions() -> None:
    """Said: work-item n holds column n. Done: two rows of k share a dword, two work-items it."""
    drawing = draw(get_atom("XE_8x16x16_F32BF16BF16F32_TT"), "B")
    assert all(c.colour == c.col for c in panels(drawing)["B"].cells)
    first = panels(drawing)[REGISTERS].cells[:4]
    assert [place(c) for c in first] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert [c.wrong for c in first] == [False, True, True, True]
    told = " ".join(drawing.scene.caption)
    assert "Read in 32-bit units, each work-item finds what is said; read in 16-bit ones, " in told
    assert "240 of 256 values are with another work-item than is said (red corners)." in told
    assert "unfaithful" not in told


@pytest.mark.parametrize("name", sampled(shipped_names(), 12))
def test_every_shipped_name_fits_a_file_and_a_terminal(name: str) -> None:
    drawing = draw(get_atom(name))
    assert len(drawing.svg.encode()) < 1_000_000
    text = drawing.text(width=100, colour=False)
    assert max(map(len, text.splitlines())) <= 100
    assert str(name) in text


@pytest.mark.parametrize("name", ["XE_2D_U16x16x16_LD_V", "XE_2D_U8x32x64_LD_V"])
@pytest.mark.long
def test_svg_carries_data_marks_and_colours(name: str) -> None:
    atom = get_atom(name)
    drawing = draw(atom)
    for panel in drawing.scene.panels:
        assert cells_of(drawing, panel.name) == [data(cell) for cell in panel.cells]
    root = ElementTree.fromstring(drawing.svg)
    wrong = sum(cell.wrong for panel in drawing.scene.panels for cell in panel.cells)
    corners = [p.get("d", "") for p in root.iter(f"{SVG}path") if p.get("class") == "m"]
    assert sum(d.count("z") for d in corners) == wrong > 0
    for group in root.iter(f"{SVG}g"):
        names = group.get("class", "").split()
        if "c" in names:
            assert f"t{group.get('data-lane')}" in names


def test_columns_of_registers_are_named_by_who_holds_them() -> None:
    registers = panels(draw(get_atom("XE_2D_U16x8x16_LD_N")))[REGISTERS]
    assert registers.col_colours == (*range(16), *range(16))
    assert registers.rows == (0, 1, 2, 3)
    bytes_ = panels(draw(get_atom("XE_2D_U8x8x32_LD_V")))[REGISTERS]
    assert [bytes_.row_name(i) for i in range(4)] == ["0", "+32", "1", "+32"]
    nibbles = panels(draw(get_atom("XE_2D_U4x16x16_LD_T")))[REGISTERS]
    assert nibbles.col_names[:4] == ("T0", "T0", "T1", "T1")
    # A register has eight 64-bit slots: work-items 0 to 7 in even ones, 8 to 15 in odd ones.
    quads = panels(draw(get_atom("XE_2D_U64x8x4_LD_T")))[REGISTERS]
    assert quads.col_names[:2] == ("0,8", "1,9")


def test_a_transposed_block_lies_in_memory_as_it_lies() -> None:
    drawing = draw(get_atom("XE_2D_U16x16x8_LD_T"))
    panel = panels(drawing)[MEMORY]
    assert (len(panel.rows), len(panel.cols)) == (16, 8)
    assert all(place(c) == (c.col, c.row) for c in panel.cells)
    assert (panel.row_axis, panel.col_axis) == ("column", "row (transposed)")
    assert "in memory 16 rows × 8 values" in drawing.scene.caption[0]


@pytest.mark.parametrize("atom", [*map(get_atom, PREFETCHES[:3]), "template"], ids=str)
def test_a_prefetch_is_drawn_in_memory_alone(atom: Any) -> None:
    if atom == "template":
        atom = cx.make_copy_atom(cx.XE_PREFETCH_2D(16, 8, 32), "bf16")
    drawing = draw(atom)
    assert list(panels(drawing)) == [MEMORY]
    assert "A prefetch reaches no register: no work-item holds any of it." in drawing.scene.caption
    assert "%null" in drawing.scene.caption[0]
    with pytest.raises(ShapeError, match="a prefetch reaches no register"):
        draw(atom, "registers")


@pytest.mark.parametrize("what", ["memory", "registers", "work-items"])
@pytest.mark.long
def test_one_panel_alone(what: str) -> None:
    atom = get_atom("XE_2D_U8x32x64_LD_V")
    alone = draw(atom, what)
    (panel,) = alone.scene.panels
    assert panel.name == f"in {what}"
    # Alone it has room for labels, which it has not beside the others.
    assert "<text x=" in re.sub(r'<g class="[ak].*?</g>', "", alone.svg, flags=re.DOTALL)
    cells = zip(panel.cells, panels(draw(atom))[panel.name].cells, strict=True)
    assert all(data(one) == data(other) for one, other in cells)


def test_panels_that_are_too_many_are_left_out() -> None:
    drawing = draw(get_atom("XE_2D_U8x32x64_LD_N", "s4"))
    assert list(panels(drawing)) == [MEMORY]
    assert 'draw(atom, "registers"), draw(atom, "work-items")' in drawing.scene.caption[-1]
    assert len(draw(get_atom("XE_2D_U8x32x64_LD_N", "s4"), "registers").svg) < 1_000_000
    with pytest.raises(ShapeError, match="cells are more than a drawing can show"):
        draw(get_atom("XE_2D_U8x128x128_LD_N"))


def test_without_layouts_the_hardware_is_drawn() -> None:
    atom = get_atom("XE_2D_U16x8x24_LD_N")
    drawing = draw(atom)
    assert list(panels(drawing)) == [MEMORY, REGISTERS, ITEMS]
    assert any("no layout says who owns what: 16 work-items" in c for c in drawing.scene.caption)
    holders = atom.registers().owners()
    cells = [c for panel in drawing.scene.panels for c in panel.cells if place(c)]
    assert all((data(c)["lane"], data(c)["value"]) == holders[place(c)] for c in cells)
    assert all(c.col == c.colour for c in panels(drawing)[ITEMS].cells)
    assert not any(c.wrong for c in cells)


def test_without_messages_what_is_said_is_drawn() -> None:
    atom = get_atom("XE_2D_U32x16x16_LD_V")
    drawing = draw(atom)
    assert list(panels(drawing)) == [MEMORY, ITEMS]
    assert any("vnni-bits" in line for line in drawing.scene.caption)
    assert "No message on bmg moves it." in drawing.scene.caption[0]
    assert not any(c.wrong for panel in drawing.scene.panels for c in panel.cells)
    with pytest.raises(ShapeError, match="vnni-bits"):
        draw(atom, "registers")


def test_with_neither_there_is_nothing_to_draw() -> None:
    name = "XE_2D_U16x15x24_LD_V"
    assert parse_block2d_name(name).logical_shape == (15, 24)
    with pytest.raises((LegalityError, cx.CuteError), match="cannot share"):
        draw(get_atom(name))


def test_short_labels_name_the_other_work_item() -> None:
    """Registers: who is said to own it, under the holder. Work-items: who holds it."""
    text = draw(get_atom("XE_2D_U16x2x16_LD_V")).text(width=80, colour=False)
    lines = [line.split() for line in text.splitlines()]
    at = next(i for i, line in enumerate(lines) if line[:2] == ["in", "registers:"])
    assert lines[at + 2][1] == "00112233445566778899aabbccddeeff"
    at = next(i for i, line in enumerate(lines) if line[:2] == ["in", "work-items:"])
    assert lines[at + 2][1] == "02468ace02468ace"
    # All panels abbreviate alike, say so, and no line of the caption says otherwise.
    assert text.count("hexadecimal)") == 3
    assert "Two numbers" not in text


def test_a_terminal_has_no_red_corners() -> None:
    drawing = draw(get_atom("XE_2D_U16x2x16_LD_V"))
    assert "(red corners)" in " ".join(drawing.scene.caption)
    plain, ansi = (drawing.text(width=200, colour=colour) for colour in (False, True))
    assert "corners" not in plain
    assert "bold" not in plain
    assert "corners" not in ansi
    assert "(bold)" in ansi
    assert "(row,column)" in plain


def test_an_atom_that_is_too_large_is_told_what_to_do() -> None:
    with pytest.raises(ShapeError, match=r"an atom of a smaller block.*owner_of\(row, col\)"):
        draw(get_atom("XE_2D_U8x128x128_LD_N"), "registers")
