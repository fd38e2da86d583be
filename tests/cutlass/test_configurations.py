"""Configurations of GEMMs as CUTLASS's users write them, and the kernels that they describe.

`configurations.tsv` lists those of intel/sycl-tla 6601377: examples, benchmarks and tests. That
each type is what C++ makes of the source was seen in C++ (`benchmarks/configurations.py`).
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from pasted_blocks import block
from sampling import sampled

import pycute_xe as cx
from pycute_xe.cli import main
from pycute_xe.cli.files import read_subject
from pycute_xe.converting import convert
from pycute_xe.cutlass import from_cute
from pycute_xe.cutlass.configuration import CutlassType, templates
from pycute_xe.errors import CuteError, InputError, KernelError
from pycute_xe.kernel import from_cutlass
from pycute_xe.numeric import as_numeric

DATA = Path(__file__).parents[1] / "data" / "configurations.tsv"
with DATA.open(encoding="utf-8") as _file:
    ROWS = list(csv.DictReader(_file, delimiter="\t", quoting=csv.QUOTE_NONE))
READ = [row for row in ROWS if row["type"]]


def mma(kind: str = "bf16") -> cx.TiledMma:
    op = cx.XE_DPAS_TT(8, "f32", kind)
    return cx.workgroup_mma(op, (64, 128, 32), ((2, 4, 1), (4, 1, 0)))


LINEAR: dict[str, Any] = {"types": {"C": "f32"}, "orders": {"C": "row"}, "d_type": "f32"}
CASES: dict[str, tuple[dict[str, str], cx.kernel.Kernel]] = {
    "a linear combination": (
        {},
        cx.kernel.gemm(mma(), stages=3, epilogue="alpha*acc + beta*C", **LINEAR),
    ),
    "without C, B column-major": (
        {"c": "void", "b": "ColumnMajor"},
        cx.kernel.gemm(mma(), b="col", stages=3, epilogue="alpha*acc", d_type="f32"),
    ),
    "a bias for each column, and a function": (
        {"op": "XeLinCombPerColBiasEltAct<thread::SiLu, float, float, half_t>"},
        cx.kernel.gemm(
            mma(),
            stages=3,
            epilogue="silu(alpha*acc + beta*C + bias[n])",
            **{**LINEAR, "types": {"C": "f32", "bias": "f16"}},
        ),
    ),
    "a bias for each row, kept before the function": (
        {"op": "LinCombPerRowBiasEltActAux<layout::RowMajor, thread::ReLu, float, float>"},
        cx.kernel.gemm(
            mma(),
            stages=3,
            epilogue="relu(alpha*acc + beta*C + bias[m])",
            also={"Aux": "alpha*acc + beta*C + bias[m]"},
            **{**LINEAR, "types": {"C": "f32", "bias": "f32", "Aux": "f32"}},
        ),
    ),
    "another matrix that is read, by columns": (
        {"op": "XeLinCombDeEltAct<layout::ColumnMajor, std::multiplies, float, float, half_t>"},
        cx.kernel.gemm(
            mma(),
            stages=3,
            epilogue="(alpha*acc + beta*C) * aux[m,n]",
            types={"C": "f32", "aux": "f16"},
            orders={"C": "row", "aux": "col"},
            d_type="f32",
        ),
    ),
    "another matrix that is written, by columns": (
        {"op": "LinCombPerRowBiasEltActAux<layout::ColumnMajor, thread::ReLu, float, float>"},
        cx.kernel.gemm(
            mma(),
            stages=3,
            epilogue="relu(alpha*acc + beta*C + bias[m])",
            also={"Aux": "alpha*acc + beta*C + bias[m]"},
            types={"C": "f32", "bias": "f32", "Aux": "f32"},
            orders={"C": "row", "Aux": "col"},
            d_type="f32",
        ),
    ),
    "factors of 16 bits": (
        {"op": "LinearCombination<float, float, float, half_t>"},
        cx.kernel.gemm(
            mma(),
            stages=3,
            epilogue="alpha*acc + beta*C",
            types={"C": "f32", "alpha": "f16", "beta": "f16"},
            orders={"C": "row"},
            d_type="f32",
        ),
    ),
    "B by the strides of A, whose second mode is contiguous": (
        {"strides": "cutlass::gemm::TagToStrideA_t<cutlass::layout::RowMajor>"},
        cx.kernel.gemm(mma(), b="col", stages=3, epilogue="alpha*acc + beta*C", **LINEAR),
    ),
    "strides where a tag may stand": (
        {"strides": "cutlass::gemm::TagToStrideB_t<Stride<int64_t, _1, int64_t>>"},
        cx.kernel.gemm(mma(), b="col", stages=3, epilogue="alpha*acc + beta*C", **LINEAR),
    ),
    "weights of 4 bits with scales": (
        {"a": "half_t", "mma": "half_t", "elements": "cute::tuple<int4_t, half_t>"},
        cx.kernel.gemm(
            mma("f16"),
            stages=3,
            epilogue="alpha*acc + beta*C",
            transform_b="B * scale[k/64,n]",
            **{**LINEAR, "types": {"B": "s4", "scale": "f16", "C": "f32"}},
        ),
    ),
    "a copy of one's own": (
        {"copy": "XE_LOAD_2D<16, 32, 16>"},
        cx.kernel.gemm(
            mma(),
            stages=3,
            copy_a=cx.XE_LOAD_2D(16, 32, 16),
            epilogue="alpha*acc + beta*C",
            **LINEAR,
        ),
    ),
    "tiles dealt out by a table": (
        {"scheduler": "cutlass::gemm::StreamKScheduler"},
        cx.kernel.scheduled(mma(), stages=3, epilogue="alpha*acc + beta*C", **LINEAR),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_configuration_is_the_kernel_that_is_written_by_hand(name: str) -> None:
    changes, kernel = CASES[name]
    text = block(**changes)
    assert from_cutlass(text, group=64) == kernel
    value = from_cute(text)
    assert from_cute(value.to_cpp()) == value


def test_a_configuration_of_cutlass_has_its_group_given(tmp_path: Path) -> None:
    """How many k share a scale is an argument in C++ too, and no part of the types."""
    text = block(elements="cute::tuple<int4_t, half_t>", a="half_t", mma="half_t")
    file = tmp_path / "gemm.hpp"
    file.write_text(text, encoding="utf-8")
    words = ["make", "from_cutlass", f"configuration={file}", "group=64", "--save", "-"]
    outcome = CliRunner().invoke(main, words)
    assert cx.from_json(outcome.output) == from_cutlass(text, group=64)
    outcome = CliRunner().invoke(main, ["make", "from_cutlass", "configuration=none.hpp"])
    assert outcome.exit_code == 2
    assert "none.hpp" in outcome.output


@pytest.mark.parametrize(
    ("changes", "operands"),
    [
        ({"op": "XeLinCombDeEltAct<layout::RowMajor, std::plus, float, float>"}, "ABCDaux"),
        ({"a": "half_t", "mma": "half_t", "elements": "cute::tuple<int4_t, half_t>"}, "ABCDscale"),
        ({"scheduler": "cutlass::gemm::StreamKScheduler"}, "ABCDW"),
    ],
)
def test_a_batch_gives_every_matrix_the_mode_l(changes: dict[str, str], operands: str) -> None:
    kernel = from_cutlass(block(**changes), group=64, batch=True)
    matrices = {o.name: str(o.modes[0]) for o in kernel.operands if o.name in operands and o.modes}
    assert {"A", "B", "C", "D"} < matrices.keys()
    assert set(matrices.values()) == {"L"}
    with pytest.raises(KernelError, match='use groups="batch"'):
        cx.kernel.scheduled(mma(), batch=True)


@pytest.mark.long
def test_a_configuration_is_proved() -> None:
    verdict = cx.verify(from_cutlass(block(op="LinCombEltAct<thread::ReLu, float, float>")))
    assert verdict.answer == "proved"


@pytest.mark.parametrize("row", sampled(READ, 12), ids=lambda row: row["file"])
def test_what_the_field_configures_is_read_and_described(row: dict[str, str]) -> None:
    value = from_cute(row["type"])
    assert isinstance(value, CutlassType)
    assert from_cute(value.to_cpp()) == value
    if row["verdict"] == "kernel":
        kernel = from_cutlass(value, group=128)
        assert str(kernel).splitlines()[1].strip() == f"computes   {row['says']}"
    else:
        with pytest.raises(KernelError) as refusal:
            from_cutlass(value, group=128)
        assert refusal.value.condition == row["says"]


def test_most_configurations_of_the_field_are_read_and_the_others_name_what_is_unknown() -> None:
    verdicts = [row["verdict"] for row in ROWS]
    assert len(ROWS) >= 60
    assert verdicts.count("kernel") >= 29
    assert all(row["says"] for row in ROWS)


SLIPS = {
    "MainloopXeL1Staged<_2>": "int 2 is not a number",
    "MainloopXeL1Staged<2, RowMajor>": "KernelSchedule of MainloopXeL1Staged cannot be",
    "MainloopXeL1Stagged<2>": "unknown template MainloopXeL1Stagged",
    "LinCombEltAct<float, float, float>": "ActivationFn of LinCombEltAct cannot be float",
    "TagToStrideA_t<float>": "Layout of TagToStrideA_t cannot be float",
    "CollectiveMma<MainloopXeL1Staged<2>>": "CollectiveMma takes 15 arguments, not 1",
    "GemmUniversal<Shape<int,int,int,int>, float, float>": "cannot be float",
    "KernelXee": "unknown name KernelXee",
    "float*": "a pointer is not a layout",
    "Int<4 / 0>": "a quotient by 0",
    "ScaledAcc<float, float>": "unknown template ScaledAcc",
    "GemmUniversalAdapter<KernelXe>": "KernelXe is not a kernel",
    "decltype(tile_shape(float()))": "the type float is not a tiled MMA",
    "#include <x>": "'#' is not a part of a C\\+\\+ type.*the declarations alone",
}


@pytest.mark.parametrize("text", SLIPS)
def test_a_slip_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(CuteError, match=rf"line 1, column \d+: .*{SLIPS[text]}"):
        from_cute(text)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scheduler": "cutlass::gemm::GroupScheduler"}, "GroupScheduler deals out"),
        ({"op": "LinCombSoftmaxRow<float, float, void>"}, "kernel.softmax_gemm"),
        ({"elements": "cute::tuple<int8_t, half_t>"}, "give group=128"),
        ({"tile": "Shape<_128, _128, _32>"}, "CollectiveEpilogue has the tile"),
        (
            {"policy": "IntelXeGenericGroup"},
            'IntelXeGenericGroup has a problem for each group.*scheduled\\(mma, groups="batch"\\)',
        ),
        ({"d": "void"}, "ElementD is void"),
        ({"d": "bfloat16_t"}, "LinearCombination makes f32, the epilogue stores bf16"),
        ({"op": "LinearCombination<float, half_t>"}, "computes in f16, kernels here in f32"),
        (
            {"a": "cute::tuple<int8_t>", "elements": "cute::tuple<int8_t>"},
            "ElementA is a tuple, as",
        ),
        ({"elements": "cute::tuple<int8_t, Stride<_1,int64_t>>"}, "where the type of a scale"),
        ({"elements": "cute::tuple<int8_t, half_t, Stride<int64_t,_1>>"}, "by cute::tuple<int64_t"),
        (
            {
                "elements": "cute::tuple<int4_t, half_t, Stride<_1,int64_t,int64_t>, int4_t,"
                "Stride<_8,Stride<_1,int64_t>,int64_t>>"
            },
            "zero points by cute::tuple<_8",
        ),
    ],
)
def test_what_no_kernel_is_made_of_is_refused_by_name(changes: dict[str, str], words: str) -> None:
    with pytest.raises(KernelError, match=words):
        from_cutlass(block(**changes))


FP8 = {"a": "cute::tuple<{}>", "elements": "cute::tuple<{}>", "mma": "half_t", "c": "void"}


def scaled_fp8(elements: str, **changes: str) -> str:
    """The text of a GEMM of FP8 whose operands have these elements."""
    usual = {name: value.format(elements) for name, value in FP8.items()}
    text = block(**usual, **changes)
    return text.replace("MainloopXeL1Staged<", "MainloopIntelXeXMX16FP8Scaling<")


def test_fp8_operands_are_scaled_before_the_product() -> None:
    """Each scale is of a row or a column and ``group`` k: collective/xe_mma_fp8_scaling.hpp."""
    kernel = from_cutlass(scaled_fp8("float_e4m3_t, half_t"), group=64)
    rng = np.random.default_rng(4)
    given: dict[str, Any] = {
        name: convert(rng.choice([-2, -1, -0.5, 0.5, 1, 2], shape), kind)
        for name, shape, kind in (
            ("A", (20, 100), "f8e4m3"),
            ("B", (100, 30), "f8e4m3"),
            ("scale_a", (20, 2), "f16"),
            ("scale_b", (2, 30), "f16"),
        )
    }
    wide = {name: array.astype(np.float64) for name, array in given.items()}
    expected = sum(
        (wide["A"][:, k : k + 1] * wide["scale_a"][:, [k // 64]])
        @ (wide["B"][k : k + 1] * wide["scale_b"][[k // 64]])
        for k in range(100)
    )
    assert np.array_equal(cx.run(kernel, **given, alpha=1.0), expected)
    batched = from_cutlass(scaled_fp8("float_e4m3_t, half_t"), group=64, batch=True)
    assert {str(o.modes[0]) for o in batched.operands if o.modes} == {"L"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"a": "cute::tuple<int8_t, half_t>"}, "ElementA is .*float_e4m3_t or float_e5m2_t"),
        ({"a": "float_e4m3_t"}, "ElementA is float_e4m3_t, and .* takes tuples"),
        (
            {
                "elements": "cute::tuple<float_e4m3_t, half_t, Stride<_1, int64_t, int64_t>, "
                "half_t, Stride<_1, int64_t, int64_t>>"
            },
            "ElementB has a zero point",
        ),
    ],
)
def test_what_the_policy_of_scaled_fp8_does_not_take(changes: dict[str, str], words: str) -> None:
    """Tuples of FP8 and no zero points: collective/xe_mma_fp8_scaling.hpp asserts both."""
    usual = {name: value.format("float_e4m3_t, half_t") for name, value in FP8.items()}
    text = block(**(usual | changes))
    with pytest.raises(KernelError, match=words):
        from_cutlass(
            text.replace("MainloopXeL1Staged<", "MainloopIntelXeXMX16FP8Scaling<"), group=64
        )


def test_operands_that_are_only_converted_have_no_scales() -> None:
    kernel = from_cutlass(scaled_fp8("float_e5m2_t"))
    assert [o.name for o in kernel.inputs] == ["A", "B", "alpha"]
    assert {str(kernel.operand(name).value_type) for name in "AB"} == {"f8e5m2"}


@pytest.mark.parametrize(
    "more",
    [
        "using StrideA = typename Gemm::GemmKernel::StrideA;",
        "using ElementOutput = float;",
        "using Runner = ExampleRunner<Gemm>;",
        "using Other = Kernel;",
        "constexpr int Iterations = 100;",
    ],
)
def test_the_kernel_of_a_text_may_be_followed_by_other_declarations(
    more: str, tmp_path: Path
) -> None:
    assert from_cutlass(block() + more) == from_cutlass(block())
    file = tmp_path / "gemm.hpp"
    file.write_text(block() + more, encoding="utf-8")
    assert read_subject("verify", str(file)) == from_cutlass(block())


def test_declarations_that_a_kernel_does_not_use_may_be_unknown() -> None:
    unused = "using Runner = ExampleRunner<float>;"
    assert from_cutlass(unused + block()) == from_cutlass(block())
    with pytest.raises(InputError, match="unknown template ExampleRunner"):
        from_cutlass(unused)
    # A kernel that is declared and not understood is not passed over for one before it.
    worse = "using Last = cutlass::gemm::kernel::GemmUniversal<Runner, Mainloop, Epilogue>;"
    with pytest.raises(InputError, match="unknown name Runner"):
        from_cutlass(block() + worse)


def test_a_value_that_is_no_kernel_is_refused() -> None:
    with pytest.raises(KernelError, match="MainloopXeL1Staged is not a kernel"):
        from_cutlass("cutlass::gemm::MainloopXeL1Staged<2>")
    with pytest.raises(InputError, match="Nothing is not a template of CUTLASS"):
        CutlassType("Nothing")
    with pytest.raises(InputError, match="takes at most 2 arguments"):
        CutlassType("MainloopXeL1Staged", (1, CutlassType("KernelXe"), 3))
    with pytest.raises(InputError, match="has no argument Stage"):
        from_cute("MainloopXeL1Staged<2>")["Stage"]


def test_defaults_are_those_of_cpp() -> None:
    fusion = from_cute("LinCombPerRowBias<bfloat16_t, float>")
    assert fusion["ElementBias"] == as_numeric("bf16")
    assert fusion["ElementScalar"] == as_numeric("f32")
    assert fusion["AlignmentBias"] == 8
    assert templates()["LinCombPerRowBias"]["kind"] == "fusion"


BUILT = """
    using Tile = Shape<{tile}>;
    using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
        cutlass::arch::Xe20, cutlass::arch::OpClassTensorOp, {a}, cutlass::layout::RowMajor, 16,
        {a}, cutlass::layout::RowMajor, 16, float, Tile, Shape<_1,_1,_1>,
        cutlass::gemm::collective::StageCountAuto,
        cutlass::gemm::collective::KernelScheduleAuto>::CollectiveOp;
    using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
        cutlass::arch::Xe20, cutlass::arch::OpClassTensorOp, Tile, Shape<{cluster},_1,_1>,
        cutlass::epilogue::collective::EpilogueTileAuto, float, float, {c},
        cutlass::layout::RowMajor, 4, float, cutlass::layout::{d}, 4,
        cutlass::epilogue::collective::EpilogueScheduleAuto>::CollectiveOp;
    using Gemm = cutlass::gemm::kernel::GemmUniversal<Shape<int,int,int,int>, Mainloop, Epilogue>;
