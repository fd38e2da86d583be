"""Random kernels that are not products: maxima, batches, conditions, sums of rows, attention."""

from __future__ import annotations

import functools
import operator
import random
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from attention_tile import attention_tile
from made_kernels import Arrays, Made, rounded

import pycute_xe as cx
from pycute_xe.atom import XE_LOAD_2D, XE_STORE_2D, make_block_2d_copy
from pycute_xe.kernel import (
    Claim,
    Convert,
    Element,
    Expression,
    Fill,
    Fragment,
    If,
    Index,
    Kernel,
    Load,
    Loop,
    Map,
    Operand,
    Reduce,
    Slot,
    Specification,
    Statement,
    Store,
    Tiles,
    apply,
    rounded_to,
    total,
)
from pycute_xe.kernel.spec.expression import Where, as_expression
from pycute_xe.layout import Layout

How = Literal["sum", "max"]
HOWS: tuple[How, ...] = ("max", "max", "sum")
ROWS, COLUMNS = 8, 16
L, M, N, K = map(Index, "lmnk")
X, Y, Z = map(Slot, "xyz")
PLACE = (M * ROWS, N * COLUMNS)
GRID = (("m", Tiles("M", ROWS)), ("n", Tiles("N", COLUMNS)))
SIZES = ((1, 1, 1, 1), (2, 9, 17, 3), (3, 16, 31, 7))
LOW = -1e30


def fragment(name: str, kind: str, slots: int = 8) -> Fragment:
    """Return a fragment of 8 rows and 16 columns."""
    return Fragment(name, cx.as_numeric(kind), slots)


def load(name: str, to: str, at: tuple[Index, ...] = PLACE) -> Load:
    """Load 8 rows and 16 columns of f32, one message."""
    copy = make_block_2d_copy(XE_LOAD_2D(32, ROWS, COLUMNS), ("ld", 1), "f32")
    return Load(copy, name, at, to, (len(at) - 2, len(at) - 1))


def store(name: str, of: str, at: tuple[Index, ...] = PLACE, kind: str = "f32") -> Store:
    """Store 8 rows and 16 columns."""
    bits = cx.as_numeric(kind).bits
    copy = make_block_2d_copy(XE_STORE_2D(bits, ROWS, COLUMNS), ("ld", 1), kind)
    return Store(copy, name, at, of, (len(at) - 2, len(at) - 1))


def kernel(
    claim: Expression | float,
    body: tuple[Statement, ...],
    operands: tuple[Operand, ...],
    more: tuple[Fragment, ...] = (),
    grid: Any = GRID,
    index: tuple[str, ...] = (),
) -> Kernel:
    """Return a kernel of one subgroup with registers x, y and z of f32; the last operand is D."""
    fragments = (*(fragment(name, "f32") for name in "xyz"), *more)
    index = index or tuple(str(mode).lower() for mode in operands[-1].modes)
    claims = Specification((Claim("D", index, as_expression(claim)),))
    used = {n for s in _walk(body) for n in (*s.touched.reads, *s.touched.writes)}
    kept = tuple(f for f in fragments if f.name in used)
    return Kernel("made", 1, operands, kept, grid, body, claims)


def _walk(body: tuple[Statement, ...]) -> list[Statement]:
    return [x for s in body for x in (s, *_walk(getattr(s, "body", ())))]


def sizes(*names: str) -> tuple[dict[str, int], ...]:
    """Return the sizes that are run, of the names that a kernel has."""
    every = [dict(zip("LMNK", size, strict=True)) for size in SIZES]
    return tuple({name: one[name] for name in names} for one in every)


def out(*modes: str | int, kind: str = "f32") -> Operand:
    """Return the output."""
    return Operand("D", kind, modes or ("M", "N"), role="out")


# ---------------------------------------------------------------- kinds


