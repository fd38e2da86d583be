"""Shared memory and atomic additions: messages with an address for each work-item."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra.compose import index_at
from pycute_xe.atom import TiledCopy
from pycute_xe.bulk import layout_of, table
from pycute_xe.emitting import instructions as asm
from pycute_xe.emitting.writer import divided
from pycute_xe.errors import KernelError
from pycute_xe.holding.tables import anchors
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.effects import MemoryAccess, SharedAccess
from pycute_xe.kernel.spec.functions import REDUCTIONS

__all__ = ["additions", "shared_accesses", "shared_room", "messages"]

# ------------------------------------------------------------ copying
# Where the messages of a tiled copy start, as indices with the subgroup in them.


def messages(
    kernel: Kernel, registers: asm.Registers, memory: MemoryAccess
) -> Iterator[asm.Message]:
    """Yield the messages of a tiled copy in their order.

    Raises `KernelError` where a message starts inside one of its elements, and where no sum of a
    subgroup's part and a message's part says where it starts.
    """
    copy, modes = memory.copy, memory.modes
    operand = kernel.operand(memory.operand)
    step = copy.atom.values * 16 * copy.value_type.bits // 8
    shared, own = _parts(copy)
    y_mode = modes[copy.y_mode]
    for j, offsets in enumerate(own):
        at = list(memory.at)
        y = Index()
        for axis, mode in enumerate(modes):
            moved = shared[axis] + offsets[axis]
            if mode is not None:
                at[mode] += moved
            elif axis == copy.y_mode:
                y = moved
        x = divided(at[operand.contiguous], copy.value_type.bits, copy.op.bits)
        register = ""
        if not memory.prefetches:
            register = registers.view(memory.fragment, "ud", j * step)
        y = y if y_mode is None else at[y_mode]
        others = (m not in (operand.contiguous, y_mode) for m in range(len(at)))
        fixed = tuple(i if other else Index() for i, other in zip(at, others, strict=True))
        surface = asm.Region2D(operand.name, y_mode, fixed)
        yield asm.Message(copy.op.message, register, surface, x, y)


def _parts(copy: TiledCopy) -> tuple[list[Index], list[list[int]]]:
    """Return where a subgroup's messages start, for each axis, and what each message adds."""
    starts = anchors(copy)
    base, own = starts[:, 0], starts[0] - starts[0, 0]
    if not np.array_equal(starts, base[:, None] + own[None]):
        raise KernelError(
            "emit",
            {"copy": copy},
            "the messages of its subgroups do not start at the same places of their tiles",
            "use a copy whose subgroups take like blocks",
        )
    return [
        digits(base[:, axis], SUBGROUP_INDEX, copy) for axis in range(base.shape[1])
    ], own.tolist()


def digits(values: NDArray[np.int64], name: str, what: object) -> Index:
    """Return an index of a number's digits that has these values as the number goes from 0 on.

    Raises `KernelError` naming ``what`` where no layout has these values.

    >>> print(digits(np.array([0, 8, 1, 9]), "lane", "an example"))
    8*lane-15*(lane/2)
    """
    first = int(values[0])
    layout = layout_of(tuple(int(v) - first for v in values))
    if layout is None:
        raise KernelError(
            "emit",
            {"copy": what},
            f"no layout says where it starts for each {name.removeprefix('xe_')}",
            "use a tiling that CuTe's layouts can say",
        )
    return index_at(layout, Index(name)) + first


# ------------------------------------------------------------ sharing

LANES, GRF, LINE = 16, 64, 64
_ADDS = REDUCTIONS["sum"].atomic
_WIDEST = 128
_BLOCKS = (_WIDEST, 64, 32, 16)
_NARROW = {8: ("d8u32", "ub"), 16: ("d16u32", "uw")}


