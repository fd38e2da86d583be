"""An Xe core clock by clock: eight engines, their threads in order, pipes, messages, barriers."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from pycute_xe.native.clocks.costs import LETTERS, Figures, Timed
from pycute_xe.native.clocks.text import Listing, Waits

__all__ = ["CAUSES", "ENGINES", "Issue", "Outcome", "Structure", "ordered", "simulate"]

CAUSES = (
    "active", "control", "pipe_stall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other",
)  # fmt: skip
"""States of a thread, by the names of Intel's EU stall sampling."""
ENGINES, _KEPT = 8, 32
_ACTIVE, _CONTROL, _PIPE, _SEND, _DIST, _SBID, _SYNC, _OTHER = 0, 1, 2, 3, 4, 5, 6, 8


@dataclass(frozen=True, slots=True)
class Structure:
    """What documents leave open: which thread is first, and whether pipes work at the same time.

    ``arbitration`` is "oldest" or "round_robin"; where ``together`` is false, an engine works on
    DPAS or on an instruction of its other pipes, of one thread in a clock.
    """

    arbitration: str
    together: bool

    def __str__(self) -> str:
        """Both in words."""
        pipes = "pipes together" if self.together else "DPAS alone"
        return f"{self.arbitration.replace('_', ' ')}, {pipes}"


@dataclass(frozen=True, slots=True)
class Issue:
    """A start: thread, place in its way, and when it starts, has read and has its result."""

    thread: int
    place: int
    at: float
    read: float
    done: float


@dataclass
class Outcome:
    """What happened: per instruction how often, clocks of each cause, and for what it waited.

    ``issues`` are all starts in their order, where they are asked for.
    """

    structure: Structure
    cycles: float
    trips: list[float]
    counts: list[int]
    stalls: list[list[float]]
    producers: dict[tuple[int, int], float]
    states: list[list[float]]
    used: list[float]
    events: list[tuple[int, int, float, float, int]]
    issues: list[Issue]


@dataclass(eq=False, slots=True)
class _Thread:
    number: int
    engine: int
    place: int
    group: int
    path: Sequence[int]
    at: int = 0
    free: float = 0
    since: float = 0
    ready: float = 0
    cause: int = _CONTROL
    by: int = -1
    arrived: int = 0
    unit: int = 6
    ended: bool = False
    written: list[float] = field(default_factory=lambda: [0.0] * 32)
    taken: list[float] = field(default_factory=lambda: [0.0] * 32)
    setter: list[int] = field(default_factory=lambda: [-1] * 32)
    recent: list[deque[tuple[float, int]]] = field(
        default_factory=lambda: [deque(maxlen=_KEPT) for _ in range(6)]
    )
    heads: list[float] = field(default_factory=list[float])
    states: list[float] = field(default_factory=lambda: [0.0] * 9)

    def note(self, step: _Step, done: float, taken: float) -> None:
        """Remember when the result of an instruction is there, and its sources are free."""
        for pipe in step.recent:
            recent = self.recent[pipe]
            later = not recent or done > recent[-1][0]
            recent.append((done, step.number) if later else recent[-1])
        token = step.sets
        if token >= 0:
            self.written[token], self.taken[token] = done, taken
            self.setter[token] = step.number


@dataclass(frozen=True, slots=True)
class _Step:
    """An instruction as a structure starts it: its unit, what it waits for, whom it tells.

    ``distances`` are pairs of a row of ``recent`` and how many back, ``tokens`` pairs of a token
    and whether its result is waited for; ``recent`` are the rows that remember it.
    """

    number: int
    pipe: int
    unit: int
    busy: float
    done: float
    read: float
    sets: int
    what: str
    distances: tuple[tuple[int, int], ...]
    tokens: tuple[tuple[int, bool], ...]
    recent: tuple[int, ...]
    behind: float
    fetches: bool
    one: Timed


def _step(one: Timed, waits: Waits, unit: Sequence[int]) -> _Step:
    """Its own token must be free, and ``sync`` may ask for all."""
    own = ((waits.sets, True),) if waits.sets >= 0 else ()
    every = ((token, one.every == "dst") for token in one.masked or range(32)) if one.every else ()
    tokens = (*((token, kind == "dst") for token, kind in waits.tokens), *own, *every)
    rows: tuple[int, ...] = ()
    if one.what in ("alu", "jump", "scalar"):
        rows = (LETTERS["S"] if one.what == "scalar" else one.pipe, LETTERS["A"])
    return _Step(
        number=one.number, pipe=one.pipe, unit=unit[one.pipe], busy=one.busy, done=one.done,
        read=one.read, sets=waits.sets, what=one.what,
        distances=tuple((LETTERS.get(p, min(one.pipe, 3)), back) for p, back in waits.distances),
        tokens=tokens, recent=rows, behind=one.done if one.what == "jump" else 1,
        fetches=one.pipe == 5 and one.what not in ("arrive", "end"), one=one,
    )  # fmt: skip


