"""What the proofs are made of, each against counting."""

from __future__ import annotations

import dataclasses

import pytest
from broken_kernels import find, tiled_mma
from hypothesis import given, settings
from hypothesis import strategies as st

import pycute_xe as cx
from pycute_xe.bulk import table
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Index, Kernel, Load, Loop, Mma, Store, Tiles, When
from pycute_xe.verifying.contents import operand_elements
from pycute_xe.verifying.equations import Equations
from pycute_xe.verifying.messages import loaded_elements
from pycute_xe.verifying.regions import Names, Region, effort


def points(region: Region) -> set[tuple[int, ...]]:
    out: set[tuple[int, ...]] = set()
    while (point := region.least()) is not None:
        values = tuple(point[name] for name in region.names)
        out.add(values)
        same = " and ".join(f"{name} = {value}" for name, value in point.items())
        region = region - Region.where(region.names, same)
    return out


XY: Names = ("x", "y")


def test_regions_do_set_algebra_on_named_points():
    left = Region.where(XY, "0 <= x < 3 and y = x")
    right = Region.where(XY, "1 <= x < 5 and y = x")
    assert points(left & right) == {(1, 1), (2, 2)}
    assert points(left - right) == {(0, 0)}
    assert points(left | right) == {(i, i) for i in range(5)}
    assert points(left.to(("y", "z"), "z = x + y")) == {(i, 2 * i) for i in range(3)}
    assert (left | right).greatest() == {"x": 4, "y": 4}
    assert Region.nothing(XY).is_empty
    assert Region.nothing(XY).least() is None
    assert Region.nothing(XY).greatest() is None


def test_least_counts_coordinates_in_the_order_asked_for():
    region = Region.where(XY, "0 <= x and 0 <= y and 2*x + y >= 5 and x <= 9 and y <= 9")
    assert region.least() == {"x": 0, "y": 5}
    assert region.least(("y",)) == {"y": 0, "x": 3}


def test_repeats_are_the_points_that_come_again():
    region = Region.where(("k", "x"), "0 <= x < 5 and k = x mod 3")
    again = region.repeats(("k",))
    assert points(again.to(("k", "x"))) == {(0, 3), (1, 4)}
    assert not region.decides(("k",))
    assert region.decides(("x",))


extents = st.sampled_from([1, 2, 3, 4, 6, 8])
modes = st.lists(st.tuples(extents, st.integers(0, 20)), min_size=1, max_size=3)