def shared_room(kernel: Kernel) -> tuple[dict[str, int], int]:
    """Return the byte at which each shared array begins, at a cache line, and the bytes of all."""
    offsets: dict[str, int] = {}
    room = 0
    for array in kernel.shared:
        offsets[array.name] = room
        room += -(-array.bytes // LINE) * LINE
    return offsets, room


def shared_accesses(
    kernel: Kernel, registers: asm.Registers, shared: SharedAccess, fragment: str
) -> Iterator[asm.Instruction]:
    """Yield the messages of a load from or a store to a shared array, whole registers first.

    Registers that lie side by side in the array travel as blocks of up to eight. Other elements
    travel as 16 dwords where they lie side by side in the registers and in the array; narrower
    ones alone, each widened in a register. Raises `KernelError` for elements below a byte, and
    where no layout says where the elements of a subgroup or a register go.
    """
    array = kernel.shared_array(shared.array)
    bits = array.value_type.bits
    if bits not in (8, 16, 32):
        raise KernelError(
            "emit",
            {"array": array},
            "shared elements are emitted of 8, 16 or 32 bits",
            "widen them",
        )
    subgroup, own = _places(kernel, shared)
    joined = 32 // bits
    if not _joins(own, subgroup + shared.at, joined):
        joined = 1
    own, unit = own[::joined], joined * bits // 8
    start = (subgroup + shared.at) * (bits // 8) + shared_room(kernel)[0][array.name]
    first = 0
    while first < own.size:
        at = start + int(own[first]) * (bits // 8)
        if unit == 4 and (count := _block(own[first:], joined, at)):
            register = registers.view(fragment, "ud", first * unit)
            size, vector = ("d64", count // 2) if count == _WIDEST else ("d32", count)
            yield asm.Access(shared.stores, size, 1, register, at, vector)
            first += count
            continue
        mine = own[first : first + LANES]
        lanes = digits((mine - mine[0]) * (bits // 8), asm.LANE, shared.array)
        where = first * unit, unit, mine.size, at + lanes
        yield from _moved(registers, fragment, shared.stores, *where)
        first += LANES


def _block(own: Ints, step: int, at: Index) -> int:
    """Return how many dwords from the first on are a block of whole registers, 0 for none.

    Blocks of eight registers are of elements of 8 bytes, and begin at a multiple of these.
    """
    breaks = np.flatnonzero(np.diff(own) != step)
    run = int(breaks[0]) + 1 if breaks.size else own.size
    aligned = not at.offset % 8 and all(c % 8 == 0 for _, c in at.terms)
    return next((n for n in _BLOCKS if n <= run and (n < _WIDEST or aligned)), 0)


def _places(kernel: Kernel, shared: SharedAccess) -> tuple[Index, Ints]:
    """Return where a subgroup's elements begin, and what each adds."""
    places = table(shared.places).reshape(-1, kernel.subgroups).T
    base, own = places[:, 0], places[0] - places[0, 0]
    if not np.array_equal(places, base[:, None] + own[None]):
        raise KernelError(
            "emit",
            {"array": shared.array},
            "the subgroups do not take like parts of it",
            "use a layout of (subgroup, element)",
        )
    return digits(base, SUBGROUP_INDEX, shared.array), own


def _joins(own: Ints, start: Index, count: int) -> bool:
    """Whether so many elements always stay together and begin where a dword does."""
    rest = own.size // count % LANES
    if (
        own.size % count
        or rest & (rest - 1)
        or start.offset % count
        or any(c % count for _, c in start.terms)
    ):
        return False
    groups = own.reshape(-1, count)
    return bool((groups % count == np.arange(count)).all() and (np.diff(groups) == 1).all())


def _moved(
    registers: asm.Registers,
    fragment: str,
    stores: bool,
    byte: int,
    unit: int,
    count: int,
    at: Index,
) -> Iterator[asm.Instruction]:
    """Yield one message, and the move beside it where elements are narrower than a dword."""
    if unit == 4:
        register = registers.view(fragment, "ud", byte)
        yield asm.Access(stores, "d32", count, register, at)
        return
    size, kind = _NARROW[8 * unit]
    wide = registers.temporary(0, "ud")
    view = registers.view(fragment, kind)
    access = asm.Access(stores, size, count, wide, at)
    along = asm.Region(1, 1, 0)
    if stores:
        source = asm.place(view, kind, byte // unit, along)
        yield asm.Alu("mov", count, asm.place(wide, "ud", 0, None), (source,))
        yield access
    else:
        yield access
        narrow = registers.temporary(0, kind)
        source = asm.place(narrow, kind, 0, asm.Region(4 // unit, 1, 0))
        yield asm.Alu("mov", count, asm.place(view, kind, byte // unit, None), (source,))


def additions(
    kernel: Kernel, registers: asm.Registers, memory: MemoryAccess
) -> Iterator[asm.Instruction]:
    """Yield the atomic messages of a tile, 16 elements each.

    Raises `KernelError` for types that no message adds, and for blocks whose registers do not hold
    their elements row by row.
    """
    numeric, atom = memory.copy.value_type, memory.copy.block
    operation = _ADDS.get(numeric.name)
    if operation is None:
        raise KernelError(
            "emit",
            {"operand": memory.operand, "type": numeric},
            f"atomic additions are emitted of {', '.join(_ADDS)}",
            "add in f32 or s32",
        )
    width, elements = atom.width, atom.width * atom.height
    where = table(atom.register_tv.position).reshape(-1)
    if (LANES % width and width % LANES) or not np.array_equal(where, np.arange(elements)):
        raise KernelError(
            "emit",
            {"copy": memory.copy},
            "the registers of a block do not hold its elements row by row",
            "use blocks of 16 elements' width",
        )
    lane = Index(asm.LANE)
    across = lane if width >= LANES else lane % width
    down = Index() if width >= LANES else lane // width
    step = 16 * atom.values * numeric.bits // 8
    for j, message in enumerate(messages(kernel, registers, memory)):
        for first in range(0, elements, LANES):
            yield asm.Addition(
                operation,
                "d32",
                min(LANES, elements - first),
                registers.view(memory.fragment, "ud", j * step + 4 * first),
                message.surface,
                (message.x * (message.block.bits // 8)) + (across + first % width) * 4,
                message.y + down + first // width,
            )
