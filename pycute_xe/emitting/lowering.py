"""Straight statements as instructions, the same for every language that has registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, product
from typing import Any, assert_never

import numpy as np

from pycute_xe.arch.dpas import DpasMessage, Register
from pycute_xe.arch.dpas.types import precisions, register_types
from pycute_xe.bulk import table
from pycute_xe.converting import convert
from pycute_xe.emitting import instructions as asm
from pycute_xe.emitting.elementwise import converted, filled, mapped
from pycute_xe.emitting.masks import LANES
from pycute_xe.emitting.shared import additions, messages, shared_accesses
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Meanings
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.effects import RegisterMove
from pycute_xe.kernel.spec.functions import reduction
from pycute_xe.layout import Layout

__all__ = ["LOWERED"]

# ------------------------------------------------------------ reducing
# Reductions of register elements, as instructions on registers of 16 elements.

_ALONG = asm.Region(1, 1, 0)


def reduced(registers: asm.Registers, statement: ir.Reduce) -> Iterator[asm.Alu]:
    """Yield the instructions of a reduction, 16 elements of the destination at a time.

    What lies in as many registers as elements are combined is taken register by register, in
    ascending order. What lies side by side, or every so many lanes apart, is halved: the order of a
    sum is that of a tree.
    Raises `KernelError` for types other than 32 bits, and for places that neither way reaches.
    """
    kind = _kind(registers, statement)
    places = _sources(table(statement.slots).reshape(-1))
    reached = np.array(sorted(places))
    for first in range(0, int(reached[-1]) + 1, LANES):
        mine = reached[(reached >= first) & (reached < first + LANES)]
        counts = {places[int(d)].size for d in mine}
        if mine.size and (len(counts) > 1 or mine[-1] - mine[0] != mine.size - 1):
            raise _unreached(statement)
        if mine.size:
            terms = np.stack([places[int(d)] for d in mine])
            yield from _Group(registers, statement, kind, int(mine[0]), terms).instructions()


def _kind(registers: asm.Registers, statement: ir.Reduce) -> str:
    source, target = (registers.fragment(n) for n in (statement.source, statement.destination))
    kind = source.value_type.row.visa
    if kind not in ("f", "d", "ud") or target.value_type != source.value_type:
        raise KernelError(
            "emit",
            {"from": source, "to": target},
            "reductions are emitted from a type of 32 bits into the same",
            "convert before, or after",
        )
    return kind


def _sources(slots: Ints) -> dict[int, Ints]:
    """Return the elements that go to each element of the destination, ascending."""
    order = np.argsort(slots, kind="stable")
    targets, starts = np.unique(slots[order], return_index=True)
    return dict(zip(targets.tolist(), np.split(order, starts[1:]), strict=True))


def _unreached(statement: ir.Reduce) -> KernelError:
    return KernelError(
        "emit",
        {"reduce": statement.source, "to": statement.destination},
        "the elements that are combined lie neither in rows of registers nor in whole registers",
        "reduce along rows or columns of an accumulator",
    )


class _Group:
    """The elements of the destination that are computed together: ``places`` is (element, term)."""

    def __init__(
        self, registers: asm.Registers, statement: ir.Reduce, kind: str, first: int, places: Ints
    ) -> None:
        self.registers, self.statement, self.kind = registers, statement, kind
        self.first, self.places, self.row = first, places, reduction(statement.how)
        self.source = registers.view(statement.source, kind)
        self.to = registers.view(statement.destination, kind)

    def instructions(self) -> Iterator[asm.Alu]:
        """Yield the instructions: by halves where terms are whole registers, else one by one."""
        count, terms = self.places.shape
        if count & (count - 1):
            raise _unreached(self.statement)
        if terms % LANES == 0 and _whole(self.places.reshape(count, -1, LANES)):
            yield from self.halved(count)
            return
        reads = [self.read(self.places[:, j]) for j in range(terms)]
        regions = [read for read in reads if read is not None]
        if len(regions) == terms:
            yield from self.gathered(count, self.to, self.first, regions)
            return
        for width in (2, 4, 8):
            rows = _rows(self.places, width)
            if rows is not None:
                yield from self.folded(rows, width)
                return
        raise _unreached(self.statement)

    def gathered(
        self, count: int, name: str, first: int, reads: list[asm.Place]
    ) -> Iterator[asm.Alu]:
        """Yield what combines operands, in their order."""
        to = asm.place(name, self.kind, first, None)
        back = asm.place(name, self.kind, first, _ALONG)
        match self.row.law:
            case "sum":  # of zero and all terms: -0 becomes 0
                yield asm.Alu(
                    self.row.function.visa, count, to, (reads[0], asm.number(0, self.kind))
                )
            case "greatest" | "least":
                yield asm.Alu("mov", count, to, (reads[0],))
            case _:
                assert_never(self.row.law)
        for read in reads[1:]:
            yield self.combined(count, to, back, read)

    def read(self, places: Ints) -> asm.Place | None:
        """Return the operand that reads elements of the source, None where no region does."""
        region, first = asm.region((places - places[0]).tolist()), int(places[0])
        reach = int(places.max() - first)
        if region is None or places.min() < first or first % LANES + reach >= asm.SPAN // 4:
            return None
        return asm.place(self.source, self.kind, first, region)

    def combined(self, count: int, to: asm.Place, a: asm.Source, b: asm.Source) -> asm.Alu:
        """Return the instruction that combines two operands."""
        return asm.Alu(self.row.function.visa, count, to, (a, b))

    def halved(self, count: int) -> Iterator[asm.Alu]:
        """Yield a register of 16 partial results for each element, then halves of all of them."""
        starts = self.places.reshape(count, -1, LANES)[:, :, 0]
        name = self.registers.temporaries(count, self.kind)
        for row, mine in enumerate(starts.tolist()):
            reads = [asm.place(self.source, self.kind, s, _ALONG) for s in mine]
            yield from self.gathered(LANES, name, LANES * row, reads)
        width = LANES
        while width > 2:
            yield from self.half(name, count, width, name, 0)
            width //= 2
        yield from self.half(name, count, width, self.to, self.first)

    def folded(self, starts: Ints, width: int) -> Iterator[asm.Alu]:
        """Yield halves of rows until a width is left, and what deals them out by columns."""
        count: int = starts.shape[0]
        name = self.registers.temporaries(count, self.kind)
        for row, mine in enumerate(starts.tolist()):
            reads = [asm.place(self.source, self.kind, s, _ALONG) for s in mine]
            yield from self.gathered(LANES, name, LANES * row, reads)
        left = LANES
        while left > width:
            yield from self.half(name, count, left, name, 0)
            left //= 2
        dealt: Ints = np.arange(count * width).reshape(count, width).transpose().reshape(-1)
        for move in asm.moves_from(dealt.tolist(), 32):
            to = asm.place(self.to, self.kind, self.first + move.to, None, move.stride)
            read = asm.place(name, self.kind, move.source, move.region)
            yield asm.Alu("mov", move.count, to, (read,))

    def half(self, name: str, count: int, width: int, target: str, first: int) -> Iterator[asm.Alu]:
        """Yield what brings rows of a width to half of it, in a target from an element on."""
        left = count * width // 2
        step = min(LANES, left)
        read = asm.Region(width, width // 2, 1) if width > 2 else asm.Region(2, 1, 0)
        for at in range(0, left, step):
            a, b = (asm.place(name, self.kind, 2 * at + more, read) for more in (0, width // 2))
            yield self.combined(step, asm.place(target, self.kind, first + at, None), a, b)


def _rows(places: Ints, width: int) -> Ints | None:
    """Return the registers, by rows, of which lanes so many apart are combined, None if none are.

    Element ``row + rows * lane`` of the destination is of lanes ``lane``, ``lane + width``, ….
    """
    count, rest = divmod(places.shape[0], width)
    if rest or not count or places.shape[1] % (LANES // width):
        return None
    starts = places[:count].reshape(count, -1, LANES // width)[:, :, 0]
    lanes = np.arange(width)[:, None] + np.arange(LANES // width) * width
    wanted = starts[None, :, :, None] + lanes[:, None, None, :]
    fits = (starts % LANES == 0).all() and np.array_equal(wanted.reshape(places.shape), places)
    return starts if fits else None


def _whole(blocks: Ints) -> bool:
    """Whether each row of 16 elements is a register."""
    starts = blocks[:, :, :1]
    return bool((starts % LANES == 0).all() and (blocks == starts + np.arange(LANES)).all())


# ------------------------------------------------------------ lowering

Instructions = Iterator[asm.Instruction]
Lower = Callable[[Kernel, asm.Registers, Any], Instructions]
LOWERED: Meanings[Lower] = Meanings("emit")
"""What each kind of straight statement becomes."""

_UNSIGNED = {4: "ud", 2: "uw", 1: "ub"}


@LOWERED.of(ir.Fill)
def _(_kernel: Kernel, registers: asm.Registers, statement: ir.Fill) -> Instructions:
    numeric = registers.fragment(statement.fragment).value_type
    one = convert(np.array([statement.value]), numeric)
    if numeric.bits >= 8:
        raw = np.repeat(one, 32 // numeric.bits).view(np.uint8)
        return filled(registers, statement, int(raw.view(np.uint32)[0]))
    code = int(one.astype(np.int64)[0]) & ((1 << numeric.bits) - 1)
    return filled(registers, statement, sum(code << s for s in range(0, 32, numeric.bits)))


@LOWERED.of(ir.Reorder)
def _(_kernel: Kernel, registers: asm.Registers, statement: ir.Reorder) -> Instructions:
    if statement.destination not in registers.joined | registers.woven.keys():
        yield from chain(*_reordered(registers, statement.move))


def _reordered(registers: asm.Registers, move: RegisterMove) -> Iterator[list[asm.Alu]]:
    """Yield the instructions of a reorder, together those that write some elements."""
    source, target = (registers.fragment(n) for n in (move.source, move.destination))
    layout = Layout(source.elements) if move.slots is None else move.slots
    slots = table(layout).reshape(-1)
    if source.value_type != target.value_type:
        yield from converted(registers, move, slots)
        return
    moves = asm.moves(slots.tolist(), target.value_type.bits, target.elements)
    yield from ([one] for one in _moved(registers, move, moves))


@LOWERED.of(ir.Map)
def _(kernel: Kernel, registers: asm.Registers, statement: ir.Map) -> Instructions:
    if statement.destination not in registers.woven:
        yield from chain(*mapped(kernel, registers, statement))


@LOWERED.of(ir.Part)
def _(_kernel: Kernel, registers: asm.Registers, statement: ir.Part) -> Instructions:
    places = statement.first + table(statement.slots).reshape(-1)
    bits = registers.fragment(statement.source).value_type.bits
    yield from _moved(registers, statement, asm.moves_from(places.tolist(), bits))


def _moved(
    registers: asm.Registers, statement: RegisterMove | ir.Part, moves: list[asm.Move]
) -> Iterator[asm.Alu]:
    for move in moves:
        kind = _UNSIGNED[move.bytes]
        to = registers.view(statement.destination, kind)
        source = registers.view(statement.source, kind)
        read = asm.place(source, kind, move.source, move.region)
        yield asm.Alu("mov", move.count, asm.place(to, kind, move.to, None, move.stride), (read,))


@LOWERED.of(ir.Convert)
def _(_kernel: Kernel, registers: asm.Registers, statement: ir.Convert) -> Instructions:
    slots = 16 * registers.fragment(statement.source).slots
    return chain(*converted(registers, statement, np.arange(slots)))


@LOWERED.of(ir.Reduce)
def _(_kernel: Kernel, registers: asm.Registers, statement: ir.Reduce) -> Instructions:
    return reduced(registers, statement)


@LOWERED.of(ir.Fence)
def _(_kernel: Kernel, _registers: asm.Registers, _statement: ir.Statement) -> Instructions:
    yield asm.Fencing()


@LOWERED.of(ir.BarrierArrive, ir.BarrierWait)
def _(_kernel: Kernel, _registers: asm.Registers, statement: ir.Statement) -> Instructions:
    yield asm.Barrier("signal" if isinstance(statement, ir.BarrierArrive) else "wait")


LOWERED.of(ir.Prefetch, ir.Load, ir.Store)(messages)
LOWERED.of(ir.AtomicStore)(additions)
LOWERED.of(ir.SharedLoad, ir.SharedStore)(shared_accesses)


@LOWERED.of(ir.Mma)
def _(kernel: Kernel, registers: asm.Registers, statement: ir.Mma) -> Instructions:
    mma = statement.mma
    op, (reps_m, reps_k) = mma.atom.op, mma.repetitions("A")
    reps_n = mma.repetitions("B")[0]
    c = registers.view(statement.accumulator, register_types()[op.D.name])

    def operand(name: str, byte: int) -> Register:
        view, at = registers.place(name, byte)
        return Register(registers.view(view, "ud"), at)

    made = {name: _pieces(kernel, registers, name) for name in (statement.a, statement.b)}
    for k, n, m in product(range(reps_k), range(reps_n), range(reps_m)):
        yield from made[statement.a].pop(m + reps_m * k, ())
        yield from made[statement.b].pop(n + reps_n * k, ())
        at = Register(c, (m + reps_m * n) * op.bytes_D)
        yield asm.Multiply(
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


def _pieces(kernel: Kernel, registers: asm.Registers, name: str) -> dict[int, list[asm.Alu]]:
    """Return the instructions that make each piece of an operand, if it is made in pieces."""
    made: dict[int, list[asm.Alu]] = {}
    if (whole := registers.woven.get(name)) is None:
        return made
    maps = (mapped(kernel, registers, each) for each in whole.maps)
    for group in chain(_reordered(registers, whole.reorder), *maps):
        number = max(_last(registers, name, one) for one in group) // whole.piece
        made.setdefault(number, []).extend(_placed(registers, name, one) for one in group)
    return made


def _last(registers: asm.Registers, name: str, one: asm.Alu) -> int:
    """Return the first byte of a fragment that an instruction writes, -1 where it writes none."""
    to = one.to
    if not isinstance(to, asm.Place) or registers.whole(to.name) != name:
        return -1
    return to.element * asm.BYTES[to.kind]


def _placed(registers: asm.Registers, name: str, one: asm.Alu) -> asm.Alu:
    """Return an instruction on a fragment that is made in pieces where these lie."""

    def moved(place: Any) -> Any:
        if not isinstance(place, asm.Place) or registers.whole(place.name) != name:
            return place
        size = asm.BYTES[place.kind]
        return replace(place, element=registers.place(name, place.element * size)[1] // size)

    return replace(one, to=moved(one.to), sources=tuple(map(moved, one.sources)))
