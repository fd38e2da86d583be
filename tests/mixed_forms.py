"""GEMMs whose operands lie in memory in another type than the MMA multiplies, and their values."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

import pycute_xe as cx
from pycute_xe.converting import bounds, convert
from pycute_xe.kernel import Kernel

GRID = ((2, 2, 1), (2, 1, 0))
SCALED = "(B - zero[k/64,n]) * scale[k/64,n]"
# MMA (accumulator, operands), types in memory, orders, transforms.
Form: TypeAlias = "tuple[tuple[str, str], dict[str, str], tuple[str, str], dict[str, str]]"
FORMS: tuple[Form, ...] = (
    (("f32", "bf16"), {"B": "s8"}, ("row", "row"), {}),
    (("f32", "bf16"), {"A": "u8"}, ("col", "row"), {}),
    (("f32", "f16"), {"A": "f8e4m3", "B": "f8e5m2"}, ("row", "col"), {}),
    (("f32", "f16"), {"A": "bf16", "B": "f32"}, ("row", "row"), {}),
    (("f32", "tf32"), {"A": "bf16", "B": "s4"}, ("row", "row"), {}),
    (("f32", "bf16"), {"B": "s2"}, ("row", "row"), {"transform_b": "B * scale[n]"}),
    (("f32", "bf16"), {"B": "u2"}, ("row", "col"), {"transform_b": "B * s"}),
    (("s32", "s8"), {"B": "u4"}, ("row", "row"), {}),
    (("s32", "s8"), {"A": "f16", "B": "u4"}, ("row", "row"), {"transform_a": "A / s[m]"}),
    (
        ("f32", "bf16"),
        {"B": "s4", "scale": "f16", "zero": "s8"},
        ("row", "row"),
        {"transform_b": SCALED},
    ),
    (
        ("f32", "f16"),
        {"B": "u4", "scale": "bf16", "zero": "u4"},
        ("row", "col"),
        {"transform_b": SCALED},
    ),
    (
        ("f32", "f16"),
        {"B": "f4e2m1", "scale": "ue8m0"},
        ("row", "row"),
        {"transform_b": "B * scale[k/64,n]"},
    ),
    (
        ("f32", "bf16"),
        {"A": "f8e4m3", "B": "f8e4m3"},
        ("row", "row"),
        {"transform_a": "A * sa[m,k/64]", "transform_b": "B * sb[k/64,n]"},
    ),
    # Zero points that share bytes: two of s4, four of u2, and those of columns without groups.
    (
        ("f32", "bf16"),
        {"B": "s4", "scale": "bf16", "zero": "s4"},
        ("row", "row"),
        {"transform_b": SCALED},
    ),
    (
        ("f32", "f16"),
        {"B": "u2", "scale": "f16", "zero": "u2"},
        ("row", "col"),
        {"transform_b": SCALED},
    ),
    (("f32", "f16"), {"B": "s8", "zero": "u4"}, ("row", "row"), {"transform_b": "B - zero[n]"}),
    (("f32", "f16"), {"A": "u4", "za": "s4"}, ("row", "row"), {"transform_a": "A - za[m]"}),
)


def made(form: Form, tile: tuple[int, int, int] = (32, 64, 32)) -> Kernel:
    """The kernel of a form."""
    mma, types, orders, transforms = form
    given = {"sa": "col"} if "sa[" in transforms.get("transform_a", "") else {}
    tiled = cx.workgroup_mma(cx.XE_DPAS_TT(8, *mma), tile, GRID)
    a, b = orders
    return cx.kernel.gemm(tiled, a, b, types=types, orders=given, **transforms)


def inputs(kernel: Kernel, sizes: dict[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """Small numbers of each operand's type, of which every product and sum is exact."""
    rng = np.random.default_rng(seed)
    out: dict[str, np.ndarray] = {}
    for operand in kernel.inputs:
        shape, numeric = tuple(m.at(sizes) for m in operand.modes), operand.value_type
        low, high = (-4, 4) if numeric.kind == "float" else bounds(numeric)
        found: Any = rng.integers(max(low, -9), min(high, 9) + 1, shape)
        if operand.name in ("s", "scale", "sa", "sb"):
            found = rng.choice([0.5, 1.0, 2.0], shape)
        if operand.value_type.name == "f4e2m1":
            found = rng.choice([-6, -1.5, -0.5, 0, 0.5, 1, 2, 3], shape)
        out[operand.name] = convert(np.asarray(found, np.float64), numeric)
    return out


def independent(
    kernel: Kernel, given: dict[str, np.ndarray], transforms: dict[str, str], group: int = 64
) -> np.ndarray:
    """The product, transformed by NumPy's own reading of the text, rounded once."""
    op = kernel.mma.atom.op
    wide = {name: np.asarray(x, np.float64) for name, x in given.items()}
    depth = wide["A"].shape[1]
    factors: dict[str, np.ndarray] = {}
    for name, numeric in (("A", op.A), ("B", op.B)):
        text = transforms.get(f"transform_{name.lower()}", name)
        for index in ("[k/64,n]", "[m,k/64]", "[n]", "[m]"):
            text = text.replace(
                index,
                {"[m,k/64]": "_by_a", "[m]": "[:,None]"}.get(
                    index, "_by_b" if "k" in index else ""
                ),
            )
        names = dict(wide)
        names |= {
            f"{k}_by_b": np.repeat(v, group, 0)[:depth] for k, v in wide.items() if v.ndim == 2
        }
        names |= {
            f"{k}_by_a": np.repeat(v, group, 1)[:, :depth] for k, v in wide.items() if v.ndim == 2
        }
        value = eval(text, {}, names)
        factors[name] = convert(value, numeric).astype(np.float64)
    return factors["A"] @ factors["B"]
