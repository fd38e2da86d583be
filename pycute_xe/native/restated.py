"""Statements as maps and conversions that do the same, of which a part can be changed.

A statement declares what it computes, and not how another one like it is made. Where a `Map` or a
`Convert` declares all that it does and nothing more, that takes its place.
"""

from __future__ import annotations

from pycute_xe.kernel import Convert, Map, Statement

__all__ = ["as_convert", "as_map"]


def as_map(statement: Statement) -> Map | None:
    """Return the `Map` that does what a statement does; None where it does more, or another thing.

    >>> from pycute_xe.kernel import Fill, Slot
    >>> square = Map("x", Slot("x") * Slot("x"))
    >>> as_map(square) == square, as_map(Fill("x"))
    (True, None)
    """
    effect = statement.touched.elementwise
    if effect is None:
        return None
    alike = Map(effect.destination, effect.value, effect.gathers)
    return alike if alike.touched == statement.touched else None


def as_convert(statement: Statement) -> Convert | None:
    """Return the `Convert` that does what a statement does; None as `as_map`.

    >>> as_convert(Convert("x", "y")).destination
    'y'
    """
    move = statement.touched.move
    if move is None:
        return None
    alike = Convert(move.source, move.destination)
    return alike if alike.touched == statement.touched else None
