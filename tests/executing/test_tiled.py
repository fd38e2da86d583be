"""Tiles in the place of registers: the same results, and no answer to what may be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from attention_problems import Problem, problem, tilings
from numpy.typing import NDArray

import pycute_xe as cx
from pycute_xe.arch import get_target
from pycute_xe.executing import fast
from pycute_xe.executing.problem import prepare
from pycute_xe.executing.tiled.running import tiled
from pycute_xe.executing.tiled.statements import TILED
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Convert,
    Kernel,
    Load,
    Loop,
    Statement,
    Store,
    gemm,
)

FORMS: dict[str, tuple[list[tuple[int, int]], dict[str, Any]]] = {
    "remainder": ([(19, 45)], {"stages": 0}),
    "causal": ([(37, 45)], {"causal": True}),
    "window": ([(18, 70)], {"window": (5, 3), "causal": True}),
    "grouped heads, sink": ([(17, 33)], {"group": 2, "sink": True, "heads": 2}),
    "cached": ([(20, 80)], {"cached": True, "causal": True}),
    "paged": ([(5, 70), (5, 130)], {"page": 64, "causal": True}),
}


def made(name: str, **more: Any) -> Problem:
    lengths, options = FORMS[name]
    given = {"out": 32, "columns": 20, "heads": 1} | options | more
    return problem(np.random.default_rng(7), tilings(), lengths, **given)


def on_tiles(kernel: Kernel, *given: Any, **named: Any) -> Mapping[str, NDArray[Any]] | None:
    return tiled(kernel, prepare(kernel, given, named, None), None)


def on_registers(kernel: Kernel, **named: Any) -> Mapping[str, NDArray[Any]]:
    return fast.gather(kernel, prepare(kernel, (), named, None), get_target("bmg"))


@pytest.mark.parametrize("name", FORMS)
def test_tiles_hold_what_registers_hold(name: str) -> None:
    given = made(name)
    found = on_tiles(given.kernel, **given.operands)
    assert found is not None
    wanted = on_registers(given.kernel, **given.operands)
    assert np.abs(found["O"] - wanted["O"]).max() < 1e-6


def test_sums_are_taken_in_the_order_of_the_registers() -> None:
    """Scores of whole numbers are exact, so that maxima and sums are equal to the last bit."""
    given = problem(np.random.default_rng(3), tilings(), [(40, 150)], lse=True, out=16, columns=16)
    rng, operands = np.random.default_rng(5), dict(given.operands)
    for name in "QK":
        operands[name] = rng.integers(-3, 4, operands[name].shape).astype(operands[name].dtype)
    found = on_tiles(given.kernel, **operands)
    assert found is not None
    reference = cx.run(given.kernel, **operands, executor="reference")
    assert np.array_equal(found["lse"], reference.lse)


def test_operands_stay_as_they_are() -> None:
    given = made("remainder")
    before = {name: np.array(x) for name, x in given.operands.items()}
    on_tiles(given.kernel, **given.operands)
    assert all(np.array_equal(before[name], x) for name, x in given.operands.items())


def test_what_is_not_stored_is_left() -> None:
    given = made("remainder")
    body = tuple(s for s in given.kernel.body if not isinstance(s, Store))
    stores = [s for s in given.kernel.body if isinstance(s, Store)]
    assert len(stores) == 2
    kernel = replace(given.kernel, body=(*body, stores[0]), computes=None)
    found = on_tiles(kernel, **given.operands)
    assert found is not None
    wanted = on_registers(kernel, **given.operands)
    assert np.array_equal(np.isnan(found["O"]), np.isnan(wanted["O"]))
    assert 0 < np.isnan(found["O"]).sum() < found["O"].size


def test_what_is_stored_twice_is_left_to_who_watches_races() -> None:
    given = made("remainder")
    last = next(s for s in reversed(given.kernel.body) if isinstance(s, Store))
    kernel = replace(given.kernel, body=(*given.kernel.body, last), computes=None)
    assert on_tiles(kernel, **given.operands) is None
    both = tuple(replace(s, at=(*s.at[:2], s.at[2] * 0, s.at[3])) for s in [last])
    body = tuple(both[0] if s is last else s for s in given.kernel.body)
    kernel = replace(given.kernel, body=body, computes=None)
    assert on_tiles(kernel, **given.operands) is None
    with pytest.raises(cx.MachineError, match="race"):
        cx.run(kernel, **given.operands)
    half = replace(last, at=(*last.at[:2], cx.kernel.Index("q") * 8, last.at[3]))
    body = tuple(half if s is last else s for s in given.kernel.body)
    assert on_tiles(replace(given.kernel, body=body, computes=None), **given.operands) is None


def test_barriers_are_met() -> None:
    given = made("remainder")
    pair = BarrierArrive(), BarrierWait()
    kernel = replace(given.kernel, body=(*pair, *given.kernel.body), computes=None)
    assert on_tiles(kernel, **given.operands) is not None


def test_integers_are_left_to_registers() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    ones = np.ones((16, 32), np.int8)
    assert on_tiles(gemm(mma), ones, np.ones((32, 32), np.int8)) is None


def test_a_product_alone_is_one_of_tiles_too() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, shape) for shape in ((70, 90), (90, 130)))
    kernel = gemm(mma, a="col", d_type="bf16", epilogue="relu(2*acc)")
    kind = kernel.operand("A").value_type
    given = prepare(kernel, (a, b), {}, kind)
    found = tiled(kernel, given, None)
    assert found is not None
    wanted = np.maximum(2 * (a @ b), 0).astype(found["D"].dtype)
    assert np.array_equal(found["D"], wanted)


def test_what_is_looked_at_is_not_written_over() -> None:
    """Sums are compared with their doubles, and a copy is kept while more is added."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, shape) for shape in ((70, 90), (90, 130)))
    one = gemm(mma)
    (store,) = (s for s in one.body if isinstance(s, Store))
    held = one.fragment(store.fragment)
    slot = cx.kernel.Slot(held.name)
    larger = cx.kernel.Map(held.name, cx.kernel.apply("max", slot * 2, slot))
    more = cx.kernel.Map(held.name, slot + 1)
    kept = replace(store, operand="E", fragment="kept")
    stores = larger, Convert(held.name, "kept"), more, store, kept
    out = replace(one.operand("D"), name="E")
    fragments = (*one.fragments, replace(held, name="kept"))
    body = tuple(x for s in one.body for x in (stores if s is store else (s,)))
    kernel = replace(
        one, operands=(*one.operands, out), fragments=fragments, body=body, computes=None
    )
    found = tiled(kernel, prepare(kernel, (a, b), {}, kernel.operand("A").value_type), None)
    assert found is not None
    assert np.array_equal(found["E"], np.maximum(2 * (a @ b), a @ b))
    assert np.array_equal(found["D"], found["E"] + 1)


