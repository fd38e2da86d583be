"""Kernels that serving stacks run, small: their operands, and what float64 makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import attention_problems as attended
import numpy as np

import pycute_xe as cx
from pycute_xe import kernel as kinds
from pycute_xe.converting import convert
from pycute_xe.kernel import Kernel

Array = Any


@dataclass(frozen=True)
class Served:
    """A kernel, its operands by name, what its outputs should be, and how near they must come."""

    kernel: Kernel
    given: dict[str, Any]
    wanted: tuple[Array, ...]
    near: float = 1e-5


def wide(x: Array) -> Array:
    return np.asarray(x).astype(np.float64)


def random(rng: np.random.Generator, kind: str, *shape: int) -> Array:
    return convert(rng.standard_normal(shape).astype(np.float32), kind)


def mma(kind: str = "bf16", accumulator: str = "f32", across: int = 1) -> cx.TiledMma:
    op = cx.XE_DPAS_TT(8, accumulator, kind)
    return cx.workgroup_mma(op, (32, 64, 32), ((2, across, 1), (across, 1, 0)))


Rng = np.random.Generator

# ------------------------------------------------------------ rows


def rms_norm(rng: Rng) -> Served:
    x, w = random(rng, "bf16", 20, 80), random(rng, "bf16", 80)
    size = np.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-6)
    kernel = kinds.rms_norm(80, tile=(16, 32), subgroups=1)
    return Served(kernel, {"X": x, "w": w}, (wide(x) / size * wide(w),), 1e-2)


def add_rms_norm(rng: Rng) -> Served:
    x, r, w = random(rng, "bf16", 20, 80), random(rng, "bf16", 20, 80), random(rng, "bf16", 80)
    both = wide(convert((wide(x) + wide(r)).astype(np.float32), "bf16"))
    size = np.sqrt((both**2).mean(1, keepdims=True) + 1e-6)
    kernel = kinds.add_rms_norm(80, tile=(16, 32), subgroups=1)
    return Served(kernel, {"X": x, "R": r, "w": w}, (both, both / size * wide(w)), 1e-2)


def layer_norm(rng: Rng) -> Served:
    x, w, b = random(rng, "f32", 20, 40), random(rng, "f32", 40), random(rng, "f32", 40)
    off = wide(x) - wide(x).mean(1, keepdims=True)
    out = off / np.sqrt((off**2).mean(1, keepdims=True) + 1e-5) * w + b
    kernel = kinds.layer_norm(40, kind="f32", tile=(16, 16), subgroups=1)
    return Served(kernel, {"X": x, "w": w, "b": b}, (out,), 1e-5)


def softmax_rows(rng: Rng) -> Served:
    x = random(rng, "f32", 20, 50)
    e = np.exp(wide(x) - wide(x).max(1, keepdims=True))
    kernel = kinds.softmax_rows(tile=(32, 16), subgroups=2)
    return Served(kernel, {"X": x}, (e / e.sum(1, keepdims=True),))


def quantize_rows(to: str) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        x = random(rng, "bf16", 20, 70)
        scale = np.abs(wide(x)).max(1) / {"s8": 127, "f8e4m3": 448, "f8e5m2": 57344}[to]
        q = (wide(x) / scale[:, None]).astype(np.float32)
        q = np.rint(q) if to == "s8" else wide(convert(q, to))
        kernel = kinds.quantize_rows(to=to, tile=(16, 64), subgroups=1)
        return Served(kernel, {"X": x}, (q, scale), 0.15)  # a last bit may round to its neighbour

    return made


def quantize_groups(to: str, gated: bool = False) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        x = random(rng, "bf16", 20, 152 * (1 + gated))
        value = wide(x)
        if gated:
            gate, up = value[:, :152], value[:, 152:]
            value = gate / (1 + np.exp(-gate)) * up
        parts = np.split(np.abs(value), [64, 128], 1)
        largest = {"s8": 127, "f8e4m3": 448}[to]
        scale = np.stack([p.max(1) for p in parts]) / largest
        q = (value / np.repeat(scale, 64, 0)[:152].T).astype(np.float32)
        q = np.rint(q) if to == "s8" else wide(convert(q, to))
        kernel = kinds.quantize_groups(152, 64, to=to, gated=gated, rows=16, subgroups=1)
        return Served(kernel, {"X": x}, (q, scale), 0.15)

    return made


def argmax_rows(rng: Rng) -> Served:
    x = rng.integers(-5, 5, (20, 50)).astype(np.float32)
    kernel = kinds.argmax_rows(tile=(16, 32), subgroups=1)
    return Served(kernel, {"X": x, "ids": np.arange(50, dtype=np.float32)}, (x.argmax(1),), 0)


def gated_rows(to: str | None = None) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        x = random(rng, "bf16", 20, 96)
        gate, up = wide(x)[:, :48], wide(x)[:, 48:]
        out, given = gate / (1 + np.exp(-gate)) * up, {"X": x}
        if to is not None:
            given |= {"scale": np.float32(0.25)}
            out = np.clip(np.rint(out / 0.25), -128, 127)
        kernel = kinds.gated_rows(48, to=to, tile=(16, 64 if to else 16), subgroups=1)
        return Served(kernel, given, (out,), 1e-2)

    return made


def rope(interleaved: bool = False, rest: int = 0) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        x, at = random(rng, "bf16", 5, 20, 64 + rest), rng.permutation(9)[:5].astype(np.int32)
        angle = rng.standard_normal((9, 32))
        c, s = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
        first, second = slice(0, 32), slice(32, 64)
        if interleaved:
            first, second = slice(0, 64, 2), slice(1, 64, 2)
        out = wide(x)
        a, b, cos, sin = out[..., first], out[..., second], c[at][:, None], s[at][:, None]
        out[..., first], out[..., second] = a * cos - b * sin, b * cos + a * sin
        kernel = kinds.rope(32, interleaved=interleaved, rest=rest)
        return Served(kernel, {"X": x, "cos": c, "sin": s, "positions": at}, (out,), 1e-2)

    return made


def kv_cache_write(cache: Literal["heads", "tokens"], kind: str | None) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        heads, page, slots = 10, 16, np.array([3, -1, 17, 40, 16], np.int32)
        shape = (3, page, heads, 64) if cache == "tokens" else (3, heads, page, 64)
        given: dict[str, Any] = {x: random(rng, "bf16", 5, heads, 64) for x in "KV"}
        given |= {"slots": slots}
        if kind is not None:
            given |= {"k_scale": np.float32(0.25), "v_scale": np.float32(0.5)}
        wanted = []
        for x in "KV":
            held = convert(rng.integers(-3, 3, shape).astype(np.float32), kind or "bf16")
            given[f"{x}C"], out = held, wide(held)
            for token, slot in enumerate(slots):
                if slot < 0:
                    continue
                row = wide(given[x])[token]
                if kind is not None:
                    row = row / given[f"{x.lower()}_scale"]
                if kind == "s8":
                    row = np.clip(np.rint(row), -128, 127)
                elif kind is not None:
                    row = wide(convert(row.astype(np.float32), kind))
                at = (slot // page, slot % page) if cache == "tokens" else (
                    slot // page, slice(None), slot % page)  # fmt: skip
                out[at] = row
            wanted.append(out)
        kernel = kinds.kv_cache_write(page, 64, cache=cache, cache_type=kind)
        return Served(kernel, given, tuple(wanted), 0)

    return made


def mla_cache_write(kind: str | None) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        page, slots = 16, np.array([3, -1, 17, 40, 16], np.int32)
        given: dict[str, Any] = {"C": random(rng, "bf16", 5, 64), "R": random(rng, "bf16", 5, 64)}
        given |= {"slots": slots}
        held = convert(rng.integers(-3, 3, (3, page, 128)).astype(np.float32), kind or "bf16")
        out, rows = wide(held), np.concatenate([wide(given["C"]), wide(given["R"])], 1)
        if kind is not None:
            given |= {"scale": np.float32(0.25)}
            rows = np.clip(np.rint(rows / 0.25), -128, 127)
        for token, slot in enumerate(slots):
            if slot >= 0:
                out[slot // page, slot % page] = rows[token]
        kernel = kinds.mla_cache_write(page, 64, 64, cache_type=kind)
        return Served(kernel, given | {"KC": held}, (out,), 0)

    return made


# ------------------------------------------------------------ products


def block_scaled_gemm(rng: Rng) -> Served:
    a, b = random(rng, "f8e4m3", 40, 200), random(rng, "f8e4m3", 200, 70)
    sa, sb = (rng.random(s).astype(np.float32) for s in ((2, 40), (2, 1)))
    rows = np.repeat(wide(sa).T, 128, 1)[:, :200]
    columns = np.repeat(wide(sb), 128, 0)[:200]
    out = (wide(a) * rows) @ (wide(b) * columns)
    kernel = kinds.block_scaled_gemm(mma("f16"))
    return Served(kernel, {"A": a, "B": b, "sa": sa, "sb": sb}, (out,), 1e-2)


def w4a8(rng: Rng) -> Served:
    a, b = rng.integers(-99, 99, (40, 70)).astype(np.int8), rng.integers(-8, 8, (70, 50))
    sa, sb = rng.random(40).astype(np.float32), rng.random(50).astype(np.float32)
    scaled = "acc*sa[m]*sb[n]"
    kernel = kinds.gemm(mma("s8", "s32"), types={"B": "s4"}, epilogue=scaled, d_type="f32")
    out = (wide(a) @ wide(b)) * wide(sa)[:, None] * sb
    packed = convert(b.astype(np.float32), "s4")
    return Served(kernel, {"A": a, "B": packed, "sa": sa, "sb": sb}, (out,))


def gate_and_up(rng: Rng) -> Served:
    a, b0, b1 = (random(rng, "bf16", *s) for s in ((40, 50), (50, 70), (50, 70)))
    gate, up = wide(a) @ wide(b0), wide(a) @ wide(b1)
    given = {"A": a, "B0": b0, "B1": b1}
    kernel = kinds.dual_gemm(mma(across=2))
    return Served(kernel, given, (gate / (1 + np.exp(-gate)) * up,), 1e-4)


def convolution(rng: Rng) -> Served:
    x, w = random(rng, "bf16", 2, 4, 36, 24), random(rng, "bf16", 3, 3, 24, 20)
    parts = [wide(x)[:, r : r + 2, s : s + 34] @ wide(w)[r, s] for r in range(3) for s in range(3)]
    return Served(kinds.convolution(mma()), {"X": x, "W": w, "P": 2, "Q": 34}, (sum(parts),), 1e-4)


def mqa_logits(rng: Rng) -> Served:
    q, k = random(rng, "f8e4m3", 3, 20, 40), np.asfortranarray(random(rng, "f8e4m3", 40, 50))
    w, ks = random(rng, "f32", 3, 20), rng.random(50).astype(np.float32)
    out = np.einsum("hmn,hm->mn", np.maximum(wide(q) @ wide(k), 0), wide(w)) * ks
    kernel = kinds.mqa_logits(mma("f16"), 3)
    return Served(kernel, {"Q": q, "K": k, "w": w, "ks": ks}, (out,), 1e-4)


def dealt_gemm(rng: Rng) -> Served:
    a, b = random(rng, "bf16", 70, 40), random(rng, "bf16", 40, 128)
    return Served(kinds.dealt_gemm(mma(), 2), {"A": a, "B": b, "U": 3}, (wide(a) @ wide(b),), 1e-4)


# ------------------------------------------------------------ attention


def attention(lengths: list[tuple[int, int]], **options: Any) -> Callable[[Rng], Served]:
    """A problem of attention: keys of another type, scaled, capped, latent; scores with a bias."""

    def made(rng: Rng) -> Served:
        latent, kv = options.get("latent", False), options.get("kv", "bf16")
        group, cap, causal = (options.get(x) for x in ("group", "softcap", "causal"))
        heads, columns = 2, 32
        depth, groups = (columns + 16 if latent else 24), heads // (group or 1)
        scale, count = 0.9 / depth**0.5, groups if options.get("scales") == "heads" else 1
        by = [np.array([0.5, 0.75][:count]), np.array([0.25, 0.125][:count])]
        if not options.get("scales"):
            by = [np.ones(1), np.ones(1)]
        k_scale, v_scale = (np.resize(x, groups).repeat(heads // groups)[:, None, None] for x in by)
        qs = [random(rng, "bf16", heads, m, depth) for m, _ in lengths]
        ks = [random(rng, kv, groups, n, depth) for _, n in lengths]
        vs = [k[..., :columns] if latent else random(rng, kv, *k.shape[:2], columns) for k in ks]
        wanted, logs, begun = [], [], 0
        bias = biases(rng, options.get("bias"), heads, lengths, bool(options.get("packed")))
        for b, (q, k, v, (m, n)) in enumerate(zip(qs, ks, vs, lengths, strict=True)):
            keys, values = (np.repeat(wide(x), heads // groups, 0) for x in (k, v))
            score = scale * k_scale * np.einsum("hmd,hnd->hmn", wide(q), keys)
            score = score if cap is None else cap * np.tanh(score / cap)
            score = score + bias.of(b, begun, m, n)
            score = np.where(attended.seen_by(m, n, bool(causal), None), score, -np.inf)
            top = score.max(-1, keepdims=True, initial=-1e30)
            weight = np.exp(score - top)
            sums = weight.sum(-1, keepdims=True)
            with np.errstate(divide="ignore"):
                logs.append((top + np.log(sums))[..., 0])
            wanted.append(weight / np.maximum(sums, 1) @ values * v_scale)
            begun += m
        packed = bool(options.get("packed"))
        join = (lambda x: np.concatenate(x, 1)) if packed else np.stack
        given: dict[str, Any] = {"Q": join(qs), "scale": np.float32(scale)}
        if options.get("scales"):
            heads_own = options["scales"] == "heads"
            numbers = [x.astype(np.float32) if heads_own else np.float32(x[0]) for x in by]
            given |= dict(zip(("k_scale", "v_scale"), numbers, strict=True))
        if packed:
            starts = np.cumsum([0, *(m for m, _ in lengths)]).astype(np.int32)
            given |= {"starts": starts, "longest": np.int32(max(m for m, _ in lengths))}
        if page := options.get("page"):
            pages = attended.in_pages(rng, ks, vs, page)
            if options.get("cache") == "tokens":
                pages |= {x: np.ascontiguousarray(pages[x].transpose(0, 2, 1, 3)) for x in "KV"}
            given |= pages
        else:
            given |= {"K": join(ks), "V": join(vs)}
            given |= {"key_starts": attended.given_starts(lengths)} if packed else {}
        if latent:
            del given["V"]
            given |= {"E": columns, "R": depth - columns}
        given |= bias.given
        outputs = [join(wanted)]
        if options.get("lse"):
            outputs.append(join(logs))
            given |= {"lse": np.zeros(outputs[1].shape, np.float32)} if packed else {}
        kernel = kinds.attention(*attended.tilings(), out=columns, **options)
        return Served(kernel, given, tuple(outputs), 1e-2)

    return made


@dataclass(frozen=True)
class Biases:
    """Operands that are added to scores, and what they add to those of a batch."""

    given: dict[str, Array]
    of: Callable[[int, int, int, int], Any]


def biases(
    rng: Rng, bias: str | None, heads: int, lengths: list[tuple[int, int]], packed: bool
) -> Biases:
    longest, tokens = max(n for _, n in lengths), sum(m for m, _ in lengths)
    drafts = max(m for m, _ in lengths)
    lead = () if packed else (len(lengths),)
    rows = tokens if packed else drafts
    if bias == "alibi":
        slopes, numbers = random(rng, "f32", heads), np.arange(longest, dtype=np.float32) - 3
        given = {"slopes": slopes, "numbers": numbers}
        return Biases(given, lambda b, t, m, n: slopes[:, None, None] * wide(numbers[:n]))
    if bias == "matrix":
        matrix = random(rng, "f32", *lead, heads, rows, longest)

        def whole(b: int, begun: int, m: int, n: int) -> Array:
            mine = matrix[:, begun : begun + m] if packed else matrix[b]
            return wide(mine[..., :n])

        return Biases({"bias": matrix}, whole)
    if bias == "drafts":
        tree = np.where(rng.random((*lead, rows, drafts)) < 0.5, 0, -np.inf).astype(np.float32)

        def last(b: int, begun: int, m: int, n: int) -> Array:
            mine = tree[begun : begun + m] if packed else tree[b]
            return np.concatenate([np.zeros((m, n - m)), wide(mine[:, :m])], 1)

        return Biases({"tree": tree}, last)
    return Biases({}, lambda *_: 0)


def merging(lse: bool) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        parts, logs = random(rng, "f32", 3, 1, 2, 20, 32), random(rng, "f32", 3, 1, 2, 20)
        if lse:
            logs[0, 0, 1, 3], logs[:, 0, 0, 5] = -np.inf, -np.inf  # parts without a key
        top = wide(logs).max(0).clip(-1e30)
        weights = np.exp(wide(logs) - top)
        sums = weights.sum(0)
        out = (wide(parts) * weights[..., None]).sum(0) / np.maximum(sums, 1)[..., None]
        with np.errstate(divide="ignore"):
            wanted = (out, top + np.log(sums)) if lse else (out,)
        mma_ = attended.tilings(queries=16, keys=32)[1]
        kernel = kinds.attention_combine(mma_, 3, lse=lse)
        return Served(kernel, {"Os": parts, "lse": logs}, wanted)

    return made


def linear_attention(slots: bool, delta: bool = False) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        heads, tokens, depth, columns = 2, 7, 16, 20
        q, k = (random(rng, "f32", heads, tokens, depth) for _ in "qk")
        v = random(rng, "f32", heads, tokens, columns)
        g = rng.random((heads, tokens)).astype(np.float32)
        kind = kinds.delta_rule if delta else kinds.linear_attention
        kernel = kind(depth, subgroups=2, slots=slots)
        rate = rng.random((heads, tokens)).astype(np.float32)
        k = k / 4 if delta else k
        given: dict[str, Any] = {"Q": q, "K": k, "V": v, "g": g}
        given |= {"beta": rate} if delta else {}
        out = np.zeros((heads, tokens, columns))

        def through(state: Array, first: int, stop: int) -> Array:
            for t in range(first, stop):
                state, new = wide(g)[:, t, None, None] * state, wide(v)[:, t]
                if delta:
                    new = rate[:, t, None] * (new - np.einsum("hd,hde->he", wide(k)[:, t], state))
                state = state + wide(k)[:, t, :, None] * new[:, None]
                out[:, t] = np.einsum("hd,hde->he", wide(q)[:, t], state)
            return state

        if not slots:
            begun = random(rng, "f32", heads, depth, columns)
            last = through(wide(begun), 0, tokens)
            return Served(kernel, given | {"S0": begun}, (out, last), 1e-4)
        states = random(rng, "f32", 6, heads, depth, columns)
        tables = {"starts": [0, 3, 3, 7], "slots": [5, 1, 2], "begun": [1, 1, 0]}
        given |= {name: np.array(x, np.int32) for name, x in tables.items()} | {"S": states}
        kept = wide(states)
        for b, slot in enumerate(tables["slots"]):
            first, stop = tables["starts"][b : b + 2]
            kept[slot] = through(kept[slot] * tables["begun"][b], first, stop)
        return Served(kernel, given, (out, kept), 1e-4)

    return made


def causal_conv(slots: bool) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        tokens, channels = 7, 70
        x, w = random(rng, "bf16", tokens, channels), random(rng, "f32", 4, channels)
        given: dict[str, Any] = {"X": x, "W": w, "b": random(rng, "f32", channels)}
        out = np.zeros((tokens, channels))

        def through(window: Array, first: int, stop: int) -> Array:
            seen = np.concatenate([window, wide(x)[first:stop]])
            for t in range(stop - first):
                acc = wide(given["b"]) + (wide(w) * seen[t : t + 4]).sum(0)
                out[first + t] = acc / (1 + np.exp(-acc))
            return seen[-3:]

        kernel = kinds.causal_conv(slots=slots)
        if not slots:
            through(np.zeros((3, channels)), 0, tokens)
            return Served(kernel, given, (out,), 1e-2)
        states = random(rng, "bf16", 6, 3, channels)
        tables = {"starts": [0, 1, 1, 7], "slots": [5, 1, 2], "begun": [1, 1, 0]}
        given |= {name: np.array(x, np.int32) for name, x in tables.items()} | {"S": states}
        kept = wide(states)
        for r, slot in enumerate(tables["slots"]):
            kept[slot] = through(kept[slot] * tables["begun"][r], *tables["starts"][r : r + 2])
        return Served(kernel, given, (out, kept), 1e-2)

    return made


def selective_scan(heads: bool) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        lead, tokens, states, channels = (2,) if heads else (), 7, 16, 20
        own = () if heads else (channels,)
        x, z, begun = (random(rng, "f32", *lead, n, channels) for n in (tokens, tokens, states))
        b, c = (random(rng, "f32", tokens, states) for _ in "bc")
        rate = rng.random((*lead, tokens, *own)).astype(np.float32)
        a = -rng.random(lead if heads else (states, channels)).astype(np.float32)
        d = random(rng, "f32", *(lead or own))
        given = {"X": x, "dt": rate, "B": b, "C": c, "A": a, "D": d, "S0": begun, "Z": z}
        state, out = wide(begun), np.zeros(x.shape)
        wide_a, wide_d = (wide(y)[:, None] if heads else wide(y) for y in (a, d))
        for t in range(tokens):
            step = wide(rate)[..., t, None] if heads else wide(rate)[t]
            decay = np.exp(step * wide_a)[..., None] if heads else np.exp(step * wide_a)
            state = decay * state + wide(b)[t][:, None] * (step * wide(x)[..., t, :])[..., None, :]
            out[..., t, :] = wide(c)[t] @ state + wide_d * wide(x)[..., t, :]
        out = out * wide(z) / (1 + np.exp(-wide(z)))
        kernel = kinds.selective_scan(states, heads=heads, gated=True, subgroups=2)
        return Served(kernel, given, (out, state), 1e-4)

    return made


def inverses(rng: Rng) -> Served:
    many, chunk, heads = 2, 16, 2
    below = random(rng, "f32", heads, many * chunk, chunk) / 4
    triangles = np.tril(wide(below).reshape(heads, many, chunk, chunk), -1)
    out = np.linalg.inv(np.eye(chunk) + triangles).reshape(below.shape)
    return Served(kinds.solve_tril(chunk), {"L": below, "N": many}, (out,), 1e-5)


def inverse_of(keys: Array, logs: Array, rate: Array, chunk: int) -> Array:
    """The inverse of the gated delta rule's triangle for each chunk, by float64's own."""
    heads, tokens, _ = keys.shape
    out = np.zeros((heads, tokens, chunk))
    for head, begun in np.ndindex(heads, tokens // chunk):
        at = slice(begun * chunk, (begun + 1) * chunk)
        k, b = wide(keys)[head, at], wide(logs)[head, begun * chunk + 1 : at.stop + 1]
        below = wide(rate)[head, at, None] * np.exp(b[:, None] - b) * (k @ k.T)
        out[head, at] = np.linalg.inv(np.eye(chunk) + np.tril(below, -1))
    return out


def chunks(
    delta: bool, chunk: int | None = 4, inverse: bool = False, kind: str = "f32", near: float = 1e-4
) -> Callable[[Rng], Served]:
    """A state that decays, which a value changes by what the state lacks of it with ``delta``."""

    def made(rng: Rng) -> Served:
        heads, depth, columns, many = 1, 16, 12 if kind == "f32" else 24, 3
        tokens = many * (chunk or 5)
        q, k = (convert(random(rng, "f32", heads, tokens, depth) / 4, kind) for _ in "qk")
        v, begun = (random(rng, "f32", heads, n, columns) for n in (tokens, depth))
        v = convert(v, kind)
        logs = np.zeros((heads, tokens + 1), np.float32)
        logs[:, 1:] = -rng.random((heads, tokens)).cumsum(1) / 4
        decay = np.exp(np.diff(wide(logs))).astype(np.float32)
        rate = rng.random((heads, tokens)).astype(np.float32)
        given: dict[str, Any] = {"Q": q, "K": k, "V": v, "S0": begun}
        given |= {"B": logs, "N": many} if chunk else {"g": decay}
        given |= {"beta": rate} if delta else {}
        if inverse and chunk:
            given["X"] = convert(inverse_of(k, logs, rate, chunk), kind)
        if kind != "f32":
            given["KT" if delta else "K"] = np.ascontiguousarray(k).transpose(0, 2, 1)
        out, state = np.zeros((heads, tokens, columns)), wide(begun)
        for t in range(tokens):
            state = np.exp(wide(logs)[:, t + 1] - logs[:, t])[:, None, None] * state
            new = wide(v)[:, t]
            if delta:
                lacks = new - np.einsum("hd,hde->he", wide(k)[:, t], state)
                new = wide(rate)[:, t, None] * lacks
            state = state + wide(k)[:, t, :, None] * new[:, None]
            out[:, t] = np.einsum("hd,hde->he", wide(q)[:, t], state)
        kernel = kinds.linear_attention(depth, subgroups=1, chunk=chunk, kind=kind)
        if delta:
            kernel = kinds.delta_rule(depth, subgroups=1, chunk=chunk, inverse=inverse, kind=kind)
        return Served(kernel, given, (out, state), near)

    return made


# ------------------------------------------------------------ experts


def moe_gemm(
    runs: str, gated: bool = False, scaled: str | None = None, weights: str | None = None
) -> Callable[[Rng], Served]:
    """Experts; ``scaled`` with groups of 64, weights of 4 or 8 bits."""

    def made(rng: Rng) -> Served:
        columns, depth, counts = (
            80,
            40 if scaled is None else 96,
            np.array([33, 0, 1, 40], np.int32),
        )
        starts = np.cumsum([0, *counts]).astype(np.int32)
        given: dict[str, Any] = {"longest": np.int32(40)}
        owner = np.repeat(np.arange(4), counts)
        if runs == "starts":
            given |= {"starts": starts}
        elif runs == "counts":
            given |= {"counts": counts, "offsets": starts[:-1].copy()}
        else:
            given = {"experts": np.array([2, 0, -1], np.int32)}
            owner = np.repeat(given["experts"], 32)[:90]
        kind = {"tokens": "s8", "blocks": "f8e4m3"}.get(scaled or "", "bf16")
        a = convert(3 * random(rng, "f32", len(owner), depth), kind)
        wanted = random(rng, "f32", 4, depth, columns * (1 + gated))
        b = convert(wanted if weights is None else 3 * wanted, weights or kind)
        rows, matrices = wide(a), wide(convert(b, "f32"))
        if scaled is not None:
            groups = -(-depth // 64)
            wide_by = {"blocks": -(-columns // 64)}.get(scaled, columns)
            sb = rng.random((4, groups, wide_by * (1 + gated))).astype(np.float32)
            sa = rng.random({"tokens": (len(owner),)}.get(scaled, (groups, len(owner))))
            sa = sa.astype(np.float32)
            halves = np.split(wide(sb), 1 + gated, 2)
            if scaled == "blocks":
                halves = [np.repeat(x, 64, 2)[..., :columns] for x in halves]
            matrices = matrices * np.repeat(np.concatenate(halves, 2), 64, 1)[:, :depth]
            given |= {"sb": sb}
        if scaled == "tokens":
            rows, given = rows * wide(sa)[:, None], given | {"sa": sa}
        if scaled == "blocks":
            rows = rows * np.repeat(wide(sa), 64, 0)[:depth].T
            given |= {"sa": sa}
        out = np.einsum("tk,tkn->tn", rows, matrices[owner]) * (owner >= 0)[:, None]
        if gated:
            gate, up = out[:, :columns], out[:, columns:]
            out = gate / (1 + np.exp(-gate)) * up
        if weights == "s4" and gated:
            b = np.ascontiguousarray(np.moveaxis(b.reshape(4, depth, 2, columns), 2, 1))
        multiplied = {"tokens": ("s8", "s32"), "blocks": ("f16", "f32")}.get(
            scaled or "", ("bf16",)
        )
        kernel = kinds.moe_gemm(
            mma(*multiplied, across=1 + (gated and scaled is not None)),
            runs=runs,
            gated=gated,
            kind=kind,
            weights=weights,
            scaled=scaled,
            group=64,
        )  # pyright: ignore[reportArgumentType, reportCallIssue]
        return Served(kernel, given | {"A": a, "B": b, "N": columns}, (out,), 1e-2)

    return made


def sgmv(expands: bool) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        starts, adapters = (
            np.array([0, 33, 33, 34, 74], np.int32),
            np.array([2, 0, -1, 1], np.int32),
        )
        depth, columns = (16, 80) if expands else (80, 16)
        x, w = random(rng, "bf16", 74, depth), random(rng, "bf16", 3, depth, columns)
        owner = np.repeat(adapters, np.diff(starts))
        out = np.einsum("tk,tkn->tn", wide(x), wide(w)[owner]) * (owner >= 0)[:, None]
        given: dict[str, Any] = {"X": x, "W": w, "starts": starts, "adapters": adapters}
        given |= {"longest": np.int32(40)}
        if expands:
            given |= {"Y": random(rng, "bf16", 74, columns)}
            out = out + wide(given["Y"])
        return Served(kinds.sgmv(mma(), expands=expands), given, (out,), 1e-2)

    return made


def routed(rng: Rng, tokens: int = 20, experts: int = 12, top: int = 2) -> tuple[Array, ...]:
    """Logits of tokens, their experts in turn, and the weights of these."""
    x = rng.permutation(tokens * experts).reshape(tokens, experts).astype(np.float32) / 64
    ids = np.argsort(-x, 1)[:, :top]
    best = np.take_along_axis(wide(x), ids, 1)
    weights = np.exp(best - best[:, :1])
    return x, ids.T.astype(np.int32).copy(), (weights / weights.sum(1, keepdims=True)).T


def moe_routing(among: str) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        x, ids, weights = routed(rng)
        if among == "all":
            e = np.exp(wide(x))
            weights = np.take_along_axis(e / e.sum(1, keepdims=True), ids.T, 1).T
        kernel = kinds.moe_routing(12, among=among, rows=16, subgroups=1)  # pyright: ignore[reportArgumentType]
        return Served(kernel, {"X": x, "numbers": np.arange(12, dtype=np.float32)}, (ids, weights))

    return made


def grouped_routing(rng: Rng) -> Served:
    x, bias = random(rng, "f32", 20, 64), random(rng, "f32", 64) / 4
    score = 1 / (1 + np.exp(-wide(x)))
    groups = np.sort((score + bias).reshape(20, 4, 16))[..., -2:].sum(2)
    best = np.argsort(-groups, 1)[:, :2]
    kept = np.full((20, 4, 16), -np.inf)
    np.put_along_axis(kept, best[..., None], 0, 1)
    ids = np.argsort(-(score + bias + kept.reshape(20, 64)), 1)[:, :2]
    own = np.take_along_axis(score, ids, 1)
    wanted = (ids.T, (2.5 * own / own.sum(1, keepdims=True)).T)
    given = {"X": x, "bias": bias, "numbers": np.arange(64, dtype=np.float32)}
    kernel = kinds.grouped_routing(64, 4, 2, 2, scale=2.5, rows=16, subgroups=1)
    return Served(kernel, given, wanted)


def moe_counts(rng: Rng) -> Served:
    _, ids, _ = routed(rng)
    given = {"ids": ids, "numbers": np.arange(12, dtype=np.float32)}
    given |= {"counts": np.zeros(12, np.float32)}
    kernel = kinds.moe_counts(12, rows=16, subgroups=1)
    return Served(kernel, given, (np.bincount(ids.ravel(), minlength=12),), 0)


def moe_combine(rng: Rng) -> Served:
    _, ids, weights = routed(rng)
    offsets = np.cumsum([0, *np.bincount(ids.ravel(), minlength=12)])[:-1].astype(np.int32)
    places, seen = np.zeros_like(ids), np.zeros(12, np.int32)
    for at in np.ndindex(ids.shape):
        places[at], seen[ids[at]] = seen[ids[at]], seen[ids[at]] + 1
    y = random(rng, "bf16", ids.size, 70)
    out = sum(weights[j][:, None] * wide(y)[offsets[ids[j]] + places[j]] for j in range(2))
    given = {"Y": y, "weights": weights.astype(np.float32), "ids": ids, "places": places}
    return Served(kinds.moe_combine(), given | {"offsets": offsets}, (out,), 1e-2)


ONE = [(5, 70), (1, 130), (7, 7)]

KINDS: dict[str, Callable[[Rng], Served]] = {
    "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "softmax of long rows": softmax_rows,
    "quantisation by token, s8": quantize_rows("s8"),
    "quantisation by token, f8": quantize_rows("f8e4m3"),
    "argmax": argmax_rows,
    "gate and up of rows": gated_rows(),
    "gate and up of rows, s8": gated_rows("s8"),
    "an addition and rms_norm": add_rms_norm,
    "quantisation by groups, s8": quantize_groups("s8"),
    "quantisation by groups, gate and up, s8": quantize_groups("s8", gated=True),
    "quantisation by groups, f8": quantize_groups("f8e4m3"),
    "latent cache write": mla_cache_write(None),
    "latent cache write, s8": mla_cache_write("s8"),
    "cache write, f8": kv_cache_write("tokens", "f8e4m3"),
    "convolution of tokens": causal_conv(slots=False),
    "convolution of tokens, slots": causal_conv(slots=True),
    "selective scan": selective_scan(heads=False),
    "selective scan, heads": selective_scan(heads=True),
    "block-scaled FP8": block_scaled_gemm,
    "w4a8": w4a8,
    "gate and up, fused": gate_and_up,
    "convolution": convolution,
    "MQA logits": mqa_logits,
    "tiles by tickets": dealt_gemm,
    "attention, softcap": attention([(20, 45)], softcap=5.0, causal=True),
    "MLA": attention([(20, 45)], latent=True),
    "attention, FP8 cache": attention([(20, 45)], scales=True, kv="f8e4m3"),
    "attention, merging of split keys": merging(lse=False),
    "attention, merging with lse": merging(lse=True),
    "linear attention": linear_attention(slots=False),
    "routing": moe_routing("chosen"),
    "routing, weights among all": moe_routing("all"),
    "grouped routing": grouped_routing,
    "counts of experts": moe_counts,
    "rope": rope(),
    "rope, pairs": rope(interleaved=True, rest=32),
    "cache write, tokens first": kv_cache_write("tokens", None),
    "cache write, heads first, s8": kv_cache_write("heads", "s8"),
    "chunked prefill, pages": attention(
        ONE, packed=True, page=64, cache="tokens", causal=True, group=2
    ),
    "chunked prefill, FP8 pages": attention(
        ONE, packed=True, page=64, causal=True, scales=True, kv="f8e4m3"
    ),
    "decode, FP8 pages with scales of heads": attention(
        [(1, 70), (1, 5)], scales="heads", kv="f8e4m3", page=64
    ),
    "MLA, pages": attention([(5, 70), (5, 130)], latent=True, page=64, group=2),
    "lse of packed queries": attention(ONE, packed=True, causal=True, lse=True),
    "lse of pages": attention([(1, 70), (1, 0)], packed=True, page=64, lse=True),
    "ALiBi": attention([(20, 45)], bias="alibi", causal=True),
    "ALiBi, pages": attention(ONE, packed=True, page=64, bias="alibi", causal=True, softcap=9.0),
    "scores with a matrix": attention([(20, 45)], bias="matrix"),
    "packed scores with a matrix": attention(ONE, packed=True, bias="matrix"),
    "drafted tokens": attention([(7, 45), (7, 45)], bias="drafts", lse=True),
    "drafted tokens, pages": attention(ONE, packed=True, page=64, bias="drafts"),
    "experts, starts": moe_gemm("starts"),
    "experts, counts, gate and up": moe_gemm("counts", gated=True),
    "experts, tiles": moe_gemm("blocks"),
    "experts, 4-bit weights by groups": moe_gemm("starts", scaled="weights", weights="s4"),
    "experts, 4-bit weights, tokens of s8": moe_gemm("starts", True, "tokens", "s4"),
    "experts, FP8 by blocks": moe_gemm("starts", gated=True, scaled="blocks"),
    "experts, FP8 by blocks, tiles": moe_gemm("blocks", scaled="blocks"),
    "adapters, shrinking": sgmv(expands=False),
    "adapters, expanding": sgmv(expands=True),
    "weighted combine": moe_combine,
    "linear attention, slots": linear_attention(slots=True),
    "linear attention, chunks": chunks(delta=False),
    "delta rule": chunks(delta=True, chunk=None),
    "delta rule, slots": linear_attention(slots=True, delta=True),
    "delta rule, chunks": chunks(delta=True),
    "linear attention, products": chunks(False, 32, kind="bf16", near=2e-2),
    "inverses of triangles": inverses,
    "delta rule, inverses": chunks(delta=True, chunk=16, inverse=True),
    "delta rule, products": chunks(True, 32, True, kind="f16", near=1e-2),
}
"""Each is proved for all sizes."""


def served(name: str) -> Served:
    """Return the problem of a kind."""
    return KINDS[name](np.random.default_rng(3))


def off(found: Any, wanted: tuple[Array, ...]) -> float:
    """Return how far outputs are from what they should be, relative where that is large."""
    outputs = found if isinstance(found, tuple) else (found,)
    pairs = [(wide(o), w) for o, w in zip(outputs, wanted, strict=True)]
    with np.errstate(invalid="ignore"):  # infinities that are equal
        apart = [np.where(o == w, 0, np.abs(o - w) / (1 + np.abs(w))) for o, w in pairs]
    return max(float(np.max(x)) if not np.isnan(x).any() else np.inf for x in apart)
