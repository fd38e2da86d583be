"""What is assumed of tables: integer operands that say how long things are and where they lie.

The list is closed: `InRange`, `Rising`, `AtMost`, `Distinct`, `Sorted`, `Permutation`, `Runs`,
`Bins` and `Tickets`. Each says its laws, which a proof takes for granted and `table_checks` looks
for in the tables of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self, TypeAlias, cast

from pycute_xe.kernel.index import Index, Looked
from pycute_xe.signatures import checked_fields
from pycute_xe.typing import is_tuple

__all__ = [
    "Assumption",
    "AtMost",
    "Bins",
    "Distinct",
    "InRange",
    "Law",
    "Permutation",
    "Relation",
    "Rising",
    "Runs",
    "Sorted",
    "Tickets",
    "pigeonholes",
    "strict_laws",
    "ticket_laws",
]

Relation: TypeAlias = "tuple[Index, Index, str]"
"""Two indices and what lies between them: ``<``, ``<=``, ``=`` or ``!=``."""


@dataclass(frozen=True)
class Law:
    """For all values of variables: where all of ``when`` hold, one of ``then`` does.

    ``joined``: all of ``then`` do. ``total``: it may be said of places outside a table, too: some
    values there keep it. ``late``: only needed to make tables. ``source`` are the assumptions of
    which it follows, in words.
    """

    over: tuple[tuple[str, Index], ...]
    when: tuple[Relation, ...]
    then: tuple[Relation, ...]
    joined: bool = False
    total: bool = False
    late: bool = False
    source: tuple[str, ...] = ()

    @property
    def of_pairs(self) -> str:
        """The table of whose entries at i < j it speaks alone; empty where it says more."""
        if len(self.over) != 2 or len(self.then) != 1:
            return ""
        i, j = (Index(name) for name, _ in self.over)
        tables = {x.operand for x in self.looked}
        own = self.when and self.when[0] == (i, j, "<") and len(tables) == 1
        return tables.pop() if own else ""

    @property
    def looked(self) -> tuple[Looked, ...]:
        """The lookups of which it speaks."""
        every = [i for one, other, _ in (*self.when, *self.then) for i in (one, other)]
        return tuple(dict.fromkeys(x for index in every for x in index.looked_up))

    @property
    def sizes(self) -> frozenset[str]:
        """The names of extents of which it speaks."""
        every = [i for one, other, _ in (*self.when, *self.then) for i in (one, other)]
        every += [extent for _, extent in self.over]
        return frozenset(n for i in every for n in i.names) - {name for name, _ in self.over}

    def ranges(self, named: Mapping[str, Index]) -> Iterator[Relation]:
        """Yield that the variables run inside, where that has to be said of their values."""
        if self.total:
            return
        for name, extent in self.over:
            yield Index(None, -1), named[name], "<"
            yield named[name], extent, "<"

    def changed(self, change: Callable[[Index], Index]) -> Law:
        """Return the law with its indices changed."""

        def relations(given: tuple[Relation, ...]) -> tuple[Relation, ...]:
            return tuple((change(one), change(other), sign) for one, other, sign in given)

        over = tuple((name, change(extent)) for name, extent in self.over)
        return replace(self, over=over, when=relations(self.when), then=relations(self.then))


Modes: TypeAlias = "Mapping[str, tuple[Index, ...]]"
"""The extents of operands by name."""
Arrays: TypeAlias = "Mapping[str, Any]"
"""Tables by name: arrays, or what is indexed as arrays are."""


class Change(Protocol):
    """How an assumption is written with other names: of operands, and in indices."""

    def thing(self, name: str) -> str:
        """Return the name of an operand."""
        ...

    def index(self, index: Index, *bound: str) -> Index:
        """Return an index in which ``bound`` names are the assumption's own."""
        ...


