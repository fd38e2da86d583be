"""The finite maps inside a work-group, as NumPy tables and as sums of digits.

A table says who holds which part of a tile. Registers are counted by element: ``e`` is the ``e``-th
element of a fragment's bytes. Nothing here depends on problem sizes; where a tile lies is said by a
statement's indices. A map over several variables, each from 0 up, is separable if it is a sum of
functions of one variable; each of those is written in mixed-radix digits where it can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.bulk import table
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import MachineError
from pycute_xe.holding.nodes import undecided
from pycute_xe.holding.patience import charge
from pycute_xe.kernel import Index
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import SUBGROUP_INDEX
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.layout import Layout

__all__ = [
    "Copied",
    "Multiplied",
    "anchors",
    "beside",
    "by_subgroup",
    "copied",
    "demand_whole_registers",
    "moved",
    "multiplied",
    "Digit",
    "DigitMap",
    "as_digits",
]


@lru_cache(maxsize=256)
def anchors(copy: TiledCopy) -> Ints:
    """Return the tile coordinate of each message's first value: (subgroups, messages, modes)."""
    flat = np.atleast_2d(table(copy.anchors))
    if flat.shape[0] == 1 and flat.shape[1] == copy.num_subgroups * copy.messages:
        flat = flat.T
    rank = len(copy.tiler_mn)
    padded = np.zeros((copy.num_subgroups * copy.messages, rank), dtype=np.int64)
    padded[:, : flat.shape[1]] = flat
    # The table runs subgroups first.
    return padded.reshape(copy.messages, copy.num_subgroups, rank).transpose(1, 0, 2)


@dataclass(frozen=True, eq=False)
class Copied:
    """What the messages of a tiled copy move.

    ``places`` is (subgroup, element, mode of the tile): the coordinate in the tile of what a
    register element gets from, or gives to, memory. ``moves`` tells which elements a message
    touches: padding of a load is written with zeros (``moves`` and a place of -1 in ``padded``).
    """

    places: Ints
    moves: NDArray[np.bool_]
    padded: NDArray[np.bool_]


@lru_cache(maxsize=256)
def copied(copy: TiledCopy) -> Copied:
    """Return the register elements of a tiled copy and where in the tile they belong.

    Later messages write over the padding of earlier ones, and the reverse. Raises `MachineError`
    where a block starts between two elements of its message.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> held = copied(cx.make_block_2d_copy_A(mma, ("ld", 1)))
    >>> held.places.shape, held.places[4, 17].tolist()
    ((32, 1024, 2), [33, 1])
    """
    starts, atom = anchors(copy), copy.block
    along = starts[..., copy.x_mode]
    if (along * copy.value_type.bits % copy.op.bits).any():
        raise MachineError(
            "copy",
            {"op": copy.op},
            f"a block starts between two {copy.op.bits}-bit elements",
            "align the blocks",
        )
    x, y = np.meshgrid(np.arange(atom.width), np.arange(atom.height), indexing="ij")
    inside = np.zeros((atom.width * atom.height, starts.shape[2]), dtype=np.int64)
    inside[:, copy.x_mode] = x.reshape(-1, order="F")
    inside[:, copy.y_mode] = y.reshape(-1, order="F")
    where = table(atom.register_tv.position)
    step, image = atom.values * 16, atom.register_tv.elements
    room = (copy.messages - 1) * step + max(step, image)
    places = np.zeros((copy.num_subgroups, room, starts.shape[2]), dtype=np.int64)
    moves, padded = np.zeros(room, dtype=bool), np.zeros(room, dtype=bool)
    for j in range(copy.messages):
        if not copy.op.is_store:  # padding is written too, over whatever lay there
            padded[j * step : j * step + image] = True
            moves[j * step : j * step + image] = True
        padded[where + j * step] = False
        moves[where + j * step] = True
        places[:, where + j * step] = starts[:, j, None, :] + inside[None]
    return Copied(places, moves, padded)


def demand_whole_registers(copy: TiledCopy) -> None:
    """Refuse a copy of which a message would start inside a register."""
    step = copy.atom.values * 16 * copy.value_type.bits // 8
    if copy.messages > 1 and step % grf_bytes():
        raise MachineError(
            "copy",
            {"copy": copy},
            f"a message has {step} bytes, and the next starts inside a register",
            f"use messages of a multiple of {grf_bytes()} bytes",
        )


@lru_cache(maxsize=256)
def moved(slots: Layout | ComposedLayout) -> Ints:
    """Return the destination element of each source element of a reorder.

    >>> moved(Layout((2, 2), (2, 1))).tolist()
    [0, 2, 1, 3]
    """
    return table(slots)


def beside(access: MemoryAccess) -> list[tuple[int, list[int]]]:
    """Return the modes of an operand that its surface does not have, and how far a copy goes there.

    No message clips along them: an index there chooses a surface.
    """
    copy = access.copy
    on = {access.modes[axis] for axis in (copy.x_mode, copy.y_mode)}
    along = {mode: axis for axis, mode in enumerate(access.modes)}
    starts = anchors(copy)
    out: list[tuple[int, list[int]]] = []
    for mode in range(len(access.at)):
        if mode not in on:
            axis = along.get(mode)
            ahead = [0] if axis is None else np.unique(starts[..., axis]).tolist()
            out.append((mode, ahead))
    return out


@dataclass(frozen=True, eq=False)
class Multiplied:
    """What the instructions of a tiled MMA read and write, the same for every subgroup.

    A subgroup multiplies a matrix of ``rows`` x ``depth`` by one of ``columns`` x ``depth``.
    ``a`` is (row, k) → register element, ``b`` (column, k), ``c`` (row, column). ``step`` is how
    many k one instruction sums; instructions go through k in steps.
    """

    a: Ints
    b: Ints
    c: Ints
    step: int


