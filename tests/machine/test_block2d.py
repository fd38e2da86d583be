"""Block-2D messages on tagged bytes, against the transcription of the vISA pseudo-code.

Memory holds random bytes, registers garbage; what a load leaves and what a store changes is
predicted from the transcription (tests/visa_pseudo_code.py) and the rule that outside the surface
loads give zero and stores are dropped, byte for byte.
"""

from __future__ import annotations

from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from every import every
from sampling import sampled

from pycute_xe.arch import Block2D, Surface
from pycute_xe.errors import MachineError
from pycute_xe.machine import Memory, RegisterFile, Trace, block2d

Rows = dict[str, list[dict[str, Any]]]
GARBAGE = 0xEE


def tagged(nbytes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 256, nbytes, dtype=np.uint8)


def machine(pitch: int = 300, rows: int = 40) -> tuple[Memory, RegisterFile, int, np.ndarray]:
    memory, registers = Memory(), RegisterFile(64 * 64)
    data = tagged(pitch * rows)
    registers.write(0, np.full(64 * 64, GARBAGE, dtype=np.uint8))
    return memory, registers, memory.place(data), data


def expected_load(
    visa: ModuleType, m: Block2D, data: np.ndarray, surface: Surface, x: int, y: int
) -> np.ndarray:
    """Bytes of the destination, element by element and byte by byte."""
    image = visa.load_block2d(m.bits, m.count, m.width, m.height, m.transpose, m.vnni)
    size = m.bits // 8
    out = np.zeros(len(image) * size, dtype=np.uint8)
    for index, found in image.items():
        if found is None:
            continue
        column, row = (x + found[0]) * size, y + found[1]
        for byte in range(size):
            if 0 <= column + byte < surface.width and 0 <= row < surface.height:
                out[index * size + byte] = data[row * surface.pitch + column + byte]
    return out


def legal_loads(igc: Rows) -> list[Block2D]:
    found = []
    for row in igc["load"]:
        transpose, vnni = (letter == "t" for letter in row["suffix"])
        m = Block2D("load", row["bits"], row["height"], row["width"], row["count"], transpose, vnni)
        lines = m.width if m.transpose else m.height
        if row["verdict"] != "r" and not (vnni and lines % m.per_dword):
            found.append(m)
    return found


@pytest.mark.long
def test_every_load_inside_a_surface(igc: Rows, visa: ModuleType) -> None:
    memory, _, base, data = machine(pitch=2048, rows=80)
    registers = RegisterFile(256 * 64)
    surface = Surface(base, 2048, 80, 2048)
    loads = legal_loads(igc)
    assert len(loads) > 2500
    for m in sampled(loads, 400):
        moved = block2d.load(memory, registers, m, surface, 8, 3, 0)
        expected = expected_load(visa, m, data, surface, 8, 3)
        assert moved == m.width * m.count * m.height * m.bits // 8
        assert registers.read(0, expected.size, "the test").tolist() == expected.tolist(), m


SOME = [
    Block2D("load", 8, 5, 12, 2),
    Block2D("load", 16, 8, 16, 2),
    Block2D("load", 16, 16, 16, 2, vnni=True),
    Block2D("load", 8, 8, 16, 4, vnni=True),
    Block2D("load", 32, 16, 8, transpose=True),
    Block2D("load", 64, 8, 3, transpose=True),
    Block2D("load", 32, 3, 5, 2),
]


EXTENTS = [(300, 40), (91, 35), (150, 1), (0, 40), (64, 0)]
PLACES = [(0, 0), (-3, -2), (-64, 0), (0, -40), (20, 30), (37, 33), (200, 0), (0, 60)]
EDGES = [(*extents, *place, m) for extents, place, m in product(EXTENTS, PLACES, SOME)]
# Those that alone noticed a mistake stay in every run.
KEPT = [
    *((91, 35, 20, 30, m) for m in (SOME[1], SOME[6])),
    *((91, 35, -3, -2, SOME[0]), (300, 40, 0, -40, SOME[0])),
]


@every(("width", "height", "x", "y", "m"), sampled(EDGES, 70, KEPT), ids=str)
def test_loads_across_the_edges(
    m: Block2D, x: int, y: int, width: int, height: int, visa: ModuleType
) -> None:
    memory, registers, base, data = machine()
    surface = Surface(base, width, height, 300)
    moved = block2d.load(memory, registers, m, surface, x, y, 128)
    expected = expected_load(visa, m, data, surface, x, y)
    assert registers.read(128, expected.size, "the test").tolist() == expected.tolist()
    assert moved == np.count_nonzero(expected)
    around = registers.read(0, 64 * 64, "the test")
    assert set(around[:128]) == set(around[128 + expected.size :]) == {GARBAGE}


def test_an_element_is_cut_at_the_byte() -> None:
    memory, registers = Memory(), RegisterFile(64)
    surface = Surface(memory.place(np.full(64, 0xAB, dtype=np.uint8)), 3, 1, 64)
    assert block2d.load(memory, registers, Block2D("load", 16, 1, 2), surface, 0, 0, 0) == 3
    assert registers.read(0, 4, "the test").tolist() == [0xAB, 0xAB, 0xAB, 0]


def test_a_packed_height_that_fills_no_dword_ends_in_zeros() -> None:
    memory, registers, base, data = machine()
    m = Block2D("load", 16, 3, 16, vnni=True)
    block2d.load(memory, registers, m, Surface(base, 300, 40, 300), 0, 0, 0)
    elements = registers.read(0, 128, "the test").view(np.uint16)
    rows = data.reshape(40, 300).view(np.uint16)
    assert elements[0:32:2].tolist() == rows[0, :16].tolist()
    assert elements[32:64:2].tolist() == rows[2, :16].tolist()
    assert not elements[33:64:2].any()


