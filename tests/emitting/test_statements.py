"""Every kind of statement through the compiler: sums, atomics, shared memory, conditions."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from compiled_cases import distance, filled, held_against_run, needs_compiler
from every import every
from sampling import WHOLE, sampled
from shared_kernels import exchanging, staged
from small_kernels import everything, fragment, small_kernel

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Fence,
    Index,
    Kernel,
    Map,
    Part,
    Reduce,
    SharedLoad,
    SharedStore,
    Slot,
    Statement,
)
from pycute_xe.kernel.ir.operands import Shared
from pycute_xe.kernel.spec.expression import Rounded, Where, apply, as_expression
from pycute_xe.layout import Layout

GRID = ((2, 2, 1), (2, 1, 0))
MEET = (Fence(), BarrierArrive(), BarrierWait())
F32, BF16, F16 = (cx.as_numeric(name) for name in ("f32", "bf16", "f16"))


def gemm(op: tuple[int, str, str] = (8, "f32", "bf16"), depth: int = 32, **more: Any) -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(*op), (32, 64, depth), GRID)
    return cx.kernel.gemm(mma, **more)


def shared(kind: str, places: Layout, back: Layout) -> Kernel:
    """Elements of a type go through shared memory and come back in another order."""
    middle = (SharedStore("x", "s", places), *MEET, SharedLoad("s", "y", back))
    array = Shared("s", cx.as_numeric(kind), 256)
    more = (fragment("y", kind, 8),)
    return small_kernel(middle, more, "y", (kind, kind), shared=(array,))


def conditional(value: Any) -> Kernel:
    return small_kernel((Map("y", value),), (fragment("y", "f32", 8),), "y")


def folded(width: int) -> Kernel:
    """Sums of so many parts of each row of eight; integers, whose sums are exact in any order."""
    rows = 16 // width
    slots = Layout((width, 16 // width, rows, 8 // rows), (rows, 0, 1, 0))
    there = Layout((16, 8), (1, 0))
    body = (
        Map("h", apply("at_least", Slot("x"), 0.0) * 3 + apply("at_least", Slot("x"), 1.0)),
        Reduce("sum", "h", "r", slots),
        Map("y", Slot("r"), (("r", there),)),
    )
    more = (fragment("h", "f32", 8), fragment("r", "f32", 1), fragment("y", "f32", 8))
    return small_kernel(body, more, "y")


# What stays of the small kernels in every run.
KEPT = (
    "every statement but mma",
    "a condition that does not",
    "lanes below a bound",
    "every other lane",
    "sums of 32 rows",
    "shared bf16, apart",
)
IN_ORDER, TURNED = Layout((1, 128), (0, 1)), Layout((1, (8, 16)), (0, (16, 1)))
# Every second element is left out: nothing stays together that could travel as one dword.
APART = Layout((1, 128), (0, 2))
M, LANE = Index("M"), Index("element") % 16
SMALL: dict[str, Kernel] = {
    "every statement but mma": everything(),
    "shared f32, turned": shared("f32", IN_ORDER, TURNED),
    "shared bf16, as dwords": shared("bf16", IN_ORDER, IN_ORDER),
    "shared bf16, apart": shared("bf16", APART, APART),
    "shared s8, turned": shared("s8", TURNED, IN_ORDER),
    "shared s8, as dwords": shared("s8", IN_ORDER, IN_ORDER),
    "a condition that holds": conditional(Where(M, Index() + 9, Slot("x"), as_expression(3))),
    "a condition that does not": conditional(Where(M, Index() + 8, 2 * Slot("x"), Slot("x"))),
    "lanes below a bound": conditional(Where(LANE + 1, M, Slot("x"), as_expression(3))),
    "lanes above one": conditional(Where(M - LANE, Index() + 4, Slot("x"), as_expression(3))),
    "pairs of lanes below a bound": conditional(
        Where(LANE // 2 + 1, M - 5, Slot("x"), as_expression(3))
    ),
    "every other lane": conditional(Where(LANE % 2, M - 8, Slot("x"), as_expression(3))),
    "registers below a bound": conditional(
        Where(Index("element") // 16, M - 5, Slot("x"), as_expression(3))
    ),
    "1 or 0": conditional(apply("at_least", Slot("x"), 0.25) + apply("at_least", 0.25, Slot("x"))),
    "a number below": conditional(apply("below", Slot("x"), 0.25)),
    "sums of lanes 2 apart": folded(2),
    "sums of lanes 8 apart": folded(8),
    "rounded to bf16": conditional(Rounded(BF16, Slot("x")) * 3),
    "rounded to f16": conditional(Rounded(F16, Slot("x") * 3) + 1),
    "a part, every second element": small_kernel(
        (Part("x", "h", Layout(64, 2), 1), Map("y", Slot("h"), (("h", Layout((64, 2), (1, 0))),))),
        (fragment("h", "f32", 4), fragment("y", "f32", 8)),
        "y",
    ),
    "sums of 32 rows": small_kernel(
        (
            Map(
                "h",  # whose sums are the same in any order
                apply("at_least", Slot("x"), 0.0) * 3 + apply("at_least", Slot("x"), 1.0),
                (("x", Layout((128, 4), (1, 0))),),
            ),
            Reduce("sum", "h", "r", Layout((16, 32), (0, 1))),
            Map("y", Slot("r"), (("r", Layout((16, 8), (0, 3))),)),
        ),
        (fragment("h", "f32", 32), fragment("r", "f32", 2), fragment("y", "f32", 8)),
        "y",
    ),
    "maxima of columns": small_kernel(
        (
            Reduce("max", "x", "r", Layout((16, 8), (1, 0))),
            Map("y", Slot("r"), (("r", Layout((16, 8), (1, 0))),)),
        ),
        (fragment("r", "f32", 1), fragment("y", "f32", 8)),
        "y",
    ),
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("name", sampled(SMALL, 0, KEPT))
@pytest.mark.long
def test_small_kernels_run_as_binaries(name: str) -> None:
    kernel = SMALL[name]
    assert held_against_run(kernel, filled(kernel, (8, 16, 1))) == []


def maxima_added() -> Kernel:
    """What is added to a vector is the maximum of a row instead of its sum."""
    kernel = gemm(also={"r[m]": "sum(n, D[m,n])"})
    found = next(s for s in kernel.statements() if isinstance(s, Reduce))
    bare = dataclasses.replace(kernel, computes=None)
    return bare.replace(found, dataclasses.replace(found, how="max"))


LARGE: dict[str, Kernel] = {
    "sums of integers": gemm(
        (8, "s32", "s8"), 64, also={"r[m]": "sum(n, acc)", "c[n]": "sum(m, acc)"}
    ),
    "maxima of rows": maxima_added(),
    "column sums": gemm(also={"c[n]": "sum(m, D[m,n])"}),
    "shared memory": exchanging(),
    "shared memory in stages": staged(),
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("name", sampled(LARGE, 1))
@pytest.mark.long
def test_sums_and_shared_tiles_run_as_binaries(name: str) -> None:
    kernel = LARGE[name]
    assert held_against_run(kernel, filled(kernel, (33, 62, 70))) == []


@needs_compiler
@pytest.mark.long
def test_row_sums_are_those_of_a_tree() -> None:
    kernel = gemm(also={"r[m]": "sum(n, D[m,n])"})
    given = filled(kernel, (33, 62, 70))
    out = cx.native.run(kernel, **given)
    expected = cx.run(kernel, **given, executor="reference", target="pvc")
    assert np.array_equal(out.D, expected.D)
    # Each of log2(n) sums, and of the n in a row of `run`, is off by half a unit at most.
    most = 2.0**-24 * 80 * (np.abs(given["r"]) + np.abs(expected.D).sum(axis=1))
    assert (np.abs(out.r - expected.r) <= most).all()
    assert np.abs(out.r - expected.r).max() > 0, "a sequence would be equal: say so"


def wide() -> np.ndarray:
    """Numbers of all sizes, and those around which the formulas change."""
    rng, count = np.random.default_rng(0), 4096 if WHOLE else 640
    grown = rng.standard_normal(count) * 2.0 ** rng.integers(-30, 8, count)
    near = 0.625 + np.arange(-64, 64) * 2.0**-24
    special = [0.0, -0.0, np.inf, -np.inf, 1e-40, -3e38, 3e38, 16.0, -16.0]
    found = np.concatenate([grown, near, -near, np.linspace(-17, 17, count // 2), special])
    return np.resize(found, (-(-found.size // 128) * 8, 16)).astype(np.float32)


def of_one(function: str) -> np.ndarray:
    kernel = conditional(cx.kernel.apply(function, Slot("x")))
    numbers = wide()
    rows = [cx.native.run(kernel, X=numbers[i : i + 8]) for i in range(0, len(numbers), 8)]
    return np.concatenate(rows)


@needs_compiler
@pytest.mark.long
def test_tanh_is_within_its_bound() -> None:
    with np.errstate(all="ignore"):
        exact = np.tanh(wide().astype(np.float64)).astype(np.float32)
    found = of_one("tanh")
    assert distance(found, exact) <= 8
    assert np.array_equal(np.signbit(found), np.signbit(exact))


@needs_compiler
@pytest.mark.long
def test_gelu_is_within_its_bound() -> None:
    from math import erf

    numbers = wide()
    found = of_one("gelu").astype(np.float64)
    finite = np.isfinite(numbers)
    x = numbers[finite].astype(np.float64)
    exact = x * (1 + np.array([erf(v / 2**0.5) for v in x])) / 2
    assert (np.abs(found[finite] - exact) <= 2.0**-21 * np.abs(x)).all()
    assert (found[numbers == np.inf] == np.inf).all()


REFUSED: dict[str, tuple[Any, str]] = {
    "sums of bf16": (
        lambda: small_kernel(
            (Reduce("sum", "x", "r", Layout((16, 8), (1, 0))),),
            (fragment("r", "bf16", 1),),
            kinds=("bf16", "bf16"),
        ),
        "reductions are emitted from a type of 32 bits",
    ),
    "diagonals": (
        lambda: reduced(Layout((16, (4, 2)), (1, (1, 1)))),
        "neither in rows of registers nor in whole",
    ),
    "shared f64": (lambda: shared("f64", IN_ORDER, IN_ORDER), "8, 16 or 32 bits"),
    "every second lane": (
        lambda: conditional(Where(2 * LANE, M, Slot("x"), as_expression(3))),
        "it is not a bound on the number of a lane",
    ),
    "an element and a size in a quotient": (
        lambda: conditional(Where((LANE + M) // 3, M, Slot("x"), as_expression(3))),
        "in one quotient with other names",
    ),
    "rounded to integers": (
        lambda: conditional(Rounded(cx.as_numeric("s32"), Slot("x"))),
        "an integer has another type",
    ),
}


def reduced(slots: Layout) -> Kernel:
    """Sums of a fragment, left in registers."""
    body: tuple[Statement, ...] = (Reduce("sum", "x", "r", slots),)
    return small_kernel(body, (fragment("r", "f32", 2),))


@every("name", REFUSED)
@every("to", ["opencl", "visa"])
def test_statements_that_cannot_be_said_are_refused_by_name(name: str, to: Any) -> None:
    make, words = REFUSED[name]
    with pytest.raises(KernelError, match=words):
        cx.emit(make(), to)
