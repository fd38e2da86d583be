"""Work-groups for which tables say the same, and stores of rows, on both executors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import attention_problems as attended
import numpy as np
import pytest
import serving_kinds as served
from hypothesis import given, settings, strategies as st
from sampling import EXAMPLES

import pycute_xe as cx
from pycute_xe import kernel as kinds
from pycute_xe.errors import MachineError
from pycute_xe.executing.arrays import plans, storing, trips
from pycute_xe.executing.arrays.terms import Points
from pycute_xe.kernel import If, Index, Kernel, Store

LENGTHS = [[(20, 20), (1, 1), (37, 70)], [(5, 40), (0, 7), (16, 16), (33, 50)]]


@pytest.fixture(params=["together", "in blocks"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Run all work-groups together, or those of a request alone, however small."""
    alone = request.param == "in blocks"

    for name in ("BLOCK", "SCANNED"):
        monkeypatch.setattr(storing, name, 1 if alone else 1 << 40)
    plans._known.cache_clear()  # pyright: ignore[reportPrivateUsage]
    yield alone
    plans._known.cache_clear()  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of how many blocks each store is, of the runs that are recorded."""
    counts: list[int] = []
    written = plans.written

    def counted(*given: Any) -> Any:
        made = written(*given)
        counts.append(len(made))
        return made

    monkeypatch.setattr(plans, "written", counted)
    return counts


def agree(made: Kernel, given: dict[str, Any], tolerance: float = 1e-5) -> Any:
    """Run a kernel on both executors, and twice on the fast one; return what it gives."""
    slow = cx.run(made, **given, executor="reference")
    out, report = cx.run(made, **given, report=True)
    assert report.why == ""
    for fast in (out, cx.run(made, **given)):
        pairs = zip(*(x if isinstance(x, tuple) else (x,) for x in (fast, slow)), strict=True)
        for pair in pairs:
            wide = (np.asarray(x).astype(np.float64) for x in pair)
            np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)
    return out


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"page": 64, "causal": True}], ids=str)
@pytest.mark.long
def test_requests_of_any_length(
    lengths: Any, options: dict[str, Any], blocks: bool, parts: list[int]
) -> None:
    rng = np.random.default_rng(2)
    case = attended.problem(
        rng, attended.tilings(subgroups=2), lengths, group=2, packed=True, **options
    )
    agree(case.kernel, case.operands, 1e-3)
    assert parts
    assert all((count > 1) == blocks for count in parts)


@pytest.mark.long
@pytest.mark.parametrize("blocks", ["in blocks"], indirect=True)
def test_rows_behind_a_request_are_not_followed(
    blocks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tile has 32 rows and more; of a request those alone are followed that are stored."""
    del blocks
    lines: list[list[int]] = []
    scan_of = trips.scan_of

    def noted(*given: Any) -> Any:
        scan = scan_of(*given)
        lines.append([line.size for line in scan.lines])
        return scan

    monkeypatch.setattr(trips, "scan_of", noted)
    rng, mmas = np.random.default_rng(2), attended.tilings(subgroups=2)
    case = attended.problem(rng, mmas, LENGTHS[0], group=2, packed=True)
    cx.run(case.kernel, **case.operands)
    assert len(lines) == len(LENGTHS[0])
    assert all(rows in line for (rows, _), line in zip(LENGTHS[0], lines, strict=True))


@pytest.mark.parametrize(
    "name", ["experts, starts", "experts, counts, gate and up", "experts, tiles"]
)
@pytest.mark.long
def test_experts(name: str, blocks: bool, parts: list[int]) -> None:
    case = served.served(name)
    out = agree(case.kernel, case.given, 1e-2)
    assert served.off(out, case.wanted) <= case.near
    assert parts
    assert all((count > 1) == blocks for count in parts)


@pytest.mark.parametrize("name", ["rope", "weighted combine"])
def test_tables_of_other_kinds(name: str, blocks: bool) -> None:
    del blocks
    case = served.served(name)
    agree(case.kernel, case.given, 1e-2)


def test_rows_of_a_tile_are_stored_together() -> None:
    made = served.served("experts, starts").kernel
    assert sum(isinstance(s, Store) for s in made.statements()) > 1
    assert len(plans.plan(made).stores) == 1


