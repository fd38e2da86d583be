"""What a kernel costs: counts are those of the machine, bounds follow from figures on paper."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from compiled_kinds import CASES

import pycute_xe as cx
from pycute_xe.cli import main
from pycute_xe.costing import devices, facts_of
from pycute_xe.errors import CuteError, InputError, KernelError, LegalityError, TargetError
from pycute_xe.executing.counting import work_of
from pycute_xe.files import to_json
from pycute_xe.kernel.schedules import StreamK, plan_tables, tile_counts

OP = cx.XE_DPAS_TT(8, "f32", "bf16")


def gemm(**given: Any) -> cx.kernel.Kernel:
    return cx.kernel.gemm(cx.workgroup_mma(OP), **given)


def small(**given: Any) -> cx.kernel.Kernel:
    mma = cx.workgroup_mma(OP, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, **given)


def sizes_of(report: Any) -> dict[str, Any]:
    return dict(report.sizes)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.long
def test_counts_are_those_of_a_run(name: str) -> None:
    """The reference executor sends every message."""
    kernel, given = CASES[name].make()
    _, report = cx.run(kernel, **given, report=True, executor="reference")
    found = cx.cost(kernel, "bmg", tables=given, **sizes_of(report)).facts
    assert dict(found.messages) == report.messages
    assert dict(found.nbytes) == report.bytes
    assert (found.dpas, found.barriers) == (report.dpas, report.barriers)


def test_a_gemm_on_paper() -> None:
    """4096^3 in tiles of 256 x 256 x 32 by 8 x 4 subgroups, on the 32 cores of a B70."""
    found = cx.cost(gemm(), "b70", M=4096, N=4096, K=4096)
    facts = found.facts
    assert facts.groups == 16 * 16
    assert (facts.resident, facts.waves, facts.last) == (1, 8, 1)
    # A subgroup has 32 x 64 of D: 4 x 4 DPAS of 8 x 16 for each 16 of K.
    assert facts.dpas == 256 * 32 * 16 * (4096 // 16)
    assert facts.operations == 2 * 4096**3
    # Of A each subgroup asks for 32 x 32 values a trip, of B for 32 x 64; D is stored once.
    trip = 256 * 32 * 128
    assert facts.requested == trip * 2 * (32 * 32 + 32 * 64) + 4096**2 * 4
    # A core brings 256 x 32 of each instead.
    assert facts.fetched == 256 * 128 * 2 * 2 * 256 * 32 + 4096**2 * 4
    assert facts.redundant == facts.requested - facts.fetched
    assert facts.least == 2 * 4096**2 * 2 + 4096**2 * 4
    dpas = found.bounds[0]
    # 8 rows of 2 clocks each, on 8 engines of 32 cores at 2.8 GHz.
    assert dpas.least == dpas.most == pytest.approx(facts.dpas * 16 / (8 * 32 * 2.8e9))
    assert found.binds == "DPAS"
    assert 4096**3 * 2 / found.least / 1e12 < 183.5


def test_published_rates_lie_between_the_bounds() -> None:
    """Of a B70: 161.7 TFLOP/s of bf16, and 65.7 where weights of 4 bits are widened."""
    sizes: Any = {"M": 2048, "N": 34816, "K": 5120}
    work = 2 * 2048 * 34816 * 5120
    plain = cx.cost(gemm(), "b70", **sizes)
    assert plain.least < work / 161.7e12 < plain.most
    mixed = gemm(types={"B": "s4"}, transform_b="B * scale[k/128,n]")
    found = cx.cost(mixed, "b70", **sizes)
    assert found.least < work / 65.7e12 < found.most
    assert found.facts.widened > 0
    assert plain.facts.widened == plain.facts.moves == 0


def test_the_last_wave_counts_whole() -> None:
    one, more = (cx.cost(gemm(), "b70", M=256, N=256 * n, K=4096) for n in (32, 33))
    assert (one.facts.waves, more.facts.waves) == (1, 2)
    assert more.facts.last == 1 / 32
    assert more.bounds[0].least == 2 * one.bounds[0].least


def test_figures_may_be_replaced_and_their_effect_is_shown() -> None:
    found = cx.cost(gemm(), "b70", M=4096, N=4096, K=4096)
    slow = cx.cost(gemm(), "b70", M=4096, N=4096, K=4096, figures={"memory rate": 10})
    assert (found.binds, slow.binds) == ("DPAS", "memory")
    effect = slow.effects()["memory rate"]
    assert effect.less[0] > slow.least > effect.more[0]
    assert effect.less[1] > slow.most > effect.more[1]
    effect = found.effects()["memory rate"]
    assert effect.less[0] == effect.more[0] == found.least
    assert "given by the call" in str(slow)


def test_a_schedule_is_counted_with_its_tables() -> None:
    mma = cx.workgroup_mma(OP, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.scheduled(mma)
    tables = plan_tables(StreamK(6).plan(tile_counts(128, 192, 256, mma.tile_mnk)))
    a, b = np.ones((128, 256), "f4"), np.ones((256, 192), "f4")
    _, report = cx.run(kernel, a, b, **tables, report=True, dtype=cx.as_numeric("bf16"))
    found = cx.cost(kernel, "bmg", tables=tables, **sizes_of(report))
    assert found.facts.dpas == report.dpas
    with pytest.raises(KernelError, match="depends on elements of"):
        cx.cost(kernel, "bmg", **sizes_of(report))


@pytest.mark.parametrize("name", CASES)
def test_formulas_count_what_points_do(name: str) -> None:
    """Where a kernel's work is known by formulas, they are those of its points."""
    kernel, given = CASES[name].make()
    target = cx.get_target("bmg")
    closed = facts_of(kernel, target).closed
    if closed is None:
        return
    for first in (1, 7, 33, 64, 129):
        sizes = {size: first + 31 * i for i, size in enumerate(kernel.sizes)}
        points = list(work_of(kernel, sizes, given, target))
        assert [work for _, work in closed.at(sizes) if work.times] == points


