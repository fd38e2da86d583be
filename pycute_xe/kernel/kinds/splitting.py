"""Floor 7: split-K as a map of the grid: each work-group has its tiles of K and adds to D."""

from __future__ import annotations

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Order, matrix
from pycute_xe.kernel.ir.statements import AtomicStore, Fill, Reorder, Statement
from pycute_xe.kernel.kinds.endings import product_of
from pycute_xe.kernel.kinds.gemm import check_arguments
from pycute_xe.kernel.kinds.mainloop import Stretch, stretched
from pycute_xe.kernel.kinds.parts import Side, by_registers, operand_copy, store_reorder
from pycute_xe.kernel.spec.expression import Element
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.layout import size
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
    check_arguments(mma, stages)
    given = parts if chunk is None else chunk
    if (parts is None) == (chunk is None) or type(given) is not int or given < 1:
        raise KernelError(
            "split_k",
            {"parts": parts, "chunk": chunk},
            "one of parts and chunk must be given, 1 or more",
            "write split_k(mma, 4) or split_k(mma, chunk=16)",
        )
    op, (tile_m, tile_n, tile_k) = mma.atom.op, mma.tile_mnk
    m, n, held, k = Index("m") * tile_m, Index("n") * tile_n, by_registers(mma), Index()
    copies = operand_copy(held, "A", a), operand_copy(held, "B", b)
    sides = (
        Side("A", copies[0], held, (0, 1), (m, k), reordered=True),
        Side("B", copies[1], held, (1, 0), (k, n), reordered=True),
    )
    copy = operand_copy(held, "D", d)
    slots = size(mma.fragment("C")[1])
    fragments = [Fragment("tCrC", op.D, slots), *(f for s in sides for f in s.fragments())]
    moved, source = store_reorder(held, copy), "tCrC"
    ending: tuple[Statement, ...] = ()
    if moved is not None:
        source, ending = "tDrD", (Reorder("tCrC", "tDrD", moved),)
        fragments.append(Fragment("tDrD", op.D, slots))
    part, count = _part(parts, chunk, tile_k)
    body = (
        Fill("tCrC"),
        *stretched(held, sides, stages, part),
        *ending,
        AtomicStore(copy, "D", (m, n), source),
    )
    operands = (
        matrix("A", op.A, ("M", "K"), a),
        matrix("B", op.B, ("K", "N"), b),
        matrix("D", op.D, ("M", "N"), d, role="inout"),
    )
    product = product_of(op.D, (sides[0].factor, sides[1].factor))
    old = Element("D", (Index("m"), Index("n")))
    claim = Specification((Claim("D", ("m", "n"), old + product),))
    grid = (("s", count), ("m", Tiles("M", tile_m)), ("n", Tiles("N", tile_n)))
    return Kernel("split_k", mma.num_subgroups, operands, tuple(fragments), grid, body, claim)


def _part(parts: int | None, chunk: int | None, tile_k: int) -> tuple[Stretch, Index]:
    """Return the trips of a part, and how many parts there are."""
    s, trips = Index("s"), Tiles("K", tile_k)
    if parts is not None:
        stop = (trips - s + (parts - 1)) // parts
        return Stretch(Index(), stop, lambda j: parts * j + s), Index(None, parts)
    each = chunk or 1
    # Trips beyond K multiply zeros.
    return Stretch(Index(), Index(None, each), lambda j: each * s + j), Tiles("K", tile_k * each)
