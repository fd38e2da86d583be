"""Experts, routing and adapters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from serving_problem import Array, Rng, Served, mma, random, wide

from pycute_xe import kernel as kinds
from pycute_xe.converting import convert
from pycute_xe.kernel.serving.moe import RunsBy, Scaled

TYPES = {None: ("bf16", "f32"), "weights": ("bf16", "f32"), "tokens": ("s8", "s32")}
"""The types that are multiplied and added up, of what has scales; FP8 is widened to f16."""
GROUP = 64


def moe_gemm(
    runs: RunsBy, gated: bool = False, scaled: Scaled | None = None, weights: str | None = None
) -> Callable[[Rng], Served]:
    """Experts; those that are ``scaled`` have groups of 64, and perhaps weights of 4 bits."""

    def made(rng: Rng) -> Served:
        columns, depth = 80, 40 if scaled is None else 96
        counts = np.array([33, 0, 1, 40], np.int32)
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
        kind = "f8e4m3" if scaled == "blocks" else TYPES[scaled][0]
        a = convert(3 * random(rng, "f32", len(owner), depth), kind)
        b = convert(3 * random(rng, "f32", 4, depth, columns * (1 + gated)), weights or kind)
        rows, matrices = wide(a), wide(convert(b, "f32"))
        if scaled is not None:
            scales, by_row, by_weight = scales_of(rng, scaled, rows.shape, columns, 1 + gated)
            given, rows, matrices = given | scales, rows * by_row, matrices * by_weight
        out = np.einsum("tk,tkn->tn", rows, matrices[owner]) * (owner >= 0)[:, None]
        if gated:
            gate, up = out[:, :columns], out[:, columns:]
            out = gate / (1 + np.exp(-gate)) * up
        if weights == "s4" and gated:
            b = np.ascontiguousarray(np.moveaxis(b.reshape(4, depth, 2, columns), 2, 1))
        types = ("f16", "f32") if scaled == "blocks" else TYPES[scaled]
        multiplied = mma(*types, across=1 + (gated and scaled is not None))
        options: dict[str, Any] = {"kind": kind, "weights": weights, "scaled": scaled}
        kernel = kinds.moe_gemm(multiplied, runs=runs, gated=gated, group=GROUP, **options)
        return Served(kernel, given | {"A": a, "B": b, "N": columns}, (out,), 1e-2)

    return made


def scales_of(
    rng: Rng, scaled: Scaled, shape: tuple[int, ...], columns: int, halves: int
) -> tuple[dict[str, Array], Array, Array]:
    """Scales by name, and what they make of rows and of weights, element by element."""
    tokens, depth = shape
    groups, blocks = -(-depth // GROUP), -(-columns // GROUP)
    sb = rng.random((4, groups, halves * (blocks if scaled == "blocks" else columns)))
    sb = sb.astype(np.float32)
    parts = np.split(wide(sb), halves, 2)
    if scaled == "blocks":
        parts = [np.repeat(x, GROUP, 2)[..., :columns] for x in parts]
    by_weight = np.repeat(np.concatenate(parts, 2), GROUP, 1)[:, :depth]
    if scaled == "weights":
        return {"sb": sb}, 1.0, by_weight
    sa = rng.random((tokens,) if scaled == "tokens" else (groups, tokens)).astype(np.float32)
    by_row = wide(sa)[:, None] if scaled == "tokens" else np.repeat(wide(sa), GROUP, 0)[:depth].T
    return {"sa": sa, "sb": sb}, by_row, by_weight


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


def moe_routing(renormalize: bool) -> Callable[[Rng], Served]:
    def made(rng: Rng) -> Served:
        x, ids, weights = routed(rng)
        if not renormalize:
            e = np.exp(wide(x))
            weights = np.take_along_axis(e / e.sum(1, keepdims=True), ids.T, 1).T
        kernel = kinds.moe_routing(12, renormalize=renormalize, rows=16, subgroups=1)
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
