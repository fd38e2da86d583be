"""Which block-2D operation serves an MMA operand, chosen as CUTLASS chooses.

The choice looks at the order in which a subgroup's registers walk the operand's tile: the modes of
the coalesced fragment, each an extent and a step along one dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any, Literal

from pycute_xe.algebra import coalesce, composition
from pycute_xe.algebra.compose import flat_modes, merged
from pycute_xe.atom.block2d_op import (
    XE_LOAD_2D,
    XE_LOAD_2D_TRANSPOSE,
    XE_LOAD_2D_VNNI,
    XE_STORE_2D,
    Block2DOp,
)
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.basis import Basis
from pycute_xe.errors import DivisibilityError, KernelError
from pycute_xe.layout import Layout, coshape, make_layout, size
from pycute_xe.numeric import Numeric
from pycute_xe.typing import Mode

__all__ = ["Choice", "choose_block_2d", "memory_modes", "select_block_2d", "subgroup_fragment"]

Kind = Literal["plain", "vnni", "transpose"]

GRF_BYTES = 64


def memory_modes(gmem_stride: tuple[Any, ...]) -> tuple[int, int]:
    """Return (x, y): the mode that is contiguous in memory, and the first that is not.

    ``gmem_stride`` has 1 for the contiguous mode and anything else (an integer, a name) elsewhere.
    Raises `KernelError` when no mode is contiguous, or there is no other mode.

    >>> memory_modes(("ld", 1)), memory_modes((1, "ld", "batch"))
    ((1, 0), (0, 1))
    """
    unit = [i for i, d in enumerate(gmem_stride) if d == 1]
    rest = [i for i in range(len(gmem_stride)) if i not in unit[:1]]
    if not unit or not rest:
        raise KernelError(
            "make_block_2d_copy",
            {"gmem_stride": gmem_stride},
            "block-2D messages need one contiguous mode and one strided mode",
            'give strides such as ("ld", 1) or (1, "ld")',
        )
    return unit[0], rest[0]


def subgroup_fragment(mma: TiledMma, operand: str) -> Layout:
    """Return (lane and value) → tile coordinate of subgroup 0, in register order, coalesced."""
    (lanes, _), values = mma.fragment(operand)
    return coalesce(make_layout(lanes, values))


def select_block_2d(
    fragment: Layout,
    memory_type: Numeric,
    register_type: Numeric,
    x: int,
    y: int,
    store: bool = False,
) -> Block2DOp:
    """Return the operation that moves a subgroup's fragment, as CUTLASS selects it.

    ``fragment`` maps register order to tile coordinates (basis strides); ``x`` is the mode that is
    contiguous in memory, ``y`` the other. Counterpart: ``block_2d_selector``.

    >>> from pycute_xe.basis import E
    >>> from pycute_xe.numeric import as_numeric
    >>> bf16 = as_numeric("bf16")
    >>> rows = Layout((16, 32, 2), (E(1), E(0), 16 * E(1)))
    >>> select_block_2d(rows, bf16, bf16, x=1, y=0)
    XE_LOAD_2D(16, 32, 32, 16)
    """
    return choose_block_2d(fragment, memory_type, register_type, x, y, store).op


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice and what it rests on: extents are in values of the memory's type.

    ``along_x`` tells whether neighbours in registers are neighbours in memory, ``packed`` whether
    registers want several values of a column in a dword; ``run_x`` and ``run_y`` are how far a
    subgroup's registers walk along x and y before a larger step takes over, ``tile_x`` and
    ``tile_y`` how far its share reaches; ``row`` is how many values of a row a message moves.
    """

    op: Block2DOp
    kind: Kind
    along_x: bool
    packed: bool
    run_x: int
    run_y: int
    tile_x: int
    tile_y: int
    row: int


