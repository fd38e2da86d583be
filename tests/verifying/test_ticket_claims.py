"""Claims up to the order of arrival: tickets of entries, and rows that tickets say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe import kernel as kinds
from pycute_xe.converting import convert
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Bins, Index, InRange, Kernel, KernelBuilder, Tickets, Tiles
from pycute_xe.kernel.ir.operands import Role
from pycute_xe.kernel.spec.arrivals import arrived, in_order
from pycute_xe.kernel.spec.drawn_tables import drawn_tables
from pycute_xe.kernel.spec.evaluation import compute
from pycute_xe.kernel.spec.reading import read_specification
from pycute_xe.kernel.spec.table_checks import broken, law_broken, tickets_broken
from pycute_xe.kernel.spec.tables import ticket_laws
from pycute_xe.verifying.tickets import ticketed

Places = Callable[[Index, Index], tuple[Index, Index]]
FIRST, LAST = Index(None, 0), Index("T") - 1
ROWS = "A[offsets[ids[j,t]]+places[j,t],k] = X[t,k] for j < 2, t < T, k < K"
INSIDE = InRange("ids", Index("E"), ("j", "t"))
ROOM = Bins("offsets", "ids", Index("R"))


def looked(name: str, *at: Index) -> Index:
    return Index.element(name, *at)


def permuted(
    of: Callable[[Index, Index], Index] = lambda j, t: looked("ids", j, t),
    kept: Places = lambda j, t: (j, t),
    used: Places = lambda j, t: (j, t),
    row: Callable[[Index, Index], Index] = lambda e, own: looked("offsets", e) + own,
    token: Callable[[Index], Index] = lambda t: t,
    by: int = 1,
    again: bool = False,
    counter: Role = "scratch",
    claims: str = ROWS,
    assumed: tuple[Any, ...] = (INSIDE, ROOM),
) -> Kernel:
    """`moe_permute` line by line, or with a slip."""
    k = KernelBuilder("permuted", 1)
    X = k.input("X", "bf16", ("T", "K"))
    k.input("ids", "s32", (2, "T"))
    k.input("offsets", "s32", ("E",))
    A, places = k.output("A", "bf16", ("R", "K")), k.output("places", "s32", (2, "T"))
    taken = k.operand("taken", "s32", ("E",), counter)
    j, t = k.grid(j=2, t="T")
    for _ in range(1 + again):
        k.ticket(taken, of(j, t), places, kept(j, t), by)
    at = row(looked("ids", j, t), looked("places", *used(j, t)))
    with k.loop("k", 0, Tiles("K", 64)) as i:
        k.load("x", X, (1, 64), at=(token(t), i * 64))
        k.store(A, "x", at=(at, i * 64))
    k.assume(*assumed)
    if counter == "inout":
        mine = "where(ids[j,t] < e, 0, where(e < ids[j,t], 0, 1))"
        k.computes(f"taken[e] = taken[e] + sum(j < 2, sum(t < T, {mine}))")
    return k.build(f"places are tickets of ids\n{claims}")


SLIPS: dict[str, dict[str, Any]] = {
    "a counter that is not cleared": {"counter": "inout"},
    "two tickets each": {"again": True},
    "counted by two": {"by": 2},
    "the counter of the next expert": {"of": lambda j, t: looked("ids", j, t) + 1},
    "the counter of the first choice": {"of": lambda _, t: looked("ids", FIRST, t)},
    "the counter of the other choice": {"of": lambda j, t: looked("ids", 1 - j, t)},
    "the counter of another token": {"of": lambda j, t: looked("ids", j, LAST - t)},
    "one counter": {"of": lambda *_: FIRST},
    "where the next expert begins": {"row": lambda e, own: looked("offsets", e + 1) + own},
    "where the first expert begins": {"row": lambda _, own: looked("offsets", FIRST) + own},
    "no ticket": {"row": lambda e, _: looked("offsets", e)},
    "a row on": {"row": lambda e, own: looked("offsets", e) + own + 1},
    "a row back": {"row": lambda e, own: looked("offsets", e) + own - 1},
    "kept at the first choice": {"kept": lambda _, t: (FIRST, t)},
    "kept at the other choice": {"kept": lambda j, t: (1 - j, t)},
    "kept at another token": {"kept": lambda j, t: (j, LAST - t)},
    "the ticket of the first choice": {"used": lambda _, t: (FIRST, t)},
    "the ticket of the first token": {"used": lambda j, _: (j, FIRST)},
    "the next token": {"token": lambda t: t + 1},
    "another token": {"token": lambda t: LAST - t},
    "the first token": {"token": lambda _: FIRST},
    "rows of the next expert claimed": {"claims": ROWS.replace("ids[j,t]]", "ids[j,t]]+1")},
    "rows of another ticket claimed": {"claims": ROWS.replace("places[j,t]", "places[0,t]")},
    "no room": {"assumed": (INSIDE,)},
    "experts of any number": {"assumed": (ROOM,)},
}


def demand_disproved(name: str) -> None:
    kernel = permuted(**SLIPS[name])
    verdict = cx.verify(kernel)
    assert verdict.answer == "disproved", verdict
    assert verdict.counterexample is not None
    assert cx.replay(kernel, verdict.counterexample).shows


@pytest.mark.parametrize(
    "name", ["a counter that is not cleared", "the counter of the other choice", "one counter"]
)
def test_a_slip_is_disproved(name: str) -> None:
    demand_disproved(name)


@pytest.mark.long
@pytest.mark.parametrize("name", sampled(SLIPS, 6))
def test_slips_are_disproved(name: str) -> None:
    demand_disproved(name)


@pytest.mark.parametrize("top", [1, 2])
@pytest.mark.long
def test_a_permutation_is_proved_for_all_tables(top: int) -> None:
    kernel = kinds.moe_permute(top)
    verdict = cx.verify(kernel)
    assert verdict.answer == "proved", verdict
    assert len(verdict.tried.runs) > 1
    assert "places are tickets of ids" not in verdict.assumptions
    assert any("each ticket is drawn once" in one for one in verdict.assumptions)
    assert cx.from_json(cx.to_json(kernel)) == kernel


@pytest.mark.long
def test_what_a_permutation_assumes_is_needed() -> None:
    assert cx.needed_assumptions(kinds.moe_permute())


def test_a_kernel_behind_the_tickets_takes_them_for_a_table() -> None:
    behind = ticketed(permuted())
    assert behind.operand("places").role == "in"
    assert behind.computes is not None
    assert behind.computes.tables[-1] == Tickets("places", "ids")
    x = convert(np.arange(12, dtype=np.float32).reshape(3, 4), "bf16")
    ids = np.array([[1, 0, 1], [1, 1, 0]], np.int32)
    places = np.array([[2, 1, 0], [3, 1, 0]], np.int32)  # in another order of arrival
    offsets = np.array([0, 3], np.int32)
    rows = cx.run(behind, X=x, ids=ids, offsets=offsets, places=places, R=7)
    for at in np.ndindex(ids.shape):
        assert (rows[offsets[ids[at]] + places[at]] == x[at[1]]).all()
    with pytest.raises(InputError, match="places are tickets of ids is assumed"):
        cx.run(behind, X=x, ids=ids, offsets=offsets, places=places + 1, R=9)


ODD: dict[str, dict[str, Any]] = {
    "do not each draw one ticket": {"again": True},
    "need not begin with 0": {"counter": "inout"},
    "tickets are not counted one by one": {"by": 2},
    "by what ids": {"of": lambda j, t: looked("ids", 1 - j, t)},
    "keep their tickets in one place": {
        "kept": lambda _, t: (FIRST, t),
        "used": lambda _, t: (FIRST, t),
    },
    "is used beside": {"used": lambda j, t: (j, LAST - t)},
    "may lie outside of taken": {"assumed": (ROOM,)},
}


@pytest.mark.parametrize("words", ODD)
def test_what_is_not_known_of_tickets_is_said(words: str) -> None:
    with pytest.raises(KernelError) as refused:
        ticketed(permuted(**ODD[words]))
    assert words in refused.value.condition


# ------------------------------------------------------------ on arrays


def counted(of: list[int], tickets: list[int]) -> bool:
    """Whether equal entries have 0, 1, 2, …, each once, told one by one."""
    mine = [[n for e, n in zip(of, tickets, strict=True) if e == entry] for entry in of]
    return all(sorted(own) == list(range(len(own))) for own in mine)


def test_tickets_are_seen_to_be_so() -> None:
    rng = np.random.default_rng(0)
    seen = set[bool]()
    for _ in range(300):
        of, tickets = rng.integers(0, 3, (2, 2)), rng.integers(-1, 3, (2, 2))
        right = counted(of.ravel().tolist(), tickets.ravel().tolist())
        assert (tickets_broken(tickets, of) is None) is right
        assert tickets_broken(in_order(of), of) is None
        seen.add(right)
    assert seen == {True, False}


MODES = {
    "offsets": (Index("E"),),
    "ids": (Index("J"), Index("T")),
    "places": (Index("J"), Index("T")),
}
ASSUMED = (InRange("ids", Index("E"), ("j", "t")), ROOM, Tickets("places", "ids"))


def room(ids: Any, offsets: Any, rows: int) -> bool:
    """Whether every entry has a row of its own, whichever ticket it gets."""
    counts = np.bincount(ids.ravel(), minlength=len(offsets))
    taken = [range(first, first + n) for first, n in zip(offsets, counts, strict=True)]
    every = [row for own in taken for row in own]
    inside = all(
        0 <= first <= rows and first + n <= rows for first, n in zip(offsets, counts, strict=True)
    )
    ordered = all(a.stop <= b.start for i, a in enumerate(taken) for b in taken[i + 1 :])
    return inside and ordered and len(every) == len({*every})


def test_bins_are_seen_to_have_room() -> None:
    rng = np.random.default_rng(1)
    seen = set[bool]()
    for _ in range(300):
        ids, offsets = rng.integers(0, 3, (1, 3)), np.sort(rng.integers(0, 4, 3))
        arrays = {"ids": ids, "offsets": offsets}
        right = room(ids, offsets, 5)
        assert (broken(ROOM, MODES, arrays, {"R": 5, "E": 3, "J": 1, "T": 3}) is None) is right
        seen.add(right)
    assert seen == {True, False}


def test_tables_of_a_trial_meet_what_is_assumed() -> None:
    sizes = {"R": 9, "E": 4, "J": 2, "T": 3}
    orders = set[bytes]()
    for seed in range(20):
        made = drawn_tables(ASSUMED, frozenset(MODES), MODES, sizes, seed)
        assert made is not None
        assert counted(made["ids"].ravel().tolist(), made["places"].ravel().tolist())
        assert room(made["ids"], made["offsets"], 9)
        orders.add((made["places"] - in_order(made["ids"])).tobytes())
    assert len(orders) > 5
    assert drawn_tables(ASSUMED, frozenset(MODES), MODES, sizes | {"R": 5}, 0) is None


def test_what_a_proof_is_given_is_so_of_all_small_tables() -> None:
    modes, sizes = {name: (Index("E"),) for name in MODES}, {"R": 3, "E": 2}
    assumed = (InRange("ids", Index("E")), *ASSUMED[1:])
    laws = [law for one in assumed for law in one.laws(modes)]
    laws += ticket_laws(assumed, modes)
    seen = 0
    for numbers in product(range(3), repeat=6):
        tables = np.array(numbers).reshape(3, 2)
        arrays: dict[str, Any] = dict(zip(["ids", "offsets", "places"], tables, strict=True))
        if any(broken(one, modes, arrays, sizes) is not None for one in assumed):
            continue
        seen += 1
        assert all(law_broken(law, arrays, sizes) is None for law in laws), arrays
    assert seen > 10


def test_a_claim_is_judged_by_the_order_of_a_run() -> None:
    kernel = permuted()
    assert kernel.computes is not None
    x, ids = np.arange(4.0).reshape(2, 2), np.array([[1, 1], [0, 1]])
    inputs = {"X": x, "ids": ids, "offsets": np.array([0, 1])}
    usual = compute(kernel.computes, kernel.operands, inputs, {"R": 4})
    assert usual["places"].tolist() == [[0, 1], [0, 2]]
    assert usual["A"].tolist() == [[0, 1], [0, 1], [2, 3], [2, 3]]
    other = np.array([[2, 0], [0, 1]])
    known = arrived(kernel.computes, inputs, {"places": other})
    assert known["places"].tolist() == other.tolist()
    rows = compute(kernel.computes, kernel.operands, known, {"R": 4})["A"]
    assert rows.tolist() == [[0, 1], [2, 3], [2, 3], [0, 1]]
    none = arrived(kernel.computes, inputs, {"places": other + 1})
    assert none["places"].tolist() == usual["places"].tolist()


# ------------------------------------------------------------ what is refused


def test_a_specification_is_read_back_from_its_text() -> None:
    kernel = permuted()
    text = str(kernel.computes)
    assert text.splitlines()[0] == "places are tickets of ids"
    read = read_specification(text, kernel.operands)
    assert kernel.computes is not None
    assert (read.tickets, read.claims) == (kernel.computes.tickets, kernel.computes.claims)
    assert str(read) == text


def test_refusals() -> None:
    kernel = permuted()
    assert kernel.computes is not None

    def demand(words: str, **changed: Any) -> None:
        assert kernel.computes is not None
        with pytest.raises(KernelError, match=words):
            replace(kernel, computes=replace(kernel.computes, **changed))

    demand("exactly one claim", tickets=(Tickets("offsets", "ids"),))
    demand("places is not an output and nothing an input", tickets=(Tickets("places", "nothing"),))
    demand("not equally long", tickets=(Tickets("places", "offsets"),))
    demand("exactly one claim", tickets=())
    demand("exactly one claim", tickets=kernel.computes.tickets * 2)
    demand("1 mode|2 modes", tables=(Bins("ids", "offsets", Index("R")),))
    with pytest.raises(KernelError, match="no program here knows"):
        cx.emit(kernel, "sycl")
