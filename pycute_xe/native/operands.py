"""Operands of instructions: which register bytes each lane reads or writes, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert
from pycute_xe.errors import MachineError
from pycute_xe.machine import NamedBarrier, Progress, RegisterFile
from pycute_xe.native.assembly import Immediate, Instruction, Reg, Walk

__all__ = [
    "ACCUMULATORS",
    "DTYPES",
    "GRF",
    "REGISTERS",
    "Read",
    "State",
    "Write",
    "bytes_of_lanes",
    "bytes_read",
    "bytes_written",
    "chosen",
    "reader",
    "refuse",
    "writer",
]

GRF = 64
# Accumulators hold 32 bits as registers do, and lie behind the general ones here.
ACCUMULATORS = 256
REGISTERS = ACCUMULATORS + 16
"""Registers of a thread's state: general ones, then accumulators."""

FLAG_BITS = 128
DTYPES: dict[str, np.dtype[Any]] = {
    "ub": np.dtype(np.uint8),
    "b": np.dtype(np.int8),
    "uw": np.dtype(np.uint16),
    "w": np.dtype(np.int16),
    "ud": np.dtype(np.uint32),
    "d": np.dtype(np.int32),
    "uq": np.dtype(np.uint64),
    "q": np.dtype(np.int64),
    "hf": np.dtype(np.float16),
    "bf": np.dtype(ml_dtypes.bfloat16),
    "f": np.dtype(np.float32),
    "df": np.dtype(np.float64),
}
"""The element types that registers are read in."""

Values = NDArray[Any]


@dataclass
class State:
    """What one hardware thread holds: registers, flags, and the products of 32 by 16 bits.

    ``products`` are those that `mul` leaves in the accumulator for `mach` and `macl`; ``progress``
    is what it knows of the other threads, ``barriers`` the named ones it has arrived at; ``known``
    are operands that were initialised when touched, ``seen`` the registers in each type.
    """

    registers: RegisterFile
    flags: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(FLAG_BITS, np.bool_))
    products: NDArray[np.int64] | None = None
    progress: Progress = field(default_factory=lambda: Progress(0))
    barriers: dict[int, NamedBarrier] = field(default_factory=dict[int, NamedBarrier])
    known: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    seen: dict[str, Values] = field(init=False)

    def __post_init__(self) -> None:
        """See the registers in every type."""
        data = self.registers.data
        self.seen = {kind: data.view(dtype) for kind, dtype in DTYPES.items()}


Read = Callable[[State], Values]
Write = Callable[[State, Values], None]


class UnmodelledFault(MachineError):
    """An instruction that is not executed here, whatever it does on hardware."""


def refuse(instruction: Instruction, condition: str) -> UnmodelledFault:
    """Return the error of an instruction that is not executed here."""
    return UnmodelledFault(
        "native.run",
        {"at": instruction},
        condition,
        'use executor="reference" of run for this kernel',
    )


def bytes_of_lanes(instruction: Instruction, operand: Reg, size: int) -> NDArray[np.int64]:
    """Return the byte of every byte of every lane, (lanes, bytes)."""
    if operand.file == "acc" and operand.kind in ("f", "d", "ud"):
        start = (ACCUMULATORS + operand.number) * GRF
    elif operand.file == "r":
        start = operand.number * GRF
    else:
        named = f"{operand.file}{operand.number} of {operand.kind or 'no type'}"
        raise refuse(instruction, f"the register {named} is not modelled")
    lanes = np.arange(instruction.size)
    walk = operand.walk
    if walk is None:
        offsets = lanes
    elif walk.vertical < 0:
        offsets = lanes * walk.horizontal
    else:
        offsets = lanes // walk.width * walk.vertical + lanes % walk.width * walk.horizontal
    first = start + operand.element * size
    return (first + offsets[:, None] * size + np.arange(size)).astype(np.int64)


