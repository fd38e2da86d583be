"""Operands that a kernel both reads and writes: does every load find what lay there?

A load finds what lay there if no store to its elements comes before it: neither one of the same
subgroup that is earlier in the program, nor one of another subgroup, which nothing orders.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.digits import as_digits
from pycute_xe.holding.follower import Around, situated
from pycute_xe.holding.following import FAR, placed
from pycute_xe.kernel import AtomicStore, Load, Loop, Store
from pycute_xe.kernel.arrays import Ints
from pycute_xe.verifying.points import Space
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.views import index_text

__all__ = ["Touch", "changed_before", "changed_beside", "changed_by_others", "elements", "touches"]


@dataclass(frozen=True, eq=False)
class Touch:
    """A load or a store of an operand, the loops around it, and its number in the program."""

    statement: Load | Store | AtomicStore
    around: tuple[Around, ...]
    schedule: tuple[int, ...]


def touches(space: Space, operand: str) -> tuple[list[Touch], list[Touch]]:
    """Return the loads of an operand and the stores to it, in the order of the program."""
    loads: list[Touch] = []
    stores: list[Touch] = []
    number: dict[int, int] = {}
    for count, (statement, around) in enumerate(situated(space.kernel.body)):
        number[id(statement)] = count
        if not isinstance(statement, (Load, Store, AtomicStore)) or statement.operand != operand:
            continue
        loops = (number[id(one)] for one in around if isinstance(one, Loop))
        touch = Touch(statement, around, (*loops, count))
        (loads if isinstance(statement, Load) else stores).append(touch)
    return loads, stores


def changed_before(space: Space, load: Touch, store: Touch) -> Region:
    """Return where a subgroup loads an element that it has stored to before."""
    both, names = _both(space, load, store)
    same = " and ".join(f"{n} = {n}_w" for n in (*space.naming.grid, "s"))
    return both.within(f"{same} and ({_earlier(space, store, load)})").to(names)


def changed_beside(space: Space, load: Touch, store: Touch) -> Region:
    """Return where a subgroup loads an element that another one stores to, in any work-group."""
    both, names = _both(space, load, store)
    other = " or ".join(f"{n} != {n}_w" for n in (*space.naming.grid, "s"))
    return both.within(other).to(names)


def changed_by_others(space: Space, load: Touch, store: Touch) -> Region:
    """Return where a work-group touches an element that another one stores to."""
    both, names = _both(space, load, store)
    other = " or ".join(f"{n} != {n}_w" for n in space.naming.grid) or "false"
    return both.within(other).to(names)


def _both(space: Space, load: Touch, store: Touch) -> tuple[Region, Names]:
    """Return where a load and a store touch one element, and the names of the load's points."""
    mine, names = elements(space, load.statement, load.around, "")
    theirs, others = elements(space, store.statement, store.around, "_w")
    every = (*names, *(n for n in others if n not in names))
    return mine.to(every) & theirs.to(every), names


def elements(
    space: Space,
    statement: Load | Store | AtomicStore,
    around: tuple[Around, ...],
    suffix: str,
) -> tuple[Region, Names]:
    """Return who touches which element: sizes, work-group, loops, subgroup, and its index."""
    naming, operand = space.naming, statement.operand
    base, table, moves = placed(space.kernel, statement, around)
    used = np.flatnonzero(moves)
    first, table = _doing(table, used, operand)
    used = used[(table[:, used] != FAR).all(axis=(0, 2))]
    if (table[:, np.setdiff1d(np.flatnonzero(moves), used)] != FAR).any():
        raise _unclear(operand)
    rename = {v: f"{text}{suffix}" for v, text in naming.variable_of.items()}
    known = {**naming.size_of, **rename}
    extents = space.extents(operand)
    index = tuple(f"u_{i}" for i in range(len(extents)))
    texts: list[str] = []
    for mode, start in enumerate(base):
        digits = as_digits(table[:, used, mode])
        if digits is None:
            raise _unclear(operand)
        inner = digits.text((f"(s{suffix} - {first})" if first else f"s{suffix}", "e"))
        texts.append(f"u_{mode} = {index_text(start, known)} + {inner}")
        texts.append(f"0 <= u_{mode} < {extents[mode]}")
    texts += [f"{first} <= s{suffix} < {first + table.shape[0]}", f"0 <= e < {used.size}"]
    known_names = frozenset(naming.variable_of.values())
    texts += [_renamed(t, known_names, suffix) for t in space.constraints(around, f"s{suffix}")]
    variables = [n for n in space.names_around(around) if n not in naming.sizes]
    names = (*naming.sizes, *(f"{n}{suffix}" for n in variables), f"s{suffix}", *index)
    where = " and ".join(f"({t})" for t in texts)
    return Region.where((*names, "e"), where).to(names), names


def _doing(table: Ints, used: Ints, operand: str) -> tuple[int, Ints]:
    """Return the first of the subgroups that touch anything, and their rows."""
    rows = np.flatnonzero((table[:, used] != FAR).any(axis=(1, 2)))
    if not rows.size:
        return 0, table
    if rows[-1] - rows[0] + 1 != rows.size:
        raise _unclear(operand)
    return int(rows[0]), table[rows]


def _renamed(text: str, names: frozenset[str], suffix: str) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda found: found[0] + suffix * (found[0] in names), text)


def _earlier(space: Space, store: Touch, load: Touch) -> str:
    """Return when a store comes before a load of the same subgroup, as a constraint."""
    mine = [one for one in store.around if isinstance(one, Loop)]
    ways: list[str] = []
    equal: list[str] = []
    for level, (left, right) in enumerate(zip(store.schedule, load.schedule, strict=False)):
        if left != right:
            ways += [" and ".join(equal) or "true"] if left < right else []
            break
        if level < len(mine):
            var = space.naming.variable_of[mine[level].var]
            ways.append(" and ".join([*equal, f"{var}_w < {var}"]))
            equal.append(f"{var}_w = {var}")
    return " or ".join(f"({way})" for way in ways) or "false"


def _unclear(operand: str) -> UndecidableError:
    return undecided(
        "which elements of it are read and written is not a sum of digits",
        "give the result an operand of its own",
        operand=operand,
    )
