"""Linear copy atoms against CUTLASS's traits and assertions, SYCL's placement, and the machine."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.arch.lsc import Message, parse
from pycute_xe.atom import (
    CopyAtom,
    LinearCopyAtom,
    LinearOp,
    TiledCopy,
    parse_linear_op,
)
from pycute_xe.atom.linear_op import linear_names
from pycute_xe.bulk import numpy_dtype, table
from pycute_xe.errors import CoordError, CuteError, DTypeError, LegalityError, TargetError
from pycute_xe.facts import rows
from pycute_xe.layout import Layout
from pycute_xe.machine import Memory, RegisterFile
from pycute_xe.machine.lsc import execute
from pycute_xe.machine.slm import Slm

TARGETS = ("pvc", "bmg", "lnl", "ptl")
SIZES = (1, 2, 4, 8, 16, 32, 64)
# Sizes in bytes that the static assertions let pass, by those of S.
LEGAL = {
    "XE_1D_LOAD_GLOBAL": {
        1: (1, 2, 4, 8),
        2: (2, 4, 8, 16),
        4: (4, 8, 16, 32),
        8: (8, 16, 32, 64),
        16: (16, 32, 64),
        32: (32, 64),
        64: (64,),
    },
    "XE_1D_STORE_GLOBAL": {
        1: (1,),
        2: (1, 2),
        4: (1, 2, 4),
        8: (1, 2, 4, 8),
        16: (2, 4, 8, 16),
        32: (4, 8, 16, 32),
        64: (8, 16, 32, 64),
    },
    "XE_1D_LDSM": {
        1: SIZES,
        2: (2, 4, 8, 16, 32, 64),
        4: (4, 8, 16, 32, 64),
        8: (8, 16, 32, 64),
        16: (16, 32, 64),
        32: (32, 64),
        64: (64,),
    },
    "XE_1D_STSM": {
        1: (1,),
        2: (1, 2),
        4: (1, 2, 4),
        8: (1, 2, 4, 8),
        16: (1, 2, 4, 8, 16),
        32: (1, 2, 4, 8, 16, 32),
        64: SIZES,
    },
}
# Where the static assertions stand.
ASSERTED = "intel/sycl-tla 6601377, include/cute/arch/copy_xe.hpp"


def make(kind: str, s: int, d: int) -> LinearOp:
    return getattr(cx, kind)(f"u{8 * s}", f"u{8 * d}")


def legal() -> list[tuple[str, int, int]]:
    return [(kind, s, d) for kind, of in LEGAL.items() for s, ds in of.items() for d in ds]


def operations() -> list[LinearOp]:
    """Every operation whose types are legal, but for gathers that convert."""
    atomics = [cx.XE_ATOMIC(s, d) for s, d in ATOMIC]
    return [*(make(*case) for case in legal()), *map(cx.UniversalCopy, WORDS), *atomics]


WORDS = ("u8", "u16", "bf16", "u32", "f32", "u64", "u128", "u256", "u512")
ATOMIC = [(s, d) for s in ("f32", "f64", "s32") for d in ("f32", "f64", "s32", "u32", "s64", "u64")]


def atoms() -> Iterator[LinearCopyAtom]:
    """Every operation of elements in bytes, with every type of values that it takes."""
    for op in operations():
        for bits in (8, 16, 32, 64, 128, 256, 512):
            whole = (op.S, op.D) if op.is_block or op.kind in ("XE_ATOMIC", "UniversalCopy") else ()
            if all(t.bits % bits == 0 for t in (*whole, op.registers)):
                yield cx.make_copy_atom(op, f"u{bits}")


def runnable(atom: LinearCopyAtom) -> bool:
    """Whether hardware takes it, and values come as they are."""
    too_wide = atom.op.work_items == 1 and atom.op.registers.bits > 256
    return not too_wide and (atom.op.work_items == 16 or atom.op.kind != "XE_ATOMIC")


# ---------------------------------------------------------------- what the traits say


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(("name", "bits"), BITS)
def test_bits_of_the_traits(name: str, bits: dict[tuple[int, int], int]) -> None:
    atom = cx.get_atom(name)
    tv = atom.layout_ref_tv_bits
    assert {at: tv(*at) for at in bits} == bits


MEMORY = Layout((16, 16), (0, 1))


@pytest.mark.parametrize(
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


# ---------------------------------------------------------------- what the machine shows


def unit_bytes(atom: LinearCopyAtom) -> int:
    """Bytes of one of the atom's address ranges: the block, or what one work-item moves."""
    return atom.op.registers.bytes * atom.op.work_items