class _Assumed:
    """What all assumptions have: texts that name tables, and indices that look entries up."""

    __slots__ = ()

    @property
    def bound(self) -> tuple[str, ...]:
        """The names that its indices bind."""
        return ()

    @property
    def tables(self) -> frozenset[str]:
        """The tables of which it speaks."""
        names: list[str] = []

        def noted(name: str) -> str:
            names.append(name)
            return name

        def seen(index: Index) -> Index:
            names.extend(x.operand for x in index.looked_up)
            return index

        self._fields(noted, seen)
        return frozenset(names)

    def changed(self, change: Change) -> Self:
        """Return it with other names."""
        made = self._fields(change.thing, lambda index: change.index(index, *self.bound))
        return replace(cast("Any", self), **made)

    def _fields(
        self, thing: Callable[[str], str], index: Callable[[Index], Index]
    ) -> dict[str, Any]:
        """Return its fields, with what functions make of the names of tables, and of indices."""

        def part(value: Any) -> Any:
            if is_tuple(value):
                return tuple(x if isinstance(x, str) else part(x) for x in value)  # what it binds
            return index(value) if isinstance(value, Index) else value

        own = {f.name: getattr(self, f.name) for f in fields(cast("Any", self))}
        return {n: thing(x) if isinstance(x, str) else part(x) for n, x in own.items()}


@checked_fields
@dataclass(frozen=True, slots=True)
class InRange(_Assumed):
    """Entries of a table are 0 or more and below an index, where conditions hold.

    ``at`` names the places; ``when`` says which entries are used, as pairs ``one < other``. Others
    are arbitrary.

    >>> b, i = Index("b"), Index("i")
    >>> print(InRange("pages", Index("P"), ("b", "i"), ((64 * i, Index.element("lengths", b)),)))
    0 <= pages[b,i] < P where 64*i < lengths[b]
    """

    operand: str
    below: Index
    at: tuple[str, ...] = ("i",)
    when: tuple[tuple[Index, Index], ...] = ()

    @property
    def bound(self) -> tuple[str, ...]:
        """The names of its places."""
        return self.at

    def laws(self, modes: Modes) -> tuple[Law, ...]:
        """Return what it says."""
        entry = _element(self.operand, *map(Index, self.at))
        over = tuple(zip(self.at, modes[self.operand], strict=True))
        when = tuple((one, other, "<") for one, other in self.when)
        then = ((Index(), entry, "<="), (entry, self.below, "<"))
        return (Law(over, when, then, joined=True, total=True),)

    def __str__(self) -> str:
        """As inequalities."""
        where = " and ".join(f"{one} < {other}" for one, other in self.when)
        return f"0 <= {self.operand}[{','.join(self.at)}] < {self.below}" + (
            f" where {where}" if where else ""
        )


@checked_fields
@dataclass(frozen=True, slots=True)
class Rising(_Assumed):
    """A table rises from 0 to an index: entry i says where rows of i begin, the last one ends them.

    Where not ``whole``, it may end before: rows behind it have no owner.

    >>> print(Rising("starts", Index("T")))
    starts rises from 0 to T
    """

    operand: str
    to: Index
    whole: bool = True

    def laws(self, modes: Modes) -> tuple[Law, ...]:
        """Return what it says."""
        (extent,) = modes[self.operand]
        i, entry = Index("i"), _element(self.operand, Index("i"))
        over = (("i", extent),)
        bounds = ((Index(), entry, "<="), (entry, self.to, "<="))
        ends = [Law(over, ((i, Index(None, 1), "<"),), ((entry, Index(), "="),), late=True)]
        if self.whole:
            last = (extent - 2, i, "<")
            ends.append(Law(over, (last,), ((entry, self.to, "="),), late=True))
        return (_rises(self.operand, extent), Law(over, (), bounds, True, True), *ends)

    def __str__(self) -> str:
        """In words."""
        end = f"to {self.to}" if self.whole else f"to at most {self.to}"
        return f"{self.operand} rises from 0 {end}"


@checked_fields
@dataclass(frozen=True, slots=True)
class Sorted(_Assumed):
    """The entries of a table rise: tokens are sorted by expert."""

    operand: str

    def laws(self, modes: Modes) -> tuple[Law, ...]:
        """Return what it says."""
        return (_rises(self.operand, modes[self.operand][0]),)

    def __str__(self) -> str:
        """In words."""
        return f"{self.operand} is sorted"


