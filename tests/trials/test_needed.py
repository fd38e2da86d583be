"""Which assumptions on tables are needed: each of every kind is, and one that is not is named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import attention_problems as attended
import pytest
import serving_kinds as serving
from sampling import WHOLE

import pycute_xe as cx
from pycute_xe import kernel as kinds
from pycute_xe.errors import KernelError
from pycute_xe.kernel import AtMost, Distinct, Index, InRange, Kernel, KernelBuilder, Sorted
from pycute_xe.kernel.counterexample import array_of
from pycute_xe.kernel.spec.table_checks import broken
from pycute_xe.trials import NeededAssumptions, needed


def attention(**options: Any) -> Kernel:
    return kinds.attention(*attended.tilings(), out=32, **options)


FORMS: dict[str, dict[str, Any]] = {
    "attention, packed": {"packed": True},
    "attention, packed and causal": {"packed": True, "causal": True},
    "attention, packed behind a cache": {"packed": True, "cached": True},
    "attention, pages": {"page": 64},
    "attention, pages and causal": {"page": 64, "causal": True},
}


def kind(name: str) -> Kernel:
    """A kernel of a kind by name."""
    return attention(**FORMS[name]) if name in FORMS else serving.served(name).kernel


def assumes(name: str) -> bool:
    """Whether a kind assumes something of tables."""
    computes = kind(name).computes
    return computes is not None and bool(computes.tables)


USUAL = (
    *("adapters, expanding", "convolution of tokens, slots", "experts, FP8 by blocks, tiles"),
    *("experts, starts", "cache write, tokens first"),
)
NAMES = [name for name in (*serving.KINDS, *FORMS) if assumes(name)] if WHOLE else USUAL


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_each_assumption_of_a_kind_is_needed(name: str) -> None:
    demand_needed(kind(name))


def demand_needed(kernel: Kernel) -> None:
    found = cx.needed_assumptions(kernel)
    assert found.rows, "the kernel assumes nothing of tables"
    assert found, str(found)
    demand_shown(kernel, found)


def demand_shown(kernel: Kernel, found: NeededAssumptions) -> None:
    """Tables of a counterexample break the assumption that it is for and no other; it replays."""
    assert kernel.computes is not None
    modes = {o.name: o.modes for o in kernel.operands}
    assert [row.assumption for row in found.rows] == list(kernel.computes.tables)
    for row in found.rows:
        place = row.counterexample
        assert place is not None
        tables = {name: array_of(of) for name, of in place.tables.items()}
        for one in kernel.computes.tables:
            if one.tables <= tables.keys():
                kept = broken(one, modes, tables, place.sizes) is None
                assert kept is (one != row.assumption), (one, row)
        without = replace(kernel, computes=kernel.computes.without(row.assumption))
        assert cx.replay(without, place).shows


# ------------------------------------------------------------ the answers


def gathered(*assumed: Any, late: int = 0) -> Kernel:
    """A kernel that copies the rows that a table names, or those behind them."""
    k = KernelBuilder("gathered", 1)
    X, D = k.input("X", "f32", ("N", 16)), k.output("D", "f32", ("T", 16))
    k.input("order", "s32", ("T",))
    k.assume(*assumed)
    (t,) = k.grid(t="T")
    row = Index.element("order", t)
    k.load("x", X, (1, 16), at=(row + late, 0))
    k.store(D, "x", at=(t, 0))
    return k.build("D[t,h] = X[order[t],h]")


INSIDE = InRange("order", Index("N"))


def test_what_no_counterexample_needs_is_named() -> None:
    found = cx.needed_assumptions(gathered(INSIDE, Sorted("order")))
    assert [row.answer for row in found.rows] == ["needed", "not needed"]
    assert [bool(row) for row in found.rows] == [True, False]
    assert not found
    words = str(found).splitlines()
    assert words[0] == "gathered: 1 of 2 assumptions on tables are needed"
    assert words[1] == "  ✓ needed      0 <= order[i] < N"
    assert words[-2:] == [
        "  ✗ not needed  order is sorted",
        f"{'':16}the kernel is proved without it",
    ]
    page = found._repr_mimebundle_()["text/html"]  # pyright: ignore[reportPrivateUsage]
    assert "1 of 2 needed" in page
    assert "order is sorted" in page


@pytest.mark.long
def test_of_two_that_say_the_same_neither_is_needed_alone() -> None:
    most = AtMost(Index.element("order", Index("i")), Index("N") - 1, (("i", Index("T")),))
    least = AtMost(Index(), Index.element("order", Index("i")), (("i", Index("T")),))
    found = cx.needed_assumptions(gathered(INSIDE, most, least))
    assert [row.answer for row in found.rows] == ["not needed"] * 3
    assert cx.needed_assumptions(gathered(most, least))


def test_of_a_wrong_kernel_nothing_is_said() -> None:
    found = cx.needed_assumptions(gathered(INSIDE, late=1))
    assert [row.answer for row in found.rows] == ["undecided"]
    assert "wrong with all of its assumptions" in found.rows[0].reason


def test_a_counterexample_without_tables_shows_no_assumption_to_be_needed() -> None:
    kernel = gathered(Sorted("order"))
    verdict = cx.verify(kernel)
    assert verdict.counterexample is not None
    proofs = tuple(
        replace(x, counterexample=x.counterexample and replace(x.counterexample, tables={}))
        for x in verdict.proofs
    )
    least = replace(verdict.counterexample, tables={})
    answer, place, _ = needed._read(  # pyright: ignore[reportPrivateUsage]
        kernel, Sorted("order"), replace(verdict, proofs=proofs, counterexample=least)
    )
    assert (answer, place) == ("undecided", None)


def test_what_is_not_decided_is_said_so() -> None:
    found = cx.needed_assumptions(gathered(INSIDE), budget=1e-3)
    assert [row.answer for row in found.rows] == ["undecided"]
    assert found.rows[0].reason


def test_refusals() -> None:
    gemm = kinds.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    with pytest.raises(KernelError, match="assumes nothing of tables"):
        cx.needed_assumptions(gemm)
    computes = gathered(INSIDE).computes
    assert computes is not None
    assert computes.without(INSIDE).tables == ()
    with pytest.raises(KernelError, match="is not assumed"):
        computes.without(Distinct("order"))


@pytest.mark.long
def test_the_command_line() -> None:
    from click.testing import CliRunner

    from pycute_xe.cli import main

    document = cx.to_json(gathered(INSIDE, Sorted("order")))
    asked = CliRunner().invoke(main, ["verify", "-", "--assumptions"], input=document)
    assert asked.exit_code == 1
    assert "✗ not needed  order is sorted" in asked.output
    asked = CliRunner().invoke(main, ["verify", "-", "--assumptions", "--json"], input=document)
    rows = json.loads(asked.output)["value"]["rows"]
    assert [row["answer"] for row in rows] == ["needed", "not needed"]
