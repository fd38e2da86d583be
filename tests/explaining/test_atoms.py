"""What the screen of an atom says, held against the registers and the ownership it is about."""

from __future__ import annotations

import re
from typing import Any

import pytest
from every import every
from sampling import sampled

import pycute_xe as cx
from pycute_xe.cutlass import LegacyCopyAtom, shipped_names
from pycute_xe.errors import CuteError, InputError
from pycute_xe.explaining.copies import feeding_pairs


def told(name: str, value_type: str | None = None, **named: Any) -> str:
    """The screen in one line of single spaces."""
    text = str(cx.explain(cx.get_atom(name, value_type), **named))
    return re.sub(r"\s+", " ", text).replace("work- item", "work-item")


def sections(name: str, value_type: str | None = None, **named: Any) -> dict[str, str]:
    explained: Any = cx.explain(cx.get_atom(name, value_type), **named)
    return {heading: "\n".join(lines) for heading, lines in explained.sections()}


# ------------------------------------------------------------------ registers


@pytest.mark.parametrize(
    ("name", "unit", "found", "said"),
    [
        ("XE_2D_U16x8x32_LD_N", 16, "(0,0) (1,0) (2,0) …", "(0,0) (0,16) (1,0) …"),
        ("XE_2D_Packed_U8x8x64_LD_N", 16, "(0,1) (1,0) (1,1) …", "(0,1) (0,32) (0,33) …"),
        ("XE_2D_U8x32x32_LD_N", 32, "(0,0) (1,0) (2,0) …", "(0,0) (0,16) (1,0) …"),
    ],
)
def test_another_order_is_no_other_owner(name: str, unit: int, found: str, said: str) -> None:
    text = sections(name)["registers"]
    assert f"each work-item holds its own elements, read in {unit}-bit units, in another" in text
    assert f"{found} instead of" in text
    assert f"{said}" in text.partition("instead of")[2]
    assert "not faithful" not in text
    assert "no width" not in text


def _loads() -> list[str]:
    found = [cx.get_atom(name) for name in shipped_names()]
    copies = [atom for atom in found if isinstance(atom, LegacyCopyAtom)]
    return [str(atom) for atom in copies if not atom.name.is_prefetch]


