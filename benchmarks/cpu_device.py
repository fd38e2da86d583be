"""Run programs of `emit(kernel, "program")` on Intel's CPU device: all kinds, each equal.

Each kernel is one file, written to a folder and run as it stands by another interpreter, which has
numpy, ml_dtypes, pyopencl and Intel's driver of a CPU, and nothing of this project: `make emit-cpu`
makes its environment (277 MB to fetch, 900 MB on disk). Names choose kernels:
    python benchmarks/cpu_device.py .venv-cpu/bin/python "parts of K" "e4m3"
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from compiled_kinds import CASES  # pyright: ignore[reportMissingImports]
from mixed_forms import FORMS, inputs, made  # pyright: ignore[reportMissingImports]

import pycute_xe as cx
from pycute_xe.kernel import Kernel

GRID = ((2, 2, 1), (2, 1, 0))
SIZES = {"M": 67, "N": 70, "K": 101}
Given = tuple[Kernel, dict[str, Any]]


def gemm(
    op: tuple[Any, ...] = (8, "f32", "bf16"),
    tile: tuple[int, int, int] = (32, 64, 32),
    **more: Any,
) -> Kernel:
    """A GEMM of one kind of DPAS."""
    return cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(*op), tile, GRID), **more)


GEMMS: dict[str, Callable[[], Kernel]] = {
    "bf16": gemm,
    "bf16 by columns": lambda: gemm(
        a="col", epilogue="relu(alpha*acc + bias[n])", d_type="bf16", tile=(16, 32, 16)
    ),
    "f16 into f16": lambda: gemm(
        (8, "f16", "f16"), b="col", epilogue="clamp(acc + C, -4, 6)", d="col"
    ),
    "bf16 into bf16": lambda: gemm((8, "bf16", "bf16")),
    "tf32": lambda: gemm((8, "f32", "tf32"), (32, 64, 16)),
    "s8": lambda: gemm((8, "s32", "s8"), (32, 64, 64)),
    "u8 by columns into s8": lambda: gemm((8, "s32", "u8"), (32, 64, 64), a="col", d_type="s8"),
    "s4": lambda: gemm((8, "s32", "s4"), (32, 32, 128), b="col"),
    "4 rows": lambda: gemm((4, "f32", "f16"), epilogue="abs(acc)*scale[m]"),
    "tanh and gelu": lambda: gemm(tile=(16, 32, 32), epilogue="tanh(acc) + gelu(C)"),
    "silu": lambda: gemm(tile=(16, 32, 32), epilogue="silu(acc)"),
    "into tf32": lambda: gemm((8, "f32", "tf32"), (32, 64, 16), types={"A": "bf16", "B": "u2"}),
    "two operands of 8 bits": lambda: gemm(types={"A": "f8e4m3", "B": "f8e5m2"}),
    "names of C": lambda: gemm(epilogue="queue*acc + get_group_id[n] + T1[m]", tile=(16, 32, 16)),
}


def kernels() -> dict[str, Callable[[], Given]]:
    """GEMMs, GEMMs of mixed types, and one of every other kind, with what each is given."""
    out: dict[str, Callable[[], Given]] = {
        name: lambda make=make: (make(), {}) for name, make in GEMMS.items()
    }
    for form in FORMS:
        types = ", ".join(f"{name} {kind}" for name, kind in form[1].items())
        out[f"{types} by {form[2]}"] = lambda form=form: _filled(made(form, (16, 32, 64)))
    return out | {name: case.make for name, case in CASES.items()}


def _filled(kernel: Kernel) -> Given:
    return kernel, inputs(kernel, SIZES)


def ran(python: Path, kernel: Kernel, given: dict[str, Any], folder: Path) -> Any:
    """Write a program, run it with an interpreter on arrays, and return its report, if any."""
    file, data, report = (folder / name for name in ("program.py", "data.npz", "report.json"))
    file.write_text(cx.emit(kernel, "program"), encoding="utf-8")
    report.unlink(missing_ok=True)
    asked = SIZES | {n: v for n, v in given.items() if n in kernel.sizes}
    for operand in kernel.inputs:
        extents = np.shape(given[operand.name]) if operand.name in given else ()
        asked |= dict(zip(map(str, operand.modes), extents, strict=False))
    sizes = ",".join(f"{name}={size}" for name, size in asked.items() if name in kernel.sizes)
    tensors = runpy.run_path(str(file))["KERNEL"].tensors
    indices = [tensor.name for tensor in tensors if not tensor.numbers]
    np.savez(data, **{name: given[name] for name in indices if name in given})
    options = ["--device", "cpu", "--repeat", "1", "--save", report, "--size", sizes]
    ruff = [sys.executable, "-m", "ruff", "check", "--quiet", "--isolated", file]
    subprocess.run(ruff, check=True)
    # Isolated: no path, no variable and no package but what that interpreter has.
    command = [python, "-I", file, *options, "--data", data]
    status = subprocess.run(command, cwd=folder, check=False).returncode
    return cx.read_report(report) if status == 0 and report.exists() else None


BEFORE: dict[str, tuple[list[str], dict[str, str]]] = {
    "a wrong pitch": (["--size", "K=100", "--pitch", "A=204"], {}),
    "no GPU": (["--device", "gpu"], {}),
    "no driver": ([], {"OCL_ICD_VENDORS": "/nowhere"}),
    "too little memory": (["--size", "M=4000000,N=4000000"], {}),
}
"""What stands in the way of a program: options and variables of the environment."""


def refused(python: Path, folder: Path) -> Iterator[str]:
    """Yield what a program does not refuse with status 2, in one line that begins with its name."""
    file = folder / "program.py"
    file.write_text(cx.emit(gemm(), "program"), encoding="utf-8")
    for what, (options, variables) in BEFORE.items():
        command = [python, file, *options]
        found = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, check=False
        )
        print(found.stderr, flush=True)
        line = found.stderr.startswith("gemm: ") and found.stderr.count("\n") == 1
        if found.returncode != 2 or not line:
            yield what


def main() -> None:
    """Run the kernels; say what came of each."""
    python, chosen = Path(sys.argv[1]).absolute(), sys.argv[2:]
    wrong: list[str] = []
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make in kernels().items():
            if chosen and name not in chosen:
                continue
            count, start = count + 1, time.perf_counter()
            kernel, given = make()
            report = ran(python, kernel, given, Path(folder))
            right = report is not None and report.equal and report.measures(kernel)
            wrong += [] if right else [name]
            took = time.perf_counter() - start
            print(f"{'equal' if right else 'WRONG'}  {name} ({took:.1f} s)\n", flush=True)
        wrong += refused(python, Path(folder))
    if wrong:
        raise SystemExit(f"{len(wrong)} of {count} programs are wrong: {'; '.join(wrong)}")
    print(f"{count} programs: equal to NumPy on this CPU")


if __name__ == "__main__":
    main()
