"""Floor 9: registers and threads that a kernel needs."""

from __future__ import annotations

from pycute_xe.arch import Broken, Target
from pycute_xe.atom import is_identity
from pycute_xe.checking.report import Finding, Resource
from pycute_xe.errors import TargetError
from pycute_xe.kernel import (
    Fill,
    Fragment,
    Kernel,
    Load,
    Mma,
    Prefetch,
    Reorder,
    Statement,
    Store,
    walk,
)

__all__ = ["resources"]


def resources(kernel: Kernel, target: Target) -> tuple[list[Resource], list[Finding]]:
    """Return the registers and hardware threads of a kernel, and what does not fit.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> [str(r) for r in resources(gemm, cx.get_target("bmg"))[0]][0]
    'registers: 224 of 256 (tCrC 128 + tArA=tCrA 32 + tBrB=tCrB 64)'
    """
    groups = _sharing(kernel)
    counts = {"=".join(f.name for f in group): _registers(group, target) for group in groups}
    total, alive = _peak(kernel, groups, counts)
    detail = " + ".join(f"{name} {counts[name]}" for name in alive)
    most = max(target.grf_modes)
    if total > most:
        used = Resource("registers", total, most, detail)
        return [used], [Finding("registers", _too_many(total, most, target))]
    # A register for the thread's header and one for each address payload come on top.
    copies = {s.copy for s in kernel.statements() if isinstance(s, (Load, Store, Prefetch))}
    mode = target.grf_mode(min(total + len(copies) + 1, most))
    found = [Resource("registers", total, mode, detail)]
    findings = _addresses(len(copies), total, mode)
    threads, problems = _threads(kernel, mode, target)
    return found + threads, findings + problems


def _peak(
    kernel: Kernel, groups: list[list[Fragment]], counts: dict[str, int]
) -> tuple[int, list[str]]:
    """Return the most registers that live at once, and the groups they belong to."""
    used = [_fragments((statement,)) for statement in kernel.body]
    best: tuple[int, list[str]] = (0, [])
    for here in range(len(used)):
        alive: list[str] = []
        for group, name in zip(groups, counts, strict=True):
            places = [i for i, names in enumerate(used) if names & {f.name for f in group}]
            if places and places[0] <= here <= places[-1]:
                alive.append(name)
        total = sum(counts[name] for name in alive)
        best = max(best, (total, alive), key=lambda found: found[0])
    return best


def _fragments(body: tuple[Statement, ...]) -> set[str]:
    """Name the fragments that statements touch, inner ones included."""
    out: set[str] = set()
    for statement in walk(body):
        match statement:
            case Fill(fragment) | Load(_, _, _, fragment) | Store(_, _, _, fragment):
                out.add(fragment)
            case Reorder(source, destination):
                out |= {source, destination}
            case Mma(_, accumulator, a, b):
                out |= {accumulator, a, b}
            case _:  # barriers and tests touch no registers; walk enters their bodies
                continue
    return out


def _registers(group: list[Fragment], target: Target) -> int:
    return max(-(-fragment.bytes // target.grf_bytes) for fragment in group)


def _sharing(kernel: Kernel) -> list[list[Fragment]]:
    """Group fragments that may share registers: a reorder that moves nothing joins two."""
    groups = {f.name: [f] for f in kernel.fragments}
    for statement in kernel.statements():
        if isinstance(statement, Reorder) and is_identity(statement.slots):
            first, second = groups[statement.source], groups[statement.destination]
            if first is not second:
                first += second
                for fragment in second:
                    groups[fragment.name] = first
    seen: list[list[Fragment]] = []
    for group in groups.values():
        if not any(group is other for other in seen):
            seen.append(group)
    return seen


def _too_many(total: int, most: int, target: Target) -> Broken:
    return Broken(
        "register-file",
        "error",
        f"fragments need {total} registers, a thread has at most {most}",
        target.source,
        "use a smaller tile, or more subgroups for the same tile",
    )


def _addresses(copies: int, total: int, mode: int) -> list[Finding]:
    """Warn when the block-2D address payloads and the thread's header find no room."""
    if total + copies + 1 <= mode:
        return []
    broken = Broken(
        "register-room",
        "warning",
        f"fragments take {total} of {mode} registers; {copies} address payloads and the "
        "thread header take one each, so some will be spilled",
        "vISA manual, LSC_UNTYPED.md: a block-2D message reads its address payload from a register",
        "use a smaller tile, or operands that need no reorder",
    )
    return [Finding("registers", broken)]


def _subgroups(kernel: Kernel) -> int:
    """Subgroups of the work-group: as many as its largest statement is dealt out to."""
    counts = [1]
    for statement in kernel.statements():
        if isinstance(statement, (Load, Prefetch, Store)):
            counts.append(statement.copy.num_subgroups)
        elif isinstance(statement, Mma):
            counts.append(statement.mma.num_subgroups)
    return max(counts)


def _threads(kernel: Kernel, mode: int, target: Target) -> tuple[list[Resource], list[Finding]]:
    subgroups = _subgroups(kernel)
    try:
        available = target.threads_per_core(mode)
    except TargetError as unknown:
        broken = Broken("threads", "warning", unknown.condition, target.source, unknown.fix)
        return [], [Finding("hardware threads", broken)]
    detail = f"one for each subgroup; an Xe core keeps {available} of {mode} registers"
    resource = Resource("hardware threads", subgroups, available, detail)
    if subgroups <= available:
        return [resource], []
    broken = Broken(
        "threads",
        "error",
        f"a work-group of {subgroups} subgroups needs as many hardware threads, an Xe core has "
        f"{available} with {mode} registers each",
        target.source,
        "use fewer subgroups, or fewer registers",
    )
    return [resource], [Finding("hardware threads", broken)]
