"""How long runs on whole arrays take against NumPy doing the same mathematics in float32.

python benchmarks/arrays.py                 # every kind at 1024
python benchmarks/arrays.py 512,1024,4096   # at each of these sizes
python benchmarks/arrays.py 4096 gemm       # the kinds with "gemm" in their names

Both by turns in one process, in processor time, with one BLAS thread. Exits with 1 where a kind at
1024 takes longer than its ceiling, falls back to the byte machine, or needs more memory than 3
times its operands and 256 MB.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import ml_dtypes
import numpy as np

import pycute_xe as cx
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.schedules import StreamK, plan_tables, tile_counts

BF16 = ml_dtypes.bfloat16
CEILINGS = {
    "epilogue tile": 3.0,
    "split-k": 3.0,
    "softmax (N=128)": 2.5,
    "top-k (N=128)": 3.0,
    "attention": 2.5,
    "attention, causal": 2.5,
    "attention, 4 heads": 1.75,
}
"""How many times as long as NumPy a kind may take at 1024; others 1.5 times."""
Given = tuple[Kernel, dict[str, Any], Callable[[], Any]]


def mma(
    tile: tuple[int, int, int] = (256, 256, 32),
    m: int = 8,
    n: int = 4,
    a: str = "bf16",
    b: str = "",
) -> Any:
    """Return a tiling of a work-group."""
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", a, b or a), tile, ((m, n, 1), (n, 1, 0)))


RNG = np.random.default_rng(0)


def random(*shape: int, kind: Any = BF16) -> Any:
    """Return numbers at random."""
    return RNG.standard_normal(shape).astype(kind)


def products(size: int) -> Iterator[tuple[str, Given]]:
    """Yield kernels that multiply square matrices, what they are given, and what NumPy does."""
    a, b = random(size, size), random(size, size)
    wide = a.astype(np.float32), b.astype(np.float32)
    given = {"A": a, "B": b}

    def plain() -> Any:
        return wide[0] @ wide[1]

    yield "gemm", (cx.kernel.gemm(mma()), given, plain)
    bias = random(size, kind=np.float32)
    yield (
        "bias, relu",
        (
            cx.kernel.gemm(mma(), epilogue="relu(acc + bias[n])"),
            {**given, "bias": bias},
            lambda: np.maximum(plain() + bias, 0),
        ),
    )
    yield (
        "row sums",
        (
            cx.kernel.gemm(mma(), also={"rows[m]": "sum(n, acc)"}),
            {**given, "rows": np.zeros(size, np.float32)},
            lambda: (d := plain(), d.sum(axis=1)),
        ),
    )
    yield (
        "epilogue tile",
        (
            cx.kernel.gemm(mma(), epilogue="relu(acc + bias[n])", epilogue_tile=(32, 32)),
            {**given, "bias": bias},
            lambda: np.maximum(plain() + bias, 0),
        ),
    )
    yield (
        "split-k",
        (cx.kernel.split_k(mma(), 4), {**given, "D": np.zeros((size, size), np.float32)}, plain),
    )
    yield "shared memory", (cx.kernel.slm_gemm(mma()), given, plain)
    yield (
        "named barriers",
        (cx.kernel.specialised_gemm(mma((256, 256, 32), 8, 4)), given, plain),
    )
    yield (
        "dual",
        (
            cx.kernel.dual_gemm(mma((128, 128, 32), 8, 4), combine="acc0 * acc1"),
            {"A": a, "B0": b, "B1": b},
            lambda: plain() * plain(),
        ),
    )
    tables = plan_tables(StreamK(16).plan(tile_counts(size, size, size, (256, 256, 32))))
    yield "stream-k", (cx.kernel.scheduled(mma()), given | tables, plain)
    narrow = b[:, :128]
    few = wide[1][:, :128]

    def softmax() -> Any:
        d = wide[0] @ few
        e = np.exp(d - d.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    yield (
        "softmax (N=128)",
        (cx.kernel.softmax_gemm(mma((64, 128, 32), 2, 8)), {"A": a, "B": narrow}, softmax),
    )
    yield (
        "top-k (N=128)",
        (
            cx.kernel.top_k_gemm(mma((64, 128, 32), 4, 4)),
            {"A": a, "B": narrow},
            lambda: np.partition(wide[0] @ few, -2, axis=1),
        ),
    )


def by_blocks(q: Any, k: Any, v: Any, causal: bool, keys: int = 64) -> Any:
    """Attention as kernels compute it: over blocks of keys, by powers of 2, P rounded to bf16."""
    most = np.full((*q.shape[:2], 1), -np.inf, np.float32)
    total, out = np.zeros_like(most), np.zeros_like(q)
    scale = np.float32(0.125 * np.log2(np.e))
    for at in range(0, k.shape[1], keys):
        s = (q @ k[:, at : at + keys].swapaxes(1, 2)) * scale
        if causal:
            ahead = np.arange(at, at + s.shape[-1]) > np.arange(q.shape[1])[:, None]
            s = np.where(ahead, np.float32(-np.inf), s)
        new = np.maximum(most, s.max(axis=-1, keepdims=True))
        less, p = np.exp2(most - new), np.exp2(s - new)
        total = total * less + p.sum(axis=-1, keepdims=True)
        out = out * less + p.astype(BF16).astype(np.float32) @ v[:, at : at + keys]
        most = new
    return out / total


def tilings() -> tuple[Any, Any]:
    """Return the tilings of both products of attention."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    first = cx.workgroup_mma(op, (128, 64, 32), ((8, 1, 1), (1, 1, 0)))
    return first, cx.workgroup_mma(op, (128, 32, 64), ((8, 1, 1), (1, 0, 1)))


