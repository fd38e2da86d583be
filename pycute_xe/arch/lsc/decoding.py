"""The bytes of a vISA binary as LSC messages (vISA manual, LSC_UNTYPED.md, Format)."""

from __future__ import annotations

from typing import cast

from pycute_xe.arch.block2d import Block2D, Op
from pycute_xe.arch.lsc.binary import CODED, SURFACE, Encoding
from pycute_xe.arch.lsc.block import Block2DMessage
from pycute_xe.arch.lsc.codes import BLOCKS, codes, form_of, named, opcode, sub_operations
from pycute_xe.arch.lsc.fields import Address, DataType, Operand, check_type
from pycute_xe.arch.lsc.message import Message
from pycute_xe.arch.lsc.operand_codes import Cursor, Tables
from pycute_xe.arch.lsc.operations import get_operation
from pycute_xe.errors import CuteError, InputError, ShapeError
from pycute_xe.signatures import typed

__all__ = ["decode"]


@typed
def decode(code: Encoding | bytes, names: Tables | None = None) -> Message | Block2DMessage:
    """Return the message of bytes, or of what `encode` returned.

    ``names`` are the kernel's tables; without them, place 12 is called ``V12`` or ``P12``.
    Raises `InputError` that names the byte, for codes that no row of ``atoms/lsc_binary.toml`` has.

    >>> from pycute_xe.arch.lsc import encode, parse
    >>> load = parse("lsc_load.slm (M1,32) V13:d32x4 flat[4*V12-0x10]:a16")
    >>> decode(encode(load).code) == load
    True
    """
    if isinstance(code, Encoding):
        code, names = code.code, names or code.names
    check_type("decode", "code", code, bytes)
    cursor = Cursor(code, names or Tables())
    op = _operation(cursor)
    values: dict[str, object] = {"LscSubOp": op}
    for name, kind in form_of(op).fields[2:]:
        values[name] = _read(cursor, name, kind)
    if cursor.place != len(code):
        raise cursor.error(
            f"{len(code) - cursor.place} bytes follow the instruction", "cut them off"
        )
    try:
        return _block_of(op, values) if op in BLOCKS else _message_of(op, values)
    except InputError:
        raise
    except CuteError as refused:
        operands = {"op": op, **refused.operands}
        raise InputError("decode", operands, refused.condition, refused.fix) from refused


def _operation(cursor: Cursor) -> str:
    if cursor.take("ub") != opcode():
        found = cursor.data[0]
        raise InputError("decode", {"byte": 0}, f"the opcode is {found:#x}", f"use {opcode():#x}")
    number = cursor.take("ub")
    by_number = {value: name for name, value in sub_operations().items()}
    if number not in by_number:
        known = ", ".join(f"{value:#x}" for value in by_number)
        raise InputError(
            "decode", {"byte": 1}, f"unknown sub-operation {number:#x}", f"one of {known}"
        )
    return by_number[number]


def _read(cursor: Cursor, name: str, kind: str) -> object:
    """The value of one field, as `_message` and `_block` give it."""
    start = cursor.place
    if kind == "raw":
        return cursor.raw()
    if kind == "vec":
        return cursor.scalar()
    if kind == "pred":
        return cursor.predicate()
    number = cursor.take("ub" if kind == "exec" else kind)
    if kind == "exec":
        size = int(named("exec_size", number & 15, start))
        return named("exec_mask", number >> 4, start), size
    if name.startswith("Caching"):
        return named("Caching", number, start)
    if name in CODED:
        return named(name, number, start)
    if name == "DataElemsPerAddr" and number:
        return int(named(name, number, start))
    if name == "ChMask" and number > sum(codes("channel").values()):
        raise InputError(
            "decode", {"byte": start}, f"ChMask is {number}, must be at most 15", "use 4 bits"
        )
    if name == "VNNI" and number > 1:
        raise InputError(
            "decode", {"byte": start}, f"VNNI is {number}, must be 0 or 1", "use 0 or 1"
        )
    return number


def _message_of(op: str, values: dict[str, object]) -> Message:
    get, kind = values.get, get_operation(op).kind
    mask = "".join(c for c, bit in codes("channel").items() if cast("int", get("ChMask")) & bit)
    vector = cast("int", get("DataElemsPerAddr"))
    if bool(mask) == bool(vector):
        condition = (
            f"ChMask is {mask or 0} and DataElemsPerAddr is {vector}, must be one of the two"
        )
        raise ShapeError("decode", {"op": op}, condition, "make the other 0")
    transposed = get("DataOrder") == "transposed"
    data = DataType(cast("str", get("DataSize")), vector or 1, transposed, mask or None)
    address = Address(
        cast("str", get("AddrType")),
        int(cast("str", get("AddrSize", "32"))),
        cast("str | None", get("Src0Addrs", get("Src0AddrBase"))),
        cast("Operand", get("Surface")),
        cast("int", get("AddrScale", 1)),
        cast("int", get("AddrImmOffset", 0)),
        cast("Operand | None", get("Src0AddrPitch")),
    )
    mask_name, exec_size = cast("tuple[str, int]", get("Exec_size"))
    dst = cast("str | None", get("DstData"))
    src1 = cast("str | None", get("Src0Data") if kind == "counter" else get("Src1Data"))
    return Message(
        op,
        cast("str", get("LscSFID")),
        exec_size,
        data,
        address,
        dst,
        src1,
        cast("str | None", get("Src2Data")),
        cast("str", get("CachingL1")),
        cast("str", get("CachingL3")),
        cast("str | None", get("Pred")),
        mask_name,
    )


def _block_of(op: str, values: dict[str, object]) -> Block2DMessage:
    get = values.get
    mask, exec_size = cast("tuple[str, int]", get("Exec_size"))
    size, dst = cast("str", get("DataSize")), cast("str | None", get("DstData"))
    if exec_size != 1 or not size[1:].isdigit():
        condition = (
            f"a block-2D message has execution size 1 and d8 to d64, not {exec_size}, {size}"
        )
        raise ShapeError("decode", {"op": op}, condition, "correct the bytes")
    role: Op = "store" if op == "store_block2d" else "load" if dst else "prefetch"
    block = Block2D(
        role,
        int(size[1:]),
        cast("int", get("BlockHeight")),
        cast("int", get("BlockWidth")),
        cast("int", get("Blocks")),
        get("DataOrder") == "transposed",
        bool(get("VNNI")),
    )
    base, width, height, pitch = (cast("Operand", get(name)) for name in SURFACE)
    return Block2DMessage(
        block,
        cast("str", get("LscSFID")),
        dst,
        cast("str | None", get("Src1Data")),
        (base, width, height, pitch),
        cast("Operand", get("Src0AddrX")),
        cast("Operand", get("Src0AddrY")),
        cast("str", get("CachingL1")),
        cast("str", get("CachingL3")),
        mask,
        cast("str | None", get("Pred")),
    )
