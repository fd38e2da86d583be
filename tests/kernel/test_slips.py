"""Slips in kernels that construction refuses by name, and errors of runs told as what they are."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from broken_kernels import tiled_mma
from every import every
from small_kernels import small_kernel

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import CuteError, InputError, KernelError
from pycute_xe.executing import runner
from pycute_xe.kernel import (
    Claim,
    Fill,
    Index,
    Kernel,
    Loop,
    Map,
    Operand,
    Slot,
    Specification,
    apply,
    total,
)
from pycute_xe.kernel.spec.expression import Const, Element, Expression, Where

M, N, K = Index("m"), Index("n"), Index("k")
X = Element("X", (M, N))
PLAIN = small_kernel(())


def claimed(value: Expression) -> Kernel:
    """X is loaded and stored; this is claimed of it."""
    return dataclasses.replace(PLAIN, computes=Specification((Claim("Y", ("m", "n"), value),)))


def where(index: Index, below: Index | None = None) -> Expression:
    return Where(index, below or Index(None, 1), X, Const(0.0))


@every(
    ("value", "word"),
    [
        (where(Index("zzz")), "zzz is not bound"),
        (where(M, Index("zzz")), "zzz is not bound"),
        (X + total("k", "Q", Const(1.0)), "Q is not bound"),
        (total("k", "M", where(Index("zzz"))), "zzz is not bound"),
        (where(Index.element("W", 0)), r"W\[0\] is not an integer of an operand"),
        (where(Index.element("X", M, N)), r"X\[m, n\] is not an integer of an operand"),
    ],
)
def test_a_claim_of_unbound_names_is_refused(value: Expression, word: str) -> None:
    with pytest.raises(KernelError, match=word):
        claimed(value)


def test_a_claim_of_bound_names_is_not() -> None:
    claimed(total("k", "M", where(K, M + 1)) + where(Index("N")))


def test_what_a_loop_holds_names_bound_indices() -> None:
    def held(index: Index) -> Expression:
        return Where(index, Index(None, 1), Element("X", (Index("i"), index)), Const(0.0))

    holding(held(Index("i") + Index("subgroup") + Index("element")))
    with pytest.raises(KernelError, match="no loop binds zzz"):
        holding(held(Index("zzz")))
    with pytest.raises(KernelError, match="no loop binds m"):
        holding(X)
    with pytest.raises(KernelError, match="no loop binds Q"):
        holding(total("k", "Q", Const(1.0)))


def test_a_condition_of_a_map_names_bound_indices() -> None:
    small_kernel((Map("x", Where(Index("g"), Index("M"), Slot("x"), Const(0.0))),))
    small_kernel((Map("x", Where(Index("element"), Index("M"), Slot("x"), Const(0.0))),))
    for name in ("qqq", "elements"):
        with pytest.raises(KernelError, match=f"no loop binds {name}"):
            small_kernel((Map("x", Where(Index(name), Index(None, 1), Slot("x"), Const(0.0))),))


def nested(levels: int, leaf: Expression) -> Expression:
    for _ in range(levels - 1):
        leaf = apply("relu", leaf)
    return leaf


def holding(value: Expression) -> Kernel:
    return small_kernel((Loop("i", Index(), Index(None, 2), (Fill("x", 0),), (("x", value),)),))


@pytest.mark.parametrize(
    "build",
    [
        lambda levels: claimed(nested(levels, X)),
        lambda levels: small_kernel((Map("x", nested(levels, Slot("x"))),)),
        lambda levels: holding(nested(levels, Const(0.0))),
    ],
)
def test_expressions_nest_100_levels(build: Callable[[int], Kernel]) -> None:
    build(100)
    for levels in (101, 5000):
        with pytest.raises(KernelError, match="nests more than 100 levels deep"):
            build(levels)


@every("levels", [150, 190, 400, 3000])
@every("text", ["relu", "sum"])
def test_an_epilogue_that_nests_too_deep_is_refused(levels: int, text: str) -> None:
    sums = "+".join(["acc"] * levels)
    deep = sums if text == "sum" else "relu(" * levels + "acc" + ")" * levels
    with pytest.raises(KernelError, match="nests more than 100 levels deep"):
        cx.kernel.gemm(tiled_mma((8, 16, 16), (1, 1)), epilogue=deep)


def test_the_deepest_epilogue_is_proved_and_runs() -> None:
    kernel = cx.kernel.gemm(
        tiled_mma((8, 16, 16), (1, 1)), epilogue="relu(" * 90 + "acc" + ")" * 90
    )
    assert cx.verify(kernel)
    found = cx.run(kernel, np.ones((2, 3)), np.ones((3, 2)), dtype="bf16", executor="reference")
    assert (found == 3).all()


def test_maps_one_after_the_other_that_nest_too_deep_are_refused_by_verify() -> None:
    again = tuple(Map("x", nested(90, Slot("x"))) for _ in range(20))
    kernel = dataclasses.replace(claimed(X), body=(PLAIN.body[0], *again, PLAIN.body[-1]))
    with pytest.raises(KernelError, match="nests too deep to be followed"):
        cx.verify(kernel)


def test_a_budget_may_have_no_end() -> None:
    assert cx.verify(claimed(X), {"M": 8, "N": 16}, budget=math.inf)
    with pytest.raises(InputError, match="a positive amount of counted work"):
        cx.verify(claimed(X), budget=math.nan)


@every("number", [math.nan, math.inf, -math.inf])
@every("executor", ["fast", "reference"])
def test_integers_are_not_computed_from_what_is_none(number: float, executor: Any) -> None:
    kernel = small_kernel((Map("x", Const(number)),), kinds=("s32", "s32"))
    with pytest.raises(KernelError, match=f"{number:g} is not an integer"):
        cx.run(kernel, np.zeros((3, 5), np.int32), executor=executor)


@pytest.mark.parametrize("role", ["out", "inout"])
def test_scalars_are_inputs(role: Any) -> None:
    with pytest.raises(KernelError, match="s is a scalar, and a scalar must be an input"):
        Operand("s", "f32", (), role=role)


@pytest.mark.parametrize(
    ("inner", "error", "words"),
    [
        (RecursionError("too deep"), CuteError, "RecursionError: too deep"),
        (TypeError("unsupported: 'ndarray'"), CuteError, "TypeError: unsupported"),
        (KeyError("s"), CuteError, "KeyError: 's'"),
        (MemoryError(), InputError, "the operands take 120 bytes, and memory does not suffice"),
    ],
)
def test_inner_errors_of_a_run_are_told_as_what_they_are(
    monkeypatch: pytest.MonkeyPatch, inner: Exception, error: type[CuteError], words: str
) -> None:
    def stumble(*_: Any) -> Any:
        raise inner

    monkeypatch.setitem(runner._ENGINES, "fast", stumble)
    with pytest.raises(error, match=words) as info:
        cx.run(PLAIN, np.ones((3, 5), np.float32))
    assert type(info.value) is error
    assert info.value.__cause__ is inner
    assert "operands is a" not in str(info.value)


def test_a_counterexample_too_large_to_run_is_refused_with_its_size() -> None:
    kernel = claimed(X)
    place = cx.verify(claimed(X + 1), {"M": 1, "N": 1}).counterexample
    assert place is not None
    large = dataclasses.replace(place, sizes={"M": 2**32 + 1, "N": 1})
    with pytest.raises(InputError, match="the operands take 32 GiB, must be at most 1 GiB"):
        cx.replay(kernel, large)


@pytest.mark.parametrize("kind", ["s4", "u4", "s2"])
def test_a_gemm_into_integers_narrower_than_a_byte(kind: str) -> None:
    """The order of the accumulator is kept by conversions, and moved once, to that of the store."""
    kernel = cx.kernel.gemm(tiled_mma((8, 16, 16), (1, 1)), d_type=kind)
    assert cx.verify(kernel)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, shape).astype(np.float32) for shape in ((11, 5), (5, 19)))
    numeric = cx.as_numeric(kind)
    low = 0 if kind == "u4" else -(1 << (numeric.bits - 1))
    want = (a @ b).clip(low, low + (1 << numeric.bits) - 1).astype(int)
    for executor in ("fast", "reference"):
        found = cx.run(kernel, a, b, dtype="bf16", executor=executor)
        np.testing.assert_array_equal(np.asarray(found).astype(int), want)


def test_a_gemm_that_adds_a_matrix_narrower_than_a_byte() -> None:
    kernel = cx.kernel.gemm(tiled_mma((8, 16, 16), (1, 1)), epilogue="acc + C", types={"C": "s4"})
    assert cx.verify(kernel)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, shape).astype(np.float32) for shape in ((11, 5), (5, 19)))
    c = rng.integers(-8, 8, (11, 19))
    narrow = c.astype(numpy_dtype("s4"))
    asked = {"A": "bf16", "B": "bf16"}
    found = cx.run(kernel, A=a, B=b, C=narrow, dtype=asked, executor="reference")
    np.testing.assert_array_equal(found, a @ b + c)


def test_a_tile_of_an_epilogue_smaller_than_a_block_is_refused_in_words_of_the_epilogue() -> None:
    """8 rows of 2 bits are half a dword, the least that a message moves of a column."""
    mma = tiled_mma((32, 64, 32), (2, 2))
    more: dict[str, Any] = {"epilogue": "acc + C", "types": {"C": "s2"}, "orders": {"C": "col"}}
    with pytest.raises(KernelError, match="no message of 2-bit values moves a part of 8 x 16"):
        cx.kernel.gemm(mma, epilogue_tile=(8, 16), **more)


def test_a_grid_that_is_not_pairs_is_named() -> None:
    with pytest.raises(cx.errors.InputError, match=r"grid is \(\(1,\),\)"):
        cx.Kernel("k", 1, (), (), ((1,),), ())
