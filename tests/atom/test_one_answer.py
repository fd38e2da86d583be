"""Whether a copy feeds an MMA as it is: `feeds`, a search and a GEMM have one answer."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from compiled_moves import gemm_of, written
from sampling import WHOLE, sampled

import pycute_xe as cx
from pycute_xe.atom import MmaAtom
from pycute_xe.bulk import numpy_dtype
from pycute_xe.comparing import Feed
from pycute_xe.cutlass import catalogue, get_atom, shipped_names
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.kernel import Kernel


def asked() -> list[tuple[str, Any]]:
    """An MMA of 8 rows, and an operand: one of each block and width that operands have."""
    found: dict[tuple[Any, ...], tuple[str, Any]] = {}
    for name in catalogue():
        if not name.startswith("XE_DPAS_TT<8,"):
            continue
        mma = get_atom(name)
        assert isinstance(mma, MmaAtom)
        if mma.op.C != mma.op.D:  # no GEMM of its own accumulator
            continue
        for operand in ("A", "B", "D"):
            kind = mma.operand_type(operand)
            found.setdefault((operand, mma.operand_shape(operand), kind.bits), (name, operand))
    return list(found.values())


@cache
def answers(mma: str, operand: Any) -> dict[str, Feed]:
    """What `feeds` says of every shipped copy, each as an atom without a type of its own."""
    return {name: cx.feeds(get_atom(name), mma, operand) for name in shipped_names()}


@pytest.mark.parametrize(("mma", "operand"), sampled(asked(), 2))
@pytest.mark.long
def test_a_search_finds_what_feeds_answers(mma: str, operand: Any) -> None:
    found = cx.search_atoms(feeds=mma, operand=operand, reorder=True, shipped=True)
    told = {record.name: dict(record.feeds)[operand] for record in found}
    said = {name: feed.kind for name, feed in answers(mma, operand).items()}
    wanted = {name: kind for name, kind in said.items() if kind != "impossible"}
    assert wanted
    assert {name: told[name] for name in told if name in said} == wanted


def possible() -> list[Feed]:
    """A pair of each message, MMA and operand that go together."""
    found: dict[tuple[Any, ...], Feed] = {}
    for mma, operand in sampled(asked(), 4):
        for feed in answers(mma, operand).values():
            if feed.kind != "impossible":
                sent = tuple(part.message for part in feed.copy.messages("pvc"))
                found.setdefault((sent, mma, operand), feed)
    return list(found.values())


def moves(kernel: Kernel, operand: str) -> int | None:
    """The moves that reorders of the operand become: some rename registers, or do nothing.

    None where values below a byte are parted, which no move of a region does.
    """
    try:
        return sum(move.instructions for move in written(kernel, operand))
    except KernelError:
        assert kernel.fragment(f"tCr{operand}").value_type.bits < 8
        return None


def small(shape: tuple[int, int], kind: cx.Numeric) -> np.ndarray:
    least, most = (0, 2) if kind.kind == "unsigned" else (-1, 2)
    held = np.float32 if kind.name == "tf32" else numpy_dtype(kind)
    return np.random.default_rng(1).integers(least, most, shape).astype(held)


@pytest.mark.long
def test_a_gemm_reorders_what_feeds_says_must_be() -> None:
    built = 0
    for feed in sampled(possible(), 14):
        kernel = gemm_of(feed)
        built += 1
        assert moves(kernel, feed.operand) == feed.moves, feed
        assert (feed.moves == 0) == (feed.kind == "free"), feed
        if WHOLE or built % 3 == 0:
            m, n, k = kernel.mma.tile_mnk
            op = feed.mma.op
            a, b = small((m, k), op.A), small((k, n), op.B)
            assert np.array_equal(cx.run(kernel, a, b), a.astype(int) @ b.astype(int)), feed
    assert built >= 8


@pytest.mark.long
def test_a_gemm_refuses_what_feeds_says_is_impossible() -> None:
    refused = 0
    for mma, operand in sampled(asked(), 4):
        for feed in answers(mma, operand).values():
            if feed.kind == "impossible":
                with pytest.raises(CuteError):
                    gemm_of(feed)
                refused += 1
    assert refused > 100


def test_values_wider_than_the_elements_of_a_name_are_moved_as_such() -> None:
    """What a work-item owns side by side may be one value; what a name parts may not."""
    mma = "XE_DPAS_TT<8,f32,bf16>"
    packed = "XE_2D_Packed_U8x8x32_LD_N"
    tiled = cx.workgroup_mma(mma, (8, 16, 16), ((1, 1, 1), (1, 1, 0)))
    assert cx.feeds(packed, mma, "A").kind == "free"
    kernel = cx.kernel.gemm(tiled, copy_a=packed)
    assert moves(kernel, "A") == 0
    assert cx.verify(kernel).answer == "proved"
    copies: list[tuple[str, Any]] = [("XE_2D_U8x8x32_LD_N", "A"), ("XE_2D_U8x16x32_LD_T", "B")]
    for name, operand in copies:
        assert cx.feeds(name, mma, operand).kind == "impossible"
        given: Any = {f"copy_{operand.lower()}": name}
        with pytest.raises(KernelError, match="no work-item owns the 2 elements"):
            cx.kernel.gemm(tiled, **given)
