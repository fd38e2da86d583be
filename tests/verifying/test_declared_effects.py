"""Proofs ask for declared effects: a kind with the effects of another has the other's verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, make_dataclass, replace
from typing import Any

import pytest
from broken_kernels import tiled_mma
from counter_kernels import GET, SET, counting, group, signal, wait
from memory_kernels import (
    AT as PLACE,
    BACK,
    BACKX,
    DIRECT,
    DOUBLE,
    KEEP,
    KEEP2,
    LOAD,
    LOAD2,
    MEET,
    OUT,
    OUTX,
    SEEN,
    A,
    through,
)
from small_kernels import fragment
from unsound_kernels import load, store

import pycute_xe as cx
from pycute_xe.errors import KernelError, UndecidableError
from pycute_xe.holding.arithmetic import computed_integers
from pycute_xe.holding.exploration import disorder, has_roles
from pycute_xe.holding.following import HOLDS
from pycute_xe.holding.ordering import clashes
from pycute_xe.kernel import (
    AtomicStore,
    Await,
    Bins,
    Convert,
    Fence,
    FetchAdd,
    If,
    Index,
    InRange,
    Kernel,
    KernelBuilder,
    Load,
    Loop,
    Map,
    Mma,
    NamedArrive,
    NamedWait,
    Prefetch,
    Reduce,
    Reorder,
    Shared,
    Signal,
    Slot,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.ir.checks import FITS
from pycute_xe.kernel.ir.effects import CounterAccess, SharedAccess
from pycute_xe.kernel.ir.statements import touching
from pycute_xe.layout import Layout
from pycute_xe.verifying import prove, verify_prefetches
from pycute_xe.verifying.tickets import ticketed

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
KINDS = (
    *(Prefetch, Load, Store, AtomicStore, Await, Signal, FetchAdd, Fence),
    *(NamedArrive, NamedWait, Convert, Map, Mma, Reduce, Reorder),
)


def relative(kind: type[Statement]) -> type[Statement]:
    """Return a kind of its own with the fields and the effects of another."""
    shown = {"access", "move", "product", "meeting", "sources", "scalars", "touched", "_moved"}
    given = {n: x for one in reversed(kind.__mro__) for n, x in vars(one).items() if n in shown}
    if "touched" in vars(kind):  # it is computed, not named by fields
        given["touched"] = vars(kind)["touched"]
    else:
        given.pop("touched", None)
    columns: list[Any] = [
        (x.name, x.type, field(default=x.default, default_factory=x.default_factory))  # pyright: ignore[reportArgumentType, reportCallIssue]
        for x in fields(kind)
    ]
    return make_dataclass(
        f"Other{kind.__name__}",
        columns,
        bases=(Statement,),
        namespace={**given, "touches": kind.touches},
        frozen=True,
    )


RELATIVES: dict[type[Statement], type[Statement]] = {kind: relative(kind) for kind in KINDS}


@contextmanager
def entered(*more: type[Statement]) -> Iterator[None]:
    """Enter the meanings of kinds for their relatives; ``more`` fit, and hold what was held."""
    with ExitStack() as tables:
        for kind, other in (*RELATIVES.items(), *((Fence, one) for one in more)):
            for table, meaning in (
                (HOLDS, HOLDS[object.__new__(kind)]),
                (FITS, lambda kernel, statement: None),
            ):
                table.of(other)(meaning)
                tables.callback(table.without, other)
        yield


def related(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return statements with relatives in the place of all that have one."""
    out: list[Statement] = []
    for one in body:
        if isinstance(one, (Loop, If)):
            out.append(replace(one, body=related(one.body)))
        elif (other := RELATIVES.get(type(one))) is not None:
            out.append(other(**{x.name: getattr(one, x.name) for x in fields(one)}))
        else:
            out.append(one)
    return tuple(out)


