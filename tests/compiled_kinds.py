"""Kernels of every kind that is compiled and executed, small: what each is given, and how exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from attention_problems import problem, tilings
from compiled_cases import RECORDED, held_against_run
from mixed_forms import FORMS, inputs, made
from serving_kinds import KINDS, TEXTLESS, served

import pycute_xe as cx
from pycute_xe.converting import convert
from pycute_xe.kernel import Kernel, attention_combine
from pycute_xe.kernel.schedules import Persistent, plan_tables, tile_counts

# An exponential and a quotient are rounded otherwise, and sums of rows go in another order.
SHARE = 2.0**-21
SIZES = {"M": 33, "N": 70, "K": 100}
Given = tuple[Kernel, dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """What makes a kernel and its operands; see `held_against_run` for the others."""

    make: Callable[[], Given]
    share: float = 0
    unrolls: bool = False

    def wrong(self, made: tuple[str, str] = ("pvc", RECORDED)) -> list[str]:
        """What the binary does otherwise than a run."""
        kernel, given = self.make()
        return held_against_run(kernel, given, share=self.share, unrolls=self.unrolls, made=made)


def _mma(
    tile: tuple[int, int, int] = (32, 64, 32), m: int = 2, n: int = 2, kind: str = "bf16"
) -> cx.TiledMma:
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", kind), tile, ((m, n, 1), (n, 1, 0)))


def _filled(kernel: Kernel, **sizes: int) -> Given:
    return kernel, inputs(kernel, SIZES | sizes)


def _rounding(kernel: Kernel, **sizes: int) -> Given:
    """A kernel and operands of which products are rounded."""
    rng = np.random.default_rng(1)
    named = SIZES | sizes
    given = {
        o.name: convert(rng.standard_normal(tuple(m.at(named) for m in o.modes)), o.value_type)
        for o in kernel.inputs
    }
    return kernel, given


def attended(lengths: list[tuple[int, int]], **options: Any) -> Given:
    """A problem of attention; ``tiles`` are those of both products."""
    tiles = options.pop("tiles", {})
    made_ = problem(np.random.default_rng(7), tilings(**tiles), lengths, **{"out": 32, **options})
    return made_.kernel, made_.operands


def _combined() -> Given:
    rng = np.random.default_rng(0)
    parts, logs = rng.standard_normal((3, 1, 2, 20, 32)), rng.standard_normal((3, 1, 2, 20))
    kernel = attention_combine(tilings(queries=16, keys=32)[1], 3)
    return kernel, {"Os": parts.astype(np.float32), "lse": logs.astype(np.float32)}


def _planned() -> Given:
    mma = _mma((16, 16, 16), 1, 1)
    kernel, (m, n, k) = cx.kernel.scheduled(mma, fixup=False), (40, 30, 50)
    rng = np.random.default_rng(1)
    given = {
        name: convert(rng.standard_normal(shape), "bf16")
        for name, shape in (("A", (m, k)), ("B", (k, n)))
    }
    return kernel, given | plan_tables(Persistent(3).plan(tile_counts(m, n, k, mma.tile_mnk)))


SHARED = {"tiles": {"queries": 8, "keys": 64, "across": 4}}
CASES: dict[str, Case] = {
    "scales of groups on s4": Case(lambda: _filled(made(FORMS[9]), M=9, N=72, K=70)),
    "shared tiles, 1 stage": Case(lambda: _filled(cx.kernel.slm_gemm(_mma(), stages=1))),
    "shared tiles, 3 stages": Case(lambda: _filled(cx.kernel.slm_gemm(_mma(), stages=3))),
    "swizzled tiles": Case(
        lambda: _filled(cx.kernel.slm_gemm(_mma(), b="col", swizzle_b=cx.Swizzle(1, 4, 3)))
    ),
    "two products at once": Case(
        lambda: _rounding(cx.kernel.dual_gemm(_mma(), combine="acc0 * acc1", d_type="bf16"))
    ),
    "a gate": Case(lambda: _rounding(cx.kernel.dual_gemm(_mma())), SHARE),
    "two products in a row": Case(
        lambda: _filled(cx.kernel.chained_gemm(_mma((32, 32, 16)), _mma((32, 32, 16))), N=40)
    ),
    "softmax of rows": Case(
        lambda: _rounding(cx.kernel.softmax_gemm(_mma((16, 64, 32), 1, 4)), N=60), SHARE
    ),
    "the largest of rows": Case(
        lambda: _rounding(cx.kernel.top_k_gemm(_mma((16, 32, 16), 1, 2)), N=30), SHARE
    ),
    "parts of K": Case(lambda: _filled(cx.kernel.split_k(_mma(), 3)), unrolls=True),
    "tiles of a plan": Case(_planned),
    "attention, two subgroups": Case(
        lambda: attended(
            [(40, 45)], out_type="bf16", tiles={"subgroups": 2, "queries": 32}, causal=True
        )
    ),
    "attention, a window": Case(lambda: attended([(20, 45)], window=(9, 3), sink=True), SHARE),
    "attention, cached keys": Case(lambda: attended([(20, 50)], cached=True, causal=True), SHARE),
    "attention, packed batches": Case(
        lambda: attended([(20, 45), (7, 7)], packed=True, causal=True), SHARE
    ),
    "attention, pages": Case(
        lambda: attended([(5, 70), (5, 130)], page=64, group=2, causal=True), SHARE
    ),
    "attention, keys of 8 queries shared": Case(
        lambda: attended([(8, 150)], **SHARED, sink=True), SHARE
    ),
    "attention, keys of one query shared": Case(
        lambda: attended([(1, 150)], tiles={**SHARED["tiles"], "queries": 1}, heads=1), SHARE
    ),
    "attention, parts of the keys": Case(
        lambda: attended([(20, 85)], splits=3, lse=True, causal=True), SHARE, unrolls=True
    ),
    "attention, parts put together": Case(_combined, SHARE),
}


def _share(name: str) -> float:
    """How far off a result may be: what is rounded to a narrow type may be by a last bit."""
    if name.endswith("products"):
        return 2.0**-8
    return 1 / 127 if "s8" in name else SHARE * 2


def _served(name: str) -> Given:
    one = served(name)
    return one.kernel, one.given


# A quotient is rounded otherwise, so that a quantised number may be the one beside it.
CASES |= {
    name: Case(partial(_served, name), _share(name), unrolls=True)
    for name in KINDS
    if name not in TEXTLESS
}
