"""Terms on whole arrays against the byte machine: kernels of every kind, right and wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from attention_faults import FAULTS as ATTENTION, changed, right
from broken_kernels import BROKEN, broken, tiled_mma
from compiled_kinds import CASES
from every_kernel import KINDS
from kernel_changes import CHANGES
from mixed_forms import FORMS, inputs, made
from sampling import sampled
from slm_faults import FAULTS as SHARED
from small_kernels import small_kernel

import pycute_xe as cx
from pycute_xe.arch import get_target
from pycute_xe.converting import convert
from pycute_xe.errors import CuteError, MachineError, UndecidableError
from pycute_xe.executing import launch
from pycute_xe.executing.arrays.plans import run_on_arrays
from pycute_xe.executing.problem import Problem, prepare
from pycute_xe.kernel import Fill, If, Index, Kernel, Loop, Map, Operand, Slot, Statement
from pycute_xe.kernel.ir.kernel import steps
from pycute_xe.kernel.schedules import SplitK, StreamK, plan_tables, tile_counts
from pycute_xe.machine import Trace

Given = tuple[Kernel, dict[str, Any]]
BMG = get_target("bmg")


def judged(problem: Problem) -> dict[str, Any] | str:
    """What the byte machine gives, or the kind of its fault."""
    try:
        return launch.execute(problem.kernel, problem, BMG, Trace())
    except MachineError as error:
        return type(error).__name__


def on_arrays(problem: Problem) -> dict[str, Any] | str | None:
    """What whole arrays give, the kind of a fault; None where they leave it to the machine."""
    try:
        return dict(run_on_arrays(problem))
    except UndecidableError:
        return None
    except CuteError as error:
        return type(error).__name__


def assert_alike(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Integers bit for bit; floats to the rounding of their sums, relative to the largest."""
    assert found.keys() == wanted.keys()
    for name, other in wanted.items():
        one = found[name]
        assert one.dtype == other.dtype
        if other.dtype.kind in "iu" or "int" in other.dtype.name:
            assert np.array_equal(one, other), name
            continue
        x, y = one.astype(np.float64), other.astype(np.float64)
        finite = np.isfinite(y)
        assert np.array_equal(x[~finite], y[~finite], equal_nan=True), name
        largest = np.abs(y[finite]).max(initial=1e-30)
        share = 2.0**-18 if other.dtype.itemsize >= 4 else 2.0**-6
        assert np.abs(x[finite] - y[finite]).max(initial=0) <= share * largest, name


def agrees(kernel: Kernel, given: dict[str, Any]) -> bool:
    """Check both, where whole arrays have an answer; return whether they do."""
    problem = prepare(kernel, (), given, None)
    found = on_arrays(problem)
    if found is None:
        return False
    wanted = judged(problem)
    if isinstance(found, str) or isinstance(wanted, str):
        assert found == wanted
    else:
        assert_alike(found, wanted)
    return True


@pytest.mark.parametrize("name", CASES)
@pytest.mark.long
def test_every_kind_is_on_arrays_and_agrees(name: str) -> None:
    assert agrees(*CASES[name].make())


@pytest.mark.parametrize("name", sampled(CASES, 6, always=["attention, a window"]))
@pytest.mark.long
def test_what_a_kernel_claims_changes_no_bit(name: str) -> None:
    def bare(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(
            replace(s, body=bare(s.body), **({"holds": ()} if isinstance(s, Loop) else {}))
            if isinstance(s, (Loop, If))
            else s
            for s in body
        )

    kernel, given = CASES[name].make()
    plain = replace(kernel, body=bare(kernel.body), computes=None)
    one, other = (run_on_arrays(prepare(k, (), given, None)) for k in (kernel, plain))
    for output in kernel.outputs:
        assert one[output.name].tobytes() == other[output.name].tobytes()


@pytest.mark.parametrize("form", sampled(FORMS, 6), ids=str)
def test_transforms_agree(form: Any) -> None:
    kernel = made(form)
    assert agrees(kernel, inputs(kernel, {"M": 33, "N": 80, "K": 192}, seed=1))


@pytest.mark.parametrize("schedule", [StreamK(5, least=1), SplitK(3, 4)], ids=str)
@pytest.mark.long
def test_work_groups_that_wait_agree(schedule: Any) -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, (16, 32, 32), ((1, 2, 1), (2, 1, 0)))
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, s).astype(ml_dtypes.bfloat16) for s in ((39, 300), (300, 70)))
    tables = plan_tables(schedule.plan(tile_counts(39, 70, 300, mma.tile_mnk)))
    assert agrees(cx.kernel.scheduled(mma), {"A": a, "B": b, **tables})


# ------------------------------------------------------------------ wrong kernels


def factors(kernel: Kernel) -> dict[str, Any]:
    rng, sizes = np.random.default_rng(3), {"M": 40, "N": 70, "K": 80}
    return {
        o.name: convert(rng.integers(-3, 4, [m.at(sizes) for m in o.modes]), o.value_type)
        for o in kernel.inputs
    }


@pytest.mark.parametrize("make", BROKEN, ids=lambda make: make.__name__)
def test_wrong_products_give_the_same_wrong_numbers(make: Callable[..., Kernel]) -> None:
    kernel = broken(make, (32, 64, 32), (2, 2))
    agrees(kernel, factors(kernel))


@pytest.mark.parametrize("name", SHARED)
def test_slips_of_shared_memory(name: str) -> None:
    """What is in no order is never stored: the byte machine says what is wrong."""
    kernel = SHARED[name]()
    problem = prepare(kernel, (), factors(kernel), None)
    found, wanted = on_arrays(problem), judged(problem)
    if isinstance(wanted, str):
        assert found in (None, wanted)
    elif isinstance(found, dict):
        assert_alike(found, wanted)


