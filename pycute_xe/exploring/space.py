"""Candidates: GEMMs as values, before any of them is built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from itertools import product
from math import prod
from typing import Any

from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
from pycute_xe.errors import InputError, with_article
from pycute_xe.kernel import Kernel, Order, gemm
from pycute_xe.numeric import as_numeric

__all__ = ["Candidate", "Space"]

Types = tuple[str, str, str, str]
Orders = tuple[Order, Order, Order]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One GEMM: tile, subgroups along M and N, stages, rows of a DPAS, types and orders.

    ``types`` are those of A, B, the accumulator and D.

    >>> print(Candidate((256, 256, 32), (8, 4), 2, 8, ("bf16", "bf16", "f32", "f32")))
    256x256x32 by 8x4 subgroups, 2 ahead, DPAS of 8 rows, bf16·bf16 → f32 → f32, row row row
    """

    tile: tuple[int, int, int]
    grid: tuple[int, int]
    stages: int
    rows: int
    types: Types
    orders: Orders = ("row", "row", "row")

    @property
    def key(self) -> tuple[object, ...]:
        """What orders candidates that cost alike."""
        return astuple(self)

    def kernel(self) -> Kernel:
        """Build the kernel. Raises `CuteError` where the parts do not fit."""
        a, b, acc, d = self.types
        m, n = self.grid
        op = XE_DPAS_TT(self.rows, acc, a, b)
        mma = workgroup_mma(op, self.tile, ((m, n, 1), (n, 1, 0)))
        return gemm(mma, *self.orders, self.stages, d_type=d)

    def __str__(self) -> str:
        tile, grid = ("x".join(map(str, part)) for part in (self.tile, self.grid))
        a, b, acc, d = self.types
        ahead = f"{self.stages} ahead, DPAS of {self.rows} rows"
        orders = " ".join(self.orders)
        return f"{tile} by {grid} subgroups, {ahead}, {a}·{b} → {acc} → {d}, {orders}"


@dataclass(frozen=True, slots=True)
class Space:
    """Every combination of tiles, subgroup grids, stages and rows of a DPAS, for types and orders.

    Raises `InputError` for an axis without a value and for a number below 1.

    >>> len(Space(tiles_m=(128, 256), grids=((4, 4), (8, 4)))), next(iter(Space())).tile
    (1536, (8, 16, 16))
    """

    tiles_m: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512)
    tiles_n: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    tiles_k: tuple[int, ...] = (16, 32, 64, 128)
    grids: tuple[tuple[int, int], ...] = tuple(product((1, 2, 4, 8, 16), (1, 2, 4, 8, 16)))
    stages: tuple[int, ...] = (1, 2, 3, 4)
    rows: tuple[int, ...] = (1, 2, 4, 8)
    types: Types = ("bf16", "bf16", "f32", "f32")
    orders: Orders = ("row", "row", "row")

    def __post_init__(self) -> None:
        """Check the axes."""
        for name, axis in self._axes.items():
            kind = type(getattr(self, name)).__name__
            if kind != "tuple":
                wrong = f"{name} is {with_article(kind)}, not a tuple"
                raise InputError("Space", {name: kind}, wrong, f"write {name}=(…,)")
            fix = "((8, 4),)" if name == "grids" else "(4,)"
            for value in axis:
                pair = name == "grids" and _is_pair(value)
                numbers: list[Any] = [*value] if pair else [value]
                if any(type(number) is not int or number < 1 for number in numbers):
                    wrong = f"{name} has {value!r}, must be positive integers"
                    raise InputError("Space", {name: value}, wrong, f"write {name}={fix}")
                if name == "grids" and not pair:
                    wrong = f"grids has {value!r}, must be pairs"
                    raise InputError("Space", {name: value}, wrong, f"write {name}={fix}")
            if not axis:
                raise InputError("Space", {name: axis}, f"{name} has no value", "give one or more")
        for kind in self.types:
            as_numeric(kind)

    @property
    def _axes(self) -> dict[str, tuple[Any, ...]]:
        names = ("tiles_m", "tiles_n", "tiles_k", "grids", "stages", "rows")
        return {name: getattr(self, name) for name in names}

    def __len__(self) -> int:
        """How many candidates there are."""
        return prod(map(len, self._axes.values()))

    def __iter__(self) -> Iterator[Candidate]:
        """Yield the candidates, none of which is built."""
        tiles = (self.tiles_m, self.tiles_n, self.tiles_k)
        for m, n, k, grid, ahead, rows in product(*tiles, self.grids, self.stages, self.rows):
            yield Candidate((m, n, k), grid, ahead, rows, self.types, self.orders)


def _is_pair(value: Any) -> bool:
    return type(value).__name__ == "tuple" and len(value) == 2
