"""Programs of shared arrays and barriers whose faults come late: by joint periods, far trips, ends.

Whether a program goes wrong is said by `shared_programs.stepped`, which steps its events with
clocks of its own.
"""

from __future__ import annotations

import random
from itertools import product

import pytest
from sampling import sampled
from shared_programs import MEET, WIDE, judged, kernel_of, stepped

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.events import Event
from pycute_xe.holding.exploration import _between
from pycute_xe.holding.patience import allowed
from pycute_xe.holding.periods import line, period, shape_of, span, values
from pycute_xe.kernel import (
    Fence,
    If,
    Index,
    Kernel,
    Loop,
    NamedArrive,
    NamedBarrier,
    NamedWait,
    SharedLoad,
    SharedStore,
    Statement,
    Tiles,
)
from pycute_xe.layout import Layout
from pycute_xe.verifying.questions import Questions
from pycute_xe.verifying.regions import session

K, J, S, TRIPS = Index("k"), Index("j"), Index("subgroup"), Tiles("K", 4)
OWN, FIRST = Layout((2, WIDE), (WIDE, 1)), Layout((2, WIDE), (0, 1))
TILE = 2 * WIDE


def answer(kernel: Kernel) -> str:
    """What is said of its barriers: the trips of the smallest problem, if it is wrong."""
    try:
        with session(), allowed(1_000_000):
            found = Questions(kernel, {}).barriers()
    except UndecidableError:
        return "undecided"
    if found is None:
        return "proved"
    assert stepped(kernel, found.sizes["K"])
    return f"disproved from {-(-found.sizes['K'] // 4)}"


def over(*body: Statement, stop: Index = TRIPS, start: int = 0) -> Loop:
    return Loop("k", Index(None, start), stop, body)


def store(at: Index) -> SharedStore:
    return SharedStore("x", "s0", OWN, at * TILE)


def load(at: Index) -> SharedLoad:
    return SharedLoad("s0", "y", FIRST, at * TILE)


def both(*body: Statement) -> Kernel:
    return kernel_of(2, [64 * TILE], body)


def first_wrong(kernel: Kernel, most: int) -> int:
    """The fewest trips with which a program goes wrong, 0 where none up to so many do."""
    return next((t for t in range(1, most) if stepped(kernel, 4 * t)), 0)


