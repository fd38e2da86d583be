"""Floor 8: block-2D messages, executed byte by byte as the vISA manual's pseudo-code says.

The loops of LOAD_BLOCK2D are walked once for each kind of message, literally; what they do is kept
as a table of bytes (`pycute_xe.machine.block2d_table`) and replayed. No formula is shared with
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

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Block2D, Surface
from pycute_xe.errors import MachineError
from pycute_xe.machine.block2d_table import Index, Table, addresses, load_table, store_table
from pycute_xe.machine.memory import Memory
from pycute_xe.machine.pages import Pages
from pycute_xe.machine.registers import RegisterFile
from pycute_xe.machine.trace import Trace

Observer = Callable[[Index, NDArray[np.uint8]], None]
"""Is told the address of each byte that a message touches, and the byte."""

__all__ = ["load", "prefetch", "store"]


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
    data = np.zeros(table.nbytes, dtype=np.uint8)
    moved = _from_memory(memory, table, surface, x * message.element_bytes, y, data, observer)
    registers.write(dst, data, "load")
    if trace is not None:
        trace.message("load", str(message), moved)
    return moved


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
    moved = _to_memory(memory, table, surface, x * message.element_bytes, y, data, observer)
    if trace is not None:
        trace.message("store", str(message), moved)
    return moved


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
    if _inside(table, surface, left, y):
        first = surface.base + y * surface.pitch + left
        memory.span(first, (table.high - 1) * surface.pitch + table.wide)
        moved = table.where.size
    else:
        clipped = _clip(memory, table, surface, left, y)
        moved = clipped[1].size if clipped is not None else 0
    if trace is not None:
        trace.message("prefetch", str(message), moved)
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


def _clip(
    memory: Memory, table: Table, surface: Surface, left: int, top: int
) -> tuple[NDArray[np.uint8] | Pages, Index, NDArray[np.bool_]] | None:
    """The live bytes, the index of each byte inside the surface, and which bytes those are."""
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
) -> tuple[NDArray[np.uint8] | Pages, Index]:
    """The live bytes, and the index of each byte of a block that is wholly inside the surface."""
    first = surface.base + top * surface.pitch + left
    buffer, start = memory.span(first, (table.high - 1) * surface.pitch + table.wide)
    places = addresses(table, surface.pitch)
    return (buffer, places + start) if isinstance(buffer, Pages) else (buffer[start:], places)


def _addresses(
    table: Table, surface: Surface, left: int, top: int, kept: NDArray[np.bool_]
) -> Index:
    """The address of each byte of a block that is inside the surface."""
    rows = (table.row + top)[kept] * surface.pitch
    return surface.base + rows + (table.column + left)[kept]


def _from_memory(
    memory: Memory,
    table: Table,
    surface: Surface,
    left: int,
    top: int,
    data: NDArray[np.uint8],
    observer: Observer | None = None,
) -> int:
    if _inside(table, surface, left, top):
        buffer, index = _whole(memory, table, surface, left, top)
        found = buffer[index]
        data[table.where] = found
        if observer is not None:
            first = surface.base + top * surface.pitch + left
            observer(first + addresses(table, surface.pitch), found)
        return table.where.size
    clipped = _clip(memory, table, surface, left, top)
    if clipped is None:
        return 0
    buffer, index, kept = clipped
    data[table.where[kept]] = buffer[index]
    if observer is not None:
        observer(_addresses(table, surface, left, top, kept), buffer[index])
    return index.size


def _to_memory(
    memory: Memory,
    table: Table,
    surface: Surface,
    left: int,
    top: int,
    data: NDArray[np.uint8],
    observer: Observer | None = None,
) -> int:
    if _inside(table, surface, left, top):
        buffer, index = _whole(memory, table, surface, left, top)
        buffer[index] = data
        if observer is not None:
            first = surface.base + top * surface.pitch + left
            observer(first + addresses(table, surface.pitch), data)
        return table.where.size
    clipped = _clip(memory, table, surface, left, top)
    if clipped is None:
        return 0
    buffer, index, kept = clipped
    buffer[index] = data[kept]
    if observer is not None:
        observer(_addresses(table, surface, left, top, kept), data[kept])
    return index.size
