"""Runs copies and DPAS on the machine, to see which copy leaves what which MMA reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import pycute_xe as cx
from pycute_xe.arch import Surface
from pycute_xe.atom import CopyAtom, MmaAtom
from pycute_xe.comparing import Feed
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.errors import LegalityError
from pycute_xe.machine import Memory, RegisterFile, block2d, dpas
from pycute_xe.machine.memory import packed, unpacked
from pycute_xe.numeric import Numeric, as_numeric

TARGETS = ("pvc", "bmg", "lnl", "ptl")
FILE = 1 << 14
OUT, OTHERS = 1 << 13, 3 << 12


@dataclass(frozen=True, eq=False)
class Product:
    """D = A B + C of one instruction, on the machine and with NumPy."""

    mma: MmaAtom

    def random(self, operand: str, shape: tuple[int, int]) -> np.ndarray:
        """Small whole numbers, so that every sum is exact."""
        kind = self.mma.operand_type(operand)
        least, most = (0, 8) if kind.kind == "unsigned" else (-3, 4)
        return np.random.default_rng(7).integers(least, most, shape)

    def registers_of(self, operand: str, matrix: np.ndarray) -> np.ndarray:
        """The bytes that DPAS reads, as the vISA manual lays operands out."""
        kind = self.mma.operand_type(operand)
        if operand == "B":
            per_dword = 32 // kind.bits
            k, n = matrix.shape
            matrix = matrix.reshape(k // per_dword, per_dword, n).transpose(0, 2, 1)
        return packed(matrix, kind)

    def run(self, registers: RegisterFile, held: dict[str, np.ndarray], **at: int) -> np.ndarray:
        """Run the instruction with operands in place ``at`` an offset, others written first."""
        free = OTHERS
        for operand in "ABC":
            if operand not in at:
                data = self.registers_of(operand, held[operand])
                registers.write(free, data)
                at[operand], free = free, free + -(-data.size // 64) * 64
        out = at.get("D", OUT)
        dpas.execute(registers, self.mma.op, dst=out, acc=at["C"], src1=at["B"], src2=at["A"])
        nbytes = self.mma.op.bytes_D
        got = unpacked(registers.read(out, nbytes, "the test"), self.mma.op.D)
        return got.reshape(self.mma.operand_shape("D"))

    def wanted(self, held: dict[str, np.ndarray]) -> np.ndarray:
        return held["A"] @ held["B"] + held["C"]

    def others(self, operand: str) -> dict[str, np.ndarray]:
        return {o: self.random(o, self.mma.operand_shape(o)) for o in "ABC" if o != operand}

    def step(self, operand: str) -> int:
        """Bytes between the places where an operand may start: what the machine accepts."""
        kind, cols = self.mma.operand_type(operand), self.mma.operand_shape(operand)[1]
        return 64 if operand == "B" else cols * kind.bits // 8


def memory_block(feed: Feed) -> tuple[int, int]:
    """Rows and bytes of a row in memory: from the operation's own fields."""
    copy = feed.copy
    if isinstance(copy, LegacyCopyAtom):
        rows, cols = copy.name.memory_shape
        return rows, cols * copy.name.bits // 8
    return copy.op.height, copy.op.width * copy.op.bits // 8


def operand_block(feed: Feed) -> tuple[int, int]:
    """Rows and columns of the block as a matrix of operand elements."""
    rows, nbytes = memory_block(feed)
    cols = nbytes * 8 // feed.mma.operand_type(feed.operand).bits
    return (cols, rows) if feed.order == "col" else (rows, cols)


def messages(copy: CopyAtom | LegacyCopyAtom) -> tuple[Any, ...]:
    """Messages with the register byte each starts at."""
    for target in TARGETS:
        try:
            parts = copy.messages(target)
        except LegalityError:
            continue
        starts = np.cumsum([0] + [64 * part.message.registers(target) for part in parts])
        return tuple(zip(parts, starts, strict=False))
    return ()


def surface_of(feed: Feed, memory: Memory, data: np.ndarray) -> Surface:
    rows, nbytes = memory_block(feed)
    return Surface(memory.place(data), nbytes, rows, nbytes)


