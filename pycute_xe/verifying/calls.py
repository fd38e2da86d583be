"""Floor 9: calls of isl: their steps are counted and charged, and long ones can be stopped.

isl counts the steps of a call and gives up where it is told to, but no call can be interrupted: one
that takes many steps is asked again in a process of its own, which the clock may stop.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Any

import islpy as isl

from pycute_xe.verifying.patience import charge, time_left, too_hard, work_left

__all__ = ["answered_apart", "asked", "read", "session"]

_context: ContextVar[isl.Context | None] = ContextVar("_context", default=None)


@contextmanager
def session() -> Generator[None]:
    """Count the steps of the regions of a proof; they must not be mixed with those of others."""
    token = _context.set(isl.Context())
    try:
        yield
    finally:
        _context.reset(token)


@dataclass(frozen=True)
class _Pace:
    """What a step of isl costs, up to so many steps, and beyond, where steps are slow.

    They are counted by what they are fewer than: ``few``, four times as many, and so on.
    """

    few: int
    units: float
    steps: int
    beyond: float


READS = _Pace(8_000, 0.13, 1_000_000, inf)
SETS = _Pace(500, 1.0, 10_000, 5)
POINTS = _Pace(500, 1.0, 4_000, 100)
"""Searches for points: a step of a long one takes a hundred times as long as one of a short one."""

PACES: Mapping[str, _Pace] = {
    "apply": SETS,
    "intersect": SETS,
    "union": SETS,
    "subtract": SETS,
    "coalesce": SETS,
    "gist": SETS,
    "is_single_valued": SETS,
    "is_empty": POINTS,
    "is_bounded": POINTS,
    "lexmin": POINTS,
    "lexmax": POINTS,
    "sample_point": POINTS,
}

CALL = 20
"""Units that a call takes besides its steps."""
TIMES = 4
"""How many times as many steps are asked for next."""
APART = 300_000
"""Units that it takes to begin another process."""

_CHILD = f"""
import json, sys, islpy as isl
kinds, texts, call, most = json.load(sys.stdin)
context = isl.Context()
sets = [getattr(isl, kind)(text, context) for kind, text in zip(kinds, texts)]
context.reset_operations()
context.set_max_operations(most)
try:
    found, few = str(getattr(sets[0], call)(*sets[1:])), {SETS.few}
    while few < most:
        context.set_max_operations(few)
        try:
            isl.Val(1, context)
            break
        except isl.Error:
            few *= {TIMES}
    print(json.dumps([found, min(few, most)]))
except isl.Error:
    print(json.dumps(["", most]))
"""
"""Answers one call, of sets that are written out, in a process that can be stopped."""


class _LongError(Exception):
    """A call of isl takes more steps than it may in this process."""


def read(kind: type[isl.Set | isl.Map], text: str) -> Any:
    """Return a set or a map that is written as text, and charge for it."""
    context = _context.get()
    try:
        return _counted(READS, lambda: kind(text, context))
    except _LongError as error:
        raise too_hard("the question is too long for isl") from error


def asked(call: str, *of: Any) -> Any:
    """Return what isl answers, and charge for it. Raises `TooHardError` where it is too much.

    A call cannot be interrupted: one that is long is asked again where it can be stopped.
    """
    first, *others = of
    try:
        return _counted(PACES[call], lambda: getattr(first, call)(*others))
    except _LongError:
        return _asked_apart(call, of, PACES[call])


def _counted(pace: _Pace, ask: Callable[[], Any]) -> Any:
    """Return what a call of isl answers within the steps that it may take, and charge for it."""
    charge(CALL)
    context, left = _context.get(), work_left()
    if context is None or left == inf:
        return ask()
    most = max(1, int(min(pace.steps, left / pace.units)))
    context.reset_operations()
    context.set_max_operations(most)
    try:
        found = ask()
        charge(pace.units * _fewer_than(context, pace.few, most) / 2)
    except isl.Error as error:
        if "operations" not in str(error):
            raise too_hard("isl does not answer the question") from error
        charge(pace.units * most if most == pace.steps else left + 1)
        raise _LongError from error
    finally:
        context.set_max_operations(0)
    return found


def _fewer_than(context: isl.Context, few: int, most: int) -> int:
    """Return a number of steps, of those that are asked for, than which fewer have been taken."""
    while few < most:
        context.set_max_operations(few)
        try:
            isl.Val(1, context)
        except isl.Error:
            few *= TIMES
        else:
            return few
    return most


def _asked_apart(call: str, of: tuple[Any, ...], pace: _Pace) -> Any:
    """Return what isl answers in a process that is stopped where work or time are used up."""
    charge(APART)
    most = max(1, int(work_left() / pace.beyond))
    kinds, texts = [type(x).__name__ for x in of], list(map(str, of))
    printed = answered_apart(_CHILD, json.dumps([kinds, texts, call, most]), time_left())
    charge(0)  # the clock may have stopped it
    try:
        found, steps = json.loads(printed)
    except (TypeError, ValueError) as error:  # it was stopped, or is not an interpreter of Python
        raise too_hard("isl does not answer the question") from error
    charge(steps * pace.beyond / 2 if found else work_left() + 1)
    if found in ("True", "False"):
        return found == "True"
    return type(of[0])(found, _context.get())


# The longest time, in seconds, that the system's clocks count in milliseconds.
LONGEST = 2.0**31 / 1000


def answered_apart(program: str, question: str, seconds: float) -> str:
    """Return what a program prints that reads a question; nothing where it is stopped or fails.

    It imports what this process does; where no interpreter is known it is not run.
    """
    if not sys.executable:
        return ""
    same = f"import sys\nsys.path[:] = {sys.path!r}\n"
    try:
        done = subprocess.run(
            [sys.executable, "-c", same + program],
            input=question,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=max(0.0, seconds) if seconds < LONGEST else None,
            check=True,
            text=True,
        )
    except (subprocess.SubprocessError, OSError, UnicodeError):
        return ""
    return done.stdout
