"""GEMMs whose operands lie in memory in another type than the MMA multiplies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mixed_forms import FORMS, GRID, Form, independent, inputs, made
from sampling import sampled

import pycute_xe as cx
from pycute_xe.arch import lsc
from pycute_xe.converting import convert
from pycute_xe.drawing.operand_image import operand_image
from pycute_xe.errors import KernelError, TargetError
from pycute_xe.executing.arrays.plans import run_on_arrays
from pycute_xe.executing.problem import prepare
from pycute_xe.kernel import Load, Loop
from pycute_xe.kernel.spec.evaluation import compute


@pytest.mark.parametrize("form", sampled(FORMS, 4), ids=str)
@pytest.mark.long
def test_what_a_mixed_gemm_computes(form: Form) -> None:
    kernel = made(form)
    assert cx.verify(kernel).answer == "proved"
    for sizes in ({"M": 40, "N": 72, "K": 150}, {"M": 1, "N": 16, "K": 64}):
        given = inputs(kernel, sizes)
        wanted = independent(kernel, given, form[3])
        assert np.array_equal(compute(kernel.computes, kernel.operands, given)["D"], wanted)
        for executor in ("fast", "reference"):
            found = cx.run(kernel, **given, executor=executor)
            assert np.array_equal(found, wanted)


def test_what_is_loaded_is_scaled_before_it_is_rounded() -> None:
    """1 + 2**-8 lies between two numbers of bf16 and rounds to 1; three times that to 3 + 2**-6."""
    tiled = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), GRID)
    kernel = cx.kernel.gemm(tiled, transform_b="3 * B", types={"B": "f32"})
    a, b = np.ones((1, 1)), np.full((1, 1), 1 + 2**-8, np.float32)
    for executor in ("fast", "reference"):
        found = cx.run(kernel, a, b, dtype={"A": "bf16"}, executor=executor)
        assert found.tolist() == [[3 + 2**-6]]
    both = cx.kernel.gemm(tiled, transform_a="s * A", transform_b="B * s", types={"B": "f32"})
    assert [o.name for o in both.operands] == ["A", "B", "s", "D"]
    plain = cx.kernel.gemm(tiled, types={"B": "f32"})
    assert "bf16(B[k,n])" in str(plain.computes)


def test_scales_are_loaded_once_for_each_group() -> None:
    kernel = made(FORMS[9])
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
        ({"transform_b": "B * s[k/32,k/64,n]"}, "has indices that it cannot be loaded by"),
        ({"transform_b": "B * s[k/1,n]"}, "a group of 1 along k is not a multiple of the 32 k"),
        ({"transform_b": "B * s[k/64]"}, "is not indexed by n"),
        ({"transform_b": "B * s[n] + s"}, "s is indexed in two ways"),
        ({"transform_a": "A *"}, 'is not an expression. Way out: write "A"'),
        ({"orders": {"Q": "col"}}, "Q of orders is not an operand of the kernel"),
        ({"orders": {"A": "col"}}, "what orders says of A is an argument of its own"),
        ({"types": {"Q": "s8"}}, "Q of types is not an operand of the kernel"),
        (
            {"transform_b": "B - z[k/64,n]", "orders": {"z": "col"}},
            "z[k/64,n] is stored by columns, where the values of one group",
        ),
        (
            {"transform_a": "A - z[m,k/64]", "orders": {"z": "row"}},
            "z[m,k/64] is stored by rows, where the values of one group",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given: dict[str, Any], words: str) -> None:
    tiled = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), GRID)
    with pytest.raises(KernelError, match=words.replace("[", r"\[")):
        cx.kernel.gemm(tiled, **({"types": {"B": "s8"}} | given))


def test_zero_points_on_both_sides_ask_for_whole_tiles() -> None:
    """Beyond K both factors are zero points times scales, and their product is added."""
    both = {"transform_a": "A - za[m]", "transform_b": "B - zb[n]"}
    found = cx.verify(made((("f32", "bf16"), {"A": "u8", "B": "u8"}, ("row", "row"), both)))
    assert found.answer in ("needs", "disproved")


@pytest.mark.parametrize("form", sampled(FORMS, 4), ids=str)
@pytest.mark.long
def test_the_fast_executor_takes_whole_matrices(form: Form) -> None:
    """What it computes is what the byte machine does."""
    kernel = made(form)
    sizes = {"M": 33, "N": 80, "K": 192}
    given = inputs(kernel, sizes, seed=1)
    problem = prepare(kernel, (), given, None)
    found = run_on_arrays(problem)["D"]
    assert np.array_equal(cx.run(kernel, **given, executor="reference"), found)


def test_the_registers_that_a_scaled_operand_is_read_from_are_drawn() -> None:
    """Conversion and scale leave every element where it was: DPAS reads B as without them."""
    plain, scaled = made(FORMS[0]), made(FORMS[9])
    assert operand_image(scaled, "B", 1)[0] == operand_image(plain, "B", 1)[0]
    assert "tBrB" in cx.draw(scaled, "B", view="reorder").svg


@pytest.mark.long
def test_products_of_e2m1_are_legal_on_crescent_island_alone() -> None:
    grid = ((1, 4, 1), (4, 1, 0))
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "f4e2m1"), (16, 128, 256), grid)
    kernel = cx.kernel.gemm(mma, b="col")
    assert cx.check(kernel, "cri").errors == ()
    assert [f.broken.rule for f in cx.check(kernel, "ptl").errors] == ["fp4"]
    assert cx.verify(kernel)
    numbers = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6])
    rng = np.random.default_rng(0)
    a, b = (rng.choice(numbers, shape) for shape in ((17, 300), (300, 130)))
    narrow = [convert(x, "f4e2m1") for x in (a, b)]
    for executor in ("fast", "reference"):
        assert np.array_equal(cx.run(kernel, *narrow, executor=executor), a @ b)


def test_messages_of_crescent_island_that_have_no_rows_are_refused_by_name() -> None:
    message = lsc.parse("lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64")
    with pytest.raises(TargetError, match="its block-2D messages alone"):
        cx.check(message, "cri")
    tall = cx.XE_LOAD_2D(8, 64, 16).message
    assert tall.broken_rules("cri") == ()
    assert "load-height" in {broken.rule for broken in tall.broken_rules("ptl")}
