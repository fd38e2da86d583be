"""Floor 7: a GEMM of producers, which fill shared memory, and consumers, which multiply."""

from __future__ import annotations

from dataclasses import replace

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.composed import ComposedLayout
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.named import NamedArrive, NamedBarrier, NamedWait
from pycute_xe.kernel.ir.operands import Fragment, Order, matrix
from pycute_xe.kernel.ir.statements import (
    AtomicStore,
    Fence,
    Fill,
    If,
    Load,
    Loop,
    Mma,
    SharedLoad,
    SharedStore,
    Statement,
    Store,
)
from pycute_xe.kernel.kinds.endings import Ending, product_of
from pycute_xe.kernel.kinds.parts import by_registers
from pycute_xe.kernel.kinds.shared_tiles import SharedTile
from pycute_xe.kernel.kinds.slm_gemm import check_shared, shared_tile
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed

__all__ = ["specialised_gemm"]


@typed
def specialised_gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 3,
    *,
    epilogue: str | None = None,
    d_type: Numeric | str | None = None,
    types: dict[str, Numeric | str] | None = None,
    orders: dict[str, Order] | None = None,
    also: dict[str, str] | None = None,
    epilogue_tile: tuple[int, int] | None = None,
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
    check_shared("specialised_gemm", mma, stages)
    held = by_registers(mma)
    ending = Ending(d, epilogue, d_type, types or {}, orders or {}, also or {}, epilogue_tile)
    behind = ending.read(held)
    tile_m, tile_n, _ = mma.tile_mnk
    m, n, k = Index("m") * tile_m, Index("n") * tile_n, Index()
    op = mma.atom.op
    sides = (
        shared_tile(held, "A", a, (0, 1), (m, k), stages, None),
        shared_tile(held, "B", b, (1, 0), (k, n), stages, None),
    )
    body = (
        _consumers(mma, (Fill("tCrC"),)),
        _mainloop(mma, sides, stages),
        _consumers(mma, behind.statements),
    )
    return Kernel(
        "specialised_gemm",
        2 * mma.num_subgroups,
        (matrix("A", op.A, ("M", "K"), a), matrix("B", op.B, ("K", "N"), b), *behind.operands),
        (
            Fragment("tCrC", op.D, size(mma.fragment("C")[1])),
            *(fragment for side in sides for fragment in side.fragments()),
            *behind.fragments,
        ),
        (("m", Tiles("M", tile_m)), ("n", Tiles("N", tile_n))),
        tuple(map(_doubled, body)),
        behind.specification(product_of(op.D)),
        tuple(side.shared() for side in sides),
    )


def _mainloop(mma: TiledMma, sides: tuple[SharedTile, ...], stages: int) -> Loop:
    """Return the loop in which tile ``k`` is produced, and consumed."""
    k, count = Index("k"), mma.num_subgroups
    trips = Tiles("K", mma.tile_mnk[2])
    full = NamedBarrier(k % stages + 1, count, count)
    empty = NamedBarrier(k % stages + (1 + stages), count, count)
    produced: tuple[Statement, ...] = (
        *(statement for side in sides for statement in side.load(k)),
        If(Index(None, stages - 1), k, (NamedArrive(empty, "consumer"), NamedWait(empty))),
        *(side.store(k) for side in sides),
        Fence(),
        NamedArrive(full, "producer"),
    )
    consumed: tuple[Statement, ...] = (
        NamedArrive(full, "consumer"),
        NamedWait(full),
        *(side.take(k) for side in sides),
        If(k + stages, trips, (NamedArrive(empty, "producer"),)),
        Mma(mma, "tCrC", "tCrA", "tCrB"),
    )
    producers = If(Index(None, count - 1), Index(SUBGROUP_INDEX), produced)
    return Loop("k", Index(), trips, (producers, _consumers(mma, consumed)))


def _consumers(mma: TiledMma, body: tuple[Statement, ...]) -> If:
    return If(Index(SUBGROUP_INDEX), Index(None, mma.num_subgroups), body)


def _doubled(statement: Statement) -> Statement:
    """Return a statement in which subgroups beyond those of the MMA do what the first ones do."""
    match statement:
        case Loop() | If():
            return replace(statement, body=tuple(map(_doubled, statement.body)))
        case Load() | Store() | AtomicStore():
            return replace(statement, copy=_doubled_copy(statement.copy))
        case SharedStore() | SharedLoad():
            return replace(statement, places=_doubled_places(statement.places))
        case _:
            return statement


def _doubled_copy(copy: TiledCopy) -> TiledCopy:
    threads, values = copy.layout_tv_tiled
    return replace(copy, layout_tv_tiled=make_layout(make_layout(threads, Layout(2, 0)), values))


def _doubled_places(places: Layout | ComposedLayout) -> Layout:
    plain = places if isinstance(places, Layout) else places.layout
    subgroups, elements = plain
    return make_layout(make_layout(subgroups, Layout(2, 0)), elements)
