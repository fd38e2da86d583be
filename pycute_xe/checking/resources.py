"""Floor 9: registers, shared memory and threads that a kernel needs."""

from __future__ import annotations

from collections.abc import Callable

from pycute_xe.arch import Broken, Target
from pycute_xe.atom import TiledCopy, is_identity
from pycute_xe.checking.report import Finding, Resource
from pycute_xe.errors import TargetError
from pycute_xe.kernel import Fragment, Kernel, Loop, Reorder, Statement, walk
from pycute_xe.kernel.ir.renaming import renamings
from pycute_xe.kernel.ir.statements import If

__all__ = ["resources"]


def resources(
    kernel: Kernel, copies: tuple[TiledCopy, ...], target: Target
) -> tuple[list[Resource], list[Finding]]:
    """Return the registers, shared memory and threads of a kernel, and what does not fit.

    Registers are counted where most fragments live at once: from where one is written to where it
    is last read, around loops too. ``copies`` are those whose messages need an address payload.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> [str(r) for r in resources(gemm, (), cx.get_target("bmg"))[0]][0]
    'registers: 224 of 256 (tCrC 128 + tArA=tCrA 32 + tBrB=tCrB 64)'
    """
    groups = _sharing(kernel)
    counts = {_name(group): _registers(group, target) for group in groups}
    total, alive = _peak(kernel, groups, counts)
    detail = " + ".join(f"{name} {counts[name]}" for name in alive)
    most = max(target.grf_modes)
    if total > most:
        used = Resource("registers", total, most, detail)
        return [used], [Finding("registers", _too_many(total, most, target))]
    # A register for the thread's header and one for each address payload come on top.
    mode = target.grf_mode(min(total + len(copies) + 1, most))
    found = [Resource("registers", total, mode, detail)]
    findings = _addresses(len(copies), total, mode)
    threads, problems = _threads(kernel, mode, target)
    return found + threads, findings + problems


def _peak(
    kernel: Kernel, groups: list[list[Fragment]], counts: dict[str, int]
) -> tuple[int, list[str]]:
    """Return the most registers that live at once, and the groups they belong to."""
    group_of = {fragment.name: _name(group) for group in groups for fragment in group}
    best: tuple[int, frozenset[str]] = (0, frozenset())

    def at(alive: frozenset[str]) -> None:
        nonlocal best
        names = frozenset(group_of[name] for name in alive)
        best = max(best, (sum(counts[n] for n in names), names), key=lambda found: found[0])

    _alive_before(kernel.body, frozenset(), at)
    return best[0], [name for name in counts if name in best[1]]


def _alive_before(
    body: tuple[Statement, ...], after: frozenset[str], at: Callable[[frozenset[str]], None]
) -> frozenset[str]:
    """Return the fragments that live before a body, given those behind it; tell ``at`` of each."""
    alive = after
    for statement in reversed(body):
        touched = statement.touched
        if isinstance(statement, Loop):
            # What a trip reads may come from the trip before.
            entry = _alive_before(statement.body, alive, lambda _: None)
            alive |= _alive_before(statement.body, alive | entry, at)
        elif isinstance(statement, If):
            alive |= _alive_before(statement.body, alive, at)
        else:
            at(alive | set(touched.writes) | set(touched.reads) | set(touched.updates))
            alive = (alive - set(touched.writes)) | set(touched.reads) | set(touched.updates)
    return alive


def _name(group: list[Fragment]) -> str:
    return "=".join(fragment.name for fragment in group)


def _registers(group: list[Fragment], target: Target) -> int:
    return max(-(-fragment.bytes // target.grf_bytes) for fragment in group)


def _sharing(kernel: Kernel) -> list[list[Fragment]]:
    """Group fragments that may share registers: a reorder that needs no instruction joins two."""
    renamed = renamings(kernel)
    groups = {f.name: [f] for f in kernel.fragments}
    for statement in walk(kernel.body):
        if isinstance(statement, Reorder) and (
            statement.destination in renamed or is_identity(statement.slots)
        ):
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


def _threads(kernel: Kernel, mode: int, target: Target) -> tuple[list[Resource], list[Finding]]:
    subgroups = kernel.subgroups
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
