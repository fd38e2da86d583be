"""Where subgroups use shared arrays: outside, narrow elements, several stores, in no order."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
import shared_kernels
from shared_kernels import TILE, K
from small_kernels import fragment, load_of, shared_array, small_kernel, store_of

import pycute_xe as cx
from pycute_xe.holding.ordering import Clash, clashes, shared_element
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Claim,
    Element,
    Fence,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Operand,
    SharedLoad,
    SharedStore,
    Specification,
    Statement,
)
from pycute_xe.kernel.spec.expression import Expression, Where, as_expression
from pycute_xe.layout import Layout

M, N, S, ONE = Index("m"), Index("n"), Index("subgroup"), Index(None, 1)
MEET = (Fence(), BarrierArrive(), BarrierWait())
FIRST, ALL = Index(), Layout((1, 128), (0, 1))


def answers(kernel: Kernel) -> dict[str, str]:
    return {p.property: p.answer for p in cx.verify(kernel).proofs}


def through(store: SharedStore, load: SharedLoad, kind: str = "f32", elements: int = 128) -> Kernel:
    """X goes through an array and comes back."""
    claims = Specification((Claim("Y", ("m", "n"), Element("X", (M, N))),))
    shared = (shared_array("s", kind, elements),)
    kernel = small_kernel((store, *MEET, load), shared=shared)
    return dataclasses.replace(kernel, computes=claims)


@pytest.mark.parametrize("first", [-1, 0, 1, 2])
def test_places_before_the_first_and_behind_the_last_are_outside(first: int) -> None:
    at = Index(None, first)
    kernel = through(SharedStore("x", "s", ALL, at), SharedLoad("s", "x", ALL, at), elements=129)
    verdict = cx.verify(kernel, {"M": 8, "N": 16})
    inside = 0 <= first <= 1
    assert bool(verdict) == inside, str(verdict)
    assert ("bounds" in [p.property for p in verdict.proofs if p.answer == "disproved"]) != inside
    if not inside:
        assert f"elements {first} to {first + 127}" in str(verdict.counterexample)
        with pytest.raises(cx.MachineError):
            cx.run(kernel, np.ones((8, 16), np.float32), executor="reference")


def of_two(claim: Expression, loaded: Layout, at: Index = FIRST) -> Kernel:
    """Subgroup 0 stores X and fives one behind the other; two subgroups load 128 elements each."""
    atom = load_of("X", "x").copy.atom
    load = dataclasses.replace(
        load_of("X", "x"), copy=cx.make_tiled_copy(atom, Layout(((16, 2), 8), ((8, 0), 1)), (8, 16))
    )
    stored = store_of("Y", "y").copy.atom
    rows = Layout(((16, 2), 8), ((16, 8), 1))
    store = dataclasses.replace(store_of("Y", "y"), copy=cx.make_tiled_copy(stored, rows, (16, 16)))
    first = If(S, ONE, (SharedStore("x", "s", Layout((2, 128), (0, 1))),))
    second = If(S, ONE, (SharedStore("z", "s", Layout((2, 128), (0, 1)), Index(None, 128)),))
    take = SharedLoad("s", "y", loaded, at)
    body = (load, Fill("z", 5.0), first, second, *MEET, take, store)
    operands = (Operand("X", "f32", (8, 16)), Operand("Y", "f32", (16, 16), role="out"))
    claims = Specification((Claim("Y", ("m", "n"), claim),))
    fragments = tuple(fragment(name, "f32", 8) for name in "xyz")
    shared = (shared_array("s", "f32", 256),)
    return Kernel("two", 2, operands, fragments, (("g", ONE),), body, claims, shared)


def test_elements_of_half_a_byte_cannot_be_addressed() -> None:
    narrow = (fragment("y", "s4", 8), fragment("z", "s8", 8))
    for kind, name, answer in (("s4", "y", "disproved"), ("s8", "z", "proved")):
        body = (Fill(name, 1), SharedStore(name, "s", ALL), *MEET, SharedLoad("s", name, ALL))
        kernel = small_kernel(body, narrow, shared=(shared_array("s", kind, 128),))
        verdict = cx.verify(kernel)
        assert answers(kernel)["bounds"] == answer, str(verdict)
        if answer == "disproved":
            assert "narrower than a byte" in str(verdict.counterexample)
            with pytest.raises(cx.CuteError):
                cx.run(kernel, np.ones((8, 16), np.float32), executor="reference")


X = Element("X", (M % 8, N))
HALVES = Where(M, Index(None, 8), X, as_expression(5.0))


def test_what_subgroups_take_of_different_stores_is_not_one_of_them() -> None:
    apart, same = Layout((2, 128), (128, 1)), Layout((2, 128), (0, 1))
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    out = np.asarray(cx.run(of_two(HALVES, apart), x, executor="reference"))
    assert np.array_equal(out, np.vstack([x, np.full((8, 16), 5.0)]))
    for claim in (X, as_expression(5.0), HALVES):
        assert answers(of_two(claim, apart))["Y values"] != "proved"
    assert cx.verify(of_two(X, same))
    assert cx.verify(of_two(as_expression(5.0), same, Index(None, 128)))


def looping(stop: Index, *body: Statement) -> Kernel:
    loop = Loop("k", Index(), stop, body)
    shared = (shared_array("s", "f32", 1024),)
    return small_kernel((loop,), shared=shared)


@pytest.mark.parametrize("trips", [-2, 0, 2])
def test_places_that_go_on_with_the_trips_of_a_loop(trips: int) -> None:
    """In a loop of no trips nothing is outside, and nothing is known of where it would be."""
    kernel = looping(Index(None, trips), SharedStore("x", "s", ALL, Index("k") * 128))
    assert answers(kernel)["bounds"] == ("proved" if trips > 0 else "undecided")


def in_three_stages(*behind: Statement) -> Kernel:
    """Two tiles, of two trips each: a trip stores to the stage after the one that it loads."""
    own, first = Layout((2, 128), (128, 1)), Layout((2, 128), (0, 1))
    made, k = of_two(X, first), Index("k")
    load, *_, store = made.body
    fill = [SharedStore("x", "s", own, Index(None, stage * 256)) for stage in range(3)]
    ahead = SharedStore("x", "s", own, (k + 1) % 3 * 256)
    trip = (ahead, *MEET, SharedLoad("s", "y", first, k % 3 * 256))
    tile = (Loop("k", Index(), Index(None, 2), trip), *behind)
    tiles = Loop("r", Index(), Index(None, 2), tile)
    body = (load, *fill, *MEET, tiles, store)
    return dataclasses.replace(made, body=body, shared=(shared_array("s", "f32", 768),))


def test_the_last_trip_for_a_tile_meets_the_first_for_the_next() -> None:
    """The second trip loads stage 1, where the next tile's first trip stores."""
    x = np.ones((8, 16), np.float32)
    right = in_three_stages(*MEET)
    assert answers(right)["barriers"] == "proved"
    assert (np.asarray(cx.run(right, x, executor="reference")) == 1).all()
    wrong = in_three_stages()
    assert answers(wrong)["barriers"] != "proved"
    with pytest.raises(cx.MachineError):
        cx.run(wrong, x, executor="reference")


