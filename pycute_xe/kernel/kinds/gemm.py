"""Floor 7: the GEMM, D = epilogue(A B), as CUTLASS runs it on Xe."""

from __future__ import annotations

from typing import Unpack

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.kinds.calls import Given, recipe_of
from pycute_xe.kernel.kinds.recipe import kernel
from pycute_xe.signatures import typed

__all__ = ["gemm"]


@typed
def gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    **given: Unpack[Given],
) -> Kernel:
    """Return the kernel ``D[m,n] = epilogue(sum(k, A[m,k] * B[k,n]))`` of a tiled MMA.

    Each work-group computes one tile of D. ``a``, ``b`` and ``d`` declare the storage order of the
    (M,K), (K,N) and (M,N) matrices; ``stages`` is how many tiles of K the prefetch runs ahead.
    Copies default to those CUTLASS chooses; an operation, an atom or a name given instead is tiled
    over the subgroups, an older name for the messages it sends. ``reorder_a=False`` lets the MMA
    read the registers as the copy left them. ``epilogue`` is an expression of ``acc``, of numbers,
    of scalars by name, of matrices ``C`` or ``X[m,n]``, of ``bias[n]`` and ``bias[m]``, and of the
    functions of `pycute_xe.kernel.spec.functions`; ``types`` and ``orders`` declare its operands
    (the accumulator's type and rows by default). ``also`` names further outputs, their expressions,
    and vectors of sums: ``{"rows[m]": "sum(n, D[m,n])"}`` adds to what the vector had.
    ``types={"B": "s4"}`` says what memory holds of A or B: it is converted to the MMA's type behind
    its load. ``transform_a`` and ``transform_b`` are expressions of ``A`` or ``B`` that are
    multiplied in its place: ``(B - zero[k/128,n]) * scale[k/128,n]``, with scalars, a value for
    each ``m`` or ``n``, and one for each group along k, which is loaded once for the group and must
    be a multiple of the tile's K; ``types`` and ``orders`` declare what they read.
    ``d_type`` converts last, to nearest even, integers saturated. ``batch`` adds a leading mode L
    to every matrix. ``epilogue_tile`` cuts each subgroup's share of D into tiles of so many rows
    and columns, loaded, computed and stored in turn; CUTLASS's is the shape of one DPAS. Raises
    `KernelError` when the parts do not fit, never for maps that are wrong:
    those `verify` finds. C++: ``collective/xe_mma.hpp``, ``collective/xe_epilogue.hpp``.

    >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> print(str(gemm(mma, epilogue="relu(acc + bias[n])", d_type="bf16")).splitlines()[1].strip())
    computes   D[m,n] = bf16(relu(sum(k, A[m,k]*B[k,n], f32) + bias[n]))
    """
    return kernel(*recipe_of("gemm", mma, (a, b, d), given, ahead=stages))
