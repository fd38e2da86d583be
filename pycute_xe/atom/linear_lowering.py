"""Floor 6: the messages of linear copies, and what stands in registers with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from pycute_xe.arch.lsc import Address, DataType, Message
from pycute_xe.arch.rules import errors
from pycute_xe.arch.target import Target, get_target
from pycute_xe.atom.linear_op import LinearOp
from pycute_xe.atom.placed_message import PlacedLinear
from pycute_xe.atom.register_picture import SUBGROUP, Place, RegisterPicture
from pycute_xe.errors import LegalityError
from pycute_xe.facts import rows
from pycute_xe.numeric import Numeric

__all__ = ["lane_data", "lower", "picture"]


def lower(op: LinearOp, target: str | Target) -> tuple[PlacedLinear, ...]:
    """Return the messages of an operation for a subgroup of 16 work-items.

    Raises `LegalityError` with the rules that forbid it and their sources, `TargetError` for an
    unknown target.

    >>> from pycute_xe.atom.linear_op import XE_1D_LOAD_GLOBAL
    >>> print(*lower(XE_1D_LOAD_GLOBAL("u16", "u64"), "bmg"))
    lsc_load.ugm (M1,1) V:d64x16t flat[V1]:a64 at element 0
    """
    found = tuple(_blocks(op) if op.is_block else _lanes(op))
    broken = {b.rule: b for part in found for b in errors(part.message.check(target))}
    if broken:
        less = f"u{op.registers.bits // 2}"
        raise LegalityError(
            "lower",
            {"op": op, "target": get_target(target).name},
            "; ".join(f"{b.rule}: {b.condition} [{b.source}]" for b in broken.values()),
            f"move less at once, such as {op.kind}<{less}>",
        )
    return found


def _blocks(op: LinearOp) -> Iterator[PlacedLinear]:
    """Cut the block of the subgroup into transposed messages, as long as they may be."""
    nbytes = SUBGROUP * op.registers.bytes
    row = next(
        row
        for row in rows("linear", "block")
        if op.registers.bytes % cast("int", row["align"]) == 0
    )
    size, most = cast("str", row["data"]), cast("int", row["most"])
    count = nbytes * 8 // DataType(size).memory_bits
    for first in range(0, count, most):
        data = DataType(size, min(most, count - first), transpose=True)
        yield PlacedLinear(_message(op.moves[0], op, data, 1), first)


def _lanes(op: LinearOp) -> Iterator[PlacedLinear]:
    for move in op.moves:
        moved = op.D if move == "store" and "load" in op.moves else op.registers
        data = DataType(f"d{moved.bits}") if move == "atomic" else lane_data(moved)
        yield PlacedLinear(_message(move, op, data, SUBGROUP))


def lane_data(moved: Numeric) -> DataType:
    """Return the data of a message that moves one value of a type for each work-item.

    >>> from pycute_xe.numeric import as_numeric
    >>> print(*(lane_data(as_numeric(name)) for name in ("u8", "bf16", "f32", "u64", "u128")))
    d8u32 d16u32 d32 d32x2 d32x4
    """
    *_, row = (row for row in rows("linear", "lane") if cast("int", row["bits"]) <= moved.bits)
    return DataType(cast("str", row["data"]), moved.bits // cast("int", row["bits"]))


def _message(move: str, op: LinearOp, data: DataType, lanes: int) -> Message:
    name = _addition(op.D) if move == "atomic" else move
    sfid = cast("str", op.fact["sfid"])
    address = Address("flat", 32 if sfid == "slm" else 64, "V1")
    if move == "load":
        return Message(name, sfid, lanes, data, address, dst="V")
    return Message(name, sfid, lanes, data, address, src1="V")


def _addition(added: Numeric) -> str:
    (name,) = (row["op"] for row in rows("linear", "atomic") if row["kind"] == added.kind)
    return cast("str", name)


def picture(op: LinearOp, bits: int) -> RegisterPicture:
    """Return what the registers of 16 work-items hold, in values of ``bits``.

    Of a block that is memory as it lies, as (0, value), and a work-item holds what fills its type.
    Else the row is the work-item, and the column one of its values, or of the 32 bits in one.
    """
    if op.is_block:
        count = SUBGROUP * op.registers.bits // bits
        return RegisterPicture(bits, tuple((0, i) for i in range(count)), op.registers.bits)
    atomic = "atomic" in op.moves
    data = DataType(f"d{op.D.bits}") if atomic else lane_data(op.registers)
    # A value that is converted is what it has become.
    part = min(op.D.bits if atomic and op.S != op.D else bits, data.register_bits)
    return RegisterPicture(part, tuple(_slots(data, part)), data.register_bits)


def _slots(data: DataType, part: int) -> Iterator[Place | None]:
    """The values of each dword of each work-item: all first dwords, then all second ones."""
    held, room = data.memory_bits // part, data.register_bits // part
    for element in range(data.vector):
        for lane in range(SUBGROUP):
            yield from ((lane, element * held + i) for i in range(held))
            yield from [None] * (room - held)
