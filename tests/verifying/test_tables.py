"""Kernels that look up tables: lengths, pages, starts. What is proved, disproved, refused."""

from __future__ import annotations

import dataclasses
from typing import get_args

import numpy as np
import pytest
from attention_problems import off, problem, tilings
from sampling import sampled
from table_programs import answer, program, truth
from table_slips import changed, looked_up_as

import pycute_xe as cx
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Counterexample, Index, Kernel, KernelBuilder
from pycute_xe.kernel.index import Looked
from pycute_xe.kernel.spec.drawn_tables import MADE, drawn_tables
from pycute_xe.kernel.spec.table_checks import broken
from pycute_xe.kernel.spec.tables import (
    Assumption,
    AtMost,
    Distinct,
    InRange,
    Permutation,
    Rising,
    Runs,
    Sorted,
)
from pycute_xe.verifying import Verdict, prove

N = Index("N")
MODES = {"T": (N,), "most": ()}


def attention(**options: object) -> Kernel:
    first, second = tilings()
    return cx.kernel.attention(first, second, **options)  # pyright: ignore[reportArgumentType]


# ------------------------------------------------------------------ programs at random


@pytest.mark.parametrize("number", sampled(range(400), 3))
@pytest.mark.long
def test_answers_are_those_of_all_small_tables(number: int) -> None:
    one = program(number)
    assert answer(one, cx.verify(one.kernel), truth(one)), one.told


@pytest.mark.long
def test_small_tables_show_what_no_other_way_decides() -> None:
    one = program(60270)
    assert cx.verify(one.kernel).answer == "disproved"


@pytest.mark.long
@pytest.mark.parametrize("number", [40011, 40110, 40114, 40424, 64596, 70710])
def test_answers_are_shown_by_tables_as_they_are(number: int) -> None:
    """A grid as long as a table says, a table without assumptions, long questions, a condition.

    Then a condition beside what is undecided for the other sizes, and a race where nothing is
    claimed.
    """
    one = program(number)
    verdict = cx.verify(one.kernel, budget=60)
    assert answer(one, verdict, truth(one)), str(verdict)
    tables = [place.tables for proof in verdict.proofs if (place := proof.counterexample)]
    assert all(entry < 1 << 12 for table in tables for _, entries in table.values()
               for entry in entries)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("number", [40642, 40694, 41997])
def test_laws_speak_of_elements_beside_those_of_a_program(number: int) -> None:
    """Starts rise since counts are not negative; entries that rise and differ rise by 1."""
    one = program(number)
    verdict = cx.verify(one.kernel, budget=60)
    assert truth(one)
    assert verdict, str(verdict)


# ------------------------------------------------------------------ attention

FORMS = ({"page": 64}, {"packed": True}, {"packed": True, "page": 32, "causal": True})


@pytest.mark.long
@pytest.mark.parametrize("options", FORMS, ids=str)
def test_attention_is_proved_for_all_tables(options: dict[str, object]) -> None:
    verdict = cx.verify(attention(**options))
    assert verdict, str(verdict)
    assert verdict.tried


@pytest.mark.long
def test_a_request_without_keys_gives_zero() -> None:
    rng = np.random.default_rng(0)
    given = problem(rng, tilings(), [(3, 40), (1, 1), (2, 1)], page=32, packed=True)
    lengths = given.operands["lengths"]
    lengths[1] = 0
    starts = given.operands["starts"]
    out = cx.run(given.kernel, **given.operands)
    assert (out[:, starts[1] : starts[2]] == 0).all()
    given.wanted[:, starts[1] : starts[2]] = 0
    assert off(out, given) < 0.02


def shifted(name: str, by: int) -> Kernel:
    """Paged attention with something added to what is looked up in a table."""

    def change(looked: Looked) -> Index | None:
        found = Index.of({looked: 1}, 0)
        return found + by if looked.operand == name else None

    return changed(attention(page=64), looked_up_as(change))


@pytest.mark.parametrize(
    ("name", "by"), sampled([("lengths", 1), ("lengths", -1), ("pages", 1)], 1)
)
@pytest.mark.long
def test_a_slip_is_disproved_by_tables(name: str, by: int) -> None:
    kernel = shifted(name, by)
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved"
    place = verdict.counterexample
    assert place is not None
    assert set(place.tables) == {"pages", "lengths"}
    assert Counterexample.from_json(place.to_json()) == place
    assert cx.replay(kernel, place).shows


# ------------------------------------------------------------------ assumptions

