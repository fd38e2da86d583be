"""Sends: what their descriptors say, and what the machine does for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Block2D, Surface
from pycute_xe.arch.lsc import (
    Address,
    Descriptor,
    Message,
    decode_descriptor,
    get_operation,
    operations,
)
from pycute_xe.errors import InputError, MachineError
from pycute_xe.machine import BarrierArrive, Memory, NamedBarrier, Trace, block2d, lsc
from pycute_xe.machine.slm import FencedSlm
from pycute_xe.machine.workgroup import Meeting, Role
from pycute_xe.native.assembly import Immediate, Instruction, Reg
from pycute_xe.native.operands import GRF, State, chosen, refuse

__all__ = ["END", "OPERATIONS", "Around", "described", "descriptor", "send"]

END = -1
"""What a send returns where the thread ends."""

_GATEWAY_BARRIER, _GATEWAY_END = 0x02000004, 0x02000010
_BLOCKS = tuple(op.code for op in operations().values() if op.block2d)
_FENCE = 31
_ROLES: tuple[Role, ...] = ("producer_consumer", "producer", "consumer")
OPERATIONS = {
    op.code: op.name
    for op in operations().values()
    if op.kind == "atomic" or op.name in ("load", "store")
}
"""What the lowest bits of a descriptor ask of channels."""


@dataclass(frozen=True)
class Around:
    """What a thread meets outside its registers: memory, shared memory and the trace."""

    memory: Memory
    slm: FencedSlm | None
    trace: Trace
    own: Trace


Sent = Callable[[State, Around], "Meeting | int | None"]


def descriptor(instruction: Instruction) -> tuple[int, int]:
    """Return the extended descriptor and the descriptor of a send.

    Raises `MachineError` where they are in registers.
    """
    words: list[int] = []
    for source in instruction.sources[2:4]:
        if not isinstance(source, Immediate):
            raise refuse(instruction, "a descriptor in a register is not modelled")
        words.append(int(source.text, 0))
    return words[0], words[1]


def send(instruction: Instruction, target: str = "pvc") -> Sent:
    """Return what a send of a target's code does.

    Raises `MachineError` for functions and fields that are unknown.
    Document: Bspec "LSC message descriptors"; vISA finalizer, ``LscDesc``.
    """
    if instruction.sub == "gtwy":
        return _gateway(instruction)
    if instruction.sub not in ("ugm", "slm"):
        raise refuse(instruction, f"sends to {instruction.sub} are not modelled")
    desc = descriptor(instruction)[1]
    if desc & 0x3F == _FENCE:
        return _fence(instruction)
    if desc & 0x3F in _BLOCKS:
        return _block(instruction, target)
    return _linear(instruction, target)


def _gateway(instruction: Instruction) -> Sent:
    """The end of a thread, or an arrival at a barrier: the work-group's, or one of a number.

    The third dword of the payload has the number, the role from its bit 14 on, and a byte each for
    producers and consumers. Document: intel-graphics-compiler, named barrier signal.
    """
    desc = descriptor(instruction)[1]
    payload = cast("Reg", instruction.sources[0])
    if instruction.predicate:
        raise refuse(instruction, "a predicated message to the gateway is not modelled")
    if desc == _GATEWAY_END and "EOT" in instruction.options:
        return lambda _state, _around: END
    if desc != _GATEWAY_BARRIER:
        raise refuse(instruction, f"the gateway's message {desc:#x} is unknown")
    at, label = payload.number * GRF + 8, str(instruction)

    def arrive(state: State, _around: Around) -> Meeting:
        fields: list[int] = state.registers.read(at, 4, label).tolist()
        number, role, producers, consumers = fields
        state.progress.label = label
        if not number:
            return BarrierArrive(label=label)
        if role >> 6 >= len(_ROLES):
            raise refuse(instruction, f"the role {role >> 6} at a named barrier is unknown")
        named = NamedBarrier(number, producers, consumers)
        state.barriers[number] = named
        return BarrierArrive(named, _ROLES[role >> 6], label)

    return arrive


def _fence(instruction: Instruction) -> Sent:
    """A fence, which writes its register when it is over."""
    to = cast("Reg", instruction.to)
    if instruction.predicate:
        raise refuse(instruction, "a predicated fence is not modelled")
    done, shared = np.zeros(GRF, np.uint8), instruction.sub == "slm"

    def fence(state: State, around: Around) -> None:
        if shared and around.slm is not None:
            around.slm.fence(state.progress)
        if to.file != "null":
            state.registers.write(to.number * GRF, done, str(instruction))

    return fence


def _block(instruction: Instruction, target: str) -> Sent:
    """A block-2D message: its sizes are in the payload, so each is judged when it is sent."""
    if instruction.sub != "ugm":
        raise refuse(instruction, "block-2D messages go to global memory")
    desc = _descriptor(instruction, target)
    stores = desc.op == "store_block2d"
    bits, transpose, vnni = desc.data.memory_bits, desc.data.transpose, desc.vnni
    if instruction.predicate:
        raise refuse(instruction, "a predicated block message is not modelled")
    address, to = (cast("Reg", o) for o in (instruction.sources[0], instruction.to))
    data = cast("Reg", instruction.sources[1])
    if address.kind != "flat[0]" or desc.model != "flat":
        raise refuse(instruction, f"surfaces of kind {address.kind} are not modelled")
    op = "store" if stores else "prefetch" if to.file == "null" else "load"
    made: dict[int, Block2D] = {}

    def block(state: State, around: Around) -> None:
        raw = state.registers.read(address.number * GRF, 32, str(instruction))
        base = int(raw[:8].view(np.uint64)[0])
        width, height, pitch, x, y, sizes = raw[8:32].view(np.int32).tolist()
        message = made.get(sizes)
        if message is None:
            across, down, count = sizes & 0xFF, sizes >> 8 & 0xFF, sizes >> 16 & 0xF
            message = Block2D(op, bits, down + 1, across + 1, count + 1, transpose, vnni)
            message.check(target)
            made[sizes] = message
        surface = Surface(base, width + 1, height + 1, pitch + 1)
        at = (data if op == "store" else to).number * GRF
        try:
            if op == "prefetch":
                block2d.prefetch(around.memory, message, surface, x, y, around.trace)
                return
            move = block2d.store if op == "store" else block2d.load
            move(around.memory, state.registers, message, surface, x, y, at, around.trace)
        except MachineError:
            around.trace.message(op, str(message), 0, block2d.reach(message, surface, x, y))
            raise

    return block


def _linear(instruction: Instruction, target: str) -> Sent:
    """A load, store or atomic of channels, or of one vector where it is transposed."""
    message = _message(instruction, target)
    atomic = message.operation.kind == "atomic"
    address = cast("Reg", instruction.sources[0])
    given, to = (cast("Reg", o) for o in (instruction.sources[1], instruction.to))
    start = given.number * GRF
    # The second operand of a compare and swap lies behind the first.
    where = {"V1": address.number * GRF, "V2": start, "V3": start + given.length // 2 * GRF}
    if message.dst is not None:
        where["V4"] = to.number * GRF
    kind, label = ("atomic" if atomic else message.operation.kind), str(instruction)
    lanes, data = chosen(instruction), message.data
    vectors = np.arange(data.vector) * data.memory_bits // 8
    each = vectors[:, None] + np.arange(data.memory_bits // 8)
    wide = np.uint64 if message.address.bits == 64 else np.uint32

    def places(state: State) -> NDArray[np.int64]:
        """The address of each byte, before anything is written."""
        count = 1 if data.transpose else message.exec_size
        raw = state.registers.read(where["V1"], count * wide().nbytes, label)
        starts = raw.view(wide).astype(np.int64) + message.address.offset
        if lanes is not None:
            starts = starts[lanes(state)[:count]]
        return (starts[:, None, None] + each).reshape(-1)

    def linear(state: State, around: Around) -> None:
        state.progress.label = label
        shared = message.sfid == "slm" and not atomic
        reach = places(state) if around.trace.keep and (shared or atomic) else None
        moved = lsc.execute(
            message,
            memory=around.memory,
            registers=state.registers,
            operands=where,
            enabled=None if lanes is None else lanes(state),
            slm=around.slm,
            thread=state.progress,
        )
        if shared:
            around.trace.message(f"shared {kind}", label, moved, reach)
        else:
            (around.trace if atomic else around.own).message(kind, label, moved, reach)

    return linear


def _message(instruction: Instruction, target: str) -> Message:
    """Return the message that a descriptor says, its operands named V1, V2, V3 and V4."""
    desc = descriptor(instruction)[1]
    op = OPERATIONS.get(desc & 0x3F)
    if op is None:
        raise refuse(instruction, f"the LSC operation {desc & 0x3F} is not modelled")
    address = cast("Reg", instruction.sources[0])
    # bti[255] is the whole of memory with addresses of 32 bits, where a kernel finds its arguments.
    if address.kind not in ("flat[0]", "bti[255]"):
        raise refuse(instruction, f"surfaces of kind {address.kind} are not modelled")
    what = _descriptor(instruction, target)
    extra = get_operation(op).extra if op not in ("load", "store") else int(op == "store")
    returns = op != "store" and cast("Reg", instruction.to).file != "null"
    return Message(
        op,
        instruction.sub,
        instruction.size,
        what.data,
        Address("flat", what.address_bits, "V1", offset=what.offset),
        "V4" if returns else None,
        "V2" if extra else None,
        "V3" if extra > 1 else None,
    )


def described(instruction: Instruction, target: str) -> Descriptor | None:
    """Return what a message to memory says of itself; None for any other instruction."""
    if instruction.op != "send" or instruction.sub not in ("ugm", "slm"):
        return None
    if descriptor(instruction)[1] & 0x3F == _FENCE:
        return None
    return _descriptor(instruction, target)


def _descriptor(instruction: Instruction, target: str) -> Descriptor:
    """What the descriptors of a send say."""
    ext, desc = descriptor(instruction)
    try:
        return decode_descriptor(desc, ext, target, instruction.sub)
    except InputError as error:
        raise refuse(instruction, f"its descriptor is not understood: {error.condition}") from error
