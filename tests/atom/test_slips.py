"""What atoms say to questions that have no answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every import every

import pycute_xe as cx
from pycute_xe.arch.target import get_target
from pycute_xe.atom import CopyAtom, MmaAtom
from pycute_xe.atom.linear_op import parse_linear_op
from pycute_xe.atom.register_picture import RegisterPicture
from pycute_xe.checking import check
from pycute_xe.cutlass import LegacyCopyAtom, get_atom
from pycute_xe.cutlass.legacy_name import LegacyCopyName, parse_block2d_name
from pycute_xe.drawing import draw
from pycute_xe.errors import (
    CoordError,
    CuteError,
    DTypeError,
    LegalityError,
    ShapeError,
    TargetError,
)

TOO_HIGH = ("XE_LOAD_2D<16,33,16>", "XE_STORE_2D<32,9,16>", "XE_LOAD_2D_VNNI<16,64,16>")


@every("name", TOO_HIGH)
@every(
    "question",
    [CopyAtom.registers, lambda atom: atom.faithful, lambda atom: atom.faithful_units],
    ids=["registers", "faithful", "faithful_units"],
)
def test_templates_no_target_has_fill_no_registers(
    name: str, question: Callable[[CopyAtom], Any]
) -> None:
    atom = get_atom(name)
    assert isinstance(atom, CopyAtom)
    with pytest.raises(LegalityError, match="height is"):
        question(atom)


@pytest.mark.parametrize("name", TOO_HIGH)
def test_templates_no_target_has_are_still_told_of(name: str) -> None:
    atom = get_atom(name)
    assert isinstance(atom, CopyAtom)
    assert atom.notes_by_subject == {}
    assert [finding.is_error for finding in check(atom, "bmg").findings] == [True]
    assert "height is" in str(check(atom, "bmg"))
    assert "height is" in draw(atom).svg


def test_a_template_some_target_has_fills_registers() -> None:
    atom = get_atom("XE_LOAD_2D<16,32,16>")
    assert isinstance(atom, CopyAtom)
    assert atom.registers().registers == 16
    assert atom.faithful


def picture(name: str, value_type: str | None = None) -> RegisterPicture:
    atom = get_atom(name, value_type)
    assert not isinstance(atom, MmaAtom)
    return atom.registers()


@every("slot", [-1, 128, 10**6, 1.0, None, [], True])
def test_a_picture_has_the_slots_it_has(slot: Any) -> None:
    held = picture("XE_LOAD_2D<16,8,16>")
    assert [held.owner(i) for i in (0, 17, 127)] == [(0, 0), (1, 1), (15, 7)]
    with pytest.raises(CoordError, match="128 slots"):
        held.owner(slot)


@every("unit", [24, 8, -32, 0, 1, 33, 32.0, True, "32"])
def test_whole_slots_fill_a_unit(unit: Any) -> None:
    held = picture("XE_LOAD_2D<16,8,16>")
    for question in (
        lambda: held.owner(3, unit),
        lambda: held.owner_of(0, 1, unit),
        lambda: held.owners(unit),
    ):
        with pytest.raises(ShapeError, match="whole bytes and whole slots") as caught:
            question()
        assert caught.value.fix == "use a multiple of both, such as 16"


def test_units_need_not_be_powers_of_two() -> None:
    assert picture("XE_LOAD_2D<16,8,16>").owner(47, 48) == (15, 2)
    assert picture("XE_LOAD_2D<8,8,16>", "u4").owner(5, 24) == (0, 5)


@every(("bits", "unit"), [(16, -32), (0, 0), (16, 24), (True, 8), (1.0, 8)])
def test_pictures_of_no_bits(bits: Any, unit: int) -> None:
    with pytest.raises(ShapeError):
        RegisterPicture(bits, (), unit)


@every("bad", [[], None, 1.5, "0", -1, 10**30, True])
def test_coordinates_are_integers(bad: Any) -> None:
    held = picture("XE_2D_U16x8x16_LD_N")
    atom = get_atom("XE_2D_U16x8x16_LD_N")
    assert isinstance(atom, LegacyCopyAtom)
    for question in (
        lambda: held.slot_of(bad, 0),
        lambda: held.slot_of(0, bad),
        lambda: held.owner_of(bad, 0),
        lambda: held.byte_of(bad, 0),
        lambda: held.register(bad),
        lambda: held.byte(0, bad),
        lambda: held.byte(bad, 0),
        lambda: held.held_by(bad),
        lambda: atom.owner_of(bad, 0),
        lambda: atom.owner_of(0, bad),
        lambda: atom.columns(bad),
    ):
        with pytest.raises(CoordError):
            question()


def test_coordinates_may_be_numpys() -> None:
    held = picture("XE_2D_U16x8x16_LD_N")
    one = np.int64(1)
    assert held.owner_of(one, one) == (1, 1)
    assert held.held_by(one)[1] == (1, 1)


@every(
    ("name", "value_type"),
    [
        ("XE_LOAD_2D<16,8,16>", "bf16"),
        ("XE_LOAD_2D<8,8,16>", "u4"),
        ("XE_LOAD_2D_VNNI<16,16,12>", "u8"),
        ("XE_2D_U16x16x16_LD_V", "u16"),
        ("XE_2D_U64x8x4_LD_T", "u64"),
        ("XE_1D_LDSM<u32,u128>", "u32"),
    ],
)
def test_the_byte_of_an_element_holds_it(name: str, value_type: str) -> None:
    held = picture(name, value_type)
    places = [place for place in held.slots if place is not None]
    first = {place: held.byte_of(*place) for place in places}
    assert all(place in held.byte(*byte) for place, byte in first.items())
    if held.bits > 8:  # the byte before holds another one, or nothing
        before = [(p, divmod(r * 64 + b - 1, 64)) for p, (r, b) in first.items() if r + b]
        assert all(place not in held.byte(*byte) for place, byte in before)


def test_an_element_of_the_block_that_the_layout_skips() -> None:
    atom = get_atom("XE_LOAD_2D_VNNI<16,16,12>")
    assert isinstance(atom, CopyAtom)
    with pytest.raises(CoordError, match="no work-item owns this element"):
        atom.owner_of(12, 4)
    with pytest.raises(CoordError, match="rows 0 to 15 and columns 0 to 11"):
        atom.owner_of(12, 12)


@every(
    "stride",
    [
        ("ld",),
        ("ld", "ld"),
        (1, 1),
        ((1, "x"), "ld"),
        (None,) * 5,
        (True, "ld"),
        (1.0, "ld"),
        ("ld", "batch", 1),
        (1, "ld", 1),
        [1, "ld"],
        (),
        (-1, 1),
    ],
)
def test_strides_of_no_matrix(stride: Any) -> None:
    with pytest.raises(ShapeError) as caught:
        get_atom("XE_2D_U16x8x16_LD_N", None, stride)
    assert "('ld', 1)" in caught.value.fix


def test_strides_of_matrices() -> None:
    rows, columns = (get_atom("XE_2D_U16x8x16_LD_N", None, s) for s in (("ld", 1), (1, "ld")))
    assert rows == get_atom("XE_2D_U16x8x16_LD_N") != columns
    assert get_atom("XE_2D_U16x8x16_LD_N", None, (64, 1, 4096)) == rows
    assert get_atom("XE_2D_U16x8x16_LD_N", None, (1, cx.symbol("ld"))) == columns


def test_stores_tell_that_they_know_rows_only() -> None:
    rows, columns = (get_atom("XE_2D_U16x8x16_ST_N", None, s) for s in (("ld", 1), (1, "ld")))
    assert isinstance(rows, LegacyCopyAtom)
    assert isinstance(columns, LegacyCopyAtom)
    assert rows.layout_src_tv == columns.layout_src_tv
    assert "row-major" in columns.notes_by_subject["stride"]
    assert "stride" not in rows.notes_by_subject
    loaded = get_atom("XE_2D_U16x8x16_LD_N", None, (1, "ld"))
    assert isinstance(loaded, LegacyCopyAtom)
    assert "stride" not in loaded.notes_by_subject


@every(
    "name",
    [
        "XE_2D_U8x999999999x64_LD_N",
        "XE_2D_U4x1x131073_LD_N",
        f"XE_2D_U8x{'9' * 5000}x1_LD_N",
        "XE_2D_U64x128x65_LD_N",
        "XE_2D_U8x999999999x64_LD_N::PREFETCH",
    ],
)
def test_blocks_beyond_all_registers(name: str) -> None:
    with pytest.raises(ShapeError, match="exceeds 65536 bytes") as caught:
        parse_block2d_name(name)
    assert len(str(caught.value)) < 250


def test_the_largest_blocks_have_names() -> None:
    for data_type, rows, cols in (("U64", 128, 64), ("U4", 1, 131072), ("U8", 65536, 1)):
        assert LegacyCopyName(data_type, rows, cols).logical_shape == (rows, cols)
    # Nearby names are not looked for beyond the bound.
    with pytest.raises(LegalityError, match="vnni-bits"):
        get_atom("XE_2D_U64x8192x1_LD_V").messages("bmg")


@every("rows", [pytest.param(10**5000, id="huge"), "8", 8.0, True, None, 0, -8])
def test_sizes_of_names_are_integers(rows: Any) -> None:
    with pytest.raises(ShapeError):
        LegacyCopyName("U8", rows, 16)


OPERATIONS = (
    cx.XE_LOAD_2D,
    cx.XE_LOAD_2D_VNNI,
    cx.XE_LOAD_2D_TRANSPOSE,
    cx.XE_STORE_2D,
    cx.XE_PREFETCH_2D,
)


@every("op", OPERATIONS)
@every("sizes", [(16, 8.0, 16), (16, True, 16), (16, None, 16), ("16", 8, 16)])
def test_sizes_of_operations_are_integers(op: Callable[..., Any], sizes: tuple[Any, ...]) -> None:
    for order in (sizes, (sizes[0], 16, sizes[1])):
        with pytest.raises(ShapeError, match="not an integer"):
            op(*order)


@every("name", [None, 3, b"x", [], ("XE_ATOMIC<f32>",)])
@every("read", [get_atom, parse_block2d_name, parse_linear_op])
def test_names_are_text(read: Callable[[Any], Any], name: Any) -> None:
    with pytest.raises(CuteError, match="a name is text"):
        read(name)


def test_atoms_take_types_by_name() -> None:
    op, name = cx.XE_LOAD_2D(16, 8, 16), parse_block2d_name("XE_2D_U16x8x16_LD_N")
    bf16 = cx.as_numeric("bf16")
    assert CopyAtom(op, "bf16") == CopyAtom(op, bf16)
    assert LegacyCopyAtom(name, "bf16") == LegacyCopyAtom(name, bf16)
    assert LegacyCopyAtom(str(name), bf16) == LegacyCopyAtom(name, bf16)
    for build in (lambda: CopyAtom(op, "bf61"), lambda: LegacyCopyAtom(name, None)):
        with pytest.raises(DTypeError):
            build()
    with pytest.raises(CuteError, match="a name is text"):
        LegacyCopyAtom(op, bf16)


@every("target", [["bmg"], [], None, 3, {}])
def test_targets_are_names(target: Any) -> None:
    for name in ("XE_LOAD_2D<16,8,16>", "XE_2D_U16x8x16_LD_N", "XE_1D_LDSM<u32>"):
        atom = get_atom(name)
        assert not isinstance(atom, MmaAtom)
        with pytest.raises(TargetError):
            atom.messages(target)
    with pytest.raises(TargetError):
        get_target(target)


@every("operand", [[], ["A"], None, 1, "a", "E"])
def test_operands_have_letters(operand: Any) -> None:
    atom = get_atom("XE_DPAS_TT<8,f32,bf16>")
    assert isinstance(atom, MmaAtom)
    for question in (
        lambda: atom.operand_shape(operand),
        lambda: atom.operand_type(operand),
        lambda: atom.ownership(operand),
        lambda: atom.owner_of(operand, 0, 0),
        lambda: atom.registers(operand),
    ):
        with pytest.raises(ShapeError, match="unknown operand"):
            question()


@pytest.mark.parametrize(
    "name",
    [
        "XE_DPAS_TT<٣,f32,bf16>",
        "XE_٣x16x16_F32BF16BF16F32_TT",
        "XE_2D_U16x٨x16_LD_N",
        "XE_LOAD_2D<16,٨,16>",
        f"XE_DPAS_TT<{'8' * 5000},f32,bf16>",
    ],
)
def test_numbers_are_written_in_ascii(name: str) -> None:
    with pytest.raises(CuteError):
        get_atom(name)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("XE_8x16x32_S32S8S8S32_TT", {"value_type": "bf16"}, "an MMA has its types in its name"),
        ("XE_8x16x32_S32S8S8S32_TT", {"gmem_stride": (1, "ld")}, "only block-2D copies take"),
        ("XE_1D_LDSM<u32>", {"gmem_stride": (1, "ld")}, "only block-2D copies take"),
        ("XE_nothing", {"value_type": "bf16"}, "no atom has this name"),
        ("XE_2D_BF16x32x16_LD_V", {}, 'get_atom("XE_2D_U16x32x16_LD_V", "bf16")'),
        ("XE_2D_Packed_S8x32x32_LD_N", {}, 'get_atom("XE_2D_Packed_U8x32x32_LD_N", "s8")'),
        ("XE_2D_F32x8x16_ST_N", {}, 'get_atom("XE_2D_U32x8x16_ST_N", "f32")'),
        ("XE_2D_BF61x32x16_LD_V", {}, "the name does not read"),
    ],
)
def test_what_a_name_holds(name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(CuteError) as caught:
        get_atom(name, **given)
    assert said in str(caught.value)


@every(
    "name",
    [
        "XE_DPAS",
        "XE_DPAS_TT",
        "XE_DPAS_TT<8,f32>",
        "XE_DPAS_TT<8",
        "XE_LOAD_2D",
        "XE_LOAD_2D<16",
        "XE_LOAD_2D<16,8>",
        "XE_LOAD_2D<16,a,16>",
        "XE_LOAD_2D_VNNI",
        "XE_LOAD_2D_TRANSPOSE",
        "XE_STORE_2D<>",
        "XE_PREFETCH_2D (16, 8",
    ],
)
def test_templates_without_their_parameters(name: str) -> None:
    with pytest.raises(CuteError) as caught:
        get_atom(name)
    kind = re.split("[ <]", name)[0].replace("XE_DPAS_TT", "XE_DPAS")
    assert caught.value.fix.startswith(f"write {kind}")
    assert "[," in caught.value.fix or kind.endswith(("TRANSPOSE", "STORE_2D", "PREFETCH_2D"))
    example = caught.value.fix.partition("such as ")[2]
    assert not isinstance(get_atom(example), LegacyCopyAtom)