KEPT: tuple[tuple[Assumption, list[int], list[int]], ...] = (
    (InRange("T", Index(None, 3)), [0, 2, 2], [0, 3, 2]),
    (InRange("T", Index(None, 3), ("i",), ((Index("i"), Index(None, 1)),)), [0, 9, -9], [3, 0, 0]),
    (Rising("T", Index(None, 4)), [0, 4, 4], [0, 3, 3]),
    (Rising("T", Index(None, 4)), [0, 0, 4], [1, 2, 4]),
    (Rising("T", Index(None, 4), whole=False), [0, 1, 2], [0, 2, 1]),
    (AtMost(Index.element("T", Index("i")), Index(None, 5), (("i", N),)), [5, 0, -1], [5, 6, 0]),
    (Distinct("T"), [-1, 3, -1], [0, 3, 3]),
    (Sorted("T"), [-1, 3, 3], [0, 3, 2]),
    (Permutation("T"), [2, 0, 1], [0, 1, 3]),
)


@pytest.mark.parametrize(("one", "right", "wrong"), KEPT, ids=lambda x: str(x))
def test_an_assumption_is_kept_or_broken(
    one: Assumption, right: list[int], wrong: list[int]
) -> None:
    arrays = [{"T": np.array(x)} for x in (right, wrong)]
    assert broken(one, MODES, arrays[0], {"N": 3}) is None
    assert broken(one, MODES, arrays[1], {"N": 3}) is not None


@pytest.mark.parametrize("one", dict.fromkeys(one for one, _, _ in KEPT), ids=str)
def test_tables_that_are_drawn_keep_it(one: Assumption) -> None:
    for seed in range(4):
        found = drawn_tables((one,), frozenset({"T"}), MODES, {"N": 5}, seed)
        assert found is not None
        assert broken(one, MODES, found, {"N": 5}) is None


TOGETHER: tuple[tuple[Assumption, ...], ...] = (
    (Rising("T", Index(None, 9)), Distinct("T")),
    (Rising("T", Index(None, 9), whole=False), Distinct("T")),
    (Sorted("T"), Permutation("T")),
    (Sorted("T"), Distinct("T"), InRange("T", Index(None, 7))),
)


@pytest.mark.parametrize("assumed", TOGETHER, ids=lambda x: "; ".join(map(str, x)))
def test_tables_that_are_drawn_keep_several(assumed: tuple[Assumption, ...]) -> None:
    for ends in ((0, 255), (-128, 127)):
        found = drawn_tables(assumed, frozenset({"T"}), MODES, {"N": 5}, 0, {"T": ends})
        assert found is not None
        assert all(broken(one, MODES, found, {"N": 5}) is None for one in assumed)
        assert found["T"].min() >= ends[0]


def test_what_assumptions_say_together_is_met_by_chance_or_by_nothing() -> None:
    i = Index("i")
    falls = AtMost(Index.element("T", i + 1) + 3, Index.element("T", i), (("i", N - 1),))
    found = drawn_tables((falls,), frozenset({"T"}), MODES, {"N": 2}, 0)
    assert found is not None
    assert found["T"][1] + 3 <= found["T"][0]
    never = AtMost(Index.element("T", i) + 1, Index.element("T", i), (("i", N),))
    assert drawn_tables((never,), frozenset({"T"}), MODES, {"N": 2}, 0) is None


def test_each_assumption_has_a_row_of_what_is_made_of_it() -> None:
    assert set(MADE) == set(get_args(Assumption))

    class Odd(Sorted):
        """An assumption of another kind."""

    with pytest.raises(KernelError, match="no tables are known that meet it"):
        drawn_tables((Odd("T"),), frozenset({"T"}), MODES, {"N": 5}, 0)


def written_to_slots(*assumed: Assumption, kind: str = "s32") -> Kernel:
    """D[slots[t]] = K[t]."""
    k = KernelBuilder("written", 1)
    K, D = k.input("K", "f32", ("T", 16)), k.inout("D", "f32", ("N", 16))
    k.input("slots", kind, ("T",))
    k.assume(*assumed)
    (t,) = k.grid(t="T")
    k.load("row", K, (1, 16), at=(t, 0))
    k.store(D, "row", at=(Index.element("slots", t), 0))
    return k.build("D[slots[t],h] = K[t,h]")


@pytest.mark.parametrize("kind", ["u8", "u32", "s64"])
def test_tables_of_other_integers_are_tried(kind: str) -> None:
    verdict = cx.verify(written_to_slots(Distinct("slots"), kind=kind))
    assert verdict, verdict
    assert len(verdict.tried.runs) > 3


