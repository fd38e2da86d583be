"""The points at which a store is judged: coordinates of its tile, or its registers.

Where the writes of a store fill a box of its tile, each place once, what they hold is told by the
place: however registers are dealt out, a right kernel's maps are then short. Where the writes of
each subgroup fill a box it is told by the subgroup and a place in its box, and otherwise by
subgroup and position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pycute_xe.holding.digits import DigitMap, as_digits
from pycute_xe.holding.follower import Write
from pycute_xe.holding.nodes import Leaf
from pycute_xe.holding.patience import charge
from pycute_xe.kernel import Index, Kernel, Loop
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX, Quotient
from pycute_xe.kernel.ir.identities import extents_of
from pycute_xe.verifying.refusing import undecided

__all__ = ["View", "registers", "view_of", "Naming", "index_text"]

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
        self.all: Mapping[str, str] = self.size_of | self.variable_of

    def text(self, index: Index, more: Mapping[str, str] | None = None) -> str:
        """Return an index as a formula; ``more`` names further variables."""
        return index_text(index, {**self.all, **(more or {})})


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
        inner = leaf.table.shape[2:-1]
        first = (slice(None), slice(None), *(0 for _ in inner))
        for mode in range(leaf.table.shape[-1]):
            table = leaf.table[..., mode]
            charge(VIEWED * (table.size + self.position.size))
            start = table[first]
            here = start[self.subgroup, leaf.select[self.position]]
            text = _digits(here.reshape(self.shape), leaf.operand).text(self.names)
            if inner:
                along = table[0, 0] - start[0, 0]
                steps = (...,) + (None,) * len(inner)
                if not np.array_equal(table - start[steps], np.broadcast_to(along, table.shape)):
                    text = self._joint(leaf, mode, bounds)
                else:
                    text = f"{text} + {_digits(along, leaf.operand).text(bounds)}"
            out.append(text)
        return tuple(out)

    def _joint(self, leaf: Leaf, mode: int, bounds: tuple[str, ...]) -> str:
        """Return a table in which points and variables of sums do not separate by subgroup."""
        table = leaf.table[..., mode]
        whole = table[self.subgroup, leaf.select[self.position]]
        shape = (*self.shape, *table.shape[2:])
        return _digits(whole.reshape(shape), leaf.operand).text((*self.names, *bounds))


def _digits(table: Ints, operand: str) -> DigitMap:
    found = as_digits(table)
    if found is None:
        raise undecided(
            f"where the registers' elements of {operand} come from is not a sum of digits",
            "use copies whose layouts nest evenly",
            operand=operand,
        )
    return found


def registers(subgroups: int, positions: int) -> View:
    """Return the points of a fragment's part: subgroups and positions."""
    everyone = np.arange(subgroups * positions, dtype=np.int64)
    subgroup, position = np.divmod(everyone, np.int64(positions))
    return View(("p_s", "p_e"), (subgroups, positions), subgroup, position, ())


def view_of(write: Write) -> View:
    """Return the points of a write.

    Raises `UndecidableError` for stores whose places are not sums of digits.
    """
    return _Finder(write).found


class _Finder:
    def __init__(self, write: Write) -> None:
        self.places = write.places
        self.subgroups, self.positions, self.modes = write.places.shape

    @cached_property
    def found(self) -> View:
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
