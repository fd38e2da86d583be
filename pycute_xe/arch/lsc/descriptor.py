"""Message descriptors: what the send instruction that an LSC message becomes says in its bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, cast

from pycute_xe.arch.lsc.fields import Address, DataType, get_operation, laid_out_target, operations
from pycute_xe.arch.lsc.message import Block2DMessage, Message
from pycute_xe.arch.target import Target
from pycute_xe.errors import CuteError, InputError, LegalityError, ShapeError
from pycute_xe.facts import Row, rows, rows_for
from pycute_xe.signatures import checked_fields, shortly, typed

__all__ = [
    "Descriptor",
    "Words",
    "decode_descriptor",
    "descriptor_of",
    "encode_descriptor",
    "code",
    "codes",
    "form_of",
    "named",
    "names_of",
    "opcode",
    "sub_operations",
    "typed_names",
]

# ------------------------------------------------------------ codes
# The numbers that stand for names in the binary form: rows of ``atoms/lsc_binary.toml``.


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of an instruction in their order, each with its type."""

    name: str
    fields: tuple[tuple[str, str], ...]


@cache
def sub_operations() -> Mapping[str, int]:
    """Return the number of every sub-operation.

    Document: vISA manual, LSC_UNTYPED.md, LscSubOp.

    >>> len(sub_operations()), sub_operations()["load_block2d"], sub_operations()["atomic_xor"]
    (31, 3, 26)
    """
    return MappingProxyType({op.name: op.code for op in operations().values()})


@cache
def opcode(name: str = "LSC_UNTYPED") -> int:
    """Return the first byte of an instruction.

    >>> hex(opcode())
    '0x89'
    """
    return next(
        cast("int", row["code"]) for row in rows("lsc_binary", "opcode") if row["name"] == name
    )


@cache
def form_of(op: str) -> Form:
    """Return the form of an operation.

    >>> form_of("load_strided").name, form_of("atomic_iadd").name
    ('strided', 'addressed')
    """
    forms = rows("lsc_binary", "form")
    own = [row for row in forms if op in cast("tuple[str, ...]", row.get("ops", ()))]
    if not own:
        kind = operations()[op].kind
        own = [row for row in forms if kind in cast("tuple[str, ...]", row["kinds"])]
    return Form(cast("str", own[0]["name"]), typed_names(own[0]))


def typed_names(row: Row) -> tuple[tuple[str, str], ...]:
    """Return the names and types of a row's fields: ``("LscSubOp", "ub")``."""
    pairs = (text.split(":") for text in cast("tuple[str, ...]", row["fields"]))
    return tuple((name, kind) for name, kind in pairs)


@cache
def codes(field: str) -> Mapping[str, int]:
    """Return the numbers of the names that a field takes.

    >>> dict(codes("AddrSize"))
    {'16': 1, '32': 2, '64': 3}
    """
    for row in rows("lsc_binary", "code"):
        if row["field"] == field:
            return cast("Mapping[str, int]", row["names"])
    return MappingProxyType({})


def code(field: str, name: object) -> int:
    """Return the number of a name, or of a number such as a vector size."""
    return codes(field)[str(name)]


@cache
def names_of(field: str) -> Mapping[int, str]:
    """Return the names of a field by their numbers."""
    return MappingProxyType({number: name for name, number in codes(field).items()})


def named(field: str, number: int, place: int) -> str:
    """Return the name that a number stands for; `InputError` if none does."""
    meaning = names_of(field).get(number)
    if meaning is None:
        known = ", ".join(f"{n} ({name})" for n, name in sorted(names_of(field).items()))
        raise InputError(
            "decode", {"byte": place}, f"{field} is {number}, which no row names", f"use {known}"
        )
    return meaning


# ------------------------------------------------------------ descriptor

_CHANNELS = "xyzw"
_MOST_REGISTERS = 31


class Words(NamedTuple):
    """The descriptor and the extended descriptor of a send."""

    desc: int
    ext: int = 0


@checked_fields
@dataclass(frozen=True, slots=True)
class Descriptor:
    """What the descriptor of a send says about its message.

    ``data`` is one element of a block-2D message, whose sizes are in the payload; ``vnni`` is
    theirs too. ``dst_registers`` ends at 31, which stands for 32 too. ``surface`` is the number
    of a binding table entry, ``None`` where a register holds it. ``offset`` is what fits beside
    the surface; scale, pitch, and other offsets are applied by instructions before. The unit
    stands in the instruction. Raises `ShapeError` for an operation, model or address size that is
    unknown.
    """

    op: str
    sfid: str
    data: DataType
    l1: str
    l3: str
    model: str
    address_bits: int
    dst_registers: int
    address_registers: int
    vnni: bool = False
    surface: int | None = None
    offset: int = 0

    def __post_init__(self) -> None:
        """Refuse names that no descriptor holds."""
        sizes = tuple(map(int, _codes("addr_size")))
        for name, known in (
            ("op", tuple(sub_operations())),
            ("model", tuple(_codes("model"))),
            ("address_bits", sizes),
        ):
            value = getattr(self, name)
            if value not in known:
                way_out = f"one of {', '.join(map(str, known))}"
                raise ShapeError("Descriptor", {name: value}, f"unknown {name}", way_out)


