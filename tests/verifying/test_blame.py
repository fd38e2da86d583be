"""A disproof names the smallest part in which a kernel and its specification differ."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, strategies as st

import pycute_xe as cx
from pycute_xe.kernel import Kernel, KernelBuilder, Tiles

UNARY = ["exp", "tanh", "sigmoid", "gelu", "silu", "relu", "sqrt", "rsqrt", "log"]


def mapped(code: str, claim: str, kind: str) -> Kernel:
    k = KernelBuilder("mapped", 2)
    A, D = k.input("A", "f32", ("M", "N")), k.output("D", kind, ("M", "N"))
    m, n = k.grid(m=Tiles("M", 16), n=Tiles("N", 16))
    k.load("v", A, (16, 16), at=(m * 16, n * 16))
    k.map("z", code, kind)
    k.store(D, "z", at=(m * 16, n * 16))
    claim = claim if kind == "f32" else f"{kind}({claim})"
    return k.build(f"D[m,n] = {claim}".replace("v", "A[m,n]"))


def message(kernel: Kernel) -> str:
    found = cx.verify(kernel).counterexample
    assert found is not None
    return found.message.partition(": ")[2]


@pytest.mark.parametrize("kind", ["f32", "bf16"])
@pytest.mark.parametrize(
    ("code", "claim", "words"),
    [
        ("gelu(v)", "silu(v)", "the kernel computes gelu, the specification silu"),
        ("tanh(gelu(v))", "tanh(silu(v))", "the kernel computes gelu, the specification silu"),
        ("exp(2*v)", "exp(v)", "the kernel computes 2·A, the specification A"),
        ("gelu(v) + 1", "gelu(v)", "the kernel adds 1, the specification does not"),
        ("tanh(v)", "exp(tanh(v))", "the specification applies exp, the kernel does not"),
        ("gelu(tanh(v))", "tanh(v)", "the kernel applies gelu, the specification does not"),
    ],
)
def test_the_smallest_part_is_named(code: str, claim: str, words: str, kind: str) -> None:
    assert message(mapped(code, claim, kind)) == words


@pytest.mark.long
@given(
    st.lists(st.sampled_from(["tanh", "sigmoid", "exp"]), max_size=2),
    st.sampled_from(["gelu", "silu", "rsqrt", "log"]),
    st.sampled_from(["gelu", "silu", "rsqrt", "log"]),
    st.sampled_from(["f32", "bf16"]),
)
def test_functions_around_a_difference_are_not_named(
    enclosing: list[str], computed: str, claimed: str, kind: str
) -> None:
    if computed == claimed:
        return
    left, right = f"{computed}(v)", f"{claimed}(v)"
    for name in enclosing:
        left, right = f"{name}({left})", f"{name}({right})"
    verdict = cx.verify(mapped(left, right, kind))
    assert not verdict
    if verdict.counterexample is not None:
        words = verdict.counterexample.message
        assert computed in words
        assert claimed in words
        assert not any(name in words for name in enclosing)


def test_a_gemm_with_a_wrong_function_is_blamed_for_it() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((2, 2, 1), (2, 1, 0)))
    right = cx.kernel.gemm(mma, epilogue="bf16(silu(acc))", d_type="bf16")
    wrong = cx.kernel.gemm(mma, epilogue="bf16(gelu(acc))", d_type="bf16")
    found = cx.verify(dataclasses.replace(wrong, computes=right.computes)).counterexample
    assert found is not None
    assert found.message.endswith("the kernel computes gelu, the specification silu")
