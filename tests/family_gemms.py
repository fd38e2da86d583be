"""The field's GEMM configurations: built, checked, verified and run, each against NumPy alone.

Rows are facts read from public sources (tests/data/README.md says which). Run as a program it
judges every row and every twin in other types, and writes the results.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel

HERE = Path(__file__).parent
ROWS = HERE / "data" / "family_gemms.tsv"
RESULTS = HERE / "data" / "family_gemms_results.json"
ORDER = {"r": "row", "c": "col"}
# The same tiles in types that no row has: A, B, accumulator.
TWINS = (("tf32", "tf32", "f32"), ("s4", "s4", "s32"), ("u8", "s8", "s32"))


@dataclass(frozen=True)
class Row:
    """One configuration, and how many rows of the sources have it."""

    group: str
    A: str
    B: str
    acc: str
    C: str
    D: str
    orders: str
    tile: tuple[int, int, int]
    subgroups: tuple[int, int]
    stages: int
    dpas_m: int
    targets: tuple[str, ...]
    rows: int = 1

    def kernel(self) -> Kernel:
        """Build the kernel, or raise the library's refusal."""
        m, n = self.subgroups
        op = cx.XE_DPAS_TT(self.dpas_m, self.acc, self.A, self.B)
        mma = cx.workgroup_mma(op, tile=self.tile, subgroups=((m, n, 1), (n, 1, 0)))
        a, b, c, d = (ORDER[letter] for letter in self.orders)
        more: dict[str, Any] = {}
        if self.C != "-":
            more = {"epilogue": "alpha*acc + beta*C", "types": {"C": self.C}, "orders": {"C": c}}
        return cx.kernel.gemm(mma, a, b, d, self.stages, d_type=self.D, **more)  # pyright: ignore[reportArgumentType]


def rows() -> tuple[Row, ...]:
    """Every configuration of the field's GEMMs of one input type."""
    lines = ROWS.read_text(encoding="utf-8").splitlines()[1:]
    return tuple(_row(line.split("\t")) for line in lines)


def _row(cells: list[str]) -> Row:
    group, kind, acc, c, d = cells[:5]
    m, n, k, sg_m, sg_n, stages, dpas_m = map(int, cells[9:16])
    orders, targets = "".join(cells[5:9]), tuple(cells[16].split("+"))
    tile, subgroups = (m, n, k), (sg_m, sg_n)
    return Row(
        group,
        kind,
        kind,
        acc,
        c,
        d,
        orders,
        tile,
        subgroups,
        stages,
        dpas_m,
        targets,
        int(cells[17]),
    )


def twins() -> Iterator[Row]:
    """The same tiles, grids and orders in types that no row has."""
    seen: set[tuple[object, ...]] = set()
    for row in rows():
        for a, b, acc in TWINS:
            key = (a, row.orders, row.tile, row.subgroups)
            if key not in seen:
                seen.add(key)
                orders, tile, subgroups = row.orders, row.tile, row.subgroups
                group = f"tiles of {row.group}"
                yield Row(group, a, b, acc, "-", acc, orders, tile, subgroups, 2, 8, ("pvc", "bmg"))


def arrays(kernel: Kernel, sizes: dict[str, int], seed: int) -> dict[str, Any]:
    """Small integers of every operand's type: sums of them are exact wherever they are taken."""
    rng = np.random.default_rng(seed)
    out: dict[str, Any] = {"alpha": 2.0, "beta": -1.0}
    for operand in kernel.inputs:
        if operand.modes:
            low = 0 if operand.value_type.kind == "unsigned" else -2
            shape = tuple(mode.at(sizes) for mode in operand.modes)
            kind = "f32" if operand.value_type.name == "tf32" else operand.value_type
            out[operand.name] = rng.integers(low, 3, shape).astype(numpy_dtype(kind))
    return {name: out[name] for name in out if name in {o.name for o in kernel.inputs}}


def expected(row: Row, given: dict[str, Any]) -> np.ndarray:
    """What NumPy alone computes, converted once at the end."""
    exact = given["A"].astype(np.float64) @ given["B"].astype(np.float64)
    if row.C != "-":
        exact = 2.0 * exact - given["C"].astype(np.float64)
    dtype = numpy_dtype(row.D)
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        return np.clip(exact, limits.min, limits.max).astype(dtype)
    return exact.astype(np.float32).astype(dtype)


def edges(row: Row) -> tuple[dict[str, int], ...]:
    """Two problems at the edges: less than a tile, and a little more than one."""
    m, n, k = row.tile
    return ({"M": m - 1, "N": n - 3, "K": k - 1}, {"M": m + 1, "N": n + 5, "K": 2 * k + 3})


def judged(row: Row, run: bool = True) -> dict[str, Any]:
    """Describe, check, verify and run a row; say how each went."""
    out: dict[str, Any] = {"row": asdict(row), "built": True, "check": {}, "wrong": []}
    try:
        kernel = row.kernel()
    except CuteError as error:
        return out | {"built": False, "refused": f"{type(error).__name__}: {error.condition}"}
    for target in row.targets:
        found = cx.check(kernel, target)
        out["check"][target] = sorted({f.broken.rule for f in found.errors})
    start = time.perf_counter()
    verdict = cx.verify(kernel)
    out |= {"verdict": verdict.answer, "seconds": round(time.perf_counter() - start, 3)}
    for number, sizes in enumerate(edges(row) if run else ()):
        given = arrays(kernel, sizes, number)
        if not np.array_equal(np.asarray(cx.run(kernel, **given)), expected(row, given)):
            out["wrong"].append(sizes)
    return out


def main() -> None:
    """Judge every row and write what came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="judge one row in so many")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    todo = [*rows(), *twins()][:: asked.every]
    found: list[dict[str, Any]] = []
    with Pool(asked.workers) as pool:
        for number, one in enumerate(pool.imap(judged, todo, chunksize=4), 1):
            found.append(one)
            if number % 50 == 0:
                print(f"{number} of {len(todo)}", flush=True)
    RESULTS.write_text(json.dumps(summed(found), indent=1) + "\n", encoding="utf-8")
    print(json.dumps(summed(found), indent=1))


def summed(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Count outcomes by group and types."""
    groups: dict[str, dict[str, Any]] = {}
    for one in found:
        row = one["row"]
        name = f"{row['group']}: {row['A']}·{row['B']} → {row['acc']}"
        into = groups.setdefault(
            name,
            {
                "configurations": 0,
                "built": 0,
                "refused": {},
                "legal": {},
                "rules": {},
                "verdicts": {},
                "wrong": 0,
            },
        )
        into["configurations"] += 1
        if not one["built"]:
            _count(into["refused"], one["refused"])
            continue
        into["built"] += 1
        _count(into["verdicts"], one["verdict"])
        into["wrong"] += bool(one["wrong"])
        for target, rules in one["check"].items():
            if rules:
                _count(into["rules"], f"{target}: {', '.join(rules)}")
            else:
                _count(into["legal"], target)
    times = sorted(one["seconds"] for one in found if one["built"])
    return {
        "groups": dict(sorted(groups.items())),
        "verify": {
            "median": times[len(times) // 2],
            "99th percentile": times[len(times) * 99 // 100],
            "slowest": times[-1],
        },
    }


def _count(into: dict[str, int], key: str) -> None:
    into[key] = into.get(key, 0) + 1


if __name__ == "__main__":
    main()