@pytest.mark.long
def test_rows_that_are_not_the_next_ones_are_stored_where_they_go(blocks: bool) -> None:
    """One of the rows goes to the place of another, or has the condition of another."""
    del blocks
    case = served.served("experts, starts")
    given, wide = dict(case.given), slice(None)
    stores = [s for s in case.kernel.statements() if isinstance(s, If) and len(s.body) == 1]
    rows = [s for s in stores if isinstance(s.body[0], Store)]
    later = replace(rows[3], index=rows[3].index + 1)
    agree(replace(case.kernel.replace(rows[3], later), computes=None), given, 1e-2)
    store = rows[2].body[0]
    assert isinstance(store, Store)
    twice = replace(store, at=(store.at[0] + 1, *store.at[1:]))
    wrong = case.kernel.replace(rows[2], replace(rows[2], body=(twice,)))
    found = [outcome(replace(wrong, computes=None), given, x) for x in ("fast", "reference")]
    assert [type(x) for x in found] == [type(found[1])] * 2
    if isinstance(found[1], np.ndarray):
        assert np.array_equal(*(x[wide].view(np.uint16) for x in found))


def outcome(made: Kernel, given: dict[str, Any], executor: Any) -> Any:
    try:
        return cx.run(made, **given, executor=executor)
    except MachineError as error:
        return error


@pytest.mark.long
def test_requests_that_overlap_are_a_fault(blocks: bool) -> None:
    """Experts whose rows are the same store different values to one element."""
    del blocks
    case = served.served("experts, counts, gate and up")
    made = replace(case.kernel, computes=None)
    offsets = case.given["offsets"].copy()
    offsets[3] = offsets[0]
    given = {**case.given, "offsets": offsets}
    faults = [outcome(made, given, executor) for executor in ("fast", "reference")]
    assert all(isinstance(fault, MachineError) for fault in faults)
    assert type(faults[0]) is type(faults[1])


@pytest.mark.long
def test_a_run_forgets_the_operands_of_the_one_before(blocks: bool) -> None:
    """The same sizes and tables, other numbers; then other tables, then the first ones again."""
    del blocks
    rng = np.random.default_rng(5)
    mmas = attended.tilings(subgroups=2)
    cases = [attended.problem(rng, mmas, x, packed=True, causal=True) for x in LENGTHS[:1] * 2]
    other = attended.problem(rng, mmas, [(37, 37), (20, 20), (1, 34)], packed=True, causal=True)
    for case in (*cases, other, cases[0]):
        found = cx.run(cases[0].kernel, **case.operands)
        np.testing.assert_allclose(found, case.wanted, rtol=0.02, atol=0.02)


def test_a_run_that_fails_leaves_nothing_behind() -> None:
    """An operand that is not finite sends a run to the byte machine; the next one is planned."""
    made = kinds.attention(*attended.tilings(), causal=True)
    rng = np.random.default_rng(6)
    case = attended.problem(rng, attended.tilings(), [(40, 40)], causal=True)
    first = cx.run(made, **case.operands)
    spoilt = case.operands | {"V": np.full_like(case.operands["V"], np.inf)}
    slow = cx.run(made, **spoilt, executor="reference")
    np.testing.assert_array_equal(cx.run(made, **spoilt), slow)
    np.testing.assert_array_equal(cx.run(made, **case.operands), first)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=1, max_size=6), st.data()
)
def test_points_of_a_block_are_those_whose_values_it_has(rows: Any, data: Any) -> None:
    points = Points(dict(zip("ab", np.array(rows).T, strict=True)))
    which = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, unique=True))
    block = points.some(np.array(which))
    every = Points.product([points, Points({"c": np.arange(2)})])
    inside = every.within(block)
    mine = {tuple(row) for row in np.array(rows)[which].tolist()}
    wanted = [(*row, c) for row in rows for c in range(2) if tuple(row) in mine]
    found = zip(*(inside.columns[name].tolist() for name in "abc"), strict=True)
    assert list(found) == wanted
    assert points.within(Points({"c": np.arange(1)})) is points


def test_what_an_index_says_of_a_subgroup_is_a_number_for_each() -> None:
    index = Index("m") * 8 + Index("subgroup") // 2 * 16 + Index("subgroup") + 5
    rest, own = storing._parted(index, np.arange(4))  # pyright: ignore[reportPrivateUsage]
    assert (str(rest), own.tolist()) == ("8*m+5", [0, 1, 18, 19])
