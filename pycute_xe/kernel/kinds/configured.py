"""The kernel that a configuration of CUTLASS describes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from pycute_xe.cutlass import from_cute
from pycute_xe.cutlass.configuration import CutlassType, Pointer, cpp_of, tag_of
from pycute_xe.cutlass.legacy_name import LegacyCopyName
from pycute_xe.cutlass.reading_blocks import kernel_in
from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.kinds.gemms import gemm, scheduled
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed
from pycute_xe.typing import is_tuple

__all__ = ["from_cutlass"]

# The mode that is contiguous by rows: K of A, N of B as (N, K), N of the others.
BY_ROWS = {"A": 1, "B": 0, "C": 1, "D": 1, "Aux": 1}
VOID = tag_of("void")


@typed
def from_cutlass(
    configuration: CutlassType | str, *, group: int | None = None, batch: bool = False
) -> Kernel:
    """Return the kernel of a GEMM as CUTLASS configures it, from its types or the text of these.

    The text is declarations of types and numbers; its last kernel is described, and declarations
    that this kernel does not use may be of any type. ``group`` is how many k share a scale, an
    argument of mixed-input kernels that their types do not hold;
    ``batch`` gives every matrix the mode L. Law: the tiled MMA, the types, the orders, the stages
    and what the epilogue computes are those of the types. Raises `InputError` as `from_cute` does,
    `KernelError` for what no kernel here is made of, by its name. C++: ``GemmUniversal``.

    >>> text = '''
    ...     using Tile = Shape<_256, _256, _32>;
    ...     using Mainloop = typename CollectiveBuilder<arch::Xe20, arch::OpClassTensorOp,
    ...         bfloat16_t, layout::RowMajor, 8, bfloat16_t, layout::RowMajor, 8, float,
    ...         Tile, Shape<_1,_1,_1>, StageCountAuto, KernelScheduleAuto>::CollectiveOp;
    ...     using Op = fusion::LinCombEltAct<thread::ReLu, float, float>;
    ...     using Epilogue = typename CollectiveBuilder<arch::Xe20, arch::OpClassTensorOp,
    ...         Tile, Shape<_1,_1,_1>, EpilogueTileAuto, float, float, void, layout::RowMajor, 4,
    ...         float, layout::RowMajor, 4, EpilogueScheduleAuto, Op>::CollectiveOp;
    ...     using Gemm = GemmUniversal<Shape<int,int,int,int>, Mainloop, Epilogue>;
    ... '''
    >>> print(str(from_cutlass(text)).splitlines()[1].strip())
    computes   D[m,n] = relu(alpha*sum(k, A[m,k]*B[k,n], f32))
    """
    value: Any = configuration
    if isinstance(configuration, str):
        value = kernel_in(configuration) or from_cute(configuration)
    if not (isinstance(value, CutlassType) and value.kind == "kernel"):
        named = value.name if isinstance(value, CutlassType) else type(value).__name__
        raise _refused(named, "is not a kernel", "end the text with GemmUniversal<…>")
    mainloop, epilogue = value["CollectiveMainloop"], value["CollectiveEpilogue"]
    policy = mainloop["DispatchPolicy"]
    _demand_one_problem(value, policy, epilogue["DispatchPolicy"])
    _demand_agreement(mainloop, epilogue)
    given = _given(mainloop, epilogue, group)
    if batch:
        for name in {*given} & {"epilogue", "transform_a", "transform_b"}:
            given[name] = re.sub(r"\b(aux|scale|zero)(_[ab])?\[", r"\1\2[l,", given[name])
    strides = (mainloop["StrideA"], mainloop["StrideB"], epilogue["StrideD"])
    orders = (_order("A", strides[0]), _order("B", strides[1]), _order("D", strides[2]))
    kinds: dict[str, tuple[Callable[..., Kernel], dict[str, Any]]] = {
        "void": (gemm, {"batch": batch}),
        "PersistentScheduler": (gemm, {"batch": batch}),
        "StreamKScheduler": (scheduled, {"groups": "batch" if batch else "none"}),
    }
    scheduler = value["TileScheduler"].name
    if scheduler not in kinds:
        raise _refused(scheduler, "deals out the tiles of groups", "leave the scheduler out")
    kind, problems = kinds[scheduler]
    return kind(mainloop["TiledMma"], *orders, policy["Stages"], **given, **problems)


def _refused(name: str, wrong: str, way_out: str) -> KernelError:
    return KernelError("from_cutlass", {"type": name}, f"{name} {wrong}", way_out)


def _demand_one_problem(kernel: CutlassType, *policies: CutlassType) -> None:
    """Refuse a main loop that no kernel is made of, and what is for many problems."""
    runs = str(policies[0].row["runs"])
    if runs not in ("gemm", "groups"):
        raise _refused(policies[0].name, f"is not described: {runs}", "use MainloopXeL1Staged")
    schedules = [p["KernelSchedule"] for p in policies[:1] if p.has("KernelSchedule")]
    for part in (*policies, *schedules, kernel["ProblemShape"]):
        if isinstance(part, CutlassType) and part.row.get("runs") == "groups":
            way_out = 'describe it with kernel.scheduled(mma, groups="batch")'
            raise _refused(part.name, "has a problem for each group", way_out)


def _demand_agreement(mainloop: CutlassType, epilogue: CutlassType) -> None:
    """Refuse types that a kernel would have to leave out of account."""
    tile, callbacks = mainloop["TiledMma"].tile_mnk, epilogue["FusionCallbacks"]
    for where in (mainloop, epilogue, callbacks):
        if where["TileShape"] != tile:
            wrong = f"has the tile {where['TileShape']}, the tiled MMA {tile}"
            raise _refused(where.name, wrong, "write the same tile")
    fusion, stored = callbacks["Operation"], epilogue["ElementD"]
    if stored == VOID:
        raise _refused("ElementD", "is void: nothing is stored", "write the type of D")
    if fusion["ElementOutput"] != stored:
        wrong = f"makes {fusion['ElementOutput']}, the epilogue stores {stored}"
        raise _refused(fusion.name, wrong, "write the same type")
    if fusion["ElementCompute"] != as_numeric("f32"):
        wrong = f"computes in {fusion['ElementCompute']}, kernels here in f32"
        raise _refused(fusion.name, wrong, "write float")


def _given(mainloop: CutlassType, epilogue: CutlassType, group: int | None) -> dict[str, Any]:
    """The arguments of the kinds that the types hold, apart from orders."""
    types = dict[str, Any]()
    given: dict[str, Any] = {"types": types, "orders": {}}
    copies = (("copy_a", mainloop, "GmemTiledCopyA"), ("copy_b", mainloop, "GmemTiledCopyB"))
    for name, where, parameter in (*copies, ("copy_d", epilogue, "CopyOpR2G")):
        operation = where[parameter]
        if not isinstance(operation, CutlassType):  # else it is void: chosen by the library
            given[name] = str(operation) if isinstance(operation, LegacyCopyName) else operation
    mma = mainloop["TiledMma"]
    scaled = [name for name in "AB" if is_tuple(mainloop[f"Element{name}"])]
    _demand_scaled(mainloop, scaled)
    for name, kind in (("A", mma.atom.op.A), ("B", mma.atom.op.B)):
        elements = mainloop[f"Element{name}"]
        first = elements[0] if is_tuple(elements) else elements
        if first != kind:
            types[name] = first
        if is_tuple(elements) and elements[1:2] not in ((), (VOID,)):
            end = f"_{name.lower()}" if len(scaled) > 1 else ""
            given[f"transform_{name.lower()}"] = _scaled(name, elements, group, types, end)
    given["d_type"] = epilogue["ElementD"]
    _end(epilogue, given)
    return given


def _demand_scaled(mainloop: CutlassType, scaled: list[str]) -> None:
    """Refuse operands in tuples that the policy of a main loop does not take."""
    policy = mainloop["DispatchPolicy"]
    types = cast("list[str]", policy.row.get("scaled", []))
    if len(scaled) > 1 and not types:
        way_out = "scale one operand only, or use MainloopIntelXeXMX16FP8Scaling"
        raise _refused("ElementA", "is a tuple, as ElementB is", way_out)
    for name in "AB" if types else "":
        elements = mainloop[f"Element{name}"]
        first, *rest = elements if is_tuple(elements) else (elements,)
        taken = " or ".join(cpp_of(as_numeric(kind)) for kind in types)
        if name not in scaled or str(first) not in types:
            wrong = f"is {cpp_of(elements)}, and {policy.name} takes tuples of {taken}"
            raise _refused(f"Element{name}", wrong, "write cute::tuple<float_e4m3_t, half_t>")
        if any(kind != VOID for kind in rest[2:]):
            wrong = f"has a zero point, which {policy.name} does not take"
            raise _refused(f"Element{name}", wrong, "write cute::tuple<float_e4m3_t, half_t>")


def _scaled(
    name: str, elements: tuple[Any, ...], group: int | None, types: dict[str, Any], end: str
) -> str:
    """How an operand is scaled: by a scale and perhaps a zero point for each ``group`` k.

    ``end`` is what the names of these end with, where both operands are scaled.
    """
    scale, along, zero, zero_along = (*elements[1:], *(VOID,) * 4)[:4]
    for kind in (scale, *(zero,) * (zero != VOID)):
        if not isinstance(kind, Numeric):
            wrong = f"has {cpp_of(kind)} where the type of a scale or zero point stands"
            way_out = "write cute::tuple<int8_t, half_t, StrideScale, int8_t, StrideZero>"
            raise _refused(f"Element{name}", wrong, way_out)
    is_whole = is_tuple(along) and along[:2] == (0, 0)  # one number for all
    for strides in (along, zero_along):
        if strides != VOID and not _lies(strides, is_whole):
            wrong = f"has scales or zero points by {cpp_of(strides)}, which is not described"
            way_out = "write Stride<_1,int64_t,int64_t>, or Stride<_0,_0,_1> for one number"
            raise _refused(f"Element{name}", wrong, way_out)
    at = ""
    if not is_whole:
        if group is None:
            wrong = f"of {name} has scales, and how many k share one is given at run time"
            raise _refused(f"Element{name}", wrong, "give group=128")
        at = f"[m,k/{group}]" if name == "A" else f"[k/{group},n]"
    types[f"scale{end}"] = scale
    if zero == VOID:
        return f"{name} * scale{end}{at}"
    types[f"zero{end}"] = zero
    return f"({name} - zero{end}{at}) * scale{end}{at}"


def _lies(strides: Any, is_whole: bool) -> bool:
    """Whether scales are one number, or lie along M or N with a row for each group of k."""
    if not is_tuple(strides) or len(strides) < 2:
        return False
    if is_whole:
        return strides[:2] == (0, 0)
    return strides[0] == 1 and isinstance(strides[1], Numeric)


def _order(operand: str, strides: Any) -> Order:
    """The storage order of an operand: what its tag makes contiguous, or the stride of 1."""
    if isinstance(strides, Pointer):
        return _order(operand, strides.to)
    if isinstance(strides, CutlassType):
        layout = strides["Layout"]
        tag = layout.to if isinstance(layout, Pointer) else layout
        modes: dict[str, int] = strides.row["unit_mode"]
        if isinstance(tag, CutlassType) and tag.name in modes:
            return "row" if modes[tag.name] == BY_ROWS[operand] else "col"
        return _order(operand, tag)  # strides stand for themselves
    ones = [i for i, stride in enumerate(strides[:2]) if type(stride) is int and stride == 1]
    if len(ones) != 1:
        wrong = "is not 1 along exactly one of the first two modes"
        raise _refused(f"Stride{operand}", wrong, "write Stride<int64_t,_1,int64_t>")
    return "row" if ones == [BY_ROWS[operand]] else "col"


# ------------------------------------------------------------ epilogues


def _end(epilogue: CutlassType, given: dict[str, Any]) -> None:
    """Add what the fusion of an epilogue computes, and the types and orders it takes."""
    callbacks = epilogue["FusionCallbacks"]
    fusion, types = callbacks["Operation"], given["types"]
    if "computes" not in fusion.row:
        way_out = f"build it with {fusion.row['made_by']}"
        raise _refused(fusion.name, "is not computed element by element", way_out)
    text, also = str(fusion.row["computes"]), str(fusion.row.get("also", ""))
    if epilogue["ElementC"] == VOID:
        text, also = (x.replace(" + beta*C", "") for x in (text, also))
    else:
        types["C"] = epilogue["ElementC"]
        given["orders"]["C"] = _order("C", epilogue["StrideC"])
    elements = {"bias": "Bias", "aux": "Aux", "alpha": "Scalar", "beta": "Scalar"}
    for name, parameter in elements.items():
        if re.search(rf"\b{name}\b", text):
            types[name] = fusion[f"Element{parameter}"]
    name = "Aux" if also else "aux"
    if fusion.has("GmemLayoutTagAux"):
        strides = CutlassType("TagToStrideC_t", (fusion["GmemLayoutTagAux"],))
        given["orders"][name] = _order("Aux", strides)
    if fusion.has("ActivationFn"):
        function = str(fusion["ActivationFn"].row["function"])
        inner = text.removeprefix("act(").removesuffix(")")
        text = function.format(*(f"({part})" for part in inner.split(", ")))
    given["epilogue"] = text
    if also:
        given["also"] = {"Aux": also}
        types["Aux"] = fusion["ElementAux"]
