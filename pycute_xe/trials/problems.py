"""The problems of a trial: sizes and data, and where conditions turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import inf, lcm, prod
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import CuteError
from pycute_xe.executing.space import LookUp, Space, given, grid_space, performed
from pycute_xe.kernel import If, Kernel, Loop, Operand, Statement
from pycute_xe.kernel.index import Index, Quotient
from pycute_xe.kernel.ir.identities import extents_of
from pycute_xe.kernel.ir.kernel import groups_in
from pycute_xe.kernel.ir.operands import shape_of
from pycute_xe.kernel.ir.program import walk
from pycute_xe.kernel.ir.visiting import visit
from pycute_xe.kernel.probes import Field, drawn, edge, is_moved
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    Total,
    Where,
    leaves,
    own_indices,
    parts,
)
from pycute_xe.kernel.spec.functions import CHOOSING, reduction
from pycute_xe.kernel.spec.given import as_given
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.specification import AnyClaim, Claim
from pycute_xe.numeric import Numeric
from pycute_xe.trials.edge_tables import entry, table_sizes, tables_at
from pycute_xe.trials.work import work_of_subgroup

__all__ = [
    "Asked",
    "behind",
    "conditions",
    "problems",
    "unmet",
    "looked_up",
    "tile_of",
    "with_trips",
    "telling_sizes",
    "trips_wanted",
    "DATA",
    "EDGES",
    "INEXACT",
    "WIDE",
    "Data",
    "Grain",
    "exact",
    "fields",
    "small",
]

# ------------------------------------------------------------ data
# What a trial feeds a kernel: numbers whose every sum is exact, and edges of types.

Sizes: TypeAlias = Mapping[str, int]

EDGES = "edge values of the types"


@dataclass(frozen=True)
class Grain:
    """Numbers that are whole multiples of ``unit``, at most ``most`` in size."""

    most: float
    unit: float = 1.0

    def fits(self, bits: int) -> bool:
        """Whether a significand of so many bits holds every one of them."""
        return self.most <= self.unit * 2.0**bits


@dataclass(frozen=True)
class Data:
    """Small numbers for the operands of sums, and for all others: largest, and unit.

    Floats that are not summed have at most so many ``bits``, as far as their type holds them.
    """

    name: str
    summed: Grain
    others: Grain
    bits: int = 8

    def grain(self, operand: Operand, summed: bool) -> Grain:
        """Return the numbers that an operand is given, as far as its type holds them."""
        wanted, kind = self.summed if summed else self.others, operand.value_type
        if kind.kind != "float":
            most = (1 << min(kind.bits - (kind.kind == "signed"), 20)) - 1
            return Grain(min(max(1.0, wanted.most // wanted.unit), most))
        bits = min(kind.row.significand, 8 if summed else self.bits) if kind.bits >= 8 else 1
        return Grain(min(wanted.most, wanted.unit * 2**bits), wanted.unit)


WIDE = (
    Data("integers of 8 bits and sixteenths", Grain(127), Grain(127 / 16, 1 / 16)),
    Data("integers of 8 bits", Grain(127), Grain(127)),
    Data("integers of 5 bits and sixteenths", Grain(31), Grain(127 / 16, 1 / 16)),
)
"""Numbers whose products have more bits than narrow types hold, so that their roundings show."""
FINE = (
    Data("integers of 8 bits and numbers of 12", Grain(127), Grain(4095 / 16, 1 / 16), 12),
    Data("small integers and numbers of 12 bits", Grain(2), Grain(4095 / 16, 1 / 16), 12),
)
"""Numbers that types of 16 bits do not hold, so that each rounding to one of these shows."""
DATA = (
    Data("small integers and sixteenths", Grain(2), Grain(127 / 16, 1 / 16)),
    Data("small integers", Grain(2), Grain(5)),
    Data("the integers -1, 0 and 1", Grain(1), Grain(1)),
)
"""What is fed to a kernel: the first of these that leaves every number exact."""

INEXACT = Data("eighths", Grain(1 / 4, 1 / 8), Grain(1 / 2, 1 / 8))


def exact(kernel: Kernel, sizes: Sizes, among: tuple[Data, ...] = DATA) -> Data | None:
    """Return the first data on which everything that is claimed is exact, None for none."""
    claims = kernel.computes.claims if kernel.computes is not None else ()
    if kernel.computes is not None and (kernel.computes.defines or kernel.computes.real):
        return None  # inputs do not bound what states come to; a run rounds what is read as real
    products = (s.touched.product for s in kernel.statements())
    floats = {product.mma.atom.op.C for product in products if product is not None}
    bits = min((kind.row.significand or 24 for kind in floats), default=24)
    summed = _summed(kernel)
    for data in among:
        grains = {o.name: data.grain(o, o.name in summed) for o in kernel.inputs}
        if all(_grain(claim.value, grains, sizes, bits) is not None for claim in claims):
            return data
    return None


def _summed(kernel: Kernel) -> frozenset[str]:
    """The operands that stand in a sum of a claim, not only in a maximum."""
    claims = kernel.computes.claims if kernel.computes is not None else ()
    inside = [
        part
        for claim in claims
        for part in _within(claim.value)
        if isinstance(part, Total) and reduction(part.how).law == "sum"
    ]
    return frozenset(x.operand for total in inside for x in leaves(total) if isinstance(x, Element))


def _within(value: Expression) -> list[Expression]:
    return [value, *(inner for part in parts(value) for inner in _within(part))]


def _grain(value: Expression, given: Mapping[str, Grain], sizes: Sizes, bits: int) -> Grain | None:
    """Return the numbers that an expression may be, None where some are not exact."""
    inner = [_grain(part, given, sizes, bits) for part in parts(value)]
    if isinstance(value, Apply):
        inner = _chosen(value, inner)
    known = [one for one in inner if one is not None]
    if len(known) < len(inner):
        return None
    grain = _made(value, known, given, sizes)
    limit = min(bits, 24) if isinstance(value, Total) else 24
    return grain if grain is not None and grain.fits(limit) else None


def _chosen(value: Apply, grains: list[Grain | None]) -> list[Grain | None]:
    """Leave constants out that a maximum or a minimum never gives: all others are beyond them."""
    sign = {"max": -1, "min": 1}.get(value.function)
    if sign is None:
        return grains
    both = [*zip(value.arguments, grains, strict=True)]
    most = max((g.most for x, g in both if g is not None and not isinstance(x, Const)), default=inf)
    return [g for x, g in both if not (isinstance(x, Const) and x.value * sign > most)]


def _widest(known: list[Grain]) -> Grain:
    return Grain(max(g.most for g in known), min(g.unit for g in known))


def _made(
    value: Expression, known: list[Grain], given: Mapping[str, Grain], sizes: Sizes
) -> Grain | None:
    """Return the numbers that an expression may be, whose parts are ``known``."""
    match value:
        case Const(number):
            size = abs(number)
            unit = next((2.0**-i for i in range(9) if (size * 2**i).is_integer()), None)
            return Grain(size, unit) if unit is not None else None
        case Element(operand):
            return given.get(operand)
        case Apply("add"):
            return Grain(sum(g.most for g in known), min(g.unit for g in known))
        case Apply("mul"):
            return Grain(prod(g.most for g in known), prod(g.unit for g in known))
        case Apply(name):
            return _widest(known) if name in CHOOSING else None
        case Rounded() | Where():
            return _widest(known)
        case Total():
            return _of_total(value, known[0], sizes)
        case Slot():
            return None  # a claim is of operands


def _of_total(value: Total, each: Grain, sizes: Sizes) -> Grain:
    count, law = _count(value, sizes), reduction(value.how).law
    match law:
        case "sum":
            return Grain(each.most * count, each.unit)
        case "greatest" | "least":
            return each
        case _:
            assert_never(law)


def _count(value: Total, sizes: Sizes) -> int:
    return prod(_extent(extent, sizes) for _, extent in value.over)


def _extent(extent: Index, sizes: Sizes) -> int:
    """Return how long a sum is at most, at least 1."""
    most = max(sizes.values(), default=1)
    # What is counted by other variables is no longer than what they are counted by.
    names = dict.fromkeys(extent.names, most) | dict(sizes)
    return max(1, extent.at(names, lambda _name, _at: most))


def terms_of(claim: AnyClaim, sizes: Sizes, window: tuple[range, ...]) -> int:
    """Return how many numbers a part of a claim about a window takes at once.

    A part has a number for each value of the variables that it depends on; those that an inner sum
    adds up are left out.
    """
    terms = prod(map(len, window))
    match claim:
        case Claim(_, indices, value):
            extents = dict(zip(indices, map(len, window), strict=True))
            return max(terms, _spread(value, sizes, extents)[1])
        case Scatter():
            return terms * max(1, _spread(claim.value, sizes, {})[1])


def _spread(value: Expression, sizes: Sizes, extents: Sizes) -> tuple[frozenset[str], int]:
    """Return the variables that a part depends on, and what sums inside of it take; 0 for none."""
    if isinstance(value, Total):
        extents = {**extents, **{name: _extent(extent, sizes) for name, extent in value.over}}
    each = [_spread(part, sizes, extents) for part in parts(value)]
    names = frozenset[str]().union(*(i.names for i in own_indices(value)), *(n for n, _ in each))
    inside = max((most for _, most in each), default=0)
    here = prod(extents.get(name, 1) for name in names)
    inside = max(inside, here) if inside else 0
    if not isinstance(value, Total):
        return names, inside
    names -= {name for name, _ in value.over}
    return names, max(inside, prod(extents.get(name, 1) for name in names))


def fields(kernel: Kernel, sizes: Sizes, data: Data | None, seed: int) -> dict[str, Field]:
    """Return the inputs of a kernel by name; edge values where there are no ``data``."""
    summed, looked = _summed(kernel), looked_up(kernel)
    tables = tables_at(kernel, sizes, seed)
    out: dict[str, Field] = {}
    for number, operand in enumerate(kernel.inputs):
        shape, kind = shape_of(operand, sizes), operand.value_type
        draw = partial(drawn, (seed, number), shape)
        if operand.name in tables:
            values: Any = partial(entry, tables[operand.name])
        elif operand.name in looked:
            values = partial(_grained, kind, draw, Grain(1))
        elif data is None:
            values = partial(edge, kind, draw)
        else:
            values = partial(_grained, kind, draw, data.grain(operand, operand.name in summed))
        out[operand.name] = Field(kind, shape, values)
    return as_given(kernel, out, sizes)


def _grained(
    kind: Numeric, draw: Any, grain: Grain, places: tuple[NDArray[np.int64], ...]
) -> NDArray[Any]:
    most = int(grain.most / grain.unit)
    return draw(places, 0 if kind.kind == "unsigned" else -most, most) * grain.unit


# ------------------------------------------------------------ sizes
# The sizes of a trial: an interior and an edge tile in every mode, and trips enough.

MORE = 2
"""Trips of a loop beyond its stages."""
MOST_STAGES = 64
"""Stages from which on a loop is taken for one without any: they come from sizes of problems."""


def least_sizes(kernel: Kernel, fixed: Mapping[str, int]) -> dict[str, int]:
    """Return the smallest sizes there are."""
    return dict.fromkeys(extents_of(kernel), 1) | dict(fixed)


def telling_sizes(kernel: Kernel, fixed: Mapping[str, int]) -> dict[str, int]:
    """Return sizes with an interior and an edge tile in every tiled mode, and trips enough.

    No two axes of the grid have as many tiles, where their sizes are free: what stands for
    another shows.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")), stages=2)
    >>> telling_sizes(gemm, {})
    {'M': 387, 'N': 643, 'K': 115}
    """
    units = {name: tile_of(kernel, name) for name in extents_of(kernel)}
    counted = [n for _, count in kernel.grid for n in sorted(count.names & {*units})]
    more = {n: i for i, n in enumerate(n for n in dict.fromkeys(counted) if units[n] > 1)}
    sizes = {n: unit + unit // 2 + 3 + unit * more.get(n, 0) for n, unit in units.items()}
    return with_trips(kernel, sizes, fixed, units)


def looked_up(kernel: Kernel) -> frozenset[str]:
    """Return the operands whose elements tell where messages go or how far loops run."""
    indices = [index for s in kernel.statements() for index in s.touched.indices]
    indices += [count for _, count in kernel.grid]
    return frozenset(x.operand for index in indices for x in index.looked_up)


def with_trips(
    kernel: Kernel, sizes: dict[str, int], fixed: Mapping[str, int], units: Mapping[str, int]
) -> dict[str, int]:
    """Return sizes at which every loop has the trips of `trips_wanted`, as far as they are free."""
    sizes |= dict(fixed)
    for loop, outer in _loops(kernel):
        names = (loop.stop.names & set(kernel.sizes)) - fixed.keys()
        wanted = trips_wanted(loop)
        for _ in range(4 * MOST_STAGES if names else 0):
            if _trips(loop, sizes, outer) >= wanted:
                break
            sizes |= {name: sizes[name] + units[name] for name in names}
    return sizes


def trips_wanted(loop: Loop) -> int:
    """Return two trips more than a loop has stages: distances, divisors, limits of conditions."""
    stages, var = 1, loop.var
    ahead = 0
    for statement in (loop, *walk(loop.body)):
        memory = statement.touched.memory
        looks_ahead = isinstance(statement, If) or (memory is not None and memory.prefetches)
        for index in statement.touched.indices:
            step = dict(index.terms).get(var, 0)
            if looks_ahead and step:
                ahead = max(ahead, abs(index.offset) // abs(step))
            for divisor in _divisors(index, var):
                if lcm(stages, divisor) <= MOST_STAGES:
                    stages = lcm(stages, divisor)
    return max(stages, ahead if ahead <= MOST_STAGES else 0) + MORE


def _divisors(index: Index, var: str) -> Iterator[int]:
    """Yield how many steps of a variable the quotients of an index count."""
    for atom, _ in index.terms:
        if isinstance(atom, Quotient) and var in atom.index.names:
            step = abs(dict(atom.index.terms).get(var, 1))
            yield max(1, atom.divisor // step)
            yield from (atom.divisor * inner for inner in _divisors(atom.index, var))


def tile_of(kernel: Kernel, size: str) -> int:
    """Return how many elements of a mode make a tile: the largest of small divisors; 1 for none."""
    counts = [count for _, count in kernel.grid]
    counts += [i for s in kernel.statements() for i in s.touched.indices]
    divisors = [divisor for index in counts for divisor in _divisors(index, size)]
    accesses = (s.touched.memory for s in kernel.statements())
    divisors += [
        tile
        for memory in accesses
        if memory is not None and not memory.prefetches
        for mode, tile in zip(memory.modes, memory.copy.tiler_mn, strict=True)
        if mode is not None and kernel.operand(memory.operand).modes[mode] == Index(size)
    ]
    return max((divisor for divisor in divisors if divisor <= 1024), default=1)


def _loops(kernel: Kernel) -> Iterator[tuple[Loop, Mapping[str, int]]]:
    """Yield every loop, with 0 for the variables of those around it."""
    for visited in visit(kernel.body):
        if isinstance(visited.statement, Loop):
            yield visited.statement, {loop.var: 0 for loop in visited.loops}


def _trips(loop: Loop, sizes: Mapping[str, int], outer: Mapping[str, int]) -> int:
    names = {name: 0 for index in (loop.start, loop.stop) for name in index.names}
    names |= {**outer, **sizes}
    try:
        return loop.stop.at(names) - loop.start.at(names)
    except CuteError:  # it depends on an element of an operand
        return MOST_STAGES + MORE


# ------------------------------------------------------------ problems


SMALL = 8_000
"""Work up to which the sizes are tried one by one, too."""
FAR = 1 << 20
"""The largest size that is tried for the sake of a condition."""
MOST_GROUPS = 1 << 19
"""Work-groups of a grid in which it is looked for where a condition turns."""
MOST_POINTS = 1 << 18
"""Combinations of variables that are listed for the sake of a condition."""


@dataclass(frozen=True)
class Asked:
    """A problem of a trial; ``data`` is None for edge values.

    ``behind``: what no claim names is NaN.
    """

    kernel: Kernel
    sizes: Sizes
    data: Data | None
    inputs: Mapping[str, Field]
    behind: bool = False

    @property
    def words(self) -> str:
        """What the data are called."""
        own = EDGES if self.data is None else self.data.name
        return f"{own}, and NaN where nothing is claimed" if self.behind else own

    @property
    def look_up(self) -> LookUp:
        """What gives elements of inputs; `KernelError` for what the kernel writes itself."""
        return given("trial", self.kernel, self.inputs)


def problems(
    kernel: Kernel, fixed: Mapping[str, int]
) -> Iterator[tuple[dict[str, int], Data | None, int]]:
    """Yield the sizes of a trial, each with its data and a seed."""
    least, telling = least_sizes(kernel, fixed), telling_sizes(kernel, fixed)
    computes, edges = kernel.computes, False
    if computes is not None and not computes.defines and not computes.real:
        # In a moved value nothing is summed: edges of types show what small numbers do not.
        edges = any(is_moved(claim.value) for claim in computes.claims)
    data = {name: exact(kernel, sizes) or INEXACT for name, sizes in
            (("least", least), ("telling", telling))}  # fmt: skip
    yield from behind(kernel, fixed, 1)
    yield least, data["least"], 0
    fine, wide = (exact(kernel, telling, among) for among in (FINE, WIDE))
    if fine is not None:
        yield telling, fine, 1
    if wide is not None and fine != FINE[0]:
        yield telling, wide, 5
    yield telling, data["telling"], 2
    for name in kernel.sizes:
        # Where one size stands for another, equal ones do not show it.
        alone = least | {name: 3 * telling[name]} | dict(fixed)
        if work_of_subgroup(kernel, alone) * groups_in(kernel, alone) * kernel.subgroups <= SMALL:
            yield alone, exact(kernel, alone) or INEXACT, 4
    if edges:
        yield telling, None, 7
    for sizes in _turning(kernel, telling, fixed):
        yield sizes, exact(kernel, sizes) or INEXACT, 3


def behind(
    kernel: Kernel, fixed: Mapping[str, int], draws: int
) -> Iterator[tuple[dict[str, int], Data | None, int]]:
    """Yield the sizes at which tables have several entries: something lies behind their lengths.

    Each comes with so many draws of tables, one after the other.
    """
    for draw in range(draws):
        for number, sizes in enumerate(table_sizes(kernel, fixed)):
            yield sizes, exact(kernel, sizes) or INEXACT, number + 10 * draw


def small(
    kernel: Kernel, fixed: Mapping[str, int]
) -> Iterator[tuple[dict[str, int], Data | None, int]]:
    """Yield all sizes up to 4, each with a few draws of tables; none where sizes are many."""
    names = [name for name in extents_of(kernel) if name not in fixed]
    for draw in range(3 if len(names) <= 3 else 0):
        for extents in product(range(1, 5), repeat=len(names)):
            sizes = dict(zip(names, extents, strict=True)) | dict(fixed)
            yield sizes, exact(kernel, sizes) or INEXACT, draw


def conditions(body: tuple[Statement, ...], space: Space) -> Iterator[tuple[If, Space, Space]]:
    """Yield conditions, each with the points at which it is so, and at which it is not."""
    for one, here in performed(body, space):
        if isinstance(one, If):
            inside = here.where(one.index, one.below)
            yield one, inside, here.where(one.below - 1, one.index)


def _turned(kernel: Kernel, sizes: Sizes) -> dict[If, tuple[bool, bool]]:
    """Return of each condition whether it is met at some point, and not met at some."""
    asked = Asked(kernel, sizes, None, {})
    if groups_in(kernel, sizes) > MOST_GROUPS:
        return {}
    try:
        space = replace(grid_space(kernel, sizes, asked.look_up), most=MOST_POINTS)
        turned = list(conditions(kernel.body, space))
    except CuteError:
        return {}
    out: dict[If, tuple[bool, bool]] = {}
    for one, inside, outside in turned:
        met, unmet = out.get(one, (False, False))
        out[one] = (met or inside.size > 0, unmet or outside.size > 0)
    return out


def _turning(kernel: Kernel, telling: Sizes, fixed: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield larger sizes at which conditions turn that did not at the telling ones."""
    wanted = {(one, way) for one, ways in _turned(kernel, telling).items()
              for way in (0, 1) if not ways[way]}  # fmt: skip
    for one, way in sorted(wanted, key=lambda pair: (str(pair[0].index), pair[1])):
        if (one, way) not in wanted:
            continue
        names = _sizes_of(kernel, one) - fixed.keys()
        sizes = dict(telling)
        while names and max(sizes[name] for name in names) * 2 <= FAR:
            sizes |= {name: 2 * sizes[name] for name in names}
            turned = _turned(kernel, sizes)
            if one in turned and turned[one][way]:
                wanted -= {(x, w) for x, ways in turned.items() for w in (0, 1) if ways[w]}
                yield sizes
                break


