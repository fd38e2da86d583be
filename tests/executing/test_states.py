"""States that trips hand on, and work by tickets: whole arrays against the byte machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import serving_kinds as served

import pycute_xe as cx
from pycute_xe import kernel as kinds
from pycute_xe.kernel import Index, Kernel, KernelBuilder


def agree(made: Kernel, given: dict[str, Any]) -> Any:
    """Run a kernel on both executors, the fast one twice; return what it gives."""
    slow = cx.run(made, **given, executor="reference")
    out, report = cx.run(made, **given, report=True)
    assert report.why == ""
    for fast in (out, cx.run(made, **given)):
        pairs = zip(*(x if isinstance(x, tuple) else (x,) for x in (fast, slow)), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)  # a NaN is equal to a NaN
    return out


def chunked(delta: bool, chunk: int, many: int, decay: float = 0.25) -> tuple[Kernel, Any]:
    """A state in chunks of tokens: two heads, columns that do not fill the last subgroup."""
    rng, heads, depth, columns = np.random.default_rng(chunk), 2, 16, 20
    tokens = many * chunk
    q, k = (served.random(rng, "f32", heads, tokens, depth) / 4 for _ in "qk")
    v, begun = (served.random(rng, "f32", heads, n, columns) for n in (tokens, depth))
    logs = np.zeros((heads, tokens + 1), np.float32)
    logs[:, 1:] = -rng.random((heads, tokens)).cumsum(1) * decay
    given: dict[str, Any] = {"Q": q, "K": k, "V": v, "S0": begun, "B": logs, "N": many}
    given |= {"beta": rng.random((heads, tokens)).astype(np.float32)} if delta else {}
    make = kinds.delta_rule if delta else kinds.linear_attention
    return make(depth, subgroups=2, chunk=chunk), given


@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.parametrize(("chunk", "many"), [(1, 3), (3, 1), (3, 2)])
@pytest.mark.long
def test_chunks_of_any_length(delta: bool, chunk: int, many: int) -> None:
    agree(*chunked(delta, chunk, many))


@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.long
def test_what_is_not_finite_reaches_later_tokens_alone(delta: bool) -> None:
    made, given = chunked(delta, 3, 2)
    sound = agree(made, given)
    given["V"] = given["V"].copy()
    given["V"][1, 4] = np.nan
    out = agree(made, given)  # the run that was recorded before is of numbers that are all finite
    assert np.isnan(out[0][1, 4:]).all()
    np.testing.assert_allclose(out[0][:, :4], sound[0][:, :4], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(out[0][0], sound[0][0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.long
def test_decays_that_overflow_backwards_are_masked(delta: bool) -> None:
    made, given = chunked(delta, 3, 2, decay=200.0)
    assert np.isfinite(agree(made, given)[0]).all()


@pytest.mark.parametrize("lengths", [[3, 0, 4], [0, 6, 1], [2, 2, 3]])
@pytest.mark.long
def test_what_requests_without_a_slot_have_is_never_read(lengths: list[int]) -> None:
    case = served.served("linear attention, slots")
    given, starts = dict(case.given), np.cumsum([0, *lengths]).astype(np.int32)
    given |= {"starts": starts, "slots": np.array([5, -1, 2], np.int32)}
    for name in "QKVg":
        given[name] = given[name].copy()
        given[name][:, starts[1] : starts[2]] = np.nan
    given["S"] = given["S"].copy()
    given["S"][[0, 1, 3, 4]] = np.nan
    out, states = agree(case.kernel, given)
    assert np.isfinite(out).all(axis=(0, 2)).sum() == 7 - lengths[1]
    assert np.isfinite(states[[2, 5]]).all()
    assert np.isnan(states[[0, 1, 3, 4]]).all()


@pytest.mark.parametrize("groups", [1, 2, 9])
@pytest.mark.long
def test_tiles_by_tickets_are_those_of_the_machine(groups: int) -> None:
    case = served.served("tiles by tickets")
    given: dict[str, Any] = case.given | {"U": groups}
    agree(case.kernel, given)
    fast = cx.run(case.kernel, **given, report=True)[1]
    slow = cx.run(case.kernel, **given, report=True, executor="reference")[1]
    assert (fast.messages, fast.bytes) == (slow.messages, slow.bytes)
    assert (fast.dpas, fast.barriers) == (slow.dpas, slow.barriers)


def test_tickets_drawn_first_are_counted_in_the_order_of_work_groups() -> None:
    """Two experts without tokens; a row holds the token that drew its ticket."""
    rng = np.random.default_rng(2)
    ids = rng.choice([0, 2, 3], (2, 7)).astype(np.int32)
    starts = np.cumsum([0, *np.bincount(ids.ravel(), minlength=5)])[:-1].astype(np.int32)
    x = served.random(rng, "bf16", 7, 70)
    given: dict[str, Any] = {"X": x, "ids": ids, "offsets": starts, "R": ids.size}
    made = kinds.moe_permute()
    (rows, places), fast = cx.run(made, **given, report=True)
    slow, report = cx.run(made, **given, report=True, executor="reference")
    assert (fast.why, fast.messages, fast.bytes) == ("", report.messages, report.bytes)
    assert [x.tobytes() for x in (rows, places)] == [y.tobytes() for y in slow]
    for j, t in np.ndindex(ids.shape):
        assert (rows[starts[ids[j, t]] + places[j, t]] == x[t]).all()


@pytest.mark.parametrize("times", [1, 3])
def test_an_inner_loop_begins_with_the_state_of_the_trip_around_it(times: int) -> None:
    """Each trip goes on with what an inner loop makes of the state, which is stored before."""
    k = kinds.KernelBuilder("nested", 1)
    X, first = k.input("X", "f32", ("T", 16)), k.input("S0", "f32", (16,))
    out, last = k.output("O", "f32", ("T", 16)), k.output("SN", "f32", (16,))
    row = k.parts((1, 16), (1, 1)).along(1)
    k.load("s", first, row, at=0)
    with k.loop("t", 0, Index("T")) as t:
        k.load("x", X, row, at=(t, 0))
        k.store(out, "s", at=(t, 0))
        k.map("y", "s")
        with k.loop("i", 0, times):
            k.map("y", "y*x + s")
        k.map("s", "s*y - x")
    k.store(last, "s", at=0)
    rng = np.random.default_rng(1)
    given = {"X": rng.random((3, 16), np.float32), "S0": rng.random(16, np.float32)}
    states, s = [], given["S0"].astype(np.float64)
    for x in given["X"]:
        states.append(s)
        y = s
        for _ in range(times):
            y = y * x + s
        s = s * y - x
    found = agree(k.build(), given)
    np.testing.assert_allclose(found[0], np.stack(states), rtol=1e-5)
    np.testing.assert_allclose(found[1], s, rtol=1e-5)


@pytest.mark.parametrize(
    ("first", "factor", "wanted"),
    [(0, np.inf, np.nan), (1, np.inf, np.inf), (3e38, 1e-30, 4 * 3e8)],
)
def test_a_factor_of_a_sum_meets_each_of_its_terms(
    first: float, factor: float, wanted: float
) -> None:
    k = KernelBuilder("scaled", 1)
    x, scale = k.input("x", "f32", ("M", "K", 16)), k.input("scale", "f32", ("M",))
    out = k.output("out", "f32", ("M", 16))
    (m,) = k.grid(m="M")
    k.fill("acc", k.parts((1, 16), (1, 1)))
    with k.loop("j", 0, Index("K")) as j:
        k.load("a", x, (1, 16), at=(m, j, 0))
        k.load("by", scale, k.one("acc"), at=(m,))
        k.map("acc", "acc + a*by")
    k.store(out, "acc", at=(m, 0))
    given = np.full((1, 4, 16), 3e38 if first > 1 else 1, "f4")
    given[:, 0] = first
    scales = np.array([factor], "f4")
    for executor in ("fast", "reference"):
        made = cx.run(k.build(), given, scales, executor=executor)
        np.testing.assert_allclose(made, np.full((1, 16), wanted, "f4"), rtol=1e-6)


@pytest.mark.parametrize("trips", [[2, -1, -1], [-1, 2, 3], [0, 0, 3]])
def test_work_groups_that_enter_no_loop_keep_what_they_had(trips: list[int]) -> None:
    k = KernelBuilder("halved", 1)
    x, out = k.input("X", "f32", ("M", 16)), k.output("D", "f32", ("M", 16))
    k.input("n", "s32", ("M",))
    (m,) = k.grid(m="M")
    n = Index.element("n", m)
    k.load("x", x, (1, 16), at=(m, 0))
    k.map("y", "x*1")
    with k.when(n > 1), k.loop("i", 0, n):
        k.map("y", "y*0.5")
    k.store(out, "y", at=(m, 0))
    given, counts = np.arange(48, dtype="f4").reshape(3, 16), np.array(trips, np.int32)
    wanted = given * np.where(counts > 1, 0.5 ** np.maximum(counts, 0), 1)[:, None]
    for executor in ("fast", "reference"):
        np.testing.assert_array_equal(cx.run(k.build(), given, counts, executor=executor), wanted)
