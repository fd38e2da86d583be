"""What narrow types hold of numbers: fills, results of maps and sums are what a run holds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Claim,
    Convert,
    Element,
    Fill,
    Index,
    Kernel,
    Load,
    Map,
    Mma,
    Operand,
    Reduce,
    Slot,
    Specification,
    Statement,
    rounded_to,
)
from pycute_xe.kernel.spec.expression import Expression, Total, as_expression
from pycute_xe.layout import Layout

M, N = Index("m"), Index("n")


def small(
    kinds: tuple[str, str, str], claim: Expression | float, *middle: Statement, slots: int = 8
) -> Kernel:
    """X is loaded into x, statements fill y and z, z is stored to Y, of 8 rows and 16 columns."""
    x, y, z = kinds
    operands = (Operand("X", x, (8, 16)), Operand("Y", z, (8, 16), role="out"))
    fragments = (fragment("x", x, 8), fragment("y", y, slots), fragment("z", z, 8))
    body = (load_of("X", "x", x), *middle, store_of("Y", "z", z))
    claims = Specification((Claim("Y", ("m", "n"), as_expression(claim)),))
    return Kernel("small", 1, operands, fragments, (("g", Index(None, 1)),), body, claims)


def shown(kernel: Kernel) -> None:
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    assert cx.replay(kernel, verdict.counterexample).shows


@pytest.mark.parametrize("kind", ["s8", "s16"])
def test_sums_of_narrow_integers_keep_their_lowest_bits(kind: str) -> None:
    twice = Element("X", (M, N)) + Element("X", (M, N))
    shown(small((kind, kind, kind), twice, Map("z", Slot("x") + Slot("x"))))


@pytest.mark.parametrize(
    ("kind", "value", "held"),
    [("bf16", 0.1, 0.10009765625), ("f16", 1e6, np.inf), ("tf32", 1 + 2.0**-11, 1.0)],
)
def test_a_fill_holds_what_its_type_can_hold(kind: str, value: float, held: float) -> None:
    wide = ("f32", kind, "f32")
    fill = (Fill("y", value), Convert("y", "z"))
    assert cx.verify(small(wide, held, *fill))
    assert cx.verify(small(wide, rounded_to(kind, as_expression(value)), *fill))
    shown(small(wide, value, *fill))
    out = cx.run(small(wide, held, *fill), np.zeros((8, 16), np.float32))
    assert (np.asarray(out) == held).all()


def test_a_number_is_claimed_as_the_output_holds_it() -> None:
    assert cx.verify(small(("f32", "bf16", "bf16"), 0.1, Fill("z", 0.1)))
    shown(small(("f32", "bf16", "bf16"), 0.2, Fill("z", 0.1)))
    assert cx.verify(small(("f32", "f32", "f32"), 0.1, Fill("z", 0.1)))
    shown(small(("f32", "f32", "f32"), 1e30, Fill("z", 1e300)))


def test_a_map_into_narrow_integers_keeps_the_lowest_bits() -> None:
    twice = Element("X", (M, N)) * 2
    double = Map("z", Slot("x") * 2)
    assert not cx.verify(small(("s8", "s8", "s8"), rounded_to("s8", twice), double))
    assert not cx.verify(small(("s8", "s8", "s8"), twice, double))
    assert cx.verify(small(("s32", "s8", "s32"), twice, double))


@pytest.mark.parametrize("kind", ["tf32", "bf16"])
def test_what_narrow_floats_compute_is_rounded(kind: str) -> None:
    x = Element("X", (M, N))
    narrow = (Map("y", Slot("x") + 1.0), Convert("y", "z"))
    assert cx.verify(small(("f32", kind, "f32"), rounded_to(kind, x + 1.0), *narrow))
    assert not cx.verify(small(("f32", kind, "f32"), x + 1.0, *narrow))


def test_sums_in_narrow_floats_are_rounded() -> None:
    kernel = small(("bf16", "bf16", "bf16"), Element("X", (M, N)), Fill("z"))
    total = Reduce("sum", "x", "z", Layout((2, 64), (0, 1)))
    moved = kernel.replace(kernel.body[-1], (total, kernel.body[-1]))
    assert not cx.verify(dataclasses.replace(moved, computes=kernel.computes))


def test_a_number_of_one_narrow_type_converted_to_another_is_rounded_twice() -> None:
    x, both = Element("X", (M, N)), (Convert("x", "y"), Convert("y", "z"))
    kinds = ("f32", "f16", "bf16")
    assert cx.verify(small(kinds, rounded_to("bf16", rounded_to("f16", x)), *both))
    for claim in (rounded_to("f16", x), rounded_to("bf16", x)):
        assert not cx.verify(small(kinds, claim, *both))


def test_sums_of_different_numbers_of_elements_are_left_undecided() -> None:
    """The first sum and the last are of one element, the others of two."""
    uneven = Reduce("sum", "x", "z", Layout((64, 2), (1, 1)))
    verdict = cx.verify(small(("f32", "f32", "f32"), 0.0, Fill("z"), uneven))
    assert verdict.answer == "disproved"  # the first proofs are undecided, a run differs
    assert "different numbers of elements" in str(verdict)


def test_products_added_up_in_two_types_are_two_sums() -> None:
    """A product in bf16, to which another one is added in f32."""
    narrow, wide = (
        cx.workgroup_mma(cx.XE_DPAS_TT(8, kind, "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0)))
        for kind in ("bf16", "f32")
    )
    gemm = cx.kernel.gemm(wide, stages=0)
    first = {"k": Index()}
    *loads, multiply = (
        dataclasses.replace(s, at=tuple(i.substitute(first) for i in s.at))
        if isinstance(s, Load)
        else s
        for s in gemm.loop("k").body
        if not isinstance(s, (BarrierArrive, BarrierWait))
    )
    assert isinstance(multiply, Mma)
    body = (
        Fill("sum"),
        *loads,
        dataclasses.replace(multiply, mma=narrow, accumulator="sum"),
        Map("tCrC", Slot("sum")),
        multiply,
        gemm.body[-1],
    )
    product = Element("A", (M, Index("k"))) * Element("B", (Index("k"), N))

    def of(kind: str) -> Total:
        return Total("sum", (("k", Index(None, 16)),), product, cx.as_numeric(kind))

    sizes = {"A": ("M", 16), "B": (16, "N"), "D": ("M", "N")}
    operands = tuple(dataclasses.replace(o, modes=sizes[o.name]) for o in gemm.operands)
    for claim, right in ((of("bf16") + of("f32"), True), (2 * of("bf16"), False)):
        claims = Specification((Claim("D", ("m", "n"), claim),))
        fragments = (*gemm.fragments, fragment("sum", "bf16", 8))
        kernel = dataclasses.replace(
            gemm, operands=operands, fragments=fragments, body=body, computes=claims
        )
        assert bool(cx.verify(kernel)) == right
