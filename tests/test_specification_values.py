"""The evaluator of specifications that fuzzers judge by, against numbers worked out by hand.

Then against `compute`, which was written apart from it, over kernels of every kind.
"""

from __future__ import annotations

import ast
import math
import random
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import specification_values
from compiled_kinds import CASES
from every import every
from every_kernel import KINDS
from random_kernels import made as random_made
from sampling import WHOLE, sampled
from specification_values import NoValueError, computed, rounded, values

from pycute_xe.errors import CuteError
from pycute_xe.kernel import Claim, Element, Index, Operand, Specification, apply, rounded_to, total
from pycute_xe.kernel.spec.evaluation import compute
from pycute_xe.kernel.spec.expression import Const, Where, as_expression

M, N, K = map(Index, "mnk")
X = Element("X", (M,))
INF, NAN = math.inf, math.nan


def of(claim: Any, kind: str = "f32", modes: tuple[Any, ...] = ("M",), **inputs: Any) -> Any:
    """What D is, a vector unless told; inputs are vectors, matrices or scalars by name."""
    ranks = {0: (), 1: ("M",), 2: ("M", "N")}
    arrays = {name: np.asarray(x) for name, x in inputs.items()}
    kinds = {name: "s32" if x.dtype.kind == "i" else kind for name, x in arrays.items()}
    operands = [Operand(n, kinds[n], ranks[x.ndim]) for n, x in arrays.items()]
    out = Operand("D", "f32", modes, role="out")
    index = ("m", "n")[: len(modes)]
    spec = Specification((Claim("D", index, as_expression(claim)),))
    return values(spec, (*operands, out), arrays)["D"].tolist()


def test_it_takes_no_meaning_from_the_package() -> None:
    """Only the values that a specification is made of."""
    tree = ast.parse(Path(specification_values.__file__).read_text(encoding="utf-8"))
    modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    ours = {m for m in modules if m and m.startswith("pycute_xe")}
    assert ours == {
        "pycute_xe.kernel",
        "pycute_xe.kernel.index",
        "pycute_xe.kernel.spec.expression",
    }


@every(
    "kind, given, wanted",
    [
        ("f16", [65504, 65519.9, 65520, 2.0**-24, 2.0**-25], [65504, 65504, INF, 2.0**-24, 0]),
        ("f16", [2049], [2048]),
        ("bf16", [257, 259, 1 + 2.0**-8 + 2.0**-40], [256, 260, 1.0078125]),
        ("bf16", [3.3895e38, 3.4e38, -1e39], [3.3895313892515355e38, INF, -INF]),
        ("f32", [16777217, 16777219, 1e-46, 1e300], [16777216, 16777220, 0, INF]),
        ("tf32", [1 + 2.0**-11, 1 + 3 * 2.0**-11, 1e-40], [1, 1 + 2.0**-9, 0]),
        ("f8e4m3", [448, 464, 465, -500, 17, 19], [448, 448, NAN, NAN, 16, 20]),
        ("f8e4m3", [2.0**-9, 2.0**-10], [2.0**-9, 0]),
        ("f8e5m2", [57344, 61439, 61440, 2.0**-16, 9], [57344, 57344, INF, 2.0**-16, 8]),
        ("f4e2m1", [6, 100, -INF, 0.25, 0.75, 2.5, 5, NAN], [6, 6, -6, 0, 1, 2, 4, 0]),
        ("ue8m0", [1, 1.4, 1.5, 3, 2.0**-140, -1, 2.0**128], [1, 1, 2, 4, 2.0**-127, NAN, NAN]),
        ("s8", [2.5, 3.5, -2.5, 300, -INF, NAN], [2, 4, -2, 127, -128, 0]),
        ("u8", [-1, 254.5, 255.5], [0, 254, 255]),
        ("s4", [7.5, -9], [7, -8]),
        ("u2", [2.5, 9], [2, 3]),
        ("u64", [1e30, -5], [2**64 - 1, 0]),
        ("s64", [1e30, -1e30, 2.0**60], [2**63 - 1, -(2**63), 2**60]),
    ],
    ids=str,
)  # fmt: skip
def test_roundings(kind: str, given: list[float], wanted: list[float]) -> None:
    found = rounded(np.array(given), kind).tolist()
    assert repr([float(x) for x in found]) == repr([float(x) for x in wanted])
    if kind[1:].isdigit() and kind[0] in "su":
        assert found == wanted


