"""Block-2D tiled copies for the operands of a tiled MMA."""

from __future__ import annotations

from dataclasses import replace
from math import gcd, prod
from operator import index
from typing import Any, cast

from pycute_xe.algebra import composition, zipped_divide
from pycute_xe.algebra.compose import flat_modes, joined
from pycute_xe.atom.block2d_op import XE_PREFETCH_2D, Block2DOp
from pycute_xe.atom.copy_atom import GivenBlock, as_operation, make_copy_atom
from pycute_xe.atom.mma_atom import Operand
from pycute_xe.atom.selection import memory_modes, select_block_2d, subgroup_fragment
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import DivisibilityError, DTypeError, InputError, KernelError
from pycute_xe.int_tuple import ceil_div
from pycute_xe.layout import Layout, make_layout
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed
from pycute_xe.tensor import Tensor
from pycute_xe.typing import Symbolic, is_tuple

__all__ = [
    "make_block_2d_copy",
    "make_block_2d_copy_A",
    "make_block_2d_copy_B",
    "make_block_2d_copy_C",
    "make_block_2d_copy_D",
    "make_block_2d_prefetch",
]

# ------------------------------------------------------------ copy memory
# What block-2D copies are told of memory: strides, shape and type of a tensor.

GlobalStride = tuple[Any, ...] | Tensor


def demand_blocks(counts: object, rank: int, sv_layout: object) -> None:
    """Refuse anything but a count of blocks for each mode, and a layout of them."""
    wrong = ""
    if not is_tuple(counts) or not all(type(count) is int and count > 0 for count in counts):
        wrong = "atom_shape is not a tuple of positive integers"
    elif len(counts) != rank:
        wrong = f"atom_shape has {len(counts)} modes, the strides have {rank}"
    elif sv_layout is not None and not isinstance(sv_layout, Layout):
        wrong = f"sv_layout is not a layout but {type(sv_layout).__name__}"
    elif isinstance(sv_layout, Layout) and len(sv_layout) != 2:
        wrong = f"sv_layout has {len(sv_layout)} modes, not (subgroup, message)"
    if wrong:
        fix = "count blocks along each mode, such as (2, 1), and number them by Layout((2, 1))"
        raise KernelError("make_block_2d_copy", {}, wrong, fix)


def _plain(stride: Any) -> Any:
    """A stride as an integer, where it counts as one; names and symbols stay."""
    if isinstance(stride, (str, Symbolic)):
        return stride
    try:
        if not isinstance(stride, bool):
            return index(stride)
    except TypeError:
        pass
    raise KernelError(
        "make_block_2d_copy",
        {"stride": type(stride).__name__},
        "a stride is neither an integer nor a name",
        'give strides such as ("ld", 1) or (1024, 1)',
    )


def memory(gmem: GlobalStride) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    """Return the strides of a tensor, and its shape where it is known.

    Raises `KernelError` for anything but a tensor of two modes or more, or their strides.

    >>> memory(("ld", 1))
    (('ld', 1), None)
    """
    if isinstance(gmem, Tensor):
        layout = gmem.beneath
        if is_tuple(layout.stride) and is_tuple(layout.shape):
            return layout.stride, layout.shape
        gmem = (layout.stride,)
    if not is_tuple(gmem) or len(gmem) < 2:
        raise KernelError(
            "make_block_2d_copy",
            {"gmem": gmem},
            "a block-2D copy needs a tensor of two modes or more, or their strides",
            'give a tensor or strides such as ("ld", 1)',
        )
    return tuple(map(_plain, gmem)), None


def memory_type(
    gmem: GlobalStride, value_type: Numeric | str | None, operand_type: Numeric | str
) -> Numeric:
    """Return the type in memory: as asked for, else the tensor's own, else the operand's.

    Raises `DTypeError` when the tensor holds values of another width than is asked for.

    >>> memory_type(("ld", 1), None, "bf16")
    as_numeric('bf16')
    """
    dtype = getattr(getattr(gmem, "data", None), "dtype", None)
    stored = None if dtype is None else as_numeric(getattr(dtype, "name", str(dtype)))
    if value_type is None:
        return stored or as_numeric(operand_type)
    if isinstance(value_type, Block2DOp):
        wrong = f"value_type is {value_type}, an operation"
        fix = f"write op={value_type!r}"
        raise InputError("make_block_2d_copy", {"value_type": value_type}, wrong, fix)
    asked = as_numeric(value_type)
    if stored is not None and stored.bits != asked.bits:
        raise DTypeError(
            "make_block_2d_copy",
            {"tensor": stored, "value_type": asked},
            f"the tensor holds {stored}, {stored.bits} bits each, not {asked}",
            f"leave value_type out, or convert the data to {asked} first",
        )
    return asked


# ------------------------------------------------------------ block2d copy


