"""Integers keep their lowest bits between statements, on both executors, as registers do."""

from __future__ import annotations

import random
from typing import Any

import executor_programs
import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.kernel import Index, Kernel, KernelBuilder, Share, Tiles
from pycute_xe.kernel.index import ELEMENT_INDEX
from pycute_xe.kernel.spec.expression import Const, Slot, Where

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
    found = [executor_programs.judged(random.Random(f"test {number}")) for number in range(40)]
    assert not [x for x in found if x not in ("equal", "refused") and "not built" not in x]
    assert found.count("equal") > 20


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


def placed(kind: str, way: str, scale: int) -> Kernel:
    """Load and store tiles of 16 rows, where a table times a number says something of one kind."""
    k = KernelBuilder("placed", 1)
    A = k.input("A", "f32", ("M", 64))
    k.input("L", kind, ("G",))
    D = k.output("D", "f32", ("M", 16))
    (m,) = k.grid(m=Tiles("M", 16))
    far = Index.element("L", m) * scale
    at = {"row": (m * 16 + far, 0), "column": (m * 16, far), "quotient": (far // 3, 0)}
    at |= {"remainder": (far % 7, 0), "nested": (Index.element("L", far) * 16, 0)}
    if way in ("start", "stop", "both"):
        start, stop = {"start": (far, 2), "stop": (1, far), "both": (far, far + 2)}[way]
        k.fill("x", (16, 16), 0)
        with k.loop("t", start, stop) as t:
            k.load("a", A, (16, 16), at=(m * 16, t * 16))
            k.map("x", "x + a")
    else:
        k.load("x", A, (16, 16), at=at.get(way, (m * 16, 0)))
    if way == "where":
        k.map("y", f"where(L[m]*{scale} < 5, x, 0)")
    if way == "elements":
        k.map("y", Where(far + m, Index(ELEMENT_INDEX), Slot("x"), Const(0.0)))
    last = "y" if way in ("where", "elements") else "x"
    if way in ("when below", "when above"):
        with k.when(far < m + 3 if way == "when below" else m < far):
            k.store(D, last, at=(m * 16, 0))
    else:
        k.store(D, last, at=(m * 16 + far if way == "store" else m * 16, 0))
    return k.build()


WAYS = ("row", "column", "quotient", "remainder", "nested", "start", "stop", "both")
MORE = ("where", "elements", "when below", "when above", "store")


@pytest.mark.long
@pytest.mark.parametrize("way", [*WAYS, *MORE])
@pytest.mark.parametrize("kind", FAR)
def test_multiples_of_far_entries_are_the_same_places_on_both_executors(
    kind: str, way: str
) -> None:
    A = np.arange(48 * 64, dtype=np.float32).reshape(48, 64) % 7
    dtype = {"s32": np.int32, "s64": np.int64, "u64": np.uint64}[kind]
    ends = np.iinfo(dtype)
    entries = (2**30, 2**34, 2**40, -(2**33), -(2**34), ends.min, ends.max)
    ran = 0
    for scale in (1, 2**30, -(2**31)):
        kernel = placed(kind, way, scale)
        for entry in (x for x in entries if ends.min <= x <= ends.max):
            if way in ("start", "stop") and (scale * entry > 0) == (way == "stop"):
                continue  # more trips than any run does
            table = np.array([0, entry, 1 if scale == 1 else 0], dtype)
            found = [outcome(kernel, A, table, way) for way in ("fast", "reference")]
            assert found[0] == found[1], (scale, entry)
            ran += isinstance(found[0], tuple)
    assert ran or way == "nested"  # an entry of an entry that is not there is refused


def outcome(kernel: Kernel, A: np.ndarray, table: np.ndarray, executor: Any) -> Any:
    """Return the bytes of what comes out and the messages sent, or the class of a refusal."""
    try:
        out, report = cx.run(kernel, A, table, executor=executor, report=True)
    except cx.CuteError as error:
        return type(error).__name__
    return out.tobytes(), dict(report.messages)


@pytest.mark.parametrize("way", ["row", "start", "where"])
def test_entries_times_two_to_the_30_stay_apart(way: str) -> None:
    """The second work-group loads nothing, makes no trip, or takes the other value."""
    A = np.arange(48 * 64, dtype=np.float32).reshape(48, 64) % 7
    table = np.array([0, 2**34, 0], np.int64)  # 2**64 as a product, and 0 in 64 bits
    kernel = placed("s64", way, 2**30)
    wanted = A[:, :16] + (A[:, 16:32] if way == "start" else 0)
    wanted[16:32] = 0
    for executor in ("fast", "reference"):
        np.testing.assert_array_equal(cx.run(kernel, A, table, executor=executor), wanted)


def test_trips_of_work_groups_that_lie_far_apart_are_done() -> None:
    A = np.ones((48, 64), np.float32)
    table = np.array([0, 2**31 - 9, 1], np.int32)
    kernel = placed("s32", "both", 1)
    for executor in ("fast", "reference"):
        found = cx.run(kernel, A, table, executor=executor)
        np.testing.assert_array_equal(found[:, 0], np.repeat([2, 0, 2], 16))


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize("change", ["c - s", "c + c", "65537*c", "abs(c - s)"])
def test_accumulators_that_a_loop_changes_between_products_wrap(change: str, executor: Any) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (16, 16, 32), ((1, 1, 1), (1, 1, 0)))
    k = KernelBuilder("changed", mma)
    A, B = k.input("A", "s8", ("M", "K")), k.input("B", "s8", ("K", "N"))
    k.input("s", "s32")
    D = k.output("D", "s32", ("M", "N"))
    m, n = k.grid(m=Tiles("M", 16), n=Tiles("N", 16))
    k.fill("c", Share(mma, "C"), 3)
    with k.loop("t", 0, Tiles("K", 32)) as t:
        k.load("a", A, Share(mma, "A"), at=(m * 16, t * 32))
        k.load("b", B, Share(mma, "B"), at=(t * 32, n * 16))
        k.map("c", change, "s32")
        k.mma("c", "a", "b")
    k.map("e", "c + s", "s32")
    k.map("d", "max(e, c)", "s32")
    k.store(D, "d", at=(m * 16, n * 16))
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((19, 96), (96, 21)))
    s = 2**31 - 12345
    c = np.full((19, 21), 3, np.int32)
    with np.errstate(all="ignore"):
        for t in range(0, 96, 32):
            wide = c.astype(np.int64)  # a map computes in 64 bits
            step = {"c - s": wide - s, "c + c": wide + wide, "65537*c": wide * 65537}
            step["abs(c - s)"] = np.abs(wide - s)
            part = a[:, t : t + 32].astype(np.int32) @ b[t : t + 32].astype(np.int32)
            c = step[change].astype(np.int32) + part
        wanted = np.maximum(c + np.int32(s), c)
    np.testing.assert_array_equal(cx.run(k.build(), a, b, s, executor=executor), wanted)
