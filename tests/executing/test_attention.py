"""Attention in all its forms equals float64, on both executors, within the rounding of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attention_problems import off, problem, seen_by, softmax_of, tilings

from pycute_xe import as_numeric, run
from pycute_xe.converting import convert
from pycute_xe.executing.runner import Executor
from pycute_xe.kernel import Index, Load, Prefetch, attention, attention_combine
from pycute_xe.kernel.ir.program import walk
from pycute_xe.kernel.spec.evaluation import compute

BF16 = as_numeric("bf16")
FORMS: dict[str, tuple[list[tuple[int, int]], dict[str, Any]]] = {
    "plain": ([(16, 64)], {}),
    "remainder": ([(19, 45)], {"stages": 0}),
    "causal": ([(20, 45)], {"causal": True}),
    "more queries than keys before the last": ([(33, 34)], {"causal": True}),
    "window": ([(20, 45)], {"window": (9, 3)}),
    "window, causal": ([(18, 70)], {"window": (5, 2), "causal": True}),
    "grouped heads": ([(17, 33)], {"group": 2}),
    "sink": ([(17, 33)], {"sink": True}),
    "cached": ([(20, 80)], {"cached": True, "causal": True}),
    "paged": ([(5, 70), (5, 130)], {"page": 64, "causal": True}),
    "one page that the prefetches would leave": ([(5, 20)], {"page": 32}),
    "packed": ([(20, 45), (7, 7)], {"packed": True, "causal": True}),
    "keys shared by subgroups": ([(8, 150)], {"across": 4, "sink": True}),
    "one query, keys shared": ([(1, 150)], {"across": 4, "queries": 1, "causal": True}),
    "paged keys shared by subgroups": ([(1, 150)], {"across": 4, "queries": 1, "page": 64}),
    "packed, cached": ([(5, 45), (18, 64)], {"packed": True, "cached": True, "causal": True}),
    "packed queries, paged keys": ([(3, 45), (18, 64)], {"packed": True, "page": 32}),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_equal_float64(name: str) -> None:
    lengths, options = FORMS[name][0], dict(FORMS[name][1])
    shape: dict[str, Any] = {"queries": 8, "keys": 64} if "across" in options else {}
    shape |= {key: options.pop(key) for key in ("across", "queries") if key in options}
    size = {"out": 16, "columns": 16, "heads": options.get("group", 1)}
    given = problem(np.random.default_rng(7), tilings(**shape), lengths, **size, **options)
    fast = run(given.kernel, **given.operands)
    reference = run(given.kernel, **given.operands, executor="reference")
    assert off(fast, given) < 6e-3
    assert np.abs(fast - reference).max() < 1e-5
    assert given.kernel.computes is not None
    claimed = compute(given.kernel.computes, given.kernel.operands, given.operands)["O"]
    assert np.abs(claimed - fast).max() < 1e-4  # the roundings are those that are claimed


@pytest.mark.parametrize(
    ("causal", "lengths"),
    [(False, (20, 150)), (True, (20, 150)), (True, (40, 40))],
    ids=["all", "causal", "without a key in some parts"],
)
@pytest.mark.long
def test_parts_of_the_keys_are_put_together(causal: bool, lengths: tuple[int, int]) -> None:
    mmas = tilings(queries=16, keys=32)
    options = {"splits": 3, "lse": True, "causal": causal, "out": 32, "heads": 1}
    given = problem(np.random.default_rng(5), mmas, [lengths], **options)
    for executor in ("fast", "reference"):
        parts = run(given.kernel, **given.operands, executor=executor)
        kernel = attention_combine(mmas[1], 3)
        combined = run(kernel, parts.O, parts.lse, executor=executor)
        assert off(combined, given) < 6e-3
        assert kernel.computes is not None
        both = {"Os": parts.O, "lse": parts.lse}
        together = compute(kernel.computes, kernel.operands, both)["O"]
        assert np.abs(together - combined).max() < 1e-5
        assert given.kernel.computes is not None
        claimed = compute(given.kernel.computes, given.kernel.operands, given.operands)["O"]
        assert np.abs(claimed - parts.O).max() < 1e-4


@pytest.mark.long
def test_the_logarithm_of_the_sums_is_stored() -> None:
    given = problem(np.random.default_rng(3), tilings(), [(20, 45)], lse=True, causal=True, out=32)
    q, k, v = (given.operands[name][0] for name in "QKV")
    wanted = softmax_of(q, k, v, float(given.operands["scale"]), seen_by(20, 45, True, None))[1]
    assert np.abs(run(given.kernel, **given.operands).lse[0] - wanted).max() < 1e-5


def test_scores_may_all_be_far_below_zero() -> None:
    given = problem(np.random.default_rng(9), tilings(), [(16, 45)], out=32, heads=1)
    q, k = (convert(given.operands[x] * 0.25 + at, BF16) for x, at in (("Q", 8.0), ("K", -8.0)))
    scale, v = float(given.operands["scale"]), given.operands["V"]
    wanted = softmax_of(q[0], k[0], v[0], scale, seen_by(16, 45, False, None))[0]
    for executor in ("fast", "reference"):
        found = run(given.kernel, **(given.operands | {"Q": q, "K": k}), executor=executor)
        assert np.abs(found[0] - wanted).max() < 6e-3 * given.largest


@pytest.mark.long
def test_tiles_of_the_output_take_turns_in_shared_memory() -> None:
    """The reference executor stops at a race."""
    mmas = tilings(queries=8, keys=64, across=4)
    given = problem(np.random.default_rng(2), mmas, [(8, 70)], out=32, heads=1)
    for executor in ("fast", "reference"):
        assert off(run(given.kernel, **given.operands, executor=executor), given) < 6e-3


@pytest.mark.parametrize("options", [{}, {"splits": 3, "lse": True}])
def test_a_prefetch_brings_the_keys_of_some_trips_later(options: dict[str, Any]) -> None:
    kernel = attention(*tilings(), stages=2, **options)
    loop = kernel.loop("k")
    prefetch, load = (
        next(s for s in walk(loop.body) if isinstance(s, kind) and s.operand == "K")
        for kind in (Prefetch, Load)
    )
    assert prefetch.at[2] == load.at[2].substitute({"k": Index("k") + 2})


# ------------------------------------------------------------ behind a length


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize("options", [{}, {"cached": True}, {"causal": True, "page": 32}], ids=str)
@pytest.mark.long
def test_what_other_requests_have_reaches_no_result(
    options: dict[str, Any], executor: Executor
) -> None:
    """A tile of keys ends in the keys of the next request: zero times NaN would be NaN."""
    lengths = [(3, 7), (2, 33), (4, 20)]
    shape = {"out": 16, "columns": 16, "heads": 1, "packed": True}
    given = problem(np.random.default_rng(2), tilings(), lengths, **shape, **options)
    right = run(given.kernel, **given.operands, executor=executor)
    changed = dict(given.operands)
    for name, starts in (("K", "key_starts"), ("V", "key_starts"), ("V0", "cache_starts")):
        if starts in changed and name in changed:
            first, last = changed[starts][1:3]
            changed[name] = changed[name].copy()
            changed[name][:, first:last] = np.nan
    found = run(given.kernel, **changed, executor=executor)
    others = np.r_[0:3, 5:9]
    assert np.array_equal(found[:, others], right[:, others])
    assert np.isfinite(right).all()
    if "page" not in options:
        assert np.isnan(found[:, 3:5]).all()


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize(
    "options", [{}, {"packed": True}, {"packed": True, "cached": True}], ids=str
)
@pytest.mark.long
def test_a_request_without_keys_gives_zeros(options: dict[str, Any], executor: Executor) -> None:
    lengths = [(4, 0), (4, 1), (4, 70)]
    more = dict(options) if "packed" in options else {"page": 32}
    shape = {"out": 16, "columns": 16, "heads": 1}
    given = problem(np.random.default_rng(3), tilings(), lengths, **shape, **more)
    found = run(given.kernel, **given.operands, executor=executor)
    assert off(found, given) < 6e-3
    assert not np.any(found[:, :4] if "packed" in options else found[0])


@pytest.mark.parametrize("executor", ["fast", "reference"])
def test_without_keys_the_logarithm_is_minus_infinity_and_parts_give_zeros(
    executor: Executor,
) -> None:
    """As vLLM's, where the merge of parts without keys gave NaN (issue 47305)."""
    lengths = [(5, 0), (5, 1), (5, 200)]
    options = {"splits": 3, "lse": True, "page": 64, "out": 32, "heads": 1}
    mmas = tilings(queries=16, keys=32)
    given = problem(np.random.default_rng(5), mmas, lengths, **options)
    parts = run(given.kernel, **given.operands, executor=executor)
    assert np.isneginf(parts.lse[:, 0]).all()
    assert not np.any(parts.O[:, 0])
    combined = run(attention_combine(mmas[1], 3), parts.O, parts.lse, executor=executor)
    assert off(combined, given) < 6e-3
    assert not np.any(combined[0])
