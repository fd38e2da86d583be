"""Kernels of three work-groups that count in memory, and store to their counters or load them."""

from __future__ import annotations

from small_kernels import fragment
from unsound_kernels import load, store

from pycute_xe.kernel import (
    AtomicStore,
    Await,
    Claim,
    Element,
    Fill,
    If,
    Index,
    Kernel,
    Operand,
    Signal,
    Specification,
    Statement,
)

G, ZERO = Index("g"), (Index(), Index())
SET, GET = store("counts", "i", ZERO, "s32"), load("counts", "i", ZERO, "s32")
ADD = AtomicStore(SET.copy, "counts", ZERO, "i", SET.modes)
THREE = Fill("i", 3)


def signal(row: int = 0, by: Index | int = 1) -> Signal:
    return Signal("counts", (Index(None, row), Index()), Index() + by)


def wait(least: int, row: int = 0) -> Await:
    return Await("counts", (Index(None, row), Index()), Index(None, least))


def group(number: int, *body: Statement) -> If:
    return If(G, Index(None, number + 1), (If(Index(None, number - 1), G, body),))


def counting(*body: Statement) -> Kernel:
    """Three work-groups copy A, each to rows of its own, and do something with counters."""
    operands = (
        Operand("A", "f32", (8, 16)),
        Operand("D", "f32", (24, 16), role="out"),
        Operand("counts", "s32", (8, 16), role="scratch"),
    )
    fragments = (fragment("x", "f32", 8), fragment("i", "s32", 8))
    claim = Claim("D", ("m", "n"), Element("A", (Index("m") % 8, Index("n"))))
    body = (load("A", "x", ZERO), Fill("i", 0), *body, store("D", "x", (G * 8, Index())))
    grid = (("g", Index(None, 3)),)
    return Kernel("counting", 1, operands, fragments, grid, body, Specification((claim,)))
