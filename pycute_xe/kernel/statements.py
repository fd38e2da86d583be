"""Floor 7: the statements of a kernel, what every subgroup of a work-group does in turn.

Operands live in memory, fragments in registers. A fragment is a row of slots: element ``t + 16 *
v`` of a subgroup's registers is slot ``v`` of work-item ``t``. No statement knows how it is
executed, proved or printed elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.layout import Layout
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed_fields

__all__ = [
    "BarrierArrive",
    "BarrierWait",
    "Fill",
    "Fragment",
    "Load",
    "Loop",
    "Mma",
    "Operand",
    "Order",
    "Prefetch",
    "Reorder",
    "Statement",
    "Store",
    "When",
]

Order = Literal["row", "col"]
T = TypeVar("T")


@typed_fields
@dataclass(frozen=True, slots=True)
class Operand:
    """A matrix in memory: its name, type, the extents of its modes, and which one is contiguous.

    ``modes`` are in CuTe's order: A (M, K), B (N, K), D (M, N). ``x_mode`` is the contiguous mode,
    ``tile`` the extents of one work-group's tile.
    """

    name: str
    value_type: Numeric
    modes: tuple[str, str]
    x_mode: int
    tile: tuple[int, int]
    order: Order

    def __str__(self) -> str:
        """Name, rows and columns of the matrix as its user sees it, type and order."""
        return (
            f"{self.name}[{','.join(self.matrix(self.modes))}] {self.value_type} {self.order}-major"
        )

    def matrix(self, pair: tuple[T, T]) -> tuple[T, T]:
        """Return what belongs to the two modes as rows and columns: B (N, K) is a matrix (K, N)."""
        x, y = pair[self.x_mode], pair[1 - self.x_mode]
        return (y, x) if self.order == "row" else (x, y)


@dataclass(frozen=True, slots=True)
class Fragment:
    """Registers of a subgroup: a name, a type, and the slots that each work-item holds."""

    name: str
    value_type: Numeric
    slots: int

    @property
    def bytes(self) -> int:
        """Bytes of a subgroup's registers."""
        return 16 * self.slots * self.value_type.bits // 8

    def __str__(self) -> str:
        """Name, type and slots."""
        return f"{self.name} {self.value_type}[{self.slots}]"


@dataclass(frozen=True, slots=True)
class Fill:
    """Set every slot of a fragment to one value."""

    fragment: str
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Bring a tile of an operand into the cache."""

    copy: TiledCopy
    operand: str
    at: tuple[Index, Index]


@dataclass(frozen=True, slots=True)
class Load:
    """Load a tile of an operand: message ``j`` fills slots ``j * copy.atom.values`` on."""

    copy: TiledCopy
    operand: str
    at: tuple[Index, Index]
    fragment: str


@dataclass(frozen=True, slots=True)
class Store:
    """Store a tile of an operand, clipped to the matrix."""

    copy: TiledCopy
    operand: str
    at: tuple[Index, Index]
    fragment: str


@dataclass(frozen=True, slots=True)
class Reorder:
    """Permute register elements: element ``i`` of the source goes to ``slots(i)``."""

    source: str
    destination: str
    slots: Layout


@dataclass(frozen=True, slots=True)
class Mma:
    """Multiply the fragments of A and B into the accumulator, one DPAS for each atom.

    Atoms lie in the registers one after the other: values first, then repetitions along the
    operand's first mode, then along its second.
    """

    mma: TiledMma
    accumulator: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class BarrierArrive:
    """Tell the work-group's split barrier that this subgroup has come."""


@dataclass(frozen=True, slots=True)
class BarrierWait:
    """Wait until every subgroup of the work-group has come."""


@typed_fields
@dataclass(frozen=True, slots=True)
class Loop:
    """Repeat the body for ``var`` from ``start`` up to, but not including, ``stop``."""

    var: str
    start: int
    stop: Tiles | int
    body: tuple[Statement, ...]

    def __post_init__(self) -> None:
        """Refuse to count tiles from below zero."""
        if self.start < 0:
            raise KernelError(
                "Loop", {"var": self.var, "start": self.start}, "it starts below zero", "use 0"
            )


@dataclass(frozen=True, slots=True)
class When:
    """Do the body where ``index < below``."""

    index: Index
    below: Tiles
    body: tuple[Statement, ...]


Statement: TypeAlias = (
    Fill | Prefetch | Load | Store | Reorder | Mma | BarrierArrive | BarrierWait | Loop | When
)