@checked_fields
@dataclass(frozen=True, slots=True)
class AtMost(_Assumed):
    """One index is at most another, for all values of variables.

    >>> b = Index("b")
    >>> own = Index.element("starts", b + 1) - Index.element("starts", b)
    >>> print(AtMost(own, Index.element("longest"), (("b", Index("U") - 1),)))
    starts[b+1]-starts[b] <= longest[] for all b < U-1
    """

    index: Index
    most: Index
    over: tuple[tuple[str, Index], ...] = ()

    @property
    def bound(self) -> tuple[str, ...]:
        """The names of its variables."""
        return tuple(name for name, _ in self.over)

    def laws(self, _modes: Modes) -> tuple[Law, ...]:
        """Return what it says."""
        return (Law(self.over, (), ((self.index, self.most, "<="),)),)

    def __str__(self) -> str:
        """As an inequality."""
        over = " and ".join(f"{name} < {extent}" for name, extent in self.over)
        return f"{self.index} <= {self.most}" + (f" for all {over}" if over else "")


@checked_fields
@dataclass(frozen=True, slots=True)
class Distinct(_Assumed):
    """Entries of a table that are not negative are different."""

    operand: str

    def laws(self, modes: Modes) -> tuple[Law, ...]:
        """Return what it says."""
        (extent,) = modes[self.operand]
        return (_apart(self.operand, extent, True),)

    def __str__(self) -> str:
        """In words."""
        return f"entries of {self.operand} that are not negative are different"


@checked_fields
@dataclass(frozen=True, slots=True)
class Permutation(_Assumed):
    """A table has every number below its length once."""

    operand: str

    def laws(self, modes: Modes) -> tuple[Law, ...]:
        """Return what it says."""
        (extent,) = modes[self.operand]
        entry = _element(self.operand, Index("i"))
        then = ((Index(), entry, "<="), (entry, extent, "<"))
        inside = Law((("i", extent),), (), then, joined=True, total=True)
        return (inside, _apart(self.operand, extent, False))

    def __str__(self) -> str:
        """In words."""
        return f"{self.operand} is a permutation"


@checked_fields
@dataclass(frozen=True, slots=True)
class Runs(_Assumed):
    """Runs of rows lie one behind the other: entry i says where one begins, and how long it is.

    Rows between them, and behind the last one, have no owner.

    >>> print(Runs("offsets", "counts", Index("T")))
    offsets[i] to counts[i]+offsets[i] lie one behind the other in 0 to T
    """

    starts: str
    counts: str
    to: Index

    def laws(self, modes: Modes) -> tuple[Law, ...]:
        """Return what it says."""
        (extent,) = modes[self.starts]
        i, j = Index("i"), Index("j")
        start, count = _element(self.starts, i), _element(self.counts, i)
        over = (("i", extent),)
        ends = tuple(  # one by one: of places at which only one of the tables is looked up, too
            Law(over, (), ((Index(), one, "<="), (one, self.to, "<=")), True, True)
            for one in (start, count, start + count)
        )
        apart = ((start + count, _element(self.starts, j), "<="),)
        pairs = (("i", extent), ("j", extent))
        return (*ends, Law(pairs, ((i, j, "<"),), apart, total=True))

    def __str__(self) -> str:
        """In words."""
        end = _element(self.starts, Index("i")) + _element(self.counts, Index("i"))
        return f"{self.starts}[i] to {end} lie one behind the other in 0 to {self.to}"


@checked_fields
@dataclass(frozen=True, slots=True)
class Bins(_Assumed):
    """A table says where the bin of each number begins: it has room for all entries that name it.

    Bins lie one behind the other; places between them, and behind the last one, are of none.

    >>> print(Bins("offsets", "ids", Index("R")))
    bins of ids begin at offsets, one behind the other in 0 to R
    """

    operand: str
    of: str
    to: Index

    def laws(self, modes: Modes) -> tuple[Law, ...]:
        """Return what it says of where bins begin; a run counts what is in them, too."""
        (extent,) = modes[self.operand]
        entry = _element(self.operand, Index("i"))
        bounds = ((Index(), entry, "<="), (entry, self.to, "<="))
        return (_rises(self.operand, extent), Law((("i", extent),), (), bounds, True, True))

    def __str__(self) -> str:
        """In words."""
        inside = f"one behind the other in 0 to {self.to}"
        return f"bins of {self.of} begin at {self.operand}, {inside}"


