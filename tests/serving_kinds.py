"""Kernels that serving stacks run, small: their operands, and what float64 makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from serving_attention import attention, merging
from serving_experts import grouped_routing, moe_combine, moe_counts, moe_gemm, moe_routing, sgmv
from serving_problem import Array, Rng, Served, mma, random, wide
from serving_rows import (
    add_rms_norm,
    argmax_rows,
    dequantize_groups,
    embedding,
    gated_rows,
    kv_cache_gather,
    kv_cache_write,
    layer_norm,
    mla_cache_write,
    quantize_groups,
    quantize_rows,
    rms_norm,
    rope,
    softmax_rows,
)
from serving_states import (
    causal_conv,
    chunks,
    inverse_of,
    inverses,
    linear_attention,
    selective_scan,
)

from pycute_xe import kernel as kinds
from pycute_xe.converting import convert

__all__ = [
    "KINDS",
    "TEXTLESS",
    "UNDECIDED",
    "Served",
    "inverse_of",
    "mma",
    "off",
    "random",
    "served",
    "wide",
]


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


ONE = [(5, 70), (1, 130), (7, 7)]
SHARED = {"queries": 8, "keys": 64, "across": 4}

KINDS: dict[str, Callable[[Rng], Served]] = {
    "rms_norm": rms_norm(),
    "rms_norm, s8": rms_norm("s8"),
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
    "cache write, scales of heads, s8": kv_cache_write("tokens", "s8", by_head=True),
    "cache write, heads first, scales of heads, s8": kv_cache_write("heads", "s8", by_head=True),
    "pages gathered": kv_cache_gather(None),
    "pages gathered, s8": kv_cache_gather("s8"),
    "embedding": embedding,
    "4-bit weights widened": dequantize_groups,
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
    "routing": moe_routing(renormalize=True),
    "routing, weights among all": moe_routing(renormalize=False),
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
    "drafted tokens, keys shared": attention(ONE, SHARED, packed=True, bias="drafts"),
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
"""Each is proved for all sizes, but those that are `UNDECIDED`."""

TEXTLESS = {name for name in KINDS if name.endswith(", f8")}
"""Instructions on registers compute with no f8: these have no text."""
UNDECIDED = {
    "lse of packed queries": "lse values",  # additions of a tile's rows behind a batch's end
    "lse of pages": "lse values",
}
"""What is undecided of each."""


def served(name: str) -> Served:
    """Return the problem of a kind."""
    return KINDS[name](np.random.default_rng(3))


def off(found: Any, wanted: tuple[Array, ...]) -> float:
    """Return how far outputs are from what they should be, relative where that is large."""
    outputs = found if isinstance(found, tuple) else (found,)
    pairs = [(wide(o), w) for o, w in zip(outputs, wanted, strict=True)]
    with np.errstate(invalid="ignore"):  # infinities that are equal
        apart = [np.where(o == w, 0, np.abs(o - w) / (1 + np.abs(w))) for o, w in pairs]
    return max(float(np.max(x, initial=0)) if not np.isnan(x).any() else np.inf for x in apart)
