"""Shared memory in proofs: what it holds, and that barriers lie between its uses."""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy as np
import pytest
from broken_kernels import find
from sampling import sampled
from shared_kernels import MEET, SIZES, TILE, K, exchanging, parts, staged
from small_kernels import shared_array

import pycute_xe as cx
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Mma,
    SharedLoad,
    SharedStore,
    Tiles,
)
from pycute_xe.layout import Layout


def right(kernel: Kernel) -> None:
    for m, n, k in SIZES:
        rng = np.random.default_rng(k)
        a, b = (rng.integers(-4, 5, s).astype(ml_dtypes.bfloat16) for s in ((m, k), (k, n)))
        out = cx.run(kernel, A=a, B=b, executor="reference")
        assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


def disproved(kernel: Kernel, of: str, words: str) -> None:
    verdict = cx.verify(kernel)
    proof = next(p for p in verdict.proofs if p.property == of)
    assert proof.answer == "disproved", str(verdict)
    assert proof.counterexample is not None
    assert words in proof.counterexample.message
    assert verdict.counterexample is not None
    for found in (proof.counterexample, verdict.counterexample):
        assert cx.replay(kernel, found).shows


@pytest.mark.parametrize("kernel", sampled([exchanging(), staged(), staged(stages=3)], 1))
@pytest.mark.long
def test_tiles_that_go_through_shared_memory_are_proved(kernel: Kernel) -> None:
    verdict = cx.verify(kernel)
    assert verdict, str(verdict)
    assert "shared array" in str(verdict)
    right(kernel)


@pytest.mark.parametrize("number", range(3))
def test_a_barrier_too_few_is_a_race(number: int) -> None:
    kernel = (
        exchanging(before=()),
        exchanging(behind=()),
        staged(meet=()),
    )[number]
    disproved(kernel, "barriers", "no barrier lies between")


def test_half_a_barrier_is_too_little() -> None:
    base, load, store, take, multiply = parts()
    loop = base.loop("k")
    late = (BarrierArrive(), load, store, BarrierWait(), take, *multiply, *MEET)
    disproved(base.replace(loop, dataclasses.replace(loop, body=late)), "barriers", "SharedLoad")
    early = (load, store, BarrierArrive(), take, BarrierWait(), *multiply, *MEET)
    disproved(base.replace(loop, dataclasses.replace(loop, body=early)), "barriers", "SharedLoad")


def test_one_stage_is_too_few_for_a_barrier_a_trip() -> None:
    disproved(staged(stages=1), "barriers", "SharedStore")


@pytest.mark.long
def test_other_places_are_other_values() -> None:
    kernel = exchanging()
    take, store = find(kernel, SharedLoad), find(kernel, SharedStore)
    for one, places in (
        (take, Layout(((2, 2), (16, 16, 2)), ((0, 512), (32, 1, 16)))),
        (take, Layout(((2, 2), (16, 16, 2)), ((512, 0), (1, 32, 16)))),
        (store, Layout((4, (16, 8, 2)), (256, (1, 16, 128)))),
    ):
        disproved(kernel.replace(one, dataclasses.replace(one, places=places)), "D values", "D[")
    two = dataclasses.replace(store, places=Layout((4, (16, 8, 2)), (0, (1, 32, 16))))
    disproved(kernel.replace(store, two), "barriers", "SharedStore of subgroup")


@pytest.mark.long
def test_what_is_never_stored_and_what_lies_outside() -> None:
    kernel = exchanging()
    take, store = find(kernel, SharedLoad), find(kernel, SharedStore)
    disproved(kernel.replace(store, None), "registers", "never written")
    far = dataclasses.replace(take, at=Index(None, 1))
    disproved(kernel.replace(take, dataclasses.replace(far)), "registers", "never written")
    beyond = dataclasses.replace(take, at=Index(None, TILE + 1))
    disproved(kernel.replace(take, beyond), "bounds", "there are 2048")
    deep = staged(stages=3)
    short = dataclasses.replace(deep, shared=(shared_array("s", "bf16", 2 * TILE),))
    disproved(short, "bounds", "there are 2048")
    # Two trips stay inside: no other counterexample may be smaller than the third.
    take = find(staged(), SharedLoad)
    third = staged().replace(take, dataclasses.replace(take, at=K % 3 * TILE))
    disproved(third, "bounds", "elements 2048 to 3071")


def test_a_tile_of_an_earlier_trip_is_another_tile() -> None:
    kernel = staged()
    take = find(kernel, SharedLoad)
    stale = dataclasses.replace(take, at=(K + 1) % 2 * TILE)
    assert not cx.verify(kernel.replace(take, stale))
    assert cx.verify(kernel.replace(take, stale)).answer == "disproved"


@pytest.mark.long
def test_a_barrier_under_a_condition_is_left_undecided() -> None:
    often = If(K, Index("M"), MEET)
    verdict = cx.verify(exchanging(behind=(often,)))
    assert verdict.answer == "undecided", str(verdict)
    assert "conditions" in str(verdict)


@pytest.mark.long
def test_uses_before_and_behind_a_loop() -> None:
    base, load, store, take, multiply = parts()
    loop = base.loop("k")
    first = dataclasses.replace(load, at=(load.at[0], Index()))
    never = Loop("never", Index(), Tiles("M", 4) - 3, MEET)
    body = dataclasses.replace(loop, body=(take, *multiply))
    kernel = base.replace(loop, (first, store, *MEET, body))
    assert cx.verify(kernel).answer == "disproved"
    assert cx.verify(kernel, {"K": 32})
    unmet = base.replace(loop, (first, store, never, body))
    assert next(iter(cx.verify(unmet).proofs)).answer == "undecided"
    assert find(kernel, Fill) is not None
    assert find(kernel, Mma) is not None
