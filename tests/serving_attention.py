"""Problems of attention that serving stacks run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import attention_problems as attended
import numpy as np
from serving_problem import Array, Rng, Served, random, wide

from pycute_xe import kernel as kinds


def attention(
    lengths: list[tuple[int, int]], tiles: dict[str, int] | None = None, **options: Any
) -> Callable[[Rng], Served]:
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
        kernel = kinds.attention(*attended.tilings(**(tiles or {})), out=columns, **options)
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
