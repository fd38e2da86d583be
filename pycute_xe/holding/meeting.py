"""Floor 8: kernels whose subgroups do different things: what named barriers order, and what not.

Subgroups that take the same ways do the same; of each such class one is followed, event by event,
with a clock: of which events of the others it knows that they are over. A barrier that fires passes
on what all who arrived knew. Conditions and places depend on loops' variables by turns and by
constants, so that what holds for every number of trips up to a few turns holds for all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pycute_xe.errors import CuteError, UndecidableError
from pycute_xe.holding.rounds import Disorder, Event, Key, Mover, Rounds, Seen
from pycute_xe.kernel import (
    If,
    Index,
    Kernel,
    Loop,
    NamedArrive,
    NamedWait,
    SharedLoad,
    SharedStore,
    Statement,
)
from pycute_xe.kernel.index import SUBGROUP_INDEX, Quotient
from pycute_xe.kernel.ir.roles import chooses, classes

__all__ = ["disorder", "has_roles"]

MOST_TRIPS = 96
EVENTS = (NamedArrive, NamedWait, SharedStore, SharedLoad)


def has_roles(kernel: Kernel) -> bool:
    """Whether subgroups do different things, or meet at named barriers."""
    return any(isinstance(s, (NamedArrive, NamedWait)) or chooses(s) for s in kernel.statements())


def disorder(kernel: Kernel, fixed: dict[str, int]) -> Disorder | None:
    """Return the smallest problem in which barriers do not order what shared memory needs.

    Raises `UndecidableError` where what subgroups do depends on more than loops and their numbers.
    """
    groups = classes(kernel.body, kernel.subgroups)
    seen, first = Seen(kernel), dict.fromkeys((name for name, _ in kernel.grid), 0)
    for sizes in _problems(kernel, fixed):
        movers: list[Mover] = []
        for group in groups:
            env = {**sizes, **first, SUBGROUP_INDEX: group[0]}
            blank = np.zeros(len(groups), dtype=np.int64)
            movers.append(Mover(group, list(_events(kernel.body, env, ())), blank, blank.copy()))
        found = Rounds(kernel, movers, sizes, seen).found()
        if found is not None:
            return found
    return None


def _problems(kernel: Kernel, fixed: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield problems of one work-group with more and more trips."""
    used, offset, divisor, step = set[str](), 0, 1, 1
    for statement in kernel.statements():
        indices = _asked(statement)
        for index in indices:
            used |= index.names & set(kernel.sizes)
            offset = max(offset, abs(index.offset))
            for atom, _ in index.terms:
                if isinstance(atom, Quotient):
                    if atom.index.names & set(kernel.sizes):
                        step = max(step, atom.divisor)
                    else:
                        divisor = int(np.lcm(divisor, atom.divisor))
            steep = isinstance(statement, If) and any(
                isinstance(atom, str) and abs(scale) != 1 for atom, scale in index.terms
            )
            if steep or index.names & {name for name, _ in kernel.grid} or index.looked_up:
                raise UndecidableError(
                    "holding", {"index": index}, f"when subgroups meet depends on {index}", ""
                )
    free = sorted(used - fixed.keys())
    if len(free) > 1:
        raise UndecidableError(
            "holding", {}, f"when subgroups meet depends on {' and '.join(free)}", "fix one of them"
        )
    ones = dict.fromkeys(kernel.sizes, 1) | fixed
    trips = 2 * (offset + divisor) + 2 if free else 1
    if trips > MOST_TRIPS:
        raise UndecidableError("holding", {}, f"{trips} trips are too many to follow", "")
    for number in range(trips):
        yield ones | dict.fromkeys(free, 1 + number * step)


def _asked(statement: Statement) -> tuple[Index, ...]:
    """Return the indices on which it depends whether and where subgroups meet."""
    match statement:
        case Loop(_, start, stop, _):
            return (start, stop)
        case If(index, below, _):
            return () if chooses(statement) else (index - below,)
        case NamedArrive(barrier) | NamedWait(barrier):
            return (barrier.number,)
        case SharedStore() | SharedLoad():
            return (statement.at - statement.at.offset,)
        case _:
            return ()


def _events(body: tuple[Statement, ...], env: dict[str, int], key: Key) -> Iterator[Event]:
    for place, statement in enumerate(body):
        here = (*key, place)
        match statement:
            case Loop(var, start, stop, inner):
                for trip in range(start.at(env), stop.at(env)):
                    yield from _events(inner, {**env, var: trip}, (*here, trip))
            case If(index, below, inner):
                if index.at(env) < below.at(env):
                    yield from _events(inner, env, here)
            case _:
                if statement.touched.meets or isinstance(statement, EVENTS):
                    yield _event(statement, env, here)


def _event(statement: Statement, env: dict[str, int], key: Key) -> Event:
    if isinstance(statement, (NamedArrive, NamedWait)):
        return Event(statement, key, number=statement.barrier.number.at(env))
    if isinstance(statement, (SharedStore, SharedLoad)):
        try:
            return Event(statement, key, first=statement.at.at(env))
        except CuteError as error:
            raise UndecidableError("holding", {}, error.condition, "") from error
    return Event(statement, key)
