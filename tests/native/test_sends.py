"""Sends of the binary interpreter: blocks, vectors, channels, shared memory, barriers, refusals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from machine_code import GRF, NULL, after, ended, grf, held, instruction, sent
from sampling import EXAMPLES

from pycute_xe.errors import MachineError
from pycute_xe.machine import Memory, RegisterFile, Trace, workgroup
from pycute_xe.machine.slm import FencedSlm
from pycute_xe.native.assembly import Assembly, Immediate, Reg
from pycute_xe.native.comparison import program, thread
from pycute_xe.native.messages import Around
from pycute_xe.native.operands import State


def block_descriptor(op: int, bits: int, transpose: bool = False, vnni: bool = False) -> int:
    """The fields by their places in the message descriptor."""
    return op | {8: 0, 16: 1, 32: 2}[bits] << 9 | vnni << 7 | transpose << 15 | 1 << 25


def payload(
    base: int, surface: tuple[int, int, int], x: int, y: int, block: tuple[int, int, int]
) -> bytes:
    """Base, sizes less one, place, and the block's sizes less one, one byte each."""
    width, height, pitch = surface
    across, down, count = block
    sizes = (across - 1) | (down - 1) << 8 | (count - 1) << 16
    words = np.array([width - 1, height - 1, pitch - 1, x, y, sizes], np.int32)
    return np.array([base], np.uint64).tobytes() + words.tobytes()


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(-4, 30), st.integers(-4, 20), st.integers(1, 24), st.sampled_from((4, 60, 64)))
def test_a_block_is_the_window_of_the_matrix_with_zeros_around(
    x: int, y: int, height: int, width: int
) -> None:
    image = np.random.default_rng(100 + x + 7 * y).integers(1, 256, (height, 64), np.uint8)
    memory, trace = Memory(), Trace()
    base = memory.place(image)
    code = sent(grf(4, "", None), block_descriptor(3, 16))
    head = bytes(GRF) + payload(base, (width, height, 64), x, y, (16, 8, 1))
    found = held(after(head, code, around=Around(memory, None, trace, Trace())), bytes(8 * GRF))
    wide = np.zeros((height + 40, 160), np.uint8)
    wide[10 : 10 + height, 40 : 40 + width] = image[:, :width]
    wanted = wide[10 + y :, 40 + 2 * x :][:8, :32] if y >= -10 else None
    inside = np.zeros((8, 32), np.uint8)
    inside[: wanted.shape[0]] = wanted
    assert found[4 * GRF :] == inside.tobytes()
    assert trace.messages == {"load": 1}


def test_transposed_and_packed_blocks_lie_as_the_document_says() -> None:
    image = np.arange(8 * 16, dtype=np.uint32).reshape(8, 16)
    memory = Memory()
    base = memory.place(image)
    around = Around(memory, None, Trace(), Trace())
    head = bytes(GRF) + payload(base, (64, 8, 64), 2, 0, (4, 8, 1))
    turned = after(
        head, sent(grf(4, "", None), block_descriptor(3, 32, transpose=True)), around=around
    )
    assert held(turned, bytes(6 * GRF))[4 * GRF :] == image[:, 2:6].T.tobytes()
    head = bytes(GRF) + payload(base, (64, 8, 64), 0, 0, (16, 8, 1))
    packed = after(head, sent(grf(4, "", None), block_descriptor(3, 16, vnni=True)), around=around)
    halves = image.view(np.uint16)[:, :16].reshape(4, 2, 16)
    assert held(packed, bytes(8 * GRF))[4 * GRF :] == halves.transpose(0, 2, 1).tobytes()


def test_a_block_is_stored_where_it_is_inside() -> None:
    memory, trace = Memory(), Trace()
    base = memory.alloc(64 * 8)
    data = np.arange(2 * GRF, dtype=np.uint8).tobytes()
    head = bytes(GRF) + payload(base, (60, 8, 64), 24, 6, (8, 4, 1)).ljust(GRF, b"\0") + data
    code = sent(NULL, block_descriptor(7, 16), grf(2, "", None))
    after(head, code, around=Around(memory, None, trace, Trace()))
    image = memory.array(base, (8, 64), np.uint8)
    rows = np.frombuffer(data, np.uint8)[: 4 * 16].reshape(4, 16)
    wanted = np.zeros((8, 64), np.uint8)
    wanted[6:8, 48:60] = rows[:2, :12]
    assert np.array_equal(image, wanted)
    assert trace.nbytes == {"store": 24}


