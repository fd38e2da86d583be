"""`pycute-xe atoms` and `pycute-xe atom` as a user meets them: one screen, errors, JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from golden import rows as golden
from sampling import sampled

import pycute_xe as cx
from pycute_xe import cli
from pycute_xe.comparing import search_atoms
from pycute_xe.cutlass import catalogue, shipped_names
from pycute_xe.cutlass.known_names import grammar_names
from pycute_xe.errors import InputError
from pycute_xe.explaining.copy_names import first_places, listed, owner_table, walk_words

DPAS = "XE_DPAS_TT<8,f32,bf16>"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, arguments)


def shown(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def told(*arguments: str) -> str:
    """What an atom's screen says, with the breaks of lines taken out."""
    return re.sub(r"\s+", " ", shown("atom", *arguments))


def refused(result: Result, *said: str) -> None:
    """An error on standard error, status 2, no traceback."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    for part in said:
        assert part in result.stderr


# ------------------------------------------------------------------ one atom, one screen


@pytest.mark.parametrize(
    "name",
    [
        *sampled(shipped_names(), 8),
        *sampled((name for name in catalogue() if "<" in name), 8),
        *sampled(grammar_names(), 6),
        *sampled((name for name in catalogue() if name.endswith("_TT")), 4),
    ],
)
def test_an_atom_fits_a_screen(name: str) -> None:
    lines = str(cx.explain(cx.get_atom(name))).splitlines()
    assert lines[0].startswith(name)
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100


def test_the_screen_of_a_vnni_load() -> None:
    text = told("XE_2D_U16x32x16_LD_V", "--type", "bf16")
    for said in (
        "Loads 32 rows x 16 columns of 16-bit values",
        "yes: CUTLASS defines it",
        "0 | 0 | 0 to 31 1 | 1 | 0 to 31 ... | ... | 0 to 31 15 | 15 | 0 to 31",
        "lsc_load_block2d.ugm (M1,1) V:d16.1x16x32nt",
        # The example of the documents: rows 0 and 1 of a column share a dword.
        "element 1 of register 0 is row 1, column 0: read in 16-bit elements it is value 0",
        "value 0 of work-item 1, the table says work-item 0",
        "the table is true where registers are read in 32-bit elements",
        f"B of {DPAS}: free",
        f"A of {DPAS}: reorder",
        "XE_LOAD_2D_VNNI<16,32,16>",
    ):
        assert said in text


@pytest.mark.parametrize(
    ("name", "table"),
    [
        # The tables of CUTLASS's document, first two work-items and the last.
        ("XE_2D_U16x32x16_LD_N", ("0", "1", "15")),
        ("XE_2D_U16x32x32_LD_N", ("0, 16", "1, 17", "15, 31")),
        ("XE_2D_Packed_U8x8x32_LD_N", ("0, 1", "2, 3", "30, 31")),
        ("XE_2D_Packed_U8x8x64_LD_N", ("0, 1 and 32, 33", "2, 3 and 34, 35", "30, 31 and 62, 63")),
    ],
)
def test_owners_are_told_as_in_the_document(name: str, table: tuple[str, str, str]) -> None:
    text = told(name)
    for work_item, columns in zip(("0", "1", "15"), table, strict=True):
        assert f" {work_item} | {columns} | " in text


def test_other_kinds_of_atoms() -> None:
    text = told("XE_2D_U16x32x16_LD_T")
    assert "no: the grammar has this name, but CUTLASS defines no operation of it" in text
    assert text.count("lsc_load_block2d.ugm (M1,1) V:d32.1x8x16tn") == 2
    assert "fills no register" in told("XE_2D_U16x32x16_LD_V::PREFETCH")
    refusal = told("XE_2D_U32x16x16_LD_V")
    assert "bmg refuses it by rule vnni-bits: bits is 32, must be 8 or 16 [" in refusal
    assert "nearest names that work: XE_2D_U32x16x16_LD_N" in refusal
    assert "feeds" not in refusal.replace("--feeds", "")
    assert "they hold what the table says (faithful)" in told("XE_LOAD_2D<16,32,32,16>")
    assert "at an address of its own" in told("XE_1D_LDSM<u32,u128>")
    assert "counted in memory: the work-items get 8 rows x 16 columns" in told(
        "XE_2D_U16x16x8_LD_T"
    )


def test_the_screen_of_an_mma() -> None:
    text = told("XE_8x16x16_F32BF16BF16F32_TT")
    for said in (
        "D[8,16] = A[8,16] · B[16,16] + C[8,16]",
        "dpas.bf.bf.8.8 (M1,16)",
        "work-item 0 owns (0,0) (1,0) (2,0) (3,0) … (15,0)",
        "work-item 0 finds (0,0) (0,8) (2,0) (2,8) … (14,8)",
        "B: loaded by XE_2D_U16x16x16_LD_V",
        "D: stored by XE_2D_U32x8x16_ST_N",
        "newer name: XE_DPAS_TT<8,f32,bf16,bf16,f32>",
    ):
        assert said in text
    assert "0 | 0, 8 | 0, 2, 4, … 14" in told(DPAS, "--operand", "B")
    assert "work-item | columns" not in told(DPAS)


def test_every_copy_that_an_mma_names_feeds_it() -> None:
    for name in ("XE_8x16x32_S32S8S8S32_TT", "XE_DPAS_TT<4,f32,tf32>", DPAS):
        for operand, verb, copies in re.findall(
            r"([ABCD]): (loaded|stored) by ((?:[^ ]+, )*[^ ]+)", told(name)
        ):
            assert (verb == "stored") == (operand == "D")
            for copy in copies.split(", "):
                assert cx.feeds(copy, name, operand).kind == "free"


def test_what_is_shown_for_one_operand_and_type() -> None:
    text = told("XE_LOAD_2D<16,8,16>", "--operand", "A", "--type", "f16")
    assert "A of XE_DPAS_TT<8,f32,f16>: free" in text
    assert "B of XE_DPAS" not in text
    assert "no DPAS multiplies f8e4m3" in told("XE_2D_U8x32x16_LD_V", "--type", "f8e4m3")
    assert "no DPAS multiplies" not in told("XE_2D_U32x8x16_LD_N", "--type", "f32")
    assert "row + 8·column" in told("XE_2D_U16x8x16_LD_N", "--stride", "col")
    assert "pvc: 1 message" in told("XE_2D_U16x8x16_LD_N", "--target", "pvc")


def test_a_drawing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "atom.svg"
    assert f"wrote {path}" in shown("atom", DPAS, "--operand", "B", "--svg", str(path))
    assert ElementTree.parse(path).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("XE_2D_U16x32x16_LDV",), "did you mean XE_2D_U16x32x16_LD_V"),
        (("XE_LOAD2D<16,32,16>",), "did you mean XE_LOAD_2D<16,32,16>"),
        (("XE_2D_U16x32x16_LD_V", "--type", "f32"), "no work-item owns the 2 elements"),
        (("XE_2D_U16x32x16_LD_V", "--type", "foo"), "unknown element type"),
        (("XE_2D_U16x32x16_LD_V", "--target", "xe9"), "one of pvc, bmg, lnl, ptl"),
        (("XE_1D_LDSM<u32>", "--operand", "B"), "linear copies are not judged"),
        (("XE_2D_U16x8x16_LD_N", "--at", "8,0"), "rows 0 to 7 and columns 0 to 15"),
        ((DPAS, "--at", "0,0"), "add --operand"),
        (("XE_2D_U16x8x16_LD_N", "--at", "0,0", "--operand", "B"), "a copy has no operands"),
        ((DPAS, "--type", "bf16"), "an MMA has its types in its name"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], said: str) -> None:
    refused(run("atom", *arguments), "pycute-xe: error: ", said)


def test_a_drawing_in_a_folder_that_there_is_not_is_refused(tmp_path: Path) -> None:
    refused(run("atom", DPAS, "--svg", str(tmp_path / "no" / "a.svg")), "is not a folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_gets_narrow_lines(width: int) -> None:
    arguments = ("atom", "XE_2D_U16x32x16_LD_V", "--type", "bf16")
    result = CliRunner(env={"COLUMNS": str(width)}).invoke(cli.main, arguments)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= width
    # The same words; what follows a break stands further in than the text it belongs to.
    assert re.sub(r"\s+", " ", result.stdout) == told(*arguments[1:])
    assert all(line[0] != " " or line[:11].isspace() for line in result.stdout.splitlines())


def test_who_owns_one_element() -> None:
    # Element 1 of register 0 of VNNI data is row 1 of column 0; both rows share a dword.
    text = shown("atom", "XE_2D_U16x16x16_LD_V", "--at", "1,0")
    assert "work-item 0, value 1 by its layout" in text
    for line in (
        "in registers: register 0, bytes 2 to 3",
        "read in 16 bits: work-item 1, value 0",
        "read in 32 bits: work-item 0, value 1",
    ):
        assert line in map(str.strip, text.splitlines())
    # A tile of A is 8 rows of 32 bytes, row by row: row 3 is the second half of register 1.
    by_place = shown("atom", DPAS, "--operand", "A", "--at", "3,7")
    assert "read in 16 bits: work-item 7, value 3" in by_place
    assert by_place.startswith("A(m=3, k=7) of ")
    assert shown("atom", DPAS, "--at", "m=3,k=7") == by_place
    assert "register 1, bytes 46 to 47" in shown("atom", DPAS, "--operand", "A", "--at", "(3,7)")
    four = shown("atom", "XE_LOAD_2D<16,8,16>", "--type", "u4", "--at", "0,3")
    assert "register 0, byte 1, bits 4 to 7" in four
    assert "no register holds it" in shown("atom", "XE_2D_U16x8x16_LD_N::PREFETCH", "--at", "0,0")
    refused(run("atom", "XE_2D_U16x8x16_LD_N", "--at", "8"), "not a row and a column such as 3,5")
    found = json.loads(shown("atom", "XE_2D_U16x16x16_LD_V", "--at", "1,0", "--json"))["at"]
    assert (found["register"], found["byte"], found["found_by"]["32"]) == (0, 2, [0, 1])


def test_a_program_is_told_of_the_atom_with_its_type() -> None:
    name = "XE_2D_Packed_U16x16x32_LD_N"
    assert not json.loads(shown("atom", name, "--json"))["faithful"]
    assert json.loads(shown("atom", name, "--type", "u32", "--json"))["faithful"]


def test_json_keeps_a_work_item_on_a_line() -> None:
    text = shown("atom", "XE_2D_U16x32x16_LD_V", "--json")
    assert len(text.splitlines()) < 100
    assert "    [[0, 1], [1, 1], [2, 1]," in text
    assert json.loads(text)["ownership"][1][2] == [2, 1]


@pytest.mark.parametrize("name", ["XE_2D_U16x16x16_LD_V", "XE_LOAD_2D<16,32,32,16>"])
def test_a_program_gets_the_recorded_layouts(name: str) -> None:
    found = json.loads(shown("atom", name, "--json"))
    assert (found["name"], found["legal_on"][0], found["refusal"]) == (name, "pvc", None)
    atom: Any = cx.get_atom(name)
    assert found["ownership"][1] == [list(place) for place in atom.ownership()[1]]
    assert [message["text"] for message in found["messages"]]
    assert {feed["operand"]: feed["kind"] for feed in found["feeds"]}["B"] in ("free", "reorder")
    assert found["faithful"] is atom.faithful
    slots = [tuple(place) for place in found["registers"]["slots"]]
    assert slots == list(atom.registers().slots)


def test_a_program_gets_refusals_and_operands() -> None:
    found = json.loads(shown("atom", "XE_2D_U32x16x16_LD_V", "--json"))
    assert (found["messages"], found["registers"], found["legal_on"]) == ([], None, [])
    assert "must be 8 or 16" in found["refusal"]["condition"]
    found = json.loads(shown("atom", DPAS, "--json"))
    row = next(r for r in golden("cute_mma_atoms") if r["name"] == "XE_8x16x16_F32BF16BF16F32_TT")
    assert found["shape_mnk"] == row["shape_mnk"]
    assert [found["operands"][name]["type"] for name in "DABC"] == row["types"]


# ------------------------------------------------------------------ many


def listed_names(*arguments: str) -> list[str]:
    lines = shown("atoms", *arguments).splitlines()
    return [line.split()[0] for line in lines if line.startswith("XE_")]


def test_the_table_has_what_a_search_finds() -> None:
    assert listed_names("XE_2D_U16*_LD_V") == [
        record.name for record in search_atoms(name="XE_2D_U16*_LD_V", shipped=True)
    ]
    text = shown("atoms", "--feeds", DPAS, "--operand", "B", "--rows", "16-32", "--cols", "16")
    assert re.search(r"XE_2D_U16x32x16_LD_V +load V +32x16 +16 +yes +no +1 +all +free", text)
    assert "XE_2D_U16x32x16_LD_T" not in text
    assert "XE_2D_U16x32x16_LD_T" in shown("atoms", "--mode", "T", "--bits", "16", "--all")


@pytest.mark.long
def test_long_tables_are_cut_and_say_so() -> None:
    lines = shown("atoms", "--limit", "5").splitlines()
    assert len(lines) == 7
    shipped = len(search_atoms(shipped=True))
    assert shipped == len(catalogue()) - 1  # one template fails an assertion
    assert lines[-1].startswith(f"{shipped:,} atoms, the first 5 shown")
    assert len(listed_names("--kind", "vnni", "--limit", "0")) == len(
        search_atoms(kind="vnni", shipped=True)
    )


def test_nothing_found_says_which_filter_to_leave_out() -> None:
    text = shown("atoms", "--mode", "T", "--rows", "32", "--cols", "16", "--bits", "16")
    assert text.startswith("no atoms; there would be 1 with --all, ")
    count = len(search_atoms(rows=32, cols=16, bits=16, shipped=True))
    assert f"{count} without --mode" in text
    assert "more than one" in shown("atoms", "--kind", "store", "--mode", "V", "no such name")


def test_nothing_found_says_when_a_reorder_would_do() -> None:
    filters = ("--feeds", DPAS, "--operand", "A", "--mode", "T")
    text = shown("atoms", *filters)
    count = len(search_atoms(feeds=DPAS, operand="A", mode="T", reorder=True, shipped=True))
    assert text.startswith(f"no atoms: {count} need a reorder: add --reorder; there would be ")
    assert len(listed_names(*filters, "--reorder")) == count
    assert json.loads(shown("atoms", *filters, "--json"))["with_reorder"] == count


@pytest.mark.long
def test_two_operands_fit_the_page() -> None:
    for more in ((), ("--all",)):
        text = shown("atoms", "--feeds", DPAS, "--reorder", "--limit", "0", *more)
        assert max(map(len, text.splitlines())) <= 100
        assert text.splitlines()[0].split()[-2:] == ["A", "B"]


def test_names_whose_traits_are_no_map_are_marked() -> None:
    text = shown("atoms", "XE_2D_U4x32x64_LD_N")
    assert re.search(r"XE_2D_U4x32x64_LD_N .* yes\* ", text)
    assert "* the C++ map of the name is not a bijection onto its block" in text
    assert "*" not in shown("atoms", "XE_2D_U16x32x16_LD_V")
    assert json.loads(shown("atoms", "XE_2D_U4x32x64_LD_N", "--json"))["atoms"][0]["is_artefact"]


def test_programs_get_all_records() -> None:
    found = json.loads(shown("atoms", "--kind", "store", "--bits", "32", "--json", "--limit", "1"))
    records = search_atoms(kind="store", bits=32, shipped=True)
    assert found["count"] == len(found["atoms"]) == len(records)
    assert found["atoms"][0]["targets"] == list(records[0].targets)
    nothing = json.loads(shown("atoms", "--kind", "store", "--mode", "V", "--json"))
    assert (nothing["count"], nothing["without"][0]["filter"]) == (0, "kind")


def test_wrong_filters_are_refused() -> None:
    refused(run("atoms", "--kind", "lode"), "pycute-xe: error: ", "use load, or one of load")
    refused(run("atoms", "--rows", "8-x"), "8-32")
    refused(run("atoms", "--rows", "8-4"), "is more than 4")
    refused(run("atoms", "--rows", "0"), "a positive integer")
    refused(run("atoms", "--bits", "0"), "a positive integer")
    refused(run("atoms", "--reorder"), "needs an MMA")
    refused(run("atoms", "--operand", "B"), "needs an MMA")
    refused(run("atoms", "--feeds", "XE_DPAS<8,f32,bf16>"), "did you mean XE_DPAS_TT<8,f32,bf16")


# ------------------------------------------------------------------ two


def test_two_atoms_are_compared() -> None:
    names = ("XE_2D_U16x16x16_LD_N", "XE_2D_U16x16x16_LD_V")
    assert shown("diff", *names) == f"{cx.diff(*names)}\n"
    assert shown("diff", names[1]) == f"{cx.diff(names[1])}\n"
    found = json.loads(shown("diff", *names, "--json"))
    assert found["parameters"] == [["mode", "N", "V"]]
    # Rows are 16 work-items wide and dwords hold two of them: all but work-item 0's column moves.
    assert found["held"]["other_work_item"] == 240
    assert "T1·V0 → T2·V0" in shown("diff", names[1])
    older = "XE_8x16x16_F32BF16BF16F32_TT"
    assert "B of XE_8x16x16" in shown("diff", older, DPAS, "--operand", "B")
    assert "B by layouts 240 of 256" in shown("diff", older, DPAS)
    refused(run("diff", older), "pycute-xe: error: ")
    refused(run("diff", names[0], DPAS), "pycute-xe: error: ")


# ------------------------------------------------------------------ words


def test_places_are_told_in_steps() -> None:
    assert walk_words([(0, 0)]) == ""
    assert walk_words([(y, 16 * x) for x in range(2) for y in range(4)]) == (
        "4 rows, then 2 columns 16 apart"
    )
    assert walk_words([(0, 0), (1, 0), (3, 0), (7, 0)]) == ""  # no steps
    assert first_places([(0, 0), None], 4) == "(0,0) padding"
    assert listed([3]) == "3"
    assert owner_table([[(0, 0), (0, 1)], [(0, 2), (0, 3)]] * 8)[1] == "0         | 0, 1    | 0"


def test_explain_refuses_what_it_does_not_know() -> None:
    with pytest.raises(InputError, match="a Block2D cannot be explained"):
        cx.explain(cx.XE_LOAD_2D(16, 8, 16).message)
    with pytest.raises(InputError, match="A, B, C or D"):
        cx.explain(cx.get_atom(DPAS), operand="E")
