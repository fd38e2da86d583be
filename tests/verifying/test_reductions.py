"""Row and column sums beside a product: proved and run, and wrong ones shown."""

from __future__ import annotations

import dataclasses
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from broken_kernels import find
from sampling import sampled

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.kernel import AtomicStore, Fill, Kernel, Reduce, Reorder, Store

SIZES = {"L": 2, "M": 37, "N": 45, "K": 20}


def tiled(acc: str = "f32", kind: str = "bf16", grid: tuple[int, int] = (2, 1)) -> cx.TiledMma:
    m, n = grid
    op = cx.XE_DPAS_TT(8, acc, kind)
    return cx.workgroup_mma(op, (32, 32, 32), ((m, n, 1), (n, 1, 0)))


def arrays(kernel: Kernel) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    out: dict[str, Any] = {}
    for operand in kernel.inputs:
        shape = tuple(mode.at(SIZES) for mode in operand.modes)
        out[operand.name] = rng.integers(-3, 4, shape).astype(numpy_dtype(operand.value_type))
    return out


def value(name: str, x: dict[str, np.ndarray]) -> np.ndarray:
    """What NumPy makes of each sum."""
    p = x["A"] @ x["B"]
    scale, bias = x.get("scale", np.zeros(1)), x.get("bias", np.zeros(1))
    return (
        x[name]
        + {
            "rows": lambda: p.sum(-1),
            "columns": lambda: p.sum(-2),
            "scaled": lambda: (p * scale[:, None] + bias).sum(1),
            "weighted": lambda: (p * x["weight"]).sum(0),
            "doubled": lambda: 2 * p.sum(1),
        }[name]()
    )


RIGHT: list[tuple[dict[str, str], dict[str, Any]]] = [
    ({"rows[m]": "sum(n, D[m,n])"}, {}),
    ({"columns[n]": "sum(m, acc)"}, {"epilogue": "relu(acc + bias[n])", "d_type": "bf16"}),
    ({"scaled[m]": "sum(n, acc*scale[m] + bias[n])", "columns[n]": "sum(m, acc)"}, {}),
    ({"weighted[n]": "sum(m, acc*weight[m,n])"}, {}),
    ({"doubled[m]": "sum(n, D[m,n])"}, {"epilogue": "2*acc"}),
]


@pytest.mark.parametrize(
    ("said", "types"), sampled(product(RIGHT, [("f32", "bf16"), ("s32", "s8")]), 3)
)
@pytest.mark.long
def test_sums_are_proved_and_run(
    said: tuple[dict[str, str], dict[str, Any]], types: tuple[str, str]
) -> None:
    also, more = said
    if types[0] == "s32" and "D[" in str(also) and more:
        more = more | {"d_type": "f32"}  # else what is summed is rounded to integers
    kernel = cx.kernel.gemm(tiled(*types), also=also, **more)
    verdict = cx.verify(kernel)
    assert verdict, str(verdict)
    given = arrays(kernel)
    wide = {name: x.astype(np.int64) for name, x in given.items()}
    for executor in ("reference", "fast"):
        out = cx.run(kernel, executor=executor, **given)
        for key in also:
            name = key.partition("[")[0]
            assert np.array_equal(getattr(out, name), value(name, wide)), (name, executor)


@pytest.mark.long
def test_sums_of_a_batch() -> None:
    kernel = cx.kernel.gemm(tiled(), batch=True, also={"rows[l,m]": "sum(n, D[l,m,n])"})
    assert cx.verify(kernel)
    given = arrays(kernel)
    wide = {name: x.astype(np.int64) for name, x in given.items()}
    assert np.array_equal(cx.run(kernel, **given).rows, value("rows", wide))


