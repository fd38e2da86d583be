"""Memory, register files and shared local memory: what they keep, and what they refuse."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

from pycute_xe.errors import MachineError
from pycute_xe.machine import Memory, Progress, RegisterFile, Slm
from pycute_xe.machine.trace import BoundsFault, RaceFault, UnwrittenFault


def numbers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint8)


class TestMemory:
    @pytest.mark.parametrize("dtype", [np.float32, np.int8, ml_dtypes.bfloat16])
    def test_arrays_come_back(self, dtype: type) -> None:
        memory, array = Memory(), np.arange(12).reshape(3, 4).astype(dtype)
        back = memory.array(memory.place(array), (3, 4), dtype)
        assert back.tobytes() == array.tobytes()
        assert back.dtype == array.dtype

    def test_views_are_placed_first_index_slowest(self) -> None:
        memory = Memory()
        assert memory.read(memory.place(numbers(1, 2, 3, 4).reshape(2, 2).T), 4).tolist() == [
            1,
            3,
            2,
            4,
        ]

    @pytest.mark.parametrize("align", [1, 64, 4096])
    def test_addresses_are_aligned_and_apart(self, align: int) -> None:
        memory = Memory()
        addresses = [memory.alloc(size, align) for size in (1, 100, 0, 64)]
        assert all(address % align == 0 for address in addresses)
        assert all(b - a >= 100 for a, b in itertools.pairwise(addresses))
        assert 0 not in addresses

    def test_new_bytes_are_zero_and_writes_stay(self) -> None:
        memory = Memory()
        address = memory.alloc(4)
        assert not memory.read(address, 4).any()
        memory.write(address + 1, numbers(8, 9))
        assert memory.read(address, 4).tolist() == [0, 8, 9, 0]

    @pytest.mark.parametrize(("offset", "nbytes"), [(-1, 1), (0, 9), (8, 1), (4, 5), (1 << 40, 1)])
    def test_outside_an_allocation(self, offset: int, nbytes: int) -> None:
        memory = Memory()
        address = memory.alloc(8)
        memory.alloc(8)
        with pytest.raises(MachineError, match="not inside one allocation"):
            memory.read(address + offset, nbytes)
        with pytest.raises(MachineError):
            memory.write(address + offset, np.zeros(nbytes, dtype=np.uint8))

    def test_address_zero_is_nobody_s(self) -> None:
        with pytest.raises(MachineError):
            Memory().read(0, 1)

    def test_a_copy_does_not_follow(self) -> None:
        memory = Memory()
        address = memory.alloc(1)
        before = memory.read(address, 1)
        memory.write(address, numbers(7))
        assert before.tolist() == [0]

    def test_impossible_allocations(self) -> None:
        with pytest.raises(MachineError):
            Memory().alloc(-1)
        with pytest.raises(MachineError):
            Memory().alloc(8, align=0)


class TestRegisterFile:
    def test_reading_before_writing_names_byte_register_and_reader(self) -> None:
        registers = RegisterFile(256)
        registers.write(0, np.zeros(70, dtype=np.uint8))
        with pytest.raises(MachineError, match=r"dpas A.*byte 70 \(r1, byte 6\) is uninitialised"):
            registers.read(64, 16, "dpas A")
        with pytest.raises(MachineError, match=r"a store.*byte 100 \(r1, byte 36\)"):
            registers.gather(0, np.array([1, 100, 2]), "a store")

    def test_forgotten_bytes_are_uninitialised(self) -> None:
        registers = RegisterFile(64)
        registers.write(0, np.zeros(64, dtype=np.uint8))
        registers.forget(8, 8)
        registers.read(0, 8, "ok")
        with pytest.raises(MachineError, match="byte 8 "):
            registers.read(0, 9, "late")

    @pytest.mark.parametrize(("offset", "nbytes"), [(-1, 1), (60, 5), (64, 1)])
    def test_outside(self, offset: int, nbytes: int) -> None:
        registers = RegisterFile(64)
        with pytest.raises(MachineError, match="register file of 64 bytes"):
            registers.read(offset, nbytes, "r")
        with pytest.raises(MachineError):
            registers.write(offset, np.zeros(nbytes, dtype=np.uint8))
        with pytest.raises(MachineError):
            registers.gather(offset, np.arange(nbytes), "g")
        with pytest.raises(MachineError):
            registers.forget(offset, nbytes)

    def test_sizes(self) -> None:
        assert RegisterFile(128 * 64).nbytes == 8192
        with pytest.raises(MachineError):
            RegisterFile(0)


class TestSlm:
    def test_bytes_stay(self) -> None:
        slm = Slm(16)
        slm.write(4, numbers(1, 2))
        assert slm.read(4, 2).tolist() == [1, 2]
        assert slm.nbytes == 16

    def test_bounds_and_unwritten_bytes(self) -> None:
        slm = Slm(16)
        with pytest.raises(MachineError, match="shared local memory of 16 bytes"):
            slm.write(15, numbers(1, 2))
        slm.write(0, numbers(1))
        with pytest.raises(MachineError, match="byte 1 was never written"):
            slm.read(0, 2)
        with pytest.raises(MachineError):
            Slm(-1)

    def test_reading_what_another_wrote_needs_a_barrier(self) -> None:
        slm, a, b = Slm(4), Progress(0), Progress(1)
        a.label, b.label = "the store", "the load"
        slm.write(0, numbers(1, 2), a)
        with pytest.raises(RaceFault) as info:
            slm.read(1, 1, b)
        assert str(info.value) == (
            "Slm.read(thread=1): race: thread 0 wrote these bytes (1) by the store, thread 1 "
            "reads them by the load, and no barrier lies between. Way out: put a barrier between "
            "the two, which both threads reach"
        )
        b.acquire(a.release())
        assert slm.read(1, 1, b).tolist() == [2]

    def test_overwriting_what_another_reads_needs_a_barrier(self) -> None:
        slm, a, b = Slm(4), Progress(0), Progress(1)
        slm.write(0, numbers(1, 2, 3, 4))
        slm.read(1, 2, a)
        with pytest.raises(
            RaceFault, match=r"race: thread 0 read these bytes \(1 to 2\), thread 1 writes"
        ):
            slm.write(0, numbers(2, 2, 2, 2), b)
        b.acquire(a.release())
        slm.write(0, numbers(2), b)

    def test_two_readers_are_no_race_but_both_bar_a_writer(self) -> None:
        slm, writer, readers = Slm(1), Progress(0), [Progress(1), Progress(2)]
        slm.write(0, numbers(1), writer)
        known = writer.release()
        for reader in readers:
            reader.acquire(known)
            slm.read(0, 1, reader)
        for done, reader in zip((1, 2), readers, strict=True):
            with pytest.raises(RaceFault, match=f"thread {done} read"):
                slm.write(0, numbers(2), writer)
            writer.acquire(reader.release())
        slm.write(0, numbers(2), writer)

    def test_two_writers_race(self) -> None:
        slm = Slm(1)
        slm.write(0, numbers(1), Progress(0))
        with pytest.raises(RaceFault, match="race: thread 0 wrote"):
            slm.write(0, numbers(2), Progress(1))

    def test_between_arriving_and_waiting_nothing_is_settled(self) -> None:
        slm, a, b = Slm(1), Progress(0), Progress(1)
        known = a.release()
        slm.write(0, numbers(1), a)
        b.acquire(known)
        with pytest.raises(RaceFault):
            slm.read(0, 1, b)
        b.acquire(a.release())
        assert slm.read(0, 1, b).tolist() == [1]

    def test_order_passes_on_from_thread_to_thread(self) -> None:
        slm, a, b, c = Slm(1), Progress(0), Progress(1), Progress(2)
        slm.write(0, numbers(1), a)
        b.acquire(a.release())
        c.acquire(b.release())
        slm.write(0, numbers(2), c)
        with pytest.raises(RaceFault, match="thread 2 wrote"):
            slm.read(0, 1, a)

    def test_a_thread_does_not_race_with_itself(self) -> None:
        slm, early, again = Slm(1), Progress(0), Progress(0)
        early.release()
        slm.write(0, numbers(1), early)
        assert slm.read(0, 1, again).tolist() == [1]

    def test_a_write_of_no_thread_ends_what_threads_wrote_before(self) -> None:
        slm = Slm(2)
        slm.write(0, numbers(1, 2), Progress(0))
        slm.write(1, numbers(3))
        assert slm.read(1, 1, Progress(1)).tolist() == [3]
        with pytest.raises(RaceFault, match="thread 0 wrote"):
            slm.read(0, 1, Progress(1))

    def test_scattered_bytes_are_watched_one_by_one(self) -> None:
        slm, a, b = Slm(16), Progress(0), Progress(1)
        slm.scatter(np.array([1, 5, 9, 5]), numbers(1, 2, 3, 4), a)
        slm.write(4, numbers(7), b)
        with pytest.raises(
            RaceFault, match=r"thread 0 wrote these bytes \(2 of 5 to 9\), thread 1 reads"
        ):
            slm.gather(np.array([4, 5, 9]), b)
        assert slm.gather(np.array([9, 5, 1]), a).tolist() == [3, 4, 1]
        with pytest.raises(UnwrittenFault, match="byte 2 was never written by any thread"):
            slm.gather(np.array([1, 2]), a)
        with pytest.raises(BoundsFault, match="shared local memory of 16 bytes"):
            slm.scatter(np.array([3, 16]), numbers(1, 2))
        with pytest.raises(BoundsFault):
            slm.gather(np.array([-1, 3]))

    def test_a_thread_never_races_with_itself(self) -> None:
        slm, a = Slm(1), Progress(0)
        slm.write(0, numbers(1), a)
        assert slm.read(0, 1, a).tolist() == [1]
        slm.write(0, numbers(2), a)
