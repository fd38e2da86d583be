"""Small kernels of every kind, right as they are built, each in a function of a random source."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from random_kernels import made

import pycute_xe as cx
from pycute_xe.kernel import Kernel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from attention_problems import tilings  # pyright: ignore[reportMissingImports]
from broken_kernels import BROKEN  # pyright: ignore[reportMissingImports]
from mixed_forms import FORMS, made as mixed  # pyright: ignore[reportMissingImports]
from shared_kernels import exchanging, staged  # pyright: ignore[reportMissingImports]

__all__ = ["KINDS", "SLOW"]

Maker = Callable[[random.Random], Kernel]


def _mma(tile: tuple[int, int, int], m: int = 1, n: int = 1) -> cx.TiledMma:
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), tile, ((m, n, 1), (n, 1, 0)))


def _random(r: random.Random) -> Kernel:
    return made(r).kernel


def _attention(**options: Any) -> Maker:
    """Attention of one form; ``tiles`` are those of both products."""
    tiles = options.pop("tiles", {})
    return lambda _: cx.kernel.attention(*tilings(**tiles), **options)


def _broken(r: random.Random) -> Kernel:
    return r.choice([*BROKEN])(_mma((32, 64, 32), 2, 2))


SHARED = {"queries": 8, "keys": 64, "across": 4}
SMALL, WIDE = _mma((16, 16, 16)), _mma((16, 32, 16), 1, 2)

KINDS: dict[str, Maker] = {
    "random": _random,
    "broken": _broken,
    "batches": lambda _: cx.kernel.gemm(SMALL, batch=True),
    "an epilogue in tiles": lambda _: cx.kernel.gemm(
        WIDE, epilogue="relu(acc + bias[n])", epilogue_tile=(8, 16)
    ),
    "sums of columns": lambda _: cx.kernel.gemm(WIDE, also={"columns[n]": "sum(m, acc)"}),
    "a transform": lambda r: mixed(r.choice(FORMS)),
    "shared tiles": lambda r: cx.kernel.slm_gemm(_mma((32, 64, 32), 2, 2), stages=r.randint(1, 3)),
    "one shared array": lambda r: r.choice([exchanging, staged])(),
    "named barriers": lambda _: cx.kernel.specialised_gemm(_mma((16, 32, 16), 1, 2)),
    "parts of K": lambda _: cx.kernel.split_k(WIDE, 3),
    "two products": lambda _: cx.kernel.dual_gemm(WIDE, combine="acc0 * acc1", d_type="bf16"),
    "a gate": lambda _: cx.kernel.dual_gemm(WIDE),
    "products in a row": lambda _: cx.kernel.chained_gemm(_mma((16, 16, 16)), _mma((16, 16, 16))),
    "softmax of rows": lambda _: cx.kernel.softmax_gemm(WIDE, stages=0),
    "the largest of rows": lambda _: cx.kernel.top_k_gemm(WIDE, stages=0),
    "a plan": lambda _: cx.kernel.scheduled(SMALL, fixup=False),
    "a plan of pieces": lambda _: cx.kernel.scheduled(SMALL),
    "groups": lambda _: cx.kernel.scheduled(SMALL, groups="batch", fixup=False),
    "experts": lambda _: cx.kernel.scheduled(SMALL, groups="stacked", fixup=False),
    "whole tiles": lambda _: cx.kernel.whole_tiles(cx.kernel.scheduled(SMALL, fixup=False)),
    "parts put together": lambda _: cx.kernel.attention_combine(tilings(queries=16, keys=32)[1], 3),
    "attention": _attention(),
    "attention, causal": _attention(causal=True, out_type="bf16"),
    "attention, a window": _attention(window=(9, 3), sink=True),
    "attention, cached": _attention(cached=True, causal=True),
    "attention, packed": _attention(packed=True, causal=True),
    "attention, pages": _attention(page=64, group=2, causal=True),
    "attention, shared keys": _attention(tiles=SHARED, sink=True),
    "attention, parts": _attention(splits=3, lse=True, causal=True),
}
"""By name. Only "random" and "broken" take much from the random source."""

SLOW = frozenset(name for name in KINDS if name.startswith("attention,"))
"""Those that take seconds to prove."""
