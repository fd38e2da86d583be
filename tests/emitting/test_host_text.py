"""The launcher, run on a stand-in for pyopencl that records what it is asked."""

from __future__ import annotations

import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_kernels import fragment

import pycute_xe as cx
from pycute_xe.emitting import emit
from pycute_xe.emitting.writer import ELEMENT, elements, group_numbers, pitch_name
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Fill, Index, Kernel, Operand


class Recorder:
    """What pyopencl would be: programs, kernels, launches."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def module(self) -> ModuleType:
        """A module of the names that the launcher uses."""
        module: Any = ModuleType("pyopencl")
        module.Program = lambda _, text: SimpleNamespace(
            build=lambda options: self.calls.append(("build", (text, options)))
        )
        module.Kernel = lambda _, name: SimpleNamespace(
            name=name, set_args=lambda *given: self.calls.append(("args", given))
        )
        module.enqueue_nd_range_kernel = lambda *given: self.calls.append(("launch", given))
        return module


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder()
    monkeypatch.setitem(sys.modules, "pyopencl", found.module())
    return found


def test_arguments_stand_as_the_kernel_takes_them(recorder: Recorder) -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 64, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.gemm(mma, epilogue="alpha*acc + bias[n]")
    names: dict[str, Any] = {}
    exec(compile(emit(kernel, "host"), "launcher", "exec"), names)
    text = emit(kernel, "opencl")
    signature = re.search(r"__kernel void gemm\((.*)\) \{", text)
    assert signature is not None
    wanted = [word.replace("*", "* ").split()[-1] for word in signature[1].split(",")]
    sizes = {"M": 130, "N": 64, "K": 5}
    given = {name: sizes.get(name, i) for i, name in enumerate(wanted)}
    names["launch"]("queue", names["build"]("context", text), **given)
    build, args, launch = recorder.calls
    assert build[1][0] == text
    assert [int(value) for value in args[1]] == list(given.values())
    kinds = [type(value) for value in args[1]]
    for word, kind in zip(signature[1].split(","), kinds, strict=True):
        expected = {"float": np.float32, "int": np.int32}.get(word.split()[0], int)
        assert kind is expected
    # 3 x 1 tiles of 64, four subgroups of 16 work-items each.
    assert launch[1][2:] == ((3 * 64, 1), (64, 1))
    assert names["OPTIONS"] == "-cl-std=CL2.0 -cl-intel-256-GRF-per-thread"


def test_a_launcher_is_ten_lines() -> None:
    kernel = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "f16")))
    text = emit(kernel, "host")
    code = [line for line in text.split('"""')[2].splitlines() if line.strip()]
    assert len(code) <= 10
    assert max(map(len, text.splitlines())) < 200


def test_a_launch_has_three_axes_and_parts_the_last() -> None:
    counts = {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2}
    grid = tuple((name, Index(None, count)) for name, count in counts.items())
    kernel = Kernel("axes", 1, (), (fragment("x", "f32", 8),), grid, (Fill("x", 2.0),))
    lines = [line.removeprefix("const ").removeprefix("int ") for line in group_numbers(kernel)]
    parted = re.compile(r"for \(; (.*); (.*)\) \+\+(\w+);")
    text = "\n".join(parted.sub(r"while \1: \2; \3 += 1", line).rstrip(";") for line in lines)
    found: set[tuple[int, ...]] = set()
    for place in np.ndindex(2, 3, 12):
        names: dict[str, Any] = {"get_group_id": place.__getitem__}
        exec(text, names)
        assert names["c"] + 2 * (names["d"] + 3 * names["e"]) == place[2]
        found.add(tuple(names[name] for name in counts))
    assert found == set(np.ndindex(*counts.values()))


def test_operands_of_three_modes_have_two_pitches() -> None:
    batch, matrix = Operand("A", "s32", ("L", "M", "K")), Operand("B", "s32", ("N", "K"))
    assert [pitch_name(batch, mode) for mode in (0, 1)] == ["A_pitch0", "A_pitch1"]
    assert pitch_name(matrix, 0) == "B_pitch"


def test_elements_of_columns_are_not_looked_up() -> None:
    x, read = (fragment("x", "f32", 8),), [f"{ELEMENT}B(m, n)"]
    rows, columns = (
        Kernel("k", 1, (Operand("B", "s32", ("N", "K"), contiguous=at),), x, (), (Fill("x", 2.0),))
        for at in (1, 0)
    )
    assert len(elements(rows, read)) == 1
    with pytest.raises(KernelError, match="row-major"):
        elements(columns, read)
