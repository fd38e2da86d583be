"""Hints of LSC messages, typed: each is accepted, and what it says moves the same does.

Messages that break a rule and what their hints say are executed on bytes: memory and registers are
equal afterwards. Every row of the tables that carries a hint is met.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from every import every

from pycute_xe.arch.lsc import Address, DataType, Message, operations, parse
from pycute_xe.arch.rules import Broken
from pycute_xe.errors import CuteError
from pycute_xe.facts import rows_for
from pycute_xe.machine import Memory, RegisterFile, Slm
from pycute_xe.machine.lsc import SurfaceState, execute

PLAIN = [op for op in operations().values() if not op.block2d]
SIZES = ("d8", "d16", "d32", "d64", "d8u32", "d16u32", "d16u32h")
MASKS = ["".join(c for i, c in enumerate("xyzw") if n >> i & 1) for n in range(1, 16)]
APART = 4096
"""Bytes from the data of one channel to that of the next, more than a vector has."""


def drawn(pick: random.Random) -> Message | None:
    """A message whose fields are most often those of a legal one."""

    def other(usual: Any, *values: Any) -> Any:
        return pick.choice(values) if pick.random() < 0.2 else usual

    op = pick.choice(PLAIN)
    atomic, counter = op.kind == "atomic", op.kind == "counter"
    size = other("d32", *SIZES)
    if op.quad:
        data = DataType(size, mask=pick.choice(MASKS))
    else:
        block = op.kind in ("load", "store") and pick.random() < 0.3
        vector = pick.choice((1, 1, 2, 3, 4, 8, 16, 32, 64)) if not atomic else other(1, 2, 4)
        data = DataType(size, other(vector, 1), other(block, True, False))
    sfid = pick.choice(("ugm", "ugm", "slm", "ugml"))
    model = "bti" if counter else other("flat", "bti")
    wide = 32 if counter else other(32 if sfid == "slm" or model == "bti" else 64, 16, 32, 64)
    near = other(0, 8, 32760, 40000, -40000) if wide == 16 else other(0, 8, 64)
    address = Address(
        model,
        wide,
        None if counter else "V12",
        0 if model == "flat" else other(4, 300),
        1 if counter else other(1, 4, 3),
        0 if counter else near,
        other(None, 64, 70000, -4) if op.strided else None,
    )
    try:
        return Message(
            op.name,
            sfid,
            1 if data.transpose and pick.random() < 0.9 else pick.choice((1, 8, 16, 16, 32)),
            data,
            address,
            None if op.kind == "store" else other("V100", None),
            None if op.kind == "load" else other("V40" if op.extra else None, "V40", None),
            other("V70" if op.extra == 2 else None, "V70", None) if atomic else None,
            other("df", "uc", "ca", "wb"),
            other("df", "uc", "ca", "wb"),
            None,
            other("M1", "M5", "M8_NM"),
        )
    except CuteError:
        return None


def typed(fix: str) -> list[Message]:
    """The messages that a hint spells."""
    texts = re.findall(r"lsc_.*?(?= and lsc_|; lsc_|, in place|$)", fix)
    return [made for text in texts if isinstance(made := parse(text), Message)]


def done(messages: list[Message]) -> tuple[bytes, bytes, bytes] | None:
    """What memory, shared memory and the data registers hold after messages; None for a fault."""
    first = messages[0]
    memory, slm, registers = Memory(), Slm(1 << 18), RegisterFile(256 * 64)
    rng = np.random.default_rng(7)
    contents = rng.integers(0, 256, 1 << 18, dtype=np.uint8)
    base = memory.place(contents)
    slm.write(0, contents)
    registers.write(0, rng.integers(0, 256, 256 * 64, dtype=np.uint8))
    start = 0 if first.sfid == "slm" or first.address.model != "flat" else base
    places = start + 65536 + APART * np.arange(32)
    scale = first.address.scale
    if scale != 1 and start:
        return None  # what is scaled would not be where the bytes are
    values = places // scale
    kind = {16: np.uint16, 32: np.uint32, 64: np.uint64}[first.address.bits]
    registers.write(12 * 64, values.astype(kind).view(np.uint8))
    names = {f"V{n}": 64 * n for n in range(256)}
    surfaces: dict[int | str, Any] = {4: SurfaceState(base, contents.size, base)}
    try:
        for message in messages:
            given = {"memory": memory, "registers": registers, "slm": slm, "surfaces": surfaces}
            execute(message, operands=names, **given)  # pyright: ignore[reportArgumentType]
    except CuteError:
        return None
    data = registers.read(0, 256 * 64, "the test").tobytes()
    return memory.read(base, contents.size).tobytes(), slm.read(0, contents.size).tobytes(), data


def held(message: Message, broken: Broken, target: str) -> str:
    """What kind of hint it is; it is accepted, and means what it says."""
    fix = broken.fix
    found = typed(fix)
    assert found, (str(message), fix)
    where = fix.partition(",")[0].removeprefix("use ") if fix.startswith("use ") else target
    for each in found:
        judged = each.check(where)
        assert not [one for one in judged if one.level == "error"], (str(message), fix)
        if fix.startswith("write ") and broken.rule != "whole-width":
            advised = {one.rule for one in (*judged, *each.advice(where))}
            assert broken.rule not in advised, (str(message), fix)
    if ", in place of " in fix:
        (wide,) = found
        same = replace(wide, exec_size=message.exec_size, exec_mask=message.exec_mask)
        assert same == message
        assert f"of {wide.exec_size // message.exec_size} messages" in fix
        return "wider"
    if fix.startswith("write "):
        before = done([message])
        after = done(found)
        assert before is None or before == after, (str(message), fix)
        return "same" if before is not None else "not executed"
    return fix.partition(" ")[0]


def judge(count: int, seed: int) -> tuple[set[str], dict[str, int]]:
    """The rules met, and how many hints of each kind there were."""
    pick, met, kinds = random.Random(seed), set[str](), dict[str, int]()
    for number in range(count):
        message, target = drawn(pick), ("pvc", "bmg")[number % 2]
        if message is None:
            continue
        for broken in (*message.check(target), *message.advice(target)):
            kind = held(message, broken, target)
            met.add(broken.rule)
            kinds[kind] = kinds.get(kind, 0) + 1
    return met, kinds


def test_hints_are_accepted_and_mean_the_same() -> None:
    met, kinds = judge(40, 1)
    assert len(met) > 8
    assert sum(kinds.values()) > 20


@pytest.mark.long
def test_every_row_that_carries_a_hint_is_met() -> None:
    met, kinds = judge(700, 2)
    listed = {
        str(row["id"])
        for target in ("pvc", "bmg")
        for table in ("message", "advice")
        for row in rows_for("lsc", table, target)
    }
    assert listed - met <= {"address-counter"}  # its place in the text has no address
    assert kinds["same"] > 250


@every("mask", MASKS)
@every("size", ["d32", "d64"])
def test_quads(mask: str, size: str) -> None:
    """The advice on adjacent elements is a vector at the first of them; on others there is none."""
    adjacent = mask in "xyzw"
    for text in (f"lsc_load_quad.ugm (M1,16) V100:{size}.{mask} flat[V12]:a64",
                 f"lsc_store_quad.ugm (M1,16) flat[V12]:a64 V100:{size}.{mask}"):  # fmt: skip
        message: Any = parse(text)
        advice = message.advice("bmg")
        assert [one.rule for one in advice] == ["plain-for-contiguous"] * adjacent
        for broken in (*message.check("bmg"), *advice):
            assert held(message, broken, "bmg") == "same"
        if adjacent:
            (plain,) = typed(advice[0].fix)
            first = "xyzw".index(mask[0]) * int(size[1:]) // 8
            assert (plain.op, plain.data.vector) == (message.op.removesuffix("_quad"), len(mask))
            assert plain.address.offset == first
            assert f"{size}x{len(mask)}" in str(plain) or len(mask) == 1


def test_an_advice_that_one_message_does_not_follow_is_given_in_two() -> None:
    """Bytes have no vectors; ugml has vectors, but not of three."""
    for text, target in (
        ("lsc_load_quad.ugm (M1,16) V100:d8.xy flat[V12]:a64", "bmg"),
        ("lsc_load_quad.ugml (M1,32) V100:d32.xyz flat[V12]:a64", "pvc"),
    ):
        message: Any = parse(text)
        (advice,) = message.advice(target)
        assert len(typed(advice.fix)) == 2
        assert held(message, advice, target) == "same"


def test_an_advice_that_no_message_follows_is_not_given() -> None:
    """32 channels take no vector of 4 qwords, so that 16 are not too few."""
    message: Any = parse("lsc_load.ugm (M1,16) V100:d64x4 flat[V12]:a64")
    assert message.advice("pvc") == ()
