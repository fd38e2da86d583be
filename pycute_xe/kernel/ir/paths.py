"""What must hold on every path through a kernel: names bound, fragments written, barriers.

A fragment is written before it is read. The two halves of a split barrier alternate, arrival first,
and no subgroup can take one without the other.
"""

from __future__ import annotations

from math import inf

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Index, Quotient
from pycute_xe.kernel.ir.program import Program
from pycute_xe.kernel.ir.roles import classes, without_roles
from pycute_xe.kernel.ir.statements import (
    If,
    Loop,
    Map,
    NamedArrive,
    NamedBarrier,
    NamedWait,
    Statement,
)
from pycute_xe.kernel.spec.expression import indices_of

__all__ = ["at_least", "check_barriers", "check_defined", "check_paths", "is_arrived"]


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
        own = frozenset({ELEMENT_INDEX}) if isinstance(statement, Map) else frozenset[str]()
        _check_bound(kernel, statement.touched.indices, bound | own, type(statement).__name__)
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
        if isinstance(statement, NamedArrive) and statement.role != "producer":
            if statement.barrier in owed:
                raise _unpaired(kernel, statement.barrier, "arrives twice without waiting")
            owed.append(statement.barrier)
        elif isinstance(statement, NamedWait):
            if statement.barrier not in owed:
                raise _unpaired(kernel, statement.barrier, "waits without arriving as a consumer")
            owed.remove(statement.barrier)
        elif isinstance(statement, (Loop, If)):
            _paired(kernel, statement.body)
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
