"""What the questions of a proof share, and those whose failures stop a run.

The latter ask about barriers, registers and messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import copy
from functools import cached_property
from typing import Self

from pycute_xe.arch.target import grf_bytes
from pycute_xe.converting import greatest
from pycute_xe.errors import UndecidableError
from pycute_xe.holding.contents import Followed, Read
from pycute_xe.holding.events import Disorder
from pycute_xe.holding.exploration import disorder, has_roles
from pycute_xe.holding.following import follow, unplaced_in
from pycute_xe.holding.nodes import (
    Choice,
    Lost,
    NoClosedFormError,
    Node,
    Picked,
    Undefined,
    contains,
)
from pycute_xe.holding.ordering import Clash, clashes
from pycute_xe.holding.shared import outside
from pycute_xe.holding.tables import beside, copied
from pycute_xe.kernel import Kernel, Statement
from pycute_xe.kernel.counterexample import entries_of
from pycute_xe.kernel.index import SUBGROUP_INDEX, Looked
from pycute_xe.kernel.ir.visiting import Enclosing, visit
from pycute_xe.numeric import as_numeric
from pycute_xe.verifying.induction import Induction
from pycute_xe.verifying.least import smallest
from pycute_xe.verifying.making import tables_of
from pycute_xe.verifying.points import Space, View, index_text, view_of
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Region
from pycute_xe.verifying.verdict import Failure

__all__ = ["Facts", "least", "turned_round", "Faults"]


NOBODY: Mapping[str, str] = {}


class Facts:
    """A kernel under proof: what was followed, and the answers that share it.

    ``fixed`` fixes sizes by name. ``real`` gathers what was read as real arithmetic, ``promised``
    what was so where claims of loops were compared.
    """

    def __init__(self, kernel: Kernel, fixed: Mapping[str, int] | None = None) -> None:
        self.kernel = kernel
        self.space = Space(kernel, fixed)
        wide = any(x.value_type.name == "f64" for x in (*kernel.fragments, *kernel.operands))
        self.least = -greatest(as_numeric("f64" if wide else "f32"))
        self.real: set[str] = set()
        self.promised: set[str] = set()
        self._inside: dict[Looked, bool] = {}
        self.extents = {o.name: self.space.extents(o.name) for o in kernel.operands}

    def within(self, condition: str) -> Self:
        """Return the same facts, of sizes that meet a condition."""
        part = copy(self)
        part.space, part._inside = self.space.within(condition), {}
        part.__dict__.pop("points", None)
        return part

    @cached_property
    def _disorder(self) -> Disorder | UndecidableError | None:
        try:
            return disorder(self.kernel, self.space.fixed)
        except UndecidableError as error:
            return error

    def disorder(self) -> Disorder | None:
        """Return how barriers of some subgroups fail. Raises `UndecidableError` if not known."""
        if isinstance(self._disorder, UndecidableError):
            raise self._disorder
        return self._disorder

    @cached_property
    def _followed(self) -> Followed | UndecidableError:
        try:
            if self.kernel.shared and has_roles(self.kernel):
                met = self._disorder
                if isinstance(met, Disorder) and met.turned:
                    return turned_round(met)  # statements are followed as they are written
            induction = Induction(self.kernel, self.space, self.extents, self.least, self.promised)
            induction.jumps()
            followed = follow(self.kernel)
            for promise in followed.promises:
                induction.kept(promise)
        except UndecidableError as error:
            return error
        return followed

    @property
    def followed(self) -> Followed:
        """What following the statements found. Raises `UndecidableError` where it stopped."""
        if isinstance(self._followed, UndecidableError):
            raise self._followed
        return self._followed

    @cached_property
    def views(self) -> dict[int, View]:
        """The points of each write, by its number."""
        return {i: view_of(write) for i, write in enumerate(self.followed.writes)}

    @cached_property
    def points(self) -> dict[int, Region]:
        """The region of each write, by its number."""
        writes = enumerate(self.followed.writes)
        return {i: self.space.points(write, self.views[i]) for i, write in writes}

    def failure(
        self,
        point: Mapping[str, int],
        claim: str,
        message: str,
        points: Region | None,
        **more: object,
    ) -> Failure:
        """Return a failure at a point, its sizes and variables by the kernel's names."""
        naming = self.space.naming
        sizes = {name: point[text] for name, text in naming.size_of.items()}
        variables = {n: point[t] for n, t in naming.variable_of.items() if t in point}
        tables = tuple((name, entries_of(a)) for name, a in tables_of(point).items())
        return Failure(claim, message, sizes, variables, tables=tables, points=points, **more)  # pyright: ignore[reportArgumentType]

    def failure_in(
        self, region: Region, claim: str, message: str, **more: object
    ) -> Failure | None:
        """Return the failure at the smallest point of a region, None where it has none."""
        point = smallest(region, self.space.naming)
        return None if point is None else self.failure(point, claim, message, region, **more)


def turned_round(fault: Disorder) -> UndecidableError:
    """Return the refusal of uses of shared memory that come in another order than is written."""
    fix = "write what comes first in time before what waits for it"
    return undecided(fault.words, fix, sizes=fault.sizes)


