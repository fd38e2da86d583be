"""Atomics, predicated sends, named barriers and fences of the binary interpreter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from compiled_cases import filled, needs_compiler
from hypothesis import given, settings, strategies as st
from machine_code import GRF, NULL, after, element, ended, grf, held, instruction, sent, stored
from sampling import EXAMPLES

import pycute_xe as cx
from pycute_xe.errors import MachineError
from pycute_xe.executing.problem import prepare
from pycute_xe.machine import Memory, Progress, RegisterFile, Trace, workgroup
from pycute_xe.machine.slm import FencedSlm
from pycute_xe.machine.trace import RaceFault
from pycute_xe.native import compile_text
from pycute_xe.native.assembly import Assembly, Immediate, Instruction, Reg, Walk
from pycute_xe.native.comparison import execute, program, thread
from pycute_xe.native.messages import Around
from pycute_xe.native.operands import State

LANES, PLACES = 16, 8


def wrapped(kind: str) -> Callable[[int], int]:
    low = -(2**31) if kind == "d" else 0
    return lambda value: (value - low) % 2**32 + low


# By the number in the descriptor: the type, and what becomes of an element and a lane's operands.
ATOMICS: dict[int, tuple[str, int, Callable[..., Any]]] = {
    8: ("ud", 0, lambda old: old + 1),
    9: ("ud", 0, lambda old: old - 1),
    10: ("ud", 0, lambda old: old),
    11: ("ud", 1, lambda _, new: new),
    12: ("ud", 1, operator.add),
    13: ("ud", 1, operator.sub),
    14: ("d", 1, min),
    15: ("d", 1, max),
    16: ("ud", 1, min),
    17: ("ud", 1, max),
    18: ("ud", 2, lambda old, compared, new: new if old == compared else old),
    19: ("f", 1, lambda old, new: float(np.float32(old) + np.float32(new))),
    20: ("f", 1, lambda old, new: float(np.float32(old) - np.float32(new))),
    21: ("f", 1, min),
    22: ("f", 1, max),
    23: ("f", 2, lambda old, compared, new: new if old == compared else old),
    24: ("ud", 1, operator.and_),
    25: ("ud", 1, operator.or_),
    26: ("ud", 1, operator.xor),
}
DTYPES = {"ud": np.uint32, "d": np.int32, "f": np.float32}
numbers = st.lists(st.integers(-3, 3), min_size=2 * LANES, max_size=2 * LANES)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.sampled_from(sorted(ATOMICS)),
    numbers,
    st.lists(st.integers(0, PLACES - 1), min_size=LANES, max_size=LANES),
    st.lists(st.booleans(), min_size=LANES, max_size=LANES),
    st.booleans(),
)
def test_atomics_serve_lanes_one_after_the_other(
    code: int, values: list[int], places: list[int], on: list[bool], returns: bool
) -> None:
    kind, extra, meaning = ATOMICS[code]
    dtype, wrap = DTYPES[kind], wrapped(kind)
    data = np.array(values).astype(dtype)
    start = (np.arange(PLACES) % 4 - 1).astype(dtype)
    memory, trace = Memory(), Trace()
    base = memory.place(start)
    addresses = np.array([base + 4 * p for p in places], np.uint64)
    flags = np.array(on, np.int32)
    head = bytes(GRF) + addresses.tobytes() + data.tobytes() + flags.tobytes()
    null = Reg("null", 0, 0, Walk(-1, 1, 1), "d")
    compare = instruction("cmp", null, grf(5, "d"), Immediate("0", "w"), condition="ne", flag=1)
    to = grf(7, "", None) if returns else NULL
    source = Reg("r", 3, 0, None, "", "", extra)
    send = sent(to, code | 3 << 7 | 2 << 9, source, predicate="+", flag=1)
    around = Around(memory, None, trace, Trace())
    found = held(after(head, compare, send, around=around), head.ljust(16 * GRF, b"\0"))
    left: list[Any] = start.tolist()
    old: dict[int, Any] = {}
    for lane, place in enumerate(places):
        if on[lane]:
            given_to = [data[lane + LANES * i].item() for i in range(extra)]
            old[lane] = left[place]
            made = meaning(left[place], *given_to)
            left[place] = made if kind == "f" else wrap(made)
    assert memory.array(base, (PLACES,), dtype).tolist() == left
    expected = stored(head.ljust(16 * GRF, b"\0"), 7, kind, old if returns else {})
    assert found == expected
    assert trace.messages == {"atomic": 1}
    assert trace.nbytes["atomic"] == 4 * sum(on)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.booleans(), min_size=LANES, max_size=LANES), st.sampled_from("+-"))
def test_lanes_that_a_predicate_leaves_off_are_neither_loaded_nor_compared(
    on: list[bool], sign: str
) -> None:
    memory = Memory()
    source = np.arange(100, 100 + LANES, dtype=np.uint32)
    base = memory.place(source)
    addresses = (base + 4 * np.arange(LANES)).astype(np.uint64)
    data = (bytes(GRF) + addresses.tobytes() + np.array(on, np.int32).tobytes()).ljust(
        16 * GRF, b"\7"
    )
    null = Reg("null", 0, 0, Walk(-1, 1, 1), "d")
    code = (
        instruction("cmp", null, grf(3, "d"), Immediate("1", "w"), condition="eq", flag=0),
        sent(grf(5, "", None), 0 | 3 << 7 | 2 << 9, predicate=sign, flag=0),
        # Of the lanes that are on, those of a number below 108 stay.
        instruction(
            "cmp", null, grf(5, "d"), Immediate("108", "w"), condition="lt", flag=0, predicate="+"
        ),
        instruction("mov", grf(8, "d", (1,)), Immediate("1", "w"), predicate="+", flag=0),
    )
    around = Around(memory, None, Trace(), Trace())
    found = held(after(data, *code, around=around), data)
    loaded = {i: int(source[i]) for i in range(LANES) if on[i] == (sign == "+")}
    after_load = stored(data, 5, "ud", loaded)
    marked = {i: 1 for i in range(LANES) if on[i] and element(after_load, 5, "d", i) < 108}
    assert found == stored(after_load, 8, "d", marked)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(min_size=16 * GRF, max_size=16 * GRF), st.sampled_from(("d", "ud", "w")))
def test_a_comparison_leaves_all_ones_in_a_register(data: bytes, kind: str) -> None:
    code = instruction(
        "cmp", grf(12, kind, (1,)), grf(2, kind), grf(3, kind), condition="lt", flag=0
    )
    pairs = ((element(data, 2, kind, i), element(data, 3, kind, i)) for i in range(LANES))
    wanted = {i: -(a < b) for i, (a, b) in enumerate(pairs)}
    assert held(after(data, code), data) == stored(data, 12, kind, wanted)


@pytest.mark.parametrize("kind", ["v", "uv"])
def test_an_immediate_of_nibbles_gives_each_lane_its_own(kind: str) -> None:
    code = instruction("mov", grf(1, "w", (1,)), Immediate("0xFE543210", kind))
    numbers = [0, 1, 2, 3, 4, 5, *((-2, -1) if kind == "v" else (14, 15))] * 2
    wanted = stored(bytes(2 * GRF), 1, "w", dict(enumerate(numbers)))
    assert held(after(bytes(2 * GRF), code), bytes(2 * GRF)) == wanted


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(min_size=16 * GRF, max_size=16 * GRF))
def test_64_bits_are_shifted_by_up_to_63(data: bytes) -> None:
    code = instruction("shl", grf(12, "q", (1,)), grf(2, "q"), grf(4, "uw"), size=8)
    wanted: dict[int, int] = {}
    for i in range(8):
        value = element(data, 2, "q", i) << (element(data, 4, "uw", i) % 64)
        wanted[i] = (value + 2**63) % 2**64 - 2**63
    assert held(after(data, code), data) == stored(data, 12, "q", wanted)


# ---------------------------------------------------------------- barriers and fences


def meeting(codes: list[tuple[Instruction, ...]], payload: list[bytes], slm: int = 64) -> list[str]:
    """Run threads of a work-group; the order in which they end."""
    log: list[str] = []
    shared, trace = FencedSlm(slm), Trace()
    watched = [Progress(i, len(codes)) for i in range(len(codes))]

    def run(number: int) -> Iterator[workgroup.Meeting]:
        state = State(RegisterFile(16 * GRF, GRF), progress=watched[number])
        state.registers.write(0, np.frombuffer(payload[number].ljust(16 * GRF, b"\0"), np.uint8))
        steps = program(Assembly((*codes[number], ended()), {}))
        yield from thread(steps, state, Around(Memory(), shared, trace, Trace()), 99)
        log.append(f"{number} ends")

    workgroup.run([run(i) for i in range(len(codes))], watched, trace)
    return log


def arrival(number: int, role: int, producers: int, consumers: int) -> bytes:
    """The payload of an arrival in register 1."""
    return bytes(GRF + 8) + bytes([number, role << 6, producers, consumers])


SIGNAL = sent(NULL, 0x02000004, at=1, sub="gtwy")
PLAIN = instruction("sync", None, Immediate("0x0", "ud"), sub="bar")
NAMED = instruction("sync", None, Immediate("0x3", "uw"), sub="bar")


def test_a_named_barrier_holds_consumers_until_producers_have_come() -> None:
    # Thread 0 consumes and waits, thread 1 produces and goes on.
    codes = [(SIGNAL, NAMED), (SIGNAL,)]
    ends = meeting(codes, [arrival(3, 2, 1, 1), arrival(3, 1, 1, 1)])
    assert ends == ["1 ends", "0 ends"]
    several = [arrival(3, 2, 2, 1), *[arrival(3, 1, 2, 1)] * 2]
    assert meeting([*codes, (SIGNAL,)], several)[-1] == "0 ends"
    both = meeting([(SIGNAL, NAMED)] * 2, [arrival(3, 0, 2, 2)] * 2)
    assert len(both) == 2
    with pytest.raises(MachineError, match="others 2 and 2"):
        meeting([(SIGNAL, NAMED)] * 2, [arrival(3, 0, 2, 2), arrival(3, 0, 1, 2)])
    with pytest.raises(MachineError, match="without arriving"):
        meeting([(NAMED,)], [bytes(GRF)])
    with pytest.raises(MachineError, match="role 3"):
        meeting([(SIGNAL, NAMED)], [arrival(3, 3, 1, 1)])


def test_a_barrier_whose_number_is_in_a_register_is_refused() -> None:
    held_in_flag = instruction("sync", None, Reg("f", 0, 0, None, "uw"), sub="bar")
    with pytest.raises(MachineError, match="in a register"):
        program(Assembly((held_in_flag,), {}))


def exchange(*, fenced: bool) -> None:
    """Thread 0 stores to shared memory what thread 1 loads behind a barrier."""
    places = (4 * np.arange(16)).astype(np.uint32).tobytes()
    head = bytes(GRF + 10) + bytes([2, 2])
    payload = head.ljust(2 * GRF, b"\0") + places + bytes(GRF)
    store = sent(NULL, 4 | 2 << 7 | 2 << 9, grf(3, "", None), at=2, sub="slm")
    load = sent(grf(5, "", None), 0 | 2 << 7 | 2 << 9, at=2, sub="slm")
    fence = (sent(grf(6, "", None), 0x0210011F, sub="slm"),) if fenced else ()
    meeting([(store, *fence, SIGNAL, PLAIN), (SIGNAL, PLAIN, load)], [payload] * 2)


def test_shared_memory_needs_a_fence_and_a_barrier_between() -> None:
    exchange(fenced=True)
    with pytest.raises(RaceFault, match="fence"):
        exchange(fenced=False)


@needs_compiler
@pytest.mark.long
def test_a_binary_with_named_barriers_is_refused_by_name() -> None:

    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    subject = cx.kernel.gemm(mma)
    text = cx.emit(subject).replace(
        "XE_BARRIER(wait);",
        '__asm__ volatile("nbarrier.signal 0x3:ub 0x4:ub");\n'
        '    __asm__ volatile("nbarrier.wait 0x3:ub");',
    )
    binary = compile_text(text, subject.name)
    problem = prepare(subject, (), filled(subject, (8, 8, 8)), None)
    with pytest.raises(MachineError, match="named barriers"):
        execute(binary, problem, Trace())
