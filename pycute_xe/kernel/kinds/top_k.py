"""The largest elements of each row of a product, weighted by their softmax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Unpack

import numpy as np

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Order, Shared
from pycute_xe.kernel.ir.statements import Map, Reduce, SharedLoad, SharedStore, Statement
from pycute_xe.kernel.kinds.gemms import Given, Recipe, recipe_of
from pycute_xe.kernel.kinds.parts import along
from pycute_xe.kernel.kinds.recipe import Step, kernel
from pycute_xe.kernel.kinds.side import MEET
from pycute_xe.kernel.kinds.vectors import accumulator_places, vector_gather
from pycute_xe.kernel.spec.expression import (
    Expression,
    Slot,
    apply,
    leaves,
    total,
)
from pycute_xe.kernel.tiles.slots import separated
from pycute_xe.layout import Layout, cosize, size
from pycute_xe.signatures import typed

__all__ = ["top_k_gemm", "RowReduction", "by_rows", "check_rows", "softmax_gemm"]

# ------------------------------------------------------------ row softmax
# Softmax of whole rows behind a product: rows that several subgroups share.


@typed
def softmax_gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    **given: Unpack[Given],
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
    recipe = recipe_of("softmax_gemm", mma, (a, b, d), given, ahead=stages)
    claim = partial(_softmax, columns=mma.tile_mnk[1])
    return by_rows("softmax_gemm", rows, recipe, ("Max", "Sum"), statements, claim)


def by_rows(
    kind: str,
    rows: RowReduction,
    recipe: Recipe,
    names: tuple[str, ...],
    statements: tuple[Statement, ...],
    claim: Callable[[Expression], Expression],
    more: tuple[Fragment, ...] = (),
) -> Kernel:
    """Return a GEMM of whole rows, with reductions of rows by name before its epilogue."""
    fragments, arrays = (*rows.fragments(names), *more), rows.arrays(names)
    step = Step(statements, claim, (), fragments, arrays, rows=True)
    return kernel(*recipe, step=step, name=kind)


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
        first, column = (accumulator_places(self.mma, x).min(axis=1) for x in "mn")
        beside = column // (self.mma.tile_mnk[1] // self.beside)
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
        names = {x.fragment for x in leaves(value) if isinstance(x, Slot)} - {"tCrC"}
        return Map(destination, value, tuple((name, self.by_row) for name in sorted(names)))


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


# ------------------------------------------------------------ top k

MOST = 8


@typed
def top_k_gemm(
    mma: TiledMma,
    count: int = 2,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    **given: Unpack[Given],
) -> Kernel:
    """Return the kernel that keeps the ``count`` largest values of each row of P = A B.

    With ``t1 = max(P[m,:])`` and ``t(i+1) = max(below(P[m,:], t(i)))``, the next smaller value that
    occurs, D[m,n] is ``exp(P[m,n] - t1)`` over the sum of those of a row where P[m,n] is at least
    ``t(count)``, and 0 elsewhere: equal values count once, and all of them are kept. B has as many
    columns as a tile. Raises `KernelError` as `softmax_gemm` does, and for another ``count`` than 1
    to 8. C++: ``LinCombTopKSoftmaxCol``, example 05.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((1, 2, 1), (2, 1, 0)))
    >>> print(*(array.name for array in top_k_gemm(mma).shared))
    sTop0 sTop1 sSum
    """
    check_rows("top_k_gemm", mma)
    if not 1 <= count <= MOST:
        raise KernelError(
            "top_k_gemm", {"count": count}, f"count is {count}, which must be 1 to {MOST}", "use 2"
        )
    rows = RowReduction(mma)
    tops = tuple(f"Top{i}" for i in range(count))
    statements: list[Statement] = [*rows.reduced("max", tops[0])]
    for last, name in pairwise(tops):
        lower = apply("below", Slot("tCrC"), Slot(f"tSr{last}"))
        statements += [rows.mapped(lower, "tSrLow"), *rows.reduced("max", name, "tSrLow")]
    least, most = Slot(f"tSr{tops[-1]}"), Slot(f"tSr{tops[0]}")
    statements += [
        rows.mapped(_weight(Slot("tCrC"), least, most)),
        *rows.reduced("sum", "Sum"),
        rows.mapped(Slot("tCrC") / Slot("tSrSum")),
    ]
    low = Fragment("tSrLow", mma.atom.op.D, size(mma.fragment("C")[1]))
    recipe = recipe_of("top_k_gemm", mma, (a, b, d), given, ahead=stages)
    claim = partial(_claim, columns=mma.tile_mnk[1], count=count)
    more = (low,) if count > 1 else ()
    return by_rows("top_k_gemm", rows, recipe, (*tops, "Sum"), tuple(statements), claim, more)


def _weight(value: Expression, least: Expression, most: Expression) -> Expression:
    return apply("at_least", value, least) * apply("exp", value - most)


def _claim(product: Expression, columns: int, count: int) -> Expression:
    most = total("i0", columns, along(product, "i0"), how="max")
    least = most
    for number in range(1, count):
        lower = apply("below", along(product, f"i{number}"), least)
        least = total(f"i{number}", columns, lower, how="max")
    weights = total("j", columns, _weight(along(product, "j"), least, most))
    return _weight(product, least, most) / weights
