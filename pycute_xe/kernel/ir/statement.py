"""Floor 7: what every statement of a kernel is: a value that says what it touches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Literal, TypeVar

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.signatures import held_fields

__all__ = ["Statement", "Touched", "once"]


@held_fields
@dataclass(frozen=True, slots=True)
class Touched:
    """What a statement touches: fragments, operands, shared arrays, and whom it meets.

    ``updates`` are fragments that it reads and writes.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    from_memory: tuple[str, ...] = ()
    to_memory: tuple[str, ...] = ()
    prefetched: tuple[str, ...] = ()
    from_shared: tuple[str, ...] = ()
    to_shared: tuple[str, ...] = ()
    indices: tuple[Index, ...] = ()
    meets: Literal["", "arrive", "wait", "both", "fence"] = ""


class _Remembers:
    """A place, beside the fields, for what a statement touches."""

    __slots__ = ("_touched",)

    _touched: Touched


Kind = TypeVar("Kind", bound=_Remembers)


def once(touched: Callable[[Kind], Touched]) -> Callable[[Kind], Touched]:
    """Return a property's function that is called once for every statement: all readers ask."""

    @wraps(touched)
    def remembered(self: Kind) -> Touched:
        if not hasattr(self, "_touched"):
            object.__setattr__(self, "_touched", touched(self))
        return self._touched  # pyright: ignore[reportPrivateUsage]

    return remembered


@held_fields
@dataclass(frozen=True, slots=True)
class Statement(_Remembers):
    """One thing that every subgroup of a work-group does. A new kind derives from it."""

    @property
    def touched(self) -> Touched:
        """What it touches. Every kind says so."""
        raise KernelError(
            "Statement",
            {"kind": type(self).__name__},
            "the kind does not say what it touches",
            "define `touched`",
        )
