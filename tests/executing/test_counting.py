"""Work counted without doing it equals what the machine counts."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from small_kernels import everything

import pycute_xe as cx
from pycute_xe.arch import get_target
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.executing import launch
from pycute_xe.executing.problem import prepare
from pycute_xe.executing.runner import count_work
from pycute_xe.kernel import (
    Fill,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Operand,
    Prefetch,
    Statement,
    Store,
)
from pycute_xe.kernel.ir.checks import FITS
from pycute_xe.kernel.ir.statements import touching
from pycute_xe.kernel.schedules import SplitK, plan_tables
from pycute_xe.machine import Trace

BF16 = ml_dtypes.bfloat16
GRID = ((2, 2, 1), (2, 1, 0))
BMG = get_target("bmg")


def gemm(**given: Any) -> Kernel:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    return cx.kernel.gemm(cx.workgroup_mma(op, (32, 64, 32), GRID), **given)


def first(kernel: Kernel, kind: type[Statement]) -> Any:
    return next(s for s in kernel.statements() if type(s) is kind)


@cache
def kernels() -> dict[str, Kernel]:
    plain = gemm()
    load, store, prefetch = (first(plain, kind) for kind in (Load, Store, Prefetch))
    k, m, n, subgroup = map(Index, ("k", "m", "n", "subgroup"))
    inner = Loop(
        "q", Index(), k + 1, (dataclasses.replace(load, at=(load.at[0], Index("q") * 32)),)
    )
    both = dataclasses.replace(load, at=(k * 8 - 3, k * 32 - 5))
    outside = dataclasses.replace(store, at=(m * 32 + 64, n * 64 + 66))
    return {
        "plain": plain,
        "columns": gemm(a="col", b="col", d="col"),
        "some subgroups store": plain.replace(store, If(subgroup, m + 1, (store,))),
        "a loop as long as another": plain.replace(load, (load, inner)),
        "rows and columns by one variable": plain.replace(load, both),
        "partly outside": plain.replace(store, (store, outside)),
        "by subgroup": plain.replace(
            prefetch, (prefetch, dataclasses.replace(prefetch, at=(subgroup * 16, subgroup * 3)))
        ),
        "where a sum is small": plain.replace(store, If(m + n * 2, Index(None, 3), (store,))),
        "never": plain.replace(store, If(Index(None, 1), Index(None, 1), (store,))),
    }


@pytest.mark.parametrize("name", kernels())
def test_counts_are_those_of_the_machine(name: str) -> None:
    kernel = kernels()[name]
    for m, n, k in ((70, 70, 70), (1, 1, 1), (64, 64, 32)):
        problem = prepare(kernel, (np.ones((m, k), BF16), np.ones((k, n), BF16)), {}, None)
        counted, done = Trace(), Trace()
        count_work(kernel, problem, BMG, counted)
        launch.execute(kernel, problem, BMG, done)
        assert counted.messages == done.messages
        assert counted.nbytes == done.nbytes
        assert (counted.dpas, counted.barriers) == (done.dpas, done.barriers)


def wanted(x: np.ndarray) -> np.ndarray:
    turned = x.T.reshape(8, 16)
    return turned + turned.max(axis=0)


def test_every_kind_in_one_kernel() -> None:
    x = np.random.default_rng(3).integers(-50, 50, (8, 16)).astype(np.float32)
    out, report = cx.run(everything(named=True), x, x, executor="reference", report=True)
    assert np.array_equal(out.Y, wanted(x))
    assert np.array_equal(out.Z, x + wanted(x))
    again, fast = cx.run(everything(named=True), x, x, report=True)
    assert np.array_equal(again.Y, out.Y)
    assert np.array_equal(again.Z, out.Z)
    assert (fast.messages, fast.bytes, fast.barriers) == (
        report.messages,
        report.bytes,
        report.barriers,
    )


@pytest.mark.parametrize("kind", ["slm_gemm", "specialised_gemm", "scheduled"])
def test_counts_of_what_subgroups_and_work_groups_share(kind: str) -> None:
    """Shared memory, named barriers, and counters in memory with atomics."""
    kernel = getattr(cx.kernel, kind)(cx.workgroup_mma(gemm().mma.atom.op, (32, 64, 32), GRID))
    given = {"A": np.ones((40, 70), BF16), "B": np.ones((70, 70), BF16)}
    if kind == "scheduled":
        given |= plan_tables(SplitK(2, 2).plan((2, 2, 3)))
    counted, done = Trace(), Trace()
    problem = prepare(kernel, (), given, None)
    count_work(kernel, problem, BMG, counted)
    launch.execute(kernel, problem, BMG, done)
    assert (counted.messages, counted.nbytes) == (done.messages, done.nbytes)
    assert (counted.dpas, counted.barriers) == (done.dpas, done.barriers)
    assert done.barriers


def test_where_the_byte_machine_runs_its_own_counts_are_told() -> None:
    kernel = kernels()["plain"]
    store = first(kernel, Store)
    twice = kernel.replace(store, (store, Fill(store.fragment, 0.0), store))
    given = np.ones((33, 32), BF16), np.ones((32, 65), BF16)
    fast, slow = (
        cx.run(twice, *given, executor=executor, report=True)[1]
        for executor in ("fast", "reference")
    )
    assert fast.why
    assert (fast.messages, fast.bytes, fast.dpas) == (slow.messages, slow.bytes, slow.dpas)


@dataclasses.dataclass(frozen=True)
class Gather(Statement):
    """A kind that moves elements by messages of its own."""

    touches = touching(writes="fragment", from_memory="operand")
    fragment: str
    operand: str


def test_messages_of_another_kind_are_not_guessed() -> None:
    FITS.of(Gather)(lambda kernel, statement: None)
    try:
        plain = gemm()
        kernel = plain.replace(first(plain, Load), (first(plain, Load), Gather("tArA", "A")))
        problem = prepare(kernel, (np.ones((8, 16), BF16), np.ones((16, 8), BF16)), {}, None)
        with pytest.raises(KernelError, match="how many messages it sends is not known"):
            count_work(kernel, problem, BMG, Trace())
    finally:
        FITS.without(Gather)


@pytest.mark.parametrize("place", [-1, 2])
def test_what_is_looked_up_outside_of_a_table_is_no_count(place: int) -> None:
    plain = gemm()
    operands = (*plain.operands, Operand("n", "s32", (2,)))
    loop = plain.loop("k")
    longer = dataclasses.replace(loop, stop=Index.element("n", place))
    kernel = dataclasses.replace(plain, operands=operands).replace(loop, longer)
    given = {"A": np.ones((8, 16), BF16), "B": np.ones((16, 8), BF16), "n": np.ones(2, np.int32)}
    problem = prepare(kernel, (), given, None)
    with pytest.raises(MachineError, match=f"index {place} is outside: n has 2 there"):
        count_work(kernel, problem, BMG, Trace())
