"""What the proofs are made of, each against counting."""

from __future__ import annotations

import dataclasses
import json
import math
import sys

import numpy as np
import pytest
from broken_kernels import find, tiled_mma
from hypothesis import given, strategies as st

import pycute_xe as cx
from pycute_xe.bulk import table
from pycute_xe.clock import deadline
from pycute_xe.errors import KernelError
from pycute_xe.holding.patience import DeadlineError, TooHardError, allowed
from pycute_xe.holding.tables import as_digits
from pycute_xe.kernel import Fill, Index, Kernel, Load, Mma, Store
from pycute_xe.verifying import regions as calls
from pycute_xe.verifying.evaluation import value_with
from pycute_xe.verifying.formula import Bounds, Formula, Place, Term, call, multiply, summed
from pycute_xe.verifying.prover import verify_here
from pycute_xe.verifying.regions import Names, Region, session
from pycute_xe.verifying.verdict import Failure


def test_functions_are_evaluated_for_every_trip_on_which_they_depend():
    """sum(t < 3, |A[t, m]| * |B[m]|) for two rows m, each with numbers of its own."""
    numbers = {"A": [[-1, 2], [3, -4], [5, 6]], "B": [7, -8]}

    def element(operand: str, at: tuple[int, ...]) -> float:
        return float(np.array(numbers[operand])[at])

    def absolute(operand: str, *at: str) -> Formula:
        return call("abs", (Term(1.0, (Place(operand, at),)),))

    product = multiply(absolute("A", "t", "m"), absolute("B", "m"))
    total = summed((Bounds("t", "0", "floor(7/2)"),), product)
    extents = {"A": ("3", "2"), "B": ("2",)}
    for m, wanted in enumerate([(1 + 3 + 5) * 7, (2 + 4 + 6) * 8]):
        assert value_with(total, {"m": m}, extents, element) == wanted


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


