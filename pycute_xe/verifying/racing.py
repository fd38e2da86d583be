"""Floor 9: elements of an output that two subgroups store, which nothing orders.

Of equal bytes either may stay. What is only copied is equal where it is what is claimed; what
is computed is equal in real numbers, which says nothing of its last bit.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import prod

import numpy as np
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.holding.follower import Write
from pycute_xe.holding.following import FAR, placed
from pycute_xe.holding.nodes import Choice, Converted, Leaf, Node, Number, Picked, Scalar, Undefined
from pycute_xe.kernel import Index, Kernel
from pycute_xe.verifying.changing import Touch, changed_before, changed_beside, touches
from pycute_xe.verifying.failures import Failure
from pycute_xe.verifying.points import Space

__all__ = ["check_races", "may_be_covered"]


def check_races(space: Space, output: str, writes: list[Write]) -> None:
    """Raise `UndecidableError` where two subgroups store results to one element of an output."""
    stores = touches(space, output)[1]
    if _is_apart(space.kernel, stores):
        return
    computed = {id(w.statement) for w in writes if not _is_copied(w.node)}
    for one, other in combinations_with_replacement(stores, 2):
        if computed.isdisjoint({id(one.statement), id(other.statement)}):
            continue
        if not changed_beside(space, one, other).is_empty:
            raise UndecidableError(
                "verify",
                {"output": output},
                f"an element of {output} is stored by two subgroups in no order, and whether both "
                "round alike is not followed",
                "give every element one writer",
            )


def may_be_covered(space: Space, write: Write, failure: Failure) -> bool:
    """Whether the subgroup that stores a wrong element may store to it again, later on."""
    stores = touches(space, failure.output)[1]
    mine = next(store for store in stores if store.statement is write.statement)
    known = {
        **space.naming.size_of,
        **{n: space.naming.variable_of[n] for n, _ in space.kernel.grid},
    }
    values = {**failure.variables, **failure.sizes}
    here = [f"{text} = {values[name]}" for name, text in known.items() if name in values]
    here += [f"u_{mode} = {index}" for mode, index in enumerate(failure.index)]
    for later in stores:
        if later is mine and space.only_last_trips(write):
            continue
        again = changed_before(space, later, mine)
        if not again.within(" and ".join(here)).is_empty:
            return True
    return False


def _is_copied(node: Node) -> bool:
    """Whether a node is a number that was stored before, or given: no operation rounds it."""
    match node:
        case Number() | Scalar() | Leaf() | Undefined():
            return True
        case Converted(_, body):
            return _is_copied(body)
        case Choice(_, _, then, otherwise) | Picked(_, then, otherwise):
            return _is_copied(then) and _is_copied(otherwise)
        case _:
            return False


def _is_apart(kernel: Kernel, stores: list[Touch]) -> bool:
    """Whether it is plain that work-groups store to tiles, and subgroups to parts, of their own."""
    bases: set[tuple[Index, ...]] = set()
    owned: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for store in stores:
        base, table, moves = placed(kernel, store.statement, store.around)
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
