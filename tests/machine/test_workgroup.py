from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pycute_xe.errors import MachineError
from pycute_xe.machine import (
    BarrierArrive,
    BarrierWait,
    NamedBarrier,
    Progress,
    Slm,
    Trace,
    workgroup,
)
from pycute_xe.machine.trace import DeadlockFault, RaceFault, UnwrittenFault

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
    with pytest.raises(
        DeadlockFault, match="deadlock: thread 1 never arrives at barrier 2"
    ) as info:
        workgroup.run([meets(2), meets(1), meets(2)])
    assert info.value.operands == {"waiting": [0, 2], "missing": [1]}


def test_a_conditional_barrier_is_a_deadlock() -> None:
    with pytest.raises(DeadlockFault) as info:
        workgroup.run([meets(1 if index < 8 else 0) for index in range(16)])
    assert info.value.condition == (
        "deadlock: threads 8 to 15 never arrive at barrier 1; threads 0 to 7 wait at barrier 1; "
        "threads 8 to 15 have ended"
    )


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
    with pytest.raises(MachineError, match="every thread needs a Progress"):
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
            with pytest.raises(RaceFault, match="race: thread"):
                workgroup.run(threads, progress)


def named(*meetings: Meeting, log: list[str] | None = None, name: str = "") -> Iterator[Meeting]:
    yield from meetings
    if log is not None:
        log.append(name)


def test_a_deadlock_says_where_everyone_is() -> None:
    pair = NamedBarrier(3, 2, 2)
    threads = [
        named(BarrierArrive(), BarrierWait(label="barrier at line 7")),
        named(BarrierArrive(pair), BarrierWait(pair)),
        named(),
    ]
    with pytest.raises(DeadlockFault) as info:
        workgroup.run(threads)
    assert info.value.condition == (
        "deadlock: threads 1 to 2 never arrive at barrier 1; "
        "thread 0 waits at barrier 1 (barrier at line 7); thread 1 waits at named barrier 3; "
        "thread 2 has ended"
    )
    with pytest.raises(
        DeadlockFault,
        match="named barrier 3 never fires, as 1 of 2 producers and 1 of 2 consumers have",
    ):
        workgroup.run([named(BarrierArrive(pair), BarrierWait(pair)), named(), named()])


def test_named_barriers_let_groups_of_threads_meet_apart() -> None:
    log: list[str] = []

    def thread(index: int) -> Iterator[Meeting]:
        mine = NamedBarrier(1 + index % 2, 2, 2)
        for turn in range(2):
            log.append(f"{index}{'ab'[turn]}")
            yield BarrierArrive(mine)
            yield BarrierWait(mine)

    trace = Trace(keep=True)
    workgroup.run([thread(i) for i in range(4)], trace=trace)
    assert log == ["0a", "1a", "2a", "3a", "0b", "1b", "2b", "3b"]
    assert [event.text for event in trace.events] == [f"named barrier {i}" for i in (1, 2, 1, 2)]


def hand_over(slm: Slm, mine: Progress, wait: bool, out: list[int]) -> Iterator[Meeting]:
    """Threads 0 and 1 produce a byte each, thread 2 consumes both."""
    done = NamedBarrier(1, producers=2, consumers=1)
    if mine.index < 2:
        slm.write(mine.index, np.array([7 + mine.index], dtype=np.uint8), mine)
        yield BarrierArrive(done, "producer")
        slm.write(2 + mine.index, np.zeros(1, dtype=np.uint8), mine)
    else:
        yield BarrierArrive(done, "consumer")
        if wait:
            yield BarrierWait(done)
        out.extend(slm.read(0, 2, mine).tolist())
        if not wait:
            yield BarrierWait(done)


def test_a_named_barrier_orders_what_producers_did_before_it() -> None:
    slm, progress, out = Slm(4), [Progress(i) for i in range(3)], []
    workgroup.run([hand_over(slm, p, True, out) for p in progress], progress)
    assert out == [7, 8]
    slm, progress = Slm(4), [Progress(i) for i in range(3)]
    with pytest.raises(RaceFault, match="thread 0 wrote"):
        workgroup.run([hand_over(slm, p, False, out) for p in progress], progress)


def test_a_named_barrier_orders_nothing_else() -> None:
    def thread(slm: Slm, mine: Progress) -> Iterator[Meeting]:
        done = NamedBarrier(1, producers=1, consumers=1)
        if mine.index == 0:
            yield BarrierArrive(done, "producer")
            slm.write(0, np.zeros(1, dtype=np.uint8), mine)
        else:
            yield BarrierArrive(done, "consumer")
            yield BarrierWait(done)
            slm.write(0, np.zeros(1, dtype=np.uint8), mine)

    slm, progress = Slm(1), [Progress(i) for i in range(2)]
    with pytest.raises(RaceFault, match="thread 0 wrote"):
        workgroup.run([thread(slm, p) for p in progress], progress)


def test_misuse_of_named_barriers() -> None:
    both, other = NamedBarrier(1, 1, 1), NamedBarrier(1, 2, 1)
    with pytest.raises(MachineError, match="the thread waits, but arrived as a producer"):
        workgroup.run([named(BarrierArrive(both, "producer"), BarrierWait(both))])
    with pytest.raises(MachineError, match="arrives again before the barrier has fired"):
        workgroup.run([named(*[BarrierArrive(both, "producer")] * 2)])
    with pytest.raises(MachineError, match="the barrier never fired"):
        workgroup.run([named(BarrierArrive(both, "producer"))])
    with pytest.raises(MachineError, match="counts 2 producers and 1 consumers, others 1 and 1"):
        workgroup.run([named(BarrierArrive(both, "producer")), named(BarrierArrive(other))])
    with pytest.raises(MachineError, match="more threads arrive than 1 producers"):
        workgroup.run([named(BarrierArrive(both, "producer")) for _ in range(2)])
    for numbers in [(0, 1, 1), (32, 1, 1), (1, 0, 1), (1, 1, 0)]:
        with pytest.raises(MachineError, match="numbered 1 to 31"):
            NamedBarrier(*numbers)


