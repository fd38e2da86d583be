"""Floor 7: the dual GEMM: one left side, two right sides, combined before D is stored."""

from __future__ import annotations

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Operand, Order, matrix
from pycute_xe.kernel.ir.statements import Fill, Map
from pycute_xe.kernel.kinds.endings import Ending, product_of, unfit
from pycute_xe.kernel.kinds.mainloop import mainloop
from pycute_xe.kernel.kinds.parts import Side, by_registers, operand_copy
from pycute_xe.kernel.spec.expression import Element, Expression, Slot, leaves, rebuilt
from pycute_xe.kernel.spec.parsing import parse
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed

__all__ = ["dual_gemm"]

HELD = {"acc0": "tCrC", "acc1": "tCrC1"}
"""The accumulators: their names in an expression, and their fragments."""


@typed
def dual_gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    *,
    combine: str = "silu(acc0) * acc1",
    epilogue: str | None = None,
    d_type: Numeric | str | None = None,
    types: dict[str, Numeric | str] | None = None,
    orders: dict[str, Order] | None = None,
    also: dict[str, str] | None = None,
    epilogue_tile: tuple[int, int] | None = None,
) -> Kernel:
    """Return the kernel ``D = combine(A B0, A B1)``, element by element, with one load of A.

    ``combine`` is an expression of ``acc0``, ``acc1``, numbers, scalars by name and functions; what
    it gives is the ``acc`` of ``epilogue``. B0 and B1 are stored alike. All else is as in `gemm`.
    Raises `KernelError` for parts that do not fit. C++: ``applications/dual_gemm``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (128, 128, 64))
    >>> kernel = dual_gemm(mma, combine="acc0 * acc1", d_type="bf16")
    >>> str(kernel.computes).partition(" = ")[2]
    'bf16(sum(k, A[m,k]*B0[k,n], f32)*sum(k, A[m,k]*B1[k,n], f32))'
    """
    op, held = mma.atom.op, by_registers(mma)
    value = _combined(mma, combine)
    ending = Ending(d, epilogue, d_type, types or {}, orders or {}, also or {}, epilogue_tile)
    behind = ending.read(held)
    tile_m, tile_n, _ = mma.tile_mnk
    m, n, k = Index("m") * tile_m, Index("n") * tile_n, Index()
    sides = (
        Side("A", operand_copy(held, "A", a), held, (0, 1), (m, k), reordered=True),
        *(
            Side(name, operand_copy(held, "B", b), held, (1, 0), (k, n), reordered=True)
            for name in ("B0", "B1")
        ),
    )
    scalars = dict.fromkeys(x.operand for x in leaves(value) if isinstance(x, Element))
    operands = (
        matrix("A", op.A, ("M", "K"), a),
        *(matrix(name, op.B, ("K", "N"), b) for name in ("B0", "B1")),
        *(Operand(name, ending.types.get(name, "f32"), ()) for name in scalars),
        *behind.operands,
    )
    slots = size(mma.fragment("C")[1])
    return Kernel(
        "dual_gemm",
        mma.num_subgroups,
        operands,
        (
            *(Fragment(name, op.D, slots) for name in HELD.values()),
            *(fragment for side in sides for fragment in side.fragments()),
            *behind.fragments,
        ),
        (("m", Tiles("M", tile_m)), ("n", Tiles("N", tile_n))),
        (
            *(Fill(name) for name in HELD.values()),
            *mainloop(mma, sides, stages, tuple(HELD.values())),
            Map("tCrC", _rebuilt(value, {name: Slot(x) for name, x in HELD.items()})),
            *behind.statements,
        ),
        behind.specification(
            _rebuilt(value, {f"acc{i}": product_of(op.D, ("A", f"B{i}")) for i in range(2)})
        ),
    )


def _rebuilt(value: Expression, by: dict[str, Expression]) -> Expression:
    return rebuilt(value, lambda x: by[x.fragment] if isinstance(x, Slot) else x)


def _combined(mma: TiledMma, text: str) -> Expression:
    """Return what combines the accumulators, refused where no registers hold it."""
    value = parse(text, frozenset(HELD), ())
    used = {x.fragment for x in leaves(value) if isinstance(x, Slot)}
    op, wrong, fix = mma.atom.op, "", ""
    if op.D.name != "f32" or op.C != op.D:
        wrong, fix = f"the accumulators are {op.C} and {op.D}", "use an atom that adds in f32"
    elif used != set(HELD):
        wrong, fix = "the expression does not read both accumulators", 'write "acc0 * acc1"'
    else:
        wrong, fix = unfit(mma)
    if wrong:
        raise KernelError("dual_gemm", {"combine": text, "mma": mma}, wrong, fix)
    return value
