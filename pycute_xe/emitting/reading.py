"""Floor 9: fragments as operands of instructions: where 16 elements lie, and how they widen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycute_xe.emitting.instructions import Alu
from pycute_xe.emitting.regions import Region, region
from pycute_xe.emitting.registers import BYTES, Registers
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel
from pycute_xe.numeric import Numeric

__all__ = ["KINDS", "LANES", "WHOLE", "Reading", "kind_of", "operand_text"]

GRF = 64
LANES = 16
KINDS = {
    "f32": "f",
    "f16": "hf",
    "bf16": "bf",
    "s32": "d",
    "u32": "ud",
    "s8": "b",
    "u8": "ub",
}
WHOLE = Region(1, 1, 0)


def operand_text(name: str, kind: str, element: int, read: Region | None, stride: int = 1) -> str:
    """Return an operand: a variable, the register and element in it, and how it walks.

    ``read`` is the region of a source, None for a destination.

    >>> operand_text("tCrC_f", "f", 33, Region(1, 1, 0)), operand_text("tErD_bf", "bf", 16, None)
    ('tCrC_f(2,1)<1;1,0>', 'tErD_bf(0,16)<1>')
    """
    row, column = divmod(element * BYTES[kind], GRF)
    walk = f"<{stride}>" if read is None else str(read)
    return f"{name}({row},{column // BYTES[kind]}){walk}"


def kind_of(numeric: Numeric, what: str) -> str:
    """Return the type of instructions that a fragment's elements are; refused where none is."""
    kind = KINDS.get(numeric.name)
    if kind is None:
        raise KernelError(
            "emit",
            {"fragment": what, "type": numeric},
            f"instructions on registers do not compute with {numeric}",
            f"use {', '.join(KINDS)}",
        )
    return kind


class Reading:
    """Instructions on one register of 16 elements, and how they read fragments."""

    def __init__(
        self,
        registers: Registers,
        kernel: Kernel | None = None,
        places: dict[str, NDArray[np.int64]] | None = None,
        first: int = 0,
    ) -> None:
        self.registers = registers
        self.kernel = kernel
        self.places = places or {}
        self.first = first
        self.out: list[Alu] = []
        self.used = 0

    def fresh(self, kind: str = "f") -> tuple[str, str]:
        """Return a temporary: as a destination and as a source."""
        name = self.registers.temporary(self.used, kind)
        self.used += 1
        return operand_text(name, kind, 0, None), operand_text(name, kind, 0, WHOLE)

    def alu(self, op: str, to: str, *sources: str, lanes: int = LANES) -> None:
        """Append an instruction; sources of which ``$`` follows a modifier are scalar operands."""
        scalars = tuple(dict.fromkeys(s.partition("$")[2] for s in sources if "$" in s))
        read: list[str] = []
        for source in sources:
            modifier, scalar, name = source.partition("$")
            held = f"%{scalars.index(name)}(0,0)<0;1,0>" if scalar else ""
            read.append(modifier + held)
        self.out.append(Alu(f"{op} (M1_NM, {lanes}) {to} {' '.join(read)}", scalars))

    def read(self, name: str, numeric: Numeric, places: NDArray[np.int64]) -> str:
        """Return the operand that reads elements of a fragment."""
        first, found = int(places[0]), None
        if int(places.min()) == first:
            found = region(places - first)
        if numeric.bits == 4 and numeric.kind != "float":
            return self.halves(name, numeric, places)
        kind = "ub" if numeric.name == "f8e5m2" else kind_of(numeric, name)
        if kind == "bf":
            kind = "uw"
        if found is None:
            raise KernelError(
                "emit",
                {"fragment": name},
                "no region reads the elements that 16 work-items gather",
                "gather rows, columns or whole registers",
            )
        return operand_text(self.registers.view(name, kind), kind, first, found)

    def halves(self, name: str, numeric: Numeric, places: NDArray[np.int64]) -> str:
        """Return where integers of half a byte can be read, spread over words."""
        first = int(places[0])
        if first % 2 or not np.array_equal(places, first + np.arange(LANES)):
            raise KernelError(
                "emit",
                {"fragment": name, "type": numeric},
                "only elements side by side are taken out of bytes that they share",
                "use a type of 8 bits, or convert the fragment first",
            )
        source = operand_text(self.registers.view(name, "ub"), "ub", first // 2, WHOLE)
        words = self.registers.temporary(self.used, "w")
        self.used += 1
        low, high = (operand_text(words, "w", at, None, 2) for at in (0, 1))
        read = operand_text(words, "w", 0, WHOLE)
        if numeric.kind == "unsigned":
            self.alu("and", low, source, "0xf:uw", lanes=8)
            self.alu("shr", high, source, "0x4:uw", lanes=8)
            return read
        self.alu("shl", low, source, "0xc:uw", lanes=8)
        self.alu("shl", high, source, "0x8:uw", lanes=8)
        self.alu("asr", operand_text(words, "w", 0, None), read, "0xc:uw")
        return read

    def widened(self, source: str, numeric: Numeric) -> str:
        """Return where a source can be read as f32."""
        if numeric.name == "f32":
            return source
        if numeric.name == "f8e5m2":  # the upper byte of an f16
            to, _ = self.fresh("uw")
            self.alu("shl", to, source, "0x8:uw")
            half = operand_text(self.registers.temporary(self.used - 1, "hf"), "hf", 0, WHOLE)
            to, read = self.fresh()
            self.alu("mov", to, half)
            return read
        if numeric.name == "bf16":
            to, _ = self.fresh("ud")
            self.alu("shl", to, source, "0x10:uw")
            return operand_text(self.registers.temporary(self.used - 1), "f", 0, WHOLE)
        to, read = self.fresh()
        self.alu("mov", to, source)
        return read
