"""Programs: what a file says, what it refuses in a line, what it computes, and what it reports."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from compiled_kinds import CASES
from mixed_forms import FORMS, made
from sampling import sampled
from serving_kinds import KINDS

import pycute_xe as cx
from pycute_xe.converting import convert
from pycute_xe.emitting import figures, launching, valuing
from pycute_xe.emitting.measurement import Measurement
from pycute_xe.errors import CuteError, InputError, KernelError
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.spec.evaluation import compute
from pycute_xe.numeric import as_numeric

CLAIMED = [name for name in CASES if name not in KINDS]

SIZES = {"M": 19, "N": 21, "K": 37}


def gemm(**more: Any) -> Kernel:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, **more)


def names_of(kernel: Kernel) -> dict[str, Any]:
    """What the file of a kernel defines."""
    module = ModuleType("program")
    sys.modules["program"] = module  # where its dataclasses look for their annotations
    exec(compile(cx.emit(kernel, "program"), "program.py", "exec"), module.__dict__)
    return module.__dict__


@pytest.mark.long
def test_a_program_holds_both_texts_and_passes_the_linter(tmp_path: Path) -> None:
    kernel = gemm(epilogue="gelu(alpha*acc + bias[n])", d_type="bf16", types={"A": "u8"})
    file = tmp_path / "gemm.py"
    file.write_text(cx.emit(kernel, "program"), encoding="utf-8")
    for number, name in enumerate(sampled(CLAIMED, 2, ["tiles of a plan"])):
        other = tmp_path / f"other{number}.py"
        other.write_text(cx.emit(CASES[name].make()[0], "program"), encoding="utf-8")
    names = names_of(kernel)
    assert names["GPU"].strip() == cx.emit(kernel, "opencl").strip()
    assert names["CPU"].strip() == cx.emit(kernel, "opencl", device="cpu").strip()
    config = Path(__file__).parents[2] / "pyproject.toml"
    for style in (["--config", str(config), "--extend-ignore", "T20"], ["--isolated"]):
        command = [sys.executable, "-m", "ruff", "check", "--no-cache", *style, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    imported = {line.split()[1].split(".")[0] for line in file.read_text().splitlines()
                if line.startswith(("import ", "from "))}  # fmt: skip
    assert imported - sys.stdlib_module_names == {"ml_dtypes", "numpy"}


@pytest.mark.parametrize("name", sampled(CLAIMED, 3, ["attention, pages", "softmax of rows"]))
def test_a_program_expects_what_the_claim_says(name: str) -> None:
    kernel, given = CASES[name].make()
    assert kernel.computes is not None
    names = names_of(kernel)
    inputs = {o.name: np.asarray(given[o.name]) for o in kernel.inputs if o.name in given}
    sizes = dict(SIZES) | {n: v for n, v in given.items() if n in kernel.sizes}
    for operand in kernel.inputs:
        for mode, extent in zip(operand.modes, inputs[operand.name].shape, strict=True):
            sizes |= {str(mode): extent}
    wanted = compute(kernel.computes, kernel.operands, inputs, sizes)
    arrays = {n: names["_whole"](a) for n, a in inputs.items()}
    for output in names["KERNEL"].outputs:
        shape = wanted[output.name].shape
        found = output.value(arrays, sizes, tuple(map(range, shape)))
        np.testing.assert_allclose(found, wanted[output.name], rtol=1e-12, atol=1e-12)
        window = tuple(range(n // 2, n) for n in shape)
        part = output.value(arrays, sizes, window)
        whole = wanted[output.name][tuple(slice(n // 2, n) for n in shape)]
        np.testing.assert_allclose(part, whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["bf16", "f16", "f8e4m3", "f8e5m2", "f4e2m1", "tf32", "s8", "u4"])
def test_numbers_are_rounded_as_types_say(kind: str) -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([
        rng.standard_normal(500) * 2.0 ** rng.integers(-20, 20, 500),
        rng.integers(-300, 300, 200) / 64, [0.0, -0.0, np.inf, -np.inf, np.nan],
    ])  # fmt: skip
    dtype = as_numeric(kind).row.dtype or kind
    with np.errstate(all="ignore"):
        found, wanted = valuing.rounded(values, dtype), convert(values, kind).astype(np.float64)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_bytes_of_operands_come_back(number: int) -> None:
    kernel = names_of(made(FORMS[number]))["KERNEL"]
    rng = np.random.default_rng(number)
    for tensor in (t for t in kernel.tensors if t.modes):
        place = launching.surface(kernel, tensor, SIZES, None)
        array = rng.choice(np.array(tensor.numbers), place.shape).astype(tensor.type())
        rows = launching.packed(tensor, array, place)
        assert rows.shape == (place.rows, place.pitch)
        assert place.pitch % 64 == 0
        assert place.width <= place.pitch
        back = launching.unpacked(tensor, rows, place)
        assert (back.astype(np.float64) == array.astype(np.float64)).all()


# ------------------------------------------------------------ refusals


class NoDevice(Exception):
    """What pyopencl raises where it has no platform."""


def asked(program: dict[str, Any], *options: str, devices: tuple[Any, ...] = ()) -> Any:
    """Run a program on devices that only answer questions."""
    platform = SimpleNamespace(get_devices=lambda: devices)
    cl = SimpleNamespace(
        Error=NoDevice,
        get_platforms=lambda: [platform],
        device_type=SimpleNamespace(GPU=4, CPU=2),
    )
    program["opencl"] = lambda: cl
    return program["main"](program["KERNEL"], list(options))


def device(**more: Any) -> Any:
    given = {"name": "Arc", "type": 4, "extensions": "cl_intel_subgroup_2d_block_io"}
    memory = {"max_mem_alloc_size": 1 << 32, "global_mem_size": 1 << 33}
    return SimpleNamespace(**{**given, **memory, **more})


REFUSED: dict[str, tuple[tuple[Any, ...], tuple[str, ...], str]] = {
    "a device": ((), (), "OpenCL has no device here"),
    "a kind": ((device(),), ("--device", "cpu"), "OpenCL has no CPU here"),
    "block-2D": ((device(extensions="cl_khr_fp16"),), (), "Arc has no block-2D messages"),
    "a pitch": ((device(),), ("--size", "K=100", "--pitch", "A=204"), "must be a multiple of"),
    "a narrow pitch": ((device(),), ("--pitch", "A=64"), "a pitch of 64 bytes is below the"),
    "memory": ((device(global_mem_size=1 << 20),), (), "the operands take"),
    "an operand": ((device(max_mem_alloc_size=1 << 20),), (), "one operand takes"),
    "a size": ((device(),), ("--size", "Q=3"), "Q is unknown"),
    "nothing": ((device(),), ("--size", "M=0"), "a size must be 1 or more"),
    "a width": ((device(),), ("--size", "N=9000000"), "its pitch of"),
    "a file": ((device(),), ("--data", "nowhere.npz"), "nowhere.npz"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_stands_in_the_way_is_one_line(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    devices, options, words = REFUSED[what]
    assert asked(names_of(gemm()), *options, devices=devices) == 2
    said = capsys.readouterr().err
    assert said.startswith("gemm: ")
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.long
def test_indices_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    kernel, _ = CASES["tiles of a plan"].make()
    assert asked(names_of(kernel), devices=(device(),)) == 2
    assert "give it by --data FILE.npz" in capsys.readouterr().err


def test_a_difference_is_named() -> None:
    output = launching.Output("D", lambda *_: 0, lambda _: 1, 0.0)
    wanted, window = np.zeros((2, 3)), (range(4, 6), range(3))
    out = wanted.copy()
    assert launching.differing(output, out, wanted, window) == ""
    out[1, 2] = 1
    assert launching.differing(output, out, wanted, window) == "D[5, 2] is 1.0, NumPy has 0.0"
    near = dataclasses.replace(output, tolerance=2.0**-6)
    assert launching.differing(near, wanted + 1 + 2.0**-8, wanted + 1, window) == ""
    assert "NumPy has" in launching.differing(near, wanted + 1 + 2.0**-5, wanted + 1, window)


def test_a_kernel_without_a_claim_has_no_program() -> None:
    with pytest.raises(KernelError, match="claims nothing"):
        cx.emit(dataclasses.replace(gemm(), computes=None), "program")
    with pytest.raises(InputError, match="both"):
        cx.emit(gemm(), "program", device="cpu")


@pytest.mark.long
def test_operations_count_each_sum_once() -> None:
    counts = {name: names_of(CASES[name].make()[0])["KERNEL"].operations for name in (
        "a gate", "two products in a row", "attention, two subgroups")}  # fmt: skip
    sizes = {"M": 10, "N": 20, "K": 30, "B": 2, "G": 3, "D": 4, "E": 5}
    assert counts["a gate"](sizes) == 2 * 2 * 10 * 20 * 30
    assert counts["two products in a row"](sizes) == 2 * 10 * 32 * 30 + 2 * 10 * 20 * 32
    attended = counts["attention, two subgroups"](sizes)
    assert attended == 2 * 6 * 10 * 20 * 4 + 2 * 6 * 10 * 20 * 5


# ------------------------------------------------------------ reports

REPORT = figures.Figures(
    "gemm", "ab" * 32, "Arc B580", "gpu", "26.1", (("M", 8), ("N", 4)), 256, 0.5,
    (2e-6, 1e-6, 4e-6), 4096, 512, 1.0, 0.0, "",
)  # fmt: skip


def test_a_report_comes_back_as_a_value(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(launching.document(REPORT))
    found = cx.read_report(file)
    assert dataclasses.asdict(REPORT) == {
        f.name: getattr(found, f.name) for f in dataclasses.fields(found)
    }
    assert hash(found) == hash(cx.read_report(str(file)))
    assert cx.to_json(found) == file.read_text()
    assert (found.equal, found.usual, found.operations_per_second) == (True, 2e-6, 4096 / 2e-6)


def test_a_report_knows_its_kernel() -> None:
    kernel = gemm()
    again = cx.from_json(cx.to_json(kernel))
    found = names_of(kernel)["KERNEL"]
    values = dataclasses.asdict(REPORT) | {"identity": found.identity}
    measured = Measurement(**values)
    assert measured.measures(kernel)
    assert measured.measures(again)
    assert not measured.measures(gemm(a="col"))


HOSTILE: dict[str, str | bytes] = {
    "text": "not JSON",
    "bytes": b"\xff\xfe",
    "another kind": cx.to_json(cx.Layout(4, 1)),
    "an identity": launching.document(dataclasses.replace(REPORT, identity="../../etc")),
    "a time": launching.document(dataclasses.replace(REPORT, seconds=(-1.0,))),
    "no run": launching.document(dataclasses.replace(REPORT, seconds=())),
    "sizes": launching.document(dataclasses.replace(REPORT, sizes=(("M", 0),))),
    "a kind": launching.document(dataclasses.replace(REPORT, kind="tpu")),
    "a share": launching.document(dataclasses.replace(REPORT, compared=7.0)),
    "a field": json.dumps({**json.loads(launching.document(REPORT)), "more": 1}),
    "depth": "[" * 100_000,
    "length": " " * (1 << 23),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files_are_refused(what: str, tmp_path: Path) -> None:
    file, text = tmp_path / "report.json", HOSTILE[what]
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CuteError):
        cx.read_report(file)


@pytest.mark.parametrize("path", ["nowhere.json", ".", "a\0b"])
def test_what_is_not_a_file_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        cx.read_report(path)
