"""Floor 9: operands in memory that is made where it is touched, and windows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.converting import host_dtype
from pycute_xe.executing.surfaces import Placed, place, plan, row_bytes
from pycute_xe.kernel import Operand
from pycute_xe.kernel.field import Field
from pycute_xe.machine import Memory
from pycute_xe.machine.elements import unpacked
from pycute_xe.machine.pages import PAGE

__all__ = ["fetch_part", "place_field", "place_pages"]

DENSE = 1 << 20
"""Bytes up to which memory is an array, also where pages would do."""


def place_pages(
    memory: Memory, operand: Operand, shape: tuple[int, ...], target: Target, byte: int
) -> Placed:
    """Reserve legal surfaces whose every byte is one number, made where they are touched."""
    planned = plan(operand, shape, target)
    if planned.nbytes <= DENSE:
        image = np.full(planned.image(), byte, np.uint8)
        return replace(planned, base=memory.place(image, align=64))
    fill = memory.reserve(planned.nbytes, lambda at: np.full((at.size, PAGE), byte, np.uint8))
    return replace(planned, base=fill)


def place_field(memory: Memory, operand: Operand, field: Field, target: Target) -> Placed:
    """Put a function of places onto legal surfaces, padding zeroed; values where touched."""
    planned = plan(operand, field.shape, target)
    if planned.nbytes <= DENSE:
        return place(memory, operand, field.whole(), target)
    x, bits = operand.contiguous, operand.value_type.bits

    def made(first: NDArray[np.int64]) -> NDArray[np.uint8]:
        byte = first[:, None] + np.arange(PAGE * 8 // bits) * bits // 8
        at: list[Any] = [0] * len(field.shape)
        inside: Any = True
        for mode in planned.order:
            at[mode], byte = np.divmod(byte, planned.pitches[mode])
            if mode == x and bits < 8:
                at[mode] = at[mode] * (8 // bits) + np.arange(PAGE * 8 // bits) % (8 // bits)
            inside = inside & (at[mode] < field.shape[mode])
            at[mode] = np.minimum(at[mode], field.shape[mode] - 1)
        found = field[tuple(at)]
        return row_bytes(np.where(inside, found, np.zeros_like(found)), operand)

    return replace(planned, base=memory.reserve(planned.nbytes, made))


def fetch_part(memory: Memory, placed: Placed, window: Sequence[range]) -> NDArray[Any]:
    """Read a window of an operand back from memory, in the order of its modes."""
    numeric, x = placed.operand.value_type, placed.operand.contiguous
    spans = [window[mode] for mode in placed.order]
    first, count = spans[-1].start * numeric.bits // 8, len(spans[-1])
    wide = -(-spans[-1].stop * numeric.bits // 8) - first
    extents = [len(span) for span in spans[:-1]]
    rows: Any = np.zeros(extents, np.int64)
    for i, (mode, span) in enumerate(zip(placed.order[:-1], spans[:-1], strict=True)):
        along = np.array(span, np.int64) * placed.pitches[mode]
        rows = rows + along.reshape([-1 if j == i else 1 for j in range(len(extents))])
    buffer, start = memory.span(placed.base, placed.nbytes)
    data = np.ascontiguousarray(buffer[rows[..., None] + (start + first) + np.arange(wide)])
    dtype = host_dtype(numeric)
    if numeric.bits >= 8:
        out = data.view(dtype)
    else:
        skipped = window[x].start - first * 8 // numeric.bits
        flat = unpacked(data.reshape(-1), numeric).reshape(*extents, -1)
        out = flat[..., skipped : skipped + count].astype(dtype)
    return np.ascontiguousarray(out.transpose(np.argsort(placed.order)))
