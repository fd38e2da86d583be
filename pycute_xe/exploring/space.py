"""Candidates: GEMMs as values, before any of them is built."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from itertools import product
from math import prod
from typing import Any

from pycute_xe.atom import XE_DPAS_TT, TiledMma, workgroup_mma
from pycute_xe.cutlass import get_atom
from pycute_xe.errors import InputError, quoted, with_article
from pycute_xe.kernel import Kernel, Order, gemm, slm_gemm, specialised_gemm, split_k
from pycute_xe.numeric import as_numeric

__all__ = ["Candidate", "Space"]

Types = tuple[str, str, str, str]
Orders = tuple[Order, Order, Order]
Copies = tuple[str, str]
Cut = tuple[int, ...]

SCHEDULES: dict[str, Callable[..., Kernel]] = {
    "gemm": gemm,
    "slm_gemm": slm_gemm,
    "specialised_gemm": specialised_gemm,
}
"""Kinds of kernel that compute the product; another is ``split_k N``, of N parts."""
_SPLIT = re.compile(r"split_k ([1-9]\d{0,5})")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One GEMM: tile, subgroups along M and N, stages, rows of a DPAS, types and orders.

    ``types`` are those of A, B, the accumulator and D. ``copies`` are the names of copies of A and
    of B, CUTLASS's choice where empty; ``schedule`` is a kind of kernel, ``gemm``, ``slm_gemm``,
    ``specialised_gemm`` or ``split_k 4``; ``mode`` the registers of a thread, as few as hold it
    where 0; ``epilogue_tile`` cuts the epilogue, if it is not empty.

    >>> print(Candidate((256, 256, 32), (8, 4), 2, 8, ("bf16", "bf16", "f32", "f32")))
    256x256x32 by 8x4 subgroups, 2 ahead, DPAS of 8 rows, bf16·bf16 → f32 → f32, row row row
    """

    tile: tuple[int, int, int]
    grid: tuple[int, int]
    stages: int
    rows: int
    types: Types
    orders: Orders = ("row", "row", "row")
    copies: Copies = ("", "")
    schedule: str = "gemm"
    mode: int = 0
    epilogue_tile: Cut = ()

    @property
    def parts(self) -> int:
        """Work-groups that share the K of a tile."""
        match = _SPLIT.fullmatch(self.schedule)
        return int(match[1]) if match else 1

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
        given: dict[str, Any] = {} if self.is_split and d == acc else {"d_type": d}
        copies = zip(("copy_a", "copy_b"), self.copies, strict=True)
        given |= {name: copy for name, copy in copies if copy}
        if self.epilogue_tile:
            given["epilogue_tile"] = self.epilogue_tile
        return self._made(mma, *self.orders, stages=self.stages, **given)

    @property
    def is_split(self) -> bool:
        """Whether parts of K are added to D by atomics."""
        return _SPLIT.fullmatch(self.schedule) is not None

    def _made(self, mma: TiledMma, *orders: Order, **given: Any) -> Kernel:
        if self.is_split:
            return split_k(mma, self.parts, *orders, **given)
        if self.schedule not in SCHEDULES:
            wrong = f"schedule is {quoted(self.schedule)}, must be {_AXES['schedules'][1]}"
            raise InputError("kernel", {"schedule": quoted(self.schedule)}, wrong, 'use "gemm"')
        return SCHEDULES[self.schedule](mma, *orders, **given)

    def __str__(self) -> str:
        tile, grid = ("x".join(map(str, part)) for part in (self.tile, self.grid))
        a, b, acc, d = self.types
        ahead = f"{self.stages} ahead, DPAS of {self.rows} rows"
        orders = " ".join(self.orders)
        copies = (f"copy of {n} {x}" for n, x in zip("AB", self.copies, strict=True) if x)
        parts = (
            f"{tile} by {grid} subgroups", ahead, f"{a}·{b} → {acc} → {d}", orders, *copies,
            self.schedule if self.schedule != "gemm" else "",
            f"{self.mode} registers" if self.mode else "",
            f"epilogue tile {'x'.join(map(str, self.epilogue_tile))}" if self.epilogue_tile else "",
        )  # fmt: skip
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Space:
    """Every combination of tiles, subgroup grids, stages and rows of a DPAS, for types and orders.

    Further axes are ``copies``, pairs of names of copies of A and B, ``schedules``, ``modes`` and
    ``epilogue_tiles``, each with one value unless told; `Candidate` says what the values mean.
    Raises `InputError` for an axis without a value, a number below 1, and a schedule or a copy of
    an unknown name.

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
    copies: tuple[Copies, ...] = (("", ""),)
    schedules: tuple[str, ...] = ("gemm",)
    modes: tuple[int, ...] = (0,)
    epilogue_tiles: tuple[Cut, ...] = ((),)

    def __post_init__(self) -> None:
        """Check the axes, the types and the orders."""
        for name in _AXES:
            _demand_axis(name, getattr(self, name))
        for name, count in (("types", 4), ("orders", 3)):
            given: Any = getattr(self, name)
            if type(given).__name__ != "tuple" or len(given) != count:
                wrong = f"{name} is {quoted(given)}, must be {count} {name}"
                fix = f"write {name}={Space.__dataclass_fields__[name].default}"
                raise InputError("Space", {name: quoted(given)}, wrong, fix)
        for kind in self.types:
            as_numeric(kind)
        if other := next((one for one in self.orders if one not in ("row", "col")), ""):
            wrong = f"orders has {quoted(other)}, must be row or col"
            raise InputError("Space", {"orders": quoted(other)}, wrong, 'write "row" or "col"')
        for name in filter(None, sum(self.copies, ())):
            get_atom(name)

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The values of each axis, in the order in which they vary."""
        return {name: getattr(self, name) for name in _AXES}

    def __len__(self) -> int:
        """How many candidates there are."""
        return prod(map(len, self.axes.values()))

    def __iter__(self) -> Iterator[Candidate]:
        """Yield the candidates, none of which is built."""
        for m, n, k, grid, ahead, rows, *others in product(*self.axes.values()):
            yield Candidate((m, n, k), grid, ahead, rows, self.types, self.orders, *others)


