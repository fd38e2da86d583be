"""GEMMs whose operands lie in memory in another type than the MMA multiplies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.converting import bounds, convert
from pycute_xe.errors import KernelError
from pycute_xe.executing.fast import gather
from pycute_xe.executing.problem import prepare
from pycute_xe.executing.whole_matrices.planning import planned
from pycute_xe.kernel import Kernel, Load, Loop
from pycute_xe.kernel.spec.computing import compute

GRID = ((2, 2, 1), (2, 1, 0))
SCALED = "(B - zero[k/64,n]) * scale[k/64,n]"
# MMA (accumulator, operands), types in memory, orders, transforms.
FORMS: tuple[tuple[tuple[str, str], dict[str, str], tuple[str, str], dict[str, str]], ...] = (
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
        ("f32", "bf16"),
        {"A": "f8e4m3", "B": "f8e4m3"},
        ("row", "row"),
        {"transform_a": "A * sa[m,k/64]", "transform_b": "B * sb[k/64,n]"},
    ),
)


def made(
    mma: tuple[str, str],
    types: dict[str, str],
    orders: tuple[str, str],
    transforms: dict[str, str],
    tile: tuple[int, int, int] = (32, 64, 32),
) -> Kernel:
    given = {"sa": "col"} if "transform_a" in transforms else {}
    tiled = cx.workgroup_mma(cx.XE_DPAS_TT(8, *mma), tile, GRID)
    a, b = orders
    return cx.kernel.gemm(tiled, a, b, types=types, orders=given, **transforms)  # type: ignore[arg-type]


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


@pytest.mark.parametrize(("mma", "types", "orders", "transforms"), sampled(FORMS, 5))
def test_what_a_mixed_gemm_computes(
    mma: tuple[str, str],
    types: dict[str, str],
    orders: tuple[str, str],
    transforms: dict[str, str],
) -> None:
    kernel = made(mma, types, orders, transforms)
    assert cx.verify(kernel).answer == "proved"
    for sizes in ({"M": 40, "N": 72, "K": 150}, {"M": 1, "N": 16, "K": 64}):
        given = inputs(kernel, sizes)
        wanted = independent(kernel, given, transforms)
        assert np.array_equal(compute(kernel.computes, kernel.operands, given)["D"], wanted)  # type: ignore[arg-type]
        for executor in ("fast", "reference"):
            found = cx.run(kernel, **given, executor=executor)  # type: ignore[arg-type]
            assert np.array_equal(found, wanted)


def test_scales_are_loaded_once_for_each_group() -> None:
    kernel = made(*FORMS[9])
    loop = kernel.loop("g")
    loads = [s.operand for s in loop.body if isinstance(s, Load)]
    inner = next(s for s in loop.body if isinstance(s, Loop))
    assert loads == ["zero", "scale"]
    assert {s.operand for s in inner.body if isinstance(s, Load)} == {"A", "B"}
    assert str(inner.stop) == "2"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"transform_b": "B * s[k/48,n]"}, "a group of 48 along k is not a multiple of the 32 k"),
        ({"transform_b": "B * s[k/16,n]"}, "a group of 16 along k is not a multiple of the 32 k"),
        ({"transform_b": "B * s[m]"}, "an index is one of n, k/128"),
        ({"transform_b": "B * s[k,n]"}, "an index is one of n, k/128"),
        ({"transform_b": "B * s[k/64]"}, "has no index n"),
        ({"transform_b": "B * s[n] + s"}, "s is indexed in two ways"),
        ({"transform_a": "A *"}, "it is not an expression"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given: dict[str, Any], words: str) -> None:
    tiled = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), GRID)
    with pytest.raises(KernelError, match=words.replace("[", r"\[")):
        cx.kernel.gemm(tiled, **({"types": {"B": "s8"}} | given))


def test_zero_points_on_both_sides_ask_for_whole_tiles() -> None:
    """Beyond K both factors are zero points times scales, and their product is added."""
    both = {"transform_a": "A - za[m]", "transform_b": "B - zb[n]"}
    found = cx.verify(made(("f32", "bf16"), {"A": "u8", "B": "u8"}, ("row", "row"), both))
    assert found.answer in ("needs", "disproved")


@pytest.mark.parametrize(("mma", "types", "orders", "transforms"), sampled(FORMS, 6))
def test_the_fast_executor_takes_whole_matrices(
    mma: tuple[str, str],
    types: dict[str, str],
    orders: tuple[str, str],
    transforms: dict[str, str],
) -> None:
    """Where it does, what it computes is what its registers hold."""
    kernel = made(mma, types, orders, transforms)
    sizes = {"M": 33, "N": 80, "K": 192}
    plan = planned(kernel, tuple(sorted(sizes.items())))
    assert plan is not None
    given = inputs(kernel, sizes, seed=1)
    problem = prepare(kernel, (), given, None)
    found = gather(kernel, problem, cx.get_target("bmg"))["D"]
    assert np.array_equal(cx.run(kernel, **given, executor="fast"), found)  # type: ignore[arg-type]
