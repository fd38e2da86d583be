"""How long runs of ragged requests and experts take against NumPy, which does one after the other.

python benchmarks/ragged_runs.py                # every kind, 16 requests of 1 to 400 tokens
python benchmarks/ragged_runs.py packed experts # those with one of these words in their names
python benchmarks/ragged_runs.py --heads 8      # more heads than two

Second runs of a kernel, in processor time with one BLAS thread, by turns with NumPy: plainly, a
softmax of whole rows, and by the blocks of keys that kernels take. Exits with 1 where attention
takes more than 3 times as long as NumPy's plain form, experts more than 1.5 times, or where the
byte machine runs a kind. Results are compared with NumPy's.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from arrays import BF16, best_of, by_blocks, random, tilings

import pycute_xe as cx
from pycute_xe import kernel as kinds
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.schedules import Grouped, moe_counts, plan_tables

PAGE, DEPTH = 64, 64


@dataclass(frozen=True)
class Case:
    """A kernel, its operands, what NumPy does plainly and by blocks, and the ceiling, if any."""

    kernel: Kernel
    given: dict[str, Any]
    plain: Callable[[], Any]
    blocks: Callable[[], Any] | None = None
    ceiling: float | None = None


def plainly(q: Any, k: Any, v: Any, causal: bool) -> Any:
    """Attention of whole rows, the last query beside the last key; weights are rounded to bf16."""
    s = (q @ k.swapaxes(1, 2)) * np.float32(0.125 * np.log2(np.e))
    if causal:
        own = np.arange(q.shape[1])[:, None] + (k.shape[1] - q.shape[1])
        s = np.where(np.arange(k.shape[1]) > own, np.float32(-np.inf), s)
    p = np.exp2(s - s.max(axis=-1, keepdims=True))
    return p.astype(BF16).astype(np.float32) @ v / p.sum(axis=-1, keepdims=True)


def in_pages(parts: list[Any], order: Any, counts: list[int]) -> Any:
    """Put the keys of requests into pages, which are free in any order."""
    out, at = random(sum(counts) + 2, parts[0].shape[0], PAGE, DEPTH), 0
    for x, count in zip(parts, counts, strict=True):
        for i in range(count):
            piece = x[:, i * PAGE : (i + 1) * PAGE]
            out[order[at + i], :, : piece.shape[1]] = piece
        at += count
    return out


def attentions(lengths: list[int], heads: int) -> Iterator[tuple[str, Case]]:
    """Yield kinds of attention of requests whose keys are as many as their queries, or of one."""
    ends = np.cumsum([0, *lengths]).astype(np.int32)
    qs, ks, vs = ([random(heads, n, DEPTH) for n in lengths] for _ in range(3))
    wide = [[x.astype(np.float32) for x in xs] for xs in (qs, ks, vs)]
    rows: dict[str, Any] = {"scale": np.float32(0.125), "starts": ends, "Q": np.concatenate(qs, 1)}
    rows["longest"] = np.int32(max(lengths))
    keys = {"K": np.concatenate(ks, 1), "V": np.concatenate(vs, 1), "key_starts": ends}
    counts = [-(-n // PAGE) for n in lengths]
    order = np.random.default_rng(1).permutation(sum(counts) + 2)
    pages = np.zeros((len(lengths), max(counts)), np.int32)
    firsts = np.cumsum([0, *counts])
    for b, count in enumerate(counts):
        pages[b, :count] = order[firsts[b] : firsts[b + 1]]
    paged = {"K": in_pages(ks, order, counts), "V": in_pages(vs, order, counts), "pages": pages}
    paged["lengths"] = np.array(lengths, np.int32)

    def of(given: dict[str, Any], shown: list[Any], **options: Any) -> Case:
        made = kinds.attention(*tilings(), out=64, **options)
        causal, every = bool(options.get("causal")), list(zip(shown, *wide[1:], strict=True))

        def plain() -> Any:
            return [plainly(q, k, v, causal) for q, k, v in every]

        def blocks() -> Any:
            return [by_blocks(q, k, v, causal) for q, k, v in every]

        ceiling = 3.0 if "packed" in options else None
        return Case(made, given, plain, blocks, ceiling)

    for causal in (False, True):
        name = ", causal" if causal else ""
        yield f"packed{name}", of(rows | keys, wide[0], packed=True, causal=causal)
        yield f"paged{name}", of(rows | paged, wide[0], packed=True, page=PAGE, causal=causal)
    one = [random(heads, 1, DEPTH) for _ in lengths]
    alone = {"Q": np.stack(one), "scale": np.float32(0.125)} | paged
    last = [x.astype(np.float32) for x in one]
    yield "decode", of(alone, last, page=PAGE)
    yield "decode, keys in 4", of(alone, last, page=PAGE, splits=4, lse=True)


def experts(lengths: list[int], size: int = 512) -> Iterator[tuple[str, Case]]:
    """Yield products of experts, whose rows are as many as the requests' tokens."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (128, 256, 32), ((4, 8, 1), (8, 1, 0)))
    ends, count = np.cumsum([0, *lengths]).astype(np.int32), len(lengths)
    a, b = random(int(ends[-1]), size), random(count, size, size)
    gates = random(count, size, 2 * size)
    whole = np.concatenate(
        [np.pad(p, ((0, -len(p) % 128), (0, 0))) for p in np.split(a, ends[1:-1])]
    )
    tiles = [-(-n // 128) for n in lengths]
    most = {"longest": np.int32(max(lengths)), "N": size}
    starts, counts = {"starts": ends}, {"counts": np.array(lengths, np.int32), "offsets": ends[:-1]}
    blocks = {"experts": np.repeat(np.arange(count), tiles).astype(np.int32), "N": size}

    def of(made: Kernel, x: Any, w: Any, tables: Any, rows: list[int], gated: bool) -> Case:
        cuts = np.cumsum([0, *rows])

        def loop() -> Any:
            out: list[Any] = []
            for i, e in enumerate(w):
                d = x[cuts[i] : cuts[i + 1]].astype(np.float32) @ e.astype(np.float32)
                if gated:
                    gate, up = d[:, :size], d[:, size:]
                    d = gate / (1 + np.exp(-gate)) * up
                out.append(d.astype(BF16))
            return out

        return Case(made, {"A": x, "B": w, **tables}, loop, ceiling=1.5)

    padded = [n * 128 for n in tiles]
    for name, tables in (("starts", starts | most), ("counts", counts | most)):
        made = kinds.moe_gemm(mma, runs=name)  # pyright: ignore[reportArgumentType]
        yield f"experts, {name}", of(made, a, b, tables, lengths, False)
    yield "experts, tiles", of(kinds.moe_gemm(mma, runs="blocks"), whole, b, blocks, padded, False)
    narrow = cx.workgroup_mma(op, (128, 128, 32), ((4, 8, 1), (8, 1, 0)))
    gated = kinds.moe_gemm(narrow, gated=True)
    yield "experts, gate and up", of(gated, a, gates, starts | most, lengths, True)
    made = kinds.scheduled(mma, groups="stacked", fixup=False, d_type="bf16")
    plan = Grouped(20).plan(*moe_counts(lengths, size, size, mma.tile_mnk))
    yield "experts, scheduled", of(made, whole, b, plan_tables(plan, stacked=True), padded, False)


def near(out: Any, parts: list[Any]) -> bool:
    """Whether the first output holds what NumPy has for each request, one behind the other."""
    first = np.asarray(out[0] if isinstance(out, tuple) else out).astype(np.float32)
    if first.ndim == parts[0].ndim + 1:  # a batch for each request, or a part of the keys first
        wanted: Any = np.stack(parts)
    else:
        wanted = np.concatenate([np.asarray(p).astype(np.float32) for p in parts], axis=-2)
    return first.shape != wanted.shape or bool(np.allclose(first, wanted, rtol=0.02, atol=0.02))


def judged(name: str, case: Case) -> bool:
    """Print a line for a kind; return whether it keeps what is asked of it."""
    out, report = cx.run(case.kernel, **case.given, report=True)
    right = near(out, case.plain())
    others = [x for x in (case.plain, case.blocks) if x is not None]
    took, *times = best_of(lambda: cx.run(case.kernel, **case.given), *others)
    ratios = " ".join(f"{took / x:8.2f}" for x in times)
    print(f"{name:24s} {took:8.1f} {times[0]:8.1f} {ratios}", report.why, flush=True)
    if not right:
        print(f"{name} is not what NumPy has")
    fast = case.ceiling is None or took <= case.ceiling * times[0]
    return fast and right and not report.why


def main() -> None:
    """Print a line for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    lengths = np.random.default_rng(asked.seed).integers(1, 401, 16).tolist()
    print(f"requests of {', '.join(map(str, lengths))} tokens, {asked.heads} heads")
    heads = ("run ms", "NumPy ms", "ratio", "by blocks")
    print(f"{'':24s} {' '.join(f'{word:>8s}' for word in heads)}")
    wrong = [
        name
        for cases in (attentions(lengths, asked.heads), experts(lengths))
        for name, case in cases
        if (not asked.names or any(x in name for x in asked.names)) and not judged(name, case)
    ]
    sys.exit(f"beyond what is asked: {', '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    main()
