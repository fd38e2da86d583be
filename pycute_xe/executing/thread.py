"""One subgroup on the machine: its registers as elements, its indices, its environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.converting import host_dtype
from pycute_xe.errors import MachineError
from pycute_xe.executing.surfaces import Placed
from pycute_xe.kernel import Fragment, Kernel
from pycute_xe.kernel.arrays import Array, Ints
from pycute_xe.kernel.index import ELEMENT_INDEX, Index
from pycute_xe.kernel.ir.effects import CounterAccess
from pycute_xe.machine import (
    BarrierArrive as Arrive,
    BarrierWait as Wait,
    Memory,
    Progress,
    RegisterFile,
    Trace,
)
from pycute_xe.machine.memory import packed, unpacked
from pycute_xe.machine.races import Does, Span
from pycute_xe.machine.slm import FencedSlm
from pycute_xe.machine.trace import Clock, DeadlockFault
from pycute_xe.machine.workgroup import CounterWait
from pycute_xe.numeric import Numeric

__all__ = [
    "Env",
    "Machine",
    "Thread",
    "shared_room",
    "Counters",
    "Place",
    "launched",
    "meet_at_counter",
]

# ------------------------------------------------------------ counters
# Counters in memory: what was known when each became what it is.

Place: TypeAlias = tuple[str, tuple[int, ...]]


@dataclass(eq=False)
class Counters:
    """What each counter was, and what was known when it became so; one clock a work-group."""

    groups: dict[str, Progress] = field(default_factory=dict[str, Progress])
    history: dict[Place, list[tuple[int, Clock]]] = field(
        default_factory=dict["tuple[str, tuple[int, ...]]", "list[tuple[int, Clock]]"]
    )
    turn: int = 0

    def enter(self, group: str, number: int) -> Progress:
        """Begin a work-group."""
        return self.groups.setdefault(group, Progress(number))

    def signal(self, place: Place, before: int, value: int, mine: Progress) -> None:
        """Note that a counter became ``value``; what was known before stays known.

        As long as the counter was ``before``, nothing was known.
        """
        past = self.history.setdefault(place, [(before, np.zeros(0, dtype=np.int64))])
        known, earlier = mine.release(), past[-1][1]
        known = np.pad(known, (0, max(0, earlier.size - known.size)))
        known[: earlier.size] = np.maximum(known[: earlier.size], earlier)
        past.append((value, known))

    def passed(self, place: Place, least: int, mine: Progress) -> None:
        """Take over what was known when a counter had first grown so far."""
        for value, known in self.history.get(place, []):
            if value >= least:
                mine.acquire(known)
                return


# ------------------------------------------------------------ thread

Env = Mapping[str, int]
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Machine:
    """What all work-groups share: memory with the operands in it, sizes, and the trace.

    ``spans`` watch the operands that are written.
    """

    kernel: Kernel
    memory: Memory
    placed: Mapping[str, Placed]
    scalars: Mapping[str, Array]
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
        memory = statement.touched.memory
        if memory is not None and memory.fills and memory.fragment == fragment.name:
            atom = memory.copy.block
            image = atom.register_tv.elements * atom.value_type.bits // 8
            step = atom.values * 16 * atom.value_type.bits // 8
            room = max(room, (memory.copy.messages - 1) * step + image)
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
        value = self.machine.look_up(name, at)
        _watched(self, "reads", name, at)
        return value

    def below(self, index: Index, limit: Index, env: Env, elements: int) -> Any:
        """Tell for which elements of a fragment an index is below another."""
        # entries of tables are integers of any size
        looks = index.looked_up or limit.looked_up
        numbers = np.arange(elements, dtype=object if looks else np.int64)
        names: dict[str, Any] = {**env, ELEMENT_INDEX: numbers}
        return self.index(index, names) < self.index(limit, names)

    def bytes(self, name: str, elements: int, reader: str) -> NDArray[np.uint8]:
        """Return the bytes of the first elements of a fragment; unwritten ones are a fault."""
        bits = self.machine.fragment(name).value_type.bits
        return self.registers.read(self.offsets[name], -(-elements * bits // 8), reader)

    def numbers(self, name: str, reader: str) -> Array:
        """Return a fragment's elements as numbers: floats widened, integers as int64."""
        fragment = self.machine.fragment(name)
        return numbers(self.bytes(name, fragment.elements, reader), fragment.value_type)

    def watched(self, does: Does, operand: str) -> Callable[[Ints, NDArray[np.uint8]], None] | None:
        """Return what an access to an operand is told to, None where it is never written."""
        span = self.machine.spans.get(operand)
        if span is None:
            return None
        placed = self.machine.placed[operand]

        def record(addresses: Ints, data: NDArray[np.uint8]) -> None:
            if placed.is_padded:  # no other work-group reads what pads a row
                own = placed.holds(addresses - placed.base)
                addresses, data = addresses[own], data[own]
            span.record(does, self.progress, addresses, data, self.group)

        return record

    def write(self, name: str, values: Array, writer: str) -> None:
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


def numbers(data: NDArray[np.uint8], numeric: Numeric) -> Array:
    """Return register bytes as numbers, float64 kept."""
    # closed: `unpacked` has every other type
    return data.view(np.float64) if numeric.name == "f64" else unpacked(data, numeric)


def to_bytes(values: Array, numeric: Numeric) -> NDArray[np.uint8]:
    """Return numbers that a type holds as register bytes."""
    if numeric.bits < 8:
        return packed(values if numeric.kind == "float" else values.astype(np.int64), numeric)
    flat = np.ascontiguousarray(values.astype(host_dtype(numeric), copy=False)).reshape(-1)
    return flat.view(np.uint8)


