"""LSC loads and stores: the machine, the transcribed pseudo-code and NumPy give the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
import visa_lsc_pseudo_code as visa_lsc
from every import every
from hypothesis import given, settings
from lsc_cases import SIZES, Bench, Case, Setting, cases

from pycute_xe.arch.lsc import Address, DataType, Message
from pycute_xe.machine.lsc import places

EXAMPLES = settings().max_examples * 5 // 3
FEW, SOME, MANY = (settings(max_examples=EXAMPLES // 2 * i) for i in (1, 2, 4))


def compare(case: Case, setting: Setting) -> None:
    bench = Bench(case, setting)
    memory, grf = bench.run()
    world = bench.world()
    visa_lsc.run(world, case)
    assert memory == bytes(world.memory)
    assert grf == bytes(world.grf)
    meant_memory, meant_grf = meaning(bench)
    assert memory == meant_memory.tobytes()
    assert grf == meant_grf.tobytes()
    kind = "store" if case.op.startswith("store") else "prefetch" if case.null_dst else "load"
    if case.op != "load_status":
        inside = bench.bytes_at()[1]
        assert bench.trace.nbytes[kind] == int(inside.sum()) * visa_lsc.MEMORY_BYTES[case.size]


def meaning(bench: Bench) -> tuple[np.ndarray, np.ndarray]:
    case, memory, grf = bench.case, bench.data.copy(), bench.grf.copy()
    at, inside = bench.bytes_at()
    if case.op.startswith("store"):
        data = bench.narrow(bench.operand(grf, visa_lsc.SRC1)[bench.lanes()])
        for where, what in zip(at[inside], data[inside], strict=True):
            memory[where] = what
    elif case.op == "load_status":
        if not case.null_dst:
            bits = np.zeros(32, dtype=np.uint8)
            bits[bench.lanes()] = inside.all(axis=1)
            grf[visa_lsc.DST : visa_lsc.DST + 4] = np.packbits(bits, bitorder="little")
    elif not case.null_dst:
        data = np.where(inside[:, :, None], memory[at], 0).astype(np.uint8)
        bench.operand(grf, visa_lsc.DST)[bench.lanes()] = bench.widened(data)
    return memory, grf


@MANY
@given(cases(("load",)))
def test_gathers(drawn: tuple[Case, Setting]) -> None:
    compare(*drawn)


@SOME
@given(cases(("load_strided", "load_quad")))
def test_strided_and_quad_loads(drawn: tuple[Case, Setting]) -> None:
    compare(*drawn)


@FEW
@given(cases(("load_status",)))
def test_status(drawn: tuple[Case, Setting]) -> None:
    compare(*drawn)


@MANY
@given(cases(("store", "store_uncompressed")))
@pytest.mark.long
def test_scatters(drawn: tuple[Case, Setting]) -> None:
    compare(*drawn)


@SOME
@given(cases(("store_strided", "store_quad")))
def test_strided_and_quad_stores(drawn: tuple[Case, Setting]) -> None:
    compare(*drawn)


@every("exec_size", [1, 8, 16, 32])
@every("size", SIZES)
def test_as_many_registers_as_the_message_says(size: str, exec_size: int) -> None:
    for vector in (1, 2, 3, 4, 8, 16, 32, 64):
        for transpose in (False, True):
            data = DataType(size, vector, transpose)
            message = Message("load", "ugm", exec_size, data, Address("flat", 64, "V1"), "V2")
            used = set((places(data, exec_size, 64) // 64).reshape(-1).tolist())
            assert max(used) < message.registers("pvc")
            if transpose or exec_size >= 16:  # else channels that are not there end the last ones
                assert used == set(range(message.registers("pvc")))