def starts(atom: LinearCopyAtom, base: int) -> list[int]:
    """The addresses in the message: one for a block, else one for each work-item, in no order."""
    if atom.op.work_items == 16:
        return [base]
    return [base + (7 * lane + 3) % 16 * 2 * unit_bytes(atom) for lane in range(16)]


class Run:
    """Memory, SLM and registers; data starts at register 8, addresses stand in the first eight."""

    def __init__(self, atom: LinearCopyAtom) -> None:
        self.atom = atom
        self.memory, self.registers = Memory(), RegisterFile(1 << 13)
        self.slm = Slm(32 * unit_bytes(atom)) if "SM" in atom.op.kind else None
        self.base = 0 if self.slm else self.memory.alloc(32 * unit_bytes(atom))

    def write(self, address: int, data: np.ndarray) -> None:
        (self.slm or self.memory).write(address, data)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        return (self.slm or self.memory).read(address, nbytes)

    def send(self, message: Message, element: int, at: int) -> None:
        kind = np.uint32 if message.address.bits == 32 else np.uint64
        moved = element * message.data.memory_bits // 8
        where = np.array(starts(self.atom, self.base), dtype=kind) + kind(moved)
        self.registers.write(0, where.view(np.uint8))
        execute(
            message,
            memory=self.memory,
            registers=self.registers,
            operands={"V1": 0, "V": at},
            slm=self.slm,
        )

    def move(self, move: str) -> int:
        """Send the atom's loads, or its stores, data from register 8 on; return its bytes."""
        at = 512
        for part in self.atom.messages("bmg"):
            if part.message.op == move:
                self.send(part.message, part.x, at)
                at += 64 * max(part.message.registers("bmg"), part.message.source_registers("bmg"))
        return at - 512


