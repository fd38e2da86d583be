"""On kernels that are wrong the fast executor gives what the reference gives, or refuses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache

import ml_dtypes
import numpy as np
import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.kernel import Kernel, Load, Loop, Statement, Store
from pycute_xe.machine.trace import RaceFault


def small(**given: object) -> Kernel:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, **given)


def variants() -> Iterator[tuple[str, tuple[Kernel, Statement, tuple[Statement, ...]]]]:
    """Every statement left out, done twice, or aimed elsewhere."""
    for given in ({}, {"a": "col", "b": "col"}, {"d": "col"}):
        kernel = small(**given)
        for number, statement in enumerate(kernel.statements()):
            for name, by in changed(statement):
                yield f"{given}-{number}-{name}", (kernel, statement, by)


@cache
def built(name: str) -> Kernel | None:
    """The changed kernel, or none where construction refuses it."""
    kernel, statement, by = CASES[name]
    try:
        return kernel.replace(statement, by)
    except KernelError:
        return None


def changed(statement: Statement) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    yield "left out", ()
    yield "twice", (statement, statement)
    if isinstance(statement, Loop):
        yield "short", (dataclasses.replace(statement, stop=statement.stop - 1),)
        yield "late", (dataclasses.replace(statement, start=1),)
    if isinstance(statement, (Load, Store)):
        i, j = statement.at
        yield "swapped", (dataclasses.replace(statement, at=(j, i)),)
        yield "ahead", (dataclasses.replace(statement, at=(i, j + 32)),)


def outcome(kernel: Kernel, executor: str) -> np.ndarray | None:
    rng = np.random.default_rng(7)
    left = rng.integers(-4, 5, (40, 70)).astype(ml_dtypes.bfloat16)
    right = rng.integers(-4, 5, (70, 80)).astype(ml_dtypes.bfloat16)
    try:
        return cx.run(kernel, left, right, executor=executor)
    except RaceFault:
        raise
    except (KernelError, MachineError):
        return None


CASES = dict(variants())
SOME = sampled(CASES, 30)


@pytest.mark.parametrize("name", sampled(SOME, 15))
def test_fast_agrees_or_refuses(name: str) -> None:
    kernel = built(name)
    fast = None if kernel is None else outcome(kernel, "fast")
    if kernel is not None and fast is not None:
        try:
            slow = outcome(kernel, "reference")
        except RaceFault:  # which the reference alone looks for
            return
        assert slow is not None
        assert np.array_equal(fast, slow, equal_nan=True)


@pytest.mark.long
def test_wrong_kernels_run_or_are_refused_when_they_are_built() -> None:
    kernels = [kernel for name in SOME if (kernel := built(name))]
    assert sum(outcome(kernel, "fast") is not None for kernel in kernels) > 5
    assert len(SOME) - len(kernels) > 5


def test_narrow_accumulators_round_alike_when_elements_are_gathered() -> None:
    op = cx.XE_DPAS_TT(8, "bf16", "bf16")
    mma = cx.workgroup_mma(op, (64, 64, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.gemm(mma, a="col", reorder_a=False)
    rng = np.random.default_rng(3)
    left = rng.integers(-8, 9, (64, 256)).astype(ml_dtypes.bfloat16)
    right = rng.integers(-8, 9, (256, 64)).astype(ml_dtypes.bfloat16)
    fast = cx.run(kernel, left, right)
    assert np.array_equal(fast, cx.run(kernel, left, right, executor="reference"))


@pytest.mark.parametrize("tile", sampled([(96, 160, 48), (24, 48, 48), (40, 80, 16)], 1))
@pytest.mark.long
def test_tiles_that_prefetches_do_not_divide(tile: tuple[int, int, int]) -> None:
    grid = ((3, 5, 1), (5, 1, 0)) if tile[0] == 96 else ((1, 1, 1), (1, 1, 0))
    kernel = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), tile, grid))
    ones = np.ones((100, 70), ml_dtypes.bfloat16)
    for executor in ("fast", "reference"):
        out = cx.run(kernel, ones, ones.T, executor=executor)
        assert (out == 70).all()
    assert cx.verify(kernel)
