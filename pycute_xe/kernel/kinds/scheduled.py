"""Floor 7: a GEMM that follows a plan: stream-K, split-K with fix-up, grouped, experts."""

from __future__ import annotations

from typing import Literal, Unpack

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.kinds.calls import Given, recipe_of
from pycute_xe.kernel.kinds.recipe import Schedule, kernel
from pycute_xe.signatures import typed

Groups = Literal["none", "batch", "stacked"]

__all__ = ["scheduled"]


@typed
def scheduled(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    *,
    groups: Groups = "none",
    fixup: bool = True,
    **given: Unpack[Given],
) -> Kernel:
    """Return the GEMM whose work-groups look up in tables which pieces of which tiles they compute.

    The tables are operands, ``work`` and ``count``, which `plan_tables` makes of any `Plan`. Pieces
    of a shared tile meet in the scratch ``W``: the first stores there, others add by atomics, and
    the last one loads the sum, adds its own and has the epilogue. Each waits before and signals
    behind at a counter of the tile in ``locks``, as the table says. ``fixup=False`` leaves that
    out, for plans of whole tiles. ``groups="batch"`` gives every matrix a leading mode L, the
    problem's number; smaller problems leave parts of it unused. ``"stacked"`` gives it to B alone:
    rows of A and D of all experts lie one after the other, each expert's from a whole tile on.
    Types in memory and transforms are as in `gemm`; what a transform reads has the leading mode of
    its operand, ``B * scale[l,k/128,n]``, and a trip loads the scales of its group. Raises
    `KernelError` as `gemm` does. C++: ``kernel/xe_gemm_cooperative.hpp``,
    ``kernel/xe_gemm_array_cooperative.hpp``.

    >>> import numpy as np, pycute_xe as cx
    >>> from pycute_xe.kernel.schedules import StreamK, plan_tables, tile_counts
    >>> op, alone = cx.XE_DPAS_TT(8, "f32", "bf16"), ((1, 1, 1), (1, 1, 0))
    >>> mma = cx.workgroup_mma(op, (16, 16, 16), alone)
    >>> plan = StreamK(4, least=1).plan(tile_counts(32, 16, 96, mma.tile_mnk))
    >>> A, B = np.ones((32, 96)), np.ones((96, 16))
    >>> rounded = {"A": "bf16", "B": "bf16"}
    >>> D = cx.run(scheduled(mma), A, B, **plan_tables(plan), dtype=rounded)
    >>> bool((D == 96).all())
    True
    """
    if groups not in ("none", "batch", "stacked"):
        raise KernelError(
            "scheduled",
            {"groups": groups},
            "groups must be none, batch or stacked",
            'use groups="batch"',
        )
    loop, ending, _ = recipe_of("scheduled", mma, (a, b, d), given, ahead=stages)
    plan = Schedule(groups, plan=True, fixup=fixup)
    return kernel(loop, ending, plan, name="scheduled")
