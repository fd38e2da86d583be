"""Floor 7: a GEMM of producers, which fill shared memory, and consumers, which multiply."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.kinds.calls import Given, recipe_of
from pycute_xe.kernel.kinds.recipe import kernel
from pycute_xe.signatures import typed

__all__ = ["specialised_gemm"]


@typed
def specialised_gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 3,
    **given: Unpack[Given],
) -> Kernel:
    """Return the GEMM of ``slm_gemm`` with as many producers beside the subgroups of ``mma``.

    The first subgroups consume, the others produce: they load tiles and store them to shared memory
    as soon as the stage is free. Each stage has two named barriers: number ``1 + stage`` fires when
    it is full, ``1 + stages + stage`` when it is empty again. All else is as in `slm_gemm`, without
    swizzles. Raises `KernelError` for parts that do not fit.
    C++: ``examples/cute/tutorial/xe_gemm_subgroup_specialization_slm``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (128, 128, 32), ((4, 4, 1), (4, 1, 0)))
    >>> specialised_gemm(mma).subgroups
    32
    """
    loop, *rest = recipe_of("specialised_gemm", mma, (a, b, d), given, stages=stages)
    return kernel(replace(loop, producers=True), *rest, name="specialised_gemm")
