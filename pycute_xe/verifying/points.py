"""The points of a store: sizes, work-groups, loops and a place of its tile."""

from __future__ import annotations

from collections.abc import Mapping

from pycute_xe.holding.digits import as_digits
from pycute_xe.holding.follower import Around, Write
from pycute_xe.holding.ordering import FAR, Clash, Trips
from pycute_xe.kernel import If, Index, Kernel, Loop
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.program import chooses, mixes
from pycute_xe.verifying.formula import Bounds
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.views import Naming, View, index_text

__all__ = ["Space"]


class Space:
    """The coordinates of everything that happens: sizes, the grid, loops, and points inside."""

    def __init__(self, kernel: Kernel, fixed: Mapping[str, int] | None = None) -> None:
        """Name the coordinates; ``fixed`` fixes sizes."""
        self.kernel, self.naming, self.fixed = kernel, Naming(kernel), dict(fixed or {})
        sizes = [f"{name} >= 1" for name in self.naming.sizes]
        sizes += [f"{self.naming.size_of[n]} = {v}" for n, v in (fixed or {}).items()]
        self.sizes = tuple(sizes)

    def extents(self, operand: str) -> tuple[str, ...]:
        """Return the extents of an operand as formulas."""
        return tuple(self.naming.text(mode) for mode in self.kernel.operand(operand).modes)

    def shape(self, operand: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape of an operand in a problem."""
        return tuple(mode.at(sizes) for mode in self.kernel.operand(operand).modes)

    def names_around(self, around: tuple[Around, ...]) -> Names:
        """Return the coordinates in which a statement happens."""
        loops = (self.naming.variable_of[a.var] for a in around if isinstance(a, Loop))
        return (*self.naming.sizes, *self.naming.grid, *loops)

    def constraints(self, around: tuple[Around, ...], subgroup: str = "") -> tuple[str, ...]:
        """Return the constraints under which a statement happens; ``subgroup`` does it."""
        out, own = list(self.sizes), {SUBGROUP_INDEX: subgroup} if subgroup else {}
        for name, count in self.kernel.grid:
            out.append(f"0 <= {self.naming.variable_of[name]} < {self.naming.text(count)}")
        for one in around:
            if isinstance(one, Loop):
                low, high = self.naming.text(one.start), self.naming.text(one.stop)
                out.append(f"{low} <= {self.naming.variable_of[one.var]} < {high}")
            elif not chooses(one):
                left, right = (self.naming.text(i, own) for i in (one.index, one.below))
                out.append(f"{left} < {right}")
        return tuple(out)

    def happens(self, around: tuple[Around, ...]) -> Region:
        """Return where a statement happens at all."""
        if any(mixes(one) for one in around):
            return self.happens_in(around).to(self.names_around(around))
        return Region.where(self.names_around(around), _all(self.constraints(around)))

    def happens_in(self, around: tuple[Around, ...]) -> Region:
        """Return where a statement happens, and in which subgroup, ``s``."""
        who = f"0 <= s < {self.kernel.subgroups}"
        names = (*self.names_around(around), "s")
        return Region.where(names, _all((*self.constraints(around, "s"), who)))

    def subgroup(self, around: tuple[Around, ...], view: View, who: Ints | None = None) -> str:
        """Return the subgroup at each point, where conditions around depend on it.

        Raises `UndecidableError` where it is not a sum of digits of the point.
        """
        if not any(mixes(one) for one in around):
            return ""
        numbers = view.subgroup if who is None else who[view.subgroup]
        digits = as_digits(numbers.reshape(view.shape))
        if digits is None:
            raise undecided(
                "a condition depends on the subgroup, which is not a sum of digits of a place",
                "use copies whose layouts nest evenly",
            )
        return digits.text(view.names)

    def both(self, clash: Clash) -> Region:
        """Return where two accesses happen, so many trips of loops apart."""
        first, second = clash.first, clash.second
        names = [*self.names_around(first.around)]
        texts = [*self.constraints(first.around)]
        between = {t.var: t for t in clash.trips if t.since != "begun"}
        begun = {t.var: t for t in clash.trips if t.since == "begun"}
        for one in first.around:
            if isinstance(one, Loop) and one.var in between:
                trips = between[one.var]
                if trips.since == "left":
                    stop = self.naming.text(one.stop)
                    texts.append(_apart(self.naming.all[one.var], trips, stop))
        other: dict[str, str] = {}
        apart = False  # a loop further out went on, or ended: those inside began anew
        for one in second.around:
            text = {**self.naming.all, **other}
            if isinstance(one, If):
                texts.append(f"{index_text(one.index, text)} < {index_text(one.below, text)}")
                continue
            low, high = (index_text(i, text) for i in (one.start, one.stop))
            mine, trips = self.naming.variable_of[one.var], between.get(one.var)
            if one in first.around and not apart and trips is None:
                continue  # in the same trip
            other[one.var] = f"{mine}_y"
            names.append(f"{mine}_y")
            texts.append(f"{low} <= {mine}_y < {high}")
            if one in first.around and not apart and trips is not None and trips.since == "here":
                texts.append(_apart(mine, trips, f"{mine}_y"))
            elif one.var in begun:
                texts.append(_apart(low, begun[one.var], f"{mine}_y"))
            apart = True
        texts.append(f"{self.naming.text(first.at)} = {clash.ats[0]}")
        after = {**self.naming.all, **other}
        texts.append(f"{index_text(second.at, after)} = {clash.ats[1]}")
        return Region.where(tuple(names), _all(tuple(texts)))

    def targets(self, write: Write, view: View) -> tuple[str, ...]:
        """Return the index in the output of each point, as formulas."""
        texts = (self.naming.text(index) for index in write.base)
        inner = (digits.text(view.names) for digits in view.places)
        return tuple(f"{a} + {b}" for a, b in zip(texts, inner, strict=True))

    def spans(self, write: Write, view: View) -> tuple[Bounds, ...]:
        """Return the variables of a store with their ranges, as those of a sum."""
        out: list[Bounds] = []
        for name, count in self.kernel.grid:
            out.append(Bounds(self.naming.variable_of[name], "0", self.naming.text(count)))
        for one in write.around:
            if isinstance(one, Loop):
                low, high = self.naming.text(one.start), self.naming.text(one.stop)
                out.append(Bounds(self.naming.variable_of[one.var], low, high))
        inner = zip(view.names, view.shape, strict=True)
        return (*out, *(Bounds(name, "0", str(extent)) for name, extent in inner))

    def conditions(self, write: Write, view: View) -> tuple[str, ...]:
        """Return the conditions around a store."""
        out, own = list[str](), {SUBGROUP_INDEX: self.subgroup(write.around, view, write.who)}
        for one in write.around:
            if isinstance(one, If):
                more = own if mixes(one) else {}
                left, right = (self.naming.text(i, more) for i in (one.index, one.below))
                out.append(f"{left} < {right}")
        return tuple(out)

    def points(self, write: Write, view: View) -> Region:
        """Return the points of a store that lie inside its output.

        Of a store that a loop repeats at one place, only the last trip counts.
        """
        names = (*self.names_around(write.around), *view.names)
        limits = self.extents(write.statement.operand)
        targets = self.targets(write, view)
        inside = tuple(f"0 <= {t} < {n}" for t, n in zip(targets, limits, strict=True))
        last = self._last_trips(write)
        who = self.subgroup(write.around, view, write.who)
        return Region.where(
            names, _all((*self.constraints(write.around, who), *view.box, *inside, *last))
        )

    def in_registers(self, around: tuple[Around, ...], view: View) -> Region:
        """Return the points of a fragment where statements happen."""
        names = (*self.names_around(around), *view.names)
        who = self.subgroup(around, view)
        return Region.where(names, _all((*self.constraints(around, who), *view.box)))

    def only_last_trips(self, write: Write) -> bool:
        """Whether a store that loops repeat at one place is judged in its last trip alone."""
        used = frozenset[str]().union(*(index.names for index in write.base))
        repeated = (a for a in write.around if isinstance(a, Loop) and a.var not in used)
        return sum(1 for _ in repeated) == len(self._last_trips(write))

    def _last_trips(self, write: Write) -> tuple[str, ...]:
        used = frozenset[str]().union(*(index.names for index in write.base))
        out: list[str] = []
        for number, one in enumerate(write.around):
            if not isinstance(one, Loop):
                continue
            inner = write.around[number + 1 :]
            needed = used | {n for x in inner for n in _mentioned(x)}
            if one.var not in needed:
                last = self.naming.text(one.stop - 1)
                out.append(f"{self.naming.variable_of[one.var]} = {last}")
        return tuple(out)


def _apart(one: str, trips: Trips, other: str) -> str:
    """Return that so many trips lie between two values of a variable."""
    sign = "<=" if trips.count == FAR else "="
    return f"({one}) + {trips.count} {sign} {other}"


def _mentioned(around: Around) -> frozenset[str]:
    pair: tuple[Index, Index] = (
        (around.start, around.stop) if isinstance(around, Loop) else (around.index, around.below)
    )
    return pair[0].names | pair[1].names


def _all(texts: tuple[str, ...]) -> str:
    return " and ".join(f"({text})" for text in texts) or "true"
