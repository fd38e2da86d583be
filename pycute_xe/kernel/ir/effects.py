"""What a statement declares: the registers, memory and counters that it uses, and whom it meets.

A reader asks for the declared effect and never for the class: `MemoryAccess` is said by every kind
that sends the messages of a tiled copy, whatever else it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.composed import ComposedLayout
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.barriers import NamedBarrier, Role
from pycute_xe.kernel.spec.expression import Expression, Slot, leaves
from pycute_xe.layout import Layout
from pycute_xe.signatures import checked_fields

__all__ = [
    "CounterAccess",
    "Elementwise",
    "MemoryAccess",
    "NamedMeeting",
    "Product",
    "RegisterMove",
    "SharedAccess",
    "Touched",
]


@checked_fields
@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """A tile of an operand that the messages of a tiled copy move to or from a fragment.

    ``at`` is where the tile begins, an index in elements for each mode of the operand, and
    ``modes`` are the operand's modes that the two modes of the copy's tile run along. What is
    loaded and stored is added to, element by element, each addition indivisible; what is neither
    is brought into the cache, and ``fragment`` is empty.
    """

    copy: TiledCopy
    operand: str
    at: tuple[Index, ...]
    modes: tuple[int | None, ...] = (0, 1)
    fragment: str = ""
    loads: bool = False
    stores: bool = False

    @property
    def adds(self) -> bool:
        """Whether elements are added to, in an order that nothing says."""
        return self.loads and self.stores

    @property
    def prefetches(self) -> bool:
        """Whether the tile comes into the cache, and into no register."""
        return not (self.loads or self.stores)

    @property
    def fills(self) -> bool:
        """Whether the fragment is filled with what memory holds."""
        return self.loads and not self.stores

    @property
    def overwrites(self) -> bool:
        """Whether elements are replaced by what the fragment holds."""
        return self.stores and not self.loads


@checked_fields
@dataclass(frozen=True, slots=True)
class SharedAccess:
    """Elements of a shared array that a statement uses: those at ``places(s, e)``, ``at`` added.

    ``places`` is a layout of (subgroup, element) → element of the array, plain or swizzled. They
    are loaded, stored, or both.
    """

    array: str
    places: Layout | ComposedLayout
    at: Index
    loads: bool = False
    stores: bool = False


@checked_fields
@dataclass(frozen=True, slots=True)
class CounterAccess:
    """What a work-group does to an element of an integer operand, all its subgroups meeting.

    It waits until the element is ``least`` or more, or adds ``by`` to it, and may keep what it was
    before, its ticket: ``into[place]``.
    """

    operand: str
    at: tuple[Index, ...]
    least: Index | None = None
    by: Index | None = None
    into: str = ""
    place: tuple[Index, ...] = ()


@checked_fields
@dataclass(frozen=True, slots=True)
class NamedMeeting:
    """What a subgroup does at a named barrier: arrive in a role, or wait until it has fired."""

    barrier: NamedBarrier
    role: Role | None = None

    @property
    def waits(self) -> bool:
        """Whether the subgroup waits."""
        return self.role is None


@checked_fields
@dataclass(frozen=True, slots=True)
class Product:
    """A product of fragments by DPAS, one for each atom, added to ``accumulator``."""

    mma: TiledMma
    accumulator: str
    a: str
    b: str


@checked_fields
@dataclass(frozen=True, slots=True)
class RegisterMove:
    """Element ``i`` of the source goes to ``slots(i)`` of the destination, converted to its type.

    Without ``slots`` each element keeps its place. Those that go to one place are combined by the
    reduction ``how``, which is empty where none do.
    """

    source: str
    destination: str
    slots: Layout | None = None
    how: str = ""

    @property
    def permutation(self) -> Layout | None:
        """Where each element goes, to a place of its own; None where all stay, or some meet."""
        return None if self.how else self.slots


@checked_fields
@dataclass(frozen=True, slots=True)
class Elementwise:
    """Every element of a fragment is an expression over elements of fragments and scalars.

    A `Slot` is element ``e`` of a fragment, or ``gathers[fragment](e)`` where one is given.
    """

    destination: str
    value: Expression
    gathers: tuple[tuple[str, Layout], ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The fragments that are read, each once."""
        return tuple(dict.fromkeys(x.fragment for x in leaves(self.value) if isinstance(x, Slot)))


@checked_fields
@dataclass(frozen=True, slots=True)
class Touched:
    """What a statement touches: fragments, operands, a shared array, and whom it meets.

    ``updates`` are fragments that it reads and writes. ``from_memory``, ``to_memory`` and
    ``prefetched`` name operands; those of ``memory`` and ``counter`` are among them. A reader that
    needs the elements of an operand that is named alone refuses the statement.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    from_memory: tuple[str, ...] = ()
    to_memory: tuple[str, ...] = ()
    prefetched: tuple[str, ...] = ()
    memory: MemoryAccess | None = None
    shared: SharedAccess | None = None
    counter: CounterAccess | None = None
    product: Product | None = None
    move: RegisterMove | None = None
    elementwise: Elementwise | None = None
    indices: tuple[Index, ...] = ()
    meets: Literal["", "arrive", "wait", "both", "fence"] = ""
    named: NamedMeeting | None = None

    def __post_init__(self) -> None:
        """Name the operands of accesses."""
        loaded: list[str] = []
        stored: list[str] = []
        prefetched: list[str] = []
        if (memory := self.memory) is not None:
            loaded += [memory.operand] * memory.loads
            stored += [memory.operand] * memory.stores
            prefetched += [memory.operand] * memory.prefetches
        if (counter := self.counter) is not None:
            loaded.append(counter.operand)
            stored += [counter.operand] * (counter.by is not None)
            stored += [counter.into] * bool(counter.into)
        object.__setattr__(self, "from_memory", _joined(self.from_memory, loaded))
        object.__setattr__(self, "to_memory", _joined(self.to_memory, stored))
        object.__setattr__(self, "prefetched", _joined(self.prefetched, prefetched))

    @property
    def only_counts(self) -> bool:
        """Whether a counter is all that the statement uses."""
        counter = self.counter
        alone = Touched(counter=counter, indices=self.indices, meets=self.meets)
        return counter is not None and self == alone

    @property
    def from_shared(self) -> tuple[str, ...]:
        """The shared array that is loaded from, if one is."""
        return (self.shared.array,) if self.shared is not None and self.shared.loads else ()

    @property
    def to_shared(self) -> tuple[str, ...]:
        """The shared array that is stored to, if one is."""
        return (self.shared.array,) if self.shared is not None and self.shared.stores else ()

    @property
    def unplaced(self) -> tuple[str, ...]:
        """The operands that are read or written and named alone: which elements is not declared."""
        loaded: set[str] = set()
        stored: set[str] = set()
        if (memory := self.memory) is not None:
            loaded |= {memory.operand} if memory.loads else set()
            stored |= {memory.operand} if memory.stores else set()
        if (counter := self.counter) is not None:
            loaded.add(counter.operand)
            stored |= {counter.operand, counter.into} if counter.by is not None else {counter.into}
        if (elementwise := self.elementwise) is not None:
            loaded |= {x.operand for x in leaves(elementwise.value) if not isinstance(x, Slot)}
        names = [name for name in self.from_memory if name not in loaded]
        names += [name for name in self.to_memory if name not in stored]
        return tuple(dict.fromkeys(names))


def _joined(names: tuple[str, ...], others: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*names, *others])) if others else names
