"""The question whether every element of an output is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert
from pycute_xe.errors import UndecidableError
from pycute_xe.holding.contents import Write
from pycute_xe.holding.patience import a_while, charge
from pycute_xe.kernel import (
    Index,
    Kernel,
    Loop,
)
from pycute_xe.kernel.counterexample import array_of
from pycute_xe.kernel.ir.kernel import weight
from pycute_xe.kernel.ir.operands import shape_of
from pycute_xe.kernel.ir.program import mixes
from pycute_xe.kernel.probes import (
    differ_by,
    telling_fields,
    telling_inputs,
    tolerance_of,
    variants,
)
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.specification import AnyClaim, Claim
from pycute_xe.verifying.comparison import compare
from pycute_xe.verifying.evaluation import Extents, differ, value_with
from pycute_xe.verifying.faults import Faults
from pycute_xe.verifying.formula import Formula, Place, Term, atoms_within
from pycute_xe.verifying.joining import Together, joined_writes
from pycute_xe.verifying.laws import UNDEFINED
from pycute_xe.verifying.least import closing, has_no_tables, smallest
from pycute_xe.verifying.lookups import has_lookups, is_lookup
from pycute_xe.verifying.making import tables_at
from pycute_xe.verifying.matching import Difference
from pycute_xe.verifying.partitions import Owner, owners
from pycute_xe.verifying.points import Naming, Space, View, view_of
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.scatters import Named, covered
from pycute_xe.verifying.translation import claimed
from pycute_xe.verifying.verdict import Failure

__all__ = ["Coverage", "Point"]

# ------------------------------------------------------------ covering
# Stores that write a tile in pieces, taken together: what they cover, and what is left.
#
# A tile stored in pieces is subtracted from an output as one box; piece by piece, each of them
# would leave a set that needs more quotients to be described.

MOST = 4096
"""Work-groups, and elements that are left out of a tile, that are looked at."""


def united(writes: list[Write]) -> list[Write]:
    """Return writes as few as there are tiles: those of one tile at one time are one write."""
    groups: dict[tuple[object, ...], list[Write]] = {}
    for write in writes:
        subgroups = (
            tuple(write.subgroups.tolist())
            if any(map(mixes, write.enclosing))
            else write.subgroups.size
        )
        groups.setdefault((write.enclosing, _loose(write), subgroups), []).append(write)
    out: list[Write] = []
    for group in groups.values():
        joined = _joined(group)
        fills = len(group) == 1 or _is_box(joined)
        out += [joined] if fills else group
    return out


def _loose(write: Write) -> tuple[Index, ...]:
    return tuple(index - index.offset for index in write.base)


def _joined(group: list[Write]) -> Write:
    """Return the writes of a group as one; what they hold is left to each of them."""
    if len(group) == 1:
        return group[0]
    places = [w.places + np.array([i.offset for i in w.base], dtype=np.int64) for w in group]
    elements = np.concatenate([w.elements for w in group])
    first = group[0]
    return replace(
        first, base=_loose(first), places=np.concatenate(places, axis=1), elements=elements
    )


def _is_box(write: Write) -> bool:
    """Whether the places fill a box, each once: then a view of them is told by the place."""
    try:
        view: View = view_of(write)
    except UndecidableError:
        return False
    return "p_s" not in view.names


def left_out(space: Space, output: str, writes: list[Write]) -> dict[str, int] | None:
    """Return sizes at which the last element of an output is one that no piece of a tile covers.

    Looks at the first tile alone, and at stores that neither loops nor conditions surround; None
    proves nothing. The element has the index of every extent less one.
    """
    kernel = space.kernel
    modes = [str(mode) for mode in kernel.operand(output).modes]
    if any(write.enclosing for write in writes) or not set(modes) <= set(kernel.sizes):
        return None
    if len({_loose(write) for write in writes}) != 1 or len(set(modes)) != len(modes):
        return None
    covered = _joined(writes).places.reshape(-1, len(modes))
    high = covered.max(axis=0) + 1
    if np.prod(high, dtype=np.float64) > 1 << 22:
        return None
    inside = covered[(covered >= 0).all(axis=1)]
    tile = np.zeros(tuple(high), np.bool_)
    tile[tuple(inside.T)] = True
    holes = np.argwhere(~tile)
    for hole in holes[np.argsort(holes.sum(axis=1), kind="stable")][:MOST].tolist():
        sizes = {
            **dict.fromkeys(kernel.sizes, 1),
            **dict(zip(modes, (i + 1 for i in hole), strict=True)),
        }
        if any(sizes[name] != size for name, size in space.fixed.items()):
            continue
        if not _is_covered(space, _joined(writes), inside, np.array(hole), sizes):
            return sizes
    return None


def _is_covered(
    space: Space,
    write: Write,
    covered: NDArray[np.int64],
    element: NDArray[np.int64],
    sizes: dict[str, int],
) -> bool:
    """Whether some work-group of a problem stores an element."""
    counts = [range(count.at(sizes)) for _, count in space.kernel.grid]
    if np.prod([len(count) for count in counts]) > MOST:
        return True
    names = [name for name, _ in space.kernel.grid]
    for place in product(*counts):
        values = {**sizes, **dict(zip(names, place, strict=True))}
        base = np.array([index.at(values) for index in write.base])
        if (covered + base == element).all(axis=1).any():
            return True
    return False


# ------------------------------------------------------------ showing
# Is a wrong value seen in a run? On the inputs that a replay tries, one after the other.
#
# Two formulas may differ where no output tells: behind a saturating function, or by one rounding of
# many. Then nothing is disproved: no run could show it.

INPUTS, ELEMENT = 100, 0.1
"""Units that it takes to make the inputs of a replay, and each element of arrays."""
DENSE = 1 << 16
"""Bytes of operands up to which inputs are arrays, which are looked at faster."""


def is_seen(
    kernel: Kernel,
    claim: AnyClaim,
    failure: Failure,
    formulas: tuple[Formula, Formula],
    point: Mapping[str, int],
    extents: Extents,
) -> bool:
    """Tell whether what is stored and what is claimed are told apart on inputs of a replay.

    Of large problems the inputs are made only where they are looked at. Raises `UndecidableError`
    where the sums are too long to try.
    """
    numeric = kernel.operand(failure.output).value_type
    tolerance = tolerance_of(claim.value, numeric)
    dense = weight(kernel, failure.sizes) <= DENSE
    inputs = telling_inputs if dense else telling_fields
    elements = sum(prod(shape_of(o, failure.sizes)) for o in kernel.inputs) if dense else 0
    given: list[Mapping[str, Any]] = []
    for variant in variants(kernel):
        charge(INPUTS + elements * ELEMENT)
        place = failure.element, failure.index, variant
        tables = {name: array_of(of) for name, of in failure.tables}
        filled = {**dict(failure.filled), **tables}
        given.append(inputs(kernel, failure.sizes, failure.operand, *place, filled))

    @cache
    def element(name: str, at: tuple[int, ...]) -> NDArray[np.float64]:
        return np.array([float(one[name][at]) if name in one else np.nan for one in given])

    pairs = (np.broadcast_to(value_with(f, point, extents, element), len(given)) for f in formulas)
    written = all(atom.name != UNDEFINED for atom in atoms_within(formulas[0]))
    for actual, wanted in zip(*pairs, strict=True):
        if written or not np.isnan(actual):
            actual, wanted = convert(np.array([actual, wanted]), numeric).astype(np.float64)
        if differ_by(float(actual), float(wanted), tolerance):
            return True
    return False


# ------------------------------------------------------------ seeking
# Further points at which two formulas differ, where the smallest shows nothing.
#
# At the smallest sizes a wrong kernel is often right by chance: a sum has one term, a softmax one
# key. Larger problems and other places of an output then tell.

LEAST = (2, 3, 9, 17, 33)
"""From where on the sizes of a problem are tried; each alone only from the first and the last."""
LONG = 70
"""A size that each has alone: two trips of a loop over 32 elements are full then."""


def narrowed(region: Region, naming: Naming) -> Iterator[tuple[Region, dict[str, int]]]:
    """Yield parts of a region, each with its smallest point: first the whole of it.

    The others are of larger sizes, or the last point at the sizes of one before. A point comes
    once. Raises `UndecidableError` where every point has an extent that no surface has.
    """
    seen: list[dict[str, int]] = []
    for condition in ("", *_conditions(naming)):
        part = region.within(condition) if condition else region
        try:
            point = smallest(part, naming)
        except UndecidableError:
            if not condition:
                raise
            continue
        if point is None or point in seen:
            continue
        seen.append(point)
        yield part, point
        there = part.within(_at(point, naming.sizes)).completed()
        last = there.greatest()
        if last is not None and there.lookups:  # elements of tables are small there, too
            own = tuple(name for name in last if not is_lookup(name))
            last = there.within(_at(last, own)).least()
        last = last and tables_at(last)
        if last is not None and last not in seen:
            seen.append(last)
            yield part.having(there.lookups).within(_at(last, there.names)), last


def _at(point: dict[str, int], names: Names) -> str:
    return " and ".join(f"{name} = {point[name]}" for name in names) or "true"


def _conditions(naming: Naming) -> Iterator[str]:
    """Yield what is asked of sizes: of one alone, then of all."""
    for ones, everyone in ((LEAST[:1], LEAST[:1]), ((LEAST[-1], LONG), LEAST[1:])):
        yield from (f"{size} >= {least}" for least in ones for size in naming.sizes)
        yield from (" and ".join(f"{n} >= {least}" for n in naming.sizes) for least in everyone)


# ------------------------------------------------------------ coverage

Point: TypeAlias = Mapping[str, int]

FEW = 2
"""Stores of one output beyond which the first tile is looked at for elements they leave out."""
WORK = 5_000_000
"""Units of work to find inputs that show a difference."""


class Coverage(Faults):
    """The question whether every element of an output is written, and what is claimed of it."""

    def coverage(self, output: str) -> Failure | None:
        """Return the smallest problem in which an element of an output is never written.

        Where a claim scatters, one of those that it names.
        """
        computes = self.kernel.computes
        claim = computes.known(output) if computes is not None else None
        if isinstance(claim, Scatter):
            return self._unscattered(Named.of(self.space, claim))
        names = tuple(f"u_{i}" for i in range(len(self.extents[output])))
        sizes = self.space.naming.sizes
        limits = (f"0 <= {u} < {n}" for u, n in zip(names, self.extents[output], strict=True))
        mine = [write for write in self.followed.writes if write.access.operand == output]
        added = all(write.access.adds for write in mine)
        if mine and added and self.kernel.operand(output).role == "inout":
            return None  # what is added is compared at all elements, nothing at some
        own = self._owners(mine, names)
        limits = (*limits, *(text for one in own for text in one.constraints))
        variables = tuple(dict.fromkeys(one.variable for one in own))
        every = (*sizes, *names, *variables)
        missing = Region.where(every, " and ".join([*self.space.sizes, *limits]))
        whole = united(mine)
        if len(whole) > FEW and self.kernel.operand(output).role == "out":
            unwritten = left_out(self.space, output, mine)
            if unwritten is not None:
                return self._unwritten_element(output, unwritten)
        for region in self._regions(output, whole, names, variables):
            missing = missing - region
        if self.kernel.operand(output).role == "inout":
            return self._not_kept(output, missing, names)
        point = smallest(missing, self.space.naming)
        if point is None:
            return None
        return self._never(output, point, tuple(point[name] for name in names), missing)

    def _unscattered(self, claim: Named) -> Failure | None:
        """Return where an element of a claim that scatters is never written to its place."""
        output = claim.claim.output
        mine = [write for write in self.followed.writes if write.access.operand == output]
        missing = claim.everything(self.space)
        for write in united(mine):
            missing = missing - claim.written(self.space, write, view_of(write))
        if missing.is_empty:
            return None
        names = tuple(f"u_{i}" for i in range(len(claim.at)))
        link = " and ".join(f"{u} = {at}" for u, at in zip(names, claim.at, strict=True))
        missing = missing.to((*missing.names, *names), link)

        def failed(gap: Difference, point: Point) -> Failure:
            return self._never(output, point, tuple(point[n] for n in names), gap.points)

        if self.kernel.operand(output).role == "out":
            point = smallest(missing, self.space.naming)
            return None if point is None else failed(_unwritten(missing), point)
        before: Formula = (Term(1.0, (Place(output, claim.at, claim.numeric),)),)
        wanted = claim.value({name: name for name in claim.names})
        return self.shown(output, _unwritten(missing), (before, wanted), failed)

    @cached_property
    def _joined(self) -> dict[str, list[Together] | None]:
        return {}

    def joined(self, output: str) -> list[Together] | None:
        """Return the writes of an output taken together; None where some stand alone."""
        if output not in self._joined:
            mine = [write for write in self.followed.writes if write.access.operand == output]
            self._joined[output] = None
            with suppress(UndecidableError):
                self._joined[output] = joined_writes(self.space, mine)
        return self._joined[output]

    def _regions(
        self, output: str, writes: list[Write], names: Names, owners: Names
    ) -> Iterator[Region]:
        """Yield the elements that stores write, and who owns them."""
        joined = self.joined(output) if owners and len(writes) > FEW else None
        if joined is None:
            yield from (self._covered(write, names, owners) for write in writes)
            return
        for one in joined:
            yield self._reached(one.write, one.view, one.points, names, owners)

    def _covered(self, write: Write, names: Names, owners: Names) -> Region:
        """Return the elements that a store writes, and who owns them."""
        view = view_of(write)
        if not owners and any(map(has_lookups, self.space.written_at(write, view)[1])):
            return covered(self.space, write, view, names, names)
        return self._reached(write, view, self.space.points(write, view), names, owners)

    def _reached(
        self, write: Write, view: View, points: Region, names: Names, owners: Names
    ) -> Region:
        targets = self.space.targets(write, view)
        link = " and ".join(f"{u} = {t}" for u, t in zip(names, targets, strict=True))
        return points.to((*self.space.naming.sizes, *names, *owners), link)

    def _owners(self, writes: list[Write], names: Names) -> tuple[Owner, ...]:
        """Return who owns the rows of an output where tables share them out."""
        out: dict[Owner, None] = {}
        for write in writes:
            begun = {x.var: x.start + Index(x.var) for x in write.enclosing if isinstance(x, Loop)}
            places = [index.substitute(begun) for index in write.base]
            if any(index.looked_up for index in places):
                targets = tuple(map(self.space.naming.text, places))
                limits = self.extents[write.access.operand]
                out |= dict.fromkeys(owners(self.space.tables, targets, names, limits))
        return tuple(out)

    def _unwritten_element(self, output: str, sizes: Mapping[str, int]) -> Failure:
        point = {self.space.naming.size_of[name]: size for name, size in sizes.items()}
        index = tuple(extent - 1 for extent in self.space.shape(output, sizes))
        return self._never(output, point, index, None)

    def _never(
        self, output: str, point: Point, index: tuple[int, ...], missing: Region | None
    ) -> Failure:
        words = f"{output}{list(index)} is never written"
        return self.of_element(output, "coverage", words, point, index, missing)

    def of_element(
        self,
        output: str,
        question: str,
        words: str,
        point: Point,
        index: tuple[int, ...],
        points: Region | None,
    ) -> Failure:
        """Return a failure that an element of an output shows."""
        return self.failure(
            point,
            f"{output} {question}",
            words,
            points,
            operand=output,
            element=index,
            output=output,
            index=index,
        )

    def _not_kept(self, output: str, missing: Region, names: tuple[str, ...]) -> Failure | None:
        """Return where an element is never written though something else is claimed of it."""
        numeric = self.kernel.operand(output).value_type
        before: Formula = (Term(1.0, (Place(output, names, numeric),)),)
        claim = self.claim_of(output)
        if not isinstance(claim, Claim):
            raise undecided("a claim that scatters is asked of its own elements", output=output)
        places = dict(zip(claim.indices, names, strict=True))
        wanted = claimed(claim.value, self.space.naming, places, numeric)
        difference = compare(missing, before, wanted, self.extents)
        if difference is None:
            return None

        def failed(gap: Difference, point: Point) -> Failure:
            return self._never(output, point, tuple(point[n] for n in names), gap.points)

        return self.shown(output, difference, (before, wanted), failed, missing)

    def shown(
        self,
        output: str,
        difference: Difference,
        formulas: tuple[Formula, Formula],
        failed: Callable[[Difference, Point], Failure | None],
        compared: Region | None = None,
    ) -> Failure | None:
        """Return the failure at the first point that is tried at which a replay shows it.

        None where no tables have such a point: there may be more differences than the one that was
        seen at the points that were ``compared``, if it is not all that there is. Raises
        `UndecidableError` where no replay shows it.
        """
        goes_on = a_while(WORK)
        for where, point in narrowed(difference.points, self.space.naming):
            if difference.filled or differ(*formulas, point, self.extents):
                failure = failed(replace(difference, points=where), point)
                if failure is not None and self._is_seen(failure, formulas, point):
                    return replace(failure, points=difference.points)
            if not goes_on():
                break
        if compared is None and has_no_tables(difference.points):
            return None
        if compared is not None and self.space.tables.by_name:
            with closing():
                if compare(compared, *formulas, self.extents, self.least) is None:
                    return None
        raise _agreeing(output, difference)

    def demand_seen(
        self,
        failure: Failure,
        difference: Difference,
        formulas: tuple[Formula, Formula],
        point: Point,
    ) -> None:
        """Demand that a replay shows a difference. Raises `UndecidableError`."""
        if not self._is_seen(failure, formulas, point):
            raise _agreeing(failure.output, difference)

    def _is_seen(self, failure: Failure, formulas: tuple[Formula, Formula], point: Point) -> bool:
        claim = self.claim_of(failure.output)
        return is_seen(self.kernel, claim, failure, formulas, point, self.extents)

    def claim_of(self, output: str) -> AnyClaim:
        """Return what is claimed of an output. Raises `UndecidableError` where nothing is."""
        computes = self.kernel.computes
        claim = computes.known(output) if computes is not None else None
        if claim is None:
            raise undecided("the kernel has no specification", "give it one: Kernel.computes")
        return claim


def _unwritten(missing: Region) -> Difference:
    return Difference(missing, "missing", "what is claimed is never written")


def _agreeing(output: str, difference: Difference) -> UndecidableError:
    """Return the refusal of a difference that no value shows."""
    return undecided(
        f"{difference.words}, yet the values agree where that was tried",
        "claim it as it is computed",
        output=output,
    )
