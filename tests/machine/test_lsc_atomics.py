"""LSC atomics on colliding addresses: the machine, the transcribed pseudo-code and NumPy agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import visa_lsc_pseudo_code as visa_lsc
from every import every
from hypothesis import given, settings, strategies as st
from lsc_cases import Bench, Case, Setting, cases, draw_setting, enabled_channels

from pycute_xe.arch.lsc import Address, DataType, Message
from pycute_xe.errors import MachineError
from pycute_xe.machine import Memory, Progress, RegisterFile, Slm
from pycute_xe.machine.lsc import SurfaceState, execute
from pycute_xe.machine.trace import RaceFault, UnwrittenFault

EXAMPLES = settings().max_examples * 5 // 3
FEW, MANY = settings(max_examples=EXAMPLES // 2), settings(max_examples=EXAMPLES * 2)
INTEGER = tuple(f"atomic_{name}" for name, (kind, _, _) in visa_lsc.ATOMICS.items() if kind != "f")
FLOATING = tuple(f"atomic_f{name}" for name in ("add", "sub", "min", "max", "cas"))


def compare(bench: Bench) -> None:
    memory, grf = bench.run()
    world = bench.world()
    visa_lsc.run(world, bench.case)
    assert memory == bytes(world.memory)
    assert grf == bytes(world.grf)
    meant_memory, meant_grf = meaning(bench)
    assert memory == meant_memory.tobytes()
    assert grf == meant_grf.tobytes()


def kind_of(case: Case) -> np.dtype[Any]:
    letter = "u" if case.op.startswith("apndctr") else visa_lsc.ATOMICS[case.op[7:]][0]
    return np.dtype(f"{letter}{visa_lsc.MEMORY_BYTES[case.size]}")


def history(name: str, start: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The values of one place, before the first channel and after each."""
    line = np.concatenate([start, a])
    folds = {"iadd": np.add, "isub": np.subtract, "fadd": np.add, "fsub": np.subtract}
    folds |= {"smin": np.minimum, "umin": np.minimum, "fmin": np.minimum}
    folds |= {"smax": np.maximum, "umax": np.maximum, "fmax": np.maximum}
    folds |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    if name in folds:
        return folds[name].accumulate(line, dtype=line.dtype)
    if name in ("iinc", "idec"):
        steps = np.arange(line.size, dtype=line.dtype)
        return start + steps if name == "iinc" else start - steps
    if name in ("load", "store"):
        return np.full_like(line, start[0]) if name == "load" else line
    values = [start[0]]
    for compared, new in zip(a, b, strict=True):
        values.append(new if values[-1] == compared else values[-1])
    return np.array(values, dtype=line.dtype)


def meaning(bench: Bench) -> tuple[np.ndarray, np.ndarray]:
    case, memory, grf = bench.case, bench.data.copy(), bench.grf.copy()
    kind, lanes = kind_of(case), bench.lanes()
    name = {"apndctr_atomic_add": "iadd", "apndctr_atomic_sub": "isub"}.get(case.op, case.op[7:])
    at, inside = bench.bytes_at()
    places = np.where(inside[:, 0], at[:, 0, 0], -1)
    if case.op.startswith("apndctr"):
        places = np.full(lanes.size, 2048)
    a, b = (
        bench.narrow(bench.operand(grf, start)[lanes, 0]).reshape(-1).view(kind)
        for start in (visa_lsc.SRC1, visa_lsc.SRC2)
    )
    old = np.zeros(lanes.size, dtype=kind)  # outside, zeros are read and nothing is written
    for place in set(places[places >= 0].tolist()):
        here = places == place
        live = memory[place : place + kind.itemsize].view(kind)
        line = history(name, live.copy(), a[here], b[here])
        old[here], live[0] = line[:-1], line[-1]
    if not case.null_dst:
        rows = old.view(np.uint8).reshape(-1, 1, kind.itemsize)
        bench.operand(grf, visa_lsc.DST)[lanes] = bench.widened(rows)
    return memory, grf


@MANY
@given(cases(INTEGER))
def test_integers(drawn: tuple[Case, Setting]) -> None:
    case, setting = drawn
    kind = kind_of(case)
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    compare(Bench(case, setting, np.array([0, 1, 2, most, least, most - 1, 5], dtype=kind)))


@settings(max_examples=EXAMPLES)
@given(cases(FLOATING), st.booleans())
def test_floating_point(drawn: tuple[Case, Setting], rounded: bool) -> None:
    case, setting = drawn
    values = np.array([0, 1, -1, 0.5, 3.14159, -7.7, 900.1], dtype=kind_of(case))
    compare(Bench(case, setting, values if rounded else values[:4]))


