"""Executors and trials ask for declared effects: a kind with those of another is treated alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, make_dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unsound_kernels import A, kernel as made, load, store

import pycute_xe as cx
from pycute_xe.arch import get_target
from pycute_xe.errors import KernelError
from pycute_xe.executing.problem import prepare
from pycute_xe.executing.reference import DOES
from pycute_xe.executing.runner import count_work, doubts, outputs_of
from pycute_xe.executing.space import writers, writing_subgroups
from pycute_xe.executing.thread import meet_at_counter
from pycute_xe.executing.tickets import takes_tickets, with_tickets
from pycute_xe.holding.following import HOLDS
from pycute_xe.kernel import (
    AtomicStore,
    Await,
    Convert,
    FetchAdd,
    If,
    Index,
    Kernel,
    KernelBuilder,
    Load,
    Loop,
    Mma,
    NamedArrive,
    NamedWait,
    Prefetch,
    Reduce,
    Reorder,
    Signal,
    Statement,
    Store,
)
from pycute_xe.kernel.ir.checks import FITS
from pycute_xe.kernel.ir.effects import CounterAccess, MemoryAccess
from pycute_xe.kernel.ir.statements import touching
from pycute_xe.kernel.schedules import SplitK, plan_tables
from pycute_xe.machine import Trace
from pycute_xe.trials.problems import telling_sizes, tile_of
from pycute_xe.trials.replays import together
from pycute_xe.trials.verifier import trial
from pycute_xe.trials.work import work_of_subgroup

BF16 = ml_dtypes.bfloat16
BMG = get_target("bmg")
MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
PART = 20_000
"""Work that is too little for the whole of a larger grid."""
KINDS: tuple[type[Statement], ...] = (
    *(Prefetch, Load, Store, AtomicStore, Await, Signal, FetchAdd),
    *(NamedArrive, NamedWait, Convert, Mma, Reduce, Reorder),
)


def relative(kind: type[Statement]) -> type[Statement]:
    """Return a kind that is no class of another's, with its fields and its effects."""
    effects = {"access", "move", "product", "meeting", "_moved"}
    methods = {n: x for one in reversed(kind.__mro__) for n, x in vars(one).items() if n in effects}
    columns: list[Any] = [
        (x.name, x.type, field(default=x.default))
        for x in fields(kind)  # pyright: ignore[reportArgumentType]
    ]
    name, space = f"Other{kind.__name__}", {**methods, "touches": kind.touches}
    return make_dataclass(name, columns, bases=(Statement,), namespace=space, frozen=True)


RELATIVES: dict[type[Statement], type[Statement]] = {kind: relative(kind) for kind in KINDS}


