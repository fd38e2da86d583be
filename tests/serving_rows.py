"""Kernels of rows that serving stacks run, and writes into caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from serving_problem import Rng, Served, random, wide

from pycute_xe import kernel as kinds
from pycute_xe.converting import convert


def rms_norm(to: str | None = None) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        x, w = random(rng, "bf16", 20, 80), random(rng, "bf16", 80)
        out = wide(x) / np.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-6) * wide(w)
        given = {"X": x, "w": w}
        if to is not None:
            given |= {"by": np.float32(0.125)}
            out = np.clip(np.rint(out / 0.125), -128, 127)
        kernel = kinds.rms_norm(80, to=to, tile=(16, 32), subgroups=1)
        return Served(kernel, given, (out,), 1e-2)

    return made


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


def kv_cache_write(
    cache: Literal["heads", "tokens"], kind: str | None, by_head: bool = False
) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        heads, page, slots = 10, 16, np.array([3, -1, 17, 40, 16], np.int32)
        shape = (3, page, heads, 64) if cache == "tokens" else (3, heads, page, 64)
        given: dict[str, Any] = {x: random(rng, "bf16", 5, heads, 64) for x in "KV"}
        given |= {"slots": slots}
        if kind is not None:
            by = [0.25, 0.5] if not by_head else [2.0 ** rng.integers(-3, 3, heads) for _ in "kv"]
            given |= {f"{x}_scale": np.float32(y) for x, y in zip("kv", by, strict=True)}
        wanted = []
        for x in "KV":
            held = convert(rng.integers(-3, 3, shape).astype(np.float32), kind or "bf16")
            given[f"{x}C"], out = held, wide(held)
            rows = wide(given[x])
            if kind is not None:
                rows = rows / np.reshape(given[f"{x.lower()}_scale"], (-1, 1))
                rows = wide(convert(rows.astype(np.float32), kind))
            for token, slot in enumerate(slots):
                at = (slot // page, slot % page) if cache == "tokens" else (
                    slot // page, slice(None), slot % page)  # fmt: skip
                if slot >= 0:
                    out[at] = rows[token]
            wanted.append(out)
        kernel = kinds.kv_cache_write(page, 64, cache=cache, cache_type=kind, by_head=by_head)
        return Served(kernel, given, tuple(wanted), 0)

    return made


def kv_cache_gather(kind: str | None) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        heads, page, starts = 10, 16, np.array([0, 20, 20, 21, 53], np.int32)
        cache = convert(random(rng, "f32", 9, page, heads, 64) * 3, kind or "bf16")
        order, pages, out, used = rng.permutation(9), np.full((4, 3), -7, np.int32), [], 0
        for b, count in enumerate(np.diff(starts)):
            mine = order[used : used + -(-count // page)]
            used, pages[b, : len(mine)] = used + len(mine), mine
            out.append(wide(cache)[mine].reshape(-1, heads, 64)[:count])
        given = {"KC": cache, "starts": starts, "pages": pages, "T": 53}
        given |= {} if kind is None else {"scale": np.float32(0.25)}
        wanted = np.concatenate(out) * (1 if kind is None else 0.25)
        return Served(kinds.kv_cache_gather(page, 64, cache_type=kind), given, (wanted,), 0)

    return made


def embedding(rng: Rng) -> Served:
    ids, rows = np.array([7, 3, 12, 5, 11, 7, -2], np.int32), random(rng, "bf16", 7, 70)
    mine = (ids >= 5) & (ids < 12)
    out = np.where(mine[:, None], wide(rows)[np.where(mine, ids - 5, 0)], 0)
    return Served(kinds.embedding(), {"W": rows, "ids": ids, "first": np.int32(5)}, (out,), 0)


def dequantize_groups(rng: Rng) -> Served:
    b, shape = rng.integers(0, 16, (150, 80)), (3, 80)
    zero = rng.integers(0, 16, shape).astype(np.float32)
    scale = 2.0 ** rng.integers(-3, 3, shape).astype(np.float32)
    by, off = (np.repeat(wide(x), 64, 0)[:150] for x in (scale, zero))
    given = {"B": convert(b.astype(np.float32), "u4"), "scale": scale, "zero": zero}
    return Served(kinds.dequantize_groups(64), given, ((b - off) * by,), 0)


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
