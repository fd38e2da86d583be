"""Machine code executed in the order of a simulation, with results landing when it says they do.

A register keeps its old bytes until the result that was last written to it has landed, and a
message reads what it is given only when the simulation frees its sources. So a dependence that is
missing shows: in a hazard, in another result, or in a fault of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil
from random import Random
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import CuteError, InputError
from pycute_xe.executing.problem import Problem, prepare
from pycute_xe.facts import rows
from pycute_xe.kernel import Kernel
from pycute_xe.machine import BarrierArrive as Arrive, Trace
from pycute_xe.machine.workgroup import Barriers
from pycute_xe.native.clocks.core import ENGINES, Issue, Structure, ordered
from pycute_xe.native.clocks.costs import PIPES, Timed, figures_of, is_atomic, timed
from pycute_xe.native.clocks.text import Listing, read_text
from pycute_xe.native.clocks.touched import PLACES, Touched, touched
from pycute_xe.native.comparison import Launch, Steps, run_group
from pycute_xe.native.compiler import Binary
from pycute_xe.native.messages import END, Around
from pycute_xe.native.operands import State
from pycute_xe.signatures import typed

__all__ = ["Hazard", "Replay", "replay", "ways"]

_STRUCTURE = Structure("oldest", True)
_MOST_HAZARDS = 100


@dataclass(frozen=True, slots=True)
class Hazard:
    """An instruction that starts before another is over: thread, both numbers, and what is wrong.

    ``kind`` is "read too early", "written out of order", "overwritten too early", "barrier passed
    too early", "went another way", "never goes on" or "fault"; ``other`` is -1 without another.
    """

    thread: int
    number: int
    other: int
    kind: str
    words: str

    def __str__(self) -> str:
        """One line."""
        return f"thread {self.thread}, instruction {self.number}: {self.kind}: {self.words}"


@dataclass(frozen=True, eq=False)
class Replay:
    """What a binary computes in the order of a simulation.

    ``outputs`` are those of the timed run, None where it ended in a fault; ``differs`` names those
    with other bytes than in the untimed run; ``cycles`` are the clocks of all batches of
    work-groups. Truthy where nothing differs and no hazard was met. Made by `replay`.
    """

    outputs: dict[str, NDArray[Any]] | None = field(repr=False)
    differs: tuple[str, ...]
    hazards: tuple[Hazard, ...]
    cycles: float
    instructions: int

    def __bool__(self) -> bool:
        """Whether the timed run is the untimed one."""
        return not self.hazards and not self.differs

    def __str__(self) -> str:
        """One line for the whole, one for each hazard."""
        done = f"{self.instructions:,} instructions in {self.cycles:,.0f} clocks"
        if self:
            return f"{done}: equal to the untimed run, byte for byte, without a hazard"
        wrong = f", {', '.join(self.differs)} differ" if self.differs else ""
        lines = (f"  {each}" for each in self.hazards)
        return "\n".join([f"{done}: {len(self.hazards)} hazards{wrong}", *lines])


@typed
def replay(
    binary: Binary,
    *operands: Any,
    text: str = "",
    slower: float = 1.0,
    seed: int | None = None,
    only: Sequence[int] = (),
    **named: Any,
) -> Replay:
    """Execute a binary in the order in which the model of an Xe core starts its instructions.

    Law: a binary whose dependences are complete computes what `native.run` does, whatever the
    latencies: all of them ``slower`` times as long, or, with a ``seed``, each so many times as
    long, as usual, or as short, by chance; or those of ``only`` some instructions so much longer,
    and of all others as much shorter. Work-groups that fill a core run together, the next when
    these are over. ``text`` is machine code to take the dependences from instead of the binary's
    own: the same instructions. Operands are those of `run`. What atomics return is what it was in a
    run without clocks, as the order in which threads arrive is anybody's; sums by atomics of floats
    may differ, as their order does.

    Raises `InputError` for another text, `TargetError` for a target without figures, and as `run`.
    """
    if not 1 <= slower <= 1000:
        wrong = f"latencies cannot be {slower:g} times as long"
        raise InputError("replay", {"slower": slower}, wrong, "give 1 to 1000")
    kernel = _kernel(binary)
    listing = read_text(text or binary.disassembly)
    _same_code(binary, listing)
    figures = figures_of(binary.target)
    usual = timed(listing, figures, "l2")
    code = _slowed(usual, slower, seed, frozenset(only))
    problem = prepare(kernel, operands, named, None)
    parts = [touched(each) for each in binary.assembly.instructions]
    fetching = {n: parts[n].writes for n, line in enumerate(listing.lines) if is_atomic(line)}
    untimed = _untimed(binary, problem, fetching)
    paths, expected = untimed.paths, untimed.outputs
    launch, group = Launch(binary, problem), kernel.subgroups
    hazards: list[Hazard] = []
    cycles, count, many = 0.0, 0, max(1, 4 * ENGINES // group)
    for first in range(0, len(launch.groups), many):
        batch = launch.groups[first : first + many]
        mine = [path for each in batch for path in paths[each]]
        outcome = ordered(code, listing, mine, figures, _STRUCTURE, group)
        cycles, count = cycles + outcome.cycles, count + len(outcome.issues)
        fetched = [each for one in batch for each in untimed.fetched[one]]
        hazards += _Batch(launch, batch, mine, code, usual, parts, fetched).run(outcome.issues)
        if any(each.kind in _ENDING for each in hazards):
            return Replay(None, tuple(expected), tuple(hazards), cycles, count)
    outputs = launch.outputs()
    differs = (n for n in expected if outputs[n].tobytes() != expected[n].tobytes())
    return Replay(outputs, tuple(differs), tuple(hazards), cycles, count)


@typed
def ways(binary: Binary, *operands: Any, **named: Any) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the instructions that each thread of a launch takes, group by group.

    Operands are those of `run`. Raises `InputError` for a binary of text alone, and as `run`.
    """
    problem = prepare(_kernel(binary), operands, named, None)
    paths = _untimed(binary, problem, {}).paths
    return tuple(tuple(way) for group in paths.values() for way in group)


