"""A plan: what each work-group of a grid computes, piece by piece.

A tile of an output needs every tile of K once. Where several work-groups share a tile, each has a
piece of its K, and a counter of the tile tells how many tiles of K have been added so far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal, TypeAlias

from pycute_xe.errors import KernelError, plural
from pycute_xe.signatures import checked_fields, typed
from pycute_xe.typing import glance, shown

__all__ = ["Counts", "Fixup", "Piece", "Plan", "fixed_up", "tile_counts", "FIELDS", "plan_tables"]

Counts: TypeAlias = tuple[int, int, int]
"""How many tiles a problem has along M, N and K."""

Fixup: TypeAlias = Literal["ordered", "unordered", "first", "atomic"]
"""How pieces of a tile are added up; see `fixed_up`."""


@checked_fields
@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a tile that one work-group computes: tiles ``start`` to ``stop - 1`` of K.

    ``group`` numbers the problem, or the matrix of a batch. Before it adds to the tile, the
    work-group waits until the tile's counter is ``needs`` or more; afterwards it adds ``gives``.
    ``turn`` is the place of the piece among the ``parts`` of its tile; the last one has the
    epilogue.
    """

    m: int
    n: int
    group: int
    start: int
    stop: int
    needs: int = 0
    gives: int = 0
    turn: int = 0
    parts: int = 1

    def __post_init__(self) -> None:
        """Check what others rely on: counters that only grow."""
        wrong, fix = "", "leave it out"
        if self.needs < 0 or self.gives < 0:
            wrong = f"it needs {self.needs} and gives {self.gives}; counters only grow"
        elif not 0 <= self.turn < self.parts:
            wrong, fix = f"turn {self.turn} of {self.parts} parts", "number parts from 0"
        if wrong:
            raise KernelError("Piece", {"tile": self.tile}, wrong, fix)

    @property
    def adds(self) -> int:
        """What the counter grows by behind it: nothing behind the last piece."""
        return self.gives if self.turn < self.parts - 1 else 0

    @property
    def tile(self) -> tuple[int, int, int]:
        """The tile: group, m, n."""
        return self.group, self.m, self.n

    @property
    def role(self) -> str:
        """What it is in a fix-up: whole, first, middle or last."""
        if self.parts == 1:
            return "whole"
        return "first" if not self.turn else "last" if self.turn == self.parts - 1 else "middle"

    def __str__(self) -> str:
        """The tile and the range of K."""
        where = f"({self.m}, {self.n})" + (f" of group {self.group}" if self.group else "")
        return f"tile {where}, k {self.start} to {self.stop - 1}"


