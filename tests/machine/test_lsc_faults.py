"""LSC messages one at a time: what stays untouched, what lies out of bounds, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from every import every

from pycute_xe.arch.lsc import Address, DataType, Message
from pycute_xe.errors import MachineError
from pycute_xe.machine import Memory, Progress, RegisterFile, Slm, Trace
from pycute_xe.machine.lsc import SurfaceState, channels, execute
from pycute_xe.machine.trace import BoundsFault, RaceFault, UnwrittenFault

FLAT, A32 = Address("flat", 64, "V1"), Address("flat", 32, "V1")
OPERANDS = {"V1": 0, "V2": 256, "V3": 512, "V4": 1024}


def machine() -> tuple[Memory, RegisterFile, int]:
    memory, registers = Memory(), RegisterFile(64 * 64)
    return memory, registers, memory.place(np.arange(64, dtype=np.uint32))


def addresses(registers: RegisterFile, *values: int, bits: int = 64) -> None:
    registers.write(0, np.array(values, dtype=f"u{bits // 8}").view(np.uint8))


def load(size: str = "d32", count: int = 4, **fields: Any) -> Message:
    fields = {"op": "load", "sfid": "ugm", "address": FLAT, "dst": "V4"} | fields
    return Message(exec_size=count, data=DataType(size), **fields)


def store(size: str = "d32", count: int = 4, **fields: Any) -> Message:
    fields = {"op": "store", "sfid": "ugm", "address": FLAT, "src1": "V2"} | fields
    return Message(exec_size=count, data=DataType(size), **fields)


def test_lanes_that_are_off_keep_bytes_and_state_and_need_no_address() -> None:
    memory, registers, base = machine()
    addresses(registers, base, base + 8)
    registers.write(1024 + 12, np.array([7], dtype=np.uint32).view(np.uint8))
    moved = execute(
        load(predicate="P1"),
        memory=memory,
        registers=registers,
        operands=OPERANDS | {"P1": [True, True, False, False]},
    )
    assert moved == 8
    assert registers.read(1024, 8, "the test").view(np.uint32).tolist() == [0, 2]
    assert registers.read(1036, 4, "the test").view(np.uint32).tolist() == [7]
    with pytest.raises(MachineError, match=r"byte 1032 .* is uninitialised"):
        registers.read(1032, 4, "the test")


def test_no_lane_at_all() -> None:
    memory, registers, _ = machine()
    off = [False] * 32
    strided = Address("flat", 64, "V1", pitch=4)
    for message in (load(), store(), load(op="load_strided", address=strided)):
        context = {"memory": memory, "registers": registers, "operands": OPERANDS}
        assert execute(message, enabled=off, **context) == 0


def test_registers_that_were_never_written() -> None:
    memory, registers, base = machine()

    def run(message: Message) -> None:
        execute(message, memory=memory, registers=registers, operands=OPERANDS)

    with pytest.raises(MachineError, match=r"reader=lsc_load\): byte 0 "):
        run(load())
    addresses(registers, base, base, base, base)
    registers.write(256, np.zeros(15, dtype=np.uint8))
    with pytest.raises(MachineError, match=r"reader=lsc_store\): byte 271 "):
        run(store())
    # Of a dword that holds 8 bits, only those are needed.
    for lane in range(4):
        registers.forget(256 + 4 * lane + 1, 3)
    run(store("d8u32"))


def test_nothing_is_written_when_one_address_is_no_memory() -> None:
    memory, registers, base = machine()
    addresses(registers, base, base + 254, base + 4, base + 8)
    registers.write(256, np.full(16, 9, dtype=np.uint8))
    with pytest.raises(MachineError, match="not inside one allocation"):
        execute(store(), memory=memory, registers=registers, operands=OPERANDS)
    assert memory.array(base, (3,), np.uint32).tolist() == [0, 1, 2]


def test_channels_in_several_allocations() -> None:
    memory, registers, base = machine()
    other = memory.place(np.array([100, 200], dtype=np.uint32))
    addresses(registers, other + 4, base + 4, other, base)
    execute(load(), memory=memory, registers=registers, operands=OPERANDS)
    assert registers.read(1024, 16, "the test").view(np.uint32).tolist() == [200, 1, 100, 0]
    registers.write(256, np.array([5, 6, 7, 8], dtype=np.uint32).view(np.uint8))
    addresses(registers, other, other, base, other)
    execute(store(), memory=memory, registers=registers, operands=OPERANDS)
    assert memory.array(other, (2,), np.uint32).tolist() == [8, 200]
    assert memory.array(base, (1,), np.uint32).tolist() == [7]
    addresses(registers, other, base + 256, base, base)
    with pytest.raises(MachineError, match="not inside one allocation"):
        execute(load(), memory=memory, registers=registers, operands=OPERANDS)


@every("surface", [3, "V9", "T1"])
@every("model", ["bss", "ss", "bti"])
def test_a_surface_ends_at_the_element(surface: int | str, model: str) -> None:
    memory, registers, base = machine()
    states = {3: SurfaceState(base + 16, 30), "T1": SurfaceState(base + 16, 30)}
    context = {
        "memory": memory,
        "registers": registers,
        "operands": OPERANDS | {"V9": 3},
        "surfaces": states,
    }
    trace, address = Trace(), Address(model, 32, "V1", surface)
    addresses(registers, 0, 24, 28, 2**32 - 4, bits=32)
    assert execute(load(address=address), trace=trace, **context) == 8
    assert registers.read(1024, 16, "the test").view(np.uint32).tolist() == [4, 10, 0, 0]
    registers.write(256, np.full(16, 255, dtype=np.uint8))
    assert execute(store(address=address), trace=trace, **context) == 8
    after = memory.array(base, (64,), np.uint32)
    assert np.flatnonzero(after == 2**32 - 1).tolist() == [4, 10]
    assert trace.nbytes == {"load": 8, "store": 8}
    status = load(op="load_status", address=address)
    assert execute(status, **context) == 0
    assert registers.read(1024, 4, "the test").view(np.uint32).tolist() == [0b0011]


def test_status_of_memory_that_is_not_there() -> None:
    memory, registers, base = machine()
    addresses(registers, base, base + 253, base - 4, base + 252)
    status = load(op="load_status")
    execute(status, memory=memory, registers=registers, operands=OPERANDS)
    assert registers.read(1024, 4, "the test").view(np.uint32).tolist() == [0b1001]
    addresses(registers, 0, 60, 61, 64, bits=32)
    shared = load(op="load_status", sfid="slm", address=A32)
    execute(shared, memory=memory, registers=registers, operands=OPERANDS, slm=Slm(64))
    assert registers.read(1024, 4, "the test").view(np.uint32).tolist() == [0b0011]
    with pytest.raises(MachineError, match=r"byte 1028 .* is uninitialised"):
        registers.read(1024, 8, "the test")


def test_faults_of_shared_memory() -> None:
    memory, registers, _ = machine()
    slm, threads = Slm(64), [Progress(0, 2), Progress(1, 2)]
    registers.write(256, np.zeros(64, dtype=np.uint8))

    def run(message: Message, thread: int, *where: int) -> None:
        addresses(registers, *where, bits=32)
        context = {"registers": registers, "operands": OPERANDS, "thread": threads[thread]}
        execute(message, memory=memory, slm=slm, **context)

    read, write = load(sfid="slm", address=A32), store(sfid="slm", address=A32)
    run(write, 0, 0, 4, 8, 12)
    with pytest.raises(UnwrittenFault):
        run(read, 0, 0, 4, 8, 16)
    with pytest.raises(BoundsFault):
        run(write, 0, 0, 4, 8, 61)
    with pytest.raises(RaceFault, match="thread 0 wrote"):
        run(read, 1, 12, 12, 12, 12)
    with pytest.raises(MachineError, match="no shared local memory was given"):
        execute(read, memory=memory, registers=registers, operands=OPERANDS)


def test_faults_of_operands() -> None:
    memory, registers, base = machine()
    addresses(registers, base, base, base, base)

    def run(message: Message, **operands: Any) -> int:
        return execute(message, memory=memory, registers=registers, operands=operands)

    with pytest.raises(MachineError, match=r"operand=V4\): operands has no"):
        run(load(), V1=0)
    with pytest.raises(MachineError, match="start at a register"):
        run(load(), V1=0, V4=32)
    with pytest.raises(MachineError, match="must be a number"):
        run(load(), V1=0, V4=[True])
    with pytest.raises(MachineError, match="flags, not a number"):
        run(load(predicate="P1"), V1=0, V4=64, P1=1)
    with pytest.raises(MachineError, match="register file of 4096 bytes"):
        run(load(), V1=0, V4=4096)
    assert run(load(dst="V4.64"), V1=0, V4=64) == 16
    assert registers.read(128, 4, "the test").tolist() == [0, 0, 0, 0]
    pitch = Address("flat", 64, "V1", pitch="V9(0,0)<0;1,0>")
    assert run(load(op="load_strided", address=pitch), V1=0, V4=64, V9=-0) == 16
    with pytest.raises(MachineError, match=r"unknown surface"):
        run(load(address=Address("bti", 64, "V1", 4)), V1=0, V4=64)


def test_a_prefetch_is_checked_and_writes_nothing() -> None:
    memory, registers, base = machine()
    trace, prefetch = Trace(), load(dst=None, count=1)
    addresses(registers, base)
    context = {"memory": memory, "registers": registers, "operands": {"V1": 0}}
    assert execute(prefetch, trace=trace, **context) == 4
    assert trace.messages == {"prefetch": 1}
    addresses(registers, base + 256)
    with pytest.raises(MachineError, match="not inside one allocation"):
        execute(prefetch, **context)


def test_channels_beyond_the_flags() -> None:
    with pytest.raises(MachineError, match="the message has channels beyond the last flag"):
        channels(8, "M2", enabled=[True] * 8)
    with pytest.raises(MachineError, match="give one flag for each of 8 channels"):
        channels(8, predicate=[True] * 4)
    assert channels(8, "M8_NM", enabled=[True]).mask.all()


def test_registers_of_32_bytes() -> None:
    memory, registers = Memory(), RegisterFile(1024, grf_bytes=32)
    base = memory.place(np.arange(32, dtype=np.uint32))
    registers.write(0, np.full(1024, 255, dtype=np.uint8))
    addresses(registers, *(base + 8 * lane for lane in range(8)))
    message = Message("load", "ugm", 8, DataType("d32", 2), FLAT, "V4")
    execute(message, memory=memory, registers=registers, operands={"V1": 0, "V4": 96})
    held = registers.read(96, 64, "the test").view(np.uint32)
    assert held.tolist() == [*range(0, 16, 2), *range(1, 16, 2)]


def test_a_surface_state_counts() -> None:
    with pytest.raises(MachineError, match="must not be negative"):
        SurfaceState(0, -1)


@every(
    ("predicate", "flags", "loaded"),
    [
        ("P1.any", [False, True, False, False], 4),
        ("P1.any", [False] * 4 + [True], 0),
        ("P1.all", [True, True, False, True], 0),
        ("P1.all", [True] * 4 + [False], 4),
        ("!P1.any", [False, True, False, False], 0),
        ("!P1.all", [True, True, False, True], 4),
    ],
)
def test_a_predicate_for_all_channels_at_once(
    predicate: str, flags: list[bool], loaded: int
) -> None:
    memory, registers, base = machine()
    addresses(registers, *range(base, base + 16, 4))
    context = {"memory": memory, "registers": registers, "operands": OPERANDS | {"P1": flags}}
    assert execute(load(predicate=predicate), **context) == 4 * loaded
    off = [True, False, True, True]
    kept = execute(load(predicate=predicate), enabled=off, **context)
    assert kept == (12 if loaded else 0)


@every("flags", ["x", "1111", b"1111", [[True] * 4], 1.5, [0.5] * 4, [[1], [1, 2]]])
def test_what_is_no_list_of_flags(flags: Any) -> None:
    memory, registers, base = machine()
    addresses(registers, *range(base, base + 16, 4))
    context = {"memory": memory, "registers": registers}
    with pytest.raises(MachineError, match=r"enabled=.*is not a list of flags"):
        execute(load(), enabled=flags, operands=OPERANDS, **context)
    with pytest.raises(MachineError, match=r"predicate=.*is not a list of flags"):
        execute(load(predicate="P1"), operands=OPERANDS | {"P1": flags}, **context)


def test_plain_accesses_need_no_alignment() -> None:
    memory, registers, base = machine()
    addresses(registers, base + 1, base + 6)
    context = {"memory": memory, "registers": registers, "operands": OPERANDS}
    execute(load(count=2), **context)
    found = registers.read(1024, 8, "the test").tolist()
    assert found == [0, 0, 0, 1, 0, 0, 2, 0]
