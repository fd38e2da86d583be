"""Floor 9: the fast executor: a kernel's maps compiled into array operations.

Where the maps of a tile are a rearrangement that every work-group shares and that cancels between
the operands and the store, the kernel is one matrix product. Where they are not (a wrong kernel,
or one that leaves elements out), every element is gathered and scattered as the maps say.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.bulk import numpy_dtype
from pycute_xe.execute.counting import count_work
from pycute_xe.execute.maps import Elements, Maps, compile_maps
from pycute_xe.execute.problem import Problem
from pycute_xe.kernel import Kernel, Tiles
from pycute_xe.machine import Trace
from pycute_xe.numeric import Numeric

__all__ = ["execute"]

Floats = NDArray[np.float32]


def execute(
    kernel: Kernel,
    problem: Problem,
    target: Target,
    trace: Trace,
    progress: Callable[[float], None] | None = None,
) -> NDArray[Any]:
    """Run a kernel of one loop and one MMA and return D (M, N).

    Agrees with the reference executor within K·2⁻²⁴·Σ|a||b| for each element: sums may be taken in
    another order. Raises `KernelError` for kernels it cannot compile.
    """
    maps = compile_maps(kernel)
    count_work(kernel, problem, target, trace)
    stop = maps.loop.stop
    trips = stop.at(problem.sizes) if isinstance(stop, Tiles) else stop
    a, b = (_as_f32(problem.inputs[name]) for name in ("A", "B"))
    numeric = kernel.operand("D").value_type
    with np.errstate(over="ignore", invalid="ignore"):
        if _cancels(kernel):
            begin, end = (t * kernel.mma.tile_mnk[2] for t in (maps.loop.start, trips))
            out = _product(a[:, begin:end], b[:, begin:end], maps, numeric)
        else:
            out = _gathered(kernel, maps, a, b, range(maps.loop.start, trips), progress)
    return out.astype(numpy_dtype(numeric), copy=False)


def _as_f32(array: NDArray[Any]) -> Floats:
    """Widen exactly. A bfloat16 is the upper half of a float32."""
    if array.dtype.name == "bfloat16":
        wide = array.view(np.uint16).astype(np.uint32)
        np.left_shift(wide, 16, out=wide)
        return wide.view(np.float32)
    return array.astype(np.float32)


def _product(a: Floats, b: Floats, maps: Maps, numeric: Numeric) -> Floats:
    """Multiply A (M, K) and B (N, K); a narrow accumulator is rounded after every DPAS."""
    if numeric.bits >= 32:
        out = a @ b.T
        return out + np.float32(maps.fill) if maps.fill else out
    dtype, step = numpy_dtype(numeric), maps.mma.mma.atom.op.K
    out = np.full((a.shape[0], b.shape[0]), maps.fill, dtype=np.float32)
    for k in range(0, a.shape[1], step):
        out += a[:, k : k + step] @ b[:, k : k + step].T
        out = out.astype(dtype).astype(np.float32)
    return out


@lru_cache(maxsize=64)
def _cancels(kernel: Kernel) -> bool:
    """Whether every product lands where the tile says it should, each exactly once."""
    maps, (tile_m, tile_n, tile_k) = compile_maps(kernel), kernel.mma.tile_mnk
    rows, columns = _separate(maps.a), _separate(maps.b)
    if rows is None or columns is None or not np.array_equal(rows[1], columns[1]):
        return False
    if not np.array_equal(np.sort(rows[1]), np.arange(tile_k)):
        return False
    column, row = np.divmod(maps.source, rows[0].shape[1])
    wanted = np.stack([rows[0][:, row], columns[0][:, column]], axis=-1)
    if not np.array_equal(wanted, maps.stored.coord):
        return False
    flat = np.sort((wanted[..., 0] + tile_m * wanted[..., 1]).reshape(-1))
    return np.array_equal(flat, np.arange(tile_m * tile_n))


def _separate(elements: Elements) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Split (subgroup, row, k) → coordinate into a row for each place and one order of k."""
    rows, ks = elements.coord[..., 0], elements.coord[..., 1]
    row, k = rows[:, :, 0], ks[0, 0]
    same = (rows == row[:, :, None]).all() and (ks == k).all() and (elements.coord >= 0).all()
    return (row, k) if same else None


def _gathered(
    kernel: Kernel,
    maps: Maps,
    a: Floats,
    b: Floats,
    trips: range,
    progress: Callable[[float], None] | None,
) -> Floats:
    sizes = {"M": a.shape[0], "N": b.shape[0]}
    out = np.full((sizes["M"], sizes["N"]), np.nan, dtype=np.float32)
    dtype = numpy_dtype(kernel.operand("D").value_type)
    tile_m, tile_n, tile_k = kernel.mma.tile_mnk
    # A narrow accumulator is rounded after every DPAS, a wide one need not be.
    step = tile_k if dtype.itemsize >= 4 else kernel.mma.atom.op.K
    steps = [slice(k, k + step) for k in range(0, tile_k, step)]
    groups = list(product(*(range(count.at(sizes)) for _, count in kernel.grid)))
    shape = (maps.a.coord.shape[0], maps.a.coord.shape[1], maps.b.coord.shape[1])
    for done, (m, n) in enumerate(groups, 1):
        total = np.full(shape, maps.fill, dtype=np.float32)
        for k in trips:
            left = _gather(a, maps.a, (m * tile_m, k * tile_k))
            right = _gather(b, maps.b, (n * tile_n, k * tile_k))
            for part in steps:
                total += left[..., part] @ right[..., part].transpose(0, 2, 1)
                total = total.astype(dtype).astype(np.float32)
        _scatter(out, maps, total, (m * tile_m, n * tile_n))
        if progress is not None:
            progress(done / len(groups))
    return out


def _gather(source: Floats, elements: Elements, corner: tuple[int, int]) -> Floats:
    place = elements.coord + np.array(corner)
    inside = ((elements.coord >= 0) & (place < np.array(source.shape))).all(axis=-1)
    i, j = (np.where(inside, place[..., axis], 0) for axis in (0, 1))
    return np.where(inside, source[i, j], np.float32(0))


def _scatter(out: Floats, maps: Maps, total: Floats, corner: tuple[int, int]) -> None:
    column, row = np.divmod(maps.source, total.shape[1])
    place = maps.stored.coord + np.array(corner)
    for subgroup in range(total.shape[0]):
        values, at = total[subgroup, row, column], place[subgroup]
        inside = ((at >= 0) & (at < np.array(out.shape))).all(axis=-1)
        # Later subgroups overwrite earlier ones, as the reference executor's do.
        out[at[inside, 0], at[inside, 1]] = values[inside]
