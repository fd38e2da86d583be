"""The questions asked of a kernel, each answered by a smallest failure or None."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.contents import Write
from pycute_xe.holding.exploration import has_roles
from pycute_xe.holding.following import follow
from pycute_xe.holding.memory import Tile, is_ordered
from pycute_xe.holding.nodes import Undefined
from pycute_xe.holding.patience import a_while
from pycute_xe.kernel import Loop
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.specification import Claim
from pycute_xe.numeric import Numeric
from pycute_xe.verifying.changes import (
    Counting,
    Touch,
    changed_before,
    changed_beside,
    changed_by_others,
    may_be_covered,
    touches,
)
from pycute_xe.verifying.comparison import compare
from pycute_xe.verifying.coverage import Coverage, Point
from pycute_xe.verifying.defining import undefined_claim
from pycute_xe.verifying.enumeration import different
from pycute_xe.verifying.evaluation import differ
from pycute_xe.verifying.faults import least
from pycute_xe.verifying.formula import (
    Formula,
    Place,
    Term,
    add,
    atoms_within,
    substituted,
    summed,
)
from pycute_xe.verifying.guards import Guard
from pycute_xe.verifying.joining import Together
from pycute_xe.verifying.laws import as_stored, lowest_bits
from pycute_xe.verifying.least import smallest
from pycute_xe.verifying.lookups import as_index, text_of
from pycute_xe.verifying.making import with_tables
from pycute_xe.verifying.matching import Difference
from pycute_xe.verifying.partitions import collapsed
from pycute_xe.verifying.points import Space, View, view_of
from pycute_xe.verifying.racing import check_one_writer, check_races
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.scatters import Named, solved
from pycute_xe.verifying.translation import EXACT, claimed, formula_of
from pycute_xe.verifying.verdict import Failure

__all__ = ["Questions"]

# ------------------------------------------------------------ loading
# What is loaded of operands that are stored to: who else stores there?


class Loading(Coverage):
    """The question whether loads find what the stores before them left."""

    def changed(self) -> Failure | None:
        """Return the smallest problem in which a load finds what another subgroup stores.

        Raises `UndecidableError` where it may, and nothing is known of the order.
        """
        failures: list[Failure | None] = []
        tiles: list[tuple[str, list[Touch], bool]] = []
        for operand in self.kernel.operands:
            tile = self.followed.memory.get(operand.name)
            loads, stores = touches(self.space, operand.name)
            ordered = isinstance(tile, Tile) and is_ordered(self.kernel, tile)
            for load, store in product(loads, stores):
                if operand.role != "scratch" and self._keeps(store):
                    continue
                before = changed_before(self.space, load, store)
                if not isinstance(tile, Tile) and not before.is_empty:
                    raise _overwrites(operand.name)
                failures.append(self._beside(load, store, ordered))
            if isinstance(tile, Tile):
                tiles.append((operand.name, stores, ordered))
            elif operand.role == "scratch":
                self._demand_apart(operand.name, stores)
        for name, stores, ordered in tiles if least(failures) is None else ():
            self._demand_own(name, stores, ordered)
        return least(failures)

    def _demand_apart(self, operand: str, stores: list[Touch]) -> None:
        """Demand that no two subgroups store to one element; both may add to it."""
        for one, other in combinations_with_replacement(stores, 2):
            adds = one.access.adds and other.access.adds
            if not adds and not changed_beside(self.space, one, other).is_empty:
                raise _overwrites(operand)

    def _demand_own(self, operand: str, stores: list[Touch], ordered: bool) -> None:
        """Demand that no other work-group stores what one loads back."""
        for one, other in combinations_with_replacement(stores, 2):
            if not changed_by_others(self.space, one, other).is_empty:
                raise _overwrites(operand)
        if not ordered:
            raise _overwrites(operand)

    def _keeps(self, store: Touch) -> bool:
        """Whether a store writes what lay there."""
        mine = [
            (i, w) for i, w in enumerate(self.followed.writes) if w.statement is store.statement
        ]
        for i, write in mine:
            targets = self.space.targets(write, self.views[i])
            numeric = self.kernel.operand(write.access.operand).value_type
            before: Formula = (Term(1.0, (Place(write.access.operand, targets, numeric),)),)
            actual = formula_of(write.node, self.views[i], self.space.naming, numeric, self.real)
            if compare(self.points[i], actual, before, self.extents) is not None:
                return False
        return bool(mine) and store.access.overwrites

    def _beside(self, load: Touch, store: Touch, ordered: bool) -> Failure | None:
        """Return where one subgroup loads what another stores, outside the group if ``ordered``."""
        changed = changed_by_others if ordered else changed_beside
        region = changed(self.space, load, store)
        point = smallest(region, self.space.naming)
        if point is None:
            return None
        name = load.access.operand
        meets = any(s.touched.meets for s in self.kernel.statements()) or has_roles(self.kernel)
        if (meets and not ordered) or self.kernel.operand(name).role == "scratch":
            raise _overwrites(name)  # a barrier may lie between
        index = [point[f"u_{i}"] for i in range(len(self.extents[name]))]
        words = f"{name}{index} is loaded by one subgroup and stored to by another in no order"
        return self.failure(point, f"{name} values", words, region, operand=name, faults=True)


def _overwrites(operand: str) -> UndecidableError:
    return undecided(
        f"an element of {operand} is loaded after it was stored to, on some path",
        "load it before, or give the result an operand of its own",
        operand=operand,
    )


# ------------------------------------------------------------ trying
# Small problems tried in turn, where maps are too wild for questions of sets.

WORK = 500_000
"""Units of work before the question is asked in another way."""

LITTLE = 100_000
"""Units where tables are looked up: a trial runs others, at their edges."""

LARGEST = 12
"""The sum of sizes up to which problems are tried."""


def quotients(formula: Formula) -> int:
    """Return how many quotients and remainders the indices of a formula take."""
    terms = [*formula, *(t for a in atoms_within(formula) for f in a.arguments for t in f)]
    texts = [text for term in terms for place in term.places for text in place.at]
    return sum(text.count("floor") + text.count("mod") for text in texts)


def tried(
    write: Write,
    view: View,
    space: Space,
    actual: Formula,
    wanted: Formula,
    extents: Mapping[str, tuple[str, ...]],
) -> dict[str, int] | None:
    """Return the first point of the first work-group, in the smallest problem, that is wrong.

    None where no small problem shows it, which proves nothing.
    """
    if any(isinstance(one, Loop) for one in write.enclosing):
        return None
    if any(index.looked_up for index in write.base):
        return None
    places = [digits.table(view.shape) for digits in view.places]
    zeros = dict.fromkeys((*space.naming.grid,), 0)
    goes_on = a_while(LITTLE if space.tables.by_name else WORK)
    for sizes in _problems(space):
        limits = space.shape(write.access.operand, sizes)
        inside = np.ones(view.shape, dtype=bool)
        for index, place, limit in zip(write.base, places, limits, strict=True):
            start = index.at(sizes | dict.fromkeys(space.naming.variable_of, 0))
            inside &= (start + place >= 0) & (start + place < limit)
        start = with_tables({space.naming.size_of[n]: v for n, v in sizes.items()} | zeros)
        for place in np.argwhere(inside)[:64]:
            if not goes_on():
                return None
            named = dict(zip(view.names, map(int, place), strict=True))
            point = start | named
            if differ(actual, wanted, point, extents, range(2)):
                return point
    return None


def _problems(space: Space) -> Iterator[dict[str, int]]:
    """Yield sizes, the smallest sum first, then in order."""
    names = tuple(space.naming.size_of)
    fixed = space.fixed
    spans = [(fixed[n],) if n in fixed else range(1, LARGEST) for n in names]
    for total in range(LARGEST + 1):
        for sizes in _summing_to(total, spans):
            yield dict(zip(names, sizes, strict=True))


def _summing_to(total: int, spans: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Yield one number of each span, in order, that together are a total."""
    if not spans:
        yield from () if total else ((),)
        return
    for first in spans[0]:
        if first <= total:
            yield from ((first, *rest) for rest in _summing_to(total - first, spans[1:]))


