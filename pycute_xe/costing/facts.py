"""What a kernel does at a size: messages, bytes by level, instructions, waves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from pycute_xe.arch.registers import occupancy
from pycute_xe.arch.target import Target, get_target
from pycute_xe.checking import check
from pycute_xe.costing.closed import Closed, closed_work
from pycute_xe.errors import InputError, LegalityError, quoted
from pycute_xe.executing.counting import Work, work_of
from pycute_xe.executing.space import anchors, given, grid_space
from pycute_xe.kernel import Fragment, Kernel
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.listing import reorder_moves
from pycute_xe.kernel.ir.operands import shape_of
from pycute_xe.kernel.spec.expression import Apply, Expression, parts

__all__ = ["Facts", "KernelFacts", "facts_of"]


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

    def __hash__(self) -> int:
        """Return a number that equal facts share, though mappings have none."""
        return hash((*self.sizes.items(), self.requested, self.fetched, self.dpas, self.groups))

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
        flag = type(value).__name__ in ("bool", "bool_")
        if flag or not isinstance(value, Integral) or value < 1:
            wrong = f"{name} is {quoted(value)}, not a positive integer"
            raise InputError("cost", {name: value}, wrong, f"write {name}=4096")
    return {name: int(value) for name, value in given.items()}


@dataclass(frozen=True, eq=False)
class KernelFacts:
    """What is known of a kernel on a target before its sizes: registers, and its work by formulas.

    ``registers``, ``grf_mode`` and ``resident`` are those of `Facts`; `at` gives these at a size.
    """

    kernel: Kernel
    target: Target
    registers: int
    grf_mode: int
    resident: int
    closed: Closed | None
    each: tuple[tuple[Mapping[str, int], tuple[int, int]], ...]

    def at(
        self, sizes: Mapping[str, int], cores: int, inputs: Mapping[str, Any] | None = None
    ) -> Facts:
        """Return what the kernel does at a size on so many Xe cores.

        Law: messages, bytes, DPAS and barriers are those of `run`'s report. Raises `InputError` for
        sizes that are missing or are not the kernel's, and as `work_of`.
        """
        known = sizes_of(self.kernel, sizes)
        every, steps, shares = self._works(known, inputs or {})
        return self._summed(known, every, steps, shares, cores, inputs or {})

    def _works(
        self, sizes: Mapping[str, int], inputs: Mapping[str, Any]
    ) -> tuple[list[Work], list[Mapping[str, int]], list[tuple[int, int]]]:
        """Return the work of each statement, its steps each time, and what share is fetched."""
        if self.closed is None:
            every = list(work_of(self.kernel, sizes, inputs, self.target))
            acting = _acting(self.kernel)
            each = [_each(self.kernel, work.statement, acting) for work in every]
        else:
            numbered = list(self.closed.at(sizes))
            every = [work for _, work in numbered]
            each = [self.each[number] for number, _ in numbered]
        return every, [steps for steps, _ in each], [share for _, share in each]

    def _summed(
        self,
        sizes: dict[str, int],
        every: list[Work],
        steps: list[Mapping[str, int]],
        shares: list[tuple[int, int]],
        cores: int,
        inputs: Mapping[str, Any],
    ) -> Facts:
        kernel = self.kernel
        messages, nbytes, did = Counter[str](), Counter[str](), Counter[str]()
        fetched = 0
        for work, step, (part, whole) in zip(every, steps, shares, strict=True):
            if work.messages:
                messages[work.sent] += work.messages
                nbytes[work.sent] += work.nbytes
                fetched += work.nbytes * part // whole
            for name, count in step.items():
                did[name] += count * work.times
        products = ((work.dpas, work.statement.touched.product) for work in every)
        of_mma = [(dpas, one.mma.atom.op) for dpas, one in products if one is not None]
        if self.closed is None:
            grid = grid_space(kernel, sizes, given("cost", kernel, inputs))
            groups = grid.size // kernel.subgroups
        else:
            groups = prod(count.at(sizes) for _, count in kernel.grid)
        at_once = self.resident * cores
        waves = -(-groups // at_once)
        extents = {o.name: shape_of(o, sizes) for o in kernel.operands}
        return Facts(
            sizes=sizes,
            messages=dict(messages),
            nbytes=dict(nbytes),
            requested=sum(nbytes[name] for name in ("load", "store", "atomic")),
            fetched=fetched,
            least=sum(prod(extents[o.name]) * o.value_type.bits // 8 for o in kernel.operands),
            shared=sum(nbytes[name] for name in ("shared load", "shared store")),
            dpas=sum(work.dpas for work in every),
            rows=sum(count * op.M for count, op in of_mma),
            operations=sum(2 * count * op.M * op.N * op.K for count, op in of_mma),
            barriers=sum(work.barriers for work in every),
            moves=did["move"],
            widened=did["widen"],
            converted=did["convert"],
            computed=did["function"],
            registers=self.registers,
            grf_mode=self.grf_mode,
            over=max(0, self.registers - self.grf_mode),
            groups=groups,
            subgroups=kernel.subgroups,
            resident=self.resident,
            waves=waves,
            last=(groups - (waves - 1) * at_once) / at_once,
        )


def facts_of(kernel: Kernel, target: str | Target = "bmg", mode: int = 0) -> KernelFacts:
    """Return what is known of a kernel on a target before its sizes; asked again, the same value.

    ``mode`` is the registers of a thread, as few as hold the kernel where it is 0. Raises
    `LegalityError` for a kernel that `check` refuses there, and for a mode that does not hold it.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> known = facts_of(gemm, "bmg")
    >>> known.registers, known.at({"M": 512, "N": 512, "K": 64}, cores=20).dpas
    (224, 8192)
    """
    return _facts_of(kernel, get_target(target), mode)


@lru_cache(maxsize=2048)
def _facts_of(kernel: Kernel, target: Target, mode: int) -> KernelFacts:
    checked = check(kernel, target)
    given_to = {"kernel": kernel.name, "target": target}
    if mode and (mode not in target.grf_modes or mode < (checked.grf_mode or 0)):
        wrong = f"{checked.registers} registers and payloads are needed, the mode is {mode}"
        fix = f"use one of {', '.join(map(str, target.grf_modes))} that holds them"
        raise LegalityError("cost", {**given_to, "mode": mode}, wrong, fix)
    mode = mode or checked.grf_mode or max(target.grf_modes)
    slm = sum(array.bytes for array in kernel.shared)
    resident = occupancy(slm, kernel.subgroups, target, mode).groups
    if checked.errors or not resident:
        wrong = str(checked.errors[0]) if checked.errors else "a work-group does not fit a core"
        raise LegalityError("cost", given_to, wrong, "see check(kernel, target)")
    closed = closed_work(kernel, target)
    counted = closed.counted if closed is not None else ()
    acting = _acting(kernel)
    each = tuple(_each(kernel, one.statement, acting) for one in counted)
    return KernelFacts(kernel, target, checked.registers, mode, resident, closed, each)


Acting = dict[int, list[int]]
"""The subgroups that do a statement, by its identity, where not all of a work-group do."""


def _acting(kernel: Kernel) -> Acting:
    """Return which subgroups do what conditions on the number of a subgroup alone guard."""
    out: Acting = {}

    def go(body: tuple[ir.Statement, ...], those: list[int]) -> None:
        for one in body:
            out[id(one)] = those
            if isinstance(one, ir.Loop):
                go(one.body, those)
            if isinstance(one, ir.If):
                names = one.index.names | one.below.names
                kept = those
                if set(names) == {SUBGROUP_INDEX}:
                    at = ({SUBGROUP_INDEX: number} for number in those)
                    kept = [p[SUBGROUP_INDEX] for p in at if one.index.at(p) < one.below.at(p)]
                go(one.body, kept)

    go(kernel.body, list(range(kernel.subgroups)))
    return out


def _each(
    kernel: Kernel, statement: ir.Statement, acting: Acting
) -> tuple[Mapping[str, int], tuple[int, int]]:
    return _steps(kernel, statement), _fetched(statement, acting.get(id(statement)))


def _fetched(statement: ir.Statement, those: list[int] | None) -> tuple[int, int]:
    """The share of its bytes that a core brings: what its subgroups load alike counts once."""
    memory = statement.touched.memory
    if memory is None or memory.prefetches:
        return 0, 1
    if not memory.fills or any(SUBGROUP_INDEX in index.names for index in memory.at):
        return 1, 1
    places = anchors(memory.copy)
    if those is not None:
        places = places[[number for number in those if number < len(places)]]
    blocks = places.reshape(-1, places.shape[2])
    return len(np.unique(blocks, axis=0)), max(1, len(blocks))


def _steps(kernel: Kernel, statement: ir.Statement) -> dict[str, int]:
    """Instructions on registers, each of 16 elements, by what they do, for one execution."""
    move, elementwise = statement.touched.move, statement.touched.elementwise
    steps = Counter[str]()
    if move is not None and not move.how:
        source, destination = map(kernel.fragment, (move.source, move.destination))
        if move.slots is not None and source.value_type == destination.value_type:
            steps["move"] += reorder_moves(kernel, move)
        else:
            steps[_conversion(source, destination)] += -(-destination.elements // 16)
    if elementwise is not None:
        count = -(-kernel.fragment(elementwise.destination).elements // 16)
        steps["function"] += count * _operations(elementwise.value)
    return steps


def _conversion(source: Fragment, destination: Fragment) -> str:
    """Return what the steps of a conversion are counted as."""
    is_widening = source.value_type.kind != "float" and destination.value_type.kind == "float"
    return "widen" if is_widening else "convert"


def _operations(value: Expression) -> int:
    return isinstance(value, Apply) + sum(map(_operations, parts(value)))
