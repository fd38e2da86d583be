"""Integers that overflow: assumed not to, with their types, or proved to wrap as registers do."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
import wrapping_programs
from click.testing import CliRunner

import pycute_xe as cx
from pycute_xe.cli import main
from pycute_xe.kernel import Kernel, KernelBuilder, Tiles


def steps(kind: str, first: str, second: str, claim: str) -> Kernel:
    k = KernelBuilder("steps", 1)
    A, D = k.input("A", kind, ("M", "N")), k.output("D", kind, ("M", "N"))
    m, n = k.grid(m=Tiles("M", 16), n=Tiles("N", 16))
    k.load("v", A, (16, 16), at=(m * 16, n * 16))
    k.map("y", first, kind)
    k.map("z", second, kind)
    k.store(D, "z", at=(m * 16, n * 16))
    return k.build("D[m,n] = " + claim.replace("v", "A[m,n]"))


@pytest.mark.parametrize(
    ("kind", "first", "second", "claim"),
    [
        ("s32", "v + v", "y - v", "v"),
        ("s32", "v*v", "y*y", "v*v*v*v"),
        ("u32", "v + 1", "y - 1", "v"),
        ("s32", "65536*v", "65536*y", "0*v"),
        ("u32", "v*v", "relu(y)", "v*v"),
    ],
)
def test_what_is_equal_modulo_the_type_is_proved(
    kind: str, first: str, second: str, claim: str
) -> None:
    verdict = cx.verify(steps(kind, first, second, claim), overflow="wraps")
    assert (verdict.answer, verdict.overflow) == ("proved", "wraps")


def test_what_wraps_before_a_maximum_is_disproved_and_replayed() -> None:
    kernel = steps("s32", "v + v", "max(y, v)", "max(2*v, v)")
    assumed, wraps = cx.verify(kernel), cx.verify(kernel, overflow="wraps")
    assert (assumed.answer, assumed.overflow) == ("proved", "assumed")
    assert any("s32 does not overflow" in text for text in assumed.assumptions)
    assert wraps.answer == "disproved"
    assert not any("does not overflow" in text for text in wraps.assumptions)
    wrapping = dataclasses.replace(kernel.computes, overflow="wraps")
    assert wraps.counterexample is not None
    replayed = cx.replay(dataclasses.replace(kernel, computes=wrapping), wraps.counterexample)
    assert replayed.shows


@pytest.mark.parametrize("loop", [False, True])
def test_sums_of_products_wrap_with_their_accumulator(loop: bool) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s8"), (16, 32, 32), ((1, 1, 1), (1, 1, 0)))
    text = "max(acc + acc, 0)" if loop else "acc"
    gemm = cx.kernel.gemm(mma, epilogue=text)
    assert cx.verify(gemm, overflow="wraps").answer == "proved"


@pytest.mark.long
def test_kernels_without_wide_integers_assume_nothing_of_them() -> None:
    gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    assert not any("does not overflow" in text for text in cx.verify(gemm).assumptions)


def test_the_choice_is_part_of_documents_texts_and_differences() -> None:
    kernel = steps("s32", "v + v", "y - v", "v")
    assert kernel.computes is not None
    wrapping = dataclasses.replace(
        kernel, computes=dataclasses.replace(kernel.computes, overflow="wraps")
    )
    verdict = cx.verify(wrapping)
    assert verdict == cx.verify(kernel, overflow="wraps")
    assert verdict != cx.verify(kernel)
    assert cx.from_json(cx.to_json(verdict)) == verdict
    assert cx.from_json(cx.to_json(wrapping)) == wrapping
    read = cx.kernel.read_specification(str(wrapping.computes), wrapping.operands)
    assert read == wrapping.computes
    changes = [(row.before, row.after) for row in cx.diff(kernel, wrapping).rows]
    assert ("assumed", "wraps") in changes


@pytest.mark.parametrize("overflow", ["wrap", 1, True, ""])
def test_other_words_are_refused(overflow: Any) -> None:
    with pytest.raises(cx.CuteError):
        cx.verify(steps("s32", "v + v", "y - v", "v"), overflow=overflow)
    with pytest.raises(cx.CuteError, match="only a kernel"):
        cx.verify("XE_2D_U16x8x16_LD_N", overflow="wraps")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_are_judged_as_their_numbers_say(seed: int) -> None:
    judged = [wrapping_programs.judged(random.Random(f"{seed} {number}")) for number in range(10)]
    assert not [wrong for _, wrong in judged if wrong]
    assert [answer for answer, _ in judged].count("proved of right") > 3


def test_the_command_line_asks_for_integers_that_wrap() -> None:
    document = cx.to_json(steps("s32", "v + v", "max(y, v)", "max(2*v, v)"))
    assumed = CliRunner().invoke(main, ["verify", "-"], input=document)
    wraps = CliRunner().invoke(main, ["verify", "-", "--overflow", "wraps"], input=document)
    assert (assumed.exit_code, wraps.exit_code) == (0, 1)
    assert wraps.output.splitlines()[0].endswith("integers wrap")
    both = ["verify", "-", "--overflow", "wraps", "--assumptions"]
    assert CliRunner().invoke(main, both, input=document).exit_code == 2


@pytest.mark.parametrize(
    ("kind", "second", "to", "right"),
    [
        ("u64", "max(v, 5)", "u64", "max(v, 5)"),
        ("u16", "v*v*v*v", "u8", "v*v*v*v"),
        ("s64", "abs(v - 1)", "s32", "abs(v - 1)"),
    ],
)
def test_integers_of_every_width_are_claimed_as_they_are_read(
    kind: str, second: str, to: str, right: str
) -> None:
    k = KernelBuilder("read", 1)
    A, D = k.input("A", kind, ("M", "N")), k.output("D", to, ("M", "N"))
    m, n = k.grid(m=Tiles("M", 16), n=Tiles("N", 16))
    k.load("v", A, (16, 16), at=(m * 16, n * 16))
    k.map("z", second, to)
    k.store(D, "z", at=(m * 16, n * 16))
    kernel = k.build("D[m,n] = " + right.replace("v", "A[m,n]"))
    assert cx.verify(kernel, overflow="wraps").answer == "proved"


def test_overflow_that_small_numbers_do_not_show_is_disproved() -> None:
    k = KernelBuilder("rare", 1)
    A, D = k.input("A", "u16", ("M", "N")), k.output("D", "u8", ("M", "N"))
    m, n = k.grid(m=Tiles("M", 16), n=Tiles("N", 16))
    k.load("v", A, (16, 16), at=(m * 16, n * 16))
    k.map("y", "v*v", "u16")
    k.map("z", "max(y, 3)", "u8")
    k.store(D, "z", at=(m * 16, n * 16))
    kernel = k.build("D[m,n] = max(A[m,n]*A[m,n], 3)")
    verdict = cx.verify(kernel, overflow="wraps")
    assert verdict.answer == "disproved"
    assert verdict.counterexample is not None
