"""Every reduction, in every reader; a minimum as a maximum of negatives would have it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.atom import XE_LOAD_2D, XE_STORE_2D, make_block_2d_copy
from pycute_xe.errors import KernelError
from pycute_xe.kernel import (
    Claim,
    Element,
    Fill,
    Fragment,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Operand,
    Reduce,
    Slot,
    Specification,
    Store,
    Tiles,
    apply,
    total,
)
from pycute_xe.kernel.spec.evaluation import compute
from pycute_xe.kernel.spec.functions import REDUCTIONS, reduction
from pycute_xe.layout import Layout

ROWS, COLUMNS = 8, 16
M, N, K = map(Index, "mnk")
FOLDS = {"sum": np.sum, "max": np.max, "min": np.min}


def fragment(name: str, kind: str, slots: int = ROWS) -> Fragment:
    return Fragment(name, cx.as_numeric(kind), slots)


def copy(make: Any, kind: str, rows: int = ROWS) -> Any:
    numeric = cx.as_numeric(kind)
    return make_block_2d_copy(make(numeric.bits, rows, COLUMNS), ("ld", 1), numeric)


def columns(how: str, kind: str = "f32", said: str = "") -> Kernel:
    """``D[n] = how(i, A[i,n])`` over 8 rows, in a row of D."""
    wanted = total("i", ROWS, Element("A", (Index("i"), N)), how=said or how)
    return Kernel(
        name="columns",
        subgroups=1,
        operands=(
            Operand("A", kind, (ROWS, "N")),
            Operand("D", kind, (1, "N"), role="out"),
        ),
        fragments=(fragment("x", kind), fragment("r", kind, 1)),
        grid=(("n", Tiles("N", COLUMNS)),),
        body=(
            Load(copy(XE_LOAD_2D, kind), "A", (Index(), N * COLUMNS), "x"),
            Reduce(how, "x", "r", Layout((COLUMNS, ROWS), (1, 0))),
            Store(copy(XE_STORE_2D, kind, 1), "D", (Index(), N * COLUMNS), "r"),
        ),
        computes=Specification((Claim("D", ("m", "n"), wanted),)),
    )


def running(how: str, start: float, said: str = "") -> Kernel:
    """``D[m,n] = how(k, A[k,m,n])``, begun at a number and taken trip by trip."""
    row = reduction(how)
    wanted = total("k", "K", Element("A", (K, M, N)), how=said or how)
    wanted = apply(reduction(said or how).combine, start, wanted)
    at = (M * ROWS, N * COLUMNS)
    load = copy(XE_LOAD_2D, "f32")
    return Kernel(
        name="running",
        subgroups=1,
        operands=(
            Operand("A", "f32", ("K", "M", "N")),
            Operand("D", "f32", ("M", "N"), role="out"),
        ),
        fragments=(fragment("x", "f32"), fragment("z", "f32")),
        grid=(("m", Tiles("M", ROWS)), ("n", Tiles("N", COLUMNS))),
        body=(
            Fill("z", start),
            Loop(
                "k",
                Index(),
                Index("K"),
                (
                    Load(load, "A", (K, *at), "x", (1, 2)),
                    Map("z", apply(row.combine, Slot("z"), Slot("x"))),
                ),
            ),
            Store(copy(XE_STORE_2D, "f32"), "D", at, "z"),
        ),
        computes=Specification((Claim("D", ("m", "n"), wanted),)),
    )


def test_the_rows_are_these() -> None:
    assert set(REDUCTIONS) == set(FOLDS)


@pytest.mark.parametrize("kind", ["f32", "s32", "s8", "bf16"])
@pytest.mark.parametrize("how", FOLDS)
def test_every_executor_and_the_specification_fold_alike(how: str, kind: str) -> None:
    kernel = columns(how, kind)
    data = np.random.default_rng(0).integers(-9, 10, (ROWS, 37))
    given = data.astype(cx.bulk.numpy_dtype(kind))
    for executor in ("reference", "fast"):
        found = cx.run(kernel, given, executor=executor)
        assert np.array_equal(np.asarray(found).astype(int)[0], FOLDS[how](data, axis=0)), executor
    assert kernel.computes is not None
    claimed = compute(kernel.computes, kernel.operands, {"A": given})["D"]
    assert np.array_equal(claimed[0], FOLDS[how](data, axis=0))


@pytest.mark.parametrize("said", FOLDS)
@pytest.mark.parametrize("how", FOLDS)
def test_a_reduction_is_proved_to_be_itself_and_no_other(how: str, said: str) -> None:
    found = cx.verify(columns(how, said=said))
    assert found.answer == ("proved" if how == said else "disproved"), str(found)
    if how != said:
        assert cx.replay(columns(how, said=said), found.counterexample).shows


@pytest.mark.parametrize(("how", "start"), [("sum", 0), ("max", -1e30), ("min", 1e30), ("min", 0)])
def test_a_loop_that_folds_is_proved(how: str, start: float) -> None:
    assert cx.verify(running(how, start)), str(cx.verify(running(how, start)))
    other = {"sum": "max", "max": "min", "min": "max"}[how]
    assert cx.verify(running(how, start, other)).answer == "disproved"


@pytest.mark.long
def test_masks_and_conversions_have_the_laws_of_minima() -> None:
    """A minimum of a minimum is one, and infinity is nothing in it."""
    inner = total("k", "K", Element("A", (K, M, N)), how="min")
    kernel = running("min", float("inf"))
    for claim in (inner, apply("min", inner, inner), apply("mul", -1.0, apply("mul", -1.0, inner))):
        assert cx.verify(claiming(kernel, claim)), str(cx.verify(claiming(kernel, claim)))
    negated = total("k", "K", apply("mul", -1.0, Element("A", (K, M, N))), how="max")
    assert cx.verify(claiming(kernel, apply("mul", -1.0, negated)))
    assert cx.verify(claiming(kernel, negated)).answer == "disproved"


def claiming(kernel: Kernel, value: Any) -> Kernel:
    return replace(kernel, computes=Specification((Claim("D", ("m", "n"), value),)))


@pytest.mark.parametrize("how", FOLDS)
def test_texts_and_listings_name_it(how: str) -> None:
    kernel = columns(how)
    assert f"reduce    {how} of x" in str(kernel)
    operation = {"sum": "add", "max": "max", "min": "min"}[how]
    lines = cx.emit(kernel, "visa").splitlines()
    assert {text.split()[0] for text in lines if " (M1_NM, 16) " in text} - {"mov"} == {operation}
    for device in ("gpu", "cpu"):
        assert operation in cx.emit(kernel, "opencl", device=device)
    assert cx.check(kernel, "bmg")


@pytest.mark.parametrize("how", ["mean", "", "SUM"])
def test_an_unknown_reduction_is_refused_by_name(how: str) -> None:
    for make in (
        lambda: Reduce(how, "x", "r", Layout(16)),
        lambda: total("k", 4, 1, how=how),
        lambda: reduction(how),
    ):
        with pytest.raises(KernelError, match=r"not a known reduction.*use sum, max, min"):
            make()
