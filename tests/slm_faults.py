"""Faults of GEMMs through shared memory: one slip each in a kernel that is right."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

from broken_kernels import tiled_mma

import pycute_xe as cx
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Fence,
    Index,
    Kernel,
    Load,
    Loop,
    SharedLoad,
    SharedStore,
    Statement,
)
from pycute_xe.layout import Layout

Body = tuple[Statement, ...]
ARRIVE, WAIT, FENCE = BarrierArrive(), BarrierWait(), Fence()
K = Index("k")
SWIZZLE = cx.Swizzle(1, 3, 1)


@cache
def right(stages: int, swizzled: bool = False) -> Kernel:
    mma = tiled_mma((16, 32, 16), (1, 2))
    swizzle = SWIZZLE if swizzled else None
    return cx.kernel.slm_gemm(mma, stages=stages, swizzle_a=swizzle)


def edited(stages: int, edit: Callable[[Body], Body], swizzled: bool = False) -> Kernel:
    """The kernel with another body of its loop."""
    kernel = right(stages, swizzled)
    loop = kernel.loop("k")
    return kernel.replace(loop, dataclasses.replace(loop, body=edit(loop.body)))


def without(*kinds: type) -> Callable[[Body], Body]:
    return lambda body: tuple(s for s in body if not isinstance(s, kinds))


def moved(what: Callable[[Statement], bool], to: int) -> Callable[[Body], Body]:
    """Move statements to a place among those that stay."""

    def edit(body: Body) -> Body:
        taken = tuple(s for s in body if what(s))
        rest = tuple(s for s in body if not what(s))
        at = to % (len(rest) + 1)
        return (*rest[:at], *taken, *rest[at:])

    return edit


def is_a(kind: type, array: str = "") -> Callable[[Statement], bool]:
    return lambda s: isinstance(s, kind) and array in ("", getattr(s, "array", ""))


def at(kind: type, array: str, place: Index) -> Callable[[Body], Body]:
    """Let an access of the body begin elsewhere."""

    def one(s: Any) -> Statement:
        same = is_a(kind, array)(s)
        return dataclasses.replace(s, at=place) if same else s

    return lambda body: tuple(map(one, body))


def both(*edits: Callable[[Body], Body]) -> Callable[[Body], Body]:
    def edit(body: Body) -> Body:
        for one in edits:
            body = one(body)
        return body

    return edit


def loaded(name: str, tiles: int) -> Callable[[Body], Body]:
    """Let a load of the body bring a tile so many further."""

    def one(s: Statement) -> Statement:
        if not isinstance(s, Load) or s.operand != name:
            return s
        along = 1 if name == "A" else 0
        place = tuple(x + 16 * tiles if i == along else x for i, x in enumerate(s.at))
        return dataclasses.replace(s, at=place)

    return lambda body: tuple(map(one, body))


def placed(kind: type, array: str, change: Callable[[Layout], object]) -> Callable[[Body], Body]:
    """Let an access of the body use other places."""

    def one(s: Any) -> Statement:
        if not is_a(kind, array)(s):
            return s
        plain = s.places if isinstance(s.places, Layout) else s.places.layout
        return dataclasses.replace(s, places=change(plain))

    return lambda body: tuple(map(one, body))


def first(stages: int, edit: Callable[[Body], Body]) -> Kernel:
    """The kernel with other statements before its loop."""
    kernel = right(stages)
    number = next(i for i, s in enumerate(kernel.body) if isinstance(s, Loop))
    body = (*edit(kernel.body[:number]), *kernel.body[number:])
    return dataclasses.replace(kernel, body=body)


def dropped(number: int, array: str) -> Callable[[Body], Body]:
    """Leave out one store to an array before the loop."""

    def edit(body: Body) -> Body:
        stores = [s for s in body if is_a(SharedStore, array)(s)]
        return tuple(s for s in body if s is not stores[number])

    return edit


def restaged(number: int, array: str, stage: int, size: int) -> Callable[[Body], Body]:
    def edit(body: Body) -> Body:
        old: Any = [s for s in body if is_a(SharedStore, array)(s)][number]
        new = dataclasses.replace(old, at=Index(None, stage * size))
        return tuple(new if s is old else s for s in body)

    return edit


def shortened(stages: int) -> Kernel:
    kernel = right(stages)
    arrays = tuple(dataclasses.replace(a, elements=a.elements // stages * 2) for a in kernel.shared)
    return dataclasses.replace(kernel, shared=arrays)


def is_meeting(s: Statement) -> bool:
    return isinstance(s, (Fence, BarrierArrive, BarrierWait))


def in_front(stages: int) -> Kernel:
    """The barrier stands before the loop, once."""
    kernel = edited(stages, without(Fence, BarrierArrive, BarrierWait))
    loop = kernel.loop("k")
    return kernel.replace(loop, (FENCE, ARRIVE, WAIT, loop))


def halves_apart(body: Body) -> Body:
    rest = without(Fence, BarrierArrive, BarrierWait)(body)
    return (FENCE, ARRIVE, *rest, WAIT)


A, B = 16 * 16, 32 * 16  # elements of a tile
S, L = SharedStore, SharedLoad


def _later(n: int, stages: int, size: int) -> Index:
    return (K + n) % stages * size


FAULTS: dict[str, Callable[[], Kernel]] = {
    # One stage: a barrier before the stores, one with a fence behind them.
    "1: no barrier before the stores": lambda: edited(1, lambda b: (*b[:4], *b[6:])),
    "1: no barrier behind the stores": lambda: edited(1, lambda b: (*b[:8], *b[11:])),
    "1: no fence": lambda: edited(1, without(Fence)),
    "1: fence between the halves": lambda: edited(1, moved(is_a(Fence), 9)),
    "1: fence behind the barrier": lambda: edited(1, moved(is_a(Fence), 10)),
    "1: fence before the stores": lambda: edited(1, moved(is_a(Fence), 6)),
    "1: A is stored behind the barrier": lambda: edited(1, moved(is_a(S, "sA"), 10)),
    "1: B is stored behind the barrier": lambda: edited(1, moved(is_a(S, "sB"), 10)),
    "1: A is taken before the barrier": lambda: edited(1, moved(is_a(L, "sA"), 8)),
    "1: B is taken before the barrier": lambda: edited(1, moved(is_a(L, "sB"), 8)),
    "1: A is stored before the first barrier": lambda: edited(1, moved(is_a(S, "sA"), 4)),
    "1: B is stored before the first barrier": lambda: edited(1, moved(is_a(S, "sB"), 4)),
    "1: no barrier at all": lambda: edited(1, without(Fence, BarrierArrive, BarrierWait)),
    # Two stages: one barrier a trip.
    "2: no barrier": lambda: edited(2, without(Fence, BarrierArrive, BarrierWait)),
    "2: no fence": lambda: edited(2, without(Fence)),
    "2: fence behind the barrier": lambda: edited(2, moved(is_a(Fence), 2)),
    "2: fence between the halves": lambda: edited(2, moved(is_a(Fence), 1)),
    "2: the barrier stands before the loop": lambda: in_front(2),
    "2: one stage too few": lambda: edited(
        2,
        both(
            *(at(kind, array, Index()) for kind in (S, L) for array in ("sA", "sB")),
        ),
    ),
    "2: A is stored where it is read": lambda: edited(2, at(S, "sA", _later(0, 2, A))),
    "2: B is stored where it is read": lambda: edited(2, at(S, "sB", _later(0, 2, B))),
    "2: A is taken of the other parity": lambda: edited(2, at(L, "sA", _later(1, 2, A))),
    "2: B is taken of the other parity": lambda: edited(2, at(L, "sB", _later(1, 2, B))),
    "2: the stores come before the barrier": lambda: edited(2, moved(is_meeting, -2)),
    "2: A is stored before the barrier": lambda: edited(
        2,
        both(
            moved(lambda s: isinstance(s, Load) or type(s).__name__ == "Reorder", 0),
            moved(is_a(S, "sA"), 4),
        ),
    ),
    "2: both are taken before the barrier": lambda: edited(2, moved(is_a(L), 0)),
    "2: the halves lie around the trip": lambda: edited(2, halves_apart),
    "2: the first A is not stored": lambda: first(2, dropped(0, "sA")),
    "2: the first B is not stored": lambda: first(2, dropped(0, "sB")),
    "2: the first A is in the other stage": lambda: first(2, restaged(0, "sA", 1, A)),
    "2: the tile of A is not the next one": lambda: edited(2, loaded("A", -1)),
    "2: the tile of B is the one after the next": lambda: edited(2, loaded("B", 1)),
    # Three stages.
    "3: no barrier": lambda: edited(3, without(Fence, BarrierArrive, BarrierWait)),
    "3: no fence": lambda: edited(3, without(Fence)),
    "3: one stage too few": lambda: edited(
        3,
        both(
            *(at(S, a, _later(2, 2, n)) for a, n in (("sA", A), ("sB", B))),
            *(at(L, a, _later(0, 2, n)) for a, n in (("sA", A), ("sB", B))),
        ),
    ),
    "3: A is stored a stage early": lambda: edited(3, at(S, "sA", _later(1, 3, A))),
    "3: A is taken by two stages": lambda: edited(3, at(L, "sA", _later(0, 2, A))),
    "3: the second B is not stored": lambda: first(3, dropped(1, "sB")),
    "3: the second A is in the first stage": lambda: first(3, restaged(1, "sA", 0, A)),
    "3: the array has two stages": lambda: shortened(3),
    "3: the tile of A comes a trip late": lambda: edited(3, loaded("A", -1)),
}

# Where elements lie by an XOR is not a sum of digits, of which proofs are made.
UNPROVED: dict[str, Callable[[], Kernel]] = {
    "2: the swizzle is missing where A is stored": lambda: edited(
        2, placed(S, "sA", lambda p: p), swizzled=True
    ),
    "2: the swizzle is missing where A is taken": lambda: edited(
        2, placed(L, "sA", lambda p: p), swizzled=True
    ),
    "2: A is taken by another swizzle": lambda: edited(
        2, placed(L, "sA", lambda p: cx.ComposedLayout(cx.Swizzle(1, 3, 2), 0, p)), swizzled=True
    ),
}
