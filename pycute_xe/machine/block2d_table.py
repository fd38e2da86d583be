"""Floor 8: the pseudo-code of block-2D messages, walked once for each kind of message.

The loops of the vISA manual (LSC_UNTYPED.md) are written here as loops, in their order; what they
do to each element becomes a table of bytes, which `pycute_xe.machine.block2d` replays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Block2D

__all__ = ["Index", "Table", "addresses", "load_table", "store_table"]

Index = NDArray[np.int64]
Step = tuple[int, tuple[int, int] | None]
"""A register element index, and the (x, y) in the block that it holds; ``None`` for a zero."""


@dataclass(frozen=True, eq=False)
class Table:
    """Where each byte of a message comes from, or goes to.

    ``where`` are register byte offsets, ``column`` and ``row`` the byte in the block; ``nbytes``
    is the size of the register image and ``wide``, ``high`` the extent of the block in memory.
    """

    where: Index
    column: Index
    row: Index
    nbytes: int
    wide: int
    high: int


@lru_cache(maxsize=4096)
def load_table(message: Block2D, grf_bytes: int) -> Table:
    """Return the bytes that a load moves, for registers of ``grf_bytes``; whole image in nbytes.

    >>> load_table(Block2D("load", bits=16, height=2, width=3), 64).where.tolist()
    [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13]
    """
    image = dict(_walk_load(message, grf_bytes))
    steps = [(to, found) for to, found in image.items() if found is not None]
    return _table(message, steps, (max(image) + 1) * message.element_bytes)


@lru_cache(maxsize=4096)
def store_table(message: Block2D) -> Table:
    """Return the bytes that a store moves.

    >>> store_table(Block2D("store", bits=8, height=2, width=3)).where.tolist()
    [0, 1, 2, 4, 5, 6]
    """
    steps = [(to, found) for to, found in _walk_store(message) if found is not None]
    return _table(message, steps, (steps[-1][0] + 1) * message.element_bytes)


def _table(message: Block2D, steps: list[tuple[int, tuple[int, int]]], nbytes: int) -> Table:
    size = message.element_bytes
    steps = sorted(steps, key=lambda step: (step[1][1], step[1][0]))
    within = np.arange(size, dtype=np.int64)[None, :]

    def spread(values: list[int]) -> Index:
        return (np.array(values, dtype=np.int64)[:, None] * size + within).reshape(-1)

    rows = np.array([found[1] for _, found in steps], dtype=np.int64)
    return Table(
        where=spread([to for to, _ in steps]),
        column=spread([found[0] for _, found in steps]),
        row=np.repeat(rows, size),
        nbytes=nbytes,
        wide=message.width * message.count * size,
        high=message.height,
    )


@lru_cache(maxsize=4096)
def addresses(table: Table, pitch: int) -> Index:
    """Return byte offsets from the first byte of a block that lies wholly inside a surface.

    >>> addresses(store_table(Block2D("store", bits=8, height=2, width=2)), 64).tolist()
    [0, 1, 64, 65]
    """
    return table.row * pitch + table.column


def _walk_load(message: Block2D, grf_bytes: int) -> Iterator[Step]:
    """The loops of LOAD_BLOCK2D, in their order, over all blocks."""
    element_bytes = message.bits // 8
    elems_per_dword = max(1, 4 // element_bytes)
    elems_per_reg = max(1, grf_bytes // element_bytes)
    lines = message.width if message.transpose else message.height
    if message.vnni:
        lines = _round_to_multiple_of(elems_per_dword, lines)
    grf_row_pitch = _round_up_pow2(message.height if message.transpose else message.width)
    grf_block_size = grf_row_pitch * lines
    grf_block_pitch = _round_to_multiple_of(elems_per_reg, grf_block_size)
    for b in range(message.count):
        for to, found in _walk_block(message, grf_row_pitch, elems_per_dword):
            x_y = None if found is None else (b * message.width + found[0], found[1])
            yield b * grf_block_pitch + to, x_y
        # pad out GRF for this block
        yield from _fill_grf_zeros(
            b * grf_block_pitch + grf_block_size, grf_block_pitch - grf_block_size
        )


def _walk_block(message: Block2D, pitch: int, pack: int) -> Iterator[Step]:
    """The loops of one block; what lies beyond its width or height is zero."""
    if message.transpose and message.vnni:
        steps = _columns_in_dwords(message.width, message.height, pitch, pack)
    elif message.transpose:
        steps = _columns(message.width, message.height, pitch)
    elif message.vnni:
        steps = _rows_in_dwords(message.width, message.height, pitch, pack)
    else:
        steps = _rows(message.width, message.height, pitch)
    for to, found in steps:
        outside = found is not None and (found[0] >= message.width or found[1] >= message.height)
        yield to, None if outside else found


def _rows(width: int, height: int, pitch: int) -> Iterator[Step]:
    for y in range(height):
        yield from _load_row_span(y * pitch, y, 0, width)
        yield from _fill_grf_zeros(y * pitch + width, pitch - width)


def _rows_in_dwords(width: int, height: int, pitch: int, pack: int) -> Iterator[Step]:
    for y in range(0, height, pack):
        for x in range(width):
            yield from _load_col_span(y * pitch + x * pack, y, x, pack)
        yield from _fill_grf_zeros(y * pitch + width * pack, pack * (pitch - width))


def _columns(width: int, height: int, pitch: int) -> Iterator[Step]:
    for x in range(width):
        yield from _load_col_span(x * pitch, 0, x, height)
        yield from _fill_grf_zeros(x * pitch + height, pitch - height)


def _columns_in_dwords(width: int, height: int, pitch: int, pack: int) -> Iterator[Step]:
    for x in range(0, width, pack):
        for y in range(height):
            yield from _load_row_span(x * pitch + y * pack, y, x, pack)
        yield from _fill_grf_zeros(x * pitch + height * pack, pack * (pitch - height))


def _load_row_span(to: int, y: int, x: int, n: int) -> Iterator[Step]:
    for i in range(n):
        yield to + i, (x + i, y)


def _load_col_span(to: int, y: int, x: int, n: int) -> Iterator[Step]:
    for i in range(n):
        yield to + i, (x, y + i)


def _fill_grf_zeros(to: int, n: int) -> Iterator[Step]:
    for i in range(n):
        yield to + i, None


def _walk_store(message: Block2D) -> Iterator[Step]:
    """The loops of STORE_BLOCK2D, reading registers row by row."""
    reg_pitch = _round_up_pow2(message.width)
    for n in range(message.height):
        for v in range(message.width):
            yield n * reg_pitch + v, (v, n)


def _round_up_pow2(n: int) -> int:
    power = 1
    while power < n:
        power *= 2
    return power


def _round_to_multiple_of(unit: int, n: int) -> int:
    while n % unit:
        n += 1
    return n
