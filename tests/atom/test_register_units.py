"""Registers slot by slot: units of whole bytes, registers filled in part, what a byte holds."""

from __future__ import annotations

import numpy as np
import pytest
from every import every

from pycute_xe.atom.copy_answers import RegisterPicture
from pycute_xe.cutlass import get_atom
from pycute_xe.errors import ShapeError


@every(("bits", "unit_bits"), [(4, 12), (4, 20), (2, 6), (1, 7), (4, 4)])
def test_units_are_whole_bytes(bits: int, unit_bits: int) -> None:
    slots = tuple((0, col) for col in range(64))
    with pytest.raises(ShapeError, match="whole bytes"):
        RegisterPicture(bits, slots, unit_bits)
    with pytest.raises(ShapeError, match="whole bytes"):
        RegisterPicture(bits, slots).owner_of(0, 0, unit_bits=unit_bits)


@every(
    ("bits", "count", "registers"),
    [(4, 128, 1), (4, 129, 2), (4, 1, 1), (16, 32, 1), (16, 33, 2), (64, 9, 2), (32, 48, 3)],
)
def test_a_register_that_is_filled_in_part_counts(bits: int, count: int, registers: int) -> None:
    picture = RegisterPicture(bits, tuple((0, col) for col in range(count)))
    assert picture.registers == registers
    assert sum(len(picture.register(i)) for i in range(registers)) == count


@every("bits", [2, 4, 8, 16, 32])
def test_every_bit_of_a_slot_is_in_a_byte_that_names_it(bits: int) -> None:
    """Register by register, as 512 bits that are dealt to slots one after the other."""
    count = 2 * 512 // bits
    picture = RegisterPicture(bits, tuple((0, col) for col in range(count)))
    owner = [(0, bit // bits) for bit in range(1024)]
    for register in (0, 1):
        for byte in (0, 1, 2, 7, 33, 63):
            first = 512 * register + 8 * byte
            named = dict.fromkeys(owner[first : first + 8])
            assert picture.byte(register, byte) == tuple(named)


@every(
    ("name", "values", "units"),
    [
        ("XE_2D_U16x16x16_LD_N", "u16", {16}),
        ("XE_2D_U16x16x16_LD_V", "u16", {32}),
        ("XE_2D_U8x32x16_LD_V", "u8", {32}),
        ("XE_2D_Packed_U8x8x32_LD_N", "u8", {16}),
        ("XE_LOAD_2D<8,8,16>", "u4", {8}),
        ("XE_LOAD_2D_VNNI<16,16,16>", "u16", {16}),
    ],
)
def test_an_atom_is_faithful_in_the_width_in_which_work_items_find_their_values(
    name: str, values: str, units: set[int]
) -> None:
    """Each work-item takes a unit in turn: the registers as an array of turns × 16 × unit."""
    atom = get_atom(name, values)
    picture, said = atom.registers(), np.array(atom.ownership())
    slots = np.array(picture.slots)
    found: set[int] = set()
    for unit in (8, 16, 32, 64):
        if unit >= picture.bits:
            turns = slots.reshape(-1, 16, unit // picture.bits, 2)
            if np.array_equal(turns.swapaxes(0, 1).reshape(said.shape), said):
                found.add(unit)
    assert set(atom.faithful_units) == found == units


@pytest.mark.parametrize("name", ["XE_2D_TF32x1x8_LD_N", "XE_2D_U64x8x1_LD_T"])
def test_of_work_items_that_repeat_a_value_the_first_is_its_owner(name: str) -> None:
    atom = get_atom(name)
    said = atom.ownership()
    for work_item in range(8):
        assert said[work_item] == said[work_item + 8]
        assert atom.owner_of(*said[work_item][0]) == (work_item, 0)
