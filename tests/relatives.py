"""Relatives of the wrong kernels that look right: ten or more small edits of each class."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from broken_kernels import find, tiled_mma

import pycute_xe as cx
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Convert,
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
    apply,
)
from pycute_xe.kernel.kinds.parts import gmem_stride

__all__ = ["RELATIVES", "Relative", "UNDECIDED", "gemm"]

Relative: TypeAlias = Callable[[], Kernel]
TILE, GRID = (16, 32, 32), (2, 2)
ARRIVE, WAIT = BarrierArrive(), BarrierWait()


@cache
def gemm() -> Kernel:
    return cx.kernel.gemm(tiled_mma(TILE, GRID))


@cache
def with_source() -> Kernel:
    return cx.kernel.gemm(tiled_mma(TILE, GRID), epilogue="acc + C")


def held(*more: str) -> Kernel:
    """The GEMM with further fragments like its accumulator."""
    kernel = gemm()
    new = tuple(dataclasses.replace(kernel.fragment("tCrC"), name=name) for name in more)
    return dataclasses.replace(kernel, fragments=(*kernel.fragments, *new))


def before(kernel: Kernel, target: Statement, *statements: Statement) -> Kernel:
    return kernel.replace(target, (*statements, target))


def at_end(kernel: Kernel, *statements: Statement) -> Kernel:
    return before(kernel, find(kernel, Store), *statements)


def in_loop(kernel: Kernel, *statements: Statement) -> Kernel:
    """Statements behind the multiplication, in every trip."""
    multiply = find(kernel, Mma)
    return kernel.replace(multiply, (multiply, *statements))


def looped(body: Callable[[Loop], tuple[Statement, ...]]) -> Kernel:
    kernel = gemm()
    loop = kernel.loop("k")
    return kernel.replace(loop, dataclasses.replace(loop, body=body(loop)))


# ------------------------------------------------------------------ A: reorders of the product


def permuted(shape: tuple[int, ...], stride: tuple[int, ...]) -> Reorder:
    return Reorder("tCrC", "tCrC", cx.Layout(shape, stride))


N = 64  # elements of a subgroup's accumulator: 8 rows of 16 columns, a tile of 16 x 32 over 2 x 2
ROWS = Reorder("other", "tCrC", cx.Layout(128))
IDENTITY = cx.Layout(128)


def a_relatives() -> list[Relative]:
    shapes = [((2, N), (N, 1)), ((4, 32), (32, 1)), ((16, 8), (8, 1)), ((2, 2, 32), (2, 1, 4))]
    shapes += [((32, 4), (4, 1)), ((N, 2), (1, 0)), ((16, 2, 4), (1, 64, 16))]
    out: list[Relative] = [lambda pair=pair: at_end(gemm(), permuted(*pair)) for pair in shapes]
    other = held("other")
    out += [
        lambda: at_end(other, Fill("other"), ROWS),
        lambda: at_end(other, Fill("other", 1), ROWS),
        lambda: in_loop(gemm(), permuted((2, N), (N, 1))),
        lambda: at_end(
            other,
            Reorder("tCrC", "other", IDENTITY),
            Reorder("other", "tCrC", cx.Layout((N, 2), (2, 1))),
        ),
        lambda: at_end(gemm(), Reorder("tArA", "tCrC", cx.Layout(128))),
    ]
    return out


# ------------------------------------------------------------------ B: something loaded over it


def loaded(kernel: Kernel, operand: str, shift: int = 0, onto: str = "tCrC") -> Load:
    store = find(kernel, Store)
    copy = cx.make_block_2d_copy_C(kernel.mma, gmem_stride(operand, "row"))
    at = (store.at[0] + shift, store.at[1])
    return Load(copy, operand, at, onto, store.modes)


def with_operand(role: str = "in") -> Kernel:
    """The GEMM with one more matrix, which nothing is claimed of."""
    kernel = gemm()
    more = Operand("X", "f32", ("M", "N"), role=role)
    return dataclasses.replace(kernel, operands=(more, *kernel.operands))


def b_relatives() -> list[Relative]:
    source, extra = with_source(), with_operand()
    first = If(Index("k"), Index(None, 1), (loaded(extra, "X"),))
    return [
        lambda: at_end(gemm(), loaded(gemm(), "D")),
        lambda: in_loop(gemm(), loaded(gemm(), "D")),
        lambda: before(gemm(), gemm().loop("k"), loaded(gemm(), "D")),
        lambda: at_end(extra, loaded(extra, "X")),
        lambda: at_end(extra, loaded(extra, "X", 16)),
        lambda: in_loop(extra, loaded(extra, "X")),
        lambda: in_loop(extra, first),
        lambda: before(extra, extra.loop("k"), loaded(extra, "X")),
        lambda: before(source, find(source, Map), loaded(source, "C")),
        lambda: at_end(source, loaded(source, "C")),
        lambda: source.replace(find(source, Load, "C"), loaded(source, "C", 1, "tErC")),
    ]


# ------------------------------------------------------------------ C, D: variables and loops


def c_relatives() -> list[Relative]:
    kernel = gemm()
    loop, store, multiply = kernel.loop("k"), find(kernel, Store), find(kernel, Mma)
    trips, two = Tiles("K", 32), Index(None, 2)

    def around(target: Statement, var: str, stop: Index = two) -> Relative:
        return lambda: kernel.replace(target, Loop(var, Index(), stop, (target,)))

    return [
        around(loop, "k", trips),
        around(loop, "k"),
        around(loop, "p"),
        around(loop, "m"),
        around(loop, "K"),
        around(multiply, "k"),
        around(multiply, "k", trips),
        around(find(kernel, Load, "A"), "k"),
        around(store, "k"),
        around(store, "subgroup"),
        lambda: kernel.replace(loop, (loop, loop)),
    ]


def d_relatives() -> list[Relative]:
    kernel = gemm()
    loop, store = kernel.loop("k"), find(kernel, Store)
    m, n = store.at
    r = Index("r")

    def stored(at: tuple[Index, Index], stop: int = 2, start: int = 0) -> Relative:
        moved = dataclasses.replace(store, at=at)
        return lambda: kernel.replace(
            store, Loop("r", Index(None, start), Index(None, stop), (moved,))
        )

    def bound(var: str, extent: str) -> Relative:
        return lambda: kernel.replace(store, Loop(var, Index(), Tiles(extent, 16), (store,)))

    again = Loop("r", Index(), Index(None, 2), (loop,))
    return [
        bound("m", "M"),
        bound("n", "N"),
        stored((m - r * 16, n)),
        stored((m, n - r * 32)),
        stored((m + r, n)),
        stored((m, n + r)),
        stored((m + r * 16, n), 1, 1),
        stored((r * 32, n)),
        stored((m, n), 0),
        lambda: kernel.replace(loop, again),
        lambda: kernel.replace(
            find(kernel, Mma), Loop("r", Index(), Index(None, 2), (find(kernel, Mma),))
        ),
    ]


# ------------------------------------------------------------------ E: stores at the wrong time


def e_relatives() -> list[Relative]:
    kernel = gemm()
    store, multiply, loop = find(kernel, Store), find(kernel, Mma), kernel.loop("k")
    bare = kernel.replace(store, None)
    source = with_source()
    mapped, late = find(source, Map), find(source, Store)

    def when(index: Index, below: Index) -> Relative:
        return lambda: bare.replace(multiply, (multiply, If(index, below, (store,))))

    return [
        lambda: bare.replace(multiply, (store, multiply)),
        lambda: bare.replace(loop, (store, loop)),
        lambda: before(bare, find(bare, Load, "A"), store),
        lambda: before(bare, find(bare, Reorder), store),
        lambda: before(bare, ARRIVE, store),
        when(Index("k"), Index(None, 1)),
        when(Index("k") + 1, Tiles("K", 32)),
        when(Index("k"), Tiles("K", 32) - 1),
        when(Tiles("K", 32), Index("k") + 1),
        lambda: source.replace(late, None).replace(mapped, (late, mapped)),
        lambda: bare,
    ]


# ------------------------------------------------------------------ F: two orders of subgroups


def f_relatives() -> list[Relative]:
    kernel = gemm()
    turned = cx.workgroup_mma(kernel.mma.atom.op, tile=TILE, subgroups=((2, 2, 1), (1, 2, 0)))
    makers = {"A": cx.make_block_2d_copy_A, "B": cx.make_block_2d_copy_B}
    copies = {
        operand: {"row": make(turned, gmem_stride(operand, "row"))}
        for operand, make in makers.items()
    }
    multiply, loop, store = find(kernel, Mma), kernel.loop("k"), find(kernel, Store)
    other = dataclasses.replace(multiply, mma=turned)
    loads = {o: find(kernel, Load, o) for o in "AB"}
    new = {o: dataclasses.replace(loads[o], copy=copies[o]["row"]) for o in "AB"}
    stored = dataclasses.replace(store, copy=cx.make_block_2d_copy_D(turned, ("ld", 1)))

    def swapped(swap: dict[Statement, Statement], kernel: Kernel = kernel) -> Kernel:
        for old, statement in swap.items():
            kernel = kernel.replace(old, statement)
        return kernel

    def parts(swap: dict[Statement, Statement], count: int = 1) -> Kernel:
        """The first trips as they are, the rest with statements exchanged."""
        half = dataclasses.replace(loop, stop=Index(None, count))
        body = tuple(swap.get(s, s) for s in loop.body if not isinstance(s, If))
        rest = Loop("r", Index(None, count), loop.stop, tuple(map(_renamed, body)))
        return kernel.replace(loop, (half, rest))

    both: dict[Statement, Statement] = {loads["A"]: new["A"], loads["B"]: new["B"]}
    return [
        lambda: parts(both | {multiply: other}),
        lambda: parts(both | {multiply: other}, 2),
        lambda: parts({loads["A"]: new["A"]}),
        lambda: parts({loads["B"]: new["B"]}),
        lambda: parts(both),
        lambda: swapped({loads["A"]: new["A"]}),
        lambda: swapped({loads["B"]: new["B"]}),
        lambda: swapped(both),
        lambda: swapped(both | {multiply: other}),
        lambda: swapped({store: stored}),
        lambda: swapped({loads["A"]: new["A"], store: stored}),
    ]


def _renamed(statement: Statement) -> Statement:
    """The statement with the loop's variable called r."""
    if not hasattr(statement, "at"):
        return statement
    at = tuple(index.substitute({"k": Index("r")}) for index in statement.at)
    return dataclasses.replace(statement, at=at)