@st.composite
def counters(draw: Any) -> tuple[Case, Setting]:
    exec_size = draw(st.sampled_from([1, 8, 16, 32]))
    op = draw(st.sampled_from(["apndctr_atomic_add", "apndctr_atomic_sub"]))
    case = Case(op, exec_size, "d32", [], null_dst=draw(st.booleans()), where=[0] * exec_size)
    setting = draw_setting(draw, exec_size, ("bti",))
    case.ChEn = enabled_channels(setting, exec_size)
    case.addr_bytes = 4
    return case, setting


@FEW
@given(counters())
def test_append_counters(drawn: tuple[Case, Setting]) -> None:
    compare(Bench(*drawn))


# ---------------------------------------------------------------- what the examples avoid


def atomic(op: str, size: str = "d32", count: int = 1, **fields: Any) -> Message:
    extra = {"icas": 2, "fcas": 2, "iinc": 0}.get(op, 1)
    fields = {"sfid": "ugm", "address": Address("flat", 64, "V1"), "dst": "V4"} | fields
    sources = {"src1": "V2", "src2": "V3"} if extra == 2 else {"src1": "V2"} if extra else {}
    return Message(f"atomic_{op}", exec_size=count, data=DataType(size), **(sources | fields))


def one(op: str, old: Any, a: Any, b: Any = 0, dtype: Any = np.float32) -> Any:
    """The new value of one atomic on one place."""
    memory, registers = Memory(), RegisterFile(1024)
    at = memory.place(np.array([old], dtype=dtype))
    registers.write(0, np.array([at], dtype=np.uint64).view(np.uint8))
    for start, value in ((64, a), (128, b)):
        data = np.array([value], dtype=dtype).view(np.uint8)
        registers.write(start, np.append(data, np.zeros(8, dtype=np.uint8)))
    size = {2: "d16u32", 4: "d32", 8: "d64"}[np.dtype(dtype).itemsize]
    operands = {"V1": 0, "V2": 64, "V3": 128, "V4": 192}
    execute(atomic(op, size), memory=memory, registers=registers, operands=operands)
    return memory.array(at, (1,), dtype)[0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_that_are_no_numbers(dtype: Any) -> None:
    nan = np.nan
    assert one("fmin", nan, 2.0, dtype=dtype) == 2.0
    assert one("fmin", 2.0, nan, dtype=dtype) == 2.0
    assert one("fmax", nan, 2.0, dtype=dtype) == 2.0
    assert one("fmax", 2.0, nan, dtype=dtype) == 2.0
    assert np.isnan(one("fadd", nan, 2.0, dtype=dtype))
    assert np.isnan(one("fcas", nan, nan, 3.0, dtype=dtype))
    assert np.signbit(one("fmin", -0.0, 0.0, dtype=dtype))
    assert one("fcas", -0.0, 0.0, 3.0, dtype=dtype) == 3.0
    assert one("fadd", np.finfo(dtype).max, np.finfo(dtype).max, dtype=dtype) == np.inf


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_signs_count_where_the_name_says_so(dtype: Any) -> None:
    unsigned = np.dtype(dtype).str.replace("i", "u")
    assert one("smin", -1, 2, dtype=dtype) == -1
    assert one("smax", -1, 2, dtype=dtype) == 2
    assert one("umin", np.iinfo(unsigned).max, 2, dtype=unsigned) == 2
    assert one("umax", np.iinfo(unsigned).max, 2, dtype=unsigned) == np.iinfo(unsigned).max


def test_subnormals_are_kept() -> None:
    assert one("fadd", 1e-45, 1e-45) == np.float32(2.8e-45)
    assert one("fadd", 6e-8, 0, dtype=np.float16) == np.float16(6e-8)


def test_an_address_between_elements() -> None:
    registers = RegisterFile(1024)
    memory = Memory()
    at = memory.alloc(64)
    registers.write(0, np.array([at + 2], dtype=np.uint64).view(np.uint8))
    with pytest.raises(MachineError, match="not a multiple of the element size"):
        execute(atomic("iinc"), memory=memory, registers=registers, operands={"V1": 0, "V4": 64})


def test_what_atomics_refuse() -> None:
    memory, registers = Memory(), RegisterFile(1024)
    at = memory.alloc(64)
    registers.write(0, np.full(1024, 0, dtype=np.uint8))
    registers.write(0, np.array([at], dtype=np.uint64).view(np.uint8))
    operands = {"V1": 0, "V2": 64, "V4": 128}

    def run(message: Message, **more: Any) -> None:
        execute(message, memory=memory, registers=registers, operands=operands, **more)

    with pytest.raises(MachineError, match="no floating-point type has 8 bits"):
        run(atomic("fadd", "d8u32"))
    with pytest.raises(MachineError, match="a data operand is the null register"):
        run(atomic("iadd", src1=None))
    counter = Message(
        "apndctr_atomic_add", "ugm", 1, DataType("d32"), Address("bti", 32, None, 3), src1="V2"
    )
    with pytest.raises(MachineError, match="the surface has no append counter"):
        run(counter, surfaces={3: SurfaceState(at, 64)})
    with pytest.raises(MachineError, match=r"unknown surface.*one of: 5"):
        run(counter, surfaces={5: SurfaceState(at, 64)})
    flat = Message(
        "apndctr_atomic_add", "ugm", 1, DataType("d32"), Address("flat", 32, None), src1="V2"
    )
    with pytest.raises(MachineError, match="only surfaces have append counters"):
        run(flat)


def test_atomics_of_threads_meet_without_a_barrier_and_plain_accesses_do_not() -> None:
    slm = Slm(64)
    slm.write(0, np.zeros(64, dtype=np.uint8))
    threads = [Progress(0, 2), Progress(1, 2)]
    files = [RegisterFile(1024) for _ in threads]
    address = Address("flat", 32, "V1")

    def run(thread: int, message: Message) -> None:
        registers = files[thread]
        registers.write(0, np.zeros(256, dtype=np.uint8))
        registers.write(64, np.array([3], dtype=np.uint32).view(np.uint8))
        execute(
            message,
            memory=Memory(),
            registers=registers,
            operands={"V1": 0, "V2": 64, "V4": 128},
            slm=slm,
            thread=threads[thread],
        )

    add = atomic("iadd", sfid="slm", address=address)
    for thread in (0, 1, 0):
        run(thread, add)
    assert slm.read(0, 4).view(np.uint32).tolist() == [9]
    assert files[0].read(128, 4, "the test").view(np.uint32).tolist() == [6]
    plain = Message("store", "slm", 1, DataType("d32"), address, src1="V2")
    with pytest.raises(RaceFault, match=r"thread 0 atomically wrote .*, thread 1 writes"):
        run(1, plain)


A32 = Address("flat", 32, "V1")
ACCESSES = {
    "load": Message("load", "slm", 1, DataType("d32"), A32, "V4"),
    "store": Message("store", "slm", 1, DataType("d32"), A32, src1="V2"),
    "atomic add": atomic("iadd", sfid="slm", address=A32),
    "atomic load": Message("atomic_load", "slm", 1, DataType("d32"), A32, "V4"),
    "atomic store": atomic("store", sfid="slm", address=A32, dst=None),
}


def access(slm: Slm, thread: Progress, kind: str) -> None:
    """One message of a thread, at dword 0 of the shared local memory."""
    registers = RegisterFile(1024)
    registers.write(0, np.zeros(256, dtype=np.uint8))
    operands = {"V1": 0, "V2": 64, "V4": 128}
    message = ACCESSES[kind]
    execute(
        message, memory=Memory(), registers=registers, operands=operands, slm=slm, thread=thread
    )


def fresh() -> Slm:
    slm = Slm(64)
    slm.write(0, np.zeros(64, dtype=np.uint8))
    return slm


@every("first", ACCESSES)
@every("second", ACCESSES)
def test_two_accesses_race_unless_both_are_atomic_or_both_read(first: str, second: str) -> None:
    slm, a, b = fresh(), Progress(0, 2), Progress(1, 2)
    access(slm, a, first)
    atomics = all(kind.startswith("atomic") for kind in (first, second))
    if atomics or all(kind.endswith("load") for kind in (first, second)):
        access(slm, b, second)
    else:
        with pytest.raises(RaceFault, match="race: thread 0"):
            access(slm, b, second)


@every("first", ACCESSES)
@every("second", ACCESSES)
def test_ordered_accesses_never_race(first: str, second: str) -> None:
    slm, a, b = fresh(), Progress(0, 2), Progress(1, 2)
    access(slm, a, first)
    b.acquire(a.release())
    access(slm, b, second)


def test_an_atomic_hides_no_plain_store_before_it() -> None:
    slm, (a, b, c) = fresh(), (Progress(i, 3) for i in range(3))
    access(slm, a, "store")
    b.acquire(a.release())
    access(slm, b, "atomic add")
    c.acquire(b.release())  # ordered after both
    access(slm, c, "load")
    late = Progress(3, 4)
    with pytest.raises(RaceFault, match="thread 0 wrote"):
        access(slm, late, "load")


def test_each_thread_is_known_by_its_own_atomic() -> None:
    slm, (a, b, c) = fresh(), (Progress(i, 3) for i in range(3))
    access(slm, a, "atomic add")
    access(slm, b, "atomic add")
    c.acquire(b.release())
    with pytest.raises(RaceFault, match="thread 0 atomically wrote"):
        access(slm, c, "load")


def test_an_atomic_store_without_destination_reads_nothing() -> None:
    slm = Slm(64)
    access(slm, Progress(0), "atomic store")
    assert slm.read(0, 4).tolist() == [0] * 4
    with pytest.raises(UnwrittenFault, match="byte 4"):
        slm.read(4, 1)
    with pytest.raises(UnwrittenFault, match="byte 0"):
        access(Slm(64), Progress(0), "atomic add")
