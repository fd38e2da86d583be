"""Triangles solved by an inverse: one kernel computes it, another is given it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from serving_kinds import inverse_of, wide

import pycute_xe as cx
from pycute_xe.errors import KernelError, UndecidableError
from pycute_xe.kernel import (
    Index,
    Kernel,
    KernelBuilder,
    Load,
    Loop,
    Map,
    delta_rule,
    read_specification,
    solve_tril,
)
from pycute_xe.trials.verifier import trial
from pycute_xe.verifying import prove
from pycute_xe.verifying.prover import opened
from pycute_xe.verifying.questions import Questions
from pycute_xe.verifying.regions import session

CHUNK = 16


def triangle() -> Kernel:
    return solve_tril(CHUNK)


def of_keys() -> Kernel:
    return solve_tril(CHUNK, depth=16)


def rule() -> Kernel:
    return delta_rule(16, subgroups=1, chunk=CHUNK, inverse=True)


@pytest.mark.parametrize("chunk", [16, 32, 64])
@pytest.mark.parametrize("make", [solve_tril, delta_rule])
@pytest.mark.long
def test_the_length_of_a_chunk_does_not_matter_to_a_proof(make: Any, chunk: int) -> None:
    rest = {"depth": 64} if make is solve_tril else {"inverse": True}
    assert prove(make(chunk=chunk, **rest)).answer == "proved"


def test_the_inverse_of_a_triangle_is_proved_and_runs() -> None:
    kernel = triangle()
    assert prove(kernel), prove(kernel)
    below = np.random.default_rng(1).standard_normal((1, 2 * CHUNK, CHUNK)).astype("f4") / 4
    (found,) = cx.run(kernel, L=below, N=2)
    for begun in (0, CHUNK):
        at = slice(begun, begun + CHUNK)
        whole = np.eye(CHUNK) + np.tril(wide(below)[0, at], -1)
        assert np.allclose(wide(found[at]) @ whole, np.eye(CHUNK), atol=1e-5)
        assert not np.triu(found[at], 1).any()


@pytest.mark.long
def test_the_inverse_of_one_kernel_is_what_the_next_is_given() -> None:
    first, second = of_keys().computes, rule().computes
    assert first is not None
    assert second is not None
    assert second.given == first.claims
    assert second.rules.one("I") == first.rules.one("I")
    rng = np.random.default_rng(2)
    keys, rate = rng.standard_normal((2, 32, 16)).astype("f4") / 4, rng.random((2, 32), "f4")
    logs = np.zeros((2, 33), "f4")
    logs[:, 1:] = -rng.random((2, 32)).cumsum(1) / 8
    found = cx.run(of_keys(), K=keys, B=logs, beta=rate, N=2)
    assert np.allclose(found, inverse_of(keys, logs, rate, CHUNK), atol=1e-5)


@pytest.mark.long
def test_what_is_given_is_said_by_a_proof() -> None:
    proof = next(p for p in prove(rule()).proofs if p.property == "O values")
    assert proof
    assert "X is given as X[h,t,j] = I[t-16*(t/16)+1,t/16,h,j]" in proof.assumptions


# ------------------------------------------------------------ wrong kernels


def mapped(old: str, new: str) -> Callable[[Kernel], Kernel]:
    """A change of an expression as it is printed, of the fragments that it has."""

    def change(kernel: Kernel) -> Kernel:
        step = next(s for s in kernel.statements() if isinstance(s, Map) and str(s.value) == old)
        k = KernelBuilder("text", kernel.subgroups)
        for name in sorted(step.touched.reads):
            k.fill(name, k.parts((16, 16), (1, 1)))
        k.map("out", new)
        made = next(s for s in reversed(k.so_far) if isinstance(s, Map))
        return kernel.replace(step, dataclasses.replace(step, value=made.value))

    return change


def loaded(name: str, mode: int, by: int | str) -> Callable[[Kernel], Kernel]:
    """A load of another place."""

    def change(kernel: Kernel) -> Kernel:
        step = next(s for s in kernel.statements() if isinstance(s, Load) and s.fragment == name)
        at = list(step.at)
        at[mode] = at[mode] + by if isinstance(by, int) else at[mode] - at[mode] + Index(by)
        return kernel.replace(step, dataclasses.replace(step, at=tuple(at)))

    return change


def turned(kernel: Kernel) -> Kernel:
    """The upper triangle in the place of the lower one."""
    step = next(s for s in kernel.statements() if isinstance(s, Load) and s.operand == "L")
    loops = {s.var: Index(s.var) for s in kernel.statements() if isinstance(s, Loop)}
    head, row, column = step.at
    at = (head, row - loops["r"] + loops["j"], column - loops["j"] + loops["r"])
    return kernel.replace(step, dataclasses.replace(step, at=at))


def looped(var: str, start: int, stop: int) -> Callable[[Kernel], Kernel]:
    """A loop of other trips."""

    def change(kernel: Kernel) -> Kernel:
        loop = kernel.loop(var)
        ends = {"start": loop.start + start, "stop": loop.stop + stop}
        return kernel.replace(loop, dataclasses.replace(loop, **ends))

    return change


def described(old: str, new: str) -> Callable[[Kernel], Kernel]:
    """Another text of what is defined and given."""

    def change(kernel: Kernel) -> Kernel:
        text = str(kernel.computes)
        assert old in text
        changed = read_specification(text.replace(old, new), kernel.operands)
        return dataclasses.replace(kernel, computes=changed)

    return change


G = "left + -1*rate*exp(now + -1*then)*shared"
WRONG: dict[str, tuple[Callable[[], Kernel], Callable[[Kernel], Kernel]]] = {
    "the sign of L": (triangle, mapped("left + -1*below*above", "left + below*above")),
    "the diagonal of L": (triangle, mapped("left + -1*below*above", "left - below*(above + left)")),
    "the upper triangle": (triangle, turned),
    "a row late": (triangle, loaded("below", 1, -1)),
    "a column late": (triangle, loaded("below", 2, 1)),
    "a row above less": (triangle, looped("j", 0, -1)),
    "no first row": (triangle, looped("j", 1, 0)),
    "the sign of keys": (of_keys, mapped(G, "left + rate*exp(now - then)*shared")),
    "decay turned round": (of_keys, mapped(G, "left - rate*exp(then - now)*shared")),
    "no decay": (of_keys, mapped(G, "left - rate*shared + 0*now*then")),
    "decay of the row before": (of_keys, loaded("now", 1, -1)),
    "decay from the key's own step": (of_keys, loaded("then", 1, -1)),
    "the rate of the row before": (of_keys, loaded("rate", 1, -1)),
    "the key behind": (of_keys, loaded("key", 1, 1)),
    "X a row late": (rule, loaded("x", 1, -1)),
    "X a column late": (rule, loaded("x", 2, 1)),
    "no X": (rule, mapped("x*w", "w + 0*x")),
    "a row of values less": (rule, looped("r", 0, -1)),
    "a row of u less": (rule, looped("q", 0, -1)),
    "given with the sign of L": (rule, described("-1*sum(m < i, beta", "sum(m < i, beta")),
    "given with another decay": (rule, described("-1*B[h,16*c+m+1]", "-1*B[h,16*c+m]")),
    "given an upper triangle": (rule, described("where(j < i, 0, where(i < j, 0, 1))",
                                                "where(i < j, 1, where(j < i, 0, 1))")),
    "given a row late": (rule, described("I[t-16*(t/16)+1,", "I[t-16*(t/16),")),
}  # fmt: skip


@pytest.mark.parametrize("slip", WRONG)
@pytest.mark.long
def test_what_is_wrong_is_not_proved_and_a_run_shows_it(slip: str) -> None:
    make, change = WRONG[slip]
    wrong = change(make())
    with session(), pytest.raises(UndecidableError):
        Questions(opened(wrong), {}).invariants()
    _, seen = trial(wrong, {})
    assert seen is not None
    assert seen.counterexample is not None
    assert cx.replay(wrong, seen.counterexample).shows


def test_a_row_that_is_not_solved_is_disproved() -> None:
    wrong = looped("r", 0, -1)(triangle())
    place = prove(wrong).counterexample
    assert place is not None
    assert cx.replay(wrong, place).shows


# ------------------------------------------------------------ false forms


FORM = "U[t+i+1,h,e] = sum(j, I[i+1,t/16,h,j]*"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (FORM, FORM.replace("I[i+1", "I[i")),
        (FORM, FORM.replace("sum(j,", "sum(j < 15,")),
        (FORM, FORM.replace("sum(j,", "sum(j < i,")),
        (FORM, FORM.replace("I[i+1,t/16,h,j]", "I[j+1,t/16,h,i]")),
        (FORM, FORM.replace("t/16", "t/16+1")),
        (FORM, FORM.replace("U[t+i+1", "U[t+i")),
        ("beta[h,j+t]*(V[h,j+t,e] + ", "beta[h,i+t]*(V[h,j+t,e] + "),
        ("beta[h,j+t]*(V[h,j+t,e] + ", "beta[h,j+t]*(V[h,i+t,e] + "),
        ("exp(B[h,j+t+1] + -1*B[h,t])*S[t,h,f,e]", "exp(B[h,j+t] + -1*B[h,t])*S[t,h,f,e]"),
        ("exp(B[h,j+t+1] + -1*B[h,t])*S[t,h,f,e]", "S[t,h,f,e]"),
        ("exp(B[h,j+t+1] + -1*B[h,t])*S[t,h,f,e]", "exp(B[h,j+t+1] + -1*B[h,t])*S[t+1,h,f,e]"),
        ("-1*sum(m < i, beta", "sum(m < i, beta"),
        ("where(j < i, 0, where(i < j, 0, 1))", "where(i < j, 0, 1)"),
        ("for i < 16, c < N, j < 16", "for i < 16, c < N, j < 15"),
        ("for i < 16, c < N, j < 16", "for i < 15, c < N, j < 16"),
    ],
)
@pytest.mark.long
def test_a_false_form_is_not_shown(old: str, new: str) -> None:
    try:
        wrong = described(old, new)(rule())
    except KernelError:
        return
    with session(), pytest.raises(UndecidableError, match="is not shown"):
        Questions(opened(wrong), {}).invariants()


@pytest.mark.long
def test_a_form_may_not_use_what_is_shown_after_it() -> None:
    kernel = rule()
    assert kernel.computes is not None
    first, second = kernel.computes.jumps
    turned = dataclasses.replace(kernel.computes, jumps=(second, first))
    wrong = dataclasses.replace(kernel, computes=turned)
    with session(), pytest.raises(UndecidableError, match=r"U at t\+i is not shown"):
        Questions(opened(wrong), {}).invariants()


# ------------------------------------------------------------ what is refused


def summing(*lines: str, given: str = "") -> None:
    k = KernelBuilder("refused", 1)
    k.input("x", "f32", ("T", 16))
    k.output("y", "f32", ("T", 16))
    for first, step in zip(lines[::2], lines[1::2], strict=True):
        k.defines(first, step)
    if given:
        k.given(given)


START, STEP = "S[0,d] = 0", "S[t+1,d] = S[t,d] + x[t,d]"


@pytest.mark.parametrize(
    ("lines", "given", "words"),
    [
        ((START, "S[t+1,d] = S[t+1,d] + x[t,d]"), "", "not known to be one of the states before"),
        ((START, "S[t+1,d] = sum(m < t + 2, S[m,d])*x[t,d]"), "", "not known to be one of"),
        (("S[0,d] = S[0,d]", STEP), "", "not known to be one of the states before"),
        ((START, STEP), "y[t,d] = S[t,d]", "y is not an input"),
        ((START, STEP), "x[t,d] = 2*S[t,d]", "not given as an element of what is defined"),
        ((START, STEP), "x[t,d] = x[t,d]", "what follows from x, which is given itself"),
        ((START, STEP), "x[t,d] = S[t,d]", "what follows from x, which is given itself"),
        ((START, STEP), "z[t,d] = S[t,d]", "z is not an input"),
        ((START, "S[t+1,d] = 1 for t < T, d < 16"), "x[t] = S[t,0]", "x has 2 modes"),
    ],
)
def test_what_defines_or_gives_nothing_is_refused(
    lines: tuple[str, ...], given: str, words: str
) -> None:
    with pytest.raises(KernelError, match=words):
        summing(*lines, given=given)


def test_an_input_is_given_once() -> None:
    k = KernelBuilder("twice", 1)
    k.input("x", "f32", ("T", 16))
    k.defines(START, "S[t+1,d] = S[t,d] + 1 for t < T, d < 16")
    k.given("x[t,d] = S[t,d]")
    with pytest.raises(KernelError, match="given twice"):
        k.given("x[t,d] = S[t+1,d]")


@pytest.mark.long
def test_a_state_follows_from_those_that_are_defined_before_it() -> None:
    computes = rule().computes
    assert computes is not None
    turned = dataclasses.replace(computes, defines=computes.defines[::-1])
    with pytest.raises(KernelError, match="is not"):
        turned.check(rule().operands)


@pytest.mark.parametrize("chunk", [0, -16, 8, 24])
def test_a_chunk_that_does_not_fill_lanes_is_refused(chunk: int) -> None:
    with pytest.raises(KernelError, match="is not a multiple of 16"):
        solve_tril(chunk)
    with pytest.raises(KernelError, match=r"not a multiple of 16|goes on by none"):
        delta_rule(16, chunk=chunk, inverse=True)


def test_an_inverse_without_a_chunk_is_refused() -> None:
    with pytest.raises(KernelError, match="only a chunk has a triangular system"):
        delta_rule(16, inverse=True)


@pytest.mark.long
def test_what_an_input_is_given_as_is_printed_and_read_back() -> None:
    kernel = triangle()
    assert read_specification(str(kernel.computes), kernel.operands) == kernel.computes
    text = str(rule().computes)
    assert "given X[h,t,j] = I[t-16*(t/16)+1,t/16,h,j]" in text
    assert "for i < 16, c < N, j < 16" in text
    assert str(read_specification(text, rule().operands)) == text


@pytest.mark.parametrize(
    ("given", "claim", "answer"),
    [
        ("Y[t,d] = S[t+1,d]", "O[t,d] = S[t+1,d]", "proved"),
        ("Y[t,d] = S[t,d]", "O[t,d] = S[t,d]", "proved"),
        ("Y[t,d] = S[t,d]", "O[t,d] = S[t+1,d]", "disproved"),
    ],
)
def test_states_behind_every_token_but_the_first_are_given(
    given: str, claim: str, answer: str
) -> None:
    k = KernelBuilder("after", 1)
    k.input("x", "f32", ("T", 16))
    states, out = k.input("Y", "f32", ("T", 16)), k.output("O", "f32", ("T", 16))
    k.defines(START, STEP)
    k.given(given)
    (t,) = k.grid(t="T")
    k.load("y", states, (1, 16), at=(t, 0))
    k.load("own", "x", (1, 16), at=(t, 0))
    k.map("z", "y + 0*own")
    k.store(out, "z", at=(t, 0))
    assert cx.verify(k.build(claim)).answer == answer