@pytest.mark.parametrize("name", sampled(_loads(), 15))
def test_the_verdict_is_that_of_the_registers(name: str) -> None:
    """Which of the four words is said, against registers read here element by element."""
    atom: Any = cx.get_atom(name)
    try:
        picture = atom.registers()
    except CuteError:
        return
    text = sections(name)["registers"]
    owned, whole = atom.ownership(), {}
    for unit in (8, 16, 32, 64):
        if unit >= max(8, picture.bits):
            held: list[list[Any]] = [[] for _ in range(16)]
            for slot, place in enumerate(picture.slots):
                held[slot * picture.bits // unit % 16].append(place)
            whole[unit] = held
    same = [
        unit
        for unit, held in whole.items()
        if all(tuple(held[t][: len(owned[t])]) == tuple(owned[t]) for t in range(16))
    ]
    sorted_said = [sorted(places) for places in owned]
    alike = [
        unit
        for unit, held in whole.items()
        if [sorted(place for place in places if place) for places in held] == sorted_said
    ]
    assert ("they hold what the table says" in text) == (picture.unit_bits in same)
    if picture.unit_bits not in same:
        assert ("the table is true where" in text) == bool(same)
        assert ("holds its own elements" in text) == (bool(alike) and not same)
        assert ("read in no width" in text) == (not alike and not same)
        assert "as said" not in text, "the example must show what is wrong"


@pytest.mark.parametrize(
    ("name", "finds"),
    [
        ("XE_2D_TF32x1x8_LD_N", "its slot is padding"),
        ("XE_2D_U64x8x1_LD_T", "its slot is past the end of the registers"),
    ],
)
def test_elements_owned_twice(name: str, finds: str) -> None:
    atom: Any = cx.get_atom(name)
    assert atom.ownership()[8] == atom.ownership()[0] == ((0, 0),)
    text = told(name)
    assert f"work-item 8 is said to own row 0, column 0 too: {finds}" in text
    assert "... | ... | 0 7 | 7 | 0 8 | 0 | 0 15 | 7 | 0" in text


def test_why_registers_differ() -> None:
    rule = "element i of a register belongs to work-item i mod 16"
    pairs = f"{rule}; VNNI puts rows 2r and 2r+1 of a column side by side"
    assert pairs in told("XE_2D_U16x16x16_LD_V")
    assert pairs in told("XE_LOAD_2D_VNNI<16,16,16>")
    assert "VNNI puts rows 4r to 4r+3 of a column side by side" in told("XE_2D_U8x32x16_LD_V")
    turned = "data transposed in dwords has rows 2r and 2r+1 of a column side by side"
    assert turned in told("XE_2D_U16x16x16_LD_T")
    assert "pairs of columns, each pair one 16-bit element" in told("XE_2D_Packed_U8x8x32_LD_N")
    assert f"{rule} element 17" in told("XE_2D_U16x8x16_LD_N")


def test_narrow_elements_are_told_with_their_byte() -> None:
    text = told("XE_2D_U4x32x32_LD_V")
    atom: Any = cx.get_atom("XE_2D_U4x32x32_LD_V")
    number, byte, row, col = map(
        int,
        re.findall(
            r"4-bit element (\d+) \(byte (\d+)\) of register 0 is row (\d+), column (\d+)", text
        )[0],
    )
    assert atom.registers().slots[number] == (row, col)
    assert (row, col) in atom.registers().byte(0, byte)


# ------------------------------------------------------------------ names and notes


def test_the_note_of_a_narrow_block() -> None:
    notes = sections("XE_2D_TF32x1x8_LD_N")["notes"]
    assert "declare a block of 32 rows by 16 columns; here it has the block of its name" in notes
    assert "again" not in notes
    assert "follow the documented ownership" in sections("XE_2D_U8x32x64_LD_V")["notes"]


def test_a_row_major_load_that_packs_says_so() -> None:
    assert "message packs its rows (VNNI)" in sections("XE_2D_U8x32x32_LD_N")["name"]
    assert "and stays so" in sections("XE_2D_U8x8x32_LD_N")["name"]


def test_what_transposed_names_count() -> None:
    assert "counted" not in sections("XE_2D_U16x16x16_LD_T")["name"]
    assert "most shipped LD_T names count memory" in sections("XE_2D_U16x16x8_LD_T")["name"]
    assert "not shipped: as the document counts" in sections("XE_2D_U16x32x16_LD_T")["name"]
    name = sections("XE_LOAD_2D_TRANSPOSE<32,16,8>")["name"]
    assert "those of memory; as an operand the block is 8x16" in name


def test_refusals_come_second_and_in_words() -> None:
    lines = str(cx.explain(cx.get_atom("XE_2D_U16x33x16_LD_V"))).splitlines()
    assert lines[1].startswith("Not legal on any target: use XE_2D_U16x32x16_LD_V")
    assert "33 rows do not pair up" in told("XE_2D_U16x33x16_LD_V")
    assert "30 rows do not make groups of 4" in told("XE_2D_U8x30x16_LD_V")
    assert "do not pair" not in told("XE_2D_U32x16x16_LD_V")
    assert "Not legal" not in told("XE_2D_U16x32x16_LD_V")


def test_blocks_with_a_digit_too_many_are_not_looked_through() -> None:
    for name, count in (("XE_LOAD_2D<16,99999,16>", 1599984), ("XE_2D_U8x2048x32_LD_N", 65536)):
        atom: Any = cx.get_atom(name)
        assert f"the block has {count} values" in str(cx.explain(atom))
        assert not {"_picture", "_owned"} & vars(atom).keys(), "no picture was built"


# ------------------------------------------------------------------ feeds and further names


@pytest.mark.parametrize(
    ("name", "value_type", "mma"),
    [
        ("XE_2D_U16x8x16_ST_N", None, "XE_DPAS_TT<8,bf16,bf16>: free"),
        ("XE_2D_U16x8x16_ST_N", "f16", "XE_DPAS_TT<8,f16,f16>: free"),
        ("XE_2D_U32x8x16_ST_N", None, "XE_DPAS_TT<8,f32,bf16>: free"),
        ("XE_2D_U32x8x16_ST_N", "s32", "XE_DPAS_TT<8,s32,s8>: free"),
    ],
)
def test_stores_are_asked_about_results_of_their_width(
    name: str, value_type: str | None, mma: str
) -> None:
    assert sections(name, value_type)["feeds"].startswith(f"D of {mma}")


@pytest.mark.parametrize(
    ("name", "operand", "suggested"),
    [
        ("XE_2D_U16x8x16_LD_N", None, "A"),
        ("XE_2D_U16x16x16_LD_V", None, "B"),
        ("XE_2D_U16x16x16_LD_V", "A", "A"),
        ("XE_2D_U16x8x16_ST_N", None, "D"),
        ("XE_2D_TF32x1x8_LD_N", None, None),
        ("XE_2D_U16x16x16_LD_V", "D", None),
    ],
)
def test_the_search_that_is_suggested(
    name: str, operand: str | None, suggested: str | None
) -> None:
    found = re.findall(r"--operand (\w)", sections(name, operand=operand)["see also"])
    assert found == ([suggested] if suggested else [])


@pytest.mark.parametrize("operand", [None, "A", "B", "C", "D"])
def test_an_mma_never_suggests_its_own_screen(operand: Any) -> None:
    name = "XE_DPAS_TT<8,f32,bf16,bf16,f32>"
    own = f"pycute-xe atom '{name}'" + (f" --operand {operand}" if operand else "")
    assert own not in sections(name, operand=operand)["see also"].splitlines()


@pytest.mark.long
def test_shipped_names_are_suggested_first() -> None:
    seen = 0
    for name in _loads():
        line = sections(name)["see also"].splitlines()[0]
        marks = ["(not shipped)" in part for part in line.split(", ") if "XE_2D_" in part]
        assert marks == sorted(marks)
        seen += len(set(marks)) == 2
    assert seen > 10, "names of both kinds stand together"


def test_older_names_of_a_template_begin_with_its_width() -> None:
    line = sections("XE_LOAD_2D_TRANSPOSE<32,16,8>")["see also"].splitlines()[0]
    assert line.split(": ")[1].split(", ") == ["XE_2D_U32x16x8_LD_T", "XE_2D_U16x16x16_LD_T"]


def test_with_which_mma_layouts_agree() -> None:
    older = "layouts match B of XE_8x16x16_F32BF16BF16F32_TT"
    assert older in sections("XE_2D_U16x16x16_LD_V")["feeds"]
    assert "match B of XE_DPAS_TT" in sections("XE_LOAD_2D_VNNI<16,16,16>")["feeds"]
    assert "match B of XE_DPAS_TT" in sections("XE_LOAD_2D_TRANSPOSE<32,16,8>")["feeds"]
    # CUTLASS's own layouts of these are not the documented ownership.
    for name in ("XE_2D_U16x16x8_LD_T", "XE_2D_Packed_U8x8x32_LD_N"):
        assert "layouts match" not in sections(name)["feeds"]


# ------------------------------------------------------------------ what explain refuses


def test_operands_of_linear_copies_are_refused() -> None:
    with pytest.raises(InputError, match="a linear copy does not move operands"):
        cx.explain(cx.get_atom("XE_1D_LDSM<u32>"), operand="B")


def test_words_of_linear_copies() -> None:
    assert "in shared local memory (SLM)." in told("XE_1D_LDSM<u32>")
    assert "SLM" not in told("UniversalCopy<u32>")
    same = "CUTLASS's copy() compiles only when S and D have the same size"
    assert same in told("XE_1D_LDSM<u32,u64>")


def test_the_words_are_explained_where_there_is_room() -> None:
    words = sections("XE_2D_U16x16x16_LD_V")["words"]
    assert "faithful: " in words
    assert "reorder: " in words


NAMES = [
    *(
        "XE_2D_U16x16x16_LD_V",
        "XE_2D_U16x32x32_LD_N",
        "XE_2D_U8x32x32_LD_V",
        "XE_2D_U16x16x16_LD_T",
    ),
    *("XE_2D_U32x8x16_ST_N", "XE_LOAD_2D<16,16,32,16>", "XE_LOAD_2D_VNNI<8,32,16,16>"),
    *("XE_LOAD_2D_TRANSPOSE<32,16,8>", "XE_PREFETCH_2D<16,8,32>", "XE_STORE_2D<32,8,16>"),
]


@every("name", NAMES)
def test_the_suffix_that_is_told_is_that_of_the_message(name: str) -> None:
    """Each message that an explanation shows is the one that its words decode."""
    text = told(name)
    messages = set(re.findall(r"d\d+\.\d+x\d+x\d+[nt]{2}", text))
    assert len(messages) == 1
    suffix = messages.pop()
    bits, count, width, height, order = re.findall(r"\d+|[nt]{2}", suffix)
    assert re.match(
        rf"{bits} bits, {count} blocks? x {width} elements? wide x {height} rows?, "
        rf"{order[0]}: {'' if order[0] == 't' else 'not '}transposed, "
        rf"{order[1]}: {'' if order[1] == 't' else 'not '}packed",
        text.rpartition(f"{suffix}: ")[2],
    )


@pytest.mark.parametrize(("width", "operands"), [(16, "AB"), (32, "ABC")])
def test_a_load_of_32_bits_may_feed_c(width: int, operands: str) -> None:
    pairs = feeding_pairs(cx.get_atom(f"XE_2D_U{width}x8x16_LD_N"))
    assert "".join(operand for *_, operand in pairs) == operands
