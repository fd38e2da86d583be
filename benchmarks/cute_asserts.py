"""Compile what `emit(kernel, "cute")` claims against a checkout of intel/sycl-tla, and break it.

    SYCL_TLA=~/sycl-tla STUBS=~/stubs python benchmarks/cute_asserts.py [count]

STUBS holds headers that stand for SYCL's own (``sycl/sycl.hpp``, ``cute/util/compat.hpp``), so
that any g++ compiles the layouts. For each kernel of the field's configurations one claim is
repeated with one stride changed: it alone must fail. Every tenth is also compiled as it is, and
with ``--whole`` the device function with it.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from pycute_xe.emitting import emit
from pycute_xe.errors import CuteError

OPTIONS = ["-std=c++17", "-DSYCL_INTEL_TARGET", "-DCUTLASS_ENABLE_SYCL", "-w", "-fpermissive"]
MATHEMATICS = """\
#pragma once
#include <cmath>
#include <cute/tensor.hpp>
namespace sycl { using std::exp; using std::exp2; using std::log; using std::sqrt; using std::tanh;
using std::erf; using std::fabs; using std::rint;
inline float rsqrt(float x) { return 1 / std::sqrt(x); } }
"""
CLAIM = re.compile(r"^static_assert\((same<(?:by_mode|reordered)<.*)\);$", re.MULTILINE)


def drawn(count: int) -> list[Any]:
    """Return so many configurations, evenly over groups and types, the same in every run."""
    by_kind: dict[tuple[str, ...], list[Any]] = {}
    sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]
    for row in import_module("family_gemms").rows():
        key = (row.group, row.A, row.B, row.acc, row.D, row.orders)
        by_kind.setdefault(key, []).append(row)
    order = random.Random(0)
    kinds = list(by_kind.values())
    for alike in kinds:
        order.shuffle(alike)
    order.shuffle(kinds)
    turns = max(map(len, kinds))
    every = [alike[i] for i in range(turns) for alike in kinds if i < len(alike)]
    return every[: count * 3]


def broken(text: str, number: int) -> str:
    """Return a claim of a text with its last stride changed, as an assertion "broken"."""
    claim = random.Random(number).choice(list(CLAIM.finditer(text)))
    strides = re.finditer(r"(?<=[<,])(?:_(\d+)|Int<(\d+)>)(?=[,>])", claim[1])
    last = list(strides)[-1]  # strides follow shapes
    value = int(last[1] or last[2]) + 1
    wrong = f"{claim[1][: last.start()]}Int<{value}>{claim[1][last.end() :]}"
    return re.sub(r', "[^"]*"$', ', "broken"', f"static_assert({wrong}") + ");\n"


class Compiler:
    """g++ on a directory with the headers in place and the large one compiled beforehand."""

    def __init__(self, folder: Path, checkout: Path, stubs: Path) -> None:
        self.folder = folder
        headers = folder / "include"
        subprocess.run(["cp", "-r", str(checkout / "include"), str(headers)], check=True)
        stub = stubs / "cute/util/compat.hpp"
        (headers / "cute/util/compat.hpp").write_text(stub.read_text(encoding="utf-8"))
        (folder / "before.hpp").write_text(MATHEMATICS, encoding="utf-8")
        self.options = [*OPTIONS, f"-I{folder}", f"-I{stubs}", f"-I{headers}"]
        self._run("-x", "c++-header", str(folder / "before.hpp"))

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["g++", *self.options, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def errors(self, text: str) -> list[str]:
        """Return the errors of a text."""
        file = self.folder / "kernel.cpp"
        file.write_text(text, encoding="utf-8")
        done = self._run("-include", "before.hpp", "-fsyntax-only", str(file))
        found = [line for line in done.stderr.splitlines() if " error: " in line]
        return found or ([done.stderr] if done.returncode else [])


def claims_of(text: str) -> str:
    """Return the text without the device function."""
    return text[: text.index("// For each of ")]


def main() -> int:
    """Compile so many kernels, right and wrong."""
    whole = "--whole" in sys.argv
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    count = numbers[0] if numbers else 60
    checkout, stubs = Path(os.environ["SYCL_TLA"]), Path(os.environ["STUBS"])
    spent: list[float] = []
    failed = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(Path(folder), checkout, stubs)
        for number, row in enumerate(drawn(count)):
            if len(spent) == count:
                break
            try:
                text = emit(row.kernel(), "cute")
            except CuteError as error:
                refused += 1
                print(f"refused  {row.heading} {row.orders} {row.tile}: {error.condition}")
                continue
            start = time.perf_counter()
            found = compiler.errors(claims_of(text) + broken(text, number) + "}\n")
            spent.append(time.perf_counter() - start)
            if len(spent) % 10 == 1:
                found += compiler.errors(text if whole else claims_of(text) + "}\n")
            ok = len(found) == 1 and "static assertion failed: broken" in found[0]
            failed += not ok
            told = "right" if ok else f"WRONG {found[:3]}"
            print(f"{spent[-1]:5.1f} s  {row.heading} {row.orders} {row.tile}: {told}", flush=True)
    mean = sum(spent) / max(1, len(spent))
    print(f"{len(spent)} kernels, {failed} wrong, {refused} refused, {mean:.1f} s a file")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
