"""Stores that only some subgroups do: each in a statement of its own, in any order."""

from __future__ import annotations

import dataclasses

from broken_kernels import find, tiled_mma

import pycute_xe as cx
from pycute_xe.kernel import (
    If,
    Index,
    Map,
    Slot,
    Statement,
    Store,
)
from pycute_xe.kernel.index import SUBGROUP_INDEX


def by_subgroup(number: int, *body: Statement) -> If:
    """What one subgroup does."""
    mine = Index(SUBGROUP_INDEX)
    return If(mine, Index(None, number + 1), (If(Index(None, number - 1), mine, body),))


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
