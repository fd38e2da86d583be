"""5,000 random legal block-2D messages: the machine, the pseudo-code and NumPy give the same bytes.

Blocks lie anywhere about their surface: at negative x and y, over each edge, outside. Messages,
surfaces and positions break no rule of the target that they are drawn for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import visa_lsc_pseudo_code as visa_lsc
from hypothesis import assume, given, settings, strategies as st

from pycute_xe.arch import Block2D, Surface
from pycute_xe.arch.lsc import Block2DMessage
from pycute_xe.arch.target import errors
from pycute_xe.errors import MachineError
from pycute_xe.machine import Memory, RegisterFile, Trace
from pycute_xe.machine.lsc import execute

# 200 plain, packed and transposed loads, and stores; 4,000 in `make fuzz`.
MANY = settings(max_examples=2 * settings().max_examples)
TARGETS = ("pvc", "bmg")


@dataclass
class Use:
    """A message at a place of a surface, and what the bytes of that surface are drawn from."""

    block: Block2D
    surface: Surface
    x: int
    y: int
    seed: int


@st.composite
def uses(draw: Any, kind: str) -> Use:
    target = draw(st.sampled_from(TARGETS))
    block = draw(blocks(kind))
    assume(not errors(block.broken_rules(target)))
    size, reach = block.element_bytes, block.width * block.count
    width = draw(st.integers(16, 75)) * 4
    height = draw(st.integers(1, 48))
    pitch = width + -width % 16 + 16 * draw(st.integers(0, 4))
    surface = Surface(64 * draw(st.integers(0, 2)), width, height, pitch)
    step = max(1, 4 // size)
    x = step * draw(starts(reach // step, width // size // step))
    y = draw(starts(block.height, height))
    assume(not errors(surface.broken_rules(target)))
    assume(not errors(block.broken_rules_at(surface, x, y, target)))
    return Use(block, surface, x, y, draw(st.integers(0, 2**32 - 1)))


@st.composite
def blocks(draw: Any, kind: str) -> Block2D:
    def pick(*values: int) -> int:
        return draw(st.sampled_from(values))

    if kind == "store":
        bits = pick(8, 16, 32, 64)
        return Block2D("store", bits, pick(*range(1, 9)), width(draw, bits, 1))
    if kind == "transpose":
        bits = pick(32, 32, 32, 64)
        height = pick(*range(1, 33)) if bits == 32 else 8
        return Block2D("load", bits, height, pick(*range(1, 9)), transpose=True)
    vnni = kind == "vnni"
    bits = pick(8, 16) if vnni else pick(8, 16, 32, 64)
    count = pick(*{8: (1, 2, 4), 16: (1, 2, 4), 32: (1, 2), 64: (1,)}[bits])
    pack = 32 // bits if vnni else 1
    height = pack * draw(st.integers(1, 32 // pack))
    return Block2D("load", bits, height, width(draw, bits, count), count, vnni=vnni)


def starts(length: int, room: int) -> st.SearchStrategy[int]:
    """Where ``length`` units begin about ``room`` of them: over either end as often as within."""
    over_start = st.integers(min(0, 1 - length), 0)
    within = st.integers(0, max(0, room - length))
    over_end = st.integers(min(room - 1, room - length + 1), room - 1)
    return over_start | within | over_end | st.integers(-length - 1, room + 1)


def width(draw: Any, bits: int, count: int) -> int:
    return draw(st.integers(max(1, 32 // bits), 512 // bits // count))


class Bench:
    """The machine around one use: memory, registers full of garbage, and the message."""

    def __init__(self, use: Use, registers: int = 40) -> None:
        rng = np.random.default_rng(use.seed)
        surface = use.surface
        nbytes = surface.base + surface.height * surface.pitch
        self.use, self.memory, self.trace = use, Memory(), Trace()
        self.data = rng.integers(1, 256, nbytes, dtype=np.uint8)
        self.base = self.memory.place(self.data)
        self.grf = rng.integers(1, 256, registers * 64, dtype=np.uint8)
        self.registers = RegisterFile(registers * 64)
        self.registers.write(0, self.grf)

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """Memory and registers afterwards; data at register 4, sizes minus 1 as encoded."""
        block, surface = self.use.block, self.use.surface
        data = {"src1": "V7"} if block.op == "store" else {"dst": "V7"}
        operands = {
            "V1": self.base + surface.base,
            "V2": surface.width - 1,
            "V3": surface.height - 1,
            "V4": surface.pitch - 1,
            "V5": self.use.x,
            "V6": self.use.y,
            "V7": 256,
        }
        execute(
            Block2DMessage(block, **data),
            memory=self.memory,
            registers=self.registers,
            operands=operands,
            trace=self.trace,
        )
        after = self.memory.read(self.base, self.data.size)
        return after, self.registers.read(0, self.grf.size, "the test")

    def surface_bytes(self) -> np.ndarray:
        """The surface as rows of bytes, a view of ``data``."""
        s = self.use.surface
        return self.data[s.base :].reshape(s.height, s.pitch)[:, : s.width]


# ---------------------------------------------------------------- what loads mean, in NumPy


def plane(bench: Bench) -> tuple[np.ndarray, int, int]:
    """The surface in a frame of zeros, and where the block's first byte is in it."""
    use, margin = bench.use, 80
    framed = np.pad(bench.surface_bytes(), margin)
    column = use.x * use.block.element_bytes + margin
    assert column >= 0
    return framed, use.y + margin, column


