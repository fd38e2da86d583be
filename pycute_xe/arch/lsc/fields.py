"""The fields of an LSC message: what its data is, and how its addresses are formed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from pycute_xe.arch.target import (
    Target,
    message_target,
    messages_only,
    refuse_known_in_part,
    targets,
)
from pycute_xe.errors import DTypeError, ShapeError, TargetError
from pycute_xe.facts import rows
from pycute_xe.signatures import typed, typed_fields

__all__ = [
    "CACHINGS",
    "EXEC_MASKS",
    "EXEC_SIZES",
    "MODELS",
    "SFIDS",
    "SIZES",
    "VECTORS",
    "Address",
    "DataType",
    "Operand",
    "check_name",
    "check_operand",
    "check_type",
    "null_or_name",
    "Operation",
    "get_operation",
    "operations",
    "address_registers",
    "data_registers",
    "known_target",
]

# ------------------------------------------------------------ operations
# The sub-operations of LSC_UNTYPED, rows of ``atoms/lsc.toml``.

Kind = Literal["load", "store", "atomic", "counter"]


@typed_fields
@dataclass(frozen=True, slots=True)
class Operation:
    """A sub-operation: name without ``lsc_``, encoding, kind and extra operands.

    ``extra`` counts the data operands beside the address; the old value is returned in ``dst``.

    >>> get_operation("atomic_icas")
    Operation(name='atomic_icas', code=18, kind='atomic', extra=2)
    """

    name: str
    code: int
    kind: Kind
    extra: int

    @property
    def strided(self) -> bool:
        """Whether one base address and a pitch give the addresses of all channels."""
        return self.name.endswith("_strided")

    @property
    def block2d(self) -> bool:
        """Whether it moves blocks of a surface, and is a `Block2DMessage`."""
        return self.name.endswith("_block2d")

    @property
    def quad(self) -> bool:
        """Whether a channel mask picks among four elements at each address."""
        return self.name.endswith("_quad")


@cache
def operations() -> dict[str, Operation]:
    """Return every sub-operation, by name, in the order of their codes.

    >>> list(operations())[:4], len(operations())
    (['load', 'load_strided', 'load_quad', 'load_block2d'], 31)
    """
    named = (
        Operation(
            cast("str", row["name"]),
            cast("int", row["code"]),
            cast("Kind", row["kind"]),
            cast("int", row["extra"]),
        )
        for row in rows("lsc", "operation")
    )
    return {op.name: op for op in sorted(named, key=lambda op: op.code)}


@typed
def get_operation(name: object) -> Operation:
    """Return the sub-operation of a `Message` by its name; `ShapeError` for any other name."""
    operation = operations().get(name) if isinstance(name, str) else None
    if operation is None or operation.block2d:
        raise ShapeError(
            "Message",
            {"op": name},
            "unknown operation (block-2D ones are Block2DMessage)",
            f"one of {', '.join(op.name for op in operations().values() if not op.block2d)}",
        )
    return operation


# ------------------------------------------------------------ fields

Operand = int | str
"""An immediate, or the name of the register that holds the value."""

Sfid = Literal["ugm", "ugml", "slm"]
Model = Literal["flat", "bss", "ss", "bti"]

SFIDS = ("ugm", "ugml", "slm")
CACHINGS = ("df", "uc", "ca", "wb", "wt", "st", "ri")
EXEC_SIZES = (1, 2, 4, 8, 16, 32)
EXEC_MASKS = tuple(f"M{i}{end}" for end in ("", "_NM") for i in range(1, 9))

SIZES = {  # bits in memory, bits in a register
    "d8": (8, 8),
    "d16": (16, 16),
    "d32": (32, 32),
    "d64": (64, 64),
    "d8u32": (8, 32),
    "d16u32": (16, 32),
    "d16u32h": (16, 32),
}
VECTORS = (1, 2, 3, 4, 8, 16, 32, 64)
MODELS = ("flat", "bss", "ss", "bti")
_NULL = re.compile(r"(V0|%{0,2}null)(\.0)?")
_NAME = re.compile(r"(%[0-9]+|%{0,2}[A-Za-z_][A-Za-z_0-9]*)(\.[0-9]+)?")
_REGION = re.compile(_NAME.pattern + r"(\([0-9]+,[0-9]+\))?(<[0-9]+;[0-9]+,[0-9]+>)?")


@typed_fields
@dataclass(frozen=True, slots=True)
class DataType:
    """What a message moves per address: ``vector`` elements of ``size``, or a quad's ``mask``.

    ``size`` is d8, d16, d32, d64, or d8u32, d16u32, d16u32h (narrow in memory, 32 bits in a
    register, the last in its upper half). ``transpose`` puts the elements of one address side by
    side in registers. ``mask`` picks some of x, y, z, w for the quad operations.
    Raises `DTypeError` for a size, and `ShapeError` for a vector or mask, that does not exist.
    Document: vISA manual, LSC_UNTYPED.md, DataSize, DataElemsPerAddr, ChMask.

    >>> str(DataType("d32", 4)), str(DataType("d32", 16, transpose=True)), DataType("d8u32")
    ('d32x4', 'd32x16t', DataType(size='d8u32', vector=1, transpose=False, mask=None))
    """

    size: str
    vector: int = 1
    transpose: bool = False
    mask: str | None = None

    def __post_init__(self) -> None:
        """Refuse what the fields of the instruction cannot hold."""
        operands: dict[str, object] = {"size": self.size, "vector": self.vector, "mask": self.mask}
        if self.size not in tuple(SIZES):  # a tuple takes unhashable values too
            raise DTypeError(
                "DataType", operands, "unknown data size", f"one of {', '.join(SIZES)}"
            )
        if type(self.vector) is not int or self.vector not in VECTORS:
            known = ", ".join(map(str, VECTORS))
            raise ShapeError("DataType", operands, "unknown vector size", f"one of {known}")
        if self.mask is not None:
            self._check_mask(operands)

    def _check_mask(self, operands: dict[str, object]) -> None:
        mask = self.mask
        if not isinstance(mask, str) or not mask or mask != _in_order(mask):
            raise ShapeError(
                "DataType", operands, "malformed channel mask", "use some of xyzw, in order"
            )
        if self.vector != 1 or self.transpose:
            raise ShapeError(
                "DataType",
                operands | {"transpose": self.transpose},
                "a masked quad has neither vector size nor transpose",
                "leave them out",
            )

    def __str__(self) -> str:
        """Text as in vISA, the vector size 1 left out unless transposed."""
        if self.mask is not None:
            return f"{self.size}.{self.mask}"
        vector = f"x{self.vector}" if self.vector > 1 or self.transpose else ""
        return f"{self.size}{vector}{'t' if self.transpose else ''}"

    @property
    def memory_bits(self) -> int:
        """Bits of one element in memory.

        >>> DataType("d16u32h").memory_bits, DataType("d16u32h").register_bits
        (16, 32)
        """
        return SIZES[self.size][0]

    @property
    def register_bits(self) -> int:
        """Bits that one element takes in a register."""
        return SIZES[self.size][1]

    @property
    def upper_half(self) -> bool:
        """Whether the element sits in the upper 16 of its 32 bits (d16u32h)."""
        return self.size == "d16u32h"

    @property
    def elements(self) -> int:
        """Elements moved per address.

        >>> DataType("d32", mask="xzw").elements
        3
        """
        return self.vector if self.mask is None else len(self.mask)

    @property
    def channels(self) -> tuple[int, ...]:
        """Which consecutive elements at an address are moved, ascending.

        >>> DataType("d32", mask="xzw").channels, DataType("d32", 2).channels
        ((0, 2, 3), (0, 1))
        """
        if self.mask is None:
            return tuple(range(self.vector))
        return tuple("xyzw".index(letter) for letter in self.mask)


@typed_fields
@dataclass(frozen=True, slots=True)
class Address:
    """How the byte address of each channel is formed: ``surface + scale*register + offset``.

    ``model`` is flat, or bss, ss, bti with a ``surface`` (number or operand name); ``bits`` the
    address size; ``register`` names the operand with one address per channel (one in all, if
    strided or transposed), ``None`` for append counters, which have no address. ``pitch`` is the
    bytes between channels of a strided message, ``None`` for packed.
    Raises `ShapeError` for what the fields of the instruction cannot hold.
    Document: vISA manual, LSC_UNTYPED.md, AddrType to AddrSize and Surface.

    >>> str(Address("bti", 32, "V12", surface=4, scale=4, offset=-16))
    'bti(0x4)[4*V12-0x10]:a32'
    """

    model: str
    bits: int
    register: str | None
    surface: Operand = 0
    scale: int = 1
    offset: int = 0
    pitch: Operand | None = None

    def __post_init__(self) -> None:
        """Refuse what the fields of the instruction cannot hold."""
        operands = {"model": self.model, "bits": self.bits, "register": self.register}
        if self.model not in MODELS:
            raise ShapeError(
                "Address", operands, "unknown address model", f"one of {', '.join(MODELS)}"
            )
        if type(self.bits) is not int or self.bits not in (16, 32, 64):
            raise ShapeError("Address", operands, "unknown address size", "use 16, 32 or 64 bits")
        if self.register is not None:
            check_name("Address", "register", self.register)
            if null_or_name("Address", "register", self.register) is None:
                raise ShapeError(
                    "Address", operands, "the null register holds no address", "name a register"
                )
        check_operand("Address", "surface", self.surface, 0, 2**32 - 1)
        if self.model == "flat" and (type(self.surface) is not int or self.surface != 0):
            raise ShapeError(
                "Address",
                operands | {"surface": self.surface},
                "flat addresses have no surface",
                "leave it 0, or use bss, ss or bti",
            )
        check_operand("Address", "scale", self.scale, 1, 2**16 - 1, named=False)
        check_operand("Address", "offset", self.offset, -(2**31), 2**31 - 1, named=False)
        if self.pitch is not None:
            check_operand("Address", "pitch", self.pitch, -(2**31), 2**32 - 1)
        if self.register is None and (self.scale, self.offset, self.pitch) != (1, 0, None):
            raise ShapeError("Address", operands, "nothing to scale or offset", "name a register")

    def __str__(self) -> str:
        """Text as in vISA, scale 1 and offset 0 left out; without brackets if no register."""
        model = self.model if self.model == "flat" else f"{self.model}({_text(self.surface)})"
        if self.register is None:
            return model
        scale = "" if self.scale == 1 else f"{self.scale}*"
        offset = "" if self.offset == 0 else f"{'+-'[self.offset < 0]}{abs(self.offset):#x}"
        pitch = "" if self.pitch is None else f",{_text(self.pitch)}"
        return f"{model}[{scale}{self.register}{offset}{pitch}]:a{self.bits}"


def check_type(operation: str, field: str, value: object, kind: type) -> None:
    """Refuse a value of another type than the field has."""
    if not isinstance(value, kind):
        raise ShapeError(
            operation,
            {field: value},
            f"{field} must be a {kind.__name__}",
            f"give a {kind.__name__}",
        )


def check_name(operation: str, field: str, value: object) -> None:
    """Refuse anything but the name of an operand: ``V12``, ``V12.64``, ``%0`` (inline assembly)."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ShapeError(
            operation,
            {field: value},
            "not the name of a register operand",
            "use a name such as V12",
        )


