"""The statements of a kernel, what every subgroup of a work-group does in turn.

Operands live in memory, fragments in registers. Every kind of statement declares what it touches:
which fragments it reads and writes, what it does to memory, and whom it waits for. How a statement
is executed, proved, drawn or emitted is said elsewhere, by readers that are tables from kinds to
meanings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, as_index
from pycute_xe.kernel.ir.effects import (
    CounterAccess,
    Elementwise,
    MemoryAccess,
    Product,
    RegisterMove,
    SharedAccess,
    Touched,
)
from pycute_xe.kernel.ir.statement import Statement, once, touching
from pycute_xe.kernel.spec.expression import (
    Expression,
    Slot,
    as_expression,
    check_depth,
    indices_of,
    leaves,
)
from pycute_xe.kernel.spec.functions import reduction
from pycute_xe.layout import Layout
from pycute_xe.signatures import checked_fields
from pycute_xe.typing import built, is_tuple

__all__ = [
    "AtomicStore",
    "Await",
    "BarrierArrive",
    "BarrierWait",
    "Convert",
    "Fence",
    "FetchAdd",
    "Fill",
    "If",
    "Load",
    "Loop",
    "Map",
    "Mma",
    "ON_REGISTERS",
    "Part",
    "Prefetch",
    "Reduce",
    "Reorder",
    "SharedLoad",
    "SharedStore",
    "Signal",
    "Statement",
    "Store",
    "once",
    "touching",
]


# ------------------------------------------------------------ copies


@checked_fields
@dataclass(frozen=True, slots=True, repr=False)
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
        """Turn integers and names into indices, and refuse tilings that kernels do not take."""
        if isinstance(cast("object", self.copy), TiledCopy):  # else the field is refused
            object.__setattr__(self, "copy", self.copy.sent)
        object.__setattr__(self, "at", tuple(map(as_index, self.at)))

    def __repr__(self) -> str:
        """Where the tile begins, and the copy in short."""
        place = f"{self.operand}[{', '.join(map(str, self.at))}]"
        names = [place, *self.touched.writes, *self.touched.reads]
        return f"<{type(self).__name__} {', '.join(names)}: {self.copy}>"


@checked_fields
@dataclass(frozen=True, slots=True, repr=False)
class _Moving(_Copying):
    """A tiled copy that fills or empties a fragment."""

    fragment: str
    modes: tuple[int | None, ...] = (0, 1)

    def _moved(self, *, loads: bool = False, stores: bool = False) -> MemoryAccess:
        where = (self.copy, self.operand, self.at, self.modes, self.fragment)
        return MemoryAccess(*where, loads=loads, stores=stores)


@checked_fields
@dataclass(frozen=True, slots=True, repr=False)
class Prefetch(_Copying):
    """Bring a tile of an operand into the cache."""

    touches = touching(memory="access", indices="at")
    modes: tuple[int | None, ...] = (0, 1)

    @property
    def access(self) -> MemoryAccess:
        """The tile that is brought into the cache."""
        return MemoryAccess(self.copy, self.operand, self.at, self.modes)


@checked_fields
@dataclass(frozen=True, slots=True, repr=False)
class Load(_Moving):
    """Load a tile of an operand: message ``j`` fills slots ``j * copy.atom.values`` on."""

    touches = touching(writes="fragment", memory="access", indices="at")

    @property
    def access(self) -> MemoryAccess:
        """The tile that is loaded."""
        return self._moved(loads=True)


@checked_fields
@dataclass(frozen=True, slots=True, repr=False)
class Store(_Moving):
    """Store a tile of an operand, clipped to the operand."""

    touches = touching(reads="fragment", memory="access", indices="at")

    @property
    def access(self) -> MemoryAccess:
        """The tile that is stored."""
        return self._moved(stores=True)


@checked_fields
@dataclass(frozen=True, slots=True, repr=False)
class AtomicStore(_Moving):
    """Add a tile to an operand element by element, each addition indivisible, in any order."""

    touches = touching(reads="fragment", memory="access", indices="at")

    @property
    def access(self) -> MemoryAccess:
        """The tile that is added to."""
        return self._moved(loads=True, stores=True)


@checked_fields
@dataclass(frozen=True, slots=True)
class SharedStore(Statement):
    """Write a fragment to a shared array: element ``e`` of subgroup ``s`` goes to ``places(s, e)``.

    ``places`` is a layout of (subgroup, element) → element of the array, plain or swizzled; ``at``
    is added to it.
    """

    touches = touching(reads="fragment", shared="access", indices="at")
    fragment: str
    array: str
    places: Layout | ComposedLayout
    at: Index = field(default_factory=Index)

    @property
    def access(self) -> SharedAccess:
        """The elements that are stored."""
        return SharedAccess(self.array, self.places, self.at, stores=True)


@checked_fields
@dataclass(frozen=True, slots=True)
class SharedLoad(Statement):
    """Read a fragment from a shared array: element ``e`` of subgroup ``s`` at ``places(s, e)``."""

    touches = touching(writes="fragment", shared="access", indices="at")
    array: str
    fragment: str
    places: Layout | ComposedLayout
    at: Index = field(default_factory=Index)

    @property
    def access(self) -> SharedAccess:
        """The elements that are loaded."""
        return SharedAccess(self.array, self.places, self.at, loads=True)


# ------------------------------------------------------------ counters
# Statements by which work-groups wait for one another: counters in memory.


@checked_fields
@dataclass(frozen=True, slots=True)
class _Counting(Statement):
    """What a work-group does to an element of an integer operand, ``at`` an index for each mode.

    All its subgroups meet before, and again after.
    """

    operand: str
    at: tuple[Index, ...]

    def __post_init__(self) -> None:
        """Turn integers and names into indices."""
        for name in ("at", "place"):
            if hasattr(self, name):
                object.__setattr__(self, name, tuple(map(as_index, getattr(self, name))))
        for name in ("least", "by"):
            if hasattr(self, name):
                object.__setattr__(self, name, as_index(getattr(self, name)))


@checked_fields
@dataclass(frozen=True, slots=True)
class Await(_Counting):
    """Wait until a counter is ``least`` or more; what was stored before it became so is seen then.

    C++: ``cutlass::GenericBarrier::wait_eq``, ``wait_lt``, of counters that only grow.
    """

    touches = touching(counter="access", indices="at least", meets="both")
    least: Index

    @property
    def access(self) -> CounterAccess:
        """The counter that is waited for."""
        return CounterAccess(self.operand, self.at, least=self.least)


@checked_fields
@dataclass(frozen=True, slots=True)
class Signal(_Counting):
    """Add ``by`` to a counter, behind all that the work-group has stored.

    C++: ``cutlass::GenericBarrier::arrive_inc``.
    """

    touches = touching(counter="access", indices="at by", meets="both")
    by: Index

    @property
    def access(self) -> CounterAccess:
        """The counter that is added to."""
        return CounterAccess(self.operand, self.at, by=self.by)


@checked_fields
@dataclass(frozen=True, slots=True)
class FetchAdd(_Counting):
    """Add ``by`` to a counter, and keep what it was before: ``into[place]`` is the ticket.

    Behind the statement an index may look the ticket up, as ``Index.element(into, *place)``.
    Additions to a counter follow one another in an order that nothing says; what a work-group
    stored before is not seen by those that add later. C++: an ``atomic_ref::fetch_add`` whose
    value is used.
    """

    touches = touching(counter="access", indices="at by place", meets="both")
    by: Index
    into: str
    place: tuple[Index, ...]

    @property
    def access(self) -> CounterAccess:
        """The counter that is added to, and where its ticket goes."""
        where = (self.operand, self.at)
        return CounterAccess(*where, by=self.by, into=self.into, place=self.place)


# ------------------------------------------------------------ barriers
# The statements by which the subgroups of a work-group wait for one another.


@checked_fields
@dataclass(frozen=True, slots=True)
class BarrierArrive(Statement):
    """Tell a split barrier of the work-group that this subgroup has come."""

    touches = touching(meets="arrive")


@checked_fields
@dataclass(frozen=True, slots=True)
class BarrierWait(Statement):
    """Wait until every subgroup of the work-group has come."""

    touches = touching(meets="wait")


@checked_fields
@dataclass(frozen=True, slots=True)
class Fence(Statement):
    """Make earlier stores to shared memory visible to those who are met at a later barrier.

    A barrier alone does not wait for stores: without a fence between the store and the arrival
    `check` refuses the kernel, `verify` disproves it, and the `reference` executor stops. Source:
    the row ``fence`` of ``atoms/arch.toml``.
    """

    touches = touching(meets="fence")


# ------------------------------------------------------------ statements


@checked_fields
@dataclass(frozen=True, slots=True)
class Fill(Statement):
    """Set every slot of a fragment to one value."""

    touches = touching(writes="fragment")
    fragment: str
    value: float = 0.0


@checked_fields
@dataclass(frozen=True, slots=True)
class Reorder(Statement):
    """Permute register elements: element ``i`` of the source goes to ``slots(i)``.

    Into a fragment of another type they are converted on the way, as `Convert` does. C++:
    ``reorder``, which does both at once.
    """

    touches = touching(move="move", reads="source", writes="destination")
    source: str
    destination: str
    slots: Layout

    @property
    def move(self) -> RegisterMove:
        """Where each element goes."""
        return RegisterMove(self.source, self.destination, self.slots)


@checked_fields
@dataclass(frozen=True, slots=True)
class Part(Statement):
    """Take a part of a fragment: element ``i`` of the destination is ``first + slots(i)``.

    Where `Reorder` says where each element of the source goes, this says where each element of
    the destination comes from; the rest of the source stays behind.
    """

    touches = touching(reads="source", writes="destination")
    source: str
    destination: str
    slots: Layout
    first: int = 0


@checked_fields
@dataclass(frozen=True, slots=True)
class Convert(Statement):
    """Convert every element to the destination's type: nearest even, integers saturated."""

    touches = touching(move="move", reads="source", writes="destination")
    source: str
    destination: str

    @property
    def move(self) -> RegisterMove:
        """Each element keeps its place."""
        return RegisterMove(self.source, self.destination)


