"""Parts of shared local memory, atomics, and functions of vectors, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from every import every
from hypothesis import given, strategies as st

from pycute_xe import esimd
from pycute_xe.errors import CuteError, DTypeError, MachineError, ShapeError
from pycute_xe.esimd import (
    EsimdError,
    Item,
    Pointer,
    atomic_op,
    barrier,
    simd,
    slm_allocator,
    slm_atomic_update,
    slm_block_load,
    slm_block_store,
    slm_init,
    uint32_t,
)


def staged(item: Item, x: Pointer, y: Pointer) -> Iterator[Any]:
    """Pass rows on in bytes behind those of slm_init, twice."""
    slm_init(64)
    lid, threads = item.get_local_id(0), item.get_local_range(0)
    for turn in range(2):
        with slm_allocator(threads * 32) as part:
            assert part.get_offset() == 64
            row = esimd.block_load(uint32_t, 8, x + lid * 8)
            slm_block_store(uint32_t, 8, part.get_offset() + lid * 32, row + turn)
            yield barrier()
            other = part.get_offset() + (lid + 1) % threads * 32
            esimd.block_store(uint32_t, 8, y + lid * 8, slm_block_load(uint32_t, 8, other))
            yield barrier()


def test_allocated_parts_lie_behind_slm_init() -> None:
    x, y = np.arange(32, dtype=np.uint32).reshape(4, 8), np.zeros((4, 8), dtype=np.uint32)
    assert esimd.launch(staged, x, y, threads=4).codes == ()
    assert np.array_equal(y, np.roll(x, -1, axis=0) + 1)


def test_parts_end_with_their_block_and_count_for_the_size() -> None:
    def kernel(item: Item) -> None:
        slm_init(20)
        with slm_allocator(8) as one:
            two = slm_allocator(4)
            assert (one.get_offset(), two.get_offset()) == (32, 48)
        with pytest.raises(EsimdError, match="PX210"):
            slm_block_load(uint32_t, 8, 64)

    assert esimd.launch(kernel).codes == ()

    def large(item: Item) -> None:
        slm_init(65536)
        slm_allocator(64)

    assert esimd.launch(large, target="lnl").codes == ("PX205",)
    with pytest.raises(EsimdError, match="PX201"):
        esimd.launch(lambda item: slm_allocator(64))
    with pytest.raises(MachineError, match="positive number"):
        esimd.launch(lambda item: (slm_init(64), slm_allocator(0)))


WORDS = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=24)
UFUNCS: dict[atomic_op, Any] = {
    atomic_op.add: np.add,
    atomic_op.sub: np.subtract,
    atomic_op.umax: np.maximum,
    atomic_op.umin: np.minimum,
    atomic_op.bit_and: np.bitwise_and,
    atomic_op.bit_or: np.bitwise_or,
    atomic_op.bit_xor: np.bitwise_xor,
}


@given(WORDS, st.sampled_from(list(UFUNCS)), st.data())
def test_atomics_are_numpys_unbuffered_updates(
    values: list[int], op: atomic_op, data: st.DataObject
) -> None:
    places = [data.draw(st.integers(0, 7)) for _ in values]
    mask = [data.draw(st.booleans()) for _ in values]

    def kernel(item: Item, start: Pointer, out: Pointer) -> None:
        slm_init(32)
        slm_block_store(uint32_t, 8, 0, esimd.block_load(uint32_t, 8, start))
        where = simd(uint32_t, len(places), [4 * p for p in places])
        given = simd(uint32_t, len(values), values)
        slm_atomic_update(op, uint32_t, len(places), where, given, pred=mask)
        esimd.block_store(uint32_t, 8, out, slm_block_load(uint32_t, 8, 0))

    start = np.arange(8, dtype=np.uint32) * 0x10101010
    out = np.zeros(8, dtype=np.uint32)
    esimd.launch(kernel, start, out)
    expected, on = start.copy(), np.array(mask)
    taken = np.array(values, dtype=np.uint32)[on]
    UFUNCS[op].at(expected, np.array(places)[on], taken)
    assert np.array_equal(out, expected)


def test_atomics_of_many_threads_and_old_values() -> None:
    def kernel(item: Item, out: Pointer, old: Pointer) -> Iterator[Any]:
        slm_init(64)
        lid = item.get_local_id(0)
        if lid == 0:
            slm_block_store(uint32_t, 16, 0, 0)
        yield barrier()
        before = slm_atomic_update(atomic_op.inc, uint32_t, 16, simd(uint32_t, 16, 0))
        esimd.block_store(uint32_t, 16, old + 16 * lid, before)
        yield barrier()
        if lid == 0:
            esimd.block_store(uint32_t, 16, out, slm_block_load(uint32_t, 16, 0))

    out, old = np.zeros(16, dtype=np.uint32), np.zeros(128, dtype=np.uint32)
    assert esimd.launch(kernel, out, old, threads=8).codes == ()
    assert out.tolist() == [128] + [0] * 15
    assert sorted(old) == list(range(128))


def test_compare_and_swap_takes_two_operands() -> None:
    def kernel(item: Item, out: Pointer) -> None:
        slm_init(64)
        slm_block_store(uint32_t, 8, 0, range(8))
        every = simd(uint32_t, 8, 0, 4)
        slm_atomic_update(atomic_op.cmpxchg, uint32_t, 8, every, 3, 99)
        esimd.block_store(uint32_t, 8, out, slm_block_load(uint32_t, 8, 0))

    out = np.zeros(8, dtype=np.uint32)
    esimd.launch(kernel, out)
    assert out.tolist() == [0, 1, 2, 99, 4, 5, 6, 7]


@every(
    ("act", "error", "text"),
    [
        (lambda: slm_atomic_update("add", uint32_t, 2, [0, 4], 1), DTypeError, "op must be"),
        (lambda: slm_atomic_update(atomic_op.add, "u8", 2, [0, 4], 1), DTypeError, "16, 32 or 64"),
        (lambda: slm_atomic_update(atomic_op.add, "u32", 2, [0, 4]), ShapeError, "1 operands"),
        (lambda: slm_atomic_update(atomic_op.inc, "u32", 2, [0, 4], 1), ShapeError, "0 operands"),
        (
            lambda: slm_atomic_update(atomic_op.add, "u32", 2, [0, 4], [1, 2, 3]),
            ShapeError,
            "not 3",
        ),
        (lambda: slm_atomic_update(atomic_op.inc, "u32", 2, [0, 3]), EsimdError, "PX204"),
    ],
)
def test_atomics_that_are_refused(act: Callable[[], Any], error: Any, text: str) -> None:
    def kernel(item: Item) -> None:
        slm_init(64)
        act()

    with pytest.raises(error, match=text):
        esimd.launch(kernel)


# ------------------------------------------------------------------ functions of vectors

FLOATS = st.lists(st.floats(-1000, 1000, width=16), min_size=1, max_size=32)


@given(FLOATS, st.data())
def test_larger_smaller_and_sums(values: list[float], data: st.DataObject) -> None:
    others = [data.draw(st.floats(-1000, 1000, width=16)) for _ in values]
    a, b = (simd("f32", len(values), v) for v in (values, others))
    assert list(esimd.max(a, b)) == [max(p) for p in zip(values, others, strict=True)]
    assert list(esimd.min(a, 0)) == [min(v, 0) for v in values]
    assert float(esimd.hmax(a)) == max(values)
    assert float(esimd.hmin(a)) == min(values)
    assert float(esimd.sum(a)) == pytest.approx(float(np.sum(np.float64(values))), abs=1e-2)
    assert np.allclose(np.asarray(esimd.exp(a * 0.001)), np.exp(np.float64(values) * 0.001))


@given(FLOATS, st.data())
def test_merge_is_where(values: list[float], data: st.DataObject) -> None:
    mask = [data.draw(st.booleans()) for _ in values]
    x, kept = (simd("f32", len(values), values) for _ in range(2))
    x.merge(7, mask)
    assert list(x) == [7 if on else v for on, v in zip(mask, values, strict=True)]
    x.merge(kept, mask, -kept)
    assert list(x) == [v if on else -v for on, v in zip(mask, values, strict=True)]


def test_functions_of_vectors_refuse_other_things() -> None:
    x: Any = simd("s32", 4)
    bad: list[Callable[[], Any]] = [
        lambda: esimd.exp(x),
        lambda: esimd.hmax([1, 2]),
        lambda: esimd.max(1, 2),
        lambda: esimd.max(x, simd("s32", 3)),
        lambda: x.merge([1, 2], x > 0),
    ]
    for act in bad:
        with pytest.raises(CuteError):
            act()
