"""Named barriers that go wrong by subgroup, by residue of a size, or by their counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from broken_kernels import tiled_mma
from small_kernels import small_kernel

import pycute_xe as cx
from pycute_xe.errors import UndecidableError
from pycute_xe.holding.exploration import disorder
from pycute_xe.holding.periods import shape_of
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    If,
    Index,
    Kernel,
    Loop,
    NamedArrive,
    NamedBarrier,
    NamedWait,
)
from pycute_xe.verifying import prove

RNG = np.random.default_rng(3)
A, B = (RNG.integers(-4, 5, shape).astype(ml_dtypes.bfloat16) for shape in ((16, 66), (66, 32)))
WANTED = A.astype(np.int64) @ B.astype(np.int64)
COUNT = 2  # consumers, and as many producers


@cache
def right() -> Kernel:
    return cx.kernel.specialised_gemm(tiled_mma((16, 32, 16), (1, 2)))


def comes_out_right(kernel: Kernel, executor: Any) -> bool:
    try:
        return np.array_equal(cx.run(kernel, A, B, executor=executor), WANTED)
    except cx.MachineError:
        return False


def edited(change: Callable[[Any], Any]) -> Kernel:
    """The kernel with every statement changed."""

    def inside(s: Any) -> Any:
        new = change(s)
        if isinstance(new, (If, Loop)):
            return dataclasses.replace(new, body=tuple(map(inside, new.body)))
        return new

    return dataclasses.replace(right(), body=tuple(map(inside, right().body)))


def renumbered(change: Callable[[NamedBarrier], NamedBarrier]) -> Kernel:
    def other(s: Any) -> Any:
        named = isinstance(s, (NamedArrive, NamedWait))
        return dataclasses.replace(s, barrier=change(s.barrier)) if named else s

    return edited(other)


def test_barriers_whose_number_depends_on_the_subgroup_are_never_proved() -> None:
    """Each half of the producers and consumers waits at barriers of its own, which never fire."""
    own = renumbered(
        lambda b: dataclasses.replace(b, number=b.number + 6 * (Index("subgroup") % 2))
    )
    assert prove(own, {}).answer == "undecided"
    verdict = cx.verify(own)
    assert verdict.answer == "disproved"
    assert "never fires" in str(verdict.counterexample)
    assert not comes_out_right(own, "reference")


def test_what_only_some_residues_of_k_do_is_seen() -> None:
    """K is even, or not: whether a condition on it holds is not told by its number of tiles."""
    kernel = right()
    more = If(
        Index("K") % 2,
        Index(None, 1),
        (NamedArrive(NamedBarrier(Index(None, 20), COUNT, COUNT), "producer"),),
    )
    kernel = dataclasses.replace(kernel, body=(*kernel.body, more))
    proof = cx.verify(kernel).proofs[0]
    assert (proof.property, proof.answer) == ("barriers", "disproved")
    assert proof.counterexample is not None
    assert proof.counterexample.sizes["K"] == 2
    assert not comes_out_right(kernel, "reference")
    assert not comes_out_right(kernel, "fast")


@pytest.mark.long
def test_numbers_beyond_the_31_and_counts_that_disagree_are_disproved_and_stop_both_executors() -> (
    None
):
    zero, last = (
        renumbered(lambda b, more=more: dataclasses.replace(b, number=b.number + more))
        for more in (-1, 27)
    )

    def more(s: Any) -> Any:
        late = isinstance(s, NamedArrive) and s.role == "producer"
        counted = dataclasses.replace(s.barrier, producers=COUNT + 1) if late else None
        return dataclasses.replace(s, barrier=counted) if late else s

    for kernel, told in (
        (zero, "barrier 0 does not exist"),
        (last, "barrier 32 does not exist"),
        (edited(more), "counts 3 producers"),
    ):
        found = cx.verify(kernel).proofs[0]
        assert found.answer == "disproved"
        assert told in str(found.counterexample)
        assert not comes_out_right(kernel, "reference")
        assert not comes_out_right(kernel, "fast")


def test_more_producers_than_a_barrier_counts_stop_the_run() -> None:
    one = renumbered(lambda b: dataclasses.replace(b, producers=1))
    for executor in ("fast", "reference"):
        with pytest.raises(cx.MachineError, match=r"more (subgroups|threads) arrive"):
            cx.run(one, A, B, executor=executor)


@pytest.mark.long
def test_consumers_that_are_written_before_producers_are_not_called_wrong() -> None:
    kernel = right()
    loop = kernel.loop("k")
    turned = kernel.replace(loop, dataclasses.replace(loop, body=loop.body[::-1]))
    verdict = cx.verify(turned)
    assert verdict.answer == "undecided"
    assert "the other way round than they are written" in str(verdict)
    assert comes_out_right(turned, "reference")


def test_many_trips_of_a_given_size_are_not_followed_one_by_one() -> None:
    """Otherwise the question takes minutes."""
    proof = cx.verify(right(), {"K": 1_000_000}).proofs[0]
    assert (proof.answer, "too many to follow" in proof.reason) == ("undecided", True)


FULL, EMPTY = NamedBarrier(Index(None, 20), COUNT, COUNT), NamedBarrier(Index(None, 21), 2, 2)
TRIPS = cx.kernel.Tiles("K", 16)


def behind(*more: Any) -> Kernel:
    """A right kernel with more behind it."""
    return dataclasses.replace(right(), body=(*right().body, *more))


def told(kernel: Kernel) -> str:
    """What is wrong with its barriers where K is a tile, found without a proof of the rest."""
    found = disorder(kernel, {"K": 16})
    return found.words if found is not None else ""


def by_roles(consumers: tuple[Any, ...], producers: tuple[Any, ...]) -> tuple[If, If]:
    subgroup = Index("subgroup")
    return If(subgroup, Index(None, COUNT), consumers), If(Index(None, 1), subgroup, producers)


def test_a_subgroup_that_laps_another_one_of_its_kind_is_disproved() -> None:
    """A producer that goes on before the other one has come is counted for both."""
    consumers = [NamedArrive(FULL, "consumer"), NamedWait(FULL), NamedArrive(EMPTY, "producer")]
    again = consumers[:2]
    producers = [NamedArrive(FULL, "producer"), NamedArrive(EMPTY, "consumer")]
    last = (NamedWait(EMPTY), NamedArrive(FULL, "producer"))
    assert told(behind(*by_roles((*consumers, *again), (*producers, *last)))) == ""
    early = (consumers[0], consumers[2], consumers[1])
    laps = behind(*by_roles((*early, *again), (*producers[::-1], *last)))
    assert "may arrive at named barrier 20 again" in told(laps)


def test_a_producer_that_arrives_twice_is_disproved_and_stops_the_run() -> None:
    once = NamedArrive(FULL, "producer")
    waits = (NamedArrive(FULL, "consumer"), NamedWait(FULL))
    assert told(behind(*by_roles(waits, (once,)))) == ""
    kernel = behind(*by_roles(waits, (once, once)))
    assert "again before it has fired" in told(kernel)
    assert not comes_out_right(kernel, "reference")


def test_a_barrier_that_never_fires_is_disproved_and_stops_both_executors() -> None:
    alone = behind(If(Index("subgroup"), Index(None, 1), (NamedArrive(FULL, "producer"),)))
    assert "which never fires" in told(alone)
    assert not comes_out_right(alone, "reference")
    assert not comes_out_right(alone, "fast")


def test_what_only_a_ninth_tile_shows_is_seen() -> None:
    """Stages are given back in five trips: whoever fills the sixth again, three later, waits."""
    kernel = right()
    (again,) = [
        s for s in kernel.statements()
        if isinstance(s, NamedArrive) and s.role == "producer" and s.barrier.number.at({"k": 0}) > 3
    ]  # fmt: skip
    seldom = kernel.replace(again, If(Index("k"), Index(None, 5), (again,)))
    found = disorder(seldom, {})
    assert found is not None
    assert "waits for ever" in found.words
    assert 8 * 16 < found.sizes["K"] <= 9 * 16


@pytest.mark.parametrize(
    "more",
    [
        If(Index(None, 1), Index("M"), (NamedArrive(FULL, "producer"),)),
        Loop(
            "j",
            Index(),
            TRIPS,
            (
                If(
                    Index(),
                    Index("j"),
                    (If(Index("j") * 50, TRIPS, (NamedArrive(FULL, "producer"),)),),
                ),
            ),
        ),
    ],
    ids=["a second size", "far from the ends of a loop"],
)
def test_what_few_small_problems_do_not_show_is_undecided(more: Any) -> None:
    """A producer arrives at a barrier that never fires: where M > 1, or beyond 50 tiles of K."""
    kernel = behind(more)
    with pytest.raises(cx.UndecidableError, match="depends on"):
        disorder(kernel, {})
    sizes = {"M": 2, "N": 1, "K": 1} if isinstance(more, If) else {"M": 1, "N": 1, "K": 16 * 51}
    a, b = (np.zeros(shape) for shape in ((sizes["M"], sizes["K"]), (sizes["K"], 1)))
    with pytest.raises(cx.MachineError):
        cx.run(kernel, a, b, dtype="bf16", executor="reference")


@pytest.mark.long
def test_producers_that_leave_trips_out_are_waited_for_in_vain() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 32), ((1, 2, 1), (2, 1, 0)))
    special = cx.kernel.specialised_gemm(mma, stages=2)
    turns = special.loop("k")
    makes, uses = turns.body
    rarely = If(Index("k") // 16 % 4, Index(None, 3), (makes,))
    wrong = special.replace(turns, dataclasses.replace(turns, body=(rarely, uses)))
    verdict = cx.verify(wrong)
    assert verdict.counterexample is not None, str(verdict)
    assert verdict.counterexample.sizes["K"] == 48 * 32 + 1
    assert cx.replay(wrong, verdict.counterexample).shows


@pytest.mark.parametrize("index", [Index("g"), Index("g") + Index("M"), Index("g") // 2], ids=str)
@pytest.mark.parametrize("kind", [Loop, If])
def test_meetings_that_the_work_group_decides_have_no_shape(index: Index, kind: type) -> None:
    """How often subgroups meet, or whether they do, is another for each work-group."""
    meet = (BarrierArrive(), BarrierWait())
    other = Index("M") * 2
    enclosing = Loop("k", Index(), index, meet) if kind is Loop else If(index, other, meet)
    with pytest.raises(UndecidableError, match=r"when subgroups meet depends on .*g"):
        shape_of(small_kernel((enclosing,)), {})
    for_all = Loop("k", Index(), Index("M"), meet) if kind is Loop else If(Index("M"), other, meet)
    assert shape_of(small_kernel((for_all,)), {}).free in ("M", "")
