"""Floor 9: judging a kernel by what its body does: copies, MMAs, registers, threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from pycute_xe.arch import Block2D
from pycute_xe.arch.rules import rules
from pycute_xe.atom import TiledCopy
from pycute_xe.checking.copies import judge_tiled_copy
from pycute_xe.checking.fences import judge_fences
from pycute_xe.checking.found import Found
from pycute_xe.checking.mmas import judge_tiled_mma
from pycute_xe.checking.resources import resources
from pycute_xe.checking.shared_memory import judge_shared_memory
from pycute_xe.errors import InputError, quoted
from pycute_xe.kernel import (
    AtomicStore,
    Await,
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    If,
    Kernel,
    Load,
    Loop,
    Map,
    Meanings,
    Mma,
    NamedArrive,
    NamedWait,
    Operand,
    Part,
    Prefetch,
    Reduce,
    Reorder,
    SharedLoad,
    SharedStore,
    Signal,
    Statement,
    Store,
)

__all__ = ["JUDGED", "judge_kernel"]

Copying: TypeAlias = Prefetch | Load | Store | AtomicStore


@dataclass(eq=False)
class Body:
    """The body under judgement: what was found, arrays that are asked about, copies seen."""

    kernel: Kernel
    found: Found
    sizes: Mapping[str, int]
    strides: Mapping[str, int]
    copies: dict[TiledCopy, Copying] = field(default_factory=dict[TiledCopy, "Copying"])


JUDGED: Meanings[Callable[[Body, Statement], None]] = Meanings("check")


@JUDGED.of(Prefetch, Load, Store, AtomicStore)
def _(body: Body, statement: Copying) -> None:
    if statement.copy in body.copies:
        return
    body.copies[statement.copy] = statement
    operand = body.kernel.operand(statement.operand)
    placed = _placed(statement, operand, body.sizes, body.strides)
    verb = type(statement).__name__.lower()
    subject = f"{verb} {operand.name} by {statement.copy.op}"
    judge_tiled_copy(placed, subject, body.found, memory=operand.name)
    _judge_other_modes(body, statement, operand)


def _judge_other_modes(body: Body, statement: Copying, operand: Operand) -> None:
    """Judge how far the base moves along modes that a copy's tile does not run along."""
    steps = _steps(operand, body.sizes, body.strides)
    for mode, step in enumerate(steps):
        extent = _extent(operand, mode, body.sizes)
        if mode in statement.modes or extent in (None, 1) or step is None:
            continue
        told = f"{operand.name}, from one {str(operand.modes[mode]).lower()} to the next"
        bits = step * operand.value_type.bits
        whole = rules("block2d", "block", body.found.target.name)
        body.found.judge(told, whole, {"row_bits": bits})
        if bits % 8 == 0:
            surface = rules("block2d", "surface", body.found.target.name)
            body.found.judge(told, surface, {"base": bits // 8})


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


@JUDGED.of(Mma)
def _(body: Body, statement: Mma) -> None:
    judge_tiled_mma(statement.mma, body.found, level="warning")


@JUDGED.of(
    *(Fill, Reorder, Part, Convert, Map, Reduce, Loop, If),
    *(BarrierArrive, BarrierWait, Fence, SharedLoad, SharedStore, NamedArrive, NamedWait),
    *(Await, Signal),
)
def _(body: Body, statement: Statement) -> None:
    """Nothing but registers and shared memory, which are counted, and barriers, which pair up."""
    del body, statement


def judge_kernel(
    kernel: Kernel, found: Found, sizes: Mapping[str, int], strides: Mapping[str, int]
) -> None:
    """Judge every copy and MMA of the body, on arrays of ``sizes`` and ``strides`` where given."""
    _demand_known(kernel, sizes, strides)
    body = Body(kernel, found, sizes, strides)
    judged: set[Statement] = set()
    for statement in kernel.statements():
        if not isinstance(statement, Mma) or statement not in judged:
            JUDGED[statement](body, statement)
        judged.add(statement)
    if kernel.shared:
        judge_fences(kernel, found)
        judge_shared_memory(kernel, found)
    taken, problems = resources(kernel, tuple(body.copies), found.target)
    found.resources += taken
    for problem in problems:
        found.refuse(problem.subject, (problem.broken,))
    full = {problem.subject for problem in problems if problem.is_error}
    for resource in taken:
        if resource.name in full:
            continue
        condition = f"{resource.used} of {resource.available}"
        found.hold(resource.name, resource.name, condition, found.target.source)
    _demand(body)


def _demand(body: Body) -> None:
    """Say what the messages of each operand ask of its memory."""
    used: dict[str, list[Block2D]] = {}
    for copy, statement in body.copies.items():
        used.setdefault(statement.operand, []).append(copy.op.message)
    for name, messages in used.items():
        operand = body.kernel.operand(name)
        along = operand.modes[operand.contiguous]
        rows = [mode for i, mode in enumerate(operand.modes) if i != operand.contiguous]
        across = f"{rows[-1]} rows of " if rows else ""
        body.found.demand(f"{name} ({across}{along})", messages, operand.value_type)


def _placed(
    statement: Copying, operand: Operand, sizes: Mapping[str, int], strides: Mapping[str, int]
) -> TiledCopy:
    """The copy on the array that is asked about: rows lie one after another if not told."""
    copy = statement.copy
    extents = [_extent(operand, mode, sizes) for mode in statement.modes]
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
        example = {known[0]: 256}
        if not isinstance(cast("object", given), Mapping):
            condition = f"{what} is {type(given).__name__}, not a mapping from names to integers"
            raise InputError("check", {what: given}, condition, f"write {example}")
        for name, value in given.items():
            wrong = ""
            if name not in known:
                wrong = f"{kernel.name} has {', '.join(known)}, not {name}"
            elif type(value) is not int or value < 1:
                wrong = f"{name} is {quoted(value)}, not a positive integer"
            if wrong:
                raise InputError("check", {what: given}, wrong, f"write {example}")
