"""`diff`, the verb: of two values of one kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

from pycute_xe.arch import Target, get_target
from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom import (
    Block2DOp,
    CopyAtom,
    LinearOp,
    MmaAtom,
    TiledCopy,
    TiledMma,
    make_copy_atom,
)
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.comparing.changes import Difference, Row
from pycute_xe.comparing.differences import diff_atoms
from pycute_xe.composed import ComposedLayout
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.dialects import Distributed
from pycute_xe.differing import layouts, plans, tensors, tilings
from pycute_xe.differing.sides import Side, between
from pycute_xe.errors import CuteError
from pycute_xe.f2 import F2Layout
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.schedules import (
    Counts,
    DataParallel,
    Grouped,
    Persistent,
    Plan,
    SplitK,
    StreamK,
)
from pycute_xe.layout import Layout
from pycute_xe.naming.subjects import subject_of
from pycute_xe.signatures import conforms, typed

__all__ = ["diff"]

_KINDS: dict[str, tuple[type[Any], ...]] = {
    "kernel": (Kernel,),
    "tiled MMA": (TiledMma,),
    "tiled copy": (TiledCopy,),
    "MMA": (MmaAtom, Dpas),
    "copy": (CopyAnswers, Block2DOp, LinearOp),
    "layout": (Layout, ComposedLayout, F2Layout),
    "tensor": (Distributed,),
    "plan": (Plan,),
    "schedule": (DataParallel, Persistent, Grouped, SplitK, StreamK),
    "main loop": (),
    "epilogue": (),
    "schedule of a recipe": (),
}
_RECIPE = "pycute_xe.kernel.kinds.recipe"
_PARTS = {"Mainloop": "main loop", "Epilogue": "epilogue", "Schedule": "schedule of a recipe"}
"""Kinds of parts of a recipe by their classes: a value of one has brought its module, and NumPy."""


@typed
def diff(
    one: Any,
    other: Any = None,
    operand: Literal["A", "B", "C", "D"] | None = None,
    *,
    target: str | Target = "bmg",
    sizes: Mapping[str, int] | None = None,
    counts: tuple[Counts, ...] = plans.COUNTS,
) -> Difference:
    """Return what differs between two values of one kind, or between what an atom says and does.

    Kernels and the parts of their recipes, tiled MMAs and copies, atoms, layouts,
    tensors of other projects' layouts, plans and schedules are compared: what moves, who owns which
    element, registers, messages, barriers, shared memory, the grid, statements, claims, and the
    rules of ``target`` that one breaks. Each figure is asked of the reader that counts it.
    Text names values, or files: "gemm", "XE_…", "before.json".
    ``operand`` names the operand in which MMAs are compared, all without it; ``sizes`` adds the
    work of kernels at some sizes, ``counts`` are the problems, in tiles along M, N and K, of which
    schedules make plans. One atom alone: what its layouts say against what its messages do.
    Laws: nothing differs from a value to itself, and ``diff(b, a)`` says the same with its sides
    exchanged. ``equal`` of the result is the answer; the result itself is always true.
    Raises `CuteError` for values of two kinds, of no known kind, and for what does not apply.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> print(diff(cx.kernel.gemm(mma), cx.kernel.gemm(mma, a="col")).verdict)
    different owners: A loaded 7680 of 8192
    >>> print(diff(cx.Layout((4, 8)), cx.Layout((4, 8), (8, 1))).notes[0])
    30 of 32 coordinates have another offset
    >>> diff("XE_2D_U16x16x16_LD_N", "XE_2D_U16x16x16_LD_V").verdict
    'different owners: held in registers 240 of 256'
    """
    if operand not in (None, "A", "B", "C", "D"):
        wrong, fix = "unknown operand", 'use "A", "B", "C" or "D"'
        raise CuteError("diff", {"operand": operand}, wrong, fix)
    if not conforms(sizes, Mapping[str, int] | None):
        wrong = "sizes must map names to integers"
        raise CuteError("diff", {"sizes": sizes}, wrong, 'write sizes={"M": 256}')
    a, b = subject_of("diff", one), subject_of("diff", other)
    kind, machine = _kind(a), get_target(target)
    if other is not None and _kind(b) != kind:
        raise _unlike(a, b)
    _demand_use(kind, (a, b), sizes, counts)
    if kind in ("MMA", "copy"):
        return _atoms((a, b), operand, machine)
    _demand_two(kind, other, operand)
    if kind == "kernel":
        from pycute_xe.differing.kernels import differing_kernels

        return differing_kernels(a, b, machine, sizes)
    if kind == "tensor":
        return tensors.differing_tensors(a, b)
    if kind == "layout":
        return layouts.differing_layouts(a, b)
    side_of = _teller(kind, operand, machine, counts)
    return between(side_of(a), side_of(b))


def _teller(
    kind: str, operand: str | None, target: Target, counts: tuple[Counts, ...]
) -> Callable[[Any], Side]:
    """Return what tells of one side of a kind."""
    if kind == "tiled MMA":
        return lambda x: tilings.of_tiled_mma(x, target, operand)
    if kind == "tiled copy":
        return lambda x: tilings.of_tiled_copy(x, target)
    if kind == "plan":
        return plans.of_plan
    if kind == "schedule":
        return lambda x: plans.of_schedule(x, counts)
    return plans.of_parts


def _kind(value: Any) -> str:
    for kind, classes in _KINDS.items():
        if isinstance(value, classes):
            return kind
    home = cast("type[object]", type(value))
    if home.__module__ == _RECIPE and home.__name__ in _PARTS:
        return _PARTS[home.__name__]
    known = ", ".join(_KINDS)
    raise CuteError(
        "diff",
        {"value": type(value).__name__},
        f"{type(value).__name__} is not a kind of value that is compared",
        f"compare two of one kind: {known}",
    )


def _demand_two(kind: str, other: object, operand: str | None) -> None:
    """Refuse a single value that is not an atom, and an operand where nothing is multiplied."""
    if other is None:
        condition = f"{_a(kind)} is compared with another, and there is only one"
        raise CuteError("diff", {"kind": kind}, condition, "give two, or one atom")
    if operand is not None and kind != "tiled MMA":
        condition = f"{_a(kind)} is compared as a whole"
        raise CuteError("diff", {"operand": operand}, condition, "leave the operand out")


def _demand_use(
    kind: str,
    values: tuple[Any, Any],
    sizes: Mapping[str, int] | None,
    counts: tuple[Counts, ...],
) -> None:
    """Refuse sizes without kernels, unknown sizes, and counts without schedules."""
    wrong, fix = "", "leave sizes out"
    if sizes is not None and kind != "kernel":
        wrong = f"{_a(kind)} has no sizes"
    elif sizes is not None and kind == "kernel":
        known = dict.fromkeys(name for kernel in values if kernel for name in kernel.sizes)
        unknown = [name for name in sizes if name not in known]
        if unknown:
            wrong, fix = f"unknown size {unknown[0]}", f"name {', '.join(known)}"
    if counts != plans.COUNTS and kind != "schedule":
        wrong, fix = f"{_a(kind)} does not deal out tiles", "leave counts out"
    if wrong:
        raise CuteError("diff", {"kind": kind, "sizes": sizes}, wrong, fix)


def _unlike(a: Any, b: Any) -> CuteError:
    kind, other = sorted((_kind(a), _kind(b)), key=str.lower)
    way = "compare two of one kind"
    if (kind, other) == ("copy", "MMA"):
        way = "call feeds(copy, mma, operand)"
    elif "kernel" in (kind, other) and "tiled MMA" in (kind, other):
        way = "compare the MMA of the kernel: diff(kernel.mma, mma)"
    elif "tiled" in f"{kind} {other}" and "kernel" not in (kind, other):
        way = "compare the atoms: tiled.atom"
    return CuteError(
        "diff",
        {"one": type(a).__name__, "other": type(b).__name__},
        f"{_a(kind)} and {_a(other)} cannot be compared",
        way,
    )


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "Me" else f"a {kind}"


# ------------------------------------------------------------ atoms


def _atoms(values: tuple[Any, Any], operand: Any, target: Target) -> Difference:
    """Return what differs between two atoms: block-2D copies, MMAs in an operand, all others."""
    of_mma = isinstance(values[0], (MmaAtom, Dpas))
    block = all(isinstance(x, (CopyAtom, LegacyCopyAtom, Block2DOp)) for x in values if x)
    if (of_mma and (operand is not None or values[1] is None)) or (not of_mma and block):
        difference = diff_atoms(*values, operand)
        if values[1] is None:
            return difference
        sides = (tuple(tilings.judged(x, target)) for x in values)
        return replace(difference, rows=(*difference.rows, *_legality(*sides)))
    if operand is not None:
        raise CuteError("diff", {"operand": operand}, "a copy has no operands", "leave it out")
    if values[1] is None:
        return between(*tilings.accounts_of(_side(values[0], target)))
    one, other = (_side(x, target) for x in values)
    return between(one, other)


def _side(value: Any, target: Target) -> Side:
    if isinstance(value, (MmaAtom, Dpas)):
        return tilings.of_mma(MmaAtom(value) if isinstance(value, Dpas) else value, target)
    copy: Any = value if isinstance(value, CopyAnswers) else make_copy_atom(value, _type(value))
    return tilings.of_copy(copy, target)


def _type(op: Any) -> str | None:
    return f"u{op.bits}" if isinstance(op, Block2DOp) else None


def _legality(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Row, ...]:
    """Return the rules that either breaks."""
    before, after = ({w: v for s, w, v in side if s == "legality"} for side in (one, other))
    return tuple(Row("legality", w, before.get(w), after.get(w)) for w in {**before, **after})