# ------------------------------------------------------------ questions

WILD = 6
"""Quotients from which on small problems are tried first."""


class Questions(Loading, Counting):
    """The questions about a kernel, each answered by a smallest failure or None."""

    def values(self, output: str) -> Failure | None:
        """Return the smallest problem in which an element of an output is given a wrong value."""
        try:
            failure = self._stored(output)
        except UndecidableError:
            nowhere = self._undefined_claim(output)
            if nowhere is None:
                raise
            return nowhere
        return failure or self._undefined_claim(output)

    def _stored(self, output: str) -> Failure | None:
        """Return the smallest problem in which something else is stored than is claimed."""
        mine = [(i, w) for i, w in enumerate(self.followed.writes) if w.access.operand == output]
        if any(write.access.adds for _, write in mine):
            return self._wrongly_added(output, mine)
        changed = self.changed()
        if changed is not None:
            return changed
        views, points = self.views, self.points
        judged = [(i, w) for i, w in mine if not self._overwritten(i)]
        joined = self.joined(output) if len(judged) == len(mine) else None
        if joined is not None and self._are_right(joined):
            check_races(self.space, output, [write for _, write in mine], joined)
            self._one_writer(output, mine, joined)
            return None
        failures = [(w, self._wrong(w, views[i], points[i])) for i, w in judged]
        wrong = least(f for w, f in failures if f and not may_be_covered(self.space, w, f))
        if wrong is None and any(failure is not None for _, failure in failures):
            return self._wrong_at_last(output)
        if wrong is None:
            check_races(self.space, output, [write for _, write in mine])
            self._one_writer(output, mine)
        return wrong

    def _one_writer(
        self, output: str, mine: list[tuple[int, Write]], joined: Sequence[Together] = ()
    ) -> None:
        """Demand one writer of places that no claim names; an inout keeps what it holds there."""
        claim = self.claim_of(output)
        if isinstance(claim, Scatter) and self.kernel.operand(output).role != "inout":
            every = [(w, self.views[i], self.points[i]) for i, w in mine]
            check_one_writer(self.space, claim, every, joined, (self.extents, self.real))

    def _are_right(self, joined: list[Together]) -> bool:
        """Whether stores are right, taken together; else they are asked one by one."""
        with suppress(UndecidableError):
            return all(map(self._is_right, joined))
        return False

    def _is_right(self, one: Together) -> bool:
        write, view, points = one.write, one.view, one.points
        claim = self.claim_of(write.access.operand)
        if isinstance(claim, Scatter):
            return self._wrong(write, view, points) is None
        numeric = self.kernel.operand(write.access.operand).value_type
        return self._compared(points, *self._both(write, view, points, claim), numeric) is None

    def _both(
        self, write: Write, view: View, points: Region, claim: Claim
    ) -> tuple[Formula, Formula]:
        """Return what a store stores, and what is claimed of that place."""
        numeric = self.kernel.operand(write.access.operand).value_type
        targets = (f"({t})" for t in self.space.targets(write, view))
        actual = formula_of(write.node, view, self.space.naming, numeric, self.real)
        names = dict(zip(claim.indices, targets, strict=True))
        wanted = claimed(claim.value, self.space.naming, names, numeric)
        wanted = collapsed(points, wanted)
        if self.space.naming.wraps and numeric.kind != "float":
            return lowest_bits(numeric, actual), lowest_bits(numeric, wanted)
        return as_stored(numeric, actual), as_stored(numeric, wanted)

    def _wrong_at_last(self, output: str) -> Failure | None:
        """Compare what lies in an output at the end with what is claimed.

        Raises `UndecidableError` where its stores are in no order, or lie in several places.
        """
        followed = follow(self.kernel, output)
        tile, left = followed.memory.get(output), followed.left.get(output)
        stores = touches(self.space, output)[1]
        if not isinstance(tile, Tile) or left is None or not is_ordered(self.kernel, tile):
            raise _stored_again(output)
        if any(
            not changed_by_others(self.space, one, other).is_empty
            for one, other in combinations_with_replacement(stores, 2)
        ):
            raise _stored_again(output)
        stored = next(w for w in self.followed.writes if w.access.operand == output)
        failures: list[Failure | None] = []
        for part in left.parts:
            if isinstance(part.node, Undefined):
                continue  # whether that is written is another question
            places = tile.places[part.elements][None]
            none = np.zeros_like(part.elements)
            one, base = np.arange(1), tile.base
            write = Write(stored.statement, stored.access, (), base, places, none, part.node, one)
            view = view_of(write)
            failures.append(self._wrong(write, view, self.space.points(write, view)))
        return least(failures)

    def _undefined_claim(self, output: str) -> Failure | None:
        """Return the smallest problem in which a claim names an element outside its operand."""
        undefined = undefined_claim(self.space, self.claim_of(output))
        if undefined is None:
            return None
        point, words, region = undefined
        return self.failure(
            point, f"{output} values", words, region, operand=output, output=output, faults=True
        )

    def _wrongly_added(self, output: str, mine: list[tuple[int, Write]]) -> Failure | None:
        """Compare what all stores add to an element, and what it was, with what is claimed."""
        if not all(write.access.adds for _, write in mine):
            raise undecided("it is both stored and added to", "do one of the two", output=output)
        accesses = (statement.touched.memory for statement in self.kernel.statements())
        if any(one.fills and one.operand == output for one in accesses if one is not None):
            raise undecided("it is loaded while others add to it", "load a copy", output=output)
        claim, numeric = self.claim_of(output), self.kernel.operand(output).value_type
        if not isinstance(claim, Claim):
            raise undecided("places that are looked up are added to", "store", output=output)
        if numeric.name not in EXACT:
            raise undecided(
                f"every addition to it rounds to {numeric}", "add in f32", output=output
            )
        names = tuple(f"u_{i}" for i in range(len(self.extents[output])))
        inside = [f"0 <= {u} < {n}" for u, n in zip(names, self.extents[output], strict=True)]
        sizes = self.space.naming.sizes
        points = Region.where((*sizes, *names), " and ".join([*self.space.sizes, *inside]))
        actual: Formula = (Term(1.0, (Place(output, names, numeric),)),)
        for i, write in mine:
            actual = add(actual, self._added(write, self.views[i], names))
        places = dict(zip(claim.indices, names, strict=True))
        wanted = claimed(claim.value, self.space.naming, places, numeric)
        if numeric.kind == "float":
            self.real.add(f"atomic additions in {numeric}")
        difference = compare(points, actual, wanted, self.extents, self.least)
        if difference is None:
            return None

        def failed(wrong: Difference, point: Point) -> Failure:
            index = tuple(point[name] for name in names)
            words = f"{output}{list(index)}: {wrong.words}"
            return self.of_element(output, "values", words, point, index, wrong.points)

        return self.shown(output, difference, (actual, wanted), failed, points)

    def _added(self, write: Write, view: View, names: Names) -> Formula:
        """Return what a write adds to an element: a sum over all points at which it adds there.

        Variables that the element tells are what it tells of them.
        """
        targets = list(zip(names, self.space.targets(write, view), strict=True))
        spans = {one.name: one for one in self.space.spans(write, view)}
        guards = (*self.space.conditions(write, view), *(Guard(u, "=", t) for u, t in targets))
        fixed: dict[str, Index] = {}
        for name, target in targets:
            index = as_index(target)
            if index is not None and not index.looked_up:
                rest = index.substitute(fixed)
                fixed |= solved(rest, Index(name), {*spans} & rest.names)
        places = {name: f"({text_of(index)})" for name, index in fixed.items()}
        ends = [(n, spans[n]) for n in fixed]
        for name, one in ends:
            guards += (Guard(name, ">=", one.low), Guard(name, "<", one.high))
        numeric = self.kernel.operand(write.access.operand).value_type
        terms = formula_of(write.node, view, self.space.naming, numeric, self.real)
        guarded = tuple(replace(t, guards=(*t.guards, *guards)) for t in terms)
        whole = summed(tuple(one for n, one in spans.items() if n not in fixed), guarded)
        return tuple(substituted(term, places) for term in whole)

    def _overwritten(self, number: int) -> bool:
        """Whether its subgroups later store to the same places, whenever they do this."""
        writes = self.followed.writes
        mine = writes[number]
        for later in writes[number + 1 :]:
            same = later.access.operand == mine.access.operand and later.base == mine.base
            same = same and np.array_equal(later.subgroups, mine.subgroups)
            shape = later.places.shape == mine.places.shape
            if same and shape and (later.places == mine.places).all():
                enclosing = mine.enclosing[: len(later.enclosing)]
                if enclosing == later.enclosing:
                    return True
        return False

    def _wrong(self, write: Write, view: View, points: Region) -> Failure | None:
        targets = self.space.targets(write, view)
        claim = self.claim_of(write.access.operand)
        numeric = self.kernel.operand(write.access.operand).value_type
        if isinstance(claim, Scatter):
            actual = formula_of(write.node, view, self.space.naming, numeric, self.real)
            return self._wrong_there(Named.of(self.space, claim), actual, write, view, points)
        actual, wanted = self._both(write, view, points, claim)
        wild = quotients(actual)
        if wild > WILD:
            point = tried(write, view, self.space, actual, wanted, self.extents)
            if point is not None:
                at = " and ".join(f"{name} = {point[name]}" for name in points.names)
                where = Difference(Region.where(points.names, at), "tried", "another value")
                failure = self._at(where, write, view, targets)
                if failure is not None:
                    self.demand_seen(failure, where, (actual, wanted), point)
                    return failure
        difference = self._compared(points, actual, wanted, numeric)
        if difference is None:
            return None

        def failed(wrong: Difference, _: Point) -> Failure | None:
            return self._at(wrong, write, view, targets)

        return self.shown(write.access.operand, difference, (actual, wanted), failed, points)

    def _wrong_there(
        self, claim: Named, actual: Formula, write: Write, view: View, points: Region
    ) -> Failure | None:
        """Compare a store with the element of a claim that scatters for which it is.

        Where it is for none it may only store what lay there, or to what held nothing before.
        """
        output, targets = write.access.operand, self.space.targets(write, view)
        keeps = self.kernel.operand(output).role == "inout"
        whole = claim.whole(targets, actual, keeps)
        element = claim.element(targets)

        def failed(wrong: Difference, _: Point) -> Failure | None:
            return self._at(wrong, write, view, targets)

        there = claim.there(points, targets, element)
        if element is not None:
            again = claim.others(there, targets, element)
            point = None if again.is_empty else smallest(again, self.space.naming)
            if point is not None:
                return self._named_twice(output, point, again)
        rest = points - there
        others = rest if rest.is_empty else claim.others(rest, targets, None)
        if not others.is_empty or (keeps and self._changes(rest, actual, write, targets)):
            where = rest if keeps else others.to(points.names)
            wrong = Difference(where, "elements", "the claim does not name that place")
            failure = self.shown(output, wrong, (actual, whole), failed)
            if failure is not None:
                return failure
        if element is None or there.is_empty:
            return None
        wanted = as_stored(claim.numeric, collapsed(there, claim.value(element)))
        actual = as_stored(claim.numeric, actual)
        difference = self._compared(there, actual, wanted, claim.numeric)
        if difference is None:
            return None
        return self.shown(output, difference, (actual, wanted), failed, there)

    def _changes(self, points: Region, actual: Formula, write: Write, targets: Names) -> bool:
        """Whether something else may be stored than what lay there."""
        if points.is_empty:
            return False
        output = write.access.operand
        numeric = self.kernel.operand(output).value_type
        before: Formula = (Term(1.0, (Place(output, targets, numeric),)),)
        try:
            return compare(points, actual, before, self.extents, self.least) is not None
        except UndecidableError:
            return True

    def _named_twice(self, output: str, point: Point, points: Region) -> Failure:
        words = f"a place of {output} is claimed twice"
        return self.failure(
            point, f"{output} values", words, points, operand=output, output=output, faults=True
        )

    def _compared(
        self, points: Region, actual: Formula, wanted: Formula, stored: Numeric
    ) -> Difference | None:
        """Return where two formulas differ; functions of one element at a number that shows it.

        Raises `UndecidableError` where that is not clear.
        """
        refusal, difference = None, None
        try:
            difference = compare(points, actual, wanted, self.extents, self.least)
        except UndecidableError as error:
            refusal = error
        if difference is None and refusal is None:
            return None
        answer = different(points, (actual, wanted), stored, self.extents)
        # What is read as real arithmetic may be off by a rounding at a single number.
        known = answer is not None and not (answer.difference and self.real)
        if answer is not None and known:
            return answer.difference
        if refusal is not None:
            raise refusal
        return difference

    def _at(
        self, difference: Difference, write: Write, view: View, targets: tuple[str, ...]
    ) -> Failure | None:
        region, output = difference.points, write.access.operand
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
        fragment = self.kernel.fragment(write.access.fragment)
        return self.failure(
            point,
            f"{output} values",
            f"{output}{list(index)}: {difference.words}",
            None if difference.kind == "tried" else region,
            operand=output,
            element=index,
            output=output,
            index=index,
            subgroup=int(write.subgroups[view.subgroup[flat]]),
            register_element=int(write.elements[position]),
            element_bits=fragment.value_type.bits,
            filled=difference.filled,
        )


def _stored_again(output: str) -> UndecidableError:
    return undecided(
        f"elements of {output} that hold something else may be stored to again",
        "store once, behind the loop or the condition",
        output=output,
    )
