"""Random programs that store to places that are looked up, and the truth by all small tables."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from table_truth import Program, column, count, looked

from pycute_xe.kernel import Element, Index, Kernel, KernelBuilder, Operand, Specification
from pycute_xe.kernel.index import Condition
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.tables import Assumption, Distinct, InRange, Permutation, Runs, Sorted

__all__ = ["scatter"]

Array = Any
T, J, H, N, M = map(Index, ("t", "j", "h", "N", "M"))
WIDE = 2
"""Rows of a page."""


@dataclass(frozen=True)
class Moves:
    """Rows that are moved: for t below M (and j) where conditions hold, a row of A to one of D."""

    row: Index
    place: tuple[Index, ...]
    when: tuple[Condition, ...] = ()
    turns: Index | None = None

    @property
    def indices(self) -> tuple[Index, ...]:
        """Its indices."""
        turns = () if self.turns is None else (self.turns,)
        return (self.row, *self.place, *turns, *(i for c in self.when for i in (c.index, c.below)))

    def __str__(self) -> str:
        """As an equation."""
        where = ", ".join(map(str, self.when))
        place = ",".join(map(str, self.place))
        return f"D[{place}] = A[{self.row}] for t < M, j < {self.turns}, {where}"


def _kernel(name: str, moves: Moves, role: str, length: Index) -> Kernel:
    k = KernelBuilder(name, 1)
    A = k.input("A", "f32", (M, 16))
    for table in sorted({x.operand for index in moves.indices for x in index.looked_up}):
        k.input(table, "s32", (length,))
    modes = ("N", 16) if len(moves.place) == 1 else ("N", WIDE, 16)
    D = k.output("D", "f32", modes) if role == "out" else k.inout("D", "f32", modes)
    (t,) = k.grid(t="M")
    named = {"t": t}
    with ExitStack() as stack:
        for c in moves.when:
            if "j" not in c.index.names | c.below.names:
                stack.enter_context(k.when(c.index.substitute(named) < c.below.substitute(named)))
        if moves.turns is not None:
            turns = moves.turns.substitute(named)
            named["j"] = stack.enter_context(k.loop("j", 0, turns))
        k.load("x", A, (1, 16), at=(moves.row.substitute(named), 0))
        place = tuple(index.substitute(named) for index in moves.place)
        k.store(D, "x", at=(*place, 0))
    return k.build()


# ------------------------------------------------------------ truth

ZERO, KEPT, NEVER = -1, -100, -1000
"""What a row is called that lies outside, that was there before, that was never written."""


def _points(moves: Moves, sizes: Mapping[str, int], tables: Mapping[str, Array]) -> Any:
    """Yield t, and for all tables: does it move, is all inside, from which row, to which place."""
    limit = Index(None, 1) if moves.turns is None else moves.turns
    for t in range(sizes["M"]):
        turns, known = column(limit, {**sizes, "t": t}, tables)
        for j in range(max(1, int(turns[known].max(initial=0)))):
            names = {**sizes, "t": t, "j": j}
            does, fine = j < turns, known.copy()
            for c in moves.when:
                (one, ok), (other, also) = (column(i, names, tables) for i in (c.index, c.below))
                fine &= ~does | (ok & also)
                does &= one < other
            row, ok = column(moves.row, names, tables)
            fine &= ~does | ok
            places = [column(index, names, tables) for index in moves.place]
            for _, ok in places:
                fine &= ~does | ok
            yield t, does, fine, row, [place for place, _ in places]


def _right(
    moves: Moves, claim: Moves, role: str
) -> Callable[[Mapping[str, int], Mapping[str, Array]], Array]:
    wide = 1 if len(moves.place) == 1 else WIDE

    def flat(places: list[Array], rows: int) -> tuple[Array, Array]:
        inside = (places[0] >= 0) & (places[0] < rows)
        if wide > 1:
            inside = inside & (places[1] >= 0) & (places[1] < wide)
            return places[0] * wide + places[1], inside
        return places[0], inside

    def right(sizes: Mapping[str, int], tables: Mapping[str, Array]) -> Array:
        n, rows = count(tables), sizes["N"]
        good, every = np.ones(n, bool), np.arange(n)
        before = np.arange(rows * wide) + KEPT if role == "inout" else np.full(rows * wide, NEVER)
        held, owner = np.tile(before, (n, 1)), np.full((n, rows * wide), -1)
        for t, does, fine, row, places in _points(moves, sizes, tables):
            good &= fine
            source = np.where((row >= 0) & (row < sizes["M"]), row, ZERO)
            place, inside = flat(places, rows)
            if wide > 1:  # no message clips along pages
                good &= ~does | ((places[0] >= 0) & (places[0] < rows))
            hits = every[does & inside]
            at = place[hits]
            other = (owner[hits, at] >= 0) & (owner[hits, at] != t)
            good[hits[other & (held[hits, at] != source[hits])]] = False
            held[hits, at], owner[hits, at] = source[hits], t
        wanted, named = np.tile(before, (n, 1)), np.zeros((n, rows * wide), bool)
        for _, does, fine, row, places in _points(claim, sizes, tables):
            good &= fine
            place, inside = flat(places, rows)
            hits = every[does & inside]
            good[hits] &= ~named[hits, place[hits]]
            good[hits] &= (row[hits] >= 0) & (row[hits] < sizes["M"])
            wanted[hits, place[hits]], named[hits, place[hits]] = row[hits], True
        same = (held == wanted) | (~named if role == "out" else False)
        return good & same.all(axis=1)

    return right


# ------------------------------------------------------------ programs


def _entry(rng: random.Random, nested: bool) -> Index:
    at = rng.choice([T, T, T, T, T, T, M - 1 - T, T // 2, T + 1])
    if nested:
        at = looked("P", rng.choice([T, T, M - 1 - T]))
    return looked("S", at)


def _place(rng: random.Random, entry: Index) -> Index:
    """Return where a row is stored: arithmetic on what is looked up."""
    match rng.randrange(12):
        case 0:
            return entry + rng.choice([1, -1])
        case 1:
            return entry * 2
        case 2:
            return entry // 2
        case 3:
            return entry + T
        case 4:
            return T
        case 5:
            return N - 1 - entry
        case _:
            return entry


def _conditions(rng: random.Random, entry: Index) -> tuple[Condition, ...]:
    every = [
        Condition(Index(None, -1), entry),
        Condition(Index(None, -1), entry),
        Condition(entry, N),
        Condition(Index(), entry),
        Condition(T, M - 1),
        Condition(entry, Index(None, 3)),
        Condition(Index(), T),
    ]
    return tuple(rng.sample(every, rng.choice([0, 1, 1, 2])))


def _moves(rng: random.Random) -> Moves:
    entry = _entry(rng, rng.random() < 0.3)
    row = rng.choice([T, T, T, T, looked("P", T), M - 1 - T, T + 1, Index()])
    when = _conditions(rng, entry)
    match rng.randrange(4):
        case 0:  # pages
            return Moves(row, (entry // WIDE, entry % WIDE), when)
        case 1:  # rows of a run, one behind the other
            turns = rng.choice([Index(None, 2), looked("P", T), looked("P", T)])
            step = rng.choice([entry + J, entry + J, entry * 2 + J])
            return Moves(rng.choice([row, row, J]), (step,), when, turns)
        case _:
            return Moves(row, (_place(rng, entry),), when)


def _slipped(rng: random.Random, moves: Moves) -> Moves:
    """Return other moves, or the same."""
    first, *rest = moves.place
    match rng.randrange(14):
        case 0:
            return replace(moves, row=moves.row + 1)
        case 1:
            return replace(moves, place=(first + 1, *rest))
        case 2 if rest:
            return replace(moves, place=(rest[0], first))
        case 3 if moves.when:
            return replace(moves, when=moves.when[1:])
        case 4 if moves.when:
            c = moves.when[0]
            return replace(moves, when=(Condition(c.index + 1, c.below), *moves.when[1:]))
        case 5 if moves.turns is not None:
            return replace(moves, turns=moves.turns + rng.choice([1, -1]))
        case 6:
            return replace(moves, row=M - 1 - T)
        case 7:
            other = {"t": M - 1 - T}
            return replace(moves, place=tuple(i.substitute(other) for i in moves.place))
        case 8 if moves.when:
            return replace(moves, when=(*reversed(moves.when),))
        case _:
            return moves


def _assumed(rng: random.Random, length: Index, wide: int) -> tuple[Assumption, ...]:
    used = ((Index(None, -1), looked("S", Index("i"))),)
    below = N * wide
    out: list[Assumption] = [rng.choice([Distinct("S"), Distinct("S"), Permutation("S")])]
    limit = rng.choice([below, below, below - 1, below // 2])
    out.append(InRange("S", limit, ("i",), rng.choice([used, used, ()])))
    out.append(rng.choice([InRange("P", length), Permutation("P"), InRange("P", Index(None, 2))]))
    if rng.random() < 0.15:
        out.append(Sorted("S"))
    if rng.random() < 0.15:  # runs that do not touch
        out.append(Runs("S", "P", below))
    if rng.random() < 0.25:
        out.pop(rng.randrange(len(out)))
    return tuple(out)


def scatter(rng: random.Random, number: int) -> Program:
    """Return a program that stores rows of A to rows of D that are looked up."""
    moves = _moves(rng)
    claim = _slipped(rng, moves)
    role = rng.choice(["inout", "inout", "out"])
    length = M + rng.choice([0, 0, 1])
    assumed = _assumed(rng, length, len(moves.place))
    kernel = _kernel(f"scatter_{number}", moves, role, length)
    turns = [] if claim.turns is None else [("j", claim.turns)]
    over = [("t", M), *turns, ("h", Index(None, 16))]
    when = tuple((c.index, c.below) for c in claim.when)
    made = Scatter("D", (*claim.place, H), tuple(over), Element("A", (claim.row, H)), when)
    used = {x.operand for index in claim.indices for x in index.looked_up}
    used |= {name for one in assumed for name in one.tables}
    more = [Operand(n, "s32", (length,)) for n in sorted(used - {o.name for o in kernel.operands})]
    operands = (*kernel.operands[:-1], *more, kernel.operands[-1])
    spec = Specification((made,), tables=assumed)
    kernel = replace(kernel, operands=operands, computes=spec)
    told = f"{role}: {moves}\n  claimed {claim}; {'; '.join(map(str, assumed))}; {length} entries"
    small = [(m, n) for m in (1, 2, 3) for n in (1, 2, 3, 5, 9)]
    sizes = tuple({"M": m, "N": n} for m, n in (*small, (4, 2), (4, 9), (5, 12)))
    return Program(kernel, "scatter", told, _right(moves, claim, role), ("S", "P"), sizes)
