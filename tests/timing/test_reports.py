"""What a report computes of its clocks, and machine code that is damaged."""

from __future__ import annotations

import random

import pytest
from compiled_cases import needs_newer_compiler

import pycute_xe as cx
from pycute_xe.errors import CuteError, InputError
from pycute_xe.native import Timing, timing

CHAIN = """
(W) mov (16|M0) r10.0<1>:d 1:w
(W) add (16|M0) r11.0<1>:d r10.0<1;1,0>:d 1:w {I@1}
(W) add (16|M0) r12.0<1>:d r11.0<1;1,0>:d 1:w {I@1}
"""


def test_rates_are_operations_over_clocks() -> None:
    """23 clocks: two results of 11 and a start; 20 cores at 2,850 MHz make 64 operations each."""
    report = timing(CHAIN, "bmg", 1)
    assert report.least == report.most == 23
    seconds = 23 / 2.85e9
    least, most = report.tflops(64, 20, 2850)
    assert least == most == pytest.approx(64 * 20 / seconds * 1e-12)


def test_what_is_gained_without_an_instruction_is_known_of_the_worst() -> None:
    """It still starts, at clock 11, but its result is there at once: the next starts at 12."""
    report = timing(CHAIN, "bmg", 1, gains=2)
    worst = [each.number for each in report.worst]
    assert set(worst) == {1, 2}
    assert report.gain(1) == 23 - 13
    with pytest.raises(InputError, match=r"no gain is known of instruction 0.*use one of"):
        report.gain(0)


@needs_newer_compiler
@pytest.mark.long
def test_damaged_machine_code_is_read_or_refused_in_one_line() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((1, 1, 1), (1, 1, 0)))
    binary = cx.native.compile(cx.kernel.gemm(mma), "bmg")
    lines = binary.disassembly.splitlines()
    rng = random.Random(3)
    read, refused = 0, list[str]()
    for _ in range(25):
        changed = list(lines)
        at = rng.randrange(len(changed))
        cut = rng.randrange(len(changed[at]) + 1)
        changed[at] = rng.choice((changed[at][:cut], changed[at][cut:], changed[at] + "{$99}"))
        try:
            read += isinstance(timing("\n".join(changed), "bmg", 1, trips=2), Timing)
        except CuteError as error:
            refused.append(str(error))
    assert read
    assert refused
    assert not [text for text in refused if "\n" in text]


def test_bytes_that_are_not_machine_code_are_refused() -> None:
    for junk in (b"", b"\x7fELF", b"\x7fELF" + bytes(200), bytes(range(256))):
        with pytest.raises(CuteError):
            timing(junk, "bmg")