def running(r: random.Random) -> Made:
    """Return a running maximum or sum over tiles that lie one behind the other."""
    two = r.random() < 0.5
    names = "AB" if two else "A"
    trip = [load(n, "xy"[i], (K, *PLACE)) for i, n in enumerate(names)]
    scale = r.choice([1.0, -2.0, 0.5])
    value = X * scale + Y if two else X * scale
    body = tuple(Element(n, (K, M, N)) for n in names)
    claimed = body[0] * scale + body[1] if two else body[0] * scale
    how: How = r.choice(HOWS)
    start = LOW if how == "max" else 0.0
    step = Map("z", apply("max", Z, value) if how == "max" else Z + value)
    loop = Loop("k", Index(), Index("K"), (*trip, step))
    claim = total("k", "K", claimed, how=how)
    claim = apply("max", start, claim) if how == "max" else claim

    def meaning(x: Arrays) -> dict[str, np.ndarray]:
        found = x["A"] * scale + (x["B"] if two else 0)
        return {"D": found.max(0) if how == "max" else found.sum(0)}

    operands = (*(Operand(n, "f32", ("K", "M", "N")) for n in names), out())
    made = kernel(claim, (Fill("z", start), loop, store("D", "z")), operands)
    return Made(made, meaning, sizes("K", "M", "N"))


