"""SYCL files: what they launch, compare, refuse and report, on a host whose SYCL writes it down.

The device functions here are the tests' own, of loops; `benchmarks/sycl_files.py` compiles whole
files against a checkout of intel/sycl-tla.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from sampling import sampled
from sycl_programs import WITHOUT_CUTE, compiled, ran, recording, unlike, with_device

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel

needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def gemm(**more: Any) -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, **more)


KERNEL = gemm(a="col", batch=True, d_type="bf16", epilogue="relu(alpha*acc + C + bias[n])")
LOOPS = """
CUTE_DEVICE void gemm_device(bfloat16_t const *A, int64_t a0, int64_t a2, bfloat16_t const *B,
    int64_t b0, int64_t b1, float alpha, float const *C, int64_t c0, int64_t c1, float const *bias,
    bfloat16_t *D, int64_t d0, int64_t d1, int L, int M, int K, int N, int l, int m, int n,
    int thread) {
  int const short_of = std::getenv("WRONG") && m == 1 ? 1 : 0;
  for (int i = 32 * m; i < std::min(M, 32 * m + 32); ++i)
    for (int j = 64 * n; j < std::min(N, 64 * n + 64); ++j) {
      float sum = 0;
      for (int k = 0; k < K - short_of; ++k)
        sum += float(A[l * a0 + i + k * a2]) * float(B[l * b0 + k * b1 + j]);
      sum = alpha * sum + C[l * c0 + i * c1 + j] + bias[j];
      D[l * d0 + i * d1 + j] = bfloat16_t(sum < 0 ? 0 : sum);
    }
}
"""
SIZES = ("--size", "L=2,M=70,K=37,N=104", "--repeat", "3")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = with_device(cx.emit(KERNEL, "sycl"), LOOPS)
    made, errors = compiled(recording(text, KERNEL), tmp_path_factory.mktemp("gemm"), *WITHOUT_CUTE)
    assert not errors
    return made


@needs_gcc
@pytest.mark.long
def test_a_file_launches_what_the_kernel_says(program: Path) -> None:
    done, launches, memory = ran(program, *SIZES)
    assert done.returncode == 0, done
    assert re.search(r"^result +equal$", done.stdout, re.MULTILINE)
    assert unlike(KERNEL, {"L": 2, "M": 70, "K": 37, "N": 104}, program) == ""
    assert len(launches) == 5  # to compare, to warm up, timed
    (first, *_) = launches
    assert (first.over, first.local) == ((2, 3, 2 * 64), (1, 1, 64))
    assert (first.subgroup, first.registers) == (16, 256)
    fields = dict(first.fields)
    # 70 rows of 2 bytes fill three cache lines, 104 columns of 2 and 4 bytes four and seven.
    pitches = {"A": 192, "B": 256, "C": 448, "bias": 416, "D": 256}
    rows = {"A": 2 * 37, "B": 2 * 37, "C": 2 * 70, "bias": 1, "D": 2 * 70}
    for name, pitch in pitches.items():
        assert fields[name] % 64 == 0
        assert memory[fields[name]] == rows[name] * pitch
    strides = {
        "A_stride0": 37 * 96, "A_stride2": 96, "B_stride0": 37 * 128, "B_stride1": 128,
        "C_stride0": 70 * 112, "C_stride1": 112, "D_stride0": 70 * 128, "D_stride1": 128,
        "L": 2, "M": 70, "K": 37, "N": 104,
    }  # fmt: skip
    assert {name: fields[name] for name in strides} == strides


CHANGES: dict[str, tuple[str, str]] = {
    "subgroups": ("sub_group_size<16>", "sub_group_size<32>"),
    "registers": ("grf_size<REGISTERS>", "grf_size<128>"),
    "work-items": ("xe_local(1, 1, 64)", "xe_local(1, 1, 128)"),
    "a tile": ("xe_groups((((N + 63) >> 6))", "xe_groups((((N + 127) >> 7))"),
    "axes": ("6)), (((M + 31) >> 5)), (L));", "6)), (L), (((M + 31) >> 5)));"),
    "a group's place": ("get_group(1)", "get_group(0)"),
    "strides": ("A.strides[0], A.strides[2]", "A.strides[2], A.strides[0]"),
    "pointers": ("C.pointer(), C.strides", "bias.pointer(), C.strides"),
    "sizes": ("L, M, K, N}; }", "L, K, M, N}; }"),
    "an order": ('A{"A", 1}', 'A{"A", 2}'),
    "extents": ("std::vector<int64_t>{L, M, K}", "std::vector<int64_t>{L, K, M}"),
    "rows": ("rows *= shape[mode]", "rows = shape[mode]"),
    "a pitch": ("+ 63) / 64 * 64", "+ 3) / 4 * 4"),
    "alignment": ("aligned_alloc_shared<uint8_t>(64,", "aligned_alloc_shared<uint8_t>(32,"),
    "arguments": ("gemm_device(A, A_stride0, A_stride2", "gemm_device(A, A_stride2, A_stride0"),
}  # fmt: skip


@needs_gcc
@pytest.mark.parametrize("what", sampled([*CHANGES], 1))
@pytest.mark.long
def test_a_changed_figure_of_a_launch_is_noticed(what: str, tmp_path: Path) -> None:
    text = recording(with_device(cx.emit(KERNEL, "sycl"), LOOPS), KERNEL)
    assert text.count(CHANGES[what][0]) == 1
    program, errors = compiled(text.replace(*CHANGES[what]), tmp_path, *WITHOUT_CUTE)
    sizes = {"L": 2, "M": 70, "K": 37, "N": 104}
    assert errors or noticed(program, sizes)


def noticed(program: Path, sizes: dict[str, int]) -> str:
    """What a program does otherwise than its kernel says."""
    try:
        wrong = unlike(KERNEL, sizes, program)
    except ValueError as error:
        return str(error)
    done, _, _ = ran(program, *SIZES)
    return wrong or done.stderr or ("" if done.returncode == 0 else done.stdout)


@needs_gcc
@pytest.mark.long
def test_a_difference_is_seen_and_reported(program: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done, _, _ = ran(program, *SIZES, "--save", str(file), WRONG="1")
    assert done.returncode == 1
    found = re.search(r"D\[(\d+), (\d+), (\d+)\] is \S+, the host has", done.stdout)
    assert found is not None
    assert 32 <= int(found[2]) < 64
    report = cx.read_report(file)
    assert not report.equal
    assert report.measures(KERNEL)
    assert not report.measures(gemm())
    assert dict(report.sizes) == {"L": 2, "M": 70, "K": 37, "N": 104}
    assert (report.device, report.registers, report.compared) == ('Stub "GPU"', 256, 1.0)
    assert (report.usual, report.operations) == (2e-6, 2 * 2 * 70 * 37 * 104)
    # A, B, C, the bias and D, each once.
    assert report.bytes == 2 * 37 * 140 + 2 * 37 * 208 + 2 * 70 * 416 + 416 + 2 * 70 * 208


REFUSED: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "no device": ((), {"STUB_DEVICE": "none"}, "SYCL has no GPU here"),
    "block-2D": ((), {"STUB_DEVICE": "old"}, "has no block-2D messages"),
    "memory": ((), {"STUB_MEMORY": "100000"}, "gives 100,000: use smaller sizes"),
    "a width": (("--size", "N=101"), {}, "its width of 202 must be a multiple of 4"),
    "a pitch": (("--pitch", "C=516"), {}, "C: its pitch of 516 must be a multiple of 16"),
    "a narrow pitch": (("--pitch", "C=64"), {}, "a pitch of 64 bytes is below the 512 of a row"),
    "a size": (("--size", "Q=3"), {}, "Q is unknown: the sizes are L, M, K, N"),
    "nothing": (("--size", "M=0"), {}, "a size must be 1 or more"),
    "a word": (("--size", "M=x"), {}, "x is not a whole number"),
    "an option": (("--fast", "1"), {}, "the options are --size"),
    "a file": ((*SIZES, "--save", "/nowhere/r.json"), {}, "/nowhere/r.json cannot be written"),
}


@needs_gcc
@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.long
def test_what_stands_in_the_way_is_one_line(what: str, program: Path) -> None:
    options, stub, words = REFUSED[what]
    done, _, _ = ran(program, *options, **stub)
    assert done.returncode == 2
    assert done.stderr.startswith("gemm: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@needs_gcc
@pytest.mark.long
def test_elements_below_a_byte_are_packed_and_functions_have_a_tolerance(tmp_path: Path) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "s32", "s4"), (32, 32, 128), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.gemm(mma, b="col", epilogue="silu(0.125*acc)", d_type="f32")
    loops = """
