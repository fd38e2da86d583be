"""Random kernels and what is done to them: no wrong one is proved, no right one refuted.

Each seed makes a kernel, changes it in up to two ways (statements dropped, doubled, swapped, moved;
copies bent; loops, tiles, indices, permutations, fills, the grid, epilogue operands changed) and
holds the verdict against runs of the reference executor, compared with NumPy:
    python benchmarks/fuzz_kernels.py --count 20000 --workers 2
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pool
from typing import Any, Literal

import numpy as np

import pycute_xe as cx
from pycute_xe.algebra.simplify import flat_modes, from_modes
from pycute_xe.atom import TiledCopy
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import CuteError
from pycute_xe.kernel import (
    Fence,
    Fill,
    If,
    Kernel,
    Load,
    Loop,
    Map,
    Reorder,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.kinds.vectors import vector_gather

EPILOGUES = ("relu(acc + bias[n])", "acc + bias[m]", "2*acc - C", "acc*scale[n] + bias[m]")
SEEDS = range(4)


@dataclass(frozen=True)
class Outcome:
    """What a seed came to: a word that is counted, and what to look at if it is bad."""

    seed: int
    word: str
    told: str = ""

    @property
    def bad(self) -> bool:
        """Whether the verdict is contradicted by a run."""
        return self.word.startswith("BAD")


# ---------------------------------------------------------------- kernels


def made(r: random.Random) -> Kernel:
    """Return a random GEMM that is small enough to run quickly."""
    acc, kinds = r.choice([("f32", ["bf16", "f16"]), ("f32", ["bf16"]), ("s32", ["s8"])])
    op = cx.XE_DPAS_TT(r.choice([4, 8, 8]), acc, r.choice(kinds))
    m, n = r.randint(1, 2), r.randint(1, 2)
    tile = (op.M * m * r.randint(1, 2), 16 * n * r.randint(1, 2), op.K * r.randint(1, 2))
    strides = r.choice([(n, 1, 0), (1, m, 0)])
    mma = cx.workgroup_mma(op, tile=tile, subgroups=((m, n, 1), strides))
    more: dict[str, Any] = {}
    if acc == "f32" and r.random() < 0.4:
        more["epilogue"] = r.choice(EPILOGUES)
    orders: tuple[Literal["row", "col"], ...] = ("row", "col")
    more |= {"reorder_a": r.random() < 0.8, "reorder_b": r.random() < 0.8}
    more["d"] = "col" if r.random() < 0.3 else "row"
    return cx.kernel.gemm(mma, r.choice(orders), r.choice(orders), stages=r.randint(0, 2), **more)


def bent(r: random.Random, copy: TiledCopy) -> TiledCopy:
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


# ---------------------------------------------------------------- changes


def _one(r: random.Random, kernel: Kernel, *kinds: type[Statement]) -> Any:
    found = [s for s in kernel.statements() if isinstance(s, kinds or Statement)]
    return r.choice(found) if found else None


def _dropped(r: random.Random, kernel: Kernel) -> Kernel:
    return kernel.replace(_one(r, kernel), None)


def _doubled(r: random.Random, kernel: Kernel) -> Kernel:
    statement = _one(r, kernel)
    return kernel.replace(statement, (statement, statement))


def _swapped(r: random.Random, kernel: Kernel) -> Kernel:
    first, second = _one(r, kernel), _one(r, kernel)
    if isinstance(first, (Loop, If)) or isinstance(second, (Loop, If)):
        return kernel
    mark = Fence()
    return kernel.replace(first, mark).replace(second, first).replace(mark, second)


def _moved(r: random.Random, kernel: Kernel) -> Kernel:
    first, second = _one(r, kernel), _one(r, kernel)
    if isinstance(first, Loop) or first == second:
        return kernel
    pair = r.choice([(first, second), (second, first)])
    return kernel.replace(first, None).replace(second, pair)


def _bent(r: random.Random, kernel: Kernel) -> Kernel:
    statement = _one(r, kernel, Load, Store)
    changed = dataclasses.replace(statement, copy=bent(r, statement.copy))
    return kernel.replace(statement, changed)


def _looped(r: random.Random, kernel: Kernel) -> Kernel:
    loop = _one(r, kernel, Loop)
    if loop is None:
        return kernel
    later = dataclasses.replace(loop, start=loop.start + 1)
    longer = dataclasses.replace(loop, stop=loop.stop + r.choice([-1, 1]))
    return kernel.replace(loop, r.choice([later, longer]))


def _indexed(r: random.Random, kernel: Kernel) -> Kernel:
    statement = _one(r, kernel, Load, Store)
    at, mode = list(statement.at), r.randrange(len(statement.at))
    by = r.choice([1, 8, 16, -16])
    at[mode] = r.choice([at[mode] + by, at[mode] * 2, at[r.randrange(len(at))]])
    return kernel.replace(statement, dataclasses.replace(statement, at=tuple(at)))


def _permuted(r: random.Random, kernel: Kernel) -> Kernel:
    statement = _one(r, kernel, Reorder)
    if statement is None:
        return kernel
    size, part = cx.size(statement.slots), r.choice([2, 4, 8, 16])
    slots = [
        cx.Layout((part, size // part), (size // part, 1)),
        cx.Layout(size),
        cx.Layout((2, size // 2), (0, 2)),
    ]
    return kernel.replace(statement, dataclasses.replace(statement, slots=r.choice(slots)))


def _filled(r: random.Random, kernel: Kernel) -> Kernel:
    statement = _one(r, kernel, Fill)
    return kernel.replace(statement, dataclasses.replace(statement, value=1.0))


def _tiled(r: random.Random, kernel: Kernel) -> Kernel:
    (var, count), *rest = kernel.grid
    new = r.choice([count + 1, count - 1, Tiles("M", r.choice([8, 32, 64]))])
    return dataclasses.replace(kernel, grid=((var, new), *rest))


def _broadcast(r: random.Random, kernel: Kernel) -> Kernel:
    statement = _one(r, kernel, Map)
    if statement is None or not statement.gathers:
        return kernel
    by = vector_gather(kernel.mma, r.choice("mn"))
    gathers = tuple((name, by) for name, _ in statement.gathers)
    return kernel.replace(statement, dataclasses.replace(statement, gathers=gathers))


CHANGES: tuple[Callable[[random.Random, Kernel], Kernel], ...] = (
    *(_dropped, _doubled, _swapped, _moved, _bent, _looped),
    *(_indexed, _permuted, _filled, _tiled, _broadcast),
)


# ---------------------------------------------------------------- judgement


def arrays(kernel: Kernel, sizes: dict[str, int], seed: int) -> dict[str, Any]:
    """Small integers of every operand's type."""
    rng = np.random.default_rng(seed)
    out: dict[str, Any] = {}
    for operand in kernel.inputs:
        shape = tuple(mode.at(sizes) for mode in operand.modes)
        out[operand.name] = rng.integers(-3, 4, shape).astype(numpy_dtype(operand.value_type))
    return out