def load(feed: Feed, matrix: np.ndarray) -> tuple[RegisterFile, int]:
    """Run the messages of a load on a matrix in memory; the registers, and bytes they fill."""
    stored = matrix.T if feed.order == "col" else matrix
    data = packed(np.ascontiguousarray(stored), feed.mma.operand_type(feed.operand))
    memory, registers, end = Memory(), RegisterFile(FILE), 0
    surface = surface_of(feed, memory, data)
    for part, start in messages(feed.copy):
        block2d.load(memory, registers, part.message, surface, part.x, part.y, int(start))
        end = int(start) + 64 * part.message.registers("bmg")
    return registers, end


def store(feed: Feed, registers: RegisterFile) -> np.ndarray:
    """Run the messages of a store on registers; the matrix they leave in memory."""
    rows, nbytes = memory_block(feed)
    memory = Memory()
    surface = surface_of(feed, memory, np.zeros(rows * nbytes, np.uint8))
    for part, start in messages(feed.copy):
        block2d.store(memory, registers, part.message, surface, part.x, part.y, int(start))
    data = memory.array(surface.base, (rows * nbytes,), np.dtype("u1"))
    stored = unpacked(data, feed.mma.operand_type("D")).reshape(rows, -1)
    return stored.T if feed.order == "col" else stored


def tile_origins(feed: Feed) -> list[tuple[int, int]]:
    (rows, cols), (height, width) = operand_block(feed), feed.mma.operand_shape(feed.operand)
    return list(product(range(0, rows, height), range(0, cols, width)))


def tile(feed: Feed, matrix: np.ndarray, origin: tuple[int, int]) -> np.ndarray:
    (y, x), (height, width) = origin, feed.mma.operand_shape(feed.operand)
    return matrix[y : y + height, x : x + width]


def is_free_on_the_machine(feed: Feed) -> bool:
    """Whether each tile is at some offset where DPAS, as it stands, gives NumPy's product."""
    return (_stores if feed.operand == "D" else _loads)(feed)


def _loads(feed: Feed) -> bool:
    run, operand = Product(feed.mma), feed.operand
    matrix, others = run.random(operand, operand_block(feed)), run.others(operand)
    registers, end = load(feed, matrix)
    results = []
    nbytes = run.registers_of(operand, tile(feed, matrix, (0, 0))).size
    for offset in range(0, end - nbytes + 1, run.step(operand)):
        results.append(run.run(registers, others, **{operand: offset}))
    wanted = [run.wanted(others | {operand: tile(feed, matrix, o)}) for o in tile_origins(feed)]
    return all(any(np.array_equal(got, want) for got in results) for want in wanted)


def _stores(feed: Feed) -> bool:
    run = Product(feed.mma)
    held, found = run.others("D"), []
    last, start = messages(feed.copy)[-1]
    end = int(start) + 64 * last.message.registers("bmg")
    for offset in range(0, end - feed.mma.op.bytes_D + 1, run.step("D")):
        registers = RegisterFile(FILE)
        registers.write(0, np.zeros(end, np.uint8))
        run.run(registers, held, D=offset)
        stored = store(feed, registers)
        for origin in tile_origins(feed):
            alone = np.zeros_like(stored)
            tile(feed, alone, origin)[:] = run.wanted(held)
            found += [origin] if np.array_equal(stored, alone) else []
    return sorted(found) == tile_origins(feed)


def product_is_right_after_slots(feed: Feed) -> bool:
    """Whether moving register elements along ``slots`` makes every tile's product right."""
    run, operand, count = Product(feed.mma), feed.operand, len(feed.tiles)
    nbytes = int(np.prod(feed.mma.operand_shape(operand))) * bits_of(feed) // 8
    others, registers = run.others(operand), RegisterFile(FILE)
    if operand == "D":
        for i in range(count):
            run.run(registers, others, D=i * nbytes)
        taken = registers.read(0, count * nbytes, "the test")
        last, start = messages(feed.copy)[-1]
        end = int(start) + 64 * last.message.registers("bmg")
        registers.write(0, moved(feed, taken, end))
        whole = np.block([[run.wanted(others)]])
        stored = store(feed, registers)
        return all(np.array_equal(tile(feed, stored, o), whole) for o in tile_origins(feed))
    matrix = run.random(operand, operand_block(feed))
    registers, end = load(feed, matrix)
    registers.write(0, moved(feed, registers.read(0, end, "the test"), count * nbytes))
    return sorted(feed.tiles) == tile_origins(feed) and all(
        np.array_equal(
            run.run(registers, others, **{operand: i * nbytes}),
            run.wanted(others | {operand: tile(feed, matrix, origin)}),
        )
        for i, origin in enumerate(feed.tiles)
    )


