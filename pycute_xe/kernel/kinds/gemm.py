"""Floor 7: the GEMM, D = epilogue(A B), as CUTLASS runs it on Xe."""

from __future__ import annotations

from types import NoneType

from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Order, matrix
from pycute_xe.kernel.ir.statements import Fill
from pycute_xe.kernel.kinds.endings import Ending, product_of, unfit
from pycute_xe.kernel.kinds.given_copies import GivenCopy, given_copy
from pycute_xe.kernel.kinds.mainloop import mainloop
from pycute_xe.kernel.kinds.parts import by_registers
from pycute_xe.kernel.kinds.transforming import operand_side, transformed_operands
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed

__all__ = ["check_arguments", "gemm"]

_COPIES = (TiledCopy, Block2DOp, CopyAtom, LegacyCopyAtom)


@typed
def gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    *,
    copy_a: GivenCopy = None,
    copy_b: GivenCopy = None,
    copy_d: GivenCopy = None,
    reorder_a: bool = True,
    reorder_b: bool = True,
    transform_a: str | None = None,
    transform_b: str | None = None,
    epilogue: str | None = None,
    d_type: Numeric | str | None = None,
    types: dict[str, Numeric | str] | None = None,
    orders: dict[str, Order] | None = None,
    also: dict[str, str] | None = None,
    batch: bool = False,
    epilogue_tile: tuple[int, int] | None = None,
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
    check_arguments(mma, stages, copy_a, copy_b, copy_d)
    op, (tile_m, tile_n, _) = mma.atom.op, mma.tile_mnk
    lead = ("L",) if batch else ()
    first = (Index("l"),) if batch else ()
    m, n = Index("m") * tile_m, Index("n") * tile_n
    declared = types or {}
    ending = Ending(d, epilogue, d_type, declared, orders or {}, also or {}, epilogue_tile)
    row, column, k = len(lead), len(lead) + 1, Index()
    held = by_registers(mma)
    frame = ending.frame(held, lead)
    kinds = {name: as_numeric(declared.get(name, getattr(op, name))) for name in ("A", "B")}
    copies = (
        given_copy(held, "A", a, copy_a, kinds["A"]),
        given_copy(held, "B", b, copy_b, kinds["B"]),
    )
    sides = (
        operand_side(frame, "A", copies[0], (row, column), (*first, m, k), reorder_a, transform_a),
        operand_side(frame, "B", copies[1], (column, row), (*first, k, n), reorder_b, transform_b),
    )
    stored = None if copy_d is None else given_copy(held, "D", d, copy_d, ending.numeric(held))
    behind = ending.read(held, lead, stored)
    operands = (
        matrix("A", kinds["A"], (*lead, "M", "K"), a),
        matrix("B", kinds["B"], (*lead, "K", "N"), b),
        *transformed_operands(sides),
        *behind.operands,
    )
    accumulator = Fragment("tCrC", op.D, size(mma.fragment("C")[1]))
    loaded = (fragment for side in sides for fragment in side.fragments())
    fragments = (accumulator, *loaded, *behind.fragments)
    body = (Fill("tCrC"), *mainloop(mma, sides, stages), *behind.statements)
    grid = (("m", Tiles("M", tile_m)), ("n", Tiles("N", tile_n)))
    if batch:
        grid = (("l", Index("L")), *grid)
    claim = behind.specification(product_of(op.D, (sides[0].factor, sides[1].factor), first))
    return Kernel("gemm", mma.num_subgroups, operands, fragments, grid, body, claim)


def check_arguments(mma: object, stages: object, *copies: object) -> None:
    """Refuse slips that would otherwise surface far from here."""
    wrong, fix = "", ""
    if not isinstance(mma, TiledMma):
        wrong, fix = f"{type(mma).__name__} is not a tiled MMA", "use workgroup_mma(op, tile=…)"
    elif any(found := unfit(mma)):
        wrong, fix = found
    elif type(stages) is not int or stages < 0:
        wrong, fix = f"stages is {stages!r}, which is not a count of tiles", "use 0 or more"
    elif any(not isinstance(copy, (*_COPIES, str, NoneType)) for copy in copies):
        wrong = "a copy is neither a tiled copy, an atom nor the name of one"
        fix = "use make_block_2d_copy_A(mma, strides, op=…)"
    if wrong:
        raise KernelError("gemm", {"mma": mma, "stages": stages}, wrong, fix)
