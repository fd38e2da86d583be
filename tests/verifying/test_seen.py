"""What is disproved is seen in a run; where no run that is tried shows it, nothing is decided."""

from __future__ import annotations

import pytest
from fuzz_kernels import changed, judged, not_replayed
from unsound_kernels import A, M, N, kernel, load, store

import pycute_xe as cx
from pycute_xe.clock import deadline
from pycute_xe.holding.patience import DeadlineError, allowed
from pycute_xe.kernel import (
    Element,
    Expression,
    If,
    Index,
    Kernel,
    Map,
    Operand,
    Slot,
    apply,
    rounded_to,
)
from pycute_xe.verifying.prover import verify_here
from pycute_xe.verifying.questions import Questions
from pycute_xe.verifying.regions import Region, session


def mapped(value: Expression, claim: Expression) -> Kernel:
    return kernel(claim, load("A", "x"), Map("x", value), store("D", "x"))


X = Slot("x")


@pytest.mark.long
def test_a_rounding_behind_a_function_that_saturates_is_seen_where_sums_vanish() -> None:
    """Seed 301668 of the fuzz: tanh(sum + f16(bias)) for tanh(sum + bias)."""
    assert judged(301668).word == "disproved"


def test_a_race_that_gives_the_right_number_by_luck_is_seen() -> None:
    assert judged(301532).word == "disproved"


@pytest.mark.parametrize(
    ("value", "claim"),
    [
        (apply("exp", X) * (1 + 2.0**-20), apply("exp", A)),
        (apply("tanh", X) * (1 - 2.0**-20), apply("tanh", A)),
    ],
)
@pytest.mark.long
def test_what_no_tried_run_shows_is_undecided(value: Expression, claim: Expression) -> None:
    verdict = cx.verify(mapped(value, claim))
    assert verdict.answer == "undecided", str(verdict)
    assert "yet the values agree where that was tried" in str(verdict)


def test_what_a_run_shows_is_disproved() -> None:
    one = mapped(apply("exp", X) * (1 + 2.0**-10), apply("exp", A))
    verdict = cx.verify(one)
    assert verdict.answer == "disproved"
    assert not_replayed(one, verdict) == ""


@pytest.mark.parametrize("seed", [400088, 400813])
@pytest.mark.long
def test_what_is_right_at_the_smallest_sizes_by_chance_is_seen_at_larger_ones(seed: int) -> None:
    """Rows less their sum, of other elements: with one row both are zero."""
    assert judged(seed).word == "disproved"


def test_the_smallest_sizes_that_show_it_are_told() -> None:
    """The sum of a column's first rows, which is that of the first alone where there is one."""
    column = apply("add", X, -1 * X)
    wrong = mapped(column, A - Element("A", (Index(), N)))
    verdict = cx.verify(wrong)
    found = verdict.counterexample
    assert found is not None
    assert (found.sizes["M"], found.sizes["N"]) == (2, 1)
    assert not_replayed(wrong, verdict) == ""


def test_large_operands_are_looked_at_where_they_differ() -> None:
    """Columns behind the first 2,400,000 come from the tile before."""
    before = load("A", "x", (M * 8, N * 16 - 16))
    wrong = kernel(A, load("A", "x"), If(Index(None, 149_999), N, (before,)), store("D", "x"))
    assert verify_here(wrong, {}).answer == "disproved"
    assert cx.verify(wrong).answer == "disproved"


@pytest.mark.long
def test_functions_inside_sums_are_tried_in_time() -> None:
    """Seed 401808 of the fuzz: attention whose keys' columns are read at every other tile."""
    assert cx.verify(changed(401808)[0].kernel, budget=300).answer == "disproved"


@pytest.mark.long
def test_a_slow_difference_is_given_up_where_little_time_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seed 501477 of the fuzz: what its stores leave out takes isl five seconds."""
    kernel = changed(501477)[0].kernel
    ended: list[Region] = []
    subtract = Region.__sub__

    def watched(one: Region, other: Region) -> Region:
        ended.append(subtract(one, other))
        return ended[-1]

    monkeypatch.setattr(Region, "__sub__", watched)
    questions = Questions(kernel)
    with session(), deadline("verify", 0.4), allowed(1e9), pytest.raises(DeadlineError):
        questions.coverage("D")
    assert not ended


@pytest.mark.long
def test_a_rounding_behind_steep_functions_is_seen_where_a_difference_nearly_vanishes() -> None:
    """Elsewhere the function is -1 or 1 either way."""
    more = (Operand("B", "f32", ("M", "N")),)
    steep = Map("x", apply("tanh", (rounded_to("f16", X) - Slot("y")) * 64))
    claim = apply("tanh", (A - Element("B", (M, N))) * 64)
    one = kernel(claim, load("A", "x"), load("B", "y"), steep, store("D", "x"), more=more)
    assert cx.verify(one).answer == "disproved"
