"""Integers keep their lowest bits between statements, on both executors, as registers do."""

from __future__ import annotations

import random
from typing import Any

import executor_programs
import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.kernel import Index, Kernel, KernelBuilder, Tiles

DTYPES = {"s32": np.int32, "u32": np.uint32, "s64": np.int64}


def two_steps(kind: str, first: str, second: str, to: str, way: str = "") -> Kernel:
    """Load x, compute y and z of it; y goes through shared memory, or is carried by a loop."""
    k = KernelBuilder("two_steps", 1)
    A, D = k.input("A", kind, ("M", "N")), k.output("D", to, ("M", "N"))
    m, n = k.grid(m=Tiles("M", 16), n=Tiles("N", 16))
    k.load("x", A, (16, 16), at=(m * 16, n * 16))
    if way == "loop":
        k.fill("y", (16, 16), 0, kind)
        with k.loop("t", 0, 3):
            k.map("y", "y + x", kind)
    else:
        k.map("y", first, kind)
    if way == "shared":
        k.shared("S", kind, (16, 16))
        k.share("S", "y")
        k.barrier()
        k.take("y2", "S", (16, 16))
        k.map("z", second.replace("y", "y2"), to)
    elif second == "y":
        k.convert("z", "y", to)
    else:
        k.map("z", second, to)
    k.store(D, "z", at=(m * 16, n * 16))
    return k.build()


def limits(kind: str) -> np.ndarray:
    ends = np.iinfo(DTYPES[kind])
    some = [ends.min, ends.min + 1, ends.max, ends.max - 1, 0, 1, 46341, 65536, ends.max // 2 + 1]
    if kind != "u32":
        some += [-1, -5, -46341]
    else:
        some += [2**32 - 5]
    return np.resize(np.array(some, DTYPES[kind]), (9, 16))


NUMPY: dict[str, Any] = {
    "x + x": lambda x, y: x + x,
    "x*x": lambda x, y: x * x,
    "-x": lambda x, y: -x,
    "abs(x)": lambda x, y: np.abs(x),
    "relu(y)": lambda x, y: np.maximum(y, 0),
    "max(y, x)": np.maximum,
    "min(y, x)": np.minimum,
    "abs(y)": lambda x, y: np.abs(y),
    "max(y, x + 1)": lambda x, y: np.maximum(y, x + x.dtype.type(1)),
}


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize("way", ["", "shared"])
@pytest.mark.parametrize("second", ["relu(y)", "max(y, x)", "min(y, x)", "abs(y)"])
@pytest.mark.parametrize("first", ["x + x", "x*x", "-x", "abs(x)"])
@pytest.mark.parametrize("kind", ["s32", "u32"])
def test_what_a_map_computes_wraps(
    kind: str, first: str, second: str, way: str, executor: Any
) -> None:
    x = limits(kind)
    with np.errstate(all="ignore"):
        y = NUMPY[first](x, x)
        wanted = NUMPY[second](x, y)
    found = cx.run(two_steps(kind, first, second, kind, way), x, executor=executor)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize("kind", ["s32", "u32", "s64"])
def test_what_a_loop_carries_wraps(kind: str, executor: Any) -> None:
    x = limits(kind)
    with np.errstate(all="ignore"):
        wanted = np.maximum(x + x + x, x)
    found = cx.run(two_steps(kind, "", "max(y, x)", kind, "loop"), x, executor=executor)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("executor", ["fast", "reference"])
def test_what_is_converted_has_wrapped(executor: Any) -> None:
    x = limits("s32")
    with np.errstate(all="ignore"):
        wanted = (x + x).astype(np.float32)
    found = cx.run(two_steps("s32", "x + x", "y", "f32"), x, executor=executor)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.long
def test_random_programs_give_the_same_bits_on_both_executors() -> None:
    for number in range(40):
        r = random.Random(f"test {number}")
        try:
            kernel, kinds = executor_programs.program(r)
        except cx.CuteError:
            continue
        assert executor_programs.compared(kernel, kinds, r) in ("equal", "refused"), kernel


# ---------------------------------------------------------------- entries of tables


def up_to(kind: str) -> Kernel:
    """Sum tiles of a row, as many as a table says for each work-group."""
    k = KernelBuilder("up_to", 1)
    A = k.input("A", "f32", ("M", 64))
    k.input("L", kind, ("G",))
    D = k.output("D", "f32", ("M", 16))
    (m,) = k.grid(m=Tiles("M", 16))
    k.fill("acc", (16, 16), 0)
    with k.loop("t", 0, Index.element("L", m)) as t:
        k.load("x", A, (16, 16), at=(m * 16, t * 16))
        k.map("acc", "acc + x")
    k.store(D, "acc", at=(m * 16, 0))
    return k.build()


def looked_up(kind: str) -> Kernel:
    """Store the rows that begin where a table says."""
    k = KernelBuilder("looked_up", 1)
    A = k.input("A", "f32", ("M", 16))
    k.input("L", kind, ("G",))
    D = k.output("D", "f32", ("M", 16))
    (m,) = k.grid(m=Tiles("M", 16))
    k.load("x", A, (16, 16), at=(Index.element("L", m) * 16 + m, 0))
    k.store(D, "x", at=(m * 16, 0))
    return k.build()


FAR = {
    "s32": [-(2**31), 2**31 - 1, 2**30],
    "s64": [-(2**63), 1 - 2**63, -(2**62), 2**62, 2**63 - 1, 2**60, -(2**60), 2**41],
    "u64": [2**64 - 1, 2**63, 2**60],
}


@pytest.mark.parametrize("kind", FAR)
def test_entries_far_from_any_place_are_the_same_places_on_both_executors(kind: str) -> None:
    A = np.arange(48 * 16, dtype=np.float32).reshape(48, 16) % 7
    dtype = {"s32": np.int32, "s64": np.int64, "u64": np.uint64}[kind]
    for entry in FAR[kind]:
        table = np.array([1, entry, 0], dtype)
        fast, slow = (cx.run(looked_up(kind), A, table, executor=e) for e in ("fast", "reference"))
        np.testing.assert_array_equal(fast, slow)
        np.testing.assert_array_equal(slow[:16], A[16:32])
        np.testing.assert_array_equal(slow[32:], A[2:18])


@pytest.mark.parametrize("kind", ["s32", "s64"])
def test_a_bound_far_below_zero_leaves_other_work_groups_alone(kind: str) -> None:
    A = np.arange(48 * 64, dtype=np.float32).reshape(48, 64) % 7
    sums = A.reshape(48, 4, 16)
    for entry in (e for e in FAR[kind] if e < 0):
        table = np.array([2, entry, 3], np.int32 if kind == "s32" else np.int64)
        for executor in ("fast", "reference"):
            found = cx.run(up_to(kind), A, table, executor=executor)
            np.testing.assert_array_equal(found[:16], sums[:16, :2].sum(1))
            assert not found[16:32].any()
            np.testing.assert_array_equal(found[32:], sums[32:, :3].sum(1))