def tags(count: int, digit: int) -> np.ndarray:
    return (np.arange(count) // 255**digit % 255 + 1).astype(np.uint8)


def loaded(atom: LinearCopyAtom) -> np.ndarray:
    """Which byte of memory each register byte is after the load, -1 for the padding zeros.

    Bytes are numbered range by range, in the order of the work-items.
    """
    found: list[np.ndarray] = []
    for digit in (0, 1):
        run, size = Run(atom), unit_bytes(atom)
        addresses = starts(atom, run.base)
        content = tags(size * len(addresses), digit).reshape(-1, size)
        for address, data in zip(addresses, content, strict=True):
            run.write(address, data)
        nbytes = run.move("load")
        image = np.zeros(nbytes, dtype=np.int64)
        for byte in range(nbytes):
            # What a message leaves unwritten belongs to nobody.
            try:
                image[byte] = run.registers.read(512 + byte, 1, "the test")[0]
            except CuteError:
                break
        found.append(image)
    low, high = found
    return np.where(low > 0, low - 1 + (high - 1) * 255, -1)


def stored(atom: LinearCopyAtom) -> np.ndarray:
    """Which byte of memory each register byte went to, -1 for none."""
    image = np.full(1 << 12, -1, dtype=np.int64)
    found: list[np.ndarray] = []
    for digit in (0, 1):
        run, size = Run(atom), unit_bytes(atom)
        run.registers.write(512, tags(1 << 12, digit))
        nbytes = run.move("store")
        addresses = starts(atom, run.base)
        content = np.concatenate([run.read(address, size) for address in addresses])
        found.append(content.astype(np.int64) - 1)
    image[found[0] + found[1] * 255] = np.arange(found[0].size)
    return image[:nbytes]


def images() -> Iterator[tuple[LinearCopyAtom, np.ndarray]]:
    known: dict[tuple[LinearOp, str], np.ndarray] = {}
    for atom in filter(runnable, atoms()):
        for move, act in (("load", loaded), ("store", stored)):
            if move in atom.op.moves:
                if (atom.op, move) not in known:
                    known[atom.op, move] = act(atom)
                yield atom, known[atom.op, move]


IMAGES = list(images())


def ids(atom: LinearCopyAtom, work_item: int, column: int, bits: int) -> list[int]:
    """The numbers of the bytes of a place of the picture, or of a value that is owned."""
    first = column * bits // 8
    if atom.op.work_items == 1:
        first += work_item * unit_bytes(atom)
    return list(range(first, first + bits // 8))


def owned(atom: LinearCopyAtom, work_item: int) -> list[int]:
    """The bytes a work-item is said to own, in order; one that is alone says it of each."""
    said = atom.ownership()[work_item if atom.op.work_items == 16 else 0]
    bits = atom.value_type.bits
    return [byte for _, column in said for byte in ids(atom, work_item, column, bits)]


def read_as(image: np.ndarray, work_item: int, unit: int) -> list[int]:
    """The bytes that a work-item finds in registers read in units of so many bits, padding out."""
    size = unit // 8
    padded = np.concatenate([image, np.full(-image.size % (16 * size), -1)])
    mine = padded.reshape(-1, 16, size)[:, work_item].reshape(-1)
    return [int(byte) for byte in mine if byte >= 0]


def test_every_register_byte_is_where_the_picture_has_it() -> None:
    for atom, image in IMAGES:
        picture = atom.registers()
        size = picture.bits // 8
        assert len(picture.slots) * size <= image.size
        for slot, place in enumerate(picture.slots):
            held = image[slot * size : (slot + 1) * size].tolist()
            expected = [-1] * size if place is None else ids(atom, place[0], place[1], picture.bits)
            assert held == expected, (atom, slot)
        assert (image[len(picture.slots) * size :] == -1).all()
    assert len(IMAGES) > 300


def test_work_items_find_in_registers_what_the_units_say() -> None:
    for atom, image in IMAGES:
        bits = atom.registers().bits
        shown = [
            unit
            for unit in (8, 16, 32, 64)
            if unit % bits == 0
            and all(read_as(image, t, unit) == owned(atom, t) for t in range(16))
        ]
        assert atom.faithful_units == tuple(shown), atom


def placed_by_sycl(atom: LinearCopyAtom, work_item: int) -> list[int]:
    """group_load of a vec<S,N> without a data_placement: blocked, element by element."""
    element = min(atom.op.S.bytes, atom.op.D.bytes)
    vector = max(atom.op.S.bytes, atom.op.D.bytes) // element
    found: list[int] = []
    for i in range(vector):
        index = work_item * vector + i
        found += range(index * element, (index + 1) * element)
    return found


def test_faithful_is_what_a_work_item_ends_up_with() -> None:
    counts = {True: 0, False: 0}
    for atom, image in IMAGES:
        unit = atom.registers().unit_bits
        for work_item in range(16):
            found = read_as(image, work_item, unit)
            if atom.op.work_items == 16:
                assert found == placed_by_sycl(atom, work_item)
        holds = all(read_as(image, t, unit) == owned(atom, t) for t in range(16))
        assert atom.faithful == holds, atom
        assert any("t + 16 * v" in note for note in atom.notes) == (not holds), atom
        counts[holds] += 1
    assert counts == {True: 290, False: 92}


def test_a_copy_through_registers_is_a_copy() -> None:
    for word in WORDS[:-1]:
        run = Run(cx.get_atom(f"UniversalCopy<{word}>"))
        size = unit_bytes(run.atom)
        content = np.random.default_rng(1).integers(0, 256, 32 * size).astype(np.uint8)
        run.write(run.base, content)
        run.move("load")
        run.write(run.base, np.zeros(32 * size, dtype=np.uint8))
        run.move("store")
        for address in starts(run.atom, run.base):
            there = slice(address - run.base, address - run.base + size)
            assert np.array_equal(run.read(address, size), content[there])


NUMPY = {"f32": "f4", "f64": "f8", "s32": "i4", "u32": "u4", "s64": "i8", "u64": "u8"}


@pytest.mark.parametrize(("source", "kind"), ATOMIC)
def test_atomics_add_what_each_work_item_holds(source: str, kind: str) -> None:
    atom = cx.make_copy_atom(cx.XE_ATOMIC(source, kind))
    dtype = np.dtype(NUMPY[kind])
    (part,) = atom.messages("pvc")
    assert part.message.check("pvc") == ()
    assert part.message.dst is None
    memory, registers = Memory(), RegisterFile(1 << 12)
    base = memory.place(np.arange(16, dtype=dtype))
    # Work-items 4 and 5 meet at the last element, 0 adds to the first but one.
    index = [1, 0, 2, 3, 15, 15, 6, 7, 8, 9, 10, 11, 12, 13, 14, 4]
    where = np.array([base + i * dtype.itemsize for i in index], dtype=np.uint64)
    registers.write(0, where.view(np.uint8))
    added = (2 ** np.arange(16)).astype(dtype)
    image = np.zeros(256, dtype=np.uint8)
    picture = atom.registers()
    for slot, place in enumerate(picture.slots):
        if place is not None:
            lane, column = place
            size = picture.bits // 8
            value = added[lane : lane + 1].view(np.uint8)[column * size : (column + 1) * size]
            image[slot * size : (slot + 1) * size] = value
    registers.write(512, image)
    execute(part.message, memory=memory, registers=registers, operands={"V1": 0, "V": 512})
    expected = np.arange(16, dtype=dtype)
    for lane, i in enumerate(index):
        expected[i] += added[lane]
    assert np.array_equal(memory.array(base, (16,), dtype), expected)
    assert atom.faithful
    if source != kind:
        assert {place for place in picture.slots if place} == {(lane, 0) for lane in range(16)}
    assert any("converted" in note for note in atom.notes) == (source != kind)


# ---------------------------------------------------------------- messages and rules


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("kind", [name for name in linear_names() if name != "XE_ATOMIC"])
def test_types_below_a_byte(kind: str) -> None:
    for types in (("u4", "u4"), ("u4", "u8"), ("u8", "u4"), ("s2", "s2")):
        with pytest.raises(DTypeError, match="must be at least 8"):
            getattr(cx, kind)(*types)


# ---------------------------------------------------------------- names and mistakes


def test_names_read_back() -> None:
    for op in operations():
        assert parse_linear_op(str(op)) == op
        assert eval(repr(op), vars(cx)) == op
        atom = cx.get_atom(str(op))
        assert isinstance(atom, LinearCopyAtom)
        assert str(atom) == str(op)
        assert eval(repr(atom), vars(cx)) == atom
        assert pickle.loads(pickle.dumps(atom)) == copy.copy(atom) == atom


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("XE_1D_LOAD_GLOBAL<uint16_t, uint64_t>", cx.XE_1D_LOAD_GLOBAL("u16", "u64")),
        (" XE_1D_LOAD_GLOBAL <uint8_t,cutlass::uint128_t> ", None),
        ("XE_1D_LDSM<cutlass::uint128_t>", cx.XE_1D_LDSM("u128")),
        ("XE_1D_STSM<float>", cx.XE_1D_STSM("f32")),
        ("XE_ATOMIC<int>", cx.XE_ATOMIC("s32")),
        ("XE_ATOMIC<double,float>", cx.XE_ATOMIC("f64", "f32")),
        ("UniversalCopy<bf16>", cx.UniversalCopy("bfloat16")),
    ],
)
def test_names_in_the_words_of_cpp(name: str, op: LinearOp | None) -> None:
    if op is None:
        with pytest.raises(DTypeError, match="vector is 16, must be 1 or 2 or 4 or 8"):
            parse_linear_op(name)
    else:
        assert parse_linear_op(name) == op


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("XE_1D_LDMS<u32>", "XE_1D_LDSM<u32>"),
        ("XE1D_LOAD_GLOBAL<u16,u64>", "XE_1D_LOAD_GLOBAL<u16,u64>"),
        ("XE_1D_STORE_GLOBL<u16>", "XE_1D_STORE_GLOBAL<u16>"),
        ("XE_ATOMICS<f32>", "XE_ATOMIC<f32>"),
        ("UniversalCpy<f32>", "UniversalCopy<f32>"),
        ("xe_1d_stsm", "XE_1D_STSM"),
    ],
)
def test_misspelt_names(name: str, near: str) -> None:
    with pytest.raises(CuteError, match="no linear copy has this name") as caught:
        cx.get_atom(name)
    if name.isupper() or "<" in name:
        assert f"did you mean {near}" in str(caught.value)
    assert near.partition("<")[0] in str(caught.value)


