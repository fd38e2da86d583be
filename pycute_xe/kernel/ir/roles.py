"""Which subgroups do a statement: conditions that depend on their number alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.program import walk
from pycute_xe.kernel.ir.statements import If, Loop, Statement

__all__ = ["chooses", "classes", "doing", "mixes", "of_some", "without_roles"]

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
