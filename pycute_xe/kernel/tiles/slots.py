"""What the registers of an MMA or of a copy hold: register element → coordinate."""

from __future__ import annotations

from dataclasses import replace

from pycute_xe.atom.reordering import in_register_order
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import layout_of
from pycute_xe.errors import KernelError
from pycute_xe.kernel.arrays import Ints
from pycute_xe.layout import Layout, make_layout

__all__ = ["Ints", "by_registers", "copy_slots", "mma_slots", "separated", "subgroup_tv"]


def by_registers(mma: TiledMma) -> TiledMma:
    """Return a tiled MMA whose layouts say where the instruction finds its operands.

    >>> from pycute_xe.atom import workgroup_mma
    >>> from pycute_xe.cutlass import get_atom
    >>> mma = workgroup_mma(get_atom("XE_8x16x16_F32BF16BF16F32_TT"))
    >>> mma.atom.faithful, by_registers(mma).atom.faithful
    (False, True)
    """
    return replace(mma, atom=mma.atom.by_registers) if mma.atom.legacy else mma


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


def separated(starts: Ints, inside: Ints) -> Layout:
    """Return a layout of two modes from the places where subgroups begin, and those within."""
    modes = [layout_of(tuple(int(x) for x in part)) for part in (starts, inside)]
    if any(mode is None for mode in modes):
        raise KernelError(
            "slm_gemm",
            {"places": inside.size},
            "no layout says where the elements of a subgroup lie in shared memory",
            "use workgroup_mma(op, tile, subgroups)",
        )
    return make_layout(*(mode for mode in modes if mode is not None))