def test_a_read_that_comes_too_early_names_who_writes_later() -> None:
    # Thread 0 runs first, so the byte is not written yet; the report is the race all the same.
    slm, progress = Slm(2), [Progress(0), Progress(1)]
    progress[0].label, progress[1].label = "load", "store"
    with pytest.raises(
        RaceFault, match=r"thread 1 wrote these bytes \(1\) by store, thread 0 reads"
    ):
        workgroup.run([exchange(slm, p, 2, False, []) for p in progress], progress)


def test_a_read_of_what_nobody_writes_is_no_race() -> None:
    def thread(slm: Slm, mine: Progress) -> Iterator[Meeting]:
        yield from barrier()
        slm.read(0, 1, mine)

    slm, progress = Slm(2), [Progress(0), Progress(1)]
    with pytest.raises(UnwrittenFault, match="byte 0 was never written by any thread; thread 0"):
        workgroup.run([thread(slm, p) for p in progress], progress)


def test_what_goes_wrong_while_looking_ahead_is_not_forgotten() -> None:
    def thread(slm: Slm, mine: Progress) -> Iterator[Meeting]:
        if mine.index == 0:
            with pytest.raises(UnwrittenFault):
                slm.read(0, 1, mine)
        else:
            slm.read(1, 1, mine)
        yield from ()

    slm, progress = Slm(2), [Progress(0), Progress(1)]
    with pytest.raises(UnwrittenFault, match=r"byte 1 .* thread 1 reads it"):
        workgroup.run([thread(slm, p) for p in progress], progress)


@pytest.mark.parametrize("waits", [True, False])
def test_who_waits_is_ordered_after_other_consumers_too(waits: bool) -> None:
    def thread(slm: Slm, mine: Progress) -> Iterator[Meeting]:
        done = NamedBarrier(1, producers=1, consumers=2)
        if mine.index == 1:
            slm.read(0, 1, mine)
        yield BarrierArrive(done, "producer" if mine.index == 0 else "consumer")
        if mine.index and waits:
            yield BarrierWait(done)
        if mine.index == 2:
            slm.write(0, np.zeros(1, dtype=np.uint8), mine)
        if mine.index and not waits:
            yield BarrierWait(done)

    slm, progress = Slm(1), [Progress(i) for i in range(3)]
    slm.write(0, np.zeros(1, dtype=np.uint8))
    threads = [thread(slm, p) for p in progress]
    if waits:
        workgroup.run(threads, progress)
        return
    with pytest.raises(RaceFault, match="thread 1 read"):
        workgroup.run(threads, progress)


def test_a_producer_knows_nothing_of_who_comes_before_it() -> None:
    def thread(slm: Slm, mine: Progress) -> Iterator[Meeting]:
        done = NamedBarrier(1, producers=1, consumers=1)
        if mine.index == 0:
            slm.read(0, 1, mine)
            yield BarrierArrive(done, "consumer")
            yield BarrierWait(done)
        else:
            yield BarrierArrive(done, "producer")
            slm.write(0, np.zeros(1, dtype=np.uint8), mine)

    slm, progress = Slm(1), [Progress(i) for i in range(2)]
    slm.write(0, np.zeros(1, dtype=np.uint8))
    with pytest.raises(RaceFault, match="thread 0 read"):
        workgroup.run([thread(slm, p) for p in progress], progress)


def test_a_thread_that_looking_ahead_moved_on_is_not_moved_again() -> None:
    both = NamedBarrier(1, producers=2, consumers=2)
    log: list[int] = []

    def thread(slm: Slm, mine: Progress) -> Iterator[Meeting]:
        if mine.index == 0:
            with pytest.raises(UnwrittenFault):
                slm.read(0, 1, mine)  # runs threads 1 and 2 up to their first wait
        for turn in range(2 if mine.index != 1 else 0):
            yield BarrierArrive(both)
            yield BarrierWait(both)
            log.append(10 * mine.index + turn)
        yield from barrier()

    slm, progress = Slm(1), [Progress(i) for i in range(3)]
    workgroup.run([thread(slm, p) for p in progress], progress)
    assert sorted(log) == [0, 1, 20, 21]


Access = tuple[str, int]
PHASE = st.lists(st.tuples(st.sampled_from(["read", "write"]), st.integers(0, 3)), max_size=2)


@given(st.lists(st.lists(PHASE, min_size=3, max_size=3), min_size=1, max_size=4))
def test_races_are_what_two_threads_do_to_a_byte_between_the_same_barriers(
    phases: list[list[list[Access]]],
) -> None:
    def thread(slm: Slm, mine: Progress) -> Iterator[Meeting]:
        for phase in phases:
            for kind, byte in phase[mine.index]:
                if kind == "read":
                    slm.read(byte, 1, mine)
                else:
                    slm.write(byte, np.zeros(1, dtype=np.uint8), mine)
            yield from barrier()

    racing = any(
        a[1] == b[1] and "write" in (a[0], b[0])
        for phase in phases
        for one, other in combinations(phase, 2)
        for a, b in product(one, other)
    )
    slm, progress = Slm(4), [Progress(i) for i in range(3)]
    slm.write(0, np.zeros(4, dtype=np.uint8))
    threads = [thread(slm, p) for p in progress]
    if racing:
        with pytest.raises(RaceFault):
            workgroup.run(threads, progress)
    else:
        workgroup.run(threads, progress)