def test_points_that_a_library_loses_are_looked_for_again():
    """isl 2026.2 has no first point of this set, which has points."""
    quotients = "(1 - b) mod 5 = 0 and (2 + c) mod 5 = 0 and 10*floor((3 + c)/10) >= 2 + c"
    bounds = "d > 0 and 0 <= b <= 3 and c >= 0 and 4*c < e - d and f = e - d and g = 0 and h = 1+c"
    found = Region.where(tuple("edfgbch"), f"{quotients} and {bounds}").least()
    c = next(c for c in range(99) if (2 + c) % 5 == 0 and 10 * ((3 + c) // 10) >= 2 + c)
    assert found == {"e": 4 * c + 2, "d": 1, "f": 4 * c + 1, "g": 0, "b": 1, "c": c, "h": 1 + c}


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


@given(modes)
def test_digits_are_the_table(pairs):
    """A layout's offsets over its modes are a sum of digits, and come back as the same table."""
    layout = cx.Layout(tuple(s for s, _ in pairs), tuple(d for _, d in pairs))
    shape = tuple(s for s, _ in pairs)
    offsets = table(layout).reshape(shape[::-1]).transpose()
    found = as_digits(offsets)
    assert found is not None
    assert (found.table(shape) == offsets).all()
    flat = as_digits(table(layout))
    assert flat is None or (flat.table((cx.size(layout),)) == table(layout)).all()


@given(modes)
def test_the_text_of_digits_is_their_region(pairs):
    """What isl reads of a map is what NumPy tabulates."""
    layout = cx.Layout(tuple(s for s, _ in pairs), tuple(d for _, d in pairs))
    offsets = table(layout)
    found = as_digits(offsets)
    if found is None:
        return
    text = found.text(("i",))
    graph = Region.where(("i", "y"), f"0 <= i < {len(offsets)} and y = {text}")
    for i, offset in enumerate(offsets.tolist()):
        assert graph.within(f"i = {i}").least() == {"i": i, "y": offset}
        assert graph.within(f"i = {i}").greatest() == {"i": i, "y": offset}


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_what_is_not_a_sum_of_digits_is_said_to_be_none(values):
    line = np.array(values)
    found = as_digits(line)
    assert found is None or (found.table(line.shape) == line).all()


def test_hard_questions_end():
    with session(), allowed(100), pytest.raises(TooHardError, match="is used up, after 100"):
        Region.where(XY, "exists (d : x = 3*d and y = 5*d) and 0 <= x < 1000").least()


def gemm() -> Kernel:
    return cx.kernel.gemm(tiled_mma((32, 64, 32), (2, 2)))


@pytest.mark.long
def test_a_tile_loaded_a_trip_ahead_is_followed():
    """Registers that a trip reads as the one before left them: double buffering."""
    kernel = gemm()
    load, loop = find(kernel, Load, "A"), kernel.loop("k")
    rest = tuple(s for s in loop.body if s != load)
    ahead = dataclasses.replace(load, at=(load.at[0], load.at[1] + 32))
    first = dataclasses.replace(load, at=(load.at[0], Index()))
    body = (*rest[:-1], ahead, rest[-1])
    moved = kernel.replace(loop, (first, dataclasses.replace(loop, body=body)))
    verdict = cx.verify(moved)
    assert verdict.answer in ("proved", "undecided"), str(verdict)
    wrong = dataclasses.replace(first, at=(load.at[0], Index(None, 32)))
    assert not cx.verify(moved.replace(first, wrong))


def test_what_is_no_kernel_is_refused_by_name():
    nothing = gemm().mma.thr_layout_vmnk
    with pytest.raises(KernelError, match=r"Layout.*only kernels, copies, MMAs and their atoms"):
        cx.verify(nothing)


def test_two_accumulators_need_two_sums():
    """Products that reach no store count for nothing."""
    kernel = gemm()
    multiply = find(kernel, Mma)
    acc = kernel.fragment("tCrC")
    other = dataclasses.replace(
        kernel, fragments=(*kernel.fragments, dataclasses.replace(acc, name="other"))
    )
    to_other = dataclasses.replace(multiply, accumulator="other")
    lost = other.replace(multiply, (Fill("other"), to_other))
    failed = [proof.property for proof in cx.verify(lost).proofs if not proof]
    assert failed == ["D values"]
    assert find(lost, Store).fragment == "tCrC"


def test_a_claim_of_a_loop_is_never_taken_for_proved():
    gemm = cx.kernel.gemm(tiled_mma((32, 64, 32), (2, 2)))
    loop = gemm.loop("k")
    claimed = dataclasses.replace(loop, holds=(("tCrC", cx.kernel.Slot("tCrC")),))
    assert cx.verify(gemm.replace(loop, claimed)).answer == "undecided"


def test_a_proof_whose_deadline_has_passed_leaves_the_rest_undecided(monkeypatch):
    with deadline("verify", 1), allowed(math.inf), monkeypatch.context() as late:
        late.setattr("pycute_xe.clock._now", lambda: math.inf)
        verdict = verify_here(gemm(), {})
    assert verdict.answer == "undecided"
    assert verdict.counterexample is None
    undecided = [p.property for p in verdict.proofs if not p]
    assert undecided[-2:] == ["D coverage", "D values"]
    assert all("stopped at the deadline" in p.reason for p in verdict.proofs if not p)
    assert verify_here(gemm(), {})


def test_a_copy_whose_blocks_have_no_layout_is_left_undecided():
    kernel = cx.kernel.gemm(tiled_mma((24, 32, 32), (3, 1)))
    load = find(kernel, Load, "A")
    threads, values = load.copy.layout_tv_tiled
    lanes = cx.composition(threads, cx.Layout(16))
    bent = cx.make_layout(cx.make_layout(lanes, cx.Layout(3, 16)), values)
    copy = dataclasses.replace(load.copy, layout_tv_tiled=bent)
    verdict = cx.verify(kernel.replace(load, dataclasses.replace(load, copy=copy)))
    assert verdict.answer == "undecided"
    assert "do not step evenly" in str(verdict)


@given(st.lists(st.tuples(*[st.integers(-9, 9)] * 2, st.integers(1, 4)), min_size=1, max_size=5))
def test_the_least_of_many_pieces_is_that_of_all(corners):
    """Pieces of squares: every ``step``-th point of a square of 9 from a corner on."""
    region = Region.nothing(XY)
    wanted: set[tuple[int, int]] = set()
    for x, y, step in corners:
        here = f"{x} <= x < {x + 9} and {y} <= y < {y + 9} and (x + y) mod {step} = {step - 1}"
        region = region | Region.where(XY, here)
        box = ((i, j) for i in range(x, x + 9) for j in range(y, y + 9))
        wanted |= {(i, j) for i, j in box if (i + j) % step == step - 1}
    first, other = min(wanted), min(wanted, key=lambda point: point[::-1])
    assert region.least() == {"x": first[0], "y": first[1]}
    assert region.least(("y",)) == {"y": other[1], "x": other[0]}


# One of the pieces that seed 401449 of the fuzz asks for: a search of some ten seconds.
SLOW = (
    "exists (a, b, c, d, f, g, h: s = t - p - q and u < q and u < p and a < t - p - q and "
    "0 <= b < a and 32c <= b and -7 + 8u + b <= 16d <= 8u + b and "
    "-15 + 256u - 16a + 33b + 480c <= 512d <= 256 + 256u - 16a + 33b + 480c and "
    "-7 - 8u - 16a + 33b - 32c <= 128f <= 16 - 8u - 16a + 33b - 32c and "
    "-64 - u + 64c + 128f <= 64g <= -34 - u + 64c + 128f and "
    "-256 + 16a - 33b + 32c <= 256h <= -241 + 16a - 33b + 32c and "
    "256h <= -401 + 8u + 16a - 33b + 32c)"
)


SEARCHED = ("t", "p", "q", "s", "u")


@pytest.mark.long
def test_a_slow_search_is_given_up_where_little_work_is_left():
    with session(), allowed(1_000_000), pytest.raises(TooHardError, match="is used up"):
        Region.where(SEARCHED, SLOW).least()


def test_a_slow_search_is_given_up_where_little_time_is_left():
    """It is asked in another process, which is stopped."""
    with session(), deadline("verify", 0.3), allowed(1e9), pytest.raises(DeadlineError):
        Region.where(SEARCHED, SLOW).least()


def test_a_slow_search_is_left_out_where_another_piece_has_less():
    names = ("t", "p", "q", "s", "u")
    small = {"t": 4, "p": 1, "q": 1, "s": 2, "u": 0}
    here = " and ".join(f"{name} = {value}" for name, value in small.items())
    with session(), allowed(1_000_000):
        assert (Region.where(names, SLOW) | Region.where(names, here)).least() == small


@pytest.mark.long
def test_what_is_asked_in_another_process_is_what_is_answered_here(monkeypatch):
    """Every kind of call: sets that are written out and read again are the same."""

    def answers():
        one = Region.where(XY, "0 <= x < 40 and exists (d : y = 3*d + x and 0 <= y < 50)")
        other = Region.where(XY, "x mod 7 < 3 and 0 <= x < 20 and 0 <= y < 30")
        both, without = one & other, one - other
        return [
            *(r.least() for r in (both, without, without - one)),
            *(r.greatest(("y",)) for r in (both, without)),
            *(r.is_empty for r in (both, both - one)),
            one.is_bounded,
            [one.decides(("y",)), both.to(("y",)).decides(("y",))],
            (one | other).greatest(),
        ]

    here = answers()
    short = dict.fromkeys(calls.PACES, dataclasses.replace(calls.SETS, steps=1))
    monkeypatch.setattr(calls, "PACES", {**short, "sample_point": calls.POINTS})
    monkeypatch.setattr(calls, "APART", 0)
    asked, answered = [], calls.answered_apart

    def apart(program, question, seconds=None):
        asked.append(json.loads(question)[2])
        return answered(program, question, seconds)

    monkeypatch.setattr(calls, "answered_apart", apart)
    with session(), allowed(1e9):
        assert answers() == here
    assert {*asked} >= {"subtract", "lexmin", "apply", "is_single_valued"}


def test_a_time_beyond_what_clocks_count_is_no_limit(monkeypatch):
    given = []

    def run(*_, timeout, **__):
        given.append(timeout)
        raise OSError

    monkeypatch.setattr("subprocess.run", run)
    for seconds in (5.0, -1.0, float("inf"), None):
        assert calls.answered_apart("", "", seconds) == ""
    assert given == [5.0, 0.0, 2.0**31 / 1000, None]


@pytest.mark.parametrize("printed", ["", "usage: program [options]", "5", "[]", "null"])
def test_a_process_that_is_no_interpreter_leaves_the_question_open(monkeypatch, printed):
    short = dict.fromkeys(calls.PACES, dataclasses.replace(calls.SETS, steps=1))
    monkeypatch.setattr(calls, "PACES", short)
    monkeypatch.setattr(calls, "answered_apart", lambda *_: printed)
    with session(), allowed(1e9), pytest.raises(TooHardError, match="isl does not answer"):
        (Region.where(("x",), "0 <= x < 9") - Region.where(("x",), "x = 4")).least()


@pytest.mark.parametrize("executable", [None, "", "/nowhere/python", "/"])
def test_without_an_interpreter_nothing_is_asked_apart(monkeypatch, executable):
    monkeypatch.setattr("sys.executable", executable)
    assert calls.answered_apart("print(1)", "", 60.0) == ""


def test_another_process_imports_what_this_one_does(monkeypatch, tmp_path):
    (tmp_path / "only_here.py").write_text("word = 'here'")
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    assert calls.answered_apart("import only_here; print(only_here.word)", "", 60.0) == "here\n"


def test_narrow_elements_lie_side_by_side_in_the_bytes_of_a_work_item():
    """Byte 17 is the second one of work-item 1; its upper half is the fourth of its elements."""
    for bits, place in ((4, (1, 3)), (8, (3, 2)), (32, (3, 2))):
        failure = Failure("D values", "wrong", {}, {}, register_element=35, element_bits=bits)
        assert failure.lane_and_value == place
