"""Which contents are a sum or a maximum over the trips of a loop, told from the contents alone."""

from __future__ import annotations

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.holding.adding import Apart, taken_apart
from pycute_xe.holding.elements import whole
from pycute_xe.holding.nodes import Accumulated, Call, Carried, Node, Number, Scalar, Summed
from pycute_xe.holding.recurrences import Entering, scaled_apart
from pycute_xe.kernel import Index, Loop

BF16, F32 = cx.as_numeric("bf16"), cx.as_numeric("f32")
Z, Y, TOP = (Carried(name, "k", np.arange(8)) for name in ("z", "y", "top"))
LARGER = Call("max", (TOP, Scalar("x")))
RESCALED = Call(
    "mul", (Z, Call("exp2", (Call("add", (TOP, Call("mul", (Number(-1.0), LARGER)))),)))
)


def products(of: Node) -> tuple[Summed, ...]:
    return (Summed("sum", (("q", 16),), Call("mul", (of, Scalar("b")))),)


def test_the_largest_of_itself_is_what_it_was_and_of_another_fragment_takes_that_in() -> None:
    same = taken_apart(Call("max", (Z, Carried("z", "k", np.arange(8)))), "z", "k")
    assert same is not None
    assert same.terms == ()
    other = taken_apart(Call("max", (Z, Y)), "z", "k")
    assert other is not None
    assert other.terms == (Y,)


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [(None, F32, True), (F32, F32, True), (BF16, BF16, True), (None, BF16, False)],
)
def test_narrow_sums_are_not_put_together_with_others(
    one: cx.Numeric | None, other: cx.Numeric | None, together: bool
) -> None:
    for first, second in ((one, other), (other, one)):
        apart = Apart(Z).then("add", (Scalar("a"),), first)
        assert apart is not None
        found = apart.then("add", (Scalar("b"),), second)
        assert (found is not None) == together


def test_products_are_added_to_a_rescaled_sum_that_does_not_round_at_every_trip() -> None:
    for numeric, right in ((F32, True), (BF16, False)):
        node = Accumulated(numeric, RESCALED, products(Scalar("a")))
        assert (scaled_apart(node, "z", "k", {"top": LARGER}) is not None) == right


def test_a_rescaled_sum_takes_in_nothing_that_depends_on_itself() -> None:
    loop = Loop("k", Index(), Index("K"), ())
    before = {"z": whole(8, Number(0.0)), "top": whole(8, Number(-9.0))}
    for of, found in ((Scalar("a"), {"z"}), (Z, set())):
        out = {"z": Accumulated(F32, RESCALED, products(of)), "top": LARGER}
        entering = Entering(loop, before, {n: whole(8, x) for n, x in out.items()}, str)
        assert entering.rescaled(("z", "top")).keys() == found
