"""Floor 9: elements of an output that two subgroups store, which nothing orders.

Of equal bytes either may stay. What is only copied is equal where it is what is claimed; what
is computed is equal in real numbers, which says nothing of its last bit.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert
from pycute_xe.errors import UndecidableError
from pycute_xe.holding.follower import Write, situated
from pycute_xe.holding.following import FAR, placed
from pycute_xe.holding.nodes import Choice, Converted, Leaf, Node, Number, Picked, Scalar, Undefined
from pycute_xe.kernel import Index, Kernel, Loop, NamedWait
from pycute_xe.kernel.ir.roles import doing
from pycute_xe.numeric import Numeric
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
    """Whether a wrong element may be stored to again, later on.

    By the subgroup that stores it, or by another one behind a barrier.
    """
    stores = touches(space, failure.output)[1]
    known = {
        **space.naming.size_of,
        **{n: space.naming.variable_of[n] for n, _ in space.kernel.grid},
    }
    values = {**failure.variables, **failure.sizes}
    here = [f"{text} = {values[name]}" for name, text in known.items() if name in values]
    here += [f"u_{mode} = {index}" for mode, index in enumerate(failure.index)]
    where = " and ".join(here)
    for mine, later in product(_occurrences(space, stores, write), stores):
        if later is mine and space.only_last_trips(write):
            continue
        if not changed_before(space, later, mine).within(where).is_empty:
            return True
        behind = _barrier_between(space.kernel, mine, later)
        if behind and not changed_beside(space, later, mine).within(where).is_empty:
            return True
    return False


def _occurrences(space: Space, stores: list[Touch], write: Write) -> list[Touch]:
    """Return where a store stands that did a write: one statement may stand in several places."""
    subgroups = space.kernel.subgroups
    return [
        store
        for store in stores
        if store.statement is write.statement
        and np.array_equal(np.flatnonzero(doing(store.around, subgroups)), write.who)
    ]


def _barrier_between(kernel: Kernel, store: Touch, later: Touch) -> bool:
    """Whether a barrier may lie between two stores: behind the one, or in a loop around both."""
    loops = {id(one) for one in store.around} & {id(one) for one in later.around}
    for number, (statement, around) in enumerate(situated(kernel.body)):
        if statement.touched.meets not in ("wait", "both") and not isinstance(statement, NamedWait):
            continue
        between = store.schedule[-1] < number < later.schedule[-1]
        if between or any(isinstance(x, Loop) and id(x) in loops for x in around):
            return True
    return False


def _is_copied(node: Node, later: tuple[Numeric, ...] = ()) -> bool:
    """Whether a node is a number that was stored before, or given: no operation rounds it.

    Minus zero is not: its bytes are not those of the zero that it equals. ``later`` is what a node
    is converted to, the next type first.
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
            return _is_copied(body, (to, *later))
        case Choice(_, _, then, otherwise) | Picked(_, then, otherwise):
            return _is_copied(then, later) and _is_copied(otherwise, later)
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
