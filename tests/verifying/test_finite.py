"""Values carry the types that they went through: what is moved is exact, what is summed is real."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from conversion_programs import outcome
from sampling import sampled
from unsound_kernels import A, K, M, N, X, Y, kernel, load, not_proved, store

import pycute_xe as cx
from pycute_xe.kernel import (
    Convert,
    Element,
    Expression,
    Fill,
    Index,
    Kernel,
    Loop,
    Map,
    Operand,
    Slot,
    Statement,
    apply,
    rounded_to,
    total,
)
from pycute_xe.kernel.spec.expression import Const
from pycute_xe.verifying.formula import Place, Term, span

Z = Slot("z")
THROUGH = ("s32", "f32", "s32")
"""Integers, floats that they become, integers again."""


def through(claim: Expression | float, *middle: Statement, kinds: tuple[str, ...]) -> Kernel:
    """A is loaded into x, D is stored of z."""
    first, last = load("A", "x", kind=kinds[0]), store("D", "z", kind=kinds[2])
    out = Operand("D", kinds[2], ("M", "N"), role="out")
    return kernel(claim, first, *middle, last, kinds=kinds, more=(out,))


def gives(made: Kernel, wanted: float, *inputs: np.ndarray) -> None:
    """What a run of the byte machine gives, which is not what is claimed."""
    assert (np.asarray(cx.run(made, *inputs, executor="reference")) == wanted).all()


def says_real(made: Kernel) -> bool:
    """Whether the proof of a kernel takes sums and products for those of real numbers."""
    verdict = cx.verify(made)
    assert verdict, str(verdict)
    return any("real numbers" in text for text in verdict.assumptions)


@pytest.mark.parametrize("kept", [X, X * 1, X + 0, apply("max", X, Const(-(2.0**31)))])
def test_wide_integers_kept_in_floats_are_rounded(kept: Expression) -> None:
    made = through(rounded_to("s32", A), Map("y", kept), Convert("y", "z"), kinds=THROUGH)
    big = np.full((8, 16), 2**24 + 1, np.int32)
    gives(made, 2**24, big)
    shown = disproved(made)
    assert abs(shown.filled["A"]) > 2**24  # a number that f32 rounds
    assert cx.Counterexample.from_json(shown.to_json()) == shown
    claim = rounded_to("s32", rounded_to("f32", A))
    assert not says_real(through(claim, Map("y", kept), Convert("y", "z"), kinds=THROUGH))


def test_a_product_in_floats_is_not_exact_as_a_wide_integer() -> None:
    half = (Map("y", X * 0.5), Convert("y", "z"))
    not_proved(through(rounded_to("s32", A * 0.5), *half, kinds=THROUGH))
    exact = rounded_to("s32", rounded_to("f32", rounded_to("f32", A) * 0.5))
    assert cx.verify(through(exact, *half, kinds=THROUGH))


@pytest.mark.long
def test_a_sum_of_integers_through_floats() -> None:
    """As an output of floats it is read as real, and it is said; as one of integers it is not."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (32, 32, 32), ((2, 1, 1), (1, 1, 0)))
    assert says_real(cx.kernel.gemm(mma, epilogue="2*acc", d_type="f32"))
    gemm = cx.kernel.gemm(mma, epilogue="acc")
    out = gemm.body[-1]
    wide = dataclasses.replace(gemm.fragment("tCrC"), name="wide", value_type=cx.as_numeric("f32"))
    wrong = dataclasses.replace(gemm, fragments=(*gemm.fragments, wide)).replace(
        out, (Map("wide", Slot("tCrC") + 0), Convert("wide", "tCrC"), out)
    )
    assert not says_real(gemm)
    not_proved(wrong)


@pytest.mark.parametrize("kind", ["f32", "bf16", "f16"])
def test_what_is_only_moved_and_converted_takes_nothing_for_real(kind: str) -> None:
    narrow = through(
        rounded_to(kind, A), Convert("x", "y"), Map("z", Y), kinds=("f32", kind, "f32")
    )
    assert not says_real(narrow)
    assert says_real(through(A + 1, Map("z", X + 1), kinds=("f32", "f32", "f32")))


