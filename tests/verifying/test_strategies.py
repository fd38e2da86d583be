"""What the prover tries of an undecided kernel: a list with names, told by `explain`."""

from __future__ import annotations

import dataclasses

import pytest
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.errors import InputError
from pycute_xe.kernel import (
    Claim,
    Element,
    Expression,
    Fill,
    Index,
    Kernel,
    Loop,
    Map,
    Operand,
    Slot,
    Specification,
    apply,
    total,
)
from pycute_xe.verifying.strategies import STRATEGIES
from pycute_xe.verifying.verdict import Attempt

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))


def looped(value: Expression, claim: Expression, var: str = "k") -> Kernel:
    """Y becomes a value of what it was and of X[k], once for every tile of X."""
    operands = (Operand("X", "f32", ("L", 8, 16)), Operand("Y", "f32", (8, 16), role="out"))
    load = dataclasses.replace(load_of("X", "x", at=(0, 0, 0)), at=(Index(var), Index(), Index()))
    loop = Loop(var, Index(), Index("L"), (load, Map("y", value)))
    fragments = (fragment("x", "f32", 8), fragment("y", "f32", 8))
    body = (Fill("y"), loop, store_of("Y", "y"))
    computes = Specification((Claim("Y", ("m", "n"), claim),))
    return Kernel("looped", 1, operands, fragments, (), body, computes)


def x(tile: int | str) -> Expression:
    index = Index(tile) if isinstance(tile, str) else Index(None, tile)
    return Element("X", (index, Index("m"), Index("n")))


def names(attempts: tuple[Attempt, ...]) -> list[str]:
    return [one.strategy for one in attempts]


def test_a_proof_by_the_statements_needs_no_other_strategy() -> None:
    verdict = cx.verify(cx.kernel.gemm(MMA), explain=True)
    (asked,) = verdict.attempts
    assert asked.strategy == "statements"
    assert asked.answers == tuple((p.property, "proved") for p in verdict.proofs)
    assert asked.units > 0
    assert str(asked) in str(verdict)


def test_attempts_are_listed_where_they_are_asked_for() -> None:
    plain = cx.verify(cx.kernel.gemm(MMA))
    assert plain.attempts == ()
    assert plain == cx.verify(cx.kernel.gemm(MMA), explain=True)


def test_a_plan_is_a_strategy_of_its_own_with_the_attempts_on_its_tiles() -> None:
    _, plan = cx.verify(cx.kernel.scheduled(MMA), explain=True).attempts
    assert plan.strategy == "plan"
    assert ("registers", "proved") in plan.answers
    assert names(plan.within) == ["statements", "statements"]
    assert plan.units >= sum(one.units for one in plan.within)


def test_sizes_are_tried_where_a_loop_has_no_closed_form() -> None:
    value = 2 * Slot("y") + Slot("x") * Slot("y") + Slot("x")
    horner = looped(value, 2 * x(0) + x(1) * x(0) + x(1))
    *_, sizes = cx.verify(horner, {"L": 2}, explain=True).attempts
    assert (sizes.strategy, sizes.answers) == ("sizes", (("Y values", "proved"),))


@pytest.mark.parametrize("var", ["k", "over", "L2"])
def test_the_loops_in_the_way_are_a_value_of_the_proof(var: str) -> None:
    value = apply("relu", Slot("y")) + apply("relu", Slot("x"))
    kernel = looped(value, total("j", "L", apply("relu", x("j"))), var)
    loops = {proof.property: proof.loops for proof in cx.verify(kernel).proofs}
    assert loops["Y values"] == (var,)
    assert not any(loops[name] for name in ("barriers", "bounds", "Y coverage"))


def test_strategies_have_names_that_differ() -> None:
    every = [one.name for one in STRATEGIES]
    assert every == ["tickets", "plan", "short loops", "sizes"]
    assert all(one.asks for one in STRATEGIES)


def test_only_the_proof_of_a_kernel_is_explained() -> None:
    with pytest.raises(InputError, match="give a kernel alone"):
        cx.verify("XE_2D_U16x8x16_LD_N", explain=True)
    with pytest.raises(InputError, match="give a kernel alone"):
        cx.verify(cx.kernel.gemm(MMA), row="v", column="t", explain=True)
