"""Operands that a kernel both reads and writes: does every load find what lay there?

A load finds what lay there if no store to its elements comes before it: neither one of the same
subgroup that is earlier in the program, nor one of another subgroup, which nothing orders.

By counters work-groups wait for one another. A plain store to a counter that another work-group
signals, or a load of one, is in order where some wait lies between. Where no wait comes before
either, nothing orders them, whatever the sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, Generic, TypeVar

import numpy as np

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.contents import Write
from pycute_xe.holding.following import FAR, placed, unplaced_in
from pycute_xe.holding.tables import as_digits
from pycute_xe.kernel import Kernel, Loop, Statement
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.ir.effects import CounterAccess, MemoryAccess
from pycute_xe.kernel.ir.program import doing
from pycute_xe.kernel.ir.visiting import Enclosing, visit
from pycute_xe.verifying.faults import Facts, least
from pycute_xe.verifying.least import smallest
from pycute_xe.verifying.points import Space, index_text
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.verdict import Failure

__all__ = [
    "Touch",
    "changed_before",
    "changed_beside",
    "changed_by_others",
    "elements",
    "touches",
    "Counting",
    "counts_plainly",
    "may_be_covered",
]

OTHER = "_w"
"""What names of variables end in that are those of the other of two accesses."""


@dataclass(frozen=True, eq=False)
class Touch:
    """A load or a store of an operand, the loops around it, and its number in the program."""

    statement: Statement
    access: MemoryAccess
    enclosing: tuple[Enclosing, ...]
    schedule: tuple[int, ...]


def touches(space: Space, operand: str) -> tuple[list[Touch], list[Touch]]:
    """Return the loads of an operand and the stores to it, in the order of the program."""
    loads: list[Touch] = []
    stores: list[Touch] = []
    number: dict[int, int] = {}
    for count, one in enumerate(visit(space.kernel.body)):
        number[id(one.statement)] = count
        access = one.effects.memory
        if access is None or access.prefetches or access.operand != operand:
            continue
        loops = (number[id(loop)] for loop in one.loops)
        touch = Touch(one.statement, access, one.enclosing, (*loops, count))
        (loads if access.fills else stores).append(touch)
    return loads, stores


def changed_before(space: Space, load: Touch, store: Touch) -> Region:
    """Return where a subgroup loads an element that it has stored to before."""
    both, names = _both(space, load, store)
    same = " and ".join(f"{n} = {n}{OTHER}" for n in (*space.naming.grid, "s"))
    return both.within(f"{same} and ({_earlier(space, store, load)})").to(names)


def changed_beside(space: Space, load: Touch, store: Touch) -> Region:
    """Return where a subgroup loads an element that another one stores to, in any work-group."""
    both, names = _both(space, load, store)
    other = " or ".join(f"{n} != {n}{OTHER}" for n in (*space.naming.grid, "s"))
    return both.within(other).to(names)


def changed_by_others(space: Space, load: Touch, store: Touch) -> Region:
    """Return where a work-group touches an element that another one stores to."""
    both, names = _both(space, load, store)
    other = " or ".join(f"{n} != {n}{OTHER}" for n in space.naming.grid) or "false"
    return both.within(other).to(names)


def _both(space: Space, load: Touch, store: Touch) -> tuple[Region, Names]:
    """Return where a load and a store touch one element, and the names of the load's points."""
    mine, names = elements(space, load.access, load.enclosing, "")
    theirs, others = elements(space, store.access, store.enclosing, OTHER)
    every = (*names, *(n for n in others if n not in names))
    return mine.to(every) & theirs.to(every), names


def elements(
    space: Space, access: MemoryAccess, enclosing: tuple[Enclosing, ...], suffix: str
) -> tuple[Region, Names]:
    """Return who touches which element: sizes, work-group, loops, subgroup, and its index."""
    naming, operand = space.naming, access.operand
    base, table, moves = placed(space.kernel, access, enclosing)
    used = np.flatnonzero(moves)
    first, table = _doing(table, used, operand)
    used = used[(table[:, used] != FAR).all(axis=(0, 2))]
    if (table[:, np.setdiff1d(np.flatnonzero(moves), used)] != FAR).any():
        raise _unclear(operand)
    known = {**naming.all, **naming.variables(suffix)}
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
    texts += space.constraints(enclosing, f"s{suffix}", suffix)
    variables = [n for n in space.names_around(enclosing) if n not in naming.sizes]
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


