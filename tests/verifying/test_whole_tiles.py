"""What a planned kernel does with a tile is proved for all sizes; what is wrong in it is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import (
    Fill,
    Fragment,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Mma,
    Store,
    scheduled,
    walk,
    whole_tiles,
)
from pycute_xe.kernel.schedules import DataParallel, plan_tables, tile_counts

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((1, 2, 1), (2, 1, 0)))
GIVEN: tuple[dict[str, Any], ...] = (
    {},
    {"a": "col", "epilogue": "relu(alpha*acc + C)", "d_type": "bf16"},
    {"groups": "batch", "transform_b": "B * scale[l,k/32,n]", "types": {"B": "s4"}},
    {"fixup": False, "stages": 0},
)


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.long
def test_a_tile_is_proved_for_all_sizes(given: dict[str, Any]) -> None:
    alone = whole_tiles(scheduled(MMA, **given))
    assert cx.verify(alone).answer == "proved"
    assert not {"work", "count", "W", "locks"} & {o.name for o in alone.operands}


def test_it_computes_what_the_plan_of_whole_tiles_does() -> None:
    kernel, rng = scheduled(MMA, epilogue="acc + bias[n]"), np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, s).astype(float) for s in ((35, 50), (50, 70)))
    given = {"A": a, "B": b, "bias": np.arange(70.0)}
    kinds = {"A": "bf16", "B": "bf16", "bias": "f32"}
    tables = plan_tables(DataParallel().plan(tile_counts(35, 70, 50, MMA.tile_mnk)))
    alone = cx.run(whole_tiles(kernel), **given, dtype=kinds)
    assert np.array_equal(alone, cx.run(kernel, **given, **tables, dtype=kinds))
    assert np.array_equal(alone, a @ b + given["bias"])


def changed(kernel: Kernel, kind: type, move: Any) -> Kernel:
    statement = next(s for s in kernel.statements() if isinstance(s, kind))
    return kernel.replace(statement, move(statement))


@pytest.mark.parametrize(
    ("kind", "move"),
    [
        (Load, lambda s: dataclasses.replace(s, at=(s.at[0], s.at[1] + 16))),
        (Load, lambda s: dataclasses.replace(s, at=(s.at[0] + 16, s.at[1]))),
    ],
)
def test_a_slip_inside_a_tile_is_disproved(kind: type, move: Any) -> None:
    wrong = changed(scheduled(MMA, fixup=False), kind, move)
    verdict = cx.verify(whole_tiles(wrong))
    assert verdict.answer == "disproved"


def test_a_store_elsewhere_is_disproved() -> None:
    kernel = scheduled(MMA, fixup=False)
    store = next(s for s in kernel.statements() if isinstance(s, Store) and s.operand == "D")
    wrong = kernel.replace(store, dataclasses.replace(store, at=(store.at[0], store.at[1] + 32)))
    assert cx.verify(whole_tiles(wrong)).answer == "disproved"


def test_a_condition_that_the_plan_rules_out_is_gone() -> None:
    ruled = {str(s) for s in scheduled(MMA).statements() if isinstance(s, If)}
    assert any("work[u, i, 8]" in text for text in ruled)
    alone = whole_tiles(scheduled(MMA))
    assert not {f.name for f in alone.fragments} & {"tWrW", "tWsW", "tWaW"}
    assert all("work" not in str(s) for s in alone.statements() if isinstance(s, If))


def test_kernels_that_follow_no_plan_are_refused() -> None:
    kernel = scheduled(MMA)
    (turns,) = kernel.body
    assert isinstance(turns, Loop)
    fill = turns.body[0]
    once_more = dataclasses.replace(kernel, body=(fill, turns))
    later = dataclasses.replace(kernel, body=(dataclasses.replace(turns, start=Index(None, 1)),))
    other = dataclasses.replace(kernel, grid=(("u", Index(None, 4)),))
    for wrong in (cx.kernel.gemm(MMA), once_more, later, other):
        with pytest.raises(KernelError, match="does not look its work up"):
            whole_tiles(wrong)
    with pytest.raises(KernelError, match='groups="batch"'):
        whole_tiles(scheduled(MMA, groups="stacked", fixup=False))


@pytest.mark.parametrize(
    "entry",
    [
        Index.element("work", Index("u"), Index("i") + 1, 3),
        Index.element("work", Index("u") + 1, Index("i"), 3),
        Index.element("work", Index("u"), Index("i"), Index("i")),
    ],
)
def test_another_piece_than_its_own_is_refused(entry: Index) -> None:
    kernel = scheduled(MMA, fixup=False)
    loop = kernel.loop("k")
    wrong = kernel.replace(loop, dataclasses.replace(loop, start=entry))
    with pytest.raises(KernelError, match="not its own piece"):
        whole_tiles(wrong)


# ------------------------------------------------------------------ `verify` of the kernel itself


@pytest.mark.parametrize("given", [{}, {"groups": "batch"}], ids=str)
@pytest.mark.long
def test_kernels_of_whole_tiles_are_proved_given_a_plan(given: dict[str, Any]) -> None:
    verdict = cx.verify(scheduled(MMA, fixup=False, stages=0, **given))
    assert verdict, str(verdict)
    assert any("covers(plan)" in words for words in verdict.assumptions)
    assert cx.verify(scheduled(MMA, fixup=False, **given), {"K": 48, "U": 3})


def test_of_kernels_that_share_tiles_it_is_said_what_holds_and_what_to_ask() -> None:
    verdict = cx.verify(scheduled(MMA, epilogue="relu(acc)"))
    assert {p.property: p.answer for p in verdict.proofs} == {
        "barriers": "proved",
        "registers": "proved",
        "bounds": "proved",
        "D coverage": "undecided",
        "D values": "undecided",
    }
    for proof in verdict.proofs[3:]:
        assert "ask verify(whole_tiles(kernel)), and covers(plan)" in proof.reason


def test_stacked_experts_are_left_to_matrices_of_their_own() -> None:
    verdict = cx.verify(scheduled(MMA, groups="stacked", fixup=False))
    assert verdict.answer == "undecided"
    assert all('groups="batch"' in p.reason for p in verdict.proofs if p.answer == "undecided")


def with_body(kernel: Kernel, move: Any) -> Kernel:
    (turns,) = kernel.body
    assert isinstance(turns, Loop)
    return dataclasses.replace(kernel, body=move(turns))


def filled_once(turns: Loop) -> tuple[Any, ...]:
    """The accumulator is filled before the first piece alone."""
    fill = next(s for s in turns.body if isinstance(s, Fill))
    rest = tuple(s for s in turns.body if s is not fill)
    return fill, dataclasses.replace(turns, body=rest)


def of_the_next(turns: Loop) -> tuple[Any, ...]:
    """What is stored goes to the tile of the next piece."""
    store = next(s for s in walk(turns.body) if isinstance(s, Store))
    at = tuple(i.substitute({"i": Index("i", 1)}) for i in store.at)
    body = tuple(dataclasses.replace(store, at=at) if s is store else s for s in turns.body)
    return (dataclasses.replace(turns, body=body),)


def not_the_first(turns: Loop) -> tuple[Any, ...]:
    return (dataclasses.replace(turns, start=Index(None, 1)),)


WRONG = {"filled once": filled_once, "of the next": of_the_next, "from the second": not_the_first}


@pytest.mark.parametrize("name", WRONG)
def test_pieces_that_are_not_apart_are_not_proved(name: str) -> None:
    wrong = with_body(scheduled(MMA, fixup=False), WRONG[name])
    verdict = cx.verify(wrong)
    assert verdict.answer != "proved", str(verdict)
    with pytest.raises(KernelError):
        whole_tiles(wrong)


def test_a_slip_inside_a_tile_is_not_proved_given_a_plan() -> None:
    kernel = scheduled(MMA, fixup=False)
    for move in (
        lambda s: dataclasses.replace(s, at=(s.at[0], s.at[1] + 16)),
        lambda s: dataclasses.replace(s, at=(s.at[0] + 16, s.at[1])),
    ):
        verdict = cx.verify(changed(kernel, Load, move))
        assert verdict.answer == "undecided"
        assert "with a whole tile is disproved (ask verify(whole_tiles(" in str(verdict)


def test_two_tilings_are_refused() -> None:
    kernel = scheduled(MMA, fixup=False)
    product = next(s for s in kernel.statements() if isinstance(s, Mma))
    twice = cx.workgroup_mma(MMA.atom.op, (16, 32, 32), ((1, 2, 1), (2, 1, 0)))
    other = dataclasses.replace(product, mma=twice, a="tAll", b="tBll")
    more = [
        Fragment("tAll", "bf16", cx.size(twice.fragment("A")[1])),
        Fragment("tBll", "bf16", cx.size(twice.fragment("B")[1])),
    ]
    kernel = dataclasses.replace(kernel, fragments=(*kernel.fragments, *more))
    both = kernel.replace(product, (product, Fill("tAll"), Fill("tBll"), other))
    with pytest.raises(KernelError, match="several tilings"):
        whole_tiles(both)
