"""Floor 7: the statements of a kernel, what every subgroup of a work-group does in turn.

Operands live in memory, fragments in registers. Every kind of statement declares what it touches:
which fragments it reads and writes, what it does to memory, and whom it waits for. How a statement
is executed, proved, drawn or emitted is said elsewhere, by readers that are tables from kinds to
meanings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, as_index
from pycute_xe.kernel.spec.expression import Expression, Slot, as_expression, leaves
from pycute_xe.layout import Layout
from pycute_xe.signatures import held_fields
from pycute_xe.typing import is_tuple

__all__ = [
    "AtomicStore",
    "BarrierArrive",
    "BarrierWait",
    "Convert",
    "Fence",
    "Fill",
    "If",
    "Load",
    "Loop",
    "Map",
    "Mma",
    "Prefetch",
    "Reduce",
    "Reorder",
    "SharedLoad",
    "SharedStore",
    "Statement",
    "Store",
    "Touched",
]


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
    meets: Literal["", "arrive", "wait", "fence"] = ""


@held_fields
@dataclass(frozen=True, slots=True)
class Statement:
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


@held_fields
@dataclass(frozen=True, slots=True)
class Fill(Statement):
    """Set every slot of a fragment to one value."""

    fragment: str
    value: float = 0.0

    @property
    def touched(self) -> Touched:
        """Writes the fragment."""
        return Touched(writes=(self.fragment,))


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
class Prefetch(_Copying):
    """Bring a tile of an operand into the cache."""

    modes: tuple[int | None, ...] = (0, 1)

    @property
    def touched(self) -> Touched:
        """Touches memory without effect."""
        return Touched(prefetched=(self.operand,), indices=self.at)


@held_fields
@dataclass(frozen=True, slots=True)
class Load(_Copying):
    """Load a tile of an operand: message ``j`` fills slots ``j * copy.atom.values`` on."""

    fragment: str
    modes: tuple[int | None, ...] = (0, 1)

    @property
    def touched(self) -> Touched:
        """Reads memory, writes the fragment."""
        return Touched(writes=(self.fragment,), from_memory=(self.operand,), indices=self.at)


@held_fields
@dataclass(frozen=True, slots=True)
class Store(_Copying):
    """Store a tile of an operand, clipped to the operand."""

    fragment: str
    modes: tuple[int | None, ...] = (0, 1)

    @property
    def touched(self) -> Touched:
        """Reads the fragment, writes memory."""
        return Touched(reads=(self.fragment,), to_memory=(self.operand,), indices=self.at)


@held_fields
@dataclass(frozen=True, slots=True)
class AtomicStore(_Copying):
    """Add a tile to an operand element by element, each addition indivisible, in any order."""

    fragment: str
    modes: tuple[int | None, ...] = (0, 1)

    @property
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
class Reorder(Statement):
    """Permute register elements: element ``i`` of the source goes to ``slots(i)``."""

    source: str
    destination: str
    slots: Layout

    @property
    def touched(self) -> Touched:
        """Reads one fragment, writes the other."""
        return Touched(reads=(self.source,), writes=(self.destination,))


@held_fields
@dataclass(frozen=True, slots=True)
class Convert(Statement):
    """Convert every element to the destination's type: nearest even, integers saturated."""

    source: str
    destination: str

    @property
    def touched(self) -> Touched:
        """Reads one fragment, writes the other."""
        return Touched(reads=(self.source,), writes=(self.destination,))


@held_fields
@dataclass(frozen=True, slots=True)
class Map(Statement):
    """Compute every element of a fragment from elements of fragments and scalar operands.

    ``value`` is an expression over `Slot` leaves. Element ``e`` of the destination reads element
    ``e`` of a fragment, or element ``gathers[fragment](e)`` where one is given: a broadcast of a
    row or a column is a layout of stride 0.
    """

    destination: str
    value: Expression
    gathers: tuple[tuple[str, Layout], ...] = ()

    def __post_init__(self) -> None:
        """Check the expression."""
        object.__setattr__(self, "value", as_expression(self.value))

    @property
    def sources(self) -> tuple[str, ...]:
        """The fragments that are read, each once."""
        return tuple(dict.fromkeys(x.fragment for x in leaves(self.value) if isinstance(x, Slot)))

    @property
    def scalars(self) -> tuple[str, ...]:
        """The scalar operands that are read, each once."""
        slots = (x for x in leaves(self.value) if not isinstance(x, Slot))
        return tuple(dict.fromkeys(x.operand for x in slots))

    @property
    def touched(self) -> Touched:
        """Reads fragments and scalars, writes one fragment."""
        return Touched(reads=self.sources, writes=(self.destination,), from_memory=self.scalars)


