"""Slips that would build a kernel in silence: a letter in a name, a second build, another mode."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest

import pycute_xe as cx
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.identifiers import is_slip
from pycute_xe.kernel import KernelBuilder, Tiles

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))


@pytest.mark.parametrize("slip", ["bais", "bas", "biias", "ibas"])
def test_a_slip_of_a_known_input_is_no_new_input(slip: str) -> None:
    with pytest.raises(KernelError, match="write bias"):
        cx.kernel.gemm(MMA, epilogue=f"acc + bias[n] + {slip}[n]")


@pytest.mark.parametrize(
    ("name", "known"),
    [("scale_a", "scale_b"), ("bias1", "bias2"), ("bias2", "bias"), ("x", "y"), ("bias", "gate")],
)
def test_two_names_are_two_names(name: str, known: str) -> None:
    assert not is_slip(name, known)
    assert cx.kernel.gemm(MMA, epilogue=f"acc + {known}[n]*{name}[n]").operand(name)


def doubled() -> KernelBuilder:
    k = KernelBuilder("doubled", 1)
    read, written = k.input("A", "f32", ("M", "N")), k.output("D", "f32", ("M", "N"))
    m, n = k.grid(m=Tiles("M", 8), n=Tiles("N", 16))
    k.load("x", read, (8, 16), at=(m * 8, n * 16))
    k.map("y", "2*x")
    k.store(written, "y", at=(m * 8, n * 16))
    return k


def test_a_builder_builds_the_same_kernel_again() -> None:
    k = doubled()
    first = k.build("D[m,n] = 2*A[m,n]")
    assert k.build("D[m,n] = 2*A[m,n]") == first
    assert k.build("D[m,n] = 3*A[m,n]").computes != first.computes
    with pytest.raises(KernelError):
        k.build("D[m,n] = 2*B[m,n]")
    assert k.build("D[m,n] = 2*A[m,n]") == first


def scaled(order: Literal["row", "col"]) -> KernelBuilder:
    """A builder of A with its columns scaled by one row of S for each 4 rows of work-groups."""
    k = KernelBuilder("scaled", 1)
    read = k.input("A", "f32", ("M", "N"))
    scale = k.input("S", "f32", ("G", "N"), order)
    m, n = k.grid(m=Tiles("M", 8), n=Tiles("N", 16))
    k.load("x", read, (8, 16), at=(m * 8, n * 16))
    k.load("s", scale, k.columns("x"), at=(m // 4, n * 16))
    return k


def test_a_vector_of_columns_is_not_read_along_another_mode() -> None:
    assert scaled("row")
    with pytest.raises(KernelError, match='store S with order "row"'):
        scaled("col")


def a_builder() -> tuple[KernelBuilder, cx.kernel.Operand]:
    k = KernelBuilder("k", 8)
    return k, k.input("A", "f32", ("M", "N"))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda k, _: k.ticket((), 0, None, 0), "counter is a tuple"),
        (lambda k, _: k.loop("k", 0, 4, holds=4), "holds is an int"),
        (lambda k, _: k.build(3), "computes is an int"),
        (lambda k, _: k.jumps("foo"), "does not say how many steps"),
        (lambda k, a: k.load("x", a, (64,), at=(0, 0)), "tile is (64,)"),
        (lambda k, _: k.shared("s", "f32", (64, None)), "tile is (64, None)"),
        (lambda k, _: k.parts((64, 64), (8,)), "over is (8,)"),
    ],
)
def test_lines_of_a_builder_name_what_they_do_not_take(call: Any, words: str) -> None:
    with pytest.raises(CuteError, match=re.escape(words)):
        call(*a_builder())


def test_no_public_call_takes_a_builder_back_to_anything() -> None:
    assert not {"mark", "back_to"} & set(dir(KernelBuilder))
