"""Messages: each access becomes the LSC messages it stands for, checked and executed.

The registers of a thread are scratch here: addresses at register 0, data from register 16 on. What
a compiler would keep in registers, vectors, lives in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch.lsc import Address, Block2DMessage, DataType, Message
from pycute_xe.arch.rules import errors
from pycute_xe.errors import MachineError
from pycute_xe.esimd.lint import EsimdError, lint_of
from pycute_xe.esimd.threads import Sent, Thread
from pycute_xe.machine import lsc
from pycute_xe.machine.memory import Bytes
from pycute_xe.machine.trace import BoundsFault, RaceFault, UnwrittenFault

__all__ = ["DATA", "Hints", "block", "scattered", "send", "updated"]

Index = NDArray[np.int64]
Flags = NDArray[np.bool_]
Hints = tuple[str, str]
"""What to do at L1 and L3, as tokens of the vISA text."""

DATA: Final = 16 * 64
_SRC1: Final = 64 * 64
_SRC2: Final = 96 * 64
_VECTORS: Final = (64, 32, 16, 8, 4, 3, 2, 1)
_LANES: Final = (16, 8, 4, 2, 1)
_POISON: Final = 0xFF


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the messages of an access: which lanes and elements, or which bytes, it moves."""

    message: Message
    first: int
    count: int
    element: int = 0
    elements: int = 1


def block(
    thread: Thread, op: str, sfid: str, start: int, data: Bytes | int, hints: Hints
) -> Bytes | None:
    """Load so many adjacent bytes, or store these, as transposed messages of one address."""
    nbytes = data if isinstance(data, int) else data.size
    _address(thread, np.array([start]), sfid)
    blocks: list[Bytes] = []
    wide = nbytes % 8 == 0 and start % 8 == 0
    for part in _block_parts(op, sfid, nbytes, wide, hints):
        if isinstance(data, int):
            send(thread, part.message)
            blocks.append(thread.registers.read(DATA, part.count, op).copy())
        else:
            thread.registers.write(DATA, data[part.first : part.first + part.count], op)
            send(thread, part.message)
    return np.concatenate(blocks) if blocks else None


def scattered(
    thread: Thread,
    op: str,
    sfid: str,
    starts: Index,
    data: Bytes | tuple[int, int],
    mask: Flags | None,
    hints: Hints,
) -> Bytes | None:
    """Gather (elements, bytes of one) from each start, or scatter data[element, lane, byte].

    Lanes that are off come back as bytes of all ones.
    """
    count, size = data if isinstance(data, tuple) else (data.shape[0], data.shape[2])
    values = np.full((count, starts.size, size), _POISON, dtype=np.uint8)
    for part in _scatter_parts(op, sfid, starts.size, count, size, mask is not None, hints):
        lanes = slice(part.first, part.first + part.count)
        elements = slice(part.element, part.element + part.elements)
        _address(thread, starts[lanes], sfid)
        flags = None if mask is None else mask[lanes]
        if isinstance(data, tuple):
            moved = values[elements, lanes] if mask is not None else None
            _put(thread, part, moved)
            send(thread, part.message, flags)
            values[elements, lanes] = _get(thread, part, size)
        else:
            _put(thread, part, data[elements, lanes])
            send(thread, part.message, flags)
    return values if isinstance(data, tuple) else None


def updated(
    thread: Thread, op: str, starts: Index, size: int, sources: list[Bytes], mask: Flags | None
) -> Bytes:
    """Update elements of shared local memory atomically; what was there, lane by lane.

    Lanes that are off come back as bytes of all ones.
    """
    old = np.full((starts.size, size), _POISON, dtype=np.uint8)
    name = {2: "d16u32", 4: "d32", 8: "d64"}[size]
    for first, some in _cut(starts.size, _LANES):
        lanes = slice(first, first + some)
        _address(thread, starts[lanes], "slm")
        part = _Part(_atomic(op, some, DataType(name), len(sources), mask is not None), first, some)
        _put(thread, part, old[None, lanes])
        for source, at in zip(sources, (_SRC1, _SRC2), strict=False):
            wide = np.zeros((some, max(4, size)), dtype=np.uint8)
            wide[:, :size] = source[lanes]
            thread.registers.write(at, wide.reshape(-1), "data")
        send(thread, part.message, None if mask is None else mask[lanes])
        old[lanes] = _get(thread, part, size)[0]
    return old


@lru_cache(maxsize=256)
def _atomic(op: str, lanes: int, data: DataType, extra: int, masked: bool) -> Message:
    address, name = Address("flat", 32, "V1"), f"atomic_{op}"
    src1, src2 = "V3" if extra > 0 else None, "V4" if extra > 1 else None
    predicate = "P1" if masked else None
    return Message(name, "slm", lanes, data, address, "V2", src1, src2, predicate=predicate)