@checked_fields
@dataclass(frozen=True, slots=True)
class Tickets(_Assumed):
    """A table numbers the entries of another: equal ones have the tickets 0, 1, 2, …, each once.

    Which of them has which is open: it is the order of arrival.

    >>> print(Tickets("places", "ids"))
    places are tickets of ids
    """

    operand: str
    of: str

    def laws(self, modes: Modes) -> tuple[Law, ...]:
        """Return what it says of one entry, and of two; that none is left out is seen in a run."""
        over = _places(modes[self.operand])
        own = tuple(Index(name) for name, _ in over)
        least = Law(over, (), ((Index(), _element(self.operand, *own), "<="),), total=True)

        def apart(one: tuple[Index, ...], other: tuple[Index, ...]) -> tuple[Relation, ...]:
            sides = (
                (_element(name, *one), _element(name, *other)) for name in (self.of, self.operand)
            )
            return tuple((mine, yours, "!=") for mine, yours in sides)

        return (least, *_of_two_places(over, apart))

    def __str__(self) -> str:
        """In words."""
        return f"{self.operand} are tickets of {self.of}"


Assumption: TypeAlias = (
    InRange | Rising | AtMost | Distinct | Sorted | Permutation | Runs | Bins | Tickets
)


def ticket_laws(assumed: tuple[Assumption, ...], modes: Modes) -> Iterator[Law]:
    """Yield what follows for tickets of what has bins: a bin's start and a ticket are inside of it.

    >>> assumed = (Bins("offsets", "ids", Index("R")), Tickets("places", "ids"))
    >>> modes = {"offsets": (Index("E"),), "ids": (Index("T"),), "places": (Index("T"),)}
    >>> inside, apart = (law.then[0] for law in ticket_laws(assumed, modes))
    >>> print(*inside, *apart)
    offsets[ids[i0]]+places[i0] R < offsets[ids[i0]]+places[i0] offsets[ids[j0]]+places[j0] !=
    """
    for bins in (x for x in assumed if isinstance(x, Bins)):
        for tickets in (x for x in assumed if isinstance(x, Tickets) and x.of == bins.of):
            yield from _in_bins(bins, tickets, modes)


def _in_bins(bins: Bins, tickets: Tickets, modes: Modes) -> Iterator[Law]:
    """Yield that rows are inside, and differ: outside a table a bin may begin so that they do."""
    over, (extent,) = _places(modes[bins.of]), modes[bins.operand]
    here = tuple(Index(name) for name, _ in over)

    def row(at: tuple[Index, ...]) -> Index:
        return _element(bins.operand, _element(bins.of, *at)) + _element(tickets.operand, *at)

    whose = _element(bins.of, *here)
    known = ((Index(None, -1), whose, "<"), (whose, extent, "<"))
    yield Law(over, known, ((row(here), bins.to, "<"),))
    yield from _of_two_places(over, lambda one, other: ((row(one), row(other), "!="),))


def pigeonholes(assumed: tuple[Assumption, ...], modes: Modes) -> Iterator[tuple[Index, Index]]:
    """Yield what follows for extents: entries that are different are at most as many as numbers.

    >>> modes, N = {"slots": (Index("T"),)}, Index("N")
    >>> [(str(t), str(n)) for t, n in pigeonholes((Distinct("slots"), InRange("slots", N)), modes)]
    [('T', 'N')]
    """
    never = {x.operand for x in assumed if isinstance(x, Permutation)}
    apart = {x.operand for x in assumed if isinstance(x, Distinct)}
    ranges = [x for x in assumed if isinstance(x, InRange)]
    never |= {x.operand for x in ranges if x.operand in apart and not x.when}
    limits = [(x.operand, x.below) for x in ranges if _where_positive(x)]
    for one in assumed:
        if isinstance(one, AtMost) and len(one.over) == 1:
            ((name, extent),) = one.over
            for table in never:
                if one.index == _element(table, Index(name)) and modes[table] == (extent,):
                    limits.append((table, one.most + 1))
    for table, below in limits:
        if table in never and not below.looked_up:
            yield modes[table][0], below


