"""Floor 7: the GEMM mainloop, D = A B, as CUTLASS runs it on Xe."""

from __future__ import annotations

from pycute_xe.atom.block2d_copy import (
    make_block_2d_copy_A,
    make_block_2d_copy_B,
    make_block_2d_copy_D,
    make_block_2d_prefetch,
)
from pycute_xe.atom.reordering import reorder_from_copy, reorder_to_copy
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import OPERAND_MODES, TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.kernel import Kernel
from pycute_xe.kernel.statements import (
    BarrierArrive,
    BarrierWait,
    Fill,
    Fragment,
    Load,
    Loop,
    Mma,
    Operand,
    Order,
    Prefetch,
    Reorder,
    Statement,
    Store,
    When,
)
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed

__all__ = ["gemm", "gmem_stride"]


@typed
def gmem_stride(operand: str, order: Order) -> tuple[str | int, str | int]:
    """Return the strides of an operand in CuTe's mode order, ``"ld"`` for the leading dimension.

    Row-major B has N contiguous, so its (N, K) strides are ``(1, "ld")``.
    Raises `KernelError` for an order that is neither "row" nor "col".

    >>> gmem_stride("A", "row"), gmem_stride("B", "row")
    (('ld', 1), (1, 'ld'))
    """
    if order not in ("row", "col"):
        raise KernelError(
            "gemm", {operand: order}, f"{order!r} is no storage order", 'use "row" or "col"'
        )
    first_contiguous = (order == "col") != (operand == "B")
    return (1, "ld") if first_contiguous else ("ld", 1)


def gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    *,
    copy_a: TiledCopy | None = None,
    copy_b: TiledCopy | None = None,
    copy_d: TiledCopy | None = None,
    reorder_a: bool = True,
    reorder_b: bool = True,
) -> Kernel:
    """Return the kernel ``D[M,N] = A[M,K] B[K,N]`` of a tiled MMA.

    Each work-group computes one tile of D. ``a``, ``b`` and ``d`` declare the storage order of the
    (M,K), (K,N) and (M,N) matrices; ``stages`` is how many tiles of K the prefetch runs ahead.
    Copies default to those CUTLASS chooses. ``reorder_a=False`` lets the MMA read the registers as
    the copy left them. Raises `KernelError` when the parts do not fit, never for maps that are
    wrong: those `verify` finds. C++: ``collective/xe_mma.hpp``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> print(str(gemm(workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")))).splitlines()[0])
    gemm(A[M,K] bf16 row-major, B[K,N] bf16 row-major, D[M,N] f32 row-major)
    """
    _check_arguments(mma, stages, copy_a, copy_b, copy_d)
    op = mma.atom.op
    if op.C != op.D:
        raise KernelError(
            "gemm",
            {"mma": mma.atom},
            f"the accumulator goes in as {op.C} and comes out as {op.D}",
            "use an atom whose C and D have the same type",
        )
    copy_a = copy_a or make_block_2d_copy_A(mma, gmem_stride("A", a))
    copy_b = copy_b or make_block_2d_copy_B(mma, gmem_stride("B", b))
    copy_d = copy_d or make_block_2d_copy_D(mma, gmem_stride("D", d))
    operands = (
        _operand(mma, "A", "A", a, op.A),
        _operand(mma, "B", "B", b, op.B),
        _operand(mma, "D", "C", d, op.D),
    )
    loads = (
        _Side("A", copy_a, "tArA", "tCrA", (Index("m"), Index("k")), reorder_a),
        _Side("B", copy_b, "tBrB", "tCrB", (Index("n"), Index("k")), reorder_b),
    )
    fragments = [Fragment("tCrC", op.D, size(mma.fragment("C")[1]))]
    for side, numeric in zip(loads, (op.A, op.B), strict=True):
        fragments += side.fragments(mma, numeric)
    body = (
        Fill("tCrC"),
        *_mainloop(mma, loads, stages),
        *_epilogue(mma, copy_d, fragments),
    )
    m, n, _ = mma.tile_mnk
    grid = (("m", Tiles("M", m)), ("n", Tiles("N", n)))
    return Kernel("gemm", mma, operands, tuple(fragments), grid, body)


