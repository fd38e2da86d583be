"""Answers are tried: proofs are run once, wrong ones are contradicted, and it is said how."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from broken_kernels import block_width, no_reorder, short_loop, subgroup_stride, tiled_mma
from sampling import sampled
from trials_alone import judged
from unsound_kernels import A, M, X, kernel, load, store

import pycute_xe as cx
from pycute_xe.kernel import Fill, If, Index, Kernel, Map, apply, rounded_to, slm_gemm, split_k
from pycute_xe.kernel.spec.expression import Element, total
from pycute_xe.kernel.spec.specification import Claim
from pycute_xe.trials.problems import Grain, telling_sizes, terms_of, trips_wanted
from pycute_xe.trials.verifier import trial
from pycute_xe.verifying import prover
from pycute_xe.verifying.verdict import Verdict

SMALL = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 32), ((2, 1, 1), (1, 1, 0)))
COPY = kernel(A, load("A", "x"), store("D", "x"))


def believed(made: Kernel, params: Any = None, **_: Any) -> Verdict:
    """What a prover says that believes everything."""
    proved = prover.prove(COPY)
    names = ("barriers", "D values")
    proofs = tuple(
        dataclasses.replace(p, property=n) for p, n in zip(proved.proofs[:2], names, strict=True)
    )
    return dataclasses.replace(proved, kernel=made.name, proofs=proofs)


@pytest.mark.parametrize("made", [cx.kernel.gemm(SMALL, stages=2), slm_gemm(SMALL),
                                  split_k(SMALL, parts=2), COPY],
                         ids=["gemm", "slm", "split", "copy"])  # fmt: skip
@pytest.mark.long
def test_a_proof_is_run_at_interior_and_edge_tiles(made: Kernel) -> None:
    verdict = cx.verify(made)
    assert verdict, str(verdict)
    assert verdict.tried
    assert len(verdict.tried.runs) >= 2
    tiles = [count for name, count in made.grid if name in ("m", "n")]
    # One inside, and one that the edge cuts, in both modes of one run; not as many in both.
    counts = [[n.at(dict(run.sizes)) for n in tiles] for run in verdict.tried.runs]
    assert any(sorted(count) == [2, 3] for count in counts)
    assert "tried at M=1" in str(verdict)


@pytest.mark.parametrize("make", [block_width, subgroup_stride, short_loop, no_reorder])
@pytest.mark.long
def test_a_wrong_kernel_that_is_believed_is_contradicted(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from broken_kernels import broken

    monkeypatch.setattr("pycute_xe.trials.verifier.prove", believed)
    wrong = broken(make, (32, 64, 32), (2, 2))
    verdict = cx.verify(wrong)
    assert not verdict
    assert verdict.answer == "undecided"
    assert "the machine contradicts it" in str(verdict)
    assert "please report" in str(verdict)
    assert cx.verify(cx.kernel.gemm(tiled_mma((32, 64, 32), (2, 2))))


def test_a_fault_undoes_every_property(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pycute_xe.trials.verifier.prove", believed)
    # Every row of work-groups stores to the first rows.
    verdict = cx.verify(kernel(A, load("A", "x"), store("D", "x", (Index(), Index("n") * 16))))
    assert [proof.answer for proof in verdict.proofs] == ["undecided"] * 2
    assert "race" in str(verdict)


def test_a_disproof_that_no_run_shows_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = kernel(A, load("A", "x"), Fill("x", 5), store("D", "x"))
    found = prover.prove(wrong)
    monkeypatch.setattr("pycute_xe.trials.verifier.prove", lambda *_, **__: found)
    assert cx.verify(wrong).answer == "disproved"
    verdict = cx.verify(COPY)  # which is right
    assert verdict.answer == "undecided"
    assert verdict.counterexample is None
    assert "a replay shows nothing: please report" in str(verdict)


def test_conversions_are_tried_with_the_edges_of_types() -> None:
    cut = kernel(rounded_to("bf16", A), load("A", "x"), Map("x", rounded_to("bf16", X)),
                 store("D", "x"))  # fmt: skip
    assert any(run.data.startswith("edge values") for run in cx.verify(cut).tried.runs)
    # Nothing but the edges shows that a number is bounded at 2**30.
    bounded = kernel(A, load("A", "x"), Map("x", apply("min", X, 2.0**30)), store("D", "x"))
    _, wrong = trial(bounded, {})
    assert wrong is not None
    assert "edge values" in wrong.words


def test_what_is_rounded_on_its_way_is_compared_nearly() -> None:
    tried, wrong = trial(cx.kernel.softmax_gemm(tiled_mma((16, 32, 16), (1, 2)), stages=0), {})
    assert {run.data for run in tried.runs} == {"eighths"}
    assert wrong is None


def test_numbers_fit_as_many_bits_as_their_multiples_of_the_unit_have() -> None:
    assert Grain(2048).fits(11)
    assert not Grain(2049).fits(11)
    assert Grain(16, 1 / 128).fits(11)
    assert not Grain(17, 1 / 128).fits(11)


def test_two_trips_more_than_stages() -> None:
    for stages in (0, 1, 3):
        gemm = cx.kernel.gemm(SMALL, stages=stages)
        assert trips_wanted(gemm.loop("k")) >= stages + 2
        assert -(-telling_sizes(gemm, {})["K"] // 32) >= stages + 2


@pytest.mark.parametrize("first", [3, 100, 2**12])
@pytest.mark.long
def test_conditions_are_tried_where_they_turn(first: int) -> None:
    late = kernel(A, load("A", "x"), If(Index(None, first), M, (Fill("x", 5),)), store("D", "x"))
    _, wrong = trial(late, {})
    assert wrong is not None
    assert "claimed is" in wrong.words


def test_fixed_sizes_are_kept_and_what_they_hide_is_said() -> None:
    never = kernel(A, load("A", "x"), If(M * 8, Index(None, -1), (Fill("x", 5),)), store("D", "x"))
    verdict = cx.verify(never, {"M": 7})
    assert all(dict(run.sizes)["M"] == 7 for run in verdict.tried.runs)
    assert "is never so" in verdict.tried.reason


def test_what_is_too_much_work_is_said() -> None:
    gemm = cx.kernel.gemm(SMALL)
    tried, wrong = trial(gemm, {"K": 2**20})
    assert wrong is None
    assert not tried
    assert "units of work" in tried.reason
    believed_alone = dataclasses.replace(prover.prove(gemm), tried=tried)
    assert "proved, not tried" in str(believed_alone)


def test_a_part_of_a_large_grid_is_run() -> None:
    tried, wrong = trial(cx.kernel.gemm(SMALL), {"M": 2**20, "N": 2**20})
    assert wrong is None
    assert tried.runs[0].groups < tried.runs[0].of
    lines = str(tried.runs[0])
    assert "M=1048576" in lines
    assert "work-groups" in lines


@pytest.mark.parametrize("seed", sampled(range(1000), 12, always=(24, 174, 233)))
@pytest.mark.long
def test_trials_alone_tell_wrong_from_right(seed: int) -> None:
    outcome = judged(seed)
    assert outcome.word not in ("right, contradicted", "wrong, untried", "wrong, passed")


@pytest.mark.long
def test_two_trials_of_a_kernel_are_the_same() -> None:
    gemm = cx.kernel.gemm(SMALL, stages=1)
    assert cx.verify(gemm).tried == cx.verify(gemm).tried
    assert np.isfinite(cx.verify(gemm).seconds)


@pytest.mark.parametrize("sizes", [{"M": 1 << 40}, {"N": 1 << 30}, {"N": 1 << 22}], ids=str)
def test_sizes_that_no_surface_has_are_not_tried(sizes: dict[str, int]) -> None:
    verdict = cx.verify(COPY, sizes)
    assert verdict.answer == "proved"
    assert not verdict.tried.runs
    assert "not tried" in str(verdict)


@pytest.mark.long
def test_a_claim_of_too_many_numbers_is_not_evaluated() -> None:
    """A wide window is asked for where it ends: thousands of keys, each beside each other."""
    op, grid = cx.XE_DPAS_TT(8, "f32", "bf16"), ((1, 1, 1), (1, 1, 1))
    first, second = (cx.workgroup_mma(op, t, grid) for t in ((8, 32, 16), (8, 16, 32)))
    verdict = cx.verify(cx.kernel.attention(first, second, window=(4095, 3)))
    assert verdict
    assert "numbers at once" in str(verdict.tried)


def test_a_part_of_a_claim_takes_a_number_for_each_value_of_what_it_depends_on() -> None:
    """The inner maximum, of 30 sums, is the same for all of m and j."""
    row = total("k", "K", Element("A", (Index("n"), Index("k"))))
    inner = total("n", "N", row * 2, how="max")
    body = Element("B", (Index("m"), Index("j"))) + inner
    claim = Claim("D", ("m",), total("j", "J", body, how="max"))
    sizes = {"M": 10, "N": 30, "K": 7, "J": 4}
    assert terms_of(claim, sizes, (range(10),)) == 10 * 4
    assert terms_of(claim, sizes, (range(2),)) == 30
