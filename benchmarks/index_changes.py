"""What is done to the copies of random kernels: bent, elsewhere, of another operand."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any, TypeAlias

import pycute_xe as cx
from pycute_xe.algebra.compose import flat_modes, from_modes
from pycute_xe.atom import TiledCopy
from pycute_xe.kernel import (
    AtomicStore,
    Index,
    Kernel,
    Load,
    Prefetch,
    Statement,
    Store,
)

Change: TypeAlias = Callable[[random.Random, Kernel], Kernel]


def one(r: random.Random, kernel: Kernel, *kinds: type[Statement]) -> Any:
    """Return one of a kernel's statements, of some kinds; None where it has none."""
    found = [s for s in kernel.statements() if isinstance(s, kinds or Statement)]
    return r.choice(found) if found else None


def bent_copy(r: random.Random, copy: TiledCopy) -> TiledCopy:
    """Return a copy whose subgroups or messages start elsewhere."""
    threads, values = copy.layout_tv_tiled
    spans = ((threads, 16, 1), (threads, copy.num_subgroups, 16))
    lanes, subgroups = (cx.composition(x, cx.Layout(n, d)) for x, n, d in spans)
    spans = ((values, copy.atom.values, 1), (values, copy.messages, copy.atom.values))
    inner, messages = (cx.composition(x, cx.Layout(n, d)) for x, n, d in spans)
    modes = [*flat_modes(subgroups), *flat_modes(messages)]
    i, j = (r.randrange(len(modes)) for _ in range(2))
    new = list(modes)
    new[i] = (modes[i][0], r.choice([0, modes[j][1], 2 * modes[i][1]]))
    if r.random() < 0.5:
        new[j] = (modes[j][0], modes[i][1])
    count = len(flat_modes(subgroups))
    tv = cx.make_layout(
        cx.make_layout(lanes, from_modes(new[:count])),
        cx.make_layout(inner, from_modes(new[count:])),
    )
    return dataclasses.replace(copy, layout_tv_tiled=tv)


def bent(r: random.Random, kernel: Kernel) -> Kernel:
    """Bend a copy."""
    statement = one(r, kernel, Load, Store)
    changed = dataclasses.replace(statement, copy=bent_copy(r, statement.copy))
    return kernel.replace(statement, changed)


def _at(r: random.Random, kernel: Kernel, change: Callable[[list[Index], int], Index]) -> Kernel:
    """Change one index of a copy."""
    statement = one(r, kernel, Load, Store, Load, AtomicStore, Prefetch)
    at, mode = list(statement.at), r.randrange(len(statement.at))
    at[mode] = change(at, mode)
    return kernel.replace(statement, dataclasses.replace(statement, at=tuple(at)))


def indexed(r: random.Random, kernel: Kernel) -> Kernel:
    """Shift or scale an index, or take another mode's."""
    by = r.choice([1, 8, 16, -16])
    how = r.randrange(3)
    return _at(
        r,
        kernel,
        lambda at, mode: (at[mode] + by, at[mode] * 2, at[r.randrange(len(at))])[how],
    )


def far(r: random.Random, kernel: Kernel) -> Kernel:
    """Shift an index beyond what a surface may have."""
    by = r.choice([2**23, 2**24 - 1, 2**24, 2**24 + 16, 2**31, -(2**24)])
    return _at(r, kernel, lambda at, mode: at[mode] + by)


def divided(r: random.Random, kernel: Kernel) -> Kernel:
    """Take a quotient or a remainder of an index, or round it down."""
    by, how = r.choice([1, 2, 3, 8, 16]), r.randrange(3)
    return _at(
        r,
        kernel,
        lambda at, mode: (at[mode] // by, at[mode] % by, at[mode] // by * by)[how],
    )


def exchanged(r: random.Random, kernel: Kernel) -> Kernel:
    """Exchange two indices of a copy."""
    statement = one(r, kernel, Load, Store, AtomicStore)
    at = list(statement.at)
    i, j = (r.randrange(len(at)) for _ in range(2))
    at[i], at[j] = at[j], at[i]
    return kernel.replace(statement, dataclasses.replace(statement, at=tuple(at)))


def batched(r: random.Random, kernel: Kernel) -> Kernel:
    """Drop the index of a batch, take its neighbour, or the batch of another number."""
    found = [
        s
        for s in kernel.statements()
        if isinstance(s, (Load, Store, Prefetch, AtomicStore)) and len(s.at) > 2
    ]
    if not found:
        return kernel
    statement = r.choice(found)
    first, *rest = statement.at
    other = Index(r.choice([name for name, _ in kernel.grid]))
    new = r.choice([Index(), first + 1, first - 1, other, first * 2, Index(None, 1) - first])
    return kernel.replace(statement, dataclasses.replace(statement, at=(new, *rest)))


def renamed(r: random.Random, kernel: Kernel) -> Kernel:
    """Load another operand of the same modes, or into another fragment of the same size."""
    statement = one(r, kernel, Load)
    if statement is None:  # an earlier change took every load out
        return kernel
    mine = kernel.operand(statement.operand)
    others = [
        o.name
        for o in kernel.operands
        if len(o.modes) == len(mine.modes) and o.value_type == mine.value_type
    ]
    held = kernel.fragment(statement.fragment)
    rooms = [f.name for f in kernel.fragments if (f.value_type, f.slots) == _size(held)]
    changed = {"operand": r.choice(others)} if r.random() < 0.7 else {"fragment": r.choice(rooms)}
    return kernel.replace(statement, dataclasses.replace(statement, **changed))


def _size(fragment: Any) -> tuple[Any, int]:
    return fragment.value_type, fragment.slots


def added(r: random.Random, kernel: Kernel) -> Kernel:
    """Store what is added atomically, or add what is stored."""
    statement = one(r, kernel, Store, AtomicStore)
    kind = Store if isinstance(statement, AtomicStore) else AtomicStore
    fields = {f.name: getattr(statement, f.name) for f in dataclasses.fields(statement)}
    return kernel.replace(statement, kind(**fields))