def attentions(size: int) -> Iterator[tuple[str, Given]]:
    """Yield kernels of attention."""
    kinds: tuple[tuple[str, int, dict[str, Any]], ...] = (
        ("attention", 1, {}),
        ("attention, causal", 1, {"causal": True}),
        ("attention, 4 heads", 4, {}),
    )
    for name, heads, options in kinds:
        q, k, v = (random(1, heads, size, 64) for _ in range(3))
        wide = [x.astype(np.float32)[0] for x in (q, k, v)]

        def numpy(wide: list[Any] = wide, causal: bool = bool(options)) -> Any:
            return by_blocks(*wide, causal=causal)

        made = cx.kernel.attention(*tilings(), out=64, **options)
        yield name, (made, {"Q": q, "K": k, "V": v, "scale": np.float32(0.125)}, numpy)


def timed(what: Callable[[], Any]) -> float:
    """Return how long something takes, in milliseconds of a processor: others do not change it."""
    start = process_time()
    what()
    return 1e3 * (process_time() - start)


def best_of(*what: Callable[[], Any], turns: int = 7) -> list[float]:
    """Return the least time of each of some things, done by turns."""
    return [min(x) for x in zip(*([timed(one) for one in what] for _ in range(turns)), strict=True)]


def peak(since: bool = False) -> float:
    """Return the most memory that the process had, in MB; or forget it, and return what it has."""
    if since:
        Path("/proc/self/clear_refs").write_text("5")
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmRSS:" if since else "VmHWM:")[1].split()[0]) / 1024


def judged(name: str, case: Given, size: int) -> bool:
    """Print a line for a kind; return whether it keeps what is asked of it."""
    kernel, given, numpy = case
    room = 3 * sum(array.nbytes for array in given.values() if hasattr(array, "nbytes"))
    before = peak(since=True)
    cold = timed(lambda: cx.run(kernel, **given))
    memory = peak() - before
    out, report = cx.run(kernel, **given, report=True)
    room += 3 * sum(array.nbytes for array in (out if isinstance(out, tuple) else (out,)))
    planned, plain = best_of(lambda: cx.run(kernel, **given), numpy)
    ratio, ceiling = planned / plain, CEILINGS.get(name, 1.5)
    most = room / 2**20 + 256
    line = f"{name:20s} {cold:8.1f} {planned:8.1f} {plain:8.1f} {ratio:8.2f}"
    why = report.why or "whole arrays"
    print(f"{line} {memory:5.0f} of {most:5.0f} MB  {why}", flush=True)
    fast = size != 1024 or ratio <= ceiling
    return fast and not report.why and memory <= most


def table(size: int, chosen: list[str]) -> list[str]:
    """Print a line for each kind; return those that do not keep what is asked of them."""
    head = ("cold ms", "planned", "NumPy", "ratio", "most memory, and what runs it")
    print(f"{'size ' + str(size):20s} {' '.join(f'{word:>8s}' for word in head)}")
    return [
        f"{name} at {size}"
        for cases in (products(size), attentions(size))
        for name, case in cases
        if (not chosen or any(one in name for one in chosen)) and not judged(name, case, size)
    ]


def main() -> None:
    """Print a table for each size."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sizes = sys.argv[1].split(",") if len(sys.argv) > 1 else ["1024"]
    wrong = [name for size in sizes for name in table(int(size), sys.argv[2:])]
    sys.exit(f"beyond what is asked: {', '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    main()
