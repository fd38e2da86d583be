"""Machine code executed in the order of the model: a dependence that is missing shows."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_cases import needs_compiler, needs_newer_compiler
from compiled_kinds import CASES
from sampling import sampled

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import InputError
from pycute_xe.native import Binary, replay
from pycute_xe.native.clocks.text import read_text
from pycute_xe.native.toolchain import toolchains


def product(target: str = "pvc") -> tuple[Binary, dict[str, Any]]:
    """A small GEMM for a target, and operands."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    rng = np.random.default_rng(5)
    shapes = {"A": (33, 70), "B": (70, 60)}
    given = {n: rng.standard_normal(s).astype(numpy_dtype("bf16")) for n, s in shapes.items()}
    return cx.native.compile(cx.kernel.gemm(mma), target), given


def without(text: str, opcode: str, note: str) -> Iterator[str]:
    """Texts without a dependence, one for each instruction of a kind that has it."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if re.search(rf"\b{opcode}\b", line) and re.search(note, line.partition("//")[0]):
            yield "\n".join(
                [*lines[:at], re.sub(rf",?{note}", "", line, count=1), *lines[at + 1 :]]
            )


@needs_newer_compiler
@pytest.mark.parametrize("target", ["pvc", "bmg"])
@pytest.mark.long
def test_a_product_is_the_same_whatever_the_latencies(target: str) -> None:
    binary, given = product(target)
    assert binary.kernel is not None
    expected = cx.native.run(binary.kernel, **given, target=target)
    for slower, seed in ((1.0, None), (20.0, 3)):
        got = replay(binary, slower=slower, seed=seed, **given)
        assert got, str(got)
        assert got.outputs is not None
        assert got.outputs["D"].tobytes() == expected.tobytes()
        assert "byte for byte" in str(got)


@needs_compiler
def test_a_multiplication_that_does_not_wait_for_its_load_computes_something_else() -> None:
    binary, given = product()
    text = next(without(binary.disassembly, "dpas", r"\$\d+\.dst"))
    got = replay(binary, text=text, slower=20.0, seed=1, **given)
    kinds = {each.kind for each in got.hazards}
    assert not got
    assert "read too early" in kinds
    assert str(got.hazards[0]) in str(got)


@needs_compiler
def test_a_message_that_does_not_wait_for_its_payload_takes_the_old_one() -> None:
    binary, given = product()
    text = next(without(binary.disassembly, "send.ugm", r"[AI]@\d"))
    got = replay(binary, text=text, **given)
    assert not got
    assert {each.kind for each in got.hazards} & {"read too early", "fault", "never goes on"}


@needs_compiler
def test_a_payload_that_changes_while_it_is_read_is_a_hazard() -> None:
    binary, given = product()
    texts = without(binary.disassembly, "add", r"\$\d+\.src")  # not all are on the way
    every = (replay(binary, text=text, slower=20.0, seed=1, **given) for text in texts)
    assert any(h.kind == "overwritten too early" for got in every for h in got.hazards)


@needs_compiler
def test_ways_are_those_of_all_threads() -> None:
    binary, given = product()
    ways = cx.native.ways(binary, **given)
    assert len(ways) == 2 * 4
    ends = {binary.assembly.instructions[way[-1]].options for way in ways}
    assert all("EOT" in options for options in ends)


@needs_newer_compiler
@pytest.mark.long
@pytest.mark.parametrize("name", ["tiles by tickets", "routing"])
def test_what_atomics_return_does_not_depend_on_latencies(name: str) -> None:
    """Threads take the tickets that they took without clocks, whoever comes first."""
    kernel, given = CASES[name].make()
    binary = cx.native.compile(kernel, "bmg")
    assert (got := replay(binary, seed=1, slower=8.0, **given)), str(got)


def test_a_distance_beside_a_token_is_of_the_sources() -> None:
    """The code has no bits for its pipe; `ocloc` writes this behind three floats."""
    text = "(W) mov (16|M0) (sat)r71.0<1>:d r92.0<1;1,0>:f {@3,$5.src}"
    assert read_text(text).lines[0].waits.distances == (("F", 3),)
    text = "(W) add (1|M0) r104.13<1>:d r4.15<0;1,0>:d 32:w {@5,$4.src}"
    assert read_text(text).lines[0].waits.distances == (("I", 5),)
    # Behind two of integers; the one that wrote r254 and the next, where long ones had a pipe.
    text = "(W) mov (1|M0) r5.0<1>:q r254.2<0;1,0>:q {@2,$2.dst}"
    assert read_text(text).lines[0].waits.distances == (("I", 2),)


@needs_compiler
@pytest.mark.long
def test_the_example_of_the_page_prints_what_stands_there() -> None:
    """Of the version that the page names; another one orders other code."""
    if not any(each.version.startswith("22.43") for each in toolchains()):
        pytest.skip("no ocloc 22.43 is here")
    page = Path(__file__).parents[2] / "docs/machine_code.md"
    text = page.read_text(encoding="utf-8")
    example = text[text.index("```pycon") :].partition("\n```")[0]
    failed, tried = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.FAIL_FAST
    )
    assert (failed, tried) == (0, example.count(">>> "))


@needs_compiler
@pytest.mark.long
def test_what_cannot_be_replayed_is_refused() -> None:
    binary, given = product()
    with pytest.raises(InputError, match="other instructions"):
        replay(binary, text="(W) add (1|M0) r1.0<1>:d r1.0<0;1,0>:d 1:w", **given)
    with pytest.raises(InputError, match=r"0\.5 times as long"):
        replay(binary, slower=0.5, **given)
    source = (
        "__attribute__((intel_reqd_sub_group_size(16)))\nkernel void f(global int *a) { *a = 1; }"
    )
    with pytest.raises(InputError, match="has no operands"):
        replay(cx.native.compile_text(source, "f", "pvc"))


@needs_newer_compiler
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "target"), sampled([(n, t) for n in CASES for t in ("pvc", "bmg")], 1)
)
def test_binaries_of_every_kind_are_the_same_whatever_the_latencies(name: str, target: str) -> None:
    """All of them in benchmarks/timed_execution.py, each at four settings."""
    kernel, given = CASES[name].make()
    binary = cx.native.compile(kernel, target)
    assert (got := replay(binary, slower=20.0, seed=2, **given)), str(got)