@typed
def descriptor_of(message: Message | Block2DMessage, target: str | Target) -> Descriptor:
    """Return what the descriptor of a message says on a target.

    Raises `TargetError` for an unknown target.

    >>> from pycute_xe.arch.lsc import parse
    >>> found = descriptor_of(parse("lsc_load.ugm (M1,32) V13:d32x2 bti(4)[V12]:a32"), "pvc")
    >>> found.dst_registers, found.address_registers, found.surface
    (4, 2, 4)
    """
    known = laid_out_target(target)
    written = min(_MOST_REGISTERS, message.registers(known))
    if isinstance(message, Block2DMessage):
        block = message.block
        op = "store_block2d" if block.op == "store" else "load_block2d"
        data = DataType(f"d{block.bits}", 1, block.transpose)
        common = (message.l1, message.l3, "flat", 64, written, 1, block.vnni)
        return Descriptor(op, message.sfid, data, *common)
    address = message.address
    counter = message.operation.kind == "counter"  # its data stands where addresses would
    read = message.source_registers(known) if counter else message.address_registers(known)
    surface = address.surface if address.model == "bti" else None
    common = (message.l1, message.l3, address.model, address.bits, written, read, False)
    surface = surface if isinstance(surface, int) else None
    offset = _fitting(message.op, address, known)
    return Descriptor(message.op, message.sfid, message.data, *common, surface, offset)


def _fitting(op: str, address: Address, target: Target) -> int:
    """The immediate offset, if the extended descriptor has a field that holds it; else 0."""
    if isinstance(address.surface, str) or address.offset % 4:
        return 0
    for row in _fields(op, address.model, target):
        if row["field"] == "offset":
            half = 1 << cast("int", row["bits"]) - 1
            return address.offset if -half <= address.offset < half else 0
    return 0


@typed
def encode_descriptor(
    message: Message | Block2DMessage | Descriptor, target: str | Target = "pvc"
) -> Words:
    """Return the descriptor and the extended descriptor of a message on a target.

    Law: ``decode_descriptor(*encode_descriptor(m, t), t, m.sfid) == descriptor_of(m, t)``, but
    ``ri.ca`` of Xe2 on, whose number is read as ``ri.ri``. Raises `LegalityError` for a caching
    that the operation has no number for, `ShapeError` for a surface beyond the field.
    Source: Intel's assembler and disassembler, MessageDecoderLSC.cpp, and compiled messages.

    >>> from pycute_xe.arch.lsc import parse
    >>> [hex(w) for w in encode_descriptor(parse("lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64"))]
    ['0x4100580', '0x0']
    """
    known = laid_out_target(target)
    what = message if isinstance(message, Descriptor) else descriptor_of(message, known)
    values = {
        "op": sub_operations()[what.op],
        "addr_size": _codes("addr_size")[str(what.address_bits)],
        "vnni": int(what.vnni),
        "data_size": _codes("data_size")[what.data.size],
        "elements": _codes("elements")[str(what.data.vector)],
        "mask": sum(1 << _CHANNELS.index(letter) for letter in what.data.mask or ""),
        "transpose": int(what.data.transpose),
        "caching": _caching(what, known),
        "dst_registers": what.dst_registers,
        "address_registers": what.address_registers,
        "model": _codes("model")[what.model],
        "surface": what.surface or 0,
        "offset": what.offset,
    }
    words = {"desc": 0, "ext": 0}
    for row in _fields(what.op, what.model, known):
        name, bits = cast("str", row["field"]), cast("int", row["bits"])
        value = values[name]
        if value >> bits not in (0, -1) or (value < 0 and name != "offset"):
            condition = f"{name} is {value}, and the descriptor has {bits} bits for it"
            raise ShapeError("encode_descriptor", {name: value}, condition, "use a smaller one")
        words[cast("str", row["word"])] |= (value & (1 << bits) - 1) << cast("int", row["low"])
    return Words(words["desc"], words["ext"])


