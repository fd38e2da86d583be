"""What lies behind a length: a proof takes it for finite, a run puts NaN there."""

from __future__ import annotations

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.kernel import Index, Kernel, KernelBuilder
from pycute_xe.kernel.spec.expression import Apply, Const, Expression, Slot, Where
from pycute_xe.kernel.spec.tables import AtMost

ROWS = Index("P")


def summed(masked: bool) -> Kernel:
    """Rows up to a length are summed; those behind it are left out, or have a weight of zero."""
    k = KernelBuilder("summed", 1)
    A = k.input("A", "f32", ("B", ROWS, 16))
    k.input("lengths", "s32", ("B",))
    D = k.output("D", "f32", ("B", 16))
    (b,) = k.grid(b="B")
    length = Index.element("lengths", b)
    k.fill("acc", (1, 16))
    with k.loop("j", 0, ROWS) as j:
        k.load("x", A, (1, 16), at=(b, j, 0))
        x: Expression = Slot("x")
        none = Const(0.0)
        kept = Where(j, length, x, none) if masked else Where(j, length, Const(1.0), none) * x
        k.map("acc", Apply("add", (Slot("acc"), kept)))
    k.store(D, "acc", at=(b, 0))
    k.computes("D[b,h] = sum(j < lengths[b], A[b,j,h])")
    length = Index.element("lengths", Index("b"))
    every = (("b", Index("B")),)
    k.assume(AtMost(Index(), length, every), AtMost(length, ROWS, every))
    return k.build()


@pytest.mark.long
def test_what_is_left_out_may_be_nan() -> None:
    verdict = cx.verify(summed(masked=True))
    assert verdict, str(verdict)
    assert any("NaN where nothing is claimed" in run.data for run in verdict.tried.runs)
    assert any("taken for finite in the proof alone" in a for a in verdict.assumptions)


@pytest.mark.long
def test_a_weight_of_zero_does_not_keep_nan_out() -> None:
    verdict = cx.verify(summed(masked=False))
    assert verdict.answer == "disproved"
    place = verdict.counterexample
    assert place is not None
    assert "lengths" in place.tables
    assert "inputs are NaN where nothing is claimed" in place.message
    shown = cx.replay(summed(masked=False), place)
    assert shown.shows
    assert np.isnan(shown.values[0])
    assert not cx.replay(summed(masked=True), place).shows


@pytest.mark.parametrize("masked", [True, False])
def test_inputs_of_a_counterexample_are_nan_behind_lengths_alone(masked: bool) -> None:
    kernel = summed(masked)
    sizes = {"B": 2, "P": 3}
    tables = {"lengths": ((2,), (2, 0))}
    place = cx.kernel.Counterexample("D values", "", sizes, output="D", index=(0, 0), tables=tables)
    behind = np.isnan(place.inputs(kernel)["A"])
    assert behind.all(axis=2).tolist() == [[False, False, True], [True, True, True]]
    assert behind.any(axis=2).tolist() == behind.all(axis=2).tolist()
