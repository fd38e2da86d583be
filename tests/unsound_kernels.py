"""Kernels over an operand A of rows and columns, and what is asked of wrong ones."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.kernel import (
    Claim,
    Element,
    Expression,
    Index,
    Kernel,
    Load,
    Operand,
    Slot,
    Specification,
    Statement,
    Store,
    Tiles,
)
from pycute_xe.kernel.spec.expression import as_expression
from pycute_xe.verifying.verdict import Verdict

M, N, K = Index("m"), Index("n"), Index("k")
X, Y = Slot("x"), Slot("y")
A = Element("A", (M, N))
GRID = (("m", Tiles("M", 8)), ("n", Tiles("N", 16)))


def load(name: str, to: str, at: tuple[Index, ...] = (M * 8, N * 16), kind: str = "f32") -> Load:
    return dataclasses.replace(load_of(name, to, kind), at=at, modes=(len(at) - 2, len(at) - 1))


def store(name: str, of: str, at: tuple[Index, ...] = (M * 8, N * 16), kind: str = "f32") -> Store:
    return dataclasses.replace(store_of(name, of, kind), at=at, modes=(len(at) - 2, len(at) - 1))


def kernel(
    claim: Expression | float,
    *body: Statement,
    more: tuple[Operand, ...] = (),
    kinds: tuple[str, ...] = ("f32", "f32", "f32"),
    grid: Any = GRID,
) -> Kernel:
    """A, of 32 bits, is loaded; x, y, z (and w) hold numbers of these types; D is stored of x."""
    taken = {operand.name: operand for operand in more}
    kind = kinds[0]
    operands = (
        taken.pop("A", Operand("A", kind, ("M", "N"))),
        taken.pop("D", Operand("D", kind, ("M", "N"), role="out")),
        *taken.values(),
    )
    names = ("x", "y", "z", "w")[: len(kinds)]
    fragments = tuple(
        fragment(n, t, -(-8 * cx.as_numeric(t).bits // 32) * 32 // cx.as_numeric(t).bits)
        for n, t in zip(names, kinds, strict=True)
    )
    index = tuple(str(mode).lower() for mode in operands[1].modes)
    claims = Specification((Claim("D", index, as_expression(claim)),))
    return Kernel("unsound", 1, operands, fragments, grid, body, claims)


def not_proved(wrong: Kernel, **params: int) -> Verdict:
    verdict = cx.verify(wrong, params)
    assert verdict.answer != "proved", str(verdict)
    if verdict.counterexample is not None:
        assert cx.replay(wrong, verdict.counterexample).shows
    return verdict


def differs(wrong: Kernel, wanted: Any, *inputs: Any, **named: Any) -> None:
    found = cx.run(wrong, *inputs, executor="reference", **named)
    assert not np.allclose(np.asarray(found, np.float64), wanted, rtol=1e-6)
