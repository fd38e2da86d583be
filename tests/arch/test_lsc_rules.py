"""Which messages are legal: each rule by an example, and the tables of the documents in full."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from every import every
from hypothesis import assume, given, settings, strategies as st
from lsc_strategies import block_messages, messages

from pycute_xe.arch import Block2D
from pycute_xe.arch.lsc import Block2DMessage, Message, operations, parse
from pycute_xe.errors import LegalityError
from pycute_xe.facts import rows

TARGETS = ("pvc", "bmg", "lnl", "ptl")
XE2 = TARGETS[1:]
CACHINGS = ("df", "uc", "ca", "wb", "wt", "st", "ri")
AT = "flat[V1,V2,V3,V4,V5,V6]"

# One breaker of each rule, the targets where it breaks, and the nearest legal text (None: none).
BROKEN: list[tuple[str, str, tuple[str, ...], str | None]] = [
    ("counter-target", "lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 bti(0x1) V2:d32", ("pvc",), None),
    ("counter-data", "lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 bti(0x1) V0:d32", TARGETS, None),
    (
        "counter-sfid",
        "lsc_apndctr_atomic_add.ugml (M1,16) V1:d32 bti(0x1) V2:d32",
        TARGETS,
        "lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 bti(0x1) V2:d32",
    ),
    (
        "counter-size",
        "lsc_apndctr_atomic_add.ugm (M1,16) V1:d64 bti(0x1) V2:d64",
        TARGETS,
        "lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 bti(0x1) V2:d32",
    ),
    (
        "address-counter",
        "lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 flat V2:d32",
        TARGETS,
        "lsc_apndctr_atomic_add.ugm (M1,16) V1:d32 bss(0x0) V2:d32",
    ),
    (
        "exec-mask",
        "lsc_load.ugm (M5,32) V2:d32 flat[V1]:a64",
        TARGETS,
        "lsc_load.ugm (M1,32) V2:d32 flat[V1]:a64",
    ),
    (
        "exec-mask",
        "lsc_load.ugm (M8_NM,16) V2:d32 flat[V1]:a64",
        TARGETS,
        "lsc_load.ugm (M5_NM,16) V2:d32 flat[V1]:a64",
    ),
    ("store-data", "lsc_store.ugm (M1,16) flat[V1]:a64 %null:d32", TARGETS, None),
    (
        "atomic-no-data",
        "lsc_atomic_iinc.ugm (M1,16) V3:d32 flat[V1]:a64 V2 %null",
        TARGETS,
        "lsc_atomic_iinc.ugm (M1,16) V3:d32 flat[V1]:a64 %null %null",
    ),
    ("atomic-data", "lsc_atomic_iadd.ugm (M1,16) V3:d32 flat[V1]:a64 %null %null", TARGETS, None),
    (
        "atomic-no-second",
        "lsc_atomic_iadd.ugm (M1,16) V3:d32 flat[V1]:a64 V4 V5",
        TARGETS,
        "lsc_atomic_iadd.ugm (M1,16) V3:d32 flat[V1]:a64 V4 %null",
    ),
    ("atomic-second", "lsc_atomic_icas.ugm (M1,16) V3:d32 flat[V1]:a64 V4 %null", TARGETS, None),
    (
        "transpose-exec",
        "lsc_load.ugm (M1,16) V3:d32x16t flat[V1]:a64",
        TARGETS,
        "lsc_load.ugm (M1,1) V3:d32x16t flat[V1]:a64",
    ),
    (
        "transpose-size",
        "lsc_load.ugm (M1,1) V3:d16x16t flat[V1]:a64",
        TARGETS,
        "lsc_load.ugm (M1,1) V3:d32x16t flat[V1]:a64",
    ),
    (
        "transpose-atomic",
        "lsc_atomic_iinc.ugm (M1,1) V3:d32x1t flat[V1]:a64 %null %null",
        TARGETS,
        "lsc_atomic_iinc.ugm (M1,1) V3:d32 flat[V1]:a64 %null %null",
    ),
    (
        "transpose-status",
        "lsc_load_status.ugm (M1,1) V3:d32x1t flat[V1]:a64",
        TARGETS,
        "lsc_load_status.ugm (M1,1) V3:d32 flat[V1]:a64",
    ),
    (
        "vector-size",
        "lsc_load.ugm (M1,16) V3:d16x2 flat[V1]:a64",
        TARGETS,
        "lsc_load.ugm (M1,16) V3:d16 flat[V1]:a64",
    ),
    (
        "vector-ugm-slm",
        "lsc_load.slm (M1,1) V3:d32x16 flat[V1]:a32",
        TARGETS,
        "lsc_load.slm (M1,1) V3:d32x8 flat[V1]:a32",
    ),
    (
        "vector-ugml",
        "lsc_load.ugml (M1,16) V3:d32x3 flat[V1]:a64",
        TARGETS,
        "lsc_load.ugml (M1,16) V3:d32x4 flat[V1]:a64",
    ),
    (
        "vector-atomic",
        "lsc_atomic_iinc.ugm (M1,16) V3:d32x2 flat[V1]:a64 %null %null",
        TARGETS,
        "lsc_atomic_iinc.ugm (M1,16) V3:d32 flat[V1]:a64 %null %null",
    ),
    (
        "data-registers",
        "lsc_load.ugm (M1,32) V3:d32x8 flat[V1]:a64",
        TARGETS,
        "lsc_load.ugm (M1,16) V3:d32x8 flat[V1]:a64",
    ),
    (
        "quad-store-mask",
        "lsc_store_quad.ugm (M1,16) flat[V1]:a64 V3:d32.xzw",
        TARGETS,
        "lsc_store_quad.ugm (M1,16) flat[V1]:a64 V3:d32.xyzw",
    ),
    (
        "address-a16",
        "lsc_load.ugm (M1,16) V3:d32 flat[V1]:a16",
        TARGETS,
        "lsc_load.ugm (M1,16) V3:d32 flat[V1]:a32",
    ),
    (
        "address-a64-slm",
        "lsc_load.slm (M1,16) V3:d32 flat[V1]:a64",
        TARGETS,
        "lsc_load.slm (M1,16) V3:d32 flat[V1]:a32",
    ),
    (
        "address-slm-flat",
        "lsc_load.slm (M1,16) V3:d32 bti(0x1)[V1]:a32",
        TARGETS,
        "lsc_load.slm (M1,16) V3:d32 flat[V1]:a32",
    ),
    (
        "address-stateful-a32",
        "lsc_load.ugm (M1,16) V3:d32 bti(0x1)[V1]:a64",
        TARGETS,
        "lsc_load.ugm (M1,16) V3:d32 bti(0x1)[V1]:a32",
    ),
    (
        "address-bti",
        "lsc_load.ugm (M1,16) V3:d32 bti(0x100)[V1]:a32",
        TARGETS,
        "lsc_load.ugm (M1,16) V3:d32 bti(0xff)[V1]:a32",
    ),
    (
        "offset-a16-max",
        "lsc_load.slm (M1,16) V3:d32 flat[V1+0x8000]:a16",
        TARGETS,
        "lsc_load.slm (M1,16) V3:d32 flat[V1+0x8000]:a32",
    ),
    (
        "offset-a16-min",
        "lsc_load.slm (M1,16) V3:d32 flat[V1-0x8000]:a16",
        TARGETS,
        "lsc_load.slm (M1,16) V3:d32 flat[V1-0x8000]:a32",
    ),
    (
        "scale-power",
        "lsc_load.ugm (M1,16) V3:d32 flat[6*V1]:a64",
        TARGETS,
        "lsc_load.ugm (M1,16) V3:d32 flat[8*V1]:a64",
    ),
    (
        "pitch-max",
        "lsc_load_strided.ugm (M1,16) V3:d32 flat[V1,0x10000]:a64",
        TARGETS,
        "lsc_load_strided.ugm (M1,16) V3:d32 flat[V1,0xffff]:a64",
    ),
    (
        "pitch-min",
        "lsc_load_strided.ugm (M1,16) V3:d32 flat[V1,-0x4]:a64",
        TARGETS,
        "lsc_load_strided.ugm (M1,16) V3:d32 flat[V1,0x0]:a64",
    ),
    (
        "atomic-size",
        "lsc_atomic_iinc.ugm (M1,16) V3:d16 flat[V1]:a64 %null %null",
        TARGETS,
        "lsc_atomic_iinc.ugm (M1,16) V3:d16u32 flat[V1]:a64 %null %null",
    ),
    (
        "atomic-slm-d64",
        "lsc_atomic_iinc.slm (M1,16) V3:d64 flat[V1]:a32 %null %null",
        TARGETS,
        "lsc_atomic_iinc.slm (M1,16) V3:d32 flat[V1]:a32 %null %null",
    ),
    (
        "atomic-float-slm",
        "lsc_atomic_fadd.slm (M1,16) V3:d32 flat[V1]:a32 V2 %null",
        TARGETS,
        "lsc_atomic_fadd.ugm (M1,16) V3:d32 flat[V1]:a32 V2 %null",
    ),
    (
        "caching-load",
        "lsc_load.ugm.wb.uc (M1,16) V3:d32 flat[V1]:a64",
        TARGETS,
        "lsc_load.ugm.uc.uc (M1,16) V3:d32 flat[V1]:a64",
    ),
    (
        "caching-store",
        "lsc_store.ugm.ca.wb (M1,16) flat[V1]:a64 V3:d32",
        TARGETS,
        "lsc_store.ugm.uc.wb (M1,16) flat[V1]:a64 V3:d32",
    ),
    (
        "caching-atomic",
        "lsc_atomic_iinc.ugm.ca.wb (M1,16) V3:d32 flat[V1]:a64 %null %null",
        TARGETS,
        "lsc_atomic_iinc.ugm.uc.wb (M1,16) V3:d32 flat[V1]:a64 %null %null",
    ),
    (
        "caching-ugml",
        "lsc_load.ugml.ca.ca (M1,16) V3:d32 flat[V1]:a64",
        ("pvc",),
        "lsc_load.ugml (M1,16) V3:d32 flat[V1]:a64",
    ),
    (
        "caching-slm",
        "lsc_load.slm.uc.uc (M1,16) V3:d32 flat[V1]:a32",
        TARGETS,
        "lsc_load.slm (M1,16) V3:d32 flat[V1]:a32",
    ),
    (
        "caching-prefetch",
        "lsc_load.ugm.uc.uc (M1,16) %null:d32 flat[V1]:a64",
        TARGETS,
        "lsc_load.ugm.uc.ca (M1,16) %null:d32 flat[V1]:a64",
    ),
    (
        "ugml-target",
        "lsc_load.ugml (M1,16) V3:d32 flat[V1]:a64",
        XE2,
        "lsc_load.ugm (M1,16) V3:d32 flat[V1]:a64",
    ),
    (
        "block2d-sfid",
        f"lsc_load_block2d.slm (M1,1) V9:d16.1x16x8nn {AT}",
        TARGETS,
        f"lsc_load_block2d.ugm (M1,1) V9:d16.1x16x8nn {AT}",
    ),
]


# 16 elements of an address are at least 16 registers.
ALSO = {"vector-ugm-slm": {"data-registers"}}


@every(("rule", "text", "targets", "legal"), BROKEN)
@every("target", TARGETS)
@pytest.mark.long
def test_each_rule(
    rule: str, text: str, targets: tuple[str, ...], legal: str | None, target: str
) -> None:
    """The breaker breaks it and nothing else, and the nearest legal message is the one meant."""
    message = parse(text)
    broken = {b.rule for b in message.check(target)}
    assert (rule in broken) == (target in targets)
    if target not in targets:
        return
    if "apndctr" in text and target == "pvc":
        legal, broken = None, broken - {"counter-target"} | {rule}
    xe2_ugml = ".ugml" in text and target in XE2
    assert broken - ALSO.get(rule, set()) - ({"ugml-target"} if xe2_ugml else set()) <= {rule}
    if xe2_ugml:
        assert parse(str(message.nearest(target))).check(target) == ()
    elif legal is None:
        with pytest.raises(LegalityError, match=r"nearest\(message=.*must be"):
            message.nearest(target)
    else:
        assert str(message.nearest(target)) == legal


def test_every_rule_has_a_breaker() -> None:
    found = (row for table in ("message", "block") for row in rows("lsc", table))
    # A rule of DG2 alone has its breaker among the messages on DG2 (test_lsc_values.py).
    known = {row["id"] for row in found if row.get("targets") != ("dg2",)}
    assert {rule for rule, *_ in BROKEN} == known


def test_a_rule_says_who_says_so_and_what_to_do() -> None:
    found = parse("lsc_load.ugm (M1,16) V3:d32x16t flat[V1]:a64").check("pvc")
    assert [str(b).split(" [")[0] for b in found] == [
        "error transpose-exec: exec size is 16, must be 1"
    ]
    assert "vISA manual, LSC_UNTYPED.md" in found[0].source
    assert "the nearest is lsc_load.ugm (M1,1) V3:d32x16t flat[V1]:a64" in found[0].fix


def test_all_broken_rules_are_listed() -> None:
    found = parse("lsc_atomic_fadd.slm.ca.ca (M1,16) V3:d64x4t bti(0x1ff)[3*V1]:a64 V4 V5").check(
        "pvc"
    )
    assert {b.rule for b in found} == {
        "atomic-no-second",
        "transpose-exec",
        "transpose-atomic",
        "vector-atomic",
        "address-a64-slm",
        "address-slm-flat",
        "address-stateful-a32",
        "address-bti",
        "scale-power",
        "atomic-slm-d64",
        "atomic-float-slm",
        "caching-atomic",
        "caching-slm",
    }
    assert [b.level for b in found] == ["error"] * 12 + ["warning"]


# The table of CachingL1 in the vISA manual; atomics as in the ESIMD functions manual.
BOTH = {"df.df", "uc.uc", "st.uc"}
LOADS = BOTH | {"uc.ca", "ca.uc", "ca.ca", "st.ca", "ri.ca"}
STORES = BOTH | {"uc.wb", "wt.uc", "wt.wb", "st.wb", "wb.wb"}
ATOMICS = {"df.df", "uc.uc", "uc.wb"}
BODIES = {
    "load": ("V3:d32 flat[V1]:a", ""),
    "store": ("flat[V1]:a", " V3:d32"),
    "atomic_iadd": ("V3:d32 flat[V1]:a", " V4 %null"),
    "load_block2d": (f"V9:d16.1x16x8nn {AT}", ""),
    "store_block2d": (f"{AT} V9:d16.16x8nn", ""),
}


@pytest.mark.parametrize("op", BODIES)
@pytest.mark.parametrize("target", TARGETS)
def test_caching_pairs(op: str, target: str) -> None:
    allowed = {"l": LOADS, "s": STORES, "a": ATOMICS}[op[0]]
    if op[0] == "l" and target in XE2:
        allowed = allowed | {"ri.ri"}
    units = ("ugm",) if "block2d" in op else ("ugm", "ugml", "slm")
    for l1, l3, unit in product(CACHINGS, CACHINGS, units):
        before, after = BODIES[op]
        bits = "" if "block2d" in op else "32" if unit == "slm" else "64"
        size = 1 if "block2d" in op else 16
        broken = parse(f"lsc_{op}.{unit}.{l1}.{l3} (M1,{size}) {before}{bits}{after}").check(target)
        legal = f"{l1}.{l3}" in (
            {"df.df"} if unit == "slm" or (unit, target) == ("ugml", "pvc") else allowed
        )
        assert legal == all(b.level == "warning" for b in broken)
        assert legal or all(b.rule.startswith("caching-") for b in broken if b.level == "error")


@pytest.mark.parametrize("target", [*TARGETS, "dg2"])
def test_three_components_transposed_are_told_of_one_channel_everywhere(target: str) -> None:
    broken = parse("lsc_load.ugm (M1, 8) V13:d32x3t flat[V12]:a64").check(target)
    assert {rule.rule for rule in broken if rule.level == "error"} == {"transpose-exec"}
    assert all("d32x3t" in rule.fix for rule in broken)


def test_a_vector_in_registers_of_32_bytes_is_cut_where_one_of_them_begins() -> None:
    cut = parse("lsc_load.ugm (M1, 8) V1:d64x8 flat[V12]:a64").check("dg2")
    assert ["V1.256:d64x4" in rule.fix for rule in cut] == [True]


def test_atomics_take_the_operands_of_the_table() -> None:
    """Of every atomic with 0, 1 and 2 operands, just the count of the table LscSubOp is legal."""
    for name, op in operations().items():
        if op.kind != "atomic":
            continue
        legal = [
            not parse(f"lsc_{name}.ugm (M1,16) V1:d32 flat[V2]:a64 {given}").check("pvc")
            for given in ("%null %null", "V3 %null", "V3 V4", "%null V4")
        ]
        assert legal == [op.extra == count for count in range(3)] + [False]


def test_block_2d_messages_keep_their_own_rules() -> None:
    """Sizes are judged by the rows of block2d.toml, one for one."""
    for block in (
        Block2D("store", 16, 16, 16),
        Block2D("load", 16, 8, 8, transpose=True),
        Block2D("prefetch", 32, 33, 16, 4),
        Block2D("load", 8, 6, 2, vnni=True),
    ):
        names: Any = {"load": {"dst": "V1"}, "store": {"src1": "V1"}, "prefetch": {}}[block.op]
        message = Block2DMessage(block, **names)
        for target in TARGETS:
            assert message.check(target) == block.broken_rules(target) != ()


def test_numbers_in_a_block_2d_message_are_judged_too() -> None:
    """Width, height and pitch are given minus 1; x counts elements."""
    at = "lsc_load_block2d.ugm (M1,1) V9:d16.1x16x8nn "
    legal = "flat[0x1000,0x7f,0x3f,0x7f,0x4,0x0]"
    assert parse(at + legal).check("bmg") == ()
    for surface, rule in (
        ("flat[0x1008,0x7f,0x3f,0x7f,0x4,0x0]", "base-64"),
        ("flat[0x1000,0x80,0x3f,0x7f,0x4,0x0]", "width-4"),
        ("flat[0x1000,0x7f,V3,0x3f,0x4,0x0]", "pitch-covers-width"),
        ("flat[V1,V2,V3,0x80,0x4,0x0]", "pitch-4"),
        ("flat[V1,V2,V3,V4,0x1,0x0]", "x-d16"),
        ("flat[V1,0x1000000,V3,V4,0x4,0x0]", "width-max"),
    ):
        message = parse(at + surface)
        assert rule in {b.rule for b in message.check("bmg")}, surface
        if rule != "width-max":
            assert message.nearest("bmg").check("bmg") == ()
    wide = parse(at + "flat[V1,0x7f,V3,0x3f,0x4,V6]").nearest("bmg")
    assert str(wide) == at + "flat[V1,0x7f,V3,0x7f,0x4,V6]"


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        # another data size, or another unit: the caching turns the scale
        (
            "lsc_atomic_iadd.slm (M1,16) V3:d64 flat[V1]:a32 V2 %null",
            "lsc_atomic_iadd.slm (M1,16) V3:d32 flat[V1]:a32 V2 %null",
        ),
        (
            "lsc_atomic_iadd.slm.uc.wb (M1,16) V3:d64 flat[V1]:a32 V2 %null",
            "lsc_atomic_iadd.ugm.uc.wb (M1,16) V3:d64 flat[V1]:a32 V2 %null",
        ),
    ],
)
def test_the_cheapest_of_all_units(text: str, legal: str) -> None:
    assert str(parse(text).nearest("pvc")) == legal


@settings(max_examples=settings().max_examples // 2)
@given(messages(), st.sampled_from(TARGETS))
def test_the_nearest_message_is_legal(message: Message, target: str) -> None:
    broken = message.check(target)
    missing = {"store-data", "atomic-data", "atomic-second", "counter-data", "counter-target"}
    if {b.rule for b in broken} & missing:
        with pytest.raises(LegalityError):
            message.nearest(target)
        return
    found = message.nearest(target)
    assert found.check(target) == ()
    assert (found == message) == (broken == ())
    kept = ["op", "dst", "predicate"]
    if "exec-mask" not in {b.rule for b in broken}:
        kept.append("exec_mask")
    assert all(getattr(found, name) == getattr(message, name) for name in kept)
    assert found.exec_mask.endswith("_NM") == message.exec_mask.endswith("_NM")
    assert found.nearest(target) == found


@settings(max_examples=settings().max_examples // 3)
@given(block_messages(), st.sampled_from(TARGETS))
def test_the_nearest_block_message_is_legal(message: Block2DMessage, target: str) -> None:
    numbers = [value for value in message.surface[1:] if isinstance(value, int)]
    assume(all(value < 2**24 - 64 for value in numbers))
    assume(not isinstance(message.surface[0], int) or message.surface[0] < 2**63)
    found = message.nearest(target)
    assert found.check(target) == ()
    assert (found == message) == (message.check(target) == ())
    kept = ("dst", "src1", "predicate", "exec_mask", "y")
    assert all(getattr(found, name) == getattr(message, name) for name in kept)
    assert found.block.op == message.block.op


@given(st.sampled_from(list(BODIES)), st.sampled_from(CACHINGS), st.sampled_from(CACHINGS))
def test_a_caching_that_is_wrong_is_all_that_changes(op: str, l1: str, l3: str) -> None:
    before, after = BODIES[op]
    bits, size = ("", 1) if "block2d" in op else ("64", 16)
    message = parse(f"lsc_{op}.ugm.{l1}.{l3} (M1,{size}) {before}{bits}{after}")
    found = message.nearest("bmg")
    assert replace(found, l1=l1, l3=l3) == message
