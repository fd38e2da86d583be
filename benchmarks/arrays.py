"""How long runs on whole arrays take, cold and planned, against NumPy: `python arrays.py 1024`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import ml_dtypes
import numpy as np

import pycute_xe as cx
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.schedules import StreamK, plan_tables, tile_counts

BF16 = ml_dtypes.bfloat16
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


def random(*shape: int, kind: Any = BF16) -> Any:
    """Return numbers at random."""
    return np.random.default_rng(0).standard_normal(shape).astype(kind)


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


def attentions(size: int) -> Iterator[tuple[str, Given]]:
    """Yield kernels of attention."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    first = cx.workgroup_mma(op, (128, 64, 32), ((8, 1, 1), (1, 1, 0)))
    second = cx.workgroup_mma(op, (128, 32, 64), ((8, 1, 1), (1, 0, 1)))
    kinds: tuple[tuple[str, int, dict[str, Any]], ...] = (
        ("attention", 1, {}),
        ("attention, causal", 1, {"causal": True}),
        ("attention, 4 heads", 4, {}),
    )
    for name, heads, options in kinds:
        q, k, v = (random(1, heads, size, 64) for _ in range(3))
        wide = [x.astype(np.float32)[0] for x in (q, k, v)]

        def numpy(wide: list[Any] = wide) -> Any:
            s = wide[0] @ wide[1].swapaxes(1, 2)
            e = np.exp(s - s.max(axis=-1, keepdims=True))
            return (e @ wide[2]) / e.sum(axis=-1, keepdims=True)

        made = cx.kernel.attention(first, second, out=64, **options)
        yield name, (made, {"Q": q, "K": k, "V": v, "scale": np.float32(0.125)}, numpy)


def fastest(what: Callable[[], Any], times: int = 5) -> float:
    """Return the shortest of some times, in milliseconds of a processor."""
    out: list[float] = []
    for _ in range(times):
        start = process_time()  # a busy machine does not change it
        what()
        out.append(process_time() - start)
    return 1e3 * min(out)


def main() -> None:
    """Print a line for each kind."""
    warnings.simplefilter("ignore")
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    chosen = sys.argv[2:]
    print(f"{'size ' + str(size):20s} {'cold':>8s} {'planned':>8s} {'NumPy':>8s} {'ratio':>6s}")
    for cases in (products(size), attentions(size)):
        for name, (kernel, given, numpy) in cases:
            if chosen and not any(one in name for one in chosen):
                continue
            cold = fastest(lambda k=kernel, g=given: cx.run(k, **g), 1)
            planned = fastest(lambda k=kernel, g=given: cx.run(k, **g))
            plain = fastest(numpy)
            _, report = cx.run(kernel, **given, report=True)
            line = f"{name:20s} {cold:8.1f} {planned:8.1f} {plain:8.1f} {planned / plain:6.2f}"
            print(line, report.why)


if __name__ == "__main__":
    main()
