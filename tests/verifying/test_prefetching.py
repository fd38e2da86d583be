"""Prefetches: what is loaded was prefetched, and nothing is prefetched in vain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from compiled_kinds import attended
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


def test_a_loop_done_twice_needs_what_it_needs_once() -> None:
    kernel = cx.kernel.gemm(MMA)
    main = kernel.loop("k")
    nested = kernel.replace(main, Loop("twice", Index(), Index(None, 2), (main,)))
    assert answers(nested) == answers(kernel)


def grouped(stages: int = 2) -> Kernel:
    """Groups of 128 along K, each four tiles of 32, the last of which K may end within."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "f16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(
        mma, stages=stages, types={"B": "s4", "scale": "f16"}, transform_b="B * scale[k/128,n]"
    )


def moved(kernel: Kernel, operand: str, change: Callable[[Index], Index]) -> Kernel:
    """Every prefetch of an operand behind the first elsewhere."""
    mine = [s for s in walk(kernel.body) if isinstance(s, Prefetch) and s.operand == operand]
    for statement in mine[1:]:
        kernel = kernel.replace(statement, replace(statement, at=tuple(map(change, statement.at))))
    return kernel


@pytest.mark.parametrize(
    ("stages", "wanted"), [(3, ("proved", "")), (6, ("needs", "ceil_div(K, 32) >= 5"))]
)
@pytest.mark.long
def test_loops_inside_loops_over_groups(stages: int, wanted: tuple[str, str]) -> None:
    """The tiles of the last group behind the end of K are loaded; there is no memory there."""
    assert answers(grouped(stages)) == {"prefetch A": wanted, "prefetch B": wanted}


def test_wrong_prefetches_in_nested_loops_are_disproved() -> None:
    kernel = grouped()
    far = moved(kernel, "A", lambda at: at + 32 if "k" in at.names else at)
    answer, reason = answers(far)["prefetch A"]
    assert (answer, reason.endswith("is 3")) == ("disproved", True)
    assert reason.startswith("A[32*m, 64] is loaded, not prefetched")
    outer = kernel.loop("g")
    guard = next(s for s in walk(outer.body) if isinstance(s, If))
    short = replace(guard, below=guard.below - 2)
    assert answers(kernel.replace(guard, short))["prefetch B"][0] == "disproved"
    assert answers(kernel.replace(guard, guard.body))["prefetch B"][0] == "disproved"


def attention() -> Kernel:
    return attended([(40, 45)])[0]


def test_the_prefetches_of_attention() -> None:
    """Keys go by two sizes, those of a head and of the sequence; each at its own distance."""
    assert answers(attention()) == {
        "prefetch Q": ("proved", ""),
        "prefetch K": ("needs", "ceil_div(N, 32) >= 2"),
        "prefetch V": ("proved", ""),
    }


def test_wrong_prefetches_of_attention_are_disproved() -> None:
    kernel = attention()
    ahead = kernel.loop("nk")
    answer, reason = answers(kernel.replace(ahead, replace(ahead, stop=ahead.stop - 1)))[
        "prefetch K"
    ]
    assert answer == "disproved"
    assert reason == (
        "K[b, h, 64, 0] is loaded, not prefetched, where ceil_div(D, 16) is 1 and "
        "ceil_div(N, 32) is 3"
    )
    late = moved(kernel, "K", lambda at: at + 32 if "k" in at.names else at)
    answer, reason = answers(late)["prefetch K"]
    assert answer == "disproved"
    assert (
        "is loaded, not prefetched, where ceil_div(D, 16) is 1 and ceil_div(N, 32) is 3" in reason
    )


def test_what_it_does_not_follow_it_does_not_answer() -> None:
    kernel, main = attention(), attention().loop("k")
    assert (
        "are related is not followed"
        in answers(attended([(40, 45)], causal=True)[0])["prefetch K"][1]
    )
    other = kernel.replace(main, replace(main, stop=kernel.loop("dk").stop))
    assert answers(other)["prefetch K"] == (
        "undecided",
        "a condition compares a loop of D with ceil_div(N, 32)-2",
    )
    crossed = moved(kernel, "K", lambda at: at + 32 * Index("nk") if "k" in at.names else at)
    words = answers(crossed)["prefetch K"][1]
    assert words == "32*k+32*nk+64 goes by 2 loops at once"
    turned = moved(kernel, "K", lambda at: 16 * Index("k") if "nk" in at.names else at)
    assert answers(turned)["prefetch K"][1] == "loops of D and of N go over the same tiles"


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
        (
            lambda warm, main: (replace(warm, stop=Tiles("M", 32)), main),
            "loops of M and of K go over the same tiles",
        ),
        (lambda warm, main: (warm, replace(main, start=Index("m"))), "the loop over k starts at m"),
        (
            lambda warm, main: (warm, compared(main, Index("M"))),
            "a condition compares a loop of K with M",
        ),
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
