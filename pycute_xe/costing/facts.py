"""What a kernel does at a size: messages, bytes by level, instructions, waves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from pycute_xe.arch.regions import moves
from pycute_xe.arch.registers import occupancy
from pycute_xe.atom import is_identity
from pycute_xe.bulk import entries
from pycute_xe.checking import check
from pycute_xe.costing.device import Device
from pycute_xe.errors import InputError, LegalityError, quoted
from pycute_xe.executing.counting import Work, work_of
from pycute_xe.executing.space import anchors, given, grid_space
from pycute_xe.kernel import Convert, Kernel, Load, Map, Mma, Reorder
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.listing import renamings
from pycute_xe.kernel.ir.operands import shape_of
from pycute_xe.kernel.spec.expression import Apply, Expression, parts

__all__ = ["Facts", "facts"]


@dataclass(frozen=True)
class Facts:
    """What a kernel does at a size on a target; no figure of a device is in it.

    ``requested`` are the bytes that all subgroups ask for or store, ``fetched`` those that a core
    has to bring when its subgroups share what they load alike, ``least`` those of each operand
    once. ``moves`` are `mov` instructions of reorders; ``converted`` and ``computed`` count steps
    of 16 elements: integers that become floats, other conversions, operations of expressions.
    ``over`` are registers beyond those of a thread; a work-group needs ``subgroups`` threads, a
    core keeps ``resident`` work-groups, and all run in ``waves``, of which the last is ``last``
    full.
    """

    sizes: Mapping[str, int]
    messages: Mapping[str, int]
    nbytes: Mapping[str, int]
    requested: int
    fetched: int
    least: int
    shared: int
    dpas: int
    rows: int
    operations: int
    barriers: int
    moves: int
    widened: int
    converted: int
    computed: int
    registers: int
    grf_mode: int
    over: int
    groups: int
    subgroups: int
    resident: int
    waves: int
    last: float

    @property
    def redundant(self) -> int:
        """Bytes that subgroups of a work-group ask for though another one brings them too."""
        return self.requested - self.fetched

    @property
    def intensity(self) -> Mapping[str, float]:
        """Operations of DPAS for each byte of a level."""
        levels = {"L1": self.requested, "L2": self.fetched, "memory": self.least}
        return {name: self.operations / count for name, count in levels.items() if count}


def sizes_of(kernel: Kernel, given: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes of a kernel, each given by name. Raises `InputError` for others."""
    for name in kernel.sizes:
        if name not in given:
            wanted = ", ".join(f"{size}=4096" for size in kernel.sizes)
            raise InputError("cost", {"missing": name}, f"{name} is missing", f"give {wanted}")
    for name, value in given.items():
        if name not in kernel.sizes:
            known = ", ".join(kernel.sizes)
            wrong = f"the kernel has no size {name}"
            raise InputError("cost", {name: value}, wrong, f"its sizes are {known}")
        if not isinstance(value, Integral) or value < 1:
            wrong = f"{name} is {quoted(value)}, not a positive integer"
            raise InputError("cost", {name: value}, wrong, f"write {name}=4096")
    return {name: int(value) for name, value in given.items()}


def facts(
    kernel: Kernel, device: Device, sizes: Mapping[str, int], inputs: Mapping[str, Any]
) -> Facts:
    """Return what a kernel does at a size.

    Law: messages, bytes, DPAS and barriers are those of `run`'s report. Raises as `work_of`, and
    `InputError` for sizes that are missing or are not the kernel's.
    """
    known = sizes_of(kernel, sizes)
    every = tuple(work_of(kernel, known, inputs, device.target))
    messages, nbytes = Counter[str](), Counter[str]()
    for work in every:
        if work.messages:
            messages[work.sent] += work.messages
            nbytes[work.sent] += work.nbytes
    multiplied = [(w.dpas, w.statement.mma.atom.op) for w in every if isinstance(w.statement, Mma)]
    steps = [_steps(kernel, work) for work in every]
    checked = check(kernel, device.target)
    mode = checked.grf_mode or max(device.target.grf_modes)
    slm = sum(array.bytes for array in kernel.shared)
    resident = occupancy(slm, kernel.subgroups, device.target, mode).groups
    grid = grid_space(kernel, known, given("cost", kernel, inputs))
    groups = grid.size // kernel.subgroups
    if checked.errors or not resident:
        wrong = str(checked.errors[0]) if checked.errors else "a work-group does not fit a core"
        given_to = {"kernel": kernel.name, "target": device.target}
        raise LegalityError("cost", given_to, wrong, "see check(kernel, target)")
    at_once = resident * device.cores
    waves = -(-groups // at_once)
    shapes = {o.name: shape_of(o, known) for o in kernel.operands}
    return Facts(
        sizes=known,
        messages=dict(messages),
        nbytes=dict(nbytes),
        requested=sum(nbytes[name] for name in ("load", "store", "atomic")),
        fetched=sum(map(_fetched, every)),
        least=sum(prod(shapes[o.name]) * o.value_type.bits // 8 for o in kernel.operands),
        shared=sum(nbytes[name] for name in ("shared load", "shared store")),
        dpas=sum(work.dpas for work in every),
        rows=sum(count * op.M for count, op in multiplied),
        operations=sum(2 * count * op.M * op.N * op.K for count, op in multiplied),
        barriers=sum(work.barriers for work in every),
        moves=sum(step.get("move", 0) for step in steps),
        widened=sum(step.get("widen", 0) for step in steps),
        converted=sum(step.get("convert", 0) for step in steps),
        computed=sum(step.get("function", 0) for step in steps),
        registers=checked.registers,
        grf_mode=mode,
        over=max(0, checked.registers - mode),
        groups=groups,
        subgroups=kernel.subgroups,
        resident=resident,
        waves=waves,
        last=(groups - (waves - 1) * at_once) / at_once,
    )


def _fetched(work: Work) -> int:
    """The bytes that a core brings: what its subgroups load alike counts once."""
    statement = work.statement
    if work.sent not in ("load", "store", "atomic"):
        return 0
    if not isinstance(statement, Load) or any(
        SUBGROUP_INDEX in index.names for index in statement.at
    ):
        return work.nbytes
    places = anchors(statement.copy)
    blocks = places.reshape(-1, places.shape[2])
    return work.nbytes * len(np.unique(blocks, axis=0)) // len(blocks)


def _steps(kernel: Kernel, work: Work) -> dict[str, int]:
    """Instructions on registers, each of 16 elements, by what they do."""
    match work.statement:
        case Convert(source, destination):
            return _converted(kernel, source, destination, work.times)
        case Reorder(source, destination, slots):
            of, to = kernel.fragment(source), kernel.fragment(destination)
            if of.value_type != to.value_type:
                return _converted(kernel, source, destination, work.times)
            if destination in renamings(kernel) or is_identity(slots):
                return {}
            made = moves(entries(slots), of.value_type.bits, to.elements)
            return {"move": work.times * sum(move.instructions for move in made)}
        case Map(destination, value):
            count = -(-kernel.fragment(destination).elements // 16)
            return {"function": work.times * count * _operations(value)}
        case _:
            return {}


def _converted(kernel: Kernel, source: str, destination: str, times: int) -> dict[str, int]:
    of, to = (kernel.fragment(name).value_type for name in (source, destination))
    step = "widen" if of.kind != "float" and to.kind == "float" else "convert"
    return {step: times * -(-kernel.fragment(destination).elements // 16)}


def _operations(value: Expression) -> int:
    return isinstance(value, Apply) + sum(map(_operations, parts(value)))
