"""Run programs of `emit(kernel, "program")` on Intel's CPU device: all kinds, each equal.

Needs the packages intel-opencl-rt, intel-cmplr-lib-rt and pyopencl (277 MB to fetch, 900 MB on
disk); `make emit-cpu` installs them into an environment of their own. Each kernel is one file,
written to a folder and run as it stands; names choose kernels:
    python benchmarks/cpu_device.py "parts of K" "e4m3"
"""

from __future__ import annotations

import runpy
import sys
import tempfile
import time
from collections.abc import Callable
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


def ran(kernel: Kernel, given: dict[str, Any], folder: Path) -> tuple[int, Any]:
    """Write a program, run it on arrays, and return its status and its report."""
    file, data, report = (folder / name for name in ("program.py", "data.npz", "report.json"))
    file.write_text(cx.emit(kernel, "program"), encoding="utf-8")
    report.unlink(missing_ok=True)
    asked = SIZES | {n: v for n, v in given.items() if n in kernel.sizes}
    for operand in kernel.inputs:
        extents = np.shape(given[operand.name]) if operand.name in given else ()
        asked |= dict(zip(map(str, operand.modes), extents, strict=False))
    sizes = ",".join(f"{name}={size}" for name, size in asked.items() if name in kernel.sizes)
    program = runpy.run_path(str(file))
    indices = [tensor.name for tensor in program["KERNEL"].tensors if not tensor.numbers]
    np.savez(data, **{name: given[name] for name in indices if name in given})
    options = ["--device", "cpu", "--repeat", "1", "--save", str(report), "--size", sizes]
    status = program["main"](program["KERNEL"], [*options, "--data", str(data)])
    return status, cx.read_report(report) if report.exists() else None


def main() -> None:
    """Run the kernels; say what came of each."""
    chosen = sys.argv[1:]
    wrong: list[str] = []
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make in kernels().items():
            if chosen and name not in chosen:
                continue
            count, start = count + 1, time.perf_counter()
            kernel, given = make()
            status, report = ran(kernel, given, Path(folder))
            right = status == 0 and report.equal and report.measures(kernel)
            wrong += [] if right else [name]
            took = time.perf_counter() - start
            print(f"{'equal' if right else 'WRONG'}  {name} ({took:.1f} s)\n", flush=True)
    if wrong:
        raise SystemExit(f"{len(wrong)} of {count} programs differ: {'; '.join(wrong)}")
    print(f"{count} programs: equal to NumPy on this CPU")


if __name__ == "__main__":
    main()