@pytest.mark.long
def test_what_no_table_meets_proves_nothing() -> None:
    slot = Index.element("slots", Index("i"))
    T, many = Index("T"), AtMost(slot, Index(None, -5), (("i", Index("T")),))
    for assumed in ((InRange("slots", Index()),), (many, InRange("slots", T))):
        verdict = cx.verify(written_to_slots(*assumed))
        assert verdict.answer == "undecided"
        assert "no tables were found that meet" in verdict.proofs[-1].reason


def rows_by_rows(*assumed: Assumption, first: int = 0) -> Kernel:
    """D = A, each request's rows by a loop from its first one on."""
    k = KernelBuilder("rows", 1)
    A, D = k.input("A", "f32", ("T", 16)), k.output("D", "f32", ("T", 16))
    k.input("starts", "s32", (Index("B", 1),))
    k.assume(*assumed)
    (b,) = k.grid(b="B")
    begin, end = (Index.element("starts", b + i) for i in (0, 1))
    with k.loop("i", begin + first, end) as i:
        k.load("x", A, (1, 16), at=(i, 0))
        k.store(D, "x", at=(i, 0))
    return k.build("D[t,h] = A[t,h]")


def test_rows_between_two_entries_have_an_owner() -> None:
    T = Index("T")
    assert cx.verify(rows_by_rows(Rising("starts", T)))
    wrong = (
        rows_by_rows(Rising("starts", T), first=1),
        rows_by_rows(Rising("starts", T - 1)),
        rows_by_rows(Rising("starts", T, whole=False)),
        rows_by_rows(Sorted("starts"), InRange("starts", T + 1)),
    )
    for kernel in wrong:
        verdict = cx.verify(kernel)
        shown = {proof.property: proof.counterexample for proof in verdict.proofs}
        assert verdict.answer == "disproved", verdict
        assert shown["D coverage"] is not None
        assert cx.replay(kernel, shown["D coverage"]).shows


def added_to_ids(
    ids: Index | None = None,
    *,
    row: Index | None = None,
    least: int | None = None,
    wanted: str = "X[t,h]",
) -> Kernel:
    """R[ids[t]] += X[t], eight rows by each work-group."""
    k = KernelBuilder("added", 1)
    X, R = k.input("X", "f32", ("T", 16)), k.inout("R", "f32", ("N", 16))
    k.input("ids", "s32", ("T",))
    (b,) = k.grid(b=cx.kernel.Tiles("T", 8))
    with k.loop("i", 0, 8) as i:
        t = b * 8 + i
        own = Index.element("ids", t) if ids is None else ids
        with k.when(t < Index("T")):
            k.load("x", X, (1, 16), at=(t if row is None else row, 0))
            if least is None:
                k.atomic_add(R, "x", at=(own, 0))
            else:
                with k.when(least < own + 1):
                    k.atomic_add(R, "x", at=(own, 0))
    sums = f"sum(t, where(ids[t] <= n, where(n <= ids[t], {wanted}, 0), 0))"
    return k.build(f"R[n,h] = R[n,h] + {sums}")


@pytest.mark.long
def test_rows_are_added_where_a_table_says() -> None:
    assert prove(added_to_ids())
    assert prove(added_to_ids(least=0))
    t = Index("b") * 8 + Index("i")
    wrong = {
        "the next row": added_to_ids(row=t + 1),
        "the row before": added_to_ids(Index.element("ids", t) - 1),
        "row 0 left out": added_to_ids(least=1),
        "twice": added_to_ids(wanted="2*X[t,h]"),
        "turned": added_to_ids(wanted="X[t,15-h]"),
    }
    for name, kernel in wrong.items():
        verdict = prove(kernel)
        assert verdict.answer == "disproved", name
        assert verdict.counterexample is not None
        assert cx.replay(kernel, verdict.counterexample).shows, name


def test_an_assumption_of_unknown_names_is_refused() -> None:
    slot, z = Index.element("slots", Index("z")), Index("z")
    for one in (AtMost(slot, Index("N")), InRange("slots", z), Rising("slots", z)):
        with pytest.raises(KernelError, match="z is neither a size nor a variable"):
            written_to_slots(one)
    with pytest.raises(KernelError, match="does not look an element"):
        written_to_slots(InRange("slots", Index.element("slots")))


