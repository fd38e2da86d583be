"""Floor 7: the largest elements of each row of a product, weighted by their softmax."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Unpack

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Order
from pycute_xe.kernel.ir.statements import Statement
from pycute_xe.kernel.kinds.endings import along
from pycute_xe.kernel.kinds.gemms import Given, recipe_of
from pycute_xe.kernel.kinds.row_softmax import RowReduction, by_rows, check_rows
from pycute_xe.kernel.spec.expression import Expression, Slot, apply, total
from pycute_xe.layout import size
from pycute_xe.signatures import typed

__all__ = ["top_k_gemm"]

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