def loaded(bench: Bench) -> np.ndarray:
    """The register image: cut the block out, turn its axes, pad rows and blocks."""
    b = bench.use.block
    framed, row, column = plane(bench)
    cut = framed[row : row + b.height, column : column + b.count * b.width * b.element_bytes]
    elements = np.ascontiguousarray(cut).view(f"u{b.element_bytes}")
    parts = elements.reshape(b.height, b.count, b.width).transpose(1, 0, 2)
    if b.transpose:
        parts = parts.transpose(0, 2, 1)
    extra = padding(parts.shape[2])
    if b.vnni:
        pack = 32 // b.bits
        parts = parts.reshape(b.count, b.height // pack, pack, b.width).transpose(0, 1, 3, 2)
        parts = np.pad(parts, ((0, 0), (0, 0), (0, extra), (0, 0)))
    else:
        parts = np.pad(parts, ((0, 0), (0, 0), (0, extra)))
    flat = parts.reshape(b.count, -1)
    whole = np.pad(flat, ((0, 0), (0, -flat.shape[1] % (512 // b.bits))))
    return np.ascontiguousarray(whole).view(np.uint8).reshape(-1)


def padding(n: int) -> int:
    return min(p for p in (1, 2, 4, 8, 16, 32, 64) if p >= n) - n


# ---------------------------------------------------------------- and by the pseudo-code


@lru_cache(maxsize=1024)
def image(visa: ModuleType, b: Block2D) -> dict[int, tuple[int, int] | None]:
    return visa.load_block2d(b.bits, b.count, b.width, b.height, b.transpose, b.vnni)


def literal_load(visa: ModuleType, bench: Bench) -> bytes:
    use, size = bench.use, bench.use.block.element_bytes
    rows = [row.tobytes() for row in bench.surface_bytes()]
    out = bytearray()
    for index, found in sorted(image(visa, use.block).items()):
        assert index * size == len(out)
        x, y = (found[0] + use.x, found[1] + use.y) if found is not None else (0, -1)
        row = rows[y] if 0 <= y < len(rows) else b""
        out += bytes(row[i] if 0 <= i < len(row) else 0 for i in range(x * size, (x + 1) * size))
    return bytes(out)


def compare_load(visa: ModuleType, use: Use) -> None:
    bench = Bench(use)
    memory, grf = bench.run()
    meant = loaded(bench)
    assert meant.tobytes() == literal_load(visa, bench)
    assert grf[256 : 256 + meant.size].tobytes() == meant.tobytes()
    # Nothing else has changed.
    assert memory.tobytes() == bench.data.tobytes()
    assert grf[:256].tobytes() == bench.grf[:256].tobytes()
    assert grf[256 + meant.size :].tobytes() == bench.grf[256 + meant.size :].tobytes()
    assert bench.trace.nbytes == {"load": np.count_nonzero(meant)}


@MANY
@given(uses("plain"))
def test_plain_loads(visa: ModuleType, use: Use) -> None:
    compare_load(visa, use)


@MANY
@given(uses("vnni"))
def test_packed_loads(visa: ModuleType, use: Use) -> None:
    compare_load(visa, use)


@MANY
@given(uses("transpose"))
def test_transposed_loads(visa: ModuleType, use: Use) -> None:
    compare_load(visa, use)


@MANY
@given(uses("store"))
def test_stores(use: Use) -> None:
    bench = Bench(use)
    memory, grf = bench.run()
    b, s, size = use.block, use.surface, use.block.element_bytes
    # The pseudo-code, one byte at a time.
    literal = bytearray(bench.data.tobytes())
    for (x, y), index in visa_lsc.store_block2d(b.bits, b.width, b.height).items():
        for i in range(size):
            column, row = (use.x + x) * size + i, use.y + y
            if 0 <= column < s.width and 0 <= row < s.height:
                literal[s.base + row * s.pitch + column] = bench.grf[256 + index * size + i]
    assert memory.tobytes() == bytes(literal)
    # In NumPy: the rows of the block laid over the framed surface, and the frame cut off.
    framed, top, left = plane(bench)
    row_bytes = (b.width + padding(b.width)) * size
    payload = bench.grf[256 : 256 + b.height * row_bytes].reshape(b.height, row_bytes)
    framed[top : top + b.height, left : left + b.width * size] = payload[:, : b.width * size]
    bench.surface_bytes()[:] = framed[80 : 80 + s.height, 80 : 80 + s.width]
    assert memory.tobytes() == bench.data.tobytes()
    assert grf.tobytes() == bench.grf.tobytes()


def test_prefetches_predicates_and_operands() -> None:
    memory, registers, trace = Memory(), RegisterFile(1024), Trace()
    base = memory.alloc(64 * 8)
    surface = (base, 63, 7, 63)

    def run(message: Block2DMessage, **operands: Any) -> int:
        return execute(message, memory=memory, registers=registers, operands=operands, trace=trace)

    prefetch = Block2DMessage(Block2D("prefetch", 16, 8, 16), surface=surface, x=16, y=4)
    assert run(prefetch) == 32 * 4
    load = Block2DMessage(
        Block2D("load", 16, 8, 16), dst="V7", surface=surface, x=0, y=0, predicate="!P1"
    )
    assert run(load, P1=[True], V7=0) == 0
    with pytest.raises(MachineError, match="uninitialised"):
        registers.read(0, 1, "the test")
    assert run(load, P1=[False], V7=0) == 256
    assert trace.messages == {"prefetch": 1, "load": 1}
    with pytest.raises(MachineError, match=r"operand=V7\): operands has no"):
        run(load, P1=[False])
    with pytest.raises(MachineError, match="operands must start at a register"):
        run(load, P1=[False], V7=32)
