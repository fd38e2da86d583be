"""Statements that move data between memory, shared memory and registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from operator import attrgetter
from typing import Any, ClassVar, Literal, TypeVar

from pycute_xe.atom.tilings import TiledCopy
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, as_index
from pycute_xe.layout import Layout
from pycute_xe.signatures import held_fields
from pycute_xe.typing import is_tuple

__all__ = [
    "AtomicStore",
    "Load",
    "Prefetch",
    "SharedLoad",
    "SharedStore",
    "Store",
    "Statement",
    "Touched",
    "once",
    "touching",
]

# ------------------------------------------------------------ statement
# What every statement of a kernel is: a value that says what it touches.


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


@held_fields
@dataclass(frozen=True, slots=True)
class Statement(_Remembers):
    """One thing that every subgroup of a work-group does. A new kind derives from it.

    ``touches`` names the fields that say what it touches, for each field of `Touched`; a kind of
    which fields alone do not say it defines `touched`.
    """

    touches: ClassVar[Mapping[str, str]] = touching()

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
        fields = dict(self.touches)
        meets: Any = fields.pop("meets", "")
        found = {what: _values(self, names) for what, names in fields.items()}
        return Touched(**found, meets=meets)


def _values(statement: Statement, names: str) -> tuple[Any, ...]:
    """Return what fields hold together, a tuple element by element."""
    values = (attrgetter(name)(statement) for name in names.split())
    return tuple(x for value in values for x in (value if is_tuple(value) else (value,)))


# ------------------------------------------------------------ copies


@held_fields
@dataclass(frozen=True, slots=True)
class _Copying(Statement):
    """A tiled copy between a tile of an operand and registers.

    ``at`` is where the tile begins, an index in elements for each mode of the operand; ``modes``
    are the operand's modes that the two modes of the copy's tile run along, None for a mode of
    extent 1 that the operand does not have.
    """

    copy: TiledCopy
    operand: str
    at: tuple[Index, ...]

    def __post_init__(self) -> None:
        """Turn integers and names into indices."""
        object.__setattr__(self, "at", tuple(map(as_index, self.at)))


@held_fields
@dataclass(frozen=True, slots=True)
class _Moving(_Copying):
    """A tiled copy that fills or empties a fragment."""

    fragment: str
    modes: tuple[int | None, ...] = (0, 1)


@held_fields
@dataclass(frozen=True, slots=True)
class Prefetch(_Copying):
    """Bring a tile of an operand into the cache."""

    touches = touching(prefetched="operand", indices="at")
    modes: tuple[int | None, ...] = (0, 1)


@held_fields
@dataclass(frozen=True, slots=True)
class Load(_Moving):
    """Load a tile of an operand: message ``j`` fills slots ``j * copy.atom.values`` on."""

    touches = touching(writes="fragment", from_memory="operand", indices="at")


@held_fields
@dataclass(frozen=True, slots=True)
class Store(_Moving):
    """Store a tile of an operand, clipped to the operand."""

    touches = touching(reads="fragment", to_memory="operand", indices="at")


@held_fields
@dataclass(frozen=True, slots=True)
class AtomicStore(_Moving):
    """Add a tile to an operand element by element, each addition indivisible, in any order."""

    touches = touching(reads="fragment", from_memory="operand", to_memory="operand", indices="at")


@held_fields
@dataclass(frozen=True, slots=True)
class SharedStore(Statement):
    """Write a fragment to a shared array: element ``e`` of subgroup ``s`` goes to ``places(s, e)``.

    ``places`` is a layout of (subgroup, element) → element of the array, plain or swizzled; ``at``
    is added to it.
    """

    touches = touching(reads="fragment", to_shared="array", indices="at")
    fragment: str
    array: str
    places: Layout | ComposedLayout
    at: Index = field(default_factory=Index)


@held_fields
@dataclass(frozen=True, slots=True)
class SharedLoad(Statement):
    """Read a fragment from a shared array: element ``e`` of subgroup ``s`` at ``places(s, e)``."""

    touches = touching(writes="fragment", from_shared="array", indices="at")
    array: str
    fragment: str
    places: Layout | ComposedLayout
    at: Index = field(default_factory=Index)
