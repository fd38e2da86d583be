"""States that are defined step by step: what is proved of them by induction, and what is not."""

from __future__ import annotations

import numpy as np
import pytest
from every import every

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Index, Kernel, KernelBuilder, read_specification
from pycute_xe.kernel.spec.expression import Element
from pycute_xe.kernel.spec.recurrences import unfolded

STEP = "g*S[t,n] + X[t,n]"


def decaying(
    *,
    step: str = "g*s + x",
    first: str = "S0",
    holds: str = "S[t,column]",
    stop: Index | None = None,
    early: bool = False,
    last: str = "S[T,n]",
) -> Kernel:
    """Y[t] = S[t+1] of a state that decays by g, and its end."""
    k = KernelBuilder("decaying", 1)
    X, start = k.input("X", "f32", ("T", "N")), k.input("S0", "f32", ("N",))
    k.input("g", "f32")
    Y, end = k.output("Y", "f32", ("T", "N")), k.output("Z", "f32", ("N",))
    k.defines("S[0,n] = S0[n]", f"S[t+1,n] = {STEP}")
    (n,) = k.grid(n=cx.kernel.Tiles("N", 16))
    row = k.parts((1, 16), (1, 1))
    k.load("s", start, row, at=n * 16)
    if first != "S0":
        k.map("s", first)
    with k.loop("t", 0, stop or Index("T"), {"s": f"{holds[:-7]}16*n + column]"}) as t:
        if early:
            k.store(Y, "s", at=(t, n * 16))
        k.load("x", X, row, at=(t, n * 16))
        k.map("s", step)
        if not early:
            k.store(Y, "s", at=(t, n * 16))
    k.store(end, "s", at=n * 16)
    return k.build(f"Y[t,n] = S[t+1,n]\nZ[n] = {last}")


def test_a_recurrence_is_proved_and_runs() -> None:
    kernel = decaying()
    assert cx.verify(kernel), cx.verify(kernel)
    x, start = np.arange(60.0).reshape(3, 20).astype("f4"), np.ones(20, "f4")
    state = start.copy()
    for executor in ("fast", "reference"):
        y, z = cx.run(kernel, x, start, g=np.float32(0.5), executor=executor)
        state = start.copy()
        for t in range(3):
            state = 0.5 * state + x[t]
            assert np.allclose(y[t], state)
        assert np.allclose(z, state)


WRONG = {
    "the key decays, too": decaying(step="g*(s + x)"),
    "nothing decays": decaying(step="s + g*x"),
    "it begins elsewhere": decaying(first="2*s"),
    "the last token is left out": decaying(stop=Index("T") - 1),
    "the state before the token": decaying(early=True),
    "one step ahead": decaying(holds="S[t+1,column]"),
    "the end is one state early": decaying(last="S[T-1,n]"),
}


@every("name", WRONG)
@pytest.mark.long
def test_a_wrong_one_is_never_proved(name: str) -> None:
    verdict = cx.verify(WRONG[name])
    assert verdict.answer in ("disproved", "undecided"), verdict
    if name != "one step ahead":  # the claim about the loop is wrong there, not the kernel
        assert verdict.answer == "disproved", verdict


def test_a_specification_is_read_back_from_what_it_prints() -> None:
    kernel = decaying()
    assert kernel.computes is not None
    assert read_specification(str(kernel.computes), kernel.operands) == kernel.computes


def test_states_follow_where_that_is_sure() -> None:
    """Only states at a counter plus something are known by the one before."""
    computes = decaying().computes
    assert computes is not None
    n, t = Index("n"), Index("t")

    def shown(time: Index) -> str:
        return str(unfolded(Element("S", (time, n)), computes.rules, frozenset({"t"})))

    assert shown(Index()) == "S0[n]"
    assert shown(t) == "S[t,n]"
    assert shown(t + 1) == "g*S[t,n] + X[t,n]"
    assert shown(t + 2) == "g*(g*S[t,n] + X[t,n]) + X[t+1,n]"
    assert shown(t - 1) == "S[t-1,n]"
    assert shown(-1 * t + 1) == "S[-t+1,n]"
    assert shown(Index("other") + 1) == "S[other+1,n]"


REFUSED = {
    "a name that is taken": ("X[0,n] = 0", "X[t+1,n] = X[t,n]", "stands for something else"),
    "no step": ("S[0,n] = 0", "S[t,n] = X[t,n]", "does not say a step"),
    "no extent": ("S[0,n] = 0", "S[t+1,n] = g*S[t,n]", "nothing says how far it runs"),
    "an unknown operand": ("S[0,n] = 0", "S[t+1,n] = W[t,n]", "W is not an operand"),
}


@every("name", REFUSED)
def test_a_definition_that_says_nothing_is_refused(name: str) -> None:
    first, step, words = REFUSED[name]
    k = KernelBuilder("refused", 1)
    k.input("X", "f32", ("T", "N"))
    k.input("g", "f32")
    k.output("Y", "f32", ("T", "N"))
    with pytest.raises(KernelError, match=words):
        k.defines(first, step)
