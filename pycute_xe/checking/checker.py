"""Floor 9: `check`, legality against a target."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from pycute_xe.arch import Block2D, Broken, Target, get_target
from pycute_xe.arch.rules import rules
from pycute_xe.arch.surface import Surface
from pycute_xe.atom import Block2DOp, CopyAtom, TiledCopy, TiledMma
from pycute_xe.checking.report import Checked, Finding, Resource
from pycute_xe.checking.resources import resources
from pycute_xe.errors import CuteError, LegalityError
from pycute_xe.kernel import Kernel, Load, Prefetch, Store
from pycute_xe.typing import is_tuple

__all__ = ["check"]


def check(x: Any, target: str | Target = "bmg", *, allow_unfaithful: bool = False) -> Checked:
    """Judge a kernel, a tiled copy, a copy atom or an operation by the rules of a target.

    Every rule is a row with its source; the result is falsy when one refuses. An atom whose message
    moves other values than its layout says is refused unless ``allow_unfaithful``. For a kernel,
    registers and hardware threads are counted too.
    Raises `TargetError` for an unknown target, `CuteError` for what cannot be checked.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> report = check(gemm, "bmg")
    >>> bool(report), report.registers, str(report.binds)[:20]
    (True, 224, 'hardware threads: 32')
    """
    machine = get_target(target)
    found = _Found(machine, allow_unfaithful)
    name = _judge(x, found)
    return Checked(
        subject=name,
        target=machine,
        passed=found.passed,
        findings=tuple(sorted(found.findings, key=lambda f: not f.is_error)),
        resources=tuple(found.resources),
        requirements=tuple(found.requirements),
    )


class _Found:
    """What has been judged so far."""

    def __init__(self, target: Target, allow_unfaithful: bool) -> None:
        self.target, self.allow_unfaithful = target, allow_unfaithful
        self.passed = 0
        self.findings: list[Finding] = []
        self.resources: list[Resource] = []
        self.requirements: list[str] = []

    def judged(self, subject: str, count: int, broken: tuple[Broken, ...]) -> None:
        self.passed += count - len(broken)
        self.findings += [Finding(subject, b) for b in broken]


@singledispatch
def _judge(x: Any, found: _Found) -> str:
    raise CuteError(
        "check",
        {"x": type(x).__name__, "target": found.target},
        "there are no rules for it",
        "check a kernel, a tiled copy, a copy atom or a block-2D operation",
    )


@_judge.register
def _(x: Kernel, found: _Found) -> str:
    copies: dict[TiledCopy, str] = {}
    for statement in x.statements():
        if isinstance(statement, (Load, Store, Prefetch)):
            verb = type(statement).__name__.lower()
            copies.setdefault(statement.copy, f"{verb} {statement.operand}")
    for copy, subject in copies.items():
        _tiled_copy(copy, subject, found)
    _judge(x.mma, found)
    used, problems = resources(x, found.target)
    found.resources += used
    found.findings += problems
    found.passed += len(used) - sum(problem.is_error for problem in problems)
    _requirements(found)
    return x.name


@_judge.register
def _(x: TiledMma, found: _Found) -> str:
    atom = x.atom
    found.judged(str(atom), 1, atom.op.broken_rules(found.target))
    if not atom.faithful and not found.allow_unfaithful:
        broken = Broken(
            "faithful",
            "error",
            " ".join(atom.notes),
            "vISA manual, DPAS.md: A is row-major without gaps, B is packed in dwords",
            "use XE_DPAS_TT and an even M, or allow_unfaithful=True",
        )
        found.findings.append(Finding(str(atom), broken))
    return str(x.atom)


@_judge.register
def _(x: TiledCopy, found: _Found) -> str:
    _tiled_copy(x, str(x.op), found)
    return str(x.op)


@_judge.register
def _(x: CopyAtom, found: _Found) -> str:
    _atom(x, str(x.op), found)
    return str(x.op)


@_judge.register
def _(x: Block2DOp, found: _Found) -> str:
    _message(x.message, str(x), found)
    return str(x)


@_judge.register
def _(x: Block2D, found: _Found) -> str:
    _message(x, str(x), found)
    return str(x)


def _message(message: Block2D, subject: str, found: _Found) -> None:
    judged = len(rules("block2d", "message", found.target.name, message.op))
    found.judged(subject, judged, message.broken_rules(found.target))


def _atom(atom: CopyAtom, subject: str, found: _Found) -> None:
    _message(atom.op.message, f"{subject} by {atom.op}", found)
    try:
        if found.allow_unfaithful or atom.faithful:
            found.passed += 1
            return
    except LegalityError:  # no target has the message, as is reported already
        return
    broken = Broken(
        "faithful",
        "error",
        " ".join(atom.notes),
        "vISA manual, LSC_UNTYPED.md, LOAD_BLOCK2D: rows are padded to a power of two, blocks to "
        "whole registers",
        "use a width that is a power of two and fills registers, or allow_unfaithful=True",
    )
    found.findings.append(Finding(f"{subject} by {atom.op}", broken))


def _tiled_copy(copy: TiledCopy, subject: str, found: _Found) -> None:
    """Judge the atom, and the x at which each message of the tile starts."""
    _atom(copy.atom, subject, found)
    message = copy.op.message
    count = len(rules("block2d", "use", found.target.name, message.op))
    # A surface that breaks no rule of its own: only where messages start is judged here.
    surface = Surface(0, 1 << 20, 1 << 20, 1 << 20)
    broken: dict[str, Broken] = {}
    for x in _starts(copy):
        for rule in message.broken_rules_at(surface, x, 0, found.target):
            broken.setdefault(rule.rule, rule)
    found.judged(f"{subject} by {copy.op}", count, tuple(broken.values()))


def _starts(copy: TiledCopy) -> set[int]:
    """The distinct x, in message elements, at which messages of the first two tiles start."""
    subgroups, messages = copy.anchors
    values = {
        (_along(copy, subgroups(s)) + _along(copy, messages(j)))
        for s in range(copy.num_subgroups)
        for j in range(copy.messages)
    }
    step = copy.tiler_mn[copy.x_mode]
    scale = copy.value_type.bits
    return {(v + tile * step) * scale // copy.op.bits for v in values for tile in (0, 1)}


def _along(copy: TiledCopy, coord: Any) -> int:
    """The x of a coordinate, which may stop short of its last modes or be the integer zero."""
    if not is_tuple(coord):
        return 0
    return coord[copy.x_mode] if copy.x_mode < len(coord) else 0


def _requirements(found: _Found) -> None:
    for rule in rules("block2d", "surface", found.target.name):
        strength = "must" if rule.level == "error" else "should"
        bounds = " or ".join(map(str, rule.bounds))
        kind = rule.kind.replace("_", " ")
        unit = "rows" if rule.quantity == "height" else "bytes"
        found.requirements.append(
            f"{rule.quantity} ({unit}) {strength} be {kind} {bounds}  ({rule.id}) [{rule.source}]"
        )
