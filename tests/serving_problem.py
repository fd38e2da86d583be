"""A kernel that serving stacks run, its operands, and what float64 makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import pycute_xe as cx
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
