"""Floor 7: split-K as a map of the grid: each work-group has its tiles of K and adds to D."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.kinds.calls import Given, recipe_of
from pycute_xe.kernel.kinds.recipe import kernel
from pycute_xe.signatures import typed

__all__ = ["split_k"]


@typed
def split_k(
    mma: TiledMma,
    parts: int | None = None,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    *,
    chunk: int | None = None,
    **given: Unpack[Given],
) -> Kernel:
    """Return the kernel ``D[m,n] += sum(k, A[m,k] * B[k,n])`` whose K is shared by work-groups.

    With ``parts``, so many work-groups share each tile: part s takes the tiles of K s, s + parts,
    and so on. With ``chunk`` instead, a work-group takes so many tiles of K in a row, and the grid
    has as many parts as that needs. Either is a map of integers, so that `verify` proves it for all
    sizes. Every part adds to D by atomic additions, in any order; D must be zero before, and an
    epilogue needs a kernel of its own. Raises `KernelError` unless one of the two is 1 or more.
    For parts that wait for one another see `scheduled`. C++: ``XeSplitK``,
    ``epilogue/fusion/xe_visitor_splitk.hpp``.

    >>> import pycute_xe as cx
    >>> kernel = split_k(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")), 4)
    >>> print(str(kernel).splitlines()[1].strip())
    computes   D[m,n] = D[m,n] + sum(k, A[m,k]*B[k,n], f32)
    >>> print(kernel.loop("k").stop, "trips; tile", 4 * Index("k") + Index("s"))
    ceil_div(-s+ceil_div(K, 32), 4) trips; tile 4*k+s
    """
    loop, ending, groups = recipe_of("split_k", mma, (a, b, d), given, ahead=stages)
    count = parts if chunk is None else chunk
    if (parts is None) == (chunk is None) or type(count) is not int or count < 1:
        raise KernelError(
            "split_k",
            {"parts": parts, "chunk": chunk},
            "one of parts and chunk must be given, 1 or more",
            "write split_k(mma, 4) or split_k(mma, chunk=16)",
        )
    shared_out = replace(groups, parts=parts, chunk=chunk)
    return kernel(loop, ending, shared_out, name="split_k")
