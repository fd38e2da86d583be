"""The tables and examples of CUTLASS's "2D Copy Operations for Intel XE Architecture"."""

from __future__ import annotations

import pytest

from pycute_xe import feeds
from pycute_xe.cutlass import get_atom, parse_block2d_name, shipped_names
from pycute_xe.cutlass.known_names import grammar_names
from pycute_xe.cutlass.legacy_copy import unit_of_own_elements


def columns(name: str) -> dict[int, tuple[int, ...]]:
    atom = get_atom(name)
    return {t: atom.columns(t) for t in (0, 1, 2, 15)}


def elements_a_column(name: str) -> set[int]:
    atom = get_atom(name)
    return {
        sum(x == column for _, x in places)
        for t, places in enumerate(atom.ownership())
        for column in atom.columns(t)
    }


def test_the_parts_of_a_name() -> None:
    name = parse_block2d_name("XE_2D_Packed_U8x8x64_LD_N")
    assert (name.packed, name.data_type, name.rows, name.cols) == (True, "U8", 8, 64)
    assert (name.is_store, name.mode) == (False, "N")
    assert parse_block2d_name("XE_2D_U16x8x16_ST_N").is_store


@pytest.mark.parametrize("mode", ["N", "V", "T"])
def test_16_columns_go_one_to_a_work_item(mode: str) -> None:
    name = f"XE_2D_U16x32x16_LD_{mode}"
    assert columns(name) == {0: (0,), 1: (1,), 2: (2,), 15: (15,)}
    assert elements_a_column(name) == {32}


@pytest.mark.parametrize("mode", ["N", "V", "T"])
def test_32_columns_go_two_to_a_work_item_16_apart(mode: str) -> None:
    name = f"XE_2D_U16x32x32_LD_{mode}"
    assert columns(name) == {0: (0, 16), 1: (1, 17), 2: (2, 18), 15: (15, 31)}
    assert elements_a_column(name) == {32}


def test_packed_columns_go_in_adjacent_pairs() -> None:
    name = "XE_2D_Packed_U8x8x32_LD_N"
    assert columns(name) == {0: (0, 1), 1: (2, 3), 2: (4, 5), 15: (30, 31)}
    assert elements_a_column(name) == {8}


def test_more_packed_columns_go_in_groups_of_pairs_32_apart() -> None:
    name = "XE_2D_Packed_U8x8x64_LD_N"
    wide = {0: (0, 1, 32, 33), 1: (2, 3, 34, 35), 2: (4, 5, 36, 37), 15: (30, 31, 62, 63)}
    assert columns(name) == wide
    assert elements_a_column(name) == {8}
    # The document calls it "an 8 rows by 32 columns block" here: a slip, its own table has 64.
    assert get_atom(name).logical_shape == (8, 64)


def test_vnni_moves_no_element_to_another_work_item() -> None:
    rows_first = get_atom("XE_2D_U16x32x32_LD_V")
    plain = get_atom("XE_2D_U16x32x32_LD_N")
    for vnni, row_major in zip(rows_first.ownership(), plain.ownership(), strict=True):
        assert sorted(vnni) == sorted(row_major)
    # Only the order of the values differs: the two rows of a dword come first.
    assert rows_first.ownership()[3][:3] == ((0, 3), (1, 3), (0, 19))
    assert plain.ownership()[3][:3] == ((0, 3), (0, 19), (1, 3))


def test_a_data_type_is_a_width() -> None:
    atom = get_atom("XE_2D_U8x32x32_LD_N", "f8e4m3")
    assert (atom.name.bits, atom.value_type.bits) == (8, 8)


def test_layout_modes() -> None:
    """N, V: rows are contiguous in memory; T: columns are; V is of no use from 32 bits on."""
    for mode in "NV":
        assert get_atom(f"XE_2D_U16x32x16_LD_{mode}").memory_shape == (32, 16)
    assert get_atom("XE_2D_U16x32x16_LD_T").memory_shape == (16, 32)
    assert get_atom("XE_2D_U16x8x16_ST_N").name.is_store
    assert any("use LD_N" in note for note in get_atom("XE_2D_U32x16x16_LD_V").notes)
    assert not any("use LD_N" in note for note in get_atom("XE_2D_U16x16x16_LD_V").notes)


def test_the_owner_of_an_element() -> None:
    for name in ("XE_2D_U16x32x32_LD_V", "XE_2D_Packed_U8x8x64_LD_N", "XE_2D_U8x16x32_LD_T"):
        atom = get_atom(name)
        for work_item, places in enumerate(atom.ownership()):
            for value, (row, col) in list(enumerate(places))[:: len(places) // 3]:
                assert atom.owner_of(row, col) == (work_item, value)


def test_packed_names_beyond_u8_carry_a_note() -> None:
    for name, noted in (
        ("Packed_U16x32x32", True),
        ("Packed_U8x8x32", False),
        ("U16x32x32", False),
    ):
        notes = get_atom(f"XE_2D_{name}_LD_N").notes_by_subject
        assert ("packed" in notes) == noted


def test_packed_names_end_in_n_or_t() -> None:
    """The document's grammar of packed names leaves out V, which names here may have."""
    for name, noted in (
        ("Packed_U8x32x32_LD_V", True),
        ("Packed_U8x32x32_LD_N", False),
        ("Packed_U8x32x16_LD_T", False),
        ("U8x32x32_LD_V", False),
    ):
        assert ("grammar" in get_atom(f"XE_2D_{name}").notes_by_subject) == noted


def test_a_of_u4_is_fed_by_the_packed_copy() -> None:
    """A work-item of A holds 16 bits of a row: four neighbours, as the packed copy deals them."""
    copies = ("U4x32x64", "Packed_U4x8x64", "Packed_U4x32x64", "U4x8x64", "Packed_U4x1x128")
    found = [feeds(f"XE_2D_{copy}_LD_N", "XE_DPAS_TT<8,s32,s4>", "A").kind for copy in copies]
    assert found == ["free", "free", "free", "reorder", "impossible"]


PACKED = [name for name in (*shipped_names(), *grammar_names()) if "Packed" in name]
NAMES = [name for name in PACKED if name.endswith("LD_N")]


def test_messages_of_packed_names_give_work_items_what_they_own() -> None:
    """Read in as many bits as the adjacent columns have, whatever the order of the values."""
    for name in (*NAMES, "XE_2D_Packed_U4x8x128_LD_N", "XE_2D_Packed_U4x16x256_LD_N"):
        atom = get_atom(name)
        neighbours = [x for y, x in atom.ownership()[0] if y == 0]
        adjacent = next(n for n in (8, 4, 2) if set(range(n)) <= set(neighbours))
        bits = adjacent * atom.name.bits
        assert unit_of_own_elements(atom.registers(), atom.ownership()) == bits, name