@pytest.mark.parametrize("name", ["XE_1D_LDSM", "XE_1D_LDSM<>", "XE_1D_LDSM<u8,u8,u8>"])
def test_names_without_their_types(name: str) -> None:
    with pytest.raises(CuteError, match=r"one or two types|no such element type"):
        cx.get_atom(name)


def test_slips_are_refused_by_name() -> None:
    atom = cx.get_atom("XE_1D_LDSM<u32>")
    with pytest.raises(CoordError, match="the atom has 1 work-items"):
        atom.columns(1)
    with pytest.raises(CoordError, match="columns 0 to 0"):
        atom.owner_of(0, 1)
    with pytest.raises(DTypeError, match="64-bit values do not tile 32 bits"):
        cx.make_copy_atom(cx.XE_1D_LDSM("u32"), "u64")
    with pytest.raises(DTypeError, match="32-bit values do not tile 16 bits"):
        cx.get_atom("XE_1D_LOAD_GLOBAL<u16,u64>", "f32")
    with pytest.raises(CuteError, match="CopyAtom is no linear operation"):
        LinearCopyAtom(CopyAtom(cx.XE_LOAD_2D(16, 8, 16), cx.as_numeric("u16")), "u16")  # type: ignore[arg-type]
    with pytest.raises(CuteError, match="elements of many types"):
        cx.make_copy_atom(cx.XE_LOAD_2D(16, 8, 16))  # type: ignore[call-overload]
    with pytest.raises(CuteError, match="no linear copy"):
        LinearOp("XE_LOAD_2D", cx.as_numeric("u8"), cx.as_numeric("u8"))
    with pytest.raises(CuteError, match="only block-2D copies take strides"):
        cx.get_atom("XE_1D_LDSM<u32>", gmem_stride=("ld", 1))
    with pytest.raises(CuteError, match="only atoms of block-2D operations are tiled"):
        TiledCopy(atom, Layout((16, 1), (1, 0)), (1, 16), 1, 0)  # type: ignore[arg-type]
    assert LinearOp("XE_1D_LDSM", "u32", "uint32") == cx.XE_1D_LDSM("u32")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value_type", "words"),
    [
        ("XE_1D_LOAD_GLOBAL<u16,u64>", None, "element N * t + v"),
        ("XE_1D_LOAD_GLOBAL<u16,u64>", "u8", "first parts"),
        ("XE_1D_LOAD_GLOBAL<u32>", None, "without full_group"),
        ("XE_1D_LOAD_GLOBAL<u16>", None, "multiple of 4 bytes"),
        ("XE_1D_LDSM<u16>", None, "zeros above it"),
        ("XE_1D_LDSM<u64>", None, "a register apart"),
        ("XE_1D_LDSM<u32,u64>", None, "equal size only"),
        ("XE_ATOMIC<f32>", None, "drops the old value"),
        ("UniversalCopy<f32,f64>", None, "converted from S to D"),
        ("UniversalCopy<f32>", None, "slm"),
    ],
)
def test_what_the_notes_say(name: str, value_type: str | None, words: str) -> None:
    assert any(words in note for note in cx.get_atom(name, value_type).notes)


def test_notes_are_only_where_they_belong() -> None:
    assert cx.get_atom("XE_1D_LDSM<f32>").notes == ()
    assert len(cx.get_atom("XE_1D_LOAD_GLOBAL<u32>").notes) == 1
    assert cx.get_atom("XE_1D_STSM<u128>", "u32").notes == ()
    every = {str(row["text"]) for row in rows("linear", "note")}
    used = {note for atom in atoms() for note in atom.notes}
    used |= set(cx.get_atom("UniversalCopy<f32,f64>").notes)
    assert used == every


def test_packs_are_types_that_no_array_holds() -> None:
    for bits in (128, 256, 512):
        pack = cx.as_numeric(f"u{bits}")
        assert (pack.bits, pack.bytes, cx.as_numeric(f"uint{bits}")) == (bits, bits // 8, pack)
        assert eval(repr(pack), vars(cx)) == pack
        with pytest.raises(DTypeError, match="arrays do not hold packs"):
            numpy_dtype(pack)
