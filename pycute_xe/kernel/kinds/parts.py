"""Floor 7: parts that kinds of kernels share: how operands reach the registers of an MMA."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.atom.block2d_copy import make_block_2d_prefetch
from pycute_xe.atom.reordering import in_register_order, is_identity, reorder
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Fragment, Order
from pycute_xe.kernel.ir.statements import Load, Prefetch, Reorder, Statement
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.signatures import typed

__all__ = ["Side", "copy_slots", "gmem_stride", "mma_slots", "subgroup_tv"]


@typed
def gmem_stride(operand: str, order: Order) -> tuple[str | int, str | int]:
    """Return the strides of an operand in CuTe's mode order, ``"ld"`` for the leading dimension.

    Row-major B has N contiguous, so its (N, K) strides are ``(1, "ld")``.
    Raises `KernelError` for an order that is neither "row" nor "col".

    >>> gmem_stride("A", "row"), gmem_stride("B", "row")
    (('ld', 1), (1, 'ld'))
    """
    if order not in ("row", "col"):
        raise KernelError(
            "gemm", {operand: order}, f"{order!r} is not a storage order", 'use "row" or "col"'
        )
    first_contiguous = (order == "col") != (operand == "B")
    return (1, "ld") if first_contiguous else ("ld", 1)


def subgroup_tv(fragment: Layout, bits: int) -> Layout:
    """Return (lane, value) → coordinate of one subgroup's fragment, in the registers' order."""
    (lanes, _), values = fragment
    return in_register_order(make_layout(lanes, values), bits)


def copy_slots(copy: TiledCopy) -> Layout:
    """Return register element → coordinate in the tile, for the first subgroup of a copy."""
    return subgroup_tv(copy.fragment, copy.value_type.bits)


def mma_slots(mma: TiledMma, role: str) -> Layout:
    """Return register element → coordinate in the tile, for the first subgroup of an MMA."""
    op = mma.atom.op
    return subgroup_tv(mma.fragment(role), {"A": op.A, "B": op.B, "C": op.D}[role].bits)


@dataclass(frozen=True)
class Side:
    """One of the two operands that are loaded: its copy and its registers before and after.

    ``modes`` are the operand's modes that the copy's tile runs along; ``at`` maps the number of a
    tile along K to where the tile begins.
    """

    name: str
    copy: TiledCopy
    mma: TiledMma
    modes: tuple[int, int]
    before: tuple[Index, ...]
    reordered: bool

    @property
    def loaded(self) -> str:
        """The fragment that the copy fills."""
        return f"t{self.name}r{self.name}"

    @property
    def read(self) -> str:
        """The fragment that the MMA reads."""
        return f"tCr{self.name}" if self.reordered else self.loaded

    def at(self, k: Index) -> tuple[Index, ...]:
        """Return where the tile of a trip begins: element indices in the operand's order."""
        depth = self.copy.tiler_mn[1]
        mode = self.modes[1]
        return tuple(k * depth if i == mode else index for i, index in enumerate(self.before))

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the fragments of the operand."""
        slots = self.copy.messages * self.copy.atom.values
        out = [Fragment(self.loaded, self.copy.value_type, slots)]
        if self.reordered:
            numeric = getattr(self.mma.atom.op, self.name)
            out.append(Fragment(self.read, numeric, size(self.mma.fragment(self.name)[1])))
        return tuple(out)

    def load(self, k: Index) -> Load:
        """Return the load of a tile."""
        return Load(self.copy, self.name, self.at(k), self.loaded, self.modes)

    def prefetch(self, k: Index) -> Prefetch:
        """Return the prefetch of a tile."""
        return Prefetch(make_block_2d_prefetch(self.copy), self.name, self.at(k), self.modes)

    def reorder(self) -> tuple[Statement, ...]:
        """Return the reorder into the registers that the MMA reads, where there is one."""
        if not self.reordered:
            return ()
        slots = reorder(copy_slots(self.copy), mma_slots(self.mma, self.name))
        return (Reorder(self.loaded, self.read, slots),)


def store_reorder(mma: TiledMma, copy: TiledCopy, bits: int) -> Layout | None:
    """Return the reorder from accumulator order to a copy's, None where nothing moves."""
    source = subgroup_tv(mma.fragment("C"), bits)
    slots = reorder(source, copy_slots(copy))
    return None if is_identity(slots) else slots