int nibble(int4_t const *of, int64_t at) {
  return (((uint8_t const *)of)[at / 2] >> (at % 2 * 4) & 15 ^ 8) - 8;
}
CUTE_DEVICE void gemm_device(int4_t const *A, int64_t A_ld, int4_t const *B, int64_t B_ld,
    float *D, int64_t D_ld, int M, int K, int N, int m, int n, int thread) {
  for (int i = 32 * m; i < std::min(M, 32 * m + 32); ++i)
    for (int j = 32 * n; j < std::min(N, 32 * n + 32); ++j) {
      int sum = 0;
      for (int k = 0; k < K; ++k) sum += nibble(A, i * A_ld + k) * nibble(B, j * B_ld + k);
      D[i * D_ld + j] = float(0.125 * sum / (1 + std::exp(-0.125 * sum))) * (1 + 1e-6f);
    }
}
"""
    text = with_device(cx.emit(kernel, "sycl"), loops)
    flags = (*WITHOUT_CUTE, "-DREGISTERS=128")
    made, errors = compiled(recording(text, kernel), tmp_path, *flags)
    assert not errors
    done, launches, _ = ran(made, "--size", "M=40,K=200,N=35")
    assert done.returncode == 0, done
    assert "equal within 3.8e-06 of the largest\n" in done.stdout
    assert launches[0].registers == 128
    # 200 elements of 4 bits take two cache lines of 128.
    assert launches[0].fields["A_ld"] == 256
    assert launches[0].over == (1, 2, 2 * 64)


def test_a_file_says_how_it_is_built() -> None:
    text = cx.emit(KERNEL, "sycl")
    head = text[: text.index("#include")]
    for word in ("icpx -fsycl", "cmake_minimum_required", "SPV_INTEL_2d_block_io", "SYCL_TLA"):
        assert word in head
    assert cx.emit(KERNEL, "cute").split("#include <cute/tensor.hpp>\n")[1] in text


def test_what_has_no_file_is_refused_by_name() -> None:
    with pytest.raises(KernelError, match="claims nothing"):
        cx.emit(dataclasses.replace(KERNEL, computes=None), "sycl")
    with pytest.raises(KernelError, match="other work-items hold"):
        cx.emit(gemm(epilogue="acc + bias[m]"), "sycl")
    # sycl-tla 6601377, include/cute/arch/mma_xe.hpp declares DPAS of no 8-bit floats.
    op = cx.XE_DPAS_TT(8, "f32", "f8e4m3")
    kernel = cx.kernel.gemm(cx.workgroup_mma(op, (64, 64, 32), ((2, 2, 1), (2, 1, 0))))
    for to in ("cute", "sycl"):
        with pytest.raises(KernelError, match=f'to="{to}".*does not declare XE_DPAS_TT<8,float,f'):
            cx.emit(kernel, to)


@pytest.mark.parametrize("name", ["get", "printf", "Shape", "fill", "REGISTERS", "auto"])
def test_names_are_the_texts_own(name: str) -> None:
    text = cx.emit(gemm(epilogue=f"acc + {name}[n]"), "sycl")
    assert f"// {name} is called {name}_ here." in text
    assert f'xe_launching::Operand<float> {name}_{{"{name}", 0}};' in text
    assert f"{name}_.at({{xe_" in text
