"""The permutation between two register fragments that hold the same elements."""

from __future__ import annotations

from pycute_xe.algebra import coalesce, composition, left_inverse
from pycute_xe.algebra.compose import flat_modes
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.atom.subgroup_tensor import SubgroupTensor
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import entries
from pycute_xe.errors import CuteError, DivisibilityError, DTypeError, KernelError
from pycute_xe.layout import Layout, coshape, make_layout, size
from pycute_xe.signatures import typed
from pycute_xe.typing import is_tuple

__all__ = [
    "classify_reorder",
    "in_register_order",
    "is_identity",
    "operand_reorder",
    "reorder",
    "reorder_from_copy",
    "reorder_rank",
    "reorder_to_copy",
]

_CHANNEL = 32


@typed
def reorder(src_tv: Layout | SubgroupTensor, dst_tv: Layout | SubgroupTensor) -> Layout:
    """Return source register element → destination register element of the same tile element.

    ``src_tv`` and ``dst_tv`` map (work-item, value) to offsets (or coordinates) of one tile, or are
    fragments of a subgroup, which have such maps;
    register element ``t + 16 * v`` is value ``v`` of work-item ``t``. Law: ``dst_tv(R(i)) ==
    src_tv(i)``. Raises `KernelError` when the two do not hold the same elements.
    C++: ``reorder`` of subgroup tensors.

    >>> rows = Layout((16, 4), (1, 16))
    >>> print(reorder(Layout((16, (2, 2)), (1, (32, 16))), rows))
    (16,2,2):(1,32,16)
    """
    src_tv, dst_tv = _tv(src_tv), _tv(dst_tv)
    src, dst = _as_offsets(src_tv, dst_tv)
    try:
        layout = coalesce(composition(left_inverse(dst), src))
    except CuteError as error:
        raise _unlike(src_tv, dst_tv) from error
    if size(src) != size(dst) or entries(composition(dst, layout)) != entries(src):
        raise _unlike(src_tv, dst_tv)
    return layout


def _tv(fragment: Layout | SubgroupTensor) -> Layout:
    return fragment.tv_layout if isinstance(fragment, SubgroupTensor) else fragment


@typed
def is_identity(slots: Layout) -> bool:
    """Tell whether a reorder moves nothing.

    >>> is_identity(Layout(64)), is_identity(Layout((16, 2, 2), (1, 32, 16)))
    (True, False)
    """
    return coalesce(slots) == Layout(size(slots))


