"""How long runs of what serving stacks run take against NumPy, every kind of `kernel.serving`.

python benchmarks/ragged_runs.py                # every kind, 16 requests of 1 to 400 tokens
python benchmarks/ragged_runs.py packed experts # those with one of these words in their names
python benchmarks/ragged_runs.py --heads 8      # more heads than two

Second runs of a kernel, in processor time with one BLAS thread, by turns with NumPy: plainly, which
takes requests one after the other and of attention the softmax of whole rows, and by the blocks of
keys or the chunks of tokens that kernels take. Plainly, recurrences take token after token. Exits
with 1 where a kind takes more than 3 times as long as NumPy's plain form, experts more than 1.5
times, or where the byte machine runs it. Results are compared with NumPy's.
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
from pycute_xe.converting import convert
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
    ceiling: float = 3.0


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

        return Case(made, given, plain, blocks)

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


def wide(x: Any) -> Any:
    """Return numbers as float32."""
    return np.asarray(x).astype(np.float32)


def of_rows(rows: int = 1024, columns: int = 1024) -> Iterator[tuple[str, Case]]:
    """Yield kinds that go through rows of a matrix."""
    x, w, b = random(rows, columns), random(columns), random(columns)
    many = {"tile": (64, 64), "subgroups": 4}

    def norm(centred: bool) -> Any:
        z = wide(x)
        z = z - z.mean(1, keepdims=True) if centred else z
        z = z / np.sqrt((z * z).mean(1, keepdims=True) + 1e-5) * wide(w)
        return ((z + wide(b) if centred else z).astype(BF16),)

    def softmax() -> Any:
        e = np.exp(f - f.max(1, keepdims=True))
        return (e / e.sum(1, keepdims=True),)

    def quantized(to: str, most: float) -> Callable[[], Any]:
        def plain() -> Any:
            z = wide(x)
            scale = np.maximum(np.abs(z).max(1), 2.0**-100) * np.float32(1 / most)
            z = z / scale[:, None]
            return (np.rint(z).astype(np.int8) if to == "s8" else convert(z, to), scale)

        return plain

    def gate() -> Any:
        g, up = wide(x)[:, : columns // 2], wide(x)[:, columns // 2 :]
        return ((g / (1 + np.exp(-g)) * up).astype(BF16),)

    f, ids = wide(x), np.arange(columns, dtype=np.float32)
    yield "rms_norm", Case(kinds.rms_norm(columns, eps=1e-5), {"X": x, "w": w}, lambda: norm(False))
    layer = {"X": x, "w": w, "b": b}
    made = kinds.layer_norm(columns, kind="bf16", eps=1e-5)
    yield "layer_norm", Case(made, layer, lambda: norm(True))
    yield "softmax_rows", Case(kinds.softmax_rows(**many), {"X": f}, softmax)
    for to, most in (("s8", 127.0), ("f8e4m3", 448.0)):
        made = kinds.quantize_rows(columns, to=to, **many)
        yield f"quantize_rows, {to}", Case(made, {"X": x}, quantized(to, most))
    made = kinds.argmax_rows(**many)
    yield "argmax_rows", Case(made, {"X": f, "ids": ids}, lambda: (f.argmax(1),))
    yield "gated_rows", Case(kinds.gated_rows(columns // 2, **many), {"X": x}, gate)


def of_tokens(tokens: int = 512, heads: int = 8) -> Iterator[tuple[str, Case]]:
    """Yield kinds that move tokens: turned by their positions, into a cache, to their experts."""
    rng, half = np.random.default_rng(1), 64
    x, at = random(tokens, heads, 2 * half), rng.permutation(2 * tokens)[:tokens].astype(np.int32)
    c, s = (f(rng.random((2 * tokens, half))).astype(np.float32) for f in (np.cos, np.sin))

    def turned() -> Any:
        a, b = wide(x)[..., :half], wide(x)[..., half:]
        cos, sin = c[at][:, None], s[at][:, None]
        return (np.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(BF16),)

    yield "rope", Case(kinds.rope(half), {"X": x, "cos": c, "sin": s, "positions": at}, turned)
    k, v = random(tokens, heads, half), random(tokens, heads, half)
    slots = rng.permutation(2 * tokens)[:tokens].astype(np.int32)
    for cache in ("tokens", "heads"):
        shape = (2 * tokens // 16, 16, heads, half)
        shape = shape if cache == "tokens" else (shape[0], heads, 16, half)
        kc, vc = random(*shape), random(*shape)

        def written(cache: str = cache, kc: Any = kc, vc: Any = vc) -> Any:
            out = kc.copy(), vc.copy()
            for into, one in zip(out, (k, v), strict=True):
                if cache == "tokens":
                    into[slots // 16, slots % 16] = one
                else:
                    into[slots // 16, :, slots % 16] = one
            return out

        made = kinds.kv_cache_write(16, half, cache=cache)  # pyright: ignore[reportArgumentType]
        given = {"K": k, "V": v, "slots": slots, "KC": kc, "VC": vc}
        yield f"kv_cache_write, {cache}", Case(made, given, written)
    yield from of_experts(tokens)


def of_experts(tokens: int, experts: int = 64, top: int = 4) -> Iterator[tuple[str, Case]]:
    """Yield what chooses experts, counts who chose them, and puts together what they give."""
    rng = np.random.default_rng(2)
    x = rng.permutation(tokens * experts).reshape(tokens, experts).astype(np.float32) / 1024
    numbers = np.arange(experts, dtype=np.float32)

    def routed() -> Any:
        ids = np.argsort(-x, 1)[:, :top]
        best = np.take_along_axis(x, ids, 1)
        weights = np.exp(best - best[:, :1])
        return ids.T, (weights / weights.sum(1, keepdims=True)).T

    ids, weights = (np.ascontiguousarray(y) for y in routed())
    ids = ids.astype(np.int32)

    def counted() -> Any:
        return (np.bincount(ids.ravel(), minlength=experts),)

    made = kinds.moe_routing(experts, top)
    yield "moe_routing", Case(made, {"X": x, "numbers": numbers}, routed)
    zeros = np.zeros(experts, np.float32)
    given: dict[str, Any] = {"ids": ids, "numbers": numbers, "counts": zeros}
    yield "moe_counts", Case(kinds.moe_counts(experts, top), given, counted)
    starts = np.cumsum([0, *counted()[0]])[:-1].astype(np.int32)
    places, seen = np.zeros_like(ids), np.zeros(experts, np.int32)
    for i in np.ndindex(ids.shape):
        places[i], seen[ids[i]] = seen[ids[i]], seen[ids[i]] + 1
    y = random(ids.size, 512)

    def combined() -> Any:
        rows = wide(y)[starts[ids] + places]
        return ((weights[..., None] * rows).sum(0).astype(BF16),)

    def permuted() -> Any:
        order = np.argsort(ids.ravel(), kind="stable")
        return tokens_of[order % tokens], places

    tokens_of = random(tokens, 512)
    given = {"X": tokens_of, "ids": ids, "offsets": starts, "R": ids.size}
    yield "moe_permute", Case(kinds.moe_permute(top), given, permuted)
    given = {"Y": y, "weights": weights, "ids": ids, "places": places, "offsets": starts}
    yield "moe_combine", Case(kinds.moe_combine(top), given, combined)


def of_products(size: int = 512) -> Iterator[tuple[str, Case]]:
    """Yield kinds with one product."""
    rng = np.random.default_rng(3)

    def mma(kind: str = "bf16", to: str = "f32", tile: Any = (128, 128, 32)) -> Any:
        return cx.workgroup_mma(cx.XE_DPAS_TT(8, to, kind), tile, ((4, 4, 1), (4, 1, 0)))

    a, b, other = (random(size, size) for _ in range(3))
    a8, b8 = (convert(wide(x), "f8e4m3") for x in (a, b))
    sa = rng.random((size // 128, size)).astype(np.float32)
    sb = rng.random((size // 128, size // 128)).astype(np.float32)

    def scaled() -> Any:
        rows, columns = np.repeat(sa.T, 128, 1), np.repeat(np.repeat(sb, 128, 0), 128, 1)
        return ((wide(a8) * rows) @ (wide(b8) * columns),)

    given: dict[str, Any] = {"A": a8, "B": b8, "sa": sa, "sb": sb}
    yield "block_scaled_gemm", Case(kinds.block_scaled_gemm(mma("f16")), given, scaled)
    s8, s4 = rng.integers(-99, 99, (size, size)).astype(np.int8), rng.integers(-8, 8, (size, size))
    by, scales = convert(s4.astype(np.float32), "s4"), rng.random((2, size)).astype(np.float32)
    made = kinds.gemm(mma("s8", "s32"), types={"B": "s4"}, epilogue="acc*sa[m]*sb[n]", d_type="f32")
    given = {"A": s8, "B": by, "sa": scales[0], "sb": scales[1]}
    yield "w4a8", Case(made, given, lambda: (wide(s8) @ wide(s4) * scales[0][:, None] * scales[1],))

    def gate() -> Any:
        g, up = wide(a) @ wide(b), wide(a) @ wide(other)
        return (g / (1 + np.exp(-g)) * up,)

    yield "dual_gemm", Case(kinds.dual_gemm(mma()), {"A": a, "B0": b, "B1": other}, gate)
    yield (
        "dealt_gemm",
        Case(
            kinds.dealt_gemm(mma(), size // 128),
            {"A": a, "B": b, "U": 4},
            lambda: (wide(a) @ wide(b),),
        ),
    )
    x, w = random(4, 34, 34, 64), random(3, 3, 64, 128)

    def convolved() -> Any:
        z = wide(x)
        parts = (z[:, r : r + 32, s : s + 32] @ wide(w)[r, s] for r in range(3) for s in range(3))
        return (sum(parts),)

    made = kinds.convolution(mma(tile=(32, 128, 32)))
    yield "convolution", Case(made, {"X": x, "W": w, "P": 32, "Q": 32}, convolved)
    q, k = (convert(wide(random(8, size, 64)), "f8e4m3"), convert(wide(random(64, size)), "f8e4m3"))
    weights, ks = wide(random(8, size)), rng.random(size).astype(np.float32)
    k = np.asfortranarray(k)

    def logits() -> Any:
        scores = np.maximum(wide(q) @ wide(k), 0) * weights[..., None]
        return (scores.sum(0) * ks,)

    made = kinds.mqa_logits(mma("f16"), 8)
    yield "mqa_logits", Case(made, {"Q": q, "K": k, "w": weights, "ks": ks}, logits)
    parts, logs = wide(random(4, 1, 8, size, 64)), wide(random(4, 1, 8, size))

    def merged() -> Any:
        z = np.exp(logs - logs.max(0))[..., None]
        return ((parts * z).sum(0) / z.sum(0),)

    made = kinds.attention_combine(tilings()[1], 4)
    yield "attention_combine", Case(made, {"Os": parts, "lse": logs}, merged)


def in_chunks(q: Any, k: Any, v: Any, logs: Any, state: Any, beta: Any, chunk: int = 64) -> Any:
    """A state that decays, a chunk of tokens at a time; with ``beta`` as the delta rule has it."""
    out = np.empty_like(v)
    for c in range(0, v.shape[1], chunk):
        own, own_logs = slice(c, c + chunk), logs[:, c + 1 : c + chunk + 1]
        since = np.exp(own_logs - logs[:, c, None])[..., None]
        decays = np.exp(own_logs[..., None] - own_logs[:, None])
        decays = np.where(np.tri(chunk, dtype=bool), decays, 0)
        u = v[:, own]
        if beta is not None:
            rate = beta[:, own, None]
            left = rate * (k[:, own] @ k[:, own].swapaxes(1, 2)) * decays
            u = rate * (u - since * (k[:, own] @ state))
            for r in range(1, chunk):
                u[:, r] -= (left[:, r, None, :r] @ u[:, :r])[:, 0]
        seen = (q[:, own] @ k[:, own].swapaxes(1, 2)) * decays
        out[:, own] = since * (q[:, own] @ state) + seen @ u
        late = k[:, own] * np.exp(own_logs[:, -1:] - own_logs)[..., None]
        state = since[:, -1:] * state + late.swapaxes(1, 2) @ u
    return out, state


def states(tokens: int = 256, heads: int = 8, size: int = 64) -> Iterator[tuple[str, Case]]:
    """Yield kinds that carry a state on: NumPy token after token, and by chunks of 64."""
    rng = np.random.default_rng(4)
    q, k = (wide(random(heads, tokens, size)) / 8 for _ in "qk")
    v, begun = wide(random(heads, tokens, size)), wide(random(heads, size, size))
    logs = np.zeros((heads, tokens + 1), np.float32)
    logs[:, 1:] = -rng.random((heads, tokens)).cumsum(1) / 4
    g, beta = np.exp(np.diff(logs)), rng.random((heads, tokens)).astype(np.float32)

    def tokenwise(delta: bool, state: Any, first: int, stop: int, out: Any) -> Any:
        for t in range(first, stop):
            state = g[:, t, None, None] * state
            new = v[:, t]
            if delta:
                new = beta[:, t, None] * (new - (k[:, t, None] @ state)[:, 0])
            state = state + k[:, t, :, None] * new[:, None]
            out[:, t] = (q[:, t, None] @ state)[:, 0]
        return state

    def whole(delta: bool) -> Callable[[], Any]:
        def plain() -> Any:
            out = np.empty_like(v)
            return out, tokenwise(delta, begun, 0, tokens, out)

        return plain

    def chunked(delta: bool) -> Callable[[], Any]:
        return lambda: in_chunks(q, k, v, logs, begun, beta if delta else None)

    given = {"Q": q, "K": k, "V": v, "S0": begun}
    by_chunks = given | {"B": logs, "N": tokens // 64}
    for name, make, more in (
        ("linear_attention", kinds.linear_attention, {}),
        ("delta_rule", kinds.delta_rule, {"beta": beta}),
    ):
        plain, blocks = whole(bool(more)), chunked(bool(more))
        yield name, Case(make(size), given | {"g": g} | more, plain)
        yield f"{name}, chunks", Case(make(size, chunk=64), by_chunks | more, plain, blocks)
    many = wide(random(6, heads, size, size))
    tables = {"starts": [0, 60, 60, 100, tokens], "slots": [5, 1, 2, 0], "begun": [1, 1, 0, 1]}

    def requests() -> Any:
        out, kept = np.empty_like(v), many.copy()
        for b, slot in enumerate(tables["slots"]):
            first, stop = tables["starts"][b : b + 2]
            kept[slot] = tokenwise(False, kept[slot] * tables["begun"][b], first, stop, out)
        return out, kept

    given = {"Q": q, "K": k, "V": v, "g": g, "S": many}
    given |= {name: np.array(x, np.int32) for name, x in tables.items()}
    yield "linear_attention, slots", Case(kinds.linear_attention(size, slots=True), given, requests)


def near(out: Any, parts: Any) -> bool:
    """Whether outputs are NumPy's, or the first holds what it has for requests, one by one."""
    if isinstance(parts, tuple):
        pairs = zip(out if isinstance(out, tuple) else (out,), parts, strict=True)
        return all(np.allclose(wide(x), wide(y), rtol=0.1, atol=0.02) for x, y in pairs)
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
    return took <= case.ceiling * times[0] and right and not report.why


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
        for cases in (
            attentions(lengths, asked.heads),
            experts(lengths),
            *(of_rows(), of_tokens(), of_products(), states()),
        )
        for name, case in cases
        if (not asked.names or any(x in name for x in asked.names)) and not judged(name, case)
    ]
    sys.exit(f"beyond what is asked: {', '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    main()