def codes(data: NDArray[np.uint8], bits: int) -> Array:
    """Return the bit patterns of the elements in register bytes."""
    if bits >= 8:
        return data.view(f"u{bits // 8}")
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((data[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)


def from_codes(patterns: Array, bits: int) -> NDArray[np.uint8]:
    """Return register bytes from bit patterns."""
    if bits >= 8:
        return patterns.view(np.uint8)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(patterns.reshape(-1, 8 // bits) << shifts, axis=1).astype(np.uint8)


# ------------------------------------------------------------ waiting
# Work-groups that wait for one another, in the reference executor.
#
# The first subgroup of a work-group looks at the counter, or adds to it, after all have met; then
# all meet again. A wait is over as soon as the counter has grown so far, and takes over what the
# work-groups knew that had added to it until then, not what later ones did.

Meeting: TypeAlias = Arrive | Wait | CounterWait


def meet_at_counter(thread: Thread, counter: CounterAccess, env: Env) -> Iterator[Meeting]:
    """Let a subgroup wait at a counter, signal one, or take a ticket."""
    machine, name = thread.machine, counter.operand
    at = tuple(thread.index(index, env) for index in counter.at)
    placed, label = machine.placed[name], f"{name}{list(at)}"
    placed.element(machine.memory, at)  # refused outside, whoever looks
    yield Arrive(label=label)
    yield Wait(label=label)
    if thread.subgroup == 0:
        if counter.least is not None:
            least = thread.index(counter.least, env)

            def ready() -> bool:
                return placed.element(machine.memory, at) >= least

            yield CounterWait(ready, f"{label} >= {least}")
            _watched(thread, "awaits", name, at)  # it looked before it knew what the signals tell
            machine.close(thread.group)
            machine.counters.passed((name, at), least, machine.counters.groups[thread.group])
        if counter.by is not None:
            before, by = placed.element(machine.memory, at), thread.index(counter.by, env)
            if by < 0:
                wrong = "a counter only grows, and who waits for it may miss what it was"
                given = {"counter": label, "by": by}
                raise MachineError("run", given, wrong, "signal by 0 or more")
            value = before + by
            machine.memory.write(
                placed.address(at), to_bytes(np.array([value]), placed.operand.value_type)
            )
            _watched(thread, "adds", name, at)
            if counter.into:
                _keep_ticket(thread, counter, before, env)
            machine.close(thread.group)
            if not counter.into:
                group = machine.counters.groups[thread.group]
                machine.counters.signal((name, at), before, value, group)
            turn = machine.counters.turn
            # Whoever waited goes first: what it should have waited for besides is not done then.
            yield CounterWait(lambda: machine.counters.turn > turn, f"{label} = {value} ({turn})")
    yield Arrive(label=label)
    yield Wait(label=label)


def _keep_ticket(thread: Thread, counter: CounterAccess, ticket: int, env: Env) -> None:
    """Write what a counter was to its place."""
    machine, into = thread.machine, counter.into
    placed, place = machine.placed[into], tuple(thread.index(i, env) for i in counter.place)
    placed.element(machine.memory, place)  # refused outside
    data = to_bytes(np.array([ticket]), placed.operand.value_type)
    machine.memory.write(placed.address(place), data)
    _watched(thread, "writes", into, place)
    nbytes = placed.operand.value_type.bits // 8
    first = machine.placed[counter.operand].address(
        tuple(thread.index(index, env) for index in counter.at)
    )
    text = f"ticket {ticket} of {counter.operand}"
    machine.trace.message("atomic", text, nbytes, np.arange(first, first + nbytes))


def _watched(thread: Thread, does: Does, name: str, at: Sequence[int]) -> None:
    """Note who looked at an element, or added to it: plain accesses of others may clash."""
    observer = thread.watched(does, name)
    if observer is not None:
        placed = thread.machine.placed[name]
        address, nbytes = placed.address(at), max(placed.operand.value_type.bits // 8, 1)
        observer(np.arange(address, address + nbytes), thread.machine.memory.read(address, nbytes))


def launched(
    groups: Iterable[tuple[str, Iterator[list[str]]]], counters: Counters
) -> Iterator[str]:
    """Run work-groups until they end or wait, again and again; yield the name of each that ends.

    Each begins when those before have ended or wait. Raises `DeadlockFault` where all that are left
    wait.
    """
    going: list[tuple[str, Iterator[list[str]]]] = []
    waits: dict[str, list[str]] = {}
    fresh = iter(groups)
    moved = True
    while True:
        new = next(fresh, None)
        if new is not None:
            going.append(new)
            waits[new[0]] = []
        elif not going:
            return
        elif not moved:
            raise _deadlock(waits)
        moved = False
        counters.turn += 1
        for name, group in tuple(going):
            waiting = next(group, None)
            if waiting is None:
                going.remove((name, group))
                del waits[name]
                yield name
            moved = moved or waiting is None or waiting != waits[name]
            if waiting is not None:
                waits[name] = waiting


def _deadlock(waits: dict[str, list[str]]) -> DeadlockFault:
    lines = "; ".join(f"{name} waits for {what[0]}" for name, what in list(waits.items())[:4])
    more = f" and {len(waits) - 4} others" if len(waits) > 4 else ""
    return DeadlockFault(
        "run",
        {"waiting": len(waits)},
        f"deadlock: {lines}{more}, and no other work-group is left to change that",
        "let every wait be met by signals of work-groups that do not wait for it",
    )
