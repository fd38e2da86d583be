"""What differs between kernels: each change is found where it was made, and nowhere else."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from compiled_kinds import CASES
from every import every
from sampling import sampled

import pycute_xe as cx
from pycute_xe import cli
from pycute_xe.comparing import Difference
from pycute_xe.drawing.notebook import difference
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Fill, If, Index, Kernel, Load, Map, Prefetch, Store
from pycute_xe.kernel.ir.identities import renamed

GRID = ((2, 2, 1), (2, 1, 0))


def mma(tile: tuple[int, int, int] = (32, 64, 32), kind: str = "bf16") -> cx.TiledMma:
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", kind), tile, GRID)


@cache
def gemm() -> Kernel:
    return cx.kernel.gemm(mma())


def first(kind: type[Any]) -> Any:
    return next(s for s in gemm().statements() if type(s) is kind)


def without(kind: type[Any]) -> Kernel:
    return gemm().replace(first(kind), None)


def late() -> Kernel:
    """The sum begins at the second tile of K."""
    loop = gemm().loop("k")
    return gemm().replace(loop, dataclasses.replace(loop, start=1))


def other_tiling() -> Kernel:
    """B comes by a wider message, and registers are reordered."""
    return cx.kernel.gemm(mma(), copy_b="XE_2D_U16x32x16_LD_V")


# Change → what must be among the sections, and what the rows or lines must say.
CHANGES: dict[str, tuple[Callable[[], Kernel], set[str], str]] = {
    "a statement less": (
        lambda: without(Prefetch),
        {"messages", "bytes", "statements"},
        "prefetch A per p 2,048 → none",
    ),
    "other start": (late, {"statements"}, "for 1 <= k"),
    "other tile": (
        lambda: cx.kernel.gemm(mma((64, 64, 32))),
        {"grid", "messages", "bytes", "registers", "DPAS", "statements"},
        "ceil_div(M, 64)",
    ),
    "other stages": (lambda: cx.kernel.gemm(mma(), stages=1), {"statements"}, "k+1 <"),
    "other copy": (other_tiling, {"messages", "statements"}, "XE_LOAD_2D_VNNI<16,32,16>"),
    "other order": (lambda: cx.kernel.gemm(mma(), a="col"), {"order", "messages"}, "column-major"),
    "other epilogue": (
        lambda: cx.kernel.gemm(mma(), epilogue="relu(acc)"),
        {"claims", "statements"},
        "relu(sum(",
    ),
    "other type": (lambda: cx.kernel.gemm(mma(kind="f16")), {"types", "registers"}, "f16"),
    "other output": (lambda: cx.kernel.gemm(mma(), d_type="bf16"), {"types", "bytes"}, "D f32"),
    "shared memory": (
        lambda: cx.kernel.slm_gemm(mma()),
        {"shared memory", "messages", "registers", "statements"},
        "sA none → bf16[",
    ),
}


@cache
def found_of(name: str) -> Difference:
    return cx.diff(gemm(), changed(name))


@cache
def changed(name: str) -> Kernel:
    return CHANGES[name][0]()


@every("name", CHANGES)
@pytest.mark.long
def test_a_change_is_named_in_its_rows(name: str) -> None:
    found = found_of(name)
    _, sections, says = CHANGES[name]
    assert not found.equal
    assert sections <= set(found.sections), found.sections
    assert says in str(found)
    assert found.verdict != "equal"


@every("name", ["other start", "other stages", "other epilogue"])
def test_what_did_not_change_is_not_named(name: str) -> None:
    found = found_of(name)
    assert set(found.sections) <= {"claims", "statements"}
    assert not any(change.moved for _, change in found.owners)
    assert found.verdict.startswith("same owners, other ")


def mirrored(found: Difference) -> tuple[Any, ...]:
    marks = {"-": "+", "+": "-", " ": " "}
    owners = {
        (what, c.moved, tuple((place, b, a) for place, a, b in c.examples))
        for what, c in found.owners
    }
    return (
        {(r.section, r.what, r.after, r.before) for r in found.rows},
        owners,
        sorted(marks[line[0]] + line[1:] for line in found.listing),
    )


@every("name", sampled(CHANGES, 4))
@pytest.mark.long
def test_sides_may_be_exchanged(name: str) -> None:
    there, back = found_of(name), cx.diff(changed(name), gemm())
    owners = {(what, c.moved, c.examples) for what, c in back.owners}
    rows = {(r.section, r.what, r.before, r.after) for r in back.rows}
    assert mirrored(there) == (rows, owners, sorted(back.listing))
    assert there.equal == back.equal


@every("name", CHANGES)
@pytest.mark.long
def test_the_listings_of_both_are_in_the_aligned_one(name: str) -> None:
    found = found_of(name)
    for kernel, mark in ((gemm(), "-"), (changed(name), "+")):
        told = str(kernel).split("subgroups\n")[1]
        mine = [x[2:].split("  where ")[0] for x in found.listing if x[0] in f" {mark}"]
        assert ["  " * 2 + line for line in mine] == told.split("\n")


def test_a_dropped_statement_is_the_line_that_is_removed() -> None:
    found = cx.diff(gemm(), without(Prefetch))
    changed = [line for line in found.listing if line[0] != " "]
    assert changed == ["-   prefetch  A[32*m, 32*p]  by 1 × XE_PREFETCH_2D<16,8,32>"]
    gone = [row for row in found.changed if row.section == "bytes"]
    # 32 x 32 values of 2 bytes, once in the work-group.
    assert [(r.what, r.before, r.after) for r in gone] == [("prefetch A per p", 2048, None)]


@every("kind", ["other stages", "other epilogue"])
def test_equal_kernels_are_equal(kind: str) -> None:
    make = CHANGES[kind][0]
    found = cx.diff(make(), make())
    assert found.equal
    assert found.verdict == "equal"
    assert not found.changed


@every("name", sampled(CASES, 4))
@pytest.mark.long
def test_kernels_of_all_kinds_are_equal_to_themselves_and_unlike_one_statement_less(
    name: str,
) -> None:
    kernel, _ = CASES[name].make()
    same = cx.diff(kernel, copy.copy(kernel))
    assert (same.verdict, same.changed) == ("equal", ())
    assert all(line[0] == " " for line in same.listing)
    fills = [s for s in kernel.statements() if isinstance(s, (Store, Map, Fill))]
    twice = kernel.replace(fills[-1], (fills[-1], fills[-1]))
    found = cx.diff(kernel, twice)
    assert "statements" in found.sections
    assert sum(line[0] == "+" for line in found.listing) >= 1
    assert not any(line[0] == "-" for line in found.listing)


def test_names_alone_are_no_difference() -> None:
    other = dataclasses.replace(
        renamed(gemm(), {"A": "X", "tCrC": "sums"}, {"k": "step", "M": "rows"}), name="product"
    )
    found = cx.diff(gemm(), other)
    assert (found.equal, found.verdict) == (True, "equal, written otherwise")
    told = {(row.before, row.after) for row in found.changed}
    assert told == {("gemm", "product"), ("A", "X"), ("tCrC", "sums"), ("k", "step"), ("M", "rows")}


def test_work_in_a_trip_is_what_the_machine_does_in_one_more() -> None:
    kernels = cx.kernel.gemm(mma(), stages=0), cx.kernel.gemm(mma((32, 64, 16)), stages=0)
    found = cx.diff(*kernels)
    for kernel, side, depth in zip(kernels, ("before", "after"), (32, 16), strict=True):
        reports = []
        for trips in (1, 2):
            k = trips * depth
            given = (np.ones((32, k), ml_dtypes.bfloat16), np.ones((k, 64), ml_dtypes.bfloat16))
            reports.append(cx.run(kernel, *given, executor="reference", report=True)[1])
        one, two = reports
        rows = {(r.section, r.what): getattr(r, side) for r in found.rows}
        loaded = sum(rows["bytes", f"load {operand} per k"] for operand in "AB")
        assert loaded == two.bytes["load"] - one.bytes["load"]
        assert rows["DPAS", "per k"] == two.dpas - one.dpas
        sent = [rows["messages", f"load {operand} per k"].split(" × ")[0] for operand in "AB"]
        assert sum(map(int, sent)) == two.messages["load"] - one.messages["load"]


def test_statements_of_one_kind_are_counted_together_and_by_those_that_do_them() -> None:
    load, store = first(Load), first(Store)
    alone = If(Index("subgroup"), Index(None, 1), (store,))
    found = cx.diff(gemm(), gemm().replace(load, (load, load)).replace(store, alone))
    rows = {(r.section, r.what): (r.before, r.after) for r in found.rows}
    before, after = rows["bytes", f"load {load.operand} per k"]
    assert after == 2 * before
    # One subgroup of four stores its part of 32 x 64 values of 4 bytes.
    assert rows["bytes", "store D once"] == (32 * 64 * 4, 32 * 64)


def test_work_at_sizes_is_what_a_run_reports() -> None:
    sizes = {"M": 40, "N": 70, "K": 50}
    found = cx.diff(gemm(), cx.kernel.gemm(mma((64, 64, 32))), sizes=sizes)
    given = (np.ones((40, 50), ml_dtypes.bfloat16), np.ones((50, 70), ml_dtypes.bfloat16))
    report = cx.run(gemm(), *given, report=True)[1]
    rows = {row.what: row.before for row in found.rows if row.section == "run"}
    assert rows["load bytes"] == report.bytes["load"]
    assert rows["DPAS"] == report.dpas
    assert "no size K" in str(cx.diff(gemm(), gemm(), sizes={"M": 1, "N": 1}).rows)


def test_owners_are_those_that_the_copies_tell() -> None:
    found = found_of("other copy")
    loads = [
        next(s for s in k.statements() if isinstance(s, Load) and s.operand == "B")
        for k in (gemm(), changed("other copy"))
    ]
    change = dict(found.owners)["B loaded"]
    owners = [owners_of(load.copy.layout_tv_tiled, load.copy.tiler_mn) for load in loads]
    # The copy's tile is (n, k); elements of B[K,N] are told as (k, n).
    moved = sorted((k, n) for n, k in owners[0] if owners[0][n, k] != owners[1][n, k])
    assert (change.elements, change.moved) == (32 * 64, len(moved))
    for (k, n), *told in change.examples:
        assert told == [min(one[n, k]) for one in owners]
        for load, (work_item, value) in zip(loads, told, strict=True):
            assert load.copy.owner_of(n, k)[0] == (*divmod(work_item, 16), value)
    assert [place for place, *_ in change.examples[:1]] == moved[:1]


def owners_of(layout: cx.Layout, tile: tuple[int, ...]) -> dict[Any, set[tuple[int, int]]]:
    """Element → its owners, by calling the layout for each."""
    out: dict[Any, set[tuple[int, int]]] = {}
    for t, v in product(range(cx.size(layout[0])), range(cx.size(layout[1]))):
        at = layout(t, v)
        out.setdefault((at % tile[0], at // tile[0]), set()).add((t, v))
    return out


@pytest.mark.long
def test_rules_that_one_breaks_are_told() -> None:
    wide = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (256, 256, 32), ((4, 4, 1), (4, 1, 0)))
    found = cx.diff(gemm(), cx.kernel.gemm(wide))
    broken = {f.broken.rule for f in cx.check(cx.kernel.gemm(wide)).findings}
    assert broken
    assert broken <= {row.what for row in found.changed if row.section == "legality"}
    row = next(r for r in found.rows if (r.section, r.what) == ("registers", "in use"))
    assert row.after == cx.check(cx.kernel.gemm(wide)).registers


@pytest.mark.long
def test_it_fits_a_screen() -> None:
    for name in CHANGES:
        lines = str(found_of(name)).split("\n")
        assert lines[0] == found_of(name).verdict
        assert len(lines) <= 25
        assert max(map(len, lines)) <= 100


def test_refusals() -> None:
    for arguments, says in (
        ((gemm(), mma()), "a kernel and a tiled MMA cannot be compared"),
        ((gemm(),), "give two, or one atom"),
        ((gemm(), gemm(), "A"), "leave the operand out"),
    ):
        with pytest.raises(CuteError, match=says):
            cx.diff(*arguments)  # type: ignore[arg-type]
    with pytest.raises(CuteError, match=r"unknown size Q\. Way out: name M, K, N"):
        cx.diff(gemm(), gemm(), sizes={"Q": 1})
    with pytest.raises(CuteError, match="a tiled MMA has no sizes"):
        cx.diff(mma(), mma(), sizes={"M": 1})
    with pytest.raises(CuteError, match="a kernel does not deal out tiles"):
        cx.diff(gemm(), gemm(), counts=((1, 1, 1),))


def test_parts_of_recipes() -> None:
    one, other = (cx.kernel.Epilogue(numeric=kind) for kind in ("f32", "bf16"))
    assert cx.diff(one, cx.kernel.Epilogue(numeric="f32")).equal
    assert [(r.what, r.before, r.after) for r in cx.diff(one, other).changed] == [
        ("numeric", "f32", "bf16")
    ]


def test_a_notebook_shows_a_table() -> None:
    table = difference(found_of("other epilogue"))
    root = ElementTree.fromstring(table)
    cells = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    claims = next(row for row in found_of("other epilogue").changed if row.section == "claims")
    assert ["claims", "D", claims.before, claims.after] in cells
    assert "+ map       tCrC = relu(tCrC)" in "".join(root.itertext())
    assert "equal" in difference(cx.diff(gemm(), gemm()))
    assert len(repr(found_of("other epilogue"))) < 200


def test_two_documents_on_the_command_line(tmp_path: Path) -> None:
    files = tmp_path / "before.json", tmp_path / "after.json"
    for file, kernel in zip(files, (gemm(), changed("other epilogue")), strict=True):
        file.write_text(cx.to_json(kernel))
    names = tuple(map(str, files))
    result = CliRunner().invoke(cli.main, ["diff", *names])
    assert result.stdout == f"{found_of('other epilogue')}\n"
    rows = json.loads(CliRunner().invoke(cli.main, ["diff", *names, "--json"]).stdout)["rows"]
    assert {"section": "types", "what": "A", "before": "bf16", "after": "bf16"} in rows
    mixed = CliRunner().invoke(cli.main, ["diff", names[0], "XE_2D_U16x16x16_LD_N"])
    assert (mixed.exit_code, mixed.stderr.count("\n")) == (2, 1)
    assert "a copy and a kernel cannot be compared" in mixed.stderr


@pytest.mark.long
def test_sizes_say_what_both_cost_and_what_decides() -> None:
    """The facts are those of two estimates asked by themselves; sides exchanged, so are they."""
    sizes = {"M": 128, "N": 128, "K": 64}
    small, large = gemm(), cx.kernel.gemm(mma((64, 64, 32)))
    one, other = (cx.cost(kernel, "bmg", M=128, N=128, K=64) for kernel in (small, large))
    found = cx.diff(small, large, sizes=sizes)
    rows = {row.what: row for row in found.rows if row.section == "cost"}
    assert rows["waves"].before == str(one.facts.waves)
    assert rows["bytes of L2"].before == f"{one.facts.fetched:,}"
    assert rows["bytes of L2"].after == f"{other.facts.fetched:,}"
    assert rows["binds"].after == other.binds
    assert any("decides" in note and f"{one.most * 1e3:.3g}" in note for note in found.notes)
    back = {r.what: r for r in cx.diff(large, small, sizes=sizes).rows if r.section == "cost"}
    assert {n: (r.after, r.before) for n, r in back.items()} == {
        n: (r.before, r.after) for n, r in rows.items()
    }
    assert not [row for row in cx.diff(small, large).rows if row.section == "cost"]
    assert cx.diff(small, small, sizes=sizes).equal


def test_a_cost_that_is_not_known_is_said() -> None:
    """Whatever `cost` refuses, the row says in its words."""
    found = cx.diff(
        gemm(), cx.kernel.gemm(mma((64, 64, 32))), target="lnl", sizes={"M": 64, "N": 64, "K": 32}
    )
    words = [row for row in found.rows if row.section == "cost"]
    assert [row.what for row in words] == [""]
    assert str(words[0].before).startswith("not known: ")
