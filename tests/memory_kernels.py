"""Kernels whose work-groups take rows of A through W to D, and how they are judged."""

from __future__ import annotations

import dataclasses

import numpy as np
from small_kernels import fragment
from unsound_kernels import load, store

import pycute_xe as cx
from pycute_xe.errors import MachineError
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Claim,
    Element,
    Expression,
    Fence,
    Index,
    Kernel,
    Load,
    Map,
    Operand,
    Slot,
    Specification,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.spec.evaluation import compute
from pycute_xe.layout import Layout
from pycute_xe.verifying import prove

G, S, ROWS = Index("g"), Index("subgroup"), Index("M")
M, N = Index("m"), Index("n")
A = Element("A", (M, N))
AT, ZERO = (G * 8, Index()), (Index(), Index())
LOAD, KEEP = load("A", "x", AT), store("W", "x", AT)
BACK, OUT = load("W", "y", AT), store("D", "y", AT)
DOUBLE, ADD = Map("x", Slot("x") * 2), Map("x", Slot("x") + Slot("y"))
SCRATCH = Operand("W", "f32", ("M", 16), role="scratch")


def through(
    claim: Expression, *body: Statement, memory: Operand = SCRATCH, subgroups: int = 1
) -> Kernel:
    """Rows of A, 8 to each subgroup, go through W to D."""
    operands = (Operand("A", "f32", ("M", 16)), Operand("D", "f32", ("M", 16), role="out"), memory)
    fragments = tuple(fragment(name, "f32", 8) for name in "xy")
    claims = Specification((Claim("D", ("m", "n"), claim),))
    grid = (("g", Tiles("M", 8 * subgroups)),)
    return Kernel("through", subgroups, operands, fragments, grid, body, claims)


def is_right(kernel: Kernel, rows: int = 19) -> bool:
    """Whether the machine computes what is claimed, of so many rows."""
    a = np.random.default_rng(3).integers(1, 99, (rows, 16)).astype(np.float32)
    assert kernel.computes is not None
    wanted = compute(kernel.computes, kernel.operands, {"A": a})["D"]
    try:
        return np.array_equal(cx.run(kernel, a, executor="reference"), wanted)
    except MachineError:
        return False


BY_A_RUN = "disproved by a run"
"""The answer of `verify` where proofs alone leave a kernel undecided."""


def judged(kernel: Kernel, answer: str) -> None:
    proofs, verdict = prove(kernel, {}), cx.verify(kernel)
    shown = verdict.counterexample
    assert proofs.answer == ("undecided" if answer == BY_A_RUN else answer), str(proofs)
    assert verdict.answer == answer.partition(" ")[0], str(verdict)
    assert "contradicts" not in str(verdict), "a proof was wrong"
    if answer != "undecided":
        assert is_right(kernel, shown.sizes["M"] if shown else 19) == (answer == "proved")
    if shown is not None:
        assert cx.replay(kernel, shown).shows


def of_two(one: Load | Store, turned: bool = False) -> Load | Store:
    """Each of two subgroups moves 8 rows; turned, those of the other one."""
    op = cx.XE_LOAD_2D(32, 8, 16) if isinstance(one, Load) else cx.XE_STORE_2D(32, 8, 16)
    places = Layout((2, 1), (1, 2))
    copy = cx.make_block_2d_copy(op, ("ld", 1), "f32", (2, 1), places)
    at = (G * 16 + (8 - S * 16 if turned else 0), Index())
    return dataclasses.replace(one, copy=copy, at=at)


DIRECT = store("D", "x", AT)
LOAD2, KEEP2, BACK2, OUT2 = (of_two(x) for x in (LOAD, KEEP, BACK, OUT))
BACKX, OUTX = of_two(BACK, turned=True), of_two(OUT, turned=True)
MEET = (BarrierArrive(), BarrierWait())
SEEN = (Fence(), *MEET)
THREE = Index(None, 3)
DIRECT2 = of_two(DIRECT)