@checked_fields
@dataclass(frozen=True, slots=True)
class Map(Statement):
    """Compute every element of a fragment from elements of fragments and scalar operands.

    ``value`` is an expression over `Slot` leaves. Element ``e`` of the destination reads element
    ``e`` of a fragment, or element ``gathers[fragment](e)`` where one is given: a broadcast of a
    row or a column is a layout of stride 0. The index of a condition may name ``element``, the
    number of the destination's element, as a mask of scores does.
    """

    destination: str
    value: Expression
    gathers: tuple[tuple[str, Layout], ...] = ()

    def __post_init__(self) -> None:
        """Check the expression."""
        object.__setattr__(self, "value", as_expression(self.value))
        check_depth("Map", {"destination": self.destination}, self.value)

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
    @once
    def touched(self) -> Touched:
        """Reads fragments and scalars, writes one fragment; conditions need indices."""
        return Touched(
            reads=self.sources,
            writes=(self.destination,),
            elementwise=Elementwise(self.destination, self.value, self.gathers),
            from_memory=self.scalars,
            indices=tuple(index for index, _ in indices_of(self.value)),
        )


@checked_fields
@dataclass(frozen=True, slots=True)
class Reduce(Statement):
    """Combine elements of a fragment: element ``i`` of the source goes into ``slots(i)``.

    Every element of the destination is the sum (or maximum, or minimum) of all that go there.
    Raises `KernelError` for an unknown reduction.
    """

    touches = touching(move="move", reads="source", writes="destination")
    how: str
    source: str
    destination: str
    slots: Layout

    def __post_init__(self) -> None:
        """Check the reduction's name."""
        reduction(self.how)

    @property
    def move(self) -> RegisterMove:
        """Where each element goes, and how those that meet are combined."""
        return RegisterMove(self.source, self.destination, self.slots, self.how)


