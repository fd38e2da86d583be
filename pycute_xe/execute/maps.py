"""Floor 9: a kernel's physical maps, compiled once: which tile element each multiplier reads.

The statements are walked once for all work-items. What a register element holds is followed from
the message that loads it, through reorders, to the DPAS that reads it; what an accumulator element
becomes is followed to the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.algebra import coalesce
from pycute_xe.atom import TiledCopy
from pycute_xe.bulk import table
from pycute_xe.errors import KernelError, MachineError
from pycute_xe.execute.anchors import anchors
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Fill,
    Kernel,
    Load,
    Loop,
    Mma,
    Prefetch,
    Reorder,
    Statement,
    Store,
    Tiles,
    When,
    walk,
)
from pycute_xe.layout import Layout, size

__all__ = ["Elements", "Maps", "compile_maps"]

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Elements:
    """Tile elements by place: coordinates (…, 2) relative to the tile, -1 where there is none."""

    coord: Ints

    def take(self, order: Ints) -> Elements:
        """Pick places along the second axis (register elements); any shape of places."""
        return Elements(self.coord[:, order])


@dataclass(frozen=True, eq=False)
class Maps:
    """What one work-group computes in one trip of its loop, and what it stores at the end.

    ``a`` is (subgroup, row, k), ``b`` (subgroup, column, k): the operand element at each place of
    a subgroup's multiplication. ``stored`` is (subgroup, register element in order of storing):
    the D element written; ``source`` the accumulator place (row + rows * column) it comes from.
    """

    a: Elements
    b: Elements
    stored: Elements
    source: Ints
    fill: float
    loop: Loop
    mma: Mma


@lru_cache(maxsize=64)
def compile_maps(kernel: Kernel) -> Maps:
    """Follow every register element of a kernel of one loop and one MMA.

    Raises `KernelError` for kernels of another form, which the reference executor runs.
    """
    loop, mma = _single(kernel)
    held: dict[str, Elements] = {}
    for statement in loop.body:
        _follow(kernel, statement, held)
    places = _accumulator_places(mma)
    stored, source = _stores(kernel, mma, places)
    fills = [s.value for s in kernel.body if isinstance(s, Fill) and s.fragment == mma.accumulator]
    return Maps(
        a=_operand(held, mma.a, mma, "A"),
        b=_operand(held, mma.b, mma, "B"),
        stored=stored,
        source=source,
        fill=fills[-1] if fills else 0.0,
        loop=loop,
        mma=mma,
    )


def _single(kernel: Kernel) -> tuple[Loop, Mma]:
    loops = [s for s in kernel.body if isinstance(s, Loop) and _has(s.body, Mma)]
    mmas = [s for s in kernel.statements() if isinstance(s, Mma)]
    simple = len(loops) == 1 and len(mmas) == 1 and mmas[0] in loops[0].body
    if not simple or not isinstance(loops[0].stop, Tiles):
        raise KernelError(
            "run",
            {"kernel": kernel.name},
            "the fast executor compiles one loop over tiles with one MMA in it",
            'use executor="reference"',
        )
    return loops[0], mmas[0]


def _has(body: tuple[Statement, ...], kind: type) -> bool:
    return any(isinstance(statement, kind) for statement in walk(body))


def _follow(kernel: Kernel, statement: Statement, held: dict[str, Elements]) -> None:
    match statement:
        case Load(copy, _, _, fragment):
            held[fragment] = _loaded(copy)
        case Reorder(source, destination, slots):
            held[destination] = _reordered(held[source], slots)
        case Prefetch() | BarrierArrive() | BarrierWait() | Mma():
            pass
        case When(_, _, body) if all(isinstance(s, Prefetch) for s in body):
            pass
        case _:
            raise KernelError(
                "run",
                {"kernel": kernel.name, "statement": type(statement).__name__},
                "the fast executor does not compile this statement inside the loop",
                'use executor="reference"',
            )


def _block(copy: TiledCopy) -> tuple[Ints, Ints]:
    """Register element of each (x, y) of a message, and its coordinate relative to the anchor."""
    atom = copy.atom
    x, y = np.meshgrid(np.arange(atom.width), np.arange(atom.height), indexing="ij")
    coord = np.zeros((atom.width * atom.height, 2), dtype=np.int64)
    coord[:, copy.x_mode] = x.reshape(-1, order="F")
    coord[:, copy.y_mode] = y.reshape(-1, order="F")
    return table(atom.register_tv.position), coord


def _aligned(copy: TiledCopy, starts: Ints) -> None:
    steps = np.append(starts[..., copy.x_mode].reshape(-1), copy.tiler_mn[copy.x_mode])
    if (steps * copy.value_type.bits % copy.op.bits).any():
        raise MachineError(
            "copy",
            {"op": copy.op},
            f"a block starts between two {copy.op.bits}-bit elements",
            "align the blocks",
        )


def _loaded(copy: TiledCopy) -> Elements:
    starts = anchors(copy)
    _aligned(copy, starts)
    where, coord = _block(copy)
    step = copy.atom.values * 16
    room = (copy.messages - 1) * step + max(step, copy.atom.register_tv.elements)
    out = np.full((copy.num_subgroups, room, 2), -1, dtype=np.int64)
    for j in range(copy.messages):
        # Padding is written too, over whatever an earlier message put there.
        out[:, j * step : j * step + copy.atom.register_tv.elements] = -1
        out[:, where + j * step] = starts[:, j, None, :] + coord[None]
    return Elements(out)


def _reordered(source: Elements, slots: Layout) -> Elements:
    to = table(coalesce(slots))
    out = np.full((source.coord.shape[0], to.size, 2), -1, dtype=np.int64)
    out[:, to] = source.coord[:, : to.size]
    return Elements(out)


def _operand(held: dict[str, Elements], name: str, mma: Mma, operand: str) -> Elements:
    """(subgroup, row or column, k) → element, by what each DPAS reads."""
    op = mma.mma.atom.op
    position = op.position_A if operand == "A" else op.position_B
    rows = op.M if operand == "A" else op.N
    _, (_, (reps_i, reps_k)) = mma.mma.atoms(operand)
    count_i, count_k = size(reps_i), size(reps_k)
    inside = table(position).reshape(op.K, rows).T  # (row, k) → register element
    first = np.arange(count_i * count_k, dtype=np.int64).reshape(count_k, count_i).transpose()
    order: Ints = first[:, None, :, None] * (rows * op.K) + inside[None, :, None, :]
    places: Ints = order.reshape(count_i * rows, count_k * op.K)
    return held[name].take(places)


def _accumulator_places(mma: Mma) -> Ints:
    """Accumulator register element → row + rows * column of the subgroup's product."""
    op = mma.mma.atom.op
    _, (_, (reps_m, reps_n)) = mma.mma.atoms("C")
    count_m, count_n = size(reps_m), size(reps_n)
    rows = count_m * op.M
    inside = table(op.position_C).reshape(op.N, op.M).T
    out = np.empty(count_m * count_n * op.M * op.N, dtype=np.int64)
    m, n = np.meshgrid(np.arange(op.M), np.arange(op.N), indexing="ij")
    for i in range(count_m):
        for j in range(count_n):
            base = (i + count_m * j) * op.M * op.N
            out[base + inside] = (i * op.M + m) + rows * (j * op.N + n)
    return out


def _stores(kernel: Kernel, mma: Mma, places: Ints) -> tuple[Elements, Ints]:
    """Follow the accumulator to the stores behind the loop."""
    held = {mma.accumulator: places}
    coords: list[Ints] = []
    sources: list[Ints] = []
    for statement in kernel.body:
        if isinstance(statement, Reorder):
            to = table(coalesce(statement.slots))
            moved = np.empty_like(held[statement.source])
            moved[to] = held[statement.source]
            held[statement.destination] = moved
        if not isinstance(statement, Store):
            continue
        copy = statement.copy
        starts = anchors(copy)
        _aligned(copy, starts)
        where, coord = _block(copy)
        step = copy.atom.values * 16
        for j in range(copy.messages):
            coords.append(starts[:, j, None, :] + coord[None])
            sources.append(held[statement.fragment][where + j * step])
    return Elements(np.concatenate(coords, axis=1)), np.concatenate(sources)