STORES = [
    Block2D("store", 8, 4, 16),
    Block2D("store", 8, 3, 5),
    Block2D("store", 16, 8, 16),
    Block2D("store", 32, 8, 16),
    Block2D("store", 32, 5, 3),
    Block2D("store", 64, 8, 8),
]


STORED = [
    (*extents, y, x, m)
    for extents, y, x, m in product(
        [(300, 40), (91, 35), (64, 2)], [-3, 0, 33, 50], [-5, 0, 4, 12, 90], STORES
    )
]
ALONE = [(300, 40, -3, 0, STORES[4])]


@every(("width", "height", "y", "x", "m"), sampled(STORED, 70, ALONE), ids=str)
def test_stores(m: Block2D, x: int, y: int, width: int, height: int) -> None:
    memory, _, base, data = machine()
    registers = RegisterFile(64 * 64)
    size = m.bits // 8
    row_pitch = 1 << (m.width - 1).bit_length()
    payload = tagged(m.registers("pvc") * 64, seed=1)
    registers.write(64, payload)
    moved = block2d.store(memory, registers, m, Surface(base, width, height, 300), x, y, 64)
    expected, inside = data.copy(), 0
    for row in range(m.height):
        for byte in range(m.width * size):
            column = x * size + byte
            if 0 <= column < width and 0 <= y + row < height:
                expected[(y + row) * 300 + column] = payload[row * row_pitch * size + byte]
                inside += 1
    assert memory.read(base, data.size).tolist() == expected.tolist()
    assert moved == inside


def test_what_was_loaded_can_be_stored() -> None:
    memory, registers, base, data = machine()
    out = Surface(memory.alloc(300 * 40), 300, 40, 300)
    for y in range(0, 40, 8):
        for x in range(0, 150, 16):
            load, store = Block2D("load", 16, 8, 16), Block2D("store", 16, 8, 16)
            block2d.load(memory, registers, load, Surface(base, 300, 40, 300), x, y, 0)
            block2d.store(memory, registers, store, out, x, y, 0)
    assert memory.read(out.base, 300 * 40).tolist() == data.tolist()


def test_a_store_reads_no_padding() -> None:
    memory, registers = Memory(), RegisterFile(64)
    registers.write(0, np.zeros(3, dtype=np.uint8))
    registers.write(4, np.zeros(3, dtype=np.uint8))
    surface = Surface(memory.alloc(128), 64, 2, 64)
    assert block2d.store(memory, registers, Block2D("store", 8, 2, 3), surface, 0, 0, 0) == 6


def test_a_store_of_what_was_never_written() -> None:
    memory, registers = Memory(), RegisterFile(1024)
    registers.write(0, np.zeros(100, dtype=np.uint8))
    surface = Surface(memory.alloc(512), 64, 8, 64)
    with pytest.raises(MachineError, match=r"byte 100 \(r1, byte 36\) is uninitialised"):
        block2d.store(memory, registers, Block2D("store", 16, 8, 16), surface, 0, 0, 0)


@pytest.mark.parametrize(("x", "y"), [(0, 0), (90, 0), (0, -3), (-4, 2)])
def test_a_surface_larger_than_its_memory(x: int, y: int) -> None:
    memory, registers = Memory(), RegisterFile(1024)
    surface = Surface(memory.alloc(100), 256, 8, 256)
    memory.alloc(4096)
    with pytest.raises(MachineError, match="not inside one allocation"):
        block2d.load(memory, registers, Block2D("load", 16, 8, 16), surface, x, y, 0)


def test_a_block_outside_the_surface_needs_no_memory() -> None:
    memory, registers = Memory(), RegisterFile(1024)
    message, surface = Block2D("load", 16, 8, 16), Surface(0, 64, 8, 64)
    assert block2d.load(memory, registers, message, surface, 32, 0, 0) == 0
    assert not registers.read(0, 256, "the test").any()


def test_faults_of_the_message() -> None:
    memory, registers = Memory(), RegisterFile(1024)
    surface = Surface(memory.alloc(4096), 64, 64, 64)
    with pytest.raises(MachineError, match="operands must start at a register"):
        block2d.load(memory, registers, Block2D("load", 16, 8, 16), surface, 0, 0, 32)
    with pytest.raises(MachineError, match="register file of 1024 bytes"):
        block2d.load(memory, registers, Block2D("load", 16, 32, 32), surface, 0, 0, 0)
    with pytest.raises(MachineError, match="the message is a store"):
        block2d.load(memory, registers, Block2D("store", 16, 8, 16), surface, 0, 0, 0)
    with pytest.raises(MachineError, match="a store takes one block"):
        block2d.store(memory, registers, Block2D("store", 16, 8, 8, 2), surface, 0, 0, 0)


def test_a_prefetch_counts_and_touches_no_register() -> None:
    memory, trace = Memory(), Trace(keep=True)
    surface = Surface(memory.alloc(64 * 8), 64, 8, 64)
    message = Block2D("prefetch", 16, 8, 32)
    assert block2d.prefetch(memory, message, surface, 16, 4, trace) == 32 * 4
    assert trace.messages == {"prefetch": 1}
    assert trace.nbytes == {"prefetch": 128}
    assert [event.text for event in trace.events] == [str(message)]


def test_loads_and_stores_are_counted_inside_the_surface() -> None:
    memory, registers, trace = Memory(), RegisterFile(1024), Trace()
    surface = Surface(memory.alloc(512), 64, 8, 64)
    block2d.load(memory, registers, Block2D("load", 16, 8, 16), surface, 24, 4, 0, trace)
    block2d.store(memory, registers, Block2D("store", 16, 8, 16), surface, 24, 4, 0, trace)
    assert trace.nbytes == {"load": 64, "store": 64}
    assert trace.events == []