@checked_fields
@dataclass(frozen=True)
class Plan:
    """What each unit, a work-group, does in turn, for problems of known counts of tiles.

    ``units[u]`` are the pieces of unit ``u`` in their order, ``groups`` the counts of each problem.
    Whether they are the right ones `covers` tells.
    """

    name: str
    groups: tuple[Counts, ...]
    units: tuple[tuple[Piece, ...], ...]
    fixup: Fixup = "ordered"

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The kind and the first line of the text."""
        return glance(self)

    @property
    def pieces(self) -> int:
        """How many pieces there are."""
        return sum(map(len, self.units))

    @property
    def work(self) -> int:
        """How many tiles of K are computed in all."""
        return sum(p.stop - p.start for unit in self.units for p in unit)

    def __str__(self) -> str:
        """Name, problem and size."""
        tiles = sum(m * n for m, n, _ in self.groups)
        pieces, groups = plural(self.pieces, "piece"), plural(len(self.units), "work-group")
        return f"{self.name}: {plural(tiles, 'tile')} in {pieces} on {groups}"


@typed
def tile_counts(m: int, n: int, k: int, tile: tuple[int, int, int]) -> Counts:
    """Return how many tiles cover each extent. Raises `KernelError` for sizes below 1.

    >>> tile_counts(300, 256, 4096, (256, 256, 32))
    (2, 1, 128)
    """
    if any(type(x) is not int for x in (m, n, k, *tile)) or min(m, n, k, *tile) < 1:
        raise KernelError(
            "tile_counts",
            {"sizes": (m, n, k), "tile": tile},
            "sizes must be integers of 1 or more",
            "give positive sizes",
        )
    tm, tn, tk = tile
    return -(-m // tm), -(-n // tn), -(-k // tk)


def fixed_up(pieces: list[Piece], fixup: Fixup) -> list[Piece]:
    """Return the pieces of one tile with what each waits for, in the order of their K.

    "ordered": each waits for all before it, so that sums are the same in every run. "unordered":
    the first stores, others add in any order, the last waits for all. "first": as "unordered",
    but the last waits for the first alone. "atomic": no piece waits.

    >>> parts = [Piece(0, 0, 0, 0, 4), Piece(0, 0, 0, 4, 8), Piece(0, 0, 0, 8, 10)]
    >>> [(p.needs, p.gives) for p in fixed_up(parts, "ordered")]
    [(0, 4), (4, 4), (8, 0)]
    >>> [(p.needs, p.gives) for p in fixed_up(parts, "first")]
    [(0, 4), (1, 4), (1, 0)]
    """
    order = sorted(pieces, key=lambda p: (p.start, p.stop))
    out: list[Piece] = []
    for turn, piece in enumerate(order):
        last, alone = turn == len(order) - 1, len(order) == 1
        needs = 0
        if turn and fixup != "atomic":
            behind_all = fixup == "ordered" or (last and fixup == "unordered")
            needs = piece.start if behind_all else 1
        # closed: atomic pieces hand nothing on, all others do
        gives = 0 if last or alone or fixup == "atomic" else piece.stop - piece.start
        out.append(replace(piece, needs=needs, gives=gives, turn=turn, parts=len(order)))
    return out


# ------------------------------------------------------------ tables
# A plan as the tables that a kernel looks its work up in.

FIELDS = ("m", "n", "group", "start", "stop", "needs", "gives", "first", "last")
"""What a row of ``work`` says of a piece. ``first`` and ``last`` are 1 or 0."""


@typed
def plan_tables(plan: Plan, stacked: bool = False) -> dict[str, Any]:
    """Return the operands, arrays, that make `pycute_xe.kernel.scheduled` follow a plan.

    ``work[u, i]`` has the `FIELDS` of piece i of unit u, ``count[u]`` says how many it has.
    ``stacked`` counts rows of tiles through all groups, as they lie one after the other.
    Raises `KernelError` for a plan without pieces, with numbers beyond 32 bits or groups that it
    does not have, and for one whose pieces add by atomics alone.

    >>> from pycute_xe.kernel.schedules import StreamK
    >>> tables = plan_tables(StreamK(4, least=4).plan((3, 1, 16)))
    >>> {name: table.shape for name, table in tables.items()}
    {'work': (4, 2, 9), 'count': (4,)}
    """
    import numpy as np

    _check(plan)
    most = max(map(len, plan.units), default=0)
    if not most:
        raise KernelError("plan_tables", {"plan": plan}, "the plan has no pieces", "give tiles")
    above = [0, *accumulate(m for m, _, _ in plan.groups)] if stacked else [0] * len(plan.groups)
    work = np.zeros((len(plan.units), most, len(FIELDS)), np.int32)
    for unit, pieces in enumerate(plan.units):
        for i, p in enumerate(pieces):
            ends = int(p.turn == 0), int(p.turn == p.parts - 1)
            m = p.m + above[p.group]
            work[unit, i] = (m, p.n, p.group, p.start, p.stop, p.needs, p.gives, *ends)
    count = np.array([len(pieces) for pieces in plan.units], np.int32)
    return {"work": work, "count": count}


def _check(plan: Plan) -> None:
    """Refuse what no table holds, and what the kernel does otherwise."""
    for piece in (piece for unit in plan.units for piece in unit):
        numbers = (piece.m, piece.n, piece.start, piece.stop, piece.needs, piece.gives)
        wrong, fix = "", "ask covers(plan)"
        if not 0 <= piece.group < len(plan.groups):
            wrong = f"{piece} is of group {piece.group}, the plan has {len(plan.groups)}"
        elif min(numbers) < 0 or max(numbers) >= 1 << 31:
            wrong = f"{piece} needs numbers beyond 32 bits, or below 0"
        elif plan.fixup == "atomic" and piece.parts > 1:
            wrong = "its pieces add to the output by atomics, which no table tells a kernel"
            fix = 'use kernel.split_k(mma, 4), or fixup="unordered"'
        if wrong:
            raise KernelError("plan_tables", {"plan": plan}, wrong, fix)
