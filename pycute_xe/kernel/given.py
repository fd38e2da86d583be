"""Floor 7: the names and integers that indices are made of, checked where they are given."""

from __future__ import annotations

import operator

from pycute_xe.errors import KernelError, quoted

__all__ = ["checked_integer", "checked_name"]


def checked_name(name: object) -> None:
    """Raise `KernelError` unless a name is None or an identifier."""
    if name is not None and not (isinstance(name, str) and name.isidentifier()):
        raise KernelError(
            "Index", {"name": name}, "the name of an index is an identifier", 'write Index("k")'
        )


def checked_integer(operation: str, value: object) -> int:
    """Return an integer as Python's own; `KernelError` for anything else."""
    if type(value) is int:
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError as error:
        raise KernelError(
            operation,
            {"value": value},
            f"{quoted(value)} is {type(value).__name__}, indices are integers",
            "use an integer",
        ) from error
