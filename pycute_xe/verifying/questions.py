"""Floor 9: the questions asked of a kernel, each answered by a smallest failure or None."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.follower import Write
from pycute_xe.holding.following import follow
from pycute_xe.holding.memory import Tile
from pycute_xe.holding.nodes import Undefined
from pycute_xe.holding.visible import is_ordered
from pycute_xe.kernel import (
    AtomicStore,
    Load,
)
from pycute_xe.numeric import Numeric
from pycute_xe.verifying.changing import (
    changed_by_others,
    touches,
)
from pycute_xe.verifying.comparing import compare
from pycute_xe.verifying.counting import Counting
from pycute_xe.verifying.coverage import Point
from pycute_xe.verifying.defining import undefined_claim
from pycute_xe.verifying.differences import Difference
from pycute_xe.verifying.enumerating import different
from pycute_xe.verifying.facts import least
from pycute_xe.verifying.failures import Failure, smallest
from pycute_xe.verifying.formula import Formula, Place, Term, add, summed
from pycute_xe.verifying.laws import as_stored
from pycute_xe.verifying.loading import Loading
from pycute_xe.verifying.racing import check_races, may_be_covered
from pycute_xe.verifying.regions import Region
from pycute_xe.verifying.translating import EXACT, claimed, held
from pycute_xe.verifying.trying import quotients, tried
from pycute_xe.verifying.views import View, view_of

__all__ = ["Questions"]

WILD = 6
"""Quotients from which on small problems are tried first."""


class Questions(Loading, Counting):
    """The questions about a kernel, each answered by a smallest failure or None."""

    def values(self, output: str) -> Failure | None:
        """Return the smallest problem in which an element of an output is given a wrong value."""
        try:
            found = self._stored(output)
        except UndecidableError:
            nowhere = self._undefined_claim(output)
            if nowhere is None:
                raise
            return nowhere
        return found or self._undefined_claim(output)

    def _stored(self, output: str) -> Failure | None:
        """Return the smallest problem in which something else is stored than is claimed."""
        mine = [(i, w) for i, w in enumerate(self.followed.writes) if w.statement.operand == output]
        if any(isinstance(write.statement, AtomicStore) for _, write in mine):
            return self._wrongly_added(output, mine)
        changed = self.changed()
        if changed is not None:
            return changed
        views, points = self.views, self.points
        judged = ((i, w) for i, w in mine if not self._overwritten(i))
        found = [(w, self._wrong(w, views[i], points[i])) for i, w in judged]
        wrong = least(f for w, f in found if f and not may_be_covered(self.space, w, f))
        if wrong is None and any(failure is not None for _, failure in found):
            return self._wrong_at_last(output)
        if wrong is None:
            check_races(self.space, output, [write for _, write in mine])
        return wrong

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
        written = (w.statement for w in self.followed.writes if w.statement.operand == output)
        statement = next(written)
        found: list[Failure | None] = []
        for part in left.parts:
            if isinstance(part.node, Undefined):
                continue  # whether that is written is another question
            places = tile.places[part.elements][None]
            none = np.zeros_like(part.elements)
            write = Write(statement, (), tile.base, places, none, part.node, np.arange(1))
            view = view_of(write)
            found.append(self._wrong(write, view, self.space.points(write, view)))
        return least(found)

    def _undefined_claim(self, output: str) -> Failure | None:
        """Return the smallest problem in which a claim names an element outside its operand."""
        found = undefined_claim(self.space, self.claim_of(output))
        if found is None:
            return None
        point, words, region = found
        return self.failure(
            point, f"{output} values", words, region, operand=output, output=output, faults=True
        )

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
        numeric = self.kernel.operand(output).value_type
        if numeric.name not in EXACT:
            raise UndecidableError(
                "verify",
                {"output": output},
                f"every addition to it rounds to {numeric}",
                "add in f32",
            )
        names = tuple(f"u_{i}" for i in range(len(self.extents[output])))
        inside = [f"0 <= {u} < {n}" for u, n in zip(names, self.extents[output], strict=True)]
        sizes = self.space.naming.sizes
        points = Region.where((*sizes, *names), " and ".join([*self.space.sizes, *inside]))
        actual: Formula = (Term(1.0, (Place(output, names, numeric),)),)
        for i, write in mine:
            targets = self.space.targets(write, self.views[i])
            there = tuple(f"{u} = {t}" for u, t in zip(names, targets, strict=True))
            guards = (*there, *self.space.conditions(write, self.views[i]))
            terms = held(write.node, self.views[i], self.space.naming, numeric, self.real)
            guarded = tuple(replace(t, guards=(*t.guards, *guards)) for t in terms)
            actual = add(actual, summed(self.space.spans(write, self.views[i]), guarded))
        claim = self.claim_of(output)
        places = dict(zip(claim.indices, names, strict=True))
        wanted = claimed(claim.value, self.space.naming, places, numeric)
        if numeric.kind == "float":
            self.real.add(f"atomic additions in {numeric}")
        difference = compare(points, actual, wanted, self.extents, self.least)
        if difference is None:
            return None

        def failed(found: Difference, point: Point) -> Failure:
            index = tuple(point[name] for name in names)
            words = f"{output}{list(index)}: {found.words}"
            return self.of_element(output, "values", words, point, index, found.points)

        return self.shown(output, difference, (actual, wanted), failed)

    def _overwritten(self, number: int) -> bool:
        """Whether its subgroups later store to the same places, whenever they do this."""
        writes = self.followed.writes
        mine = writes[number]
        for later in writes[number + 1 :]:
            same = later.statement.operand == mine.statement.operand and later.base == mine.base
            same = same and np.array_equal(later.who, mine.who)
            shape = later.places.shape == mine.places.shape
            if same and shape and (later.places == mine.places).all():
                around = mine.around[: len(later.around)]
                if around == later.around:
                    return True
        return False

    def _wrong(self, write: Write, view: View, points: Region) -> Failure | None:
        targets = self.space.targets(write, view)
        claim = self.claim_of(write.statement.operand)
        names = dict(zip(claim.indices, (f"({t})" for t in targets), strict=True))
        numeric = self.kernel.operand(write.statement.operand).value_type
        actual = held(write.node, view, self.space.naming, numeric, self.real)
        wanted = claimed(claim.value, self.space.naming, names, numeric)
        actual, wanted = as_stored(numeric, actual), as_stored(numeric, wanted)
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

        def failed(found: Difference, _: Point) -> Failure | None:
            return self._at(found, write, view, targets)

        return self.shown(write.statement.operand, difference, (actual, wanted), failed)

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
        found = different(points, (actual, wanted), stored, self.extents)
        # What is read as real arithmetic may be off by a rounding at a single number.
        known = found is not None and not (found.difference and self.real)
        if found is not None and known:
            return found.difference
        if refusal is not None:
            raise refusal
        return difference

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
        return self.failure(
            point,
            f"{output} values",
            f"{output}{list(index)}: {difference.words}",
            None if difference.kind == "tried" else region,
            operand=output,
            element=index,
            output=output,
            index=index,
            subgroup=int(write.who[view.subgroup[flat]]),
            register_element=int(write.elements[position]),
            element_bits=fragment.value_type.bits,
            filled=difference.filled,
        )


def _stored_again(output: str) -> UndecidableError:
    return UndecidableError(
        "verify",
        {"output": output},
        f"elements of {output} that hold something else may be stored to again",
        "store once, behind the loop or the condition",
    )
