"""Compile 120 kernels of the field's configurations and hold each binary against `run`.

Drawn evenly over types, and in each over the configurations in their order; at least every second
has a column-major A. For each: the compiler accepts the text, messages and DPAS in the code are
those of the listing, and the binary, executed, leaves the bytes, messages and barriers of a run, at
sizes with edges and more than three tiles of K. Needs ocloc 22.43 and iga64 (see `native.missing`);
with --newest, what `make compilers` unpacked, for pvc and bmg.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import pycute_xe as cx
from pycute_xe.atom import XE_LOAD_2D_TRANSPOSE, make_block_2d_copy_A
from pycute_xe.errors import CuteError
from pycute_xe.kernel import gmem_stride

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from compiled_cases import (  # pyright: ignore[reportMissingImports]
    RECORDED,
    asked_compilers,
    filled,
    held_against_run,
)
from family_gemms import ORDER, Row, rows, twins  # pyright: ignore[reportMissingImports]

# Epilogues beside those of the configurations, for kernels that have none; the last uses math.
EPILOGUES = (
    None,
    "relu(acc + bias[n])",
    "acc * scale[m] + shift[n]",
    "clamp(alpha * acc, -4, 6) + abs(C)",
    "silu(acc + bias[m])",
)
MATHEMATICAL = ("silu",)
# exp(x) is 2 to the power of x·log2(e), a product that is rounded: steps grow with |x|.
ULPS = 256


@dataclass(frozen=True)
class Case:
    """A configuration, its epilogue where it has none of its own, and the sizes it runs at.

    ``low`` loads A in transposed blocks of 16 rows: the compiler of Debian 12 takes none of 32.
    """

    row: Row
    epilogue: str | None
    sizes: tuple[int, int, int]
    low: bool = False

    @property
    def mathematical(self) -> bool:
        """Whether instructions of the math unit are used."""
        return self.epilogue is not None and self.epilogue.startswith(MATHEMATICAL)

    def kernel(self) -> Any:
        """Build the kernel."""
        row = self.row
        m, n = row.subgroups
        op = cx.XE_DPAS_TT(row.dpas_m, row.acc, row.A, row.B)
        mma = cx.workgroup_mma(op, tile=row.tile, subgroups=((m, n, 1), (n, 1, 0)))
        a, b, c, d = (ORDER[letter] for letter in row.orders)
        more: dict[str, Any] = {"epilogue": self.epilogue}
        if row.C != "-":
            more = {"epilogue": "alpha*acc + beta*C", "types": {"C": row.C}, "orders": {"C": c}}
        if self.low:
            short = XE_LOAD_2D_TRANSPOSE(32, 16, 8)
            more["copy_a"] = make_block_2d_copy_A(mma, gmem_stride("A", a), op=short)  # pyright: ignore[reportArgumentType]
        return cx.kernel.gemm(mma, a, b, d, row.stages, d_type=row.D, **more)  # pyright: ignore[reportArgumentType]

    def __str__(self) -> str:
        """The configuration in a line."""
        row = self.row
        tile, grid = "x".join(map(str, row.tile)), "x".join(map(str, row.subgroups))
        types = f"{row.A}·{row.B} → {row.acc} → {row.D}"
        ending = self.epilogue or ("alpha*acc + beta*C" if row.C != "-" else "acc")
        sizes = "x".join(map(str, self.sizes))
        return f"{types} {row.orders} {tile} / {grid} stages {row.stages}: {ending} at {sizes}"


def drawn(count: int = 120) -> list[Case]:
    """The kernels: as many of each type, evenly through its configurations, that fit the device."""
    groups: dict[str, list[Row]] = {}
    for row in (*rows(), *twins()):
        if row.A in ("bf16", "f16", "tf32", "s8", "u8") and "pvc" in row.targets:
            groups.setdefault("int8" if row.A in ("s8", "u8") else row.A, []).append(row)
    each = count // len(groups)
    out: list[Case] = []
    for found in groups.values():
        columns = [row for row in found if row.orders[0] == "c"]
        others = [row for row in found if row.orders[0] != "c"]
        out += _spread(columns, each - each // 2, len(out))
        out += _spread(others, each // 2, len(out))
    return out


def _spread(found: list[Row], count: int, first: int) -> list[Case]:
    """So many of a list, evenly, each the next one that fits the registers of the device."""
    out: list[Case] = []
    taken: set[int] = set()
    for i in range(count):
        at = i * len(found) // count
        case = None
        while case is None:
            if len(taken) == len(found):
                raise SystemExit(f"of {len(found)} configurations only {len(out)} fit the device")
            while at % len(found) in taken:
                at += 1
            taken.add(at % len(found))
            case = _case(found[at % len(found)], first + i)
        out.append(case)
    return out


def _case(row: Row, number: int) -> Case | None:
    """A case of a configuration, or None if it does not fit the device."""
    m, n, k = row.tile
    m, n = (m + 1, n - 5) if number % 2 else (m - 3, n + 7)
    if m * n > 128 * 128:  # one work-group of the large tiles, for time
        m, n = row.tile[0] - 3, row.tile[1] - 5
    epilogue = None if row.C != "-" else EPILOGUES[number % len(EPILOGUES)]
    for low in (False, True):
        case = Case(row, epilogue, (m, n, 3 * k + 5), low)
        try:
            checked = cx.check(case.kernel(), "pvc")
        except CuteError:
            return None
        # `check` warns of the tall transposed blocks.
        warned = {f.broken.rule for f in checked.findings}
        if not checked:
            return None
        if "transpose-column-bytes" not in warned:
            return case
    return None


Task = tuple[Case, tuple[str, str]]


def judged(task: Task) -> tuple[Task, list[str], float, str]:
    """Compile and run a case for a target by a compiler; what is wrong, and what was made."""
    start = time.perf_counter()
    case, made = task
    try:
        kernel, ulps = case.kernel(), ULPS * case.mathematical
        wrong = held_against_run(kernel, filled(kernel, case.sizes), ulps=ulps, made=made)
        binary = cx.native.compile(kernel, made[0], compiler=made[1])
        fits = cx.check(kernel, made[0]).registers
        said = f"{binary.registers} registers, {binary.scratch} scratch, check {fits}"
    except CuteError as error:
        wrong, said = [f"{type(error).__name__}: {error}"], ""
    return task, wrong, time.perf_counter() - start, said


def spilled(case: Case) -> tuple[Case, list[str], list[str]]:
    """Compile a case in both register modes: where `check` is wrong, and where it is careful."""
    kernel = case.kernel()
    checked = cx.check(kernel, "pvc")
    mode = next(r.available for r in checked.resources if r.name == "registers")
    wrong: list[str] = []
    careful: list[str] = []
    for registers in (128, 256):
        scratch = cx.native.compile(kernel, registers=registers, compiler=RECORDED).scratch
        said = f"{checked.registers} registers in the mode of {registers}: {scratch} bytes"
        if scratch and mode <= registers:
            wrong.append(f"{said}, check says that they fit")
        elif not scratch and mode > registers:
            careful.append(f"{said}, check says that they do not fit")
    return case, wrong, careful


def judge_registers(cases: list[Case], workers: int) -> bool:
    """Print every case in which `check` and the compiler do not agree; whether one is wrong."""
    total = [0, 0]
    with Pool(workers) as pool:
        for case, wrong, careful in pool.imap(spilled, cases):
            total = [total[0] + len(wrong), total[1] + len(careful)]
            for line in (*wrong, *careful):
                print(f"{case}\n      {line}", flush=True)
    print(f"{2 * len(cases)} builds: {total[0]} spill against check, {total[1]} fit against it")
    return total[0] > 0


def main() -> None:
    """Judge the kernels; exit with 1 where any is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--registers", action="store_true", help="compile in both register modes")
    asked, compilers = asked_compilers(parser)
    cases = drawn(asked.count)[:: asked.every]
    if asked.registers:
        raise SystemExit(judge_registers(cases, asked.workers))
    tasks = [(case, made) for made in compilers for case in cases]
    start, bad = time.perf_counter(), 0
    with Pool(asked.workers) as pool:
        for (case, (target, _)), wrong, seconds, said in pool.imap(judged, tasks):
            bad += bool(wrong)
            word = "wrong" if wrong else "equal"
            print(f"{word} {seconds:5.1f} s  {target} {case}  [{said}]", flush=True)
            for line in wrong:
                print(f"      {line}", flush=True)
    columns = sum(case.row.orders[0] == "c" for case, _ in tasks)
    equal, seconds = len(tasks) - bad, time.perf_counter() - start
    print(f"{equal} of {len(tasks)} equal ({columns} with column-major A), {seconds:.0f} s")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