def _earlier(space: Space, store: Touch, load: Touch) -> str:
    """Return when a store comes before a load of the same subgroup, as a constraint."""
    mine = [one for one in store.enclosing if isinstance(one, Loop)]
    theirs = space.naming.variables(OTHER)
    ways: list[str] = []
    equal: list[str] = []
    for level, (left, right) in enumerate(zip(store.schedule, load.schedule, strict=False)):
        if left != right:
            ways += [" and ".join(equal) or "true"] if left < right else []
            break
        if level < len(mine):
            var = mine[level].var
            here, there = space.naming.variable_of[var], theirs[var]
            ways.append(" and ".join([*equal, f"{there} < {here}"]))
            equal.append(f"{there} = {here}")
    return " or ".join(f"({way})" for way in ways) or "false"


def _unclear(operand: str) -> UndecidableError:
    return undecided(
        "which elements of it are read and written is not a sum of digits",
        "give the result an operand of its own",
        operand=operand,
    )


def may_be_covered(space: Space, write: Write, failure: Failure) -> bool:
    """Whether a wrong element may be stored to again, later on.

    By the subgroup that stores it, or by another one behind a barrier.
    """
    stores = touches(space, failure.output)[1]
    known = {
        **space.naming.size_of,
        **{n: space.naming.variable_of[n] for n, _ in space.kernel.grid},
    }
    values = {**failure.variables, **failure.sizes}
    here = [f"{text} = {values[name]}" for name, text in known.items() if name in values]
    here += [f"u_{mode} = {index}" for mode, index in enumerate(failure.index)]
    where = " and ".join(here)
    for mine, later in product(_occurrences(space, stores, write), stores):
        if later is mine and space.only_last_trips(write):
            continue
        if not changed_before(space, later, mine).within(where).is_empty:
            return True
        behind = _barrier_between(space.kernel, mine, later)
        if behind and not changed_beside(space, later, mine).within(where).is_empty:
            return True
    return False


def _occurrences(space: Space, stores: list[Touch], write: Write) -> list[Touch]:
    """Return where a store stands that did a write: one statement may stand in several places."""
    subgroups = space.kernel.subgroups
    return [
        store
        for store in stores
        if store.statement is write.statement
        and np.array_equal(np.flatnonzero(doing(store.enclosing, subgroups)), write.subgroups)
    ]


def _barrier_between(kernel: Kernel, store: Touch, later: Touch) -> bool:
    """Whether a barrier may lie between two stores: behind the one, or in a loop around both."""
    loops = {id(one) for one in store.enclosing} & {id(one) for one in later.enclosing}
    for number, (_, enclosing, effects) in enumerate(visit(kernel.body)):
        waits = effects.named is not None and effects.named.waits
        if effects.meets not in ("wait", "both") and not waits:
            continue
        between = store.schedule[-1] < number < later.schedule[-1]
        if between or any(isinstance(x, Loop) and id(x) in loops for x in enclosing):
            return True
    return False


# ------------------------------------------------------------ counting


def counts_plainly(kernel: Kernel) -> bool:
    """Whether a counter is stored, loaded or looked up, too.

    >>> import pycute_xe as cx
    >>> counts_plainly(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))))
    False
    """
    effects = [statement.touched for statement in kernel.statements()]
    counters = {one.counter.operand for one in effects if one.counter is not None}
    copied = {one.memory.operand for one in effects if one.memory and _is_plain(one.memory)}
    unplaced = {name for one in effects for name in one.unplaced}
    return bool(counters & (copied | unplaced | _looked_up(kernel)))


def _is_plain(access: MemoryAccess) -> bool:
    """Whether an access loads or stores, and does not add: additions are indivisible."""
    return access.fills or access.overwrites


def _looked_up(kernel: Kernel) -> set[str]:
    indices = (index for s in kernel.statements() for index in s.touched.indices)
    return {looked.operand for index in indices for looked in index.looked_up}


