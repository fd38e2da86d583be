"""What the construction of a kernel refuses: names bound twice, paths that leave something out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest
from broken_kernels import find, tiled_mma
from every import every

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Fill,
    Fragment,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Mma,
    Operand,
    Reorder,
    Slot,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.spec.expression import Where

ARRIVE, WAIT = BarrierArrive(), BarrierWait()


@pytest.fixture(scope="module")
def gemm() -> Kernel:
    return cx.kernel.gemm(tiled_mma((16, 32, 32), (2, 2)))


def test_names_are_bound_once(gemm: Kernel) -> None:
    loop, store = gemm.loop("k"), find(gemm, Store)
    with pytest.raises(KernelError, match="the name k is bound twice"):
        gemm.replace(loop, Loop("k", Index(), Tiles("K", 32), (loop,)))
    for var, extent in (("m", "M"), ("n", "N")):
        with pytest.raises(KernelError, match=f"the name {var} is bound twice"):
            gemm.replace(store, Loop(var, Index(), Tiles(extent, 16), (store,)))
    with pytest.raises(KernelError, match="K is an extent"):
        gemm.replace(store, Loop("K", Index(), Index(None, 2), (store,)))
    with pytest.raises(KernelError, match="the name D is bound twice"):
        dataclasses.replace(gemm, fragments=(*gemm.fragments, Fragment("D", "f32", 1)))


@pytest.mark.parametrize("name", ["executor", "dtype", "report", "strict"])
def test_options_of_run_name_no_operand(name: str) -> None:
    with pytest.raises(KernelError, match="is an option of run"):
        Operand(name, "f32", ("M",))


@every(
    ("old", "new", "words"),
    [
        (ARRIVE, None, "waits at a barrier it has not arrived at"),
        (WAIT, None, "inside a loop or condition and the other is not"),
        (ARRIVE, (ARRIVE, ARRIVE), "arrives at a barrier twice"),
        (WAIT, (WAIT, WAIT), "waits at a barrier it has not arrived at"),
        (ARRIVE, If(Index("k"), Index(None, 1), (ARRIVE,)), "inside a loop or condition"),
        (WAIT, If(Index("k"), Index(None, 1), (WAIT,)), "inside a loop or condition"),
        (WAIT, Loop("w", Index(), Index(None, 2), (WAIT,)), "inside a loop or condition"),
    ],
)
def test_a_barrier_has_both_halves_on_every_path(
    gemm: Kernel, old: Statement, new: Statement | tuple[Statement, ...] | None, words: str
) -> None:
    with pytest.raises(KernelError, match=words):
        gemm.replace(old, new)


def test_the_halves_of_a_barrier_are_not_exchanged(gemm: Kernel) -> None:
    loop = gemm.loop("k")
    body = tuple({ARRIVE: WAIT, WAIT: ARRIVE}.get(s, s) for s in loop.body)
    with pytest.raises(KernelError, match="waits at a barrier it has not arrived at"):
        gemm.replace(loop, dataclasses.replace(loop, body=body))


def test_subgroups_that_never_reach_a_barrier(gemm: Kernel) -> None:
    whole = If(Index("subgroup"), Index(None, 1), (ARRIVE, WAIT))
    with pytest.raises(KernelError, match="some subgroups meet at a barrier that others never"):
        gemm.replace(find(gemm, Store), (whole, find(gemm, Store)))


def test_registers_are_written_before_they_are_read(gemm: Kernel) -> None:
    fill, load, store = find(gemm, Fill), find(gemm, Load, "A"), find(gemm, Store)
    multiply, moves = find(gemm, Mma), find(gemm, Reorder)
    with pytest.raises(KernelError, match="tCrC is read before it is written"):
        gemm.replace(fill, None)
    for gone in (load, moves):
        with pytest.raises(KernelError, match="is read before it is written"):
            gemm.replace(gone, None)
    late = gemm.loop("k").body
    body = (*(s for s in late if s != load and s != WAIT), load, WAIT)
    with pytest.raises(KernelError, match="tArA is read before it is written"):
        gemm.replace(gemm.loop("k"), dataclasses.replace(gemm.loop("k"), body=body))
    sometimes = If(Index("k"), Index(None, 1), (load,))
    with pytest.raises(KernelError, match="tArA is read before it is written"):
        gemm.replace(load, sometimes)
    with pytest.raises(KernelError, match="no fragment elsewhere"):
        gemm.replace(multiply, dataclasses.replace(multiply, a="elsewhere"))
    # A loop that may run no trip writes nothing for sure.
    maybe = Loop("z", Index(None, 1), Tiles("K", 32), (fill,))
    with pytest.raises(KernelError, match="tCrC is read before it is written"):
        gemm.replace(fill, maybe)
    assert gemm.replace(store, (store, store)).body[-2:] == (store, store)


@dataclass(frozen=True, slots=True)
class Doubling(Statement):
    """A kind that no table knows and that does not say what it touches."""

    fragment: str


def test_a_kind_that_no_table_knows_is_refused_by_name(gemm: Kernel) -> None:
    store = find(gemm, Store)
    with pytest.raises(KernelError, match="Doubling"):
        gemm.replace(store, (Doubling("tCrC"), store))


@pytest.mark.parametrize("where", [False, True])
def test_a_map_of_registers_of_another_length_says_which(where: bool) -> None:
    kernel = cx.kernel.softmax_rows(tile=(64, 32), subgroups=4)
    short = next(f for f in kernel.fragments if f.name == "top")
    long = next(f for f in kernel.fragments if f.name == "x")
    assert long.elements > short.elements
    old = find(kernel, Fill)
    value = Where(Index("m"), Index(None, 1), Slot("x"), Slot("top")) if where else Slot("x")
    load = find(kernel, Load)
    with pytest.raises(KernelError, match=r"each from the one of x at its place, and x has 512"):
        kernel.replace(load, (load, Map(old.fragment, value)))
