"""Floor 9: one subgroup on the machine: its registers as elements, its indices, its environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.converting import host_dtype
from pycute_xe.executing.counters import Counters
from pycute_xe.executing.surfaces import Placed
from pycute_xe.kernel import Fragment, Kernel, Load
from pycute_xe.kernel.index import ELEMENT_INDEX, Index
from pycute_xe.machine import Memory, Progress, RegisterFile, Trace
from pycute_xe.machine.elements import packed, unpacked
from pycute_xe.machine.fenced import FencedSlm
from pycute_xe.machine.races import Does, Span
from pycute_xe.numeric import Numeric

__all__ = ["Env", "Machine", "Thread", "shared_room"]

Env = Mapping[str, int]
R = TypeVar("R")
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Machine:
    """What all work-groups share: memory with the operands in it, sizes, and the trace.

    ``spans`` watch the operands that are written.
    """

    kernel: Kernel
    memory: Memory
    placed: Mapping[str, Placed]
    scalars: Mapping[str, NDArray[Any]]
    sizes: Mapping[str, int]
    target: Target
    trace: Trace
    spans: Mapping[str, Span] = field(default_factory=dict[str, Span])
    counters: Counters = field(default_factory=Counters)
    _fragments: dict[str, Fragment] = field(default_factory=dict[str, Fragment])
    _once: dict[tuple[Any, int], Any] = field(default_factory=dict["tuple[Any, int]", Any])

    def once(self, function: Callable[..., R], value: Any, *rest: Any) -> R:
        """Return a function of a part of the kernel, which is asked for once: parts hash slowly.

        What is ``rest`` is always the same for that part.
        """
        key = function, id(value)
        if key not in self._once:
            self._once[key] = function(value, *rest)
        return self._once[key]

    def fragment(self, name: str) -> Fragment:
        """Return a fragment by name."""
        if not self._fragments:
            self._fragments.update({f.name: f for f in self.kernel.fragments})
        return self._fragments[name]

    def look_up(self, name: str, at: Sequence[int]) -> int:
        """Return an element of an integer operand as it is now."""
        if name in self.scalars:
            return int(self.scalars[name])
        return self.placed[name].element(self.memory, at)

    def close(self, group: str) -> None:
        """Compare what a work-group has done until now with what others did."""
        for span in self.spans.values():
            span.close(group, self.counters.groups.get(group))

    def registers(self) -> tuple[dict[str, int], int]:
        """Give each fragment whole registers, one after the other, and count all bytes."""
        offsets: dict[str, int] = {}
        at, grf = 0, self.target.grf_bytes
        for fragment in self.kernel.fragments:
            offsets[fragment.name] = at
            at += -(-_room(self.kernel, fragment) // grf) * grf
        return offsets, max(at, grf)


def _room(kernel: Kernel, fragment: Fragment) -> int:
    """Bytes of a fragment, and of the padding that a message writes behind it."""
    room = -(-fragment.elements * fragment.value_type.bits // 8)
    for statement in kernel.statements():
        if isinstance(statement, Load) and statement.fragment == fragment.name:
            atom = statement.copy.block
            image = atom.register_tv.elements * atom.value_type.bits // 8
            step = atom.values * 16 * atom.value_type.bits // 8
            room = max(room, (statement.copy.messages - 1) * step + image)
    return room


def shared_room(kernel: Kernel) -> tuple[dict[str, int], int]:
    """Give each shared array its place, in whole cache lines, and count all bytes."""
    offsets: dict[str, int] = {}
    at = 0
    for array in kernel.shared:
        offsets[array.name] = at
        at += -(-array.elements * array.value_type.bits // 512) * 64
    return offsets, at


@dataclass(frozen=True, eq=False)
class Thread:
    """One subgroup: its registers, its shared memory, and where each fragment lies."""

    machine: Machine
    subgroup: int
    registers: RegisterFile
    offsets: Mapping[str, int]
    slm: FencedSlm
    shared: Mapping[str, int]
    progress: Progress
    group: str = ""

    def index(self, index: Index, env: Env) -> int:
        """Return the number that an index is now."""
        return index.at(env, self.look_up)

    def look_up(self, name: str, at: Sequence[int]) -> int:
        """Return an element of an integer operand as it is now, and note who looked."""
        machine, observer = self.machine, self.watched("reads", name)
        value = machine.look_up(name, at)
        if observer is not None:
            placed = machine.placed[name]
            first, nbytes = placed.address(at), max(placed.operand.value_type.bits // 8, 1)
            observer(np.arange(first, first + nbytes), machine.memory.read(first, nbytes))
        return value

    def below(self, index: Index, limit: Index, env: Env, elements: int) -> Any:
        """Tell for which elements of a fragment an index is below another."""
        names: dict[str, Any] = {**env, ELEMENT_INDEX: np.arange(elements)}
        return self.index(index, names) < self.index(limit, names)

    def bytes(self, name: str, elements: int, reader: str) -> NDArray[np.uint8]:
        """Return the bytes of the first elements of a fragment; unwritten ones are a fault."""
        bits = self.machine.fragment(name).value_type.bits
        return self.registers.read(self.offsets[name], -(-elements * bits // 8), reader)

    def numbers(self, name: str, reader: str) -> NDArray[Any]:
        """Return a fragment's elements as numbers: floats widened, integers as int64."""
        fragment = self.machine.fragment(name)
        return numbers(self.bytes(name, fragment.elements, reader), fragment.value_type)

    def watched(self, does: Does, operand: str) -> Callable[[Ints, NDArray[np.uint8]], None] | None:
        """Return what an access to an operand is told to, None where it is never written."""
        span = self.machine.spans.get(operand)
        if span is None:
            return None
        return lambda addresses, data: span.record(does, self.progress, addresses, data, self.group)

    def write(self, name: str, values: NDArray[Any], writer: str) -> None:
        """Write every element of a fragment: numbers that its type holds."""
        data = to_bytes(values, self.machine.fragment(name).value_type)
        self.registers.write(self.offsets[name], data, writer)

    def write_some(self, name: str, data: NDArray[np.uint8], reached: Any, writer: str) -> None:
        """Write the elements that are reached; the others become uninitialised."""
        fragment = self.machine.fragment(name)
        bits, offset = fragment.value_type.bits, self.offsets[name]
        if reached.all():
            self.registers.write(offset, data, writer)
            return
        self.registers.forget(offset, data.size)
        if bits >= 8:
            whole = np.repeat(reached, bits // 8)
        else:  # a byte is written when all its elements are
            whole = reached.reshape(-1, 8 // bits).all(axis=1)
        where = np.flatnonzero(whole)
        self.registers.scatter(offset, where, data[where], writer)


def numbers(data: NDArray[np.uint8], numeric: Numeric) -> NDArray[Any]:
    """Return register bytes as numbers, float64 kept."""
    # closed: `unpacked` has every other type
    return data.view(np.float64) if numeric.name == "f64" else unpacked(data, numeric)


def to_bytes(values: NDArray[Any], numeric: Numeric) -> NDArray[np.uint8]:
    """Return numbers that a type holds as register bytes."""
    if numeric.bits < 8:
        return packed(values if numeric.kind == "float" else values.astype(np.int64), numeric)
    flat = np.ascontiguousarray(values.astype(host_dtype(numeric), copy=False)).reshape(-1)
    return flat.view(np.uint8)


def codes(data: NDArray[np.uint8], bits: int) -> NDArray[Any]:
    """Return the bit patterns of the elements in register bytes."""
    if bits >= 8:
        return data.view(f"u{bits // 8}")
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((data[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)


def from_codes(found: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Return register bytes from bit patterns."""
    if bits >= 8:
        return found.view(np.uint8)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(found.reshape(-1, 8 // bits) << shifts, axis=1).astype(np.uint8)
