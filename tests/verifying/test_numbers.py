"""What narrow types hold of numbers: fills, results of maps and sums are what a run holds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.kernel import (
    Claim,
    Convert,
    Element,
    Fill,
    Index,
    Kernel,
    Map,
    Operand,
    Reduce,
    Slot,
    Specification,
    Statement,
    rounded_to,
)
from pycute_xe.kernel.spec.expression import Expression, as_expression
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
