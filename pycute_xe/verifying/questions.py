"""Floor 9: the questions asked of a kernel, each answered by a smallest failure or None."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from pycute_xe.arch.target import grf_bytes
from pycute_xe.errors import UndecidableError
from pycute_xe.holding.following import Around, Followed, Read, Write, follow
from pycute_xe.holding.nodes import Choice, Node, Undefined, contains, mapped
from pycute_xe.kernel import AtomicStore, Claim, Kernel, Load, Prefetch, Store
from pycute_xe.verifying.comparing import Difference, compare
from pycute_xe.verifying.evaluating import differ
from pycute_xe.verifying.failures import Failure, smallest
from pycute_xe.verifying.formula import Formula, Place, Term, add, summed
from pycute_xe.verifying.points import Space
from pycute_xe.verifying.regions import Region, too_hard
from pycute_xe.verifying.translating import claimed, held
from pycute_xe.verifying.trying import quotients, tried
from pycute_xe.verifying.views import View, view_of

__all__ = ["Questions"]


WILD, WILDER = 6, 12
"""Quotients from which on small problems are tried first, and questions are left to a process that
can be stopped."""


class Questions:
    """A kernel under proof: what was followed, and the answers that share it.

    ``fixed`` fixes sizes by name; a ``patient`` one asks what may take long.
    """

    def __init__(
        self, kernel: Kernel, fixed: Mapping[str, int] | None = None, patient: bool = False
    ) -> None:
        self.kernel, self.patient = kernel, patient
        self.space = Space(kernel, fixed)
        self.extents = {o.name: self.space.extents(o.name) for o in kernel.operands}

    @cached_property
    def followed(self) -> Followed:
        """What following the statements found."""
        return follow(self.kernel)

    @cached_property
    def views(self) -> dict[int, View]:
        """The points of each write, by its number."""
        return {i: view_of(write) for i, write in enumerate(self.followed.writes)}

    @cached_property
    def points(self) -> dict[int, Region]:
        """The region of each write, by its number."""
        writes = enumerate(self.followed.writes)
        return {i: self.space.points(write, self.views[i]) for i, write in writes}

    # ------------------------------------------------------------------ registers

    def registers(self) -> Failure | None:
        """Return the smallest problem in which a statement reads what was never written."""
        found = (self._undefined(read) for read in self.followed.reads)
        return _least(found)

    def _undefined(self, read: Read) -> Failure | None:
        for part in read.content.parts:
            for guards in _ways_to_undefined(part.node, ()):
                region = self.space.happens(read.around)
                if guards:
                    region = region.within(" and ".join(self._guard(g) for g in guards))
                point = smallest(region, self.space.naming)
                if point is not None:
                    return self._failure(
                        point,
                        "registers",
                        f"{type(read.statement).__name__} reads element {part.elements[0]} of "
                        f"{read.fragment}, which was never written",
                        region,
                        register_element=int(part.elements[0]),
                        faults=True,
                    )
        return None

    def _guard(self, guard: tuple[Choice, bool]) -> str:
        choice, holds = guard
        left, right = (self.space.naming.text(i) for i in (choice.index, choice.below))
        return f"{left} {'<' if holds else '>='} {right}"

    # ------------------------------------------------------------------ messages

    def bounds(self) -> Failure | None:
        """Return the smallest problem in which a message starts where the hardware cannot start."""
        found = (self._unaligned(s, around) for s, around in self.followed.copies)
        return _least(found)

    def _unaligned(self, statement: object, around: tuple[Around, ...]) -> Failure | None:
        if not isinstance(statement, (Prefetch, Load, Store, AtomicStore)):
            return None
        copy = statement.copy
        verb = type(statement).__name__.lower()
        step = copy.atom.values * 16 * copy.value_type.bits // 8
        happens = self.space.happens(around)
        if not isinstance(statement, Prefetch) and copy.messages > 1 and step % grf_bytes():
            point = smallest(happens, self.space.naming)
            if point is not None:
                words = f"message 1 of the {verb} of {statement.operand} starts inside a register"
                return self._failure(point, "bounds", words, happens, faults=True)
        ratio = copy.op.bits // copy.value_type.bits
        mode = statement.modes[copy.x_mode]
        if ratio <= 1 or mode is None:
            return None
        start = self.space.naming.text(statement.at[mode])
        region = (
            happens.within(f"({start}) mod {ratio} > 0") if "subgroup" not in start else happens
        )
        point = smallest(region, self.space.naming)
        if point is None:
            return None
        words = f"the {verb} of {statement.operand} starts between elements of {copy.op.bits} bits"
        return self._failure(point, "bounds", words, region, faults=True)

    # ------------------------------------------------------------------ outputs

    def coverage(self, output: str) -> Failure | None:
        """Return the smallest problem in which an element of an output is never written."""
        names = tuple(f"u_{i}" for i in range(len(self.extents[output])))
        sizes = self.space.naming.sizes
        limits = (f"0 <= {u} < {n}" for u, n in zip(names, self.extents[output], strict=True))
        missing = Region.where((*sizes, *names), " and ".join([*self.space.sizes, *limits]))
        for i, write in enumerate(self.followed.writes):
            if write.statement.operand != output:
                continue
            targets = self.space.targets(write, self.views[i])
            link = " and ".join(f"{u} = {t}" for u, t in zip(names, targets, strict=True))
            missing = missing - self.points[i].to(missing.names, link)
        point = smallest(missing, self.space.naming)
        if point is None:
            return None
        index = tuple(point[name] for name in names)
        words = f"{output}{list(index)} is never written"
        return self._failure(
            point,
            f"{output} coverage",
            words,
            missing,
            operand=output,
            element=index,
            output=output,
            index=index,
        )

    def values(self, output: str) -> Failure | None:
        """Return the smallest problem in which an element of an output is given a wrong value."""
        mine = [(i, w) for i, w in enumerate(self.followed.writes) if w.statement.operand == output]
        if any(isinstance(write.statement, AtomicStore) for _, write in mine):
            return self._wrongly_added(output, mine)
        return _least(self._wrong(i, w) for i, w in mine if not self._overwritten(i))

    def _wrongly_added(self, output: str, mine: list[tuple[int, Write]]) -> Failure | None:
        """Compare what all stores add to an element, and what it was, with what is claimed."""
        if not all(isinstance(write.statement, AtomicStore) for _, write in mine):
            raise UndecidableError(
                "verify", {"output": output}, "it is both stored and added to", "do one of the two"
            )
        if any(isinstance(s, Load) and s.operand == output for s in self.kernel.statements()):
            raise UndecidableError(
                "verify", {"output": output}, "it is loaded while others add to it", "load a copy"
            )
        names = tuple(f"u_{i}" for i in range(len(self.extents[output])))
        inside = [f"0 <= {u} < {n}" for u, n in zip(names, self.extents[output], strict=True)]
        sizes = self.space.naming.sizes
        points = Region.where((*sizes, *names), " and ".join([*self.space.sizes, *inside]))
        actual: Formula = (Term(1.0, (Place(output, names),)),)
        for i, write in mine:
            targets = self.space.targets(write, self.views[i])
            there = tuple(f"{u} = {t}" for u, t in zip(names, targets, strict=True))
            guards = (*there, *self.space.conditions(write))
            terms = held(write.node, self.views[i], self.space.naming)
            guarded = tuple(replace(t, guards=(*t.guards, *guards)) for t in terms)
            actual = add(actual, summed(self.space.spans(write, self.views[i]), guarded))
        claim = self._claim(output)
        wanted = claimed(
            claim.value, self.space.naming, dict(zip(claim.indices, names, strict=True))
        )
        difference = compare(points, actual, wanted, self.extents)
        if difference is None:
            return None
        point = smallest(difference.points, self.space.naming)
        if point is None or not differ(actual, wanted, point, self.extents):
            raise _agreeing(output, difference)
        index = tuple(point[name] for name in names)
        return self._failure(
            point,
            f"{output} values",
            f"{output}{list(index)}: {difference.words}",
            difference.points,
            operand=output,
            element=index,
            output=output,
            index=index,
        )

    def _claim(self, output: str) -> Claim:
        if self.kernel.computes is None:
            raise UndecidableError(
                "verify", {}, "the kernel has no specification", "give it one: Kernel.computes"
            )
        return self.kernel.computes.of(output)

    def _overwritten(self, number: int) -> bool:
        """Whether a later store writes the same places of the same registers, if this is done."""
        writes = self.followed.writes
        mine = writes[number]
        for later in writes[number + 1 :]:
            same = later.statement.operand == mine.statement.operand and later.base == mine.base
            shape = later.places.shape == mine.places.shape
            if same and shape and (later.places == mine.places).all():
                around = mine.around[: len(later.around)]
                if around == later.around:
                    return True
        return False

    def _wrong(self, number: int, write: Write) -> Failure | None:
        if self.kernel.operand(write.statement.operand).role == "inout":
            raise UndecidableError(
                "verify",
                {"operand": write.statement.operand},
                "an operand that is read and written changes under the reader",
                "give the result an operand of its own",
            )
        view, points = self.views[number], self.points[number]
        targets = self.space.targets(write, view)
        claim = self._claim(write.statement.operand)
        names = dict(zip(claim.indices, (f"({t})" for t in targets), strict=True))
        actual = held(write.node, view, self.space.naming)
        wanted = claimed(claim.value, self.space.naming, names)
        wild = quotients(actual)
        if wild > WILD:
            point = tried(write, view, self.space, actual, wanted, self.extents)
            if point is not None:
                at = " and ".join(f"{name} = {point[name]}" for name in points.names)
                where = Difference(Region.where(points.names, at), "tried", "another value")
                return self._at(where, write, view, targets)
            if wild > WILDER and not self.patient:
                raise too_hard("the maps of its registers take many quotients")
        difference = compare(points, actual, wanted, self.extents)
        if difference is None:
            return None
        point = smallest(difference.points, self.space.naming)
        if point is not None and not differ(actual, wanted, point, self.extents):
            raise _agreeing(write.statement.operand, difference)
        return self._at(difference, write, view, targets)

    def _at(
        self, difference: Difference, write: Write, view: View, targets: tuple[str, ...]
    ) -> Failure | None:
        region, output = difference.points, write.statement.operand
        names = tuple(f"u_{i}" for i in range(len(targets)))
        link = " and ".join(f"{u} = {t}" for u, t in zip(names, targets, strict=True))
        point = smallest(region.to((*region.names, *names), link), self.space.naming)
        if point is None:
            return None
        index = tuple(point[name] for name in names)
        flat = 0
        for name, extent in zip(view.names, view.shape, strict=True):
            flat = flat * extent + point[name]
        position = int(view.position[flat])
        fragment = self.kernel.fragment(write.statement.fragment)
        return self._failure(
            point,
            f"{output} values",
            f"{output}{list(index)}: {difference.words}",
            None if difference.kind == "tried" else region,
            operand=output,
            element=index,
            output=output,
            index=index,
            subgroup=int(view.subgroup[flat]),
            register_element=int(write.elements[position]),
            element_bits=fragment.value_type.bits,
        )

    def _failure(
        self,
        point: Mapping[str, int],
        claim: str,
        message: str,
        points: Region | None,
        **more: object,
    ) -> Failure:
        naming = self.space.naming
        sizes = {name: point[text] for name, text in naming.size_of.items()}
        variables = {n: point[t] for n, t in naming.variable_of.items() if t in point}
        return Failure(claim, message, sizes, variables, points=points, **more)  # pyright: ignore[reportArgumentType]


def _agreeing(output: str, difference: Difference) -> UndecidableError:
    return UndecidableError(
        "verify",
        {"output": output},
        f"{difference.words}, yet the values agree where that was tried",
        "claim it as it is computed",
    )


def _ways_to_undefined(
    node: Node, guards: tuple[tuple[Choice, bool], ...]
) -> list[tuple[tuple[Choice, bool], ...]]:
    """Return the conditions under which a node comes down to what was never written."""
    if not contains(node, Undefined):
        return []
    if isinstance(node, Undefined):
        return [guards]
    if isinstance(node, Choice):
        return [
            *_ways_to_undefined(node.then, (*guards, (node, True))),
            *_ways_to_undefined(node.otherwise, (*guards, (node, False))),
        ]
    inner: list[Node] = []

    def leaf(x: Node) -> Node:
        inner.append(x)
        return x

    mapped(node, leaf)
    return [guards] if any(isinstance(x, Undefined) for x in inner) else []


def _least(found: Iterable[Failure | None]) -> Failure | None:
    failures = [failure for failure in found if failure is not None]
    return min(failures, key=lambda failure: failure.key, default=None)
