from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from pycute_xe.errors import MachineError
from pycute_xe.machine import BarrierArrive, BarrierWait, Progress, Slm, Trace, workgroup

Meeting = BarrierArrive | BarrierWait


def barrier() -> Iterator[Meeting]:
    yield BarrierArrive()
    yield BarrierWait()


def meets(times: int, log: list[str] | None = None, name: str = "") -> Iterator[Meeting]:
    for turn in range(times):
        if log is not None:
            log.append(f"{name}{turn}")
        yield from barrier()


def test_threads_run_in_order_between_barriers() -> None:
    log: list[str] = []
    trace = Trace()
    workgroup.run([meets(3, log, name) for name in "abc"], trace=trace)
    assert log == [f"{name}{turn}" for turn in range(3) for name in "abc"]
    assert trace.barriers == 3


def test_work_may_lie_between_arriving_and_waiting() -> None:
    log: list[str] = []

    def thread(name: str) -> Iterator[Meeting]:
        log.append(f"{name} writes")
        yield BarrierArrive()
        log.append(f"{name} overlaps")
        yield BarrierWait()
        log.append(f"{name} reads")

    workgroup.run([thread("a"), thread("b")])
    assert log.index("a overlaps") < log.index("b writes") < log.index("a reads")


def test_no_threads_and_no_barriers() -> None:
    workgroup.run([])
    workgroup.run([meets(0), meets(0)])


def test_a_missing_barrier_is_a_deadlock() -> None:
    with pytest.raises(MachineError, match="deadlock: thread 1 never arrives at barrier 2") as info:
        workgroup.run([meets(2), meets(1), meets(2)])
    assert info.value.operands == {"waiting": [0, 2], "missing": [1]}


def test_a_conditional_barrier_is_a_deadlock() -> None:
    with pytest.raises(MachineError, match="thread 8 never arrives at barrier 1"):
        workgroup.run([meets(1 if index < 8 else 0) for index in range(16)])


def test_arrivals_and_waits_alternate() -> None:
    def only(*meetings: Meeting) -> Iterator[Meeting]:
        yield from meetings

    with pytest.raises(MachineError, match="arrives twice"):
        workgroup.run([only(BarrierArrive(), BarrierArrive())])
    with pytest.raises(MachineError, match="waits without arriving"):
        workgroup.run([only(BarrierWait())])
    with pytest.raises(MachineError, match="ended between arriving and waiting"):
        workgroup.run([only(BarrierArrive())])


def test_one_progress_for_each_thread() -> None:
    with pytest.raises(MachineError, match="every thread has one progress"):
        workgroup.run([meets(1)], [Progress(0), Progress(1)])


def exchange(slm: Slm, mine: Progress, count: int, safe: bool, out: list[int]) -> Iterator[Meeting]:
    slm.write(mine.index, np.array([mine.index], dtype=np.uint8), mine)
    if safe:
        yield from barrier()
    out.append(int(slm.read((mine.index + 1) % count, 1, mine)[0]))


def test_threads_exchange_through_shared_local_memory() -> None:
    slm, progress, out = Slm(4), [Progress(i) for i in range(4)], []
    workgroup.run([exchange(slm, p, 4, True, out) for p in progress], progress)
    assert out == [1, 2, 3, 0]


def test_without_the_barrier_it_is_a_fault() -> None:
    slm, progress = Slm(4), [Progress(i) for i in range(4)]
    slm.write(0, np.zeros(4, dtype=np.uint8))
    with pytest.raises(MachineError, match="race"):
        workgroup.run([exchange(slm, p, 4, False, []) for p in progress], progress)


def test_a_second_round_needs_a_second_barrier() -> None:
    def thread(slm: Slm, mine: Progress, rounds: int, closing: bool) -> Iterator[Meeting]:
        for _ in range(rounds):
            yield from exchange(slm, mine, 2, True, [])
            if closing:
                yield from barrier()

    for closing in (True, False):
        slm, progress = Slm(2), [Progress(0), Progress(1)]
        threads = [thread(slm, p, 2, closing) for p in progress]
        if closing:
            workgroup.run(threads, progress)
        else:
            with pytest.raises(MachineError, match="race: thread"):
                workgroup.run(threads, progress)
