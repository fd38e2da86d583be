"""Floor 9: counters by which work-groups wait for one another, and plain accesses to them.

A plain store to a counter that another work-group signals, or a load of one, is in order where some
wait lies between. Where no wait comes before either, nothing orders them, whatever the sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.follower import Around, situated
from pycute_xe.kernel import Await, Kernel, Load, Loop, Signal, Statement, Store
from pycute_xe.verifying.changing import elements
from pycute_xe.verifying.facts import Facts, least
from pycute_xe.verifying.failures import Failure, smallest
from pycute_xe.verifying.naming import index_text
from pycute_xe.verifying.points import Space
from pycute_xe.verifying.regions import Region

__all__ = ["Counting", "counts_plainly"]


def counts_plainly(kernel: Kernel) -> bool:
    """Whether a counter is stored, loaded or looked up, too.

    >>> import pycute_xe as cx
    >>> counts_plainly(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))))
    False
    """
    counters = {s.operand for s in kernel.statements() if isinstance(s, (Await, Signal))}
    copied = {s.operand for s in kernel.statements() if isinstance(s, (Load, Store))}
    return bool(counters & (copied | _looked_up(kernel)))


def _looked_up(kernel: Kernel) -> set[str]:
    indices = (index for s in kernel.statements() for index in s.touched.indices)
    return {looked.operand for index in indices for looked in index.looked_up}


class Counting(Facts):
    """The question whether plain accesses to counters are in order."""

    def counters(self) -> Failure | None:
        """Return the smallest problem in which a counter is stored or loaded in no order.

        Raises `UndecidableError` where waits may order it, and for places known only in a run.
        """
        every = [_Met(n, s, a) for n, (s, a) in enumerate(situated(self.kernel.body))]
        counters = [one for one in every if isinstance(one.statement, (Await, Signal))]
        plain = [one for one in every if isinstance(one.statement, (Load, Store))]
        sure: list[Failure | None] = []
        unsure: list[str] = []
        for counter, access in product(counters, plain):
            looks = isinstance(counter.statement, Await) and isinstance(access.statement, Load)
            if access.operand != counter.operand or looks:
                continue
            verb = "stored" if isinstance(access.statement, Store) else "loaded"
            words = f"is {verb} by one work-group while another"
            mine, theirs = _accessed(self.space, access), _counted(self.space, counter)
            if not _of_two(self.space, mine, theirs).is_empty:
                unsure.append(f"{access.operand} {words} counts, and waits may order the two")
            if isinstance(counter.statement, Signal):
                before = [self._waited(one, counters) for one in (access, counter)]
                first = mine - before[0].to(mine.names)
                renamed = " and ".join(f"{n}{OTHER} = {n}" for n in self.space.naming.grid)
                other = theirs - before[1].to(theirs.names, renamed)
                sure.append(self._unordered(_of_two(self.space, first, other), access, words))
        looked = _looked_up(self.kernel) & {one.operand for one in counters}
        unsure += [f"{name} is looked up while work-groups count" for name in sorted(looked)]
        if unsure and least(sure) is None:
            raise UndecidableError(
                "verify", {}, unsure[0], "count in an operand that is only signalled"
            )
        return least(sure)

    def _unordered(self, region: Region, access: _Met, words: str) -> Failure | None:
        point = smallest(region, self.space.naming)
        if point is None:
            return None
        index = [point[f"u_{i}"] for i in range(len(self.extents[access.operand]))]
        words = f"{access.operand}{index} {words} signals it, in no order"
        return self.failure(point, "counters", words, region, operand=access.operand, faults=True)

    def _waited(self, access: _Met, counters: list[_Met]) -> Region:
        """Return the work-groups that may have waited before they come to a statement."""
        names = (*self.space.naming.sizes, *self.space.naming.grid)
        out, loops = Region.nothing(names), {id(x) for x in access.around if isinstance(x, Loop)}
        for one in counters:
            again = any(id(x) in loops for x in one.around)
            if isinstance(one.statement, Await) and (one.number < access.number or again):
                out = out | self.space.happens(one.around).to(names)
        return out


OTHER = "_w"
"""What is behind the names of the work-group that counts, and of its loops."""


@dataclass(frozen=True, eq=False)
class _Met:
    """A statement, its number in the program, and the loops and conditions around it."""

    number: int
    statement: Statement
    around: tuple[Around, ...]

    @property
    def operand(self) -> str:
        return str(getattr(self.statement, "operand", ""))


def _accessed(space: Space, access: _Met) -> Region:
    """Return who touches which element."""
    if not isinstance(access.statement, (Load, Store)):
        return Region.nothing(space.naming.sizes)
    return elements(space, access.statement, access.around, "")[0]


def _of_two(space: Space, mine: Region, theirs: Region) -> Region:
    """Return where an access touches a counter of another work-group."""
    every = (*mine.names, *(n for n in theirs.names if n not in mine.names))
    apart = " or ".join(f"{n} != {n}{OTHER}" for n in space.naming.grid) or "false"
    return (mine.to(every) & theirs.to(every)).within(apart).to(mine.names)


def _counted(space: Space, counter: _Met) -> Region:
    """Return the sizes, the work-group and loops at which a counter is met, and its index."""
    naming, statement = space.naming, counter.statement
    if not isinstance(statement, (Await, Signal)):
        return Region.nothing(naming.sizes)
    variables = [n for n in space.names_around(counter.around) if n not in naming.sizes]
    extents = space.extents(statement.operand)
    texts = list(space.constraints(counter.around))
    for mode, index in enumerate(statement.at):
        texts.append(f"u_{mode} = {index_text(index, naming.all)}")
        texts.append(f"0 <= u_{mode} < {extents[mode]}")
    modes = tuple(f"u_{mode}" for mode in range(len(extents)))
    plain = (*naming.sizes, *variables, *modes)
    found = Region.where(plain, " and ".join(f"({text})" for text in texts))
    renamed = (*naming.sizes, *(f"{n}{OTHER}" for n in variables), *modes)
    return found.to(renamed, " and ".join(f"{n}{OTHER} = {n}" for n in variables))
