"""The GEMMs by name, each a short recipe: plain, through shared memory, split, planned."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypedDict, Unpack

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Operand, Order
from pycute_xe.kernel.ir.statements import Map
from pycute_xe.kernel.kinds.parts import GivenCopy, unfit
from pycute_xe.kernel.kinds.recipe import Epilogue, Input, Mainloop, Schedule, Step, kernel
from pycute_xe.kernel.kinds.scalars import demand_scalars
from pycute_xe.kernel.spec.equations import parse
from pycute_xe.kernel.spec.expression import Element, Expression, Slot, leaves, rebuilt
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle

__all__ = [
    "Given",
    "Recipe",
    "dual_gemm",
    "gemm",
    "recipe_of",
    "scheduled",
    "slm_gemm",
    "specialised_gemm",
    "split_k",
]

Groups = Literal["none", "batch", "stacked"]
ACCUMULATORS = {"acc0": "tCrC", "acc1": "tCrC1"}
"""The accumulators: their names in an expression, and their fragments."""

Recipe = tuple[Mainloop, Epilogue, Schedule]


class Given(TypedDict, total=False):
    """What every kind of GEMM may be given by name; `Input` and `Epilogue` say what it means.

    ``types`` holds the types in memory of A and B too; ``batch`` gives every matrix a leading mode.
    """

    copy_a: GivenCopy
    copy_b: GivenCopy
    copy_d: GivenCopy
    reorder_a: bool
    reorder_b: bool
    transform_a: str | None
    transform_b: str | None
    epilogue: str | None
    d_type: Numeric | str | None
    types: dict[str, Numeric | str] | None
    orders: dict[str, Order] | None
    also: dict[str, str] | None
    batch: bool
    epilogue_tile: tuple[int, int] | None


def recipe_of(
    kind: str,
    mma: TiledMma,
    orders: tuple[Order, Order, Order],
    given: Given,
    *,
    ahead: int = 0,
    stages: int | None = None,
    many: int = 0,
) -> Recipe:
    """Return the recipe of what a caller gives; with ``many``, of B0, B1 and so on.

    Raises `InputError` for an argument that no kind has.
    """
    unknown = next((name for name in given if name not in Given.__annotations__), None)
    if unknown is not None:
        known = ", ".join(Given.__annotations__)
        wrong = f"{unknown} is not an argument of {kind}"
        raise InputError(kind, {unknown: given.get(unknown)}, wrong, f"use {known}")
    types = given.get("types") or {}

    def factor(name: str, order: Order) -> Input:
        transform = given.get("transform_a" if name == "A" else "transform_b")
        if many and transform is not None and name != "A":
            transform = transform.replace("B", name)
        return Input(
            order,
            types.get(name),
            transform,
            given.get("copy_a" if name == "A" else "copy_b"),
            given.get("reorder_a" if name == "A" else "reorder_b", True),
            ahead,
            stages,
        )

    a, b, d = orders
    each = tuple(factor(f"B{i}", b) for i in range(many))
    ending = Epilogue(
        given.get("epilogue"), given.get("d_type"), d, given.get("types"), given.get("orders"),
        given.get("also"), given.get("epilogue_tile"), given.get("copy_d"),
    )  # fmt: skip
    groups = Schedule("batch" if given.get("batch") else "none")
    return Mainloop(mma, factor("A", a), each or factor("B", b)), ending, groups


@typed
def gemm(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    **given: Unpack[Given],
) -> Kernel:
    """Return the kernel ``D[m,n] = epilogue(sum(k, A[m,k] * B[k,n]))`` of a tiled MMA.

    Each work-group computes one tile of D. ``a``, ``b`` and ``d`` declare the storage order of the
    (M,K), (K,N) and (M,N) matrices; ``stages`` is how many tiles of K the prefetch runs ahead.
    Further arguments, by name, are those of `Given`: copies, ``transform_a`` and ``transform_b``
    (see `Input`), ``epilogue``, ``d_type``, ``also``, ``epilogue_tile`` (see `Epilogue`), and
    ``types={"B": "s4"}``, which says what memory holds of A or B too. ``batch`` adds a leading mode
    L to every matrix. Raises `KernelError` when the parts do not fit, never for maps that are
    wrong: those `verify` finds. C++: ``collective/xe_mma.hpp``, ``collective/xe_epilogue.hpp``.

    >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> print(str(gemm(mma, epilogue="relu(acc + bias[n])", d_type="bf16")).splitlines()[1].strip())
    computes   D[m,n] = bf16(relu(sum(k, A[m,k]*B[k,n], f32) + bias[n]))
    """
    return kernel(*recipe_of("gemm", mma, (a, b, d), given, ahead=stages))


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
    loop, ending, groups = recipe_of("slm_gemm", mma, (a, b, d), given, stages=stages)
    a_side = replace(loop.a, swizzle=swizzle_a)
    b_sides = tuple(replace(one, swizzle=swizzle_b) for one in loop.bs)
    return kernel(Mainloop(mma, a_side, b_sides[0]), ending, groups, name="slm_gemm")


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
    loop, ending, groups = recipe_of("specialised_gemm", mma, (a, b, d), given, stages=stages)
    return kernel(replace(loop, producers=True), ending, groups, name="specialised_gemm")


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
    **given: Unpack[Given],
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
    >>> k, s = map(cx.kernel.Index, "ks")
    >>> print(kernel.loop("k").stop, "trips; tile", 4 * k + s)
    ceil_div(-s+ceil_div(K, 32), 4) trips; tile 4*k+s
    """
    loop, ending, groups = recipe_of("split_k", mma, (a, b, d), given, ahead=stages)
    count = parts if chunk is None else chunk
    if (parts is None) == (chunk is None) or type(count) is not int or count < 1:
        raise KernelError(
            "split_k",
            {"parts": parts, "chunk": chunk},
            "one of parts and chunk must be given, 1 or more",
            "write split_k(mma, 4) or split_k(mma, chunk=16)",
        )
    shared_out = replace(groups, parts=parts, chunk=chunk)
    return kernel(loop, ending, shared_out, name="split_k")


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
    if given.get("batch"):
        wrong = "scheduled takes no batch, its tables deal out problems"
        raise KernelError("scheduled", {"batch": True}, wrong, 'use groups="batch"')
    loop, ending, _ = recipe_of("scheduled", mma, (a, b, d), given, ahead=stages)
    plan = Schedule(groups, plan=True, fixup=fixup)
    return kernel(loop, ending, plan, name="scheduled")


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
    demand_scalars("dual_gemm", value, ACCUMULATORS, declared=types)
    scalars = dict.fromkeys(x.operand for x in leaves(value) if isinstance(x, Element))
    step = Step(
        (Map("tCrC", _rebuilt(value, {name: Slot(x) for name, x in ACCUMULATORS.items()})),),
        lambda *products: _rebuilt(value, dict(zip(ACCUMULATORS, products, strict=True))),
        tuple(Operand(name, types.get(name, "f32"), ()) for name in scalars),
    )
    return kernel(loop, ending, groups, step=step, name="dual_gemm")


def _rebuilt(value: Expression, by: dict[str, Expression]) -> Expression:
    return rebuilt(value, lambda x: by[x.fragment] if isinstance(x, Slot) else x)


def _combined(mma: TiledMma, text: str) -> Expression:
    """Return what combines the accumulators, refused where no registers hold it."""
    value = parse(text, frozenset(ACCUMULATORS), ())
    used = {x.fragment for x in leaves(value) if isinstance(x, Slot)}
    op, wrong, fix = mma.atom.op, "", ""
    if op.D.name != "f32" or op.C != op.D:
        wrong, fix = f"the accumulators are {op.C} and {op.D}", "use an atom that adds in f32"
    elif used != set(ACCUMULATORS):
        wrong, fix = "the expression does not read both accumulators", 'write "acc0 * acc1"'
    else:
        wrong, fix = unfit(mma)
    if wrong:
        raise KernelError("dual_gemm", {"combine": text, "mma": mma}, wrong, fix)
    return value
