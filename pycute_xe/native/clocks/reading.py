"""`timing`: machine code of any maker, read and run clock by clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Literal, get_args

from pycute_xe.arch import Target, get_target
from pycute_xe.costing import Device
from pycute_xe.costing.device import get_device
from pycute_xe.errors import InputError, ToolError, quoted
from pycute_xe.native.clocks.bringing import brought
from pycute_xe.native.clocks.core import CAUSES, ENGINES, Outcome, Structure, simulate
from pycute_xe.native.clocks.costs import PIPES, Figures, Timed, figures_of, timed
from pycute_xe.native.clocks.path import Way, way_of
from pycute_xe.native.clocks.report import Start, Timing, Waited
from pycute_xe.native.clocks.text import Listing, read_text
from pycute_xe.native.compiler import Binary, kernels_of
from pycute_xe.native.explaining import explain
from pycute_xe.native.toolchain import missing, toolchain_for
from pycute_xe.signatures import typed

__all__ = ["STRUCTURES", "timing"]

STRUCTURES = tuple(
    Structure(first, together)
    for first, together in product(("oldest", "round_robin"), (False, True))
)
"""What documents leave open, in all combinations."""
_STARTS, _GAINS, _ISSUES, _LONG, _MOST = 40_000, 3, 60_000, 40_000, 120_000
Level = Literal["l1", "l2", "memory"]


@typed
def timing(
    code: Binary | str | bytes,
    target: str | Target = "",
    threads: int = 4,
    *,
    group: int = 0,
    trips: int = 0,
    level: Level | None = None,
    figures: Mapping[str, float] | None = None,
    gains: int = 0,
    statements: bool = False,
    kernel: str = "",
    sizes: Mapping[str, int] | None = None,
    device: str | Target | Device | None = None,
) -> Timing:
    """Return what an Xe core does clock by clock while its threads run machine code in order.

    ``code`` is a binary of `compile`, the bytes of a zebin of any maker, or the text that ``iga64
    -d`` prints. Eight engines run ``threads`` threads each, of which ``group`` share a barrier (the
    subgroups of a kernel, else all). The main loop, that with most DPAS, makes ``trips`` trips; the
    clocks of a trip are those of all but the first third and the last sixth. Loads find their bytes
    at ``level``: L1 where the loop prefetches, else L2. ``figures`` replaces figures of
    `atoms/timing.toml`; for so many
    ``gains`` of the instructions that wait longest, it is computed what a trip loses without them.
    ``statements`` names the statement of the kernel that each instruction came from, as `explain`
    attributes it: for a binary of `compile` alone. Of a zebin with several kernels the first is
    read, or that of the name ``kernel``. With the ``sizes`` of a problem, for a binary of
    `compile`, the interval holds what L2 and memory need for the bytes of a trip on a ``device``,
    the first of the target if left out: both bring bytes while the threads compute, so that a trip
    takes as long as the slowest of them.

    Raises `InputError` for an unknown instruction, `TargetError` for a target without figures,
    `ToolError` where machine code is given and the disassembler is missing.

    >>> text = "(W) add (1|M0) r1.0<1>:d r1.0<0;1,0>:d 1:w {I@1}"
    >>> timing(text, "bmg", 1).cycles
    1.0
    """
    _demand_counts(threads, group, trips, gains, level)
    name = get_target(target or (code.target if isinstance(code, Binary) else "bmg")).name
    used = figures_of(name).changed(dict(figures or {}))
    listing = read_text(_text(code, name, kernel))
    together = group or _group(code, threads)
    if threads * ENGINES % together:
        wrong = f"work-groups of {together} threads do not fill {threads * ENGINES} threads"
        raise InputError("timing", {"group": together}, wrong, "give group and threads that do")
    way = way_of(listing, lambda main: trips or _trips(main, threads), _MOST // (threads * ENGINES))
    made = timed(listing, used, level or _level(listing, way.main))
    run = _Run(listing, made, used, way, threads, together)
    outcomes = [run.of(structure) for structure in STRUCTURES]
    out = _report(name, run, outcomes, min(gains, len(made)) or 0)
    if sizes is not None or device is not None:
        out = _bounded(out, code, sizes or {}, get_device(device or name))
    return _attributed(out, code, listing) if statements else out


def _demand_counts(threads: int, group: int, trips: int, gains: int, level: str | None) -> None:
    """Refuse numbers below 0, more threads than an engine has, and an unknown level."""
    if type(threads) is not int or not 1 <= threads <= 8:
        wrong = f"an engine does not have {quoted(threads)} threads"
        fix = "use 4 with 256 registers, else 8"
        raise InputError("timing", {"threads": quoted(threads)}, wrong, fix)
    for name, value in (("group", group), ("trips", trips), ("gains", gains)):
        if type(value) is not int or value < 0:
            wrong = f"{name} is {quoted(value)}, must be 0 or more"
            raise InputError("timing", {name: quoted(value)}, wrong, f"leave {name} out")
    if level not in (None, *get_args(Level)):
        wrong = f"level is {quoted(level)}, must be one of {', '.join(get_args(Level))}"
        raise InputError("timing", {"level": quoted(level)}, wrong, "leave level out")


def _bounded(
    report: Timing, code: Binary | str | bytes, sizes: Mapping[str, int], device: Device
) -> Timing:
    """Return the same with what L2 and memory need."""
    if not isinstance(code, Binary) or code.kernel is None:
        wrong = "the bytes of a trip are known of a kernel, not of machine code alone"
        fix = "give what compile(kernel) returns, or leave sizes and device out"
        raise InputError("timing", {"sizes": dict(sizes)}, wrong, fix)
    if device.target.name != report.target:
        wrong = f"{device.name} is a device of {device.target.name}, not of {report.target}"
        raise InputError(
            "timing", {"device": device.name}, wrong, f"use target={device.target.name!r}"
        )
    inside = report.instructions[report.loop[0] : report.loop[1] + 1]
    dpas = sum(" dpas" in f" {each.text}" for each in inside) if report.loop != (-1, -1) else 0
    levels = brought(code.kernel, device, sizes, dpas, report.threads * ENGINES)
    figures = (device[name] for name in dict.fromkeys(f for one in levels for f in one.figures))
    named = tuple((f.name, f.least, f.kind, f.source) for f in figures)
    return replace(
        report,
        least=max(report.least, *(one.least for one in levels)),
        most=max(report.most, *(one.most for one in levels)),
        structures=report.structures + tuple(row for one in levels for row in one.structures),
        figures=report.figures + named,
        bandwidth=True,
    )


def _attributed(report: Timing, code: Binary | str | bytes, listing: Listing) -> Timing:
    """Return the same with the statements that instructions came from."""
    if not isinstance(code, Binary) or code.kernel is None:
        wrong, fix = "machine code alone has no statements", "give what compile(kernel) returns"
        raise InputError("timing", {"statements": True}, wrong, fix)
    made = explain(code.kernel, code.target, code.registers, code.toolchain.version)
    if len(made.instructions) != len(listing.lines):
        wrong = "with line records the compiler makes other instructions of this kernel"
        raise ToolError("timing", {"kernel": code.kernel.name}, wrong, "leave statements out")
    titles = {part.number: " ".join(part.title.split()) for part in made.parts}
    of = {each.number: titles.get(each.part, "") for each in made.instructions}
    named = (replace(each, statement=of[each.number]) for each in report.instructions)
    return replace(report, instructions=tuple(named))


def _text(code: Binary | str | bytes, target: str, kernel: str) -> str:
    if not isinstance(code, bytes):
        if kernel:
            wrong, fix = "one kernel is given, and none to choose", "leave kernel out"
            raise InputError("timing", {"kernel": quoted(kernel)}, wrong, fix)
        return code.disassembly if isinstance(code, Binary) else code
    if without := missing(target):
        raise ToolError("timing", {"target": target}, without, "give the text of iga64 -d")
    kernels = kernels_of(code)
    if not kernels:
        raise InputError("timing", {}, "the binary has no kernel", "ask ocloc for --format zebin")
    name = kernel or next(iter(kernels))
    if name not in kernels:
        wrong = f"the binary has no kernel {quoted(kernel)}"
        fix = f"use one of {', '.join(kernels)}"
        raise InputError("timing", {"kernel": quoted(kernel)}, wrong, fix)
    return toolchain_for(target).listing(code, name, kernels[name], target)


def _group(code: Binary | str | bytes, threads: int) -> int:
    kernel = code.kernel if isinstance(code, Binary) else None
    return min(kernel.subgroups, threads * ENGINES) if kernel else threads * ENGINES


def _level(listing: Listing, main: tuple[int, int] | None) -> str:
    inside = listing.lines[main[0] : main[1] + 1] if main else listing.lines
    ahead = any(line.kind == "send" and line.to == "null" and _loads(line.descriptor)
                for line in inside)  # fmt: skip
    return "l1" if ahead else "l2"


def _loads(descriptor: int | None) -> bool:
    return descriptor is not None and descriptor & 0x3F in (0, 2, 3)


def _trips(main: tuple[int, int] | None, threads: int) -> int:
    long = (main[1] - main[0] + 1) * threads * ENGINES if main else 1
    # Of so long a loop a fourth trip changes the interval by less than 0.1 percent.
    return max(3 if long > _LONG else 5, min(16, _ISSUES // long))


class _Run:
    """What all structures have in common."""

    def __init__(
        self, listing: Listing, made: Sequence[Timed], figures: Figures, way: Way, threads: int,
        group: int,
    ) -> None:  # fmt: skip
        self.listing, self.made, self.figures, self.way = listing, made, figures, way
        self.threads, self.group = threads, group

    def of(self, structure: Structure, without: int = -1) -> Outcome:
        """Simulate a structure, one instruction taking no time."""
        code = list(self.made)
        if without >= 0:
            code[without] = replace(code[without], busy=0, done=0, read=0, nbytes=0, returned=0)
        return simulate(
            code, self.listing, self.way.path, self.way.heads, self.figures, structure,
            threads=self.threads, group=self.group, keep=0 if without >= 0 else ENGINES * 4,
        )  # fmt: skip


def _trip(outcome: Outcome) -> float:
    """Clocks of a trip, without the first third and the last sixth; all clocks without a loop."""
    when = outcome.trips
    if len(when) < 2:
        return outcome.cycles
    first, last = len(when) // 3, len(when) - 1 - len(when) // 6
    return (when[last] - when[first]) / (last - first)


def _report(name: str, run: _Run, outcomes: list[Outcome], gains: int) -> Timing:
    clocks = [_trip(each) for each in outcomes]
    slow = outcomes[clocks.index(max(clocks))]
    waited = _waited(run.listing, slow)
    worst = sorted(waited, key=lambda each: -each.stalled)[:gains]
    lost = [(w.number, max(clocks) - _trip(run.of(slow.structure, w.number))) for w in worst]
    share = slow.cycles * ENGINES or 1
    when = slow.trips
    last = [b - a for a, b in pairwise(when)][-2:]
    loop = run.way.main or (-1, -1)
    return Timing(
        target=name,
        threads=run.threads,
        group=run.group,
        loop=loop,
        trips=run.way.trips,
        least=min(clocks),
        most=max(clocks),
        cycles=slow.cycles,
        scratch=_scratch(run),
        left_out=run.way.left_out,
        structures=tuple((str(o.structure), c) for o, c in zip(outcomes, clocks, strict=True)),
        steady=len(last) < 2 or abs(last[1] - last[0]) <= 0.01 * last[1],
        pipes=tuple((pipe, slow.used[i] / share) for i, pipe in enumerate(PIPES[:6])),
        instructions=waited,
        states=tuple(map(tuple, slow.states)),
        gains=tuple(lost),
        figures=run.figures.values,
        starts=_starts(slow, when),
    )


def _scratch(run: _Run) -> int:
    """Messages to and from scratch in a trip: to the surface of a thread's own memory."""
    first, last = run.way.main or (0, -1)
    inside = run.listing.lines[first : last + 1]
    return sum(
        line.kind == "send" and line.sub == "ugm" and (line.descriptor or 0) >> 29 & 3 == 2
        for line in inside
    )


def _waited(listing: Listing, outcome: Outcome) -> tuple[Waited, ...]:
    longest: dict[int, tuple[float, int]] = {}
    for (number, producer), clocks in outcome.producers.items():
        longest[number] = max(longest.get(number, (0.0, -1)), (clocks, producer))
    return tuple(
        Waited(
            number=line.number,
            text=line.text,
            started=outcome.counts[line.number],
            stalls=tuple(
                (cause, clocks)
                for cause, clocks in zip(CAUSES, outcome.stalls[line.number], strict=True)
                if clocks and cause != "active"
            ),
            producer=longest.get(line.number, (0.0, -1))[1],
        )
        for line in listing.lines
    )


def _starts(outcome: Outcome, when: Sequence[float]) -> tuple[Start, ...]:
    """Starts of the threads of the first engine, of the last two trips where there are so many."""
    begin = when[-3] if len(when) > 2 else 0
    end = when[-1] if len(when) > 2 else outcome.cycles
    return tuple(
        Start(thread, number, first, last, PIPES[pipe])
        for thread, number, first, last, pipe in outcome.events
        if thread % ENGINES == 0 and begin <= first < end and pipe != 6
    )[:_STARTS]