def _kernel(binary: Binary) -> Kernel:
    if binary.kernel is None:
        wrong = "a binary of text alone has no operands"
        raise InputError("replay", {}, wrong, "give what compile(kernel) returns")
    return binary.kernel


_ENDING = ("went another way", "never goes on", "barrier passed too early", "fault")


def _same_code(binary: Binary, listing: Listing) -> None:
    code = binary.assembly.instructions
    same = len(code) == len(listing.lines)
    if not same or any(a.op != b.op for a, b in zip(code, listing.lines, strict=True)):
        wrong = "the text has other instructions than the binary"
        raise InputError("replay", {"lines": len(listing.lines)}, wrong, "change dependences alone")


def _slowed(
    code: Sequence[Timed], slower: float, seed: int | None, only: frozenset[int]
) -> tuple[Timed, ...]:
    """Return the same with other latencies: of all, by chance, or of some alone.

    A DPAS then reads until its end, and is not slower: the compiler writes no dependence between
    two of an `{Atomic}` run, so many rows lie between them. What in-order pipes compute is there
    after as many instructions as `[[reach]]` says, as no dependence is written beyond that.
    """
    if slower == 1:
        return tuple(code)
    random = Random(seed)

    def factor(number: int) -> float:
        if only:
            return slower if number in only else 1 / slower
        return slower if seed is None else random.choice((1 / slower, 1.0, slower))

    out: list[Timed] = []
    for one in code:
        by = factor(one.number)
        if one.what == "dpas":
            out.append(replace(one, read=one.done))
        elif one.what == "jump":
            out.append(one)
        else:
            out.append(replace(one, done=ceil(one.done * by), read=ceil(one.read * by)))
    return tuple(out)


_Bytes = tuple[NDArray[Any], NDArray[Any]]
"""What registers hold, as they copy it."""
_Fetched = dict[int, _Bytes]
"""What atomics of a thread returned, by the place in its way."""


@dataclass(frozen=True)
class _Untimed:
    """A run without clocks: ways of threads and what their atomics returned, by group; outputs."""

    paths: dict[tuple[int, ...], list[list[int]]]
    fetched: dict[tuple[int, ...], list[_Fetched]]
    outputs: dict[str, NDArray[Any]]


def _untimed(
    binary: Binary, problem: Problem, fetching: Mapping[int, NDArray[np.int64]]
) -> _Untimed:
    """Run without clocks, and keep what instructions of ``fetching`` write to these registers."""
    launch = Launch(binary, problem)
    ways: list[list[int]] = []
    fetched: list[_Fetched] = []

    def noted(number: int, step: Any) -> Any:
        def take(state: State, around: Around) -> Any:
            way = ways[state.progress.index]
            way.append(number)
            outcome = step(state, around)
            if number in fetching:
                kept = state.registers.copied(fetching[number])
                fetched[state.progress.index][len(way) - 1] = kept
            return outcome

        return take

    steps = Steps(tuple(noted(i, step) for i, step in enumerate(launch.steps.steps)))
    made = _Untimed({}, {}, {})
    for group in launch.groups:
        ways = [[] for _ in range(problem.kernel.subgroups)]
        fetched = [{} for _ in range(problem.kernel.subgroups)]
        run_group(launch, steps, group, Around(launch.memory, launch.shared(), Trace(), Trace()))
        made.paths[group], made.fetched[group] = ways, fetched
    return replace(made, outputs=launch.outputs())