def _sizes_of(kernel: Kernel, one: If) -> set[str]:
    """Return the sizes that a condition depends on, those of its variables' ranges included."""
    limits: dict[str, frozenset[str]] = {name: count.names for name, count in kernel.grid}
    for statement in kernel.statements():
        if isinstance(statement, Loop):
            limits[statement.var] = statement.start.names | statement.stop.names
    names = set(one.index.names | one.below.names)
    for _ in range(len(limits)):
        names |= {more for name in names for more in limits.get(name, frozenset())}
    return names & set(kernel.sizes)


def unmet(kernel: Kernel, fixed: Mapping[str, int]) -> list[str]:
    """Say which conditions no size of a trial turns."""
    sizes = [telling_sizes(kernel, fixed), least_sizes(kernel, fixed)]
    sizes += _turning(kernel, sizes[0], fixed)
    met: dict[If, tuple[bool, bool]] = {}
    asked = [_turned(kernel, one) for one in sizes]
    if not all(asked) and any(isinstance(s, If) for s in kernel.statements()):
        return ["the points at which its conditions are asked are too many to be listed"]
    for turned in asked:
        for condition, ways in turned.items():
            before = met.get(condition, (False, False))
            met[condition] = (before[0] or ways[0], before[1] or ways[1])
    return [
        f"{condition.index} < {condition.below} is {'never' if not ways[0] else 'always'} so there"
        for condition, ways in met.items()
        if not all(ways)
    ]