def null_or_name(operation: str, field: str, value: object) -> str | None:
    """Return the operand name, or ``None`` for any spelling of the null register."""
    if value is None:
        return None
    check_name(operation, field, value)
    name = str(value)
    return None if _NULL.fullmatch(name) else name


def check_operand(
    operation: str, field: str, value: object, least: int, most: int, named: bool = True
) -> None:
    """Refuse what is neither a number in range nor (if ``named``) a name, perhaps with region."""
    if type(value) is int and least <= value <= most:
        return
    if named and isinstance(value, str) and _REGION.fullmatch(value):
        return
    way_out = f"use a number in {least}…{most}" + (", or a name such as V12" if named else "")
    raise ShapeError(operation, {field: value}, "the field cannot hold it", way_out)


def _text(operand: Operand) -> str:
    return operand if isinstance(operand, str) else f"{operand:#x}"


def _in_order(mask: str) -> str:
    return "".join(letter for letter in "xyzw" if letter in mask)


# ------------------------------------------------------------ sizes
# How many registers the operands of a message take.


def known_target(target: str | Target) -> Target:
    """Return the target of a message; `TargetError` says why for machines known only in part.

    >>> known_target("mtl")
    Traceback (most recent call last):
    pycute_xe.errors.TargetError: lsc(target=mtl): 8 lanes ...
    >>> known_target("dg2").grf_bytes
    32
    """
    if not messages_only(target):
        refuse_known_in_part("lsc", target.name if isinstance(target, Target) else target)
    machine = message_target(target)
    if machine.name not in targets() and not messages_only(machine):
        condition = "no rule speaks about a target of that name"
        raise TargetError("lsc", {"target": machine}, condition, f"one of {', '.join(targets())}")
    return machine


