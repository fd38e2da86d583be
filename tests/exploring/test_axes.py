"""Copies, schedules, modes and epilogue tiles of a space: what refuses them, and what they cost."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sampling import EXAMPLES

import pycute_xe as cx
from pycute_xe.costing import cost_of, devices, facts_of
from pycute_xe.errors import CuteError, InputError, KernelError, LegalityError
from pycute_xe.exploring import Candidate, Space
from pycute_xe.exploring.pricing import lower_bound, price
from pycute_xe.exploring.rules import refusal

BF16 = ("bf16", "bf16", "f32", "f32")
TYPES = (BF16, ("bf16", "bf16", "f32", "bf16"), ("s8", "s8", "s32", "s32"),
         ("tf32", "tf32", "f32", "f32"), ("s4", "s4", "s32", "s32"))  # fmt: skip
NAMES = ("", "", "XE_2D_U16x32x32_LD_N", "XE_2D_U16x8x16_LD_N", "XE_2D_U16x32x16_ST_N")
DEVICE = devices()[0]
PROBLEMS = ({"M": 65, "N": 264, "K": 224}, {"M": 8, "N": 128, "K": 96})


def drawn(rng: random.Random) -> Candidate:
    """A candidate of any value of any axis."""
    types = rng.choice(TYPES)
    orders: Any = (*rng.choices(("row", "col"), k=2), "row")
    tile = (rng.choice((8, 64, 128)), rng.choice((16, 64, 128)), rng.choice((16, 32, 64)))
    grid = (rng.choice((1, 2, 4)), rng.choice((1, 2, 4)))
    copies = (rng.choice(NAMES), rng.choice(NAMES)) if types[0] == "bf16" else ("", "")
    schedule = rng.choice(("gemm", "slm_gemm", "specialised_gemm", "split_k 3"))
    cut = rng.choice(((), (8, 16), (16, 32), (8, 24)))
    stages, rows, mode = rng.randint(1, 4), rng.choice((1, 8)), rng.choice((0, 128, 256))
    return Candidate(tile, grid, stages, rows, types, orders, copies, schedule, mode, cut)


@pytest.mark.parametrize("seed", range(EXAMPLES))
@pytest.mark.long
def test_what_arithmetic_refuses_building_refuses_and_no_bound_is_above_a_price(seed: int) -> None:
    """Of each, as long as it takes to find one that arithmetic passes."""
    rng = random.Random(seed)
    for _ in range(100):
        candidate = drawn(rng)
        rule, outcome = refusal(candidate, DEVICE.target), price(candidate, DEVICE, PROBLEMS)
        assert not rule or isinstance(outcome, str), (rule, str(candidate))
        if not isinstance(outcome, str):
            for objective in ("least", "most"):
                low = lower_bound(candidate, DEVICE, PROBLEMS, objective)
                end = outcome[objective == "most"]
                assert low[0] <= end * (1 + 1e-12), str(candidate)
        if not rule:
            return
    pytest.fail("every candidate was refused")


PLAIN = Candidate((64, 64, 32), (2, 2), 2, 8, BF16)
RULES: dict[str, dict[str, Any]] = {
    "": {},
    "divides": {"tile": (63, 64, 32)},
    "copy": {"copies": ("XE_2D_U16x32x16_ST_N", "")},
    "split": {"schedule": "split_k 4", "epilogue_tile": (8, 16)},
    "stages": {"schedule": "slm_gemm", "stages": 4},
    "slm-bytes": {"schedule": "slm_gemm", "tile": (256, 256, 128), "grid": (8, 4), "stages": 3},
    "narrow": {"schedule": "slm_gemm", "types": ("s4", "s4", "s32", "s32"), "tile": (64, 64, 64)},
    "epilogue-tile": {"epilogue_tile": (8, 24)},
    "mode": {"mode": 100},
    "threads": {"schedule": "specialised_gemm", "tile": (64, 256, 32), "grid": (8, 8)},
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_refuses_what_it_is_for(rule: str) -> None:
    fields = {name: getattr(PLAIN, name) for name in PLAIN.__dataclass_fields__}
    assert refusal(Candidate(**{**fields, **RULES[rule]}), DEVICE.target) == rule


def test_blocks_divide_what_a_subgroup_loads() -> None:
    """32 rows of 32 values: of 64x32 by two subgroups, and of no 16 rows."""
    for rows, rule in ((64, ""), (32, "copy")):
        copies = ("XE_2D_U16x32x32_LD_N", "")
        one = Candidate((rows, 64, 32), (2, 2), 2, 8, BF16, copies=copies)
        assert refusal(one, DEVICE.target) == rule


SCHEDULES = ("gemm", "slm_gemm", "specialised_gemm", "split_k 4")


def test_a_schedule_is_a_kind_of_kernel_and_all_are_told_apart() -> None:
    space = Space((64,), (64,), (32,), ((2, 2),), (2,), (8,), schedules=SCHEDULES, modes=(0, 256))
    names = [candidate.kernel().name for candidate in space]
    assert names[::2] == names[1::2] == ["gemm", "slm_gemm", "specialised_gemm", "split_k"]
    assert len({str(candidate) for candidate in space}) == len(space) == 8
    assert "split_k 4, 256 registers" in str(list(space)[-1])


def test_a_mode_decides_how_many_work_groups_a_core_keeps() -> None:
    kernel = Candidate((64, 32, 32), (4, 1), 2, 8, BF16).kernel()
    known = {mode: facts_of(kernel, "bmg", mode) for mode in (0, 128, 256)}
    assert [known[mode].resident for mode in (0, 128, 256)] == [16, 16, 8]
    assert known[256].grf_mode == 256
    with pytest.raises(LegalityError, match="the mode is 64"):
        facts_of(kernel, "bmg", 64)


def test_parts_of_k_fill_cores_that_one_tile_does_not() -> None:
    """One tile of 64 x 64 keeps one core busy, its parts four."""
    space = Space((64,), (64,), (32,), ((2, 2),), (2,), (8,), schedules=("gemm", "split_k 4"))
    found = cx.explore(space, "b580", [{"M": 64, "N": 64, "K": 65536}])
    assert [one.candidate.parts for one in found.best] == [4, 1]


def test_producers_bring_what_consumers_do_not() -> None:
    """A core brings each tile once, whether all subgroups load it or some: bytes by hand."""
    m, n, k = 64, 128, 256
    for schedule in ("slm_gemm", "specialised_gemm"):
        candidate = Candidate((32, 64, 32), (2, 2), 2, 8, BF16, schedule=schedule)
        sizes = {"M": m, "N": n, "K": k}
        facts = cost_of(facts_of(candidate.kernel()), DEVICE, sizes).facts
        assert facts.fetched == 2 * (m * k * (n // 64) + k * n * (m // 32)) + 4 * m * n


MISTAKES: dict[str, tuple[Any, str]] = {
    "an unknown schedule": (lambda: Space(schedules=("stream",)), "schedules has 'stream'"),
    "no parts": (lambda: Space(schedules=("split_k 0",)), "schedules has 'split_k 0'"),
    "an unknown copy": (lambda: Space(copies=(("x", ""),)), "no atom has this name"),
    "one copy": (lambda: Space(copies=("x",)), "must be a pair of names"),  # type: ignore[arg-type]
    "a mode of -1": (lambda: Space(modes=(-1,)), "modes has -1, must be 0 or registers"),
    "a cut of one size": (lambda: Space(epilogue_tiles=((8,),)), "epilogue_tiles has"),
    "a mode twice": (lambda: Space(modes=(0, 128, 0)), "modes has 0 twice"),
    "three types": (lambda: Space(types=("s8", "s8", "s32")), "must be 4 types"),  # type: ignore[arg-type]
    "an order": (lambda: Space(orders=("row", "x", "row")), "orders has 'x'"),  # type: ignore[arg-type]
    "one problem": (lambda: cx.explore(Space(), "bmg", {"M": 1}), "must be a list of sizes"),  # type: ignore[arg-type]
    "a number": (lambda: cx.explore(Space(), "bmg", [3]), "must be a list of sizes"),  # type: ignore[list-item]
    "an executor": (lambda: cx.explore(Space(), "bmg", [], executor=3), "has no submit|no problem"),  # type: ignore[arg-type]
    "no schedule": (lambda: Space(schedules=()), "schedules has no value"),
    "a candidate's": (
        lambda: Candidate((64, 64, 32), (2, 2), 2, 8, BF16, schedule="x").kernel(),
        "schedule is 'x'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_clear_line(name: str) -> None:
    does, words = MISTAKES[name]
    with pytest.raises(CuteError, match=words) as raised:
        does()
    assert "\n" not in str(raised.value)


def test_registers_that_hold_more_than_a_tile_of_shared_memory_are_refused() -> None:
    """One row of A in tf32 fills half a register; the other half has no place."""
    types = ("tf32", "tf32", "f32", "f32")
    one = Candidate((8, 64, 16), (2, 2), 2, 1, types, schedule="slm_gemm")
    with pytest.raises(KernelError, match="beyond the tile"):
        one.kernel()


def test_what_has_no_number_of_moves_is_refused_by_name() -> None:
    types = ("s4", "s4", "s32", "s32")
    space = Space((64,), (64,), (64,), ((2, 2),), (2,), (8,), types)
    found = cx.explore(space, "b580", [{"M": 64, "N": 64, "K": 64}])
    assert dict(found.refused_built) == {"moves": 1}
    with pytest.raises(InputError, match="the best are 1 to 0"):
        found.kernel()
