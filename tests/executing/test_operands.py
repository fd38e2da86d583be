"""What a kernel is handed and hands back: operands of any modes, types and roles, against NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from small_kernels import fragment, load_of, small_kernel, store_of

import pycute_xe as cx
from pycute_xe.errors import DTypeError, InputError, LegalityError, MachineError
from pycute_xe.kernel import Fill, Index, Kernel, Load, Operand, Store

BF16 = ml_dtypes.bfloat16
EXECUTORS = ("reference", "fast")
GRID = ((2, 2, 1), (2, 1, 0))
each_executor = pytest.mark.parametrize("executor", EXECUTORS)


def gemm(kind: str = "bf16", acc: str = "f32", b_kind: str | None = None, **given: Any) -> Kernel:
    op = cx.XE_DPAS_TT(8, acc, kind, b_kind or kind)
    depth = {32: 16, 16: 32, 8: 64, 4: 128, 2: 128}[op.A.bits]
    return cx.kernel.gemm(cx.workgroup_mma(op, (32, 64, depth), GRID), **given)


def whole(rng: Any, low: int, high: int, shape: tuple[int, ...], dtype: Any) -> Any:
    return rng.integers(low, high, shape).astype(dtype)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@each_executor
def test_batches_scalars_vectors_and_a_matrix(rng: Any, executor: Any) -> None:
    kernel = gemm(epilogue="relu(alpha*acc + beta*C + bias[n])", d_type="bf16", batch=True)
    a = whole(rng, -4, 5, (2, 20, 50), BF16)
    b = whole(rng, -4, 5, (2, 50, 70), BF16)
    c = whole(rng, -9, 9, (2, 20, 70), np.float32)
    bias = whole(rng, -9, 9, (70,), np.float32)
    out = cx.run(kernel, a, b, 2, 0.5, c, bias, executor=executor)
    exact = 2 * (a.astype(float) @ b.astype(float)) + c / 2 + bias
    assert out.dtype == BF16
    assert np.array_equal(out, np.maximum(exact, 0).astype(np.float32).astype(BF16))
    named = cx.run(kernel, a, b, executor=executor, bias=bias, C=c, beta=0.5, alpha=np.float32(2))
    assert np.array_equal(out, named)


@each_executor
def test_several_outputs_come_as_a_named_tuple(rng: Any, executor: Any) -> None:
    kernel = gemm(epilogue="relu(acc)", also={"aux": "acc + bias[m]"})
    a, b = whole(rng, -4, 5, (33, 50), BF16), whole(rng, -4, 5, (50, 70), BF16)
    bias = np.arange(33, dtype=np.float32)
    out = cx.run(kernel, a, b, bias=bias, executor=executor)
    exact = a.astype(float) @ b.astype(float)
    assert out._fields == ("aux", "D")
    assert np.array_equal(out.D, np.maximum(exact, 0))
    assert np.array_equal(out.aux, exact + bias[:, None])
    aux, d = out
    assert aux is out.aux
    assert d is out.D


INTEGERS = [("s8", "s8"), ("u8", "s8"), ("u8", "u8"), ("s4", "s4"), ("u4", "s4"), ("s8", "s4")]
RANGES = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16)}
HOSTS = {"s8": np.int8, "u8": np.uint8, "s4": ml_dtypes.int4, "u4": ml_dtypes.uint4}


@each_executor
@pytest.mark.parametrize("kinds", INTEGERS, ids="-".join)
def test_integers_are_exact(kinds: tuple[str, str], rng: Any, executor: Any) -> None:
    a_kind, b_kind = kinds
    kernel = gemm(a_kind, "s32", b_kind, b="col" if "4" in b_kind else "row")
    a = whole(rng, *RANGES[a_kind], (37, 131), HOSTS[a_kind])
    b = whole(rng, *RANGES[b_kind], (131, 45), HOSTS[b_kind])
    out = cx.run(kernel, a, b, executor=executor)
    assert out.dtype == np.int32
    assert np.array_equal(out, a.astype(np.int64) @ b.astype(np.int64))


@each_executor
def test_conversion_to_s8_saturates(rng: Any, executor: Any) -> None:
    kernel = gemm("s8", "s32", d_type="s8")
    a, b = whole(rng, -128, 128, (37, 70), np.int8), whole(rng, -2, 2, (70, 45), np.int8)
    out = cx.run(kernel, a, b, executor=executor)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    assert (exact > 127).any()
    assert np.array_equal(out, np.clip(exact, -128, 127))


@each_executor
def test_tf32_takes_float32_that_holds_it_and_rounds_what_is_asked(rng: Any, executor: Any) -> None:
    kernel = gemm("tf32")
    a, b = whole(rng, -64, 64, (37, 40), np.float32), whole(rng, -8, 8, (40, 45), np.float32)
    exact = a.astype(float) @ b.astype(float)
    assert np.array_equal(cx.run(kernel, a, b, executor=executor), exact)
    off = a + np.float32(2.0**-20) * (a != 0)
    with pytest.raises(DTypeError, match="elements are not all tf32"):
        cx.run(kernel, off, b, executor=executor)
    assert np.array_equal(cx.run(kernel, off, b, dtype="tf32", executor=executor), exact)


def test_each_operand_may_be_rounded_to_its_own_type(rng: Any) -> None:
    kernel = gemm(epilogue="acc + bias[n]")
    a, b, bias = rng.standard_normal((8, 8)), rng.standard_normal((8, 8)), rng.standard_normal(8)
    with pytest.raises(DTypeError, match="the kernel takes f32"):
        cx.run(kernel, a, b, bias, dtype="bf16")
    kinds = {"A": "bf16", "B": "bf16", "bias": "f32"}
    out = cx.run(kernel, a, b, bias, dtype=kinds, executor="reference")
    exact = a.astype(BF16).astype(float) @ b.astype(BF16).astype(float) + bias
    np.testing.assert_allclose(out, exact, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------- what is refused


def test_too_few_too_many_doubled_and_unknown_operands() -> None:
    kernel = gemm(epilogue="alpha*acc + bias[n]")
    a = np.ones((4, 4), BF16)
    with pytest.raises(InputError, match=r"bias is missing; the kernel takes A, B, alpha, bias"):
        cx.run(kernel, a, a, 1.0)
    with pytest.raises(InputError, match="alpha, bias are missing"):
        cx.run(kernel, a, B=a)
    with pytest.raises(InputError, match="5 operands were given"):
        cx.run(kernel, a, a, 1, a[0], a)
    with pytest.raises(InputError, match="A was given by position and by name"):
        cx.run(kernel, a, a, A=a)
    with pytest.raises(InputError, match="gamma is not an operand"):
        cx.run(kernel, a, a, gamma=1)
    with pytest.raises(InputError, match="D is an output"):
        cx.run(kernel, a, a, D=a)


def test_shapes_that_disagree_name_both_operands() -> None:
    kernel = gemm(epilogue="acc + C + bias[n]", batch=True)
    a, c = np.ones((2, 4, 4), BF16), np.ones((2, 4, 4), np.float32)
    with pytest.raises(InputError, match=r"B has extent 4 .*bias has 5 elements"):
        cx.run(kernel, a, a, c, np.ones(5, np.float32))
    with pytest.raises(InputError, match=r"A has extent 2 .*C has extent 3 along mode 0 \(L\)"):
        cx.run(kernel, a, a, np.ones((3, 4, 4), np.float32), c[0, 0])
    with pytest.raises(InputError, match="bias has 2 dimensions, a vector has 1"):
        cx.run(kernel, a, a, c, c[0])
    with pytest.raises(InputError, match="A has 2 dimensions"):
        cx.run(kernel, a[0], a, c, c[0, 0])
    with pytest.raises(InputError, match="M is an extent, -1 is not a count"):
        cx.run(kernel, a, a, c, c[0, 0], M=-1)
    with pytest.raises(InputError, match="M is 5, A has extent 4"):
        cx.run(kernel, a, a, c, c[0, 0], M=5)


def test_an_extent_that_is_an_index_is_checked() -> None:
    operands = (
        Operand("X", "f32", ("M", "N")),
        Operand("S", "f32", (Index("M") * 2,)),
        Operand("Y", "f32", ("M", "N"), role="out"),
    )
    body = (load_of("X", "x"), store_of("Y", "x"))
    kernel = Kernel("k", 1, operands, (fragment("x", "f32", 8),), (("g", Index(None, 1)),), body)
    x = np.ones((8, 16), np.float32)
    assert np.array_equal(cx.run(kernel, x, np.ones(16, np.float32), executor="reference"), x)
    with pytest.raises(InputError, match=r"S has 8 elements, 2\*M is 16"):
        cx.run(kernel, x, x[0, :8])


@each_executor
def test_sizes_that_no_input_tells_are_given_by_name(executor: Any) -> None:
    operands = (Operand("Y", "f32", ("M", "N"), role="out"),)
    body = (Fill("x", 3), store_of("Y", "x"))
    kernel = Kernel("k", 1, operands, (fragment("x", "f32", 8),), (("g", Index(None, 1)),), body)
    assert (cx.run(kernel, M=5, N=4, executor=executor) == np.full((5, 4), 3)).all()
    with pytest.raises(InputError, match="no input tells how large N is"):
        cx.run(kernel, M=5)


# ---------------------------------------------------------------- places in operands


@each_executor
def test_a_slice_of_any_two_modes(executor: Any) -> None:
    # Rows run along the first of three modes, and the slice is told by the second.
    load, store = load_of("X", "x"), store_of("Y", "x")
    middle = Index("h")
    body = (
        Load(load.copy, "X", (Index(), middle, Index()), "x", (0, 2)),
        Store(store.copy, "Y", (Index(), middle, Index()), "x", (0, 2)),
    )
    operands = (
        Operand("X", "f32", ("M", "H", "N")),
        Operand("Y", "f32", ("M", "H", "N"), role="out"),
    )
    kernel = Kernel("k", 1, operands, (fragment("x", "f32", 8),), (("h", Index("H")),), body)
    x = np.arange(7 * 3 * 10, dtype=np.float32).reshape(7, 3, 10)
    assert np.array_equal(cx.run(kernel, x, executor=executor), x)


@each_executor
def test_a_place_looked_up_in_an_operand(executor: Any) -> None:
    # A page table: slice g of Y is slice table[g] of X.
    load, store = load_of("X", "x"), store_of("Y", "x")
    page = Index.element("table", Index("g"))
    body = (
        Load(load.copy, "X", (page, Index(), Index()), "x", (1, 2)),
        Store(store.copy, "Y", (Index("g"), Index(), Index()), "x", (1, 2)),
    )
    operands = (
        Operand("X", "f32", ("P", "M", "N")),
        Operand("table", "s32", ("G",)),
        Operand("Y", "f32", ("G", "M", "N"), role="out"),
    )
    kernel = Kernel("k", 1, operands, (fragment("x", "f32", 8),), (("g", Index("G")),), body)
    x = np.arange(5 * 8 * 16, dtype=np.float32).reshape(5, 8, 16)
    pages = np.array([4, 0, 4], np.int32)
    out, report = cx.run(kernel, x, pages, executor=executor, report=True)
    assert np.array_equal(out, x[pages])
    assert report.messages == {"load": 3, "store": 3}
    with pytest.raises(MachineError, match="outside"):
        cx.run(kernel, x, np.array([5], np.int32), executor=executor)


@each_executor
def test_an_operand_that_is_read_and_written_stays_the_users_own(executor: Any) -> None:
    operands = (Operand("X", "f32", ("M", "N"), role="inout"),)
    body = (load_of("X", "x"), store_of("X", "x", at=(8, 0)))
    kernel = Kernel("k", 1, operands, (fragment("x", "f32", 8),), (("g", Index(None, 1)),), body)
    x = np.arange(12 * 16, dtype=np.float32).reshape(12, 16)
    out = cx.run(kernel, x, executor=executor)
    assert np.array_equal(out[8:], x[:4])
    assert np.array_equal(out[:8], x[:8])
    assert x[8, 0] == 128


def on_a_cache_line(*shape: int) -> Any:
    count = 2 * int(np.prod(shape))
    room = np.zeros(count + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + count].view(BF16).reshape(shape)


def test_strict_judges_every_slice() -> None:
    kernel = gemm(batch=True)
    a, b = on_a_cache_line(2, 8, 64), on_a_cache_line(2, 64, 64)
    assert (cx.run(kernel, a, b, strict=True, executor="reference") == 0).all()
    # Slices 40 bytes apart: the second one begins at an address that is not a cache line.
    odd = np.lib.stride_tricks.as_strided(a, (2, 4, 20), (40, 128, 2))
    with pytest.raises(LegalityError, match="base"):
        cx.run(kernel, odd, b[:, :20], strict=True)


def test_elements_narrower_than_a_byte_are_always_copied() -> None:
    kernel = gemm("s4", "s32", b="col")
    a, b = np.ones((8, 128), ml_dtypes.int4), np.ones((128, 8), ml_dtypes.int4)
    out, report = cx.run(kernel, a, b, executor="reference", report=True)
    assert (out == 128).all()
    assert report.copies == ("A", "B")
    with pytest.raises(LegalityError, match="NumPy keeps in a byte each"):
        cx.run(kernel, a, b, strict=True)


# ---------------------------------------------------------------- nothing, and doubts


@pytest.mark.parametrize("shape", [(0, 5, 4), (5, 0, 4), (5, 4, 0)])
@each_executor
def test_nothing_is_multiplied_and_the_epilogue_still_holds(
    shape: tuple[int, int, int], executor: Any
) -> None:
    m, n, k = shape
    kernel = gemm(epilogue="relu(acc + bias[n])", d_type="bf16")
    bias = np.arange(n, dtype=np.float32) - 1
    out = cx.run(kernel, np.ones((m, k), BF16), np.ones((k, n), BF16), bias, executor=executor)
    assert out.dtype == BF16
    assert np.array_equal(out, np.broadcast_to(np.maximum(k + bias, 0), (m, n)))


@each_executor
def test_a_kernel_of_unfaithful_atoms_says_so(executor: Any) -> None:
    # Blocks of half a register each: CUTLASS packs them, the message pads them.
    one_row = cx.workgroup_mma(cx.XE_DPAS_TT(1, "f32", "bf16"), (2, 16, 32), ((2, 1, 1), (1, 1, 0)))
    kernel = cx.kernel.gemm(one_row, copy_a=cx.XE_LOAD_2D(16, 1, 32, 16))
    a = (np.arange(64 * 64) % 7).reshape(64, 64).astype(BF16)
    with pytest.warns(cx.UnfaithfulWarning, match="does not hold what its layout says"):
        out, report = cx.run(kernel, a[:4], a[:, :16], executor=executor, report=True)
    assert not np.array_equal(out, a[:4].astype(float) @ a[:, :16].astype(float))
    assert len(report.doubts) == 1
    assert "not vouched for" in str(report)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cx.run(small_kernel(()), np.ones((8, 16), np.float32), executor=executor)
