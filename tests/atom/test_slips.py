"""What atoms say to questions that have no answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pycute_xe.atom import CopyAtom, LegacyCopyAtom, MmaAtom, get_atom
from pycute_xe.atom.register_picture import RegisterPicture
from pycute_xe.checking import check
from pycute_xe.drawing import draw
from pycute_xe.errors import CoordError, LegalityError, ShapeError

TOO_HIGH = ("XE_LOAD_2D<16,33,16>", "XE_STORE_2D<32,9,16>", "XE_LOAD_2D_VNNI<16,64,16>")


@pytest.mark.parametrize("name", TOO_HIGH)
@pytest.mark.parametrize(
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
    assert atom.noted == {}
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


@pytest.mark.parametrize("slot", [-1, 128, 10**6, 1.0, None, [], True])
def test_a_picture_has_the_slots_it_has(slot: Any) -> None:
    held = picture("XE_LOAD_2D<16,8,16>")
    assert [held.owner(i) for i in (0, 17, 127)] == [(0, 0), (1, 1), (15, 7)]
    with pytest.raises(CoordError, match="128 slots"):
        held.owner(slot)


@pytest.mark.parametrize("unit", [24, 8, -32, 0, 1, 33, 32.0, True, "32"])
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


@pytest.mark.parametrize(("bits", "unit"), [(16, -32), (0, 0), (16, 24), (True, 8), (1.0, 8)])
def test_pictures_of_no_bits(bits: Any, unit: int) -> None:
    with pytest.raises(ShapeError):
        RegisterPicture(bits, (), unit)


@pytest.mark.parametrize("bad", [[], None, 1.5, "0", -1, 10**30, True])
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


@pytest.mark.parametrize(
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
    with pytest.raises(CoordError, match="gives this element to nobody"):
        atom.owner_of(12, 4)
    with pytest.raises(CoordError, match="rows 0 to 15 and columns 0 to 11"):
        atom.owner_of(12, 12)
