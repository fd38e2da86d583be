"""Compile files of `emit(kernel, "sycl")` for the host against intel/sycl-tla; run to the launch.

    SYCL_TLA=~/sycl-tla python benchmarks/sycl_files.py

`tests/sycl_host` stands for SYCL's own headers. For each kernel the file is compiled as it stands,
device function and assertions with it; it is run, and its ranges, subgroups, registers, pointers,
pitches and sizes are compared with the kernel's. Then one claim is changed: that alone must fail.
Names choose kernels; ``--clang`` takes clang++-22, which knows no -fpermissive, as a further judge.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from cpu_device import gemm, kernels
from cute_asserts import broken
from sycl_programs import (  # pyright: ignore[reportMissingImports]
    FLAGS,
    compiled,
    recording,
    unlike,
)

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel

S8 = (8, "s32", "s8")
SIZES = {"L": 3, "M": 136, "K": 320, "N": 320, "E": 2}
"""Sizes of which each row of each type is as wide as a message takes."""
MORE: dict[str, Callable[[], Kernel]] = {
    "batches": lambda: gemm(batch=True, epilogue="relu(alpha*acc + beta*C + bias[n])"),
    "batches of s4": lambda: gemm((8, "s32", "s4"), (32, 32, 128), batch=True),
    "256x256x32": lambda: cx.kernel.gemm(
        cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (256, 256, 32), ((8, 4, 1), (4, 1, 0)))
    ),
    "s8 by columns": lambda: gemm(S8, (32, 64, 64), b="col", epilogue="0.5*acc", d_type="s8"),
    "no stages": lambda: gemm(stages=0, d_type="f16"),
    "C by columns": lambda: gemm(epilogue="acc + C", orders={"C": "col"}),
}


def taken() -> dict[str, Kernel]:
    """Return the kernels that CuTe C++ can say."""
    makers = {name: lambda make=make: make()[0] for name, make in kernels().items()} | MORE
    out: dict[str, Kernel] = {}
    for name, make in makers.items():
        kernel = make()
        try:
            cx.emit(kernel, "sycl")
        except CuteError:
            continue
        out[name] = kernel
    return out


def precompiled(text: str, folder: Path, *flags: str) -> tuple[str, ...]:
    """Return the options by which headers of a text are read once for all files."""
    header = folder / "before.hpp"
    lines = [line for line in text.splitlines() if line.startswith("#include")]
    header.write_text("\n".join(["#pragma once", *lines, ""]), encoding="utf-8")
    subprocess.run(["g++", *FLAGS, *flags, "-x", "c++-header", str(header)], check=True)
    return *flags, f"-I{folder}", "-include", "before.hpp"


def claimed_otherwise(text: str, number: int, folder: Path, *flags: str) -> str:
    """Return what is said where one claim is changed, unless it is that claim alone."""
    file = folder / "changed.cpp"
    at = text.index("// For each of ")
    file.write_text(text[:at] + broken(text, number) + "}\n", encoding="utf-8")
    command = ["g++", *FLAGS, *flags, "-fsyntax-only", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if " error: " in line]
    right = len(errors) == 1 and "static assertion failed: broken" in errors[0]
    return "" if right else f"a changed claim: {errors[:3]}"


def main() -> int:
    """Compile, run and change each file; say what came of it."""
    chosen = [word for word in sys.argv[1:] if not word.startswith("--")]
    include = f"-I{Path(os.environ['SYCL_TLA']) / 'include'}"
    failed = count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flags = precompiled(cx.emit(gemm(), "sycl"), folder, "-fpermissive", include)
        for number, (title, kernel) in enumerate(taken().items()):
            if chosen and title not in chosen:
                continue
            start, text = time.perf_counter(), cx.emit(kernel, "sycl")
            program, said = compiled(recording(text, kernel), folder, *flags)
            said = said or unlike(kernel, SIZES, program, "--compare", "1")
            said = said or claimed_otherwise(text, number, folder, *flags)
            if not said and "--clang" in sys.argv:
                file = folder / "program.cpp"
                command = ["clang++-22", *FLAGS, include, "-fsyntax-only", str(file)]
                said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
            count, failed = count + 1, failed + bool(said)
            spent = time.perf_counter() - start
            print(f"{spent:5.1f} s  {title}: {said[:600] or 'right'}", flush=True)
    print(f"{count} files, {failed} wrong")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