"""


def built(**changes: str) -> str:
    usual = {"tile": "_64,_64,_32", "a": "half_t", "cluster": "_1", "c": "void", "d": "RowMajor"}
    return BUILT.format(**{**usual, **changes})


@pytest.mark.parametrize("kind", ["float", "float_e4m3_t", "float_e2m1_t", "int2_t"])
def test_a_builder_converts_what_no_dpas_of_cutlass_takes(kind: str) -> None:
    assert from_cute(built(a=kind))["CollectiveMainloop"]["TiledMma"] == cx.workgroup_mma(
        cx.XE_DPAS_TT(8, "f32", "f16"), (64, 64, 32), ((8, 4, 1), (4, 1, 0))
    )


def test_a_built_epilogue_may_be_without_c() -> None:
    assert "C[m,n]" not in str(from_cutlass(built()))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tile": "int,_64,_32"}, "is not three extents"),
        ({"tile": "_64,_64"}, "is not three extents"),
        ({"tile": "_0,_64,_32"}, "is not three extents"),
        ({"cluster": "_2"}, "Xe has none"),
        ({"c": "double"}, "C is double"),
        ({"d": "ColumnMajor"}, "D is column-major"),
    ],
)
def test_a_builder_refuses_what_cutlass_refuses(changes: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        from_cute(built(**changes))


def test_a_quotient_is_rounded_towards_zero() -> None:
    assert from_cute("C<-7 / 2>") == -3


def test_a_file_of_declarations_is_a_kernel_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "gemm.hpp"
    file.write_text(block(), encoding="utf-8")
    done = CliRunner().invoke(main, ["check", str(file), "--target", "bmg"])
    assert done.exit_code == 0, done.output
    assert "gemm on bmg" in done.output
    file.write_text("#include <cute/tensor.hpp>", encoding="utf-8")
    done = CliRunner().invoke(main, ["verify", str(file)])
    assert done.exit_code == 2
    assert "give the declarations alone" in done.output
