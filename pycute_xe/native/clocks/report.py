"""What a simulation says, as a value: text, record and drawing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from pycute_xe.drawing.scene import Cell, Scene, make_panel
from pycute_xe.errors import InputError
from pycute_xe.native.clocks.core import CAUSES
from pycute_xe.native.clocks.costs import PIPES
from pycute_xe.signatures import typed, typed_fields

__all__ = ["NOT_MODELLED", "Start", "Timing", "Waited"]

_BANDWIDTH = "bandwidth of L2 and memory"
NOT_MODELLED = (
    "register banks", "instruction cache", "power", _BANDWIDTH,
    "what other work-groups, prologues and tails do",
)  # fmt: skip
_WORST, _ACROSS = 12, 128


@dataclass(frozen=True, slots=True)
class Waited:
    """An instruction: how often it started, clocks by cause, and what it waited for longest.

    ``stalls`` are pairs of a name of Intel's EU stall sampling and clocks of all threads, without
    those of "active"; ``producer`` is the number of the instruction waited for, -1 for none.
    """

    number: int
    text: str
    started: int
    stalls: tuple[tuple[str, float], ...]
    producer: int
    statement: str = ""

    @property
    def stalled(self) -> float:
        """Clocks of all threads in which it waited."""
        return sum(clocks for _, clocks in self.stalls)


@dataclass(frozen=True, slots=True)
class Start:
    """A start of an instruction: thread, number, first clock, clock behind the last, pipe."""

    thread: int
    number: int
    first: float
    last: float
    pipe: str


@typed_fields
@dataclass(frozen=True)
class Timing:
    """Clocks of a trip as an interval over the structures that documents leave open.

    ``cycles`` is what the simulated part took and ``pipes`` the use of each pipe, at most 1, both
    where a trip takes longest; so are ``instructions`` and ``states``, clocks of each thread in the
    states of Intel's EU stall sampling. ``structures`` are the clocks of a trip in each structure.
    ``bandwidth`` says that they include what L2 and memory need, of a problem with sizes.
    Of a long way ``left_out`` instructions before and behind the loop were not run.
    Made by `timing`.
    """

    target: str
    threads: int
    group: int
    loop: tuple[int, int]
    trips: int
    least: float
    most: float
    cycles: float
    scratch: int
    left_out: int
    structures: tuple[tuple[str, float], ...]
    steady: bool
    pipes: tuple[tuple[str, float], ...]
    instructions: tuple[Waited, ...]
    states: tuple[tuple[float, ...], ...]
    gains: tuple[tuple[int, float], ...]
    figures: tuple[tuple[str, float, str, str], ...]
    starts: tuple[Start, ...] = field(repr=False)
    bandwidth: bool = False

    def tflops(self, operations: float, cores: int, mhz: float) -> tuple[float, float]:
        """Return TFLOP/s, the least and the most, of so many operations of a core in a trip."""
        least, most = (operations * cores * mhz * 1e-6 / c for c in (self.most, self.least))
        return least, most

    @typed
    def gain(self, number: int) -> float:
        """Return the clocks a trip would lose if an instruction took no time.

        Raises `InputError` for one that is not among the worst, for which alone it is known.
        """
        for each, clocks in self.gains:
            if each == number:
                return clocks
        known = ", ".join(str(each) for each, _ in self.gains) or "none"
        wrong = f"no gain is known of instruction {number}"
        raise InputError("timing", {"number": number}, wrong, f"use one of {known}")

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """What the clocks leave out."""
        return tuple(one for one in NOT_MODELLED if not self.bandwidth or one != _BANDWIDTH)

    @property
    def worst(self) -> tuple[Waited, ...]:
        """The instructions that waited longest, those that move registers to scratch first."""
        waited = (each for each in self.instructions if each.stalled)
        return tuple(sorted(waited, key=lambda each: -each.stalled)[:_WORST])

    def __str__(self) -> str:
        """The interval, structures, pipes, what waits longest, and what is not modelled."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.scratch:
            yield f"warning: each trip sends {self.scratch} messages to or from scratch"
        what = "a trip" if self.loop != (-1, -1) else "in all"
        kept = "" if self.steady else " (the clocks of a trip still change)"
        yield (
            f"{self.least:,.0f} to {self.most:,.0f} clocks {what} on {self.target}, 8 engines of "
            f"{self.threads} threads{kept}; {self.cycles:,.0f} simulated"
        )
        if self.loop != (-1, -1):
            yield f"the loop is instructions {self.loop[0]} to {self.loop[1]}, {self.trips} trips"
        if self.left_out:
            yield f"left out: {self.left_out:,} instructions of a thread before and behind the loop"
        yield from (f"  {name:32} {clocks:10,.0f}" for name, clocks in self.structures)
        used = ", ".join(f"{name} {share:.0%}" for name, share in self.pipes if share)
        yield f"pipes: {used}"
        total = sum(map(sum, self.states)) or 1
        shares = ((n, sum(s[i] for s in self.states) / total) for i, n in enumerate(CAUSES))
        yield "threads: " + ", ".join(f"{name} {share:.0%}" for name, share in shares if share)
        yield "what waits longest, clocks of all threads:"
        gains = dict(self.gains)
        for each in self.worst:
            why = max(each.stalls, key=lambda pair: pair[1])[0]
            by = f" for {each.producer}" if each.producer >= 0 else ""
            gain = f", {gains[each.number]:,.0f} a trip" if each.number in gains else ""
            of = f" [{each.statement}]" if each.statement else ""
            yield f"  {each.stalled:10,.0f} {why}{by}{gain}: {each.number} {each.text[:70]}{of}"
        yield f"not modelled: {', '.join(self.not_modelled)}"
        assumed = ", ".join(f"{n} {v:g}" for n, v, kind, _ in self.figures if kind == "assumed")
        yield f"assumed: {assumed}"

    def to_json(self) -> str:
        """Return the whole as JSON."""
        return json.dumps(asdict(self))

    @property
    def scene(self) -> Scene:
        """A row for each thread of an engine, a cell for some clocks: pipes in colours."""
        rows = sorted({start.thread for start in self.starts})
        first = min((s.first for s in self.starts), default=0)
        last = max((s.last for s in self.starts), default=1)
        step = max(1.0, (last - first) / _ACROSS)
        cells: list[Cell] = []
        for row, thread in enumerate(rows):
            mine = [s for s in self.starts if s.thread == thread]
            for col in range(_ACROSS):
                at = first + col * step
                inside = [s for s in mine if s.first < at + step and at < s.last]
                clocks = (("clock", int(at)), ("thread", thread))
                if inside:
                    longest = max(inside, key=lambda s: min(s.last, at + step) - max(s.first, at))
                    colour = PIPES.index(longest.pipe)
                    tip = f"clock {at:.0f}: {self.instructions[longest.number].text}"
                    cells.append(Cell(row, col, colour, (longest.pipe[0],), clocks, tip))
                else:
                    cells.append(Cell(row, col, None, ("/",), clocks, f"clock {at:.0f}: waits"))
        panel = make_panel("an engine", cells, ("thread", ""), False, (0, 0))
        caption = (
            f"A column is {step:.0f} clocks from clock {first:.0f} on; a hatched cell waits.",
            "Colours are pipes, letters their first ones.",
            f"Not modelled: {', '.join(self.not_modelled)}.",
        )
        title = f"{self.least:,.0f} to {self.most:,.0f} clocks a trip on {self.target}"
        return Scene(title, caption, (panel,), "pipe", PIPES)