@pytest.mark.parametrize(
    ("stored", "loaded"),
    [
        (K % 2, (K + 3) % 3),  # one array, two turns
        (K % 2 + 2 * (K // 2 % 2), K % 3),
        ((K + 1) % 6, K % 7),
        (K // 2 % 3, (K + 1) // 3 % 2 + 1),
        (K % 5, 6 * (K % 2) + 5 - 6 * (K % 2)),
        (K % 7, 7 + K % 6),
    ],
    ids=str,
)
@pytest.mark.long
def test_turns_of_different_length_meet_after_their_joint_period(
    stored: Index, loaded: Index
) -> None:
    """A tile is loaded without a barrier to the store of a trip in which the turns agree."""
    kernel = both(over(store(stored), load(loaded), Fence(), *MEET))
    wrong = first_wrong(kernel, 90)
    assert answer(kernel) == (f"disproved from {wrong}" if wrong else "proved")


def waiting(*body: Statement, when: tuple[Index, Index] | None = None) -> tuple[If, If]:
    """Subgroup 0 waits for subgroup 1, and it for subgroup 0, unless it is left out."""
    barrier = NamedBarrier(Index(None, 1), 2, 2)
    meet = (NamedArrive(barrier), NamedWait(barrier))
    other = meet if when is None else (If(*when, meet),)
    return If(S, Index(None, 1), (*meet, *body)), If(Index(None, 0), S, other)


@pytest.mark.parametrize(
    ("when", "trips"),
    [
        ((K // 16 % 4, Index(None, 3)), 49),  # a quotient in a remainder
        ((K // 3 % 2 + K % 5, Index(None, 5)), 5),
        ((-1 * (K % 7), Index()), 1),
        ((Index(None, -20), -1 * K), 21),  # a negative slope
        ((K + 2, TRIPS), 1),
    ],
    ids=str,
)
def test_a_subgroup_that_stays_away_in_a_far_trip_is_waited_for(
    when: tuple[Index, Index], trips: int
) -> None:
    kernel = both(over(*waiting(when=when)))
    assert first_wrong(kernel, 60) == trips
    assert answer(kernel) == f"disproved from {trips}"


def test_a_loop_that_runs_only_after_many_trips_of_another_one() -> None:
    inner = Loop("j", Index(), K // 10, (waiting()[0],))
    kernel = both(over(*waiting(), inner))
    assert first_wrong(kernel, 20) == 11
    assert answer(kernel) == "disproved from 11"


def test_loops_that_start_late_nest_and_take_their_bounds_from_turns() -> None:
    right = both(over(*waiting(), start=3))
    nested = both(Loop("j", Index(), TRIPS, (over(*waiting(), start=1),)))
    turning = both(over(Loop("j", Index(None, 1), 1 + K % 3, waiting())))
    for kernel in (right, nested, turning):
        assert not first_wrong(kernel, 12)
        assert answer(kernel) == "proved"
    mixed = both(
        over(Loop("j", Index(), Index(None, 3), waiting(when=((J + K) % 9, Index(None, 8)))))
    )
    assert answer(mixed) == f"disproved from {first_wrong(mixed, 20)}"


def test_what_goes_on_with_two_loops_is_left_undecided() -> None:
    """A condition in the middle of a loop, or a loop that grows with another one."""
    fine = waiting()
    for kernel in (
        both(over(If(2 * K, TRIPS, fine), *fine)),
        both(over(*fine, Loop("j", Index(), K, fine))),
    ):
        assert answer(kernel) == "undecided"


def test_conditions_apart_by_many_trips_meet_where_no_barrier_is() -> None:
    early, late = If(K, Index(None, 1), (store(Index()),)), If(Index(None, 20), K, (load(Index()),))
    kernel = both(over(early, late))
    assert answer(kernel) == "disproved from 22"
    assert first_wrong(kernel, 30) == 22
    once = both(over(early, Fence(), *MEET, late))
    assert answer(once) == "proved"


def test_what_a_loop_of_one_trip_leaves_open() -> None:
    """A fence at the end of a trip and the barrier of the next one: with one trip there is none."""
    closing = Loop("j", Index(), TRIPS, (*MEET, Fence()))
    kernel = both(store(Index()), closing, load(Index()))
    assert stepped(kernel, 4)
    assert not stepped(kernel, 8)
    assert answer(kernel) == "disproved from 1"


def test_a_load_in_the_first_trip_is_over_when_the_loop_is() -> None:
    """Unless it is the only trip: `TRIPS + 1` are two or more."""
    loop = over(*MEET, If(K, Index(None, 1), (load(Index()),)), stop=TRIPS + 1)
    assert answer(both(loop, store(Index()))) == "proved"
    short = over(*MEET, If(K, Index(None, 1), (load(Index()),)))
    assert answer(both(short, store(Index()))) == "disproved from 1"


@pytest.mark.parametrize("seed", range(30))
def test_an_index_repeats_and_runs_between_its_lines(seed: int) -> None:
    """Against its values, in two variables."""
    r = random.Random(seed)
    index = r.choice([K, J, K + J, 3 * K - J])
    for _ in range(r.randint(1, 3)):
        index = r.choice([
            index // r.randint(2, 5), index % r.randint(2, 6), index * r.choice([-2, 3]) + 1,
            index + r.choice([K, J]) // r.randint(1, 3), index - K % r.randint(2, 4),
        ])  # fmt: skip
    steps, grown = span(index, "k")
    lines = line(index)
    for k, j in product(range(-7, 40, 3), range(-3, 9, 2)):
        here = index.at({"k": k, "j": j})
        assert index.at({"k": k + steps, "j": j}) - here == grown
        rest = here - lines.of("k") * k - lines.of("j") * j
        assert lines.low <= rest <= lines.high
    found = period(index, "k")
    assert (found == 0) == (grown != 0)
    assert found == 0 or steps % found == 0
    if found and period(index, "j"):
        seen = {index.at({"k": k, "j": j}) for k, j in product(range(-90, 90), range(-90, 90))}
        assert seen <= set(values(index))


@pytest.mark.parametrize(
    ("index", "steps"), [(4 * K // 8, 2), (6 * K // 4 % 3, 2), (K // 16 % 4, 64), (12 * K % 8, 2)]
)
def test_an_index_has_grown_as_soon_as_it_can(index: Index, steps: int) -> None:
    assert span(index, "k")[0] == steps


def test_lines_that_fall_are_lowest_at_their_end() -> None:
    found = line(3 - 2 * K + J).within({"k": 5})
    assert (found.low, found.high) == (-7, 3)
    assert found.slopes == (("j", 1),)


@pytest.mark.parametrize("seed", sampled(range(5000), 8))
@pytest.mark.long
def test_programs_are_what_is_said_of_them(seed: int) -> None:
    outcome = judged(seed)
    assert not outcome.bad, outcome


@pytest.mark.parametrize(("at", "odd"), [(K, "k"), (TRIPS, "K"), (K % 2, ""), (S, "")], ids=str)
def test_places_that_grow_without_end_are_not_followed_to_all_sizes(at: Index, odd: str) -> None:
    found = shape_of(both(over(store(at), Fence(), *MEET, load(at), *MEET)), {}).odd
    assert (odd in found) if odd else not found


FENCE = Fence()


def arrivals(*cuts: int, run: int = 0) -> list[Event]:
    return [Event(FENCE, FENCE.touched, (n,), cuts=(((run,), n),)) for n in cuts]


OUTSIDE = Event(FENCE, FENCE.touched, ())


@pytest.mark.parametrize(
    ("theirs", "shift"),
    [
        (arrivals(*range(10)), 0),
        ([OUTSIDE, *arrivals(*range(10))], 1),
        (arrivals(0, 1, 2, 3, 4, 6, 7, 8, 9, 9), None),
        ([*arrivals(*[6] * 6, run=1), *arrivals(4, 5)], None),
        ([*[OUTSIDE] * 6, *arrivals(4, 5)], None),
        ([*arrivals(*[12] * 6), *arrivals(4, 5)], None),
    ],
    ids=["together", "one later", "seldom", "in another run", "outside", "beyond the cuts"],
)
def test_how_far_arrivals_are_apart(theirs: list[Event], shift: int | None) -> None:
    """Those of the fourth and fifth cut, of a class that arrives once in each of ten."""
    assert _between(arrivals(*range(10)), theirs, 0, range(10), range(4, 6)) == shift
