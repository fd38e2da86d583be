"""What an instruction occupies and when its result is there, by the rows of `atoms/timing.toml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, cast

from pycute_xe.arch import get_target
from pycute_xe.errors import TargetError, quoted
from pycute_xe.facts import rows_for
from pycute_xe.native.clocks.text import Line, Listing

__all__ = ["PIPES", "Figures", "Timed", "figures_of", "is_atomic", "timed"]

PIPES = ("int", "float", "long", "math", "dpas", "send", "none")
_LETTER = {"I": 0, "F": 1, "L": 2, "M": 3, "A": 4, "S": 5}
_GRF, _FENCE, _BARRIER = 64, 31, 0x02000004
_FLOATS = ("f", "hf", "bf", "tf32", "bf8", "hf8")


@dataclass(frozen=True)
class Figures:
    """The figures of a target by name, and where each comes from."""

    target: str
    values: tuple[tuple[str, float, str, str], ...]

    def __getitem__(self, name: str) -> float:
        """Return a figure."""
        return next(value for key, value, _, _ in self.values if key == name)

    def changed(self, given: dict[str, float]) -> Figures:
        """Return the same with other values. Raises `TargetError` for an unknown or bad one."""
        known = {name for name, *_ in self.values}
        for name, value in given.items():
            if name not in known:
                wrong = f"no figure has the name {quoted(name)}"
                fix = f"use one of {', '.join(sorted(known))}"
                raise TargetError("timing", {"figure": name}, wrong, fix)
            if type(value) not in (int, float) or not 0 < value < inf:
                wrong = f"{name} is {quoted(value)}, not a number above 0"
                raise TargetError("timing", {"figure": name}, wrong, "give a number of clocks")
        values = tuple(
            (name, given[name], "assumed", "given by the call")
            if name in given
            else (name, value, kind, source)
            for name, value, kind, source in self.values
        )
        return Figures(self.target, values)


def figures_of(target: str) -> Figures:
    """Return the figures of a target. Raises `TargetError` where rows are missing."""
    name = get_target(target).name
    out = [
        (str(r["name"]), cast("float", r["value"]), str(r["kind"]), str(r["source"]))
        for r in rows_for("timing", "figure", name)
    ]
    for row in rows_for("device", "rate", name):
        if row["figure"] in ("dpas_row", "l1"):
            least: Any = row["value"]
            out.append((str(row["figure"]), least[0], str(row["kind"]), str(row["source"])))
    missing = {"dpas_first", "dpas_row", "l1", "l2_hit"} - {each[0] for each in out}
    if missing:
        wrong = f"no rows say {', '.join(sorted(missing))} of {name}"
        raise TargetError("timing", {"target": name}, wrong, "use pvc or bmg")
    return Figures(name, tuple(out))


@dataclass(frozen=True, slots=True)
class Timed:
    """An instruction as the core sees it.

    ``pipe`` is a number of `PIPES`; ``busy`` the clocks that it keeps the pipe, ``done``
    those until its result,
    ``read`` those until its sources may be written; ``nbytes`` what a message moves at
    ``rate`` bytes a clock, ``returned`` registers that come back. ``what`` is "alu",
    "scalar" where a scalar register of Xe3 is written, "dpas", "message", "arrive", "wait",
    "sync", "jump" or "end".
    """

    number: int
    pipe: int
    busy: float
    done: float
    read: float
    what: str
    nbytes: int = 0
    rate: float = 1
    returned: int = 0
    atomic: bool = False
    every: str = ""
    masked: tuple[int, ...] = ()


def timed(listing: Listing, figures: Figures, level: str) -> tuple[Timed, ...]:
    """Return each instruction with what it takes; ``level`` is where loads find their bytes."""
    return tuple(_timed(line, figures, level) for line in listing.lines)


def _timed(line: Line, of: Figures, level: str) -> Timed:
    match line.kind:
        case "send":
            return _message(line, of, level)
        case "dpas":
            repeat = int(line.sub.rpartition("x")[2] or 8)
            done = of["dpas_first"] + of["dpas_row_latency"] * repeat
            if of["dpas_row_latency"] != 1:
                done -= of["dpas_row_latency"] - (1 if repeat == 1 else 1.5)
            busy = of["dpas_row"] * repeat
            atomic = "Atomic" in line.options
            return Timed(line.number, 4, busy, ceil(done), 0, "dpas", atomic=atomic)
        case "jump":
            return Timed(line.number, 0, 1, of["branch"], 0, "jump")
        case "wait":
            return _sync(line)
        case _:
            return _computed(line, of)


def _sync(line: Line) -> Timed:
    if line.op == "sync" and line.sub == "bar":
        return Timed(line.number, 6, 0, 0, 0, "sync")
    every = {"allrd": "src", "allwr": "dst"}.get(line.sub, "")
    masked = tuple(int(n) for word in line.operands for n in re.findall(r"\$(\d+)", word))
    return Timed(line.number, 6, 0, 0, 0, "wait", every=every, masked=masked)


def _computed(line: Line, of: Figures) -> Timed:
    """An instruction on registers: the type of its result decides the pipe."""
    kind = line.to.rpartition(":")[2] if ":" in line.to else ""
    steps = 0 if line.size <= 8 else 1 if line.size == 16 else 3
    if line.kind == "math":
        done = of["math"] + of["math_step"] * steps
        return Timed(line.number, 3, ceil(line.size / of["math_lanes"]), done, 0, "alu")
    pipe = 2 if kind == "df" else 1 if kind in _FLOATS else 0
    wide = kind in ("df", "q", "uq")
    busy = ceil(line.size / of["double_lanes" if wide else "alu_lanes"])
    flags = line.condition and line.op not in ("sel", "csel")
    if flags or re.match(r"(f|a|cr)\d", line.to):
        done = of["arf"]
    else:
        done = of["acc" if line.to.startswith("acc") else "alu"] + of["alu_step"] * steps
    what = "scalar" if line.to.startswith("s0") else "alu"
    return Timed(line.number, pipe, busy, done, 0, what)


def is_atomic(line: Line) -> bool:
    """Whether an instruction is an atomic message to memory."""
    return line.kind == "send" and line.sub == "ugm" and 8 <= (line.descriptor or 0) & 63 < _FENCE


def _message(line: Line, of: Figures, level: str) -> Timed:
    desc = line.descriptor or 0
    back, given = desc >> 20 & 31, max(1, desc >> 25 & 15)
    if match := re.fullmatch(r"r\d+:(\d+)", line.operands[2] if len(line.operands) > 2 else ""):
        given += int(match[1])
    read = of["send_read"] + given
    if line.sub == "gtwy":
        what = "end" if "EOT" in line.options else "arrive" if desc == _BARRIER else "message"
        return Timed(line.number, 5, 1, of["gateway"], read, what)
    shared = line.sub == "slm"
    if desc & 0x3F == _FENCE:
        done = of["slm_fence" if shared else "fence"]
    elif shared:
        done = of["slm"]
    else:
        done = of["l2_hit" if is_atomic(line) else f"{level}_hit"]
    moved = _GRF * (back + given - max(1, desc >> 25 & 15))
    rate = of["slm_bytes"] if shared else of["l1"]
    busy = given
    if "EOT" in line.options:
        return Timed(line.number, 5, busy, done, read, "end", moved, rate)
    return Timed(line.number, 5, busy, done, read, "message", moved, rate, back)


LETTERS = _LETTER
"""The pipes that dependences name: the four in order, all of these, and that of scalars."""
