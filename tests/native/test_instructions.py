"""Instructions of the binary interpreter, each against an account in Python's own numbers."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dpas_pseudo_code import dpas as document_dpas
from every import every
from hypothesis import example, given, settings, strategies as st
from machine_code import (
    GRF,
    INTEGERS,
    ROOM,
    after,
    element,
    ends,
    grf,
    held,
    instruction,
    stored,
)
from sampling import EXAMPLES

from pycute_xe.errors import MachineError
from pycute_xe.native.assembly import Immediate, Reg, Walk

SMALL = settings(max_examples=EXAMPLES, deadline=None)
registers = st.binary(min_size=ROOM * GRF, max_size=ROOM * GRF)


@st.composite
def walks(draw: Any, count: int) -> tuple[tuple[int, int, int], list[int]]:
    """A region, and the element that each lane of so many reads, row after row."""
    width = draw(st.sampled_from([w for w in (1, 2, 4, 8, 16) if w <= count]))
    across = 0 if width == 1 else draw(st.sampled_from((0, 1, 2, 4)))
    down = draw(st.sampled_from((0, 1, 2, 4, 8)))
    order: list[int] = []
    for row in range(count // width):
        for column in range(width):
            order.append(row * down + column * across)
    return (down, width, across), order


@SMALL
@given(registers, st.data())
def test_integers_move_between_regions_types_and_strides(data: bytes, draw: st.DataObject) -> None:
    count = draw.draw(st.sampled_from((1, 2, 4, 8, 16)))
    source, to = draw.draw(st.sampled_from(INTEGERS)), draw.draw(st.sampled_from(INTEGERS))
    walk, order = draw.draw(walks(count))
    stride, saturate = draw.draw(st.sampled_from((1, 2, 4))), draw.draw(st.booleans())
    code = instruction(
        "mov", grf(12, to, (stride,)), grf(2, source, walk), size=count, saturate=saturate
    )
    values = [element(data, 2, source, index) for index in order]
    if saturate:
        low, high = ends(to)
        values = [min(max(value, low), high) for value in values]
    expected = stored(data, 12, to, {i * stride: v for i, v in enumerate(values)})
    assert held(after(data, code), data) == expected


def nearest(value: Fraction, mantissa: int, least: int) -> Fraction:
    """The nearest number of so many bits of mantissa and a least exponent, ties to even."""
    if value == 0:
        return value
    exponent = max(math.floor(math.log2(abs(value))), least)
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while exponent > least and abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - mantissa)
    return round(value / unit) * unit


def single(value: Fraction) -> float:
    return float(nearest(value, 23, -126))


floats = st.lists(
    st.floats(-(2.0**40), 2.0**40, width=32).map(lambda x: x if abs(x) > 2.0**-60 else 0.0),
    min_size=16,
    max_size=16,
)


def packed(*rows: list[float]) -> bytes:
    """Registers of floats from register 2 on, the others zero."""
    body = b"".join(struct.pack("<16f", *row) for row in rows)
    return (bytes(2 * GRF) + body).ljust(ROOM * GRF, b"\0")


@SMALL
@given(st.lists(st.floats(-60000, 60000, width=32), min_size=16, max_size=16))
def test_floats_are_rounded_to_nearest_even_halves_and_brains(values: list[float]) -> None:
    data = packed(values)
    half = after(data, instruction("mov", grf(12, "hf", (1,)), grf(2, "f")))
    assert held(half, data)[12 * GRF : 12 * GRF + 32] == struct.pack("<16e", *values)
    brain = held(after(data, instruction("mov", grf(12, "bf", (1,)), grf(2, "f"))), data)
    for lane, value in enumerate(values):
        kept = math.copysign(float(nearest(Fraction(value), 7, -126)), value)
        assert brain[12 * GRF + 2 * lane :][:2] == struct.pack("<f", kept)[2:]


@SMALL
@example([0x1010001] * 16)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=16, max_size=16))
def test_integers_are_rounded_to_brains_once(values: list[int]) -> None:
    data = bytes(2 * GRF) + struct.pack("<16i", *values).ljust((ROOM - 2) * GRF, b"\0")
    found = held(after(data, instruction("mov", grf(12, "bf", (1,)), grf(2, "d"))), data)
    for lane, value in enumerate(values):
        kept = struct.pack("<f", float(nearest(Fraction(value), 7, -126)))
        assert found[12 * GRF + 2 * lane :][:2] == kept[2:]


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("to", INTEGERS)
def test_what_is_not_a_number_becomes_zero(to: str, saturate: bool) -> None:
    data = packed([math.nan, 3.75] * 8)
    code = instruction("mov", grf(12, to, (1,)), grf(2, "f"), saturate=saturate)
    wanted = stored(data, 12, to, dict(enumerate([0, 3] * 8)))
    assert held(after(data, code), data) == wanted


@SMALL
@given(floats, st.sampled_from(INTEGERS))
def test_floats_become_integers_towards_zero_saturated(values: list[float], to: str) -> None:
    data = packed(values)
    low, high = ends(to)
    code = instruction("mov", grf(12, to, (1,)), grf(2, "f"), saturate=True)
    wanted = {i: min(max(int(v), low), high) for i, v in enumerate(values)}
    assert held(after(data, code), data) == stored(data, 12, to, wanted)
    if any(not low <= int(v) <= high for v in values):
        with pytest.raises(MachineError, match="without"):
            after(data, instruction("mov", grf(12, to, (1,)), grf(2, "f")))


@SMALL
@given(registers, st.sampled_from(("d", "ud")))
def test_integers_become_the_nearest_floats(data: bytes, kind: str) -> None:
    found = held(after(data, instruction("mov", grf(12, "f", (1,)), grf(2, kind))), data)
    values = [single(Fraction(element(data, 2, kind, i))) for i in range(16)]
    assert found == stored(data, 12, "f", dict(enumerate(values)))


INTEGER_OPERATIONS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << (b % 32),
    "asr": lambda a, b: a >> (b % 32),
    "shr": lambda a, b: (a % 2**32) >> (b % 32),
}


@SMALL
@given(registers, st.sampled_from(sorted(INTEGER_OPERATIONS)), st.sampled_from(("d", "ud")))
def test_integer_arithmetic_is_that_of_the_lowest_32_bits(data: bytes, op: str, kind: str) -> None:
    code = instruction(op, grf(12, kind, (1,)), grf(2, kind), grf(3, kind))
    meaning = INTEGER_OPERATIONS[op]
    pairs = [(element(data, 2, kind, i), element(data, 3, kind, i)) for i in range(16)]
    wanted = {i: meaning(a, b) for i, (a, b) in enumerate(pairs)}
    assert held(after(data, code), data) == stored(data, 12, kind, wanted)


@SMALL
@given(registers, st.sampled_from(("d", "ud")), st.sampled_from(("d", "ud")))
def test_two_instructions_multiply_32_by_32_bits(data: bytes, first: str, second: str) -> None:
    accumulator, low = Reg("acc", 0, 0, Walk(-1, 1, 1), first), grf(3, "uw", (2, 1, 0))
    begin = instruction("mul", accumulator, grf(2, first), low)
    high = instruction("mach", grf(12, "d", (1,)), grf(2, first), grf(3, second))
    lowest = instruction("macl", grf(13, "ud", (1,)), grf(2, first), grf(3, second))
    found = held(after(data, begin, high, begin, lowest), data)
    pairs = [(element(data, 2, first, i), element(data, 3, second, i)) for i in range(16)]
    product = {i: a * b for i, (a, b) in enumerate(pairs)}
    wanted = stored(data, 12, "d", {i: p >> 32 for i, p in product.items()})
    assert found == stored(wanted, 13, "ud", product)


def test_the_second_half_of_a_product_needs_the_first() -> None:
    with pytest.raises(MachineError, match="no mul"):
        after(bytes(GRF), instruction("mach", grf(4, "d", (1,)), grf(2, "d"), grf(3, "d")))


@SMALL
@given(registers, st.sampled_from(("mad", "add3")), st.integers(-100, 100))
def test_three_integers_and_negated_ones(data: bytes, op: str, number: int) -> None:
    sources = (grf(2, "d"), grf(3, "d", modifier="n"), Immediate(str(number), "w"))
    found = held(after(data, instruction(op, grf(12, "d", (1,)), *sources)), data)
    wanted: dict[int, int] = {}
    for i in range(16):
        a, b = element(data, 2, "d", i), -element(data, 3, "d", i)
        wanted[i] = a + b * number if op == "mad" else a + b + number
    assert found == stored(data, 12, "d", wanted)


@SMALL
@given(registers, st.sampled_from(("and", "or", "xor", "not")))
def test_of_bits_the_negation_is_the_complement(data: bytes, op: str) -> None:
    sources = (grf(2, "ud"), grf(3, "ud", modifier="n"))[op == "not" :]
    found = held(after(data, instruction(op, grf(12, "ud", (1,)), *sources)), data)
    wanted: dict[int, int] = {}
    for i in range(16):
        a, b = element(data, 2, "ud", i), element(data, 3, "ud", i)
        wanted[i] = b if op == "not" else INTEGER_OPERATIONS[op](a, 2**32 - 1 - b)
    assert found == stored(data, 12, "ud", wanted)


EXPRESSIONS = st.recursive(
    st.sampled_from(("s0", "s1", "s2")),
    lambda inner: st.one_of(
        inner.map(lambda x: f"~{x}" if len(x) == 2 else f"~({x})"),
        st.tuples(inner, st.sampled_from("&|^"), inner).map("".join),
        inner.map(lambda x: f"({x})"),
    ),
    max_leaves=6,
)


@SMALL
@example(bytes(range(256)) * 4, "s0|s1^s2")
@given(registers, EXPRESSIONS)
def test_a_function_of_three_bits_is_the_one_that_is_spelled(data: bytes, text: str) -> None:
    code = instruction("bfn", grf(12, "ud", (1,)), *(grf(n, "ud") for n in (2, 3, 4)), sub=text)
    wanted: dict[int, int] = {}
    for i in range(16):
        names = {f"s{n}": element(data, 2 + n, "ud", i) for n in range(3)}
        wanted[i] = eval(text, {}, names)
    assert held(after(data, code), data) == stored(data, 12, "ud", wanted)


@every("text", ["(s0", "s0&", "~", "()", "s0&)", "(s0|s1))", "s0 s1", "s3", ""])
def test_a_function_of_three_bits_that_cannot_be_read_is_refused(text: str) -> None:
    code = instruction("bfn", grf(12, "ud", (1,)), *(grf(n, "ud") for n in (2, 3, 4)), sub=text)
    with pytest.raises(MachineError, match="cannot be read"):
        after(bytes(1024), code)


COMPARISONS = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip


@SMALL
@given(
    registers,
    st.sampled_from(sorted(COMPARISONS)),
    st.sampled_from(("d", "ud", "w")),
    st.booleans(),
)
def test_comparisons_choose_and_leave_out_lanes(
    data: bytes, condition: str, kind: str, inverted: bool
) -> None:
    # Half of the lanes compare what is equal.
    data = data[: 3 * GRF] + data[2 * GRF : 2 * GRF + 16] + data[3 * GRF + 16 :]
    null, sign = Reg("null", 0, 0, Walk(-1, 1, 1), kind), "-" if inverted else "+"
    compare = instruction("cmp", null, grf(2, kind), grf(3, kind), condition=condition, flag=3)
    choose = instruction(
        "sel", grf(12, "d", (1,)), grf(4, "d"), grf(5, "d"), predicate=sign, flag=3
    )
    some = instruction("mov", grf(13, "d", (1,)), grf(6, "d"), predicate=sign, flag=3)
    picked: dict[int, int] = {}
    moved: dict[int, int] = {}
    for i in range(16):
        on = (
            COMPARISONS[condition](element(data, 2, kind, i), element(data, 3, kind, i)) != inverted
        )
        picked[i] = element(data, 4 if on else 5, "d", i)
        if on:
            moved[i] = element(data, 6, "d", i)
    wanted = stored(stored(data, 12, "d", picked), 13, "d", moved)
    assert held(after(data, compare, choose, some), data) == wanted


@SMALL
@given(floats, floats, floats)
def test_float_sums_products_and_fused_ones_are_rounded_once(
    a: list[float], b: list[float], c: list[float]
) -> None:
    data = packed(a, b, c)
    to, x, y, z = grf(12, "f", (1,)), grf(2, "f"), grf(3, "f"), grf(4, "f")
    exact = {
        "add": ((x, y), [Fraction(p) + Fraction(q) for p, q in zip(a, b, strict=True)]),
        "mul": ((x, y), [Fraction(p) * Fraction(q) for p, q in zip(a, b, strict=True)]),
        "mad": (
            (z, x, y),
            [Fraction(r) + Fraction(p) * Fraction(q) for p, q, r in zip(a, b, c, strict=True)],
        ),
    }
    for op, (sources, values) in exact.items():
        found = held(after(data, instruction(op, to, *sources)), data)
        for i, value in enumerate(values):
            assert Fraction(element(found, 12, "f", i)) == Fraction(single(value)), (op, i)


@pytest.mark.parametrize(
    ("c", "a", "b"),
    [
        # The product, or the sum, lies half way between two floats but for a bit beyond 53.
        (2.0**-60, 1 + 2.0**-12, 1 + 2.0**-12),
        (-(2.0**-60), 1 + 2.0**-12, 1 + 2.0**-12),
        (1.0, 13325.0, 80581 * 2.0**-54),
        (-1.0, 13325.0, -80581 * 2.0**-54),
        (1 + 2.0**-23, 13325.0, -80581 * 2.0**-54),
    ],
)
def test_a_fused_sum_half_way_between_two_floats_is_rounded_by_its_last_bit(
    c: float, a: float, b: float
) -> None:
    data = packed([c] * 16, [a] * 16, [b] * 16)
    code = instruction("mad", grf(12, "f", (1,)), grf(2, "f"), grf(3, "f"), grf(4, "f"))
    exact = Fraction(c) + Fraction(a) * Fraction(b)
    assert element(held(after(data, code), data), 12, "f", 0) == single(exact)


@SMALL
@given(floats, floats)
def test_minimum_maximum_absolute_values_and_signs(a: list[float], b: list[float]) -> None:
    data = packed(a, b)
    code = [
        instruction("sel", grf(9, "f", (1,)), grf(2, "f"), grf(3, "f"), condition="lt"),
        instruction("sel", grf(10, "f", (1,)), grf(2, "f"), grf(3, "f"), condition="ge"),
        instruction("mov", grf(11, "f", (1,)), grf(2, "f", modifier="a")),
        instruction("mov", grf(12, "f", (1,)), grf(2, "f", modifier="n")),
    ]
    found = held(after(data, *code), data)
    for i, (p, q) in enumerate(zip(a, b, strict=True)):
        row = [element(found, n, "f", i) for n in (9, 10, 11, 12)]
        assert row == [min(p, q), max(p, q), abs(p), -p]


@SMALL
@given(st.lists(st.floats(-1000, 1000, width=32), min_size=16, max_size=16))
def test_rounding_to_integers_in_four_directions(values: list[float]) -> None:
    data = packed(values)
    ways = {"rnde": round, "rndd": math.floor, "rndu": math.ceil, "rndz": math.trunc}
    for op, meaning in ways.items():
        found = held(after(data, instruction(op, grf(12, "f", (1,)), grf(2, "f"))), data)
        assert [element(found, 12, "f", i) for i in range(16)] == [meaning(v) for v in values]


@SMALL
@given(st.lists(st.floats(2.0**-20, 100, width=32), min_size=16, max_size=16))
def test_math_is_within_one_unit_in_the_last_place(values: list[float]) -> None:
    data = packed(values)
    ways = {
        "inv": lambda x: 1 / x, "exp": lambda x: 2.0**x, "log": math.log2,
        "sqt": math.sqrt, "rsqt": lambda x: 1 / math.sqrt(x),
    }  # fmt: skip
    for sub, meaning in ways.items():
        code = instruction("math", grf(12, "f", (1,)), grf(2, "f"), sub=sub)
        found = held(after(data, code), data)
        for i, value in enumerate(values):
            got, exact = element(found, 12, "f", i), meaning(value)
            assert abs(got - exact) <= max(abs(exact) * 2.0**-23, 2.0**-149), (sub, value)


def counting(step: int) -> int:
    """What a loop that adds a number up to 1200 leaves."""
    to, null = grf(1, "d", (1,)), Reg("null", 0, 0, Walk(-1, 1, 1), "d")
    code = (
        instruction("mov", to, Immediate("0x0", "d"), size=1),
        instruction("add", to, grf(1, "d", (0, 1, 0)), Immediate(str(step), "w"), size=1),
        instruction(
            "cmp", null, grf(1, "d", (0, 1, 0)), Immediate("1200", "w"), condition="lt", flag=0
        ),
        instruction("sync", None, sub="nop"),
        instruction("jmpi", None, predicate="+", flag=0, target="again", size=1),
    )
    data = bytes(2 * GRF)
    return element(held(after(data, *code, labels={"again": 1}), data), 1, "d", 0)


def test_a_loop_of_jumps_runs_as_often_as_it_says() -> None:
    assert counting(175) == 1225


def test_a_thread_that_takes_more_steps_than_its_limit_is_ended() -> None:
    with pytest.raises(MachineError, match="does not end"):
        counting(2)


DPAS = {
    ("f", "bf", "bf"): ("f32", "bf16", "bf16"),
    ("f", "tf32", "tf32"): ("f32", "tf32", "tf32"),
    ("d", "b", "ub"): ("s32", "s8", "u8"),
}


@pytest.mark.parametrize("kinds", sorted(DPAS))
def test_dpas_is_that_of_the_document(kinds: tuple[str, str, str]) -> None:
    d, src1, src2 = DPAS[kinds]
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 256, 32 * GRF, dtype=np.uint8)
    if kinds[0] == "f":  # floats of moderate size, so that nothing overflows
        raw = (rng.standard_normal(32 * 16).astype(np.float32)).view(np.uint8)
    data = raw.tobytes()
    code = instruction(
        "dpas", grf(24, kinds[0], None), grf(16, kinds[0], None), grf(0, kinds[1], None),
        grf(8, kinds[2], None), sub="8x8",
    )  # fmt: skip
    found = held(after(data, code), data)[24 * GRF :]
    wanted = document_dpas(
        (d, src2, src1, d), 8, data[16 * GRF : 24 * GRF], data[: 8 * GRF], data[8 * GRF : 16 * GRF]
    )
    assert found == bytes(wanted)
