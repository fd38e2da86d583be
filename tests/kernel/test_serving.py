"""What serving stacks run: each kind against float64, on both executors; legal, emitted, proved."""

from __future__ import annotations

import numpy as np
import pytest
from every import every
from serving_kinds import KINDS, TEXTLESS, UNDECIDED, off, served

import pycute_xe as cx
from pycute_xe import kernel as kinds
from pycute_xe.errors import KernelError


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.long
def test_both_executors_do_what_float64_does(name: str) -> None:
    one = served(name)
    for executor in ("fast", "reference"):
        found = cx.run(one.kernel, **one.given, executor=executor)
        assert off(found, one.wanted) <= one.near, executor


@pytest.mark.parametrize("name", KINDS)
def test_targets_take_it_and_it_has_a_text(name: str) -> None:
    one = served(name)
    assert cx.check(one.kernel, "bmg"), cx.check(one.kernel, "bmg")
    if name not in TEXTLESS:
        assert one.kernel.name in cx.emit(one.kernel)


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_it_is_proved_for_all_sizes(name: str) -> None:
    verdict = cx.verify(served(name).kernel)
    if name in UNDECIDED:
        undecided = [p.property for p in verdict.proofs if p.answer == "undecided"]
        assert undecided[0] == UNDECIDED[name]
    else:
        assert verdict.answer == "proved", verdict


def test_a_permutation_gives_each_token_a_row_of_its_expert() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 5, (2, 9)).astype(np.int32)
    counts = np.bincount(ids.ravel(), minlength=5)
    offsets = np.cumsum([0, *counts])[:-1].astype(np.int32)
    x = cx.converting.convert(rng.standard_normal((9, 70)).astype(np.float32), "bf16")
    kernel = kinds.moe_permute(2)
    for executor in ("fast", "reference"):
        rows, places = cx.run(kernel, x, ids, offsets, R=ids.size, executor=executor)
        taken = offsets[ids] + places
        assert sorted(taken.ravel().tolist()) == list(range(ids.size))
        assert all((rows[taken[at]] == x[at[1]]).all() for at in np.ndindex(ids.shape))


def test_rows_of_the_lowest_numbers_have_a_largest() -> None:
    x = np.full((2, 20), np.finfo("f4").min)  # what frameworks mask scores with
    x[1, 7] = -3e38
    soft, first = (
        kind(tile=(16, 32), subgroups=1) for kind in (kinds.softmax_rows, kinds.argmax_rows)
    )
    for executor in ("fast", "reference"):
        wanted = np.stack([np.full(20, 0.05), np.eye(20)[7]])
        np.testing.assert_allclose(cx.run(soft, x, executor=executor), wanted, rtol=1e-6)
        chosen = cx.run(first, x, np.arange(20, dtype="f4"), executor=executor)
        assert chosen.tolist() == [0, 7]


REFUSED = {
    "rows": (lambda: kinds.rms_norm(64, tile=(24, 32), subgroups=2), "multiple of 16"),
    "type": (lambda: kinds.quantize_rows(to="u4"), "u4 has no scale"),
    "top": (lambda: kinds.moe_routing(4, 5), "must be 1 to 4"),
    "no expert": (lambda: kinds.moe_permute(0), "a token has 0 experts"),
    "fewer experts": (lambda: kinds.moe_combine(-1), "a token has -1 experts"),
    "pairs": (lambda: kinds.rope(24, heads=1, interleaved=True), "24, not a multiple of 16"),
    "block": (lambda: kinds.block_scaled_gemm(_mma(), 48), "is not a multiple"),
}


def _mma() -> cx.TiledMma:
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 1, 1), (1, 1, 0)))


@every("name", REFUSED)
def test_what_does_not_fit_is_refused_by_name(name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(KernelError, match=words):
        make()