@pytest.mark.parametrize("seed", range(20))
def test_the_least_element_that_two_subgroups_use(seed: int) -> None:
    """Against all pairs; below 0 is an element that a subgroup does not use."""
    rng = np.random.default_rng(seed)
    left, right = (rng.integers(-9, 9, (3, 2)) for _ in range(2))
    pairs = {
        (int(e), (a, b))
        for a in range(3)
        for b in range(3)
        for e in set(left[a].tolist()) & set(right[b].tolist())
        if a != b and e >= 0
    }
    found = shared_element(left, right)
    assert (found in pairs) if pairs else found is None
    assert found is None or found[0] == min(pairs)[0]


# ------------------------------------------------------------------ stages


def in_stages(stores: Index, loads: Index, *enclosing: tuple[str, int]) -> list[Clash]:
    """Store a tile to a stage, meet, and load from a stage: what is in no order, in some loops."""
    base, load, store, take, multiply = shared_kernels.parts(3)
    into, out = replace(store, at=stores * TILE), replace(take, at=loads * TILE)
    body: tuple[Statement, ...] = (load, into, *MEET, out, *multiply)
    for var, trips in enclosing:
        body = (Loop(var, Index(), Index(None, trips), body),)
    loop = base.loop("k")
    return clashes(base.replace(loop, replace(loop, body=body) if not enclosing else body))


def test_a_stage_that_is_stored_to_a_trip_later_than_it_is_loaded() -> None:
    """Trip k loads from stage k % 2, and trip k + 1 stores there, or to the other one."""
    wrong = [x for x in in_stages((K + 1) % 2, K % 2) if not x.first.writes]
    assert {(x.ats, x.trips[0].count) for x in wrong} == {((0, 0), 1), ((TILE, TILE), 1)}
    assert in_stages(K % 2, K % 2) == []


def test_a_loop_that_begins_anew_uses_the_stages_from_the_first_on() -> None:
    """The last of two trips loads from stage 0, and so does the next loop's first trip store."""
    found = in_stages(K % 3, (K + 2) % 3, ("k", 2), ("l", 2))
    assert any(not x.first.writes and x.second.writes and x.ats[0] == x.ats[1] for x in found)