# ------------------------------------------------------------ axes


def _demand_axis(name: str, axis: Any) -> None:
    """Refuse an axis without values, with one twice, and with one that it does not take."""
    is_value, must, fix = _AXES[name]
    kind = type(axis).__name__
    if kind != "tuple":
        wrong = f"{name} is {with_article(kind)}, not a tuple"
        raise InputError("Space", {name: kind}, wrong, f"write {name}=(…,)")
    for at, value in enumerate(axis):
        given = {name: quoted(value)}
        if not is_value(value):
            wrong = f"{name} has {quoted(value)}, must be {must}"
            raise InputError("Space", given, wrong, f"write {name}={fix}")
        if value in axis[:at]:
            wrong = f"{name} has {quoted(value)} twice"
            raise InputError("Space", given, wrong, "give each value once")
    if not axis:
        raise InputError("Space", {name: axis}, f"{name} has no value", "give one or more")


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_pair(value: Any) -> bool:
    return type(value).__name__ == "tuple" and len(value) == 2 and all(map(_is_count, value))


def _are_copies(value: Any) -> bool:
    is_pair = type(value).__name__ == "tuple" and len(value) == 2
    return is_pair and all(isinstance(name, str) for name in value)


def _is_schedule(value: Any) -> bool:
    return isinstance(value, str) and (value in SCHEDULES or _SPLIT.fullmatch(value) is not None)


_COUNT = (_is_count, "a positive integer", "(4,)")
_AXES: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "tiles_m": _COUNT,
    "tiles_n": _COUNT,
    "tiles_k": _COUNT,
    "grids": (_is_pair, "a pair of positive integers", "((8, 4),)"),
    "stages": _COUNT,
    "rows": _COUNT,
    "copies": (_are_copies, "a pair of names, or of empty texts", '(("", ""),)'),
    "schedules": (_is_schedule, f"one of {', '.join(SCHEDULES)}, split_k 4", '("gemm",)'),
    "modes": (lambda value: value == 0 or _is_count(value), "0 or registers", "(0, 128, 256)"),
    "epilogue_tiles": (
        lambda value: value == () or _is_pair(value), "() or rows and columns", "((), (8, 16))",
    ),
}  # fmt: skip
"""The axes of a space, in the order of a candidate's fields: what is a value, words, a way out."""
