"""Schedules: each tile and slice once, waits that end, sums that are whole, whatever the sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from pycute_xe.errors import KernelError
from pycute_xe.kernel.schedules import (
    DataParallel,
    Grouped,
    Persistent,
    Piece,
    Plan,
    Raster,
    SplitK,
    StreamK,
    covers,
    moe_counts,
    plan_tables,
    tile_counts,
    timeline,
)
from tests.sampling import WHOLE
from tests.schedule_model import outcome, random_case


@pytest.mark.long
def test_random_splits_cover_every_slice_once_and_sum_alike_in_every_order() -> None:
    rng = Random(3)
    for _ in range(10_000 if WHOLE else 150):
        plan, resident = random_case(rng)
        assert covers(plan, resident), plan
        assert outcome(plan, rng, resident) == "", plan


def changed(plan: Plan, rng: Random) -> Plan:
    """Return the plan with one piece of a shared tile spoilt."""
    places = [(u, i) for u, x in enumerate(plan.units) for i, p in enumerate(x) if p.parts > 1]
    u, i = rng.choice(places)
    p = plan.units[u][i]
    new = rng.choice(
        [
            replace(p, start=p.start + 1),
            replace(p, stop=p.stop + 1),
            replace(p, needs=p.needs + 1),
            replace(p, needs=0),
            replace(p, gives=0),
            replace(p, gives=p.gives + p.stop),
            replace(p, m=p.m + 1),
        ]
    )
    pieces = (*plan.units[u][:i], new, *plan.units[u][i + 1 :])
    return replace(plan, units=(*plan.units[:u], pieces, *plan.units[u + 1 :]))


def test_a_plan_that_goes_wrong_in_some_order_is_never_said_to_be_right() -> None:
    rng, wrong = Random(5), 0
    for _ in range(60 if not WHOLE else 2000):
        plan = StreamK(rng.randrange(3, 9), "unordered", least=1).plan((2, 1, rng.randrange(9, 30)))
        plan = changed(plan, rng)
        if any(outcome(plan, rng) for _ in range(8)):
            wrong += 1
            assert not covers(plan), plan
    assert wrong > 20


def test_a_last_piece_that_waits_for_the_first_alone_loses_the_middle() -> None:
    plan = SplitK(3, 20, fixup="first").plan((1, 1, 12))
    found = covers(plan)
    assert (found.right, found.tile, found.k, found.units) == (False, (0, 0, 0), 8, (2, 1))
    assert "sums" in {outcome(plan, Random(seed)) for seed in range(20)}
    assert covers(SplitK(2, 20, fixup="first").plan((1, 1, 12)))


def test_pieces_that_disagree_who_stores_and_who_ends_are_named() -> None:
    """All wait as they should, yet each would store, or the epilogue have what is half summed."""
    first, last = Piece(0, 0, 0, 0, 4, 0, 4), Piece(0, 0, 0, 4, 8, 4, 4)
    both = Plan("both alone", ((1, 1, 8),), ((first,), (last,)))
    assert "their turns must be 0 to 1" in covers(both).message
    turned = ((replace(first, turn=1, parts=2),), (replace(last, needs=0, turn=0, parts=2),))
    assert "may load before k 4 to 7" in covers(Plan("turned", ((1, 1, 8),), turned)).message
    # The last piece signals nobody: who counts on it waits for ever.
    middle = (Piece(0, 0, 0, 0, 4, 0, 4, 0, 3), Piece(0, 0, 0, 4, 8, 8, 4, 1, 3))
    counted = (*middle, Piece(0, 0, 0, 8, 12, 4, 4, 2, 3))
    assert not covers(Plan("counted", ((1, 1, 12),), tuple((p,) for p in counted), "unordered"))


def test_pieces_of_one_tile_on_one_unit_come_in_their_order() -> None:
    first, last = Piece(0, 0, 0, 0, 4, 0, 0, 0, 2), Piece(0, 0, 0, 4, 8, 0, 0, 1, 2)
    assert covers(Plan("one unit", ((1, 1, 8),), ((first, last),)))
    assert not covers(Plan("one unit, last first", ((1, 1, 8),), ((last, first),)))


def test_a_slice_left_out_or_done_twice_is_named_with_its_units() -> None:
    plan = SplitK(2, 4).plan((2, 1, 10))
    (a,), *others = plan.units
    short = replace(plan, units=((replace(a, stop=4),), *others))
    assert (covers(short).tile, covers(short).k) == ((0, 0, 0), 4)
    double = replace(plan, units=((replace(a, stop=6),), *others))
    assert (covers(double).k, covers(double).units) == (5, (0, 2))
    outside = replace(plan, units=((replace(a, m=2),), *others))
    assert "does not have" in covers(outside).message


def test_waits_that_depend_on_who_is_resident() -> None:
    first, last = Piece(0, 0, 0, 0, 4, 0, 4, 0, 2), Piece(0, 0, 0, 4, 8, 4, 0, 1, 2)
    plan = Plan("backwards", ((1, 1, 8),), ((last,), (first,)))
    assert covers(plan)
    assert covers(plan, 2)
    stuck = covers(plan, 1)
    assert not stuck
    assert "deadlock with 1 work-groups resident: unit 0 waits" in stuck.message
    assert outcome(plan, Random(0), 1) == "deadlock"
    circle = Plan("circle", ((1, 1, 8),), ((replace(first, needs=4),), (last,)))
    assert covers(circle).units == (0, 1)


def test_rasters_number_every_tile_once_in_strips() -> None:
    for along in ("M", "N"):
        for log in range(4):
            for counts in ((1, 1, 1), (5, 3, 1), (4, 8, 1), (7, 7, 1)):
                ids = list(Raster(along, log).tiles(counts))
                assert sorted(t for t in ids if t) == [
                    (m, n) for m in range(counts[0]) for n in range(counts[1])
                ]
                across = counts[0] if along == "N" else counts[1]
                padded = -(-across // 2**log) * 2**log
                assert len(ids) == padded * counts[along == "N"]
    rows = list(Raster("N", 1).tiles((4, 2, 1)))
    assert rows == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)]


def test_whole_tiles_grouped_and_experts_are_covered() -> None:
    assert covers(DataParallel(Raster("M", 2)).plan((5, 7, 3)))
    assert covers(Persistent(8).plan((5, 7, 3), (1, 1, 9)))
    experts = moe_counts([70, 0, 1, 300], 100, 64, (32, 64, 32))
    plan = Grouped(6, Raster("M", 1)).plan(*experts)
    assert covers(plan)
    assert len(plan.units) == 6
    assert {p.group for unit in plan.units for p in unit} == {0, 2, 3}


def test_the_grid_of_tiles_or_cores_does_not_spread_few_tiles() -> None:
    counts = tile_counts(256, 512, 4096, (256, 256, 32))
    xe, all_cores = (timeline(StreamK(20, rules=r).plan(counts)) for r in ("xe", "all"))
    assert (len(xe.plan.units), xe.length) == (2, 128)
    assert (len(all_cores.plan.units), all_cores.length) == (20, 15)
    one = tile_counts(256, 256, 4096, (256, 256, 32))
    assert timeline(SplitK(8, 20, rules="xe").plan(one)).length == 128
    assert timeline(SplitK(8, 20).plan(one)).length == 16


def test_stretches_done_backwards_wait_less() -> None:
    plans = [StreamK(20, backwards=b).plan((3, 7, 100)) for b in (True, False)]
    assert all(covers(p, 20) for p in plans)
    back, forth = map(timeline, plans)
    assert back.waited < forth.waited


def tabled(*pieces: Piece) -> Any:
    return plan_tables(Plan("given", ((1, 1, 4),), (pieces,)))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: StreamK(0), "0 is not a count of 1 to"),
        (lambda: SplitK(0, 4), "0 is not 1 or more"),
        (lambda: SplitK(2, 4, "sorted"), "fixup must be"),
        (lambda: StreamK(4).plan((1, 1, 8), (2, 1, 8)), "same counts of tiles"),
        (lambda: DataParallel().plan(), "no problem is given"),
        (lambda: Raster("K"), 'along must be "M" or "N"'),
        (lambda: DataParallel().plan((1, 1)), "not counts of tiles"),
        (lambda: DataParallel().plan((1, 0, 1)), "group 0 has"),
        (lambda: moe_counts([-1], 1, 1, (1, 1, 1)), "0 rows or more"),
        (lambda: tile_counts(0, 1, 1, (1, 1, 1)), "integers of 1 or more"),
        (lambda: tile_counts(1.5, 1, 1, (1, 1, 1)), "integers of 1 or more"),
        (lambda: StreamK((1 << 20) + 1), "not a count of 1 to"),
        (lambda: Raster("M", 9), "log_swizzle 0 to 8"),
        (lambda: moe_counts([1], 0, 1, (1, 1, 1)), "N and K are 1 or more"),
        (lambda: moe_counts([1], 1, 1, (1, 0, 1)), "N and K are 1 or more"),
        (lambda: moe_counts([1.5], 1, 1, (1, 1, 1)), "must be integers"),
        (lambda: Piece(0, 0, 0, 0, 4, -4), "only grow"),
        (lambda: Piece(0, 0, 0, 0, 4, 0, -4), "only grow"),
        (lambda: Piece(0, 0, 0, 0, 4, turn=2, parts=2), "turn 2 of 2 parts"),
        (lambda: tabled(Piece(0, 0, 3, 0, 4)), "is of group 3, the plan has 1"),
        (lambda: tabled(Piece(0, 0, 0, 0, 1 << 31)), "beyond 32 bits"),
        (lambda: tabled(Piece(-1, 0, 0, 0, 4)), "below 0"),
        (lambda: plan_tables(SplitK(3, 4, "atomic").plan((1, 1, 9))), "by atomics"),
        (lambda: timeline(StreamK(4).plan((1, 1, 8)), 0), "not 1 or more"),
    ],
)
def test_what_is_not_a_schedule_is_refused(make: Callable[[], Any], told: str) -> None:
    with pytest.raises(KernelError, match=told):
        make()


WHOLE_TILE = Piece(0, 0, 0, 0, 4)


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        ([Piece(0, 0, 0, 0, 4, 0, 4, 0, 2), Piece(0, 0, 0, 4, 4, 4, 0, 1, 2)], "does not have"),
        ([WHOLE_TILE, Piece(0, 0, -1, 0, 4)], "does not have"),
        ([WHOLE_TILE, Piece(-1, 0, 0, 0, 4)], "does not have"),
        ([WHOLE_TILE, Piece(0, -1, 0, 0, 4)], "does not have"),
        (
            [Piece(0, 0, 0, 0, 2, 0, 2, 0, 2), Piece(0, 0, 0, 2, 4, 2, 0, 1, 3)],
            "piece 1 of 3, and the tile has 2",
        ),
    ],
    ids=["nothing", "group -1", "row -1", "column -1", "parts"],
)
def test_pieces_that_a_problem_does_not_have_are_found(pieces: list[Piece], told: str) -> None:
    found = covers(Plan("given", ((1, 1, 4),), tuple((p,) for p in pieces)))
    assert not found
    assert told in found.message


def test_places_and_waits_in_time() -> None:
    """Unit 2 takes the place of unit 1, which is done first; unit 4 waits 2 steps for unit 3."""
    long, short, other = Piece(0, 0, 0, 0, 4), Piece(1, 0, 0, 0, 2), Piece(2, 0, 0, 0, 4)
    done = timeline(Plan("given", ((3, 1, 4),), ((long,), (short,), (other,))), 2)
    found = [(s.unit, s.start, s.end, s.place) for s in done.slots]
    assert sorted(found) == [(0, 0, 4, 0), (1, 0, 2, 1), (2, 2, 6, 1)]
    first, last = Piece(0, 0, 0, 0, 3, 0, 3, 0, 2), Piece(0, 0, 0, 3, 4, 3, 0, 1, 2)
    waits = timeline(Plan("given", ((1, 1, 4),), ((first,), (last,))))
    assert (waits.length, waits.waited, waits.busy) == (3, 2, 4 / 6)


def test_the_last_piece_gives_nothing_and_its_counter_ends_no_wait() -> None:
    first, last = Piece(0, 0, 0, 0, 2, 2, 2, 0, 2), Piece(0, 0, 0, 2, 4, 0, 2, 1, 2)
    assert (first.adds, last.adds, WHOLE_TILE.adds) == (2, 0, 0)
    plan = Plan("given", ((1, 1, 4),), ((first,), (last,)))
    assert [unit for unit, _ in timeline(plan).stuck] == [0]
    thirds = SplitK(3, 4).plan((1, 1, 9)).units
    assert [unit[0].role for unit in thirds] == ["first", "middle", "last"]
    assert WHOLE_TILE.role == "whole"


def ranges(plan: Plan) -> list[tuple[int, int, int, int]]:
    """Unit, tile along M and range of K of every piece."""
    return [(u, p.m, p.start, p.stop) for u, unit in enumerate(plan.units) for p in unit]


def test_where_schedules_cut() -> None:
    """Every cut was counted by hand from the rules in the docstrings."""
    # The cut at 12 leaves 4 tiles of K on both sides in tile 1, which is just enough.
    cut = StreamK(2, least=4, backwards=False).plan((3, 1, 8))
    assert ranges(cut) == [(0, 0, 0, 8), (0, 1, 0, 4), (1, 1, 4, 8), (1, 2, 0, 8)]
    assert StreamK(1).least == 8
    assert [p[2:] for p in ranges(SplitK(9, 20).plan((1, 1, 4)))] == [
        (0, 1), (1, 2), (2, 3), (3, 4),
    ]  # fmt: skip
    assert SplitK(8, 3, rules="xe").plan((1, 1, 16)).pieces == 3
    assert SplitK(8, 20, rules="xe").plan((1, 1, 4)).pieces == 4
    # 9 tiles on 4 units: 5 are streamed, 80 tiles of K to each unit, and 4 are dealt out whole.
    wave = ranges(StreamK(4).plan((9, 1, 64)))
    assert [sum(m == tile for _, m, *_ in wave) for tile in range(9)] == [1, 2, 2, 2, 1, 1, 1, 1, 1]
    # One unit streams 10 tiles of K; the whole tiles begin with the next unit.
    few = ranges(StreamK(4).plan((9, 1, 2)))
    assert [(u, m) for u, m, *_ in few if m >= 5] == [(0, 8), (1, 5), (2, 6), (3, 7)]


@pytest.mark.parametrize(
    ("counts", "pieces"),
    [((5, 1, 9), [1, 1, 1, 2]), ((5, 1, 8), [2, 1, 1, 1]), ((6, 1, 64), [2, 2, 1, 1])],
)
def test_cutlass_streams_only_where_that_pays(counts: Any, pieces: list[int]) -> None:
    """Streamed with more than 8 tiles of K and a last wave of less than half the units."""
    plan = StreamK(4, mode="heuristic").plan(counts)
    assert [len(unit) for unit in plan.units] == pieces


def test_tiles_are_dealt_to_as_many_units_as_there_are_tiles() -> None:
    assert len(Persistent(8).plan((1, 3, 1)).units) == 3
    assert len(Persistent(1 << 20).plan((1, 3, 1)).units) == 3
    # CUTLASS numbers the tiles of a group along M.
    tiles = [(p.m, p.n) for p in Grouped(1).plan((2, 2, 1)).units[0]]
    assert tiles == [(0, 0), (1, 0), (0, 1), (1, 1)]
    # A tile that is not cut is not added to, so that a table tells it.
    assert plan_tables(SplitK(1, 4, "atomic").plan((1, 1, 9)))["work"].tolist() == [
        [[0, 0, 0, 0, 9, 0, 0, 1, 1]]
    ]
