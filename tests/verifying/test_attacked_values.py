"""Attacks on proofs by undefined values, finite types and maxima: none may be answered wrongly."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from attacked_kernels import (
    FENCED,
    GRID,
    Attack,
    answered,
    copied,
    filled_with,
    integers,
    names,
    of_two,
)
from sampling import sampled
from unsound_kernels import A, M, N, X, Y, kernel, load, store

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import (
    AtomicStore,
    Claim,
    Convert,
    Element,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Map,
    Operand,
    Slot,
    Specification,
    Store,
    apply,
    rounded_to,
    total,
)
from pycute_xe.kernel.spec.expression import Const, Where, as_expression

J, K, S = map(Index, ("j", "k", "subgroup"))
Z = Slot("z")
BATCHES = (Operand("A", "f32", ("K", "M", "N")),)
PLACE = (M * 8, N * 16)


def number(value: int) -> Index:
    return Index(None, value)


# ---------------------------------------------------------------- what nobody defined

SCRATCH = Operand("W", "f32", ("M", "N"), role="scratch")
OLD = Operand("D", "f32", ("M", "N"), role="out")


def through(*more: Any, back: Any = None, claim: Any = A) -> Kernel:
    """A tile goes through scratch and comes back."""
    body = (store("W", "x"), *more, load("W", "y", back or PLACE), Map("x", Y))
    return copied(*body, claim=claim, more=(SCRATCH,))


UNDEFINED = [
    Attack("scratch between work-groups", lambda: copied(
        If(Index("r"), number(1), (store("W", "x"),)),
        If(number(0), Index("r"), (load("W", "y"),)), more=(SCRATCH,),
        grid=(*GRID, ("r", number(2)))), False),
    Attack("through scratch", through, True, decided=True),
    Attack("through scratch of another tile", lambda: through(back=(M * 8 + 8, N * 16)), False),
    Attack("scratch beside", lambda: through(back=(M * 8, N * 16 + 1)), False),
    Attack("scratch that nobody stored", lambda: copied(
        load("W", "y"), Map("x", X + Y * 0), more=(SCRATCH,)), False, told=False),
    Attack("scratch stored twice", lambda: through(Fill("x", 1), store("W", "x")), False),
    Attack("scratch stored where m < 1", lambda: copied(
        If(M, number(1), (store("W", "x"),)), load("W", "y"), Map("x", Y), more=(SCRATCH,)), False),
    Attack("an element below, where there is one", lambda: kernel(
        Where(M + 1, Index("M"), Element("A", (M + 1, N)), Const(0)),
        load("A", "x", (M * 8 + 1, N * 16)), store("D", "x")), True, decided=True),
    Attack("an element below, else 1", lambda: kernel(
        Where(M + 1, Index("M"), Element("A", (M + 1, N)), Const(1)),
        load("A", "x", (M * 8 + 1, N * 16)), store("D", "x")), False, decided=True),
]  # fmt: skip

WITHOUT_VALUE: dict[str, tuple[Any, tuple[Operand, ...]]] = {
    "scratch": (Element("W", (M, N)), (SCRATCH,)),
    "scratch in a sum": (total("k", "M", Element("W", (K, N))), (SCRATCH,)),
    "scratch in a condition": (
        Where(Index.element("W", M), number(1), A, A),
        (Operand("W", "s32", ("M",), role="scratch"),),
    ),
    "scratch in a branch not taken": (Where(M, number(0), Element("W", (M, N)), A), (SCRATCH,)),
    "the output itself": (Element("D", (M, N)), ()),
    "the output beside A": (A + 0 * Element("D", (M, N)), ()),
    "the row below": (Element("A", (M + 1, N)), ()),
    "the row above": (Element("A", (M - 1, N)), ()),
    "twice the row": (Element("A", (M * 2, N)), ()),
    "a row of columns": (Element("A", (Index("n"), Index("m"))), ()),
    "a sum too far": (total("k", Index("M") + 1, Element("A", (K, N))), ()),
    "a sum that begins below": (total("k", "M", Element("A", (K - 1, N))), ()),
    "a row that a condition does not guard": (
        Where(M, Index("M"), Element("A", (M + 1, N)), Const(0)),
        (),
    ),
    "the length": (Element("A", (Index("M"), N)), ()),
}
WITH_VALUE: dict[str, Any] = {
    "half the row": Element("A", (M // 2, N)),
    "the last row": Element("A", (Index("M") - 1, N)),
    "rows turned": Element("A", (Index("M") - 1 - M, N)),
    "a remainder": Element("A", (M - M % 2, N)),
    "a guarded row": Where(M + 1, Index("M"), Element("A", (M + 1, N)), Const(0)),
    "a guarded row above": Where(M, number(1), Const(0), Element("A", (M - 1, N))),
    "a sum so far": total("k", M + 1, Element("A", (K, N))),
    "the first element": Element("A", (number(0), number(0))),
}


@pytest.mark.parametrize("name", WITHOUT_VALUE)
def test_a_claim_without_a_value_is_refused(name: str) -> None:
    claim, more = WITHOUT_VALUE[name]
    with pytest.raises(KernelError):
        copied(claim=claim, more=more)


@pytest.mark.parametrize("name", WITH_VALUE)
def test_a_claim_with_a_value_is_not_refused(name: str) -> None:
    copied(claim=WITH_VALUE[name])


# ---------------------------------------------------------------- types that end


def kept(kind: str, *through: str, claim: Any = A, by: Any = Map) -> Kernel:
    """A goes through registers of other types, by maps or by conversions, and comes back."""
    kinds = (kind, *(*through, "f32", "f32")[:2])
    steps = ["x", "y", "z"][: len(through) + 1]
    body: list[Any] = []
    for source, to in itertools.pairwise([*steps, "x"]):
        ends = dict(zip("xyz", kinds, strict=True))[to][0] in "su"
        fraction = dict(zip("xyz", kinds, strict=True))[source][0] not in "su"
        mapped = by is Map and not (ends and fraction)  # such maps are refused by the machine
        body.append(Map(to, Slot(source)) if mapped else Convert(source, to))
    return copied(*body, claim=claim, kinds=kinds)


def edge_values(kind: str) -> tuple[Any, ...]:
    if kind[0] == "f" or kind == "bf16":
        return filled_with(1, 1.001, 3e38, -3e38, 1e-40, 65535, 2.0**24 + 1, 256.5)
    bits = int(kind[1:])
    low = -(2 ** (bits - 1)) if kind[0] == "s" else 0
    high = 2**bits - 1 + low
    mid = {2**i + d for i in range(6, bits - 1) for d in (-1, 0, 1)}
    return filled_with(low, high, *(v for v in sorted(mid) if v <= high))


HOLDS = {
    ("s32", "f32"): False,
    ("s32", "f64"): True,
    ("u32", "f32"): False,
    ("u32", "s32"): False,
    ("s32", "u32"): False,
    ("s16", "f32"): True,
    ("s16", "f16"): False,
    ("s16", "bf16"): False,
    ("s16", "s8"): False,
    ("u16", "f32"): True,
    ("u16", "f16"): False,
    ("u16", "s16"): False,
    ("s8", "bf16"): True,
    ("s8", "f16"): True,
    ("u8", "bf16"): True,
    ("u8", "s8"): False,
    ("s8", "u8"): False,
    ("f16", "f32"): True,
    ("f16", "bf16"): False,
    ("bf16", "f16"): False,
    ("bf16", "f32"): True,
    ("f32", "f64"): True,
    ("f32", "bf16"): False,
    ("f32", "s32"): False,
    ("f32", "tf32"): False,
    ("bf16", "tf32"): False,  # tf32 has no denormals
}
WRAPS = {("u32", "s32"), ("s32", "u32"), ("u16", "s16"), ("u8", "s8"), ("s8", "u8")}
"""Maps keep the lowest bits of integers, which come back."""
TYPES = [
    Attack(f"{kind} in {through} by {by.__name__}",
           lambda k=kind, t=through, b=by: kept(k, t, by=b),
           right or (by is Map and (kind, through) in WRAPS), ({"M": 1, "N": 1},),
           edge_values(kind))
    for ((kind, through), right), by in itertools.product(HOLDS.items(), (Map, Convert))
]  # fmt: skip


def valued(value: Any, claim: Any, kinds: Any = ("f32", "f32", "f32")) -> Kernel:
    return copied(Map("x", value), claim=claim, kinds=kinds)


def in_f32(value: Any, claim: Any) -> Kernel:
    """D, of f32, is computed from A, of s32."""
    out = (Operand("D", "f32", ("M", "N"), role="out"),)
    body = (load("A", "x", kind="s32"), Map("y", value), store("D", "y"))
    return kernel(claim, *body, kinds=("s32", "f32", "f32"), more=out)


TINY = 1e-46
ODD = filled_with(2**24 + 1)
FINITE = [
    Attack("max of s32 as f32", lambda: in_f32(apply("max", X, 0), apply("max", A, 0)), True,
           inputs=ODD),
    Attack("twice s32 as f32", lambda: in_f32(X * 2, A * 2), True, inputs=ODD),
    Attack("minus s32 as f32", lambda: in_f32(-X, -A), True, inputs=ODD),
    Attack("s32 as f32", lambda: in_f32(X, A), True, inputs=ODD),
    Attack("s32 rounded to f32", lambda: in_f32(X, rounded_to("f32", A)), True,
           inputs=(integers, *ODD)),
    Attack("at least 1e-46", lambda: valued(apply("at_least", X, TINY), apply("at_least", A, TINY)),
           False, inputs=filled_with(0)),
    Attack("below 0.7", lambda: valued(apply("max", apply("below", X, 0.7), -5), apply(
        "max", apply("below", A, 0.7), -5)), False, inputs=filled_with(0.7)),
    Attack("tiny and back", lambda: valued(X * TINY * 1e46, A), False, decided=False),
    Attack("tiny", lambda: valued(X + TINY, A), True, decided=False),
    Attack("a condition on a tiny number", lambda: valued(
        apply("at_least", X * 0, TINY), Const(0)), False, decided=False),
    Attack("at least 2^24 + 1", lambda: valued(apply("at_least", X, 2.0**24 + 1), apply(
        "at_least", A, 2.0**24 + 1)), False, inputs=filled_with(2.0**24)),
    Attack("at least 2^24", lambda: valued(apply("at_least", X, 2.0**24), apply(
        "at_least", A, 2.0**24)), True, inputs=filled_with(2.0**24, 2.0**24 + 1, 2.0**24 - 1)),
    Attack("at least 0.7", lambda: valued(apply("at_least", X, 0.7), apply("at_least", A, 0.7)),
           False, inputs=filled_with(0.7)),  # the f32 next to it is less
    Attack("at least 0.75", lambda: valued(apply("at_least", X, 0.75), apply("at_least", A, 0.75)),
           True, inputs=filled_with(0.75, 0.7)),
    Attack("the largest of 2^24 + 1", lambda: valued(apply("max", X, 2.0**24 + 1), apply(
        "max", A, 2.0**24 + 1)), True),
    Attack("huge", lambda: valued(apply("min", X, 1e300), A), True),
    Attack("huge, and over", lambda: valued(X * 1e200 * 1e-200, A), False),
    Attack("0.1 in bf16", lambda: copied(
        Fill("y", 0.1), Convert("y", "x"), claim=Const(0.1), kinds=("f32", "bf16", "f32")), False,
        tolerance=1e-6),
    Attack("0.5 in bf16", lambda: copied(
        Fill("y", 0.5), Convert("y", "x"), claim=Const(0.5), kinds=("f32", "bf16", "f32")), True),
    Attack("257 in bf16", lambda: copied(
        Fill("y", 257), Convert("y", "x"), claim=Const(257), kinds=("f32", "bf16", "f32")), False),
    Attack("2^24 + 1 in f32", lambda: copied(
        Fill("x", 2**24 + 1), claim=Const(2.0**24 + 1)), True),
    Attack("0.0 and -0.0 of two work-groups", lambda: copied(
        Fill("x", 0.0), If(Index("r"), number(1), (Fill("x", -0.0),)), claim=Const(0),
        grid=(*GRID, ("r", number(2)))), False),
    Attack("0.0 of two work-groups", lambda: copied(
        Fill("x", 0.0), claim=Const(0), grid=(*GRID, ("r", number(2)))), True, decided=True),
    Attack("-0.0", lambda: copied(Fill("x", -0.0), claim=Const(0)), True),
    Attack("1/-0.0", lambda: copied(
        Fill("y", -0.0), Map("x", 1 / Y), claim=Const(math.inf)), False, told=False),
    Attack("s32 + 1", lambda: valued(X + 1, A + 1, ("s32", "f32", "f32")), True,
           inputs=(integers,)),
    Attack("s32 halves", lambda: copied(
        Map("y", X * 0.5), Map("x", Y * 2), kinds=("s32", "f32", "f32")), False,
        inputs=filled_with(2**24 + 1)),
    Attack("max of s32 in f32", lambda: copied(
        Map("y", X), Map("y", apply("max", Y, 0)), Map("x", Y), claim=apply("max", A, 0),
        kinds=("s32", "f32", "f32")), False, inputs=filled_with(2**24 + 1)),
    Attack("bf16 twice", lambda: copied(
        Convert("x", "y"), Convert("y", "x"), Convert("x", "y"), Convert("y", "x"),
        claim=rounded_to("bf16", A), kinds=("f32", "bf16", "f32")), True,
        inputs=filled_with(1.001, 3.001), decided=True),
    Attack("f16 of bf16", lambda: copied(
        Convert("x", "y"), Convert("y", "z"), Map("x", Z), claim=rounded_to("f16", A),
        kinds=("f32", "bf16", "f16")), False, inputs=filled_with(1.001, 1.0039)),
    Attack("bf16 of f16", lambda: copied(
        Convert("x", "y"), Convert("y", "z"), Map("x", Z), claim=rounded_to("bf16", A),
        kinds=("f32", "f16", "bf16")), False, inputs=filled_with(1e6, 1.00390625 + 2.0**-12)),
]  # fmt: skip


# ---------------------------------------------------------------- decided, too


def largest(start: float, value: Any, claim: Any, *behind: Any) -> Kernel:
    """A running maximum begun at a number."""
    trip = (load("A", "x", (K, *PLACE)), Map("z", apply("max", Z, value)))
    loop = Loop("k", number(0), Index("K"), trip)
    return kernel(claim, Fill("z", start), loop, *behind, store("D", "z"), more=BATCHES)


def added(step: Any, claim: Any, *behind: Any) -> Kernel:
    """A running sum, of which some trips count."""
    trip = (load("A", "x", (K, *PLACE)), step)
    loop = Loop("k", number(0), Index("K"), trip)
    return kernel(claim, Fill("z"), loop, *behind, store("D", "z"), more=BATCHES)


def top(value: Any) -> Any:
    return total("k", "K", value, how="max")


AK = Element("A", (K, M, N))
SOME = Where(K, number(3), AK, as_expression(0.0))
MASKED = Map("z", Z + Where(K, number(3), X, as_expression(0.0)))
RELU_MAX = (Map("z", apply("max", Z, 0)),)
DEEP = ({"M": 1, "N": 1, "K": 1}, {"M": 9, "N": 17, "K": 4})
SIGNS = (integers, *filled_with(-7, 7, 0, 200, -200))
BYTE = (Operand("D", "s8", ("M", "N"), role="out"),)


def to_byte(value: Any, claim: Any) -> Kernel:
    body = (load("A", "x", kind="s32"), Map("x", value), Convert("x", "y"))
    return kernel(claim, *body, store("D", "y", kind="s8"), kinds=("s32", "s8", "s32"), more=BYTE)


INOUT = (Operand("D", "f32", ("M", "N"), role="inout"),)
OWN = Element("D", (M, N))


def atomic(of: str) -> AtomicStore:
    plain = store("D", of)
    return AtomicStore(plain.copy, "D", plain.at, of)


def twice(claim: Any, *of: str, grid: Any = GRID) -> Kernel:
    body = (load("A", "x"), Map("y", X * 3), *map(atomic, of))
    return kernel(claim, *body, more=INOUT, grid=grid)


def adding(name: str) -> AtomicStore:
    """Both subgroups add."""
    plain = next(s for s in of_two().statements() if isinstance(s, Store))
    return AtomicStore(plain.copy, "D", plain.at, name)


def stored_twice(first: Any, second: Any, claim: Any = A) -> Kernel:
    last = next(s for s in of_two().statements() if isinstance(s, Store))
    wrong = dataclasses.replace(last, fragment="y")
    return of_two(Fill("y", 1), *first, wrong, *FENCED, *second, claim=claim)


HUGE: dict[str, Callable[[], Kernel]] = {
    "a grid": lambda: copied(grid=(*GRID, ("r", number(2**70)))),
    "a loop": lambda: copied(Loop("k", number(0), number(2**40), (Map("x", X),))),
}


@pytest.mark.parametrize("name", HUGE)
def test_more_than_can_be_listed_is_not_tried(name: str) -> None:
    verdict = cx.verify(HUGE[name]())
    assert verdict.answer == "undecided"
    assert not verdict.tried.runs
    assert "32 bits" in str(verdict)


DECIDED = [
    *(
        Attack(f"a maximum begun at {start:g}", lambda s=start: largest(
            s, X, apply("max", s, top(AK))), True, DEEP, SIGNS, decided=True)
        for start in (-5.0, 0.0, 3.0, -1e30)
    ),
    *(
        Attack(f"a maximum begun at {start:g}, not claimed", lambda s=start: largest(
            s, X, top(AK)), False, DEEP, SIGNS, decided=True)
        for start in (-5.0, 0.0, 3.0)
    ),
    Attack("amax", lambda: largest(0, apply("abs", X), top(apply("abs", AK))), True, DEEP, SIGNS,
           decided=True),
    Attack("amax begun at 1", lambda: largest(1, apply("abs", X), top(apply("abs", AK))), False,
           DEEP, filled_with(0), decided=True),
    Attack("amax of squares", lambda: largest(0, X * X, top(AK * AK)), True, DEEP, SIGNS,
           decided=True),
    Attack("amax of cubes", lambda: largest(0, X * X * X, top(AK * AK * AK)), False, DEEP, SIGNS,
           decided=True),
    Attack("relu of a maximum", lambda: largest(0, X, apply("relu", top(AK))), True, DEEP, SIGNS,
           decided=True),
    Attack("max(max A, 0)", lambda: largest(-math.inf, X, apply("max", top(AK), 0), *RELU_MAX),
           True, DEEP, SIGNS, decided=True),
    Attack("max(max A, 0), begun at 0", lambda: largest(0, X, apply("max", top(AK), 0)), True, DEEP,
           SIGNS, decided=True),
    Attack("max(max A, 0) of relu", lambda: largest(0, apply("relu", X), apply("max", top(AK), 0)),
           True, DEEP, SIGNS, decided=True),
    Attack("max(max A, 1)", lambda: largest(0, X, apply("max", top(AK), 1)), False, DEEP, SIGNS,
           decided=True),
    Attack("silu of a masked sum", lambda: added(
        MASKED, apply("silu", total("k", "K", SOME)), Map("z", apply("silu", Z))), True, DEEP,
        tolerance=1e-5, decided=True),
    Attack("a masked sum of silu", lambda: added(
        MASKED, total("k", "K", apply("silu", SOME)), Map("z", apply("silu", Z))), False, DEEP,
        tolerance=1e-5),
    Attack("silu of a sum of other trips", lambda: added(
        MASKED, apply("silu", total("k", "K", AK)), Map("z", apply("silu", Z))), False, DEEP,
        tolerance=1e-5, decided=True),
    Attack("clamp, then s8", lambda: to_byte(
        apply("clamp", X, -128, 127), rounded_to("s8", A)), True, inputs=SIGNS, decided=True),
    Attack("s8 as a clamp", lambda: to_byte(X, apply("clamp", A, -128, 127)), True, inputs=SIGNS,
           decided=True),
    Attack("a clamp to -127", lambda: to_byte(X, apply("clamp", A, -127, 127)), False,
           inputs=SIGNS, decided=True),
    Attack("min alone, then s8", lambda: to_byte(
        apply("min", X, 127), apply("clamp", A, -128, 127)), True, inputs=SIGNS, decided=True),
    Attack("two additions", lambda: twice(OWN + A + A, "x", "x"), True, decided=True),
    Attack("two additions, one claimed", lambda: twice(OWN + A, "x", "x"), False, decided=True),
    Attack("two others", lambda: twice(OWN + A + 3 * A, "x", "y"), True, decided=True),
    Attack("two others in a row", lambda: twice(OWN + 4 * A, "x", "y"), True, decided=True),
    Attack("three additions, two claimed", lambda: twice(OWN + 2 * A, "x", "x", "x"), False),
    Attack("an addition of two work-groups", lambda: twice(
        OWN + 2 * A, "x", grid=(*GRID, ("r", number(2)))), True, decided=True),
    Attack("stored again behind a barrier", lambda: stored_twice((), ()), True, decided=True),
    Attack("stored again, wrong", lambda: stored_twice((), (Map("x", X + 1),)), False,
           decided=True),
    Attack("stored again in some tiles", lambda: copied(
        Fill("y", 1), store("D", "y"), If(M, number(1), (store("D", "y"),))), True),
    Attack("subgroup and grid", lambda: of_two(
        If(S, Index("m"), (Map("x", X * 2),)),
        claim=Where((M // 8) % 2, M // 16, 2 * A, A)), True,
        ({"M": 1, "N": 1}, {"M": 49, "N": 17}), decided=True),
    Attack("subgroup plus grid", lambda: of_two(
        If(S + Index("m"), number(2), (Map("x", X * 2),)),
        claim=Where((M // 8) % 2 + M // 16, number(2), 2 * A, A)), True,
        ({"M": 1, "N": 1}, {"M": 49, "N": 17}), decided=True),
    Attack("subgroup and grid, turned", lambda: of_two(
        If(Index("m"), S, (Map("x", X * 2),)),
        claim=Where((M // 8) % 2, M // 16, 2 * A, A)), False,
        ({"M": 1, "N": 1}, {"M": 49, "N": 17}), decided=True),
    Attack("wrong from M = 2^20 on", lambda: copied(
        If(number(2**17 - 1), Index("m"), (Map("x", X + 1),))), False, told=False, decided=True),
    Attack("a store left out from M = 2^20 on", lambda: kernel(
        A, load("A", "x"), If(Index("m"), number(2**17), (store("D", "x"),))), False, told=False,
        decided=True),
]  # fmt: skip


def multiplied(also: str) -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 16, 16), ((2, 1, 1), (1, 1, 0)))
    return cx.kernel.gemm(mma, also={"cols[n]": also})


def claiming(also: str, claimed: Any) -> Kernel:
    made = multiplied(also)
    product = total("k", "K", Element("A", (M, K)) * Element("B", (K, N)), accumulator="f32")
    row = total("k", "K", Element("A", (Index("i"), K)) * Element("B", (K, N)), accumulator="f32")
    old = Element("cols", (N,))
    claims = (Claim("D", ("m", "n"), product), Claim("cols", ("n",), old + claimed(row)))
    assert made.computes is not None
    return dataclasses.replace(made, computes=Specification(claims))


PRODUCT = ({"M": 1, "N": 1, "K": 1}, {"M": 17, "N": 17, "K": 33})
SUMMED = [
    *(
        Attack(f"columns, {text}", lambda t=text: multiplied(t), True, PRODUCT, decided=True,
               tolerance=1e-5)
        for text in ("sum(m, acc)", "sum(m, relu(acc))", "sum(m, acc*acc)", "sum(m, abs(acc))",
                     "sum(m, silu(acc))", "sum(m, tanh(acc))")
    ),
    Attack("columns of relu, not claimed", lambda: claiming(
        "sum(m, relu(acc))", lambda row: total("i", "M", row)), False, PRODUCT, decided=True),
    Attack("relu of columns", lambda: claiming(
        "sum(m, relu(acc))", lambda row: apply("relu", total("i", "M", row))), False, PRODUCT,
        decided=True),
]  # fmt: skip

# ---------------------------------------------------------------- all of them

ATTACKS = sampled([*UNDEFINED, *TYPES, *FINITE, *DECIDED, *SUMMED], 40)


@pytest.mark.parametrize("attack", ATTACKS, ids=names(ATTACKS))
def test_an_attack(attack: Attack) -> None:
    answered(attack)
