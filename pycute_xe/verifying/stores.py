"""Floor 9: every element of D is written once, with the accumulator that belongs to it."""

from __future__ import annotations

from pycute_xe.kernel import Mma, Reorder, Store
from pycute_xe.verifying.contents import operand_elements
from pycute_xe.verifying.flow import Site, stored_from
from pycute_xe.verifying.messages import stored_elements
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.scope import Failure, Point, Scope, mma_of, smallest
from pycute_xe.verifying.space import SIZES

__all__ = ["Writes", "coverage_failure", "value_failure"]

WRITE: Names = ("s", "i", "j", "l", "v")
REGISTER: Names = ("s", "i", "l", "v")
PLACE: Names = ("R", "C")


class Writes:
    """What the stores of a kernel write, each with the accumulator it takes, as regions.

    A write is a point of the kernel's space, a subgroup, store, message, lane, value and a place
    (R, C) inside D. Of `all` writes `wrong` ones take the accumulator of another place; `held`
    says which place each register's accumulator belongs to.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.names: Names = (*scope.space.names, *WRITE, *PLACE)
        self.all = self.wrong = Region.nothing(self.names)
        self.held = Region.nothing((*scope.space.names, *REGISTER, *PLACE))
        for number, site in enumerate(scope.stores):
            self._add(site, number)
        self.once = self.all.decides((*SIZES, *PLACE))

    def _add(self, site: Site, number: int) -> None:
        scope, statement = self.scope, site.statement
        if not isinstance(statement, Store):
            return
        operand = scope.kernel.operand(statement.operand)
        base = scope.copy_base(statement.copy, operand, statement.at)
        written = stored_elements(statement.copy, operand.x_mode)
        rows, columns = scope.sizes("C")
        link = (
            f"{scope.space.placed(base)} and i = {number} and {scope.space.domain(site)} and "
            f"0 <= R < {rows} and 0 <= C < {columns}"
        )
        everything = written.to(self.names, link)
        self.all |= everything
        source = self._product(site)
        if source is None:
            self.wrong |= everything
            return
        accumulators = self._accumulators(site, source)
        own = scope.base(source, "C")
        placed = accumulators.to(self.held.names, f"i = {number} and {scope.space.placed(own)}")
        self.held |= placed
        if own == base:
            # The same tile: what differs, differs inside it, whatever the sizes.
            self.wrong |= (written - accumulators.to(written.names)).to(self.names, link)
        else:
            self.wrong |= everything - placed.to(self.names)

    def ends_well(self, point: Point) -> bool:
        """Tell whether the last write to a place is right, in the order of subgroups."""
        fixed = " and ".join(f"{name} = {point[name]}" for name in (*SIZES, *PLACE))
        last = self.all.within(fixed).greatest(self.names)
        if last is None:
            return False
        return self.wrong.within(" and ".join(f"{n} = {last[n]}" for n in self.names)).is_empty

    def _product(self, site: Site) -> Site | None:
        """Return the first MMA whose accumulator a store takes."""
        fragment, _ = stored_from(self.scope.flow, site)
        for product in self.scope.products:
            if isinstance(product.statement, Mma) and product.statement.accumulator == fragment:
                return product
        return None

    def _accumulators(self, site: Site, source: Site) -> Region:
        """Return the coordinate in the tile that belongs to each register a store reads."""
        held = operand_elements(mma_of(source), "C")
        for moved in reversed(stored_from(self.scope.flow, site)[1]):
            if isinstance(moved.statement, Reorder):
                held = held.reordered(moved.statement.slots)
        return held.region(by_place=True)


def coverage_failure(scope: Scope, writes: Writes) -> Failure | None:
    """Return the smallest problem in which an element of D is not written, or twice."""
    return _missing(scope, writes) or _repeated(scope, writes)


def _missing(scope: Scope, writes: Writes) -> Failure | None:
    names = (*SIZES, *PLACE)
    rows, columns = scope.sizes("C")
    wanted = Region.where(names, f"{scope.space.sizes} and 0 <= R < {rows} and 0 <= C < {columns}")
    point = smallest(wanted - writes.all.to(names), PLACE)
    if point is None:
        return None
    place = point["R"], point["C"]
    return scope.failure(
        {**scope.holder(point, *place), **point},
        claim="D coverage",
        message=f"D{place} is never written",
        operand="D",
        element=place,
        found=None,
        output=place,
    )


def _repeated(scope: Scope, writes: Writes) -> Failure | None:
    if writes.once:
        return None
    again = writes.all.repeats((*SIZES, *PLACE))
    point = smallest(again, (*scope.space.names, *WRITE))
    if point is None:
        return None
    place = point["R"], point["C"]
    return scope.failure(
        point,
        claim="D coverage",
        message=f"D{place} is written more than once",
        operand="D",
        element=place,
        found=_held_at(writes, point),
        output=place,
        shows=not writes.ends_well(point),
    )


def value_failure(scope: Scope, writes: Writes) -> Failure | None:
    """Return the smallest problem in which an element of D is given another's accumulator."""
    if writes.wrong.is_empty:
        return None
    point = smallest(writes.wrong, (*scope.space.names, *WRITE))
    if point is None:
        return None
    place, found = (point["R"], point["C"]), _held_at(writes, point)
    what = f"the accumulator of D{found}" if found else "no accumulator of the problem"
    return scope.failure(
        point,
        claim="D values",
        message=f"the register stored at D{place} holds {what}",
        operand="D",
        element=place,
        found=found,
        output=place,
        shows=not writes.ends_well(point),
    )


def _held_at(writes: Writes, point: Point) -> tuple[int, int] | None:
    """Return the place in D whose accumulator a register holds, at a point."""
    names = tuple(n for n in writes.held.names if n not in PLACE)
    rows, columns = writes.scope.sizes("C")
    fixed = " and ".join(f"{name} = {point[name]}" for name in names)
    here = writes.held.within(f"{fixed} and 0 <= R < {rows} and 0 <= C < {columns}").least()
    return None if here is None else (here["R"], here["C"])
