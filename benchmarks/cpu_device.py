"""Run emitted OpenCL C on Intel's CPU device: three kernels, held against NumPy and against `run`.

Needs the packages intel-opencl-rt, intel-cmplr-lib-rt and pyopencl (277 MB to fetch, 900 MB on
disk); `make emit-cpu` installs them into an environment of their own. The text is that of
`emit(kernel, "opencl", device="cpu")`, the launcher that of `emit(kernel, "host", device="cpu")`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.kernel import Kernel

GRID = ((2, 2, 1), (2, 1, 0))
SIZES = {"M": 257, "N": 255, "K": 101}
SMALL = {"M": 67, "N": 65, "K": 69}
FAR = {"M": 1024, "N": 1024, "K": 1024}


def kernels() -> dict[str, Kernel]:
    """Integers; 16-bit floats; a column-major A, which is reordered, under an epilogue."""

    def mma(d: str, a: str, tile: tuple[int, int, int]) -> Any:
        return cx.workgroup_mma(cx.XE_DPAS_TT(8, d, a), tile, GRID)

    return {
        "s8": cx.kernel.gemm(mma("s32", "s8", (64, 64, 64))),
        "bf16": cx.kernel.gemm(mma("f32", "bf16", (64, 64, 32)), d_type="bf16"),
        "f16": cx.kernel.gemm(
            mma("f32", "f16", (64, 64, 32)), a="col", epilogue="relu(alpha*acc + bias[n])"
        ),
    }


def find_device() -> None:
    """Tell the OpenCL loader where the package put the driver: its own note names another place."""
    driver = Path(sys.prefix) / "lib" / "libintelocl.so"
    if not driver.exists():
        raise SystemExit("Intel's CPU device is not installed here: make emit-cpu installs it")
    vendors = Path(tempfile.mkdtemp())
    (vendors / "intel.icd").write_text(f"{driver}\n", encoding="utf-8")
    os.environ |= {"OCL_ICD_VENDORS": str(vendors), "PYOPENCL_NO_CACHE": "1"}
    warnings.filterwarnings("ignore", message="Non-empty compiler output")


class Device:
    """The first device that the loader has."""

    def __init__(self) -> None:
        """Open it."""
        import pyopencl as cl  # pyright: ignore[reportMissingImports]

        self.cl: Any = cl
        self.context: Any = cl.Context([cl.get_platforms()[0].get_devices()[0]])
        self.queue: Any = cl.CommandQueue(self.context)
        self.built: dict[str, Any] = {}

    def launched(self, kernel: Kernel, given: dict[str, Any]) -> tuple[np.ndarray, float, float]:
        """Build and launch a kernel; what it leaves in D, seconds to build, seconds to run."""
        launcher: dict[str, Any] = {}
        exec(compile(cx.emit(kernel, "host", device="cpu"), "launcher", "exec"), launcher)
        start = time.perf_counter()
        text = cx.emit(kernel, "opencl", device="cpu")
        if text not in self.built:
            self.built[text] = launcher["build"](self.context, text)
        built = self.built[text]
        after = time.perf_counter()
        named: dict[str, Any] = {}
        for operand in kernel.operands:
            if not operand.modes:
                named[operand.name] = given[operand.name]
                continue
            rows = self._rows(operand, given)
            flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
            buffer = self.cl.Buffer(self.context, flags, hostbuf=rows)
            named |= {operand.name: buffer, f"{operand.name}_width": _width(operand, given)}
            if len(operand.modes) == 2:
                named[f"{operand.name}_pitch"] = rows.shape[1]
        sizes = {name: given[name] for name in kernel.sizes}
        begun = time.perf_counter()
        launcher["launch"](self.queue, built, **named, **sizes).wait()
        seconds = time.perf_counter() - begun
        out = kernel.operand("D")
        rows = self._rows(out, given)
        self.cl.enqueue_copy(self.queue, rows, named["D"])
        flat = rows[:, : given["N"] * out.value_type.bits // 8].copy()
        return flat.view(numpy_dtype(out.value_type)), after - start, seconds

    @staticmethod
    def _rows(operand: Any, given: dict[str, Any]) -> np.ndarray:
        """An operand as bytes, row by row, each row filled up with zeros."""
        shape = tuple(mode.at(given) for mode in operand.modes)
        held = given.get(operand.name, np.zeros(shape, numpy_dtype(operand.value_type)))
        held = np.moveaxis(held, operand.contiguous, -1).reshape(-1, shape[operand.contiguous])
        data = np.ascontiguousarray(held).view(np.uint8)
        pitch = -(-data.shape[1] // 64) * 64
        return np.pad(data, ((0, 0), (0, pitch - data.shape[1])))


def _width(operand: Any, given: dict[str, Any]) -> int:
    """Bytes of a row, which a message wants to be a multiple of 4."""
    row = operand.modes[operand.contiguous].at(given) * operand.value_type.bits // 8
    return -(-row // 4) * 4


def filled(kernel: Kernel, sizes: dict[str, int], exact: bool) -> dict[str, Any]:
    """Inputs: small integers, whose sums no type rounds, or numbers of the whole type."""
    rng = np.random.default_rng(0)
    out: dict[str, Any] = {**sizes}
    for operand in kernel.inputs:
        shape = tuple(mode.at(sizes) for mode in operand.modes)
        kind = operand.value_type
        if not shape:
            out[operand.name] = 0.5
        elif kind.kind == "float" and not exact:
            out[operand.name] = rng.standard_normal(shape).astype(numpy_dtype(kind))
        else:
            low, high = (-2, 3) if kind.kind == "float" else (-128, 128)
            out[operand.name] = rng.integers(low, high, shape).astype(numpy_dtype(kind))
    return out


def wanted(kernel: Kernel, given: dict[str, Any]) -> np.ndarray:
    """What NumPy alone computes, in float64, where every number here is exact."""
    value = given["A"].astype(np.float64) @ given["B"].astype(np.float64)
    if "bias" in given:
        value = np.maximum(given["alpha"] * value + given["bias"].astype(np.float64), 0)
    return value.astype(numpy_dtype(kernel.operand("D").value_type))


def main() -> None:
    """Run the kernels; say what came of each."""
    find_device()
    device, wrong = Device(), 0
    for name, kernel in kernels().items():
        given = filled(kernel, SIZES, exact=True)
        out, building, running = device.launched(kernel, given)
        equal = np.array_equal(out, wanted(kernel, given))
        given = filled(kernel, SMALL, exact=False)
        inputs = {o.name: given[o.name] for o in kernel.inputs}
        run = np.asarray(cx.run(kernel, executor="reference", **inputs))
        same = np.array_equal(device.launched(kernel, given)[0], run)
        far = device.launched(kernel, filled(kernel, FAR, exact=True))[2]
        wrong += not (equal and same)
        print(
            f"{name:5} {'equal to NumPy' if equal else 'WRONG'} at 257x255x101, "
            f"{'equal to run' if same else 'DIFFERS from run'} in sums that are rounded; "
            f"built in {building:.1f} s, run in {1000 * running:.1f} ms, 1024^3 in {far:.2f} s",
            flush=True,
        )
    if wrong:
        raise SystemExit(f"{wrong} of {len(kernels())} kernels differ")


if __name__ == "__main__":
    main()
