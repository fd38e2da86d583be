"""Two GEMMs one behind the other, what lies between in shared memory."""

from __future__ import annotations

from typing import Unpack

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Order, Shared, matrix
from pycute_xe.kernel.ir.statements import (
    Convert,
    Fill,
    Loop,
    Mma,
    SharedLoad,
    SharedStore,
    Statement,
)
from pycute_xe.kernel.kinds.epilogue import Frame
from pycute_xe.kernel.kinds.gemms import Given, recipe_of
from pycute_xe.kernel.kinds.mainloop import Stretch, register_loop
from pycute_xe.kernel.kinds.parts import along, product_of, unfit
from pycute_xe.kernel.kinds.recipe import Input, side_of
from pycute_xe.kernel.kinds.side import MEET, Side, fragment_places, transformed_operands
from pycute_xe.kernel.spec.expression import Expression, rounded_to, total
from pycute_xe.kernel.tiles.slots import by_registers
from pycute_xe.layout import Layout, size
from pycute_xe.signatures import typed

__all__ = ["chained_gemm"]


@typed
def chained_gemm(
    first: TiledMma,
    second: TiledMma,
    a: Order = "row",
    b0: Order = "row",
    b1: Order = "row",
    d: Order = "row",
    stages: int = 2,
    **given: Unpack[Given],
) -> Kernel:
    """Return the kernel ``D = (A B0) B1``, with A B0 rounded to the type that ``second`` reads.

    B0 has as many columns as a tile of ``first``: a work-group then has whole rows of A B0, which
    its subgroups store to shared memory and take from there, ``second``'s depth at a time. Every
    work-group along N computes A B0 of its rows anew. All else is as in `gemm`. Raises
    `KernelError` for tilings that do not follow one another. C++:
    ``examples/cute/tutorial/xe_two_gemm_fusion``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "f16"), (128, 128, 16), ((4, 4, 1), (4, 1, 0)))
    >>> print(chained_gemm(mma, mma).computes)
    D[m,n] = sum(j, f16(sum(k, A[m,k]*B0[k,j], f32))*B1[j,n], f32)
    """
    _check(first, second)
    loop, ending, groups = recipe_of("chained_gemm", first, (a, b0, d), given, ahead=stages)
    rows, middle, _ = first.tile_mnk
    around = groups.frame(by_registers(first), ending, middle)
    frame = groups.frame(by_registers(second), ending, None)
    sides = (side_of(around, "A", loop.a), side_of(around, "B0", loop.bs[0]))
    other = side_of(frame, "B1", Input(b1))
    tail, lead = ending.tail(frame), frame.lead
    multiply = Mma(first, "tPrC", sides[0].read, sides[1].read)
    every = (*sides, other)
    return Kernel(
        "chained_gemm",
        first.num_subgroups,
        (
            matrix("A", sides[0].copy.value_type, (*lead, "M", "K"), a),
            matrix("B0", sides[1].copy.value_type, (*lead, "K", middle), b0),
            matrix("B1", other.copy.value_type, (*lead, middle, "N"), b1),
            *transformed_operands(every),
            *tail.operands,
        ),
        (
            *_fragments(first, second),
            *(fragment for side in every for fragment in side.fragments()),
            *tail.fragments,
        ),
        groups.grid(second, whole_rows=False),
        (
            Fill("tPrC"),
            *register_loop(first, sides, (multiply,), Stretch.over(first)),
            *_between(first, second, other),
            *tail.statements,
        ),
        tail.specification(_claim(first, second, sides, other, frame)),
        (Shared("sP", second.atom.op.A, rows * middle),),
    )


def _between(first: TiledMma, second: TiledMma, side: Side) -> tuple[Statement, ...]:
    """Return what passes the first product on, and the loop over its columns."""
    rows, middle, _ = first.tile_mnk
    depth, j = second.tile_mnk[2], Index("j")
    put = fragment_places(first, "C", Layout((rows, middle), (middle, 1)))
    take = fragment_places(second, "A", Layout((rows, depth), (middle, 1)))
    body = (
        SharedLoad("sP", "tCrP", take, j * depth),
        *side.load(j),
        *side.ready(),
        Mma(second, "tCrC", "tCrP", side.read),
    )
    return (
        Convert("tPrC", "tPrP"),
        SharedStore("tPrP", "sP", put),
        *MEET,
        Fill("tCrC"),
        Loop("j", Index(), Index(None, middle // depth), body),
    )


def _fragments(first: TiledMma, second: TiledMma) -> tuple[Fragment, ...]:
    between, slots = second.atom.op.A, size(first.fragment("C")[1])
    return (
        Fragment("tPrC", first.atom.op.D, slots),
        Fragment("tPrP", between, slots),
        Fragment("tCrP", between, size(second.fragment("A")[1])),
        Fragment("tCrC", second.atom.op.D, size(second.fragment("C")[1])),
    )


def _claim(
    first: TiledMma, second: TiledMma, sides: tuple[Side, Side], other: Side, frame: Frame
) -> Expression:
    at, j = tuple(Index(x.lower()) for x in frame.lead), Index("j")
    product = along(product_of(first.atom.op.D, (sides[0].factor, sides[1].factor), at), "j")
    weight = rounded_to(second.atom.op.A, product) * other.factor((*at, j, Index("n")))
    return total("j", first.tile_mnk[1], weight, accumulator=second.atom.op.D)


def _check(first: TiledMma, second: TiledMma) -> None:
    (rows, middle, _), (more, _, depth) = first.tile_mnk, second.tile_mnk
    wrong, fix = "", ""
    if rows != more:
        wrong, fix = f"tiles of {rows} rows are followed by tiles of {more}", "use equal rows"
    elif middle % depth:
        wrong = f"{middle} columns between the products are not a multiple of {depth}"
        fix = "choose the second depth so that it divides the first tile's columns"
    elif first.num_subgroups != second.num_subgroups:
        wrong = f"{first.num_subgroups} subgroups are followed by {second.num_subgroups}"
        fix = "use as many subgroups in both"
    elif second.atom.op.A.bits < 8:
        wrong = (
            f"elements of {second.atom.op.A} are narrower than a byte, and shared memory has bytes"
        )
        fix = "multiply a wider type"
    else:
        wrong, fix = max(unfit(first), unfit(second))
    if wrong:
        raise KernelError("chained_gemm", {"first": first, "second": second}, wrong, fix)
