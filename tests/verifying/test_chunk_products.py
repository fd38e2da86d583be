"""Chunks as products of matrices: proved, roundings to the narrow type left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

import pycute_xe as cx
from pycute_xe.errors import KernelError, UndecidableError
from pycute_xe.kernel import (
    Kernel,
    KernelBuilder,
    Load,
    Map,
    Tiles,
    delta_rule,
    linear_attention,
    read_specification,
)
from pycute_xe.kernel.spec.expression import Expression, Where
from pycute_xe.trials.verifier import trial
from pycute_xe.verifying import prove
from pycute_xe.verifying.prover import opened
from pycute_xe.verifying.questions import Questions
from pycute_xe.verifying.regions import session


def linear(chunk: int = 32, depth: int = 16) -> Kernel:
    return linear_attention(depth, chunk=chunk, kind="bf16")


def rule(chunk: int = 32, depth: int = 16) -> Kernel:
    return delta_rule(depth, chunk=chunk, inverse=True, kind="bf16")


@pytest.mark.parametrize(("make", "chunk"), [(linear, 16), (linear, 64), (rule, 16), (rule, 32)])
@pytest.mark.long
def test_products_are_proved_and_fit_a_target(
    make: Callable[[int, int], Kernel], chunk: int
) -> None:
    kernel = make(chunk, 64)
    assert cx.check(kernel, "bmg"), cx.check(kernel, "bmg")
    verdict = prove(kernel)
    assert verdict.answer == "proved", verdict
    proof = next(p for p in verdict.proofs if p.property == "O values")
    assert any("conversions to bf16" in x for x in proof.assumptions)


# ------------------------------------------------------------ wrong kernels


def loaded(name: str, mode: int, by: int) -> Callable[[Kernel], Kernel]:
    """A load of another place."""

    def change(kernel: Kernel) -> Kernel:
        step = next(s for s in kernel.statements() if isinstance(s, Load) and s.fragment == name)
        at = tuple(i + by if m == mode else i for m, i in enumerate(step.at))
        return kernel.replace(step, dataclasses.replace(step, at=at))

    return change


def mapped(name: str, change: Callable[[Expression], Expression]) -> Callable[[Kernel], Kernel]:
    """Another expression for a fragment."""

    def changed(kernel: Kernel) -> Kernel:
        maps = [s for s in kernel.statements() if isinstance(s, Map) and s.destination == name]
        step = maps[-1]
        return kernel.replace(step, dataclasses.replace(step, value=change(step.value)))

    return changed


def looped(var: str, by: int) -> Callable[[Kernel], Kernel]:
    """A trip less."""

    def change(kernel: Kernel) -> Kernel:
        loop = kernel.loop(var)
        return kernel.replace(loop, dataclasses.replace(loop, stop=loop.stop + by))

    return change


def turned(value: Expression) -> Expression:
    """The condition of a mask the other way round."""
    assert isinstance(value, Where)
    return Where(value.below, value.index, value.then, value.otherwise)


def strict(value: Expression) -> Expression:
    """A mask that leaves the diagonal out."""
    assert isinstance(value, Where)
    return Where(value.index, value.below + 1, value.then, value.otherwise)


WRONG: dict[str, tuple[Callable[[], Kernel], Callable[[Kernel], Kernel]]] = {
    "the upper triangle": (linear, mapped("p", turned)),
    "no diagonal": (linear, mapped("p", strict)),
    "decay of the query before": (linear, loaded("now", 1, -1)),
    "decay from the key's own step": (linear, loaded("since", 1, -1)),
    "values of the next token": (linear, loaded("v", 1, 1)),
    "a chunk's end a token early": (linear, loaded("end", 1, -1)),
    "some tokens not taken in": (linear, looped("n", -1)),
    "some rows not stored": (linear, looped("b", -1)),
    "keys of the next token": (linear, loaded("key", 2, 1)),
    "X a row late": (rule, loaded("x", 1, -1)),
    "X a column late": (rule, loaded("x", 2, 1)),
    "keys of the row before": (rule, loaded("keys", 1, -1)),
    "rates of the row before": (rule, loaded("rate", 1, -1)),
    "decay of the row before": (rule, loaded("mine", 1, -1)),
    "half of X": (rule, looped("m", -1)),
    "twice as much": (rule, mapped("kept", lambda value: 2 * value)),
}


@pytest.mark.parametrize("slip", WRONG)
@pytest.mark.long
def test_what_is_wrong_is_not_proved_and_a_run_shows_it(slip: str) -> None:
    make, change = WRONG[slip]
    wrong = change(make())
    assert prove(wrong, budget=1).answer != "proved"
    _, seen = trial(wrong, {})
    assert seen is not None
    assert seen.counterexample is not None
    assert cx.replay(wrong, seen.counterexample).shows


@pytest.mark.long
def test_a_name_for_what_is_solved_is_claimed_and_not_trusted() -> None:
    kernel = rule()
    loop = kernel.loop("once")
    (name, value), *_ = loop.holds
    wrong = kernel.replace(loop, dataclasses.replace(loop, holds=((name, 2 * value),)))
    with session(), pytest.raises(UndecidableError, match="u is not what the loop over once"):
        Questions(opened(wrong), {}).invariants()


# ------------------------------------------------------------ roundings


def rounded(claim: str, real: str = "") -> Kernel:
    k = KernelBuilder("rounded", 1)
    x, y = k.input("x", "f32", ("M", 16)), k.output("y", "f32", ("M", 16))
    if real:
        k.reads_as_real(real)
    m = k.grid(m=Tiles("M", 8))[0]
    k.load("a", x, k.parts((8, 16), (1, 1)), at=(m * 8, 0))
    k.convert("b", "a", "f16")
    k.map("c", "b*b", "f32")
    k.store(y, "c", at=(m * 8, 0))
    return k.build(f"y[m,n] = {claim}")


@pytest.mark.parametrize(
    ("claim", "real", "answer"),
    [
        ("x[m,n]*x[m,n]", "f16", True),
        ("x[m,n]*x[m,n]", "", False),
        ("x[m,n]*x[m,n]", "bf16", False),
        ("f16(x[m,n])*f16(x[m,n])", "", True),
        ("f16(x[m,n])*x[m,n]", "f16", True),
        ("f16(x[m,n])*x[m,n]", "", False),
        ("x[m,n]", "f16", False),
    ],
)
def test_roundings_to_a_type_are_left_out_where_it_is_said(
    claim: str, real: str, answer: bool
) -> None:
    verdict = prove(rounded(claim, real))
    assert (verdict.answer == "proved") == answer, verdict


@pytest.mark.parametrize("claim", ["x[m,n]*x[m,n]", "f16(x[m,n])*x[m,n]"])
def test_a_run_is_not_held_to_roundings_that_are_left_out(claim: str) -> None:
    verdict = cx.verify(rounded(claim, "f16"))
    assert verdict, verdict
    assert verdict.tried.runs


def test_what_is_rounded_and_compared_is_not_left_out() -> None:
    k = KernelBuilder("sign", 1)
    x, y = k.input("x", "f32", (16,)), k.output("y", "s32", (16,))
    k.reads_as_real("bf16")
    k.grid(m=1)
    k.load("a", x, k.parts((1, 16), (1, 1)), at=0)
    k.convert("b", "a", "bf16")
    k.convert("c", "b", "f32")
    k.convert("d", "c", "s32")
    k.store(y, "d", at=0)
    assert prove(k.build("y[n] = s32(x[n])")).answer != "proved"


def test_a_specification_says_which_roundings_are_left_out() -> None:
    kernel = linear()
    text = str(kernel.computes)
    assert text.endswith("without roundings to bf16")
    assert str(read_specification(text, kernel.operands)) == text
    k = KernelBuilder("integers", 1)
    with pytest.raises(KernelError, match="roundings to s8 are not those of real numbers"):
        k.reads_as_real("s8")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: linear_attention(16, kind="bf16"), "only chunks are products"),
        (lambda: linear_attention(24, chunk=16, kind="bf16"), "the depth 24 is not a multiple"),
        (lambda: linear_attention(16, chunk=8, kind="bf16"), "the chunk 8 is not a multiple"),
        (lambda: linear_attention(16, chunk=0, kind="bf16"), "goes on by none"),
        (lambda: delta_rule(16, chunk=16, kind="bf16"), "those by an inverse"),
        (lambda: delta_rule(16, inverse=True, kind="bf16"), "only a chunk has a triangular system"),
        (lambda: linear_attention(16, chunk=16, kind="s8"), "s8 is not a type of the products"),
    ],
)
def test_what_has_no_products_is_refused(make: Callable[[], Kernel], words: str) -> None:
    with pytest.raises(KernelError, match=words):
        make()