@dataclass(eq=False, slots=True)
class _Engine:
    threads: list[_Thread] = field(default_factory=list[_Thread])
    free: list[float] = field(default_factory=lambda: [0.0] * 7)
    queue: deque[float] = field(default_factory=deque[float])
    back: float = 0
    locked: _Thread | None = None
    last: int = -1
    due: float = 0
    after: float = -1


class _Core:
    """The state of a simulation; `run` drives it."""

    def __init__(
        self,
        code: Sequence[Timed],
        listing: Listing,
        paths: Sequence[Sequence[int]],
        heads: frozenset[int],
        group: int,
        figures: Figures,
        structure: Structure,
        engines: int,
        keep: int,
        record: bool,
    ) -> None:
        self.heads, self.group = heads, group
        self.issues: list[Issue] = []
        self.record = record
        self.figures, self.structure, self.keep = figures, structure, keep
        self.message, self.barrier = figures["message"], figures["barrier"]
        self.register = 64 / figures["return_bytes"]
        self.engines = [_Engine() for _ in range(engines)]
        self.all = [
            _Thread(i, i % engines, i // engines, i // group, path) for i, path in enumerate(paths)
        ]
        for thread in self.all:
            self.engines[thread.engine].threads.append(thread)
        self.unit_free, self.depth = 0.0, int(figures["send_queue"])
        self.counts = [0] * len(code)
        self.stalls = [[0.0] * 9 for _ in code]
        self.producers: dict[tuple[int, int], float] = {}
        self.used = [0.0] * 7
        self.arrivals: dict[tuple[int, int], list[float]] = {}
        self.parked: dict[tuple[int, int], list[_Thread]] = {}
        self.events: list[tuple[int, int, float, float, int]] = []
        self.heap: list[tuple[float, int]] = []
        self.unit = list(range(7)) if structure.together else [0, 0, 0, 3, 0, 5, 6]
        self.matrix = self.unit[4]
        lines = zip(code, listing.lines, strict=True)
        self.code = [_step(one, line.waits, self.unit) for one, line in lines]
        self.width = int(figures["coissue"]) if structure.together else 1

    # -------------------------------------------------------- waiting

    def prepare(self, thread: _Thread) -> None:
        """Find when the next instruction of a thread may start, and what it waits for."""
        step = self.code[thread.path[thread.at]]
        thread.unit = step.unit
        ready, cause, by = thread.free, _CONTROL, -1
        for row, back in step.distances:
            recent = thread.recent[row]
            if len(recent) >= back and recent[-back][0] > ready:
                (ready, by), cause = recent[-back], _DIST
        for token, result in step.tokens:
            when = thread.written[token] if result else thread.taken[token]
            if when > ready:
                ready, cause, by = when, _SBID, thread.setter[token]
        if step.what == "sync":
            key = (thread.group, thread.arrived)
            there = self.arrivals.get(key, [])
            if thread.arrived and len(there) < self.group:
                self.parked.setdefault(key, []).append(thread)
                ready, cause, by = inf, _SYNC, -1
            elif thread.arrived and max(there) + self.barrier > ready:
                ready, cause = max(there) + self.barrier, _SYNC
        thread.ready, thread.cause, thread.by = ready, cause, by

    def possible(self, engine: _Engine, thread: _Thread) -> float:
        """Return when a thread could start its next instruction as things are: when it is ready.

        Or later, where others are in the way.
        """
        unit, when = thread.unit, thread.ready
        if unit == 6:
            return when
        locked = engine.locked
        if locked is not None and locked is not thread and unit == self.matrix:
            return inf
        free = engine.free[unit]
        if free > when:
            when = free
        if unit == 5 and len(engine.queue) >= self.depth:
            return max(when, engine.queue[-self.depth])
        return when

    # -------------------------------------------------------- starting

    def start(self, engine: _Engine, thread: _Thread, now: float) -> None:
        """Start an instruction: account for the wait, occupy, and say when its result is there."""
        step = self.code[thread.path[thread.at]]
        self.account(engine, thread, step, now)
        if thread.at in self.heads:
            thread.heads.append(now)
        unit, busy = step.unit, step.busy
        if unit != 6 and now + busy > engine.free[unit]:
            engine.free[unit] = now + busy
        self.used[step.pipe] += busy
        done = self.sent(engine, step.one, now) if step.fetches else now + step.done
        thread.note(step, done, now + step.read)
        if self.record:
            self.issues.append(Issue(thread.number, thread.at, now, now + step.read, done))
        if step.what == "dpas":
            engine.locked = thread if step.one.atomic else None
        thread.free = now + step.behind
        thread.since = now + 1
        thread.at += 1
        if thread.number < self.keep:
            event = (thread.number, step.number, now, now + max(1, busy), step.pipe)
            self.events.append(event)
        if step.what == "arrive":
            self.arrive(thread, now)
        if step.what == "end" or thread.at >= len(thread.path):
            thread.ended, thread.ready = True, inf
            engine.locked = None if engine.locked is thread else engine.locked
        else:
            self.prepare(thread)

    def account(self, engine: _Engine, thread: _Thread, step: _Step, now: float) -> None:
        """Share the clocks since the last instruction among causes."""
        number, stalls = step.number, self.stalls[step.number]
        ready, since = thread.ready, thread.since
        waited = (ready if ready < now else now) - since
        if waited > 0:
            stalls[thread.cause] += waited
            thread.states[thread.cause] += waited
            if thread.by >= 0:
                key = (number, thread.by)
                self.producers[key] = self.producers.get(key, 0.0) + waited
        rest = now - (ready if ready > since else since)
        if rest > 0:
            until = engine.free[step.unit] if step.unit != 6 else 0
            busy = until > ready or engine.locked
            cause = (_SEND if step.pipe == 5 else _PIPE) if busy else _OTHER
            stalls[cause] += rest
            thread.states[cause] += rest
        stalls[_ACTIVE] += 1
        thread.states[_ACTIVE] += 1
        self.counts[number] += 1

    def sent(self, engine: _Engine, one: Timed, now: float) -> float:
        """Hand a message to the load and store unit of the core; return when its bytes come."""
        begin = max(now + 1, self.unit_free)
        service = max(self.message, one.nbytes / one.rate)
        self.unit_free = begin + service
        while engine.queue and engine.queue[0] <= now:
            engine.queue.popleft()
        engine.queue.append(begin)
        done = begin + service + one.done
        if one.returned and not self.record:
            back = one.returned * self.register
            engine.back = max(engine.back, done - back) + back
            done = engine.back
        return done

    def arrive(self, thread: _Thread, now: float) -> None:
        """Count an arrival at the barrier; the last lets those go on that wait."""
        thread.arrived += 1
        key = (thread.group, thread.arrived)
        there = self.arrivals.setdefault(key, [])
        there.append(now)
        if len(there) == self.group:
            for other in self.parked.pop(key, []):
                other.ready = max(other.free, now + self.barrier)
                self.due(other.engine, other.ready)

    # -------------------------------------------------------- driving

    def due(self, number: int, when: float) -> None:
        """See to it that an engine is looked at."""
        engine = self.engines[number]
        when = max(when, engine.after)
        if when < engine.due:
            engine.due = when
            heapq.heappush(self.heap, (when, number))

    def step(self, number: int, now: float) -> None:
        """Start what an engine can in a clock."""
        engine = self.engines[number]
        engine.due, engine.after = inf, now + 1
        order = engine.threads
        if self.structure.arbitration == "round_robin":
            cut = engine.last + 1
            order = order[cut:] + order[:cut]
        started = 0
        for thread in order:
            if thread.ready <= now and self.possible(engine, thread) <= now:
                self.start(engine, thread, now)
                engine.last = thread.place
                started += 1
                if started == self.width:
                    break
        when = inf
        for thread in order:
            if thread.ready < when and (at := self.possible(engine, thread)) < when:
                when = at
                if at <= engine.after:  # no sooner than this: the others make no difference
                    break
        if when < inf:
            self.due(number, when)

    def run(self) -> Outcome:
        """Run until all threads have ended."""
        for thread in self.all:
            self.prepare(thread)
        for number, engine in enumerate(self.engines):
            engine.due = inf
            self.due(number, 0.0)
        while self.heap:
            now, number = heapq.heappop(self.heap)
            if now == self.engines[number].due:
                self.step(number, -(-now // 1))
        end = max((t.since for t in self.all), default=0)
        for engine in self.engines:
            end = max(end, *(engine.free[u] for u in range(6)))
        for thread in self.all:
            thread.states[_OTHER if thread.ended else _SYNC] += end - thread.since
        return Outcome(
            self.structure, end, self.trips(), self.counts, self.stalls, self.producers,
            [t.states for t in self.all], self.used, self.events, self.issues,
        )  # fmt: skip

    def trips(self) -> list[float]:
        """When as many trips had begun as there are threads, twice as many, and so on.

        Threads that go first may be trips ahead: what the core does in all counts.
        """
        begun = sorted(when for thread in self.all for when in thread.heads)
        return begun[len(self.all) - 1 :: len(self.all)]


def simulate(
    code: Sequence[Timed],
    listing: Listing,
    path: Sequence[int],
    heads: frozenset[int],
    figures: Figures,
    structure: Structure,
    *,
    threads: int = 4,
    group: int = 0,
    engines: int = ENGINES,
    keep: int = 0,
) -> Outcome:
    """Run threads that all take a path of instruction numbers; ``group`` threads share a barrier.

    ``heads`` are the places of the path at which a trip begins; events of the first
    ``keep`` threads are kept.
    """
    paths = [path] * (threads * engines)
    core = _Core(
        code, listing, paths, heads, group or len(paths), figures, structure, engines, keep, False
    )
    return core.run()


def ordered(
    code: Sequence[Timed],
    listing: Listing,
    paths: Sequence[Sequence[int]],
    figures: Figures,
    structure: Structure,
    group: int,
) -> Outcome:
    """Run threads that each take a path of their own, and keep every start.

    Loads come back in any order here, as nothing promises theirs. Threads that wait for ever have
    no further starts.
    """
    engines = min(ENGINES, len(paths))
    core = _Core(code, listing, paths, frozenset(), group, figures, structure, engines, 0, True)
    return core.run()
