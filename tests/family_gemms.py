"""The field's GEMM configurations: built, checked, verified and run, each against NumPy alone.

Rows are facts read from public sources (tests/data/README.md says which). Run as a program it
judges every row and every twin in other types, writes the results and the tables of
docs/family.md.
"""

from __future__ import annotations

import argparse
import json
import re
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
PAGE = HERE.parent / "docs" / "family.md"
ORDER = {"r": "row", "c": "col"}
# The same tiles in types that no row has: A, B, accumulator, and K of one DPAS.
TWINS = (("tf32", "tf32", "f32", 8), ("s4", "s4", "s32", 64), ("u8", "s8", "s32", 32))
# Bits of a significand, the implicit one included.
PRECISION = {"f32": 24, "tf32": 11, "f16": 11, "bf16": 8}


@dataclass(frozen=True)
class Row:
    """One configuration, how many rows of the sources have it, and how many of them by stream-K."""

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
    streamed: int = 0

    def kernel(self) -> Kernel:
        """Build the kernel, or raise the library's refusal."""
        m, n = self.subgroups
        op = cx.XE_DPAS_TT(self.dpas_m, self.acc, self.A, self.B)
        mma = cx.workgroup_mma(op, tile=self.tile, subgroups=((m, n, 1), (n, 1, 0)))
        a, b, c, d = (ORDER[letter] for letter in self.orders)
        more: dict[str, Any] = {}
        if self.C != "-":
            more = {"epilogue": "alpha*acc + beta*C", "types": {"C": self.C}, "orders": {"C": c}}
        return cx.kernel.gemm(mma, a, b, d, self.stages, d_type=self.D, **more)

    @property
    def heading(self) -> str:
        """The group and the types under which it is counted."""
        return f"{self.group}: {self.A}·{self.B} → {self.acc}"


def rows() -> tuple[Row, ...]:
    """Every configuration of the field's GEMMs of one input type."""
    lines = ROWS.read_text(encoding="utf-8").splitlines()[1:]
    return tuple(_row(line.split("\t")) for line in lines)


def _row(cells: list[str]) -> Row:
    group, kind, acc, c, d = cells[:5]
    m, n, k, sg_m, sg_n, stages, dpas_m = map(int, cells[9:16])
    orders, targets = "".join(cells[5:9]), tuple(cells[16].split("+"))
    grid = (sg_m, sg_n)
    counts = map(int, cells[17:19])
    return Row(
        group, kind, kind, acc, c, d, orders, (m, n, k), grid, stages, dpas_m, targets, *counts
    )


