"""Tiles stored in several pieces: what the first leaves out, another one may store, or none."""

from __future__ import annotations

import dataclasses

import pytest
from small_kernels import fragment, load_of, store_of

import pycute_xe as cx
from pycute_xe.kernel import (
    Claim,
    Element,
    Index,
    Kernel,
    Operand,
    Specification,
    Statement,
    Tiles,
)

X = Element("X", (Index("m"), Index("n")))


def in_pieces(step: int) -> Kernel:
    """Rows 0 to 15 and 24 to 31 of each tile, in three stores; tiles begin so many rows apart."""
    body: list[Statement] = []
    for first in (0, 8, 24):
        at = (Index("g") * step + first, Index())
        both = load_of("X", "x"), store_of("Y", "x")
        body += [dataclasses.replace(s, at=at) for s in both]
    operands = (Operand("X", "f32", ("M", 16)), Operand("Y", "f32", ("M", 16), role="out"))
    claims = Specification((Claim("Y", ("m", "n"), X),))
    grid = (("g", Tiles("M", step)),)
    return Kernel("rows", 1, operands, (fragment("x", "f32", 8),), grid, tuple(body), claims)


def test_what_a_tile_leaves_out_another_one_may_store() -> None:
    def covered(kernel: Kernel, **params: int) -> str:
        proofs = cx.verify(kernel, params).proofs
        return next(p.answer for p in proofs if p.property == "Y coverage")

    assert covered(in_pieces(16)) == "proved"
    assert covered(in_pieces(32)) == "disproved"
    assert covered(in_pieces(32), M=16) == "proved"
    assert covered(in_pieces(32), M=20) == "disproved"


def pieces_by_columns(step: int) -> Kernel:
    """The same of a matrix of N columns, 16 to a work-group."""
    kernel, h = in_pieces(step), Index("h") * 16
    body = tuple(dataclasses.replace(s, at=(s.at[0], h)) for s in kernel.body)
    operands = tuple(dataclasses.replace(o, modes=("M", "N")) for o in kernel.operands)
    grid = (*kernel.grid, ("h", Tiles("N", 16)))
    return dataclasses.replace(kernel, operands=operands, body=body, grid=grid)


@pytest.mark.parametrize(
    ("step", "params", "answer"),
    [
        (16, {}, "proved"),
        (32, {}, "disproved"),
        (32, {"M": 16}, "proved"),
        (32, {"M": 20}, "disproved"),
        (32, {"M": 20, "N": 5}, "disproved"),
    ],
)
def test_the_first_tile_is_looked_at_for_what_it_leaves_out(
    step: int, params: dict[str, int], answer: str
) -> None:
    kernel = pieces_by_columns(step)
    (proof,) = [p for p in cx.verify(kernel, params).proofs if p.property == "Y coverage"]
    assert proof.answer == answer
    if proof.counterexample is not None:
        sizes = proof.counterexample.sizes
        assert params.items() <= sizes.items()
        assert cx.replay(kernel, proof.counterexample).shows
