"""Prefetches: what is loaded was prefetched, and nothing is prefetched in vain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from family_gemms import Row, rows
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel import If, Index, Kernel, Loop, Prefetch, Tiles, walk
from pycute_xe.verifying import verify_prefetches

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 64, 32), ((2, 2, 1), (2, 1, 0)))


def answers(kernel: Kernel) -> dict[str, tuple[str, str]]:
    return {p.property: (p.answer, p.condition or p.reason) for p in verify_prefetches(kernel)}


@pytest.mark.parametrize("row", sampled(rows(), 3), ids=str)
def test_the_prefetches_of_the_field_reach_what_is_loaded(row: Row) -> None:
    """They fetch in vain only where K has fewer tiles than the prefetch is ahead, if at all."""
    try:
        kernel = row.kernel()
    except CuteError:
        return
    words = f"ceil_div(K, {row.tile[2]}) >= {row.stages}"
    wanted = ("needs", words) if row.stages > 1 else ("proved", "")
    found = answers(kernel)
    assert set(found.values()) == ({wanted} if row.stages else set())


@pytest.mark.parametrize("stages", [0, 1, 4])
def test_the_distance_decides_how_short_k_may_be(stages: int) -> None:
    found = answers(cx.kernel.gemm(MMA, stages=stages))
    wanted = ("needs", "ceil_div(K, 32) >= 4") if stages == 4 else ("proved", "")
    assert found == ({f"prefetch {x}": wanted for x in "AB"} if stages else {})


def test_wrong_prefetches_are_disproved() -> None:
    kernel = cx.kernel.gemm(MMA, stages=3)
    warm, main = kernel.loop("p"), kernel.loop("k")
    guard = next(s for s in main.body if isinstance(s, If))
    unguarded = kernel.replace(guard, guard.body)
    assert answers(unguarded)["prefetch A"] == (
        "disproved",
        "A[64*m, 32*k] is prefetched, never loaded".replace("32*k", "288")
        + ", where ceil_div(K, 32) is 9",
    )
    late = kernel.replace(warm, replace(warm, stop=Index(None, 2)))
    answer, reason = answers(late)["prefetch B"]
    assert answer == "disproved"
    assert reason.startswith("B[64, 64*n] is loaded, not prefetched, where ceil_div(K, 32) is 3")
    first = next(s for s in warm.body if isinstance(s, Prefetch) and s.operand == "A")
    only_b = kernel.replace(first, None)
    assert {k: v[0] for k, v in answers(only_b).items()} == {
        "prefetch A": "disproved",
        "prefetch B": "needs",
    }


def test_a_prefetch_wider_than_what_is_loaded_fetches_in_vain() -> None:
    kernel = cx.kernel.gemm(MMA, stages=1)
    wide = cx.make_block_2d_prefetch(
        cx.make_block_2d_copy_A(
            cx.workgroup_mma(
                cx.XE_DPAS_TT(8, "f32", "bf16"), (128, 64, 32), ((2, 2, 1), (2, 1, 0))
            ),
            ("ld", 1),
        )
    )
    for statement in [s for s in walk(kernel.body) if isinstance(s, Prefetch)]:
        if statement.operand == "A":
            kernel = kernel.replace(statement, replace(statement, copy=wide))
    answer, reason = answers(kernel)["prefetch A"]
    assert answer == "disproved"
    assert reason.startswith("A[64*m+64, 0] is prefetched, never loaded")


def test_what_it_does_not_follow_it_does_not_answer() -> None:
    kernel = cx.kernel.gemm(MMA)
    main = kernel.loop("k")
    nested = kernel.replace(main, Loop("twice", Index(), Index(None, 2), (main,)))
    assert {answer for answer, _ in answers(nested).values()} == {"undecided"}


def guarded(kernel: Kernel, index: Index, below: int) -> Kernel:
    """The prefetches of the main loop under one more condition."""
    loop = kernel.loop("k")
    guard = next(s for s in loop.body if isinstance(s, If))
    inside = replace(guard, body=(If(index, Index(None, below), guard.body),))
    return kernel.replace(
        loop, replace(loop, body=tuple(inside if s == guard else s for s in loop.body))
    )


def test_prefetches_that_stop_or_pause_after_many_trips_are_never_proved() -> None:
    """The first trips have all of theirs; trip 12 misses what trip 10 should have fetched."""
    kernel, k = cx.kernel.gemm(MMA, stages=2), Index("k")
    answer, reason = answers(guarded(kernel, k, 10))["prefetch A"]
    assert answer == "disproved"
    assert reason == "A[64*m, 384] is loaded, not prefetched, where ceil_div(K, 32) is 13"
    for turning in (
        guarded(kernel, k % 16, 15),
        shifted(kernel, lambda at: at.substitute({"k": k % 16})),
    ):
        assert answers(turning)["prefetch A"][0] == "undecided"


def shifted(kernel: Kernel, change: Callable[[Index], Index]) -> Kernel:
    """The prefetches of the main loop elsewhere."""
    loop = kernel.loop("k")
    guard = next(s for s in loop.body if isinstance(s, If))
    moved = tuple(
        replace(s, at=tuple(map(change, s.at))) for s in guard.body if isinstance(s, Prefetch)
    )
    return kernel.replace(guard, replace(guard, body=moved))


def test_prefetches_far_away_are_refused_by_name() -> None:
    kernel = cx.kernel.gemm(MMA, stages=2)
    far = shifted(kernel, lambda at: at + (1 << 40) if "m" in at.names else at)
    assert answers(far)["prefetch A"] == ("undecided", "its tiles are too far apart")
    assert answers(cx.kernel.gemm(MMA, stages=1000))["prefetch A"][0] == "undecided"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda warm, main: (replace(warm, stop=Tiles("M", 32)), main), "its loops run"),
        (lambda warm, main: (warm, replace(main, start=Index("m"))), "the loop over k starts at m"),
        (lambda warm, main: (warm, compared(main, Index("M"))), "a condition compares with M"),
    ],
)
def test_loops_that_other_sizes_decide_are_not_followed(
    change: Callable[[Loop, Loop], tuple[Loop, Loop]], told: str
) -> None:
    kernel = cx.kernel.gemm(MMA, stages=3)
    warm, main = kernel.loop("p"), kernel.loop("k")
    others = change(warm, main)
    answer, reason = answers(kernel.replace(warm, others[0]).replace(main, others[1]))["prefetch A"]
    assert answer == "undecided"
    assert told in reason


def compared(main: Loop, below: Index) -> Loop:
    """The loop whose prefetches are done as long as another size says."""
    return replace(
        main, body=tuple(replace(s, below=below) if isinstance(s, If) else s for s in main.body)
    )


def test_tiles_of_other_work_groups_are_not_followed() -> None:
    kernel = cx.kernel.gemm(MMA, stages=2)
    other = shifted(kernel, lambda at: at + 64 * Index("n") if "m" in at.names else at)
    answer, reason = answers(other)["prefetch A"]
    assert (answer, reason) == (
        "undecided",
        "its tiles begin at places that differ by more than numbers",
    )