def twins() -> Iterator[Row]:
    """The same tiles, grids and orders in types that no row has.

    A tile that is not as deep as one DPAS of the type is there twice: as it is, and as many bytes
    deep as it was.
    """
    seen: set[tuple[object, ...]] = set()
    for row in rows():
        m, n, k = row.tile
        for a, b, acc, depth in TWINS:
            bits, before = (cx.as_numeric(kind).bits for kind in (a, row.A))
            tiles = {(m, n, k): "tiles of"}
            if k % depth:
                tiles[m, n, k * before // bits] = "as deep in bytes as"
            for tile, words in tiles.items():
                key = (a, row.orders, tile, row.subgroups)
                if key not in seen:
                    seen.add(key)
                    group, both = f"{words} {row.group}", ("pvc", "bmg")
                    yield Row(
                        group, a, b, acc, "-", acc, row.orders, tile, row.subgroups, 2, 8, both
                    )


def arrays(kernel: Kernel, sizes: dict[str, int], seed: int, exact: bool) -> dict[str, Any]:
    """Inputs of a problem: small integers whose sums are exact, or values of the whole type."""
    rng = np.random.default_rng(seed)
    out: dict[str, Any] = {"alpha": 2.0, "beta": -1.0}
    for operand in kernel.inputs:
        kind = operand.value_type
        if not operand.modes:
            continue
        shape = tuple(mode.at(sizes) for mode in operand.modes)
        dtype = numpy_dtype("f32" if kind.name == "tf32" else kind)
        if exact:
            low = 0 if kind.kind == "unsigned" else -2
            values = rng.integers(low, 3, shape)
        elif kind.kind == "float":
            values = rng.integers(-1023, 1024, shape) / 1024  # 10 bits, which tf32 holds
        else:
            low = 0 if kind.kind == "unsigned" else -(1 << (kind.bits - 1))
            values = rng.integers(low, low + (1 << kind.bits), shape)
        out[operand.name] = values.astype(dtype)
    return {name: out[name] for name in out if name in {o.name for o in kernel.inputs}}


def expected(row: Row, given: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """What NumPy alone computes in float64, and how far a result may be from it.

    A sum of K products may err by K·2⁻²⁴ of the sum of their sizes in f32, by ⌈K/16⌉+1 roundings
    in narrower accumulators, by nothing in integers; the output is rounded once.
    """
    a, b = (given[name].astype(np.float64) for name in "AB")
    value, sizes, depth = a @ b, np.abs(a) @ np.abs(b), a.shape[1]
    if row.acc == "f32":
        off = depth * 2.0**-24 * sizes
    elif row.acc in PRECISION:
        off = (-(-depth // 16) + 1) * 2.0 ** -PRECISION[row.acc] * sizes
    else:
        off = np.zeros_like(value)
    if row.C != "-":
        c = given["C"].astype(np.float64)
        value, off = 2 * value - c, 2 * off
        off += 2.0**-23 * (np.abs(value) + np.abs(c) + off)  # computed in f32
    if row.D in PRECISION and row.acc != row.D:
        off += 2.0 ** -PRECISION[row.D] * (np.abs(value) + off) + 2.0**-25
    if row.D not in PRECISION:
        limits = np.iinfo(numpy_dtype(row.D))
        value = value.clip(limits.min, limits.max)
    return value, off


def edges(row: Row) -> tuple[dict[str, int], ...]:
    """Three problems at the edges: less than a tile, exactly one, and a little more than one."""
    m, n, k = row.tile
    below, above = {"M": m - 1, "N": n - 3, "K": k - 1}, {"M": m + 1, "N": n + 5, "K": 2 * k + 3}
    return (below, above, {"M": m, "N": n, "K": k})


def wrong_at(row: Row, kernel: Kernel, sizes: dict[str, int], exact: bool, executor: Any) -> bool:
    """Whether a run differs from NumPy's result by more than it may."""
    given = arrays(kernel, sizes, sum(sizes.values()), exact)
    wanted, off = expected(row, given)
    out = np.asarray(cx.run(kernel, executor=executor, **given)).astype(np.float64)
    if exact:  # no sum is rounded, so only the output is
        rounded = wanted.astype(np.float32).astype(numpy_dtype(row.D)).astype(np.float64)
        return not np.array_equal(out, rounded)
    return bool((np.abs(out - wanted) > off).any())


def judged(row: Row, run: bool = True, reference: bool = False) -> dict[str, Any]:
    """Describe, check, verify and run a row; say how each went."""
    out: dict[str, Any] = {"row": asdict(row), "built": True, "check": {}, "wrong": []}
    out["heading"] = row.heading
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
    engines = ("fast", "reference") if reference else ("fast",)
    for executor in engines if run else ():
        for sizes, exact in zip(edges(row), (True, False, False), strict=True):
            if wrong_at(row, kernel, sizes, exact, executor):
                out["wrong"].append([executor, sizes])
    return out


def summed(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Count outcomes by group and types."""
    groups: dict[str, dict[str, Any]] = {}
    for one in found:
        into = groups.setdefault(one["heading"], _empty())
        into["rows"] += one["row"]["rows"]
        into["configurations"] += 1
        if not one["built"]:
            condition = one["refused"].partition(" [")[0]  # without its source
            _count(into["refused"], re.sub(r"\d+", "…", condition))
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
    marks = {"median": len(times) // 2, "99th percentile": len(times) * 99 // 100, "slowest": -1}
    return {"groups": groups, "verify": {name: times[at] for name, at in marks.items()}}


def _empty() -> dict[str, Any]:
    counts = dict.fromkeys(("rows", "configurations", "built", "wrong"), 0)
    return counts | {name: {} for name in ("refused", "legal", "rules", "verdicts")}


def _count(into: dict[str, int], key: str) -> None:
    into[key] = into.get(key, 0) + 1


# ------------------------------------------------------------------ the page

MADE = re.compile(r"(<!-- made: family_gemms (\w+) -->\n).*?(<!-- end of made -->\n)", re.DOTALL)


def page(text: str, results: dict[str, Any]) -> str:
    """The page with its tables as the results say."""
    parts = {"rows": table(results, False), "twins": table(results, True)}
    return MADE.sub(lambda m: f"{m[1]}{parts[m[2]]}{m[3]}", text)


def table(results: dict[str, Any], twin: bool) -> str:
    """A line for each group and its types."""
    titles = ["group, types", "rows", "configurations", "described", "legal on PVC, on BMG"]
    titles += ["refused by `check`", "refused when described", "proved", "run and equal"]
    rule = ["---", *["---:"] * 4, "---", "---", "---:", "---:"]
    lines = [f"| {' | '.join(cells)} |" for cells in (titles, rule)]
    for name, found in results["groups"].items():
        if twin == name.startswith(("tiles of", "as deep")):
            lines.append(f"| {' | '.join(_cells(name, found))} |")
    return "\n".join(lines) + "\n"


def _cells(name: str, found: dict[str, Any]) -> list[str]:
    legal = ", ".join(str(found["legal"].get(target, 0)) for target in ("pvc", "bmg"))
    if "cri" in found["legal"]:
        legal += f"; {found['legal']['cri']} on CRI"
    counts = [found["rows"], found["configurations"], found["built"], legal]
    after = [found["verdicts"].get("proved", 0), found["built"] - found["wrong"]]
    rules = "; ".join(f"{rule} {count}" for rule, count in sorted(found["rules"].items()))
    told = ((words.split(" = ")[0], count) for words, count in sorted(found["refused"].items()))
    refused = "; ".join(f"{words} ({count})" for words, count in told)
    return [name, *map(str, counts), rules or "–", refused or "–", *map(str, after)]


def _judge(numbered: tuple[int, Row]) -> dict[str, Any]:
    number, row = numbered
    return judged(row, reference=number % 8 == 0)


def main() -> None:
    """Judge every row, and write what came of it where none was left out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="judge one row in so many")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    todo = list(enumerate([*rows(), *twins()]))[:: asked.every]
    found: list[dict[str, Any]] = []
    with Pool(asked.workers) as pool:
        for number, one in enumerate(pool.imap(_judge, todo, chunksize=4), 1):
            found.append(one)
            if one["wrong"] or one.get("verdict", "proved") != "proved":
                print(one, flush=True)
            if number % 100 == 0:
                print(f"{number} of {len(todo)}", flush=True)
    results = summed(found)
    print(json.dumps(results, indent=1, ensure_ascii=False))
    if asked.every == 1:
        words = json.dumps(results, indent=1, ensure_ascii=False)
        RESULTS.write_text(words + "\n", encoding="utf-8")
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