def reader(instruction: Instruction, operand: Reg | Immediate) -> Read:
    """Return what reads a source: floats as float32 (float64), integers as int64, one per lane."""
    if isinstance(operand, Immediate):
        packed = operand.kind in ("v", "uv")
        value = _nibbles(operand) if packed else _number(instruction, operand)
        lanes = np.resize(value, instruction.size)
        return lambda _state: lanes
    dtype = DTYPES.get(operand.kind)
    if dtype is None:
        raise refuse(instruction, f"the type {operand.kind} is not modelled")
    places = bytes_of_lanes(instruction, operand, dtype.itemsize)
    named, change, wide = str(instruction), _modifier(instruction, operand), _widened(dtype)
    part, flat, kind = _part(places, dtype), places.reshape(-1), operand.kind
    key = (int(flat[0]), flat.size) if isinstance(part, slice) else (id(part), 0)

    def read(state: State) -> Values:
        # What was initialised once stays so, and need not be asked again.
        if key not in state.known:
            if key[1]:
                state.registers.read(*key, named)
            else:
                state.registers.gather(0, flat, named)
            state.known.add(key)
        return change(wide(state.seen[kind][part]))

    return read


def _part(places: NDArray[np.int64], dtype: np.dtype[Any]) -> slice | NDArray[np.int64]:
    """Return which elements of all registers, seen in a type, lanes touch."""
    elements = places[:, 0] // dtype.itemsize
    first, count = int(elements[0]), elements.size
    if np.array_equal(elements, np.arange(first, first + count)):
        return slice(first, first + count)
    return elements


def _widened(dtype: np.dtype[Any]) -> Callable[[Values], Values]:
    if dtype.kind in "iu":
        # Bits of a uq above 2^63 come out negative; what matters of them is their lowest 64 bits.
        return lambda values: values.astype(np.int64)
    if dtype.kind == "f" and dtype.itemsize >= 4:
        return lambda values: values
    return lambda values: values.astype(np.float32)


def _modifier(instruction: Instruction, operand: Reg) -> Callable[[Values], Values]:
    logical = instruction.op in ("and", "or", "xor", "not", "bfn")
    changes: dict[str, Callable[[Values], Values]] = {
        "": lambda values: values,
        "n": (lambda values: ~values) if logical else (lambda values: -values),
        "a": np.abs,
        "na": lambda values: -np.abs(values),
    }
    change = changes.get(operand.modifier)
    if change is None:
        raise refuse(instruction, f"the source modifier {operand.modifier} is not modelled")
    return change


def _nibbles(operand: Immediate) -> NDArray[np.int64]:
    """Return the eight numbers of four bits, the lowest first, that lanes take in turn."""
    nibbles = int(operand.text, 0) >> 4 * np.arange(8) & 15
    return nibbles - 16 * (nibbles >> 3) if operand.kind == "v" else nibbles


def _number(instruction: Instruction, operand: Immediate) -> Any:
    """Return the value of an immediate; floats are written as their bits."""
    kind, text = operand.kind, operand.text
    bits = {"f": np.uint32, "df": np.uint64, "hf": np.uint16}.get(kind)
    if bits is not None and text.startswith("0x"):
        number = np.array([int(text, 16)], bits).view(DTYPES[kind])[0]
        return np.float64(number) if kind == "df" else np.float32(number)
    dtype = DTYPES.get(kind)
    if dtype is None or dtype.kind not in "iu":
        raise refuse(instruction, f"an immediate {text} of type {kind} is not modelled")
    value = int(text, 0) & ((1 << 8 * dtype.itemsize) - 1)
    return np.array([value], f"u{dtype.itemsize}").view(dtype).astype(np.int64)[0]


def writer(instruction: Instruction) -> Write:
    """Return what writes a result to the destination's lanes, converted to its type."""
    to = cast("Reg", instruction.to)
    if to.file == "null":
        return lambda _state, _values: None
    dtype = DTYPES.get(to.kind)
    if dtype is None:
        raise refuse(instruction, f"the type {to.kind} is not modelled")
    write = _written(instruction, to, dtype)
    if (to.file, to.number) != ("acc", 0):
        return write

    def over_products(state: State, values: Values) -> None:
        state.products = None
        write(state, values)

    return over_products