@pytest.mark.parametrize(
    ("also", "words"),
    [
        ({"r[m]": "sum(n, acc + bias[m])"}, "is not zero beyond the matrix"),
        ({"r[m]": "sum(n, exp(acc))"}, "is not zero beyond the matrix"),
        ({"r[n]": "sum(m, acc + bias[n])"}, "is not zero beyond the matrix"),
        ({"r[m]": "sum(m, acc)"}, "a vector over m is a sum over n"),
        ({"r[m]": "max(n, acc)"}, "a vector over m is a sum over n"),
        ({"r[m]": "acc"}, "a vector over m is a sum over n"),
        ({"r[k]": "sum(n, acc)"}, "one element for each row or column"),
        ({"r[m,n]": "sum(n, acc)"}, "one element for each row or column"),
        ({"r[]": "sum(n, acc)"}, "one element for each row or column"),
    ],
)
def test_what_is_no_sum_over_the_matrix_is_refused(also: dict[str, str], words: str) -> None:
    with pytest.raises(KernelError, match=words):
        cx.kernel.gemm(tiled(), also=also)


def test_types_and_shares_that_atomics_do_not_take_are_refused() -> None:
    for kind in ("bf16", "s32"):
        with pytest.raises(KernelError, match=f"are of f32, r is declared as {kind}"):
            cx.kernel.gemm(tiled(), also={"r[m]": "sum(n, acc)"}, types={"r": kind})
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    eight = cx.workgroup_mma(op, (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    with pytest.raises(KernelError, match="8 sums, a message of 16 would add beyond them"):
        cx.kernel.gemm(eight, also={"r[m]": "sum(n, acc)"})


# ------------------------------------------------------------------ wrong ones


@cache
def wrong() -> dict[str, Kernel]:
    kernel = cx.kernel.gemm(tiled(), also={"r[m]": "sum(n, acc)"})
    reduce, add = find(kernel, Reduce), find(kernel, AtomicStore)
    columns = cx.Layout((16, 32, 1), (1, 0, 0))
    half = dataclasses.replace(add, at=(add.at[0] + 16,))
    claimed = cx.kernel.gemm(tiled(), also={"r[m]": "sum(n, 2*acc)"}).computes
    return {
        "added twice": kernel.replace(add, (add, add)),
        "reduced by columns": kernel.replace(reduce, dataclasses.replace(reduce, slots=columns)),
        "the largest": kernel.replace(reduce, dataclasses.replace(reduce, how="max")),
        "rows of others": kernel.replace(add, half),
        "not added": kernel.replace(add, dataclasses.replace(add, at=(add.at[0] + 32,))),
        "claimed twice as much": dataclasses.replace(kernel, computes=claimed),
    }


@pytest.mark.parametrize("name", sampled(wrong(), 2))
@pytest.mark.long
def test_a_wrong_sum_is_disproved_and_shown(name: str) -> None:
    kernel = wrong()[name]
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    for executor in ("reference", "fast"):
        assert cx.replay(kernel, verdict.counterexample, executor=executor).shows


# ------------------------------------------------------------------ what a reduction leaves behind


@pytest.mark.parametrize("kind", [Reorder, Reduce])
@pytest.mark.long
def test_what_is_not_reached_is_undefined_for_every_reader(kind: type) -> None:
    """Filled before, reached in part: neither proved nor run."""
    kernel = cx.kernel.gemm(tiled())
    store, count = find(kernel, Store), kernel.fragment("tCrC").elements
    other = dataclasses.replace(kernel.fragment("tCrC"), name="other")
    kernel = dataclasses.replace(kernel, fragments=(*kernel.fragments, other))
    half = cx.Layout((2, count // 2), (0, 1))
    how = () if kind is Reorder else ("sum",)
    partly = kind(*how, "tCrC", "other", half)
    stored = dataclasses.replace(store, fragment="other")
    wrong = kernel.replace(store, (Fill("other", 0), partly, stored))
    verdict = cx.verify(wrong)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert verdict.counterexample.faults
    for executor in ("reference", "fast"):
        assert cx.replay(wrong, verdict.counterexample, executor=executor).shows
        with pytest.raises(MachineError, match="uninitialised"):
            cx.run(wrong, np.ones((3, 4)), np.ones((4, 5)), dtype="bf16", executor=executor)