def test_constants_are_those_of_their_type() -> None:
    f32 = ("f32", "f32", "f32")
    tiny = through(A * 1e-46 * 1e30, Map("y", X * 1e-46), Map("z", Y * 1e30), kinds=f32)
    gives(tiny, 0, np.ones((8, 16), np.float32))
    not_proved(tiny)
    jump = apply("at_least", X, Const(0.7))
    claim = apply("at_least", A, Const(0.7))
    near = np.full((8, 16), 0.7, np.float32)
    assert float(near[0, 0]) < 0.7
    gives(through(claim, Map("z", jump), kinds=f32), 1, near)
    not_proved(through(claim, Map("z", jump), kinds=f32))
    own = apply("at_least", A, Const(float(np.float32(0.7))))
    assert cx.verify(through(own, Map("z", jump), kinds=f32))
    larger = through(apply("max", A, Const(0.1)), Map("z", apply("max", X, Const(0.1))), kinds=f32)
    assert not says_real(larger)
    assert says_real(through(A * 0.1, Map("z", X * 0.1), kinds=f32))


def test_numbers_without_a_last_place_are_not_whole_in_f64() -> None:
    claim = apply("max", A, Const(0.1))
    body = (Map("y", apply("max", X, Const(0.1))), Convert("y", "z"))
    made = dataclasses.replace(through(claim, *body, kinds=("f32", "f32", "f64")))
    not_proved(made)


def test_zeros_of_both_signs_are_stored_in_no_order() -> None:
    zeros = (Fill("x", 0.0), store("D", "x", (Index(), Index())))
    grid = (("m", Index(None, 2)),)
    own = kernel(0.0, *zeros, grid=grid)
    sizes = {"M": 8, "N": 16}
    assert cx.verify(own, sizes)
    pick = cx.kernel.If(Index("m"), Index(None, 1), (Fill("x", -0.0),))
    not_proved(kernel(0.0, Fill("x", 0.0), pick, zeros[1], grid=grid), **sizes)


# ------------------------------------------------------------------ maxima begun at a number

AK = Element("A", (K, M, N))
LARGEST = total("k", "K", AK, how="max")


def running(
    kind: str, start: float, claim: Expression, value: Expression = X, wide: str = "f32"
) -> Kernel:
    """z begins at a number and takes the largest of what a loop loads."""
    body = (load("A", "x", (K, M * 8, N * 16), kind=kind), Map("z", apply("max", Z, value)))
    more = (Operand("A", kind, ("K", "M", "N")), Operand("D", wide, ("M", "N"), role="out"))
    loop = Loop("k", Index(), Index("K"), body)
    last = store("D", "z", kind=wide)
    return kernel(claim, Fill("z", start), loop, last, more=more, kinds=(kind, kind, wide))


