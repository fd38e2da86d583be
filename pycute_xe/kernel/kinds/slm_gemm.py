"""Floor 7: the GEMM whose tiles pass through shared memory: loaded together, once each."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.kinds.calls import Given, recipe_of
from pycute_xe.kernel.kinds.recipe import Mainloop, kernel
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle

__all__ = ["slm_gemm"]


@typed
def slm_gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    *,
    swizzle_a: Swizzle | None = None,
    swizzle_b: Swizzle | None = None,
    **given: Unpack[Given],
) -> Kernel:
    """Return the kernel ``D[m,n] = epilogue(sum(k, A[m,k] * B[k,n]))``, tiles in shared memory.

    The subgroups of a work-group load a tile of A and one of B together, each an equal part,
    reorder it, and store it to an array; behind a barrier each takes what it multiplies. ``stages``
    tiles (1 to 3) lie in the array: with 1, a trip has two barriers; with more, one, and tile
    ``k + stages - 1`` is stored while tile ``k`` is multiplied. ``swizzle_a`` and ``swizzle_b``
    permute the elements of a tile in the array, against bank conflicts. All else is as in `gemm`.
    Raises `KernelError` for parts that do not fit, and for types narrower than a byte.
    C++: ``examples/cute/tutorial/xe_gemm_slm``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> print(*slm_gemm(mma).shared, sep=", ")
    sA bf16[16384] shared, sB bf16[16384] shared
    """
    loop, *rest = recipe_of("slm_gemm", mma, (a, b, d), given, stages=stages)
    inputs = (replace(x, swizzle=s) for x, s in ((loop.a, swizzle_a), (loop.b, swizzle_b)))
    return kernel(Mainloop(mma, *inputs), *rest, name="slm_gemm")