@typed
def in_register_order(tv: Layout, bits: int) -> Layout:
    """Return a (work-item, value) map with its domain in the order of the registers' elements.

    Law: ``in_register_order(tv, bits)(i)`` is what register element ``i`` holds. From 8 bits on
    that is ``tv``; narrower elements are dealt to work-items byte by byte.
    Raises `DTypeError` for widths that fill no bytes, `DivisibilityError` for work-items that share
    a byte.
    C++: ``subbyte_sg_tv_swizzle``.

    >>> print(in_register_order(Layout((16, 4), (4, 1)), 4))
    (2,16,2):(1,4,2)
    """
    _check_width("in_register_order", bits)
    if bits >= 8:
        return tv
    packed, values = 8 // bits, size(tv) // SUBGROUP
    if values % packed:
        raise DivisibilityError(
            "in_register_order",
            {"tv": tv, "bits": bits},
            f"{values} values of {bits} bits do not fill the bytes of a work-item",
            f"give each work-item a multiple of {packed} values",
        )
    dealt = Layout((packed, SUBGROUP, values // packed), (SUBGROUP, 1, SUBGROUP * packed))
    return composition(tv, dealt)


@typed
def classify_reorder(slots: Layout, source_bits: int, destination_bits: int) -> str:
    """Return CUTLASS's name of a reorder of register elements of these widths.

    U stands for unit stride, V for VNNI: 32 bits of a column side by side. "UU": runs of whole
    registers; "UU_Universal": runs of 16 elements; "UV", "VU", "VV"; "Generic": anything else.
    Raises `DTypeError` for widths that do not divide the 32 bits of a channel.
    C++: ``classify_xe_reorder``.

    >>> classify_reorder(Layout((16, 2, 8), (2, 1, 32)), 16, 16)
    'UV'
    """
    for bits in (source_bits, destination_bits):
        _check_width("classify_reorder", bits, _CHANNEL)
    modes = flat_modes(coalesce(slots))
    source, destination = _CHANNEL // source_bits, _CHANNEL // destination_bits
    extent, step = modes[0]
    if step == 1 and extent % (SUBGROUP * max(source, destination)) == 0:
        return "UU"
    if step == 1 and extent % SUBGROUP == 0:
        return "UU_Universal"
    for name, start in _vnni_starts(source, destination).items():
        if modes[: len(start)] == start:
            return name
    return "Generic"


def _check_width(operation: str, bits: object, most: int = 64) -> None:
    """Refuse element widths that fill no bytes, or no channel where ``most`` is one."""
    if type(bits) is int and 0 < bits <= most and bits & (bits - 1) == 0:
        return
    widths = [1 << i for i in range(most.bit_length())]
    raise DTypeError(
        operation,
        {"bits": bits},
        f"such elements do not fill {'a channel of 32 bits' if most == _CHANNEL else 'bytes'}",
        f"use a width of {', '.join(map(str, widths[:-1]))} or {most}",
    )


def _vnni_starts(source: int, destination: int) -> dict[str, list[tuple[int, int]]]:
    """How reorders from or to VNNI begin, by the elements in a channel of either side."""
    starts = {
        "UV": [(SUBGROUP, destination), (destination, 1)],
        "VU": [(source, SUBGROUP), (SUBGROUP, 1)],
    }
    if source > destination:  # a channel is spread over several
        spread = (source // destination, destination * SUBGROUP)
        starts["VV"] = [(destination, 1), spread, (SUBGROUP, destination)]
    elif source < destination:
        gathered = (destination // source, source)
        starts["VV"] = [(source, 1), (SUBGROUP, source * SUBGROUP), gathered]
    return starts


@typed
def reorder_from_copy(copy: TiledCopy, mma: TiledMma, operand: str) -> Layout:
    """Return the reorder from the registers a copy fills to those the MMA reads.

    >>> from pycute_xe.atom import (XE_DPAS_TT, make_block_2d_copy_A, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> is_identity(reorder_from_copy(make_block_2d_copy_A(mma, ("ld", 1)), mma, "A"))
    True
    """
    return reorder(_copy_side(copy), _mma_side(mma, operand))


@typed
def reorder_to_copy(mma: TiledMma, operand: str, copy: TiledCopy) -> Layout:
    """Return the reorder from the registers an MMA fills to those a copy stores.

    >>> from pycute_xe.atom import (XE_DPAS_TT, make_block_2d_copy_D, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> is_identity(reorder_to_copy(mma, "C", make_block_2d_copy_D(mma, ("ld", 1))))
    True
    """
    return reorder(_mma_side(mma, operand), _copy_side(copy))


def operand_reorder(copy: TiledCopy, mma: TiledMma, operand: str) -> Layout:
    """Return the reorder between a copy and an operand: from D to a store, else from a load.

    Raises as `reorder` does.

    >>> from pycute_xe.atom import (XE_DPAS_TT, make_block_2d_copy_D, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> is_identity(operand_reorder(make_block_2d_copy_D(mma, ("ld", 1)), mma, "D"))
    True
    """
    if operand == "D":
        return reorder_to_copy(mma, "C", copy)
    return reorder_from_copy(copy, mma, operand)


def reorder_rank(copy: TiledCopy, mma: TiledMma, operand: str) -> int:
    """Return 0 for no reorder, 1 for one that renames registers, 2 for one that moves values.

    Raises as `reorder` does.

    >>> from pycute_xe.atom import (XE_DPAS_TT, XE_LOAD_2D, make_block_2d_copy_B, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> [reorder_rank(make_block_2d_copy_B(mma, (1, "ld"), op=op), mma, "B")
    ...     for op in (None, XE_LOAD_2D(16, 32, 32, 16))]
    [0, 2]
    """
    slots = operand_reorder(copy, mma, operand)
    if is_identity(slots):
        return 0
    op = mma.atom.op
    bits = {"A": op.bytes_A, "B": op.bytes_B}.get(operand, op.bytes_D) * 8
    piece, moved = bits // copy.value_type.bits, entries(slots)
    if len(moved) % piece:
        return 2
    firsts = moved[::piece]
    together = [first + i for first in firsts for i in range(piece)]
    return 1 if moved == together and not any(first % piece for first in firsts) else 2


def _copy_side(copy: TiledCopy) -> Layout:
    (lanes, _), values = copy.fragment
    return make_layout(lanes, values)


def _mma_side(mma: TiledMma, operand: str) -> Layout:
    (lanes, _), values = mma.fragment(operand)
    return make_layout(lanes, values)


def _as_offsets(src: Layout, dst: Layout) -> tuple[Layout, Layout]:
    """Turn coordinates of the tile into offsets of the box that holds both fragments."""
    boxes = [coshape(src), coshape(dst)]
    if not all(is_tuple(box) for box in boxes):
        return src, dst
    rank = max(map(len, boxes))
    padded = [tuple(box) + (1,) * (rank - len(box)) for box in boxes]
    # Steps that never vanish, so that a mode of extent 1 is still a mode.
    box = Layout(tuple(map(max, zip(*padded, strict=True))))
    return composition(box, src), composition(box, dst)


def _unlike(src: Layout, dst: Layout) -> KernelError:
    return KernelError(
        "reorder",
        {"source": src, "destination": dst},
        "the two fragments do not hold the same elements of the tile",
        "use a copy that covers exactly what each subgroup multiplies",
    )
