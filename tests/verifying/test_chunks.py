"""States some steps on: closed forms shown by induction, kernels that go on once a chunk."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.errors import KernelError, UndecidableError
from pycute_xe.kernel import (
    Index,
    Kernel,
    KernelBuilder,
    Loop,
    Map,
    delta_rule,
    linear_attention,
    read_specification,
)
from pycute_xe.kernel.spec.expression import Element
from pycute_xe.kernel.spec.recurrences import unfolded
from pycute_xe.verifying import prove
from pycute_xe.verifying.prover import opened
from pycute_xe.verifying.questions import Questions
from pycute_xe.verifying.regions import session

STEP = "exp(B[t+1] - B[t])*S[t,n] + X[t,n]"
FORM = "exp(B[t+i] - B[t])*S[t,n] + sum(j < i, exp(B[t+i] - B[t+j+1])*X[t+j,n])"


def summing(
    *,
    form: str = FORM,
    step: str = STEP,
    since: str = "exp(last - then)*x",
    trips: int = 4,
    to: Index | None = None,
    claim: str = "S[4*N,n]",
) -> Kernel:
    """A state that decays, four rows of X at a time, and nothing but its end."""
    k = KernelBuilder("summing", 1)
    X, B = k.input("X", "f32", (Index("N") * 4, 16)), k.input("B", "f32", (Index("N") * 4 + 1,))
    first, out = k.input("S0", "f32", (16,)), k.output("Z", "f32", (16,))
    k.defines("S[0,n] = S0[n]", f"S[t+1,n] = {step} for t < 4*N")
    k.jumps(f"S[t+i,n] = {form} for i < 5")
    k.grid(one=1)
    row = k.parts((1, 16), (1, 1))
    k.load("s", first, row, at=0)
    with k.loop("c", 0, to or Index("N"), {"s": "S[4*c,column]"}) as c:
        k.load("begun", B, k.one("s"), at=4 * c)
        k.load("last", B, k.one("s"), at=4 * c + 4)
        k.map("s", "exp(last - begun)*s")
        with k.loop("j", 0, trips) as j:
            k.load("then", B, k.one("s"), at=4 * c + j + 1)
            k.load("x", X, row, at=(4 * c + j, 0))
            k.map("s", f"s + {since}")
    k.store(out, "s", at=0)
    return k.build(f"Z[n] = {claim}")


def test_a_state_that_goes_on_once_a_chunk_is_proved_and_runs() -> None:
    kernel = summing()
    assert cx.verify(kernel), cx.verify(kernel)
    rng = np.random.default_rng(0)
    x, b = rng.standard_normal((12, 16)).astype("f4"), -rng.random(13).cumsum().astype("f4") / 4
    start = np.ones(16, "f4")
    found = cx.run(kernel, X=x, B=b, S0=start, N=3)
    state = start.astype(float)
    for t in range(12):
        state = np.exp(float(b[t + 1]) - float(b[t])) * state + x[t]
    assert np.allclose(found, state, atol=1e-5)


@pytest.mark.parametrize("chunk", [16, 32, 64])
@pytest.mark.parametrize("make", [linear_attention, delta_rule])
@pytest.mark.long
def test_the_length_of_a_chunk_does_not_matter_to_a_proof(make: Any, chunk: int) -> None:
    verdict = prove(make(64, chunk=chunk))
    assert verdict.answer == "proved", verdict


@pytest.mark.parametrize(
    "form",
    [
        FORM.replace("j < i", "j < i - 1"),
        FORM.replace("j < i", "j < i + 1"),
        FORM.replace("t+j+1", "t+j"),
        FORM.replace("X[t+j,n]", "X[t+i,n]"),
        FORM.replace("exp(B[t+i] - B[t])*S", "S"),
        FORM.replace("exp(B[t+i] - B[t+j+1])*", ""),
        FORM.replace("exp(B[t+i] - B[t+j+1])", "exp(B[t+j+1] - B[t+i])"),
        FORM.replace("S[t,n]", "S0[n]"),
        "S[t,n]",
        "S[t+i,n]",
        "0",
    ],
)
def test_a_false_form_is_not_shown(form: str) -> None:
    verdict = cx.verify(summing(form=form))
    assert verdict.answer == "undecided"
    assert all("S at t+i is not shown" in p.reason for p in verdict.proofs if p.property[0] == "Z")


def test_a_form_that_reaches_out_of_an_operand_is_not_shown() -> None:
    k = KernelBuilder("ends", 1)
    x, out = k.input("X", "f32", (4 * Index("N"), 16)), k.output("O", "f32", ("N", 16))
    k.defines("S[0,n] = 0", "S[t+1,n] = S[t,n] + X[t,n]")
    k.jumps("S[t+i,n] = S[t,n] + sum(j < i, X[t+j+1,n]) for i < 5")
    k.grid(one=1)
    k.fill("s", k.parts((1, 16), (1, 1)))
    with k.loop("c", 0, Index("N"), {"s": "S[4*c,column]"}) as c:
        k.load("x", x, (4, 16), at=(4 * c, 0))
        k.reduce("sum", "sum", "x", axis=0)
        k.map("s", "s + sum")
        k.store(out, "s", at=(c, 0))
    verdict = cx.verify(k.build("O[c,n] = S[4*c+4,n]"))
    assert verdict.answer == "undecided"
    assert "S at t+i is not shown" in str(verdict)


@pytest.mark.parametrize(
    "how",
    [
        {"trips": 3},
        {"trips": 5},
        {"since": "exp(last - begun)*x + 0*then"},
        {"since": "exp(then - last)*x"},
        {"since": "x + 0*then"},
        {"step": "exp(B[t+1] - B[t])*(S[t,n] + X[t,n])"},
        {"claim": "S[4*N-1,n]"},
        {"claim": "0"},
        {"to": Index("N") - 1},
        {"to": Index("N") + 1},
        {"to": Index("N") + 1, "claim": "0"},
    ],
)
def test_what_is_wrong_is_not_proved(how: dict[str, Any]) -> None:
    assert prove(summing(**how)).answer != "proved"


def test_a_state_past_its_last_step_is_not_zero() -> None:
    # What lies outside of an operand is zero, and a loop may not claim a state there.
    k = KernelBuilder("beyond", 1)
    x, out, first = k.input("x", "f32", ("T", 16)), k.output("D", "f32", (16,)), k.input(
        "s0", "f32", (16,)
    )  # fmt: skip
    k.defines("S[0,d] = s0[d]", "S[t+1,d] = S[t,d] + x[t,d]")
    k.grid(b=1)
    row = k.parts((1, 16), (1, 1))
    k.load("s", first, row, at=0)
    with k.loop("t", 0, Index("T") + 1, {"s": "S[t,column]"}) as t:
        k.load("v", x, row, at=(t, 0))
        k.map("s", "s + v")
    k.store(out, "s", at=0)
    verdict = prove(k.build("D[d] = 0"))
    assert verdict.answer != "proved"
    assert "is not what the loop over t claims after a trip" in str(verdict)


def test_a_column_past_the_last_one_is_not_zero() -> None:
    # Lanes behind N count steps, too, and their sum is stored.
    k = KernelBuilder("lanes", 1)
    x, first, out = k.input("x", "f32", ("T", "N")), k.input("s0", "f32", ("N",)), k.output(
        "R", "f32", (16,)
    )  # fmt: skip
    k.defines("S[0,n] = s0[n]", "S[t+1,n] = S[t,n] + 1 for t < T, n < N")
    k.grid(b=1)
    k.load("s", first, k.parts((1, 16), (1, 1)), at=0)
    with k.loop("t", 0, Index("T"), {"s": "S[t,column]"}) as t:
        k.load("v", x, k.parts((1, 16), (1, 1)), at=(t, 0))
        k.map("s", "s + 1 + 0*v")
    k.store(out, "s", at=0)
    assert prove(k.build("R[n] = where(n < N, 0*x[0,0], 0)")).answer != "proved"


def solved(value: str) -> Kernel:
    """A small delta rule whose rows are solved by another map."""
    kernel = delta_rule(16, subgroups=1, chunk=4)
    wrong = [s for s in kernel.statements() if isinstance(s, Map) and s.destination == "left"]
    k = KernelBuilder("text", 1)
    for name in ("left", "rate", "now", "then", "above", "value", "before", "old"):
        k.fill(name, k.parts((1, 16), (1, 1)))
    k.map("out", value)
    made = next(s for s in reversed(k.so_far) if isinstance(s, Map))
    step = wrong[0 if "old" in value else 1]
    read = made.touched.reads
    gathers = tuple(pair for pair in step.gathers if pair[0] in read)
    return kernel.replace(step, dataclasses.replace(step, value=made.value, gathers=gathers))


@pytest.mark.parametrize(
    "value",
    [
        "rate*(value - old)",
        "value - exp(now - before)*old",
        "rate*(value + exp(now - before)*old)",
        "left - exp(now - then)*above",
        "left - rate*above",
        "left + rate*exp(now - then)*above",
    ],
)
@pytest.mark.long
def test_a_triangle_solved_wrongly_is_not_proved(value: str) -> None:
    with pytest.raises(UndecidableError, match="u is not what the loop over r claims after a trip"):
        demand_invariants(solved(value))


def demand_invariants(kernel: Kernel) -> None:
    with session():
        Questions(opened(kernel), {}).invariants()


@pytest.mark.long
def test_rows_above_the_diagonal_are_not_taken_away() -> None:
    kernel = delta_rule(16, subgroups=1, chunk=4)
    inner = next(s for s in kernel.statements() if isinstance(s, Loop) and s.var == "j")
    longer = kernel.replace(inner, dataclasses.replace(inner, stop=inner.stop + 1))
    shorter = kernel.replace(inner, dataclasses.replace(inner, stop=inner.stop - 1))
    demand_invariants(kernel)
    demand_invariants(longer)  # the row itself is zero until it is solved
    with pytest.raises(UndecidableError, match="claims after a trip"):
        demand_invariants(shorter)


def test_what_is_claimed_some_steps_on_is_printed_and_read_back() -> None:
    kernel = summing()
    text = str(kernel.computes)
    assert "S[t+i,n] = exp(B[i+t] + -1*B[t])*S[t,n] + sum(j < i, " in text
    assert read_specification(text, kernel.operands) == kernel.computes


def test_a_state_follows_from_the_start_of_its_chunk() -> None:
    computes = summing().computes
    assert computes is not None

    def text(time: Index) -> str:
        return str(unfolded(Element("S", (time, Index("n"))), computes.rules, frozenset("tc")))

    assert text(Index()) == "S0[n]"
    assert text(4 * Index("c")) == "S[4*c,n]"
    assert text(4 * Index("c") + 4).startswith("exp(B[4*c+4] + -1*B[4*c])*S[4*c,n]")
    assert "S[4*(t/4),n]" in text(Index("t", 1))
    assert text(Index("k", 1)) == "S[k+1,n]"  # which may be negative


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("S[t+i,n] = S[t,n]", "how many steps"),
        ("S[t+i] = B[t] for i < 5", "not a state of 1 mode"),
        ("R[t+i,n] = S[t,n] for i < 5", "not a state"),
        ("S[t+i,n] = S[t] for i < 5", "2 modes"),
        ("S[t+i,n] = Y[t] for i < 5", "Y is not an operand"),
    ],
)
def test_what_is_not_a_form_is_refused(text: str, words: str) -> None:
    k = KernelBuilder("refused", 1)
    k.input("X", "f32", ("T", 16))
    k.input("B", "f32", (Index("T", 1),))
    k.input("S0", "f32", (16,))
    k.defines("S[0,n] = S0[n]", f"S[t+1,n] = {STEP} for t < T")
    with pytest.raises(KernelError, match=words):
        k.jumps(text)


@pytest.mark.parametrize("chunk", [0, -3])
def test_an_empty_chunk_is_refused(chunk: int) -> None:
    for make in (cx.kernel.linear_attention, cx.kernel.delta_rule):
        with pytest.raises(KernelError, match="goes on by none"):
            make(16, chunk=chunk)


def test_a_state_without_rows_is_refused() -> None:
    with pytest.raises(KernelError, match=r"depth is 0, and must be 1 or more.*use depth=64"):
        cx.kernel.delta_rule(0)


def test_a_jump_of_no_steps_is_refused() -> None:
    k = cx.kernel.KernelBuilder("k", 1)
    k.input("x", "f32", ("T", 16))
    k.defines("S[0,d] = 0", "S[t+1,d] = S[t,d] + x[t,d]")
    with pytest.raises(KernelError, match="claimed of 0 steps"):
        k.jumps("S[t+i,d] = S[t,d] for i < 1")
