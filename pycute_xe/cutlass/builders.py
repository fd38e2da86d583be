"""What CUTLASS's collective builders for Intel Xe choose."""

from __future__ import annotations

from math import gcd
from typing import Any, cast

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.makers import workgroup_mma
from pycute_xe.atom.mma_atom import XE_DPAS_TT
from pycute_xe.cutlass.configuration import CutlassType, Pointer, kind_of, shown, tag_of
from pycute_xe.errors import InputError
from pycute_xe.facts import rows
from pycute_xe.layout import Layout
from pycute_xe.numeric import as_numeric

__all__ = ["built_epilogue", "built_mainloop", "is_declared"]

MOST_SUBGROUPS = 32
"""As many as a builder lets a work-group have."""

ANY = {0: "architecture", 1: "operator_class"}
MAINLOOP = {**ANY, 8: "element", 11: "stages", 12: "schedule"}
EPILOGUE = {**ANY, 4: "automatic_tile", 5: "element", 6: "element", 13: "epilogue_policy"}
SOURCES = (*map(as_numeric, ("f32", "bf16", "f16", "s32")), tag_of("void"))
"""What C of a built epilogue may be."""


def _demand(arguments: tuple[Any, ...], kinds: dict[int, str]) -> None:
    """Refuse arguments that no builder for Xe takes, each by its number."""
    for index, kind in kinds.items():
        value = arguments[index]
        if kind not in kind_of(value):
            wrong = f"argument {index + 1} of CollectiveBuilder is {shown(value)}, not {kind}"
            fix = f"give the {kind.replace('_', ' ')} of a builder for Intel Xe"
            raise InputError("CollectiveBuilder", {"argument": shown(value)}, wrong, fix)


def _demand_tile(tile: Any, cluster: Any) -> None:
    """Refuse a tile that is not three extents, and a cluster, which Xe has not."""
    if cluster != (1, 1, 1):
        wrong = f"the cluster is {shown(cluster)}: Xe has none"
        raise InputError(
            "CollectiveBuilder", {"cluster": shown(cluster)}, wrong, "write Shape<_1,_1,_1>"
        )
    is_extents = len(tile) == 3 and all(type(extent) is int and extent > 0 for extent in tile)
    if not is_extents:
        wrong = f"the tile {shown(tile)} is not three extents, of M, N and K"
        raise InputError(
            "CollectiveBuilder", {"tile": shown(tile)}, wrong, "write Shape<_256,_256,_32>"
        )


def _atom(m: int, a: Any, b: Any, c: Any) -> Any:
    """The DPAS of the types if there is one, else that of A in bf16, or that of f16.

    The builder takes f16 by default, since converting to it takes fewer instructions.
    """
    if _is_declared(str(c), str(a), str(b)):
        return XE_DPAS_TT(m, c, a, b)
    return XE_DPAS_TT(m, "f32", "bf16" if a == as_numeric("bf16") else "f16")


def _is_declared(c: str, a: str, b: str) -> bool:
    types = {"c": c, "a": a, "b": b}
    return any(
        all(kind in cast("tuple[str, ...]", row[x]) for x, kind in types.items())
        for row in rows("cutlass", "dpas")
    )


def is_declared(op: Dpas) -> bool:
    """Whether CuTe C++ declares an operation: its types stand in the rows ``[[dpas]]``.

    >>> is_declared(XE_DPAS_TT(8, "f32", "bf16")), is_declared(XE_DPAS_TT(8, "f32", "f8e4m3"))
    (True, False)
    """
    return all(_is_declared(str(c), str(op.A), str(op.B)) for c in (op.C, op.D))