def test_a_gemm_is_counted_by_formulas() -> None:
    for kernel in (gemm(), gemm(a="col", d_type="bf16"), cx.kernel.slm_gemm(cx.workgroup_mma(OP))):
        assert facts_of(kernel, "bmg").closed is not None
    assert facts_of(gemm(), "bmg") is facts_of(gemm(), "bmg")


def test_sizes_may_be_integers_of_numpy() -> None:
    whole: Any = {name: np.int64(100) for name in "MNK"}
    assert cx.cost(small(), **whole).facts == cx.cost(small(), M=100, N=100, K=100).facts


def test_a_rate_is_faster_the_more_there_is_of_it() -> None:
    found = cx.cost(gemm(), "b70", M=4096, N=4096, K=4096)
    for effect in found.effects().values():
        rate = effect.figure.is_rate
        for less, more in zip(effect.less, effect.more, strict=True):
            assert less >= more if rate else less <= more


def test_every_figure_has_a_source_and_a_kind() -> None:
    for device in devices():
        for figure in device.figures:
            assert figure.source
            assert figure.kind in {"vendor", "measured", "derived", "assumed"}
            assert 0 < figure.least <= figure.most


MISTAKES: dict[str, tuple[Any, type[CuteError], str]] = {
    "a size missing": (lambda: cx.cost(small(), M=1, N=1), InputError, "K is missing"),
    "another size": (
        lambda: cx.cost(small(), M=1, N=1, K=1, Q=1),
        InputError,
        "the kernel has no size Q",
    ),
    "a size of 0": (lambda: cx.cost(small(), M=0, N=1, K=1), InputError, "M is 0, not a positive"),
    "an unknown device": (
        lambda: cx.cost(small(), "a770", M=1, N=1, K=1),
        TargetError,
        "no device has this name.*b580, b570",
    ),
    "a target without a device": (
        lambda: cx.cost(small(), "lnl", M=1, N=1, K=1),
        TargetError,
        "no figures of a device of lnl",
    ),
    "an unknown figure": (
        lambda: cx.cost(small(), M=1, N=1, K=1, figures={"speed": 1}),
        TargetError,
        "b580 has no figure speed",
    ),
    "a figure of 0": (
        lambda: cx.cost(small(), M=1, N=1, K=1, figures={"clock": 0}),
        TargetError,
        "clock is 0, not a number above 0",
    ),
    "a kernel that is illegal there": (
        lambda: cx.cost(
            cx.kernel.gemm(cx.workgroup_mma(OP, (512, 512, 32), ((4, 4, 1), (4, 1, 0)))),
            M=1,
            N=1,
            K=1,
        ),
        LegalityError,
        "see check",
    ),
    "no kernel": (
        lambda: cx.cost("coalesce", M=1),
        InputError,
        "cost takes a kernel",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_clear_line(name: str) -> None:
    does, kind, words = MISTAKES[name]
    with pytest.raises(kind, match=words):
        does()


def test_on_the_command_line(tmp_path: Any) -> None:
    file = tmp_path / "gemm.json"
    file.write_text(to_json(small()), encoding="utf-8")
    runner = CliRunner()
    done = runner.invoke(main, ["cost", str(file), "M=64", "N=64", "K=64", "--device", "b580"])
    assert done.exit_code == 0, done.output
    assert "on b580 (bmg, 20 Xe cores)" in done.output
    done = runner.invoke(main, ["cost", str(file), "M=many"])
    assert done.exit_code == 2
    assert "M=many' does not give a size" in done.output
    done = runner.invoke(main, ["cost", str(file), "M=64", "M=128", "N=64", "K=64"])
    assert done.exit_code == 2
    assert "M is given twice" in done.output


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_prefetches_are_as_far_ahead_as_stages_say(stages: int) -> None:
    """Of 13 waves of 128 trips, each takes its share of the time without the launch."""
    one = cx.cost(gemm(stages=stages), "b580", M=4096, N=4096, K=4096)
    prefetches = one.prefetches
    assert prefetches is not None
    assert [(ahead.operand, ahead.trips) for ahead in prefetches] == [("A", stages), ("B", stages)]
    whole = prefetches[0].seconds[0] / stages * 13 * 128
    assert whole == pytest.approx(one.least - 0.4e-6)
    assert str(prefetches[0]) in str(one)


def test_a_prefetch_is_late_in_time_or_open() -> None:
    known: Any = {"M": 4096, "N": 4096, "K": 4096}
    for latency, answer in ((100, True), (1e5, False), (1000, None)):
        one = cx.cost(gemm(stages=1), "b580", figures={"latency": latency}, **known)
        assert one.prefetches is not None
        assert [ahead.in_time for ahead in one.prefetches] == [answer] * 2


def test_without_prefetches_there_is_no_distance() -> None:
    kernel = cx.kernel.slm_gemm(cx.workgroup_mma(OP))
    assert cx.cost(kernel, "b580", M=512, N=512, K=512).prefetches is None


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_no_answer_says_that_what_it_decides_is_not_known(stages: int) -> None:
    """At each size, a prefetch is in time, late, or among what is not known: one of the three."""
    answers: set[bool | None] = set()
    for make in (gemm, small):
        for size in (64, 512, 4096):
            found = cx.cost(make(stages=stages), "b580", M=size, N=size, K=size)
            lines = str(found).splitlines()
            said = "\n".join(line for line in lines if "not known" in line and "prefetch" in line)
            for ahead in found.prefetches or ():
                answers.add(ahead.in_time)
                named = re.search(rf"prefetches of (.*, )?{ahead.operand}\b", said)
                assert (named is not None) == (ahead.in_time is None), (size, said)
    assert len(answers) > 1