def strict_laws(assumed: tuple[Assumption, ...], modes: Modes) -> Iterator[Law]:
    """Yield what follows for tables that rise and whose entries differ: they rise by 1 or more.

    >>> laws = strict_laws((Sorted("order"), Permutation("order")), {"order": (Index("T"),)})
    >>> [" or ".join(f"{one} {sign} {other}" for one, other, sign in law.then) for law in laws]
    ['-i+j+order[i] <= order[j]', 'i <= order[i]', 'T-i+order[i] <= T']
    """
    rising = {x.operand for x in assumed if isinstance(x, (Rising, Sorted))}
    rising |= {x.starts for x in assumed if isinstance(x, Runs)}
    apart = {x.operand for x in assumed if isinstance(x, (Distinct, Permutation))}
    for name in sorted(rising & apart):
        limits = list(_limits(name, assumed, modes))
        if not limits:
            continue  # they may be negative
        (extent,) = modes[name]
        i, j = Index("i"), Index("j")
        one, other = _element(name, i), _element(name, j)
        pairs, over = (("i", extent), ("j", extent)), (("i", extent),)
        yield Law(pairs, ((i, j, "<"),), ((one + j - i, other, "<="),))
        yield Law(over, (), ((i, one, "<="),))
        yield from (Law(over, (), ((one + extent - i, below, "<="),)) for below in limits)


def _limits(name: str, assumed: tuple[Assumption, ...], modes: Modes) -> Iterator[Index]:
    """Yield below what all entries of a table are, of tables whose entries are never negative."""
    for one in assumed:
        match one:
            case InRange(operand, below, _, ()) if operand == name and not below.looked_up:
                yield below
            case Permutation(operand) if operand == name:
                yield modes[name][0]
            case Rising(operand, to) if operand == name:
                yield to + 1
            case Runs(starts, _, to) if starts == name:
                yield to + 1
            case (
                InRange() | Permutation() | Rising() | Runs()  # of others
                | AtMost() | Distinct() | Sorted() | Bins() | Tickets()
            ):  # fmt: skip
                continue


def _where_positive(one: InRange) -> bool:
    """Whether it speaks of all entries that are not negative."""
    used = (Index(None, -1), Index.element(one.operand, *map(Index, one.at)))
    return one.when in ((), (used,))


def _element(operand: str, *at: Index) -> Index:
    return Index.element(operand, *at)


def _places(extents: tuple[Index, ...]) -> tuple[tuple[str, Index], ...]:
    """Return a variable for each mode of a table, with how far it runs."""
    return tuple((f"i{number}", extent) for number, extent in enumerate(extents))


def _of_two_places(
    over: tuple[tuple[str, Index], ...],
    then: Callable[[tuple[Index, ...], tuple[Index, ...]], tuple[Relation, ...]],
) -> Iterator[Law]:
    """Yield what is so of two places of a table, one of which comes before the other."""
    others = tuple((f"j{number}", extent) for number, (_, extent) in enumerate(over))
    one, other = (tuple(Index(name) for name, _ in side) for side in (over, others))
    for mode in range(len(over)):
        same: tuple[Relation, ...] = tuple((one[i], other[i], "=") for i in range(mode))
        when = (*same, (one[mode], other[mode], "<"))
        yield Law((*over, *others), when, then(one, other), total=True)


def _rises(operand: str, extent: Index) -> Law:
    i, j = Index("i"), Index("j")
    then = ((_element(operand, i), _element(operand, j), "<="),)
    return Law((("i", extent), ("j", extent)), ((i, j, "<"),), then, total=True)


def _apart(operand: str, extent: Index, some: bool) -> Law:
    i, j = Index("i"), Index("j")
    one, other = _element(operand, i), _element(operand, j)
    when: tuple[Relation, ...] = ((i, j, "<"),)
    if some:
        when = (*when, (Index(None, -1), one, "<"))
    return Law((("i", extent), ("j", extent)), when, ((one, other, "!="),))
