"""Floor 9: straight statements as instructions, the same for every language that has registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from pycute_xe.arch.dpas import DpasMessage, Register
from pycute_xe.arch.dpas.types import precisions, register_types
from pycute_xe.bulk import table
from pycute_xe.converting import convert
from pycute_xe.emitting.copying import messages
from pycute_xe.emitting.elementwise import converted, filled, mapped
from pycute_xe.emitting.instructions import Alu, Barrier, Fencing, Instruction, Multiply
from pycute_xe.emitting.operands import place
from pycute_xe.emitting.reducing import reduced
from pycute_xe.emitting.regions import Move, moves, moves_from
from pycute_xe.emitting.registers import Registers
from pycute_xe.emitting.sharing import additions, shared_accesses
from pycute_xe.kernel import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    Kernel,
    Load,
    Map,
    Meanings,
    Mma,
    Part,
    Prefetch,
    Reduce,
    Reorder,
    SharedLoad,
    SharedStore,
    Statement,
    Store,
)

__all__ = ["LOWERED"]

Lower = Callable[[Kernel, Registers, Any], Iterator[Instruction]]
LOWERED: Meanings[Lower] = Meanings("emit")
"""What each kind of straight statement becomes."""

_UNSIGNED = {4: "ud", 2: "uw", 1: "ub"}


@LOWERED.of(Fill)
def _(_kernel: Kernel, registers: Registers, statement: Fill) -> Iterator[Instruction]:
    numeric = registers.fragment(statement.fragment).value_type
    one = convert(np.array([statement.value]), numeric)
    if numeric.bits >= 8:
        raw = np.repeat(one, 32 // numeric.bits).view(np.uint8)
        return filled(registers, statement, int(raw.view(np.uint32)[0]))
    code = int(one.astype(np.int64)[0]) & ((1 << numeric.bits) - 1)
    return filled(registers, statement, sum(code << s for s in range(0, 32, numeric.bits)))


@LOWERED.of(Prefetch, Load, Store)
def _(
    kernel: Kernel, registers: Registers, statement: Prefetch | Load | Store
) -> Iterator[Instruction]:
    return messages(kernel, registers, statement)


@LOWERED.of(Reorder)
def _(_kernel: Kernel, registers: Registers, statement: Reorder) -> Iterator[Instruction]:
    if statement.destination in registers.joined:
        return
    target = registers.fragment(statement.destination)
    slots = table(statement.slots).reshape(-1)
    found = moves(slots, target.value_type.bits, target.elements)
    yield from _moved(registers, statement, found)


@LOWERED.of(Part)
def _(_kernel: Kernel, registers: Registers, statement: Part) -> Iterator[Instruction]:
    places = statement.first + table(statement.slots).reshape(-1)
    bits = registers.fragment(statement.source).value_type.bits
    yield from _moved(registers, statement, moves_from(places, bits))


def _moved(
    registers: Registers, statement: Reorder | Part, found: list[Move]
) -> Iterator[Instruction]:
    for move in found:
        kind = _UNSIGNED[move.bytes]
        to = registers.view(statement.destination, kind)
        source = registers.view(statement.source, kind)
        read = place(source, kind, move.source, move.region)
        yield Alu("mov", move.count, place(to, kind, move.to, None, move.stride), (read,))


@LOWERED.of(Convert)
def _(_kernel: Kernel, registers: Registers, statement: Convert) -> Iterator[Instruction]:
    return converted(registers, statement)


@LOWERED.of(Map)
def _(kernel: Kernel, registers: Registers, statement: Map) -> Iterator[Instruction]:
    return mapped(kernel, registers, statement)


@LOWERED.of(Reduce)
def _(_kernel: Kernel, registers: Registers, statement: Reduce) -> Iterator[Instruction]:
    return reduced(registers, statement)


@LOWERED.of(AtomicStore)
def _(kernel: Kernel, registers: Registers, statement: AtomicStore) -> Iterator[Instruction]:
    return additions(kernel, registers, statement)


@LOWERED.of(SharedLoad, SharedStore)
def _(
    kernel: Kernel, registers: Registers, statement: SharedLoad | SharedStore
) -> Iterator[Instruction]:
    return shared_accesses(kernel, registers, statement)


@LOWERED.of(Fence)
def _(_kernel: Kernel, _registers: Registers, _statement: Statement) -> Iterator[Instruction]:
    yield Fencing()


@LOWERED.of(BarrierArrive)
def _(_kernel: Kernel, _registers: Registers, _statement: Statement) -> Iterator[Instruction]:
    yield Barrier("signal")


@LOWERED.of(BarrierWait)
def _(_kernel: Kernel, _registers: Registers, _statement: Statement) -> Iterator[Instruction]:
    yield Barrier("wait")


@LOWERED.of(Mma)
def _(_kernel: Kernel, registers: Registers, statement: Mma) -> Iterator[Instruction]:
    mma = statement.mma
    op, (reps_m, reps_k) = mma.atom.op, mma.repetitions("A")
    reps_n = mma.repetitions("B")[0]
    c = registers.view(statement.accumulator, register_types()[op.D.name])

    def operand(name: str, byte: int) -> Register:
        held, at = registers.place(name, byte)
        return Register(registers.view(held, "ud"), at)

    for k, n, m in product(range(reps_k), range(reps_n), range(reps_m)):
        at = Register(c, (m + reps_m * n) * op.bytes_D)
        yield Multiply(
            DpasMessage(
                precisions()[op.B.name],
                precisions()[op.A.name],
                at,
                at,
                operand(statement.b, (n + reps_n * k) * op.bytes_B),
                operand(statement.a, (m + reps_m * k) * op.bytes_A),
                repeat=op.M,
                depth=op.depth,
            )
        )
