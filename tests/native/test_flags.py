"""Flags of the binary interpreter: moved to registers and back, set by results, asked by jumps."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from machine_code import GRF, NULL, after, element, grf, held, instruction
from sampling import EXAMPLES

from pycute_xe.errors import MachineError
from pycute_xe.native.assembly import Assembly, Immediate, Instruction, Reg, Walk
from pycute_xe.native.comparison import program


def flag(number: int, kind: str = "uw", part: int = 0, to: bool = False) -> Reg:
    return Reg("f", number, part, Walk(-1, 1, 1) if to else Walk(0, 1, 0), kind)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_flags_are_moved_to_registers_and_back(bits: int, number: int) -> None:
    lanes = [bits >> i & 1 for i in range(16)]
    code = (
        instruction("mov", flag(number, "ud", to=True), grf(1, "ud", (0, 1, 0)), size=1),
        instruction("mov", grf(2, "uw", (1,)), flag(number, part=1), size=1),
        instruction("not", flag(number, part=1, to=True), flag(number), size=1),
        instruction("mov", grf(3, "ud", (1,)), flag(number, "ud"), size=1),
        instruction("and", NULL, grf(4, "d"), grf(5, "d"), condition="ne", flag=2 * number),
        instruction("mov", grf(6, "uw", (1,)), flag(number), size=1),
        instruction(
            "and", NULL, grf(4, "d"), grf(5, "d"), condition="eq", flag=2 * number, first=16
        ),
        instruction("mov", grf(7, "uw", (1,)), flag(number, part=1), size=1),
    )
    ones = np.array([[1 - lane for lane in lanes], [3] * 16], np.int32).tobytes()
    state = after(bytes(GRF) + struct.pack("<I", bits).ljust(3 * GRF, b"\0") + ones, *code)
    data = held(state, bytes(8 * GRF))
    assert element(data, 2, "uw", 0) == bits >> 16
    low = bits & 0xFFFF
    assert element(data, 3, "ud", 0) == low | (low ^ 0xFFFF) << 16
    assert element(data, 6, "uw", 0) == low ^ 0xFFFF
    assert element(data, 7, "uw", 0) == low


@pytest.mark.parametrize(
    "wrong",
    [
        instruction("mov", flag(1, "ub", to=True), grf(1, "ub", (0, 1, 0)), size=1),
        instruction("mov", flag(1, to=True), grf(1, "uw"), size=2),
        instruction("add", flag(1, to=True), grf(1, "uw"), grf(2, "uw"), size=1),
        instruction("add", NULL, grf(1, "d"), grf(2, "d"), condition="ne", flag=0),
        instruction("and", NULL, grf(1, "d"), grf(2, "d"), condition="lt", flag=0),
        instruction("and", NULL, grf(1, "d"), grf(2, "d"), condition="ne", flag=0, predicate="+"),
    ],
)
def test_other_uses_of_flags_are_refused(wrong: Instruction) -> None:
    with pytest.raises(MachineError, match=r"flags are read and written whole|is not modelled"):
        program(Assembly((wrong,), {}))


def test_lanes_go_together_or_are_refused() -> None:
    """A register of zeros is written unless all lanes jump over it."""
    target, old, wide = {"on": 2}, b"\1" * GRF, bytes(4) * 4 + b"\1" * 48
    for inverted, data, kept in (("+", old, True), ("-", old, False), ("-", bytes(GRF), True)):
        compare = instruction(
            "cmp", NULL, grf(1, "d"), Immediate("0x0", "d"), condition="ne", flag=3
        )
        jump = instruction("goto", None, predicate=inverted, flag=3, target="on")
        write = instruction("mov", grf(2, "d", (1,)), Immediate("0x0", "d"))
        join = instruction("join", None, target="on")
        data = bytes(GRF) + data + old
        state = after(data, compare, jump, write, join, labels={"on": 3})
        assert held(state, bytes(3 * GRF))[2 * GRF :] == (old if kept else bytes(GRF))
        with pytest.raises(MachineError, match="lanes that go different ways"):
            after(bytes(GRF) + wide, compare, jump, join, labels=target)


def test_lanes_that_ask_nothing_go() -> None:
    jump = instruction("goto", None, target="on")
    write = instruction("mov", grf(0, "d", (1,)), Immediate("0x0", "d"))
    join = instruction("join", None, target="on")
    old = b"\1" * GRF
    assert held(after(old, jump, write, join, labels={"on": 2}), bytes(GRF)) == old
