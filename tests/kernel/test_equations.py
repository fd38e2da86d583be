"""Specifications as text: read back from what they print, and refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from broken_kernels import tiled_mma

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Element, Index, Kernel, Operand, read_specification, total
from pycute_xe.kernel.spec.expression import Const, Where

MMA = tiled_mma((16, 32, 32), (1, 2))
KERNELS: dict[str, Any] = {
    "gemm": lambda: cx.kernel.gemm(
        MMA, epilogue="relu(2*acc - bias[n])", also={"rows[m]": "sum(n, acc)"}, d_type="bf16"
    ),
    "batch": lambda: cx.kernel.gemm(
        MMA, batch=True, transform_b="(B - z[k/128,n]) * s[k/128,n]", types={"B": "s4"}
    ),
    "split_k": lambda: cx.kernel.split_k(MMA, 4),
    "softmax": lambda: cx.kernel.softmax_gemm(MMA),
    "top_k": lambda: cx.kernel.top_k_gemm(MMA, 3),
    "dual": lambda: cx.kernel.dual_gemm(MMA, combine="alpha * acc0 + max(acc1, 0)"),
    "scheduled": lambda: cx.kernel.scheduled(MMA, groups="batch"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_specification_is_read_back_from_what_it_prints(name: str) -> None:
    kernel: Kernel = KERNELS[name]()
    assert kernel.computes is not None
    assert read_specification(str(kernel.computes), kernel.operands) == kernel.computes


def test_conditions_and_indices() -> None:
    A, D = Operand("A", "f32", ("M",)), Operand("D", "f32", ("M",), role="out")
    T = Operand("T", "s32", ("M",))
    m, M = Index("m"), Index("M")
    read = read_specification("D[m] = where(m + 1 < M, A[(m + 1) % 4 / 2], -inf)", (A, D, T))
    place = (m + 1) % 4 // 2
    assert read.of("D").value == Where(m + 1, M, Element("A", (place,)), Const(float("-inf")))
    read = read_specification("D[m] = sum(i <= 3, A[m])".replace("<= 3", "< 4"), (A, D))
    assert read.of("D").value == total("i", 4, Element("A", (m,)))
    for text, index, below in (
        ("m <= T[m]", m, Index.element("T", m) + 1),
        ("m > 2", Index(None, 2), m),
        ("2*m >= 3", Index(None, 3), 2 * m + 1),
    ):
        value = read_specification(f"D[m] = where({text}, A[m], 0)", (A, D, T)).of("D").value
        assert isinstance(value, Where)
        assert (value.index, value.below) == (index, below)


def test_a_scalar_is_an_index() -> None:
    A, D = Operand("A", "f32", ("V",)), Operand("D", "f32", ("M",), role="out")
    first, ids = Operand("first", "s32", ()), Operand("ids", "s32", ("M",))
    text = "D[m] = where(-1 < ids[m]-first, where(ids[m]-first < V, A[ids[m]-first], 0), 0)"
    read = read_specification(text, (A, D, first, ids))
    own = Index.element("ids", Index("m")) - Index.element("first")
    value = read.of("D").value
    assert isinstance(value, Where)
    assert (value.index, value.below) == (Index(None, -1), own)
    assert read_specification(str(read), (A, D, first, ids)) == read


def test_a_condition_tells_how_far_a_variable_runs() -> None:
    A, B = Operand("A", "f32", ("M", 64)), Operand("B", "f32", ("M", "K"))
    D = Operand("D", "f32", ("M", "N"), role="out")
    for text in ("where(n < 64, A[m,n], B[m,n-64])", "where(n < K, B[m,n], 0)"):
        assert str(read_specification(f"D[m,n] = {text}", (A, B, D)).of("D").value) == text
    for text in ("where(n < 65, A[m,n], 0)", "where(n < 64, 0, A[m,n])"):
        with pytest.raises(KernelError, match="n runs to N, this mode of A to 64"):
            read_specification(f"D[m,n] = {text}", (A, B, D))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("relu(A[m,k])", "is not an equation"),
        ("D[m,1] = A[m,n]", "D.m,1. is not an output with a name for each mode"),
        ("D[m,n] = A[m,n", r"'A\[m,n' is not an expression"),
        ("D[m,n] = X[m,n]", "X is not an operand"),
        ("D[m,n] = A[m,i]", "the name i is unknown"),
        ("D[m,n] = sum(i, 1)", "nothing says how far it runs"),
        ("D[m,n] = A[m*n,0]", "an index is multiplied and divided by integers only"),
        ("D[m,n] = where(A[m,n], 1, 0)", "does not say which of two indices is less"),
        ("D[m,n] = sum(k, A[m,k], f31)", "it is not a sum"),
        ("D[m,n] = D[m,n]", "has no value before the kernel stores it"),
        ("D[m,n] = sum(k, A[m,k+1])", "nothing says how far it runs"),
        ("D[m,n] = 1\nD[m,n] = 2", "each output needs exactly one claim"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(text: str, words: str) -> None:
    A, D = Operand("A", "f32", ("M", "K")), Operand("D", "f32", ("M", "N"), role="out")
    with pytest.raises(KernelError, match=words):
        read_specification(text, (A, D))
