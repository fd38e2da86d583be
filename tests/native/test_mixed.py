"""Binaries of GEMMs that convert and scale their operands."""

from __future__ import annotations

from typing import Any

import pytest
from compiled_cases import held_against_run, needs_compiler
from every import every
from mixed_forms import FORMS, GRID, Form, inputs, made
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import KernelError


@needs_compiler
@pytest.mark.parametrize("form", sampled(FORMS, 1, [FORMS[11]]), ids=str)
@pytest.mark.long
def test_a_binary_converts_and_scales_as_run_does(form: Form) -> None:
    kernel = made(form)
    given = inputs(kernel, {"M": 9, "N": 72, "K": 70})
    assert held_against_run(kernel, given) == []


@every("to", ["opencl", "visa"])
@every("kind", ["f8e4m3", "f8e5m2"])
def test_what_has_no_instruction_is_refused_by_name(kind: str, to: Any) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), GRID)
    with pytest.raises(KernelError, match=f"instructions on registers do not compute with {kind}"):
        cx.emit(cx.kernel.gemm(mma, d_type=kind), to)
