"""How many files a question about a kernel visits: `python benchmarks/trips.py [verb …] [--files]`.

A file is visited where one of its functions is called. All modules are imported, and the kernel is
built, before the count begins; every cache is empty but those that building filled.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
import threading
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import pycute_xe as cx

ROOT = Path(cx.__file__).parent


def visited(what: Callable[[], Any]) -> Counter[str]:
    """Return how many calls each file of the package has while something is done."""
    calls: Counter[str] = Counter()

    def seen(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            calls[str(Path(frame.f_code.co_filename).relative_to(ROOT))] += 1

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        what()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def main() -> None:
    """Print a line for each verb."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verbs", nargs="*")
    parser.add_argument("--files", action="store_true", help="name the files, with their calls")
    asked = parser.parse_args()
    for module in pkgutil.walk_packages([str(ROOT)], "pycute_xe."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    gemm = cx.kernel.gemm(cx.workgroup_mma(op))
    first = cx.workgroup_mma(op, (128, 64, 32), ((8, 1, 1), (1, 1, 0)))
    second = cx.workgroup_mma(op, (128, 32, 64), ((8, 1, 1), (1, 0, 1)))
    attention = cx.kernel.attention(first, second, out=64)
    A, B = (np.ones(shape, ml_dtypes.bfloat16) for shape in ((256, 32), (32, 256)))
    trips: dict[str, Callable[[], Any]] = {
        "check": lambda: str(cx.check(gemm)),
        "run": lambda: cx.run(gemm, A, B),
        "verify": lambda: str(cx.verify(gemm)),
        "draw": lambda: cx.draw(gemm).svg,
        "emit": lambda: cx.emit(gemm, "opencl"),
        "attention through verify": lambda: str(cx.verify(attention)),
    }
    for name, what in trips.items():
        if asked.verbs and name not in asked.verbs:
            continue
        calls = visited(what)
        print(f"{name:26s} {len(calls):3d} files")
        for file, count in sorted(calls.items()) if asked.files else ():
            print(f"{count:10d} {file}")


if __name__ == "__main__":
    main()
