"""CUTLASS's older copy operations against CuTe C++ (tests/data/README.md has the origin)."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from every import every
from golden import rows, to_layout

import pycute_xe as cx
from pycute_xe.cutlass import LegacyCopyAtom, get_atom, parse_block2d_name, shipped_names
from pycute_xe.errors import CoordError, CuteError, DivisibilityError, DTypeError, ShapeError
from pycute_xe.layout import Layout, size

GOLDEN = rows("cute_copy_atoms_legacy")
CASES = GOLDEN["cases"]


def offsets(layout: Layout) -> np.ndarray:
    return np.asarray(cx.table(layout))


def is_onto_its_block(row: dict[str, Any]) -> bool:
    rows_, cols = row["BlockShape"]
    return sorted(offsets(to_layout(row["ValLayoutRef"]))) == list(range(rows_ * cols))


def atom_of(row: dict[str, Any], value_type: str | None = None) -> LegacyCopyAtom:
    stride = row["gmem_stride"]
    if stride is not None:
        stride = tuple("ld" if d == -1 else d for d in stride)
    atom = get_atom(row["name"], value_type, stride)
    assert isinstance(atom, LegacyCopyAtom)
    return atom


def row_id(row: dict[str, Any]) -> str:
    return f"{row['name']}-{row['stride_case']}"


BIJECTIONS = [row for row in CASES if is_onto_its_block(row)]
ARTEFACTS = [row for row in CASES if not is_onto_its_block(row)]

# C++ cuts one 32-bit value of the memory side into bits of several elements.
SPLIT_MEMORY_SIDE = {
    ("XE_2D_TF32x2x16_LD_N", "col2"),
    ("XE_2D_TF32x2x16_LD_N", "col3"),
    ("XE_2D_TF32x4x16_LD_N", "col2"),
    ("XE_2D_TF32x8x16_LD_N", "col3"),
    ("XE_2D_TF32x4x8_LD_N", "col3"),
    ("XE_2D_TF32x16x8_LD_N", "col3"),
    ("XE_2D_TF32x32x8_LD_N", "col3"),
}


def test_how_many_rows_of_cute_are_maps_onto_their_block() -> None:
    assert (len(BIJECTIONS), len(ARTEFACTS)) == (233, 63)
    assert len({row["name"] for row in ARTEFACTS}) == 18


@every("row", BIJECTIONS, ids=row_id)
def test_equal_to_cute_where_its_map_is_onto_the_block(row: dict[str, Any]) -> None:
    atom = atom_of(row)
    assert not atom.is_artefact
    assert atom.block_shape == tuple(row["BlockShape"])
    assert atom.value_type.name == row["ValType"]
    memory_side = "Dst" if atom.name.is_store else "Src"
    for side in ("Src", "Dst", "Ref"):
        if side == memory_side and (row["name"], row["stride_case"]) in SPLIT_MEMORY_SIDE:
            continue
        for bits, field in (("", f"ValLayout{side}"), ("_bits", f"{side}Layout_bits")):
            got, want = getattr(atom, f"layout_{side.lower()}_tv{bits}"), to_layout(row[field])
            assert np.array_equal(offsets(got), offsets(want)), field
            assert got == cx.coalesce(want, (1, 1)), field


def test_memory_sides_that_cute_splits_are_told() -> None:
    for row in BIJECTIONS:
        if (row["name"], row["stride_case"]) in SPLIT_MEMORY_SIDE:
            bits = to_layout(row["SrcLayout_bits"])
            assert size(bits[1]) == 32
            assert not np.array_equal(offsets(bits)[::16], np.arange(32))
            assert any("memory side" in note for note in atom_of(row).notes)


@every("row", ARTEFACTS, ids=row_id)
def test_where_cute_breaks_its_rule_the_document_holds(row: dict[str, Any]) -> None:
    atom = atom_of(row)
    assert atom.is_artefact
    told = [note for note in atom.notes if note.startswith("CUTLASS's traits ")]
    assert told
    assert "documented ownership" in told[0]
    rows_, cols = atom.logical_shape
    seen = Counter(place for places in atom.ownership() for place in places)
    assert set(seen) == {(y, x) for y in range(rows_) for x in range(cols)}
    if cols >= 16:
        assert set(seen.values()) == {1}
        assert set(offsets(atom.layout_ref_tv)) == set(range(rows_ * cols))
        step = 2 if atom.name.packed else 1
        for lane in range(16):
            assert {x % (16 * step) // step for x in atom.columns(lane)} == {lane}


def test_what_the_notes_say_of_repeated_columns_is_what_cute_does() -> None:
    """Work-item t gets columns 2t and 2t + 16 of the first row of these, in CuTe's words."""
    found = [row for row in ARTEFACTS if "2t and 2t+16" in " ".join(atom_of(row).notes)]
    assert len({row["name"] for row in found}) == 4
    for row in found:
        cute = to_layout(row["ValLayoutRef"])
        turned = row["BlockShape"][0] == 32
        for t in range(8):
            first, second = (cute(t, v) for v in range(2))
            by = row["BlockShape"][1] if turned else 1
            assert (first, second) == (2 * t * by, (2 * t + 16) * by)