LEAST_F32 = -float(np.finfo(np.float32).max)
RIGHT: dict[str, Kernel] = {
    "least f32": running("f32", LEAST_F32, LARGEST),
    "least bf16": running("bf16", -3.38953138925e38, LARGEST),
    "below f16": running("f16", -70000, LARGEST),
    "least s8": running("s8", -128, LARGEST, wide="s32"),
    "least s32": running("s32", -(2**31), LARGEST, wide="s32"),
    "unsigned": running("u8", 0, LARGEST, wide="s32"),
    "amax": running("f32", 0, total("k", "K", apply("abs", AK), how="max"), apply("abs", X)),
    "squares": running("f32", 0, total("k", "K", AK * AK, how="max"), X * X),
    "sigmoid": running(
        "f32", 0, total("k", "K", apply("sigmoid", AK), how="max"), apply("sigmoid", X)
    ),
    "max(max A, 0)": running("f32", 0, apply("max", LARGEST, Const(0.0))),
    "max(0, max A)": running("f32", 0, apply("max", Const(0.0), LARGEST)),
    "relu(max A)": running("f32", 0, apply("relu", LARGEST)),
    "max of relu": running("f32", 0, total("k", "K", apply("relu", AK), how="max")),
    "relu inside": running("f32", -np.inf, apply("relu", LARGEST), apply("relu", X)),
    "relu twice": running("f32", 0, apply("relu", LARGEST), apply("relu", X)),
    "relu from -5": running("f32", -5, apply("relu", LARGEST), apply("relu", X)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_maximum_begun_at_what_no_element_is_below(name: str) -> None:
    verdict = cx.verify(RIGHT[name])
    assert verdict, str(verdict)


@pytest.mark.parametrize(
    "wrong",
    [
        running("f32", -3, LARGEST),
        running("f32", -1000, LARGEST),
        running("f32", 0, LARGEST),
        running("s8", -100, LARGEST, wide="s32"),
        running("f32", -5, apply("relu", LARGEST)),
        running("f32", 1, total("k", "K", AK * AK, how="max"), X * X),
    ],
)
def test_a_maximum_begun_above_an_element_is_disproved(wrong: Kernel) -> None:
    verdict = cx.verify(wrong)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert cx.replay(wrong, verdict.counterexample).shows


def test_a_maximum_begun_at_a_number_that_wide_types_go_below_is_not_proved() -> None:
    not_proved(running("bf16", LEAST_F32 / 4, LARGEST))
    none = running("f32", LEAST_F32, LARGEST)
    loop = none.loop("k")
    never = none.replace(loop, dataclasses.replace(loop, start=Index(None, 1)))
    not_proved(never)


# ------------------------------------------------------------------ functions of sums, saturation


def tiled() -> cx.TiledMma:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    return cx.workgroup_mma(op, (32, 32, 32), ((2, 1, 1), (1, 1, 0)))


@pytest.mark.parametrize("text", ["relu(acc)", "silu(acc)", "abs(acc)", "tanh(acc)", "max(acc, 0)"])
@pytest.mark.parametrize("other", ["columns[n]=m", "rows[m]=n"])
def test_sums_of_functions_of_padded_products(text: str, other: str) -> None:
    name, _, over = other.partition("=")
    gemm = cx.kernel.gemm(tiled(), also={name: f"sum({over}, {text})"})
    verdict = cx.verify(gemm)
    assert verdict, str(verdict)


def test_padding_adds_to_a_sum_of_what_is_not_zero_there() -> None:
    gemm = cx.kernel.gemm(tiled(), also={"rows[m]": "sum(n, tanh(acc))"})
    steps = [s for s in gemm.statements() if isinstance(s, Map) and "tanh" in str(s.value)]
    wrong = gemm
    for one in steps:
        wrong = wrong.replace(one, dataclasses.replace(one, value=apply("sigmoid", one.value)))
    spec = gemm.computes
    assert spec is not None
    claims = tuple(
        dataclasses.replace(c, value=_under_sigmoid(c.value)) if c.output == "rows" else c
        for c in spec.claims
    )
    not_proved(dataclasses.replace(wrong, computes=dataclasses.replace(spec, claims=claims)))


def _under_sigmoid(value: Expression) -> Expression:
    return dataclasses.replace(
        value,
        arguments=tuple(
            dataclasses.replace(a, body=apply("sigmoid", a.body)) if hasattr(a, "over") else a
            for a in value.arguments
        ),
    )


@pytest.mark.parametrize(
    ("ends", "right"), [((-128, 127), True), ((-200, 300), True), ((-127, 127), False)]
)
def test_a_clamp_to_its_range_or_beyond_is_what_a_saturating_conversion_does(
    ends: tuple[float, float], right: bool
) -> None:
    kinds = ("f32", "f32", "s8")
    clamped = apply("clamp", X, *map(Const, map(float, ends)))
    made = through(rounded_to("s8", A), Map("y", clamped), Convert("y", "z"), kinds=kinds)
    made = _of_bytes(made)
    assert (cx.verify(made).answer == "proved") == right
    not_right = through(rounded_to("s8", A), Map("z", X), kinds=("s32", "f32", "s8"))
    not_proved(_of_bytes(not_right))


SATURATED = ("s8", "s16", "u8", "u16", "s32", "u32")


@pytest.mark.parametrize("first", ["f32", "s32"])
@pytest.mark.parametrize("kind", SATURATED)
def test_a_clamp_is_a_saturating_conversion_exactly_where_its_ends_are(
    kind: str, first: str
) -> None:
    low, high = cx.converting.bounds(kind)

    def clamped(least: int, most: int) -> Kernel:
        value = apply("clamp", X, Const(float(least)), Const(float(most)))
        body = (Map("y", value), Convert("y", "z"))
        made = through(rounded_to(kind, A), *body, kinds=(first, first, kind))
        return _of_bytes(made)

    for ends in ((low, high), (low - 5, high + 5)):
        verdict = cx.verify(clamped(*ends))
        assert verdict, str(verdict)
    for ends in ((low + 100, high), (low, high // 4)):
        disproved(clamped(*ends))


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "u16"])
@pytest.mark.long
def test_the_lowest_bits_are_not_a_saturating_conversion(kind: str) -> None:
    bits = _of_bytes(through(rounded_to(kind, A), Map("z", X), kinds=("s32", "s32", kind)))
    disproved(bits)
    low, high = cx.converting.bounds(kind)
    inside = apply("clamp", X, Const(float(low)), Const(float(high)))
    kept = through(rounded_to(kind, A), Map("z", inside), kinds=("s32", "s32", kind))
    assert cx.verify(_of_bytes(kept))
    wider = apply("clamp", X, Const(float(low)), Const(float(high + 1)))
    disproved(_of_bytes(through(rounded_to(kind, A), Map("z", wider), kinds=("s32", "s32", kind))))


def test_integers_are_not_computed_with_numbers_beyond_64_bits() -> None:
    beyond = apply("clamp", X, Const(-(2.0**63)), Const(2.0**63))
    not_proved(through(A, Map("z", beyond), kinds=("s32", "s32", "s32")))


def disproved(made: Kernel) -> cx.Counterexample:
    """Demand a counterexample that a replay shows."""
    verdict = cx.verify(made)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert cx.replay(made, verdict.counterexample).shows
    return verdict.counterexample


def _of_bytes(made: Kernel) -> Kernel:
    """Give fragments of bytes the slots of the others, as conversions need."""
    fragments = tuple(dataclasses.replace(f, slots=8) for f in made.fragments)
    return dataclasses.replace(made, fragments=fragments)


# ------------------------------------------------------------------ all pairs of types

UNFAITHFUL = pytest.mark.filterwarnings("ignore::pycute_xe.errors.UnfaithfulWarning")


@UNFAITHFUL
@pytest.mark.parametrize("seed", sampled(range(2000), 12))
@pytest.mark.long
def test_no_verdict_on_conversions_is_contradicted(seed: int) -> None:
    one = outcome(seed)
    assert not one.bad, one


@UNFAITHFUL
@pytest.mark.parametrize("seed", [9000, 9061, 9070, 9133, 9137, 9222, 9285, 9599, 5035])
@pytest.mark.long
def test_values_that_conversions_write_differently_are_equal(seed: int) -> None:
    one = outcome(seed)
    assert one.right
    assert one.answer == "proved", one


@UNFAITHFUL
@pytest.mark.parametrize("seed", [9155, 9248, 10424])
@pytest.mark.long
def test_a_number_that_tells_two_roundings_apart_is_a_counterexample(seed: int) -> None:
    one = outcome(seed)
    assert not one.right
    assert one.answer == "disproved", one


@UNFAITHFUL
@pytest.mark.long
def test_right_conversions_are_decided() -> None:
    some = [outcome(seed) for seed in random.Random(5).sample(range(2000), 12)]
    left = [one for one in some if one.right and one.answer == "undecided"]
    assert len(left) <= 1, left


@pytest.mark.long
def test_a_wide_float_that_becomes_a_narrow_one_before_a_sum_is_not_excused() -> None:
    """Where the sum nearly vanishes, nothing of it may be left."""
    more = (Operand("A", "f64", ("M", "N")), Operand("B", "f32", ("M", "N")))
    middle = load("A", "x", kind="f64"), load("B", "y"), Map("z", rounded_to("f32", X) + Y)
    claim, out = A + Element("B", (M, N)), Operand("D", "f32", ("M", "N"), role="out")
    kinds = ("f64", "f32", "f32")
    made = kernel(claim, *middle, store("D", "z"), kinds=kinds, more=(*more, out))
    assert np.float32(2.0**25 + 1) - np.float32(2.0**25) == 0
    not_proved(made)


@pytest.mark.parametrize(("kind", "least"), [("s8", -128), ("u8", 200)])
def test_minus_an_integer_may_not_be_of_its_type(kind: str, least: int) -> None:
    claim = rounded_to(kind, 0.0 - A)
    made = through(claim, Map("z", 0.0 - X), kinds=(kind, "f32", "s32"))
    gives(made, -least, np.full((8, 16), least, kind.replace("s", "int").replace("u", "uint")))
    assert not_proved(made).answer == "disproved"


@pytest.mark.parametrize(
    ("times", "least", "most"), [(1, -128, 127), (2, 0, 2**14), (3, -(2**21), 127 * 2**14)]
)
def test_even_powers_are_not_negative(times: int, least: int, most: int) -> None:
    power = Term(1.0, times * (Place("A", ("i",), cx.as_numeric("s8")),))
    found = span((power,))
    assert found.low <= least
    assert found.high >= most
    assert (found.low == 0) == (times % 2 == 0)
