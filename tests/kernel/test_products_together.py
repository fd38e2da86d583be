"""Two products of one left side, two products in a row, and the gated delta rule's tiles."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from broken_kernels import find

import pycute_xe as cx
from pycute_xe.kernel import Convert, Fence, Index, Kernel, Map, Mma, SharedLoad, SharedStore

SIZES = ((1, 1, 1), (33, 17, 65))
RNG = np.random.default_rng(14)


def tiled(tile: tuple[int, int, int], grid: tuple[int, int], kind: str = "bf16") -> Any:
    m, n = grid
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", kind), tile, ((m, n, 1), (n, 1, 0)))


def small(*shapes: tuple[int, int], kind: Any = ml_dtypes.bfloat16) -> list[Any]:
    return [RNG.integers(-2, 3, shape).astype(kind) for shape in shapes]


def wide(array: Any) -> Any:
    return array.astype(np.float64)


def both_run(kernel: Kernel, inputs: list[Any], wanted: Any, error: float = 0.0) -> None:
    for executor in ("reference", "fast"):
        found = cx.run(kernel, *inputs, executor=executor)
        assert np.abs(wide(found) - wanted).max() <= error * max(1, np.abs(wanted).max())


def proved_and_legal(kernel: Kernel) -> None:
    verdict = cx.verify(kernel)
    assert verdict, str(verdict)
    for target in ("pvc", "bmg"):
        assert cx.check(kernel, target), str(cx.check(kernel, target))


def disproved(kernel: Kernel) -> None:
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert cx.replay(kernel, verdict.counterexample).shows


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


# ---------------------------------------------------------------------- dual


@pytest.mark.long
def test_the_dual_gemm_of_the_field() -> None:
    proved_and_legal(cx.kernel.dual_gemm(tiled((128, 128, 64), (8, 4)), d_type="bf16"))


@pytest.mark.parametrize(
    ("combine", "meaning", "error"),
    [
        ("silu(acc0) * acc1", lambda x, y: silu(x) * y, 1e-6),
        ("max(acc0, 2*acc1)", lambda x, y: np.maximum(x, 2 * y), 0.0),
    ],
)
@pytest.mark.long
def test_dual_gemms_at_edges(
    combine: str, meaning: Callable[[Any, Any], Any], error: float
) -> None:
    kernel = cx.kernel.dual_gemm(tiled((32, 32, 32), (2, 2)), combine=combine)
    proved_and_legal(kernel)
    for m, n, k in SIZES:
        a, b, c = small((m, k), (k, n), (k, n))
        product, other = wide(a) @ wide(b), wide(a) @ wide(c)
        both_run(kernel, [a, b, c], meaning(product, other), error)


@pytest.mark.long
def test_an_epilogue_and_a_scalar_in_a_dual_gemm() -> None:
    kernel = cx.kernel.dual_gemm(
        tiled((32, 32, 32), (2, 2)), combine="alpha*acc0 + acc1", epilogue="relu(acc)"
    )
    proved_and_legal(kernel)
    a, b, c = small((5, 40), (40, 33), (40, 33))
    wanted = np.maximum(3 * wide(a) @ wide(b) + wide(a) @ wide(c), 0)
    both_run(kernel, [a, b, c, np.float32(3)], wanted)


def test_a_dual_gemm_with_a_slip_is_disproved() -> None:
    kernel = cx.kernel.dual_gemm(tiled((32, 32, 32), (2, 2)), combine="acc0 - acc1")
    second = [s for s in kernel.statements() if isinstance(s, Mma)][1]
    disproved(kernel.replace(second, dataclasses.replace(second, b="tCrB0")))
    combine = find(kernel, Map)
    swapped = {"tCrC": "tCrC1", "tCrC1": "tCrC"}
    value = cx.kernel.Slot("tCrC1") - cx.kernel.Slot("tCrC")
    assert set(swapped) == set(combine.sources)
    disproved(kernel.replace(combine, dataclasses.replace(combine, value=value)))


@pytest.mark.parametrize(
    ("combine", "words"),
    [("acc0", "both accumulators"), ("acc0*acc1*C[m,n]", "an index is one of")],
)
def test_what_a_dual_gemm_cannot_combine(combine: str, words: str) -> None:
    with pytest.raises(cx.KernelError, match=words):
        cx.kernel.dual_gemm(tiled((32, 32, 32), (2, 2)), combine=combine)


def test_a_dual_gemm_adds_in_f32() -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16", "bf16", "bf16")
    with pytest.raises(cx.KernelError, match="the accumulators are bf16 and f32"):
        cx.kernel.dual_gemm(cx.workgroup_mma(op, (32, 32, 32), ((2, 2, 1), (2, 1, 0))))


# ---------------------------------------------------------------------- chained


def chained(depth: int = 16) -> Kernel:
    first = tiled((32, 32, 16), (2, 2), "f16")
    return cx.kernel.chained_gemm(first, tiled((32, 32, depth), (2, 2), "f16"))


@pytest.mark.long
def test_the_chained_gemm_of_the_field() -> None:
    mma = tiled((128, 128, 16), (4, 4), "f16")
    proved_and_legal(cx.kernel.chained_gemm(mma, mma))


@pytest.mark.parametrize("depth", [16, 32])
@pytest.mark.long
def test_chained_gemms_at_edges(depth: int) -> None:
    kernel = chained(depth)
    proved_and_legal(kernel)
    for m, n, k in SIZES:
        a, b, c = small((m, k), (k, 32), (32, n), kind=np.float16)
        between = (wide(a) @ wide(b)).astype(np.float16)
        both_run(kernel, [a, b, c], wide(between) @ wide(c))


@pytest.mark.long
def test_a_chained_gemm_with_a_slip_is_disproved() -> None:
    kernel = chained()
    take, put, fence = (find(kernel, kind) for kind in (SharedLoad, SharedStore, Fence))
    other = next(s for s in kernel.statements() if isinstance(s, Convert))
    j = Index("j")
    for place in (j * 16 + 16, Index(), j * 8):  # beyond the array, always the first, overlapping
        disproved(kernel.replace(take, dataclasses.replace(take, at=place)))
    disproved(kernel.replace(fence, None))
    number = kernel.body.index(put)
    late = (*kernel.body[:number], *kernel.body[number + 1 : number + 4], put)
    disproved(dataclasses.replace(kernel, body=(*late, *kernel.body[number + 4 :])))
    loop = kernel.loop("j")
    short = dataclasses.replace(loop, stop=Index(None, 1))
    disproved(kernel.replace(loop, short))
    assert other.source == "tPrC"


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (lambda: tiled((64, 32, 16), (2, 2), "f16"), "tiles of 32 rows are followed"),
        (lambda: tiled((32, 32, 48), (2, 2), "f16"), "not a multiple of 48"),
        (lambda: tiled((32, 32, 16), (1, 2), "f16"), "4 subgroups are followed by 2"),
    ],
)
def test_tilings_that_do_not_follow_one_another(second: Any, words: str) -> None:
    with pytest.raises(cx.KernelError, match=words):
        cx.kernel.chained_gemm(tiled((32, 32, 16), (2, 2), "f16"), second())


F16, S8, S4 = (cx.XE_DPAS_TT(8, *kinds) for kinds in (("f32", "f16"), ("s32", "s8"), ("s32", "s4")))


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            cx.workgroup_mma(F16, (32, 48, 16), ((2, 1, 1), (1, 1, 0))),
            cx.workgroup_mma(F16, (32, 32, 32), ((2, 1, 1), (1, 1, 0))),
            "48 columns between the products are not a multiple of 32",
        ),
        (
            cx.workgroup_mma(F16, (32, 32, 16), ((2, 2, 1), (2, 1, 0))),
            cx.workgroup_mma(F16, (32, 32, 32), ((2, 1, 2), (2, 0, 1))),
            "subgroups along K",
        ),
        (
            cx.workgroup_mma(F16, (32, 32, 32), ((2, 1, 2), (2, 0, 1))),
            cx.workgroup_mma(F16, (32, 32, 16), ((2, 2, 1), (2, 1, 0))),
            "subgroups along K",
        ),
        (
            cx.workgroup_mma(S8, (32, 64, 32), ((2, 2, 1), (2, 1, 0))),
            cx.workgroup_mma(S4, (32, 32, 64), ((2, 2, 1), (2, 1, 0))),
            "elements of s4 are narrower than a byte",
        ),
    ],
    ids=["parts of tiles", "second along K", "first along K", "narrow"],
)
def test_two_products_that_no_work_group_chains(first: Any, second: Any, words: str) -> None:
    with pytest.raises(cx.KernelError, match=words):
        cx.kernel.chained_gemm(first, second)


# ---------------------------------------------------------------------- gated delta rule


@pytest.mark.parametrize(
    ("tile", "grid"), [((16, 16, 16), (1, 1)), ((64, 64, 32), (2, 1)), ((64, 64, 32), (2, 2))]
)
@pytest.mark.long
def test_tiles_of_the_gated_delta_rule(tile: Any, grid: Any) -> None:
    """vllm-xpu-kernels 4543b580fe, csrc/xpu/gdn_attn/xe_2/chunk_gated_delta_rule_kernels_xe2.hpp"""
    kernel = cx.kernel.gemm(tiled(tile, grid), d_type="bf16")
    proved_and_legal(kernel)
    a, b = small((70, 33), (33, 65))
    both_run(kernel, [a, b], wide((wide(a) @ wide(b)).astype(ml_dtypes.bfloat16)))
