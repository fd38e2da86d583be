"""Floor 7: the dual GEMM: one left side, two right sides, combined before D is stored."""

from __future__ import annotations

from typing import Unpack

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Operand, Order
from pycute_xe.kernel.ir.statements import Map
from pycute_xe.kernel.kinds.calls import Given, recipe_of
from pycute_xe.kernel.kinds.endings import unfit
from pycute_xe.kernel.kinds.recipe import Step, kernel
from pycute_xe.kernel.spec.expression import Element, Expression, Slot, leaves, rebuilt
from pycute_xe.kernel.spec.parsing import parse
from pycute_xe.signatures import typed

HELD = {"acc0": "tCrC", "acc1": "tCrC1"}
"""The accumulators: their names in an expression, and their fragments."""

__all__ = ["dual_gemm"]


@typed
def dual_gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    *,
    combine: str = "silu(acc0) * acc1",
    **given: Unpack[Given],
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
    loop, ending, groups = recipe_of("dual_gemm", mma, (a, b, d), given, ahead=stages, many=2)
    value, types = _combined(mma, combine), ending.types or {}
    scalars = dict.fromkeys(x.operand for x in leaves(value) if isinstance(x, Element))
    step = Step(
        (Map("tCrC", _rebuilt(value, {name: Slot(x) for name, x in HELD.items()})),),
        lambda *products: _rebuilt(value, dict(zip(HELD, products, strict=True))),
        tuple(Operand(name, types.get(name, "f32"), ()) for name in scalars),
    )
    return kernel(loop, ending, groups, step=step, name="dual_gemm")


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
