"""What a launch takes: arrays that share memory, and the arguments that it and its calls refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from every import every

from pycute_xe import esimd
from pycute_xe.errors import CuteError, InputError
from pycute_xe.esimd import Item, Pointer, nbarrier, nbarrier_role, simd


def doubled(item: Item, x: Pointer, y: Pointer) -> None:
    """Double 8 words, half of them through each pointer."""
    for first, pointer in ((0, x), (4, y)):
        here = esimd.reinterpret_cast("u32", pointer) + first
        esimd.block_store("u32", 4, here, esimd.block_load("u32", 4, here) * 2)


@every("other", ["same", "slice", "shape", "type", "read-only"])
def test_one_buffer_twice_is_one_allocation(other: str) -> None:
    x = np.arange(8, dtype=np.uint32)
    again = {"same": x, "slice": x[:], "shape": x.reshape(2, 4), "type": x.view(np.float16)}.get(
        other, x.view()
    )
    again.flags.writeable = other != "read-only"
    esimd.launch(doubled, again, x)
    assert x.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    x.flags.writeable = True
    esimd.launch(doubled, x, again)
    assert x.tolist() == [0, 4, 8, 12, 16, 20, 24, 28]


def test_stores_through_both_pointers_are_kept() -> None:
    def kernel(item: Item, x: Pointer, y: Pointer) -> None:
        esimd.block_store("u32", 1, x, 1)
        esimd.block_store("u32", 1, y + 1, 2)
        assert x == y

    x = np.zeros(2, dtype=np.uint32)
    esimd.launch(kernel, x, x)
    assert x.tolist() == [1, 2]


def test_a_strided_array_twice() -> None:
    x = np.arange(16, dtype=np.uint32).reshape(8, 2)
    esimd.launch(doubled, x[:, 1], x[:, 1])
    assert x.tolist() == [[2 * i, 2 * (2 * i + 1)] for i in range(8)]


def test_arrays_that_overlap_are_refused() -> None:
    x = np.zeros((8, 8), dtype=np.uint32)
    for a, b in ((x, x[1:]), (x[:6], x[2:]), (x, x.T), (x[:, :4], x[:, 2:])):
        with pytest.raises(InputError, match="two arrays overlap"):
            esimd.launch(doubled, a, b)
    esimd.launch(doubled, x[:4], x[4:])
    esimd.launch(doubled, x[:, :4], x[:, 4:])


@every(
    "array",
    [
        np.zeros(4, dtype=">f4"),
        np.zeros(4, dtype="i4,f4"),
        np.array(["a", "b"]),
        np.array([None]),
        np.zeros(4, dtype=np.complex64),
    ],
    ids=["big-endian", "struct", "text", "objects", "complex"],
)
def test_arrays_of_other_elements_are_refused(array: Any) -> None:
    with pytest.raises(CuteError, match=r"native byte order|unknown element type"):
        esimd.launch(lambda item, x: None, array)


def nothing(item: Item) -> None:
    """A kernel that does nothing."""


@every(
    ("act", "text"),
    [
        (lambda: esimd.launch(nothing, threads="4"), "threads must be an integer"),
        (lambda: esimd.launch(nothing, groups=None), "groups must be an integer"),
        (lambda: esimd.launch("k"), "the kernel is not a function"),
        (lambda: esimd.launch(doubled, np.zeros(4)), "missing a required argument: 'y'"),
        (lambda: esimd.launch(nothing, banks=3), "banks must be a Banks"),
        (lambda: esimd.launch(nothing, 1), "too many positional arguments"),
    ],
)
def test_slips_of_launch(act: Callable[[], Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        act()


B, A = simd("f16", 256), simd("f16", 128)
SLIPS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda p: esimd.block_load("u32", 4, p, l1="cached"), "l1 must be a cache hint"),
    (lambda p: esimd.block_store("u32", 4, p, X, l3=0), "l3 must be a cache hint"),
    (lambda p: esimd.block_load("u32", "4", p), "N must be an integer"),
    (lambda p: esimd.block_store("u32", 4, p, None), "must be numbers"),
    (lambda p: esimd.lsc_gather("u32", p, [0, 4], ds="u32"), "ds must be a data size"),
    (lambda p: esimd.gather("u32", 2, p, "ab"), "must be numbers"),
    (lambda p: esimd.gather("u32", 2, p, [0, 8], "ab"), "must be numbers"),
    (lambda p: nbarrier().init_nbarrier(1, 0, 2), "role must be an nbarrier_role"),
    (lambda p: nbarrier().init_nbarrier(1, "producer", 2), "nbarrier_role.producer"),
    (
        lambda p: nbarrier().init_nbarrier("1", nbarrier_role.producer, 2),
        "barrier_id must be an integer",
    ),
    (lambda p: payload(p, 63.0), "width must be an integer"),
    (lambda p: payload(p, None), "width must be an integer"),
    (lambda p: payload(p, 63).set_x(1.0), "x must be an integer"),
    (lambda p: payload(p, 63).set_surface_pitch("63"), "pitch must be an integer"),
    (lambda p: p + 1.5, "elements must be an integer"),
    (lambda p: p - "a", "elements must be an integer"),
    (lambda p: esimd.lsc_load_2d("u32", "8", 2, payload(p, 63)), "W must be an integer"),
    (lambda p: esimd.lsc_store_2d("u32", 4, 2), "the call needs a payload"),
    (lambda p: esimd.slm_block_store("u32", 8.0, 0, 0), "N must be an integer"),
    (lambda p: esimd.slm_block_load("u32", 8, None), "byte_offset must be an integer"),
    (lambda p: esimd.slm_block_load("u32", 8, "a"), "byte_offset must be an integer"),
    (lambda p: esimd.slm_block_load("u32", 8, 4.5), "byte_offset must be an integer"),
    (lambda p: esimd.slm_block_store("u32", 8, 0, None), "must be numbers"),
    (lambda p: esimd.slm_block_store("u32", 8, 0, "abc"), "must be numbers"),
    (lambda p: esimd.xmx.dpas(8, 8, None, [2], [3]), "b_tile must be a vector"),
    (lambda p: esimd.xmx.dpas(8, 8, 0, B, A), "acc must be a vector"),
    (lambda p: esimd.xmx.dpas(8, None, None, B, A), "M must be an integer"),
]
X = simd("u32", 4)


def payload(p: Pointer, width: Any) -> esimd.config_2d_mem_access:
    return esimd.config_2d_mem_access("u32", 4, 2, p, width, 1, 63)


@every(("act", "text"), SLIPS, ids=range(len(SLIPS)))
def test_slips_in_kernels(act: Callable[[Any], Any], text: str) -> None:
    def kernel(item: Item, p: Pointer) -> None:
        esimd.slm_init(1024)
        act(p)

    with pytest.raises(CuteError, match=text):
        esimd.launch(kernel, np.zeros(64, dtype=np.uint32))


def test_pointers_from_the_left() -> None:
    p = Pointer(np.dtype(np.uint32), 64)
    assert 3 + p == p + 3
    one: Any = np.int64(1)
    assert (one + p).address == 68


@every(
    "wrong, error",
    [
        (lambda: None + 1, TypeError),
        (lambda: {}["a"], KeyError),
        (lambda: [][3], IndexError),
        (lambda: bool(np.zeros(2)), ValueError),
        (lambda: np.zeros(2).dtypes, AttributeError),
        (lambda: 1 // 0, ZeroDivisionError),
    ],
)
def test_what_the_kernel_raises_passes_through(wrong: Any, error: type[Exception]) -> None:
    """The arguments of launch are not blamed, although they are arrays, too."""

    def at_once(item: Item, *_: Any) -> None:
        wrong()

    def after_a_barrier(item: Item, *_: Any) -> Iterator[Any]:
        yield esimd.barrier()
        wrong()

    class Called:
        def __call__(self, item: Item, *_: Any) -> None:
            wrong()

    for kernel in (at_once, after_a_barrier, Called(), partial(at_once), Called().__call__):
        with pytest.raises(error) as raised:
            esimd.launch(kernel, np.zeros(2), threads=2)
        assert type(raised.value) is error
        assert raised.value.__cause__ is None