@lru_cache(maxsize=64)
def multiplied(mma: TiledMma) -> Multiplied:
    """Return the register elements that the instructions of a tiled MMA take, by row, column, k.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> tables = multiplied(mma)
    >>> tables.a.shape, tables.b.shape, tables.c.shape, tables.step
    ((32, 32), (64, 32), (32, 64), 16)
    """
    op = mma.atom.op
    shapes = {"A": (op.M, op.K), "B": (op.N, op.K), "C": (op.M, op.N)}
    layouts = {"A": op.position_A, "B": op.position_B, "C": op.position_C}
    elements: dict[str, Ints] = {}
    for role, (rows, columns) in shapes.items():
        count_i, count_j = mma.repetitions(role)
        inside = table(layouts[role]).reshape(columns, rows).T
        first = np.arange(count_i * count_j, dtype=np.int64).reshape(count_j, count_i).T
        whole = first[:, None, :, None] * (rows * columns) + inside[None, :, None, :]
        elements[role] = whole.reshape(count_i * rows, count_j * columns)
    return Multiplied(elements["A"], elements["B"], elements["C"], op.K)


def by_subgroup(index: Index, subgroups: int) -> tuple[Index, Ints]:
    """Split an index into what all subgroups share and what each adds."""
    shared, own = Index(None, index.offset), Index()
    for atom, scale in index.terms:
        part = Index.of({atom: scale}, 0)
        if SUBGROUP_INDEX not in part.names:
            shared = shared + part
        elif part.names == frozenset({SUBGROUP_INDEX}):
            own = own + part
        else:
            raise undecided(f"{part} mixes a subgroup's number with other variables")
    numbers = [own.at({SUBGROUP_INDEX: s}) for s in range(subgroups)]
    return shared, np.array(numbers, dtype=np.int64)


AXIS, NUMBER = 80, 0.01
"""Units for an axis of a table that is taken apart, and for a number of it."""


@dataclass(frozen=True, slots=True)
class Digit:
    """``weight * (floor(variable / divisor) mod extent)``; no ``mod`` where ``last``."""

    variable: int
    divisor: int
    extent: int
    weight: int
    last: bool

    def text(self, name: str) -> str:
        """Return the digit as a formula of a name.

        >>> Digit(0, 16, 4, 8, False).text("x")
        '8*(floor(x/16) mod 4)'
        """
        inner = name if self.divisor == 1 else f"floor({name}/{self.divisor})"
        if not self.last:
            inner = f"({inner} mod {self.extent})"
        return inner if self.weight == 1 else f"{self.weight}*{inner}"

    def values(self, count: int) -> Ints:
        """Return the digit for every value of its variable."""
        return self.weight * (np.arange(count) // self.divisor % self.extent)


@dataclass(frozen=True, slots=True)
class DigitMap:
    """A constant plus digits of several variables: the map as NumPy table, text and set alike.

    >>> from numpy import arange
    >>> found = as_digits(arange(8)[:, None] * 16 + arange(4) // 2)
    >>> found.text(("r", "c")), found.table((8, 4))[3].tolist()
    ('16*r + floor(c/2)', [48, 48, 49, 49])
    """

    constant: int
    digits: tuple[Digit, ...]

    def text(self, names: tuple[str, ...]) -> str:
        """Return the map as a formula of names, which isl reads too."""
        parts = [digit.text(names[digit.variable]) for digit in self.digits]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)

    def table(self, shape: tuple[int, ...]) -> Ints:
        """Return the map as a table over a box."""
        out = np.full(shape, self.constant, dtype=np.int64)
        for digit in self.digits:
            axis = [1] * len(shape)
            axis[digit.variable] = shape[digit.variable]
            out += digit.values(shape[digit.variable]).reshape(axis)
        return out


def as_digits(table: Ints) -> DigitMap | None:
    """Return a table as digits of its axes, None where it is not a sum of such.

    Law: ``as_digits(t).table(t.shape) == t``.
    """
    charge(AXIS * table.ndim + NUMBER * table.size)
    corner = (0,) * table.ndim
    constant = int(table[corner])
    digits: list[Digit] = []
    total = np.full((1,) * table.ndim, constant, dtype=np.int64)
    for axis, count in enumerate(table.shape):
        line = np.moveaxis(table, axis, 0)[(slice(None), *corner[1:])] - constant
        total = total + line.reshape([count if i == axis else 1 for i in range(table.ndim)])
        parts = _of_one(line)
        if parts is None:
            return None
        digits += [
            Digit(axis, divisor, extent, weight, divisor * extent == count)
            for divisor, extent, weight in parts
            if weight
        ]
    return DigitMap(constant, tuple(digits)) if np.array_equal(total, table) else None


def _of_one(line: Ints) -> list[tuple[int, int, int]] | None:
    """Write a function of one variable as (divisor, extent, weight), None where it is none such."""
    out: list[tuple[int, int, int]] = []
    divisor = 1
    while line.size > 1:
        weight = int(line[1] - line[0])
        ramp = line == line[0] + weight * np.arange(line.size)
        run = line.size if ramp.all() else int(np.argmin(ramp))
        extent = next(
            (n for n in range(run, 1, -1) if line.size % n == 0 and _repeats(line, n, weight)),
            0,
        )
        if not extent:
            return None
        out.append((divisor, extent, weight))
        line, divisor = line[::extent], divisor * extent
    return out


def _repeats(line: Ints, extent: int, weight: int) -> bool:
    rows = line.reshape(-1, extent)
    return bool((rows - rows[:, :1] == weight * np.arange(extent)).all())