def choose_block_2d(
    fragment: Layout,
    memory_type: Numeric,
    register_type: Numeric,
    x: int,
    y: int,
    store: bool = False,
) -> Choice:
    """Return `select_block_2d`'s choice with the extents that it rests on.

    >>> from pycute_xe.basis import E
    >>> from pycute_xe.numeric import as_numeric
    >>> bf16 = as_numeric("bf16")
    >>> rows = Layout((16, 32, 2), (E(1), E(0), 16 * E(1)))
    >>> found = choose_block_2d(rows, bf16, bf16, x=1, y=0)
    >>> found.kind, found.run_x, found.run_y, found.row
    ('plain', 16, 32, 32)
    """
    whole_bytes = _bytes_first(fragment, register_type.bits)
    modes, packed = _unpacked(flat_modes(whole_bytes), register_type.bits)
    extents = coshape(fragment)
    if max(x, y) >= len(extents):
        raise KernelError(
            "make_block_2d_copy",
            {"contiguous": x, "strided": y, "tile": extents},
            "the contiguous mode or the strided one is not a mode of the tile",
            'give strides such as ("ld", 1) or (1, "ld")',
        )
    walk = _Walk(modes, extents)
    kind = _kind(modes, packed, x, memory_type.bits, store)
    resize = memory_type.bits != register_type.bits
    half_register = min(GRF_BYTES * 8 // 2 // register_type.bits, 16)
    along_x = isinstance(modes[0][1], Basis) and modes[0][1].modes == (x,)
    row = (32 if kind == "transpose" else GRF_BYTES) * 8 // memory_type.bits
    if kind == "transpose":
        run_x = extents[x] if resize else walk.run(x)
        run_y = walk.run(y, half_register)
        bits = max(32, min(64, memory_type.bits))
        width = gcd(run_x, row)
        op = XE_LOAD_2D_TRANSPOSE(bits, gcd(32, run_y), width * memory_type.bits // bits)
        return Choice(op, kind, along_x, packed, run_x, run_y, extents[x], extents[y], row)
    run_x = walk.run(x, half_register)
    run_y = extents[y] if resize else walk.run(y)
    bits = max(8, min(64, memory_type.bits))
    block = gcd(row, run_x)
    block_width = block * memory_type.bits // bits
    width = gcd(min(row, 4 * block), extents[x]) * memory_type.bits // bits
    if store:
        op = XE_STORE_2D(bits, gcd(run_y, 8), block_width)
    else:
        load = XE_LOAD_2D_VNNI if kind == "vnni" else XE_LOAD_2D
        op = load(bits, gcd(run_y, 32), width, block_width)
    return Choice(op, kind, along_x, packed, run_x, run_y, extents[x], extents[y], row)


class _Walk:
    """How far a fragment runs along a dimension before a larger step takes over."""

    def __init__(self, modes: list[Mode], extents: tuple[int, ...]) -> None:
        self.modes = modes
        self.extents = extents

    def run(self, dim: int, at_least: int = 2) -> int:
        for _, step in self.modes:
            if isinstance(step, Basis) and step.modes == (dim,) and step.value >= at_least:
                return step.value
        return self.extents[dim]


def _bytes_first(fragment: Layout, bits: int) -> Layout:
    """Walk the values of each byte first, then the work-items: no message takes bytes apart."""
    if bits >= 8:
        return fragment
    per_byte, values = 8 // bits, size(fragment) // SUBGROUP
    if size(fragment) % (SUBGROUP * per_byte):
        raise DivisibilityError(
            "select_block_2d",
            {"fragment": fragment, "register_type": f"{bits} bits"},
            f"{size(fragment)} values do not fill the bytes of {SUBGROUP} work-items",
            f"use a multiple of {SUBGROUP * per_byte} values",
        )
    order = (per_byte, SUBGROUP, values // per_byte), (SUBGROUP, 1, SUBGROUP * per_byte)
    return coalesce(composition(fragment, Layout(*order)))


def _unpacked(modes: list[Mode], bits: int) -> tuple[list[Mode], bool]:
    """Take the VNNI packing, if there is any, out of the front of a fragment's modes."""
    if bits >= 32 or len(modes) < 2 or modes[0][0] != 32 // bits:
        return modes, False
    (pack, step), rest = modes[0], list(modes[1:])
    for i, (extent, other) in enumerate(rest):
        if isinstance(other, Basis) and other.modes == step.modes:
            rest[i : i + 1] = merged([(pack, step), (extent, other)])
            return rest, True
    # The packed rows are all there are: CUTLASS adds the mode once more at the end.
    return [*modes, modes[0]], True


def _kind(modes: list[Mode], packed: bool, x: int, bits: int, store: bool) -> Kind:
    if store:
        return "plain"
    extent, step = modes[0]
    along_x = isinstance(step, Basis) and step.modes == (x,)
    if along_x:
        return "vnni" if packed and bits in (8, 16) else "plain"
    # A transpose moves dwords; below two bytes there is nothing to gain.
    return "transpose" if extent * bits >= 16 else "plain"
