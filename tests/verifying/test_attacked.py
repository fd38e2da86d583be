"""Attacks on proofs by names, periods, barriers and counters: none may be answered wrongly."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest
from attacked_kernels import (
    FENCED,
    GRID,
    TRIPS,
    Attack,
    answered,
    copied,
    filled_with,
    names,
    of_two,
    problems,
    put,
    take,
)
from sampling import sampled
from small_kernels import by_subgroup
from unsound_kernels import A, M, N, X, kernel, load, store

from pycute_xe.kernel import (
    AtomicStore,
    Await,
    Claim,
    Element,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Map,
    NamedArrive,
    NamedBarrier,
    NamedWait,
    Operand,
    Signal,
    Slot,
    Specification,
    total,
)
from pycute_xe.kernel.spec.expression import Const, Where

J, K, S = map(Index, ("j", "k", "subgroup"))
Z = Slot("z")
BATCHES = (Operand("A", "f32", ("K", "M", "N")),)
PLACE = (M * 8, N * 16)


def number(value: int) -> Index:
    return Index(None, value)


# ---------------------------------------------------------------- names


def two_axes(axis: str, loop: str, size: str, right: bool) -> Kernel:
    """Work-groups along an axis store what depends on it, or on the loop alone."""
    by = Index(loop) if right else Index(axis)
    other = Where(by, number(1), X, X + 1)
    trip = (Map("y", other), store("D", "y", (Index("m") * 8, Index("n") * 16)))
    grid = (*GRID, (axis, number(2)))
    extra = (Operand("T", "f32", (size,)),)
    body = (load("A", "x"), Loop(loop, number(0), number(2), trip))
    return kernel(A + 1, *body, more=extra, grid=grid)


def running(loop: str, size: str, claimed: str, right: bool) -> Kernel:
    """A running sum over a loop; the claim has a variable of any name."""
    body = (Fill("z"), Loop(loop, number(0), Index(size), (
        load("A", "x", (Index(loop), *PLACE)), Map("z", Z + X))), store("D", "z"))  # fmt: skip
    start = 0 if right else 1
    value = total(claimed, Index(size, -start), Element("A", (Index(claimed, start), M, N)))
    return kernel(value, *body, more=(Operand("A", "f32", (size, "M", "N")),))


AXES = (
    ("r", "q", "K"),
    ("q_w", "q", "K"),
    ("q", "q_w", "K"),
    ("q_w", "q", "q_w_w"),
    ("j_0", "p_0", "p_1"),
    ("p_0", "j_0", "k_0"),
    ("u_0", "u_1", "S_M"),
    ("S_M", "S_N", "S_K"),
    ("v_m", "v_n", "b0_0"),
    ("n_0", "v_3", "n_1"),
    ("s", "e", "T_"),
    ("lane", "value", "exists"),
)
SUMS = (
    ("k", "K", "k"),
    ("k", "K", "m_0"),
    ("j_0", "p_0", "k_0"),
    ("k_0", "p_0", "j_0"),
    ("p_0", "k", "p_1"),
    ("q_2", "r_3", "f_4"),
    ("c0", "e0", "a_1"),
    ("k_claimed", "K", "k"),
    ("t1_k", "w_k", "u_0"),
    ("floor", "mod", "and"),
    ("ﬁ", "\u212a", "x\u0301"),
)
NAMES = [
    *(
        Attack(f"axes {a}, {b}, {c}: {right}", lambda a=a, b=b, c=c, r=right: two_axes(a, b, c, r),
               right, ({"M": 1, "N": 1, c: 1}, {"M": 9, "N": 17, c: 2}))
        for (a, b, c), right in itertools.product(AXES, (True, False))
    ),
    *(
        Attack(f"sums {a}, {b}, {c}: {right}", lambda a=a, b=b, c=c, r=right: running(a, b, c, r),
               right, ({"M": 1, "N": 1, b: 2}, {"M": 9, "N": 17, b: 3}), decided=True)
        for (a, b, c), right in itertools.product(SUMS, (True, False))
    ),
]  # fmt: skip


# ---------------------------------------------------------------- periods


def ring(store_at: Index, load_at: Index, stages: int, outer: int = 0) -> Kernel:
    """All stages are stored; then, in each trip, a store, a barrier, and a load."""
    filled = (*(put(i) for i in range(stages)), *FENCED)
    trip: Any = (put(store_at), *FENCED, take(load_at))
    if outer:
        trip = (Loop("j", number(0), number(outer), trip),)
    return of_two(*filled, Loop("k", number(0), Index("K"), trip), more=(TRIPS,), stages=stages)


def races(store_at: Index, load_at: Index, outer: int = 0) -> bool:
    """Step all trips of a joint period and more: is a stage stored while the last one is loaded?"""
    trips = [{"k": k, "j": j} for k in range(500) for j in range(max(outer, 1))]
    found = itertools.pairwise(trips)
    return any(load_at.at(now) == store_at.at(then) for now, then in found)


PERIODS = {
    **{f"{p} and {q}": (K % p, K % q, 0) for p, q in itertools.product(range(1, 8), repeat=2)},
    "offsets 1": ((K + 3) % 4, (K + 5) % 6, 0),
    "offsets 2": ((K + 1) % 4, (K + 5) % 6, 0),
    "offsets 3": ((K + 2) % 3, K % 2 + 1, 0),
    "quotients": ((K // 2) % 3, (K // 3) % 2, 0),
    "quotients alike": ((K // 2) % 2, (K // 2 + 1) % 2, 0),
    "quotients late": (K // 16 % 4 + 1, Index(), 0),
    "quotients late, back": (K // 16 % 4, (K // 16 + 1) % 4, 0),
    "quotient of a quotient": (((K // 3) % 4) // 2, ((K // 3) % 4) // 2, 0),
    "multiples": ((K * 3) % 7, (K * 5) % 7, 0),
    "products and sums": ((K * 3 + K // 2) % 5, (K * 3 + K // 2) % 5, 0),
    "never alike": ((K * 2) % 6, (K * 2 + 1) % 6, 0),
    "nested": ((K * 3 + J) % 4, (K * 3 + J) % 4, 3),
    "nested apart": ((K * 3 + J) % 2, (K * 3 + J) % 3, 3),
    "nested, forgotten": ((K * 3 + J) % 4, (K + J) % 4, 3),
    "nested, inner alone": (J % 2, J % 2, 3),
    "nested, inner alone, even": (J % 2, J % 2, 2),
    "nested quotient": ((K * 3 + J) // 2 % 3, ((K * 3 + J) // 2 + 2) % 3, 3),
}


def ringed(name: str) -> Attack:
    at, back, outer = PERIODS[name]
    trips = [{"k": k, "j": j} for k in range(500) for j in range(max(outer, 1))]
    stages = 1 + max(max(at.at(x), back.at(x)) for x in trips)
    made = ring(at, back, stages, outer)
    right = not races(at, back, outer)
    return Attack(f"stages {name}", lambda: made, right, problems(1, 2, 5, 9, 86), decided=right)


def meeting(first: Any, second: Any) -> Kernel:
    """What subgroup 0 does, and what subgroup 1 does, in each trip; D is A."""
    trip = (by_subgroup(0, *first), by_subgroup(1, *second))
    return of_two(Loop("k", number(0), Index("K"), trip), more=(TRIPS,))


BOTH = NamedBarrier(number(1), 2, 2)
MEET = (NamedArrive(BOTH), NamedWait(BOTH))


def numbered(at: Index) -> tuple[Any, ...]:
    barrier = NamedBarrier(at, 2, 2)
    return NamedArrive(barrier), NamedWait(barrier)


def below(at: Index, bound: Index | int) -> tuple[Any, ...]:
    return (If(at, bound if isinstance(bound, Index) else number(bound), MEET),)


def inner(trips: Index) -> tuple[Any, ...]:
    return (Loop("j", number(0), trips, MEET),)


def inner_of(name: str, trips: Index) -> tuple[Any, ...]:
    return (Loop(name, number(0), trips, MEET),)


BARRIERS: dict[str, tuple[Any, Any, bool]] = {
    "always": (MEET, MEET, True),
    "k//16 % 4 == 3": (MEET, below(K // 16 % 4, 3), False),
    "k//16 % 4 == 3, both": (below(K // 16 % 4, 3), below(K // 16 % 4, 3), True),
    "k//50": (MEET, below(K // 50, 1), False),
    "k//7//5": (MEET, below(K // 7 // 5 % 2, 1), False),
    "k//7 + 1 over 3": (MEET, below((K // 7 + 1) // 3 % 2, 1), False),
    "k % 7 of k % 5": (MEET, below(K % 7, K % 5 + 3), False),
    "k % 6 of k % 3": (MEET, below(K % 3, K % 6 + 1), True),
    "loops to k//10": (inner(K // 10), inner_of("i", K // 10), True),
    "loops to k//10 and (k + 1)//10": (inner(K // 10), inner_of("i", (K + 1) // 10), False),
    "loops to k % 3 and k % 5": (inner(K % 3), inner_of("i", K % 5), False),
    "loops to k//40": (inner(K // 40), (), False),
    "a condition within a loop": (
        inner(number(3)),
        (Loop("i", number(0), number(3), below((K * 3 + Index("i")) // 31, 1)),),
        False,
    ),
    "numbers k % 3 + 1": (numbered(K % 3 + 1), numbered(K % 3 + 1), True),
    "numbers k % 3 + 1 and k % 2 + 1": (numbered(K % 3 + 1), numbered(K % 2 + 1), False),
    "numbers k//16 % 4": (numbered(K // 16 % 4 + 1), numbered(K // 17 % 4 + 1), False),
    "numbers k//2 % 3": (numbered(K // 2 % 3 + 1), numbered((K // 2 + 3) % 3 + 1), True),
    "the number 32": (numbered(K // 31 + 1), numbered(K // 31 + 1), False),
}
ENDS = problems(1, 2, 3, 11, 32, 50, 70, 81)


def late_numbers() -> tuple[dict[str, int], ...]:
    return ({"M": 1, "N": 1, "K": 31 * 31 + 1},)


def met_in_some_trips(every: int, stages: int) -> Kernel:
    """Store, barrier and load in every second or third trip only."""
    trip = (put(K // every % stages), *FENCED, take(K // every % stages))
    return of_two(
        Loop("k", number(0), Index("K"), (If(K % every, number(1), trip),)),
        more=(TRIPS,),
        stages=stages,
    )


PERIODIC = [
    *map(ringed, PERIODS),
    *(
        Attack(f"a barrier in every trip of {every}, {stages} stages",
               lambda e=every, s=stages: met_in_some_trips(e, s), stages > 1, problems(1, 2, 5, 9))
        for every, stages in itertools.product((2, 3, 5), (1, 2, 3))
    ),
    *(
        Attack(f"barriers: {name}", lambda a=a, b=b: meeting(a, b), right,
               late_numbers() if name == "the number 32" else ENDS)
        for name, (a, b, right) in BARRIERS.items()
    ),
]  # fmt: skip


# ---------------------------------------------------------------- counters

LOCKS = Operand("locks", "s32", (4,), role="scratch")
R = Index("r")
FOUR = (*GRID, ("r", number(4)))
AT = (number(0),)


def counting(*body: Any, claim: Any = A, work_groups: int = 2) -> Kernel:
    """A is stored by work-group 0 along r alone; what else they do with counters."""
    grid = (*GRID, ("r", number(work_groups)))
    stored = If(R, number(1), (store("D", "x"),))
    return kernel(claim, load("A", "x"), stored, *body, more=(LOCKS,), grid=grid)


def at_last(*body: Any) -> If:
    """What work-group 1 does."""
    return If(number(0), R, body)


def flags(*body: Any, claim: Any) -> Kernel:
    """Counters in a matrix that may be stored to as well; D is A."""
    flags = Operand("flags", "s32", ("M", "N"), role="inout")
    grid = (*GRID, ("r", number(2)))
    made = copied(more=(LOCKS,), grid=grid, kinds=("f32", "s32", "s32"))
    claims = Specification((Claim("D", ("m", "n"), A), Claim("flags", ("m", "n"), claim)))
    operands = (*made.operands, flags)
    return dataclasses.replace(made, operands=operands, body=(*made.body, *body), computes=claims)


def first(*body: Any) -> If:
    """What work-group 0 does."""
    return If(R, number(1), body)


ONE_TILE: tuple[dict[str, int], ...] = ({"M": 1, "N": 1}, {"M": 8, "N": 16})
CORNER = (number(0), number(0))
FLAG = Element("flags", (M, N))
ONE_MORE = Where(M + N, number(1), FLAG + 1, FLAG)
ROW = store("flags", "y", kind="s32")
COUNTED = [
    Attack("signal and await", lambda: counting(
        first(Signal("locks", AT, number(1))), at_last(Await("locks", AT, number(1)))), True),
    Attack("await what nobody signals", lambda: counting(
        at_last(Await("locks", AT, number(1)))), False),
    Attack("await two of one signal", lambda: counting(
        first(Signal("locks", AT, number(1))), at_last(Await("locks", AT, number(2)))), False),
    Attack("a plain store beside signals", lambda: flags(
        first(Fill("y", 5), ROW), at_last(Signal("flags", CORNER, number(1))),
        claim=Where(M + N, number(1), Const(6), Const(5))), False, ONE_TILE),
    Attack("signals, then a plain store", lambda: flags(
        first(Signal("flags", CORNER, number(1))), at_last(Fill("y", 5), ROW), claim=Const(5)),
        False, ONE_TILE),
    Attack("a plain store beside an await", lambda: flags(
        first(Fill("y", 1), ROW), at_last(Await("flags", CORNER, number(1))), claim=Const(1)),
        False, ONE_TILE, filled_with(0)),
    Attack("an await, then a plain store", lambda: flags(
        first(Await("flags", CORNER, number(0))), at_last(Fill("y", -1), ROW), claim=Const(-1)),
        False, ONE_TILE, filled_with(0)),
    Attack("a plain store beside an atomic", lambda: flags(
        first(Fill("y", 5), ROW), at_last(Fill("y", 1), AtomicStore(ROW.copy, "flags", PLACE, "y")),
        claim=Const(6)), False, ONE_TILE),
    Attack("an atomic beside signals", lambda: flags(
        first(Fill("y", 1), AtomicStore(ROW.copy, "flags", PLACE, "y")),
        at_last(Signal("flags", CORNER, number(1))),
        claim=Where(M + N, number(1), FLAG + 2, FLAG + 1)), True, ONE_TILE),
    Attack("an atomic beside an await", lambda: flags(
        first(Fill("y", 1), AtomicStore(ROW.copy, "flags", PLACE, "y")),
        at_last(Await("flags", CORNER, number(1))), claim=FLAG + 1), False, ONE_TILE,
        filled_with(-1)),
    Attack("signals of two", lambda: flags(
        Signal("flags", CORNER, number(1)), claim=Where(M + N, number(1), FLAG + 2, FLAG)), True,
        ONE_TILE),
    Attack("signals of two, one claimed", lambda: flags(
        Signal("flags", CORNER, number(1)), claim=ONE_MORE), False, ONE_TILE),
    Attack("a plain store ordered before signals", lambda: flags(
        first(Fill("y", 5), ROW, Signal("locks", AT, number(1))),
        at_last(Await("locks", AT, number(1)), Signal("flags", CORNER, number(1))),
        claim=Where(M + N, number(1), Const(6), Const(5))), True, ONE_TILE),
]  # fmt: skip

# ---------------------------------------------------------------- all of them

ATTACKS = sampled([*NAMES, *PERIODIC, *COUNTED], 40)


@pytest.mark.parametrize("attack", ATTACKS, ids=names(ATTACKS))
def test_an_attack(attack: Attack) -> None:
    answered(attack)
