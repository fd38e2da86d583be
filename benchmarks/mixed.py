"""Time `run` (fast executor) of converted and scaled weights against NumPy on converted weights.

NumPy's weights are float32 already; A is converted by both. Both are timed alternately in one
process. Targets: 1.5 for weights of 8 bits; 2.0 for 4 bits, and with zero points and scales.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from gemm import BF16, F32, Array, Call, compare, kernel, normal

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype

SCALED = "(B - zero[k/128,n]) * scale[k/128,n]"


def case(n: int, bits: int, scaled: bool) -> tuple[float, Call, Call]:
    """Return the target, ours, and NumPy's product of converted weights."""
    rng = np.random.default_rng(0)
    a: Array = normal(n, n)
    half = 1 << (bits - 1)
    b = rng.integers(-half, half, (n, n)).astype(numpy_dtype(f"s{bits}"))
    given: dict[str, Any] = {"types": {"B": f"s{bits}", "zero": "s8", "scale": "f16"}}
    more: dict[str, Any] = {}
    weights = b.astype(F32)
    if scaled:
        given["transform_b"] = SCALED
        more = {
            "zero": rng.integers(-8, 8, (-(-n // 128), n)).astype(np.int8),
            "scale": rng.choice([0.5, 1.0, 2.0], (-(-n // 128), n)).astype(np.float16),
        }
        group = np.arange(n) // 128
        weights = (weights - more["zero"][group]) * more["scale"].astype(F32)[group]
        weights = weights.astype(BF16).astype(F32)
    made = kernel(**given)
    return (
        2.0 if scaled or bits < 8 else 1.5,
        lambda: cx.run(made, a, b, **more, executor="fast"),
        lambda: a.astype(F32) @ weights,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for bits in (8, 4):
        for scaled in (False, True):
            target, ours, numpy = case(1024, bits, scaled)
            name = f"bf16 x s{bits} 1024^3" + ", zero points and scales of 128" * scaled
            print(f"{name}: {compare(ours, numpy, rounds)}; target {target}", flush=True)
