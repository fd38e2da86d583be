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
    Index,
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
from pycute_xe.layout import Layout

__all__ = ["Elements", "Maps", "compile_maps"]

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Elements:
    """Tile elements by place: coordinates (…, 2) relative to the tile, -1 where there is none."""

    coord: Ints
    operand: str

    def take(self, order: Ints) -> Elements:
        """Pick places along the second axis (register elements); any shape of places."""
        return Elements(self.coord[:, order], self.operand)


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
    _check_frame(kernel, loop, mma)
    held: dict[str, Elements] = {}
    operands: tuple[Elements, Elements] | None = None
    for statement in loop.body:
        if isinstance(statement, Mma):
            operands = _operand(held, kernel, mma, "A"), _operand(held, kernel, mma, "B")
        else:
            _follow(kernel, loop, statement, held)
    if operands is None:
        raise _unlike(kernel, "the loop multiplies nothing")
    stored, source = _stores(kernel, loop, mma, _accumulator_places(mma))
    fills = [s.value for s in kernel.body if isinstance(s, Fill) and s.fragment == mma.accumulator]
    return Maps(*operands, stored, source, fills[-1], loop, mma)


def _unlike(kernel: Kernel, what: str) -> KernelError:
    return KernelError(
        "run",
        {"kernel": kernel.name},
        f"the fast executor does not compile it: {what}",
        'use executor="reference"',
    )