def test_long_runs_and_pairs_are_looked_at_in_parts() -> None:
    starts, counts = 2 * np.arange(3000), np.ones(3000, int)
    modes = {"starts": (N,), "counts": (N,)}
    runs, sizes = Runs("starts", "counts", Index(None, 9000)), {"N": 3000}
    assert broken(runs, modes, {"starts": starts, "counts": counts}, sizes) is None
    starts[5] = 12
    assert broken(runs, modes, {"starts": starts, "counts": counts}, sizes) == {"i": 5, "j": 6}


def test_laws_of_long_tables_are_looked_at_by_neighbours() -> None:
    many = np.arange(5000)
    assert broken(Permutation("T"), MODES, {"T": many[::-1]}, {"N": 5000}) is None
    many[-1] = 7
    assert broken(Permutation("T"), MODES, {"T": many}, {"N": 5000}) == {"i": 7, "j": 4999}


def test_a_run_refuses_tables_that_break_an_assumption() -> None:
    given = problem(np.random.default_rng(0), tilings(), [(2, 5), (3, 4)], packed=True)
    given.operands["longest"] = np.int32(2)
    with pytest.raises(
        InputError, match=r"starts\[b\+1\]-starts\[b\] <= longest.* not so at b = 1"
    ):
        cx.run(given.kernel, **given.operands)


def test_assumptions_are_printed_and_saved() -> None:
    kernel = attention(page=64)
    assert "assuming 0 <= pages[b,i] < P where 64*i < lengths[b]" in str(kernel.computes)
    assert cx.from_json(cx.to_json(kernel)) == kernel


@pytest.mark.long
def test_without_its_assumption_nothing_is_proved() -> None:
    """Pages that are no pages: the counterexample is a table."""
    kernel = attention(page=64)
    assert kernel.computes is not None
    few = tuple(one for one in kernel.computes.tables if not isinstance(one, InRange))
    bold = dataclasses.replace(kernel, computes=dataclasses.replace(kernel.computes, tables=few))
    verdict = cx.verify(bold)
    assert verdict.answer == "disproved"
    assert verdict.counterexample is not None
    assert "pages" in verdict.counterexample.tables


@pytest.mark.long
def test_a_proof_names_the_assumptions_that_it_uses() -> None:
    """What it does not name it does without; what it names may be what it needs."""
    kernel = attention(page=64)
    assert kernel.computes is not None
    own = kernel.computes.tables

    def proof(*assumed: Assumption) -> Verdict:
        assert kernel.computes is not None
        return prove(
            dataclasses.replace(
                kernel, computes=dataclasses.replace(kernel.computes, tables=assumed)
            )
        )

    with_more, alone = proof(*own, Sorted("lengths")), proof(*own)
    assert with_more
    assert alone
    assert with_more.assumptions == alone.assumptions
    assert {*map(str, own)} <= {*alone.assumptions}
    assert "assuming lengths is sorted" not in str(with_more)
    (most,) = (one for one in own if "<= 64*S" in str(one))
    wrong = proof(*(one for one in own if one is not most))
    assert wrong.answer == "disproved"
    assert wrong.counterexample is not None
    assert "lengths" in wrong.counterexample.tables


@pytest.mark.parametrize(
    ("assumption", "wrong"),
    [
        (Distinct("nope"), "nope is not an operand of integers"),
        (Permutation("A"), "A is not an operand of integers"),
        (Sorted("D"), "D is not an operand of integers"),
    ],
    ids=str,
)
def test_an_assumption_on_what_is_not_a_table_is_refused(
    assumption: Assumption, wrong: str
) -> None:
    mma = cx.workgroup_mma("XE_DPAS_TT<8,f32,bf16>", (64, 64, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.gemm(mma)
    assert kernel.computes is not None
    claimed = dataclasses.replace(kernel.computes, tables=(assumption,))
    with pytest.raises(cx.CuteError, match=wrong):
        dataclasses.replace(kernel, computes=claimed)


@pytest.mark.parametrize(("factor", "said"), [(1, False), (1 << 20, True)])
def test_a_proof_says_that_indices_computed_of_tables_do_not_wrap(factor: int, said: bool) -> None:
    k = KernelBuilder("masked", 1)
    out = k.output("D", "f32", ("T", 16))
    k.input("n", "s32", ("T",))
    (t,) = k.grid(t="T")
    k.fill("x", k.parts((1, 16), (1, 1)))
    k.map("y", f"x + where(n[t]*{factor} < 1, 1, 2)")
    k.store(out, "y", at=(t, 0))
    verdict = cx.verify(k.build("D[t,h] = where(n[t] < 1, 1, 2)"))
    assert verdict.answer == "proved"
    assert any("stays in the range of s32" in one for one in verdict.assumptions) == said
