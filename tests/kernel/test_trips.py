"""A kernel with its loops written out does what the kernel does, at the sizes it is written for."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attention_problems import problem, tilings

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import (
    If,
    Index,
    Loop,
    Mma,
    NamedArrive,
    NamedBarrier,
    NamedWait,
    Statement,
    attention,
)
from pycute_xe.kernel.ir.trips import in_trips


@pytest.mark.parametrize(
    "options",
    [{}, {"epilogue": "relu(acc + bias[n])"}, {"a": "col", "stages": 0}],
    ids=str,
)
def test_a_gemm(options: dict[str, Any]) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (16, 32, 32), ((1, 1, 1), (1, 1, 1)))
    kernel = cx.kernel.gemm(mma, **options)
    sizes = {"M": 21, "N": 40, "K": 96}
    alone = in_trips(kernel, sizes)
    assert not any(isinstance(s, Loop) for s in alone.statements())
    rng = np.random.default_rng(0)
    given = {
        operand.name: rng.integers(-8, 8, [sizes[str(mode)] for mode in operand.modes])
        for operand in kernel.inputs
    }
    given = {name: x.astype("f4" if name == "bias" else "i1") for name, x in given.items()}
    assert np.array_equal(cx.run(alone, **given), cx.run(kernel, **given))


@pytest.mark.parametrize(
    "some",
    [
        lambda product: If(Index("k"), Index(None, 2), (product,)),
        lambda product: If(Index("m"), Index(None, 1), (product,)),
        lambda product: Loop("j", Index("k", -1), Index("k", 1), (product,)),
    ],
    ids=["a condition on a trip", "a condition on a place", "a loop as long as the trip says"],
)
def test_products_of_some_trips_alone(some: Callable[[Mma], Statement]) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (16, 32, 32), ((1, 1, 1), (1, 1, 1)))
    kernel = cx.kernel.gemm(mma, stages=0)
    product = next(s for s in kernel.statements() if isinstance(s, Mma))
    kernel = kernel.replace(product, some(product))
    loop = kernel.loop("k")
    kernel = kernel.replace(loop, dataclasses.replace(loop, start=Index(None, 1)))
    rng = np.random.default_rng(0)
    A, B = (rng.integers(-8, 8, shape).astype("i1") for shape in ((37, 128), (128, 32)))
    alone = in_trips(kernel, {"M": 37, "N": 32, "K": 128})
    assert not any(isinstance(s, Loop) for s in alone.statements())
    assert np.array_equal(cx.run(alone, A, B), cx.run(kernel, A, B))


@pytest.mark.long
def test_attention() -> None:
    """What a work-group's place decides stays a condition."""
    one = problem(np.random.default_rng(0), tilings(), [(19, 45)], causal=True)
    sizes = {"B": 1, "G": 2, "M": 19, "N": 45, "D": 24, "E": 32}
    alone = in_trips(one.kernel, sizes)
    assert not any(isinstance(s, Loop) for s in alone.statements())
    found, wanted = (cx.run(kernel, **one.operands) for kernel in (alone, one.kernel))
    # Sums of f32 in another order differ in the last bit, from machine to machine.
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "sizes", "condition"),
    [
        ({}, {"M": 9}, "over a depend on ceil_div(D, "),
        ({"page": 32}, {"B": 1, "G": 1, "M": 9, "D": 1, "E": 1}, "lengths"),
        ({}, {"M": 1, "N": 1 << 16, "D": 1}, "more than 1000 statements"),
    ],
    ids=["size", "looked up", "many"],
)
def test_what_is_not_known_is_refused(
    options: dict[str, Any], sizes: dict[str, int], condition: str
) -> None:
    kernel = attention(*tilings(), **options)
    with pytest.raises(KernelError, match=re.escape(condition)):
        in_trips(kernel, sizes)


def test_a_loop_whose_end_depends_on_the_place_is_refused() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 32), ((1, 1, 1), (1, 1, 1)))
    kernel = cx.kernel.gemm(mma, stages=0)
    loop = kernel.loop("k")
    below = kernel.replace(loop, dataclasses.replace(loop, stop=Index("m", 1)))
    with pytest.raises(KernelError, match="the loop over k depend on m"):
        in_trips(below, {"M": 17, "N": 1, "K": 1})
    assert in_trips(below, {"M": 16, "N": 1, "K": 1}).sizes == kernel.sizes


def test_barriers_whose_number_depends_on_the_trip() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0)))
    kernel = cx.kernel.gemm(mma, stages=0)
    barrier = NamedBarrier(Index("k") % 2 + 1, 1, 1)
    product = next(s for s in kernel.statements() if isinstance(s, Mma))
    kernel = kernel.replace(product, (NamedArrive(barrier), NamedWait(barrier), product))
    alone = in_trips(kernel, {"M": 1, "N": 1, "K": 48})
    waits = [s for s in alone.statements() if isinstance(s, NamedWait)]
    assert [str(wait.barrier.number) for wait in waits] == ["1", "2", "1"]
    given: dict[str, Any] = {"A": np.ones((1, 48)), "B": np.ones((48, 1)), "dtype": "bf16"}
    assert cx.run(alone, **given) == cx.run(kernel, **given) == 48
