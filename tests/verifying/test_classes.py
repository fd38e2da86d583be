"""Wrong kernels that look right: each class is refused at construction, or disproved."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest
from broken_kernels import find, tiled_mma

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import (
    Fill,
    Index,
    Kernel,
    Load,
    Loop,
    Mma,
    Reorder,
    Statement,
    Store,
    Tiles,
    Touched,
)
from pycute_xe.kernel.kinds.parts import gmem_stride


@pytest.fixture(scope="module")
def gemm() -> Kernel:
    return cx.kernel.gemm(tiled_mma((16, 32, 32), (2, 2)))


def disproved(kernel: Kernel, params: dict[str, int] | None = None) -> None:
    verdict = cx.verify(kernel, params)
    assert verdict.answer == "disproved", str(verdict)
    assert verdict.counterexample is not None
    for executor in ("reference", "fast"):
        played = cx.replay(kernel, verdict.counterexample, executor=executor)
        assert played.shows, (executor, str(played))


def before_store(kernel: Kernel, *statements: Statement) -> Kernel:
    store = find(kernel, Store)
    return kernel.replace(store, (*statements, store))


def accumulator(kernel: Kernel) -> int:
    return kernel.fragment("tCrC").elements


@pytest.mark.long
def test_a_reorder_of_the_accumulator_before_its_store(gemm: Kernel) -> None:
    n = accumulator(gemm)
    for slots in (cx.Layout((2, n // 2), (n // 2, 1)), cx.Layout((16, n // 16), (n // 16, 1))):
        disproved(before_store(gemm, Reorder("tCrC", "tCrC", slots)))
    assert cx.verify(before_store(gemm, Reorder("tCrC", "tCrC", cx.Layout(n))))


def test_another_fragment_moved_over_the_accumulator(gemm: Kernel) -> None:
    other = dataclasses.replace(gemm.fragment("tCrC"), name="other")
    kernel = dataclasses.replace(gemm, fragments=(*gemm.fragments, other))
    moves = Reorder("other", "tCrC", cx.Layout(accumulator(gemm)))
    disproved(before_store(kernel, Fill("other"), moves))
    with pytest.raises(KernelError, match="other is read before it is written"):
        before_store(kernel, moves)


def test_a_load_of_the_output_over_the_accumulator(gemm: Kernel) -> None:
    store = find(gemm, Store)
    copy = cx.make_block_2d_copy_C(gemm.mma, gmem_stride("D", "row"))
    load = Load(copy, "D", store.at, "tCrC", store.modes)
    with pytest.raises(KernelError, match="D is an output, the statement reads it"):
        before_store(gemm, load)
    both = dataclasses.replace(gemm.operand("D"), role="inout")
    kernel = dataclasses.replace(gemm, operands=(*gemm.operands[:2], both))
    assert not cx.verify(before_store(kernel, load))


def test_a_variable_bound_by_two_loops(gemm: Kernel) -> None:
    loop, store = gemm.loop("k"), find(gemm, Store)
    with pytest.raises(KernelError, match="bound twice"):
        gemm.replace(loop, Loop("k", Index(), Tiles("K", 32), (loop,)))
    for var, extent in (("m", "M"), ("n", "N")):
        with pytest.raises(KernelError, match="bound twice"):
            gemm.replace(store, Loop(var, Index(), Tiles(extent, 16), (store,)))


@pytest.mark.long
def test_a_store_before_the_multiplication_in_the_loop(gemm: Kernel) -> None:
    store, multiply = find(gemm, Store), find(gemm, Mma)
    early = gemm.replace(store, None).replace(multiply, (store, multiply))
    disproved(early)
    disproved(early, {"K": 32})
    # After it, each trip stores what is summed so far, and the last one all.
    assert cx.verify(gemm.replace(store, None).replace(multiply, (multiply, store)))


def test_two_multiplications_with_other_orders_of_subgroups(gemm: Kernel) -> None:
    turned = cx.workgroup_mma(gemm.mma.atom.op, tile=(16, 32, 32), subgroups=((2, 2, 1), (1, 2, 0)))
    loop = gemm.loop("k")
    swap = {find(gemm, Mma): dataclasses.replace(find(gemm, Mma), mma=turned)}
    for operand, make in (("A", cx.make_block_2d_copy_A), ("B", cx.make_block_2d_copy_B)):
        load = find(gemm, Load, operand)
        swap[load] = dataclasses.replace(load, copy=make(turned, gmem_stride(operand, "row")))
    half = dataclasses.replace(loop, stop=Index(None, 1))
    body = tuple(swap.get(s, s) for s in loop.body)
    rest = Loop("r", Index(None, 1), loop.stop, tuple(_renamed(s) for s in body))
    disproved(gemm.replace(loop, (half, rest)))


def _renamed(statement: Statement) -> Statement:
    """The statement with the loop's variable called r."""
    names = {"k": Index("r")}
    if hasattr(statement, "at"):
        at = tuple(index.substitute(names) for index in statement.at)
        return dataclasses.replace(statement, at=at)
    if hasattr(statement, "below"):
        return dataclasses.replace(
            statement,
            index=statement.index.substitute(names),
            body=tuple(map(_renamed, statement.body)),
        )
    return statement


def test_operands_exchanged_and_fragments_filled_with_a_number(gemm: Kernel) -> None:
    multiply = find(gemm, Mma)
    disproved(gemm.replace(multiply, (Fill("tCrA", 1), multiply)))
    load = find(gemm, Load, "A")
    disproved(gemm.replace(load, dataclasses.replace(load, operand="B")))


@pytest.mark.long
def test_what_is_right_though_it_looks_wrong(gemm: Kernel) -> None:
    store, loop = find(gemm, Store), gemm.loop("k")
    assert cx.verify(gemm.replace(store, (store, store)))
    enclosing = Loop("twice", Index(), Index(None, 2), gemm.body)
    assert cx.verify(dataclasses.replace(gemm, body=(enclosing,)))
    assert cx.verify(gemm.replace(loop, (loop, Loop("none", Index(), Index(), (store,)))))


@dataclass(frozen=True, slots=True)
class Doubled(Statement):
    """A kind that no reader knows: it doubles a fragment."""

    fragment: str

    @property
    def touched(self) -> Touched:
        """Updates the fragment."""
        return Touched(updates=(self.fragment,))


@pytest.mark.parametrize("reader", [cx.verify, cx.check, cx.draw, str, cx.run])
def test_a_foreign_statement_is_refused_by_name(gemm: Kernel, reader, monkeypatch) -> None:
    from pycute_xe.kernel.ir.checks import FITS

    monkeypatch.setitem(FITS._table, Doubled, lambda kernel, statement: None)
    kernel = before_store(gemm, Doubled("tCrC"))
    more = {
        cx.run: lambda: cx.run(kernel, np.ones((1, 32)), np.ones((32, 1)), dtype="bf16"),
        cx.check: lambda: cx.check(kernel, "bmg"),
    }
    with pytest.raises(KernelError, match="no meaning for Doubled"):
        more.get(reader, lambda: reader(kernel))()