def _check_arguments(mma: object, stages: object, *copies: object) -> None:
    """Refuse slips that would otherwise surface far from here."""
    wrong, fix = "", ""
    if not isinstance(mma, TiledMma):
        wrong, fix = f"{type(mma).__name__} is no tiled MMA", "use workgroup_mma(op, tile=…)"
    elif size(mma.atom_layout_mnk[2]) != 1:
        wrong = "subgroups along K would each write the whole of D; nothing adds them up"
        fix = "use subgroups along M and N only"
    elif type(stages) is not int or stages < 0:
        wrong, fix = f"stages is {stages!r}, no count of tiles", "use 0 or more"
    elif any(copy is not None and not isinstance(copy, TiledCopy) for copy in copies):
        wrong, fix = "a copy is no tiled copy", "use make_block_2d_copy_A(mma, strides, op=…)"
    if wrong:
        raise KernelError("gemm", {"mma": mma, "stages": stages}, wrong, fix)


def _operand(mma: TiledMma, name: str, role: str, order: Order, numeric: Numeric) -> Operand:
    i, j = OPERAND_MODES[role]
    x_mode = gmem_stride(name, order).index(1)
    return Operand(name, numeric, ("MNK"[i], "MNK"[j]), x_mode, mma.operand_tile(role), order)


class _Side:
    """One of the two operands that are loaded: its copy and its registers before and after."""

    def __init__(
        self,
        operand: str,
        copy: TiledCopy,
        loaded: str,
        read: str,
        at: tuple[Index, Index],
        reordered: bool,
    ) -> None:
        self.operand, self.copy, self.at = operand, copy, at
        self.loaded = loaded
        self.read = read if reordered else loaded
        self.reordered = reordered

    def fragments(self, mma: TiledMma, numeric: Numeric) -> list[Fragment]:
        slots = self.copy.messages * self.copy.atom.values
        out = [Fragment(self.loaded, self.copy.value_type, slots)]
        if self.reordered:
            out.append(Fragment(self.read, numeric, size(mma.fragment(self.operand)[1])))
        return out

    def load(self) -> Load:
        return Load(self.copy, self.operand, self.at, self.loaded)

    def prefetch(self, k: Index) -> Prefetch:
        return Prefetch(make_block_2d_prefetch(self.copy), self.operand, (self.at[0], k))

    def reorder(self, mma: TiledMma) -> tuple[Statement, ...]:
        if not self.reordered:
            return ()
        slots = reorder_from_copy(self.copy, mma, self.operand)
        return (Reorder(self.loaded, self.read, slots),)


def _mainloop(mma: TiledMma, sides: tuple[_Side, _Side], stages: int) -> tuple[Statement, ...]:
    trips = Tiles("K", mma.tile_mnk[2])
    warm_up = Loop("p", 0, stages, tuple(side.prefetch(Index("p")) for side in sides))
    ahead = Index("k", stages)
    body: tuple[Statement, ...] = (
        BarrierArrive(),
        *(side.load() for side in sides),
        *((When(ahead, trips, tuple(s.prefetch(ahead) for s in sides)),) if stages else ()),
        *(statement for side in sides for statement in side.reorder(mma)),
        Mma(mma, "tCrC", sides[0].read, sides[1].read),
        BarrierWait(),
    )
    return (*((warm_up,) if stages else ()), Loop("k", 0, trips, body))


def _epilogue(mma: TiledMma, copy: TiledCopy, fragments: list[Fragment]) -> tuple[Statement, ...]:
    slots: Layout = reorder_to_copy(mma, "C", copy)
    at = (Index("m"), Index("n"))
    if slots == Layout(size(slots)):
        return (Store(copy, "D", at, "tCrC"),)
    fragments.append(Fragment("tDrD", copy.value_type, size(slots) // 16))
    return (Reorder("tCrC", "tDrD", slots), Store(copy, "D", at, "tDrD"))