KINDS: list[type[Statement]] = sorted(TILED, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KINDS)
def test_a_deleted_entry_leaves_it_to_registers(kind: type[Statement]) -> None:
    """What tiles know nothing of is done on registers: slower, and the same."""
    given = made("causal")
    kernel = given.kernel
    if not any(type(s) is kind for s in kernel.statements()):
        extra = {
            "BarrierArrive": (BarrierArrive(), BarrierWait()),
            "BarrierWait": (BarrierArrive(), BarrierWait()),
            "Fence": (cx.kernel.Fence(),),
        }
        kernel = replace(kernel, body=(*extra[kind.__name__], *kernel.body), computes=None)
    assert on_tiles(kernel, **given.operands) is not None
    entry = TILED.without(kind)
    assert entry is not None
    try:
        assert on_tiles(kernel, **given.operands) is None
    finally:
        TILED.of(kind)(entry)


def test_loops_of_which_subgroups_go_different_ways_are_left_to_registers() -> None:
    mmas = tilings(queries=32, subgroups=2)
    given = problem(np.random.default_rng(1), mmas, [(32, 64)], heads=1, out=16, columns=16)
    assert on_tiles(given.kernel, **given.operands) is not None
    loop = next(s for s in reversed(given.kernel.body) if isinstance(s, Loop))
    apart = replace(loop, stop=loop.stop + cx.kernel.Index("subgroup"))
    body = tuple(apart if s is loop else s for s in given.kernel.body)
    assert on_tiles(replace(given.kernel, body=body, computes=None), **given.operands) is None


def test_a_load_far_behind_an_operand_is_zeros_that_nobody_keeps() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((1, 1, 1), (1, 1, 0)))
    kernel = gemm(mma, stages=0)
    load = next(s for s in kernel.statements() if isinstance(s, Load))
    far = kernel.replace(load, replace(load, at=(load.at[0], load.at[1] + 2**31)))
    ones = np.ones((2, 2))
    given = prepare(far, (ones, ones), {}, kernel.operand("A").value_type)
    assert tiled(far, given, None) is None
    assert not np.any(cx.run(far, ones, ones, dtype="bf16"))