# ------------------------------------------------------------------ G: halves of barriers


def g_relatives() -> list[Relative]:
    kernel = gemm()
    loop, store = kernel.loop("k"), find(kernel, Store)
    some = If(Index("k"), Index(None, 1), (ARRIVE,))
    own = If(Index("subgroup"), Index(None, 1), (WAIT,))
    twice = Loop("r", Index(), Index(None, 2), (WAIT,))
    never = Loop("r", Index(), Index(None, 0), (ARRIVE,))
    swap: dict[Statement, Statement] = {ARRIVE: WAIT, WAIT: ARRIVE}
    pairs: list[tuple[Statement, Statement | tuple[Statement, ...] | None]] = [
        (ARRIVE, None),
        (WAIT, None),
        (ARRIVE, (ARRIVE, ARRIVE)),
        (WAIT, (WAIT, WAIT)),
        (ARRIVE, some),
        (WAIT, own),
        (WAIT, twice),
        (ARRIVE, never),
        (store, (ARRIVE, store)),
        (store, (WAIT, store)),
    ]
    out: list[Relative] = [lambda old=old, new=new: kernel.replace(old, new) for old, new in pairs]
    out.append(lambda: looped(lambda loop: tuple(swap.get(s, s) for s in loop.body)))
    out.append(lambda: kernel.replace(loop, (ARRIVE, loop, WAIT)))
    return out