@every("row", CASES, ids=row_id)
def test_sizes_of_a_name_are_those_of_cute(row: dict[str, Any]) -> None:
    if row["name"] == "XE_2D_TF32x1x8_LD_N":  # there C++ declares 32 by 16
        assert row["OpBlockShape"] == [32, 16]
        return
    assert list(atom_of(row).logical_shape) == row["OpBlockShape"]


# ------------------------------------------------------------------ names


def test_the_shipped_names_are_those_of_cute() -> None:
    assert list(shipped_names()) == GOLDEN["ops_all"] + GOLDEN["ops_prefetch"]
    assert (len(GOLDEN["ops_all"]), len(GOLDEN["ops_prefetch"])) == (90, 31)
    for text in shipped_names():
        name = parse_block2d_name(text)
        assert name.shipped
        assert str(name) == text
        assert (name.traits == "none") == (text in GOLDEN["ops_without_traits"])
        if text not in GOLDEN["ops_without_traits"]:
            assert (name.traits == "unusable") == (text in GOLDEN["not_instantiable"])
        assert get_atom(text).values * 16 >= name.rows * name.cols


@pytest.mark.parametrize(
    "text", ["XE_2D_U16x32x16_LD_T", "XE_2D_U8x5x48_LD_N", "XE_2D_Packed_U4x8x64_LD_N::PREFETCH"]
)
def test_names_that_are_not_shipped_have_an_answer(text: str) -> None:
    atom = get_atom(text)
    assert not atom.name.shipped
    assert "ships no operation" in atom.notes[0]
    rows_, cols = atom.logical_shape
    assert sorted(offsets(atom.layout_ref_tv)) == list(range(rows_ * cols))


@every(
    ("wrong", "near"),
    [
        ("XE_2D_U16x32x16_LDN", "XE_2D_U16x32x16_LD_N"),
        ("XE_2D_PackedU8x8x32_LD_N", "XE_2D_Packed_U8x8x32_LD_N"),
        ("XE_2D_U12x32x16_LD_N", "XE_2D_U32x32x16_LD_N"),
        ("XE_2D_U16x0x16_LD_N", "XE_2D_U16x8x16_LD_N"),
        ("XE2D_U16x8x16_ST_N", "XE_2D_U16x8x16_ST_N"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_ones(wrong: str, near: str) -> None:
    with pytest.raises(CuteError, match=re.escape(near)):
        get_atom(wrong)


def test_slips_are_refused_by_name() -> None:
    with pytest.raises(DTypeError, match="no work-item owns the 2 elements of a 32-bit value"):
        get_atom("XE_2D_U16x32x16_LD_N", "f32")
    with pytest.raises(DivisibilityError, match="cannot share 3 rows of 24 columns"):
        _ = get_atom("XE_2D_U16x3x24_LD_N").layout_ref_tv
    with pytest.raises(CuteError, match="an MMA has its types in its name"):
        get_atom("XE_DPAS_TT<8,f32,bf16>", "bf16")
    with pytest.raises(CoordError, match="rows 0 to 31"):
        get_atom("XE_2D_U16x32x16_LD_N").owner_of(32, 0)
    with pytest.raises(CoordError, match="16 work-items"):
        get_atom("XE_2D_U16x32x16_LD_N").columns(16)
    with pytest.raises(ShapeError, match="not a tuple of strides"):
        get_atom("XE_2D_U16x32x16_LD_N", gmem_stride=7)
    with pytest.raises(CuteError, match="LegacyCopyAtom is not an MMA operation"):
        cx.make_mma_atom(get_atom("XE_2D_U16x32x16_LD_N"))
    with pytest.raises(DTypeError, match="no work-item owns the 2 elements of a 32-bit value"):
        cx.make_copy_atom("XE_2D_U16x32x16_LD_N", "f32")
    with pytest.raises(ShapeError, match="names read XE_2D"):
        cx.cutlass.LegacyCopyName("U16", 0, 16)


# ------------------------------------------------------------------ value types


@pytest.mark.parametrize("value_type", ["u8", "f8e4m3", "s8", "f8e5m2"])
def test_types_of_the_same_width_share_the_map(value_type: str) -> None:
    plain, other = (get_atom("XE_2D_U8x32x32_LD_V", t) for t in ("u8", value_type))
    assert plain.layout_dst_tv == other.layout_dst_tv
    assert other.value_type.name == value_type


@every("row", BIJECTIONS[::7], ids=row_id)
def test_narrower_values_lie_inside_the_elements(row: dict[str, Any]) -> None:
    whole = atom_of(row)
    parts = whole.name.bits // 4
    fine = atom_of(row, "u4")
    assert fine.layout_ref_tv_bits == whole.layout_ref_tv_bits
    if parts > 1:
        for t, v in ((0, 0), (5, 0), (15, whole.values - 1)):
            for part in (0, parts - 1):
                at = whole.layout_ref_tv(t, v) * parts + part
                assert fine.layout_ref_tv(t, v * parts + part) == at
