"""Floor 9: registers and threads that a kernel needs."""

from __future__ import annotations

from pycute_xe.arch import Broken, Target
from pycute_xe.atom import is_identity
from pycute_xe.checking.report import Finding, Resource
from pycute_xe.errors import TargetError
from pycute_xe.kernel import Fragment, Kernel, Load, Prefetch, Reorder, Store

__all__ = ["resources"]


def resources(kernel: Kernel, target: Target) -> tuple[list[Resource], list[Finding]]:
    """Return the registers and hardware threads of a kernel, and what does not fit.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> [str(r) for r in resources(gemm, cx.get_target("bmg"))[0]][0]
    'registers: 224 of 256 (tCrC 128 + tArA=tCrA 32 + tBrB=tCrB 64)'
    """
    shared = _sharing(kernel)
    counts = {
        "=".join(f.name for f in group): max(_registers(f, target) for f in group)
        for group in shared
    }
    total = sum(counts.values())
    detail = " + ".join(f"{name} {count}" for name, count in counts.items())
    most = max(target.grf_modes)
    if total > most:
        used = Resource("registers", total, most, detail)
        return [used], [Finding("registers", _too_many(total, most, target))]
    mode = target.grf_mode(total)
    found = [Resource("registers", total, mode, detail)]
    findings = _addresses(kernel, total, mode, target)
    threads, problems = _threads(kernel, mode, target)
    return found + threads, findings + problems


def _registers(fragment: Fragment, target: Target) -> int:
    return -(-fragment.bytes // target.grf_bytes)


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


def _addresses(kernel: Kernel, total: int, mode: int, target: Target) -> list[Finding]:
    """Warn when the block-2D address payloads and the thread's header find no room."""
    copies = {s.copy for s in kernel.statements() if isinstance(s, (Load, Store, Prefetch))}
    needed = total + len(copies) + 1
    if needed <= mode or needed <= max(target.grf_modes):
        return []
    broken = Broken(
        "register-room",
        "warning",
        f"fragments take {total} of {mode} registers; {len(copies)} address payloads and the "
        "thread header take one each, so some will be spilled",
        "vISA manual, LSC_UNTYPED.md: a block-2D message reads its address payload from a register",
        "use a smaller tile, or operands that need no reorder",
    )
    return [Finding("registers", broken)]


def _threads(kernel: Kernel, mode: int, target: Target) -> tuple[list[Resource], list[Finding]]:
    subgroups = kernel.mma.num_subgroups
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
