"""A load into registers and shared memory at once: a statement that declares both effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from drilled_kinds import (
    READERS,
    TABLES,
    Drill,
    agrees,
    changed,
    each_entry_is_needed,
    emission_is_refused,
    entered,
    entry,
    is_never_proved,
    is_proved,
)

import pycute_xe as cx
from pycute_xe.atom import TiledCopy
from pycute_xe.checking.kernels import judge_message
from pycute_xe.errors import MachineError
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Claim,
    Element,
    Fence,
    Fragment,
    Index,
    Kernel,
    Load,
    Map,
    Operand,
    SharedLoad,
    SharedStore,
    Slot,
    Specification,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.ir.checks import check_message, check_shared
from pycute_xe.kernel.ir.effects import MemoryAccess, SharedAccess
from pycute_xe.kernel.ir.operands import Shared
from pycute_xe.kernel.ir.statements import touching
from pycute_xe.layout import Layout

MEET = (Fence(), BarrierArrive(), BarrierWait())
OWN = Layout((2, 128), (128, 1))
OTHER = 128 - 256 * Index("subgroup")
"""Added to its own elements, they are those of the other subgroup."""


@dataclass(frozen=True, slots=True)
class LoadShare(Statement):
    """Load a tile into a fragment, and store it to elements of a shared array."""

    touches = touching(writes="fragment", memory="loaded", shared="stored", indices="at begin")
    copy: TiledCopy
    operand: str
    at: tuple[Index, ...]
    fragment: str
    array: str
    places: Layout
    begin: Index = field(default_factory=Index)

    @property
    def loaded(self) -> MemoryAccess:
        """The tile that is loaded."""
        return MemoryAccess(self.copy, self.operand, self.at, (0, 1), self.fragment, loads=True)

    @property
    def stored(self) -> SharedAccess:
        """The elements that are stored."""
        return SharedAccess(self.array, self.places, self.begin, stores=True)


@lru_cache(maxsize=64)
def parts(s: LoadShare) -> tuple[Load, SharedStore]:
    """Return what it does one after the other; readers remember statements, so these stay."""
    return Load(s.copy, s.operand, s.at, s.fragment), SharedStore(
        s.fragment, s.array, s.places, s.begin
    )


def both(table: str) -> Callable[..., None]:
    """Return a meaning that is those of a load and of a store to a shared array."""
    load, store = entry(table, Load), entry(table, SharedStore)

    def meaning(reader: Any, statement: LoadShare, *more: Any) -> None:
        first, second = parts(statement)
        load(reader, first, *more)
        store(reader, second, *more)

    return meaning


def fits(kernel: Any, statement: LoadShare) -> None:
    check_message(kernel, statement)
    check_shared(kernel, statement)


KINDS = {
    LoadShare: {
        "FITS": fits,
        "LINES": lambda s: f"load      {s.operand} → {s.fragment} and {s.array}",
        "JUDGED": judge_message,
        "HOLDS": both("HOLDS"),
        "DOES": both("DOES"),
    }
}


def written(twin: Kernel) -> Kernel:
    """Return a kernel in which the load and the store to the shared array are one statement."""
    (share,) = (s for s in twin.statements() if isinstance(s, SharedStore))

    def change(s: Any) -> Statement | None:
        if s == share:
            return None
        if not isinstance(s, Load):
            return s
        return LoadShare(s.copy, s.operand, s.at, s.fragment, share.array, share.places, share.at)

    return changed(twin, change)


X = np.random.default_rng(0).integers(-9, 9, (21, 37)).astype(np.float32)
DRILL = Drill(KINDS, written, (X,), {"M": 21, "N": 37})


def shared(
    *between: Statement, at: Index | None = None, begin: Index | None = None, times: int = 2
) -> Kernel:
    """Z is twice X: what a subgroup loads, and what it shares."""
    tile, own = Layout(((16, 2), 8), ((16, 8), 1)), Index()
    load, store = (
        cx.make_tiled_copy(cx.make_copy_atom(op, "f32"), tile, (16, 16))
        for op in (cx.XE_LOAD_2D(32, 8, 16), cx.XE_STORE_2D(32, 8, 16))
    )
    place, i, j = (Index("m") * 16, Index("n") * 16), Index("i"), Index("j")
    return Kernel(
        "shared",
        2,
        (Operand("X", "f32", ("M", "N")), Operand("Z", "f32", ("M", "N"), role="out")),
        tuple(Fragment(name, cx.as_numeric("f32"), 8) for name in "xs"),
        (("m", Tiles("M", 16)), ("n", Tiles("N", 16))),
        (
            Load(load, "X", place, "x"),
            SharedStore("x", "tile", OWN, own if begin is None else begin),
            *between,
            SharedLoad("tile", "s", OWN, own if at is None else at),
            Map("s", Slot("x") + Slot("s")),
            Store(store, "Z", place, "s"),
        ),
        Specification((Claim("Z", ("i", "j"), Element("X", (i, j)) * times),)),
        (Shared("tile", cx.as_numeric("f32"), 256),),
    )


def away(s: Any) -> Statement:
    """Load the next tile."""
    return replace(s, at=(s.at[0] + 16, s.at[1])) if isinstance(s, Load) else s


WRONG: dict[str, Callable[[], Kernel]] = {
    "another claim": lambda: shared(times=3),
    "a race": lambda: shared(at=OTHER),
    "no fence": lambda: shared(*MEET[1:], at=OTHER),
    "outside of the array": lambda: shared(begin=Index(None, 8), at=Index(None, 8)),
    "another tile": lambda: changed(shared(), away),
    "the other's elements": lambda: shared(*MEET, at=OTHER),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_answers_as_of_a_load_and_a_store(reader: str) -> None:
    agrees(reader, shared(), DRILL)


def test_a_load_that_shares_is_proved_and_runs() -> None:
    is_proved(shared(), DRILL)
    with entered(KINDS):
        for executor in ("reference", "fast"):
            found = cx.run(written(shared()), X, executor=executor)
            assert np.array_equal(found, 2 * X), executor


@pytest.mark.long
@pytest.mark.parametrize("reader", ["check", "reference", "fast"])
@pytest.mark.parametrize("name", WRONG)
def test_readers_answer_alike_of_what_is_wrong(name: str, reader: str) -> None:
    agrees(reader, WRONG[name](), DRILL)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_never_proved(name: str) -> None:
    is_never_proved(WRONG[name](), DRILL)


def test_a_race_is_named_and_a_barrier_mends_it() -> None:
    with entered(KINDS):
        race = written(shared(at=OTHER))
        found = {proof.property: proof.answer for proof in cx.verify(race).proofs}
        assert found["barriers"] == "disproved"
        with pytest.raises(MachineError, match=r"race|barrier"):
            cx.run(race, X, executor="reference")
        assert not cx.check(written(shared(*MEET[1:], at=OTHER)), "bmg")  # no fence
        mended = written(shared(*MEET, at=OTHER))
        found = {proof.property: proof.answer for proof in cx.verify(mended).proofs}
        assert found["barriers"] == "proved"


def test_what_the_listing_says() -> None:
    with entered(KINDS):
        assert "load      X → x and tile" in str(written(shared()))


def test_no_language_is_written() -> None:
    emission_is_refused(shared(), DRILL)


@pytest.mark.parametrize("missing", TABLES)
def test_each_entry_is_needed(missing: str) -> None:
    each_entry_is_needed(shared(), DRILL, missing)
