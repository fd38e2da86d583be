"""Launches of two and three dimensions, and what they cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from every import every
from hypothesis import given, strategies as st

from pycute_xe import esimd
from pycute_xe.errors import InputError
from pycute_xe.esimd import Item, Pointer

extents = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@given(extents, st.data())
def test_numbers_are_row_major_over_every_dimension(each: list[int], data: st.DataObject) -> None:
    threads = tuple(each)
    groups = tuple(data.draw(st.integers(1, 3)) for _ in threads)
    rank = range(len(threads))
    seen: list[tuple[Any, ...]] = []

    def kernel(item: Item) -> None:
        local = tuple(item.get_local_id(i) for i in rank)
        group = tuple(item.get_group(i) for i in rank)
        where = tuple(item.get_global_id(i) for i in rank)
        assert tuple(item.get_local_range(i) for i in rank) == threads
        assert tuple(item.get_group_range(i) for i in rank) == groups
        everywhere = tuple(item.get_global_range(i) for i in rank)
        # NumPy counts with the last index fastest, as SYCL does.
        assert item.get_local_linear_id() == np.ravel_multi_index(local, threads)
        assert item.get_group_linear_id() == np.ravel_multi_index(group, groups)
        assert item.get_global_linear_id() == np.ravel_multi_index(where, everywhere)
        assert where == tuple(g * t + i for g, t, i in zip(group, threads, local, strict=True))
        seen.append(where)

    esimd.launch(kernel, threads=threads, groups=groups)
    assert sorted(seen) == list(np.ndindex(*(g * t for g, t in zip(groups, threads, strict=True))))


def test_three_dimensions_with_barriers() -> None:
    def kernel(item: Item, out: Pointer) -> Any:
        esimd.slm_init(16 * 32)
        mine = item.get_local_linear_id()
        x, y, z = (item.get_local_id(i) for i in range(3))
        esimd.slm_block_store("u32", 8, mine * 32, 100 * x + 10 * y + z)
        yield esimd.barrier()
        other = 15 - mine
        row = esimd.slm_block_load("u32", 8, other * 32)
        at = (item.get_group(0) * 16 + mine) * 8
        esimd.block_store("u32", 8, out + at, row + 1000 * item.get_group(0))

    out = np.zeros((2, 2, 2, 4, 8), dtype=np.uint32)
    run = esimd.launch(kernel, out, threads=(2, 2, 4), groups=(2, 1, 1))
    g, x, y, z = np.indices((2, 2, 2, 4))
    expected = 1000 * g + 100 * (1 - x) + 10 * (1 - y) + 3 - z
    assert np.array_equal(out[..., 0], expected)
    assert run.trace.barriers == 2


def test_one_group_stands_for_any_number_of_dimensions() -> None:
    seen: list[int] = []
    esimd.launch(lambda item: seen.append(item.get_group(2)), threads=(1, 1, 2))
    assert seen == [0, 0]


@every(
    ("threads", "groups", "text"),
    [
        ((2, 2), (1, 1, 1), "same number of dimensions"),
        ((2, 2), 4, "same number of dimensions"),
        ((1, 1, 1, 1), 1, "one to three"),
        ((), 1, "one to three"),
        ((2, 0), 1, "at least one thread"),
        ((2, "4"), 1, "threads must be an integer"),
        ((64, 64, 16), 1, "at most 32768"),
    ],
)
def test_extents_that_are_refused(threads: Any, groups: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        esimd.launch(lambda item: None, threads=threads, groups=groups)


def test_a_dimension_that_the_launch_does_not_have() -> None:
    with pytest.raises(InputError, match="the launch has two dimensions"):
        esimd.launch(lambda item: item.get_local_id(2), threads=(2, 2))
