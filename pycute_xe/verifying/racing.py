"""Elements of an output that two subgroups store, which nothing orders.

Of equal bytes either may stay. What is only copied is equal where it is what is claimed; what
is computed is equal in real numbers, which says nothing of its last bit. Where a claim that
scatters names nothing, whatever is stored is right, but not two values of two subgroups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import prod

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert
from pycute_xe.errors import UndecidableError
from pycute_xe.holding.contents import Write
from pycute_xe.holding.following import FAR, placed
from pycute_xe.holding.nodes import Choice, Converted, Leaf, Node, Number, Picked, Scalar, Undefined
from pycute_xe.holding.tables import as_digits
from pycute_xe.kernel import Index, Kernel
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.numeric import Numeric
from pycute_xe.verifying.changes import Touch, elements, touches
from pycute_xe.verifying.comparison import compare
from pycute_xe.verifying.evaluation import Extents
from pycute_xe.verifying.formula import Formula, renamed, substituted
from pycute_xe.verifying.joining import Together
from pycute_xe.verifying.points import Space, View
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.scatters import Named
from pycute_xe.verifying.translation import formula_of

__all__ = ["check_one_writer", "check_races"]

OTHER = "_w"
"""What is behind the names of the other of two stores."""

# ------------------------------------------------------------ results


def check_races(
    space: Space, output: str, writes: list[Write], joined: Sequence[Together] = ()
) -> None:
    """Raise `UndecidableError` where two subgroups store results to one element of an output.

    ``joined`` are all of the writes, taken together.
    """
    stores = touches(space, output)[1]
    if _is_apart(space.kernel, stores):
        return
    real = space.naming.real
    computed = {id(w.statement) for w in writes if not _is_copied(w.node, real)}
    mine = [store for store in stores if id(store.statement) in computed]
    if not mine:
        return
    ours = _together(space, [one for one in joined if not _is_copied(one.write.node, real)], "")
    theirs = _together(space, joined, "_w")
    if ours is None or theirs is None:
        ours, theirs = _stored(space, mine, ""), _stored(space, stores, "_w")
    every = (*ours.names, *(n for n in theirs.names if n not in ours.names))
    other = " or ".join(f"{n} != {n}_w" for n in (*space.naming.grid, "s"))
    if not (ours.to(every) & theirs.to(every)).within(other).is_empty:
        raise undecided(
            f"an element of {output} is stored by two subgroups in no order, and whether both "
            "round alike is not followed",
            "give every element one writer",
            output=output,
        )


def _together(space: Space, writes: Sequence[Together], suffix: str) -> Region | None:
    """Return who stores to which element in writes that are taken together; None if unknown."""
    out: Region | None = None
    for write in writes:
        region = write.stored(space, suffix)
        if region is None:
            return None
        out = region if out is None else out | region
    return out


def _stored(space: Space, stores: list[Touch], suffix: str) -> Region:
    """Return who stores to which element, whenever it does."""
    out: Region | None = None
    for store in stores:
        region, names = elements(space, store.access, store.enclosing, suffix)
        grid = tuple(f"{name}{suffix}" for name in space.naming.grid)
        index = tuple(name for name in names if name.startswith("u_"))
        region = region.to((*space.naming.sizes, *grid, f"s{suffix}", *index))
        out = region if out is None else out | region
    return (out or Region.nothing(space.naming.sizes)).coalesced()


# ------------------------------------------------------------ what is not claimed


@dataclass(frozen=True, eq=False)
class _Stored:
    """A write, its points in names of its own, who is at each of them, and the place it stores to.

    ``writer`` are the work-group and the subgroup, ``element`` is the one of the claim that may
    name the place.
    """

    write: Write
    view: View
    names: Names
    texts: tuple[str, ...]
    writer: tuple[str, ...]
    targets: Names
    element: dict[str, str] | None

    @classmethod
    def of(cls, space: Space, write: Write, view: View, claim: Named) -> _Stored:
        """Return a write with what it takes to compare it with another one."""
        names, texts = space.written_at(write, view)
        digits = as_digits(write.subgroups[view.subgroup].reshape(view.shape))
        if digits is None:
            raise undecided("which subgroup stores an element is not a sum of digits of its place")
        targets = space.targets(write, view)
        element = claim.element(targets)
        own = tuple(name for name in names if name not in space.naming.sizes)
        writer = (*space.naming.grid, digits.text(view.names))
        return cls(write, view, own, texts, writer, targets, element)

    def beside(self) -> _Stored:
        """Return it with other names."""
        ends = {name: name + OTHER for name in self.names}

        def changed(texts: Names) -> Names:
            return tuple(renamed(text, ends) for text in texts)

        return replace(
            self, names=changed(self.names), texts=changed(self.texts), writer=changed(self.writer),
            targets=changed(self.targets),
        )  # fmt: skip

    def holds(self, space: Space, numeric: Numeric, real: set[str]) -> Formula:
        """Return what it stores."""
        ends = {name.removesuffix(OTHER): name for name in self.names}
        formula = formula_of(self.write.node, self.view, space.naming, numeric, real)
        return tuple(substituted(term, ends) for term in formula)


def check_one_writer(
    space: Space,
    claim: Scatter,
    writes: Sequence[tuple[Write, View, Region]],
    joined: Sequence[Together],
    known: tuple[Extents, set[str]],
) -> None:
    """Raise `UndecidableError` where two subgroups store two values to a place without a claim.

    What one thread stores is in order. Two threads store to one place where all that leads there is
    the same: work-groups, loops, what is looked up and the place in a tile. ``writes`` are all
    stores to the output with their points, ``joined`` the same taken together, if known.
    """
    named, (extents, real) = Named.of(space, claim), known
    every = [(one.write, one.view, one.points) for one in joined] or writes
    if all(_unnamed(space, named, *one).is_empty for one in every):
        return
    copied = [(w, view) for w, view, _ in writes if _is_copied(w.node, space.naming.real)]
    stores = [_Stored.of(space, w, view, named) for w, view in copied]
    for one, other in combinations_with_replacement(stores, 2):
        clash = _clash(space, named, one, theirs := other.beside())
        if clash.is_empty:
            continue
        mine = one.holds(space, named.numeric, real), theirs.holds(space, named.numeric, real)
        if not _agree(clash, mine, extents):
            raise undecided(
                f"a place of {claim.output} that no claim names may be stored by two subgroups in "
                "no order",
                "claim it, or give every place one writer",
                output=claim.output,
            )


def _unnamed(space: Space, claim: Named, write: Write, view: View, points: Region) -> Region:
    """Return the points of a write whose place no claim names."""
    targets = space.targets(write, view)
    return points - claim.there(points, targets, claim.element(targets))


def _clash(space: Space, claim: Named, one: _Stored, other: _Stored) -> Region:
    """Return where two threads store to one place that no claim names."""
    same = [f"({a}) = ({b})" for a, b in zip(one.targets, other.targets, strict=True)]
    apart = " or ".join(f"({a}) != ({b})" for a, b in zip(one.writer, other.writer, strict=True))
    names = (*space.naming.sizes, *one.names, *other.names)
    both = Region.where(names, _all((*one.texts, *other.texts, *same, apart)))
    return both if both.is_empty else both - claim.there(both, one.targets, one.element)


def _agree(clash: Region, values: tuple[Formula, Formula], extents: Extents) -> bool:
    """Whether two values are the same wherever stores meet."""
    try:
        return compare(clash, *values, extents) is None
    except UndecidableError:
        return False


def _all(texts: Sequence[str]) -> str:
    return " and ".join(f"({text})" for text in texts)


# ------------------------------------------------------------ copies and tiles


def _is_copied(node: Node, real: Sequence[Numeric], later: tuple[Numeric, ...] = ()) -> bool:
    """Whether a node is a number that was stored before, or given: no operation rounds it.

    Minus zero is not: its bytes are not those of the zero that it equals. Nor is what is rounded to
    a type of ``real``: one that is not rounded is taken for its equal. ``later`` is what a node is
    converted to, the next type first.
    """
    match node:
        case Number(value, numeric):
            kept = np.array([value])
            for to in (*((numeric,) if numeric else ()), *later):
                kept = convert(kept, to).astype(np.float64)
            return bool(kept[0] != 0 or not np.signbit(kept[0]))
        case Scalar() | Leaf() | Undefined():
            return True
        case Converted(to, body):
            return to not in real and _is_copied(body, real, (to, *later))
        case Choice(_, _, then, otherwise) | Picked(_, then, otherwise):
            return all(_is_copied(x, real, later) for x in (then, otherwise))
        case _:
            return False


def _is_apart(kernel: Kernel, stores: list[Touch]) -> bool:
    """Whether it is plain that work-groups store to tiles, and subgroups to parts, of their own."""
    bases: set[tuple[Index, ...]] = set()
    owned: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for store in stores:
        base, table, moves = placed(kernel, store.access, store.enclosing)
        offsets = np.array([index.offset for index in base], dtype=np.int64)
        bases.add(tuple(index - index.offset for index in base))
        rows = table[:, moves]
        subgroup, element = np.nonzero((rows != FAR).all(axis=-1))
        owned.append((rows[subgroup, element] + offsets, subgroup))
    if len(bases) != 1 or not any(subgroup.size for _, subgroup in owned):
        return False
    places = np.concatenate([place for place, _ in owned])
    low = places.min(axis=0)
    spans = (places.max(axis=0) - low + 1).tolist()
    if prod(spans) >= 1 << 62:
        return False  # too far apart to number
    keys = np.asarray(np.ravel_multi_index(tuple((places - low).T), spans))
    owners = np.concatenate([subgroup for _, subgroup in owned])
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], owners[order]
    if ((keys[1:] == keys[:-1]) & (owners[1:] != owners[:-1])).any():
        return False  # two subgroups store to one place
    separated = set[str]()
    for index, span in zip(bases.pop(), spans, strict=True):
        for name, scale in index.terms:
            if len(index.terms) > 1 or not isinstance(name, str) or abs(scale) < span:
                return False
            separated.add(name)
    return all(name in separated or n == Index(None, 1) for name, n in kernel.grid)
