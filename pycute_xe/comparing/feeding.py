"""Floor 6: whether the registers of a copy are the registers of an MMA operand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, cast

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.rules import errors
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.mma_atom import MmaAtom, Operand
from pycute_xe.atom.register_picture import Place
from pycute_xe.comparing.atom_arguments import (
    Copy,
    as_copy_atom,
    as_mma_atom,
)
from pycute_xe.comparing.feed import Feed, Kind, Order, default_order, words_of
from pycute_xe.comparing.feeding_reasons import illegal, no_such_way, other_block, other_width
from pycute_xe.comparing.operand_places import broken_in
from pycute_xe.errors import ShapeError
from pycute_xe.signatures import typed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Feed", "feeds"]


@typed
def feeds(
    copy: Copy | Block2DOp | str,
    mma: MmaAtom | Dpas | str,
    operand: Operand,
    order: Order | None = None,
) -> Feed:
    """Tell whether the registers of a copy serve a DPAS as an operand, as they are or reordered.

    ``operand``: A, B or C for loads, D for stores. The block is one of the operand as a matrix,
    A (M, K), B (K, N), C and D (M, N), which lies in memory row by row (``order="row"``) or column
    by column (``"col"``; the default of transposing copies). What counts is what the messages do
    (``registers()``), not the ownership that CUTLASS's layouts claim. Names are taken too, with
    values of the operand's type where the copy may carry it.
    Raises `CuteError` unless given a copy and an MMA, `ShapeError` for another operand or order.

    >>> feeds("XE_2D_U16x8x16_LD_N", "XE_8x16x16_F32BF16BF16F32_TT", "A").kind
    'free'
    >>> feeds("XE_2D_U16x16x16_LD_N", "XE_8x16x16_F32BF16BF16F32_TT", "B").kind
    'reorder'
    >>> print(feeds("XE_2D_U8x32x16_LD_V", "XE_8x16x16_F32BF16BF16F32_TT", "B").reason)
    its 8-bit values must be converted to bf16 first
    """
    mma = as_mma_atom(mma, "feeds")
    if type(operand) is not str or operand not in ("A", "B", "C", "D"):
        given = {"copy": str(copy), "mma": str(mma), "operand": operand}
        raise ShapeError("feeds", given, "unknown operand", 'use "A", "B", "C" or "D"')
    copy = as_copy_atom(copy, "feeds", mma.operand_type(operand))
    if order is None:
        order = default_order(copy)
    if order not in ("row", "col"):
        raise ShapeError("feeds", {"order": order}, "unknown order", 'use "row" or "col"')
    feed = _judged(copy, mma, operand, order)
    return feed if feed.reason else replace(feed, reason=words_of(feed))


def verdict_of(copy: Copy | Block2DOp | str, mma: MmaAtom, operand: Operand) -> str:
    """Return the ``kind`` of `feeds`, without the words for it, which cost more.

    >>> from pycute_xe.atom.mma_atom import XE_DPAS_TT, make_mma_atom
    >>> verdict_of("XE_2D_U16x16x16_LD_N", make_mma_atom(XE_DPAS_TT(8, "f32", "bf16")), "B")
    'reorder'
    """
    copy = as_copy_atom(copy, "feeds", mma.operand_type(operand))
    return _judged(copy, mma, operand, default_order(copy)).kind


def _judged(copy: Copy, mma: MmaAtom, operand: Operand, order: Order) -> Feed:
    """Return the verdict, with a reason only where it is impossible."""
    turned, (rows, cols) = _is_turned(copy, order), copy.shape
    # What needs no picture of the registers comes first.
    why = (
        no_such_way(copy, operand)
        or other_width(copy, mma, operand)
        or illegal(copy)
        or other_block((cols, rows) if turned else (rows, cols), mma, operand)
    )
    if why:
        return Feed(copy, mma, operand, order, "impossible", why)
    where = _where(copy, turned)
    tiles, held = _tiles(where, mma, operand)
    places = tuple(map(tuple, cast("list[list[int]]", held.tolist())))
    # Neighbours in order, in every tile.
    runs_on = bool((held[:, 1:] - held[:, :-1] == 1).all())
    broken = broken_in(mma.op, operand, places) if runs_on else None
    kind: Kind = "reorder" if broken is None or errors(broken) else "free"
    return Feed(copy, mma, operand, order, kind, "", tiles, places, broken or ())


def _is_turned(copy: Copy, order: Order) -> bool:
    """Whether rows of the operand are columns of the copy."""
    if isinstance(copy, CopyAtom):  # rows and columns of templates are those of memory
        return order == "col"
    return order != default_order(copy)


def _where(copy: Copy, turned: bool) -> NDArray[np.int64]:
    """The slot of the copy's registers that holds each element of the operand."""
    import numpy as np

    held = copy.places_held
    (slots,) = np.nonzero(held[:, 0] >= 0)
    where = np.full(copy.shape, -1)
    where[held[slots, 0], held[slots, 1]] = slots
    return where.T if turned else where


def _tiles(
    where: NDArray[np.int64], mma: MmaAtom, operand: Operand
) -> tuple[tuple[Place, ...], NDArray[np.int64]]:
    """Origin of each operand tile of the block, and where its elements are, in register order."""
    import numpy as np

    (high, wide), (rows, cols) = where.shape, mma.operand_shape(operand)
    tiled = where.reshape(high // rows, rows, wide // cols, cols).transpose(0, 2, 1, 3)
    held = tiled.reshape(-1, rows * cols)[:, _wanted(mma, operand)]
    order = np.argsort(held[:, 0], kind="stable")  # no two tiles share a slot
    down, right = order // (wide // cols) * rows, order % (wide // cols) * cols
    return tuple(zip(down.tolist(), right.tolist(), strict=True)), held[order]


@cache
def _wanted(mma: MmaAtom, operand: Operand) -> tuple[int, ...]:
    """The elements of an operand tile, row by row, in the order of the registers of DPAS."""
    cols = mma.operand_shape(operand)[1]
    slots = mma.registers(operand).slots
    return tuple(row * cols + col for row, col in filter(None, slots))
