"""Conditions of elementwise statements: a bit for each of 16 elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pycute_xe.emitting import instructions as asm
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.index import ELEMENT_INDEX, Index
from pycute_xe.kernel.spec.expression import Where
from pycute_xe.numeric import Numeric, as_numeric, numerics

__all__ = ["compared", "lane_numbers", "LANES", "Reading", "kind_of"]

# ------------------------------------------------------------ reading
# Fragments as operands of instructions: where 16 elements lie, and how they widen.

LANES = 16
WHOLE = asm.Region(1, 1, 0)


def kind_of(numeric: Numeric, what: str) -> str:
    """Return the type of instructions that a fragment's elements are; refused where none is."""
    kind = numeric.row.visa
    if not kind:
        known = (name for name in numerics() if as_numeric(name).row.visa)
        raise KernelError(
            "emit",
            {"fragment": what, "type": numeric},
            f"instructions on registers do not compute with {numeric}",
            f"use {', '.join(known)}",
        )
    return kind


class Reading:
    """Instructions on one register of 16 elements, and how they read fragments."""

    def __init__(
        self,
        registers: asm.Registers,
        kernel: Kernel | None = None,
        places: dict[str, NDArray[np.int64]] | None = None,
        first: int = 0,
    ) -> None:
        self.registers = registers
        self.kernel = kernel
        self.places = places or {}
        self.first = first
        self.out: list[asm.Alu] = []
        self.used = 0

    def fresh(self, kind: str = "f") -> tuple[asm.Place, asm.Place]:
        """Return a temporary: as a destination and as a source."""
        self.used += 1
        return self.last(kind)

    def last(self, kind: str) -> tuple[asm.Place, asm.Place]:
        """Return the youngest temporary in a type."""
        return self.seen(self.used - 1, kind)

    def seen(self, at: int, kind: str) -> tuple[asm.Place, asm.Place]:
        """Return a temporary by its number in a type: as a destination and as a source."""
        name = self.registers.temporary(at, kind)
        return asm.place(name, kind, 0, None), asm.place(name, kind, 0, WHOLE)

    def alu(
        self,
        op: str,
        to: asm.Place | asm.Flags,
        *sources: asm.Source,
        lanes: int = LANES,
        where: asm.Flags | None = None,
    ) -> None:
        """Append an instruction."""
        self.out.append(asm.Alu(op, lanes, to, sources, where))

    def read(self, name: str, numeric: Numeric, places: NDArray[np.int64]) -> asm.Place:
        """Return the operand that reads elements of a fragment.

        Elements below a byte are spread over words: integers as numbers, floats as the upper bits.
        """
        first, region = int(places[0]), None
        if int(places.min()) == first:
            region = asm.region((places - first).tolist())
        if numeric.bits < 8:
            return self.spread(name, numeric, places)
        kind = numeric.row.code or kind_of(numeric, name)
        if region is None:
            raise KernelError(
                "emit",
                {"fragment": name},
                "no region reads the elements that 16 work-items gather",
                "gather rows, columns or whole registers",
            )
        return asm.place(self.registers.view(name, kind), kind, first, region)

    def spread(self, name: str, numeric: Numeric, places: NDArray[np.int64]) -> asm.Place:
        """Return where elements that share bytes can be read, each in a word of its own."""
        first, bits = int(places[0]), numeric.bits
        count = 8 // bits
        if first % count or not np.array_equal(places, first + np.arange(LANES)):
            raise KernelError(
                "emit",
                {"fragment": name, "type": numeric},
                "only elements side by side are taken out of bytes that they share",
                "use a type of 8 bits, or convert the fragment first",
            )
        source = asm.place(self.registers.view(name, "ub"), "ub", first // count, WHOLE)
        to, read = self.fresh("uw" if numeric.kind == "unsigned" and bits == 2 else "w")
        own = [asm.place(to.name, to.kind, at, None, count) for at in range(count)]
        if numeric.kind == "unsigned" and bits == 4:
            self.alu("and", own[0], source, asm.number(15, "uw"), lanes=8)
            self.alu("shr", own[1], source, asm.number(4, "uw"), lanes=8)
            return read
        for at, word in enumerate(own):  # to the upper end of each word
            up = asm.number(16 - bits * (at + 1), "uw")
            self.alu("shl", word, source, up, lanes=LANES // count)
        if numeric.kind != "float":
            down = "shr" if numeric.kind == "unsigned" else "asr"
            self.alu(down, to, read, asm.number(16 - bits, "uw"))
        return read


# ------------------------------------------------------------ masking


def lane_numbers(registers: asm.Registers) -> Iterator[asm.Alu]:
    """Yield what fills the register of the numbers of lanes, where one was asked for."""
    if not registers.counts_lanes:
        return
    name = registers.lanes()
    yield asm.Alu("mov", 1, asm.place(name, "d", 0, None), (asm.number(0, "ud"),))
    for count in (1, 2, 4, 8):
        to, read = asm.place(name, "d", count, None), asm.place(name, "d", 0, WHOLE)
        yield asm.Alu("add", count, to, (read, asm.number(count, "ud")))


def compared(registers: asm.Registers, value: Where, first: int) -> asm.Alu:
    """Return the comparison that sets the predicate for 16 elements from ``first`` on.

    Raises `KernelError` where neither all lanes agree nor each is one further than the one before,
    and no region of lanes' numbers reads how far each is, as in registers that pack several rows.
    """
    flags = registers.flags()
    own, rest = _parted(value)
    steps = [own.at({ELEMENT_INDEX: first + lane}) for lane in range(LANES)]
    apart = [step - steps[0] for step in steps]
    sign = -1 if min(apart) < 0 else 1
    walk = asm.region([sign * distance for distance in apart])
    if walk is None or not all(0 <= sign * distance < LANES for distance in apart):
        raise _unsaid(value, "it is not a bound on the number of a lane")
    if not any(apart):
        here = {ELEMENT_INDEX: Index(None, first)}
        condition = asm.Condition(value.index.substitute(here), value.below.substitute(here))
        return asm.Alu("cmp.ne", LANES, flags, (asm.Scalar(condition), asm.number(0, "d")))
    # lane < bound, or -lane + rest < 0
    how, bound = ("lt", -1 * (rest + steps[0])) if sign > 0 else ("gt", rest + steps[0])
    lanes = asm.place(registers.lanes(), "d", 0, walk)
    return asm.Alu(f"cmp.{how}", LANES, flags, (lanes, asm.Scalar(bound)))


def _parted(value: Where) -> tuple[Index, Index]:
    """Return what is below zero where a condition holds: the element's part, and the rest."""
    terms = (value.index - value.below).terms
    own = Index.of({a: c for a, c in terms if ELEMENT_INDEX in Index.of({a: 1}, 0).names}, 0)
    if own.names - {ELEMENT_INDEX} or own.looked_up:
        raise _unsaid(value, "the element stands in one quotient with other names")
    return own, value.index - value.below - own


def _unsaid(value: Where, why: str) -> KernelError:
    return KernelError(
        "emit",
        {"value": value},
        f"the condition differs from element to element, and {why}",
        "run the kernel, or mask by an operand",
    )
