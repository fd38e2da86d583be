"""The reference executor: every message and every DPAS on the machine, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra import coalesce
from pycute_xe.arch import Surface
from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.bulk import table
from pycute_xe.converting import convert, wrap
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.executing.space import anchors, column_of
from pycute_xe.executing.thread import (
    Env,
    Thread,
    codes,
    from_codes,
    meet_at_counter,
    numbers,
    to_bytes,
)
from pycute_xe.kernel import Meanings, NamedArrive, NamedWait
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.barriers import ROLES
from pycute_xe.kernel.ir.effects import CounterAccess, MemoryAccess
from pycute_xe.kernel.ir.kernel import trips
from pycute_xe.kernel.spec.expression import Apply, Const, Element, Expression, Rounded, Slot, Where
from pycute_xe.kernel.spec.functions import OF_INTEGERS, reduction
from pycute_xe.kernel.spec.roundings import computed
from pycute_xe.layout import Layout
from pycute_xe.machine import (
    BarrierArrive as Arrive,
    BarrierWait as Wait,
    Memory,
    NamedBarrier,
    block2d,
    dpas,
)
from pycute_xe.machine.trace import BoundsFault, Reach
from pycute_xe.machine.workgroup import CounterWait
from pycute_xe.numeric import Numeric

__all__ = ["DOES", "body_of", "shared_bytes"]

# ------------------------------------------------------------ elementwise
# What an elementwise statement computes, on arrays of any shape.
#
# Floats are computed in float32 (float64 where the destination is), every step rounded; integers in
# 64 bits, and the destination keeps its lowest bits.


@dataclass(frozen=True)
class Sources:
    """Where leaves of an expression come from, and where one index is below another.

    Arrays must broadcast against one another.
    """

    slot: Callable[[str], NDArray[Any]]
    scalar: Callable[[str], NDArray[Any]]
    below: Callable[[Index, Index], Any]


def mapped(value: Expression, to: Numeric, sources: Sources) -> NDArray[Any]:
    """Return the value of an expression, as the destination holds it: an array of its host dtype.

    Raises `KernelError` for what has no meaning in registers: sums over a variable, elements of
    tensors, and fractions where the destination holds integers.

    >>> from pycute_xe.kernel.spec.expression import apply
    >>> from pycute_xe.numeric import as_numeric
    >>> read = Sources(lambda name: np.array([-1.5, 2.0]), lambda name: np.array(3), lambda i, j: 0)
    >>> mapped(apply("relu", Slot("acc")) * Element("alpha"), as_numeric("bf16"), read).tolist()
    [0.0, 6.0]
    """
    if to.kind != "float":
        return wrap(_Evaluation(np.dtype(np.int64), sources).of(value), to)
    dtype = np.dtype(np.float64 if to.bits == 64 else np.float32)
    with np.errstate(all="ignore"):
        values = _Evaluation(dtype, sources).of(value)
        # A leaf may be the very array that it was read from.
        return convert(values.copy() if isinstance(value, (Slot, Element)) else values, to)


@dataclass(frozen=True)
class _Evaluation:
    dtype: np.dtype[Any]
    sources: Sources

    def of(self, value: Expression) -> NDArray[Any]:
        if isinstance(value, Const):
            beyond = isfinite(value.value) and not -(2.0**63) <= value.value < 2.0**63
            if beyond and self.dtype.kind == "i":
                wrong = f"{value.value:g} is not a number of s64"
                raise KernelError("Map", {"value": value}, wrong, "use one that it has")
            return self.taken(np.asarray(value.value), value)
        if isinstance(value, Slot):
            return self.taken(self.sources.slot(value.fragment), value)
        if isinstance(value, Element) and not value.at:
            return self.taken(self.sources.scalar(value.operand), value)
        if isinstance(value, Apply):
            return self.applied(value)
        if isinstance(value, Rounded):
            return convert(self.of(value.body), value.to).astype(self.dtype)
        if isinstance(value, Where):
            where = self.sources.below(value.index, value.below)
            return np.where(where, self.of(value.then), self.of(value.otherwise))
        raise KernelError(
            "Map",
            {"value": value},
            f"{type(value).__name__} has no meaning in registers",
            "load the element into a fragment, reduce with a Reduce statement",
        )

    def applied(self, value: Apply) -> NDArray[Any]:
        if self.dtype.kind == "i" and value.function not in OF_INTEGERS:
            raise self.fraction(value)
        arguments = [self.of(argument) for argument in value.arguments]
        return computed(value.function, arguments, self.dtype)

    def taken(self, array: NDArray[Any], value: Expression) -> NDArray[Any]:
        """Widen a leaf; integers come from integers alone."""
        if self.dtype.kind == "i" and array.dtype.kind not in "iu":
            if isinstance(value, Const) and not isfinite(value.value):
                raise KernelError(
                    "Map",
                    {"value": value},
                    f"{value} is not an integer, the destination holds integers",
                    "use a number that the destination holds",
                )
            if not (isinstance(value, Const) and value.value.is_integer()):
                raise self.fraction(value)
        if self.dtype.kind == "f" and array.dtype.kind in "iu":
            array = array.astype(np.float64)  # as conversions do
        return array.astype(self.dtype, copy=False)

    @staticmethod
    def fraction(value: Expression) -> KernelError:
        return KernelError(
            "Map",
            {"value": value},
            "its value may be a fraction, the destination holds integers",
            "compute in f32 and convert",
        )


# ------------------------------------------------------------ copying
# Tiled copies on the machine, message by message.


def copy_tile(thread: Thread, memory: MemoryAccess, env: Env) -> None:
    """Send a subgroup's messages of a copy. Raises `MachineError` as the machine does."""
    message, machine = memory.copy.op.message, thread.machine
    observer = thread.watched("reads" if memory.loads else "writes", memory.operand)
    for surface, x, y, step in _messages(thread, memory, env):
        if memory.prefetches:
            block2d.prefetch(machine.memory, message, surface, x, y, machine.trace)
            continue
        move = block2d.load if memory.loads else block2d.store
        at = thread.offsets[memory.fragment] + step
        move(machine.memory, thread.registers, message, surface, x, y, at, machine.trace, observer)