def bits_of(feed: Feed) -> int:
    return feed.mma.operand_type(feed.operand).bits


def moved(feed: Feed, data: np.ndarray, nbytes: int) -> np.ndarray:
    """Bytes after each element has gone where ``slots`` says."""
    kind = as_numeric(f"u{bits_of(feed)}")
    taken = unpacked(data, kind)
    slots = feed.slots
    table = slots if isinstance(slots, tuple) else [int(i) for i in cx.table(slots)]
    out = np.zeros(nbytes * 8 // kind.bits, dtype=taken.dtype)
    for source, destination in enumerate(table):
        if destination is not None:
            out[destination] = taken[source]
    return packed(out, kind)


def same_work_items(feed: Feed, read: int, written: int) -> bool:
    """Whether values keep their work-item, registers read and written in units of these widths."""
    bits, kind = bits_of(feed), feed.mma.operand_type(feed.operand)
    if read % bits or written % bits:
        return False
    copy, mma = (written, read) if feed.operand == "D" else (read, written)
    held = slots_on_the_machine(feed)
    run, shape = Product(feed.mma), feed.mma.operand_shape(feed.operand)
    count = shape[0] * shape[1]
    at = digits(count, lambda d: run.registers_of(feed.operand, d.reshape(shape)), kind)
    where = np.empty(count, dtype=np.int64)
    where[at] = np.arange(count)
    return all(
        np.array_equal(
            tile(feed, held, o) * bits // copy % 16, where.reshape(shape) * bits // mma % 16
        )
        for o in tile_origins(feed)
    )


@cache
def slots_on_the_machine(feed: Feed) -> np.ndarray:
    """The register element of the copy that each element of the block comes from or goes to."""
    shape, kind = operand_block(feed), feed.mma.operand_type(feed.operand)
    count = shape[0] * shape[1]
    if feed.operand == "D":
        last, start = messages(feed.copy)[-1]
        elements = (int(start) + 64 * last.message.registers("bmg")) * 8 // kind.bits

        def stored(numbers: np.ndarray) -> np.ndarray:
            registers = RegisterFile(FILE)
            registers.write(0, packed(numbers, feed.mma.op.D))
            return packed(np.ascontiguousarray(store(feed, registers)), feed.mma.op.D)

        return digits(elements, stored, kind).reshape(shape)

    def loaded(numbers: np.ndarray) -> np.ndarray:
        registers, end = load(feed, numbers.reshape(shape))
        return registers.read(0, end, "the test")

    held = digits(count, loaded, kind)
    where = np.empty(count, dtype=np.int64)
    where[held[held >= 0]] = np.flatnonzero(held >= 0)
    return where.reshape(shape)


def values_in_registers(copy: LegacyCopyAtom) -> np.ndarray:
    """The number in memory of the value that each register element holds, -1 for padding."""
    rows, cols = copy.name.memory_shape
    kind = as_numeric(f"u{copy.name.bits}")

    def loaded(tags: np.ndarray) -> np.ndarray:
        memory, registers, end = Memory(), RegisterFile(FILE), 0
        data = packed(tags, kind)
        surface = Surface(memory.place(data), data.size // rows, rows, data.size // rows)
        for part, start in messages(copy):
            block2d.load(memory, registers, part.message, surface, part.x, part.y, int(start))
            end = int(start) + 64 * part.message.registers("bmg")
        return registers.read(0, end, "the test")

    return digits(rows * cols, loaded, kind)


def digits(count: int, move: Callable[[np.ndarray], np.ndarray], kind: Numeric) -> np.ndarray:
    """Which of ``count`` elements arrives at each place, -1 for none: tags of 1 to 7 are moved."""
    found = 0
    for power in range(5):
        tags = np.arange(count) // 7**power % 7 + 1
        found = found + (unpacked(move(tags), kind).astype(np.int64) - 1) * 7**power
    return np.where(found < 0, -1, found)
