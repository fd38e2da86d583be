"""The parts of a kernel, which subgroups do them, and what must hold on every path through them.

A role is a condition that depends on the number of a subgroup alone. On every path names are bound,
and a fragment is written before it is read. The two halves of a split barrier alternate, arrival
first, and no subgroup can take one without the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any, Generic, TypeVar, cast

from pycute_xe.errors import KernelError, quoted
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Index, Quotient
from pycute_xe.kernel.ir.barriers import NamedBarrier
from pycute_xe.kernel.ir.operands import Fragment, Operand, Shared
from pycute_xe.kernel.ir.planned import Planned
from pycute_xe.kernel.ir.statements import If, Loop, Statement
from pycute_xe.kernel.spec.expression import indices_of
from pycute_xe.kernel.spec.specification import Specification
from pycute_xe.signatures import typed

__all__ = [
    "Program",
    "walk",
    "Meanings",
    "chooses",
    "classes",
    "doing",
    "living",
    "mixes",
    "of_some",
    "without_roles",
    "at_least",
    "check_barriers",
    "check_defined",
    "check_paths",
    "is_arrived",
]


# ------------------------------------------------------------ meanings
# A reader of kernels is a table from kinds of statements to meanings; no default.

Meaning = TypeVar("Meaning", bound=Callable[..., Any])
# A meaning takes the kind that it is entered for, which is narrower than any statement.
Narrow = TypeVar("Narrow", bound=Callable[..., Any])


class Meanings(Generic[Meaning]):
    """What each kind of statement means to one reader; a kind without a meaning is refused by name.

    A kind inherits no meaning: each has an entry of its own.

    >>> from pycute_xe.kernel.ir.statements import Fence, Fill
    >>> effects = Meanings[Callable[[Statement], str]]("tell")
    >>> @effects.of(Fill)
    ... def _(statement): return f"sets {statement.fragment}"
    >>> effects[Fill("tCrC")](Fill("tCrC"))
    'sets tCrC'
    >>> effects[Fence()]
    Traceback (most recent call last):
    pycute_xe.errors.KernelError: tell(statement=Fence): this reader has no meaning for Fence...
    """

    def __init__(self, reader: str) -> None:
        """Name the reader; the table is empty."""
        self.reader = reader
        self._table: dict[type[Statement], Meaning] = {}

    @typed
    def of(self, *kinds: type[Statement]) -> Callable[[Narrow], Narrow]:
        """Enter a function as the meaning of some kinds."""

        def enter(meaning: Narrow) -> Narrow:
            for kind in kinds:
                self._table[kind] = cast("Any", meaning)
            return meaning

        return enter

    def __getitem__(self, statement: Statement) -> Meaning:
        """Return the meaning of a statement; `KernelError` where its kind has none."""
        meaning = self._table.get(type(statement))
        if meaning is None:
            name = type(statement).__name__
            raise KernelError(
                self.reader,
                {"statement": name},
                f"this reader has no meaning for {name}",
                "enter one in its table, or leave the statement out",
            )
        return meaning

    def __iter__(self) -> Iterator[type[Statement]]:
        """The kinds that have a meaning."""
        return iter(tuple(self._table))

    def without(self, kind: type[Statement]) -> Meaning | None:
        """Remove and return an entry, as tests of a table do."""
        return self._table.pop(kind, None)


# ------------------------------------------------------------ walking
# The statements of a body in order, inner ones included.


@typed
def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of a body, outer before inner, in order."""
    return _walk(iter(body))


