"""Floor 7: the statements of a body in order, inner ones included."""

from __future__ import annotations

from collections.abc import Iterator

from pycute_xe.kernel.ir.statements import If, Loop, Statement

__all__ = ["walk"]


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of a body, outer before inner, in order."""
    for statement in body:
        yield statement
        if isinstance(statement, (Loop, If)):
            yield from walk(statement.body)