def expected(kernel: Kernel, given: dict[str, Any]) -> np.ndarray:
    """What NumPy alone makes of the epilogue that the kernel's claim was written from."""
    x = {name: array.astype(np.float64) for name, array in given.items()}
    acc = x["A"] @ x["B"]
    text = str(kernel.computes)
    if "max" in text or "relu" in text:
        return np.maximum(acc + x["bias"][None, :], 0)
    if "scale" in text:
        return acc * x["scale"][None, :] + x["bias"][:, None]
    if "bias" in text:
        return acc + x["bias"][:, None]
    return 2 * acc - x["C"] if "C[" in text else acc


def wrong(kernel: Kernel, sizes: dict[str, int], seeds: range = SEEDS) -> str:
    """Say how running a kernel goes wrong at a size; empty where it is right."""
    for seed in seeds:
        given = arrays(kernel, sizes, seed)
        try:
            out = cx.run(kernel, **given, executor="reference")
        except CuteError as error:
            return f"fault: {error.condition}"
        if not np.array_equal(np.asarray(out, np.float64), expected(kernel, given)):
            return "differs"
    return ""


def judged(seed: int) -> Outcome:
    """Make the kernel of a seed and hold its verdict against runs."""
    r = random.Random(seed)
    try:
        kernel = first = made(r)
    except CuteError:
        return Outcome(seed, "no copies for it")
    m, n, k = first.mma.tile_mnk
    try:
        for _ in range(r.choice([0, 1, 1, 1, 2])):
            kernel = r.choice(CHANGES)(r, kernel)
    except CuteError:
        return Outcome(seed, "refused at construction")
    sizes = (
        {"M": 1, "N": 1, "K": 1},
        {"M": m + 1, "N": n + 3, "K": 2 * k + 1},
        {"M": 2 * m, "N": 2 * n - 1, "K": 3 * k},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return held_against_runs(seed, kernel, sizes)


def held_against_runs(seed: int, kernel: Kernel, sizes: tuple[dict[str, int], ...]) -> Outcome:
    """Hold the verdict on a kernel against runs at some sizes."""
    verdict = cx.verify(kernel)
    if verdict.answer == "proved":
        for size in sizes:
            how = wrong(kernel, size, range(1))
            if how:
                return Outcome(seed, "BAD: proved and wrong", f"{size}: {how}")
        return Outcome(seed, "proved")
    if verdict.answer in ("disproved", "needs") and verdict.counterexample is not None:
        found = verdict.counterexample
        if cx.replay(kernel, found).shows or wrong(kernel, dict(found.sizes)):
            return Outcome(seed, verdict.answer)
        return Outcome(seed, f"BAD: {verdict.answer}, and a run is right", str(found))
    right = not any(wrong(kernel, size) for size in sizes)
    reasons = "; ".join(proof.reason for proof in verdict.proofs if proof.answer == "undecided")
    return Outcome(seed, f"undecided, {'right' if right else 'wrong'}", reasons)


def main() -> int:
    """Judge so many seeds; print the counts and what is bad."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", type=int, help="one seed, told in full")
    asked = parser.parse_args()
    if asked.only is not None:
        print(judged(asked.only))
        return 0
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    bad = 0
    with Pool(asked.workers) as pool:
        todo = range(asked.seed, asked.seed + asked.count)
        for number, one in enumerate(pool.imap_unordered(judged, todo, chunksize=8), 1):
            counts[one.word] += 1
            if one.bad:
                bad += 1
                print(one, flush=True)
            elif one.told:
                reasons[f"{one.word}: {one.told[:120]}"] += 1
            if number % 500 == 0:
                print(f"{number}: {dict(counts)}", flush=True)
    for word, count in counts.most_common():
        print(f"{count:7} {word}")
    for word, count in reasons.most_common(20):
        print(f"        {count:6} {word}")
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
