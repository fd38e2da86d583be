"""One DPAS with its operands, the rules it must keep, and its text as vISA and assembly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import cast

from pycute_xe.arch.dpas.types import (
    dpas_types,
    nearest_types,
    numeric_name,
    operations,
    precisions,
    register_types,
    row_bits,
    spellings,
    types_broken,
)
from pycute_xe.arch.rules import Broken, Products, Rule, follow, judge, nearest, rules
from pycute_xe.arch.target import Target, get_target, grf_bytes
from pycute_xe.errors import CoordError, CuteError, DTypeError, ShapeError
from pycute_xe.facts import rows
from pycute_xe.layout import Layout
from pycute_xe.numeric import Numeric, as_numeric, numerics
from pycute_xe.signatures import typed_fields
from pycute_xe.typing import shown

__all__ = [
    "assembly_text",
    "element_bytes",
    "visa_text",
    "DpasParts",
    "Register",
    "is_null",
    "EXEC_MASKS",
    "DpasMessage",
    "Dpas",
]


# ------------------------------------------------------------ parts
# What a DPAS message is made of: its registers, and the fields as text says them.

_NAME = re.compile(r"%?[A-Za-z_][A-Za-z_0-9]*")
_NULL = re.compile(r"(V0|%?null)")


def is_null(name: str) -> bool:
    """Tell whether a name is one of the null operand.

    >>> is_null("%null"), is_null("V0"), is_null("V1")
    (True, True, False)
    """
    return _NULL.fullmatch(name) is not None


@typed_fields
@dataclass(frozen=True, slots=True)
class Register:
    """Where an operand starts: the name of a variable (V7) or register (r19), and a byte in it.

    Raises `CoordError` for a malformed name or a negative offset.

    >>> Register("V1", 64)
    Register(name='V1', offset=64)
    """

    name: str
    offset: int = 0

    def __post_init__(self) -> None:
        """Refuse what text could not say."""
        if not _NAME.fullmatch(str(self.name)) or is_null(self.name):
            raise CoordError("Register", {"name": self.name}, "no register has this name", "use V1")
        if type(self.offset) is not int or self.offset < 0:
            raise CoordError(
                "Register", {"offset": self.offset}, "the offset must be 0 or more bytes", "use 0"
            )


@dataclass(frozen=True, slots=True)
class DpasParts:
    """The fields of a DPAS: precisions, operands, repeat count, depth, execution size and mask."""

    src1_type: str
    src2_type: str
    dst: Register
    src0: Register | None
    src1: Register
    src2: Register
    repeat: int = 8
    depth: int = 8
    exec_size: int = 16
    exec_mask: str = "M1"
    dst_type: str | None = None
    src0_type: str | None = None


# ------------------------------------------------------------ printing

NULL = "%null.0"


def visa_text(message: DpasParts) -> str:
    """Return the vISA text: raw operands with byte offsets, src2 as (register, dword)."""
    row, rest = divmod(message.src2.offset, grf_bytes())
    operands = (
        _raw(message.dst),
        _raw(message.src0) if message.src0 else NULL,
        _raw(message.src1),
        f"{message.src2.name}({row},{rest // 4})",
    )
    head = f"dpas.{message.src1_type}.{message.src2_type}.{message.depth}.{message.repeat}"
    return f"{head} ({message.exec_mask}, {message.exec_size}) {' '.join(operands)}"


def assembly_text(message: DpasParts) -> str:
    """Return the text as the disassembler prints it: registers with their types.

    Raises `CoordError` where an offset is inside an element of the operand's type.
    """
    mask, src0 = message.exec_mask, message.src0
    dst_type, src0_type = str(message.dst_type), str(message.src0_type)
    operands = (
        f"{_at(message.dst, dst_type)}:{dst_type}",
        f"{_at(src0, src0_type) if src0 else 'null'}:{src0_type}",
        f"{_at(message.src1, message.src1_type)}:{_precision(message.src1_type)}",
        f"{_at(message.src2, message.src2_type, always=True)}:{_precision(message.src2_type)}",
    )
    whole = "(W) " if mask.endswith("_NM") else ""
    channel = 4 * (int(mask[1]) - 1)
    head = f"{whole}dpas.{message.depth}x{message.repeat} ({message.exec_size}|M{channel})"
    return f"{head} {' '.join(operands)}"


def element_bytes(visa: str) -> int:
    """Return the bytes of an element that assembly counts offsets in; 1 below 8 bits.

    >>> element_bytes("hf"), element_bytes("s4"), element_bytes("df")
    (2, 1, 8)
    """
    numeric = numeric_name(visa)
    if numeric in numerics():
        return max(1, as_numeric(numeric).bits // 8)
    return {"w": 2, "uw": 2, "df": 8}.get(visa, 1)


def _raw(register: Register) -> str:
    return f"{register.name}.{register.offset}"


def _at(register: Register, visa: str, always: bool = False) -> str:
    """``r19``, or ``r19.8`` with an offset in elements."""
    size = element_bytes(visa)
    element, rest = divmod(register.offset, size)
    if rest:
        raise CoordError(
            "DpasMessage",
            {"register": register},
            f"byte {register.offset} is inside an element of {size} bytes",
            f"use {register.offset - rest}",
        )
    return f"{register.name}.{element}" if always or element else register.name


def _precision(visa: str) -> str:
    return precisions("assembly").get(numeric_name(visa), visa)


# ------------------------------------------------------------ instruction
# The systolic matrix instruction and where its operands lie in registers, by formula.


@typed_fields
@dataclass(frozen=True, slots=True)
class Dpas:
    """``D = C + A·B``: D and C are (M, N), A is (M, K), B is (K, N), addressed as (N, K).

    N is the execution size; K is the depth times the operations of a channel, set by the wider of
    A and B. A is src2, B src1, C src0 (the accumulator). Types may be given by name.
    Raises `DTypeError` for types without a row, naming the nearest rows, and `ShapeError` for an
    M or execution size that the instruction does not have.
    Document: vISA manual, DPAS.md. C++: ``XE_DPAS_TT<M, D, A, B, C>``.

    >>> dpas = Dpas(8, as_numeric("f32"), as_numeric("bf16"), as_numeric("bf16"), as_numeric("f32"))
    >>> dpas.M, dpas.N, dpas.K, str(dpas)
    (8, 16, 16, 'dpas.bf.bf.8.8 (M1,16)')
    """

    M: int
    D: Numeric
    A: Numeric
    B: Numeric
    C: Numeric
    exec_size: int = 16

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Resolve names, then refuse what has no row."""
        for name in "DABC":
            object.__setattr__(self, name, as_numeric(getattr(self, name)))
        _instruction_check_types((self.D.name, self.A.name, self.B.name, self.C.name))
        shape = _shape()
        if type(self.M) is not int or not shape["repeat_min"] <= self.M <= shape["repeat_max"]:
            raise ShapeError(
                "Dpas",
                {"M": self.M},
                f"M must be {shape['repeat_min']} to {shape['repeat_max']}",
                "use a legal M and issue more instructions",
            )
        if self.exec_size != shape["exec_size"]:
            raise ShapeError(
                "Dpas",
                {"exec_size": self.exec_size},
                f"exec_size must be {shape['exec_size']} on every supported target",
                "leave it out",
            )

    def to_cpp(self) -> str:
        """Return the C++ type of the operation.

        >>> Dpas(8, *map(as_numeric, ("f32", "bf16", "bf16", "f32"))).to_cpp()
        'XE_DPAS_TT<8,float,bfloat16_t,bfloat16_t,float>'
        """
        types = ",".join(t.to_cpp() for t in (self.D, self.A, self.B, self.C))
        return f"XE_DPAS_TT<{self.M},{types}>"

    def __str__(self) -> str:
        """Text as the vISA assembler takes it, operands left out."""
        name = precisions()
        text = f"dpas.{name[self.B.name]}.{name[self.A.name]}.{self.depth}.{self.M}"
        return f"{text} (M1,{self.exec_size})"

    def broken_rules(self, target: str | Target) -> tuple[Broken, ...]:
        """Return the rules of a target that the types break; empty if it has the instruction.

        Raises `TargetError` for an unknown target.

        >>> Dpas(8, *map(as_numeric, ("s32", "s8", "u4", "u32"))).broken_rules("lnl")
        ()
        """
        d, a, b, c = map(_spelling, (self.D.name, self.A.name, self.B.name, self.C.name))
        return types_broken(b, a, d, c, get_target(target).name)

    @property
    def N(self) -> int:
        """Columns of B, C and D: the execution size."""
        return self.exec_size

    @property
    def K(self) -> int:
        """The depth times the operations of a channel."""
        return self.depth * self.operations

    @property
    def depth(self) -> int:
        """Stages of the systolic array."""
        return _shape()["depth"]

    @property
    def operations(self) -> int:
        """Multiply-adds of one 32-bit channel in one stage, set by the wider type; at most 8."""
        return operations()[max(self.A.bits, self.B.bits)]

    @property
    def position_A(self) -> Layout:
        """(M, K) → element index of src2: row-major, in A's own width, without gaps.

        >>> print(Dpas(8, *map(as_numeric, ("f32", "bf16", "bf16", "f32"))).position_A)
        (8,16):(16,1)
        """
        return Layout((self.M, self.K), (self.K, 1))

    @property
    def position_B(self) -> Layout:
        """(N, K) → element index of src1: consecutive k of one column share a channel (VNNI).

        A dword holds as many k as fit B's own width: of a B narrower than A, one register feeds
        several stages.

        >>> print(Dpas(8, *map(as_numeric, ("f32", "bf16", "bf16", "f32"))).position_B)
        (16,(2,8)):(2,(1,32))
        """
        pack = _shape()["channel_bits"] // self.B.bits
        if pack == 1:
            return Layout((self.N, self.K))
        return Layout((self.N, (pack, self.K // pack)), (pack, (1, pack * self.N)))

    @property
    def position_C(self) -> Layout:
        """(M, N) → element index of src0 and of the destination: row-major.

        >>> print(Dpas(8, *map(as_numeric, ("f32", "bf16", "bf16", "f32"))).position_C)
        (8,16):(16,1)
        """
        return Layout((self.M, self.N), (self.N, 1))

    @property
    def bytes_A(self) -> int:
        """Register bytes of A."""
        return self.M * self.K * self.A.bits // 8

    @property
    def bytes_B(self) -> int:
        """Register bytes of B."""
        return self.K * self.N * self.B.bits // 8

    @property
    def bytes_C(self) -> int:
        """Register bytes of the accumulator C."""
        return self.M * self.N * self.C.bits // 8

    @property
    def bytes_D(self) -> int:
        """Register bytes of the destination D."""
        return self.M * self.N * self.D.bits // 8


def _instruction_check_types(types: tuple[str, str, str, str]) -> None:
    if types in _types():
        return
    d, a, b, c = map(_spelling, types)
    conditions = "; ".join(f"{why.condition} [{why.source}]" for why in types_broken(b, a, d, c))
    near = " or ".join(f"({', '.join(row)})" for row in nearest_types(types))
    raise DTypeError(
        "Dpas",
        dict(zip("DABC", types, strict=True)),
        f"no instruction takes these types: {conditions}",
        f"(D, A, B, C) = {near}",
    )


def _spelling(name: str) -> str:
    spelled = {**precisions(), **register_types()}
    return spelled.get(name, name)


@cache
def _types() -> frozenset[tuple[str, str, str, str]]:
    return frozenset(dpas_types())


@cache
def _shape() -> Mapping[str, int]:
    """The one shape row; targets that differ would need one each."""
    shapes = rows("dpas", "shape")
    if len(shapes) != 1:
        raise CuteError(
            "Dpas", {"rows": len(shapes)}, "the targets have different shapes", "name a target"
        )
    return cast("Mapping[str, int]", shapes[0])


# ------------------------------------------------------------ message

_TYPE = re.compile(r"[a-z][a-z0-9]*")
EXEC_MASKS = tuple(f"M{i}{end}" for end in ("", "_NM") for i in range(1, 9))
_DWORD = 4
_PRODUCTS: Products = MappingProxyType(
    {
        "dst_row": (("exec_size", "dst_bits"), 8),
        "src0_row": (("exec_size", "src0_bits"), 8),
        "src2_row": (("depth", "src2_bits"), 8),
    }
)
"""The bytes of a row of each operand, which grow with the depth or the execution size."""


@typed_fields
@dataclass(frozen=True, slots=True)
class DpasMessage(DpasParts):
    """A DPAS as text says it: precisions of src1 (B) and src2 (A), operands, repeat count, depth.

    Types are spelled as in the text: ``src1_type`` and ``src2_type`` bf, hf, tf32, s8, u4, …;
    ``dst_type`` and ``src0_type`` f, bf, hf, d, ud. vISA text leaves the latter to declarations:
    without them the message is vISA, with them assembly. ``src0`` is ``None`` for the null operand.
    Law: ``parse(str(m)) == m``. What is built need not be legal: ask `check`.
    Raises `DTypeError`, `ShapeError` or `CoordError` for what no text could say.
    Document: vISA manual, DPAS.md.

    >>> m = DpasMessage("bf", "bf", *map(Register, ("V1", "V2", "V3", "V4")))
    >>> print(m)
    dpas.bf.bf.8.8 (M1, 16) V1.0 V2.0 V3.0 V4(0,0)
    >>> m.check("pvc"), m.registers("pvc")
    ((), 8)
    """

    def __post_init__(self) -> None:
        """Refuse what the fields of the instruction cannot hold."""
        _check_types(self)
        _check_numbers(self)
        if self.dst_type is not None:
            str(self)  # assembly counts offsets in elements; refuse those it cannot say

    def __str__(self) -> str:
        """The text: vISA, or assembly where the types of dst and src0 are known."""
        return visa_text(self) if self.dst_type is None else assembly_text(self)

    def instruction(self, D: str | None = None, C: str | None = None) -> Dpas:
        """Return the instruction, with the types of D and C named where the text does not say.

        Left out, D is f32 or s32, and C as D. Raises what `Dpas` raises, and `ShapeError` for
        another depth.

        >>> DpasMessage("s4", "u8", *map(Register, ("V1", "V2", "V3", "V4"))).instruction().K
        32
        """
        a, b = numeric_name(self.src2_type), numeric_name(self.src1_type)
        wide = "f32" if "f" in self.src2_type else "s32"
        d = D or (wide if self.dst_type is None else numeric_name(self.dst_type))
        c = C or (d if self.src0_type is None else numeric_name(self.src0_type))
        dpas = Dpas(self.repeat, *map(as_numeric, (d, a, b, c)), exec_size=self.exec_size)
        if self.depth != dpas.depth:
            raise ShapeError(
                "DpasMessage", {"depth": self.depth}, f"it is {dpas.depth}", f"use {dpas.depth}"
            )
        return dpas

    def check(self, target: str | Target) -> tuple[Broken, ...]:
        """Return every rule that the message breaks on a target, errors first; empty if legal.

        Raises `TargetError` for an unknown target.

        >>> m = DpasMessage("bf", "hf", *map(Register, ("V1", "V2", "V3", "V4")), depth=4)
        >>> [b.rule for b in m.check("pvc")]
        ['pair', 'depth-8']
        """
        name = get_target(target).name
        broken = judge(rules("dpas", "rule", name), self.quantities, _PRODUCTS)
        return types_broken(*self._types, name) + broken

    def nearest(self, target: str | Target) -> DpasMessage:
        """Return the message with the numbers that the rules of a target allow.

        Offsets move up to the next legal byte. Raises `DTypeError` where the types are at fault:
        another type is another computation.

        >>> m = DpasMessage("bf", "bf", *map(Register, ("V1", "V2", "V3", "V4")), depth=4)
        >>> m.nearest("bmg").depth
        8
        """
        name = get_target(target).name
        wrong = types_broken(*self._types, name)
        if wrong:
            raise DTypeError("nearest", {"message": self}, wrong[0].condition, wrong[0].fix)
        table = rules("dpas", "rule", name)
        moved = replace(
            self,
            depth=_nearest(table, "depth", self.depth),
            repeat=_nearest(table, "repeat", self.repeat),
            exec_size=_nearest(table, "exec_size", self.exec_size),
        )
        values = moved.quantities
        return replace(
            moved,
            dst=Register(self.dst.name, nearest(table, "dst", values)),
            src0=self.src0 and Register(self.src0.name, nearest(table, "src0", values)),
            src1=Register(self.src1.name, nearest(table, "src1", values)),
            src2=Register(self.src2.name, nearest(table, "src2", values)),
        )

    @property
    def quantities(self) -> dict[str, int]:
        """The numbers that the rules speak about, by name; places and rows in bytes.

        The row of an operand whose type is not known is that of its narrowest type.
        """
        dst, src0, src2 = row_bits(*self._types, depth=1, exec_size=1)
        fields = {
            "depth": self.depth,
            "repeat": self.repeat,
            "exec_size": self.exec_size,
            "grf_bytes": grf_bytes(),
            "dst": self.dst.offset,
            "src0": self.src0.offset if self.src0 else 0,
            "src1": self.src1.offset,
            "src2": self.src2.offset,
            "dst_bits": dst,
            "src0_bits": src0,
            "src2_bits": src2,
        }
        return fields | follow(fields, _PRODUCTS)

    @property
    def _types(self) -> tuple[str, str, str | None, str | None]:
        return self.src1_type, self.src2_type, self.dst_type, self.src0_type

    def registers(self, target: str | Target, D: str | None = None) -> int:
        """Return how many registers the destination takes on a target.

        ``D`` names its type where the text does not say. Raises as `instruction` does.

        >>> m = DpasMessage("hf", "hf", *map(Register, ("V1", "V2", "V3", "V4")))
        >>> m.registers("bmg"), m.registers("bmg", "f16")
        (8, 4)
        """
        return -(-self.instruction(D).bytes_D // get_target(target).grf_bytes)


def _check_types(message: DpasMessage) -> None:
    for given in (message.src1_type, message.src2_type):
        if given not in spellings():
            known = ", ".join(spellings())
            raise DTypeError("DpasMessage", {"type": given}, "unknown precision", f"one of {known}")
    given = (message.dst_type, message.src0_type)
    if given == (None, None):
        return
    if None in given or not all(_TYPE.fullmatch(str(t)) for t in given):
        raise DTypeError(
            "DpasMessage",
            {"dst_type": message.dst_type, "src0_type": message.src0_type},
            "give both types or neither",
            "use f, bf, hf, d or ud, or leave both out",
        )


def _check_numbers(message: DpasMessage) -> None:
    for name in ("repeat", "depth", "exec_size"):
        value = getattr(message, name)
        if type(value) is not int or value < 0:
            raise ShapeError(
                "DpasMessage",
                {name: value},
                f"{name} must be an integer of 0 or more",
                "use 8, or 16 channels",
            )
    for name in ("dst", "src0", "src1", "src2"):
        value = getattr(message, name)
        if not isinstance(value, Register) and not (name == "src0" and value is None):
            raise CoordError(
                "DpasMessage",
                {name: value},
                "an operand must be a Register",
                'use Register("V1"), None for null',
            )
    if message.exec_mask not in EXEC_MASKS:
        raise ShapeError(
            "DpasMessage",
            {"exec_mask": message.exec_mask},
            "unknown execution mask",
            "use M1 to M8, or M1_NM",
        )
    if message.src2.offset % _DWORD:
        raise CoordError(
            "DpasMessage",
            {"src2": message.src2},
            "src2 must start at a dword",
            f"use {message.src2.offset // _DWORD * _DWORD}",
        )


def _nearest(table: tuple[Rule, ...], quantity: str, value: int) -> int:
    """The legal value next to one, below or above."""
    for rule in table:
        if rule.quantity == quantity:
            value = rule.nearest({quantity: value})
    return value