@typed
def make_block_2d_copy(
    op: GivenBlock,
    gmem_stride: GlobalStride,
    value_type: Numeric | str,
    atom_shape: tuple[int, ...] | None = None,
    sv_layout: Layout | None = None,
) -> TiledCopy:
    """Return a tiling of one block-2D operation, for one subgroup or for several.

    ``op`` is the operation, an atom of it or a name; an older name stands for the messages that it
    sends (`template_of`). ``atom_shape`` counts blocks along each mode of the tile; ``sv_layout``
    maps (subgroup, message) to a block, with offsets in ``atom_shape``, first mode fastest.
    Raises `CuteError` for what is not a block-2D copy. C++: ``make_block_2d_copy``.

    >>> from pycute_xe.atom import XE_LOAD_2D
    >>> make_block_2d_copy(XE_LOAD_2D(16, 8, 16), (1, "ld"), "f16").tiler_mn
    (16, 8)
    """
    strides, shape = memory(gmem_stride)
    x, y = memory_modes(strides)
    stored = memory_type(gmem_stride, value_type, value_type)
    atom = make_copy_atom(as_operation(op, stored), stored)
    block = [1] * len(strides)
    block[x], block[y] = atom.width, atom.height
    counts = (1,) * len(strides) if atom_shape is None else atom_shape
    demand_blocks(counts, len(strides), sv_layout)
    tile = tuple(b * n for b, n in zip(block, counts, strict=True))
    # One block's (work-item, value), placed in the whole tile.
    place = Layout((atom.width, atom.height), (prod(tile[:x]), prod(tile[:y])))
    one = composition(place, atom.layout_ref_tv)
    if sv_layout is None:
        return TiledCopy(atom, one, tile, x, y, strides, shape)
    blocks = Layout(counts, tuple(b * prod(tile[:i]) for i, b in enumerate(block)))
    many = composition(blocks, sv_layout)
    tv = make_layout(make_layout(one[0], many[0]), make_layout(one[1], many[1]))
    return TiledCopy(atom, tv, tile, x, y, strides, shape)


def _operand_copy(
    mma: TiledMma,
    operand: Operand,
    gmem: GlobalStride,
    value_type: Numeric | str | None,
    op: GivenBlock | None,
) -> TiledCopy:
    if not isinstance(cast("object", mma), TiledMma):
        raise KernelError(
            f"make_block_2d_copy_{operand}",
            {"mma": mma},
            f"{type(mma).__name__} is not a tiled MMA",
            "use workgroup_mma(op, tile=…) or make_tiled_mma(op)",
        )
    store, register_type = operand == "D", mma.atom.operand_type(operand)
    part = "C" if operand == "D" else operand
    strides, _ = memory(gmem)
    stored = memory_type(gmem, value_type, register_type)
    x, y = memory_modes(strides)
    if op is None:
        walk = subgroup_fragment(mma, part)
        op = select_block_2d(walk, stored, register_type, x, y, store)
    op = as_operation(op, stored)
    atom = make_copy_atom(op, stored)
    extents = (*mma.operand_tile(part), *(1 for _ in strides[2:]))
    block = [1] * len(extents)
    block[x], block[y] = atom.width, atom.height
    counts = _block_counts(op, extents, block)
    sv = _visited_blocks(mma, part, tuple(block[:2]), counts[:2])
    return make_block_2d_copy(op, gmem, stored, counts, sv)