class Counting(Facts):
    """The question whether plain accesses to counters are in order."""

    def counters(self) -> Failure | None:
        """Return the smallest problem in which a counter is stored or loaded in no order.

        Raises `UndecidableError` where waits may order it, and for places known only in a run.
        """
        counters, plain = _met(self.kernel)
        sure: list[Failure | None] = []
        unsure: list[str] = []
        for counter, transfer in product(counters, plain):
            looks = counter.access.by is None and transfer.access.fills
            if transfer.access.operand != counter.access.operand or looks:
                continue
            operand = transfer.access.operand
            verb = "loaded" if transfer.access.fills else "stored"
            words = f"is {verb} by one work-group while another"
            mine, _ = elements(self.space, transfer.access, transfer.enclosing, "")
            theirs = _counted(self.space, counter)
            if not _of_two(self.space, mine, theirs).is_empty:
                unsure.append(f"{operand} {words} counts, and waits may order the two")
            if counter.access.by is not None:
                before = [self._waited(one, counters) for one in (transfer, counter)]
                first = mine - before[0].to(mine.names)
                renamed = " and ".join(f"{n}{OTHER} = {n}" for n in self.space.naming.grid)
                other = theirs - before[1].to(theirs.names, renamed)
                sure.append(self._unordered(_of_two(self.space, first, other), operand, words))
        names = {one.access.operand for one in counters}
        looked = _looked_up(self.kernel) & names
        unsure += [f"{name} is looked up while work-groups count" for name in sorted(looked)]
        unsure += [words for name, words in unplaced_in(self.kernel) if name in names]
        if unsure and least(sure) is None:
            raise undecided(unsure[0], "count in an operand that is only signalled")
        return least(sure)

    def _unordered(self, region: Region, operand: str, words: str) -> Failure | None:
        point = smallest(region, self.space.naming)
        if point is None:
            return None
        index = [point[f"u_{i}"] for i in range(len(self.extents[operand]))]
        words = f"{operand}{index} {words} signals it, in no order"
        return self.failure(point, "counters", words, region, operand=operand, faults=True)

    def _waited(self, access: _Met[Any], counters: list[_Met[CounterAccess]]) -> Region:
        """Return the work-groups that may have waited before they do what a statement does."""
        names = (*self.space.naming.sizes, *self.space.naming.grid)
        out, loops = Region.nothing(names), {id(x) for x in access.enclosing if isinstance(x, Loop)}
        for one in counters:
            again = any(id(x) in loops for x in one.enclosing)
            # One statement may wait, and then do more.
            if one.access.least is not None and (one.number <= access.number or again):
                out = out | self.space.happens(one.enclosing).to(names)
        return out


Access = TypeVar("Access", MemoryAccess, CounterAccess)


@dataclass(frozen=True, eq=False)
class _Met(Generic[Access]):
    """An access, the number of its statement in the program, and what is around that."""

    number: int
    access: Access
    enclosing: tuple[Enclosing, ...]


def _met(kernel: Kernel) -> tuple[list[_Met[CounterAccess]], list[_Met[MemoryAccess]]]:
    """Return the accesses to counters, and the plain loads and stores."""
    counters: list[_Met[CounterAccess]] = []
    plain: list[_Met[MemoryAccess]] = []
    for number, (_, enclosing, effects) in enumerate(visit(kernel.body)):
        if effects.counter is not None:
            counters.append(_Met(number, effects.counter, enclosing))
        if effects.memory is not None and _is_plain(effects.memory):
            plain.append(_Met(number, effects.memory, enclosing))
    return counters, plain


def _of_two(space: Space, mine: Region, theirs: Region) -> Region:
    """Return where an access touches a counter of another work-group."""
    every = (*mine.names, *(n for n in theirs.names if n not in mine.names))
    apart = " or ".join(f"{n} != {n}{OTHER}" for n in space.naming.grid) or "false"
    return (mine.to(every) & theirs.to(every)).within(apart).to(mine.names)


def _counted(space: Space, counter: _Met[CounterAccess]) -> Region:
    """Return the sizes, the work-group and loops at which a counter is met, and its index."""
    naming, access = space.naming, counter.access
    variables = [n for n in space.names_around(counter.enclosing) if n not in naming.sizes]
    extents = space.extents(access.operand)
    texts = list(space.constraints(counter.enclosing))
    for mode, index in enumerate(access.at):
        texts.append(f"u_{mode} = {index_text(index, naming.all)}")
        texts.append(f"0 <= u_{mode} < {extents[mode]}")
    modes = tuple(f"u_{mode}" for mode in range(len(extents)))
    plain = (*naming.sizes, *variables, *modes)
    met = Region.where(plain, " and ".join(f"({text})" for text in texts))
    renamed = (*naming.sizes, *(f"{n}{OTHER}" for n in variables), *modes)
    return met.to(renamed, " and ".join(f"{n}{OTHER} = {n}" for n in variables))
