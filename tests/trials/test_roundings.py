"""A run that a rounding or an overflow explains is no defect; every other difference is one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from unsound_kernels import A, X, kernel, load, store

import pycute_xe as cx
from pycute_xe.kernel import Expression, Kernel, Map, apply
from pycute_xe.kernel.spec.roundings import computed, watching
from pycute_xe.trials import verifier
from pycute_xe.trials.verifier import EXCLUDED, REPORT
from pycute_xe.verifying import prove


def mapped(value: Expression, claim: Expression | float) -> Kernel:
    return kernel(claim, load("A", "x"), Map("x", value), store("D", "x"))


def reason(kernel: Kernel) -> str:
    verdict = cx.verify(kernel)
    assert verdict.answer == "undecided", str(verdict)
    return " ".join(proof.reason for proof in verdict.proofs)


ROUNDED: dict[str, tuple[Expression, Expression | float]] = {
    "mul": (X * 2 / 2, A),
    "add": (X + 1e30 - 1e30, A),
    "exp": (apply("exp", X) * apply("exp", -X), 1.0),
}


@pytest.mark.parametrize("step", ROUNDED)
def test_a_rounding_or_an_overflow_is_named_with_its_values(step: str) -> None:
    why = reason(mapped(*ROUNDED[step]))
    assert EXCLUDED in why
    assert f"{step}(" in why
    assert REPORT not in why


UNDERFLOWING: dict[str, tuple[Expression, Expression]] = {
    "a root": (apply("sqrt", X * X), apply("abs", A)),
    "a factor": (X * 2.0**-80 * 2.0**-80 * 2.0**80 * 2.0**80, A),
    "an exponential": (
        apply("exp", X - 150) * apply("exp", X + 75) * apply("exp", 75 - X),
        apply("exp", A),
    ),
}


@pytest.mark.parametrize("name", UNDERFLOWING)
def test_an_underflow_is_named_however_large_later_factors_make_it(name: str) -> None:
    why = reason(mapped(*UNDERFLOWING[name]))
    assert EXCLUDED in why
    assert "underflows to 0" in why
    assert REPORT not in why


def test_an_underflow_excuses_no_number_but_zero() -> None:
    with watching() as found:
        computed("mul", [np.float32(1e-30), np.float32(1e-30)], np.float32)
    assert "underflows to 0" in str(found.explaining(0.0, 3.0))
    assert found.explaining(1.0, 3.0) is None


WRONG: dict[str, tuple[Expression, Expression, Expression]] = {
    "one more": (X + 1, X, A),
    "another factor": (X * 3, X * 2, A * 2),
    "beside a function": (apply("exp", X) + 1, apply("exp", X), apply("exp", A)),
}
"""What is run, what is proved of it by a prover that errs, and what is claimed."""


@pytest.mark.parametrize("name", WRONG)
def test_a_difference_that_no_rounding_explains_is_a_defect(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, proved, claim = WRONG[name]

    def erring(_: Kernel, params: Any = None, **given: Any) -> Any:
        return prove(mapped(proved, claim), params, **given)

    monkeypatch.setattr(verifier, "prove", erring)
    assert REPORT in reason(mapped(run, claim))


Step = Callable[[Fraction, Fraction], Fraction]
EXACT: dict[str, Step] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
}
NUMBERS = st.floats(-(2.0**40), 2.0**40, width=32).filter(lambda x: x == 0 or abs(x) > 2.0**-40)


@pytest.mark.parametrize("name", EXACT)
@given(NUMBERS, NUMBERS)
def test_how_far_a_step_is_off_is_what_fractions_say(name: str, a: float, b: float) -> None:
    with watching() as found:
        result = computed(name, [np.float32(a), np.float32(b)], np.float32)
    off = abs(EXACT[name](Fraction(a), Fraction(b)) - Fraction(float(result)))
    assert found.worst[name].off == pytest.approx(float(off), rel=1e-6)
