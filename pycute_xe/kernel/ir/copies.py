"""Statements that move data between memory, shared memory and registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Literal, TypeVar

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, as_index
from pycute_xe.layout import Layout
from pycute_xe.signatures import held_fields

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

    modes: tuple[int | None, ...] = (0, 1)

    @property
    @once
    def touched(self) -> Touched:
        """Touches memory without effect."""
        return Touched(prefetched=(self.operand,), indices=self.at)


@held_fields
@dataclass(frozen=True, slots=True)
class Load(_Moving):
    """Load a tile of an operand: message ``j`` fills slots ``j * copy.atom.values`` on."""

    @property
    @once
    def touched(self) -> Touched:
        """Reads memory, writes the fragment."""
        return Touched(writes=(self.fragment,), from_memory=(self.operand,), indices=self.at)


@held_fields
@dataclass(frozen=True, slots=True)
class Store(_Moving):
    """Store a tile of an operand, clipped to the operand."""

    @property
    @once
    def touched(self) -> Touched:
        """Reads the fragment, writes memory."""
        return Touched(reads=(self.fragment,), to_memory=(self.operand,), indices=self.at)


@held_fields
@dataclass(frozen=True, slots=True)
class AtomicStore(_Moving):
    """Add a tile to an operand element by element, each addition indivisible, in any order."""

    @property
    @once
    def touched(self) -> Touched:
        """Reads the fragment, updates memory."""
        return Touched(
            reads=(self.fragment,),
            from_memory=(self.operand,),
            to_memory=(self.operand,),
            indices=self.at,
        )


@held_fields
@dataclass(frozen=True, slots=True)
class SharedStore(Statement):
    """Write a fragment to a shared array: element ``e`` of subgroup ``s`` goes to ``places(s, e)``.

    ``places`` is a layout of (subgroup, element) → element of the array, plain or swizzled; ``at``
    is added to it.
    """

    fragment: str
    array: str
    places: Layout | ComposedLayout
    at: Index = field(default_factory=Index)

    @property
    @once
    def touched(self) -> Touched:
        """Reads the fragment, writes the array."""
        return Touched(reads=(self.fragment,), to_shared=(self.array,), indices=(self.at,))


@held_fields
@dataclass(frozen=True, slots=True)
class SharedLoad(Statement):
    """Read a fragment from a shared array: element ``e`` of subgroup ``s`` at ``places(s, e)``."""

    array: str
    fragment: str
    places: Layout | ComposedLayout
    at: Index = field(default_factory=Index)

    @property
    @once
    def touched(self) -> Touched:
        """Reads the array, writes the fragment."""
        return Touched(writes=(self.fragment,), from_shared=(self.array,), indices=(self.at,))
