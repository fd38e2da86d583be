"""Kernels of every kind from the command line, as documents for the other commands."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from click.testing import CliRunner

import pycute_xe as cx
from pycute_xe.cli import main
from pycute_xe.naming import KINDS

MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 64, 32), ((2, 2, 1), (2, 1, 0)))
SMALL = ["--tile", "64x64x32", "--subgroups", "2x2"]


def made(*words: str) -> cx.Kernel:
    outcome = CliRunner().invoke(main, [*words, "--save", "-"])
    assert outcome.exit_code == 0, outcome.output
    return cx.from_json(outcome.output)


def test_every_kind_is_offered() -> None:
    kinds = {
        name
        for name in cx.kernel.__all__
        if inspect.isfunction(function := inspect.unwrap(getattr(cx.kernel, name)))
        and (signature := inspect.signature(function)).return_annotation == "Kernel"
        and next(iter(signature.parameters.values())).annotation not in ("Kernel", "Mainloop")
    }
    assert set(KINDS) == kinds | {"from_cutlass"}


@pytest.mark.parametrize(
    ("words", "kernel"),
    [
        (["gemm", "a=col", "stages=3"], lambda: cx.kernel.gemm(MMA, "col", stages=3)),
        (
            ["gemm", "also.rows[m]=sum(n, acc)", "epilogue=relu(acc + bias[n])"],
            lambda: cx.kernel.gemm(
                MMA, also={"rows[m]": "sum(n, acc)"}, epilogue="relu(acc + bias[n])"
            ),
        ),
        (["gemm", "types.A=s8"], lambda: cx.kernel.gemm(MMA, types={"A": "s8"})),
        (["gemm", "epilogue_tile=32x32"], lambda: cx.kernel.gemm(MMA, epilogue_tile=(32, 32))),
        (["gemm", "batch=true"], lambda: cx.kernel.gemm(MMA, batch=True)),
        (
            ["rms_norm", "columns=96", "tile=32x32", "subgroups=2"],
            lambda: cx.kernel.rms_norm(96, tile=(32, 32), subgroups=2),
        ),
        (["moe_gemm", "gated=true"], lambda: cx.kernel.moe_gemm(MMA, gated=True)),
        (["split_k", "parts=4"], lambda: cx.kernel.split_k(MMA, 4)),
        (["top_k_gemm", "count=3"], lambda: cx.kernel.top_k_gemm(MMA, 3)),
        (
            ["slm_gemm", "swizzle_a=Sw<2,4,3>"],
            lambda: cx.kernel.slm_gemm(MMA, swizzle_a=cx.Swizzle(2, 4, 3)),
        ),
    ],
)
def test_arguments_are_those_of_the_function(words: list[str], kernel: object) -> None:
    assert callable(kernel)
    small = [] if words[0] == "rms_norm" else SMALL  # it has no tiled MMA
    assert made("make", *words, *small) == kernel()


def test_attention_from_its_two_tiles() -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    qk = cx.workgroup_mma(op, (128, 64, 32), ((8, 1, 1), (1, 1, 0)))
    pv = cx.workgroup_mma(op, (128, 32, 64), ((8, 1, 1), (1, 1, 0)))
    kernel = cx.kernel.attention(qk, pv, causal=True, window=(255, 0), out=64)
    words = ["causal=true", "window=255,0", "out=64"]
    assert made("attention", *words) == kernel
    tiles = ["--tile", "128x64x32", "--tile", "128x32x64"]
    assert made("make", "attention", *words, *tiles) == kernel


@pytest.mark.long
def test_a_document_goes_on_to_the_other_commands(tmp_path: Path) -> None:
    path = str(tmp_path / "k.json")
    runner = CliRunner()
    outcome = runner.invoke(main, ["make", "split_k", "parts=4", *SMALL, "--save", path])
    assert outcome.exit_code == 0
    assert outcome.output.startswith("split_k(A[M,K] bf16")
    for words in (["check", path], ["verify", path], ["emit", path]):
        assert runner.invoke(main, words).exit_code == 0, words


@pytest.mark.parametrize(
    ("words", "condition"),
    [
        (["gemm", "stages=x"], "stages cannot be 'x'. Way out: write stages=int"),
        (["gemm", "stage=3"], "'stage=3' is not NAME=VALUE of an argument. Way out: the names are"),
        (["gemm", "mma=3"], "'mma=3' is not NAME=VALUE"),
        (["gemm", "batch"], "'batch' is not NAME=VALUE"),
        (["gemm", "a=left"], "a cannot be 'left'"),
        (["chained_gemm"], "tiled MMAs are first, second. Way out: give --tile 2 times"),
        (["attention_combine"], "splits is missing"),
        (["slm_gemm", "swizzle_a=Sw<2"], "cannot stand in an expression"),
        (["gem"], "'gem' is not one of"),
    ],
)
def test_what_is_not_an_argument_is_refused(words: list[str], condition: str) -> None:
    outcome = CliRunner().invoke(main, ["make", *words, *SMALL])
    assert outcome.exit_code == 2
    assert condition in outcome.output
