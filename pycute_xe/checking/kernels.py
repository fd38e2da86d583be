"""Judging a kernel by what its body does: copies, MMAs, registers, threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from pycute_xe.arch import Block2D, Broken, Target
from pycute_xe.arch.banks import banks
from pycute_xe.arch.rules import Level, rules
from pycute_xe.atom import TiledCopy
from pycute_xe.bulk import table
from pycute_xe.checking.atoms import (
    judge_registers,
    judge_threads,
    judge_tiled_copy,
    judge_tiled_mma,
)
from pycute_xe.checking.reorders import judge_reorders
from pycute_xe.checking.report import Findings, Resource
from pycute_xe.errors import InputError, KernelError, UndecidableError, quoted
from pycute_xe.facts import rows_for
from pycute_xe.kernel import Fragment, Kernel, Meanings, Operand, walk
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.effects import MemoryAccess, SharedAccess
from pycute_xe.kernel.ir.listing import renamings
from pycute_xe.kernel.ir.named import NamedArrive, NamedWait
from pycute_xe.kernel.ir.program import doing, living
from pycute_xe.kernel.ir.reach import too_far
from pycute_xe.kernel.ir.visiting import visit
from pycute_xe.kernel.ir.weaving import woven

__all__ = [
    "JUDGED",
    "bank_turns",
    "judge_kernel",
    "judge_message",
    "judge_nothing",
    "judge_product",
]

# ------------------------------------------------------------ resources
# Registers, shared memory and threads that a kernel needs.


def judge_resources(kernel: Kernel, copies: int, findings: Findings) -> None:
    """Judge the registers and threads of a kernel, with as many address payloads as ``copies``.

    Registers are counted where most fragments live at once: from where one is written to where it
    is last read, around loops too. An operand that `emit` makes in pieces counts by these.
    """
    groups = _sharing(kernel)
    counts = {_name(group): _registers(group, findings.target) for group in groups}
    counts |= _pieces_of(kernel, groups, counts, findings.target)
    judge_registers(
        {name: counts[name] for name in _peak(kernel, groups, counts)}, findings, copies
    )
    judge_threads(kernel.subgroups, findings)


def _peak(kernel: Kernel, groups: list[list[Fragment]], counts: dict[str, int]) -> list[str]:
    """Return the groups that live where most registers do."""
    group_of = {fragment.name: _name(group) for group in groups for fragment in group}
    best: tuple[int, frozenset[str]] = (0, frozenset())

    def at(alive: frozenset[str]) -> None:
        nonlocal best
        names = frozenset(group_of[name] for name in alive)
        best = max(best, (sum(counts[n] for n in names), names), key=lambda point: point[0])

    living(kernel.body, frozenset(), at)
    return [name for name in counts if name in best[1]]


def _pieces_of(
    kernel: Kernel, groups: list[list[Fragment]], counts: dict[str, int], target: Target
) -> dict[str, int]:
    """Return the registers of operands that go round through fewer than their whole takes."""
    group_of = {fragment.name: _name(group) for group in groups for fragment in group}

    def taken(alive: frozenset[str]) -> int:
        return sum(counts[name] for name in {group_of[name] for name in alive})

    pieces = woven(kernel, renamings(kernel), taken)
    # Alone in its group, its name is the fragment's.
    return {name: target.registers(each.bytes) for name, each in pieces.items() if name in counts}


def _name(group: list[Fragment]) -> str:
    return "=".join(fragment.name for fragment in group)


def _registers(group: list[Fragment], target: Target) -> int:
    return max(target.registers(fragment.bytes) for fragment in group)


def _sharing(kernel: Kernel) -> list[list[Fragment]]:
    """Group fragments that may share registers: a reorder that needs no instruction joins two."""
    renamed = renamings(kernel)
    groups = {f.name: [f] for f in kernel.fragments}
    for statement in walk(kernel.body):
        move = statement.touched.move
        if move is not None and move.permutation is not None and move.destination in renamed:
            first, second = groups[move.source], groups[move.destination]
            alike = first[0].value_type == second[0].value_type  # else they are converted
            if alike and first is not second:
                first += second
                for fragment in second:
                    groups[fragment.name] = first
    seen: list[list[Fragment]] = []
    for group in groups.values():
        if not any(group is other for other in seen):
            seen.append(group)
    return seen


# ------------------------------------------------------------ shared memory
# Judging shared memory: its bytes, and the turns that bank conflicts cost.

REGISTER = 64
"""Bytes that one access moves: a register of a subgroup."""


@dataclass(frozen=True, slots=True)
class BankTurns:
    """Turns of the busiest bank, over all accesses of a statement, and the fewest possible.

    One access moves a register: 64 bytes of a subgroup.
    """

    accesses: int
    turns: int
    least: int

    @property
    def lost(self) -> int:
        """Turns lost to conflicts."""
        return self.turns - self.least


def bank_turns(kernel: Kernel, statement: ir.Statement, target: Target) -> BankTurns:
    """Return what the banks of shared memory do for one statement of all subgroups.

    Raises `KernelError` for a statement that uses no shared array.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> gemm = cx.kernel.slm_gemm(mma)
    >>> take = next(s for s in gemm.statements() if isinstance(s, ir.SharedLoad))
    >>> bank_turns(gemm, take, cx.get_target("bmg"))
    BankTurns(accesses=1024, turns=1024, least=1024)
    """
    shared = statement.touched.shared
    if shared is None:
        wrong = f"{type(statement).__name__} uses no shared array"
        raise KernelError("bank_turns", {"kernel": kernel.name}, wrong, "ask of one that does")
    unit = kernel.shared_array(shared.array).value_type.bits // 8
    places = table(shared.places).reshape(-1, kernel.subgroups).T * unit
    places = places[_reached(kernel, statement)]
    each = max(1, min(REGISTER // max(unit, 1), places.shape[1]))
    rows = places.reshape(-1, each)
    rows = rows - rows.min(axis=1, keepdims=True) // REGISTER * REGISTER  # as far from bank 0
    patterns, counts = np.unique(rows, axis=0, return_counts=True)
    model = banks(target)[0]
    uses = [model.use(map(int, row), unit) for row in patterns]
    pairs = list(zip(uses, map(int, counts), strict=True))
    return BankTurns(
        len(rows), sum(u.turns * n for u, n in pairs), sum(u.least * n for u, n in pairs)
    )


def _reached(kernel: Kernel, statement: ir.Statement) -> list[bool]:
    """Return which subgroups do a statement."""
    for one, enclosing, _ in visit(kernel.body):
        if one is statement:
            return list(doing(enclosing, kernel.subgroups))
    return [True] * kernel.subgroups


def judge_shared_memory(kernel: Kernel, findings: Findings) -> None:
    """Note the bytes of shared memory, refuse too many, and warn of turns lost to conflicts."""
    nbytes, target = sum(array.bytes for array in kernel.shared), findings.target
    most = max(limit.bytes for limit in target.slm)
    detail = " + ".join(f"{array.name} {array.bytes}" for array in kernel.shared)
    findings.resources.append(Resource("shared memory", nbytes, most, f"bytes: {detail}"))
    broken = target.slm_broken(nbytes)
    findings.refuse("shared memory", broken)
    if not broken:
        findings.hold("shared memory", "slm-size", f"{nbytes} of {most} bytes", target.source)
    for statement in kernel.statements():
        if (shared := statement.touched.shared) is not None:
            _judge_banks(kernel, statement, shared, findings)


def _judge_banks(
    kernel: Kernel, statement: ir.Statement, shared: SharedAccess, findings: Findings
) -> None:
    array = kernel.shared_array(shared.array)
    if array.value_type.bits < 8:
        return  # no element has an address: no executor moves it
    way = "store to" if shared.stores else "load from"
    subject, model = f"{way} {array.name}", banks(findings.target)[0]
    used = bank_turns(kernel, statement, findings.target)
    condition = f"{used.lost} of {used.turns} turns of {model.count} banks are lost to conflicts"
    if used.lost:
        fix = "swizzle the array, or store it in the order in which registers are loaded"
        findings.refuse(subject, (Broken("slm-banks", "warning", condition, model.source, fix),))
    else:
        findings.hold(subject, "slm-banks", condition, model.source)


# ------------------------------------------------------------ fences
# Judging whether a fence lies between stores to shared memory and the barrier.


def judge_fences(kernel: Kernel, findings: Findings) -> None:
    """Refuse a store that another subgroup uses behind a barrier, with no fence before it.

    That a barrier lies between at all is what `verify` proves. Places known only in a run are not
    judged.
    """
    try:
        unfenced = _unfenced(kernel)
    except UndecidableError:
        return
    for row in rows_for("arch", "fence", findings.target.name):
        rule, source = cast("str", row["id"]), cast("str", row["source"])
        for array in unfenced:
            broken = Broken(
                rule,
                cast("Level", row["level"]),
                f"no fence lies between the store to {array} and the barrier",
                source,
                "put a Fence() between the SharedStore and the BarrierArrive",
            )
            findings.refuse(f"shared array {array}", (broken,))
        if not unfenced:
            condition = "a fence lies between a store and the barrier behind it"
            findings.hold("shared memory", rule, condition, source)


def _unfenced(kernel: Kernel) -> list[str]:
    """Return the arrays that are stored to without a fence before the barrier."""
    from pycute_xe.holding.exploration import disorder, has_roles
    from pycute_xe.holding.ordering import clashes

    if has_roles(kernel):
        fault = disorder(kernel, {})
        return [fault.array] if fault is not None and fault.unfenced else []
    return [clash.first.shared.array for clash in clashes(kernel) if clash.unfenced]


# ------------------------------------------------------------ kernels


@dataclass(eq=False)
class Body:
    """The body under judgement: the findings, arrays that are asked about, copies seen."""

    kernel: Kernel
    findings: Findings
    sizes: Mapping[str, int]
    strides: Mapping[str, int]
    copies: dict[TiledCopy, MemoryAccess] = field(default_factory=dict[TiledCopy, MemoryAccess])


JUDGED: Meanings[Callable[[Body, ir.Statement], None]] = Meanings("check")


@JUDGED.of(ir.Prefetch, ir.Load, ir.Store, ir.AtomicStore)
def judge_message(body: Body, statement: ir.Statement) -> None:
    """Judge the messages of a tiled copy on the arrays that are asked about."""
    memory, kind = statement.touched.memory, type(statement).__name__
    if memory is None:
        raise _undeclared(body.kernel, kind, "memory")
    if memory.copy in body.copies:
        return
    body.copies[memory.copy] = memory
    operand = body.kernel.operand(memory.operand)
    placed = _placed(memory, operand, body.sizes, body.strides)
    subject = f"{kind.lower()} {operand.name} by {memory.copy.op}"
    judge_tiled_copy(placed, subject, body.findings, memory=operand.name)
    _judge_other_modes(body, memory, operand)


def _undeclared(kernel: Kernel, kind: str, effect: str) -> KernelError:
    """Return the refusal of a kind that declares no effect which its entry judges."""
    wrong, fix = f"{kind} declares no {effect}", f"name it in `{kind}.touches`"
    return KernelError("check", {"kernel": kernel.name, "statement": kind}, wrong, fix)


def _judge_other_modes(body: Body, memory: MemoryAccess, operand: Operand) -> None:
    """Judge how far the base moves along modes that a copy's tile does not run along."""
    steps = _steps(operand, body.sizes, body.strides)
    for mode, step in enumerate(steps):
        extent = _extent(operand, mode, body.sizes)
        if mode in memory.modes or extent in (None, 1) or step is None:
            continue
        subject = f"{operand.name}, from one {str(operand.modes[mode]).lower()} to the next"
        bits = step * operand.value_type.bits
        whole = rules("block2d", "block", body.findings.target.name)
        body.findings.judge(subject, whole, {"row_bits": bits})
        if bits % 8 == 0:
            surface = rules("block2d", "surface", body.findings.target.name)
            body.findings.judge(subject, surface, {"base": bits // 8})


def _steps(
    operand: Operand, sizes: Mapping[str, int], strides: Mapping[str, int]
) -> list[int | None]:
    """Return the stride of each mode, in values: the contiguous one is 1, the last ones follow."""
    order = [operand.contiguous]
    order += [m for m in reversed(range(len(operand.modes))) if m != operand.contiguous]
    steps: list[int | None] = [None] * len(operand.modes)
    step: int | None = 1
    for number, mode in enumerate(order):
        if number == 1:
            step = strides.get(operand.name, step)
        steps[mode] = step
        extent = _extent(operand, mode, sizes)
        step = None if step is None or extent is None else step * extent
    return steps


@JUDGED.of(ir.Mma)
def judge_product(body: Body, statement: ir.Statement) -> None:
    """Judge the tiled MMA of a product."""
    product = statement.touched.product
    if product is None:
        raise _undeclared(body.kernel, type(statement).__name__, "product")
    judge_tiled_mma(product.mma, body.findings)


@JUDGED.of(
    *(*ir.ON_REGISTERS, ir.Loop, ir.If, ir.SharedLoad, ir.SharedStore),
    *(ir.BarrierArrive, ir.BarrierWait, ir.Fence, NamedArrive, NamedWait),
    *(ir.Await, ir.Signal, ir.FetchAdd),
)
def judge_nothing(body: Body, statement: ir.Statement) -> None:
    """Judge nothing: registers and shared memory are counted, barriers are paired elsewhere.

    Raises `KernelError` for a kind that sends messages or multiplies, which is judged.
    """
    touched = statement.touched
    if touched.memory is not None or touched.product is not None:
        effect = "product" if touched.memory is None else "messages"
        raise KernelError(
            "check",
            {"kernel": body.kernel.name, "statement": type(statement).__name__},
            f"the {effect} of {type(statement).__name__} must be judged",
            "enter `judge_message` or `judge_product`",
        )


def judge_kernel(
    kernel: Kernel, findings: Findings, sizes: Mapping[str, int], strides: Mapping[str, int]
) -> None:
    """Judge every copy and MMA of the body, on arrays of ``sizes`` and ``strides`` where given."""
    _demand_known(kernel, sizes, strides)
    body = Body(kernel, findings, sizes, strides)
    judged: set[ir.Statement] = set()
    for statement in kernel.statements():
        if statement not in judged:
            JUDGED[statement](body, statement)
        judged.add(statement)
    if kernel.shared:
        judge_fences(kernel, findings)
        judge_shared_memory(kernel, findings)
    judge_indices(kernel, findings)
    judge_reorders(kernel, findings)
    judge_resources(kernel, len(body.copies), findings)
    _demand(body)


def judge_indices(kernel: Kernel, findings: Findings) -> None:
    """Judge whether coordinates and the integers of indices fit the bits that hold them."""
    if (far := too_far(kernel)) is None:
        return
    among = rules("block2d", "coordinate", findings.target.name)
    findings.judge(far.where, among, {"coordinate": far.farthest}, "use indices below 2**31")


def _demand(body: Body) -> None:
    """Say what the messages of each operand ask of its memory."""
    used: dict[str, list[Block2D]] = {}
    for copy, memory in body.copies.items():
        used.setdefault(memory.operand, []).append(copy.op.message)
    for name, messages in used.items():
        operand = body.kernel.operand(name)
        along = operand.modes[operand.contiguous]
        rows = [mode for i, mode in enumerate(operand.modes) if i != operand.contiguous]
        across = f"{rows[-1]} rows of " if rows else ""
        body.findings.demand(f"{name} ({across}{along})", messages, operand.value_type)


def _placed(
    memory: MemoryAccess, operand: Operand, sizes: Mapping[str, int], strides: Mapping[str, int]
) -> TiledCopy:
    """The copy on the array that is asked about: rows lie one after another if not told."""
    copy = memory.copy
    extents = [_extent(operand, mode, sizes) for mode in memory.modes]
    step = strides.get(operand.name, extents[copy.x_mode])
    stride: list[Any] = [step] * len(extents)
    stride[copy.x_mode] = 1
    given: dict[str, Any] = {}
    if step is not None:
        given["gmem_stride"] = tuple(stride)
    if sizes:
        given["gmem_shape"] = tuple(extents)
    return replace(copy, **given)


def _extent(operand: Operand, mode: int | None, sizes: Mapping[str, int]) -> int | None:
    """The extent of a mode of a copy's tile, None where the sizes do not tell it."""
    if mode is None:
        return 1
    extent = operand.modes[mode]
    return extent.at(sizes) if extent.names <= sizes.keys() else None


def _demand_known(kernel: Kernel, sizes: Mapping[str, int], strides: Mapping[str, int]) -> None:
    """Refuse sizes and strides of what the kernel does not have, and any that count nothing."""
    modes = kernel.sizes
    names = tuple(o.name for o in kernel.operands)
    for what, given, known in (("sizes", sizes, modes), ("strides", strides, names)):
        example = dict.fromkeys(known[:1], 256)
        if not isinstance(cast("object", given), Mapping):
            condition = f"{what} is {type(given).__name__}, not a mapping from names to integers"
            raise InputError("check", {what: given}, condition, f"write {example}")
        for name, value in given.items():
            wrong = ""
            if name not in known:
                wrong = f"{kernel.name} has {', '.join(known) or f'no {what}'}, not {name}"
            elif type(value) is not int or value < 1:
                wrong = f"{name} is {quoted(value)}, not a positive integer"
            if wrong:
                raise InputError("check", {what: given}, wrong, f"write {example}")