NUMPY = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f4e2m1": ml_dtypes.float4_e2m1fn,
    "ue8m0": ml_dtypes.float8_e8m0fnu,
}


@pytest.mark.parametrize("kind", NUMPY)
def test_roundings_are_those_of_ml_dtypes(kind: str) -> None:
    """From float32, of which every number is rounded once."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 20_000, dtype=np.uint32)
    near = (rng.standard_normal(20_000) * 2.0 ** rng.integers(-20, 20, 20_000)).astype(np.float32)
    every = np.concatenate([bits.view(np.float32), near, np.float32([0, -0.0, 1, -1, INF, -INF])])
    if kind == "ue8m0":  # neither zero nor a sign; what is done below 2^-126 is left open
        every = every[every >= 2.0**-126]
    with np.errstate(all="ignore"):
        wanted = every.astype(NUMPY[kind]).astype(np.float64)
        found = rounded(every.astype(np.float64), kind)
    if kind == "f4e2m1":  # what a NaN becomes is left open
        wanted, found = wanted[~np.isnan(every)], found[~np.isnan(every)]
    same = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    assert (same | (np.isnan(found) & np.isnan(wanted))).all()


@every(
    "name, given, wanted",
    [
        ("relu", (-3,), 0),
        ("relu", (3,), 3),
        ("abs", (-3,), 3),
        ("clamp", (9, -4, 6), 6),
        ("clamp", (-9, -4, 6), -4),
        ("at_least", (2, 2), 1),
        ("at_least", (1, 2), 0),
        ("below", (1, 2), 1),
        ("below", (2, 2), -INF),
        ("div", (1, 4), 0.25),
        ("exp2", (-2,), 0.25),
        ("exp", (0,), 1),
        ("log", (0,), -INF),
        ("sqrt", (9,), 3),
        ("rsqrt", (4,), 0.5),
        ("tanh", (0,), 0),
        ("sigmoid", (0,), 0.5),
        ("silu", (0,), 0),
        ("silu", (2,), 1.7615941559557649),
        ("gelu", (1,), 0.8413447460685429),
        ("max", (2, 3), 3),
        ("min", (2, 3), 2),
    ],
    ids=str,
)
def test_functions(name: str, given: tuple[float, ...], wanted: float) -> None:
    assert of(apply(name, *given), X=[0.0]) == [pytest.approx(wanted, rel=1e-15)]


def test_sums_and_maxima_with_extents_that_depend_on_the_element() -> None:
    x = [5.0, -2.0, 7.0]
    assert of(total("k", Index("m", 1), Element("X", (K,))), X=x) == [5, 3, 10]
    assert of(total("k", Index("m"), Element("X", (K,)), how="max"), X=x) == [-INF, 5, 5]
    assert of(total("k", "M", Element("X", (K,)), how="max"), X=[-3.0, -4.0]) == [-3, -3]
    assert of(total("k", 0, Element("X", (K,))), X=x) == [0, 0, 0]
    two = total("k", "M", total("j", Index("k"), Element("X", (Index("j"),))))
    assert of(two, X=x) == [8, 8, 8]  # 0 + 5 + (5 - 2)


def test_conditions_and_what_has_no_value() -> None:
    shifted = Element("X", (Index("m", 1),))
    guarded = Where(Index("m", 1), Index("M"), shifted, Const(-1.0))
    assert of(guarded, X=[1.0, 2.0]) == [2, -1]
    for nowhere in (shifted, Element("X", (Index("m", -1),)), total("k", 2, shifted)):
        with pytest.raises(NoValueError, match="D"):
            of(nowhere, X=[1.0, 2.0])
    ragged = total("k", Index("m", 1), Element("X", (Index("k"),)))
    assert of(Where(Index("m"), Index("M") - 1, ragged, Const(0)), X=[1.0, 2.0]) == [1, 0]


@pytest.mark.parametrize("role", ["scratch", "out"])
def test_scratch_and_old_outputs_have_no_value(role: Any) -> None:
    operands = (Operand("W", "f32", ("M",), role=role), Operand("D", "f32", ("M",), role="out"))
    claims = [Claim("D", ("m",), Element("W", (M,)))]
    if role == "out":
        claims.append(Claim("W", ("m",), Const(0)))
    with pytest.raises(NoValueError, match="D"):
        values(Specification(tuple(claims)), operands, {}, {"M": 2})


def test_indices_that_are_looked_up_and_divided() -> None:
    at = Index.element("T", M)
    assert of(Element("X", (at,)), X=[5.0, 6.0, 7.0], T=[2, 0, 1]) == [7, 5, 6]
    assert of(Element("X", (M // 2,)), X=[5.0, 6.0, 7.0]) == [5, 5, 6]
    assert of(Element("X", (M % 2,)), X=[5.0, 6.0, 7.0]) == [5, 6, 5]
    assert of(total("k", Index.element("T", M), Element("X", (K,))), X=[5.0, 6.0], T=[2, 1]) == [
        11,
        5,
    ]
    with pytest.raises(NoValueError):
        of(Element("X", (at,)), X=[5.0], T=[1])


def test_integers_are_exact_and_wrap_in_their_accumulator() -> None:
    big = total("k", "M", Element("X", (K,)) * Element("X", (K,)))
    assert of(big, X=[2**31 - 1] * 3) == [3 * (2**31 - 1) ** 2] * 3
    assert (
        of(total("k", "M", Element("X", (K,)), accumulator="s32"), X=[2**31 - 1, 1])
        == [-(2**31)] * 2
    )
    assert of(rounded_to("s8", X), X=[300, -5]) == [127, -5]
    assert of(rounded_to("f32", X), X=[2**24 + 1]) == [2**24]
    spec = Specification((Claim("D", ("m",), X),))
    wide = Operand("X", "u64", ("M",)), Operand("D", "u64", ("M",), role="out")
    assert values(spec, wide, {"X": np.array([2**64 - 1], np.uint64)})["D"].tolist() == [2**64 - 1]


# ---------------------------------------------------------------- against `compute`


@pytest.mark.parametrize("case", sampled(CASES, 3))
@pytest.mark.long
def test_compute_says_the_same_of_kinds_that_are_compiled(case: str) -> None:
    """Of those whose claims speak of operands, element by element: it reads nothing else."""
    kernel, given = CASES[case].make()
    one = kernel.computes
    if one is not None and not one.defines and all(isinstance(x, Claim) for x in one.claims):
        sizes = {n: int(x) for n, x in given.items() if n in kernel.sizes}
        agrees(kernel, {n: np.asarray(x) for n, x in given.items() if n not in sizes}, sizes)


@pytest.mark.parametrize("seed", range(300 if WHOLE else 12))
def test_compute_says_the_same_of_random_kernels(seed: int) -> None:
    try:
        one = random_made(random.Random(seed))
    except CuteError:
        return
    for sizes in one.sizes:
        given = one.arrays(sizes, seed)
        agrees(one.kernel, given, sizes)
        tolerance = one.tolerance or 0
        found = computed(one.kernel, given, sizes)
        for name, wanted in one.expected(given).items():
            actual = np.asarray(found[name], np.float64)
            np.testing.assert_allclose(
                actual, np.broadcast_to(wanted, actual.shape), tolerance, tolerance
            )


@pytest.mark.parametrize("kind", [k for k in KINDS if "attention" not in k and "plan" not in k])
def test_compute_says_the_same_of_every_kind(kind: str) -> None:
    kernel = KINDS[kind](random.Random(3))
    sizes = {name: 2 + 3 * i for i, name in enumerate(kernel.sizes)}
    if kernel.computes is None:
        return
    rng = np.random.default_rng(0)
    given = {o.name: rng.integers(0, 2, tuple(m.at(sizes) for m in o.modes)) for o in kernel.inputs}
    try:
        agrees(kernel, given, sizes)
    except NoValueError:  # of tables at random
        assert any(o.value_type.kind != "float" for o in kernel.inputs)


def agrees(kernel: Any, given: dict[str, Any], sizes: dict[str, int] | None = None) -> None:
    found = values(kernel.computes, kernel.operands, given, sizes)
    wanted = compute(kernel.computes, kernel.operands, given, sizes)
    for name, value in wanted.items():
        actual = np.asarray(found[name], np.float64)
        assert (found[name].dtype.kind == "f") == (value.dtype.kind == "f")
        np.testing.assert_allclose(actual, value, rtol=1e-9, atol=1e-9)
