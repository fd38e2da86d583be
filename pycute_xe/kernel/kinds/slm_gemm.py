"""Floor 7: the GEMM whose tiles pass through shared memory: loaded together, once each."""

from __future__ import annotations

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Order, matrix
from pycute_xe.kernel.ir.statements import (
    BarrierArrive,
    BarrierWait,
    Fill,
    Loop,
    Mma,
    Statement,
)
from pycute_xe.kernel.kinds.endings import Ending, product_of, unfit
from pycute_xe.kernel.kinds.parts import by_registers
from pycute_xe.kernel.kinds.shared_tiles import MEET, SharedTile, cooperative_copy
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle

__all__ = ["check_shared", "shared_mainloop", "shared_tile", "slm_gemm"]


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
    epilogue: str | None = None,
    d_type: Numeric | str | None = None,
    types: dict[str, Numeric | str] | None = None,
    orders: dict[str, Order] | None = None,
    also: dict[str, str] | None = None,
    epilogue_tile: tuple[int, int] | None = None,
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
    check_shared("slm_gemm", mma, stages)
    held = by_registers(mma)
    ending = Ending(d, epilogue, d_type, types or {}, orders or {}, also or {}, epilogue_tile)
    behind = ending.read(held)
    tile_m, tile_n, _ = mma.tile_mnk
    m, n, k = Index("m") * tile_m, Index("n") * tile_n, Index()
    op = mma.atom.op
    sides = (
        shared_tile(held, "A", a, (0, 1), (m, k), stages, swizzle_a),
        shared_tile(held, "B", b, (1, 0), (k, n), stages, swizzle_b),
    )
    return Kernel(
        "slm_gemm",
        mma.num_subgroups,
        (matrix("A", op.A, ("M", "K"), a), matrix("B", op.B, ("K", "N"), b), *behind.operands),
        (
            Fragment("tCrC", op.D, size(mma.fragment("C")[1])),
            *(fragment for side in sides for fragment in side.fragments()),
            *behind.fragments,
        ),
        (("m", Tiles("M", tile_m)), ("n", Tiles("N", tile_n))),
        (Fill("tCrC"), *shared_mainloop(mma, sides, stages), *behind.statements),
        behind.specification(product_of(op.D)),
        tuple(side.shared() for side in sides),
    )


def shared_tile(
    mma: TiledMma,
    name: str,
    order: Order,
    modes: tuple[int, int],
    before: tuple[Index, ...],
    stages: int,
    swizzle: Swizzle | None,
) -> SharedTile:
    """Return an operand's tile on its way through shared memory, loaded by all subgroups."""
    numeric = {"A": mma.atom.op.A, "B": mma.atom.op.B}[name]
    copy = cooperative_copy(mma.operand_tile(name), mma.num_subgroups, name, order, numeric)
    return SharedTile(name, copy, mma, modes, before, stages, swizzle)


def shared_mainloop(
    mma: TiledMma, sides: tuple[SharedTile, ...], stages: int, accumulator: str = "tCrC"
) -> tuple[Statement, ...]:
    """Return the loop over K that multiplies what lies in shared memory, and what fills it first.

    One barrier a trip is enough from two stages on: behind it, what is stored was read a trip ago.
    """
    k = Index("k")
    multiply = (*(side.take(k) for side in sides), Mma(mma, accumulator, "tCrA", "tCrB"))

    def filled(tile: Index) -> tuple[Statement, ...]:
        loads = tuple(statement for side in sides for statement in side.load(tile))
        return (*loads, *(side.store(tile) for side in sides))

    if stages == 1:
        loads = tuple(statement for side in sides for statement in side.load(k))
        stores = tuple(side.store(k) for side in sides)
        body = (*loads, BarrierArrive(), BarrierWait(), *stores, *MEET, *multiply)
        return (Loop("k", Index(), Tiles("K", mma.tile_mnk[2]), body),)
    first = tuple(s for tile in range(stages - 1) for s in filled(Index(None, tile)))
    body = (*MEET, *multiply[:-1], *filled(k + (stages - 1)), multiply[-1])
    return (*first, Loop("k", Index(), Tiles("K", mma.tile_mnk[2]), body))


def check_shared(kind: str, mma: TiledMma, stages: int) -> None:
    """Refuse what no GEMM through shared memory is made of."""
    wrong, fix = unfit(mma)
    op = mma.atom.op
    narrow = op.A if op.A.bits < op.B.bits else op.B
    if not wrong and narrow.bits < 8:
        wrong = f"elements of {narrow} are narrower than a byte, and shared memory has bytes"
        fix = "share them in a wider type, or use kernel.gemm"
    if not wrong and not 1 <= stages <= 3:
        wrong, fix = f"stages is {stages}, which must be 1 to 3", "use 2"
    if wrong:
        raise KernelError(kind, {"mma": mma, "stages": stages}, wrong, fix)
