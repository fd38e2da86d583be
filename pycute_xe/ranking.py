"""Candidates of `explore`, ranked by the machine code that the compiler makes of them.

This joins `exploring`, which knows no compiler, and `native.timing`, which knows no candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from pycute_xe import exploring
from pycute_xe.arch.target import Target
from pycute_xe.costing import Cost, Device, cost_of, facts_of
from pycute_xe.errors import CuteError, InputError, quoted
from pycute_xe.exploring import Explored, Priced, Space
from pycute_xe.exploring.pricing import Objective
from pycute_xe.native import Binary, compile, timing
from pycute_xe.native.toolchain import missing, toolchain_for
from pycute_xe.signatures import typed

__all__ = ["Ranked", "Timed", "explore", "timed"]


@dataclass(frozen=True, slots=True)
class Timed:
    """A candidate with what `cost` says, and the seconds by its machine code over the problems."""

    priced: Priced
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.least * 1e3:8.4g} to {self.most * 1e3:8.4g} ms  {self.priced.candidate}"


@dataclass(frozen=True, slots=True)
class Ranked:
    """The first candidates by cost, ranked by the machine code of each, and why others are not.

    ``refused`` has each of the others with its reason. Nothing was measured.
    """

    explored: Explored
    best: tuple[Timed, ...]
    refused: tuple[tuple[Priced, str], ...]

    def reordered(self) -> Explored:
        """Return the exploration with these as its best. Raises `InputError` where none is left."""
        if not self.best:
            wrong = "every candidate is refused"
            raise InputError("timed", {}, wrong, "rank more candidates")
        notes = tuple(f"refused: {one.candidate}: {why}" for one, why in self.refused)
        return replace(
            self.explored,
            best=tuple(one.priced for one in self.best),
            clocks=tuple((one.least, one.most) for one in self.best),
            notes=notes,
        )

    def __str__(self) -> str:
        """The candidates by their machine code, then those that are refused."""
        lines = [f"by machine code on {self.explored.device}: estimates, not measured"]
        lines += [f"  {one}" for one in self.best]
        lines += [f"  refused: {one.candidate}: {why}" for one, why in self.refused]
        return "\n".join(lines)


@typed
def explore(
    space: Space,
    target: str | Target | Device,
    problems: Iterable[Mapping[str, int]],
    *,
    objective: Objective = "most",
    best: int = 10,
    log: str | Path | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, tuple[Priced, ...]], object] | None = None,
    timed: int = 0,
) -> Explored:
    """Return the candidates of a space that cost least on a device, summed over problems.

    ``objective`` is the end of the interval of `cost` that counts: "most", as if nothing
    overlapped and every figure were at its worst, or "least"; where it is the same the other end
    decides, then the fewest DPAS, messages and barriers, of which no time is known. Rules of
    arithmetic refuse first; survivors are built in the order of their lower bounds, until no other
    can be among the ``best``: the answer is that of building all. ``log`` is a file of JSON
    lines that a stopped run goes on from; ``executor`` prices batches elsewhere, some at a time,
    one whose worker dies again. ``progress`` is called with the number built and the best so far.
    The first ``timed`` of these are ranked by their machine code, before the others, where a
    compiler for the target is; where none is, the answer says so and stays in the order of `cost`.

    Raises `InputError` for problems without M, N and K and for a log of another exploration or with
    a damaged line, named, `TargetError` for an unknown device.

    >>> import pycute_xe as cx
    >>> few = cx.Space((128, 256), (128, 256), (32,), ((4, 4), (8, 4)), (2,), (8,))
    >>> explored = explore(few, "b580", [{"M": 4096, "N": 4096, "K": 4096}], best=1)
    >>> explored.best[0].candidate.tile, dict(explored.refused)
    ((256, 256, 32), {'register-file': 1})
    """
    if type(timed) is not int or timed < 0:
        wrong = f"timed is {quoted(timed)}, must be 0 or more"
        raise InputError("explore", {"timed": quoted(timed)}, wrong, "use timed=100")
    most = max(best, timed) if type(best) is int and best > 0 else best
    explored = exploring.explore(
        space, target, problems,
        objective=objective, best=most, log=log, executor=executor, progress=progress,
    )  # fmt: skip
    if timed and explored.best:
        explored = _in_order_of_clocks(explored, timed)
    return replace(explored, best=explored.best[:best], clocks=explored.clocks[:best])


def _in_order_of_clocks(explored: Explored, count: int) -> Explored:
    """Return the same in the order of machine code, or a note that says why it is not."""
    if without := missing(explored.device.target.name):
        return replace(explored, notes=(f"not timed: {without}",))
    ranked = timed(explored, count)
    if ranked.best:
        first = ranked.reordered()
        return replace(first, best=first.best + explored.best[count:])
    notes = (f"refused: {one.candidate}: {why}" for one, why in ranked.refused)
    return replace(explored, notes=("not timed: every candidate is refused", *notes))


@typed
def timed(
    explored: Explored, count: int = 100, *, progress: Callable[[int], object] | None = None
) -> Ranked:
    """Return the first so many candidates of an exploration, ranked by their machine code.

    Each is compiled for the target and its main loop run clock by clock (`native.timing`); the
    seconds are those of its trips on the core that has most work-groups, and not below those that
    `cost` says of memory, which the clocks do not know. A candidate whose code uses scratch is
    refused with that reason, and so is one that is not compiled or timed. ``progress`` is called
    with the number that is ready. Raises `InputError` for a count below 1, `ToolError` without a
    compiler.

    >>> import pycute_xe as cx
    >>> few = cx.Space((256,), (256,), (32,), ((8, 4),), (2,), (8,))
    >>> explored = cx.explore(few, "b580", [{"M": 4096, "N": 4096, "K": 4096}])
    >>> try:
    ...     timed(explored, 0)
    ... except InputError as error:
    ...     print(error)
    timed(count=0): count must be 1 or more. Way out: use 100
    """
    if type(count) is not int or count < 1:
        raise InputError("timed", {"count": count}, "count must be 1 or more", "use 100")
    toolchain_for(explored.device.target.name)  # raises where none is
    best: list[Timed] = []
    refused: list[tuple[Priced, str]] = []
    for number, priced in enumerate(explored.best[:count], 1):
        outcome = _timed(priced, explored.device, explored.problems)
        if isinstance(outcome, str):
            refused.append((priced, outcome))
        else:
            best.append(Timed(priced, *outcome))
        if progress is not None:
            progress(number)
    best.sort(key=lambda one: (one.most, one.least, one.priced.candidate.key))
    return Ranked(explored, tuple(best), tuple(refused))


def _timed(
    priced: Priced, device: Device, problems: tuple[tuple[tuple[str, int], ...], ...]
) -> tuple[float, float] | str:
    """Return the seconds of a candidate over problems, or why it has none."""
    candidate = priced.candidate
    known = facts_of(candidate.kernel(), device.target, candidate.mode)
    try:
        binary = compile(known.kernel, device.target, known.grf_mode)
        if binary.scratch:
            return f"the compiled code uses {binary.scratch} bytes of scratch for each thread"
        every = [_seconds(cost_of(known, device, dict(one)), binary) for one in problems]
    except CuteError as error:
        return error.condition
    return sum(least for least, _ in every), sum(most for _, most in every)


def _seconds(cost: Cost, binary: Binary) -> tuple[float, float]:
    """Return how long the core with most work-groups runs its trips, or memory is busy."""
    facts, device = cost.facts, cost.device
    shares = -(-facts.groups // device.cores)
    at_once = min(facts.resident, shares)
    threads = max(1, -(-at_once * facts.subgroups // device.engines))
    group = facts.subgroups if threads * device.engines % facts.subgroups == 0 else 0
    clocks = timing(binary, device.target, threads, group=group)
    inside = [each.text for each in clocks.instructions[clocks.loop[0] : clocks.loop[1] + 1]]
    many = sum(" dpas" in f" {text}" for text in inside)
    if not many:
        raise InputError("timed", {}, "the compiled loop has no DPAS", "use larger tiles")
    trips = facts.dpas / (facts.groups * facts.subgroups * many) * -(-shares // at_once)
    clock, memory = device["clock"], next(b for b in cost.bounds if b.resource == "memory")
    least = max(trips * clocks.least / (clock.most * 1e6), memory.least)
    return least, max(trips * clocks.most / (clock.least * 1e6), memory.most)
