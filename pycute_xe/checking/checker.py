"""`check`, legality against a target."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pycute_xe.arch import Block2D, Dpas, Target, get_target, is_target
from pycute_xe.arch.dpas import DpasMessage
from pycute_xe.arch.lsc import Block2DMessage, Message
from pycute_xe.arch.target import message_target
from pycute_xe.atom import (
    Block2DOp,
    CopyAtom,
    LinearCopyAtom,
    LinearOp,
    MmaAtom,
    TiledCopy,
    TiledMma,
    make_copy_atom,
)
from pycute_xe.checking.atoms import (
    judge_atom,
    judge_block,
    judge_dpas,
    judge_dpas_message,
    judge_fragments,
    judge_legacy,
    judge_linear,
    judge_lsc,
    judge_message,
    judge_mma_atom,
    judge_places,
    judge_tiled_copy,
    judge_tiled_mma,
)
from pycute_xe.checking.report import Checked, Findings, Use
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.errors import CuteError, InputError
from pycute_xe.kernel import Kernel
from pycute_xe.naming.subjects import subject_of, takes
from pycute_xe.signatures import typed

__all__ = ["check"]


@typed
def check(
    subject: object,
    /,
    target: str | Target = "bmg",
    *,
    allow_unfaithful: bool = False,
    base: int | None = None,
    width: int | None = None,
    height: int | None = None,
    pitch: int | None = None,
    x: int | None = None,
    y: int | None = None,
    sizes: Mapping[str, int] | None = None,
    strides: Mapping[str, int] | None = None,
) -> Checked:
    """Judge a kernel, a copy, an MMA, an atom or a message by the rules of a target.

    ``subject`` may be text that names one, or a file: "gemm", "XE_…", "kernel.json". Every
    rule is a row with its source; the result is falsy when one refuses, and says what is demanded
    of memory. Figures that are known are judged: strides and shape of a tensor that a
    tiled copy was built for; ``base``, ``width``, ``pitch`` (bytes), ``height`` (rows), ``x`` and
    ``y`` (elements of the message, rows) of a use of messages; of a kernel ``sizes`` (M, N, K) and
    ``strides`` (from row to row, in values), by name. An atom whose message moves other values
    than its layout says is refused unless ``allow_unfaithful``. For a kernel and for a tiled MMA,
    whose tile has one fragment each of A, B and C, registers and hardware threads are counted too.
    Raises `TargetError` for an unknown target, `InputError` for figures that mean nothing here,
    `CuteError` for what cannot be checked.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> report = check(gemm, "bmg")
    >>> bool(report), report.registers, str(report.binds)[:20]
    (True, 224, 'hardware threads: 32')
    >>> print(*check("XE_LOAD_2D<16,32,32,16>", "bmg", pitch=66).errors)
    ✗ XE_LOAD_2D<16,32,32,16>: pitch is 66, must be a multiple of 4 (pitch-4) [intel/...
    """
    _demand_order(subject, target)
    asked = subject_of("check", subject)
    machine = (message_target if isinstance(asked, Message) else get_target)(target)
    findings = Findings(machine, allow_unfaithful, Use(base, width, height, pitch, x, y))
    if isinstance(asked, Kernel):
        from pycute_xe.checking.kernels import judge_kernel

        judge_kernel(asked, findings, sizes or {}, strides or {})
    elif sizes is not None or strides is not None:
        given = {"sizes": sizes, "strides": strides}
        condition = f"{type(asked).__name__} has no sizes M, N, K and no operands by name"
        raise InputError("check", given, condition, "give width, height and pitch, in bytes")
    else:
        _judge(asked, findings)
    if findings.use.given and not findings.use_taken:
        condition = f"{_title(asked)} is not used on a surface"
        fix = "leave base, width, height, pitch, x and y out, or check a block-2D copy"
        raise InputError("check", {"subject": type(asked).__name__}, condition, fix)
    return Checked(
        subject=_title(asked),
        target=machine,
        findings=findings.broken,
        held=findings.kept,
        resources=tuple(findings.resources),
        demands=tuple(findings.demands),
    )


def _demand_order(subject: object, target: object) -> None:
    """Refuse the two arguments the wrong way round."""
    if is_target(subject):
        raise CuteError(
            "check",
            {"subject": subject, "target": type(target).__name__},
            f"{subject} is a target, and the target comes second",
            f'write check(kernel, "{subject}")',
        )


def _title(subject: Any) -> str:
    if isinstance(subject, (Kernel, TiledCopy)):
        return subject.name
    return str(subject.atom if isinstance(subject, TiledMma) else subject)


def _judge_copy(x: TiledCopy | CopyAtom, findings: Findings) -> None:
    if isinstance(x, TiledCopy) and not isinstance(x.atom, CopyAtom):
        _judge(x.atom, findings)  # each of its messages is one of the atom's
        with suppress(CuteError):  # what sends no messages of one size is judged above
            judge_places(x.sent, str(x.atom), findings)
        return
    subject = str(x.op)
    if isinstance(x, TiledCopy):
        judge_tiled_copy(x, subject, findings)
    else:
        judge_atom(x, subject, findings)
        judge_message(x.op.message, subject, findings)
    findings.demand(subject, (x.op.message,), x.value_type)


def _judge(x: Any, findings: Findings) -> None:
    match x:
        case TiledMma():
            judge_tiled_mma(x, findings)
            judge_fragments(x, findings)
        case MmaAtom():
            judge_mma_atom(x, findings)
        case Dpas():
            judge_dpas(x, str(x), findings)
        case DpasMessage():
            judge_dpas_message(x, str(x), findings)
        case TiledCopy() | CopyAtom():
            _judge_copy(x, findings)
        case LegacyCopyAtom():
            judge_legacy(x, findings)
        case LinearCopyAtom() | LinearOp():
            judge_linear(make_copy_atom(x) if isinstance(x, LinearOp) else x, findings)
        case Block2DOp() | Block2D():
            judge_block(x.message if isinstance(x, Block2DOp) else x, str(x), findings)
        case Block2DMessage() | Message():
            judge_lsc(x, str(x), findings)
        case _:
            condition = "`check` has no rules for this type"
            given = {"x": type(x).__name__, "target": findings.target}
            raise CuteError("check", given, condition, f"check {takes('check')}")
