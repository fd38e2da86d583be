"""Time single messages on the machine, and a transpose through shared memory: the best of several.

Targets: a block-2D load of 32x32 16-bit elements below 100 µs, once its index table is cached; a
16-thread transpose of 128x128 half elements through shared local memory below 1 s.
"""

from __future__ import annotations

import argparse
import runpy
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pycute_xe.arch import Block2D, Surface
from pycute_xe.arch.lsc import Address, Block2DMessage, DataType, Message
from pycute_xe.machine import Memory, Progress, RegisterFile, Slm, block2d
from pycute_xe.machine.lsc import execute
from pycute_xe.machine.workgroup import BarrierArrive, BarrierWait, Meeting, run

Work = Callable[[], object]
SIDE, THREADS = 128, 16


def seconds(work: Work, repeat: int, number: int) -> float:
    """Seconds of one call: the fastest of several rounds of several calls."""
    work()
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            work()
        best = min(best, (time.perf_counter() - start) / number)
    return best


def block_loads() -> dict[str, Work]:
    """The load of the target, plain, packed, over an edge, and as a whole instruction."""
    memory, registers = Memory(), RegisterFile(256 * 64)
    rows = np.random.default_rng(0).integers(0, 256, (256, 512), dtype=np.uint8)
    surface = Surface(memory.place(rows), 512, 256, 512)
    plain, packed = Block2D("load", 16, 32, 32), Block2D("load", 16, 32, 32, vnni=True)
    encoded = (surface.base, 511, 255, 511)
    message = Block2DMessage(plain, dst="V1", surface=encoded, x=32, y=64)
    store = Block2D("store", 16, 8, 32)

    def load(block: Block2D, x: int, y: int) -> Work:
        return lambda: block2d.load(memory, registers, block, surface, x, y, 0)

    return {
        "block-2D load, 32x32 u16": load(plain, 32, 64),
        "block-2D load, 32x32 u16, VNNI": load(packed, 32, 64),
        "block-2D load, 32x32 u16, over a corner": load(plain, -4, -3),
        "the same as an instruction, inside": lambda: execute(
            message, memory=memory, registers=registers, operands={"V1": 0}
        ),
        "block-2D store, 8x32 u16": lambda: block2d.store(
            memory, registers, store, surface, 32, 64, 0
        ),
    }


def gathers() -> dict[str, Work]:
    """Messages of 32 channels on 32-bit elements, one and four at an address, and atomics."""
    memory, registers = Memory(), RegisterFile(256 * 64)
    base = memory.place(np.zeros(1 << 16, dtype=np.uint32))
    picks = np.random.default_rng(0).permutation(1 << 14)[:32].astype(np.uint64)
    registers.write(0, (np.uint64(base) + 16 * picks).view(np.uint8))
    registers.write(256, np.zeros(64 * 64, dtype=np.uint8))
    operands = {"V1": 0, "V2": 512, "V3": 2048}
    address = Address("flat", 64, "V1")

    def work(message: Message) -> Work:
        return lambda: execute(message, memory=memory, registers=registers, operands=operands)

    one, four = DataType("d32"), DataType("d32", 4)
    return {
        "gather, 32 x d32": work(Message("load", "ugm", 32, one, address, "V2")),
        "gather, 32 x d32x4": work(Message("load", "ugm", 32, four, address, "V2")),
        "scatter, 32 x d32": work(Message("store", "ugm", 32, one, address, src1="V3")),
        "atomic add, 32 x d32": work(
            Message("atomic_iadd", "ugm", 32, one, address, "V2", src1="V3")
        ),
    }


class Transpose:
    """Each thread writes its rows to shared memory and, after a barrier, gathers its columns."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.matrix = np.arange(SIDE * SIDE, dtype=np.uint16).reshape(SIDE, SIDE)
        self.source = self.memory.place(self.matrix)
        self.target = self.memory.alloc(self.matrix.nbytes)

    def __call__(self) -> None:
        """Transpose once."""
        slm = Slm(self.matrix.nbytes)
        progress = [Progress(index, THREADS) for index in range(THREADS)]
        run([self.thread(slm, one) for one in progress], progress)

    def thread(self, slm: Slm, progress: Progress) -> Iterator[Meeting]:
        """One thread: a row is 256 bytes, four registers; a column comes in four gathers."""
        registers = RegisterFile(128 * 64)
        row_bytes, data = 2 * SIDE, DataType("d64", SIDE // 4, transpose=True)
        lines = range(progress.index * SIDE // THREADS, (progress.index + 1) * SIDE // THREADS)

        def send(op: str, sfid: str, kind: DataType, at: np.ndarray, register: int) -> None:
            registers.write(0, at.view(np.uint8))
            address = Address("flat", 8 * at.itemsize, "V1")
            operand = {"dst": "V2"} if op == "load" else {"src1": "V2"}
            execute(
                Message(op, sfid, at.size, kind, address, **operand),
                memory=self.memory,
                registers=registers,
                operands={"V1": 0, "V2": register},
                slm=slm,
                thread=progress,
            )

        for row in lines:
            send("load", "ugm", data, np.array([self.source + row * row_bytes], np.uint64), 256)
            send("store", "slm", data, np.array([row * row_bytes], np.uint32), 256)
        yield BarrierArrive()
        yield BarrierWait()
        for column in lines:
            for first in range(0, SIDE, 32):
                at = (np.arange(first, first + 32) * SIDE + column) * 2
                send("load", "slm", DataType("d16u32"), at.astype(np.uint32), 512 + 4 * first)
            words = registers.read(512, 4 * SIDE, "mov").view(np.uint32)
            registers.write(256, words.astype(np.uint16).view(np.uint8))
            where = np.array([self.target + column * row_bytes], np.uint64)
            send("store", "ugm", data, where, 256)

    def check(self) -> None:
        """Compare with NumPy."""
        found = self.memory.array(self.target, (SIDE, SIDE), np.uint16)
        assert np.array_equal(found, self.matrix.T)


def esimd_transpose() -> Work:
    """The same as an ESIMD kernel: checked for races, bank conflicts and every pitfall."""
    example = Path(__file__).resolve().parents[1] / "examples" / "esimd" / "slm_patterns.py"
    transpose = runpy.run_path(str(example))["run_transpose"]

    def work() -> None:
        _, found, expected = transpose(THREADS, SIDE)
        assert found.tobytes() == np.ascontiguousarray(expected).tobytes()

    return work


def main() -> None:
    """Print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7, help="rounds, of which the best counts")
    repeat = parser.parse_args().repeat
    for name, work in (block_loads() | gathers()).items():
        print(f"{name:42} {seconds(work, repeat, 200) * 1e6:8.1f} µs (best of {repeat} x 200)")
    transpose = Transpose()
    took = seconds(transpose, repeat, 1)
    transpose.check()
    name = f"transpose of {SIDE}x{SIDE} f16, {THREADS} threads"
    print(f"{name:42} {took * 1e3:8.1f} ms (best of {repeat})")
    took = seconds(esimd_transpose(), repeat, 1)
    print(f"{'the same as an ESIMD kernel':42} {took * 1e3:8.1f} ms (best of {repeat})")


if __name__ == "__main__":
    main()
