"""Floor 7: the statements of a body in order, inner ones included."""

from __future__ import annotations

from collections.abc import Iterator

from pycute_xe.kernel.ir.statements import If, Loop, Statement
from pycute_xe.signatures import typed

__all__ = ["walk"]


@typed
def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of a body, outer before inner, in order."""
    return _walk(iter(body))


def _walk(body: Iterator[Statement]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        if isinstance(statement, (Loop, If)):
            yield from _walk(iter(statement.body))