def _walk(body: Iterator[Statement]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        if isinstance(statement, (Loop, If)):
            yield from _walk(iter(statement.body))


def living(
    body: tuple[Statement, ...], after: frozenset[str], at: Callable[[frozenset[str]], None]
) -> frozenset[str]:
    """Return the fragments that live before a body, given those behind it; tell ``at`` of each.

    A fragment lives from where it is written to where it is last read, around loops too.
    """
    alive = after
    for statement in reversed(body):
        touched = statement.touched
        if isinstance(statement, Loop):
            # What a trip reads may come from the trip before.
            entry = living(statement.body, alive, lambda _: None)
            alive |= living(statement.body, alive | entry, at)
        elif isinstance(statement, If):
            alive |= living(statement.body, alive, at)
        else:
            at(alive | set(touched.writes) | set(touched.reads) | set(touched.updates))
            alive = (alive - set(touched.writes)) | set(touched.reads) | set(touched.updates)
    return alive


# ------------------------------------------------------------ program


@dataclass(frozen=True)
class Program:
    """The parts of a kernel by name; `Kernel` checks that they fit."""

    name: str
    subgroups: int
    operands: tuple[Operand, ...]
    fragments: tuple[Fragment, ...]
    grid: tuple[tuple[str, Index], ...]
    body: tuple[Statement, ...]
    computes: Specification | None = None
    shared: tuple[Shared, ...] = ()
    plan: Planned | None = field(default=None, metadata={"later": True})

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The names of the extents that a problem binds, in the order of the operands."""
        return tuple(
            dict.fromkeys(n for o in self.operands for mode in o.modes for n in mode.names)
        )

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """The operands that a run is given, in the order of the listing."""
        return tuple(o for o in self.operands if o.role in ("in", "inout"))

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """The operands that a run returns, in the order of the listing."""
        return tuple(o for o in self.operands if o.role in ("out", "inout"))

    @typed
    def operand(self, name: str) -> Operand:
        """Return an operand by name; `KernelError` for an unknown one."""
        return _named(self, "operand", self.operands, name)

    @typed
    def fragment(self, name: str) -> Fragment:
        """Return a fragment by name; `KernelError` for an unknown one."""
        return _named(self, "fragment", self.fragments, name)

    @typed
    def shared_array(self, name: str) -> Shared:
        """Return a shared array by name; `KernelError` for an unknown one."""
        return _named(self, "shared array", self.shared, name)

    def statements(self) -> Iterator[Statement]:
        """Yield every statement, outer before inner, in order."""
        return walk(self.body)


T = TypeVar("T", Operand, Fragment, Shared)


def _named(kernel: Program, what: str, entries: tuple[T, ...], name: str) -> T:
    for entry in entries:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in entries)
    fix = f"use {known}" if known else f"declare the {what} first"
    wrong = f"there is no {what} {name if name.isidentifier() else quoted(name)}"
    raise KernelError(what, {"kernel": kernel.name, "name": name}, wrong, fix)


OWN = frozenset({SUBGROUP_INDEX})


def chooses(statement: Statement) -> bool:
    """Whether a statement is a condition on a subgroup's number and nothing else.

    >>> from pycute_xe.kernel.index import Index
    >>> chooses(If(Index("subgroup"), Index(None, 4), ())), chooses(If(Index("k"), Index("K"), ()))
    (True, False)
    """
    if not isinstance(statement, If):
        return False
    looked = (*statement.index.looked_up, *statement.below.looked_up)
    return statement.index.names | statement.below.names == OWN and not looked


def mixes(statement: Statement) -> bool:
    """Whether a statement is a condition on a subgroup's number and something else.

    >>> from pycute_xe.kernel.index import Index
    >>> mixes(If(Index("subgroup") + 4 * Index("m"), Index("M"), ()))
    True
    """
    if not isinstance(statement, If) or chooses(statement):
        return False
    return SUBGROUP_INDEX in statement.index.names | statement.below.names


def doing(around: Iterable[Loop | If], subgroups: int) -> tuple[bool, ...]:
    """Return for each subgroup whether the conditions on its number let it through.

    >>> from pycute_xe.kernel.index import Index
    >>> doing((If(Index("subgroup"), Index(None, 1), ()),), 3)
    (True, False, False)
    """
    conditions = [one for one in around if isinstance(one, If) and chooses(one)]
    return tuple(all(_lets(one, number) for one in conditions) for number in range(subgroups))


def _lets(condition: If, number: int) -> bool:
    """Whether a condition on the number of a subgroup lets one through."""
    names = {SUBGROUP_INDEX: number}
    return condition.index.at(names) < condition.below.at(names)


def classes(body: tuple[Statement, ...], subgroups: int) -> tuple[tuple[int, ...], ...]:
    """Return the subgroups that take the same ways through a body, together.

    >>> from pycute_xe.kernel.index import Index
    >>> classes((If(Index("subgroup"), Index(None, 1), ()),), 3)
    ((0,), (1, 2))
    """
    choices = [s for s in walk(body) if isinstance(s, If) and chooses(s)]
    ways = list(zip(*(doing((one,), subgroups) for one in choices), strict=True))
    alike: dict[tuple[bool, ...], list[int]] = {}
    for number in range(subgroups):
        alike.setdefault(ways[number] if ways else (), []).append(number)
    return tuple(map(tuple, alike.values()))


def without_roles(body: tuple[Statement, ...], subgroup: int) -> tuple[Statement, ...]:
    """Return a body as one subgroup does it: conditions on its number are decided.

    >>> from pycute_xe.kernel.index import Index
    >>> from pycute_xe.kernel.ir.statements import Fence
    >>> without_roles((If(Index("subgroup"), Index(None, 1), (Fence(),)),), 0)
    (Fence(),)
    """
    out: list[Statement] = []
    for statement in body:
        if isinstance(statement, If) and chooses(statement):
            if _lets(statement, subgroup):
                out += without_roles(statement.body, subgroup)
        elif isinstance(statement, (Loop, If)):
            inside = without_roles(statement.body, subgroup)
            out.append(replace(statement, body=inside))
        else:
            out.append(statement)
    return tuple(out)


def of_some(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return what only some subgroups do, by their numbers.

    >>> from pycute_xe.kernel.index import Index
    >>> from pycute_xe.kernel.ir.statements import Fence
    >>> of_some((If(Index("subgroup"), Index(None, 1), (Fence(),)),))
    (Fence(),)
    """
    chosen = (s for s in walk(body) if isinstance(s, If) and chooses(s))
    return tuple(inner for one in chosen for inner in walk(one.body))


def check_paths(kernel: Program) -> None:
    """Raise `KernelError` for the first path on which something is missing."""
    check_defined(kernel)
    check_barriers(kernel, kernel.body)


def check_defined(kernel: Program) -> None:
    """Raise `KernelError` for a name that nothing binds, or a fragment that nothing has written."""
    bound = frozenset(name for name, _ in kernel.grid)
    for name, count in kernel.grid:
        _check_bound(kernel, (count,), frozenset(), f"the grid of {name}")
    _check_indices(kernel, kernel.body, bound)
    for some in classes(kernel.body, kernel.subgroups):
        _written(kernel, without_roles(kernel.body, some[0]), frozenset())


def check_barriers(kernel: Program, body: tuple[Statement, ...]) -> None:
    """Raise `KernelError` for half a barrier on some path through a body."""
    if is_arrived(kernel, body, arrived=False):
        raise _barrier(kernel, "a subgroup arrives at a barrier and never waits")
    _paired(kernel, body)


def _check_indices(kernel: Program, body: tuple[Statement, ...], bound: frozenset[str]) -> None:
    for statement in body:
        touched = statement.touched
        own = frozenset[str]() if touched.elementwise is None else frozenset({ELEMENT_INDEX})
        _check_bound(kernel, touched.indices, bound | own, type(statement).__name__)
        if isinstance(statement, Loop):
            inside = bound | {statement.var}
            for _, value in statement.holds:
                for index, summed in indices_of(value):
                    named = inside | summed | {ELEMENT_INDEX}
                    _check_bound(kernel, (index,), named, "what Loop holds")
            _check_indices(kernel, statement.body, inside)
        elif isinstance(statement, If):
            _check_indices(kernel, statement.body, bound)


def _check_bound(
    kernel: Program, indices: tuple[Index, ...], bound: frozenset[str], where: str
) -> None:
    known = bound | set(kernel.sizes) | {SUBGROUP_INDEX}
    for index in indices:
        for name in sorted(index.names - known):
            raise KernelError(
                kernel.name,
                {"in": where, "index": index},
                f"no loop binds {name}",
                "use a loop around it, a variable of the grid or an extent of an operand",
            )
        for looked in index.looked_up:
            operand = kernel.operand(looked.operand)
            if operand.value_type.kind == "float" or len(looked.at) != len(operand.modes):
                raise KernelError(
                    kernel.name,
                    {"index": index, "operand": operand},
                    f"{looked} is not an integer of {operand.name}",
                    "look up an operand of integers, with an index for each mode",
                )


def _written(
    kernel: Program, body: tuple[Statement, ...], before: frozenset[str]
) -> frozenset[str]:
    """Return the fragments that are surely written after a body."""
    done = before
    for statement in body:
        touched = statement.touched
        for name in (*touched.reads, *touched.updates):
            kernel.fragment(name)
            if name not in done:
                raise KernelError(
                    kernel.name,
                    {"statement": type(statement).__name__, "fragment": name},
                    f"{name} is read before it is written, on some path",
                    "load or fill it first, in the same loop and under the same condition",
                )
        if isinstance(statement, Loop):
            after = _written(kernel, statement.body, done)
            if at_least(statement.stop - statement.start, kernel) >= 1:
                done = after
        elif isinstance(statement, If):
            _written(kernel, statement.body, done)
        done = done | set(touched.writes)
    return done


def at_least(index: Index, kernel: Program) -> float:
    """Return a lower bound of an index where every extent is 1 or more; ``-inf`` without one."""
    low = float(index.offset)
    for atom, scale in index.terms:
        if scale < 0:
            return -inf
        if isinstance(atom, str):
            low += scale * (1 if atom in kernel.sizes else 0)
        elif isinstance(atom, Quotient):
            inner = at_least(atom.index, kernel)
            low += scale * (inner // atom.divisor if inner > -inf else -inf)
        else:
            return -inf
    return low


def is_arrived(kernel: Program, body: tuple[Statement, ...], arrived: bool) -> bool:
    """Follow the halves of the barrier through a body; return whether an arrival is open."""
    for statement in body:
        meets = statement.touched.meets
        if meets == "arrive":
            if arrived:
                raise _barrier(kernel, "a subgroup arrives at a barrier twice without waiting")
            arrived = True
        elif meets == "wait":
            if not arrived:
                raise _barrier(kernel, "a subgroup waits at a barrier it has not arrived at")
            arrived = False
        elif meets == "both" and arrived:
            raise _barrier(
                kernel, "a work-group meets at a counter between the halves of a barrier"
            )
        elif isinstance(statement, (Loop, If)):
            _follow_inside(kernel, statement, arrived)
    return arrived


def _follow_inside(kernel: Program, statement: Loop | If, arrived: bool) -> None:
    if is_arrived(kernel, statement.body, arrived) != arrived:
        raise _barrier(
            kernel, "a half of a barrier is inside a loop or condition and the other is not"
        )
    shared = any(SUBGROUP_INDEX in index.names for index in statement.touched.indices)
    if shared and _meets(statement.body):
        raise _barrier(kernel, "some subgroups meet at a barrier that others never reach")


def _meets(body: tuple[Statement, ...]) -> bool:
    return any(
        s.touched.meets in ("arrive", "wait", "both")
        or (isinstance(s, (Loop, If)) and _meets(s.body))
        for s in body
    )


def _paired(kernel: Program, body: tuple[Statement, ...]) -> None:
    """A consumer waits behind its arrival at a named barrier, in the same body."""
    owed: list[NamedBarrier] = []
    for statement in body:
        meeting = statement.touched.named
        if isinstance(statement, (Loop, If)):
            _paired(kernel, statement.body)
        elif meeting is not None and meeting.waits:
            if meeting.barrier not in owed:
                raise _unpaired(kernel, meeting.barrier, "waits without arriving as a consumer")
            owed.remove(meeting.barrier)
        elif meeting is not None and meeting.role != "producer":
            if meeting.barrier in owed:
                raise _unpaired(kernel, meeting.barrier, "arrives twice without waiting")
            owed.append(meeting.barrier)
    if owed:
        raise _unpaired(kernel, owed[0], "arrives as a consumer and never waits")


def _unpaired(kernel: Program, barrier: NamedBarrier, wrong: str) -> KernelError:
    return KernelError(
        kernel.name,
        {"barrier": barrier},
        f"a subgroup {wrong}",
        "let consumers arrive and then wait, in the same loop and under the same condition",
    )


def _barrier(kernel: Program, wrong: str) -> KernelError:
    return KernelError(
        kernel.name,
        {"barrier": "split"},
        wrong,
        "let every subgroup arrive and then wait, on every path",
    )