# ------------------------------------------------------------------ H: reads before writes


def h_relatives() -> list[Relative]:
    kernel = gemm()
    loop, multiply = kernel.loop("k"), find(kernel, Mma)
    loads = {o: find(kernel, Load, o) for o in "AB"}
    moves = {s.source: s for s in loop.body if isinstance(s, Reorder)}

    def after(early: Statement, late: Statement, first: tuple[Statement, ...] = ()) -> Relative:
        """A statement moved behind a later one; others done once before the loop."""

        def make() -> Kernel:
            body = [s for s in loop.body if s != late]
            body.insert(body.index(early) + 1, late)
            return kernel.replace(loop, (*first, dataclasses.replace(loop, body=tuple(body))))

        return make

    def once(operand: str) -> tuple[Statement, ...]:
        at = tuple(i.substitute({"k": Index()}) for i in loads[operand].at)
        return (dataclasses.replace(loads[operand], at=at),)

    a, b = moves["tArA"], moves["tBrB"]
    return [
        after(a, loads["A"]),
        after(b, loads["B"]),
        after(multiply, a),
        after(multiply, b),
        after(multiply, loads["A"]),
        after(a, loads["A"], once("A")),
        after(b, loads["B"], once("B")),
        after(multiply, a, (*once("A"), a)),
        after(multiply, b, (*once("B"), b)),
        lambda: kernel.replace(find(kernel, Fill), None),
        lambda: kernel.replace(loads["A"], None),
        lambda: kernel.replace(loads["B"], None),
        lambda: kernel.replace(a, None),
        lambda: kernel.replace(b, If(Index("k"), Index(None, 1), (b,))),
        lambda: kernel.replace(loads["A"], If(Index("k"), Index(None, 1), (loads["A"],))),
    ]