def _messages(
    thread: Thread, memory: MemoryAccess, env: Env
) -> Iterator[tuple[Surface, int, int, int]]:
    """Yield the surface, the place in it and the register byte of every message."""
    copy, placed = memory.copy, thread.machine.placed[memory.operand]
    modes, start = memory.modes, [thread.index(i, env) for i in memory.at]
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


def add_tile(thread: Thread, memory: MemoryAccess, env: Env) -> None:
    """Add a fragment to memory, message by message, in the operand's type.

    Raises `MachineError` for elements narrower than a byte, and as the machine does.
    """
    copy, machine, numeric = memory.copy, thread.machine, memory.copy.value_type
    if numeric.bits < 8:
        raise MachineError(
            "run",
            {"operand": memory.operand, "type": numeric},
            "no atomic adds elements narrower than a byte",
            "add in a wider type",
        )
    offset = thread.offsets[memory.fragment]
    observer = thread.watched("adds", memory.operand)
    for surface, x, y, step in _messages(thread, memory, env):
        left = x * copy.op.message.element_bytes
        window = _window(surface, left, y, copy.block.width * numeric.bits // 8, copy.block.height)
        scratch, own = Memory(), window.count
        tile = Surface(scratch.alloc(max(own, 64)), window.wide, window.high, window.wide)
        block2d.store(
            scratch, thread.registers, copy.op.message, tile,
            (left - window.left) // copy.op.message.element_bytes, y - window.top, offset + step,
        )  # fmt: skip
        _add(machine.memory, surface, window, scratch.read(tile.base, own), numeric, observer)
        first = surface.base + window.top * surface.pitch + window.left
        reach = Reach(first, window.wide, window.high, surface.pitch)
        machine.trace.message("atomic", f"add by {copy.op.message}", own, reach)


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


# ------------------------------------------------------------ sharing
# Shared local memory in a run: where each element of a fragment lies in an array.


def places(statement: ir.SharedLoad | ir.SharedStore, subgroups: int) -> NDArray[np.int64]:
    """Return the element of the array that each subgroup and element goes to, without ``at``."""
    return table(coalesce(statement.places)).reshape(-1, subgroups).T


def load_shared(thread: Thread, statement: ir.SharedLoad, env: Env) -> None:
    """Read a fragment from a shared array; bounds, unwritten bytes and races are faults."""
    where = shared_bytes(thread, statement, env)
    thread.progress.label = f"load of {statement.fragment} from {statement.array}"
    data = thread.slm.gather(where, thread.progress)
    thread.registers.write(thread.offsets[statement.fragment], data, "load from shared memory")
    thread.machine.trace.message("shared load", thread.progress.label, data.size, where)


def store_shared(thread: Thread, statement: ir.SharedStore, env: Env) -> None:
    """Write a fragment to a shared array; bounds and races are faults."""
    where = shared_bytes(thread, statement, env)
    fragment = thread.machine.fragment(statement.fragment)
    thread.progress.label = f"store of {statement.fragment} to {statement.array}"
    data = thread.bytes(statement.fragment, fragment.elements, "store to shared memory")
    thread.slm.scatter(where, data, thread.progress)
    thread.machine.trace.message("shared store", thread.progress.label, data.size, where)


def shared_bytes(
    thread: Thread, statement: ir.SharedLoad | ir.SharedStore, env: Env
) -> NDArray[np.int64]:
    """Return the address in a shared array of every byte of a fragment; see `SharedStore`."""
    kernel = thread.machine.kernel
    array = kernel.shared_array(statement.array)
    bits = array.value_type.bits
    if bits < 8:
        raise MachineError(
            "run",
            {"array": array},
            "elements narrower than a byte cannot be addressed",
            "share them in a wider type",
        )
    elements = thread.machine.once(places, statement, kernel.subgroups)[thread.subgroup]
    elements = elements + thread.index(statement.at, env)
    if elements.size and not (elements.min() >= 0 and elements.max() < array.elements):
        raise BoundsFault(
            "run",
            {"array": array, "thread": thread.subgroup},
            f"elements {elements.min()} to {elements.max()} are used, there are {array.elements}",
            "correct the index, or make the array larger",
        )
    unit = bits // 8
    first = thread.shared[array.name] + elements * unit
    return (first[:, None] + np.arange(unit)).reshape(-1)


# ------------------------------------------------------------ reducing
# Sums, maxima and minima of register elements, in the order in which they lie.


def reduced(
    values: NDArray[Any], slots: NDArray[np.int64], count: int, how: str, numeric: Numeric
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return what each element gathers, in ascending order, and which elements any reaches.

    Narrow floats are summed in float32 and rounded once; integers keep their lowest bits.
    """
    reached = np.zeros(count, dtype=bool)
    reached[slots] = True
    kind = values.dtype.kind
    row = reduction(how)
    totals = np.full(count, row.start(values.dtype), dtype=values.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        row.ufunc().at(totals, slots, values)
    totals[~reached] = 0
    return (convert if kind == "f" else wrap)(totals, numeric), reached


# ------------------------------------------------------------ reference

Meeting = Arrive | Wait | CounterWait
Does = Callable[[Thread, Any, Env], "Iterator[Meeting] | None"]

DOES: Meanings[Does] = Meanings("run")
"""What each kind of statement does to a subgroup; those that may meet others are generators."""


def body_of(thread: Thread, body: tuple[ir.Statement, ...], env: Env) -> Iterator[Meeting]:
    """Do the statements of a body one by one, and yield where others are to be met."""
    for statement in body:
        meets = DOES[statement](thread, statement, env)
        if meets is not None:
            yield from meets


@DOES.of(ir.Loop)
def _(thread: Thread, statement: ir.Loop, env: Env) -> Iterator[Meeting]:
    start, stop = (thread.index(i, env) for i in (statement.start, statement.stop))
    for value in trips(statement, start, stop):
        yield from body_of(thread, statement.body, {**env, statement.var: value})


@DOES.of(ir.If)
def _(thread: Thread, statement: ir.If, env: Env) -> Iterator[Meeting]:
    if thread.index(statement.index, env) < thread.index(statement.below, env):
        yield from body_of(thread, statement.body, env)


@DOES.of(ir.BarrierArrive)
def _(thread: Thread, _statement: ir.BarrierArrive, _env: Env) -> Iterator[Meeting]:
    thread.progress.label = "barrier arrive"
    yield Arrive(label="barrier arrive")
    thread.slm.arrived(thread.progress)


@DOES.of(ir.BarrierWait)
def _(thread: Thread, _statement: ir.BarrierWait, _env: Env) -> Iterator[Meeting]:
    thread.progress.label = "barrier wait"
    yield Wait(label="barrier wait")


@DOES.of(NamedArrive)
def _(thread: Thread, statement: NamedArrive, env: Env) -> Iterator[Meeting]:
    role = ROLES[statement.role].message
    yield Arrive(_named(thread, statement, env), role, "named barrier arrive")
    thread.slm.arrived(thread.progress)


@DOES.of(NamedWait)
def _(thread: Thread, statement: NamedWait, env: Env) -> Iterator[Meeting]:
    yield Wait(_named(thread, statement, env), "named barrier wait")


def _named(thread: Thread, statement: NamedArrive | NamedWait, env: Env) -> NamedBarrier:
    barrier = statement.barrier
    return NamedBarrier(thread.index(barrier.number, env), barrier.producers, barrier.consumers)


@DOES.of(ir.Await, ir.Signal, ir.FetchAdd)
def _(thread: Thread, statement: ir.Await | ir.Signal | ir.FetchAdd, env: Env) -> Iterator[Meeting]:
    return meet_at_counter(thread, thread.machine.once(_counter, statement), env)


def _counter(statement: ir.Await | ir.Signal | ir.FetchAdd) -> CounterAccess:
    return statement.access


@DOES.of(ir.Fence)
def _(thread: Thread, _statement: ir.Fence, _env: Env) -> None:
    thread.slm.fence(thread.progress)


@DOES.of(ir.Fill)
def _(thread: Thread, statement: ir.Fill, _env: Env) -> None:
    fragment = thread.machine.fragment(statement.fragment)
    values = np.full(fragment.elements, float(statement.value))
    thread.write(statement.fragment, convert(values, fragment.value_type), "fill")


@DOES.of(ir.Prefetch, ir.Load, ir.Store)
def _(thread: Thread, statement: ir.Prefetch | ir.Load | ir.Store, env: Env) -> None:
    copy_tile(thread, thread.machine.once(_tile, statement), env)


@DOES.of(ir.AtomicStore)
def _(thread: Thread, statement: ir.AtomicStore, env: Env) -> None:
    add_tile(thread, thread.machine.once(_tile, statement), env)


def _tile(statement: ir.Prefetch | ir.Load | ir.Store | ir.AtomicStore) -> MemoryAccess:
    return statement.access


DOES.of(ir.SharedLoad)(load_shared)
DOES.of(ir.SharedStore)(store_shared)


@DOES.of(ir.Reorder)
def _(thread: Thread, statement: ir.Reorder, _env: Env) -> None:
    source, target = (thread.machine.fragment(n) for n in (statement.source, statement.destination))
    bits, slots = target.value_type.bits, thread.machine.once(_table, statement.slots)
    if source.value_type == target.value_type:
        data = thread.bytes(source.name, slots.size, "reorder")
    else:
        values = thread.numbers(source.name, "reorder")
        data = to_bytes(convert(values, target.value_type), target.value_type)
    patterns = codes(data, bits)[: slots.size]
    out = np.zeros(target.elements, dtype=patterns.dtype)
    reached = np.zeros(target.elements, dtype=bool)
    out[slots], reached[slots] = patterns, True
    thread.write_some(target.name, from_codes(out, bits), reached, "reorder")


@DOES.of(ir.Part)
def _(thread: Thread, statement: ir.Part, _env: Env) -> None:
    source = thread.machine.fragment(statement.source)
    whole = codes(thread.bytes(source.name, source.elements, "part"), source.value_type.bits)
    taken = whole[statement.first + thread.machine.once(_table, statement.slots)]
    data = from_codes(taken, source.value_type.bits)
    everything = np.ones(taken.size, dtype=bool)
    thread.write_some(statement.destination, data, everything, "part")


@DOES.of(ir.Convert)
def _(thread: Thread, statement: ir.Convert, _env: Env) -> None:
    values = thread.numbers(statement.source, "convert")
    numeric = thread.machine.fragment(statement.destination).value_type
    thread.write(statement.destination, convert(values, numeric), "convert")


@DOES.of(ir.Map)
def _(thread: Thread, statement: ir.Map, env: Env) -> None:
    fragment, gathers = thread.machine.fragment(statement.destination), dict(statement.gathers)

    def slot(name: str) -> NDArray[Any]:
        data = thread.numbers(name, "map")
        return data[thread.machine.once(_table, gathers[name])] if name in gathers else data

    below = partial(thread.below, env=env, elements=fragment.elements)
    sources = Sources(slot, lambda name: thread.machine.scalars[name], below)
    values = mapped(statement.value, fragment.value_type, sources)
    thread.write(fragment.name, np.broadcast_to(values, (fragment.elements,)), "map")


@DOES.of(ir.Reduce)
def _(thread: Thread, statement: ir.Reduce, _env: Env) -> None:
    target = thread.machine.fragment(statement.destination)
    slots = thread.machine.once(_table, statement.slots)
    values = thread.numbers(statement.source, "reduce")
    totals, reached = reduced(values, slots, target.elements, statement.how, target.value_type)
    data = to_bytes(totals, target.value_type)
    thread.write_some(target.name, data, reached, "reduce")


@lru_cache(maxsize=64)
def _repetitions(mma: TiledMma) -> tuple[int, int, int]:
    """How many instructions a subgroup needs along M, N and K."""
    reps_m, reps_k = mma.repetitions("A")
    return reps_m, mma.repetitions("B")[0], reps_k


@lru_cache(maxsize=256)
def _table(slots: Layout) -> NDArray[np.int64]:
    return table(coalesce(slots))


@DOES.of(ir.Mma)
def _(thread: Thread, statement: ir.Mma, _env: Env) -> None:
    op = statement.mma.atom.op
    reps_m, reps_n, reps_k = thread.machine.once(_repetitions, statement.mma)
    acc, a, b = (thread.offsets[n] for n in (statement.accumulator, statement.a, statement.b))
    for k in range(reps_k):
        src1, src2 = b + k * reps_n * op.bytes_B, a + k * reps_m * op.bytes_A
        counts, trace = (reps_m, reps_n), thread.machine.trace
        dpas.execute_all(thread.registers, op, acc, src1, src2, counts, trace)
