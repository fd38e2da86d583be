"""A kernel says which of its names are those of a plan; nobody guesses them."""

from __future__ import annotations

import dataclasses

import pytest

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.files import from_json, to_json
from pycute_xe.kernel import scheduled, whole_tiles
from pycute_xe.kernel.ir.identities import renamed
from pycute_xe.kernel.ir.planned import Planned

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((1, 2, 1), (2, 1, 0)))
OTHER = {"work": "pieces", "count": "many", "A": "left", "B": "right", "D": "out"}


def test_the_recipe_declares_its_tables() -> None:
    assert scheduled(MMA).plan == Planned(batch="")
    assert scheduled(MMA, fixup=False).plan == Planned(scratch="", locks="", batch="")
    assert scheduled(MMA, groups="batch").plan == Planned()
    assert cx.kernel.gemm(MMA).plan is None


def test_other_names_are_declared_and_the_tile_is_the_same() -> None:
    kernel = scheduled(MMA, fixup=False)
    other = renamed(kernel, OTHER, {"u": "group", "i": "turn", "M": "rows"})
    assert other.plan is not None
    assert (other.plan.work, other.plan.unit, other.plan.rows) == ("pieces", "group", "rows")
    tile = whole_tiles(other)
    assert tile.plan is None
    assert [o.name for o in tile.operands] == ["left", "right", "out"]
    assert cx.verify(tile)


def test_a_kernel_that_declares_no_plan_is_wrong_for_some_tables() -> None:
    bare = dataclasses.replace(scheduled(MMA, fixup=False), plan=None)
    verdict = cx.verify(bare, explain=True)
    assert verdict.answer == "disproved"
    assert verdict.counterexample is not None
    assert cx.replay(bare, verdict.counterexample).shows
    assert "plan" not in [one.strategy for one in verdict.attempts]
    assert cx.verify(scheduled(MMA, fixup=False)).answer == "proved"


def test_a_declared_plan_that_the_statements_do_not_follow_proves_nothing() -> None:
    gemm = cx.kernel.gemm(MMA)
    none = Planned(work="A", count="B", scratch="", locks="", batch="")
    false = dataclasses.replace(gemm, plan=none)
    with pytest.raises(KernelError, match="does not look its work up"):
        whole_tiles(false)
    late = gemm.replace(
        gemm.loop("k"), dataclasses.replace(gemm.loop("k"), stop=gemm.loop("k").stop - 1)
    )
    assert cx.verify(dataclasses.replace(late, plan=none)).answer == "disproved"


def test_a_table_that_is_no_operand_is_refused() -> None:
    with pytest.raises(KernelError, match="there is no operand parts"):
        dataclasses.replace(scheduled(MMA), plan=Planned(scratch="parts"))


def test_a_document_keeps_the_plan() -> None:
    kernel = scheduled(MMA, fixup=False)
    assert from_json(to_json(kernel)) == kernel
    assert '"plan"' not in to_json(cx.kernel.gemm(MMA))