def laid_out_target(target: str | Target) -> Target:
    """Return a target of which block-2D messages and descriptors are known as well.

    >>> laid_out_target("dg2")
    Traceback (most recent call last):
    pycute_xe.errors.TargetError: lsc(target=dg2): 8 lanes ...
    """
    machine = known_target(target)
    refuse_known_in_part("lsc", machine.name)
    return machine


def data_registers(data: DataType, exec_size: int, target: str | Target) -> int:
    """Return the registers of one data operand.

    Law: the elements of one address, transposed, are packed; else each takes the channels of a
    whole execution unit, rounded up to registers.

    >>> data_registers(DataType("d32", 16, True), 1, "pvc")
    1
    >>> data_registers(DataType("d64"), 1, "pvc")
    2
    """
    machine = known_target(target)
    nbytes = data.register_bits // 8
    if data.transpose:
        return exec_size * -(-data.vector * nbytes // machine.grf_bytes)
    channels = max(exec_size, machine.exec_size)
    return data.elements * -(-channels * nbytes // machine.grf_bytes)


def address_registers(address: Address, channels: int, single: bool, target: str | Target) -> int:
    """Return the registers of the addresses: one register, or those of an execution unit."""
    machine = known_target(target)
    units = channels if single else max(channels, machine.exec_size)
    return -(-units * address.bits // 8 // machine.grf_bytes)