@settings(max_examples=60)
@given(modes)
def test_the_region_of_a_layout_is_its_graph(pairs):
    layout = cx.Layout(tuple(s for s, _ in pairs), tuple(d for _, d in pairs))
    eq = Equations()
    digits = eq.digits(layout)
    low, high = eq.divided(digits.offset, 16)
    for name, value in (("i", digits.index), ("low", low), ("high", high)):
        eq.name(name, value)
    graph = eq.region(("i", "low", "high"))
    for i, offset in enumerate(table(layout).tolist()):
        expected = {"i": i, "low": offset % 16, "high": offset // 16}
        assert graph.within(f"i = {i}").least() == expected
        assert graph.within(f"i = {i}").greatest() == expected
    assert graph.within(f"i >= {cx.size(layout)} or i < 0").is_empty


@settings(max_examples=60)
@given(modes, modes)
def test_equal_numbers_are_identified_or_equated(first, second):
    """Composing through an index, whether or not the radices fit."""
    inner = cx.Layout(tuple(s for s, _ in first), tuple(d for _, d in first))
    outer = cx.Layout(tuple(s for s, _ in second), tuple(d for _, d in second))
    eq = Equations()
    x, y = eq.digits(inner), eq.digits(outer)
    eq.equal(x.index, y.index)
    eq.name("a", x.offset)
    eq.name("b", y.offset)
    graph = eq.region(("a", "b"))
    ours, theirs = table(inner).tolist(), table(outer).tolist()
    pairs = set(zip(ours, theirs, strict=False))
    for a in sorted(set(ours))[:6]:
        for b in sorted(set(theirs))[:6]:
            assert graph.within(f"a = {a} and b = {b}").is_empty == ((a, b) not in pairs)


@pytest.mark.parametrize("role", ["A", "B", "C"])
def test_operand_elements_are_what_cute_partitions(role):
    mma = tiled_mma((32, 64, 32), (2, 2))
    elements = operand_elements(mma, role).region()
    fragment = mma.fragment(role)
    subgroups = mma.operand_subgroups(role)
    claimed = Region.nothing(elements.names)
    lanes, values = cx.size(fragment[0][0]), cx.size(fragment[1])
    for s in range(mma.num_subgroups):
        for lane in range(0, lanes, 5):
            for value in range(0, values, 3):
                threads = fragment[0](lane, subgroups(s))
                place = threads + fragment[1](value)
                row, column = (*place, 0)[:2] if place else (0, 0)
                claimed |= Region.where(
                    elements.names,
                    f"s = {s} and l = {lane} and v = {value} and r = {row} and c = {column}",
                )
    assert (claimed - elements).is_empty


def test_images_that_overlap_leave_the_later_message():
    copy = cx.make_block_2d_copy(
        cx.XE_LOAD_2D(16, 2, 16, 8), ("ld", 1), "bf16", (2, 1), cx.Layout((1, 2), (0, 1))
    )
    assert copy.messages == 2
    assert not copy.atom.faithful
    held = loaded_elements(copy, 1).region()
    assert held.decides(("s", "l", "v"))
    # A message's 32 values fill 64 register elements; the next starts at element 32 all the same.
    assert held.within("v = 2 and l = 0").least() == {"s": 0, "l": 0, "v": 2, "r": 2, "c": 0}
    assert held.within("v = 4 and l = 0").least() == {"s": 0, "l": 0, "v": 4, "r": 2, "c": 8}


def test_hard_questions_end():
    with pytest.raises(KernelError, match="too hard"), effort(10):
        Region.where(XY, "exists (d : x = 3*d and y = 5*d) and 0 <= x < 1000").least()


def gemm() -> Kernel:
    return cx.kernel.gemm(tiled_mma((32, 64, 32), (2, 2)))


def test_registers_that_depend_on_the_trip_are_refused():
    kernel = gemm()
    load, loop = find(kernel, Load, "A"), kernel.loop("k")
    carried = kernel.replace(load, None)
    body = (*carried.loop("k").body, dataclasses.replace(load, at=(Index("m"), Index("k", 1))))
    first = dataclasses.replace(load, at=(Index("m"), Index(None)))
    moved = carried.replace(carried.loop("k"), (first, Loop("k", 0, loop.stop, body)))
    with pytest.raises(KernelError, match="from trip to trip"):
        cx.verify(moved)


def test_registers_filled_under_another_condition_are_refused():
    kernel = gemm()
    load = find(kernel, Load, "A")
    sometimes = kernel.replace(load, When(Index("k"), Tiles("K", 64), (load,)))
    with pytest.raises(KernelError, match="same condition"):
        cx.verify(sometimes)


def test_registers_nothing_fills_are_a_counterexample():
    kernel = gemm()
    kernel = kernel.replace(find(kernel, Load, "A"), None)
    found = cx.verify(kernel).counterexample
    assert found is not None
    assert (found.claim, found.M, found.N, found.K) == ("A fragment", 1, 1, 1)
    assert found.found is None


def test_what_is_no_kernel_is_refused_by_name():
    with pytest.raises(KernelError, match=r"TiledMma.*only kernels are verified"):
        cx.verify(gemm().mma)


def test_two_accumulators_need_two_sums():
    """Products that reach no store count for nothing."""
    kernel = gemm()
    multiply = find(kernel, Mma)
    acc = kernel.fragment("tCrC")
    other = dataclasses.replace(
        kernel, fragments=(*kernel.fragments, dataclasses.replace(acc, name="other"))
    )
    lost = other.replace(multiply, dataclasses.replace(multiply, accumulator="other"))
    failed = [proof.property for proof in cx.verify(lost).proofs if not proof]
    assert failed == ["products", "D values"]
    assert find(lost, Store).fragment == "tCrC"
