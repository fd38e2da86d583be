"""Which statement of the kernel an instruction came from, beside what it waits for."""

from __future__ import annotations

import pytest
from compiled_cases import needs_compiler

import pycute_xe as cx
from pycute_xe.errors import InputError


@needs_compiler
@pytest.mark.long
def test_statements_are_those_of_explain() -> None:
    """Each DPAS comes from the multiplication, as the kernel's only statement of that kind."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    binary = cx.native.compile(cx.kernel.gemm(mma), "pvc")
    plain = cx.native.timing(binary, "pvc", 1, group=4, trips=2)
    found = cx.native.timing(binary, "pvc", 1, group=4, trips=2, statements=True)
    assert not any(each.statement for each in plain.instructions)
    assert (found.least, found.most, found.states) == (plain.least, plain.most, plain.states)
    dpas = [each for each in found.instructions if " dpas" in f" {each.text}"]
    assert len(dpas) == binary.dpas > 0
    assert all(each.statement.startswith("mma tCrC += ") for each in dpas)
    sent = [each.statement for each in found.instructions if "send.ugm" in each.text]
    assert {text.split()[0] for text in sent} >= {"prefetch", "copy"}
    assert "[mma tCrC += " in str(found)


def test_a_text_has_no_statements() -> None:
    with pytest.raises(InputError, match="has no statements"):
        cx.native.timing("(W) add (1|M0) r1.0<1>:d r1.0<0;1,0>:d 1:w {I@1}", "bmg", statements=True)
