"""Address payloads that stay: made before a loop, and moved on in place from trip to trip.

A block-2D message reads what it sees of an operand, and where it starts, from a register. Where the
start moves by a constant each trip, that register is made once. Each message has one of its own
where registers are left; else those that see blocks of one shape share one, which moves between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pycute_xe.arch.target import get_target
from pycute_xe.emitting import instructions as asm
from pycute_xe.emitting.shared import messages
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.program import walk
from pycute_xe.kernel.ir.weaving import peak

__all__ = ["Plan", "planned"]

# Registers that indices, surfaces and the header of a thread take beside fragments and payloads.
_SPARE = 8


@dataclass(slots=True)
class Plan:
    """What stands before a loop, in place of each message of its body in order, and behind it.

    ``count`` are the payloads that live through the loop.
    """

    before: list[asm.Begin] = field(default_factory=list[asm.Begin])
    replaced: list[list[asm.Instruction]] = field(default_factory=list[list[asm.Instruction]])
    behind: list[asm.Instruction] = field(default_factory=list[asm.Instruction])
    count: int = 0


@dataclass(frozen=True, slots=True)
class _Sent:
    """A message, the body that it stands in, and how far it moves each trip, if by a constant."""

    message: asm.Message
    body: int
    trip: tuple[int, int] | None

    def shared_by(self, alone: bool) -> tuple[object, ...]:
        """Return what messages that have one payload are alike in."""
        block = self.message.block
        shape = (block.bits, block.count, block.width, block.height)
        start = (self.message.x, self.message.y) if alone else ()
        rest = [index - index.offset for index in (self.message.x, self.message.y)]
        return (shape, self.message.surface, self.body, self.trip, *rest, *start)


def planned(kernel: Kernel, registers: asm.Registers, loop: ir.Loop, taken: int) -> Plan:
    """Return the payloads of a loop; ``taken`` are those of the loops around it.

    Law: a message whose surface or place follows the loop otherwise than by a constant a trip
    keeps them as operands, and so do all where no registers are left.
    """
    sent = list(_sent(kernel, registers, loop, loop.body, 0))
    room = _room(kernel, registers) - taken
    for alone in (True, False):
        tracks: dict[tuple[object, ...], list[int]] = {}
        for i, each in enumerate(sent):
            if each.trip is not None:
                tracks.setdefault(each.shared_by(alone), []).append(i)
        if len(tracks) <= room:
            return _plan(registers, loop, sent, list(tracks.values()), taken)
    return Plan(replaced=[[each.message] for each in sent])


def _room(kernel: Kernel, registers: asm.Registers) -> int:
    """Registers that are left where most fragments live at once, in the mode that holds them."""
    most = peak(kernel, registers.taken_by)
    modes = [mode for mode in get_target("pvc").grf_modes if mode > most]
    return min(modes, default=0) - most - _SPARE


def _sent(
    kernel: Kernel,
    registers: asm.Registers,
    loop: ir.Loop,
    body: tuple[ir.Statement, ...],
    number: int,
) -> Iterator[_Sent]:
    """Yield the messages of a body in order, without those of loops inside it."""
    for i, statement in enumerate(body, 1):
        memory = statement.touched.memory
        if isinstance(statement, ir.If):
            yield from _sent(kernel, registers, loop, statement.body, number * len(body) + i)
        elif memory is not None and not memory.adds:  # additions have an address for each lane
            for message in messages(kernel, registers, memory):
                yield _Sent(message, number, _trip(message, loop))


def _trip(message: asm.Message, loop: ir.Loop) -> tuple[int, int] | None:
    """Return how far x and y of a message move in a trip, None where not by a constant.

    What a rule forbids stays an instruction of its own, which the compiler judges.
    """
    if message.block.broken_rules("pvc"):
        return None
    var = loop.var
    by = [dict(index.terms).get(var, 0) for index in (message.x, message.y)]
    moved = zip((message.x, message.y), by, strict=True)
    fixed = [*message.surface.at, *(index - Index(var) * c for index, c in moved)]
    written = {name for s in walk(loop.body) for name in s.touched.to_memory}
    changed = (looked.operand in written for index in fixed for looked in index.looked_up)
    return None if any(var in i.names for i in fixed) or any(changed) else (by[0], by[1])


def _plan(
    registers: asm.Registers,
    loop: ir.Loop,
    sent: list[_Sent],
    tracks: list[list[int]],
    taken: int,
) -> Plan:
    """Return the instructions that make the payloads, and those that move them."""
    plan = Plan(replaced=[[each.message] for each in sent], count=len(tracks))
    for number, track in enumerate(tracks, taken):
        payload = registers.payload(number)
        stops = [sent[i] for i in track]
        first, last = stops[0].message, stops[-1].message
        start = {loop.var: loop.start}
        x, y = first.x.substitute(start), first.y.substitute(start)
        plan.before.append(asm.Begin(payload, first.block, first.surface, x, y))
        place = first
        for i, each in zip(track, stops, strict=True):
            moves = _moves(payload, place, each.message, (0, 0))
            plan.replaced[i] = [*moves, replace(each.message, payload=payload)]
            place = each.message
        trip = stops[0].trip or (0, 0)
        if stops[0].body:  # whether these are sent, each trip decides
            plan.replaced[track[-1]] += _moves(payload, last, first, (0, 0))
            last = first
        plan.behind += _moves(payload, last, first, trip)
    return plan


def _moves(
    payload: str, place: asm.Message, to: asm.Message, trip: tuple[int, int]
) -> Iterator[asm.Alu]:
    """Yield what moves a payload from one message's place to another's, so many trips on."""
    for dword, now, then, by in ((5, place.x, to.x, trip[0]), (6, place.y, to.y, trip[1])):
        distance = then - now + by
        if distance.offset:
            at = asm.place(payload, "ud", dword, None)
            back = asm.place(payload, "ud", dword, asm.Region(0, 1, 0))
            yield asm.Alu("add", 1, at, (back, asm.number(distance.offset & 0xFFFFFFFF, "ud")))
