"""Advice on 2D blocks: units of x, heights of parts of an array, tiles of adjacent bytes."""

from __future__ import annotations

from math import gcd

from pycute_xe.arch import Block2D, Surface
from pycute_xe.errors import MachineError
from pycute_xe.esimd.threads import Machine, Thread

__all__ = ["advise_2d", "judge_columns"]


def advise_2d(
    thread: Thread, operation: str, block: Block2D, surface: Surface, x: int, y: int
) -> None:
    """Record what looks wrong with a legal 2D block: PX103, PX116, PX117."""
    _beyond(thread, operation, block, surface, x)
    _raw_height(thread, operation, block, surface)
    _adjacent(thread, operation, block, surface, x, y)
    if block.op == "load":
        key = (surface.base, surface.width, surface.pitch, block.bits)
        where = thread.machine.columns.setdefault(key, {})
        wide = block.width * block.count
        where.setdefault(x, (wide, thread.index, thread.progress.label))


def _beyond(thread: Thread, operation: str, block: Block2D, surface: Surface, x: int) -> None:
    """PX103 where the tile lies beyond the right edge, and x / sizeof(T) would not."""
    size, width = block.element_bytes, surface.width
    if size > 1 and x * size >= width > x and x % size == 0:
        condition = f"x is {x}, a row has {width // size} elements of {block.bits} bits"
        thread.record("PX103", operation, condition)


def _raw_height(thread: Thread, operation: str, block: Block2D, surface: Surface) -> None:
    """PX116 where a part of an array has one row more than tiles of its height fill."""
    unit = block.height if 2 <= block.height < 8 else 8
    if surface.height == 1 or (surface.height - 1) % unit:
        return
    try:
        thread.machine.memory.span(surface.base, surface.height * surface.pitch + surface.width)
    except MachineError:
        return  # the surface ends with its array
    condition = (
        f"the surface has {surface.height} rows of an array that has more, "
        f"the height is given as {surface.height - 1}"
    )
    thread.record("PX116", operation, condition)


def _adjacent(
    thread: Thread, operation: str, block: Block2D, surface: Surface, x: int, y: int
) -> None:
    """PX117 where the bytes of a plain tile follow each other in memory."""
    if block.op == "prefetch" or block.transpose or block.vnni:
        return
    row = block.width * block.count * block.element_bytes
    inside = 0 <= x * block.element_bytes <= surface.width - row
    inside = inside and 0 <= y <= surface.height - block.height
    if inside and (block.height == 1 or (block.count == 1 and row == surface.pitch)):
        condition = f"the {row * block.height} bytes of the tile are adjacent"
        thread.record("PX117", operation, condition)


def judge_columns(machine: Machine) -> None:
    """PX103 where all loads of a surface take every second (fourth, eighth) tile only."""
    for (_, _, _, bits), where in machine.columns.items():
        size = bits // 8
        wide = {count for count, _, _ in where.values()}
        if size == 1 or len(where) < 2 or len(wide) != 1:
            continue
        (tile,) = wide
        step = gcd(*where)
        # x in bytes are the right ones times sizeof(T).
        if step == size * tile:
            _, thread, statement = where[max(where)]
            values = ", ".join(map(str, sorted(where)[:4])) + " …" * (len(where) > 4)
            condition = f"x is {values}: of tiles of {tile} elements one in {size} is loaded"
            machine.record("PX103", "lsc_load_2d", thread, statement, condition)
