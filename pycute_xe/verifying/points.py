"""The points of a store: sizes, work-groups, loops, and coordinates of its tile or its registers.

Where the writes of a store fill a box of its tile, each place once, what they hold is told by the
place: however registers are dealt out, a right kernel's maps are then short. Where the writes of
each subgroup fill a box it is told by the subgroup and a place in its box, and otherwise by
subgroup and position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from pycute_xe.converting import bounds
from pycute_xe.holding.contents import Write
from pycute_xe.holding.nodes import Leaf
from pycute_xe.holding.ordering import FAR, Clash, Trips
from pycute_xe.holding.patience import charge, remembered
from pycute_xe.holding.tables import DigitMap, as_digits
from pycute_xe.kernel import If, Index, Kernel, Loop
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX, Looked, Quotient
from pycute_xe.kernel.ir.identities import extents_of
from pycute_xe.kernel.ir.program import chooses, mixes
from pycute_xe.kernel.ir.visiting import Enclosing
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    Total,
    Where,
    parts,
)
from pycute_xe.kernel.spec.recurrences import unfolded
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.kernel.spec.tables import Rising, pigeonholes, strict_laws, ticket_laws
from pycute_xe.verifying.formula import Bounds
from pycute_xe.verifying.guards import Guard
from pycute_xe.verifying.lookups import Tables, opened, table_name
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Names, Region, conjunction

__all__ = [
    "View",
    "registers",
    "view_of",
    "Naming",
    "index_text",
    "Space",
    "all_looked_up",
    "computes_of_entries",
]


# ------------------------------------------------------------ naming
# The names of sizes and variables in formulas, and indices as formulas of them.


class Naming:
    """What sizes and variables of a kernel are called in formulas.

    Prefixes keep them apart from words that isl knows. Extents come in the order in which
    counterexamples are made small.

    >>> import pycute_xe as cx
    >>> names = Naming(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))))
    >>> names.sizes, names.grid
    (('S_M', 'S_N', 'S_K'), ('v_m', 'v_n'))
    """

    def __init__(self, kernel: Kernel) -> None:
        """Name every size and variable."""
        self.size_of = {name: f"S_{name}" for name in extents_of(kernel)}
        self.variable_of = {name: f"v_{name}" for name, _ in kernel.grid}
        for statement in kernel.statements():
            if isinstance(statement, Loop):
                self.variable_of[statement.var] = f"v_{statement.var}"
        self.sizes = tuple(self.size_of.values())
        self.grid = tuple(self.variable_of[name] for name, _ in kernel.grid)
        self.type_of = {o.name: o.value_type for o in kernel.operands}
        computes = kernel.computes
        self.given = {x.output: x for x in _unfolded(computes)} if computes is not None else {}
        modes = {o.name: o.modes for o in kernel.operands if o.name in self.given}
        self.real = computes.real if computes is not None else ()
        self.wraps = computes is not None and computes.overflow == "wraps"
        tables = {
            f"@{o.name}": table_name(number)
            for number, o in enumerate(kernel.operands)
            if o.role == "in" and o.value_type.kind != "float" and kernel.plan is None
        }
        self.all: Mapping[str, str] = self.size_of | self.variable_of | tables
        self.ends = {name: tuple(map(self.text, ends)) for name, ends in modes.items()}

    def variables(self, suffix: str) -> dict[str, str]:
        """Return the names of the grid and of loops, each with more at its end."""
        return {name: f"{text}{suffix}" for name, text in self.variable_of.items()}

    def text(self, index: Index, more: Mapping[str, str] | None = None) -> str:
        """Return an index as a formula; ``more`` names further variables."""
        return index_text(index, {**self.all, **(more or {})})


def _unfolded(computes: Specification) -> Iterator[Claim]:
    """Yield what inputs are given as, by earlier states where claims are; none that sum up."""
    for claim in computes.given:
        value = unfolded(claim.value, computes.rules, frozenset(claim.variables))
        yield claim if _sums(value) else replace(claim, value=value)


def _sums(value: Expression) -> bool:
    return isinstance(value, Total) or any(map(_sums, parts(value)))


def index_text(index: Index, names: Mapping[str, str]) -> str:
    """Return an index as isl reads it. Raises `UndecidableError` for elements that are looked up.

    >>> index_text(Index("k") * 32 + (Index("M") + 7) // 8, {"k": "v_k", "M": "S_M"})
    '32*v_k + floor((S_M + 7)/8)'
    """
    parts: list[str] = []
    for atom, scale in index.terms:
        if isinstance(atom, str):
            if atom == SUBGROUP_INDEX and atom not in names:
                raise undecided(
                    "a condition that depends on the subgroup is not followed",
                    'run it with executor="reference"',
                    index=index,
                )
            inner = names.get(atom, atom)
            inner = inner if inner.isidentifier() else f"({inner})"
        elif isinstance(atom, Quotient):
            inner = f"floor(({index_text(atom.index, names)})/{atom.divisor})"
        elif (table := names.get(f"@{atom.operand}")) is not None:
            inner = f"{table}({', '.join(index_text(i, names) for i in atom.at)})"
        else:
            raise undecided(f"{atom} is known only in a run", "run it", index=index)
        parts.append(inner if scale == 1 else f"{scale}*{inner}")
    if index.offset or not parts:
        parts.append(str(index.offset))
    return " + ".join(parts)


# ------------------------------------------------------------ views


VIEWED = 0.02
"""Units for a number of a table that is looked at."""


@dataclass(frozen=True, eq=False)
class View:
    """The points of a write: a box whose axes have names, and who is at each point.

    ``subgroup`` and ``position`` say which register element is at a point.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    subgroup: Ints
    position: Ints
    places: tuple[DigitMap, ...]

    @property
    def box(self) -> tuple[str, ...]:
        """The constraints on the points."""
        spans = zip(self.names, self.shape, strict=True)
        return tuple(f"0 <= {name} < {extent}" for name, extent in spans)

    def leaf(self, leaf: Leaf, bounds: tuple[str, ...]) -> tuple[str, ...]:
        """Return the table of a leaf at the points, as texts: one for each mode of the operand.

        ``bounds`` names the variables of sums around it. Raises `UndecidableError` where the table
        is not a sum of digits.
        """
        out: list[str] = []
        inner = leaf.table.ndim - 3
        first = (slice(None), slice(None), *(0 for _ in range(inner)))
        for mode in range(leaf.table.shape[-1]):
            charge(VIEWED * self.position.size)
            start = leaf.table[..., mode][first]
            here = start[self.subgroup, leaf.select[self.position]]
            text = _digits(here.reshape(self.shape), leaf.operand).text(self.names)
            if inner and (along := _along(leaf, mode)) is not None:
                text = f"{text} + {along.text(bounds)}"
            elif inner:
                text = self._joint(leaf, mode, bounds)
            out.append(text)
        return tuple(out)

    def _joint(self, leaf: Leaf, mode: int, bounds: tuple[str, ...]) -> str:
        """Return a table in which points and variables of sums do not separate by subgroup."""
        table = leaf.table[..., mode]
        whole = table[self.subgroup, leaf.select[self.position]]
        shape = (*self.shape, *table.shape[2:])
        return _digits(whole.reshape(shape), leaf.operand).text((*self.names, *bounds))


def _along(leaf: Leaf, mode: int) -> DigitMap | None:
    """Return how a table goes along the variables of sums; None where each place has its own way.

    Many leaves have one table.
    """
    table = leaf.table[..., mode]
    steps = (slice(None), slice(None), *(None for _ in table.shape[2:]))

    def first() -> tuple[Ints, DigitMap | None]:
        charge(VIEWED * table.size)
        start = table[(slice(None), slice(None), *(0 for _ in table.shape[2:]))]
        along = table[0, 0] - start[0, 0]
        apart = np.array_equal(table - start[steps], np.broadcast_to(along, table.shape))
        return leaf.table, _digits(along, leaf.operand) if apart else None

    return remembered(("along", id(leaf.table), mode), first)[1]  # it is kept, and its id


def _digits(table: Ints, operand: str) -> DigitMap:
    digits = as_digits(table)
    if digits is None:
        raise undecided(
            f"where the registers' elements of {operand} come from is not a sum of digits",
            "use copies whose layouts nest evenly",
            operand=operand,
        )
    return digits


def registers(subgroups: int, positions: int) -> View:
    """Return the points of a fragment's part: subgroups and positions."""
    everyone = np.arange(subgroups * positions, dtype=np.int64)
    subgroup, position = np.divmod(everyone, np.int64(positions))
    return View(("p_s", "p_e"), (subgroups, positions), subgroup, position, ())


def view_of(write: Write) -> View:
    """Return the points of a write.

    Raises `UndecidableError` for stores whose places are not sums of digits.
    """
    return _Finder(write).view


class _Finder:
    def __init__(self, write: Write) -> None:
        self.places = write.places
        self.subgroups, self.positions, self.modes = write.places.shape

    @cached_property
    def view(self) -> View:
        return self.by_place() or self.by_share() or self.by_register()

    def by_place(self) -> View | None:
        """The coordinates of the tile, where each occurs once and all together fill a box."""
        flat = self.places.reshape(-1, self.modes)
        low, high = flat.min(axis=0), flat.max(axis=0)
        shape = tuple(int(n) for n in high - low + 1)
        if any(n > 1 << 20 for n in shape) or int(np.prod(shape)) != flat.shape[0]:
            return None
        index = np.ravel_multi_index(tuple((flat - low).T), shape)
        owner = np.full(flat.shape[0], -1, dtype=np.int64)
        owner[index] = np.arange(flat.shape[0])
        if (owner < 0).any():
            return None
        subgroup, position = np.divmod(owner, self.positions)
        kept = [axis for axis, extent in enumerate(shape) if extent > 1]
        names = tuple(f"p_{axis}" for axis in kept)
        box = tuple(shape[axis] for axis in kept)
        maps: list[DigitMap] = []
        for axis in range(self.modes):
            table = flat[owner, axis].reshape(box)
            maps.append(_digits(table, "the output"))
        return View(names, box, subgroup, position, tuple(maps))

    def by_share(self) -> View | None:
        """Subgroups, and the coordinates of what each writes: boxes of one shape."""
        low = self.places.min(axis=1, keepdims=True)
        inner = self.places - low
        shape = tuple(int(n) for n in inner.max(axis=(0, 1)) + 1)
        if any(n > 1 << 20 for n in shape) or int(np.prod(shape)) != self.positions:
            return None
        axes = tuple(inner[..., axis] for axis in range(self.modes))
        index: Ints = np.asarray(np.ravel_multi_index(axes, shape), np.int64)
        each: Ints = np.arange(self.positions, dtype=np.int64)
        if any(not np.array_equal(np.sort(row), each) for row in index):
            return None
        position = np.argsort(index, axis=1).reshape(-1)
        subgroup = np.repeat(np.arange(self.subgroups, dtype=np.int64), self.positions)
        kept = [axis for axis, extent in enumerate(shape) if extent > 1]
        box = (self.subgroups, *(shape[axis] for axis in kept))
        tables = (self.places[subgroup, position, axis].reshape(box) for axis in range(self.modes))
        maps = tuple(_digits(table, "the output") for table in tables)
        return View(("p_s", *(f"p_{axis}" for axis in kept)), box, subgroup, position, maps)

    def by_register(self) -> View:
        """Subgroups and positions."""
        maps = tuple(_digits(self.places[..., axis], "the output") for axis in range(self.modes))
        return replace(registers(self.subgroups, self.positions), places=maps)


def _tables_of(kernel: Kernel, naming: Naming) -> Tables:
    """Return the tables that a kernel may look up, and what is assumed of them."""
    looked = all_looked_up(kernel)
    numbers = {
        i: o
        for i, o in enumerate(kernel.operands)
        if f"@{o.name}" in naming.all and o.name in looked
    }
    extents = {i: tuple(map(naming.text, o.modes)) for i, o in numbers.items()}
    names = {i: o.name for i, o in numbers.items()}
    assumed = kernel.computes.tables if kernel.computes is not None else ()
    modes = {o.name: o.modes for o in kernel.operands}
    known = [x for x in assumed if x.tables <= {*names.values()}]
    every = tuple(map(str, known))
    follow = (*strict_laws(tuple(known), modes), *ticket_laws(tuple(known), modes))
    every_law = [replace(law, source=every) for law in follow]
    every_law += [replace(law, source=(str(x),)) for x in known for law in x.laws(modes)]
    laws = tuple(law.changed(partial(_renamed, naming)) for law in every_law)
    ends = {x.operand: x.to for x in assumed if isinstance(x, Rising) and x.whole}
    shared = {i: naming.text(ends[name]) for i, name in names.items() if name in ends}
    types = {i: bounds(o.value_type) for i, o in numbers.items()}
    return Tables(names, extents, laws, shared, types)


def _indices_of(kernel: Kernel) -> list[Index]:
    indices = [index for s in kernel.statements() for index in s.touched.indices]
    return [*indices, *(count for _, count in kernel.grid)]


def computes_of_entries(kernel: Kernel) -> bool:
    """Whether an index of a statement or of the grid is computed of elements of tables."""
    return any(map(is_computed, _indices_of(kernel)))


def is_computed(index: Index) -> bool:
    """Whether elements that are looked up are added to or multiplied, and may leave their type.

    >>> t = Index.element("pages", Index("b"))
    >>> is_computed(t // 16), is_computed(16 * t)
    (False, True)
    """
    inner = [atom.index for atom, _ in index.terms if isinstance(atom, Quotient)]
    inner += [i for atom, _ in index.terms if isinstance(atom, Looked) for i in atom.at]
    alone = not index.offset and [scale for _, scale in index.terms] == [1]
    return bool(index.looked_up) and (not alone or any(map(is_computed, inner)))


def all_looked_up(kernel: Kernel) -> set[str]:
    """Return the operands of which a kernel, its claims or what is assumed look elements up."""
    indices, computes = _indices_of(kernel), kernel.computes
    for claim in computes.claims if computes is not None else ():
        indices += _indices_in(claim.value)
        if isinstance(claim, Scatter):
            indices += [*claim.at, *(extent for _, extent in claim.over)]
            indices += [index for pair in claim.when for index in pair]
    out = {x.operand for index in indices for x in index.looked_up}
    return out.union(*(one.tables for one in computes.tables)) if computes is not None else out


def _indices_in(value: Expression) -> list[Index]:
    inner = [index for part in parts(value) for index in _indices_in(part)]
    match value:
        case Element(_, at):
            return [*inner, *at]
        case Total(_, over, _):
            return [*inner, *(extent for _, extent in over)]
        case Where(index, below, _, _):
            return [*inner, index, below]
        case Apply() | Const() | Rounded() | Slot():
            return inner


def _renamed(naming: Naming, index: Index) -> Index:
    """Return an index of a law with the names of sizes and the numbers of tables."""
    out = Index(None, index.offset)
    for atom, scale in index.terms:
        if isinstance(atom, str):
            part = Index(naming.size_of.get(atom, atom))
        elif isinstance(atom, Quotient):
            part = _renamed(naming, atom.index) // atom.divisor
        else:
            at = (_renamed(naming, i) for i in atom.at)
            part = Index.element(naming.all[f"@{atom.operand}"], *at)
        out = out + part * scale
    return out


class Space:
    """The coordinates of everything that happens: sizes, the grid, loops, and points inside."""

    def __init__(self, kernel: Kernel, fixed: Mapping[str, int] | None = None) -> None:
        """Name the coordinates; ``fixed`` fixes sizes."""
        self.kernel, self.naming, self.fixed = kernel, Naming(kernel), dict(fixed or {})
        self.tables = _tables_of(kernel, self.naming)
        opened(self.tables)
        sizes = [f"{name} >= 1" for name in self.naming.sizes]
        sizes += [f"{self.naming.size_of[n]} = {v}" for n, v in (fixed or {}).items()]
        assumed = kernel.computes.tables if kernel.computes is not None else ()
        modes = {o.name: o.modes for o in kernel.operands}
        text = self.naming.text
        apart = [f"{text(n)} <= {text(b)}" for n, b in pigeonholes(assumed, modes)]
        if apart:
            self.tables.used |= set(map(str, assumed))
        self.sizes: tuple[str, ...] = (*sizes, *self.tables.of_sizes(), *apart)

    def within(self, condition: str) -> Space:
        """Return the part at sizes that meet a condition, too."""
        part = copy(self)
        part.sizes = (*self.sizes, f"({condition})")
        return part

    def extents(self, operand: str) -> tuple[str, ...]:
        """Return the extents of an operand as formulas."""
        return tuple(self.naming.text(mode) for mode in self.kernel.operand(operand).modes)

    def shape(self, operand: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape of an operand in a problem."""
        return tuple(mode.at(sizes) for mode in self.kernel.operand(operand).modes)

    def names_around(self, enclosing: tuple[Enclosing, ...]) -> Names:
        """Return the coordinates in which a statement happens."""
        loops = (self.naming.variable_of[a.var] for a in enclosing if isinstance(a, Loop))
        return (*self.naming.sizes, *self.naming.grid, *loops)

    def constraints(
        self, enclosing: tuple[Enclosing, ...], subgroup: str = "", suffix: str = ""
    ) -> tuple[str, ...]:
        """Return when ``subgroup`` does a statement; names of variables end in ``suffix``."""
        own = self.naming.variables(suffix)
        by = {**own, SUBGROUP_INDEX: subgroup} if subgroup else own  # no loop's ends depend on it
        out = list(self.sizes)
        for name, count in self.kernel.grid:
            out.append(f"0 <= {own[name]} < {self.naming.text(count, own)}")
        for one in enclosing:
            if isinstance(one, Loop):
                low, high = (self.naming.text(i, own) for i in (one.start, one.stop))
                out.append(f"{low} <= {own[one.var]} < {high}")
            elif not chooses(one):
                left, right = (self.naming.text(i, by) for i in (one.index, one.below))
                out.append(f"{left} < {right}")
        return tuple(out)

    def happens(self, enclosing: tuple[Enclosing, ...]) -> Region:
        """Return where a statement happens at all."""
        if any(mixes(one) for one in enclosing):
            return self.happens_in(enclosing).to(self.names_around(enclosing))
        return Region.where(self.names_around(enclosing), conjunction(self.constraints(enclosing)))

    def happens_in(self, enclosing: tuple[Enclosing, ...]) -> Region:
        """Return where a statement happens, and in which subgroup, ``s``."""
        own = f"0 <= s < {self.kernel.subgroups}"
        names = (*self.names_around(enclosing), "s")
        return Region.where(names, conjunction((*self.constraints(enclosing, "s"), own)))

    def subgroup(
        self, enclosing: tuple[Enclosing, ...], view: View, subgroups: Ints | None = None
    ) -> str:
        """Return the subgroup at each point, where conditions around depend on it.

        Raises `UndecidableError` where it is not a sum of digits of the point.
        """
        if not any(mixes(one) for one in enclosing):
            return ""
        numbers = view.subgroup if subgroups is None else subgroups[view.subgroup]
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
        names = [*self.names_around(first.enclosing)]
        texts = [*self.constraints(first.enclosing)]
        between = {t.var: t for t in clash.trips if t.since != "begun"}
        begun = {t.var: t for t in clash.trips if t.since == "begun"}
        for one in first.enclosing:
            if isinstance(one, Loop) and one.var in between:
                trips = between[one.var]
                if trips.since == "left":
                    stop = self.naming.text(one.stop)
                    texts.append(_apart(self.naming.all[one.var], trips, stop))
        other: dict[str, str] = {}
        apart = False  # a loop further out went on, or ended: those inside began anew
        for one in second.enclosing:
            text = {**self.naming.all, **other}
            if isinstance(one, If):
                texts.append(f"{index_text(one.index, text)} < {index_text(one.below, text)}")
                continue
            low, high = (index_text(i, text) for i in (one.start, one.stop))
            mine, trips = self.naming.variable_of[one.var], between.get(one.var)
            if one in first.enclosing and not apart and trips is None:
                continue  # in the same trip
            other[one.var] = f"{mine}_y"
            names.append(f"{mine}_y")
            texts.append(f"{low} <= {mine}_y < {high}")
            if one in first.enclosing and not apart and trips is not None and trips.since == "here":
                texts.append(_apart(mine, trips, f"{mine}_y"))
            elif one.var in begun:
                texts.append(_apart(low, begun[one.var], f"{mine}_y"))
            apart = True
        texts.append(f"{self.naming.text(first.at)} = {clash.ats[0]}")
        after = {**self.naming.all, **other}
        texts.append(f"{index_text(second.at, after)} = {clash.ats[1]}")
        return Region.where(tuple(names), conjunction(tuple(texts)))

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
        for one in write.enclosing:
            if isinstance(one, Loop):
                low, high = self.naming.text(one.start), self.naming.text(one.stop)
                out.append(Bounds(self.naming.variable_of[one.var], low, high))
        inner = zip(view.names, view.shape, strict=True)
        return (*out, *(Bounds(name, "0", str(extent)) for name, extent in inner))

    def conditions(self, write: Write, view: View) -> tuple[Guard, ...]:
        """Return the conditions around a store."""
        out = list[Guard]()
        own = {SUBGROUP_INDEX: self.subgroup(write.enclosing, view, write.subgroups)}
        for one in write.enclosing:
            if isinstance(one, If):
                more = own if mixes(one) else {}
                left, right = (self.naming.text(i, more) for i in (one.index, one.below))
                out.append(Guard(left, "<", right))
        return tuple(out)

    def points(self, write: Write, view: View) -> Region:
        """Return the points of a store that lie inside its output.

        Of a store that a loop repeats at one place, only the last trip counts.
        """
        names, texts = self.written_at(write, view)
        return Region.where(names, conjunction(texts))

    def written_at(self, write: Write, view: View) -> tuple[Names, tuple[str, ...]]:
        """Return the points of a store that lie inside its output, as names and constraints."""
        names = (*self.names_around(write.enclosing), *view.names)
        limits = self.extents(write.access.operand)
        targets = self.targets(write, view)
        inside = tuple(f"0 <= {t} < {n}" for t, n in zip(targets, limits, strict=True))
        last = self._last_trips(write)
        subgroup = self.subgroup(write.enclosing, view, write.subgroups)
        return names, (*self.constraints(write.enclosing, subgroup), *view.box, *inside, *last)

    def in_registers(self, enclosing: tuple[Enclosing, ...], view: View) -> Region:
        """Return the points of a fragment where statements happen."""
        names = (*self.names_around(enclosing), *view.names)
        subgroup = self.subgroup(enclosing, view)
        return Region.where(names, conjunction((*self.constraints(enclosing, subgroup), *view.box)))

    def only_last_trips(self, write: Write) -> bool:
        """Whether a store that loops repeat at one place is judged in its last trip alone."""
        used = frozenset[str]().union(*(index.names for index in write.base))
        repeated = (a for a in write.enclosing if isinstance(a, Loop) and a.var not in used)
        return sum(1 for _ in repeated) == len(self._last_trips(write))

    def _last_trips(self, write: Write) -> tuple[str, ...]:
        used = frozenset[str]().union(*(index.names for index in write.base))
        out: list[str] = []
        for number, one in enumerate(write.enclosing):
            if not isinstance(one, Loop):
                continue
            inner = write.enclosing[number + 1 :]
            needed = used | {n for x in inner for n in _mentioned(x)}
            if one.var not in needed:
                last = self.naming.text(one.stop - 1)
                out.append(f"{self.naming.variable_of[one.var]} = {last}")
        return tuple(out)


def _apart(one: str, trips: Trips, other: str) -> str:
    """Return that so many trips lie between two values of a variable."""
    sign = "<=" if trips.count == FAR else "="
    return f"({one}) + {trips.count} {sign} {other}"


def _mentioned(enclosing: Enclosing) -> frozenset[str]:
    if isinstance(enclosing, Loop):
        return enclosing.start.names | enclosing.stop.names
    return enclosing.index.names | enclosing.below.names
