"""A statement that is followed otherwise than the machine does it: the machine says so.

One wrong meaning for every kind that changes what registers or memory hold. The prover reads the
wrong meaning; the byte machine shares none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from broken_kernels import tiled_mma
from compiled_kinds import CASES

import pycute_xe as cx
from pycute_xe.holding.contents import HOLDS
from pycute_xe.kernel import (
    AtomicStore,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Prefetch,
    SharedStore,
    Statement as AnyStatement,
    Store,
)
from pycute_xe.kernel.ir.program import walk

Wrong = Callable[[Any, Any, Any], None]


def shifted(right: Any, walker: Any, statement: Any) -> None:
    """What is written lies one register further."""
    right(walker, statement)
    for name in (*statement.touched.writes, *statement.touched.updates):
        content = walker.state[name]
        walker.state[name] = content.at(np.roll(np.arange(content.count), 1))


def stored_elsewhere(right: Any, walker: Any, statement: Any) -> None:
    """What is stored lies at the place of the register before it."""
    right(walker, statement)
    last = walker.followed.writes[-1]
    walker.followed.writes[-1] = replace(last, places=np.roll(last.places, 1, axis=1))


def shared_elsewhere(right: Any, walker: Any, statement: Any) -> None:
    """What is shared lies one element further."""
    right(walker, statement)
    content = walker.state[statement.array]
    walker.state[statement.array] = content.at(np.roll(np.arange(content.count), 1))


def otherwise(change: Callable[[Any], AnyStatement]) -> Wrong:
    """A statement is taken for another one."""

    def wrong(right: Any, walker: Any, statement: Any) -> None:
        right(walker, change(statement))

    return wrong


WRONG: dict[type[AnyStatement], Wrong] = {
    Fill: otherwise(lambda s: replace(s, value=s.value + 1)),
    Loop: otherwise(lambda s: replace(s, start=s.start + 1)),
    If: otherwise(lambda s: replace(s, below=s.below - Index(None, 1))),
    Store: stored_elsewhere,
    AtomicStore: stored_elsewhere,
    SharedStore: shared_elsewhere,
}
"""Everything else that writes to a fragment is `shifted`."""


def changes(kind: type[AnyStatement]) -> bool:
    """Whether a kind changes what is held: it writes, stores, or says what is done and when."""
    mine = (s.touched for k in kernels() for s in k.statements() if type(s) is kind)
    return kind in WRONG or any(touched.writes or touched.updates for touched in mine)


def matters(statement: AnyStatement, kind: type[AnyStatement]) -> bool:
    """Whether a statement is of a kind, and around more than prefetches where it is around some."""
    inside = walk(statement.body) if isinstance(statement, (If, Loop)) else (statement,)
    return type(statement) is kind and not all(isinstance(s, (Prefetch, If)) for s in inside)


def guarded(kernel: Kernel) -> Kernel:
    """A kernel whose store is done where a condition holds, which it always does."""
    (store,) = (s for s in kernel.statements() if isinstance(s, Store))
    return kernel.replace(store, If(Index("m"), Index("M"), (store,)))


SMALL = tiled_mma((32, 64, 32), (2, 2))
CHANGE_NOTHING = {
    *("Await", "BarrierArrive", "BarrierWait", "Fence", "FetchAdd"),
    *("NamedArrive", "NamedWait", "Prefetch", "Signal"),
}
"""Barriers, fences, prefetches and counters leave registers as they are."""
KINDS = sorted(
    (kind for kind in HOLDS if kind.__name__ not in CHANGE_NOTHING), key=lambda kind: kind.__name__
)


@cache
def kernels() -> list[Kernel]:
    """Kernels of all kinds, the shortest first."""
    made = [case.make()[0] for name, case in CASES.items() if "attention" not in name]
    claimed = [kernel for kernel in made if kernel.computes is not None]
    small = [guarded(cx.kernel.gemm(SMALL)), cx.kernel.gemm(SMALL, epilogue_tile=(8, 16))]
    return sorted(small + claimed, key=lambda kernel: sum(1 for _ in kernel.statements()))


@pytest.mark.long
def test_nothing_that_writes_is_left_out() -> None:
    assert {kind for kind in HOLDS if changes(kind)} == {*KINDS}


@pytest.mark.whole
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.long
def test_a_wrong_meaning_is_contradicted(
    kind: type[AnyStatement], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = next(k for k in kernels() if any(matters(s, kind) for s in k.statements()))
    assert cx.verify(kernel)
    table: dict[Any, Any] = HOLDS._table  # pyright: ignore[reportPrivateUsage]
    right, wrong = table[kind], WRONG.get(kind, shifted)
    monkeypatch.setitem(table, kind, lambda walker, s: wrong(right, walker, s))
    assert not cx.verify(kernel)
