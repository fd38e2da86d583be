"""Recipes: main loops, epilogues and schedules go together, or are refused with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from broken_kernels import tiled_mma

import pycute_xe as cx
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import (
    Epilogue,
    Fragment,
    Input,
    Mainloop,
    Map,
    Schedule,
    Slot,
    Step,
    apply,
    kernel,
    whole_tiles,
)

MMA = tiled_mma((32, 32, 32), (2, 2))
BF16 = cx.bulk.numpy_dtype("bf16")
SCALED = Input(numeric="s8", transform="B * s[k/64,n]")
TOGETHER: dict[str, tuple[Mainloop, Epilogue, Schedule]] = {
    "staged and scaled": (
        Mainloop(MMA, Input(stages=2), Input(numeric="s8", transform="B * s[k/64,n]", stages=2)),
        Epilogue("relu(acc + bias[n])", "bf16"),
        Schedule(),
    ),
    "one staged, one scaled": (Mainloop(MMA, Input(stages=1), SCALED), Epilogue(), Schedule()),
    "producers and scales": (
        Mainloop(MMA, Input(stages=3), Input(numeric="s8", transform="B*s[n]"), producers=True),
        Epilogue(also={"X": "acc"}),
        Schedule(),
    ),
    "producers beside a prefetch": (
        Mainloop(MMA, Input(stages=2), Input(ahead=3), producers=True),
        Epilogue(order="col"),
        Schedule(raster="n"),
    ),
    "two distances": (Mainloop(MMA, Input(ahead=1), Input(ahead=3)), Epilogue(), Schedule()),
    "staged parts of K": (
        Mainloop(MMA, Input(stages=2), Input(stages=2)),
        Epilogue(),
        Schedule(parts=3),
    ),
    "scaled chunks": (Mainloop(MMA, b=SCALED), Epilogue(), Schedule(chunk=2)),
    "staged batch": (Mainloop(MMA, Input(stages=2)), Epilogue("2*acc + C"), Schedule("batch")),
    "batch in chunks": (Mainloop(MMA), Epilogue(), Schedule("batch", chunk=2)),
    "a plan of scaled tiles": (Mainloop(MMA, b=SCALED), Epilogue("relu(acc)"), Schedule(plan=True)),
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.long
def test_what_goes_together_is_proved(name: str) -> None:
    made = kernel(*TOGETHER[name])
    verdict = cx.verify(whole_tiles(made) if TOGETHER[name][2].plan else made)
    assert verdict, str(verdict)


def test_staged_scaled_tiles_run() -> None:
    made, rng = kernel(*TOGETHER["staged and scaled"]), np.random.default_rng(0)
    a, b, s = (rng.integers(-3, 4, shape) for shape in ((37, 70), (70, 45), (2, 45)))
    bias = rng.integers(-3, 4, 45)
    wanted = np.maximum(a @ (b * np.repeat(s, 64, 0)[:70]) + bias, 0).astype(BF16)
    given = {"A": a.astype(BF16), "B": b.astype(np.int8)}
    more = {"s": s.astype(np.float32), "bias": bias.astype(np.float32)}
    for executor in ("fast", "reference"):
        np.testing.assert_array_equal(cx.run(made, **given, **more, executor=executor), wanted)


def test_the_same_prefetch_distance_of_both_is_one_loop() -> None:
    both, two = (kernel(TOGETHER[name][0]) for name in ("scaled chunks", "two distances"))
    assert [both.loop("p").var, two.loop("p").stop.offset, two.loop("p1").stop.offset] == [
        "p",
        1,
        3,
    ]
    with pytest.raises(KernelError, match="no loop of this kernel has the variable p1"):
        both.loop("p1")


@pytest.mark.long
def test_softmax_of_rows_takes_what_a_gemm_takes() -> None:
    mma = tiled_mma((32, 64, 32), (2, 2))
    made = cx.kernel.softmax_gemm(mma, types={"B": "s8"}, transform_b="B*s[n]", epilogue="2*acc")
    assert cx.verify(made), str(cx.verify(made))
    dual = cx.kernel.dual_gemm(MMA, combine="acc0*acc1", batch=True, types={"B0": "s8", "B1": "s8"})
    assert cx.verify(dual), str(cx.verify(dual))


@pytest.mark.long
def test_a_step_of_ones_own() -> None:
    """What a user puts between the product and the epilogue."""
    halved = Step(
        (Map("half", Slot("tCrC") * 0.5), Map("tCrC", apply("relu", Slot("half")))),
        lambda product: apply("relu", product * 0.5),
        fragments=(Fragment("half", cx.as_numeric("f32"), 16),),
    )
    made = kernel(Mainloop(MMA), Epilogue("acc + bias[m]"), step=halved)
    assert cx.verify(made), str(cx.verify(made))
    wrong = kernel(Mainloop(MMA), step=Step(halved.statements, lambda p: p, (), halved.fragments))
    assert cx.verify(wrong).answer == "disproved"


STAGED = Input(stages=2)
APART: dict[str, tuple[tuple[Any, ...], str]] = {
    "stages": ((Mainloop(MMA, STAGED, Input(stages=1)),), "in different stages"),
    "no stages": ((Mainloop(MMA, producers=True),), "no shared memory to fill"),
    "narrow": ((Mainloop(MMA, STAGED, Input(numeric="s4", stages=2)),), "narrower than a byte"),
    "four stages": ((Mainloop(MMA, Input(stages=4)),), "stages is 4, which must be 1 to 3"),
    "none": ((Mainloop(MMA, Input(stages=0)),), "stages is 0, which must be 1 to 3"),
    "copy": ((Mainloop(MMA, Input(stages=1, reorders=False)),), "loaded by all subgroups together"),
    "two": ((Mainloop(MMA, b=(Input(), Input())),), "nothing puts the accumulators together"),
    "both": ((Mainloop(MMA), None, Schedule(parts=2, chunk=2)), "by parts and by chunk"),
    "no parts": ((Mainloop(MMA), None, Schedule(parts=0)), "a split of 0 parts"),
    "epilogue": ((Mainloop(MMA), Epilogue("relu(acc)"), Schedule(parts=2)), "has the sum"),
    "plan and parts": ((Mainloop(MMA), None, Schedule(parts=2, plan=True)), "says itself"),
    "plan and stages": ((Mainloop(MMA, STAGED), None, Schedule(plan=True)), "while subgroups read"),
    "plan and more": ((Mainloop(MMA), Epilogue(also={"X": "acc"}), Schedule(plan=True)), "further"),
    "stacked": ((Mainloop(MMA), None, Schedule("stacked")), "begin where a plan says"),
    "order": ((Mainloop(MMA, Input("diag")),), "is not a storage order"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", APART)
def test_what_does_not_go_together_is_refused_with_the_reason(name: str) -> None:
    recipe, words = APART[name]
    with pytest.raises(KernelError, match=words) as info:
        kernel(*recipe)
    assert "Way out: " in str(info.value)


def test_an_argument_that_no_kind_has_is_named() -> None:
    with pytest.raises(InputError, match=r"gemm takes no argument named epilog.*write epilogue="):
        cx.kernel.gemm(MMA, epilog="relu(acc)")  # type: ignore[call-arg]
