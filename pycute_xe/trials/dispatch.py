"""`verify`, the verb: of kernels, and of what they are made of."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom import (
    Block2DOp,
    CopyAtom,
    LinearCopyAtom,
    LinearOp,
    MmaAtom,
    TiledCopy,
    TiledMma,
)
from pycute_xe.atom.copy_answers import ValueOrder
from pycute_xe.clock import deadline
from pycute_xe.cutlass import LegacyCopyAtom, as_atom
from pycute_xe.dialects import Distributed
from pycute_xe.errors import InputError, KernelError, ShapeError
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.spec.specification import Overflow
from pycute_xe.naming.subjects import Named, subject_of
from pycute_xe.signatures import typed
from pycute_xe.trials.enumerating import enumerated, has_arrays
from pycute_xe.verifying.verdict import BUDGET, Verdict, demand_budget

__all__ = ["verify"]

Verified = (
    Kernel
    | CopyAtom
    | LegacyCopyAtom
    | LinearCopyAtom
    | TiledCopy
    | MmaAtom
    | TiledMma
    | Block2DOp
    | LinearOp
    | Dpas
    | Distributed
    | Named
)


@typed
def verify(
    kernel: Verified,
    params: Mapping[str, int] | None = None,
    *,
    row: Any = None,
    column: Any = None,
    unit_bits: int | None = None,
    order: ValueOrder | None = None,
    feeds: tuple[Any, Any] | None = None,
    overflow: Overflow | None = None,
    budget: float = BUDGET,
    seconds: float | None = None,
    explain: bool = False,
) -> Verdict:
    """Prove that a kernel computes what it claims for all sizes >= 1, or find where it does not.

    ``kernel`` may be text that names one, or a file: "gemm", "XE_…", "kernel.json".
    The proofs follow the statements: what messages put into registers, what instructions take them
    for, what is summed and what is stored, and compare that with ``kernel.computes``; they do not
    trust what the layouts of copies claim. ``params`` fixes some of the sizes, by name; ``budget``
    is an amount of counted work, infinity for no end: 1 allows 600,000 units, about a third of a
    second on an idle machine. What is decided is the same on every machine under any load.
    ``seconds`` sets a deadline besides: what it leaves undecided names the deadline as the reason.
    Every answer is tried on the machine, which shares no statement's meaning with the proofs: a
    counterexample is replayed, and a proof run at small sizes, as ``tried`` of the verdict says. An
    answer that its run contradicts is undecided, with what to report.

    Integers of 32 bits and more are assumed not to overflow, which the verdict says with their
    types. With ``overflow="wraps"`` nothing is assumed of them: the kernel keeps the lowest bits as
    registers do, and the specification computes in 64 bits with a sign, of which an accumulator and
    an output keep the lowest. ``verdict.overflow`` says which was asked; without it what the
    specification says. With ``explain`` the verdict of a kernel lists the strategies that the
    prover tried, what each asked and answered, and how much work it took.

    Of a copy atom or a `TiledCopy`, by its object, its operation or its name, it is proved who owns
    what: each element has the owners that are claimed and nothing else is owned ("owners"),
    registers read in units of ``unit_bits`` hold what a work-item owns ("work-items") and as value
    ``v`` what it is said to be ("values"); what is loaded and stored again lies where it lay
    ("inverse"); LD_V and LD_T own what LD_N does ("letter"). ``row`` and ``column`` claim a formula
    of one's own instead: text (where ``/`` rounds down, as ``//`` does), sympy expressions or
    integers of ``t`` and ``v``, in values of the
    block or coordinates of the tile. ``order`` says how ``v`` counts the values of a work-item: as
    its ``"registers"`` hold them, or as its ``"layout"`` lists them (`CopyAtom.formula` writes
    both). By default a layout is compared with the registers, and a formula is right if it is
    right in one of the two; the verdict's name says in which. ``feeds`` is an MMA and an operand of
    it: a GEMM whose operand the copy moves is proved, and that its registers are reordered only
    where `feeds` says so; a tiled copy feeds what its atom feeds. Of an `MmaAtom` or a `TiledMma`
    it is proved who owns A, B and C, and that what their layouts pair is what its instructions
    multiply and add, permutations undone ("product"). These are small kernels
    put to the same prover; each element is also moved on the machine. Of a tensor of another
    project's layout (`dialects.layout_of`) it is proved that each element has an owner and which
    have several, and with ``feeds`` that each subgroup's values are operands of the MMA. Without
    NumPy installed, who owns what a copy atom moves is proved by enumeration alone, against the
    register picture.
    Raises `KernelError` for anything else and for statements without a meaning here, `InputError`
    for other params and for formulas that cannot be read, `LegalityError` as messages do.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> bool(verify(gemm))
    True
    >>> import dataclasses
    >>> loop = gemm.loop("k")
    >>> short = gemm.replace(loop, dataclasses.replace(loop, stop=loop.stop - 1))
    >>> print(str(verify(short).counterexample).splitlines()[0])
    D values: D[0, 0]: A·B is not summed
    >>> bool(verify("XE_2D_U16x8x16_LD_N", row="v", column="t"))
    True
    >>> print(verify("XE_2D_U16x8x16_LD_N", row="v", column="(t + 1) % 16").counterexample.message)
    value 0 of work-item 0 is said to be (0, 1), and is (0, 0)
    >>> pairs = "XE_2D_U16x32x32_LD_N"
    >>> row, column = cx.get_atom(pairs).formula(order="layout")
    >>> bool(verify(pairs, row=row, column=column, order="layout"))
    True
    >>> bool(verify(pairs, row=row, column=column, order="registers"))
    False
    """
    demand_budget(budget)
    with deadline("verify", seconds):
        subject = subject_of("verify", kernel)
        if overflow is not None:
            subject = _overflowing(subject, overflow)
        if explain:
            _demand_kernel(subject, (row, column, unit_bits, order, feeds))
            from pycute_xe.trials.verifier import verify_kernel

            return verify_kernel(subject, params, budget=budget, explain=True)
        return _verified(subject, params, (row, column, unit_bits, order), feeds, budget)


def _demand_kernel(subject: object, claimed: tuple[object, ...]) -> None:
    """Refuse to explain the proof of anything but a kernel."""
    if isinstance(subject, Kernel) and all(given is None for given in claimed):
        return
    wrong = "explain lists what the prover tried of a kernel, and asks for nothing else"
    fix = "give a kernel alone, or leave explain out"
    raise InputError("verify", {"of": subject, "explain": True}, wrong, fix)


def _overflowing(subject: object, overflow: object) -> Kernel:
    """Return a kernel whose specification says so of integers."""
    if overflow != "assumed" and overflow != "wraps":
        wrong = f"{overflow!r} does not say what becomes of integers that overflow"
        raise InputError("verify", {"overflow": overflow}, wrong, 'use "assumed" or "wraps"')
    if not isinstance(subject, Kernel) or subject.computes is None:
        wrong = "only a kernel with a specification computes integers"
        raise InputError("verify", {"overflow": overflow}, wrong, "leave overflow out")
    return replace(subject, computes=replace(subject.computes, overflow=overflow))


def _verified(
    kernel: Any,
    params: Mapping[str, int] | None,
    claimed: tuple[Any, Any, int | None, ValueOrder | None],
    feeds: tuple[Any, Any] | None,
    budget: float,
) -> Verdict:
    """Return the verdict on a copy's feed, a tiling with symbols, or anything else."""
    row, column, unit_bits, order = claimed
    if feeds is not None:
        if any(given is not None for given in (row, column, unit_bits, order, params)):
            wrong = (
                "feeds is asked alone: it says nothing of row, column, unit_bits, order or params"
            )
            raise InputError("verify", {"feeds": feeds}, wrong, "ask one after the other")
        return _fed(kernel, feeds, budget)
    subject: Any = as_atom(kernel)
    formula = any(given is not None for given in (row, column, unit_bits, order))
    _demand_use(subject, {"row": row} if formula else {}, params)
    # What has symbols has brought their package.
    if isinstance(subject, (TiledCopy, TiledMma)) and "pycute_xe.symbolic" in sys.modules:
        from pycute_xe.trials.symbolic_tilings import symbols_of, verify_symbolic

        if symbols_of(subject):
            if formula:
                wrong = f"its tile has the symbols {', '.join(symbols_of(subject))}"
                fix = "put numbers in, or leave row out"
                raise InputError("verify", {"of": subject}, wrong, fix)
            return verify_symbolic(subject, lambda tiling: verify(tiling, budget=budget))
    claim = (row, column, unit_bits)
    verdict = _answered(subject, params, (*claim, order or "registers"), budget)
    if order is not None or verdict.answer != "disproved" or not _has_two_orders(subject, row):
        return verdict
    try:
        listed = _answered(subject, params, (*claim, "layout"), budget)
    except ShapeError:  # its registers do not hold what its layout lists
        return verdict
    return listed if listed.answer == "proved" else verdict


