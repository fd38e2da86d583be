"""Floor 9: tiled copies on the machine, message by message."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Surface
from pycute_xe.atom import TiledCopy
from pycute_xe.converting import convert, wrap
from pycute_xe.errors import MachineError
from pycute_xe.executing.anchors import anchors, column_of
from pycute_xe.executing.thread import Env, Thread, numbers, to_bytes
from pycute_xe.kernel import AtomicStore, Load, Prefetch, Store
from pycute_xe.machine import Memory, block2d
from pycute_xe.numeric import Numeric

__all__ = ["add_tile", "copy_tile"]

Copying = Prefetch | Load | Store | AtomicStore


def copy_tile(thread: Thread, statement: Prefetch | Load | Store, env: Env) -> None:
    """Send a subgroup's messages of a copy. Raises `MachineError` as the machine does."""
    message, machine = statement.copy.op.message, thread.machine
    loads = isinstance(statement, Load)
    observer = thread.watched("reads" if loads else "writes", statement.operand)
    for surface, x, y, step in _messages(thread, statement, env):
        if isinstance(statement, Prefetch):
            block2d.prefetch(machine.memory, message, surface, x, y, machine.trace)
            continue
        move = block2d.load if loads else block2d.store
        at = thread.offsets[statement.fragment] + step
        move(machine.memory, thread.registers, message, surface, x, y, at, machine.trace, observer)


def _messages(
    thread: Thread, statement: Copying, env: Env
) -> Iterator[tuple[Surface, int, int, int]]:
    """Yield the surface, the place in it and the register byte of every message."""
    copy, placed = statement.copy, thread.machine.placed[statement.operand]
    modes, start = statement.modes, [thread.index(i, env) for i in statement.at]
    y_mode, step = modes[copy.y_mode], copy.atom.values * 16 * copy.value_type.bits // 8
    surface = placed.surface(y_mode, start) if len(modes) == 2 else None
    for j, anchor in enumerate(thread.machine.once(_starts, copy)[thread.subgroup]):
        at = list(start)
        for mode, offset in zip(modes, anchor, strict=True):
            if mode is not None:
                at[mode] += offset
        seen = surface or placed.surface(y_mode, at)
        x = column_of(copy, at[placed.operand.contiguous])
        y = anchor[copy.y_mode] if y_mode is None else at[y_mode]
        yield seen, x, y, j * step


def _starts(copy: TiledCopy) -> list[list[list[int]]]:
    return anchors(copy).tolist()


def add_tile(thread: Thread, statement: AtomicStore, env: Env) -> None:
    """Add a fragment to memory, message by message, in the operand's type.

    Raises `MachineError` for elements narrower than a byte, and as the machine does.
    """
    copy, machine, numeric = statement.copy, thread.machine, statement.copy.value_type
    if numeric.bits < 8:
        raise MachineError(
            "run",
            {"operand": statement.operand, "type": numeric},
            "no atomic adds elements narrower than a byte",
            "add in a wider type",
        )
    offset = thread.offsets[statement.fragment]
    observer = thread.watched("adds", statement.operand)
    for surface, x, y, step in _messages(thread, statement, env):
        left = x * copy.op.message.element_bytes
        window = _window(surface, left, y, copy.block.width * numeric.bits // 8, copy.block.height)
        scratch, own = Memory(), window.count
        held = Surface(scratch.alloc(max(own, 64)), window.wide, window.high, window.wide)
        block2d.store(
            scratch, thread.registers, copy.op.message, held,
            (left - window.left) // copy.op.message.element_bytes, y - window.top, offset + step,
        )  # fmt: skip
        _add(machine.memory, surface, window, scratch.read(held.base, own), numeric, observer)
        machine.trace.message("atomic", f"add by {copy.op.message}", own)


class _Window:
    """The part of a block that lies inside a surface: columns in bytes, rows."""

    def __init__(self, left: int, right: int, top: int, bottom: int) -> None:
        self.left, self.top = left, top
        self.wide, self.high = max(right - left, 0), max(bottom - top, 0)
        self.count = self.wide * self.high


def _window(surface: Surface, left: int, top: int, wide: int, high: int) -> _Window:
    return _Window(
        max(left, 0), min(left + wide, surface.width), max(top, 0), min(top + high, surface.height)
    )


def _add(
    memory: Memory,
    surface: Surface,
    window: _Window,
    data: NDArray[np.uint8],
    numeric: Numeric,
    observer: block2d.Observer | None,
) -> None:
    if not window.count:
        return
    for row, mine in enumerate(data.reshape(window.high, window.wide)):
        address = surface.base + (window.top + row) * surface.pitch + window.left
        before = numbers(memory.read(address, window.wide), numeric)
        with np.errstate(over="ignore", invalid="ignore"):
            after = before + numbers(mine, numeric)
        kept = convert(after, numeric) if numeric.kind == "float" else wrap(after, numeric)
        left = to_bytes(kept, numeric)
        memory.write(address, left)
        if observer is not None:
            observer(np.arange(address, address + left.size), left)
