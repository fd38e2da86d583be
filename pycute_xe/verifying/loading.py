"""Floor 9: what is loaded of operands that are stored to: who else stores there?"""

from __future__ import annotations

from itertools import combinations_with_replacement, product

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.meeting import has_roles
from pycute_xe.holding.memory import Tile
from pycute_xe.holding.visible import is_ordered
from pycute_xe.kernel import AtomicStore, Store
from pycute_xe.verifying.changing import (
    Touch,
    changed_before,
    changed_beside,
    changed_by_others,
    touches,
)
from pycute_xe.verifying.comparing import compare
from pycute_xe.verifying.coverage import Coverage
from pycute_xe.verifying.facts import least
from pycute_xe.verifying.failures import Failure, smallest
from pycute_xe.verifying.formula import Formula, Place, Term
from pycute_xe.verifying.translating import held

__all__ = ["Loading"]


class Loading(Coverage):
    """The question whether loads find what the stores before them left."""

    def changed(self) -> Failure | None:
        """Return the smallest problem in which a load finds what another subgroup stores.

        Raises `UndecidableError` where it may, and nothing is known of the order.
        """
        found: list[Failure | None] = []
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
                found.append(self._beside(load, store, ordered))
            if isinstance(tile, Tile):
                tiles.append((operand.name, stores, ordered))
            elif operand.role == "scratch":
                self._demand_apart(operand.name, stores)
        for name, stores, ordered in tiles if least(found) is None else ():
            self._demand_own(name, stores, ordered)
        return least(found)

    def _demand_apart(self, operand: str, stores: list[Touch]) -> None:
        """Demand that no two subgroups store to one element; both may add to it."""
        for one, other in combinations_with_replacement(stores, 2):
            adds = all(isinstance(x.statement, AtomicStore) for x in (one, other))
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
            numeric = self.kernel.operand(write.statement.operand).value_type
            before: Formula = (Term(1.0, (Place(write.statement.operand, targets, numeric),)),)
            actual = held(write.node, self.views[i], self.space.naming, numeric, self.real)
            if compare(self.points[i], actual, before, self.extents) is not None:
                return False
        return bool(mine) and isinstance(store.statement, Store)

    def _beside(self, load: Touch, store: Touch, ordered: bool) -> Failure | None:
        """Return where one subgroup loads what another stores, outside the group if ``ordered``."""
        changed = changed_by_others if ordered else changed_beside
        region = changed(self.space, load, store)
        point = smallest(region, self.space.naming)
        if point is None:
            return None
        name = load.statement.operand
        meets = any(s.touched.meets for s in self.kernel.statements()) or has_roles(self.kernel)
        if (meets and not ordered) or self.kernel.operand(name).role == "scratch":
            raise _overwrites(name)  # a barrier may lie between
        index = [point[f"u_{i}"] for i in range(len(self.extents[name]))]
        words = f"{name}{index} is loaded by one subgroup and stored to by another in no order"
        return self.failure(point, f"{name} values", words, region, operand=name, faults=True)


def _overwrites(operand: str) -> UndecidableError:
    return UndecidableError(
        "verify",
        {"operand": operand},
        f"an element of {operand} is loaded after it was stored to, on some path",
        "load it before, or give the result an operand of its own",
    )