@pytest.mark.parametrize("name", sampled(ATTENTION, 6))
def test_slips_of_attention(name: str) -> None:
    base, change = ATTENTION[name]
    given = right(base)
    try:
        wrong = changed(given.kernel, change)
    except CuteError:
        return
    agrees(wrong, given.operands)


@pytest.mark.parametrize("seed", sampled(range(4000), 30))
def test_changed_kernels_of_every_kind(seed: int) -> None:
    r, rng = random.Random(seed), np.random.default_rng(seed)
    kernel = KINDS[r.choice([*KINDS])](r)
    try:
        for _ in range(r.choice([0, 1, 1, 2, 3])):
            kernel = r.choice(CHANGES)(r, kernel)
    except CuteError:
        return
    sizes = {name: r.choice([1, 2, 3, 7, 16, 17, 20, 33, 40]) for name in kernel.sizes}
    given = {
        o.name: convert(
            rng.integers(0 if o.value_type.kind != "float" else -3, 3, shape)
            if r.random() < 0.7 or o.value_type.kind != "float"
            else 3 * rng.standard_normal(shape),
            o.value_type,
        )
        for o in kernel.inputs
        for shape in [tuple(m.at(sizes) for m in o.modes)]
    }
    try:
        problem = prepare(kernel, (), given | sizes, None)
    except CuteError:
        return
    if not problem.empty and steps(kernel, sizes) < 2000:
        agrees(kernel, given | sizes)


# ------------------------------------------------------------------ what is left to the machine


def why(kernel: Kernel, **given: Any) -> str:
    """What a report says of a run that the byte machine did."""
    _, report = cx.run(kernel, **given, report=True)
    assert report.why in str(report)
    return report.why


def test_a_report_says_why_the_byte_machine_ran() -> None:
    plain = cx.kernel.gemm(tiled_mma((32, 64, 32), (2, 2)))
    assert why(plain, **factors(plain)) == ""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "bf16", "bf16"), (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    narrow = cx.kernel.gemm(mma, stages=0)
    multiply = next(s for s in narrow.loop("k").body if type(s).__name__ == "Mma")
    twice = replace(narrow, computes=None).replace(multiply, (multiply, multiply))
    assert "added by turns" in why(twice, **factors(twice))


def test_stores_of_several_subgroups_are_left_to_the_machine() -> None:
    gemm = cx.kernel.gemm(tiled_mma((32, 64, 32), (2, 2)))
    store = next(s for s in gemm.statements() if type(s).__name__ == "Store")
    onto = gemm.replace(store, replace(store, at=(Index(), store.at[1])))
    given = factors(onto)
    assert on_arrays(prepare(onto, (), given, None)) is None
    with pytest.raises(MachineError, match="race"):
        cx.run(replace(onto, computes=None), **given)
    alike = {"A": np.ones((64, 80), given["A"].dtype), "B": given["B"]}
    assert "several subgroups" in why(replace(onto, computes=None), **alike)


def test_a_narrow_accumulator_takes_its_start_through_every_rounding() -> None:
    """256 + 1 is 256 in bf16, however often; 256 + 8 would be 264."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "bf16", "bf16"), (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = replace(cx.kernel.gemm(mma, stages=0), computes=None)
    fill = next(s for s in kernel.body if isinstance(s, Fill))
    begun = kernel.replace(fill, replace(fill, value=256.0))
    a, b = np.zeros((1, 128), ml_dtypes.bfloat16), np.ones((128, 1), ml_dtypes.bfloat16)
    a[0, ::16] = 1
    assert agrees(begun, {"A": a, "B": b})
    assert float(cx.run(begun, a, b)[0, 0]) == 256


def test_registers_that_nothing_tells_apart_share_a_place() -> None:
    """Without scores all weights are alike, and all queries give the mean of the values."""
    given = right("plain")
    scores = next(s for s in given.kernel.statements() if isinstance(s, Loop) and s.var == "dk")
    alike = replace(given.kernel, computes=None).replace(scores, None)
    assert agrees(alike, given.operands)


def test_zeros_behind_one_factor_meet_what_the_other_one_has_there() -> None:
    kernel = replace(cx.kernel.gemm(tiled_mma((32, 64, 32), (2, 2)), stages=0), computes=None)
    operands = tuple(
        replace_modes(o, (Index("J"), Index("N"))) if o.name == "B" else o for o in kernel.operands
    )
    deeper = replace(kernel, operands=operands)
    a, b = np.ones((20, 40), ml_dtypes.bfloat16), np.ones((64, 24), ml_dtypes.bfloat16)
    b[50, 3] = np.inf
    assert agrees(deeper, {"A": a, "B": b})
    assert np.isnan(cx.run(deeper, a, b)[:, 3]).all()


@pytest.mark.parametrize("kind", ["s8", "u8", "s16"])
def test_products_of_narrow_integers_keep_their_lowest_bits(kind: str) -> None:
    dtype = cx.bulk.numpy_dtype(kind)
    x = np.full((8, 16), np.iinfo(dtype).max, dtype)
    kernel = small_kernel((Map("x", Slot("x") * 3),), kinds=(kind, kind))
    assert agrees(kernel, {"X": x})
    assert np.array_equal(cx.run(kernel, x), (x.astype(np.int64) * 3).astype(dtype))


def replace_modes(operand: Operand, modes: tuple[Index, ...]) -> Operand:
    """An operand of other extents."""
    return Operand(operand.name, operand.value_type, modes, operand.contiguous, operand.role)
