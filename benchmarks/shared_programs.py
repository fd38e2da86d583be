"""Random programs of shared arrays and barriers: is what `verify` says of their order so?

Each seed makes a program: pipelines through stages of arrays between producers and consumers, or
tiles that all subgroups exchange, with turns in turns, offsets, nested loops, fences, conditions,
and up to three slips in it. `judged` steps its events without data, subgroup by subgroup with
vector clocks of its own, for the joint period of all turns and two trips more:
    python benchmarks/shared_programs.py --count 5000 --workers 2
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import lcm
from multiprocessing import Pool
from time import perf_counter
from typing import Any

from pycute_xe import as_numeric
from pycute_xe.errors import CuteError, UndecidableError
from pycute_xe.holding.patience import TooHardError, allowed
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Fence,
    Fill,
    Fragment,
    If,
    Index,
    Kernel,
    Loop,
    NamedArrive,
    NamedBarrier,
    NamedWait,
    Operand,
    Shared,
    SharedLoad,
    SharedStore,
    Statement,
    Tiles,
)
from pycute_xe.layout import Layout
from pycute_xe.verifying.questions import Questions
from pycute_xe.verifying.regions import session

S, WIDE = Index("subgroup"), 16
MEET = (BarrierArrive(), BarrierWait())
STEPS = 6_000_000
LONGEST = 90
"""Trips of a loop up to which programs are stepped."""


@dataclass
class Made:
    """A program, and what its makers know of it: turns, and how far its offsets reach."""

    kernel: Kernel
    turns: int
    reach: int
    notes: list[str] = field(default_factory=list[str])


# ------------------------------------------------------------------ programs


def turning(r: random.Random, count: int, *loops: Index) -> tuple[Index, int]:
    """Return an index from 0 up to a count that goes by turns, and after how many it repeats."""
    var = r.choice(loops)
    if len(loops) > 1 and r.random() < 0.4:
        var = loops[0] + loops[1]
    var = var + r.choice([0, 0, 0, 1, 2, 5])
    match r.randrange(4):
        case 0 | 1:
            return var % count, count
        case 2:
            slow = r.randint(2, 3)
            return var // slow % count, slow * count
        case _:
            outer = r.randint(1, 3)
            return var % (count * outer) // outer, count * outer


def now_and_then(r: random.Random, made: Made, var: Index, *body: Statement) -> If:
    """Do statements in some turns, in the first trips, but in them, or towards the end."""
    match r.randrange(4):
        case 0 | 1:
            count = r.randint(2, 5)
            index, turns = turning(r, count, var)
            made.turns = lcm(made.turns, turns)
            return If(index, Index(None, r.randint(1, count - 1)), body)
        case 2:
            first = r.randint(1, 4)
            return (
                If(var, Index(None, first), body)
                if r.random() < 0.5
                else If(Index(None, first), var, body)
            )
        case _:
            return If(var + r.randint(1, 4), Tiles("K", 4), body)


def kernel_of(subgroups: int, rooms: list[int], body: tuple[Statement, ...]) -> Kernel:
    """Return a kernel around a body that uses arrays ``s0``, ``s1`` … and fragments x and y."""
    operands = (Operand("X", "f32", ("M", "K")), Operand("Y", "f32", ("M", "K"), role="out"))
    fragments = tuple(Fragment(name, as_numeric("f32"), 1) for name in "xy")
    shared = tuple(Shared(f"s{i}", as_numeric("f32"), n) for i, n in enumerate(rooms))
    fill = (Fill("x", 1.0), Fill("y", 1.0))
    grid = (("g", Index(None, 1)),)
    return Kernel("program", subgroups, operands, fragments, grid, (*fill, *body), None, shared)


def pipelines(r: random.Random) -> Made:
    """Producers fill stages of arrays, consumers empty them; named barriers lie between."""
    producers, consumers = r.choice([(1, 1), (1, 2), (2, 1), (2, 2)])
    count = producers + consumers
    tile, k = count * WIDE, Index("k")
    start = r.choice([0, 0, 0, 1, 3])
    made = Made(kernel_of(1, [16], ()), 1, 8)
    rooms: list[int] = []
    gives: list[Statement] = []
    takes: list[Statement] = []
    numbers = 1
    for array in range(r.choice([1, 1, 1, 2])):
        stages = r.randint(1, 7)
        made.turns = lcm(made.turns, stages)
        if made.turns > 42:
            stages = r.choice([1, 2])
            made.turns = lcm(made.turns, stages)
        at, own = k % stages, Layout((count, WIDE), (WIDE, 1))
        full = NamedBarrier(at + numbers, producers, consumers)
        empty = NamedBarrier(at + (numbers + stages), consumers, producers)
        numbers += 2 * stages
        rooms.append(tile * (stages + 2))
        place = at * tile
        if r.random() < 0.3 and stages > 1:  # more stages than are needed
            wider, turns = stages * r.randint(1, 2), stages
            place, made.turns = k % wider * tile, lcm(made.turns, wider, turns)
            rooms[-1] = tile * (wider + 2)
        store = SharedStore("x", f"s{array}", own, place)
        load = SharedLoad(f"s{array}", "y", Layout((count, WIDE), (0, 1)), place)
        wait = (NamedArrive(empty, "consumer"), NamedWait(empty))
        gives += [
            If(Index(None, start + stages - 1), k, wait),
            store,
            Fence(),
            NamedArrive(full, "producer"),
        ]
        takes += [
            NamedArrive(full, "consumer"),
            NamedWait(full),
            load,
            If(k + stages, Tiles("K", 4) + start, (NamedArrive(empty, "producer"),)),
        ]
    give, take = (
        If(S, Index(None, producers), tuple(gives)),
        If(Index(None, producers - 1), S, tuple(takes)),
    )
    loop: Statement = Loop("k", Index(None, start), Tiles("K", 4) + start, (give, take))
    if r.random() < 0.25:
        trips = Index(None, r.randint(1, 3)) if r.random() < 0.7 else Tiles("K", 4)
        loop = Loop("j", Index(), trips, (loop, Fence(), *MEET))
        made.notes.append("nested")
    made.kernel = kernel_of(count, rooms, (loop,))
    return made


def exchanges(r: random.Random) -> Made:
    """All subgroups store tiles and load those of others, with a barrier between."""
    count = r.randint(2, 4)
    tile, k, j = count * WIDE, Index("k"), Index("j")
    nested = r.random() < 0.4
    loops = (k, j) if nested else (k,)
    made = Made(kernel_of(1, [16], ()), 1, 8)
    rooms: list[int] = []
    stores: list[Statement] = []
    loads: list[Statement] = []
    for array in range(r.choice([1, 1, 2])):
        stages = r.randint(1, 7)
        at, turns = turning(r, stages, *loops)
        made.turns = lcm(made.turns, turns)
        other, more = (at, turns) if r.random() < 0.7 else turning(r, stages, *loops)
        made.turns = lcm(made.turns, more)
        rooms.append(tile * (stages + 2))
        own, first = Layout((count, WIDE), (WIDE, 1)), Layout((count, WIDE), (0, 1))
        store = SharedStore("x", f"s{array}", own, at * tile)
        load = SharedLoad(f"s{array}", "y", first, other * tile)
        stores.append(store if r.random() < 0.8 else now_and_then(r, made, k, store))
        loads.append(load if r.random() < 0.8 else now_and_then(r, made, k, load))
    before: tuple[Statement, ...] = (Fence(), *MEET)
    behind: tuple[Statement, ...] = (*MEET,) if r.random() < 0.7 else ()
    if behind and r.random() < 0.3:
        behind = (now_and_then(r, made, k, *behind),)
    body = (*stores, *before, *loads, *behind)
    if r.random() < 0.3:  # halves apart: what lies between is in the next round
        body = (*stores, Fence(), BarrierArrive(), BarrierWait(), *loads, *behind)
    start = r.choice([0, 0, 0, 1, 3])
    loop: Statement = Loop("k", Index(None, start), Tiles("K", 4) + r.randint(0, 2), body)
    if nested:
        trips = Index(None, r.randint(1, 4)) if r.random() < 0.5 else Tiles("K", 4)
        loop = Loop("j", Index(), trips, (loop, *(MEET if r.random() < 0.5 else ())))
        made.notes.append("nested")
    made.kernel = kernel_of(count, rooms, (loop,))
    return made


def edited(statement: Any, change: Callable[[Any], Any]) -> tuple[Statement, ...]:
    """Return what stands for a statement after a change of all that are inside."""
    new = change(statement)
    if new is not statement:
        return new if isinstance(new, tuple) else (new,)
    if isinstance(statement, (Loop, If)):
        inside = tuple(x for s in statement.body for x in edited(s, change))
        return (replace(statement, body=inside),)
    return (statement,)


def slipped(r: random.Random, made: Made) -> None:
    """Put a slip into a program: something left out, moved, or in other turns."""
    every = [s for s in made.kernel.statements() if not isinstance(s, Fill)]
    chosen = r.choice(every)
    k = Index("k")
    kind = r.choice(["leave out", "now and then", "turns", "offset", "threshold"])

    def change(s: Any) -> Any:
        if s is not chosen:
            return s
        if kind == "leave out" and not isinstance(s, (Loop, BarrierArrive, BarrierWait)):
            return ()
        if kind == "now and then" and not isinstance(
            s, (Loop, BarrierArrive, BarrierWait, NamedWait)
        ):
            return now_and_then(r, made, k, s) if "k" in _names(s, made) else s
        if kind in ("turns", "offset") and isinstance(s, (SharedStore, SharedLoad)):
            tile = made.kernel.subgroups * WIDE
            count = r.randint(1, 3)
            index, turns = turning(r, count, k)
            made.turns = lcm(made.turns, turns)
            return replace(s, at=index * tile if kind == "turns" else s.at + r.choice([1, tile]))
        if kind == "offset" and isinstance(s, NamedArrive) and s.role == "producer":
            return replace(s, barrier=replace(s.barrier, number=s.barrier.number + 1))
        if kind == "threshold" and isinstance(s, If):
            return replace(s, below=s.below + r.choice([-1, 1]))
        return s

    made.notes.append(kind)
    body = tuple(x for s in made.kernel.body for x in edited(s, change))
    made.kernel = replace(made.kernel, body=body)


def _names(statement: Statement, made: Made) -> set[str]:
    """Return the loops around a statement."""

    def inside(body: tuple[Statement, ...], around: frozenset[str]) -> Iterator[str]:
        for s in body:
            if s is statement:
                yield from around
            if isinstance(s, (Loop, If)):
                own = {s.var} if isinstance(s, Loop) else set[str]()
                yield from inside(s.body, around | own)

    return set(inside(made.kernel.body, frozenset()))


def made(seed: int) -> Made:
    """Return the program of a seed. Raises `CuteError` where it cannot be built."""
    r = random.Random(seed)
    out = r.choice([pipelines, exchanges])(r)
    for _ in range(r.choice([0, 0, 1, 1, 1, 2, 3])):
        slipped(r, out)
    return out


# ------------------------------------------------------------------ the judge


def stepped(kernel: Kernel, size: int) -> str:
    """Say what goes wrong where K is so large; empty where nothing does."""
    env = {"M": 1, "K": size, "g": 0}
    every = ({**env, "subgroup": s} for s in range(kernel.subgroups))
    return _Run([list(_written_out(kernel.body, own)) for own in every]).wrong()


def _written_out(body: tuple[Statement, ...], env: dict[str, int]) -> Iterator[tuple[Any, int]]:
    for s in body:
        if isinstance(s, Loop):
            for trip in range(s.start.at(env), s.stop.at(env)):
                yield from _written_out(s.body, {**env, s.var: trip})
        elif isinstance(s, If):
            if s.index.at(env) < s.below.at(env):
                yield from _written_out(s.body, env)
        elif isinstance(s, (SharedStore, SharedLoad)):
            yield s, s.at.at(env)
        elif isinstance(s, (NamedArrive, NamedWait)):
            yield s, s.barrier.number.at(env)
        else:
            yield s, 0


class _Run:
    """One problem: every subgroup has a clock of its own, and one of what stores are visible."""

    def __init__(self, todo: list[list[tuple[Any, int]]]) -> None:
        self.todo, count = todo, len(todo)
        self.at = [0] * count
        self.seen = [[0] * count for _ in range(count)]
        self.visible = [[0] * count for _ in range(count)]
        self.flushed = [0] * count
        self.rounds: dict[int, list[dict[int, tuple[str, list[int], list[int]]]]] = {}
        self.counts: dict[tuple[int, int], tuple[int, int]] = {}
        self.waiting: list[dict[int, int]] = [{} for _ in range(count)]
        self.stores: dict[tuple[str, int], tuple[int, int]] = {}
        self.loads: dict[tuple[str, int], dict[int, int]] = {}

    def wrong(self) -> str:
        going = True
        while going:
            going = False
            for me, events in enumerate(self.todo):
                while self.at[me] < len(events):
                    found = self.do(me, *events[self.at[me]])
                    if found == "blocked":
                        break
                    if found:
                        return found
                    self.at[me] += 1
                    going = True
        if any(at < len(events) for at, events in zip(self.at, self.todo, strict=True)):
            return "deadlock"
        for number, rounds in self.rounds.items():
            if rounds[-1] and not self.complete(number, len(rounds) - 1):
                return "misuse: a barrier never fires"
        return ""

    def do(self, me: int, statement: Any, value: int) -> str:
        match statement:
            case Fence():
                self.flushed[me] = self.at[me] + 1
            case NamedArrive(barrier, role):
                if not 1 <= value <= 31:
                    return "misuse: barriers are numbered 1 to 31"
                return self.arrive(me, value, role, (barrier.producers, barrier.consumers))
            case NamedWait():
                return self.wait(me, value)
            case BarrierArrive():
                return self.arrive(me, 0, "both", (len(self.todo), len(self.todo)))
            case BarrierWait():
                return self.wait(me, 0)
            case SharedStore() | SharedLoad():
                return self.touch(me, statement, value)
            case _:
                pass
        return ""

    def present(self, number: int, which: int) -> tuple[int, int]:
        roles = [role for role, _, _ in self.rounds[number][which].values()]
        both = roles.count("both")
        return roles.count("producer") + both, roles.count("consumer") + both

    def complete(self, number: int, which: int) -> bool:
        return self.present(number, which) == self.counts[number, which]

    def arrive(self, me: int, number: int, role: str, counts: tuple[int, int]) -> str:
        rounds = self.rounds.setdefault(number, [{}])
        if rounds[-1] and self.complete(number, len(rounds) - 1):
            rounds.append({})
        which = len(rounds) - 1
        if which:
            for other in rounds[which - 1]:
                if other != me and self.seen[me][other] <= rounds[which - 1][other][1][other] - 1:
                    return "misuse: laps"
        if self.counts.setdefault((number, which), counts) != counts:
            return "misuse: counts differ"
        if me in rounds[which]:
            return "misuse: arrives twice"
        seen, visible = self.seen[me].copy(), self.visible[me].copy()
        seen[me], visible[me] = self.at[me] + 1, self.flushed[me]
        rounds[which][me] = (role, seen, visible)
        if role != "producer":
            self.waiting[me][number] = which
        if any(p > c for p, c in zip(self.present(number, which), counts, strict=True)):
            return "misuse: too many"
        return ""

    def wait(self, me: int, number: int) -> str:
        if number not in self.waiting[me]:
            return "misuse: waits without arriving"
        which = self.waiting[me][number]
        if not self.complete(number, which):
            return "blocked"
        del self.waiting[me][number]
        for _, seen, visible in self.rounds[number][which].values():
            self.seen[me] = list(map(max, self.seen[me], seen))
            self.visible[me] = list(map(max, self.visible[me], visible))
        return ""

    def touch(self, me: int, statement: SharedStore | SharedLoad, at: int) -> str:
        for e in range(WIDE):
            place = statement.array, statement.places((me, e)) + at
            last = self.stores.get(place)
            if last is not None and last[0] != me and self.visible[me][last[0]] <= last[1]:
                return "race"
            if isinstance(statement, SharedLoad):
                self.loads.setdefault(place, {})[me] = self.at[me]
                continue
            for other, when in self.loads.get(place, {}).items():
                if other != me and self.seen[me][other] <= when:
                    return "race"
            self.stores[place], self.loads[place] = (me, self.at[me]), {}
        return ""


# ------------------------------------------------------------------ verdicts against the judge


@dataclass(frozen=True)
class Outcome:
    """What a seed came to: a word that is counted, and what to look at."""

    seed: int
    word: str
    text: str = ""
    seconds: float = 0.0

    @property
    def bad(self) -> bool:
        """Whether stepping contradicts the verdict."""
        return self.word.startswith("BAD")


def problems(one: Made) -> list[int]:
    """Return sizes: all small ones, and around the joint period."""
    last = min(one.turns + one.reach + 2, LONGEST)
    near = {last - 3, last - 2, last - 1, last, one.turns, 2 * one.turns + 1}
    middle = set(range(1, last, max(1, last // 12)))
    trips = sorted(t for t in {*range(1, 13), *near, *middle} if 1 <= t <= LONGEST)
    if "nested" in one.notes:
        trips = [t for t in trips if t <= 24]
    return [4 * t - (t % 2) for t in trips]


def judged(seed: int) -> Outcome:
    """Make the program of a seed and hold the verdict on its barriers against its events."""
    try:
        one = made(seed)
    except CuteError as error:
        return Outcome(seed, "refused", str(error))
    start, notes = perf_counter(), ", ".join(one.notes)
    try:
        with session(), allowed(STEPS):
            found = Questions(one.kernel, {}).barriers()
    except (UndecidableError, TooHardError) as error:
        return Outcome(seed, "undecided", f"{notes}: {error.condition}", perf_counter() - start)
    except Exception as error:  # noqa: BLE001 - what is not an answer is a defect, whatever it is
        return Outcome(seed, "BAD crash", f"{notes}: {error!r}", perf_counter() - start)
    seconds = perf_counter() - start
    if found is not None:
        wrong = stepped(one.kernel, found.sizes["K"])
        word = "disproved" if wrong else "BAD disproved"
        return Outcome(seed, word, f"{notes}: {found.message}, {found.sizes}", seconds)
    for size in problems(one):
        wrong = stepped(one.kernel, size)
        if wrong:
            return Outcome(seed, "BAD proved", f"{notes}: {wrong} where K is {size}", seconds)
    return Outcome(seed, "proved", notes, seconds)


def main() -> None:
    """Count what becomes of so many programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    words, why, seconds = Counter[str](), Counter[str](), list[float]()
    with Pool(given.workers) as pool:
        seeds = range(given.seed, given.seed + given.count)
        for one in pool.imap_unordered(judged, seeds, chunksize=8):
            words[one.word] += 1
            seconds.append(one.seconds)
            if one.bad or given.show:
                print(one)
            if one.word == "undecided":
                why[one.text.split(": ")[1][:60]] += 1
    done = given.count - words["refused"]
    print(dict(words), f"undecided: {100 * words['undecided'] / max(done, 1):.1f} %")
    print(f"slowest {max(seconds):.2f} s, all {sum(seconds):.0f} s", why.most_common(8))
    if any(word.startswith("BAD") for word in words):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
