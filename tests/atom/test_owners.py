"""`owner` and `element_at`: who owns an element, which byte holds it, and back."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from executed_images import executed_block

import pycute_xe as cx
from pycute_xe.cutlass import shipped_names
from pycute_xe.errors import CoordError, CuteError, InputError
from pycute_xe.layout import Layout

NAMES = {"A": "mk", "B": "kn", "C": "mn", "D": "mn"}
TYPES = {
    "bf16": ("f32", 16),
    "f16": ("f32", 16),
    "tf32": ("f32", 8),
    "s8": ("s32", 32),
    "u4": ("s32", 64),
}


def byte_of(operand: str, bits: int, sizes: tuple[int, int], row: int, column: int) -> int:
    """The bit at which an element begins, by the manual: rows of A and C, B packed into dwords."""
    if operand != "B" or bits >= 32:
        return (row * sizes[1] + column) * bits
    deep = 32 // bits  # values of k in a dword
    return ((row // deep * 16 + column) * deep + row % deep) * bits


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("operand", NAMES)
@pytest.mark.long
def test_registers_of_an_operand_are_those_of_the_manual(kind: str, operand: Any) -> None:
    wide, depth = TYPES[kind]
    name = f"XE_DPAS_TT<8,{wide},{kind}>"
    sizes = {"A": (8, depth), "B": (depth, 16)}.get(operand, (8, 16))
    bits = cx.as_numeric(kind if operand in "AB" else wide).bits
    places = random.Random(operand + kind).sample(list(product(*map(range, sizes))), 6)
    for row, column in places:
        indices = dict(zip(NAMES[operand], (row, column), strict=True))
        found = cx.owner(name, operand if operand == "D" else None, **indices)
        first = byte_of(operand, bits, sizes, row, column)
        assert found.operand == operand
        assert (found.register, found.first_bit, found.bits) == (*divmod(first, 512), bits)
        assert found.byte == first % 512 // 8
        text = ", ".join(f"{letter}={index}" for letter, index in indices.items())
        assert str(found).startswith(f"{operand}({text}) of XE_DPAS_TT<8,{wide},{kind},")
        for reading in found.readings:
            unit, inside = divmod(first, reading.unit_bits)
            value = unit // 16 * (reading.unit_bits // bits) + inside // bits
            assert (reading.work_item, reading.value) == (unit % 16, value)
            again = {"work_item": reading.work_item, "value": reading.value}
            assert cx.element_at(name, operand, **again, unit_bits=reading.unit_bits) == found
        by_layout = cx.element_at(name, operand, work_item=found.work_item, value=found.value)
        assert by_layout == found
        where = {"register": found.register, "byte": found.byte, "bit": found.first_bit % 8}
        assert cx.element_at(name, operand, **where) == found


LOADS = [n for n in shipped_names() if n.startswith("XE_2D_") and "PREFETCH" not in n]


@pytest.mark.parametrize("name", LOADS)
def test_registers_of_a_copy_are_those_of_its_executed_messages(name: str) -> None:
    atom: Any = cx.get_atom(name)
    rows, columns = atom.shape
    bits = atom.value_type.bits
    wide = atom.place_in_memory(rows - 1, columns - 1)[1] + 1
    slots = executed_block(atom.messages("bmg"), wide * bits // 8, bits).tolist()
    slot_of = {code: slot for slot, code in enumerate(slots) if code >= 0}
    places = list(product(range(rows), range(columns)))
    for row, column in random.Random(name).sample(places, min(4, len(places))):
        down, across = atom.place_in_memory(row, column)
        found = cx.owner(name, row=row, column=column)
        first = slot_of[down * wide + across] * bits
        assert (found.register, found.first_bit) == divmod(first, 512)
        where = {"register": found.register, "byte": found.byte, "bit": found.first_bit % 8}
        assert cx.element_at(name, **where) == found
        there = cx.element_at(name, work_item=found.work_item, value=found.value)
        assert there.at == found.at


@pytest.mark.parametrize("kind", ["bf16", "s8"])
@pytest.mark.long
def test_every_subgroup_of_a_tile_has_its_own_registers(kind: str) -> None:
    op = cx.XE_DPAS_TT(8, TYPES[kind][0], kind)
    mma = cx.workgroup_mma(op, (32, 64, 64), ((2, 2, 1), (2, 1, 0)))
    rng = random.Random(3)
    for _ in range(12):
        operand = rng.choice("ABCD")
        extents = dict(zip("mnk", mma.tile_mnk, strict=True))
        indices = {letter: rng.randrange(extents[letter]) for letter in NAMES[operand]}
        given = operand if operand == "D" else None
        first = cx.owner(mma, given, **indices)
        row, column = (index for _, index in first.at)
        for held in mma.owner_of(operand, row, column):
            found = cx.owner(mma, given, **indices, subgroup=held.subgroup)
            assert (found.subgroup, found.work_item, found.value) == held
            place = {"register": found.register, "byte": found.byte, "subgroup": held.subgroup}
            assert cx.element_at(mma, operand, **place) == found


@pytest.mark.long
def test_a_tiled_copy_says_the_register_that_its_run_fills() -> None:
    copy = cx.make_tiled_copy(
        "XE_2D_U16x8x32_LD_N", Layout(((16, 2), (2, 8, 2)), ((16, 8), (256, 1, 512))), (16, 64)
    )
    tags = np.arange(16 * 64).reshape(16, 64)
    held = cx.run(copy, tags, unit_bits=16)
    for row, column in ((0, 0), (3, 17), (9, 40), (15, 63)):
        found = cx.owner(copy, row=row, column=column)
        reading = next(r for r in found.readings if r.unit_bits == 16)
        assert held[found.subgroup, reading.work_item, reading.value] == tags[row, column]
        place = {"register": found.register, "byte": found.byte}
        assert cx.element_at(copy, **place, subgroup=found.subgroup) == found


S8 = "XE_DPAS_TT<8,s32,s8>"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cx.owner(S8, m=1), "are not the two indices"),
        (lambda: cx.owner(S8, "A", k=1, n=2), "are not the two indices of A"),
        (lambda: cx.owner(S8, row=1, column=2), "the operand is missing"),
        (lambda: cx.owner(S8, "E", row=1, column=2), "A, B, C or D"),
        (lambda: cx.owner("XE_2D_U16x8x16_LD_N", m=1, k=2), "a row and a column"),
        (lambda: cx.owner("XE_2D_U16x8x16_LD_N", "A", row=1, column=2), "has no operands"),
        (lambda: cx.owner(Layout(4), row=1, column=2), "no elements with owners"),
        (lambda: cx.owner(S8, k=1, n=2, subgroup=0), "has one subgroup"),
        (lambda: cx.element_at(S8, "B", work_item=1), "a register and a byte"),
        (lambda: cx.element_at(S8, "B", work_item=1, value=2, unit_bits=12), "units of 12"),
        (lambda: cx.element_at(S8, work_item=1, value=2), "the operand is missing"),
    ],
)
def test_a_question_that_names_no_element_is_refused(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: cx.owner(S8, k=32, n=0),
        lambda: cx.owner(S8, k=-1, n=0),
        lambda: cx.element_at(S8, "B", work_item=16, value=0),
        lambda: cx.element_at(S8, "B", work_item=0, value=32),
        lambda: cx.element_at(S8, "B", register=8, byte=0),
        lambda: cx.element_at(S8, "B", register=0, byte=64),
        lambda: cx.element_at(S8, "B", register=0, byte=-1),
    ],
)
def test_an_element_that_there_is_not_is_refused(call: Any) -> None:
    with pytest.raises(CoordError):
        call()


def test_a_prefetch_has_owners_and_no_registers() -> None:
    found = cx.owner("XE_2D_U16x8x16_LD_N::PREFETCH", row=0, column=3)
    assert (found.work_item, found.register, found.byte, found.readings) == (3, None, None, ())
    with pytest.raises(CuteError):
        cx.element_at("XE_2D_U16x8x16_LD_N::PREFETCH", register=0, byte=0)


def test_registers_of_a_tile_hold_what_the_layout_gives_to_another_subgroup() -> None:
    copy = cx.make_tiled_copy(
        "XE_2D_U16x8x16_LD_N", Layout((32, 8), (8, 1)), (16, 16), x_mode=1, y_mode=0
    )
    found = cx.element_at(copy, register=0, byte=0, subgroup=0)
    assert (found.subgroup, found.element) == (0, "(row=0, column=0)")
    with pytest.raises(CoordError, match=r"hold \(row=0, column=10\).*gives it to 1"):
        cx.element_at(copy, register=0, byte=20, subgroup=0)


def test_a_register_whose_element_lies_outside_the_tile_holds_none_of_it() -> None:
    copy = cx.make_tiled_copy(
        "XE_2D_U16x8x16_LD_N", Layout((32, 8), (8, 1)), (8, 32), x_mode=0, y_mode=1
    )
    refused: list[str] = []
    for register, subgroup in product(range(16), range(2)):
        try:
            found = cx.element_at(copy, register=register, byte=0, subgroup=subgroup)
        except CoordError as error:
            refused.append(error.condition)
        else:
            assert all(i < n for (_, i), n in zip(found.at, copy.tiler_mn, strict=True))
    assert {*refused} == {"no element is there"}
