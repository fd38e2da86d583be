"""What linear copies leave in registers, found by tagged bytes on the machine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from every import every
from linear_cases import (
    ATOMIC,
    WORDS,
    atoms,
    runnable,
)

import pycute_xe as cx
from pycute_xe.arch.lsc import Message
from pycute_xe.atom import LinearCopyAtom, LinearOp
from pycute_xe.errors import CuteError
from pycute_xe.machine import Memory, RegisterFile
from pycute_xe.machine.lsc import execute
from pycute_xe.machine.slm import Slm


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


@every(("source", "kind"), ATOMIC)
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