def built_mainloop(arguments: tuple[Any, ...]) -> CutlassType:
    """Return the main loop that ``CollectiveBuilder<…>::CollectiveOp`` stands for.

    Raises `InputError` for arguments of other architectures. Source: intel/sycl-tla 6601377,
    include/cutlass/gemm/collective/builders/xe_mma_builder.inl.
    """
    if len(arguments) != 13:
        wrong = f"the builder of a main loop takes 13 arguments, not {len(arguments)}"
        raise InputError("CollectiveBuilder", {"arguments": len(arguments)}, wrong, "give 13")
    _demand(arguments, MAINLOOP)
    _, _, a, order_a, _, b, order_b, _, c, tile, cluster, _, schedule = arguments
    _demand_tile(tile, cluster)
    atom = _atom(gcd(8, tile[0]), a, b, c)
    m, n = (-(-extent // of) for extent, of in zip(tile, (atom.M, atom.N), strict=False))
    first = min(m, 8)
    along_n = min(n, MOST_SUBGROUPS // first)
    along_m = min(m, MOST_SUBGROUPS // along_n)
    mma = workgroup_mma(atom, tile, Layout((along_m, along_n, 1), (along_n, 1, 0)))
    grouped = schedule.row.get("runs") == "groups"
    if schedule.name == "KernelScheduleAuto":
        schedule = tag_of("KernelXe")
    policy = "MainloopXeL1StagedGroup" if grouped else "MainloopXeL1Staged"
    void, identity = tag_of("void"), tag_of("identity")
    return CutlassType(
        "CollectiveMma",
        (
            *(CutlassType(policy, (2 if grouped else 3, schedule)), tile),
            *(a, _strides("A", order_a, grouped), b, _strides("B", order_b, grouped), mma),
            *(void, void, void, identity) * 2,
        ),
    )


def _strides(operand: str, layout: Any, grouped: bool) -> CutlassType:
    is_pointer = isinstance(layout, Pointer)
    return CutlassType(
        f"TagToStride{operand}_t", (Pointer(layout) if grouped and not is_pointer else layout,)
    )


def built_epilogue(arguments: tuple[Any, ...]) -> CutlassType:
    """Return the epilogue that ``CollectiveBuilder<…>::CollectiveOp`` stands for.

    Raises `InputError` for arguments of other architectures. Source: intel/sycl-tla 6601377,
    include/cutlass/epilogue/collective/builders/xe_builder.inl.
    """
    if len(arguments) == 14:  # the operation is left out: a linear combination
        scale = (arguments[10], arguments[6], arguments[7], arguments[6])
        arguments = (*arguments, CutlassType("LinearCombination", scale))
    if len(arguments) != 15:
        wrong = f"the builder of an epilogue takes 14 or 15 arguments, not {len(arguments)}"
        raise InputError("CollectiveBuilder", {"arguments": len(arguments)}, wrong, "give 15")
    _demand(arguments, EPILOGUE)
    tile, cluster, c, order_c, d, order_d = (arguments[i] for i in (2, 3, 7, 8, 10, 11))
    _demand_tile(tile, cluster)
    wrong = ""
    if c not in SOURCES:
        wrong = f"C is {shown(c)}, not float, bfloat16_t, half_t, int32_t or void"
    if tag_of("ColumnMajor") in (order_d, getattr(order_d, "to", None)):
        wrong = "D is column-major, and the builder of an epilogue stores rows"
    if wrong:
        fix = "write CollectiveEpilogue<…> instead"
        raise InputError("CollectiveBuilder", {"C": shown(c), "D": shown(d)}, wrong, fix)
    schedule, operation = cast("CutlassType", arguments[13]), arguments[14]
    if schedule.name == "EpilogueScheduleAuto":
        schedule = tag_of("IntelXeGeneric")
    grouped = schedule.row.get("runs") == "groups"
    callbacks = operation
    if operation.kind == "fusion":
        callbacks = CutlassType("FusionCallbacks", (schedule, operation, tile, arguments[4]))
    void = tag_of("void")
    return CutlassType(
        "CollectiveEpilogue",
        (
            *(schedule, tile, arguments[4], c, _strides("C", order_c, grouped)),
            *(d, _strides("C", order_d, grouped), callbacks, void, void),
        ),
    )
