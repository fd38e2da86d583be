"""Epilogues cut into tiles: proved, run, with fewer registers; wrong cuts shown."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from broken_kernels import find
from sampling import sampled

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Load, Part, Store
from pycute_xe.kernel.kinds.epilogue_tiles import default_epilogue_tile

SIZES = {"L": 2, "M": 21, "N": 37, "K": 20}
FULL = "relu(alpha*acc + beta*C + bias[n] + row[m])"


def tiled(acc: str = "f32", kind: str = "bf16") -> cx.TiledMma:
    op = cx.XE_DPAS_TT(8, acc, kind)
    return cx.workgroup_mma(op, (32, 32, 32), ((2, 1, 1), (1, 1, 1)))


def arrays(kernel: Kernel) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    out: dict[str, Any] = {}
    for operand in kernel.inputs:
        shape = tuple(mode.at(SIZES) for mode in operand.modes)
        values = rng.integers(-2, 3, shape)
        out[operand.name] = np.asarray(values).astype(numpy_dtype(operand.value_type))
    return out


CASES: list[tuple[tuple[int, int], dict[str, Any]]] = [
    ((8, 16), {}),
    ((8, 16), {"epilogue": FULL}),
    ((16, 16), {"epilogue": FULL, "d_type": "bf16", "types": {"C": "f16", "bias": "bf16"}}),
    ((8, 16), {"epilogue": "acc + C", "d": "col", "orders": {"C": "col"}}),
    ((16, 32), {"epilogue": "relu(acc)", "also": {"before": "acc"}, "batch": True}),
]


@pytest.mark.parametrize(("cut", "more"), sampled(CASES, 2))
@pytest.mark.long
def test_a_cut_epilogue_is_proved_and_gives_the_same(
    cut: tuple[int, int], more: dict[str, Any]
) -> None:
    whole = cx.kernel.gemm(tiled(), **more)
    kernel = cx.kernel.gemm(tiled(), epilogue_tile=cut, **more)
    assert kernel.computes == whole.computes
    verdict = cx.verify(kernel)
    assert verdict, str(verdict)
    given = arrays(kernel)
    a, b = (given[name].astype(np.int64) for name in "AB")
    for executor in ("reference", "fast"):
        out = cx.run(kernel, executor=executor, **given)
        same = cx.run(whole, **given)
        pairs = zip(out, same, strict=True) if "also" in more else [(out, same)]
        assert all(np.array_equal(x, y) for x, y in pairs)
        if "also" in more:
            assert np.array_equal(out.before, a @ b)


def test_a_tile_at_a_time_needs_fewer_registers() -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (256, 256, 32), ((8, 4, 1), (4, 1, 0)))
    whole = cx.check(cx.kernel.gemm(mma, epilogue="alpha*acc + beta*C"))
    assert whole.registers == 256
    cut = cx.kernel.gemm(
        mma, epilogue="alpha*acc + beta*C", epilogue_tile=default_epilogue_tile(mma)
    )
    assert cx.check(cut)
    assert cx.check(cut).registers == cx.check(cx.kernel.gemm(mma)).registers == 224


@pytest.mark.parametrize("cut", [(4, 16), (8, 8), (12, 16), (8, 24), (64, 16), (0, 16)])
def test_a_tile_that_does_not_cut_the_share_is_refused(cut: tuple[int, int]) -> None:
    with pytest.raises(KernelError, match="does not cut a subgroup's 16 x 32") as refused:
        cx.kernel.gemm(tiled(), epilogue_tile=cut)
    assert refused.value.fix == "use (8, 16)"


def test_sums_are_not_taken_of_tiles() -> None:
    with pytest.raises(KernelError, match="sums are taken of a whole tile"):
        cx.kernel.gemm(tiled(), epilogue_tile=(8, 16), also={"r[m]": "sum(n, acc)"})


def wrong() -> dict[str, Kernel]:
    kernel = cx.kernel.gemm(tiled(), epilogue="acc + C", epilogue_tile=(8, 16))
    parts = [s for s in kernel.body if isinstance(s, Part)]
    store, load = find(kernel, Store), find(kernel, Load, "C")
    turned = cx.Layout((8, 16), (16, 1))
    n = load.at[1]
    beside = (store.at[0], n + 16)
    return {
        "another part": kernel.replace(parts[1], dataclasses.replace(parts[1], first=0)),
        "rows for columns": kernel.replace(parts[0], dataclasses.replace(parts[0], slots=turned)),
        "not stored": kernel.replace(store, None),
        "stored elsewhere": kernel.replace(store, dataclasses.replace(store, at=beside)),
        "C of the next": kernel.replace(load, dataclasses.replace(load, at=(load.at[0], n + 16))),
    }


@pytest.mark.parametrize("name", sampled(wrong(), 2))
def test_a_wrong_cut_is_disproved_and_shown(name: str) -> None:
    kernel = wrong()[name]
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    for executor in ("reference", "fast"):
        assert cx.replay(kernel, verdict.counterexample, executor=executor).shows


@pytest.mark.parametrize(
    ("first", "slots", "words"),
    [
        (1, cx.Layout(128), "elements 1 to 128 are taken of 128"),
        (-1, cx.Layout(128), "elements -1 to 126 are taken of 128"),
        (0, cx.Layout(64), "64 elements are taken into 128"),
    ],
)
def test_parts_that_do_not_fit_are_refused(first: int, slots: cx.Layout, words: str) -> None:
    kernel = cx.kernel.gemm(tiled(), epilogue="acc + C", epilogue_tile=(8, 16))
    one = dataclasses.replace(kernel.fragment("tEp"), name="one")
    kernel = dataclasses.replace(kernel, fragments=(*kernel.fragments, one))
    store = find(kernel, Store)
    with pytest.raises(KernelError, match=words):
        kernel.replace(store, (Part("tEp", "one", slots, first), store))
