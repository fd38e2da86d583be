"""Register images found by running messages on the machine with tagged bytes.

Shares no formula with the atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from pycute_xe.arch import Block2D, Surface
from pycute_xe.atom import CopyAtom
from pycute_xe.atom.copy_answers import PlacedMessage
from pycute_xe.machine import Memory, RegisterFile, block2d

FILE = 1 << 14


def executed_bytes(message: Block2D, pitch: int, height: int, x: int = 0, y: int = 0) -> np.ndarray:
    """Which byte of memory each register byte comes from or goes to, -1 for none.

    Found by moving tags through the machine, one base-255 digit of the byte's number at a time.
    Shares no formula with the atoms.
    """
    count = 64 * message.registers("bmg")
    found, seen = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
    for digit in (0, 1):
        memory, registers = Memory(), RegisterFile(FILE)
        if message.op == "load":
            tags = np.arange(pitch * height) // 255**digit % 255 + 1
            base = memory.place(tags.astype(np.uint8))
            surface = Surface(base, pitch, height, pitch)
            block2d.load(memory, registers, message, surface, x, y, 0)
            data = registers.read(0, count, "the test").astype(np.int64)
        else:
            tags = np.arange(count) // 255**digit % 255 + 1
            registers.write(0, tags.astype(np.uint8))
            base = memory.place(np.zeros(pitch * height, np.uint8))
            surface = Surface(base, pitch, height, pitch)
            block2d.store(memory, registers, message, surface, x, y, 0)
            data = memory.array(base, (pitch * height,), np.dtype("u1")).astype(np.int64)
        if message.op == "load":
            found += np.maximum(data - 1, 0) * 255**digit
            seen |= data > 0
        elif digit == 0:
            low = data
        else:
            stored = np.flatnonzero(low)
            at = (low[stored] - 1) + (data[stored] - 1) * 255
            found[at], seen[at] = stored, True
    return np.where(seen, found, -1)


def in_values(register_bytes: np.ndarray, bits: int) -> np.ndarray:
    """The same in values of a width: the number of the value in memory, -1 for padding."""
    if bits < 8:
        parts = np.arange(8 // bits)
        wide = register_bytes[:, None] * len(parts) + parts
        return np.where(register_bytes[:, None] < 0, -1, wide).reshape(-1)
    grouped = register_bytes.reshape(-1, bits // 8)
    first = grouped[:, 0]
    held = first >= 0
    assert (grouped[held] == first[held, None] + np.arange(bits // 8)).all(), "a value in parts"
    return np.where(held, first // (bits // 8), -1)


def executed(atom: CopyAtom) -> np.ndarray:
    """The ``x + width * y`` that each register slot of an atom comes from or goes to."""
    bits = atom.value_type.bits
    held = executed_bytes(atom.op.message, atom.width * bits // 8, atom.height)
    return in_values(held, bits)


@cache
def block_image(message: Block2D) -> tuple[np.ndarray, np.ndarray]:
    """The row and the byte of its row, in a block alone in memory, of each register byte; or -1."""
    pitch = message.width * message.count * message.element_bytes
    found = executed_bytes(message, pitch, message.height)
    empty = found < 0
    return np.where(empty, -1, found // pitch), np.where(empty, -1, found % pitch)


def executed_block(parts: Sequence[PlacedMessage], row_bytes: int, bits: int) -> np.ndarray:
    """The ``x + width * y``, in values, of each register slot after the parts of a block."""
    images = []
    for part in parts:
        row, byte = block_image(part.message)
        at = (row + part.y) * row_bytes + byte + part.x * part.message.element_bytes
        images.append(np.where(row < 0, -1, at))
    return in_values(np.concatenate(images), bits)


def executed_places(atom: Any) -> np.ndarray:
    """Row and column in memory of each register slot after the messages of an atom; -1 for none."""
    rows, columns = atom.shape
    bits, wide = atom.value_type.bits, atom.place_in_memory(rows - 1, columns - 1)[1] + 1
    slots = executed_block(atom.messages("bmg"), wide * bits // 8, bits)
    return np.where(slots[:, None] < 0, -1, np.stack(np.divmod(slots, wide), axis=-1))


def as_type(slots: np.ndarray, unit: int) -> np.ndarray:
    """Slots dealt out in units of so many: one row for each of 16 work-items."""
    of_one = slots.shape[1:]
    full = np.full((-(-len(slots) // (16 * unit)) * 16 * unit, *of_one), -1)
    full[: len(slots)] = slots
    return full.reshape(-1, 16, unit, *of_one).swapaxes(0, 1).reshape(16, -1, *of_one)
