"""Floor 7: what kinds of GEMMs share behind the main loop: the epilogue of a product."""

from __future__ import annotations

from dataclasses import dataclass, field

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.kinds.epilogue import Epilogue, Frame
from pycute_xe.kernel.kinds.epilogue_tiles import TiledEpilogue
from pycute_xe.kernel.spec.expression import Element, Expression, total
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Ending", "product_of"]


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


def product_of(accumulator: Numeric, lead: tuple[str, ...] = (), b: str = "B") -> Expression:
    """Return what the accumulator holds behind the main loop, of A and B or another right side."""
    m, n, k = map(Index, "mnk")
    first = tuple(Index(x.lower()) for x in lead)
    product = Element("A", (*first, m, k)) * Element(b, (*first, k, n))
    return total("k", "K", product, accumulator=accumulator)
