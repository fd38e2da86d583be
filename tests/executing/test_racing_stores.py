"""The fast executor stops at races between statements, trips and work-groups, and at no others."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.errors import MachineError
from pycute_xe.kernel import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Fill,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    NamedArrive,
    NamedBarrier,
    NamedWait,
    Operand,
    Statement,
    Store,
)
from pycute_xe.layout import Layout

BARRIER = (BarrierArrive(), BarrierWait())
X = Fill("x", 2.0)
SUBGROUP = Index("subgroup")
GROUP = Index("g")


def first(who: Index, *body: Statement) -> If:
    return If(who, Index(None, 1), body)


def others(who: Index, *body: Statement) -> If:
    return If(Index(), who, body)


def kernel(*body: Statement, groups: int = 1, subgroups: int = 2) -> Kernel:
    operands = (Operand("Y", "f32", ("M", "N"), role="inout"),)
    fragments = (fragment("x", "f32", 8), fragment("y", "f32", 8))
    grid = (("g", Index(None, groups)),)
    return Kernel("races", subgroups, operands, fragments, grid, (X, *body))


def for_both(one: Load | Store) -> Any:
    both = Layout(((16, 2), 8), ((8, 0), 1))
    copy = cx.make_tiled_copy(one.copy.atom, both, (8, 16))
    return dataclasses.replace(one, copy=copy)


STORE = for_both(store_of("Y", "x"))
LOAD = for_both(load_of("Y", "y"))
ADD = AtomicStore(STORE.copy, "Y", STORE.at, "x", STORE.modes)
SEVEN = Fill("x", 7.0)
ONE, TWO = (NamedBarrier(Index(None, number), 1, 1) for number in (1, 2))

RACES = {
    "two stores": (first(SUBGROUP, STORE), SEVEN, others(SUBGROUP, STORE)),
    "two trips": (
        Loop("t", Index(), Index(None, 2), (If(SUBGROUP, Index("t") + 1, (STORE, SEVEN)),)),
    ),
    "a load behind": (first(SUBGROUP, STORE), others(SUBGROUP, LOAD)),
    "a load before": (others(SUBGROUP, LOAD), first(SUBGROUP, STORE)),
    "an addition": (first(SUBGROUP, STORE), others(SUBGROUP, ADD)),
    "an addition before": (others(SUBGROUP, ADD), first(SUBGROUP, STORE)),
    "equal, then another": (STORE, first(SUBGROUP, SEVEN, STORE)),
    "equal in turn, then another": (
        first(SUBGROUP, STORE), others(SUBGROUP, STORE), others(SUBGROUP, SEVEN, STORE),
    ),
    "half a barrier": (
        BARRIER[0], first(SUBGROUP, STORE), BARRIER[1], SEVEN, others(SUBGROUP, STORE),
    ),
}  # fmt: skip

PASSED = {
    "equal stores": (first(SUBGROUP, STORE), others(SUBGROUP, STORE)),
    "a barrier": (first(SUBGROUP, STORE), *BARRIER, SEVEN, others(SUBGROUP, STORE)),
    "loads behind a barrier": (first(SUBGROUP, STORE), *BARRIER, LOAD),
    "a store that changes nothing": (
        first(SUBGROUP, STORE), *BARRIER, first(SUBGROUP, STORE), others(SUBGROUP, LOAD),
    ),
    "stores behind loads": (LOAD, *BARRIER, STORE),
    "additions": (ADD, ADD),
    "additions of other numbers behind a store": (
        first(SUBGROUP, STORE), *BARRIER, first(SUBGROUP, SEVEN), ADD,
    ),
    "a producer that hears of the consumer at another barrier": (
        first(SUBGROUP, NamedArrive(ONE, "producer")),
        others(
            SUBGROUP,
            NamedArrive(ONE, "consumer"), NamedArrive(TWO, "producer"), NamedWait(ONE),
        ),
        first(
            SUBGROUP,
            NamedArrive(TWO, "consumer"), NamedWait(TWO), NamedArrive(ONE, "producer"),
        ),
        others(SUBGROUP, NamedArrive(ONE, "consumer"), NamedWait(ONE)),
    ),
    "what lay there": (LOAD, Fill("x", 0.0), STORE),
    "the last counts": (first(SUBGROUP, SEVEN), STORE, Fill("x", 3.0), STORE),
    "the last counts beside loads": (
        first(SUBGROUP, SEVEN), STORE, Fill("x", 3.0), STORE, *BARRIER, LOAD,
    ),
    "each loads what it stored": (STORE, LOAD),
    "one subgroup twice": (first(SUBGROUP, STORE, LOAD, SEVEN, STORE),),
}  # fmt: skip


def run(one: Kernel, executor: Any) -> Any:
    return cx.run(one, executor=executor, Y=np.zeros((8, 16), np.float32))


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize("name", RACES)
def test_what_nothing_orders_is_refused(name: str, executor: str) -> None:
    with pytest.raises(MachineError, match=r"Y\[0, 0\]\): race: "):
        run(kernel(*RACES[name]), executor)


@pytest.mark.parametrize("name", PASSED)
def test_what_is_in_order_or_equal_is_done(name: str) -> None:
    one = kernel(*PASSED[name])
    assert np.array_equal(run(one, "fast"), run(one, "reference"))


WHOLE = store_of("Y", "x")
APART = {
    "a tile, then elements": (
        first(GROUP, WHOLE), others(GROUP, SEVEN, first(SUBGROUP, WHOLE)),
    ),
    "elements, then a tile": (
        first(GROUP, first(SUBGROUP, WHOLE)), others(GROUP, SEVEN, WHOLE),
    ),
    "elements that are loaded": (
        first(GROUP, WHOLE), others(GROUP, first(SUBGROUP, load_of("Y", "y"))),
    ),
    "a tile that is loaded": (
        first(GROUP, first(SUBGROUP, WHOLE)), others(GROUP, load_of("Y", "y")),
    ),
    "a tile that two load": (load_of("Y", "y"), others(GROUP, WHOLE)),
}  # fmt: skip


def apart(*body: Statement, groups: int = 2, subgroups: int = 1) -> Kernel:
    """Work-groups that look up how often they do something are done one by one."""
    one = kernel(groups=groups, subgroups=subgroups)
    loop = Loop("t", Index(), Index.element("count", 0), body)
    operands = (*one.operands, Operand("count", "s32", ("C",)))
    return dataclasses.replace(one, operands=operands, body=(X, loop))


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize("name", APART)
def test_whole_tiles_race_with_elements(name: str, executor: str) -> None:
    given: dict[str, Any] = {"Y": np.zeros((8, 16), np.float32), "count": np.array([1], np.int32)}
    with pytest.raises(MachineError, match=r"Y\[0, 0\]\): race: "):
        cx.run(apart(*APART[name]), executor=executor, **given)
    given["count"] = np.array([0], np.int32)
    assert (cx.run(apart(*APART[name]), executor=executor, **given) == 0).all()


@pytest.mark.parametrize("executor", ["fast", "reference"])
def test_subgroups_of_one_work_group_race_for_a_tile(executor: str) -> None:
    """Each stores 8 rows of 16 columns, and loads 16 columns of the lower rows."""
    rows, columns = Layout(((16, 2), 8), ((16, 8), 1)), Layout(((16, 2), 8), ((8, 128), 1))
    store, load = store_of("Y", "x"), load_of("Y", "y", at=(8, 0))
    store = dataclasses.replace(store, copy=cx.make_tiled_copy(store.copy.atom, rows, (16, 16)))
    load = dataclasses.replace(load, copy=cx.make_tiled_copy(load.copy.atom, columns, (8, 32)))
    given: dict[str, Any] = {"Y": np.zeros((16, 32), np.float32), "count": np.array([1], np.int32)}

    with pytest.raises(MachineError, match=r"Y\[8, 0\]\): race: "):
        cx.run(apart(store, load, groups=1, subgroups=2), executor=executor, **given)
    ordered = apart(store, *BARRIER, load, groups=1, subgroups=2)
    found = cx.run(ordered, executor=executor, **given)
    assert (found == np.where(np.arange(32) < 16, 2, 0)).all()


def test_two_stores_of_whole_matrices_by_other_subgroups() -> None:
    """Each alone is a copy of a matrix; the first is done by both subgroups for all rows."""
    parts = Layout(((16, 2), (8, 2)), ((16, 0), (1, 8))), Layout(((16, 2), 8), ((16, 8), 1))
    body: list[Statement] = []
    for name, to, part in zip("XZ", "xy", parts, strict=True):
        for one in (load_of(name, to), store_of("Y", to)):
            copy = cx.make_tiled_copy(one.copy.atom, part, (16, 16))
            body.append(dataclasses.replace(one, copy=copy))
    operands = tuple(Operand(name, "f32", ("M", "N")) for name in "XZ")
    out = Operand("Y", "f32", ("M", "N"), role="out")
    fragments = (fragment("x", "f32", 16), fragment("y", "f32", 8))
    grid = (("g", Index(None, 1)),)
    one = Kernel("twice", 2, (*operands, out), fragments, grid, tuple(body))
    x, z = np.zeros((16, 16), np.float32), np.ones((16, 16), np.float32)
    for executor in ("fast", "reference"):
        with pytest.raises(MachineError, match="race"):
            cx.run(one, x, z, executor=executor)
        assert (cx.run(one, x, x, executor=executor) == 0).all()
