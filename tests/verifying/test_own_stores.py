"""Stores that only some subgroups do: each in a statement of its own, in any order."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from broken_kernels import find, tiled_mma
from small_kernels import by_subgroup, fragment

import pycute_xe as cx
from pycute_xe.errors import MachineError
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Claim,
    Element,
    Fill,
    Index,
    Kernel,
    Load,
    Map,
    Operand,
    Slot,
    Specification,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.layout import Layout


def test_each_subgroup_may_store_in_a_statement_of_its_own() -> None:
    gemm = cx.kernel.gemm(tiled_mma((16, 32, 32), (2, 2)))
    store = find(gemm, Store)
    turns = gemm.replace(store, tuple(by_subgroup(i, store) for i in (2, 0, 3, 1)))
    assert cx.verify(turns)
    found = cx.verify(gemm.replace(store, tuple(by_subgroup(i, store) for i in (0, 1, 3))))
    assert found.counterexample is not None
    assert found.counterexample.index == (8, 0)  # where the third one begins


def test_the_subgroup_that_stores_a_wrong_value_is_named() -> None:
    gemm = cx.kernel.gemm(tiled_mma((16, 32, 32), (2, 2)))
    store, held = find(gemm, Store), gemm.fragment("tCrC")
    double = dataclasses.replace(held, name="double")
    gemm = dataclasses.replace(gemm, fragments=(*gemm.fragments, double))
    other = dataclasses.replace(store, fragment="double")
    turns = (by_subgroup(i, other if i == 2 else store) for i in (3, 2, 1, 0))
    wrong = gemm.replace(store, (Map("double", Slot("tCrC") * 2.0), *turns))
    found = cx.verify(wrong).counterexample
    assert found is not None
    assert (found.subgroup, found.index) == (2, (8, 0))
    assert cx.replay(wrong, found).shows


OWN = Index(SUBGROUP_INDEX)
AT = (Index("g") * 16, Index())


def store(of: str, rows: Index | int = 0) -> Store:
    """Each of two subgroups stores 8 rows, so many rows below its own."""
    places = Layout((2, 1), (1, 2))
    copy = cx.make_block_2d_copy(cx.XE_STORE_2D(32, 8, 16), ("ld", 1), "f32", (2, 1), places)
    return Store(copy, "Y", (AT[0] + rows, AT[1]), of, (0, 1))


def copying(*body: Statement) -> Kernel:
    """Y is claimed to be X; x holds the rows of X, y ones."""
    places = Layout((2, 1), (1, 2))
    copy = cx.make_block_2d_copy(cx.XE_LOAD_2D(32, 8, 16), ("ld", 1), "f32", (2, 1), places)
    operands = (Operand("X", "f32", ("M", 16)), Operand("Y", "f32", ("M", 16), role="out"))
    claim = Claim("Y", ("m", "n"), Element("X", (Index("m"), Index("n"))))
    fragments = (fragment("x", "f32", 8), fragment("y", "f32", 8))
    body = (Load(copy, "X", AT, "x", (0, 1)), Fill("y", 1), *body)
    grid = (("g", Tiles("M", 16)),)
    return Kernel("copying", 2, operands, fragments, grid, body, Specification((claim,)))


X16 = np.arange(1, 257, dtype=np.float32).reshape(16, 16)


@pytest.mark.parametrize("of", ["x", "y"])
def test_what_another_subgroup_stores_over_in_no_order_is_not_proved(of: str) -> None:
    """The second subgroup stores to the rows of the first, which stores them too."""
    kernel = copying(by_subgroup(1, store(of, OWN * -8)), by_subgroup(0, store("x")), store("x"))
    with pytest.raises(MachineError, match="nothing orders"):
        cx.run(kernel, X16, executor="reference")
    assert cx.verify(kernel).answer != "proved"
    alone = copying(by_subgroup(1, store(of, OWN * -8)), by_subgroup(0, store("x")))
    assert cx.verify(alone).answer != "proved"


def test_what_another_subgroup_stores_over_behind_a_barrier_is_not_disproved() -> None:
    meet = (BarrierArrive(), BarrierWait())
    kernel = copying(by_subgroup(1, store("y", OWN * -8)), *meet, store("x"))
    assert np.array_equal(cx.run(kernel, X16, executor="reference"), X16)
    assert cx.verify(kernel).answer == "undecided"
    wrong = copying(store("x"), *meet, by_subgroup(1, store("y", OWN * -8)))
    found = cx.verify(wrong).counterexample
    assert found is not None
    assert cx.replay(wrong, found).shows


def test_one_statement_that_stands_in_two_places_is_stored_over() -> None:
    same = store("y")
    right = (Map("y", Slot("x")),)
    kernel = copying(
        *right,
        by_subgroup(0, same),
        Fill("y", 1),
        by_subgroup(1, same),
        *right,
        store("y"),
    )
    assert np.array_equal(cx.run(kernel, X16, executor="reference"), X16)
    assert cx.verify(kernel).answer != "disproved"