def _written(instruction: Instruction, to: Reg, dtype: np.dtype[Any]) -> Write:
    places, named = bytes_of_lanes(instruction, to, dtype.itemsize), str(instruction)
    shaped, lanes = _shaped(instruction, dtype), chosen(instruction)
    part, flat, kind = _part(places, dtype), places.reshape(-1), to.kind
    key = (int(flat[0]), flat.size) if isinstance(part, slice) else (id(part), 0)

    def write(state: State, values: Values) -> None:
        data = shaped(values)
        if key in state.known:
            state.seen[kind][part] = data
            return
        raw = np.ascontiguousarray(data).view(np.uint8)
        if key[1]:
            state.registers.write(key[0], raw, named)
        else:
            state.registers.scatter(0, flat, raw, named)
        state.known.add(key)

    def write_some(state: State, values: Values) -> None:
        data = np.ascontiguousarray(shaped(values)).view(np.uint8).reshape(places.shape)
        on = lanes(state) if lanes is not None else slice(None)
        state.registers.scatter(0, places[on].reshape(-1), data[on].reshape(-1), named)

    return write if lanes is None else write_some


def chosen(instruction: Instruction) -> Callable[[State], NDArray[np.bool_]] | None:
    """Return which lanes a predicate leaves on; None without a predicate."""
    if not instruction.predicate or instruction.op == "sel":
        return None
    start = 16 * instruction.flag + instruction.first
    stop, inverted = start + instruction.size, instruction.predicate == "-"
    return lambda state: state.flags[start:stop] ^ inverted


def _shaped(instruction: Instruction, dtype: np.dtype[Any]) -> Callable[[Values], Values]:
    """Return what turns results into elements of the destination."""
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if instruction.saturate and dtype.itemsize == 8:
            raise refuse(instruction, "saturation at 64 bits is not modelled")

        def integers(values: Values) -> Values:
            if values.dtype.kind == "f":
                values = _truncated(instruction, values, low, high)
            if instruction.saturate:
                values = np.clip(values, low, high)
            return values.astype(dtype)

        return integers

    def floats(values: Values) -> Values:
        if instruction.saturate:
            values = np.clip(values.astype(np.float32), np.float32(0), np.float32(1))
        if values.dtype == dtype:
            return values
        name = {"bf": "bf16", "hf": "f16"}.get(cast("Reg", instruction.to).kind)
        return values.astype(dtype) if name is None else convert(values, name)

    return floats


def _truncated(instruction: Instruction, values: Values, low: int, high: int) -> Values:
    """Return floats cut to integers; a NaN is 0, and beyond the type only ``sat`` is defined."""
    wide = np.trunc(np.where(np.isnan(values), 0.0, values.astype(np.float64)))
    if not instruction.saturate and ((wide < low) | (wide > high)).any():
        raise refuse(instruction, "a float beyond the integer type is converted without .sat")
    return np.clip(wide, float(low), float(high)).astype(np.int64)


# ------------------------------------------------------------ bytes
# Which bytes of registers an instruction touches, for those who do not execute it.


def bytes_written(instruction: Instruction) -> Iterator[int]:
    """Yield the bytes of registers that an instruction writes."""
    to = instruction.to
    if to is not None and to.file == "r":
        if instruction.op.startswith("send"):
            yield from range(to.number * GRF, (to.number + max(1, to.length)) * GRF)
        else:
            step = to.walk.horizontal if to.walk else 1
            yield from _bytes(to, (lane * step for lane in range(instruction.size)))


def bytes_read(instruction: Instruction) -> Iterator[int]:
    """Yield the bytes of registers that an instruction without messages reads."""
    for source in instruction.sources:
        if isinstance(source, Reg) and source.file == "r":
            walk = source.walk or Walk(1, 1, 0)
            down = walk.width if walk.vertical < 0 else walk.vertical
            lanes = (divmod(lane, max(1, walk.width)) for lane in range(instruction.size))
            yield from _bytes(source, (y * down + x * walk.horizontal for y, x in lanes))


def _bytes(register: Reg, elements: Iterator[int]) -> Iterator[int]:
    wide = DTYPES[register.kind].itemsize if register.kind in DTYPES else 4
    start = register.number * GRF + register.element * wide
    return (start + element * wide + i for element in elements for i in range(wide))
