"""Random kernels that are small enough to run quickly, each with what NumPy makes of its inputs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from made_kernels import Arrays, Made, rounded
from random_parts import KINDS as PARTS

import pycute_xe as cx
from pycute_xe.kernel import Kernel

Value: TypeAlias = Callable[[np.ndarray, Arrays], np.ndarray]


def _n(x: np.ndarray) -> np.ndarray:
    """A vector with an element for each column, of all batches or of each."""
    return x[..., None, :]


def _m(x: np.ndarray) -> np.ndarray:
    """A vector with an element for each row."""
    return x[..., :, None]


EPILOGUES: dict[str, Value] = {
    "acc": lambda acc, _: acc,
    "relu(acc + bias[n])": lambda acc, x: np.maximum(acc + _n(x["bias"]), 0),
    "acc + bias[m]": lambda acc, x: acc + _m(x["bias"]),
    "2*acc - C": lambda acc, x: 2 * acc - x["C"],
    "acc*scale[n] + bias[m]": lambda acc, x: acc * _n(x["scale"]) + _m(x["bias"]),
    "max(acc, C)": lambda acc, x: np.where(acc > x["C"], acc, x["C"]),
    "min(acc, bias[n])": lambda acc, x: np.where(acc < _n(x["bias"]), acc, _n(x["bias"])),
    "max(min(acc, C), bias[m])": lambda acc, x: np.maximum(np.minimum(acc, x["C"]), _m(x["bias"])),
    "clamp(acc + bias[n], -4, 6)": lambda acc, x: np.clip(acc + _n(x["bias"]), -4, 6),
    "min(max(acc, low), high)": lambda acc, x: np.minimum(np.maximum(acc, x["low"]), x["high"]),
    "abs(acc - C)": lambda acc, x: np.abs(acc - x["C"]),
    "relu(alpha*acc + beta*C + bias[n])": lambda acc, x: np.maximum(
        x["alpha"] * acc + x["beta"] * x["C"] + _n(x["bias"]), 0
    ),
    "max(acc*scale[m], C) - bias[n]": lambda acc, x: (
        np.maximum(acc * _m(x["scale"]), x["C"]) - _n(x["bias"])
    ),
    "(acc + bias[n])*gate[m,n]": lambda acc, x: (acc + _n(x["bias"])) * x["gate"],
    "bf16(acc) + C": lambda acc, x: rounded(acc, "bf16") + x["C"],
    "bf16(acc + bias[n])*scale[m]": lambda acc, x: (
        rounded(acc + _n(x["bias"]), "bf16") * _m(x["scale"])
    ),
    "f16(max(acc, bias[m]))": lambda acc, x: rounded(np.maximum(acc, _m(x["bias"])), "f16"),
    "f16(bf16(acc) + bias[n])": lambda acc, x: rounded(rounded(acc, "bf16") + _n(x["bias"]), "f16"),
    "tanh(acc + bias[n])": lambda acc, x: np.tanh(acc + _n(x["bias"])),
    "C/(1 + exp(-acc))": lambda acc, x: x["C"] / (1 + np.exp(-acc)),
}
"""What is done behind a product, and what NumPy does."""

INEXACT = ("tanh", "exp", "/")


# ---------------------------------------------------------------- products


def tiled(r: random.Random, narrow: bool = False) -> cx.TiledMma:
    """Return a tiled MMA of one to four subgroups."""
    acc, kinds = r.choice([("f32", ["bf16", "f16"]), ("f32", ["bf16"]), ("s32", ["s8"])])
    if narrow:
        acc, kinds = "f32", ["bf16"]
    op = cx.XE_DPAS_TT(r.choice([4, 8, 8]), acc, r.choice(kinds))
    m, n = r.randint(1, 2), r.randint(1, 2)
    tile = (op.M * m * r.randint(1, 2), 16 * n * r.randint(1, 2), op.K * r.randint(1, 2))
    strides = r.choice([(n, 1, 0), (1, m, 0)])
    return cx.workgroup_mma(op, tile=tile, subgroups=((m, n, 1), strides))


def problems(mma: cx.TiledMma, batch: bool = False) -> tuple[dict[str, int], ...]:
    """Return the smallest sizes, some beside the tile, and some of several tiles."""
    m, n, k = mma.tile_mnk
    found = ((1, 1, 1), (m + 1, n + 3, 2 * k + 1), (2 * m, 2 * n - 1, 3 * k))
    sizes = tuple(dict(zip("MNK", size, strict=True)) for size in found)
    return tuple({"L": i + 1, **s} for i, s in enumerate(sizes)) if batch else sizes


def product(r: random.Random) -> Made:
    """Return a GEMM, plain or with an epilogue, narrow outputs, sums, batches, tiles."""
    mma = tiled(r)
    floats = mma.atom.op.D.kind == "float"
    batch = r.random() < 0.3
    text = r.choice(list(EPILOGUES)) if r.random() < 0.75 else "acc"
    said = text.replace("[m,n]", "[l,m,n]") if batch else text
    more: dict[str, Any] = {"batch": batch, "d": "col" if r.random() < 0.3 else "row"}
    if batch and r.random() < 0.3:
        said = said.replace("bias[", "bias[l,").replace("scale[", "scale[l,")
    if text != "acc":
        more["epilogue"] = said
    to = r.choice(["", "", "bf16", "f16"] if floats else ["s8", "f32", ""])
    to = "f32" if not floats and text != "acc" else to
    to = "" if text.startswith(to) else to  # it is rounded already
    more |= {"d_type": to} if to else {}
    outputs = {"D": (EPILOGUES[text], to)}
    kind = r.random()
    if kind < 0.15:
        more["epilogue_tile"] = (mma.atom.op.M, 16)
    elif kind < 0.35 and floats:
        more["also"] = also = {}
        _more_outputs(r, batch, also, outputs)
    orders: tuple[Literal["row", "col"], ...] = ("row", "col")
    more |= {"reorder_a": r.random() < 0.9, "reorder_b": r.random() < 0.9}
    kernel = cx.kernel.gemm(mma, r.choice(orders), r.choice(orders), stages=r.randint(0, 2), **more)

    def meaning(x: Arrays) -> dict[str, np.ndarray]:
        acc = x["A"] @ x["B"]
        return {name: rounded(value(acc, x), kind) for name, (value, kind) in outputs.items()}

    tolerance = 0.0
    if any(word in text for word in INEXACT):
        tolerance = {"bf16": 2.0**-6, "f16": 2.0**-9}.get(to, 2.0**-14)
    small = frozenset({"A", "B", *(name for name in outputs if name in ("rows", "columns"))})
    return Made(kernel, meaning, problems(mma, batch), tolerance, small)


def _more_outputs(
    r: random.Random, batch: bool, also: dict[str, str], outputs: dict[str, Any]
) -> None:
    """Add an output, or a vector of sums of the product to one that is given."""
    lead = "l," if batch else ""
    kind = r.choice(["rows", "columns", "X"])
    if kind == "X":
        other = r.choice(["acc", "relu(acc + bias[n])", "acc + bias[m]", "2*acc - C"])
        also["X"], outputs["X"] = other, (EPILOGUES[other], "")
    elif kind == "rows":
        also[f"rows[{lead}m]"] = "sum(n, acc)"
        outputs["rows"] = (lambda acc, x: x["rows"] + acc.sum(-1), "")
    else:
        also[f"columns[{lead}n]"] = "sum(m, acc)"
        outputs["columns"] = (lambda acc, x: x["columns"] + acc.sum(-2), "")


def plain(r: random.Random) -> Kernel:
    """Return a GEMM with few epilogues: the kernels of seeds on which a verdict was once wrong."""
    mma = tiled(r)
    more: dict[str, Any] = {}
    if mma.atom.op.D.kind == "float" and r.random() < 0.4:
        more["epilogue"] = r.choice(list(EPILOGUES)[1:5])
    orders: tuple[Literal["row", "col"], ...] = ("row", "col")
    more |= {"reorder_a": r.random() < 0.8, "reorder_b": r.random() < 0.8}
    more["d"] = "col" if r.random() < 0.3 else "row"
    return cx.kernel.gemm(mma, r.choice(orders), r.choice(orders), stages=r.randint(0, 2), **more)


def made(r: random.Random) -> Made:
    """Return a random kernel: mostly products, each other kind now and then."""
    if r.random() < 0.55:
        return product(r)
    return r.choice(PARTS)(r)