def shared_heads(r: random.Random) -> Made:
    """Return a kernel whose batches share tiles, by a quotient or a remainder."""
    by = r.randint(2, 4)
    kind = r.choice(["quotient", "remainder", "both"])
    index = {"quotient": L // by, "remainder": L % by, "both": (L // by) % by}[kind]
    extent = Tiles("L", by) if kind == "quotient" else by
    operands = (
        Operand("A", "f32", ("L", "M", "N")),
        Operand("B", "f32", (extent, "M", "N")),
        out("L", "M", "N"),
    )
    function = r.choice(["add", "max", "mul"])
    body = (
        load("A", "x", (L, *PLACE)),
        load("B", "y", (index, *PLACE)),
        Map("x", apply(function, X, Y)),
        store("D", "x", (L, *PLACE)),
    )
    claim = apply(function, Element("A", (L, M, N)), Element("B", (index, M, N)))
    doing = {"add": np.add, "max": np.maximum, "mul": np.multiply}[function]

    def meaning(x: Arrays) -> dict[str, np.ndarray]:
        batches = np.arange(x["A"].shape[0])
        chosen = {
            "quotient": batches // by,
            "remainder": batches % by,
            "both": batches // by % by,
        }[kind]
        return {"D": doing(x["A"], x["B"][chosen])}

    made = kernel(claim, body, operands, grid=(("l", Index("L")), *GRID))
    return Made(made, meaning, sizes("L", "M", "N"))


def conditional(r: random.Random) -> Made:
    """Return a kernel that does something else in some tiles, or adds up some of a loop's trips."""
    if r.random() < 0.5:
        bound, scale = r.randint(1, 2), r.choice([2.0, -1.0])
        other = If(M, Index(None, bound), (Map("x", X * scale),))
        a = Element("A", (M, N))
        claim = Where(M, Index(None, bound * ROWS), a * scale, a)

        def tiles(x: Arrays) -> dict[str, np.ndarray]:
            early = np.arange(x["A"].shape[0]) < bound * ROWS
            return {"D": np.where(early[:, None], scale * x["A"], x["A"])}

        operands = (Operand("A", "f32", ("M", "N")), out())
        made = kernel(claim, (load("A", "x"), other, store("D", "x")), operands)
        return Made(made, tiles, sizes("M", "N"))
    first = r.randint(1, 4)
    step: Statement = Map("z", Z + Where(K, Index(None, first), X, as_expression(0.0)))
    if r.random() < 0.5:
        step = If(K, Index(None, first), (Map("z", Z + X),))
    loop = Loop("k", Index(), Index("K"), (load("A", "x", (K, *PLACE)), step))
    a = Element("A", (K, M, N))
    claim = total("k", "K", Where(K, Index(None, first), a, as_expression(0.0)))

    def trips(x: Arrays) -> dict[str, np.ndarray]:
        return {"D": x["A"][:first].sum(0)}

    operands = (Operand("A", "f32", ("K", "M", "N")), out())
    made = kernel(claim, (Fill("z"), loop, store("D", "z")), operands)
    return Made(made, trips, sizes("K", "M", "N"))


def narrowing(r: random.Random) -> Made:
    """Return a kernel that rounds between its maps, and a narrow output now and then."""
    first, second = r.choice(["bf16", "f16"]), r.choice(["bf16", "f16", ""])
    scale = r.choice([3.0, 0.75])
    a, b = Element("A", (M, N)), Element("B", (M, N))
    body: list[Statement] = [load("A", "x"), load("B", "y"), Convert("x", "low")]
    body.append(Map("z", Slot("low") * scale + Y))
    value, held = rounded_to(first, a) * scale + b, "z"
    if second:
        body.append(Convert("z", "out"))
        value, held = rounded_to(second, value), "out"
    kind = second or "f32"
    operands = (Operand("A", "f32", ("M", "N")), Operand("B", "f32", ("M", "N")), out(kind=kind))
    more = (fragment("low", first), *((fragment("out", second),) if second else ()))
    made = kernel(value, (*body, store("D", held, kind=kind)), operands, more)

    def meaning(x: Arrays) -> dict[str, np.ndarray]:
        return {"D": rounded(rounded(x["A"], first) * scale + x["B"], second)}

    return Made(made, meaning, sizes("M", "N"), 0.0, frozenset({"L"}))


def reducing(r: random.Random) -> Made:
    """Return a kernel that takes the sum or the maximum of each tile's columns from them."""
    if r.random() < 0.4:
        return _reducing_last_rows()
    how: How = r.choice(HOWS)
    columns = Layout((COLUMNS, ROWS), (1, 0))
    place = (K, Index(), N * COLUMNS)
    body = (
        load("A", "x", place),
        Reduce(how, "x", "r", columns),
        Map("x", X - Slot("r"), (("r", columns),)),
        store("D", "x", place),
    )
    whole = total("i", ROWS, Element("A", (K, Index("i"), N)), how=how)
    claim = Element("A", (K, M, N)) - whole

    def meaning(x: Arrays) -> dict[str, np.ndarray]:
        found = x["A"].sum(1) if how == "sum" else x["A"].max(1)
        return {"D": x["A"] - found[:, None, :]}

    operands = (Operand("A", "f32", ("K", ROWS, "N")), out("K", ROWS, "N"))
    grid = (("k", Index("K")), ("n", Tiles("N", COLUMNS)))
    made = kernel(claim, body, operands, (fragment("r", "f32", 1),), grid, ("k", "m", "n"))
    return Made(made, meaning, sizes("K", "N"))


def _reducing_last_rows() -> Made:
    """Return sums of columns in tiles of which the last may have fewer rows."""
    columns = Layout((COLUMNS, ROWS), (1, 0))
    body = (
        load("A", "x"),
        Reduce("sum", "x", "r", columns),
        Map("x", X - Slot("r"), (("r", columns),)),
        store("D", "x"),
    )
    tile = M - M % ROWS
    rows = [_or_zero(tile + i) for i in range(ROWS)]
    claim = Element("A", (M, N)) - functools.reduce(operator.add, rows)

    def meaning(x: Arrays) -> dict[str, np.ndarray]:
        rows = x["A"].shape[0]
        padded = np.zeros((-(-rows // ROWS), ROWS, x["A"].shape[1]))
        padded.reshape(-1, x["A"].shape[1])[:rows] = x["A"]
        return {"D": x["A"] - np.repeat(padded.sum(1), ROWS, axis=0)[:rows]}

    operands = (Operand("A", "f32", ("M", "N")), out())
    made = kernel(claim, body, operands, (fragment("r", "f32", 1),))
    return Made(made, meaning, sizes("M", "N"))


def _or_zero(row: Index) -> Expression:
    """An element of A, or the zero that a load finds below the last row."""
    return Where(row, Index("M"), Element("A", (row, N)), as_expression(0.0))


def attention(r: random.Random) -> Made:
    """Return one tile of attention: two products and a softmax between."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    grid = ((r.randint(1, 2), 1, 1), (1, 1, 1))
    rows, keys = 16 * grid[0][0], 16
    qk = cx.workgroup_mma(op, (rows, keys, 16), grid)
    pv = cx.workgroup_mma(op, (rows, 16 * r.randint(1, 2), keys), grid)

    def meaning(x: Arrays) -> dict[str, np.ndarray]:
        weight = np.exp(x["Q"] @ x["K"].T * x["scale"])
        return {"O": rounded(weight, "bf16") @ x["V"] / weight.sum(1, keepdims=True)}

    found = ((1, 1, 1), (rows + 1, 17, 33))
    problems = tuple({"M": m, "N": n, "D": d} for m, n, d in found)
    small = frozenset({"Q", "K", "V", "scale"})
    return Made(attention_tile(qk, pv), meaning, problems, 2.0**-5, small, 0.125)


KINDS: tuple[Callable[[random.Random], Made], ...] = (
    *(running, running, shared_heads, conditional, narrowing, reducing, attention),
)
