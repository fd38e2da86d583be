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
from pycute_xe.holding.events import Disorder, Event, Key, Mover
from pycute_xe.holding.problems import is_event, problems
from pycute_xe.holding.rounds import Rounds, Seen
from pycute_xe.holding.tables import by_subgroup
from pycute_xe.kernel import (
    If,
    Kernel,
    Loop,
    NamedArrive,
    NamedWait,
    SharedLoad,
    SharedStore,
    Statement,
)
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.roles import chooses, classes

__all__ = ["disorder", "has_roles"]


def has_roles(kernel: Kernel) -> bool:
    """Whether subgroups do different things, or meet at named barriers."""
    return any(isinstance(s, (NamedArrive, NamedWait)) or chooses(s) for s in kernel.statements())


def disorder(kernel: Kernel, fixed: dict[str, int]) -> Disorder | None:
    """Return the smallest problem in which barriers do not order what shared memory needs.

    Otherwise the smallest one in which their order is another than is written: ``turned``.
    Raises `UndecidableError` where what subgroups do depends on more than loops and their numbers.
    """
    indices = (index for s in kernel.statements() for index in s.touched.indices)
    looked = next((x for index in indices for x in index.looked_up), None)
    if looked is not None:
        raise UndecidableError("holding", {}, f"{looked} is known only in a run", "run it")
    groups = classes(kernel.body, kernel.subgroups)
    seen, first = Seen(kernel), dict.fromkeys((name for name, _ in kernel.grid), 0)
    turned: Disorder | None = None
    for sizes in problems(kernel, fixed):
        movers: list[Mover] = []
        for group in groups:
            env = {**sizes, **first, SUBGROUP_INDEX: group[0]}
            blank = np.zeros(len(groups), dtype=np.int64)
            movers.append(Mover(group, list(_events(kernel.body, env, ())), blank, blank.copy()))
        found = Rounds(kernel, movers, sizes, seen).found()
        if found is not None and not found.turned:
            return found
        turned = turned or found
    return turned


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
                if is_event(statement):
                    yield _event(statement, env, here)


def _event(statement: Statement, env: dict[str, int], key: Key) -> Event:
    if statement.touched.meets == "both":
        name = type(statement).__name__
        raise UndecidableError("holding", {}, f"what {name} orders is not followed", "")
    if isinstance(statement, (NamedArrive, NamedWait)):
        return Event(statement, key, number=statement.barrier.number.at(env))
    if isinstance(statement, (SharedStore, SharedLoad)):
        try:
            rest, _ = by_subgroup(statement.at, 1)
            return Event(statement, key, first=rest.at(env))
        except CuteError as error:
            raise UndecidableError("holding", {}, error.condition, "") from error
    return Event(statement, key)
