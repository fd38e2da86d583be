"""LSC messages as the bytes of a vISA binary (vISA manual, LSC_UNTYPED.md, Format)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import cast

from pycute_xe.arch.lsc.block import Block2DMessage
from pycute_xe.arch.lsc.codes import code, codes, form_of, opcode, sub_operations
from pycute_xe.arch.lsc.fields import Operand, check_type
from pycute_xe.arch.lsc.message import Message
from pycute_xe.arch.lsc.operand_codes import SIZES, Tables, predicate_root, root, tables
from pycute_xe.arch.lsc.parts import BlockParts, MessageParts
from pycute_xe.errors import ShapeError

__all__ = ["CODED", "SURFACE", "Encoding", "Field", "encode"]

CODED = ("AddrType", "AddrSize", "DataSize", "DataOrder", "LscSFID")
SURFACE = ("SurfaceBase", "SurfaceWidth", "SurfaceHeight", "SurfacePitch")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an instruction: the document's name, its type, what it says, its bytes."""

    name: str
    type: str
    meaning: str
    code: bytes

    def __str__(self) -> str:
        """One line: name, bytes, meaning."""
        return f"{self.name:16} {self.code.hex(' '):30} {self.meaning}".rstrip()


@dataclass(frozen=True, slots=True)
class Encoding:
    """A message in binary: its fields in the order of the document, and the tables of its names.

    ``code`` is the bytes. ``variables`` and ``predicates`` say which place of the kernel's tables
    a name has: ``V12`` and ``P3`` have places 12 and 3 without being told.
    """

    fields: tuple[Field, ...]
    names: Tables

    @property
    def code(self) -> bytes:
        """The bytes of the instruction.

        >>> from pycute_xe.arch.lsc import encode, parse
        >>> encode(parse("lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64")).code.hex()[:20]
        '89000400000000000101'
        """
        return b"".join(field.code for field in self.fields)

    def __getitem__(self, name: str) -> Field:
        """Return the field of a name; `ShapeError` if the form has none."""
        for field in self.fields:
            if field.name == name:
                return field
        known = ", ".join(field.name for field in self.fields)
        raise ShapeError("Encoding", {"field": name}, "unknown field", f"one of {known}")

    def __str__(self) -> str:
        """A line for each field."""
        return "\n".join(map(str, self.fields))


def encode(message: Message | Block2DMessage) -> Encoding:
    """Return a message as the vISA binary has it, field by field.

    Law: ``decode(encode(m)) == m``, with the offset ``.0`` and the position ``(0,0)`` of operands
    left out; ``decode(encode(m).code) == m`` where operands are called ``V1`` … and ``P1`` ….
    Raises `ShapeError` for an operand whose offset or region no field holds.
    Document: vISA manual, LSC_UNTYPED.md, Format, and 5_operands.md.

    >>> from pycute_xe.arch.lsc import parse
    >>> found = encode(parse("lsc_load_block2d.ugm V9:d16.2x16x32nn flat[V1,V2,V3,V4,V5,V6]"))
    >>> print(found["LscSubOp"]); print(found["BlockHeight"])
    LscSubOp         03                             load_block2d
    BlockHeight      20 00                          32
    """
    if isinstance(message, Block2DMessage):
        values = _block(message)
    else:
        check_type("encode", "message", message, Message)
        values = _message(message)
    form = form_of(cast("str", values["LscSubOp"]))
    operands = [values[n] for n, kind in form.fields if kind in ("raw", "vec")]
    predicate = cast("str | None", values["Pred"])
    names = tables(
        (root(value) for value in operands if isinstance(value, str)),
        () if predicate is None else (predicate_root(predicate),),
    )
    return Encoding(
        tuple(
            Field(name, kind, _meaning(name, values[name]), _bytes(name, kind, values[name], names))
            for name, kind in form.fields
        ),
        names,
    )


def _message(message: Message) -> dict[str, object]:
    data, address = message.data, message.address
    mask = sum(codes("channel")[letter] for letter in data.mask or "")
    counter = message.operation.kind == "counter"
    return _head(message, message.op, message.exec_size) | {
        "AddrType": address.model,
        "AddrScale": address.scale,
        "AddrImmOffset": address.offset,
        "AddrSize": address.bits,
        "DataSize": data.size,
        "DataOrder": "transposed" if data.transpose else "plain",
        "DataElemsPerAddr": 0 if data.mask else data.vector,
        "ChMask": mask,
        "Surface": address.surface,
        "DstData": message.dst,
        "Src0Data": message.src1 if counter else None,
        "Src0Addrs": address.register,
        "Src0AddrBase": address.register,
        "Src0AddrPitch": address.pitch,
        "Src1Data": message.src1,
        "Src2Data": message.src2,
    }


def _block(message: Block2DMessage) -> dict[str, object]:
    block = message.block
    values: dict[str, object] = {
        "DataSize": f"d{block.bits}",
        "DataOrder": "transposed" if block.transpose else "plain",
        "Blocks": block.count,
        "BlockWidth": block.width,
        "BlockHeight": block.height,
        "VNNI": int(block.vnni),
        "DstData": message.dst,
        "Src0AddrX": message.x,
        "Src0AddrY": message.y,
        "Src1Data": message.src1,
    }
    values |= dict(zip(SURFACE, message.surface, strict=True))
    return _head(message, "store_block2d" if block.op == "store" else "load_block2d", 1) | values


def _head(message: MessageParts | BlockParts, op: str, exec_size: int) -> dict[str, object]:
    return {
        "Opcode": "LSC_UNTYPED",
        "LscSubOp": op,
        "Exec_size": (message.exec_mask, exec_size),
        "Pred": message.predicate,
        "LscSFID": message.sfid,
        "CachingL1": message.l1,
        "CachingL3": message.l3,
    }


def _bytes(name: str, kind: str, value: object, names: Tables) -> bytes:
    """The bytes of one field."""
    if kind == "raw":
        return names.raw(cast("str | None", value))
    if kind == "vec":
        wide = "uq" if name == "SurfaceBase" else "ud"
        return names.scalar(cast("Operand | None", value), wide)
    if kind == "pred":
        return struct.pack("<H", names.predicate(cast("str | None", value)))
    if kind == "exec":
        mask, size = cast("tuple[str, int]", value)
        return bytes([code("exec_size", size) | code("exec_mask", mask) << 4])
    return struct.pack("<" + SIZES[kind], _number(name, value))


def _number(name: str, value: object) -> int:
    if name == "Opcode":
        return opcode(str(value))
    if name == "LscSubOp":
        return sub_operations()[str(value)]
    if name.startswith("Caching"):
        return code("Caching", value)
    if name in CODED or (name == "DataElemsPerAddr" and value):
        return code(name, value)
    return cast("int", value)


def _meaning(name: str, value: object) -> str:
    if value is None:
        return {"Pred": "none", "Src0AddrPitch": "packed"}.get(name, "%null")
    if name == "ChMask":
        return "".join(c for c, bit in codes("channel").items() if cast("int", value) & bit)
    if isinstance(value, tuple):
        return ",".join(map(str, cast("tuple[object, ...]", value)))
    return str(value)
