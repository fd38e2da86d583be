"""Every statement of a body, with what encloses it and what it declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from pycute_xe.kernel.ir.effects import Touched
from pycute_xe.kernel.ir.statements import If, Loop, Statement

__all__ = ["Enclosing", "Visit", "visit"]

Enclosing: TypeAlias = "Loop | If"
"""What repeats a statement, or decides whether it is done."""


class Visit(NamedTuple):
    """A statement, the loops and conditions around it, outermost first, and what it declares."""

    statement: Statement
    enclosing: tuple[Enclosing, ...]
    effects: Touched

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops around it, outermost first."""
        return tuple(one for one in self.enclosing if isinstance(one, Loop))


def visit(body: tuple[Statement, ...], enclosing: tuple[Enclosing, ...] = ()) -> Iterator[Visit]:
    """Yield every statement of a body in order, outer before inner.

    >>> from pycute_xe.kernel.index import Index
    >>> from pycute_xe.kernel.ir.statements import Fence
    >>> loop = Loop("k", Index(), Index("K"), (Fence(),))
    >>> [(type(one.statement).__name__, len(one.enclosing)) for one in visit((loop,))]
    [('Loop', 0), ('Fence', 1)]
    """
    for statement in body:
        yield Visit(statement, enclosing, statement.touched)
        if isinstance(statement, (Loop, If)):
            yield from visit(statement.body, (*enclosing, statement))
