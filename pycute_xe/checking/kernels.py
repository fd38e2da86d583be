"""Floor 9: judging a kernel by what its body does: copies, MMAs, registers, threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pycute_xe.arch import Block2D
from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.checking.copies import judge_tiled_copy
from pycute_xe.checking.found import Found
from pycute_xe.checking.mmas import judge_tiled_mma
from pycute_xe.checking.resources import resources
from pycute_xe.errors import InputError, quoted
from pycute_xe.kernel import Kernel, Load, Mma, Prefetch, Store
from pycute_xe.kernel.statements import Operand

__all__ = ["judge_kernel"]


def judge_kernel(
    kernel: Kernel, found: Found, sizes: Mapping[str, int], strides: Mapping[str, int]
) -> None:
    """Judge every copy and MMA of the body, on arrays of ``sizes`` and ``strides`` where given."""
    _demand_known(kernel, sizes, strides)
    copies: dict[TiledCopy, tuple[str, str]] = {}
    mmas: dict[TiledMma, None] = {}
    for statement in kernel.statements():
        if isinstance(statement, (Load, Store, Prefetch)):
            verb = type(statement).__name__.lower()
            copies.setdefault(statement.copy, (verb, statement.operand))
        elif isinstance(statement, Mma):
            mmas[statement.mma] = None
    used: dict[str, list[Block2D]] = {}
    for copy, (verb, name) in copies.items():
        placed = _placed(copy, kernel.operand(name), sizes, strides)
        judge_tiled_copy(placed, f"{verb} {name} by {copy.op}", found, memory=name)
        used.setdefault(name, []).append(copy.op.message)
    for mma in mmas:
        judge_tiled_mma(mma, found)
    taken, problems = resources(kernel, found.target)
    found.resources += taken
    for problem in problems:
        found.refuse(problem.subject, (problem.broken,))
    full = {problem.subject for problem in problems if problem.is_error}
    for resource in taken:
        if resource.name in full:
            continue
        condition = f"{resource.used} of {resource.available}"
        found.hold(resource.name, resource.name, condition, found.target.source)
    for name, messages in used.items():
        operand = kernel.operand(name)
        across, along = operand.modes[1 - operand.x_mode], operand.modes[operand.x_mode]
        found.demand(f"{name} ({across} rows of {along})", messages, operand.value_type)


def _placed(
    copy: TiledCopy, operand: Operand, sizes: Mapping[str, int], strides: Mapping[str, int]
) -> TiledCopy:
    """The copy on the array that is asked about: rows lie one after another if not told."""
    extents = [sizes.get(mode) for mode in operand.modes]
    step = strides[operand.name] if operand.name in strides else extents[operand.x_mode]
    stride: list[Any] = [step, step]
    stride[operand.x_mode] = 1
    given = {}
    if step is not None:
        given["gmem_stride"] = tuple(stride)
    if sizes:
        given["gmem_shape"] = tuple(extents)
    return replace(copy, **given)


def _demand_known(kernel: Kernel, sizes: Mapping[str, int], strides: Mapping[str, int]) -> None:
    """Refuse sizes and strides of what the kernel does not have, and any that count nothing."""
    modes = tuple(dict.fromkeys(mode for o in kernel.operands for mode in o.modes))
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
