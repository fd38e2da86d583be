"""Floor 10: sends: what their descriptors say, and what the machine does for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from pycute_xe.arch import Block2D, Surface
from pycute_xe.arch.lsc import Address, DataType, Message
from pycute_xe.machine import (
    BarrierArrive,
    Memory,
    Slm,
    Trace,
    block2d,
    lsc,
)
from pycute_xe.machine.workgroup import Meeting
from pycute_xe.native.assembly import Immediate, Instruction, Reg
from pycute_xe.native.operands import State, refuse

__all__ = ["END", "Around", "descriptor", "send"]

GRF = 64
END = -1
"""What a send returns where the thread ends."""

_GATEWAY_BARRIER, _GATEWAY_END = 0x02000004, 0x02000010
_LOAD_BLOCK, _STORE_BLOCK = 3, 7
_BITS = (8, 16, 32, 64)
_SIZES = ("d8", "d16", "d32", "d64", "d8u32", "d16u32", "d16u32h")
_VECTORS = (1, 2, 3, 4, 8, 16, 32, 64)
_OPERATIONS = {0: "load", 4: "store", 31: "fence"}


@dataclass(frozen=True)
class Around:
    """What a thread meets outside its registers: memory, shared memory and the trace."""

    memory: Memory
    slm: Slm | None
    trace: Trace
    own: Trace


Sent = Callable[[State, Around], "Meeting | int | None"]


def descriptor(instruction: Instruction) -> tuple[int, int]:
    """Return the extended descriptor and the descriptor of a send.

    Raises `MachineError` where they are in registers.
    """
    found: list[int] = []
    for source in instruction.sources[2:4]:
        if not isinstance(source, Immediate):
            raise refuse(instruction, "a descriptor in a register is not modelled")
        found.append(int(source.text, 0))
    return found[0], found[1]


def send(instruction: Instruction) -> Sent:
    """Return what a send does. Raises `MachineError` for functions and fields that are unknown.

    Document: Bspec "LSC message descriptors"; vISA finalizer, ``LscDesc``.
    """
    if instruction.predicate:
        raise refuse(instruction, "a predicated send is not modelled")
    if instruction.sub == "gtwy":
        return _gateway(instruction)
    if instruction.sub not in ("ugm", "slm"):
        raise refuse(instruction, f"sends to {instruction.sub} are not modelled")
    desc = descriptor(instruction)[1]
    if desc & 0x3F in (_LOAD_BLOCK, _STORE_BLOCK):
        return _block(instruction, desc)
    return _linear(instruction, desc)


def _gateway(instruction: Instruction) -> Sent:
    desc = descriptor(instruction)[1]
    payload = cast("Reg", instruction.sources[0])
    if desc == _GATEWAY_END and "EOT" in instruction.options:
        return lambda _state, _around: END
    if desc != _GATEWAY_BARRIER:
        raise refuse(instruction, f"the gateway's message {desc:#x} is unknown")
    named = payload.number * GRF + 8

    def arrive(state: State, _around: Around) -> Meeting:
        if state.registers.read(named, 1, str(instruction))[0]:
            raise refuse(instruction, "named barriers are not modelled")
        return BarrierArrive(label=str(instruction))

    return arrive


def _block(instruction: Instruction, desc: int) -> Sent:
    """A block-2D message: its sizes are in the payload, so each is judged when it is sent."""
    if instruction.sub != "ugm":
        raise refuse(instruction, "block-2D messages go to global memory")
    stores = desc & 0x3F == _STORE_BLOCK
    bits, transpose, vnni = _BITS[desc >> 9 & 3], bool(desc >> 15 & 1), bool(desc >> 7 & 1)
    address, to = (cast("Reg", o) for o in (instruction.sources[0], instruction.to))
    data = cast("Reg", instruction.sources[1])
    if address.kind != "flat[0]" or desc >> 29 & 3:
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
            message.check("pvc")
            made[sizes] = message
        surface = Surface(base, width + 1, height + 1, pitch + 1)
        if op == "prefetch":
            block2d.prefetch(around.memory, message, surface, x, y, around.trace)
            return
        move = block2d.store if op == "store" else block2d.load
        at = (data if op == "store" else to).number * GRF
        move(around.memory, state.registers, message, surface, x, y, at, around.trace)

    return block


def _linear(instruction: Instruction, desc: int) -> Sent:
    """A load or store of channels, or of one vector where it is transposed."""
    op = _OPERATIONS.get(desc & 0x3F)
    if op is None:
        raise refuse(instruction, f"the LSC operation {desc & 0x3F} is not modelled")
    if op == "fence":
        return lambda _state, _around: None
    address = cast("Reg", instruction.sources[0])
    wide = {1: 16, 2: 32, 3: 64}.get(desc >> 7 & 3)
    # bti[255] is the whole of memory with addresses of 32 bits, where a kernel finds its arguments.
    if wide is None or address.kind not in ("flat[0]", "bti[255]"):
        raise refuse(instruction, f"surfaces of kind {address.kind} are not modelled")
    size = desc >> 9 & 7
    if size >= len(_SIZES):
        raise refuse(instruction, f"data of kind {size} are not modelled")
    kind = DataType(_SIZES[size], _VECTORS[desc >> 12 & 7], bool(desc >> 15 & 1))
    loads = op == "load"
    message = Message(
        op,
        instruction.sub,
        instruction.size,
        kind,
        Address("flat", wide, "V1"),
        "V2" if loads else None,
        **({} if loads else {"src1": "V2"}),
    )
    data = cast("Reg", instruction.to if loads else instruction.sources[1])
    where = {"V1": address.number * GRF, "V2": data.number * GRF}

    def linear(state: State, around: Around) -> None:
        lsc.execute(
            message,
            memory=around.memory,
            registers=state.registers,
            operands=where,
            slm=around.slm,
            trace=around.own,
        )

    return linear