def _block_counts(op: Block2DOp, extents: tuple[int, ...], block: list[int]) -> tuple[int, ...]:
    if any(extent % b for extent, b in zip(extents, block, strict=True)):
        raise DivisibilityError(
            "make_block_2d_copy",
            {"op": op, "tile": extents},
            f"blocks of {tuple(block)} values do not divide the tile {extents}",
            "use a smaller block or a larger tile",
        )
    return tuple(extent // b for extent, b in zip(extents, block, strict=True))


def _visited_blocks(
    mma: TiledMma, operand: str, block: tuple[int, ...], counts: tuple[int, ...]
) -> Layout:
    """(subgroup, message) → block, in the order a subgroup's fragment first meets the blocks."""
    # A coordinate's block: nothing moves inside a block, one step from block to block.
    steps = Layout(counts).stride
    modes = zip(block, counts, steps, strict=True)
    block_of = make_layout(*(make_layout(Layout(b, 0), Layout(n, d)) for b, n, d in modes))
    (_, threads), _ = mma.fragment(operand)
    subgroups = composition(threads, mma.operand_subgroups(operand))
    # Coalesced, so that blocks may cut through atoms: a reorder then puts the values right.
    seen = composition(block_of, subgroup_fragment(mma, operand))
    messages = joined(mode for mode in flat_modes(seen) if mode[1] != 0)
    return make_layout(composition(block_of, subgroups), messages)


@typed
def make_block_2d_copy_A(
    mma: TiledMma,
    gmem: GlobalStride,
    value_type: Numeric | str | None = None,
    op: GivenBlock | None = None,
) -> TiledCopy:
    """Return the tiled copy that loads A's tile (M, K), with the operation CUTLASS would choose.

    ``gmem`` is a tensor or its strides: 1 for the contiguous mode, an integer or a name elsewhere;
    `check` judges what is given. ``value_type`` is the type in memory, by default that of the
    tensor's data, else the MMA's; ``op``, or its name, overrides the choice. Raises
    `DivisibilityError` when the blocks do not divide the tile, `DTypeError` when the tensor holds
    values of another width, `KernelError` for other strides. C++: ``make_block_2d_copy_A``.

    >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> make_block_2d_copy_A(mma, ("ld", 1)).op
    XE_LOAD_2D(16, 32, 32, 16)
    """
    return _operand_copy(mma, "A", gmem, value_type, op)


@typed
def make_block_2d_copy_B(
    mma: TiledMma,
    gmem: GlobalStride,
    value_type: Numeric | str | None = None,
    op: GivenBlock | None = None,
) -> TiledCopy:
    """Return the tiled copy that loads B's tile (N, K); see `make_block_2d_copy_A`.

    >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> make_block_2d_copy_B(mma, (1, "ld")).op
    XE_LOAD_2D_VNNI(16, 16, 32, 16)
    """
    return _operand_copy(mma, "B", gmem, value_type, op)


@typed
def make_block_2d_copy_C(
    mma: TiledMma,
    gmem: GlobalStride,
    value_type: Numeric | str | None = None,
    op: GivenBlock | None = None,
) -> TiledCopy:
    """Return the tiled copy that loads C's tile (M, N); see `make_block_2d_copy_A`.

    >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> make_block_2d_copy_C(mma, ("ld", 1)).op
    XE_LOAD_2D(32, 32, 16)
    """
    return _operand_copy(mma, "C", gmem, value_type, op)


@typed
def make_block_2d_copy_D(
    mma: TiledMma,
    gmem: GlobalStride,
    value_type: Numeric | str | None = None,
    op: GivenBlock | None = None,
) -> TiledCopy:
    """Return the tiled copy that stores D's tile (M, N); see `make_block_2d_copy_A`.

    >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> make_block_2d_copy_D(mma, ("ld", 1)).op
    XE_STORE_2D(32, 8, 16)
    """
    return _operand_copy(mma, "D", gmem, value_type, op)


BLOCK_2D_COPIES = {
    "A": make_block_2d_copy_A,
    "B": make_block_2d_copy_B,
    "C": make_block_2d_copy_C,
    "D": make_block_2d_copy_D,
}
"""The maker of each operand's copy."""


@typed
def make_block_2d_prefetch(copy: TiledCopy) -> TiledCopy:
    """Return the prefetch of the tile that a copy loads, shared out over the same subgroups.

    Whole cache lines along the contiguous mode first, then as many rows as each subgroup must
    take. Raises `DivisibilityError` where the subgroups do not share these blocks evenly.
    C++: ``make_block_2d_prefetch``.

    >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> make_block_2d_prefetch(make_block_2d_copy_A(mma, ("ld", 1))).op
    XE_PREFETCH_2D(16, 8, 32)
    """
    if not isinstance(cast("object", copy), TiledCopy):
        condition = f"{type(copy).__name__} is not a tiled copy"
        raise KernelError("make_block_2d_prefetch", {}, condition, "use make_block_2d_copy_A(…)")
    bits, tile, x, y = copy.value_type.bits, copy.tiler_mn, copy.x_mode, copy.y_mode
    line = 512
    width = gcd(tile[x], line // bits)
    across = gcd(copy.num_subgroups, ceil_div(tile[x], width))
    height = min(32, ceil_div(tile[y], copy.num_subgroups // across))
    unit = max(bits, 8)
    op = XE_PREFETCH_2D(unit, height, ceil_div(width * bits, unit))
    block = [1] * len(tile)
    block[x], block[y] = width, height
    counts = tuple(ceil_div(extent, b) for extent, b in zip(tile, block, strict=True))
    across = gcd(copy.num_subgroups, counts[x])
    together = [1] * len(tile)
    together[x], together[y] = across, copy.num_subgroups // across
    # Where one round has more subgroups than blocks, it runs past the tile, as CUTLASS's does.
    sv = zipped_divide(Layout(counts), tuple(together))
    stride: list[Any] = ["ld"] * len(tile)
    stride[x] = 1
    try:
        fetched = make_block_2d_copy(op, tuple(stride), copy.value_type, counts, sv)
    except DivisibilityError as error:
        raise DivisibilityError(
            "make_block_2d_prefetch",
            {"tile": tile, "subgroups": copy.num_subgroups},
            f"{prod(counts)} blocks of {height} x {width} are not shared evenly by "
            f"{copy.num_subgroups} subgroups",
            "use stages=0, which prefetches nothing, or other subgroups",
        ) from error
    return replace(fetched, gmem_stride=copy.gmem_stride, gmem_shape=copy.gmem_shape)