def test_vectors_and_channels_of_memory() -> None:
    memory = Memory()
    numbers = np.arange(100, 164, dtype=np.uint32)
    base = memory.place(numbers)
    around = Around(memory, None, Trace(), Trace())
    # 16 dwords from one address of 32 bits: how a kernel loads its arguments.
    vector = sent(grf(4, "", None), 0x6218D500, surface="bti[255]", size=1)
    head = bytes(GRF) + np.array([base + 8], np.uint32).tobytes()
    found = held(after(head, vector, around=around), bytes(5 * GRF))
    assert found[4 * GRF :] == numbers[2:18].tobytes()
    # 16 dwords from 16 addresses of 64 bits, and back to others.
    places = np.random.default_rng(0).permutation(64)[:16]
    head = bytes(GRF) + (base + 4 * places).astype(np.uint64).tobytes()
    gather = sent(grf(4, "", None), 0 | 3 << 7 | 2 << 9)
    scatter = sent(NULL, 4 | 3 << 7 | 2 << 9, grf(4, "", None), at=6)
    target = memory.alloc(256)
    head = head.ljust(6 * GRF, b"\0") + (target + 4 * places[::-1]).astype(np.uint64).tobytes()
    after(head, gather, scatter, around=around)
    wanted = np.zeros(64, np.uint32)
    wanted[places[::-1]] = numbers[places]
    assert np.array_equal(memory.array(target, (64,), np.uint32), wanted)


def test_shared_memory_gives_back_what_was_put_there() -> None:
    around = Around(Memory(), FencedSlm(1024), Trace(), Trace())
    places = (4 * np.arange(16)[::-1]).astype(np.uint32)
    data = np.arange(16, dtype=np.uint32) + 7
    head = (
        bytes(GRF)
        + places.tobytes()
        + data.tobytes()
        + (4 * np.arange(16, dtype=np.uint32)).tobytes()
    )
    store = sent(NULL, 4 | 2 << 7 | 2 << 9, grf(2, "", None), sub="slm")
    fence = sent(NULL, 31, sub="slm")
    load = sent(grf(5, "", None), 0 | 2 << 7 | 2 << 9, at=3, sub="slm")
    found = held(after(head, store, fence, load, around=around), bytes(6 * GRF))
    assert found[5 * GRF :] == data[::-1].tobytes()


def test_a_barrier_holds_threads_until_all_have_come() -> None:
    log: list[str] = []
    barrier = sent(NULL, 0x02000004, at=1, sub="gtwy")
    wait = instruction("sync", None, sub="bar")
    code = program(Assembly((barrier, wait, ended()), {}))

    def watched(number: int) -> Iterator[workgroup.Meeting]:
        state = State(RegisterFile(4 * GRF, GRF))
        state.registers.write(0, np.zeros(2 * GRF, np.uint8), "test")
        for meeting in thread(code, state, Around(Memory(), None, Trace(), Trace()), 99):
            log.append(f"{number} {type(meeting).__name__}")
            yield meeting
        log.append(f"{number} ends")

    trace = Trace()
    workgroup.run([watched(0), watched(1)], trace=trace)
    ends = [log.index(f"{n} ends") for n in (0, 1)]
    assert min(ends) > max(log.index(f"{n} BarrierArrive") for n in (0, 1))
    assert trace.barriers == 1


CONTROL = Reg("cr", 0, 0, None, "ud")
REFUSED = {
    "goto": instruction("goto", None, target="nowhere"),
    "call": instruction("call", None, target="a"),
    "sends to dc1": sent(grf(4, "", None), 0x2100, sub="dc1"),
    "sends to render": sent(grf(4, "", None), 0x2100, sub="render"),
    "LSC operation 27": sent(grf(4, "", None), 27 | 3 << 7 | 2 << 9),
    "gateway's message": sent(NULL, 0x02000003, sub="gtwy"),
    "surfaces of kind bss": sent(grf(4, "", None), 2 << 9, surface="bss[0]"),
    "address of kind flat": sent(grf(4, "", None), 3, surface="flat[0] moved"),
    "register a0": instruction("mov", grf(4, "d", (1,)), Reg("a", 0, 0, None, "uw")),
    "register acc0": instruction("mov", grf(4, "d", (1,)), Reg("acc", 0, 0, None, "q")),
    "subb": instruction("subb", grf(4, "d", (1,)), grf(2, "d"), grf(3, "d")),
    "math.sin": instruction("math", grf(4, "f", (1,)), grf(2, "f"), sub="sin"),
    "arithmetic in hf": instruction("add", grf(4, "hf", (1,)), grf(2, "hf"), grf(3, "hf")),
    "predicate .any": instruction("mov", grf(4, "d", (1,)), grf(2, "d"), predicate="any", flag=0),
    "lanes beyond": instruction("mov", grf(4, "d", (1,)), grf(2, "d"), size=32, unmasked=False),
    "rounding modes": instruction("xor", CONTROL, CONTROL, Immediate("0x30", "uw")),
    "sync.fence": instruction("sync", None, sub="fence"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_not_modelled_is_refused_by_name(name: str) -> None:
    with pytest.raises(MachineError) as refused:
        program(Assembly((REFUSED[name],), {}))
    word = name.split()[-1]
    assert word in str(refused.value) or REFUSED[name].op in str(refused.value)
