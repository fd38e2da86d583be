"""Floor 6: the permutation between two register fragments that hold the same elements."""

from __future__ import annotations

from pycute_xe.algebra import coalesce, composition, left_inverse
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import table
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.layout import Layout, coshape, make_layout, size
from pycute_xe.typing import is_tuple

__all__ = ["is_identity", "reorder", "reorder_from_copy", "reorder_to_copy"]


def reorder(src_tv: Layout, dst_tv: Layout) -> Layout:
    """Return source register element → destination register element of the same tile element.

    ``src_tv`` and ``dst_tv`` map (work-item, value) to offsets (or coordinates) of one tile;
    register element ``t + 16 * v`` is value ``v`` of work-item ``t``. Law: ``dst_tv(R(i)) ==
    src_tv(i)``. Raises `KernelError` when the two do not hold the same elements.
    C++: ``reorder`` of subgroup tensors.

    >>> rows = Layout((16, 4), (1, 16))
    >>> print(reorder(Layout((16, (2, 2)), (1, (32, 16))), rows))
    (16,2,2):(1,32,16)
    """
    src, dst = _as_offsets(src_tv, dst_tv)
    try:
        found = coalesce(composition(left_inverse(dst), src))
    except CuteError as error:
        raise _unlike(src_tv, dst_tv) from error
    if size(src) != size(dst) or not (table(composition(dst, found)) == table(src)).all():
        raise _unlike(src_tv, dst_tv)
    return found


def is_identity(slots: Layout) -> bool:
    """Tell whether a reorder moves nothing.

    >>> is_identity(Layout(64)), is_identity(Layout((16, 2, 2), (1, 32, 16)))
    (True, False)
    """
    return coalesce(slots) == Layout(size(slots))


def reorder_from_copy(copy: TiledCopy, mma: TiledMma, operand: str) -> Layout:
    """Return the reorder from the registers a copy fills to those the MMA reads.

    >>> from pycute_xe.atom import XE_DPAS_TT, make_block_2d_copy_A, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> is_identity(reorder_from_copy(make_block_2d_copy_A(mma, ("ld", 1)), mma, "A"))
    True
    """
    return reorder(_copy_side(copy), _mma_side(mma, operand))


def reorder_to_copy(mma: TiledMma, operand: str, copy: TiledCopy) -> Layout:
    """Return the reorder from the registers an MMA fills to those a copy stores.

    >>> from pycute_xe.atom import XE_DPAS_TT, make_block_2d_copy_D, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> is_identity(reorder_to_copy(mma, "C", make_block_2d_copy_D(mma, ("ld", 1))))
    True
    """
    return reorder(_mma_side(mma, operand), _copy_side(copy))


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
