"""Floor 7: softmax of whole rows behind a product: rows that several subgroups share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import table
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Order, Shared, matrix
from pycute_xe.kernel.ir.statements import Fill, Map, Reduce, SharedLoad, SharedStore, Statement
from pycute_xe.kernel.kinds.endings import Ending, along, product_of
from pycute_xe.kernel.kinds.epilogue import Epilogue
from pycute_xe.kernel.kinds.mainloop import mainloop
from pycute_xe.kernel.kinds.parts import Side, by_registers, operand_copy
from pycute_xe.kernel.kinds.shared_tiles import MEET, separated
from pycute_xe.kernel.kinds.vectors import vector_gather
from pycute_xe.kernel.spec.expression import (
    Expression,
    Slot,
    apply,
    leaves,
    total,
)
from pycute_xe.layout import Layout, cosize, size
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed

__all__ = ["RowReduction", "by_rows", "check_rows", "softmax_gemm"]


@typed
def softmax_gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    *,
    d_type: Numeric | str | None = None,
) -> Kernel:
    """Return the kernel ``D[m,n] = exp(P[m,n] - max(P[m,:])) / sum(exp(P[m,:] - max))``, P = A B.

    B has as many columns as a tile: a work-group then has whole rows. Each subgroup reduces its
    part of a row in registers, and all parts of a row meet in shared memory, once for the maximum
    and once for the sum. Raises `KernelError` for subgroups whose rows do not fill registers of
    maxima. C++: ``XeSoftmaxRowReduction``, example 05 (a tile of 32x512x32 over [2,16]).

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> grid = ((2, 16, 1), (16, 1, 0))
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (32, 512, 32), grid)
    >>> print(*softmax_gemm(mma).shared, sep=", ")
    sMax f32[512] shared, sSum f32[512] shared
    """
    check_rows("softmax_gemm", mma)
    rows = RowReduction(mma)
    statements = (
        *rows.reduced("max", "Max"),
        rows.mapped(apply("exp", Slot("tCrC") - Slot("tSrMax"))),
        *rows.reduced("sum", "Sum"),
        rows.mapped(Slot("tCrC") / Slot("tSrSum")),
    )
    claim = _softmax(product_of(mma.atom.op.D), mma.tile_mnk[1])
    return by_rows(
        "softmax_gemm", rows, (a, b, d), stages, d_type, ("Max", "Sum"), statements, claim
    )


def by_rows(
    kind: str,
    rows: RowReduction,
    orders: tuple[Order, Order, Order],
    stages: int,
    d_type: Numeric | str | None,
    names: tuple[str, ...],
    statements: tuple[Statement, ...],
    claim: Expression,
    more: tuple[Fragment, ...] = (),
) -> Kernel:
    """Return a GEMM of whole rows, with reductions of rows by name before D is stored."""
    mma, (a, b, d) = rows.mma, orders
    held, op = by_registers(mma), mma.atom.op
    tile_m, columns, _ = mma.tile_mnk
    m, k = Index("m") * tile_m, Index()
    ending = Ending(d, None, d_type)
    frame = replace(ending.frame(held), corner=(m, Index()))
    behind = Epilogue.read(frame, None, {}, ending.numeric(held), None)
    sides = (
        Side("A", operand_copy(held, "A", a), held, (0, 1), (m, k), reordered=True),
        Side("B", operand_copy(held, "B", b), held, (1, 0), (k, Index()), reordered=True),
    )
    return Kernel(
        kind,
        mma.num_subgroups,
        (
            matrix("A", op.A, ("M", "K"), a),
            matrix("B", op.B, ("K", columns), b),
            matrix("D", behind.outs[-1].value_type, ("M", columns), d, role="out"),
        ),
        (
            Fragment("tCrC", op.D, size(mma.fragment("C")[1])),
            *(fragment for side in sides for fragment in side.fragments()),
            *rows.fragments(names),
            *more,
            *behind.fragments,
        ),
        (("m", Tiles("M", tile_m)),),
        (
            Fill("tCrC"),
            *mainloop(mma, sides, stages),
            *statements,
            *behind.statements,
        ),
        behind.specification(claim),
        rows.arrays(names),
    )


def _softmax(product: Expression, columns: int) -> Expression:
    most = total("i", columns, along(product, "i"), how="max")
    weights = total("j", columns, apply("exp", along(product, "j") - most))
    return apply("exp", product - most) / weights


@dataclass(frozen=True)
class RowReduction:
    """Sums or maxima of the rows of a work-group's tile, known to every subgroup that needs them.

    Each subgroup writes what it has of its rows to an array, (row of the tile, subgroup along N),
    and takes what all subgroups beside it wrote.
    """

    mma: TiledMma

    @property
    def rows(self) -> int:
        """Rows of a subgroup."""
        return cosize(self.by_row)

    @property
    def by_row(self) -> Layout:
        """Register element of C → row of the subgroup."""
        return vector_gather(self.mma, "m")

    @property
    def beside(self) -> int:
        """Subgroups that share a row."""
        return size(self.mma.atom_layout_mnk[1])

    def fragments(self, names: tuple[str, ...]) -> tuple[Fragment, ...]:
        """Return the registers: a part, all parts, and the reductions by name."""
        numeric, slots = self.mma.atom.op.D, self.rows // 16
        made = [Fragment(f"tSr{name}", numeric, slots) for name in ("Part", *names)]
        return (*made, Fragment("tSrAll", numeric, slots * self.beside))

    def arrays(self, names: tuple[str, ...]) -> tuple[Shared, ...]:
        """Return the shared arrays, one for each reduction."""
        elements = self.mma.tile_mnk[0] * self.beside
        return tuple(Shared(f"s{name}", self.mma.atom.op.D, elements) for name in names)

    def reduced(self, how: str, name: str, source: str = "tCrC") -> tuple[Statement, ...]:
        """Return what reduces the rows of a fragment into ``tSr`` and a name."""
        rows, height = self.rows, self.mma.tile_mnk[0]
        first, beside = self._starts()
        each = np.arange(rows, dtype=np.int64)
        others = np.arange(self.beside, dtype=np.int64) * height
        put = separated(first + height * beside, each)
        take = separated(first, (each[None] + others[:, None]).reshape(-1))
        return (
            Reduce(how, source, "tSrPart", self.by_row),
            SharedStore("tSrPart", f"s{name}", put),
            *MEET,
            SharedLoad(f"s{name}", "tSrAll", take),
            Reduce(how, "tSrAll", f"tSr{name}", Layout((rows, self.beside), (1, 0))),
        )

    def mapped(self, value: Expression, destination: str = "tCrC") -> Map:
        """Return what computes a fragment from ``tCrC`` and reductions of its rows."""
        names = {x.fragment for x in _slots(value)} - {"tCrC"}
        return Map(destination, value, tuple((name, self.by_row) for name in sorted(names)))

    def _starts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where each subgroup's rows begin, and its number along N."""
        (_, threads), _ = self.mma.fragment("C")
        found = table(threads).reshape(size(threads), -1)
        at = np.zeros((found.shape[0], 2), dtype=np.int64)
        at[:, : found.shape[1]] = found
        at = at[table(self.mma.operand_subgroups("C")).reshape(-1)]
        return at[:, 0], at[:, 1] // (self.mma.tile_mnk[1] // self.beside)


def _slots(value: Expression) -> list[Slot]:
    return [x for x in leaves(value) if isinstance(x, Slot)]


def check_rows(kind: str, mma: TiledMma) -> None:
    """Refuse tilings whose rows cannot be reduced."""
    op, wrong, fix = mma.atom.op, "", ""
    groups_m, groups_n, groups_k = (size(mode) for mode in mma.atom_layout_mnk)
    rows = mma.tile_mnk[0] // groups_m
    if groups_k != 1:
        wrong, fix = "subgroups along K have parts of sums", "use subgroups along M and N only"
    elif op.D.name != "f32" or op.C != op.D:
        wrong, fix = f"the accumulators are {op.C} and {op.D}", "use an atom that adds in f32"
    elif rows % 16:  # what rows are reduced to fills registers of 16 lanes
        wrong = f"each subgroup has {rows} rows, which is not a multiple of 16"
        fix = f"use a tile of {16 * groups_m} rows"
    elif mma.tile_mnk[1] % groups_n:
        wrong, fix = "subgroups have different numbers of columns", "use an even tile"
    if wrong:
        raise KernelError(kind, {"mma": mma}, wrong, fix)