def _check_frame(kernel: Kernel, loop: Loop, mma: Mma) -> None:
    """Demand what surrounds the maps: a filled accumulator, and barriers that pair up."""
    before = kernel.body[: kernel.body.index(loop)]
    if not any(isinstance(s, Fill) and s.fragment == mma.accumulator for s in before):
        raise _unlike(kernel, "the accumulator is not filled before the loop")
    rest = [s for s in kernel.body if s is not loop]
    if any(_has((s,), kind) for s in rest for kind in (Load, BarrierArrive, BarrierWait)):
        raise _unlike(kernel, "there are loads or barriers outside the loop")
    if any(isinstance(s, (Loop, When)) and not _only_prefetches(s) for s in rest):
        raise _unlike(kernel, "there is another loop that does more than prefetch")
    meetings = [s for s in loop.body if isinstance(s, (BarrierArrive, BarrierWait))]
    kinds = [BarrierArrive, BarrierWait] * (len(meetings) // 2)
    if [type(s) for s in meetings] != kinds:
        raise _unlike(kernel, "barriers do not pair an arrival with a wait")


def _only_prefetches(statement: Loop | When) -> bool:
    inner = (s for s in walk(statement.body) if not isinstance(s, (Loop, When)))
    return all(isinstance(s, Prefetch) for s in inner)


def _usual(kernel: Kernel, loop: Loop, statement: Load | Store) -> None:
    """Demand that a copy moves the tile that the grid and the loop count."""
    counted = {count.extent: Index(var) for var, count in kernel.grid}
    if isinstance(loop.stop, Tiles):
        counted[loop.stop.extent] = Index(loop.var)
    modes = kernel.operand(statement.operand).modes
    if statement.at != tuple(counted.get(mode) for mode in modes):
        raise _unlike(kernel, f"{statement.operand} is not moved tile by tile")


def _single(kernel: Kernel) -> tuple[Loop, Mma]:
    loops = [s for s in kernel.body if isinstance(s, Loop) and _has(s.body, Mma)]
    mmas = [s for s in kernel.statements() if isinstance(s, Mma)]
    simple = len(loops) == 1 and len(mmas) == 1 and mmas[0] in loops[0].body
    if not simple or not isinstance(loops[0].stop, Tiles):
        raise _unlike(kernel, "it is not one loop over tiles with one MMA in it")
    return loops[0], mmas[0]


def _has(body: tuple[Statement, ...], kind: type) -> bool:
    return any(isinstance(statement, kind) for statement in walk(body))


def _follow(kernel: Kernel, loop: Loop, statement: Statement, held: dict[str, Elements]) -> None:
    match statement:
        case Load(copy, operand, _, fragment):
            _usual(kernel, loop, statement)
            held[fragment] = _loaded(copy, operand)
        case Reorder(source, destination, slots):
            if source not in held:
                raise _unlike(kernel, f"{source} is reordered before it is loaded")
            held[destination] = _reordered(held[source], slots)
        case Prefetch() | BarrierArrive() | BarrierWait():
            pass
        case Loop() | When() if _only_prefetches(statement):
            pass
        case _:
            raise _unlike(kernel, f"there is a {type(statement).__name__} inside the loop")


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


def _loaded(copy: TiledCopy, operand: str) -> Elements:
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
    return Elements(out, operand)


def _reordered(source: Elements, slots: Layout) -> Elements:
    to = table(coalesce(slots))
    out = np.full((source.coord.shape[0], to.size, 2), -1, dtype=np.int64)
    out[:, to] = source.coord[:, : to.size]
    return Elements(out, source.operand)


def _operand(held: dict[str, Elements], kernel: Kernel, mma: Mma, operand: str) -> Elements:
    """(subgroup, row or column, k) → element, by what each DPAS reads."""
    name = mma.a if operand == "A" else mma.b
    if name not in held or held[name].operand != operand:
        raise _unlike(kernel, f"{name} does not hold {operand} when it is multiplied")
    op = mma.mma.atom.op
    position = op.position_A if operand == "A" else op.position_B
    rows = op.M if operand == "A" else op.N
    count_i, count_k = mma.mma.repetitions(operand)
    inside = table(position).reshape(op.K, rows).T  # (row, k) → register element
    first = np.arange(count_i * count_k, dtype=np.int64).reshape(count_k, count_i).transpose()
    order: Ints = first[:, None, :, None] * (rows * op.K) + inside[None, :, None, :]
    places: Ints = order.reshape(count_i * rows, count_k * op.K)
    return held[name].take(places)


def _accumulator_places(mma: Mma) -> Ints:
    """Accumulator register element → row + rows * column of the subgroup's product."""
    op = mma.mma.atom.op
    count_m, count_n = mma.mma.repetitions("C")
    rows = count_m * op.M
    inside = table(op.position_C).reshape(op.N, op.M).T
    out = np.empty(count_m * count_n * op.M * op.N, dtype=np.int64)
    m, n = np.meshgrid(np.arange(op.M), np.arange(op.N), indexing="ij")
    for i in range(count_m):
        for j in range(count_n):
            base = (i + count_m * j) * op.M * op.N
            out[base + inside] = (i * op.M + m) + rows * (j * op.N + n)
    return out


def _stores(kernel: Kernel, loop: Loop, mma: Mma, places: Ints) -> tuple[Elements, Ints]:
    """Follow the accumulator to the stores behind the loop."""
    held = {mma.accumulator: places}
    coords: list[Ints] = []
    sources: list[Ints] = []
    behind = kernel.body[kernel.body.index(loop) + 1 :]
    for statement in behind:
        if isinstance(statement, Reorder) and statement.source in held:
            to = table(coalesce(statement.slots))
            moved = np.empty_like(held[statement.source])
            moved[to] = held[statement.source]
            held[statement.destination] = moved
        elif isinstance(statement, Store) and statement.fragment in held:
            _usual(kernel, loop, statement)
            copy = statement.copy
            starts = anchors(copy)
            _aligned(copy, starts)
            where, coord = _block(copy)
            step = copy.atom.values * 16
            for j in range(copy.messages):
                coords.append(starts[:, j, None, :] + coord[None])
                sources.append(held[statement.fragment][where + j * step])
        elif not isinstance(statement, (Prefetch, Loop, When)):
            raise _unlike(kernel, f"there is a {type(statement).__name__} behind the loop")
    if not coords:
        raise _unlike(kernel, "nothing is stored")
    return Elements(np.concatenate(coords, axis=1), "D"), np.concatenate(sources)
