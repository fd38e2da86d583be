"""Softmax of rows that several subgroups share: reductions meet in shared memory, twice."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from broken_kernels import tiled_mma

import pycute_xe as cx
from pycute_xe.kernel import Fence, Kernel, Map, SharedLoad, Slot, apply
from pycute_xe.layout import Layout

RNG = np.random.default_rng(5)


def softmax_of(a: Any, b: Any) -> Any:
    product = a.astype(np.float64) @ b.astype(np.float64)
    weights = np.exp(product - product.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def small() -> Kernel:
    return cx.kernel.softmax_gemm(tiled_mma((16, 32, 16), (1, 2)), stages=0)


def disproved(kernel: Kernel) -> None:
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert cx.replay(kernel, verdict.counterexample).shows


def test_rows_of_two_subgroups_are_proved() -> None:
    verdict = cx.verify(small(), budget=60)
    assert verdict, str(verdict)


@pytest.mark.parametrize(("m", "k"), [(1, 1), (37, 65)])
def test_the_softmax_of_numpy(m: int, k: int) -> None:
    kernel = cx.kernel.softmax_gemm(tiled_mma((32, 64, 32), (2, 4)))
    a, b = (RNG.integers(-2, 3, s).astype(ml_dtypes.bfloat16) for s in ((m, k), (k, 64)))
    for executor in ("reference", "fast"):
        found = cx.run(kernel, a, b, executor=executor)
        assert np.abs(found - softmax_of(a, b)).max() < 1e-6


def test_the_tile_of_the_field_is_legal_and_runs() -> None:
    kernel = cx.kernel.softmax_gemm(tiled_mma((32, 512, 32), (2, 16)), d_type="bf16")
    for target in ("pvc", "bmg"):
        assert cx.check(kernel, target)
    a, b = (RNG.integers(-2, 3, s).astype(ml_dtypes.bfloat16) for s in ((3, 40), (40, 512)))
    found = cx.run(kernel, a, b)
    assert np.abs(found.astype(np.float64) - softmax_of(a, b)).max() < 2.0**-8


@pytest.mark.parametrize(
    "kernel",
    [
        cx.kernel.softmax_gemm(tiled_mma((32, 512, 32), (2, 16))),
        cx.kernel.top_k_gemm(tiled_mma((256, 256, 32), (8, 4))),
    ],
    ids=lambda kernel: kernel.name,
)
@pytest.mark.long
def test_the_tiles_of_the_field_are_proved(kernel: Kernel) -> None:
    """Sums inside sums inside sums: what does not change by one of them takes no room for it."""
    verdict = cx.verify(kernel, budget=60)
    assert verdict, str(verdict)


@pytest.mark.long
def test_rows_of_many_subgroups_are_disproved_where_they_are_wrong() -> None:
    kernel = cx.kernel.softmax_gemm(tiled_mma((16, 256, 16), (1, 16)), stages=0)
    assert cx.verify(kernel, budget=60)
    take = [s for s in kernel.statements() if isinstance(s, SharedLoad)][1]
    half = dataclasses.replace(take, places=Layout((16, (16, (8, 2))), (0, (1, (16, 0)))))
    verdict = cx.verify(kernel.replace(take, half), budget=60)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert cx.replay(kernel.replace(take, half), verdict.counterexample).shows


@pytest.mark.long
def test_slips_are_disproved() -> None:
    kernel = small()
    disproved(kernel.replace(Fence(), None))
    take = [s for s in kernel.statements() if isinstance(s, SharedLoad)][1]
    alone = dataclasses.replace(take, places=Layout((2, (16, 2)), (0, (1, 0))))
    disproved(kernel.replace(take, alone))
    last = [s for s in kernel.statements() if isinstance(s, Map)][-1]
    wrong = apply("mul", Slot("tCrC"), Slot("tSrSum"))
    disproved(kernel.replace(last, dataclasses.replace(last, value=wrong)))


def largest_of(a: Any, b: Any, count: int) -> Any:
    """The softmax of the values of a row that are not below its count-th largest; one by one."""
    out: list[list[float]] = []
    for row in (a.astype(np.float64) @ b.astype(np.float64)).tolist():
        least = sorted(set(row))[-count:][0]
        weights = [np.exp(x - max(row)) if x >= least else 0.0 for x in row]
        out.append([weight / sum(weights) for weight in weights])
    return np.array(out)


@pytest.mark.parametrize("count", [1, 4])
def test_the_largest_values_of_rows(count: int) -> None:
    kernel = cx.kernel.top_k_gemm(tiled_mma((16, 32, 32), (1, 2)), count)
    for target in ("pvc", "bmg"):
        assert cx.check(kernel, target)
    for m, k in ((1, 1), (19, 40)):
        a, b = (RNG.integers(-2, 3, s).astype(ml_dtypes.bfloat16) for s in ((m, k), (k, 32)))
        for executor in ("reference", "fast"):
            found = cx.run(kernel, a, b, executor=executor)
            if len(set((a.astype(int) @ b.astype(int))[0].tolist())) >= count:
                assert np.abs(found[0] - largest_of(a[:1], b, count)[0]).max() < 1e-6
            assert np.abs(found.sum(axis=1) - 1).max() < 1e-6


def test_the_two_largest_are_proved() -> None:
    kernel = cx.kernel.top_k_gemm(tiled_mma((16, 16, 16), (1, 1)), stages=0)
    verdict = cx.verify(kernel, budget=60)
    assert verdict, str(verdict)


def test_a_threshold_of_another_rank_is_disproved() -> None:
    kernel = cx.kernel.top_k_gemm(tiled_mma((16, 16, 16), (1, 1)), stages=0)
    maps = [s for s in kernel.statements() if isinstance(s, Map)]
    first = apply("at_least", Slot("tCrC"), Slot("tSrTop0"))
    value = apply("mul", first, apply("exp", Slot("tCrC") - Slot("tSrTop0")))
    gathers = tuple(pair for pair in maps[1].gathers if pair[0] == "tSrTop0")
    disproved(kernel.replace(maps[1], dataclasses.replace(maps[1], value=value, gathers=gathers)))


@pytest.mark.parametrize("count", [1, 2])
def test_every_register_of_the_largest_values_is_used(count: int) -> None:
    """Values below the largest take registers only where they are asked for."""
    kernel = cx.kernel.top_k_gemm(tiled_mma((16, 32, 16), (1, 2)), count=count)
    touched = [s.touched for s in kernel.statements()]
    used = {name for t in touched for name in (*t.reads, *t.writes, *t.updates)}
    assert {fragment.name for fragment in kernel.fragments} == used


def test_a_count_that_is_not_kept_is_refused() -> None:
    for count in (0, 9):
        with pytest.raises(cx.KernelError, match="must be 1 to 8"):
            cx.kernel.top_k_gemm(tiled_mma((16, 32, 16), (1, 2)), count)


def test_rows_that_do_not_fill_registers_are_refused() -> None:
    with pytest.raises(cx.KernelError, match="8 rows, which is not a multiple of 16"):
        cx.kernel.softmax_gemm(tiled_mma((16, 64, 32), (2, 2)))


def test_rows_whose_products_are_shared_out_along_k_are_refused() -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    with pytest.raises(cx.KernelError, match="subgroups along K"):
        cx.kernel.softmax_gemm(cx.workgroup_mma(op, (16, 32, 32), ((1, 1, 2), (1, 1, 1))))
