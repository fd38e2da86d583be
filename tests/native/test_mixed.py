"""Binaries of GEMMs that convert and scale their operands."""

from __future__ import annotations

import pytest
from compiled_cases import held_against_run, needs_compiler
from mixed_forms import FORMS, Form, inputs, made
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import KernelError

EMITTED = [form for form in FORMS if {"s4", "u4", "s8", "u8", "bf16"} & set(form[1].values())]
NARROW = {"s2", "u2", "f8e4m3", "f4e2m1", "tf32"}
EMITTED = [form for form in EMITTED if not NARROW & {*form[0], *form[1].values()}]


@needs_compiler
@pytest.mark.parametrize("form", sampled(EMITTED, 1), ids=str)
def test_a_binary_converts_and_scales_as_run_does(form: Form) -> None:
    kernel = made(form)
    given = inputs(kernel, {"M": 9, "N": 72, "K": 70})
    assert held_against_run(kernel, given) == []


def test_what_has_no_instruction_is_refused_by_name() -> None:
    assert len(EMITTED) >= 6
    for form in FORMS:
        narrow = NARROW & {*form[0], *form[1].values()}
        if narrow - {"tf32"}:
            with pytest.raises(KernelError, match=r"do not compute with (s2|u2|f8e4m3|f4e2m1)"):
                cx.emit(made(form), "opencl")
