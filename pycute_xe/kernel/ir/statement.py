"""What every statement of a kernel is: a value that says what it touches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.effects import Touched
from pycute_xe.signatures import checked_fields
from pycute_xe.typing import is_tuple, shown

__all__ = ["Statement", "once", "touching"]


class _Remembers:
    """A place, beside the fields, for what a statement touches."""

    __slots__ = ("_touched",)

    _touched: Touched


def touching(**fields: str) -> Mapping[str, str]:
    """Return which fields of a kind say what it touches, by the names of `Touched`."""
    return fields


Kind = TypeVar("Kind", bound=_Remembers)


def once(touched: Callable[[Kind], Touched]) -> Callable[[Kind], Touched]:
    """Return a property's function that is called once for every statement: all readers ask."""

    @wraps(touched)
    def remembered(self: Kind) -> Touched:
        if not hasattr(self, "_touched"):
            object.__setattr__(self, "_touched", touched(self))
        return self._touched  # pyright: ignore[reportPrivateUsage]

    return remembered


@checked_fields
@dataclass(frozen=True, slots=True)
class Statement(_Remembers):
    """One thing that every subgroup of a work-group does. A new kind derives from it.

    ``touches`` names the fields that say what it touches, for each field of `Touched`; a kind of
    which fields alone do not say it defines `touched`.
    """

    touches: ClassVar[Mapping[str, str]] = touching()

    _repr_mimebundle_ = shown

    @property
    @once
    def touched(self) -> Touched:
        """What it touches. Every kind says so."""
        if not self.touches:
            raise KernelError(
                "Statement",
                {"kind": type(self).__name__},
                "the kind does not say what it touches",
                "define `touched`",
            )
        declared: dict[str, Any] = {}
        for what, names in self.touches.items():
            if what == "meets":
                declared[what] = names
            elif what in _NAMES:
                declared[what] = _values(self, names)
            else:
                declared[what] = getattr(self, names)
        return Touched(**declared)


_NAMES = ("reads", "writes", "updates", "from_memory", "to_memory", "prefetched", "indices")
"""Of these, fields hold names or indices; another is one value."""


def _values(statement: Statement, names: str) -> tuple[Any, ...]:
    """Return what fields hold together, a tuple element by element."""
    values = (attrgetter(name)(statement) for name in names.split())
    return tuple(x for value in values for x in (value if is_tuple(value) else (value,)))
