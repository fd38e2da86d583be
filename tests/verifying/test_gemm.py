from __future__ import annotations

import dataclasses
from itertools import product

import pytest
from broken_kernels import BROKEN, broken, find, judged, tiled_mma
from enumerator import smaller, wrong_elements
from sampling import WHOLE, sampled

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Counterexample, Kernel, Load, Loop, Store
from pycute_xe.kernel.index import Index, Tiles

BIG = (((256, 256, 32), (8, 4)), ((128, 128, 32), (4, 2)))
REDUCED = ((32, 64, 32), (2, 2))
ORDERS = tuple(product(("row", "col"), repeat=2))
ids = [make.__name__ for make in BROKEN]
# How many smaller problems are tried where there are many.
SMALLER = 60 if WHOLE else 6


@pytest.mark.parametrize(
    ("order", "tile", "dtype"), sampled(product(ORDERS, BIG, ["bf16", "f16"]), 3), ids=str
)
@pytest.mark.long
def test_every_order_tile_and_type_is_proved(order, tile, dtype):
    a, b = order
    verdict = cx.verify(cx.kernel.gemm(tiled_mma(*tile, dtype), a=a, b=b))
    assert verdict, str(verdict)
    assert verdict.counterexample is None
    assert len(verdict.proofs) == 5


@pytest.mark.parametrize(("a", "b"), ORDERS)
@pytest.mark.long
def test_what_is_proved_comes_out_right_register_by_register(a, b):
    gemm = cx.kernel.gemm(tiled_mma(*REDUCED), a=a, b=b)
    assert cx.verify(gemm)
    every = ((1, 1, 1), (32, 64, 32), (33, 65, 33), (31, 63, 61), (17, 70, 2), (70, 16, 64))
    for sizes in sampled(every, 2):
        assert not wrong_elements(gemm, *sizes), sizes


