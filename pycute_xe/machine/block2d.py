"""Block-2D messages, executed byte by byte as the vISA manual's pseudo-code says.

The loops of LOAD_BLOCK2D are walked once for each kind of message, literally; what they do is kept
as a table of bytes and replayed. No formula is shared with
`pycute_xe.arch`, only its values.

Two things the pseudo-code leaves open are taken from elsewhere:

* Outside the surface, byte for byte, loads give zero and stores are dropped.
* VNNI over a height that is not a multiple of the elements in a dword: the pseudo-code would load
  rows beyond the block and then overwrite loaded elements with padding. The graphics compiler
  (intel/intel-graphics-compiler 98fff716, CShader.cpp) says that the block is padded with zeros to
  whole dwords; that is done here. Documents forbid such messages, and so do the rules.

STORE_BLOCK2D indexes registers column by column in the manual; every other source, and the
register image of the loads, is row by row, which is done here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Block2D, Surface
from pycute_xe.errors import MachineError
from pycute_xe.machine.memory import Ints as Index, Memory, Pages
from pycute_xe.machine.registers import RegisterFile
from pycute_xe.machine.trace import Reach, Trace

__all__ = ["load", "prefetch", "store"]

# ------------------------------------------------------------ block2d table
# The pseudo-code of block-2D messages, walked once for each kind of message.
#
# The loops of the vISA manual (LSC_UNTYPED.md) are written here as loops, in their order; what they
# do to each element becomes a table of bytes, which is replayed for each message.

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
    steps = [(to, source) for to, source in image.items() if source is not None]
    return _table(message, steps, (max(image) + 1) * message.element_bytes)


@lru_cache(maxsize=4096)
def store_table(message: Block2D) -> Table:
    """Return the bytes that a store moves.

    >>> store_table(Block2D("store", bits=8, height=2, width=3)).where.tolist()
    [0, 1, 2, 4, 5, 6]
    """
    steps = [(to, source) for to, source in _walk_store(message) if source is not None]
    return _table(message, steps, (steps[-1][0] + 1) * message.element_bytes)


def _table(message: Block2D, steps: list[tuple[int, tuple[int, int]]], nbytes: int) -> Table:
    size = message.element_bytes
    steps = sorted(steps, key=lambda step: (step[1][1], step[1][0]))
    within = np.arange(size, dtype=np.int64)[None, :]

    def spread(values: list[int]) -> Index:
        return (np.array(values, dtype=np.int64)[:, None] * size + within).reshape(-1)

    rows = np.array([source[1] for _, source in steps], dtype=np.int64)
    return Table(
        where=spread([to for to, _ in steps]),
        column=spread([source[0] for _, source in steps]),
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
        for to, source in _walk_block(message, grf_row_pitch, elems_per_dword):
            x_y = None if source is None else (b * message.width + source[0], source[1])
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
    for to, source in steps:
        outside = source is not None and (source[0] >= message.width or source[1] >= message.height)
        yield to, None if outside else source


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


# ------------------------------------------------------------ block2d

Observer = Callable[[Index, NDArray[np.uint8]], None]
"""Is told the address of each byte that a message touches, and the byte."""


def load(
    memory: Memory,
    registers: RegisterFile,
    message: Block2D,
    surface: Surface,
    x: int,
    y: int,
    dst: int,
    trace: Trace | None = None,
    observer: Observer | None = None,
) -> int:
    """Load blocks from (x elements, y rows) of a surface into registers from byte ``dst`` on.

    Writes every register byte of the message, padding included, and returns the bytes that came
    from inside the surface. Raises `MachineError` for another operation, a destination that is
    not at the start of a register or does not fit, and a surface that leaves its allocation.
    Document: vISA manual, LSC_UNTYPED.md, LOAD_BLOCK2D.

    >>> memory, registers = Memory(), RegisterFile(64 * 64)
    >>> base = memory.place(np.arange(256, dtype=np.uint8))
    >>> message = Block2D("load", bits=8, height=4, width=16)
    >>> load(memory, registers, message, Surface(base, 64, 4, 64), x=0, y=2, dst=0)
    32
    >>> registers.read(0, 64, "the reader")[[0, 15, 16, 32]].tolist()
    [128, 143, 192, 0]
    """
    _expect(message, "load", dst, registers.grf_bytes)
    table = load_table(message, registers.grf_bytes)
    data, left, moved = np.zeros(table.nbytes, dtype=np.uint8), x * message.element_bytes, 0
    part = _part(memory, table, surface, left, y)
    if part is not None:
        buffer, index, kept = part
        picked, moved = buffer[index], index.size
        data[table.where[kept]] = picked
        if observer is not None:
            observer(_addresses(table, surface, left, y, kept), picked)
    registers.write(dst, data, "load")
    return _traced(trace, message, surface, x, y, moved)


def store(
    memory: Memory,
    registers: RegisterFile,
    message: Block2D,
    surface: Surface,
    x: int,
    y: int,
    src: int,
    trace: Trace | None = None,
    observer: Observer | None = None,
) -> int:
    """Store a block from registers, byte ``src`` on, to (x elements, y rows) of a surface.

    Reads every element of the block, row by row with rows padded to a power of two, and returns
    the bytes that fell inside the surface; the others are dropped. Raises `MachineError` as `load`
    does, and for elements that are uninitialised.
    Document: vISA manual, LSC_UNTYPED.md, STORE_BLOCK2D, rows and columns of registers exchanged.

    >>> memory, registers = Memory(), RegisterFile(64)
    >>> registers.write(0, np.arange(64, dtype=np.uint8))
    >>> surface = Surface(memory.alloc(128), width=64, height=2, pitch=64)
    >>> store(memory, registers, Block2D("store", bits=8, height=4, width=16), surface, 0, 1, 0)
    16
    >>> memory.read(surface.base + 64, 17).tolist()[-3:]
    [14, 15, 0]
    """
    _expect(message, "store", src, registers.grf_bytes)
    if message.count != 1 or message.transpose or message.vnni:
        raise MachineError(
            "store",
            {"message": message},
            "a store takes one block, neither transposed nor packed",
            "store block by block",
        )
    table = store_table(message)
    data = registers.gather(src, table.where, str(message))
    left, moved = x * message.element_bytes, 0
    part = _part(memory, table, surface, left, y)
    if part is not None:
        buffer, index, kept = part
        buffer[index], moved = data[kept], index.size
        if observer is not None:
            observer(_addresses(table, surface, left, y, kept), data[kept])
    return _traced(trace, message, surface, x, y, moved)


def prefetch(
    memory: Memory,
    message: Block2D,
    surface: Surface,
    x: int,
    y: int,
    trace: Trace | None = None,
) -> int:
    """Touch blocks as `load` would, without registers; return the bytes inside the surface.

    Raises `MachineError` as `load` does.

    >>> memory = Memory()
    >>> surface = Surface(memory.alloc(256), width=64, height=4, pitch=64)
    >>> prefetch(memory, Block2D("prefetch", bits=16, height=4, width=32), surface, 16, 0)
    128
    """
    _expect(message, "prefetch", 0, 1)
    table, left = load_table(message, 1), x * message.element_bytes
    part = _part(memory, table, surface, left, y)
    moved = part[1].size if part is not None else 0
    return _traced(trace, message, surface, x, y, moved)


def reach(message: Block2D, surface: Surface, x: int, y: int) -> Reach:
    """Return what of a surface a message touches, and where its first block begins.

    >>> reach(Block2D("store", bits=8, height=4, width=16), Surface(0, 64, 4, 64), x=-4, y=2)
    Reach(first=128, wide=12, high=2, pitch=64, start=124)
    """
    left, wide = x * message.element_bytes, message.width * message.count * message.element_bytes
    x0, x1 = max(left, 0), min(left + wide, surface.width)
    y0, y1 = max(y, 0), min(y + message.height, surface.height)
    start = surface.base + y * surface.pitch + left
    if x0 >= x1 or y0 >= y1:
        return Reach(start, 0, 0, 0, start)
    pitch = surface.pitch if y1 - y0 > 1 else 0
    return Reach(surface.base + y0 * surface.pitch + x0, x1 - x0, y1 - y0, pitch, start)


def _traced(
    trace: Trace | None, message: Block2D, surface: Surface, x: int, y: int, moved: int
) -> int:
    """Count a message, where it is traced, and return the bytes that it moved."""
    if trace is not None:
        where = reach(message, surface, x, y) if trace.keep else None
        trace.message(message.op, str(message), moved, where)
    return moved


def _expect(message: Block2D, op: str, offset: int, grf_bytes: int) -> None:
    if message.op != op:
        raise MachineError(
            op,
            {"message": message},
            f"the message is a {message.op}, not a {op}",
            f"call {message.op}",
        )
    if offset % grf_bytes:
        raise MachineError(
            op,
            {"message": message, "offset": offset},
            f"operands must start at a register of {grf_bytes} bytes",
            f"use a multiple of {grf_bytes}",
        )


def _inside(table: Table, surface: Surface, left: int, top: int) -> bool:
    across = left >= 0 and left + table.wide <= surface.width
    return across and top >= 0 and top + table.high <= surface.height


Live = NDArray[np.uint8] | Pages
Kept = slice | NDArray[np.bool_]


def _part(
    memory: Memory, table: Table, surface: Surface, left: int, top: int
) -> tuple[Live, Index, Kept] | None:
    """The live bytes, the index of each byte inside the surface, and which bytes those are."""
    if _inside(table, surface, left, top):
        return (*_whole(memory, table, surface, left, top), slice(None))
    x0, x1 = max(left, 0), min(left + table.wide, surface.width)
    y0, y1 = max(top, 0), min(top + table.high, surface.height)
    if x0 >= x1 or y0 >= y1:
        return None
    buffer, start = memory.span(
        surface.base + y0 * surface.pitch + x0, (y1 - y0 - 1) * surface.pitch + x1 - x0
    )
    column, row = table.column + left, table.row + top
    kept = (column >= x0) & (column < x1) & (row >= y0) & (row < y1)
    index = (row[kept] - y0) * surface.pitch + column[kept] - x0 + start
    return buffer, index, kept


def _whole(
    memory: Memory, table: Table, surface: Surface, left: int, top: int
) -> tuple[Live, Index]:
    """The live bytes, and the index of each byte of a block that is wholly inside the surface."""
    first = surface.base + top * surface.pitch + left
    buffer, start = memory.span(first, (table.high - 1) * surface.pitch + table.wide)
    places = addresses(table, surface.pitch)
    return (buffer, places + start) if isinstance(buffer, Pages) else (buffer[start:], places)


def _addresses(table: Table, surface: Surface, left: int, top: int, kept: Kept) -> Index:
    """The address of each byte of a block that is inside the surface."""
    rows = (table.row + top)[kept] * surface.pitch
    return surface.base + rows + (table.column + left)[kept]