class _Ended(Exception):
    """The batch cannot go on."""


@dataclass(eq=False)
class _Thread:
    """A thread, and when what is on its way lands, and is read, by place."""

    state: State
    around: Around
    barriers: Barriers
    index: int
    lands: NDArray[np.float64] = field(default_factory=lambda: np.zeros(PLACES))
    maker: NDArray[np.int32] = field(default_factory=lambda: np.full(PLACES, -1, np.int32))
    reads: NDArray[np.float64] = field(default_factory=lambda: np.zeros(PLACES))
    reader: NDArray[np.int32] = field(default_factory=lambda: np.full(PLACES, -1, np.int32))
    over: list[float] = field(default_factory=lambda: [0.0] * 8)


_LAND, _START, _EXECUTE = 0, 1, 2


@cache
def _reach() -> dict[int, int]:
    """After how many instructions of a thread a result is there, by the number of its pipe."""
    return {
        PIPES.index(pipe): cast("int", row["instructions"])
        for row in rows("timing", "reach")
        for pipe in cast("tuple[str, ...]", row["pipes"])
    }


def _landings(path: Sequence[int]) -> list[int]:
    """For each place of a way the first behind the next jump that is taken.

    Both compilers that were looked at write no dependence on in-order pipes across one.
    """
    out, after = [0] * len(path), len(path)
    for place in reversed(range(len(path))):
        out[place] = after
        if place and path[place] != path[place - 1] + 1:
            after = place
    return out