def _has_two_orders(subject: Any, row: object) -> bool:
    """Whether a claim is right in the order of the layout, too, where no order is asked for.

    A formula is, and so is an older name: its document says what a work-item owns, in no order.
    """
    atom = subject.atom if isinstance(subject, TiledCopy) else subject
    return row is not None or isinstance(atom, LegacyCopyAtom)


def _answered(
    subject: Any,
    params: Mapping[str, int] | None,
    formula: tuple[Any, Any, int | None, ValueOrder],
    budget: float,
) -> Verdict:
    """Return the verdict of what answers for the kind of a subject."""
    if isinstance(subject, Distributed):
        from pycute_xe.trials.tensors import verify_tensor

        return verify_tensor(subject)
    if not has_arrays():
        return enumerated(subject, *formula)
    match subject:
        case Kernel():
            from pycute_xe.trials.verifier import verify_kernel

            return verify_kernel(subject, params, budget=budget)
        case MmaAtom() | TiledMma():
            from pycute_xe.trials.products import verify_mma

            return verify_mma(subject, budget)
        case CopyAtom() | LegacyCopyAtom() | LinearCopyAtom() | TiledCopy():
            from pycute_xe.trials.ownership import verify_copy

            return verify_copy(subject, *formula, budget)
        case _:
            wrong = "only kernels, copies, MMAs and their atoms are verified"
            fix = "build a kernel with kernel.gemm(mma), or name an atom"
            raise KernelError("verify", {"kernel": type(subject).__name__}, wrong, fix)