def answers(kernel: Kernel) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Return each property with its answer, in words that do not name kinds."""
    proofs = (*prove(kernel, {}).proofs, *verify_prefetches(kernel))
    return [
        (
            p.property,
            p.answer,
            f"{p.condition}{p.reason}{p.counterexample or ''}".replace("Other", "").replace(
                "other", ""
            ),
            p.assumptions,
        )
        for p in proofs
    ]


RACE = store("D", "x", (Index(), Index()))
ADDED = AtomicStore(KEEP.copy, "W", PLACE, "x", KEEP.modes)
BESIDE = replace(LOAD, at=(PLACE[0] + 4096, Index()))


def dealt() -> Kernel:
    """D = 2 A by tiles of 16 rows, each by whoever draws its ticket; the counter is cleared."""
    k = KernelBuilder("dealt", 1)
    A, D = k.input("A", "f32", ("M", 16)), k.output("D", "f32", ("M", 16))
    counter = k.operand("counter", "s32", (16,), "scratch")
    tickets = k.operand("tickets", "s32", ("U",), "scratch")
    (u,) = k.grid(u="U")
    with k.loop("i", 0, Tiles("M", 16)):
        ticket = k.ticket(counter, 0, tickets, u)
        with k.when(ticket < Tiles("M", 16)):
            k.load("x", A, (16, 16), at=(ticket * 16, 0))
            k.map("y", "2*x")
            k.store(D, "y", at=(ticket * 16, 0))
    k.fill("none", k.parts((1, 16), (1, 1)), 0, "s32")
    with k.when(u < 1):
        k.store(counter, "none", at=0)
    return k.build("D[m,n] = 2*A[m,n]")


def specialised() -> Kernel:
    return cx.kernel.specialised_gemm(tiled_mma((16, 32, 16), (1, 2)))


def integers() -> Kernel:
    """Four times integers, which may overflow."""
    kernel = through(A * 4, LOAD, DIRECT)
    return replace(
        kernel,
        operands=tuple(replace(o, value_type="s32") for o in kernel.operands),
        fragments=tuple(fragment(name, "s32", 8) for name in "xy"),
        body=(load("A", "x", PLACE, "s32"), Map("x", Slot("x") * 4), store("D", "x", PLACE, "s32")),
    )


def without_one(kernel: Kernel, kind: type[Statement], role: str = "") -> Kernel:
    """Return a kernel without its first statement of a kind, in a role if one is given."""
    each = (s for s in kernel.statements() if isinstance(s, kind))
    return kernel.replace(next(s for s in each if getattr(s, "role", "") == role), None)


CASES: dict[str, Callable[[], Kernel]] = {
    "product": lambda: cx.kernel.gemm(MMA, stages=2),
    "a prefetch fewer": lambda: without_one(cx.kernel.gemm(MMA, stages=2), Prefetch),
    "product of integers": lambda: cx.kernel.gemm(
        cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    ),
    "rows": lambda: cx.kernel.softmax_gemm(MMA),
    "split": lambda: cx.kernel.split_k(MMA, 4),
    "through memory": lambda: through(A, LOAD, KEEP, BACK, OUT),
    "another value": lambda: through(A * 2, LOAD, KEEP, BACK, OUT),
    "stored twice": lambda: through(A * 2, LOAD, KEEP, DOUBLE, KEEP, BACK, OUT),
    "loaded before": lambda: through(A, LOAD, BACK, KEEP, OUT),
    "added to": lambda: through(A + A, LOAD, KEEP, ADDED, BACK, OUT),
    "all to one place": lambda: through(A, LOAD, KEEP, BACK, OUT, RACE),
    "one subgroup": lambda: through(A, LOAD, KEEP, *SEEN, BACK, OUT),
    "beside the operand": lambda: through(A, BESIDE, KEEP, BACK, OUT),
    "integers": integers,
    "a counter is set": lambda: counting(group(0, SET), group(1, signal())),
    "a counter is loaded": lambda: counting(group(0, signal()), group(1, GET, wait(1))),
    "a wait may order": lambda: counting(group(0, signal()), group(1, wait(1), GET)),
    "a counter of tickets is cleared": dealt,
    "named barriers": specialised,
    "an arrival fewer": lambda: without_one(specialised(), NamedArrive, "producer"),
    "a fence fewer": lambda: without_one(specialised(), Fence),
}


@pytest.mark.parametrize("name", CASES)
def test_a_kind_with_the_effects_of_another_has_its_verdict(name: str) -> None:
    kernel = CASES[name]()
    with entered():
        other = replace(kernel, body=related(kernel.body))
        assert not {type(s) for s in other.statements()} & RELATIVES.keys()
        assert not any(s.touched.unplaced for s in (*kernel.statements(), *other.statements()))
        assert answers(other) == answers(kernel)
        assert computed_integers(other) == computed_integers(kernel)
        assert has_roles(other) == has_roles(kernel)


# ---------------------------------------------------------------- which elements is not declared


@dataclass(frozen=True)
class Gather(Statement):
    """A kind that loads elements, and does not declare which."""

    touches = touching(from_memory="operand")
    operand: str


@dataclass(frozen=True)
class Scatter(Statement):
    """A kind that stores elements, and does not declare which."""

    touches = touching(to_memory="operand")
    operand: str


@dataclass(frozen=True)
class Warm(Statement):
    """A kind that brings elements into the cache, and does not declare which."""

    touches = touching(prefetched="operand")
    operand: str


UNPLACED = (Gather, Scatter, Warm)


@pytest.mark.parametrize(
    ("body", "open_"),
    [
        ((LOAD, Gather("A"), KEEP, BACK, OUT), {"bounds"}),
        ((LOAD, Warm("A"), KEEP, BACK, OUT), set[str]()),
        ((LOAD, KEEP, Gather("W"), BACK, OUT), {"registers", "bounds", "D coverage", "D values"}),
        ((LOAD, KEEP, Scatter("W"), BACK, OUT), {"registers", "bounds", "D coverage", "D values"}),
        ((LOAD, DIRECT, Scatter("D")), {"registers", "bounds", "D coverage", "D values"}),
    ],
    ids=["loads an input", "prefetches", "loads scratch", "stores to scratch", "stores a result"],
)
def test_elements_that_are_not_declared_leave_open_what_needs_them(
    body: tuple[Statement, ...], open_: set[str]
) -> None:
    with entered(*UNPLACED):
        proofs = prove(through(A, *body), {}).proofs
        assert {p.property for p in proofs if p.answer == "undecided"} == open_
        assert all("which elements of" in p.reason for p in proofs if p.property in open_)
        assert all(p for p in proofs if p.property not in open_)


def test_a_counter_whose_elements_are_used_and_not_declared_is_not_proved() -> None:
    with entered(*UNPLACED):
        kernel = counting(group(0, signal()), Gather("counts"))
        (proof,) = (p for p in prove(kernel, {}).proofs if p.property == "counters")
        assert (proof.answer, "Gather" in proof.reason) == ("undecided", True)


def test_prefetches_of_what_is_not_declared_are_undecided() -> None:
    with entered(*UNPLACED):
        kernel = cx.kernel.gemm(MMA, stages=2)
        plain = {p.property: p.answer for p in verify_prefetches(kernel)}
        for one in (Gather("A"), Warm("A")):
            body = (*kernel.body, one)
            proofs = {p.property: p for p in verify_prefetches(replace(kernel, body=body))}
            assert proofs["prefetch A"].answer == "undecided"
            assert type(one).__name__ in proofs["prefetch A"].reason
            assert proofs["prefetch B"].answer == plain["prefetch B"]


# ---------------------------------------------------------------- several effects at once


@dataclass(frozen=True)
class Handed(Statement):
    """A store to shared memory that meets others, too."""

    touches = touching(reads="fragment", shared="access", indices="access.at", meets="fence")
    fragment: str

    @property
    def access(self) -> SharedAccess:
        return SharedAccess("s", Layout((1, 128), (0, 1)), Index(), stores=True)


@pytest.mark.parametrize("reader", [clashes, lambda kernel: disorder(kernel, {})])
def test_an_access_that_meets_others_in_one_statement_is_refused(
    reader: Callable[[Kernel], object],
) -> None:
    kernel = replace(through(A, LOAD, DIRECT), shared=(Shared("s", cx.as_numeric("f32"), 128),))
    with entered(Handed):
        both = replace(kernel, body=(LOAD, Handed("x"), *MEET, DIRECT))
        with pytest.raises(UndecidableError, match="what Handed orders is not followed"):
            reader(both)


@dataclass(frozen=True)
class StoredAndFenced(Statement):
    """A store that fences what was stored before."""

    touches = touching(reads="fragment", memory="access", indices="at", meets="fence")
    copy: cx.TiledCopy
    operand: str
    at: tuple[Index, ...]
    fragment: str
    modes: tuple[int | None, ...] = (0, 1)
    access = Store.access
    _moved = Store._moved  # pyright: ignore[reportPrivateUsage]


def test_a_store_does_not_fence_itself() -> None:
    with entered():
        HOLDS.of(StoredAndFenced)(HOLDS[KEEP])
        FITS.of(StoredAndFenced)(lambda kernel, statement: None)
        try:
            keep = StoredAndFenced(**{x.name: getattr(KEEP2, x.name) for x in fields(KEEP2)})
            for before, answer in (((KEEP2, Fence()), "proved"), ((keep,), "undecided")):
                body = (LOAD2, *before, *MEET, BACKX, OUTX)
                assert prove(through(A, *body, subgroups=2), {}).answer == answer
        finally:
            HOLDS.without(StoredAndFenced)
            FITS.without(StoredAndFenced)


@dataclass(frozen=True)
class Drawn(Statement):
    """A kind that waits for a counter, and then draws a ticket from it."""

    touches = touching(counter="access", indices="at by place least", meets="both")
    operand: str
    at: tuple[Index, ...]
    by: Index
    into: str
    place: tuple[Index, ...]
    least: Index

    @property
    def access(self) -> CounterAccess:
        return CounterAccess(self.operand, self.at, self.least, self.by, self.into, self.place)


def test_what_does_more_than_draw_a_ticket_is_not_taken_out() -> None:
    k = KernelBuilder("permuted", 1)
    X = k.input("X", "bf16", ("T", 64))
    k.input("ids", "s32", ("T",))
    k.input("offsets", "s32", ("E",))
    D, places = k.output("A", "bf16", ("R", 64)), k.output("places", "s32", ("T",))
    counts = k.operand("counts", "s32", ("E",), "scratch")
    (t,) = k.grid(t="T")
    ids, offsets = (lambda *at, n=n: Index.element(n, *at) for n in ("ids", "offsets"))
    k.ticket(counts, ids(t), places, t)
    k.load("x", X, (1, 64), at=(t, 0))
    k.store(D, "x", at=(offsets(ids(t)) + Index.element("places", t), 0))
    k.assume(InRange("ids", Index("E"), ("t",)), Bins("offsets", "ids", Index("R")))
    rows = "A[offsets[ids[t]]+places[t],k] = X[t,k] for t < T, k < 64"
    kernel = k.build(f"places are tickets of ids\n{rows}")
    assert not any(isinstance(s, FetchAdd) for s in ticketed(kernel).statements())
    (take,) = (s for s in kernel.statements() if isinstance(s, FetchAdd))
    given = {x.name: getattr(take, x.name) for x in fields(take)}
    with entered(Drawn):
        other = RELATIVES[FetchAdd](**given)
        assert ticketed(kernel.replace(take, other)) == ticketed(kernel)
        waits = kernel.replace(take, Drawn(**given, least=Index(None, 1)))
        with pytest.raises(KernelError, match="Drawn does more than draw a ticket"):
            ticketed(waits)