def send(thread: Thread, message: Message | Block2DMessage, flags: Flags | None = None) -> int:
    """Check a message for the target and execute it; the lint of whatever goes wrong."""
    machine = thread.machine
    text, broken = _checked(message, machine.target.name)
    for rule in errors(broken):
        raise EsimdError(
            lint_of(rule),
            "send",
            {"thread": thread.index, "at": thread.progress.label, "message": text},
            f"{rule.rule}: {rule.condition}",
        )
    operands: dict[str, Any] = {"V1": 0, "V2": DATA, "V3": _SRC1, "V4": _SRC2}
    if flags is not None:
        operands["P1"] = flags
    try:
        moved = lsc.execute(
            message,
            memory=machine.memory,
            registers=thread.registers,
            operands=operands,
            slm=thread.group.slm,
            thread=thread.progress,
        )
    except MachineError as fault:
        raise _as_lint(thread, text, fault) from fault
    kind = message.block.op if isinstance(message, Block2DMessage) else message.operation.kind
    machine.trace.message(kind, text, moved)
    machine.sent.append(Sent(thread.index, thread.progress.label, text, moved))
    return moved


@lru_cache(maxsize=4096)
def _checked(message: Message | Block2DMessage, target: str) -> tuple[str, Any]:
    return str(message), message.check(target)


def _as_lint(thread: Thread, text: str, fault: MachineError) -> MachineError | EsimdError:
    """The lint that a fault of the machine stands for, or the fault itself."""
    match fault:
        case RaceFault():
            code = "PX204" if fault.overlap else "PX206"
        case UnwrittenFault():
            code = "PX209"
        case BoundsFault():
            code = "PX210"
        case _ if fault.operation == "memory":
            code = "PX113"
        case _:
            return fault
    operands = {"message": text, **fault.operands}
    return thread.error(code, fault.operation, operands, fault.condition)


def _address(thread: Thread, starts: Index, sfid: str) -> None:
    kind = np.uint32 if sfid == "slm" else np.uint64
    thread.registers.write(0, starts.astype(kind).view(np.uint8), "addresses")


def _put(thread: Thread, part: _Part, data: Bytes | None) -> None:
    """Write elements of lanes to the data registers, narrow ones in dwords of their own."""
    if data is None:
        return
    size = data.shape[2]
    wide = np.zeros((*data.shape[:2], max(4, size)), dtype=np.uint8)
    wide[:, :, :size] = data
    for element in range(part.elements):
        thread.registers.write(DATA + element * _pitch(size), wide[element].reshape(-1), "data")


def _get(thread: Thread, part: _Part, size: int) -> Bytes:
    wide = max(4, size)
    parts = [
        thread.registers.read(DATA + element * _pitch(size), part.count * wide, "load").copy()
        for element in range(part.elements)
    ]
    return np.stack(parts).reshape(part.elements, part.count, wide)[:, :, :size]


def _pitch(size: int) -> int:
    """Register bytes from one element of 16 lanes to the next."""
    return 16 * max(4, size)


@lru_cache(maxsize=4096)
def _block_parts(op: str, sfid: str, nbytes: int, wide: bool, hints: Hints) -> tuple[_Part, ...]:
    unit = 8 if wide else 4
    parts: list[_Part] = []
    first = 0
    for vector in _VECTORS:
        while nbytes - first >= vector * unit:
            data = DataType(f"d{8 * unit}", vector, transpose=True)
            address = Address("flat", 32 if sfid == "slm" else 64, "V1", offset=first)
            message = _message(op, sfid, 1, data, address, None, hints)
            parts.append(_Part(message, first, vector * unit))
            first += vector * unit
    return tuple(parts)


@lru_cache(maxsize=4096)
def _scatter_parts(
    op: str, sfid: str, lanes: int, count: int, size: int, masked: bool, hints: Hints
) -> tuple[_Part, ...]:
    """At most 16 lanes a message; vectors of 8 registers at most, of 32 and 64 bits only."""
    most = {4: 8, 8: 4}.get(size, 1)
    name = {1: "d8u32", 2: "d16u32", 4: "d32", 8: "d64"}[size]
    parts: list[_Part] = []
    for first, some in _cut(lanes, _LANES):
        for element, elements in _cut(count, tuple(v for v in (8, 4, 3, 2, 1) if v <= most)):
            address = Address("flat", 32 if sfid == "slm" else 64, "V1", offset=element * size)
            predicate = "P1" if masked else None
            data = DataType(name, elements)
            message = _message(op, sfid, some, data, address, predicate, hints)
            parts.append(_Part(message, first, some, element, elements))
    return tuple(parts)


def _cut(total: int, sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Cut a range into pieces of the given sizes, largest first."""
    pieces: list[tuple[int, int]] = []
    first = 0
    for size in sizes:
        while total - first >= size:
            pieces.append((first, size))
            first += size
    return pieces


def _message(
    op: str,
    sfid: str,
    lanes: int,
    data: DataType,
    address: Address,
    predicate: str | None,
    hints: Hints,
) -> Message:
    dst, src1 = ("V2", None) if op == "load" else (None, "V2")
    return Message(op, sfid, lanes, data, address, dst, src1, None, *hints, predicate=predicate)
