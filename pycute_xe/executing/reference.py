"""Floor 9: the reference executor: every message and every DPAS on the machine, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra import coalesce
from pycute_xe.atom import TiledMma
from pycute_xe.bulk import table
from pycute_xe.converting import convert
from pycute_xe.executing.copying import add_tile, copy_tile
from pycute_xe.executing.elementwise import Sources, mapped
from pycute_xe.executing.reducing import reduced
from pycute_xe.executing.sharing import load_shared, store_shared
from pycute_xe.executing.thread import (
    Env,
    Thread,
    codes,
    from_codes,
    to_bytes,
)
from pycute_xe.executing.waiting import meet_at_counter
from pycute_xe.kernel import (
    AtomicStore,
    Await,
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    If,
    Load,
    Loop,
    Map,
    Meanings,
    Mma,
    NamedArrive,
    NamedWait,
    Part as Taken,
    Prefetch,
    Reduce,
    Reorder,
    SharedLoad,
    SharedStore,
    Signal,
    Statement,
    Store,
)
from pycute_xe.kernel.amounts import trips
from pycute_xe.kernel.ir.named import ROLES
from pycute_xe.layout import Layout
from pycute_xe.machine import (
    BarrierArrive as Arrive,
    BarrierWait as Wait,
    NamedBarrier,
    dpas,
)
from pycute_xe.machine.workgroup import CounterWait

__all__ = ["DOES", "body_of"]

Meeting = Arrive | Wait | CounterWait
Does = Callable[[Thread, Any, Env], "Iterator[Meeting] | None"]

DOES: Meanings[Does] = Meanings("run")
"""What each kind of statement does to a subgroup; those that may meet others are generators."""


def body_of(thread: Thread, body: tuple[Statement, ...], env: Env) -> Iterator[Meeting]:
    """Do the statements of a body one by one, and yield where others are to be met."""
    for statement in body:
        meets = DOES[statement](thread, statement, env)
        if meets is not None:
            yield from meets


@DOES.of(Loop)
def _(thread: Thread, statement: Loop, env: Env) -> Iterator[Meeting]:
    start, stop = (thread.index(i, env) for i in (statement.start, statement.stop))
    for value in trips(statement, start, stop):
        yield from body_of(thread, statement.body, {**env, statement.var: value})


@DOES.of(If)
def _(thread: Thread, statement: If, env: Env) -> Iterator[Meeting]:
    if thread.index(statement.index, env) < thread.index(statement.below, env):
        yield from body_of(thread, statement.body, env)


@DOES.of(BarrierArrive)
def _(thread: Thread, _statement: BarrierArrive, _env: Env) -> Iterator[Meeting]:
    thread.progress.label = "barrier arrive"
    yield Arrive(label="barrier arrive")
    thread.slm.arrived(thread.progress)


@DOES.of(BarrierWait)
def _(thread: Thread, _statement: BarrierWait, _env: Env) -> Iterator[Meeting]:
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


DOES.of(Await, Signal)(meet_at_counter)


@DOES.of(Fence)
def _(thread: Thread, _statement: Fence, _env: Env) -> None:
    thread.slm.fence(thread.progress)


@DOES.of(Fill)
def _(thread: Thread, statement: Fill, _env: Env) -> None:
    fragment = thread.machine.fragment(statement.fragment)
    values = np.full(fragment.elements, float(statement.value))
    thread.write(statement.fragment, convert(values, fragment.value_type), "fill")


@DOES.of(Prefetch, Load, Store)
def _(thread: Thread, statement: Prefetch | Load | Store, env: Env) -> None:
    copy_tile(thread, statement, env)


@DOES.of(AtomicStore)
def _(thread: Thread, statement: AtomicStore, env: Env) -> None:
    add_tile(thread, statement, env)


@DOES.of(SharedLoad)
def _(thread: Thread, statement: SharedLoad, env: Env) -> None:
    load_shared(thread, statement, env)


@DOES.of(SharedStore)
def _(thread: Thread, statement: SharedStore, env: Env) -> None:
    store_shared(thread, statement, env)


@DOES.of(Reorder)
def _(thread: Thread, statement: Reorder, _env: Env) -> None:
    source, target = (thread.machine.fragment(n) for n in (statement.source, statement.destination))
    bits, slots = source.value_type.bits, thread.machine.once(_table, statement.slots)
    found = codes(thread.bytes(source.name, slots.size, "reorder"), bits)[: slots.size]
    out = np.zeros(target.elements, dtype=found.dtype)
    reached = np.zeros(target.elements, dtype=bool)
    out[slots], reached[slots] = found, True
    thread.write_some(target.name, from_codes(out, bits), reached, "reorder")


@DOES.of(Taken)
def _(thread: Thread, statement: Taken, _env: Env) -> None:
    source = thread.machine.fragment(statement.source)
    whole = codes(thread.bytes(source.name, source.elements, "part"), source.value_type.bits)
    found = whole[statement.first + thread.machine.once(_table, statement.slots)]
    data = from_codes(found, source.value_type.bits)
    everything = np.ones(found.size, dtype=bool)
    thread.write_some(statement.destination, data, everything, "part")


@DOES.of(Convert)
def _(thread: Thread, statement: Convert, _env: Env) -> None:
    values = thread.numbers(statement.source, "convert")
    numeric = thread.machine.fragment(statement.destination).value_type
    thread.write(statement.destination, convert(values, numeric), "convert")


@DOES.of(Map)
def _(thread: Thread, statement: Map, env: Env) -> None:
    fragment, gathers = thread.machine.fragment(statement.destination), dict(statement.gathers)

    def slot(name: str) -> NDArray[Any]:
        held = thread.numbers(name, "map")
        return held[thread.machine.once(_table, gathers[name])] if name in gathers else held

    below = partial(thread.below, env=env, elements=fragment.elements)
    sources = Sources(slot, lambda name: thread.machine.scalars[name], below)
    values = mapped(statement.value, fragment.value_type, sources)
    thread.write(fragment.name, np.broadcast_to(values, (fragment.elements,)), "map")


@DOES.of(Reduce)
def _(thread: Thread, statement: Reduce, _env: Env) -> None:
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


@DOES.of(Mma)
def _(thread: Thread, statement: Mma, _env: Env) -> None:
    op = statement.mma.atom.op
    reps_m, reps_n, reps_k = thread.machine.once(_repetitions, statement.mma)
    acc, a, b = (thread.offsets[n] for n in (statement.accumulator, statement.a, statement.b))
    for k in range(reps_k):
        src1, src2 = b + k * reps_n * op.bytes_B, a + k * reps_m * op.bytes_A
        counts, trace = (reps_m, reps_n), thread.machine.trace
        dpas.execute_all(thread.registers, op, acc, src1, src2, counts, trace)
