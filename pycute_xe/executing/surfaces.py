"""Operands in memory: the surfaces that messages see of them, legal or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Surface, Target
from pycute_xe.arch.rules import errors
from pycute_xe.converting import host_dtype
from pycute_xe.errors import LegalityError, MachineError
from pycute_xe.kernel import Operand
from pycute_xe.kernel.probes import Field
from pycute_xe.machine import Memory
from pycute_xe.machine.memory import PAGE, packed, unpacked

__all__ = [
    "Placed",
    "demand_legal",
    "fetch",
    "is_legal",
    "place",
    "place_poison",
    "plan",
    "fetch_part",
    "place_field",
]


@dataclass(frozen=True, eq=False)
class Placed:
    """An operand in memory: shape, address, and the bytes between neighbours along each mode.

    Along the contiguous mode elements lie side by side, packed where they are narrower than a byte.
    ``width`` is how many bytes of a row a message may see.
    """

    operand: Operand
    shape: tuple[int, ...]
    base: int
    pitches: tuple[int, ...]
    width: int
    nbytes: int

    def surface(self, y_mode: int | None, at: Sequence[int]) -> Surface:
        """Return the rows along a mode, at the indices of the modes that are neither x nor y.

        Raises `MachineError` for an index outside its mode.
        """
        base = self.base
        for mode, (extent, pitch) in enumerate(zip(self.shape, self.pitches, strict=True)):
            if mode in (self.operand.contiguous, y_mode):
                continue
            if not 0 <= at[mode] < extent:
                raise self._outside(mode, at[mode])
            base += at[mode] * pitch
        if y_mode is None:
            return Surface(base, self.width, 1, max(self.width, 64))
        return Surface(base, self.width, self.shape[y_mode], self.pitches[y_mode])

    def address(self, at: Sequence[int]) -> int:
        """Return where an element begins, a byte. Raises `MachineError` outside the operand."""
        for mode, extent in enumerate(self.shape):
            if not 0 <= at[mode] < extent:
                raise self._outside(mode, at[mode])
        x, bits = self.operand.contiguous, self.operand.value_type.bits
        rows = sum(at[m] * p for m, p in enumerate(self.pitches) if m != x)
        return self.base + rows + at[x] * bits // 8

    def element(self, memory: Memory, at: Sequence[int]) -> int:
        """Return an integer element as it is now. Raises `MachineError` outside the operand."""
        address, bits = self.address(at), self.operand.value_type.bits
        rest = at[self.operand.contiguous] * bits % 8
        data = memory.read(address, max(bits // 8, 1))
        return int(unpacked(data, self.operand.value_type)[rest // bits if rest else 0])

    def elements(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the elements that bytes are part of, the first in each: a row for each."""
        at = [index] * len(self.shape)
        for mode in self.order:
            at[mode], index = np.divmod(index, self.pitches[mode])
        if self.operand.value_type.bits < 8:
            at[self.operand.contiguous] *= 8 // self.operand.value_type.bits
        return np.stack(at, axis=1)

    @property
    def is_padded(self) -> bool:
        """Whether a message sees more of a row than elements: surfaces have a least width."""
        if not self.shape:
            return False
        return self.width * 8 > self.shape[self.operand.contiguous] * self.operand.value_type.bits

    def holds(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which bytes are part of elements, and not of what pads a row."""
        x = self.operand.contiguous
        return self.elements(index)[:, x] < self.shape[x]

    def element_at(self, byte: int) -> str:
        """Return the element that a byte is part of, in words."""
        return f"{self.operand.name}{self.elements(np.array([byte]))[0].tolist()}"

    def _outside(self, mode: int, index: int) -> MachineError:
        return MachineError(
            "run",
            {"operand": self.operand, "mode": str(self.operand.modes[mode])},
            f"index {index} is outside: {self.operand.name} has {self.shape[mode]} there",
            "bound the index by the extent",
        )

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The modes from the slowest to the fastest in memory."""
        x = self.operand.contiguous
        return (*(mode for mode in range(len(self.shape)) if mode != x), x)

    def image(self) -> tuple[int, ...]:
        """The shape of the memory: extents of the modes in order, a row last, in bytes."""
        outer = [self.shape[mode] for mode in self.order[:-1]]
        if not outer:
            return (self.nbytes,)
        steps = [self.pitches[mode] for mode in self.order[:-1]]
        # Every pitch is a whole number of the next one's rows, so that memory is one array.
        inner = [steps[i] // steps[i + 1] for i in range(len(steps) - 1)]
        return (outer[0], *inner, steps[-1])


def plan(operand: Operand, shape: tuple[int, ...], target: Target) -> Placed:
    """Return the least legal place, at address 0, for an array of a shape.

    >>> from pycute_xe.arch import get_target
    >>> plan(Operand("A", "bf16", ("M", "K")), (3, 5), get_target("bmg")).pitches
    (64, 2)
    """
    x, bits = operand.contiguous, operand.value_type.bits
    if not shape:
        return Placed(operand, (), 0, (), 0, max(bits // 8, 1))
    width = -(-shape[x] * bits // 8)
    rest = [mode for mode in range(len(shape)) if mode != x]
    height = shape[rest[-1]] if rest else 1
    legal = Surface(0, width, max(height, 1), width).nearest_legal(target)
    # Slices of an array of three modes and more begin at addresses of their own: whole cache lines.
    pitch = -(-legal.pitch // 64) * 64 if len(rest) > 1 else legal.pitch
    pitches, step = [max(bits // 8, 1)] * len(shape), pitch
    for mode in reversed(rest):
        pitches[mode], step = step, step * max(shape[mode], 1)
    return Placed(operand, shape, 0, tuple(pitches), legal.width, step)


def place(memory: Memory, operand: Operand, array: NDArray[Any], target: Target) -> Placed:
    """Copy an array onto legal surfaces of its own, padding zeroed."""
    planned = plan(operand, array.shape, target)
    image = np.zeros(planned.image(), np.uint8)
    if array.size:
        ordered = np.ascontiguousarray(array.transpose(planned.order))
        data = row_bytes(ordered, operand)
        window = tuple(slice(0, extent) for extent in data.shape)
        image[window] = data
    return _placed(memory, planned, image)


def place_poison(
    memory: Memory,
    operand: Operand,
    shape: tuple[int, ...],
    target: Target,
    byte: int = 0xFF,
    pages: bool = False,
) -> Placed:
    """Reserve legal surfaces whose every byte is the same: all ones are NaN until one is stored.

    ``pages`` of what is large are made where they are touched.
    """
    planned = plan(operand, shape, target)
    if not pages or planned.nbytes <= DENSE:
        return _placed(memory, planned, np.full(planned.image(), byte, np.uint8))
    made = memory.reserve(planned.nbytes, lambda at: np.full((at.size, PAGE), byte, np.uint8))
    return replace(planned, base=made)


def _placed(memory: Memory, planned: Placed, image: NDArray[np.uint8]) -> Placed:
    return replace(planned, base=memory.place(image, align=64))


def row_bytes(ordered: NDArray[Any], operand: Operand) -> NDArray[np.uint8]:
    """Return the bytes of every row of an array whose last index is the contiguous one."""
    numeric = operand.value_type
    if numeric.bits >= 8:
        return ordered.view(np.uint8).reshape(*ordered.shape[:-1], -1)
    per_byte = 8 // numeric.bits
    short = -ordered.shape[-1] % per_byte
    numbers = ordered.astype(np.float32 if numeric.kind == "float" else np.int64)
    whole = np.pad(numbers, [(0, 0)] * (ordered.ndim - 1) + [(0, short)])
    return packed(whole, numeric).reshape(*ordered.shape[:-1], -1)


def fetch(memory: Memory, placed: Placed) -> NDArray[Any]:
    """Read an operand back from memory, in the order of its modes."""
    return fetch_part(memory, placed, [range(extent) for extent in placed.shape])


# ---------------------------------------------------------------- a user's arrays as they lie


def natural_surface(operand: Operand, array: NDArray[Any]) -> tuple[Surface, int] | None:
    """Return the surface an array is where it lies, and the step between its slices.

    ``None`` where its order is another, or where elements narrower than a byte lie unpacked. The
    rows of the surface run along the fastest of the other modes.
    """
    x, unit = operand.contiguous, array.itemsize
    if operand.value_type.bits < 8 or (array.strides[x] != unit and array.shape[x] > 1):
        return None
    rest = [mode for mode in range(array.ndim) if mode != x]
    width = array.shape[x] * unit
    if not rest:
        return Surface(array.ctypes.data, width, 1, max(width, 64)), 0
    y, outer = rest[-1], rest[:-1]
    pitch = array.strides[y]
    if array.shape[y] == 1:
        pitch = max(pitch, width)
    steps = [array.strides[mode] for mode in outer if array.shape[mode] > 1]
    if pitch < 0 or any(step < 0 for step in steps):
        return None
    common = int(np.gcd.reduce(steps)) if steps else 0
    return Surface(array.ctypes.data, width, array.shape[y], pitch), common


def demand_legal(operand: Operand, array: NDArray[Any], target: Target) -> None:
    """Refuse an array that the target's messages could not address as it lies.

    Raises `LegalityError` naming the rules, their sources and the nearest legal values.
    """
    natural = natural_surface(operand, array)
    given: Mapping[str, object] = {
        "operand": operand,
        "target": target,
        "strides": array.strides,
    }
    if natural is None:
        raise LegalityError("run", given, _why_not(operand), "copy the array, or run unstrictly")
    surface, step = natural
    broken = errors(surface.broken_rules(target))
    if not broken and step:
        # The other slices begin a multiple of the step behind the first.
        moved = Surface(surface.base + step, surface.width, surface.height, surface.pitch)
        broken, surface = errors(moved.broken_rules(target)), moved
    if broken:
        near = surface.nearest_legal(target, strict=False)
        raise LegalityError(
            "run",
            {**given, "surface": surface},
            "; ".join(f"{b.rule}: {b.condition} [{b.source}]" for b in broken),
            f"nearest legal: base {near.base:#x}, width {near.width}, pitch {near.pitch} bytes",
        )


def _why_not(operand: Operand) -> str:
    if operand.value_type.bits < 8:
        return f"{operand.name} holds {operand.value_type}, which NumPy keeps in a byte each"
    order = {"row-major": "row", "column-major": "col"}.get(operand.layout_name)
    declared = order or operand.layout_name or "a vector"
    x = operand.modes[operand.contiguous]
    return f"{operand.name} is declared {declared}, but its {x} is not contiguous in memory"


def is_legal(operand: Operand, array: NDArray[Any], target: Target) -> bool:
    """Tell whether the target's messages could address an array as it lies."""
    try:
        demand_legal(operand, array, target)
    except LegalityError:
        return False
    return True


# ------------------------------------------------------------ paging
# Operands in memory that is made where it is touched, and windows of them.

DENSE = 1 << 20
"""Bytes up to which memory is an array, also where pages would do."""


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
        elements = field[tuple(at)]
        return row_bytes(np.where(inside, elements, np.zeros_like(elements)), operand)

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