@pytest.mark.parametrize(
    ("tile", "make"),
    [*product([BIG[0]], sampled(BROKEN, 2)), *product([REDUCED], BROKEN)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_broken_kernel_has_a_counterexample_that_says_where(make, tile):
    verdict = judged(make, *tile)
    found = verdict.counterexample
    assert not verdict
    assert found is not None
    assert found.claim == BROKEN[make]
    assert 0 <= found.work_item < broken(make, *tile).mma.size
    assert 0 <= found.lane < 16
    assert found.value >= 0
    if not found.faults:
        assert found.element is not None
        assert 0 <= found.index[0] < found.sizes["M"]
        assert 0 <= found.index[1] < found.sizes["N"]
    assert Counterexample.from_json(found.to_json()) == found
    assert str(found).splitlines()[0] in str(verdict)


@pytest.mark.parametrize("make", BROKEN, ids=ids)
def test_the_output_is_wrong_there_and_in_no_smaller_problem(make):
    kernel, found = broken(make, *REDUCED), judged(make, *REDUCED).counterexample
    assert found is not None
    place = (0, 0) if found.faults else found.index
    assert place in wrong_elements(kernel, *_mnk(found))
    before = list(smaller(*_mnk(found)))
    # All of the small ones, and an even sample where there are many.
    for sizes in before[:: 1 + len(before) // SMALLER]:
        assert not wrong_elements(kernel, *sizes), sizes


@pytest.mark.parametrize("make", BROKEN, ids=ids)
def test_replaying_the_counterexample_shows_it(make, tmp_path):
    kernel, found = broken(make, *REDUCED), judged(make, *REDUCED).counterexample
    assert found is not None
    found.save(tmp_path / "found.json")
    loaded = Counterexample.load(tmp_path / "found.json")
    assert loaded == found
    assert cx.replay(kernel, loaded).shows


@pytest.mark.long
def test_the_smallest_counterexamples_are_as_expected():
    def sizes(name: str) -> tuple[int, int, int]:
        make = next(make for make in BROKEN if make.__name__ == name)
        found = judged(make, *BIG[0]).counterexample
        assert found is not None
        return _mnk(found)

    assert sizes("short_loop") == (1, 1, 1)
    # Row 1 lies 32 values after row 0 in the registers, where DPAS looks after 16.
    assert sizes("block_width") == (2, 1, 1)
    assert sizes("no_reorder") == (1, 1, 2)
    # Subgroup 4 is the first with rows of its own: from row 32 on.
    assert sizes("subgroup_stride") == (33, 1, 1)
    assert sizes("fill_in_loop") == (1, 1, 33)


@pytest.mark.long
def test_the_statements_are_judged_not_their_form():
    gemm = cx.kernel.gemm(tiled_mma(*REDUCED))
    loop = gemm.loop("k")
    longer = gemm.replace(loop, dataclasses.replace(loop, stop=loop.stop + 1))
    assert cx.verify(longer), "a tile beyond K adds zeros"
    late = _counted_from_one(gemm, loop)
    assert cx.verify(late), str(cx.verify(late))
    assert not wrong_elements(late, 33, 65, 33)
    fine = dataclasses.replace(gemm, grid=(("m", Tiles("M", 32)), ("n", Tiles("N", 32))))
    assert cx.verify(fine), "work-groups beyond N do nothing"
    coarse = dataclasses.replace(gemm, grid=(("m", Tiles("M", 32)), ("n", Tiles("N", 128))))
    found = cx.verify(coarse).counterexample
    assert found is not None
    assert _mnk(found) == (1, 65, 1)
    assert found.index in wrong_elements(coarse, 1, 65, 1)


def _counted_from_one(gemm: Kernel, loop: Loop) -> Kernel:
    back = {"k": Index("k", -1)}
    body = tuple(
        dataclasses.replace(s, at=tuple(index.substitute(back) for index in s.at))
        if isinstance(s, Load)
        else s
        for s in loop.body
    )
    return gemm.replace(loop, Loop("k", Index(None, 1), loop.stop + 1, body))


def _mnk(found: Counterexample) -> tuple[int, int, int]:
    return found.sizes["M"], found.sizes["N"], found.sizes["K"]


@pytest.mark.long
def test_a_loop_of_a_fixed_count_fails_where_it_ends():
    gemm = cx.kernel.gemm(tiled_mma(*REDUCED))
    loop = gemm.loop("k")
    fixed = gemm.replace(loop, dataclasses.replace(loop, stop=2))
    found = cx.verify(fixed).counterexample
    assert found is not None
    assert _mnk(found) == (1, 1, 65)
    assert cx.verify(fixed, {"K": 64})
    assert not cx.verify(fixed, {"K": 66})


@pytest.mark.long
def test_params_narrow_the_question():
    broken = next(make for make in BROKEN if make.__name__ == "subgroup_stride")(tiled_mma())
    assert not cx.verify(broken, {"N": 7})
    held = cx.verify(broken, {"M": 32, "N": 64})
    assert held
    assert "for all K >= 1 with M = 32, N = 64" in str(held)
    for params in ({"M": 0}, {"Q": 4}):
        with pytest.raises(CuteError, match="params"):
            cx.verify(broken, params)


@pytest.mark.long
def test_a_store_done_twice_is_right():
    """The same value to the same place: no order of the two shows."""
    gemm = cx.kernel.gemm(tiled_mma(*REDUCED))
    store = find(gemm, Store)
    twice = gemm.replace(store, (store, store))
    assert cx.verify(twice), str(cx.verify(twice))
    assert not wrong_elements(twice, 5, 5, 5)


def test_a_message_before_its_surface_reads_zeros():
    gemm = cx.kernel.gemm(tiled_mma(*REDUCED))
    load = find(gemm, Load, "A")
    early = gemm.replace(load, dataclasses.replace(load, at=(load.at[0], load.at[1] - 32)))
    verdict = cx.verify(early)
    assert "D values" in {p.property for p in verdict.proofs if not p}
    assert verdict.counterexample is not None
    assert cx.replay(early, verdict.counterexample).shows