def related(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return statements with relatives in the place of those that have one."""
    out: list[Statement] = []
    for one in body:
        if isinstance(one, (Loop, If)):
            out.append(replace(one, body=related(one.body)))
        elif (other := RELATIVES.get(type(one))) is not None:
            out.append(other(**{x.name: getattr(one, x.name) for x in fields(one)}))
        else:
            out.append(one)
    return tuple(out)


@contextmanager
def entered(*kinds: type[Statement]) -> Iterator[None]:
    """Enter relatives where their models are, and ``kinds`` that fit and do nothing."""
    nothing = dict.fromkeys(kinds, lambda *_: None)
    with ExitStack() as tables:
        for table in (FITS, HOLDS, DOES):
            meanings = {other: table[object.__new__(kind)] for kind, other in RELATIVES.items()}
            fits = dict.fromkeys(meanings, lambda *_: None) if table is FITS else meanings
            for kind, meaning in {**fits, **nothing}.items():
                table.of(kind)(meaning)
                tables.callback(table.without, kind)
        yield


def relation(kernel: Kernel) -> Kernel:
    other = replace(kernel, body=related(kernel.body))
    assert not {type(s) for s in other.statements()} & RELATIVES.keys()
    return other


def drawn() -> Kernel:
    """D = 2 A by tiles: the ticket of a work-group says which."""
    k = KernelBuilder("drawn", 1)
    A, D = k.input("A", "f32", ("M", 16)), k.output("D", "f32", ("M", 16))
    counter = k.operand("counter", "s32", (1,), "scratch")
    tickets = k.operand("tickets", "s32", ("U",), "out")
    (u,) = k.grid(u="U")
    ticket = k.ticket(counter, 0, tickets, u)
    k.load("x", A, (16, 16), at=(ticket * 16, 0))
    k.map("y", "2*x")
    k.store(D, "y", at=(ticket * 16, 0))
    return k.build("")


def scheduled_inputs() -> dict[str, Any]:
    return product_inputs() | plan_tables(SplitK(2, 2).plan((2, 2, 3)))


def product_inputs() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    shapes = {"A": (40, 70), "B": (70, 70)}
    return {name: rng.integers(-2, 3, shape).astype(BF16) for name, shape in shapes.items()}


def rows() -> dict[str, Any]:
    return {"A": np.arange(32 * 16, dtype=np.float32).reshape(32, 16), "U": 2}


CASES: dict[str, tuple[Callable[[], Kernel], Callable[[], dict[str, Any]]]] = {
    "gemm": (lambda: cx.kernel.gemm(MMA, stages=2), product_inputs),
    "columns": (lambda: cx.kernel.gemm(MMA, a="col", b="col"), product_inputs),
    "split": (
        lambda: cx.kernel.split_k(MMA, parts=2),
        lambda: product_inputs() | {"D": np.zeros((40, 70), np.float32)},
    ),
    "scheduled": (lambda: cx.kernel.scheduled(MMA), scheduled_inputs),
    "named barriers": (lambda: cx.kernel.specialised_gemm(MMA), product_inputs),
    "tickets": (drawn, rows),
}


def ran(kernel: Kernel, inputs: dict[str, Any], executor: Any) -> tuple[Any, ...]:
    """Return what a run leaves, and what it counts."""
    trace, problem = Trace(), prepare(kernel, (), inputs, None)
    outputs = outputs_of(problem, BMG, trace, executor)
    counted = Trace()
    count_work(kernel, problem, BMG, counted)
    counts = [(t.messages, t.nbytes, t.dpas, t.barriers) for t in (trace, counted)]
    return {name: x.tolist() for name, x in outputs.items()}, counts, trace.why


RUNS = [(name, executor) for name in CASES for executor in ("reference", "fast")]


@pytest.mark.parametrize(("name", "executor"), RUNS)
def test_a_run_asks_for_effects_alone(name: str, executor: str) -> None:
    make, inputs = CASES[name]
    kernel = make()
    with entered():
        assert ran(relation(kernel), inputs(), executor) == ran(kernel, inputs(), executor)


@pytest.mark.parametrize("name", CASES)
def test_what_a_trial_chooses_follows_from_effects_alone(name: str) -> None:
    make, _ = CASES[name]
    kernel = make()

    def chosen(one: Kernel) -> tuple[object, ...]:
        sizes = telling_sizes(one, {})
        tiles = [tile_of(one, size) for size in one.sizes]
        return sizes, tiles, work_of_subgroup(one, sizes), together(one), doubts(one)

    with entered():
        other = relation(kernel)
        assert chosen(other) == chosen(kernel)
        assert takes_tickets(other) == takes_tickets(kernel)


@pytest.mark.parametrize("name", ["gemm", "split"])
def test_a_trial_of_a_part_of_the_grid_asks_for_effects_alone(name: str) -> None:
    kernel = CASES[name][0]()
    with entered():
        tried = trial(kernel, {}, PART)
        assert any(run.groups < run.of for run in tried[0].runs)
        assert trial(relation(kernel), {}, PART) == tried


def test_a_part_of_the_grid_is_not_run_where_others_may_add() -> None:
    kernel = CASES["gemm"][0]()
    with entered(Silent):
        tried, _ = trial(replace(kernel, body=(*kernel.body, Silent())), {}, PART)
        assert "which elements of D it stores is not declared" in str(tried)
        assert all(run.groups == run.of for run in tried.runs)


def nothing_looked_up(name: str, at: object) -> int:
    raise AssertionError((name, at))


def test_who_stores_an_element_follows_from_effects_alone() -> None:
    kernel, sizes, at = cx.kernel.gemm(MMA), {"M": 99, "N": 200, "K": 5}, (40, 90)
    with entered():
        for one in (kernel, relation(kernel)):
            assert writers(one, sizes, nothing_looked_up, "D", at, 9) == [{"m": 1, "n": 1}]
            assert writing_subgroups(one, sizes, nothing_looked_up, "D", at) == (0,)


class Silent(Statement):
    """A kind that names an operand and does not declare which elements it stores."""

    touches = touching(to_memory="operand")
    operand = "D"


class Looking(Statement):
    """A kind that names an operand and does not declare which elements it loads."""

    touches = touching(from_memory="operand")
    operand = "A"


class Fetching(Statement):
    """A kind that names an operand and does not declare which elements it prefetches."""

    touches = touching(prefetched="operand")
    operand = "A"


@pytest.mark.parametrize("kind", [Silent, Looking, Fetching])
def test_an_operand_that_is_named_alone_is_left_to_the_simulator(kind: type[Statement]) -> None:
    with entered(kind):
        kernel = made(A, load("A", "x"), kind(), store("D", "x"))
        problem = prepare(kernel, (np.ones((16, 32), np.float32),), {}, None)
        trace = Trace()
        assert outputs_of(problem, BMG, trace, "fast")["D"].all()
        assert "is not declared" in str(trace.why)
        with pytest.raises(KernelError, match="how many messages it sends is not known"):
            count_work(kernel, problem, BMG, Trace())


def test_who_stores_an_element_is_not_guessed() -> None:
    with entered(Silent):
        kernel = made(A, load("A", "x"), store("D", "x"), Silent())
        with pytest.raises(KernelError, match="which elements of D it stores is not declared"):
            writers(kernel, {"M": 16, "N": 32}, nothing_looked_up, "D", (0, 0), 9)


@dataclass(frozen=True)
class Counting(Statement):
    """A kind that uses a counter in any way, and may load a tile besides."""

    touches = touching(counter="access", memory="memory", indices="used", meets="both")
    access: CounterAccess
    memory: MemoryAccess | None = None

    @property
    def used(self) -> tuple[Index, ...]:
        """The indices of the counter, of its ticket and of the tile."""
        counter, tile = self.access, self.memory
        numbers = (i for i in (counter.least, counter.by) if i is not None)
        return (*counter.at, *counter.place, *numbers, *(tile.at if tile is not None else ()))


def counting(statement: Statement, tile: MemoryAccess | None = None, **more: Any) -> Counting:
    """Return a statement with the counter of another, more of it, and a tile."""
    counter = statement.touched.counter
    assert counter is not None
    return Counting(replace(counter, **more), tile)


def test_tickets_are_given_where_nothing_else_is_done() -> None:
    kernel = drawn()
    (take,) = (s for s in kernel.statements() if isinstance(s, FetchAdd))
    (tile,) = (s.access for s in kernel.statements() if isinstance(s, Load))
    sizes, inputs = {"M": 32, "U": 2}, {"A": rows()["A"]}
    with entered(), ExitStack() as left:
        FITS.of(Counting)(lambda *_: None)
        left.callback(FITS.without, Counting)
        alone = kernel.replace(take, counting(take))
        given, tables = with_tickets(alone, sizes, inputs)
        assert given == with_tickets(kernel, sizes, inputs)[0]
        assert tables["tickets"].tolist() == [0, 1]
        for wrong in (counting(take, tile), counting(take, least=Index())):
            with pytest.raises(KernelError):
                with_tickets(kernel.replace(take, wrong), sizes, inputs)


def test_a_counter_that_is_waited_for_and_added_to_at_once_is_left_to_the_simulator() -> None:
    kernel, inputs = cx.kernel.scheduled(MMA), scheduled_inputs()
    wait = next(s for s in kernel.statements() if isinstance(s, Await))
    with entered(), ExitStack() as left:
        for table in (FITS, HOLDS, DOES):
            left.callback(table.without, Counting)
        for table, kind in ((FITS, Await), (HOLDS, Await)):
            table.of(Counting)(table[object.__new__(kind)] if table is HOLDS else lambda *_: None)
        DOES.of(Counting)(
            lambda thread, statement, env: meet_at_counter(thread, statement.access, env)
        )
        both = kernel.replace(wait, counting(wait, by=Index()))
        problem, trace = prepare(both, (), inputs, None), Trace()
        outputs = outputs_of(problem, BMG, trace, "fast")
        assert "neither only waited for nor only signalled" in str(trace.why)
        D = inputs["A"].astype(np.float32) @ inputs["B"].astype(np.float32)
        assert np.array_equal(outputs["D"].astype(np.float32), D)