@typed
def decode_descriptor(
    desc: int, ext: int = 0, target: str | Target = "pvc", sfid: str = "ugm"
) -> Descriptor:
    """Return what a descriptor says, as the compiler prints it behind a send.

    ``sfid`` is the unit of the send, which the descriptor does not hold.
    Raises `InputError` for numbers without a meaning, and for bits that are set outside all fields.

    >>> found = decode_descriptor(0x6210D500, 0x04000000)
    >>> found.op, str(found.data), found.model, found.surface, found.dst_registers
    ('load', 'd32x16t', 'bti', 4, 1)
    """
    if type(desc) is not int or type(ext) is not int:
        given = {"desc": shortly(desc), "ext": shortly(ext)}
        raise InputError("decode_descriptor", given, "a descriptor is an integer", "give integers")
    known, words = laid_out_target(target), {"desc": desc, "ext": ext}
    by_number = {value: name for name, value in sub_operations().items()}
    op = by_number.get(desc & 0x3F)
    if op is None:
        raise _unknown(desc, f"the operation {desc & 0x3F:#x} is not one of LSC_UNTYPED")
    model = _named("model", desc >> 29 & 3, desc)
    fields = _fields(op, model, known)
    values: dict[str, int] = {}
    left = dict(words)
    for row in fields:
        low, bits = cast("int", row["low"]), cast("int", row["bits"])
        word = cast("str", row["word"])
        values[cast("str", row["field"])] = words[word] >> low & (1 << bits) - 1
        left[word] &= ~((1 << bits) - 1 << low)
    # A register holds the surface of ss and bss, and the extended descriptor is its contents.
    if left["desc"] or (left["ext"] and model in ("flat", "bti")):
        raise _unknown(
            desc, f"bits outside all fields are set: {left['desc']:#x}, {left['ext']:#x}"
        )
    return _described(op, sfid, model, values, fields, known)


def _described(
    op: str, sfid: str, model: str, values: dict[str, int], fields: tuple[Row, ...], target: Target
) -> Descriptor:
    desc, mask = values["op"], values.get("mask")
    letters = None if mask is None else "".join(c for i, c in enumerate(_CHANNELS) if mask >> i & 1)
    if mask == 0:
        raise _unknown(desc, "no channel of a quad is enabled")
    data = DataType(
        _named("data_size", values["data_size"], desc),
        int(_named("elements", values.get("elements", 0), desc)),
        bool(values.get("transpose", 0)),
        letters,
    )
    default = "64" if operations()[op].block2d else "32"
    bits = _named("addr_size", values["addr_size"], desc) if "addr_size" in values else default
    caching = {code: name for name, code in _cachings(op, target).items()}
    if values["caching"] not in caching:
        raise _unknown(desc, f"caching {values['caching']} has no meaning for {op}")
    l1, l3 = caching[values["caching"]].split(".")
    offset = values.get("offset", 0)
    for row in fields:
        if row["field"] == "offset" and offset >> cast("int", row["bits"]) - 1:
            offset -= 1 << cast("int", row["bits"])
    registers = values["dst_registers"], values["address_registers"]
    packed, surface = bool(values.get("vnni", 0)), values.get("surface")
    common = (l1, l3, model, int(bits), *registers, packed, surface, offset)
    return Descriptor(op, sfid, data, *common)


def _fields(op: str, model: str, target: Target) -> tuple[Row, ...]:
    """The fields that the descriptor of an operation has on a target."""
    shape = "plain"
    if operations()[op].block2d:
        shape = "block2d"
    elif get_operation(op).kind == "counter":
        shape = "counter"
    elif get_operation(op).quad:
        shape = "quad"
    wanted = {"shapes": shape, "models": model}
    return tuple(
        row
        for row in rows_for("lsc_binary", "descriptor", target.name)
        if all(
            key not in row or value in cast("tuple[str, ...]", row[key])
            for key, value in wanted.items()
        )
    )


def _codes(field: str) -> Mapping[str, int]:
    for row in rows_for("lsc_binary", "descriptor_code", "pvc"):
        if row["field"] == field:
            return cast("Mapping[str, int]", row["names"])
    raise CuteError("rows", {"field": field}, "no numbers of that field", "correct the facts")


def _named(field: str, number: int, desc: int) -> str:
    for name, code in _codes(field).items():
        if code == number:
            return name
    raise _unknown(desc, f"{field} {number} has no meaning")


def _cachings(op: str, target: Target) -> Mapping[str, int]:
    """The numbers of the cachings that an operation may have; of equal ones the last is read."""
    kind = op.split("_")[0] if operations()[op].block2d else get_operation(op).kind
    for row in rows_for("lsc_binary", "descriptor_code", target.name):
        if row["field"] == "caching" and kind in cast("tuple[str, ...]", row["kinds"]):
            return cast("Mapping[str, int]", row["names"])
    raise CuteError("rows", {"kind": kind}, "no cachings of that kind", "correct the facts")


def _caching(what: Descriptor, target: Target) -> int:
    known, pair = _cachings(what.op, target), f"{what.l1}.{what.l3}"
    if pair not in known:
        raise LegalityError(
            "encode_descriptor",
            {"op": what.op, "caching": pair},
            f"the descriptor has no number for caching {pair} of this operation",
            f"one of {', '.join(known)}",
        )
    return known[pair]


def _unknown(desc: int, condition: str) -> InputError:
    return InputError(
        "decode_descriptor", {"desc": hex(desc)}, condition, "use a descriptor of an LSC message"
    )
