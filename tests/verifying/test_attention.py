"""Attention is proved for all lengths, and slips in it are disproved by what a replay shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from attention_faults import FAULTS, changed, of_map, right
from attention_problems import tilings
from sampling import sampled

import pycute_xe as cx
from pycute_xe.holding.patience import allowed
from pycute_xe.kernel import (
    Fill,
    Kernel,
    Load,
    Map,
    Part,
    Slot,
    Statement,
    apply,
    attention,
)
from pycute_xe.kernel.kinds.attention_combine import attention_combine
from pycute_xe.kernel.spec.expression import Where
from pycute_xe.verifying.prover import verify_here
from pycute_xe.verifying.verdict import Verdict

WORK = 30_000_000
"""Steps of isl; no clock is read."""


def proofs(kernel: Kernel) -> Verdict:
    with allowed(WORK):
        return verify_here(kernel, {})


def of(options: dict[str, Any], **shape: Any) -> Kernel:
    return attention(*tilings(**shape), **{"stages": 0, **options})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"causal": True},
        {"window": (9, 3)},
        {"sink": True, "lse": True},
        {"cached": True},
        {"group": 2, "out_type": "bf16"},
        {"splits": 4, "lse": True},
    ],
    ids=str,
)
@pytest.mark.long
def test_attention_is_proved(options: dict[str, Any]) -> None:
    verdict = proofs(of(options))
    assert verdict, str(verdict)
    assert "for all" in str(verdict)


@pytest.mark.long
def test_a_sink_behind_keys_that_subgroups_share_is_proved() -> None:
    """What each subgroup rescaled goes into the sum of all, then to what the sink makes of it."""
    verdict = proofs(of({"sink": True}, queries=8, keys=32, across=2))
    assert verdict, str(verdict)


@pytest.mark.long
def test_rows_put_together_from_halves_are_proved() -> None:
    verdict = proofs(of({"causal": True}, queries=8))
    assert verdict, str(verdict)


@pytest.mark.long
def test_half_a_row_taken_twice_is_disproved() -> None:
    """Rows of 8 queries are put together from halves, which are followed as one set of keys."""
    kernel = of({}, queries=8)

    def again(s: Statement) -> Statement:
        other = isinstance(s, Part) and s.destination == "tSrAdd0b"
        return replace(s, first=0) if other else s

    twice = changed(kernel, again)
    found = proofs(twice).counterexample
    assert found is not None
    assert cx.replay(twice, found).shows


def test_parts_put_together_are_proved() -> None:
    alone = ((1, 1, 1), (1, 1, 1))
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), alone)
    verdict = proofs(attention_combine(mma, 3))
    assert verdict, str(verdict)


# The last two take long: without them where not all is asked for.
SLIPS = [
    "the remainder is unmasked",
    "causal, one key late",
    "causal, rows and columns exchanged",
    "the window begins one key early",
    "O is not rescaled",
    "the maximum of the wrong row",
    "the head of another group",
    "P is converted before the exponential",
    "the sum is not rescaled",
    "the rescaling of the wrong row",
]


@pytest.mark.parametrize("name", sampled(SLIPS, 4))
@pytest.mark.long
def test_a_slip_is_disproved_and_shows(name: str) -> None:
    base, change = FAULTS[name]
    kernel = changed(right(base).kernel, change)
    verdict = proofs(kernel)
    assert verdict.counterexample is not None, str(verdict)
    assert cx.replay(kernel, verdict.counterexample).shows


@pytest.mark.long
def test_a_maximum_that_may_be_infinite_shows_nothing() -> None:
    """exp2(-inf - -inf) is not a number: a first tile without a seen key would be one."""
    endless = changed(
        of({"causal": True}),
        lambda s: Fill("tSrMax", float("-inf")) if s == Fill("tSrMax", -(2.0**127)) else s,
    )
    verdict = proofs(endless)
    assert verdict.answer == "undecided"
    assert "may be infinite" in str(verdict)


@pytest.mark.long
def test_what_is_not_proved_keeps_its_registers_and_coverage() -> None:
    inverse = apply("exp2", Slot("tSrNew") - Slot("tSrMax"))
    verdict = proofs(changed(of({}), of_map("tSrFix", lambda _: inverse)))
    answers = {proof.property: proof.answer for proof in verdict.proofs}
    assert answers["registers"] == answers["O coverage"] == "proved"
    assert answers["O values"] != "proved"


@pytest.mark.long
def test_barriers_of_pages_shared_by_subgroups_are_proved() -> None:
    kernel = attention(*tilings(queries=8, keys=64, across=4), page=64)
    answers = {proof.property: proof.answer for proof in proofs(kernel).proofs}
    assert answers["barriers"] == "proved"
    assert answers["O values"] != "disproved"


@pytest.mark.long
@pytest.mark.parametrize("options", [{"page": 64}, {"causal": True}], ids=str)
def test_packed_queries_with_shared_keys_are_proved(options: dict[str, Any]) -> None:
    kernel = attention(*tilings(queries=8, keys=64, across=4), packed=True, **options)
    assert proofs(kernel).answer == "proved"


# ------------------------------------------------------------ parts of a tile

PARTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one subgroup each": ({"queries": 8, "keys": 32, "across": 2}, {}),
    "rows before an end": ({"queries": 8}, {"packed": True}),
    "pages": ({"queries": 8}, {"page": 32}),
}


def _first_columns(s: Statement) -> Statement:
    if isinstance(s, Load) and s.operand == "V":
        return replace(s, at=(*s.at[:-1], s.at[-1] - s.at[-1].offset))
    return s


def _kept_too_few(s: Statement) -> Statement:
    if isinstance(s, Map) and s.destination == "tVrV" and isinstance(s.value, Where):
        return replace(s, value=replace(s.value, below=s.value.below - 1))
    return s


@pytest.mark.long
@pytest.mark.parametrize("name", sampled(PARTS, 1))
def test_tiles_of_columns_are_proved_together_and_one_taken_twice_is_not(name: str) -> None:
    shape, options = PARTS[name]
    kernel = of({"out": 32, **options}, **shape)
    assert proofs(kernel), str(proofs(kernel))
    twice = changed(kernel, _first_columns)
    found = proofs(twice).counterexample
    assert found is not None
    assert cx.replay(twice, found).shows


@pytest.mark.long
def test_values_that_are_masked_a_key_too_early_are_disproved() -> None:
    early = changed(of({"out": 16, "page": 32}, queries=8), _kept_too_few)
    found = proofs(early).counterexample
    assert found is not None
    assert cx.replay(early, found).shows