# ------------------------------------------------------------------ wrong numbers beside these


def i_relatives() -> list[Relative]:
    """What kinds that readers know do to the accumulator where none of it is claimed."""
    kernel = gemm()
    doubled = Map("tCrC", Slot("tCrC") * 2)
    narrow = Fragment("low", "bf16", kernel.fragment("tCrC").slots)
    wider = dataclasses.replace(kernel, fragments=(*kernel.fragments, narrow))
    return [
        lambda: at_end(kernel, doubled),
        lambda: in_loop(kernel, doubled),
        lambda: at_end(kernel, Map("tCrC", Slot("tCrC") + 1)),
        lambda: at_end(kernel, Map("tCrC", -Slot("tCrC"))),
        lambda: at_end(kernel, Map("tCrC", Slot("tCrC") * Slot("tCrC"))),
        lambda: at_end(kernel, Map("tCrC", Slot("tCrC"), (("tCrC", cx.Layout((16, 8), (0, 16))),))),
        lambda: at_end(wider, Convert("tCrC", "low"), Convert("low", "tCrC")),
        lambda: in_loop(wider, Convert("tCrC", "low"), Convert("low", "tCrC")),
        lambda: in_loop(kernel, Fill("tCrC")),
        lambda: at_end(kernel, If(Index("m"), Index(None, 1), (doubled,))),
        lambda: at_end(kernel, Map("tCrC", apply("relu", Slot("tCrC")))),
        lambda: before(kernel, find(kernel, Mma), Map("tCrB", Slot("tCrB") + 1)),
        lambda: before(kernel, find(kernel, Mma), Map("tCrA", Slot("tCrA") * 2)),
    ]


RELATIVES: dict[str, Callable[[], list[Relative]]] = {
    "A": a_relatives,
    "B": b_relatives,
    "C": c_relatives,
    "D": d_relatives,
    "E": e_relatives,
    "F": f_relatives,
    "G": g_relatives,
    "H": h_relatives,
    "I": i_relatives,
}

UNDECIDED = {("A", 9), ("B", 6), *(("H", number) for number in range(5, 9)), ("I", 1), ("I", 7)}
"""What may stay open and is never proved: what trips change other than by a sum or a maximum,
and what they read of the trip before."""
