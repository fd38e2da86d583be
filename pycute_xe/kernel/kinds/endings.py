"""Floor 7: what kinds of GEMMs share behind the main loop: the epilogue of a product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.kinds.epilogue import Epilogue, Frame
from pycute_xe.kernel.kinds.epilogue_tiles import TiledEpilogue
from pycute_xe.kernel.spec.expression import Element, Expression, Slot, rebuilt, total
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Ending", "along", "product_of", "unfit"]

Factor: TypeAlias = Callable[[tuple[Index, ...]], Expression]
"""What is multiplied of an operand at indices."""


@dataclass(frozen=True)
class Ending:
    """How a product ends, as a caller of `gemm` says it."""

    order: Order = "row"
    text: str | None = None
    out_type: Numeric | str | None = None
    types: dict[str, Numeric | str] = field(default_factory=dict[str, "Numeric | str"])
    orders: dict[str, Order] = field(default_factory=dict[str, "Order"])
    also: dict[str, str] = field(default_factory=dict[str, str])
    cut: tuple[int, int] | None = None

    def numeric(self, mma: TiledMma) -> Numeric:
        """Return the type of D: the accumulator's where none is declared."""
        return mma.atom.op.D if self.out_type is None else as_numeric(self.out_type)

    def frame(self, mma: TiledMma, lead: tuple[str, ...] = ()) -> Frame:
        """Return where a work-group's tile stands: it begins at (m, n) tiles."""
        tile_m, tile_n, _ = mma.tile_mnk
        corner = Index("m") * tile_m, Index("n") * tile_n
        first = tuple(Index(name.lower()) for name in lead)
        return Frame(mma, lead, first, corner, self.orders, self.types, {"D": self.order})

    def read(
        self, mma: TiledMma, lead: tuple[str, ...] = (), stored: TiledCopy | None = None
    ) -> Epilogue:
        """Return the epilogue of a work-group's tile, which begins at (m, n) tiles."""
        frame, out = self.frame(mma, lead), self.numeric(mma)
        if self.cut is None:
            return Epilogue.read(frame, self.text, self.also, out, stored)
        if stored is not None:
            raise KernelError(
                "gemm",
                {"epilogue_tile": self.cut},
                "epilogue_tile cuts the store into messages of its own, copy_d names others",
                "give one of the two",
            )
        return TiledEpilogue.read_in_tiles(frame, self.text, self.also, out, self.cut)


def product_of(
    accumulator: Numeric,
    of: tuple[Factor | str, Factor | str] = ("A", "B"),
    lead: tuple[Index, ...] = (),
) -> Expression:
    """Return what the accumulator holds behind the main loop; a name is an operand's elements."""
    m, n, k = map(Index, "mnk")
    sides = (partial(Element, x) if isinstance(x, str) else x for x in of)
    one, other = (side((*lead, *at)) for side, at in zip(sides, ((m, k), (k, n)), strict=True))
    return total("k", "K", one * other, accumulator=accumulator)


def along(value: Expression, name: str) -> Expression:
    """Return an expression of row m and column n at another column."""
    index = {"n": Index(name)}

    def leaf(x: Element | Slot) -> Expression:
        if isinstance(x, Slot):
            return x
        return replace(x, at=tuple(i.substitute(index) for i in x.at))

    return rebuilt(value, leaf)


def unfit(mma: TiledMma) -> tuple[str, str]:
    """Return why no accumulator of a subgroup is a tile of D, and a way out; else nothing."""
    op = mma.atom.op
    if size(mma.atom_layout_mnk[2]) != 1:
        wrong = "subgroups along K would each write the whole of D; nothing adds them up"
        return wrong, "use subgroups along M and N only"
    if op.C != op.D:
        wrong = f"the accumulator goes in as {op.C} and comes out as {op.D}"
        return wrong, "use an atom whose C and D have the same type"
    return "", ""