class _Batch:
    """Work-groups that run together, driven by the starts of a simulation."""

    def __init__(
        self, launch: Launch, groups: Sequence[tuple[int, ...]], paths: Sequence[Sequence[int]],
        code: Sequence[Timed], usual: Sequence[Timed], parts: Sequence[Touched],
        fetched: Sequence[_Fetched],
    ) -> None:  # fmt: skip
        self.steps, self.paths, self.code, self.parts = launch.steps.steps, paths, code, parts
        self.usual, self.fetched = usual, fetched
        self.hazards: list[Hazard] = []
        self.threads: list[_Thread] = []
        for group in groups:
            states = launch.states(group)
            around = Around(launch.memory, launch.shared(), Trace(), Trace())
            barriers = Barriers([state.progress for state in states])
            self.threads += [_Thread(state, around, barriers, i) for i, state in enumerate(states)]

    def run(self, issues: Sequence[Issue]) -> list[Hazard]:
        """Execute every start in the order of its clocks; return the hazards."""
        landing: dict[int, tuple[Any, ...]] = {}
        events = self._events(issues)
        try:
            with np.errstate(all="ignore"):
                for now, kind, at in events:
                    issue = issues[at]
                    if kind == _LAND:
                        self._land(issue, landing.pop(at, None))
                    elif kind == _START:
                        self._start(issue, now)
                    else:
                        landing[at] = self._execute(issue)
            if len(issues) < sum(map(len, self.paths)):
                self._hazard(issues[-1], -1, "never goes on", "threads wait for ever")
        except _Ended:
            pass
        return self.hazards

    def _events(self, issues: Sequence[Issue]) -> list[tuple[float, int, int]]:
        """What happens when: a pipe ends its instructions in order, messages start in order."""
        events: list[tuple[float, int, int]] = []
        self.done: dict[tuple[int, int], float] = {}
        starts = {(issue.thread, issue.place): issue.at for issue in issues}
        reach, landings = _reach(), [_landings(path) for path in self.paths]
        for at, issue in enumerate(issues):
            thread, one = self.threads[issue.thread], self._timed(issue)
            when, done = issue.at, issue.done
            if one.what == "message":
                # It reads what it is given in the usual time, and may be late in letting it go.
                usual = self.usual[one.number].read
                when = thread.over[7] = max(min(issue.read, issue.at + usual), thread.over[7])
            elif one.what == "arrive":
                when = max(when, thread.over[7])
            elif one.pipe < 5:
                done = max(done, thread.over[one.pipe])
                if one.pipe in reach:
                    behind = min(issue.place + reach[one.pipe], landings[issue.thread][issue.place])
                    done = min(done, starts.get((issue.thread, behind), done))
                thread.over[one.pipe] = done
            done = max(done, when + 1)
            self.done[issue.thread, issue.place] = done
            events += ((issue.at, _START, at), (when, _EXECUTE, at), (done, _LAND, at))
        return sorted(events)

    def _timed(self, issue: Issue) -> Timed:
        return self.code[self.paths[issue.thread][issue.place]]

    def _hazard(self, issue: Issue, other: int, kind: str, words: str) -> None:
        if len(self.hazards) < _MOST_HAZARDS:
            number = self.paths[issue.thread][issue.place]
            self.hazards.append(Hazard(issue.thread, number, other, kind, words))
        if kind in _ENDING:
            raise _Ended

    def _start(self, issue: Issue, now: float) -> None:
        """Report what is on its way where an instruction reads and writes."""
        thread, number = self.threads[issue.thread], self.paths[issue.thread][issue.place]
        part, done = self.parts[number], self.done[issue.thread, issue.place]
        reads, writes = part.reads, part.writes
        if reads.size:
            self._late(issue, reads, thread.lands, thread.maker, now, "read too early")
            if issue.read > now:
                thread.reader[reads[thread.reads[reads] < issue.read]] = number
                thread.reads[reads] = np.maximum(thread.reads[reads], issue.read)
        if writes.size:
            self._late(issue, writes, thread.lands, thread.maker, done, "written out of order")
            # An instruction's own sources may be what it writes.
            others = writes[thread.reader[writes] != number]
            self._late(issue, others, thread.reads, thread.reader, done, "overwritten too early")
            thread.lands[writes] = np.maximum(thread.lands[writes], done)
            thread.maker[writes] = number

    def _late(
        self, issue: Issue, places: NDArray[np.int64], when: NDArray[np.float64],
        whose: NDArray[np.int32], limit: float, kind: str,
    ) -> None:  # fmt: skip
        late = places[when[places] > limit]
        if late.size:
            first = int(late[0])
            words = f"byte {first % 64} of r{first // 64} by instruction {whose[first]}"
            self._hazard(issue, int(whose[first]), kind, words)

    def _execute(self, issue: Issue) -> tuple[Any, ...]:
        """Execute an instruction and take back what it wrote; return what will land."""
        thread, path = self.threads[issue.thread], self.paths[issue.thread]
        number, state = path[issue.place], thread.state
        part = self.parts[number]
        places = part.writes
        before = state.registers.copied(places)
        self._step(issue, number)
        fetched = self.fetched[issue.thread].get(issue.place)
        after = state.registers.copied(places) if fetched is None else fetched
        state.registers.restore(places, *before)
        if part.some:
            changed = (after[0] != before[0]) | (after[1] != before[1])
            places, after = places[changed], (after[0][changed], after[1][changed])
        return places, after

    def _step(self, issue: Issue, number: int) -> None:
        thread = self.threads[issue.thread]
        try:
            outcome = self.steps[number](thread.state, thread.around)
            if outcome is None or isinstance(outcome, int):
                self._goes(issue, number + 1 if outcome is None else outcome)
            else:
                self._meet(issue, thread, outcome)
        except CuteError as error:
            self._hazard(issue, -1, "fault", error.condition)

    def _goes(self, issue: Issue, to: int) -> None:
        path = self.paths[issue.thread]
        if to != END and issue.place + 1 < len(path) and path[issue.place + 1] != to:
            self._hazard(issue, -1, "went another way", f"to instruction {to}")

    def _meet(self, issue: Issue, thread: _Thread, meeting: Any) -> None:
        """Arrive at a barrier, or pass it."""
        if isinstance(meeting, Arrive):
            thread.barriers.arrive(thread.index, meeting)
            if thread.around.slm is not None:
                thread.around.slm.arrived(thread.state.progress)
            return
        thread.barriers.expect_wait(thread.index, meeting)
        if not thread.barriers.may_pass(thread.index, meeting):
            self._hazard(issue, -1, "barrier passed too early", "not all threads have arrived")
        thread.barriers.passes(thread.index, meeting)

    def _land(self, issue: Issue, landing: tuple[Any, ...] | None) -> None:
        if landing is not None:
            places, after = landing
            self.threads[issue.thread].state.registers.restore(places, *after)
