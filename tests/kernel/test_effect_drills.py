"""What a statement with an effect takes: its kind, which declares the effect, and five entries."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import drilled_kinds
import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.checking.kernels import judge_nothing
from pycute_xe.errors import CuteError, KernelError, MachineError
from pycute_xe.executing.reference import shared_bytes
from pycute_xe.executing.thread import Thread, numbers, to_bytes
from pycute_xe.holding.contents import Follower, combined
from pycute_xe.holding.nodes import Call
from pycute_xe.holding.shared import load_shared, store_shared
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Claim,
    Element,
    Fence,
    Fill,
    Fragment,
    Index,
    Kernel,
    Load,
    Loop,
    Operand,
    SharedLoad,
    SharedStore,
    Specification,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.ir.checks import check_shared
from pycute_xe.kernel.ir.effects import SharedAccess
from pycute_xe.kernel.ir.operands import Shared
from pycute_xe.kernel.ir.statements import touching
from pycute_xe.layout import Layout

MEET = (Fence(), BarrierArrive(), BarrierWait())
OWN = Layout((2, 128), (128, 1))
OTHER = 128 - 256 * Index("subgroup")
"""Added to its own elements, they are those of the other subgroup."""


@dataclass(frozen=True, slots=True)
class SharedAdd(Statement):
    """Add a fragment to elements of a shared array, as `SharedStore` writes one there."""

    touches = touching(reads="fragment", shared="access", indices="at")
    fragment: str
    array: str
    places: Layout
    at: Index = field(default_factory=Index)

    @property
    def access(self) -> SharedAccess:
        """The elements that are loaded and stored."""
        return SharedAccess(self.array, self.places, self.at, loads=True, stores=True)


def told(statement: SharedAdd) -> str:
    return f"add       {statement.fragment} → {statement.array}"


def holds(walker: Follower, statement: SharedAdd) -> None:
    """It loads what is there, adds, and stores the sum."""
    name, of = f"{statement.array} +", (statement.places, statement.at)
    load_shared(walker, SharedLoad(statement.array, name, *of))
    both = walker.state[name], walker.read(statement, statement.fragment)
    walker.state[name] = combined(both[0].count, both, lambda nodes: Call("add", nodes))
    store_shared(walker, SharedStore(name, statement.array, *of))
    del walker.state[name]


def does(thread: Thread, statement: SharedAdd, env: Any) -> None:
    where, kind = shared_bytes(thread, statement, env), thread.machine.fragment(statement.fragment)
    held = numbers(thread.slm.gather(where, thread.progress), kind.value_type)
    total = held + thread.numbers(statement.fragment, "add")
    thread.slm.scatter(where, to_bytes(total, kind.value_type), thread.progress)
    thread.machine.trace.message("shared store", "add", where.size, where)


ENTRIES = {
    "FITS": check_shared,
    "LINES": told,
    "JUDGED": judge_nothing,
    "HOLDS": holds,
    "DOES": does,
}


def entered(missing: str = "") -> AbstractContextManager[None]:
    return drilled_kinds.entered({SharedAdd: ENTRIES}, missing)


def added(*between: Statement, times: int = 3, at: Index | None = None) -> Kernel:
    """Z is X as often as it is added: by each of two subgroups, to elements of its own."""
    tile, own = Layout(((16, 2), 8), ((16, 8), 1)), Index()
    load, store = (
        cx.make_tiled_copy(cx.make_copy_atom(op, "f32"), tile, (16, 16))
        for op in (cx.XE_LOAD_2D(32, 8, 16), cx.XE_STORE_2D(32, 8, 16))
    )
    place, i, j = (Index("m") * 16, Index("n") * 16), Index("i"), Index("j")
    add = Loop("k", Index(), Index(None, times), (SharedAdd("x", "sums", OWN, own),))
    return Kernel(
        "added",
        2,
        (Operand("X", "f32", ("M", "N")), Operand("Z", "f32", ("M", "N"), role="out")),
        tuple(Fragment(name, cx.as_numeric("f32"), 8) for name in ("x", "zero", "z")),
        (("m", Tiles("M", 16)), ("n", Tiles("N", 16))),
        (
            Load(load, "X", place, "x"),
            Fill("zero", 0.0),
            SharedStore("zero", "sums", OWN, own),
            add,
            *between,
            SharedLoad("sums", "z", OWN, own if at is None else at),
            Store(store, "Z", place, "z"),
        ),
        Specification((Claim("Z", ("i", "j"), Element("X", (i, j)) * 3),)),
        (Shared("sums", cx.as_numeric("f32"), 256),),
    )


def every_reader() -> None:
    kernel = added()
    x = np.random.default_rng(0).standard_normal((21, 37), dtype=np.float32)
    assert "add       x → sums" in str(kernel)
    assert cx.check(kernel, "bmg"), str(cx.check(kernel, "bmg"))
    assert cx.verify(kernel), str(cx.verify(kernel))
    for executor in ("reference", "fast"):
        assert np.array_equal(cx.run(kernel, x, executor=executor), x + x + x), executor
    assert cx.draw(kernel, tables={"M": 21, "N": 37})
    found = cx.verify(added(times=2))
    assert found.answer == "disproved"
    assert found.counterexample is not None
    assert cx.replay(added(times=2), found.counterexample).shows


def test_an_addition_to_shared_memory_takes_its_kind_and_an_entry_a_reader() -> None:
    with entered():
        every_reader()
        with pytest.raises(KernelError, match="no meaning for SharedAdd"):
            cx.emit(added(), "opencl")


def test_a_race_behind_an_addition_is_disproved_and_a_barrier_mends_it() -> None:
    with entered():
        found = {p.property: p.answer for p in cx.verify(added(at=OTHER)).proofs}
        assert found["barriers"] == "disproved"
        with pytest.raises(MachineError, match=r"race|barrier"):
            cx.run(added(at=OTHER), np.ones((16, 16), np.float32), executor="reference")
        with pytest.raises(CuteError):
            cx.run(added(at=OTHER), np.ones((16, 16), np.float32), executor="fast")
        assert not cx.check(added(*MEET[1:], at=OTHER), "bmg")  # no fence
        found = {p.property: p.answer for p in cx.verify(added(*MEET, at=OTHER)).proofs}
        assert found["barriers"] == "proved"


@pytest.mark.parametrize("missing", ENTRIES)
def test_the_reader_without_an_entry_refuses_it_by_name(missing: str) -> None:
    with entered(missing), pytest.raises(KernelError, match="no meaning for SharedAdd"):
        every_reader()


def test_an_effect_outside_of_its_array_is_refused() -> None:
    with entered():
        kernel = added()
        (add,) = (s for s in kernel.statements() if isinstance(s, SharedAdd))
        wrong = kernel.replace(add, replace(add, at=Index(None, 8)))
        assert {p.property: p.answer for p in cx.verify(wrong).proofs}["bounds"] == "disproved"
