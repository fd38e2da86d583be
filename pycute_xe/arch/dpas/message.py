"""One DPAS with its operands, as vISA or assembly text says it, and the rules it must keep."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pycute_xe.arch.dpas.instruction import Dpas
from pycute_xe.arch.dpas.parts import DpasParts, Register
from pycute_xe.arch.dpas.printing import assembly_text, visa_text
from pycute_xe.arch.dpas.types import numeric_name, row_bits, spellings, types_broken
from pycute_xe.arch.rules import Broken, Rule, judge, nearest, rules
from pycute_xe.arch.target import Target, get_target, grf_bytes
from pycute_xe.errors import CoordError, DTypeError, ShapeError
from pycute_xe.numeric import as_numeric
from pycute_xe.signatures import typed_fields

__all__ = ["EXEC_MASKS", "DpasMessage"]

_TYPE = re.compile(r"[a-z][a-z0-9]*")
EXEC_MASKS = tuple(f"M{i}{end}" for end in ("", "_NM") for i in range(1, 9))
_DWORD = 4


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
        found = Dpas(self.repeat, *map(as_numeric, (d, a, b, c)), exec_size=self.exec_size)
        if self.depth != found.depth:
            raise ShapeError(
                "DpasMessage", {"depth": self.depth}, f"it is {found.depth}", f"use {found.depth}"
            )
        return found

    def check(self, target: str | Target) -> tuple[Broken, ...]:
        """Return every rule that the message breaks on a target, errors first; empty if legal.

        Raises `TargetError` for an unknown target.

        >>> m = DpasMessage("bf", "hf", *map(Register, ("V1", "V2", "V3", "V4")), depth=4)
        >>> [b.rule for b in m.check("pvc")]
        ['pair', 'depth-8']
        """
        name = get_target(target).name
        found = judge(rules("dpas", "rule", name), self.quantities)
        return types_broken(*self._types, name) + found

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
        found = rules("dpas", "rule", name)
        moved = replace(
            self,
            depth=_nearest(found, "depth", self.depth),
            repeat=_nearest(found, "repeat", self.repeat),
            exec_size=_nearest(found, "exec_size", self.exec_size),
        )
        values = moved.quantities
        return replace(
            moved,
            dst=Register(self.dst.name, nearest(found, "dst", values)),
            src0=self.src0 and Register(self.src0.name, nearest(found, "src0", values)),
            src1=Register(self.src1.name, nearest(found, "src1", values)),
            src2=Register(self.src2.name, nearest(found, "src2", values)),
        )

    @property
    def quantities(self) -> dict[str, int]:
        """The numbers that the rules speak about, by name; places and rows in bytes.

        The row of an operand whose type is not known is that of its narrowest type.
        """
        dst, src0, src2 = row_bits(*self._types, self.depth, self.exec_size)
        return {
            "depth": self.depth,
            "repeat": self.repeat,
            "exec_size": self.exec_size,
            "grf_bytes": grf_bytes(),
            "dst": self.dst.offset,
            "src0": self.src0.offset if self.src0 else 0,
            "src1": self.src1.offset,
            "src2": self.src2.offset,
            "dst_row": max(1, dst // 8),
            "src0_row": max(1, src0 // 8),
            "src2_row": max(1, src2 // 8),
        }

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


def _nearest(found: tuple[Rule, ...], quantity: str, value: int) -> int:
    """The legal value next to one, below or above."""
    for rule in found:
        if rule.quantity == quantity:
            value = rule.nearest({quantity: value})
    return value
