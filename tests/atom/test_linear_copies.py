"""Linear copy atoms against CUTLASS's traits and assertions, SYCL's placement, and the machine."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from every import every
from linear_cases import (
    ASSERTED,
    LEGAL,
    SIZES,
    TARGETS,
    atoms,
    legal,
    make,
    operations,
)

import pycute_xe as cx
from pycute_xe.arch.lsc import parse
from pycute_xe.atom.linear_op import linear_names
from pycute_xe.bulk import table
from pycute_xe.errors import DTypeError, LegalityError, TargetError
from pycute_xe.facts import rows
from pycute_xe.layout import Layout

# ---------------------------------------------------------------- what the traits say


@every(
    ("name", "held"),
    [
        ("XE_1D_LOAD_GLOBAL<u32>", {0: (0,), 1: (1,), 7: (7,), 15: (15,)}),
        ("XE_1D_LOAD_GLOBAL<u16,u32>", {0: (0, 16), 1: (1, 17), 15: (15, 31)}),
        ("XE_1D_LOAD_GLOBAL<u16,u64>", {0: (0, 16, 32, 48), 9: (9, 25, 41, 57)}),
        ("XE_1D_STORE_GLOBAL<u64,u16>", {3: (3, 19, 35, 51), 15: (15, 31, 47, 63)}),
        ("XE_1D_LOAD_GLOBAL<u8,u64>", {2: (2, 18, 34, 50, 66, 82, 98, 114)}),
        ("XE_1D_STORE_GLOBAL<u128,u64>", {0: (0, 16), 15: (15, 31)}),
        ("XE_1D_LDSM<u32>", {0: (0,)}),
        ("XE_1D_LDSM<u32,u128>", {0: (0, 1, 2, 3)}),
        ("XE_1D_STSM<u64,u8>", {0: (0, 1, 2, 3, 4, 5, 6, 7)}),
        ("XE_ATOMIC<double>", {0: (0,)}),
        ("UniversalCopy<u128>", {0: (0,)}),
    ],
)
def test_who_owns_what(name: str, held: dict[int, tuple[int, ...]]) -> None:
    atom = cx.get_atom(name)
    for work_item, elements in held.items():
        assert atom.ownership()[work_item] == tuple((0, e) for e in elements)
        assert atom.columns(work_item) == elements
        for value, element in enumerate(elements):
            assert atom.owner_of(0, element) == (work_item, value)
    assert len(atom.ownership()) == (16 if "GLOBAL" in name else 1)
    assert atom.thr_id == (Layout(16, 1) if "GLOBAL" in name else Layout(1, 0))


# (work-item, index in its second mode) → bit, as read off copy_traits_xe.hpp: of the side that
# work-items own the vector comes first in that mode, then the bits of an element.
BITS = [
    ("XE_1D_LOAD_GLOBAL<u16,u64>", {(0, 0): 0, (1, 1): 272, (2, 5): 289, (15, 63): 1023}),
    ("XE_1D_LOAD_GLOBAL<u8,u32>", {(0, 4): 1, (1, 3): 392, (15, 31): 511, (3, 6): 281}),
    ("XE_1D_STORE_GLOBAL<u64,u32>", {(1, 0): 32, (1, 1): 544, (1, 2): 33, (15, 63): 1023}),
    ("XE_1D_LOAD_GLOBAL<f32>", {(0, 31): 31, (1, 0): 32, (15, 31): 511}),
    ("XE_1D_LDSM<u32,u128>", {(0, 0): 0, (0, 100): 100, (0, 127): 127}),
]


@every(("name", "bits"), BITS)
def test_bits_of_the_traits(name: str, bits: dict[tuple[int, int], int]) -> None:
    atom = cx.get_atom(name)
    tv = atom.layout_ref_tv_bits
    assert {at: tv(*at) for at in bits} == bits


MEMORY = Layout((16, 16), (0, 1))


@every(
    ("name", "src", "dst", "ref"),
    [
        ("XE_1D_LOAD_GLOBAL<u16,u64>", MEMORY, "own", "own"),
        ("XE_1D_STORE_GLOBAL<u64,u16>", "own", MEMORY, "own"),
        ("XE_1D_LDSM<u16,u64>", Layout((1, 64), (0, 1)), Layout((1, 64), (0, 1)), "src"),
        ("XE_1D_STSM<u64,u16>", Layout((1, 64), (0, 1)), Layout((1, 64), (0, 1)), "src"),
        ("XE_ATOMIC<f32,f64>", Layout((1, 32), (0, 1)), Layout((1, 64), (0, 1)), "src"),
        ("XE_ATOMIC<f64,f32>", Layout((1, 64), (0, 1)), Layout((1, 32), (0, 1)), "src"),
        ("UniversalCopy<u16,u32>", Layout((1, 16), (0, 1)), Layout((1, 32), (0, 1)), "src"),
    ],
)
def test_both_sides_in_bits(name: str, src: Any, dst: Any, ref: str) -> None:
    atom = cx.get_atom(name)
    own = Layout((16, (4, 16)), (16, (256, 1)))
    src, dst = (own if side == "own" else side for side in (src, dst))
    assert atom.layout_src_tv_bits == src
    assert atom.layout_dst_tv_bits == dst
    assert atom.layout_ref_tv_bits == {"own": own, "src": src}[ref]


@pytest.mark.long
def test_values_are_bits_counted_in_values() -> None:
    """Value v starts where bit v * width of the bit map does, both sides, every type of values."""
    seen = 0
    for atom in atoms():
        bits = atom.value_type.bits
        for side in ("src", "dst", "ref"):
            in_bits = getattr(atom, f"layout_{side}_tv_bits")
            in_values = getattr(atom, f"layout_{side}_tv")
            starts = {int(bit) // bits for bit in table(in_bits)}
            assert {int(value) for value in table(in_values)} == starts
            threads, values = (cx.size(mode) for mode in in_values)
            assert (threads, values * bits) == tuple(cx.size(mode) for mode in in_bits)
        seen += 1
    assert seen > 300


# ---------------------------------------------------------------- messages and rules


@every(
    ("name", "texts"),
    [
        ("XE_1D_LDSM<u32,u128>", ["lsc_load.slm (M1,16) V:d32x4 flat[V1]:a32"]),
        ("XE_1D_LDSM<f32>", ["lsc_load.slm (M1,16) V:d32 flat[V1]:a32"]),
        ("XE_1D_LDSM<bf16>", ["lsc_load.slm (M1,16) V:d16u32 flat[V1]:a32"]),
        ("XE_1D_STSM<u8>", ["lsc_store.slm (M1,16) flat[V1]:a32 V:d8u32"]),
        ("XE_1D_STSM<u64>", ["lsc_store.slm (M1,16) flat[V1]:a32 V:d32x2"]),
        ("XE_ATOMIC<float>", ["lsc_atomic_fadd.ugm (M1,16) %null:d32 flat[V1]:a64 V %null"]),
        ("XE_ATOMIC<double>", ["lsc_atomic_fadd.ugm (M1,16) %null:d64 flat[V1]:a64 V %null"]),
        ("XE_ATOMIC<int>", ["lsc_atomic_iadd.ugm (M1,16) %null:d32 flat[V1]:a64 V %null"]),
        (
            "UniversalCopy<u8,u32>",
            [
                "lsc_load.ugm (M1,16) V:d8u32 flat[V1]:a64",
                "lsc_store.ugm (M1,16) flat[V1]:a64 V:d32",
            ],
        ),
        ("XE_1D_LOAD_GLOBAL<u8>", ["lsc_load.ugm (M1,1) V:d32x4t flat[V1]:a64"]),
        ("XE_1D_LOAD_GLOBAL<u32>", ["lsc_load.ugm (M1,1) V:d32x16t flat[V1]:a64"]),
        ("XE_1D_STORE_GLOBAL<u128,u16>", ["lsc_store.ugm (M1,1) flat[V1]:a64 V:d64x32t"]),
        ("XE_1D_STORE_GLOBAL<u256>", ["lsc_store.ugm (M1,1) flat[V1]:a64 V:d64x32t"] * 2),
    ],
)
def test_the_messages(name: str, texts: list[str]) -> None:
    for target in TARGETS:
        parts = cx.get_atom(name).messages(target)
        assert [str(part.message) for part in parts] == texts
        assert [part.x for part in parts] == [
            32 * i if len(set(texts)) == 1 else 0 for i in range(len(texts))
        ]
        for text, part in zip(texts, parts, strict=True):
            assert parse(text) == part.message
            assert str(part) == f"{text} at element {part.x}"
            assert part.y == 0


def test_every_operation_is_legal_everywhere_or_refused_by_a_rule_with_its_source() -> None:
    refused = set()
    sources = {row["id"]: row["source"] for row in rows("lsc", "message")}
    for op, target in product(operations(), TARGETS):
        atom = cx.make_copy_atom(op)
        if op.work_items == 1 and op.registers.bits == 512:
            with pytest.raises(LegalityError) as caught:
                atom.messages(target)
            for rule in ("vector-ugm-slm", "data-registers"):
                assert f"{rule}: " in str(caught.value)
                assert str(sources[rule]) in str(caught.value)
            refused.add(op)
            continue
        for part in atom.messages(target):
            assert part.message.check(target) == ()
    # Seven with each of LDSM and STSM, and one gather.
    assert len(refused) == 15
    for target, error in (("dg2", TargetError), ("xe9", TargetError)):
        with pytest.raises(error):
            cx.get_atom("XE_1D_LDSM<u32>").messages(target)


# ---------------------------------------------------------------- static assertions


@pytest.mark.parametrize("kind", LEGAL)
def test_sizes_that_the_static_assertions_refuse(kind: str) -> None:
    allowed = {(s, d) for k, s, d in legal() if k == kind}
    for s, d in product(SIZES, SIZES):
        if (s, d) in allowed:
            assert make(kind, s, d).kind == kind
        else:
            with pytest.raises(DTypeError, match=ASSERTED) as caught:
                make(kind, s, d)
            given, use, names = re.findall(
                r"with ([SD]) = \w+, use ([SD]) = (.*)", str(caught.value)
            )[0]
            assert {given, use} == {"S", "D"}
            for name in names.split(" or "):
                assert (s, int(name[1:]) // 8) in allowed


def test_what_atomics_add() -> None:
    for numeric in ("u32", "s64", "f16", "bf16", "u8", "tf32", "u128"):
        with pytest.raises(DTypeError, match=rf"must be f32 or f64 or s32 \[{ASSERTED}"):
            cx.XE_ATOMIC(numeric)
    with pytest.raises(DTypeError, match=r"D is f16, must be .* \[SYCL 2020, 4.15.3"):
        cx.XE_ATOMIC("f32", "f16")


@every("kind", [name for name in linear_names() if name != "XE_ATOMIC"])
def test_types_below_a_byte(kind: str) -> None:
    for types in (("u4", "u4"), ("u4", "u8"), ("u8", "u4"), ("s2", "s2")):
        with pytest.raises(DTypeError, match="must be at least 8"):
            getattr(cx, kind)(*types)
