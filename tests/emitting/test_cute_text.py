"""Kernels as CuTe C++: what the text claims, and what the language cannot say.

That C++ agrees is for `benchmarks/cute_asserts.py`, which needs a checkout of intel/sycl-tla; here
the types that the text names are read back, and compared with the kernel's own.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.emitting import emit
from pycute_xe.emitting.cute import CUTE
from pycute_xe.kernel import Load, Mma, Reorder
from pycute_xe.kernel.spec.functions import FUNCTIONS

BF16 = cx.XE_DPAS_TT(8, "f32", "bf16")
SMALL = cx.workgroup_mma(BF16, (64, 64, 32), ((2, 2, 1), (2, 1, 0)))
GEMM = cx.kernel.gemm(SMALL, a="col", epilogue="relu(alpha*acc + beta*C + bias[n])", d_type="bf16")
TEXT = emit(GEMM, "cute")


def claimed(label: str, text: str = TEXT) -> str:
    """The right side of the assertion with a label."""
    found = re.search(rf'^static_assert\((.*), "{re.escape(label)}"\);$', text, re.MULTILINE)
    assert found is not None, label
    depth = 0
    for i, letter in enumerate(found[1]):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 1:
            return found[1][i + 2 : -1]
    return found[1]


def flat(layout: cx.Layout, count: int) -> list[Any]:
    return [layout(i) for i in range(count)]


def test_claims_read_back_are_the_kernels_layouts() -> None:
    mma: Any = GEMM.mma
    for operand in "ABC":
        layout = cx.from_cute(claimed(f"{operand} of Mma"))
        own = getattr(mma, f"tv_layout_{operand}_tiled")
        assert len(layout) == 2
        assert flat(layout, cx.size(own)) == flat(own, cx.size(own))
    loads = {s.operand: s for s in GEMM.loop("k").body if isinstance(s, Load)}
    for name in ("A", "B"):
        copy: Any = loads[name].copy
        layout = cx.from_cute(claimed(f"Copy{name}"))
        count = cx.size(copy.layout_tv_tiled)
        assert flat(layout, count) == flat(copy.layout_tv_tiled, count)
        assert cx.from_cute(claimed(f"tile of Copy{name}")) == copy.tiler_mn
        moved = f"::by<{copy.op}, {copy.x_mode}, {copy.y_mode}>"
        assert f'{moved}, "operation of Copy{name}"' in TEXT
    moves = next(s for s in GEMM.statements() if isinstance(s, Reorder) and s.source == "tArA")
    slots = cx.from_cute(claimed("reorder tArA -> tCrA"))
    assert flat(slots, 16 * 64) == flat(moves.slots, 16 * 64)


def test_types_are_written_as_users_write_them() -> None:
    helper = re.search(r"^using Mma = (.*);$", TEXT, re.MULTILINE)
    assert helper is not None
    assert cx.from_cute(helper[1]) == GEMM.mma
    assert "using CopyA = decltype(make_block_2d_copy_A<bfloat16_t>(Mma{}, Stride<_1" in TEXT
    assert "using CopyD = decltype(make_block_2d_copy_D<bfloat16_t>(Mma{}, Stride<int64_t" in TEXT
    # The bias is a row of its own, which no function of CUTLASS makes.
    row = re.search(r"^using Copybias = (.*);$", TEXT, re.MULTILINE)
    assert row is not None
    assert cx.from_cute(row[1]).tiler_mn == (1, 64)


def test_the_mainloop_stands_in_order() -> None:
    loop = TEXT[TEXT.index("for (int k = 0; k < ((K + 31) >> 5); ++k) {") :]
    calls = re.findall(
        r"^ {4,6}(barrier_arrive|barrier_wait|copy|prefetch|reorder|gemm|if) ?\(",
        loop,
        re.MULTILINE,
    )
    assert calls == [
        *("barrier_arrive", "copy", "copy", "if", "prefetch", "prefetch"),
        *("reorder", "reorder", "gemm", "barrier_wait"),
    ]
    assert emit(GEMM, "cute") == TEXT


def test_the_listing_heads_the_text() -> None:
    head = [text.removeprefix("// ") for text in TEXT.splitlines()[: len(str(GEMM).splitlines())]]
    assert head == str(GEMM).splitlines()


def test_every_function_is_said() -> None:
    for name, function in sampled(FUNCTIONS.items(), 8):
        arguments = ", ".join(["acc", "2.0", "3.0"][: function.arity])
        text = emit(cx.kernel.gemm(SMALL, epilogue=f"{name}({arguments})"), "cute")
        assert "tErD_t tErD;" in text or "tCrC(i) = " in text


@pytest.mark.parametrize(
    ("epilogue", "says"),
    [
        ("acc + bias[m]", "a work-item reads values of .*bias that other work-items hold"),
    ],
)
def test_what_the_language_cannot_say_is_refused_by_name(epilogue: str, says: str) -> None:
    with pytest.raises(cx.KernelError, match=says):
        emit(cx.kernel.gemm(SMALL, epilogue=epilogue), "cute")


def test_a_maker_that_moves_half_is_refused_with_its_source() -> None:
    with pytest.raises(cx.KernelError, match=r"_copy_D of CUTLASS moves half .* 6601377"):
        emit(cx.kernel.gemm(SMALL, d="col"), "cute")
    emit(cx.kernel.gemm(SMALL, epilogue="acc + C", orders={"C": "col"}), "cute")


def test_kinds_without_a_meaning_are_refused_by_name() -> None:
    kinds = set(CUTE)
    assert Mma in kinds
    meaning = CUTE.without(Mma)
    assert meaning is not None
    try:
        with pytest.raises(cx.KernelError, match="this reader has no meaning for Mma"):
            emit(GEMM, "cute")
    finally:
        CUTE.of(Mma)(meaning)
    assert emit(GEMM, "cute") == TEXT


def test_reductions_are_refused_by_name() -> None:
    kernel = cx.kernel.gemm(SMALL, also={"r[m]": "sum(n, D[m,n])"})
    with pytest.raises(
        cx.KernelError, match=r"this reader has no meaning for (Reduce|AtomicStore)"
    ):
        emit(kernel, "cute")


def test_batches_move_the_pointer() -> None:
    text = emit(cx.kernel.gemm(SMALL, batch=True), "cute")
    assert "make_gmem_ptr(A + A_stride0 * (l))" in text
    assert "int64_t A_stride0, int64_t A_stride1" in text
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s4"), (32, 32, 128), ((2, 2, 1), (2, 1, 0)))
    packed = emit(cx.kernel.gemm(mma, batch=True), "cute")
    assert "make_gmem_ptr(A + A_stride0 * (l) / 2)" in packed


def test_names_that_c_takes_are_others_in_the_text() -> None:
    text = emit(cx.kernel.gemm(SMALL, epilogue="acc * thread"), "cute")
    assert text.startswith("// thread is called thread_ here.\n")
    assert "float thread_" in text


def test_saturating_conversions_round_first() -> None:
    op = cx.XE_DPAS_TT(8, "s32", "s8")
    mma = cx.workgroup_mma(op, (64, 64, 64), ((2, 2, 1), (2, 1, 0)))
    text = emit(cx.kernel.gemm(mma, d_type="s8"), "cute")
    assert "int8_t(cute::min(cute::max(tCrC(i), -128), 127))" in text
    text = emit(cx.kernel.gemm(mma, epilogue="0.5*acc", d_type="s8"), "cute")
    assert "cute::min(cute::max(sycl::rint(" in text


def test_conversions_that_c_cannot_pick_go_through_float() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "f16"), (64, 64, 32), ((2, 2, 1), (2, 1, 0)))
    text = emit(cx.kernel.gemm(mma, types={"A": "bf16"}), "cute")
    assert "half_t(float(tArA(i)))" in text
    with pytest.raises(cx.KernelError, match="values of u2 are converted by no function of CuTe"):
        emit(cx.kernel.gemm(mma, b="col", types={"B": "u2"}), "cute")


def test_without_stages_nothing_is_prefetched() -> None:
    assert "prefetch(" in TEXT
    assert "prefetch(" not in emit(cx.kernel.gemm(SMALL, stages=0), "cute")
