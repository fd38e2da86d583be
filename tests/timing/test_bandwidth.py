"""What L2 and memory need for the bytes of a trip, beside what the threads do."""

from __future__ import annotations

from typing import Any

import pytest
from compiled_cases import needs_compiler

import pycute_xe as cx
from pycute_xe.costing import cost_of, facts_of
from pycute_xe.costing.device import get_device
from pycute_xe.errors import CuteError
from pycute_xe.native import timing
from pycute_xe.native.clocks.bringing import brought

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
GEMM = cx.kernel.gemm(MMA)
CODE = "(W) add (1|M0) r1.0<1>:d r1.0<0;1,0>:d 1:w"


def test_clocks_of_all_trips_are_the_seconds_of_cost() -> None:
    """16 x 16 tiles of 8 trips on 20 cores, 8 work-groups at once: 13 for the core with most."""
    device, sizes = get_device("b580"), {"M": 512, "N": 1024, "K": 256}
    l2, memory = brought(GEMM, device, sizes, dpas=8, threads=32)
    bounds = {b.resource: b for b in cost_of(facts_of(GEMM, "bmg"), device, sizes).bounds}
    trips, waves = 8, 2
    assert l2.least * trips * waves / 2850e6 == pytest.approx(bounds["L2"].least)
    assert l2.most * trips * waves / 2670e6 == pytest.approx(bounds["L2"].most)
    assert memory.least * trips * waves / 2670e6 == pytest.approx(bounds["memory"].least)
    assert memory.most * trips * waves / 2850e6 == pytest.approx(bounds["memory"].most)
    # By hand: a tile of 32 x 64 needs 96 x 256 values of 2 bytes, and stores 2,048 of 4.
    fetched = (512 // 32) * (1024 // 64) * (2 * 96 * 256 + 4 * 32 * 64)
    assert l2.least == pytest.approx(fetched * 13 / 256 / (trips * waves) / 77)


@needs_compiler
@pytest.mark.long
def test_an_interval_holds_what_the_slowest_needs() -> None:
    binary = cx.native.compile(GEMM, "pvc")
    alone = timing(binary, "pvc", 1, group=4, trips=2)
    sizes = {"M": 64, "N": 64, "K": 4096}
    small = timing(binary, "pvc", 1, group=4, trips=2, sizes=sizes)
    assert "bandwidth of L2 and memory" in alone.not_modelled
    assert "bandwidth of L2 and memory" not in small.not_modelled
    rows = dict(small.structures)
    slow, fast = (
        max(rows[f"{x} alone, {how}"] for x in ("L2", "memory")) for how in ("slow", "fast")
    )
    assert (small.least, small.most) == (max(alone.least, fast), max(alone.most, slow))
    assert small.structures[: len(alone.structures)] == alone.structures
    assert "l2" in {name for name, *_ in small.figures}
    device = get_device("max1550").with_figures({"l2": 0.1})
    bound = timing(binary, "pvc", 1, group=4, trips=2, sizes=sizes, device=device)
    assert bound.least > 10 * alone.most
    assert "memory alone, slow" in str(bound)


MISTAKES: dict[str, tuple[Any, str]] = {
    "text": (lambda _: timing(CODE, "bmg", 1, sizes={"M": 1}), "known of a kernel"),
    "a device of text": (lambda _: timing(CODE, "bmg", 1, device="b580"), "known of a kernel"),
    "another target": (lambda b: timing(b, "pvc", 1, group=4, sizes={}, device="b580"), "of bmg"),
    "a size missing": (lambda b: timing(b, "pvc", 1, group=4, sizes={"M": 1}), "K is missing"),
    "a device alone": (lambda b: timing(b, "pvc", 1, group=4, device="max1550"), "is missing"),
    "an unknown device": (lambda b: timing(b, "pvc", 1, group=4, device="x"), "no device"),
}


@needs_compiler
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_clear_line(name: str) -> None:
    does, words = MISTAKES[name]
    with pytest.raises(CuteError, match=words) as raised:
        does(cx.native.compile(GEMM, "pvc"))
    assert "\n" not in str(raised.value)