def _demand_use(
    subject: Any, formula: Mapping[str, object], params: Mapping[str, int] | None
) -> None:
    """Refuse a formula of what is not a copy, and sizes of what is not a kernel."""
    if formula and not isinstance(subject, (CopyAtom, LegacyCopyAtom, LinearCopyAtom, TiledCopy)):
        wrong = f"a formula says who owns what a copy moves, and {type(subject).__name__} is none"
        fix = 'verify(get_atom("XE_2D_U16x8x16_LD_N"), row="v", column="t")'
        raise InputError("verify", {"of": subject, **formula}, wrong, fix)
    if params is not None and not isinstance(subject, Kernel):
        wrong = "only kernels have sizes, which params fix"
        raise InputError("verify", {"of": subject, "params": params}, wrong, "leave params out")


def _fed(copy: Any, wanted: tuple[Any, Any], budget: float) -> Verdict:
    from pycute_xe.trials.products import verify_feed
    from pycute_xe.trials.tensors import verify_tensor

    if len(wanted) != 2:
        wrong = f"feeds has {len(wanted)} parts, and must be an MMA and an operand"
        raise InputError(
            "verify", {"feeds": wanted}, wrong, 'feeds=("XE_DPAS_TT<8,f32,bf16>", "A")'
        )
    if isinstance(copy, Distributed):
        return verify_tensor(copy, wanted)
    if isinstance(copy, TiledCopy):  # each of its blocks feeds what its atom feeds
        copy = copy.atom
    return verify_feed(copy, wanted[0], wanted[1], budget)
