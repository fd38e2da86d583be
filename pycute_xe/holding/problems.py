"""Floor 8: the problems that show, for all sizes, how the subgroups of a work-group meet.

What subgroups do depends on sizes by a few indices: how often a loop runs, and whether a condition
holds. Sizes for which all of these are the same do the same, so that one of them is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import lcm

from pycute_xe.errors import UndecidableError
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
    walk,
)
from pycute_xe.kernel.index import SUBGROUP_INDEX, Quotient
from pycute_xe.kernel.ir.roles import chooses

__all__ = ["is_event", "problems"]

MOST_TRIPS = 96
MOST_SIZES = 1 << 16
EVENTS = (NamedArrive, NamedWait, SharedStore, SharedLoad)


def problems(kernel: Kernel, fixed: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield problems of one work-group with more and more trips, one of those that do the same.

    Raises `UndecidableError` where more than loops and one size decide what subgroups do.
    """
    asked = _asked(kernel)
    used = {name for _, index in asked for name in index.names & set(kernel.sizes)}
    free = sorted(used - fixed.keys())
    if len(free) > 1:
        raise _refused(" and ".join(free), "fix one of them")
    ones = dict.fromkeys(kernel.sizes, 1) | fixed
    if not free:
        _demand_few(asked, ones)
        yield ones
        return
    told = set[tuple[int, ...]]()
    for size in range(1, _most(kernel, asked) + 1):
        sizes = ones | {free[0]: size}
        same = tuple(_told(kernel, statement, index, sizes) for statement, index in asked)
        if same not in told:
            told.add(same)
            if len(told) > MOST_TRIPS:
                raise _many(len(told))
            yield sizes


def is_event(statement: Statement) -> bool:
    """Whether subgroups meet in a statement, or use shared memory."""
    return bool(statement.touched.meets) or isinstance(statement, EVENTS)


def _asked(kernel: Kernel) -> list[tuple[Statement, Index]]:
    """Return the indices on which it depends whether and where subgroups meet."""
    found: list[tuple[Statement, Index]] = []
    for statement in kernel.statements():
        others = {name for name, _ in kernel.grid}
        if not isinstance(statement, (SharedStore, SharedLoad)):
            others.add(SUBGROUP_INDEX)
        for index in _indices(statement):
            steep = isinstance(statement, If) and _is_steep(kernel, index)
            if steep or index.names & others or index.looked_up:
                raise _refused(str(index), "")
            found.append((statement, index))
    return found


def _indices(statement: Statement) -> tuple[Index, ...]:
    match statement:
        case Loop(_, start, stop, body):
            return (start, stop) if any(map(is_event, walk(body))) else ()
        case If(index, below, body):
            met = not chooses(statement) and any(map(is_event, walk(body)))
            return (index - below,) if met else ()
        case NamedArrive(barrier) | NamedWait(barrier):
            return (barrier.number,)
        case SharedStore() | SharedLoad():
            return (statement.at - statement.at.offset,)
        case _:
            return ()


def _is_steep(kernel: Kernel, index: Index) -> bool:
    """Whether a condition may change elsewhere than near the ends of a loop, or by turns."""
    if any(isinstance(atom, str) and abs(scale) != 1 for atom, scale in index.terms):
        return True
    return any(abs(_slope(index, n)) not in (0, 1) for n in index.names - set(kernel.sizes))


def _slope(index: Index, name: str) -> Fraction:
    """Return by how much an index grows with a variable in the long run."""
    found = Fraction(0)
    for atom, scale in index.terms:
        if isinstance(atom, Quotient):
            found += scale * _slope(atom.index, name) / atom.divisor
        elif atom == name:
            found += scale
    return found


def _most(kernel: Kernel, asked: list[tuple[Statement, Index]]) -> int:
    """Return the size up to which turns, and what is done near the ends of loops, are all seen."""
    offset, divisor, step = 0, 1, 1
    for statement, index in asked:
        own = abs(index.offset)
        for atom, scale in index.terms:
            if not isinstance(atom, Quotient):
                continue
            sizes = atom.index.names & set(kernel.sizes)
            step = lcm(step, atom.divisor) if sizes else step
            divisor = lcm(divisor, atom.divisor) if atom.index.names - sizes else divisor
            own += abs(scale) if isinstance(statement, If) and not sizes else 0
        offset = max(offset, own)
    trips = 2 * (offset + divisor) + 2
    if trips > MOST_TRIPS or trips * step > MOST_SIZES:
        raise _many(trips)
    return 1 + (trips - 1) * step


def _told(kernel: Kernel, statement: Statement, index: Index, sizes: dict[str, int]) -> int:
    """Return what sizes tell an index: the number they add to it, or whether it is below zero."""
    terms = {a: c for a, c in index.terms if Index.of({a: 1}, 0).names & set(kernel.sizes)}
    fixed = {name: Index(None, size) for name, size in sizes.items()}
    part = Index.of(terms, 0).substitute(fixed)
    if not part.is_constant:  # sizes and variables in one quotient
        return max(sizes.values())
    if isinstance(statement, If) and len(terms) == len(index.terms):
        return int(part.offset + index.offset < 0)
    return part.offset


def _demand_few(asked: list[tuple[Statement, Index]], sizes: dict[str, int]) -> None:
    """Refuse loops of more trips than are followed."""
    fixed = {name: Index(None, size) for name, size in sizes.items()}
    for statement, _ in asked:
        if isinstance(statement, Loop):
            trips = (statement.stop - statement.start).substitute(fixed)
            if trips.is_constant and trips.offset > MOST_TRIPS:
                raise _many(trips.offset)


def _refused(by: str, fix: str) -> UndecidableError:
    return UndecidableError("holding", {"by": by}, f"when subgroups meet depends on {by}", fix)


def _many(trips: int) -> UndecidableError:
    return UndecidableError("holding", {}, f"{trips} trips are too many to follow", "")
