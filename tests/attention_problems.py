"""Problems of attention: operands at random, and what float64 makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pycute_xe as cx
from pycute_xe.converting import convert
from pycute_xe.kernel import Kernel, attention
from pycute_xe.numeric import as_numeric

Array = Any


@dataclass(frozen=True)
class Problem:
    """A kernel, its operands by name, and what O should be."""

    kernel: Kernel
    operands: dict[str, Array]
    wanted: Array
    largest: float
    told: str = ""
    sizes: dict[str, int] = field(default_factory=dict[str, int])


def softmax_of(
    q: Array, k: Array, v: Array, scale: float, sees: Array, sink: Array | None = None
) -> tuple[Array, Array]:
    """Return softmax(scale · Q Kᵀ) V over the keys that are seen, and the logarithm of its sums.

    Q is (heads, M, D), K and V have a head for each of as many groups.
    """
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    together = q.shape[0] // k.shape[0]
    out, logs = [], []
    for head in range(q.shape[0]):
        scores = np.where(sees, scale * (q[head] @ k[head // together].T), -np.inf)
        if not scores.shape[1] and sink is None:  # nothing is seen
            out.append(np.zeros((q.shape[1], v.shape[2])))
            logs.append(np.full(q.shape[1], -np.inf))
            continue
        extra = [] if sink is None else [float(sink[head])]
        top = np.maximum(scores.max(axis=1, initial=-np.inf), max(extra, default=-np.inf))[:, None]
        weights = np.exp(scores - top)
        sums = weights.sum(axis=1, keepdims=True) + sum(np.exp(x - top) for x in extra)
        out.append(weights @ v[head // together] / sums)
        logs.append((top + np.log(sums))[:, 0])
    return np.stack(out), np.stack(logs)


def seen_by(queries: int, keys: int, causal: bool, window: tuple[int, int] | None) -> Array:
    """Return which of the keys each query sees, one query after the other."""
    out = np.zeros((queries, keys), bool)
    for i in range(queries):
        own = i + keys - queries
        for j in range(keys):
            late = causal and j > own
            far = window is not None and not own - window[0] <= j <= own + window[1]
            out[i, j] = not late and not far
    return out


def tilings(
    kind: str = "bf16",
    queries: int = 16,
    keys: int = 32,
    depth: int = 16,
    columns: int = 16,
    subgroups: int = 1,
    across: int = 1,
) -> tuple[cx.TiledMma, cx.TiledMma]:
    """Return tilings of both products: queries shared out over subgroups, or keys."""
    op = cx.XE_DPAS_TT(min(8, queries // subgroups), "f32", kind)
    first = cx.workgroup_mma(op, (queries, keys, depth), ((subgroups, across, 1), (across, 1, 0)))
    second = ((subgroups, 1, across), (across, 0, 1))
    return first, cx.workgroup_mma(op, (queries, columns, keys), second)


def values(rng: np.random.Generator, kind: str, *shape: int) -> Array:
    """Return normally distributed numbers of a type."""
    return convert(rng.standard_normal(shape), as_numeric(kind))


def problem(
    rng: np.random.Generator,
    mmas: tuple[cx.TiledMma, cx.TiledMma],
    lengths: list[tuple[int, int]],
    *,
    group: int = 1,
    heads: int = 2,
    depth: int = 24,
    columns: int = 32,
    **options: Any,
) -> Problem:
    """Return a problem of batches of so many (queries, keys); those of a dense one are alike."""
    kind, scale = str(options.get("kind") or mmas[0].atom.op.A), 0.9 / depth**0.5
    kernel = attention(*mmas, group=group, **options)
    causal, window = bool(options.get("causal")), options.get("window")
    groups = heads // group
    given: dict[str, Array] = {"scale": np.float32(scale)}
    if options.get("sink"):
        given["sink"] = (2 + rng.standard_normal(heads)).astype(np.float32)
    qs = [values(rng, kind, heads, m, depth) for m, _ in lengths]
    ks = [values(rng, kind, groups, n, depth) for _, n in lengths]
    vs = [values(rng, kind, groups, n, columns) for _, n in lengths]
    wanted = [
        softmax_of(q, k, v, scale, seen_by(m, n, causal, window), given.get("sink"))[0]
        for q, k, v, (m, n) in zip(qs, ks, vs, lengths, strict=True)
    ]
    packed = bool(options.get("packed"))
    given["Q"] = np.concatenate(qs, axis=1) if packed else np.stack(qs)
    if packed:
        given["starts"] = np.cumsum([0, *(m for m, _ in lengths)]).astype(np.int32)
        given["longest"] = np.int32(max(m for m, _ in lengths))
    if options.get("page"):
        given |= in_pages(rng, ks, vs, int(options["page"]))
    elif packed and options.get("cached"):
        cuts = [n // 3 for _, n in lengths]
        given["cache_starts"] = np.cumsum([0, *cuts]).astype(np.int32)
        given["key_starts"] = given_starts(lengths) - given["cache_starts"]
        for name, xs in (("K", ks), ("V", vs)):
            pairs = list(zip(xs, cuts, strict=True))
            given[f"{name}0"] = np.concatenate([x[:, :cut] for x, cut in pairs], axis=1)
            given[name] = np.concatenate([x[:, cut:] for x, cut in pairs], axis=1)
    elif packed:
        given["key_starts"] = given_starts(lengths)
        given |= {"K": np.concatenate(ks, axis=1), "V": np.concatenate(vs, axis=1)}
    elif options.get("cached"):
        cut = max(1, lengths[0][1] // 3)
        for name, x in (("K", np.stack(ks)), ("V", np.stack(vs))):
            given |= {f"{name}0": x[:, :, :cut], name: x[:, :, cut:]}
    else:
        given |= {"K": np.stack(ks), "V": np.stack(vs)}
    largest = max(float(np.abs(v.astype(np.float64)).max(initial=0)) for v in vs)
    told = f"{lengths} group={group} heads={heads} D={depth} E={columns} {options}"
    result = np.concatenate(wanted, axis=1) if packed else np.stack(wanted)
    return Problem(kernel, given, result, largest, told)


def given_starts(lengths: list[tuple[int, int]]) -> Array:
    """Return where the keys of each batch start, and where the last ones end."""
    return np.cumsum([0, *(n for _, n in lengths)]).astype(np.int32)


UNUSED = -7
"""What entries of a table of pages hold that are not used."""


def in_pages(
    rng: np.random.Generator, ks: list[Array], vs: list[Array], page: int
) -> dict[str, Array]:
    """Scatter keys and values over pages in any order.

    Behind the last key there is NaN, and in pages that nobody uses; entries that are not used are
    no pages.
    """
    counts = [-(-k.shape[1] // page) for k in ks]
    order = rng.permutation(sum(counts) + 2)
    table = np.full((len(ks), max(counts)), UNUSED, np.int32)
    found: dict[str, Array] = {"lengths": np.array([k.shape[1] for k in ks], np.int32)}
    for name, parts in (("K", ks), ("V", vs)):
        groups, _, width = parts[0].shape
        whole = np.full((order.size, groups, page, width), np.nan, parts[0].dtype)
        used = 0
        for batch, part in enumerate(parts):
            for number in range(counts[batch]):
                place = int(order[used])
                used += 1
                table[batch, number] = place
                rows = part[:, number * page : (number + 1) * page]
                whole[place, :, : rows.shape[1]] = rows
        found[name] = whole
    return found | {"pages": table}


def off(found: Array, problem_: Problem) -> float:
    """Return how far a result is from float64, relative to the largest value."""
    o = found[0] if isinstance(found, tuple) else found
    error = np.abs(np.asarray(o).astype(np.float64) - problem_.wanted)
    return float("inf") if np.isnan(error).any() else float(error.max()) / problem_.largest