@held_fields
@dataclass(frozen=True, slots=True)
class Reduce(Statement):
    """Combine elements of a fragment: element ``i`` of the source goes into ``slots(i)``.

    Every element of the destination is the sum (or maximum) of all that go there.
    """

    how: Literal["sum", "max"]
    source: str
    destination: str
    slots: Layout

    @property
    def touched(self) -> Touched:
        """Reads one fragment, writes the other."""
        return Touched(reads=(self.source,), writes=(self.destination,))


@held_fields
@dataclass(frozen=True, slots=True)
class Mma(Statement):
    """Multiply the fragments of A and B into the accumulator, one DPAS for each atom.

    Atoms lie in the registers one after the other: values first, then repetitions along the
    operand's first mode, then along its second.
    """

    mma: TiledMma
    accumulator: str
    a: str
    b: str

    @property
    def touched(self) -> Touched:
        """Reads A and B, updates the accumulator."""
        return Touched(reads=(self.a, self.b), updates=(self.accumulator,))


@held_fields
@dataclass(frozen=True, slots=True)
class BarrierArrive(Statement):
    """Tell a split barrier of the work-group that this subgroup has come."""

    @property
    def touched(self) -> Touched:
        """Arrives."""
        return Touched(meets="arrive")


@held_fields
@dataclass(frozen=True, slots=True)
class BarrierWait(Statement):
    """Wait until every subgroup of the work-group has come."""

    @property
    def touched(self) -> Touched:
        """Waits."""
        return Touched(meets="wait")


@held_fields
@dataclass(frozen=True, slots=True)
class Fence(Statement):
    """Make earlier accesses to shared memory visible to those who are met at a later barrier."""

    @property
    def touched(self) -> Touched:
        """Orders memory."""
        return Touched(meets="fence")


@held_fields
@dataclass(frozen=True, slots=True)
class SharedStore(Statement):
    """Write a fragment to a shared array: element ``e`` of subgroup ``s`` goes to ``places(s, e)``.

    ``places`` is a layout of (subgroup, element) → element of the array; ``at`` is added to it.
    """

    fragment: str
    array: str
    places: Layout
    at: Index = field(default_factory=Index)

    @property
    def touched(self) -> Touched:
        """Reads the fragment, writes the array."""
        return Touched(reads=(self.fragment,), to_shared=(self.array,), indices=(self.at,))


@held_fields
@dataclass(frozen=True, slots=True)
class SharedLoad(Statement):
    """Read a fragment from a shared array: element ``e`` of subgroup ``s`` at ``places(s, e)``."""

    array: str
    fragment: str
    places: Layout
    at: Index = field(default_factory=Index)

    @property
    def touched(self) -> Touched:
        """Reads the array, writes the fragment."""
        return Touched(writes=(self.fragment,), from_shared=(self.array,), indices=(self.at,))


@held_fields
@dataclass(frozen=True, slots=True)
class Loop(Statement):
    """Repeat the body for ``var`` from ``start`` up to, but not including, ``stop``.

    ``holds`` claims what fragments hold at the start of each trip: an invariant, an expression
    over operands with the loop's variable, that a verifier checks and never trusts.
    """

    var: str
    start: Index
    stop: Index
    body: tuple[Statement, ...]
    holds: tuple[tuple[str, Expression], ...] = ()

    def __post_init__(self) -> None:
        """Turn integers into indices, and check the body."""
        object.__setattr__(self, "start", as_index(self.start))
        object.__setattr__(self, "stop", as_index(self.stop))
        _checked_body("Loop", self.body)

    @property
    def touched(self) -> Touched:
        """What its bounds need; what its body touches, the body says."""
        return Touched(indices=(self.start, self.stop))


@held_fields
@dataclass(frozen=True, slots=True)
class If(Statement):
    """Do the body where ``index < below``."""

    index: Index
    below: Index
    body: tuple[Statement, ...]

    def __post_init__(self) -> None:
        """Turn integers into indices, and check the body."""
        object.__setattr__(self, "index", as_index(self.index))
        object.__setattr__(self, "below", as_index(self.below))
        _checked_body("If", self.body)

    @property
    def touched(self) -> Touched:
        """What its condition needs; what its body touches, the body says."""
        return Touched(indices=(self.index, self.below))


def _checked_body(operation: str, body: object) -> None:
    if not is_tuple(body) or not all(isinstance(s, Statement) for s in body):
        raise KernelError(
            operation,
            {"body": type(body).__name__},
            "the body is not a tuple of statements",
            "write (load, mma)",
        )
