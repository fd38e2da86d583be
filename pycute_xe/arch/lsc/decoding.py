"""The bytes of a vISA binary as LSC messages (vISA manual, LSC_UNTYPED.md, Format)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from pycute_xe.arch.block2d import Block2D, Op
from pycute_xe.arch.lsc.descriptor import (
    code,
    codes,
    form_of,
    named,
    names_of,
    opcode,
    sub_operations,
    typed_names,
)
from pycute_xe.arch.lsc.fields import (
    Address,
    DataType,
    Operand,
    check_type,
    get_operation,
    null_or_name,
    operations,
)
from pycute_xe.arch.lsc.message import Block2DMessage, Message
from pycute_xe.arch.lsc.parts import BlockParts, MessageParts
from pycute_xe.errors import CuteError, InputError, ShapeError
from pycute_xe.facts import rows
from pycute_xe.signatures import checked_fields, typed

__all__ = ["decode", "SURFACE", "Encoding", "Field", "encode", "Tables"]

# ------------------------------------------------------------ operand codes
# Operands as bytes: raw and vector operands, and predicates (vISA manual, 5_operands.md).
#
# The binary names variables by their places in the tables of their kernel. ``V12`` and ``P3`` are
# places 12 and 3; any other name is given the next free place, and the table that says so goes
# along with the bytes.

SIZES = {"ub": "B", "uw": "H", "ud": "I", "uq": "Q", "d": "i"}
"""The types of fields, as the module struct spells them."""

_RAW = re.compile(r"([^.]+)(?:\.([0-9]+))?")
_SCALAR = re.compile(r"([^(<]+)(?:\(([0-9]+),([0-9]+)\))?(?:<([0-9]+);([0-9]+),([0-9]+)>)?")
_VARIABLE, _PREDICATE = re.compile(r"V(0|[1-9][0-9]{0,8})"), re.compile(r"P([1-9][0-9]{0,3})")
_FIRST_FREE, _PREDICATES = 32, 4096


@checked_fields
@dataclass(frozen=True, slots=True)
class Tables:
    """Which place each name has in a kernel's tables: pairs of variables, and of predicates.

    >>> from pycute_xe.arch.lsc import decode, encode, parse
    >>> code = encode(parse("lsc_load.ugm (M1,16) V33:d32 flat[V32]:a64")).code
    >>> print(decode(code, Tables((("where", 32), ("data", 33)))))
    lsc_load.ugm (M1,16) data:d32 flat[where]:a64
    """

    variables: tuple[tuple[str, int], ...] = ()
    predicates: tuple[tuple[str, int], ...] = ()

    def raw(self, name: str | None) -> bytes:
        """A raw operand: the variable and its offset in bytes; place 0 is the null register."""
        if name is None:
            return pack("raw", id=0, offset=0)
        match = _RAW.fullmatch(name)
        base, offset = (name, 0) if match is None else (match[1], int(match[2] or 0))
        if offset > 0xFFFF:
            raise _refused(name, f"the offset is {offset}, must be at most 65535", "use another")
        return pack("raw", id=dict(self.variables)[base], offset=offset)

    def scalar(self, value: int | str | None, kind: str = "ud") -> bytes:
        """A vector operand: an immediate, or an element of a variable; place 0 where left out."""
        if value is None:
            return pack(
                "general", tag=code("operand_class", "general"), id=0, row=0, column=0, region=0
            )
        if isinstance(value, int):
            kind = "d" if value < 0 else kind
            start = pack(
                "immediate", tag=code("operand_class", "immediate"), type=code("type", kind)
            )
            return start + struct.pack("<" + SIZES[kind], value)
        match = _SCALAR.fullmatch(value)
        if match is not None and null_or_name("encode", "operand", match[1]) is None:
            raise _refused(value, "the null register holds no number", "name another, or give it")
        if match is None or "." in value:
            condition = "an operand that is a number counts rows and columns, not bytes"
            raise _refused(value, condition, "write V7(1,0) for V7.64")
        row, column = int(match[2] or 0), int(match[3] or 0)
        if max(row, column) > 0xFF:
            raise _refused(value, "row and column must be at most 255", "name a nearer variable")
        return pack(
            "general",
            tag=code("operand_class", "general"),
            id=dict(self.variables)[match[1]],
            row=row,
            column=column,
            region=_region(value, match.groups()[3:]),
        )

    def predicate(self, text: str | None) -> int:
        """A predicate: its place in bits 0 to 11, how channels combine, and whether inverted."""
        if text is None:
            return 0
        combine = code("combine", text.partition(".")[2] or "each")
        inverted = int(text.startswith("!"))
        return dict(self.predicates)[predicate_root(text)] | combine << 13 | inverted << 15


def _region(value: str, parts: tuple[str | None, ...]) -> int:
    """The three numbers of a region, four bits each; all null where it is left out."""
    bits = 0
    for place, part in enumerate(parts):
        if part is not None:
            if part not in names_of("region").values():
                known = ", ".join(names_of("region").values())
                raise _refused(value, f"a region has no number {part}", f"use {known}")
            bits |= code("region", part) << 4 * place
    return bits


def root(value: str) -> str:
    """Return the variable of an operand, without offset and region.

    >>> root("V7.64"), root("S1(0,1)<0;1,0>")
    ('V7', 'S1')
    """
    return re.split(r"[.(<]", value, maxsplit=1)[0]


def predicate_root(text: str) -> str:
    """Return the predicate without its sign and ``.any``.

    >>> predicate_root("!P1.any")
    'P1'
    """
    return text.lstrip("!").partition(".")[0]


def tables(variables: Iterable[str], predicates: Iterable[str]) -> Tables:
    """Return places for names: those of ``V12`` and ``P3`` are their numbers.

    >>> dict(tables(["V33", "VDATA", "x"], ["P1"]).variables)
    {'V33': 33, 'VDATA': 32, 'x': 34}
    """
    return Tables(
        _places(variables, _VARIABLE, _FIRST_FREE),
        _places((p for p in predicates if p), _PREDICATE, 1),
    )


def _places(
    names: Iterable[str], plain: re.Pattern[str], first: int
) -> tuple[tuple[str, int], ...]:
    listed = list(dict.fromkeys(names))
    places: dict[str, int] = {}
    for name in listed:
        match = plain.fullmatch(name)
        if match and (plain is _VARIABLE or int(match[1]) < _PREDICATES):
            places[name] = int(match[1])
    for name in listed:
        if name not in places:
            while first in places.values():
                first += 1
            places[name] = first
    return tuple((name, places[name]) for name in listed)


@cache
def _operand(name: str) -> tuple[tuple[str, str], ...]:
    row = next(row for row in rows("lsc_binary", "operand") if row["name"] == name)
    return typed_names(row)


def pack(operand: str, **values: int) -> bytes:
    """Return the bytes of an operand, as far as values are given."""
    return b"".join(
        struct.pack("<" + SIZES[kind], values[name])
        for name, kind in _operand(operand)
        if name in values
    )


class Cursor:
    """Bytes and how far they have been read; places in tables become names again."""

    def __init__(self, data: bytes, known: Tables) -> None:
        """Start at the first byte."""
        self.data, self.place = data, 0
        self._variables = {place: name for name, place in known.variables}
        self._predicates = {place: name for name, place in known.predicates}

    def take(self, kind: str) -> int:
        """Read a number of a type; `InputError` where bytes are missing."""
        size = struct.calcsize("<" + SIZES[kind])
        part = self.data[self.place : self.place + size]
        if len(part) < size:
            raise self.error(f"the bytes end where {size} more must stand", "give all of them")
        self.place += size
        return int(struct.unpack("<" + SIZES[kind], part)[0])

    def error(self, condition: str, fix: str) -> InputError:
        """Make the error that names the byte."""
        return InputError("decode", {"byte": self.place}, condition, fix)

    def raw(self) -> str | None:
        """Read a raw operand."""
        place, offset = self.take("ud"), self.take("uw")
        if not place and offset:
            raise self.error("the null register has an offset", "make it 0")
        name = self._variables.get(place, f"V{place}") if place else None
        return name if name is None or not offset else f"{name}.{offset}"

    def scalar(self) -> int | str | None:
        """Read a vector operand; ``None`` where it is left out."""
        start, tag = self.place, self.take("ub")
        if named("operand_class", tag, start) == "immediate":
            start = self.place
            return self.take(named("type", self.take("ub"), start))
        place = self.take("ud")
        row, column, region = self.take("ub"), self.take("ub"), self.take("uw")
        name = self._variables.get(place, f"V{place}")
        start = self.place - 2
        if not place:
            if row or column or region:
                raise self.error("the null register has no region", "make it 0")
            return None
        if not region:
            return name + (f"({row},{column})" if row or column else "")
        if region >> 12:
            raise self.error("bits 12 to 15 of a region are reserved", "make them 0")
        parts = [named("region", region >> 4 * i & 15, start) for i in range(3)]
        return f"{name}({row},{column})<{parts[0]};{parts[1]},{parts[2]}>"

    def predicate(self) -> str | None:
        """Read a predicate."""
        start, bits = self.place, self.take("uw")
        if not bits:
            return None
        place = bits & 0xFFF
        if bits >> 12 & 1 or not place:
            raise self.error("bit 12 of a predicate is reserved, and 0 is none", "give its place")
        name, combine = (
            self._predicates.get(place, f"P{place}"),
            named("combine", bits >> 13 & 3, start),
        )
        return ("!" if bits >> 15 else "") + name + ("" if combine == "each" else f".{combine}")


def _refused(name: str, condition: str, fix: str) -> ShapeError:
    return ShapeError("encode", {"operand": name}, condition, fix)


# ------------------------------------------------------------ binary
# LSC messages as the bytes of a vISA binary (vISA manual, LSC_UNTYPED.md, Format).

CODED = ("AddrType", "AddrSize", "DataSize", "DataOrder", "LscSFID")
SURFACE = ("SurfaceBase", "SurfaceWidth", "SurfaceHeight", "SurfacePitch")


@checked_fields
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


@checked_fields
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


# ------------------------------------------------------------ decoding


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
    values: dict[str, Any] = {"LscSubOp": op}
    for name, kind in form_of(op).fields[2:]:
        values[name] = _read(cursor, name, kind)
    if cursor.place != len(code):
        raise cursor.error(
            f"{len(code) - cursor.place} bytes follow the instruction", "cut them off"
        )
    try:
        return _block_of(op, values) if operations()[op].block2d else _message_of(op, values)
    except InputError:
        raise
    except CuteError as refused:
        operands = {"op": op, **refused.operands}
        raise InputError("decode", operands, refused.condition, refused.fix) from refused


def _operation(cursor: Cursor) -> str:
    if cursor.take("ub") != opcode():
        opcode_byte = cursor.data[0]
        raise InputError(
            "decode", {"byte": 0}, f"the opcode is {opcode_byte:#x}", f"use {opcode():#x}"
        )
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


def _message_of(op: str, values: dict[str, Any]) -> Message:
    get, kind = values.get, get_operation(op).kind
    mask = "".join(c for c, bit in codes("channel").items() if values["ChMask"] & bit)
    vector = values["DataElemsPerAddr"]
    if bool(mask) == bool(vector):
        condition = (
            f"ChMask is {mask or 0} and DataElemsPerAddr is {vector}, must be one of the two"
        )
        raise ShapeError("decode", {"op": op}, condition, "make the other 0")
    transposed = get("DataOrder") == "transposed"
    data = DataType(values["DataSize"], vector or 1, transposed, mask or None)
    register, bits = get("Src0Addrs", get("Src0AddrBase")), int(get("AddrSize", "32"))
    surface: Any = get("Surface")
    terms = get("AddrScale", 1), get("AddrImmOffset", 0), get("Src0AddrPitch")
    address = Address(values["AddrType"], bits, register, surface, *terms)
    exec_mask, exec_size = values["Exec_size"]
    src1 = get("Src0Data") if kind == "counter" else get("Src1Data")
    operands = get("DstData"), src1, get("Src2Data")
    head = values["CachingL1"], values["CachingL3"], get("Pred"), exec_mask
    return Message(op, values["LscSFID"], exec_size, data, address, *operands, *head)


def _block_of(op: str, values: dict[str, Any]) -> Block2DMessage:
    get = values.get
    exec_mask, exec_size = values["Exec_size"]
    size, dst = values["DataSize"], get("DstData")
    if exec_size != 1 or not size[1:].isdigit():
        condition = (
            f"a block-2D message has execution size 1 and d8 to d64, not {exec_size}, {size}"
        )
        raise ShapeError("decode", {"op": op}, condition, "correct the bytes")
    role: Op = "store" if op == "store_block2d" else "load" if dst else "prefetch"
    extents = values["BlockHeight"], values["BlockWidth"], values["Blocks"]
    packing = get("DataOrder") == "transposed", bool(get("VNNI"))
    block = Block2D(role, int(size[1:]), *extents, *packing)
    base, width, height, pitch = (values[name] for name in SURFACE)
    where = (base, width, height, pitch), values["Src0AddrX"], values["Src0AddrY"]
    head = values["CachingL1"], values["CachingL3"], exec_mask, get("Pred")
    return Block2DMessage(block, values["LscSFID"], dst, get("Src1Data"), *where, *head)