@checked_fields
@dataclass(frozen=True, slots=True)
class Mma(Statement):
    """Multiply the fragments of A and B into the accumulator, one DPAS for each atom.

    Atoms lie in the registers one after the other: values first, then repetitions along the
    operand's first mode, then along its second.
    """

    touches = touching(product="product", reads="a b", updates="accumulator")
    mma: TiledMma
    accumulator: str
    a: str
    b: str

    @property
    def product(self) -> Product:
        """The fragments that are multiplied."""
        return Product(self.mma, self.accumulator, self.a, self.b)

    def __repr__(self) -> str:
        """The call that builds it."""
        return built(self)


@checked_fields
@dataclass(frozen=True, slots=True)
class Loop(Statement):
    """Repeat the body for ``var`` from ``start`` up to, but not including, ``stop``.

    ``holds`` claims what fragments hold at the start of each trip: an invariant, an expression
    over operands with the loop's variable, that a verifier checks and never trusts. In it
    ``subgroup`` and ``element`` are the numbers of a subgroup and of a register element, and a
    `Slot` is the same element of a fragment that the loop does not write.
    """

    touches = touching(indices="start stop")  # what its body touches, the body says
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
        for name, value in self.holds:
            check_depth("Loop", {"holds": name}, value)

    def __repr__(self) -> str:
        """Its range, and how many statements are repeated."""
        count = f"{len(self.body)} statement{'s'[: len(self.body) != 1]}"
        return f"<Loop {self.start} <= {self.var} < {self.stop}, {count}>"


@checked_fields
@dataclass(frozen=True, slots=True)
class If(Statement):
    """Do the body where ``index < below``."""

    touches = touching(indices="index below")  # what its body touches, the body says
    index: Index
    below: Index
    body: tuple[Statement, ...]

    def __post_init__(self) -> None:
        """Turn integers into indices, and check the body."""
        object.__setattr__(self, "index", as_index(self.index))
        object.__setattr__(self, "below", as_index(self.below))
        _checked_body("If", self.body)

    def __repr__(self) -> str:
        """Its condition, and how many statements it guards."""
        count = f"{len(self.body)} statement{'s'[: len(self.body) != 1]}"
        return f"<If {self.index} < {self.below}, {count}>"


ON_REGISTERS: tuple[type[Statement], ...] = (Fill, Reorder, Part, Convert, Map, Reduce)
"""The kinds that work on registers alone: they send no message and meet no subgroup."""


def _checked_body(operation: str, body: object) -> None:
    if not is_tuple(body) or not all(isinstance(s, Statement) for s in body):
        raise KernelError(
            operation,
            {"body": type(body).__name__},
            "the body is not a tuple of statements",
            "write (load, mma)",
        )
