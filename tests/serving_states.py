"""States that decay, windows of tokens, and inverses of triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from serving_problem import Array, Rng, Served, random, wide

from pycute_xe import kernel as kinds
from pycute_xe.converting import convert


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
        tables = {"starts": [0, 3, 3, 7], "slots": [0, 5, 2], "begun": [1, 1, 0]}
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
        tables = {"starts": [0, 1, 1, 7], "slots": [0, 5, 2], "begun": [1, 1, 0]}
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
