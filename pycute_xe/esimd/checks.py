"""What every call asks of its arguments before it uses them: whole numbers, cache hints."""

from __future__ import annotations

import operator

from pycute_xe.errors import InputError, quoted
from pycute_xe.esimd.types import cache_hint

__all__ = ["tokens", "whole"]


def whole(operation: str, **values: object) -> tuple[int, ...]:
    """Return numbers as ints, in order; `InputError` for anything but integers.

    >>> whole("select", count=2, stride=1)
    (2, 1)
    """
    return tuple(_whole(operation, name, value) for name, value in values.items())


def _whole(operation: str, name: str, value: object) -> int:
    try:
        return operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        operands = {name: quoted(value)}
        raise InputError(operation, operands, f"{name} must be an integer", "use an int") from None


def tokens(operation: str, l1: object, l3: object) -> tuple[str, str]:
    """Return the vISA tokens of two cache hints; `InputError` for anything else.

    >>> tokens("block_load", cache_hint.cached, cache_hint.none)
    ('ca', 'df')
    """
    found: list[str] = []
    for name, value in (("l1", l1), ("l3", l3)):
        if not isinstance(value, cache_hint):
            known = ", ".join(f"cache_hint.{hint.name}" for hint in cache_hint)
            operands = {name: quoted(value)}
            raise InputError(operation, operands, f"{name} must be a cache hint", f"one of {known}")
        found.append(value.value)
    return found[0], found[1]