def least(candidates: Iterable[Failure | None]) -> Failure | None:
    """Return the smallest of some failures, `None` of nothing."""
    failures = [failure for failure in candidates if failure is not None]
    return min(failures, key=lambda failure: failure.key, default=None)


MOST_REGIONS = 16
"""Pairs of accesses that are asked about one by one, before problems are followed for all."""


class Faults(Facts):
    """The questions whose failures stop a run."""

    # ------------------------------------------------------------------ barriers

    def barriers(self) -> Failure | None:
        """Return the smallest problem in which subgroups use shared memory in no order."""
        if has_roles(self.kernel):
            return self._unmet()
        if not self.kernel.shared:
            return None  # construction refuses halves of barriers without the other
        asked = clashes(self.kernel)
        if len(asked) > MOST_REGIONS:
            with suppress(UndecidableError):
                return self._unmet()
        failures = [(c, self._disordered(c)) for c in asked]
        sure = least(failure for clash, failure in failures if clash.sure)
        clash = next((c for c, failure in failures if failure is not None), None)
        if sure is None and clash is not None:
            with suppress(UndecidableError):
                return self._unmet()  # what conditions decide is followed event by event
            raise undecided(
                f"whether a barrier lies between two uses of {clash.first.shared.array} depends "
                "on conditions",
                "put barriers outside conditions",
                array=clash.first.shared.array,
            )
        return sure

    def _unmet(self) -> Failure | None:
        """Return the smallest problem in which subgroups do not meet as they should."""
        fault = self.disorder()
        if fault is None:
            return None
        if fault.turned:
            raise turned_round(fault)
        point = {self.space.naming.size_of[name]: size for name, size in fault.sizes.items()}
        return self.failure(
            point, "barriers", fault.words, None, subgroup=fault.subgroup, faults=True
        )

    def _disordered(self, clash: Clash) -> Failure | None:
        names = [type(a.statement).__name__ for a in (clash.first, clash.second)]
        array, (one, other) = clash.first.shared.array, clash.subgroups
        missing = "no barrier lies between"
        if clash.unfenced:
            missing = "no fence lies between the store and the barrier"
        words = f"{names[0]} of subgroup {one} and {names[1]} of subgroup {other} use element "
        words += f"{clash.element} of {array}, and {missing}"
        region = self.space.both(clash)
        return self.failure_in(region, "barriers", words, subgroup=other, faults=True)

    # ------------------------------------------------------------------ registers

    def invariants(self) -> None:
        """Raise `UndecidableError` where what a loop claims was not shown."""
        _ = self.followed
        self.real |= self.promised

    def registers(self) -> Failure | None:
        """Return the smallest problem in which a statement reads what was never written."""
        failures = (self._undefined(read) for read in self.followed.reads)
        return least(failures)

    def _undefined(self, read: Read) -> Failure | None:
        for part in read.content.parts:
            for guards in _ways_to_undefined(part.node, ()):
                region = self.space.happens(read.enclosing)
                if guards:
                    region = region.within(" and ".join(self._guard(g) for g in guards))
                first = int(part.elements[0])
                failure = self.failure_in(
                    region, "registers", self._unwritten(read, first),
                    register_element=first, faults=True,
                )  # fmt: skip
                if failure is not None:
                    return failure
        return None

    def _unwritten(self, read: Read, element: int) -> str:
        kind = type(read.statement).__name__
        if read.fragment in read.statement.touched.from_shared:
            return f"{kind} reads an element of {read.fragment} that was never written"
        return f"{kind} reads element {element} of {read.fragment}, which was never written"

    def _guard(self, guard: tuple[Choice, bool]) -> str:
        choice, holds = guard
        left, right = (self.space.naming.text(i) for i in (choice.index, choice.below))
        return f"{left} {'<' if holds else '>='} {right}"

    # ------------------------------------------------------------------ messages

    def bounds(self) -> Failure | None:
        """Return the smallest problem in which a message starts where the hardware cannot start.

        Or one in which something outside a table is looked up.
        """
        counts = tuple({x: None for _, count in self.kernel.grid for x in count.looked_up})
        sizes = Region.where(self.space.naming.sizes, " and ".join(self.space.sizes))
        failures = [self._beyond_table(counts, sizes)]
        for statement, enclosing, _ in visit(self.kernel.body):
            looked = self._looked_beyond(statement, enclosing)
            failures.append(looked)
            if looked is None:
                failures += [
                    self._unaligned(statement, enclosing),
                    self._outside(statement, enclosing),
                    self._elsewhere(statement, enclosing),
                ]
        failure = least(failures)
        if failure is None:
            for name, words in unplaced_in(self.kernel):
                raise undecided(words, "declare a MemoryAccess", operand=name)
        return failure

    def _looked_beyond(
        self, statement: Statement, enclosing: tuple[Enclosing, ...]
    ) -> Failure | None:
        """Find a lookup of a statement outside its table."""
        looked = {x: None for index in statement.touched.indices for x in index.looked_up}
        asked = tuple(x for x in looked if not self._is_inside(x))
        if not asked:
            return None
        points = self.space.happens_in(enclosing)
        return self._beyond_table(asked, points, {SUBGROUP_INDEX: "s"})

    def _is_inside(self, looked: Looked) -> bool:
        """Whether something lies inside its table in all work-groups, whatever they do."""
        names = {name for index in looked.at for name in index.names}
        if not names <= {*self.space.naming.size_of, *(name for name, _ in self.kernel.grid)}:
            return False
        if looked not in self._inside:
            points = self.space.happens(())
            self._inside[looked] = self._beyond_table((looked,), points) is None
        return self._inside[looked]

    def _beyond_table(
        self, asked: tuple[Looked, ...], points: Region, more: Mapping[str, str] = NOBODY
    ) -> Failure | None:
        names = {**self.space.naming.all, **more}
        for looked in reversed(asked):  # what is looked up inside comes first
            wrong: list[str] = []
            for index, extent in zip(looked.at, self.extents[looked.operand], strict=True):
                at = index_text(index, names)
                wrong += [f"{at} < 0", f"{at} >= {extent}"]
            region = points.within(" or ".join(wrong)) if wrong else None
            point = None if region is None else smallest(region, self.space.naming)
            if point is not None:
                words = f"{looked} is looked up outside of {looked.operand}"
                subgroup = point.get("s", 0)
                return self.failure(point, "bounds", words, region, subgroup=subgroup, faults=True)
        return None

    def _outside(self, statement: Statement, enclosing: tuple[Enclosing, ...]) -> Failure | None:
        if (shared := statement.touched.shared) is None:
            return None
        for words, *condition in outside(self.kernel, shared, enclosing):
            left, right = map(self.space.naming.text, condition)
            region = self.space.happens(enclosing).within(f"{left} < {right}")
            failure = self.failure_in(region, "bounds", words, faults=True)
            if failure is not None:
                return failure
        return None

    def _elsewhere(self, statement: Statement, enclosing: tuple[Enclosing, ...]) -> Failure | None:
        """Find an index that chooses a surface outside its operand: no message clips there."""
        if (memory := statement.touched.memory) is None:
            return None
        verb, operand = type(statement).__name__.lower(), memory.operand
        names = {**self.space.naming.all, SUBGROUP_INDEX: "s"}
        for mode, ahead in beside(memory):
            at, extent = index_text(memory.at[mode], names), self.extents[operand][mode]
            wrong = [f"{at} + {n} < 0 or {at} + {n} >= {extent}" for n in ahead]
            points = self.space.happens_in(enclosing)
            region = points.within(" or ".join(wrong))
            point = smallest(region, self.space.naming)
            if point is not None:
                words = (
                    f"the {verb} of {operand} is outside along {_mode(self.kernel, operand, mode)}"
                )
                return self.failure(
                    point, "bounds", words, region, subgroup=point["s"], faults=True
                )
        return None

    def _unaligned(self, statement: Statement, enclosing: tuple[Enclosing, ...]) -> Failure | None:
        if (memory := statement.touched.memory) is None:
            return None
        copy = memory.copy
        if not memory.prefetches:
            copied(copy)  # a block that starts between elements is a fault
        verb = type(statement).__name__.lower()
        step = copy.atom.values * 16 * copy.value_type.bits // 8
        happens = self.space.happens(enclosing)
        if not memory.prefetches and copy.messages > 1 and step % grf_bytes():
            point = smallest(happens, self.space.naming)
            if point is not None:
                words = f"message 1 of the {verb} of {memory.operand} starts inside a register"
                return self.failure(point, "bounds", words, happens, faults=True)
        ratio = copy.op.bits // copy.value_type.bits
        mode = memory.modes[copy.x_mode]
        if ratio <= 1 or mode is None:
            return None
        start = self.space.naming.text(memory.at[mode])
        region = (
            happens.within(f"({start}) mod {ratio} > 0") if "subgroup" not in start else happens
        )
        point = smallest(region, self.space.naming)
        if point is None:
            return None
        words = f"the {verb} of {memory.operand} starts between elements of {copy.op.bits} bits"
        return self.failure(point, "bounds", words, region, faults=True)


def _mode(kernel: Kernel, operand: str, mode: int) -> str:
    return f"mode {mode}, of extent {kernel.operand(operand).modes[mode]}"


def _ways_to_undefined(
    node: Node, guards: tuple[tuple[Choice, bool], ...]
) -> list[tuple[tuple[Choice, bool], ...]]:
    """Return the conditions under which a node comes down to what was never written."""
    if isinstance(node, Undefined):
        return [guards]
    if isinstance(node, Lost) and not node.written:
        raise NoClosedFormError(node.loops, node.why, fragment=node.fragment)
    if isinstance(node, Choice):
        return [
            *_ways_to_undefined(node.then, (*guards, (node, True))),
            *_ways_to_undefined(node.otherwise, (*guards, (node, False))),
        ]
    if isinstance(node, Picked) and contains(node, Undefined):
        raise undecided("whether a register was written depends on the subgroup", "fill it first")
    return []  # the statement that computed it has read it before
