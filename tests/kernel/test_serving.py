"""What serving stacks run: each kind against float64, on both executors; legal, emitted, proved."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from every import every
from serving_kinds import KINDS, TEXTLESS, UNDECIDED, off, served

import pycute_xe as cx
from pycute_xe import kernel as kinds
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Kernel


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
    verdict = cx.verify(served(name).kernel, budget=30)
    if name in UNDECIDED:
        undecided = [p.property for p in verdict.proofs if p.answer == "undecided"]
        assert UNDECIDED[name] in undecided
        assert verdict.answer == "undecided", verdict
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
    "type": (lambda: kinds.quantize_rows(to="u4"), "rows are not scaled to u4"),
    "top": (lambda: kinds.moe_routing(4, 5), "must be 1 to 4"),
    "no expert": (lambda: kinds.moe_permute(0), "a token has 0 experts"),
    "fewer experts": (lambda: kinds.moe_combine(-1), "a token has -1 experts"),
    "pairs": (lambda: kinds.rope(24, heads=1, interleaved=True), "24, not a multiple of 16"),
    "block": (lambda: kinds.block_scaled_gemm(MMA, 48), "is not a multiple"),
    "group": (lambda: kinds.moe_gemm(MMA, scaled="blocks", group=96), "deep and 64 wide"),
    "groups of rows": (lambda: kinds.quantize_groups(64, 48), "48 columns is not a multiple of 32"),
    "type of groups": (lambda: kinds.quantize_groups(64, to="u4"), "rows are not scaled to u4"),
    "taps": (lambda: kinds.causal_conv(1), "taps is 1, and must be 2 to 64"),
    "groups of experts": (lambda: kinds.grouped_routing(250), "do not divide 250 experts"),
    "combine": (lambda: kinds.causal_conv(combine="1.0"), "does not say what becomes of acc"),
    "scales by head": (lambda: kinds.kv_cache_write(16, 64, by_head=True), "is not scaled"),
    "wide groups": (lambda: kinds.grouped_routing(4096, 2), "a group has 2048 experts"),
    "best groups": (lambda: kinds.grouped_routing(256, best=9), "9 of 8 groups"),
    "parts": (lambda: kinds.attention_combine(MMA, 0), "nothing to put together"),
    "slots": (lambda: kinds.delta_rule(64, slots=True, chunk=16), "without slots"),
}


MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 1, 1), (1, 1, 0)))


@every("name", REFUSED)
def test_what_does_not_fit_is_refused_by_name(name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(KernelError, match=words):
        make()


WAYS: dict[str, tuple[Callable[..., Kernel], dict[str, Any]]] = {
    "depth of an inverse": (partial(kinds.solve_tril, 16), {"depth": 0}),
    "depth of a state": (kinds.delta_rule, {"depth": 0}),
    "depth of chunks": (partial(kinds.delta_rule, chunk=16, inverse=True), {"depth": -1}),
    "columns of a state": (kinds.linear_attention, {"columns": 0}),
    "type of chunks": (partial(kinds.linear_attention, chunk=16), {"kind": "s8"}),
    "type without chunks": (kinds.linear_attention, {"kind": "s8"}),
    "type of the delta rule": (partial(kinds.delta_rule, chunk=16, inverse=True), {"kind": "s8"}),
    "rest of a head": (kinds.rope, {"rest": -1}),
    "odd rest of a head": (kinds.rope, {"rest": 3}),
    "odd half of a head": (kinds.rope, {"half": 3}),
    "columns of rows": (kinds.rms_norm, {"columns": 0}),
    "page": (kinds.kv_cache_write, {"page": 0}),
    "width": (kinds.causal_conv, {"width": 3}),
    "heads": (partial(kinds.mqa_logits, MMA), {"heads": 0}),
    "filter": (partial(kinds.convolution, MMA), {"filter": (0, 3)}),
    "states": (kinds.selective_scan, {"states": 0}),
}


@every("name", WAYS)
@pytest.mark.long
def test_a_refusal_names_its_call_and_a_way_out_that_works(name: str) -> None:
    make, given = WAYS[name]
    called = make.func if isinstance(make, partial) else make
    with pytest.raises(KernelError) as refused:
        make(**given)
    assert refused.value.operation == called.__name__
    (argument,) = given
    ways = refused.value.fix.removeprefix("use ").removeprefix(f"{argument}=").split(" or ")
    more = {"chunk": 16} if "without chunks" in name else {}
    for way in ways:
        value = way if argument == "kind" else ast.literal_eval(way)
        assert make(**given | more | {argument: value}).operands


def test_a_drawing_asks_for_a_size_in_its_own_words() -> None:
    kernel = kinds.rms_norm(64)
    with pytest.raises(InputError) as refused:
        cx.draw(kernel, tables={})
    assert refused.value.operation == "draw"
    size = ast.literal_eval(refused.value.fix.partition("…, ")[2].replace('"M"', '{"M"'))
    assert cx.draw(kernel, tables=size)
