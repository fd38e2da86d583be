"""Hold `cost` and `native.timing` against rates that others published.

    python benchmarks/published_rates.py [--only TEXT] [--sweep]

Reads `tests/data/published_rates.tsv` and prints, in TFLOP/s, the interval of `cost`, that of
`timing` (where a compiler for bmg is), that of a count alone: 16 clocks a DPAS of 8 rows and
one an instruction, and that of `timing` with what L2 and memory need ("bytes"). No figure is
fitted: rows and structure were committed before the rates were read, but for "bytes", which was
written afterwards and has the bounds of `cost`. `timing` knows one core and its
main loop; here its rate counts for as many cores as the waves of the problem fill. ``off`` is the
geometric middle of an interval over the rate, less one. ``--sweep`` moves each figure by 30
percent. `tests/data/published_judged.tsv` is what came out.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import replace
from math import prod, sqrt
from pathlib import Path
from typing import Any

import pycute_xe as cx
from pycute_xe.costing import Cost
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel
from pycute_xe.native import Binary, Timing, compile, timing

DATA = Path(__file__).parents[1] / "tests/data/published_rates.tsv"
Row = dict[str, str]
Interval = tuple[float, float]
# What DPAS multiplies where memory holds something narrower.
WIDER = {("f16", "f8e4m3"): "f16", ("f16", "u8"): "f16", ("bf16", "s4"): "bf16"}


def rows() -> list[Row]:
    """The published rates."""
    return list(csv.DictReader(DATA.read_text().splitlines(), delimiter="\t"))


def kernel_of(row: Row) -> Kernel:
    """The kernel that a row describes."""
    tile_m, tile_n, tile_k = map(int, row["tile"].split("x"))
    m, n = map(int, row["grid"].split("x"))
    b = WIDER.get((row["a"], row["b"]), row["b"])
    op = cx.XE_DPAS_TT(8, row["acc"], row["a"], b)
    mma = cx.workgroup_mma(op, (tile_m, tile_n, tile_k), ((m, n, 1), (n, 1, 0)))
    types: dict[str, Any] = {"B": row["b"]} if b != row["b"] else {}
    order: Any = row["order_b"]
    return cx.kernel.gemm(mma, b=order, d_type=row["d"], types=types)


def sizes_of(row: Row) -> dict[str, int]:
    """The problem of a row."""
    return {name: int(row[name]) for name in "MNK"}


def priced(row: Row) -> tuple[Interval, Cost]:
    """TFLOP/s of the problem by `cost`, the least and the most."""
    m, n, k = sizes_of(row).values()
    estimate = cx.cost(kernel_of(row), row["device"], M=m, N=n, K=k)
    done = 2 * prod(sizes_of(row).values()) * 1e-12
    return (done / estimate.most, done / estimate.least), estimate


def timed(estimate: Cost, binary: Binary, **figures: float) -> tuple[Interval, Interval, Interval]:
    """TFLOP/s by `timing`, by the count alone, and by `timing` with bytes, on the cores in use."""
    known, device = estimate.facts, estimate.device
    threads = 1024 // known.grf_mode
    bounded = timing(binary, "bmg", threads, figures=figures, sizes=known.sizes, device=device)
    alone = [clocks for _, clocks in bounded.structures[:-4]]
    got = replace(bounded, least=min(alone), most=max(alone))
    inside = [each.text for each in got.instructions[got.loop[0] : got.loop[1] + 1]]
    many = sum(" dpas" in f" {text}" for text in inside)
    operations = known.operations / known.dpas * many * threads * 8
    fill = known.groups / (known.waves * known.resident * estimate.device.cores)
    useful = 2 * prod(known.sizes[name] for name in "MNK") / known.operations
    clock, cores = estimate.device["clock"], estimate.device.cores
    pairs = [
        (
            one.tflops(operations, cores, clock.least)[0] * fill * useful,
            one.tflops(operations, cores, clock.most)[1] * fill * useful,
        )
        for one in (got, bounded)
    ]
    counted = threads * (16 * many + len(inside) - many)
    rate = operations * cores * 1e-6 / counted * fill * useful
    return pairs[0], (rate * clock.least, rate * clock.most), pairs[1]


def _off(interval: Interval, measured: float) -> float:
    """How far the geometric middle is off."""
    return sqrt(interval[0] * interval[1]) / measured - 1


def cells_of(row: Row) -> Iterator[str]:
    """What is printed of a row beside itself."""
    measured = float(row["measured"])
    try:
        by_cost, estimate = priced(row)
        binary = compile(kernel_of(row), "bmg", estimate.facts.grf_mode)
    except CuteError as error:
        yield str(error).splitlines()[0]
        return
    intervals: list[Interval] = [by_cost, *timed(estimate, binary)]
    yield estimate.binds
    for low, high in intervals:
        yield f"{low:.1f}"
        yield f"{high:.1f}"
        yield f"{_off((low, high), measured):+.0%}"
        yield "yes" if low <= measured <= high else "no"
    yield f"scratch {binary.scratch}" if binary.scratch else ""


HEAD = [
    "binds",
    *(f"{name} {what}" for name in ("cost", "timing", "count", "bytes")
      for what in ("least", "most", "off", "inside")),
    "note",
]  # fmt: skip


def sweep(row: Row) -> Iterator[list[str]]:
    """The intervals of a row with each figure moved by 30 percent; none where it is refused."""
    try:
        _, estimate = priced(row)
    except CuteError:
        return
    for figure, effect in estimate.effects().items():
        times = (effect.less[0], effect.more[0])
        done = 2 * prod(sizes_of(row).values()) * 1e-12
        yield ["cost, most", figure, *(f"{done / seconds:.1f}" for seconds in times)]
    binary = compile(kernel_of(row), "bmg", estimate.facts.grf_mode)
    base: Timing = timing(binary, "bmg")
    for name, value, _, _ in base.figures:
        for factor in (0.7, 1.3):
            alone, _, bounded = timed(estimate, binary, **{name: value * factor})
            for by, (low, high) in (("timing", alone), ("bytes", bounded)):
                yield [by, f"{name} x {factor}", f"{low:.1f}", f"{high:.1f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--sweep", action="store_true")
    asked = parser.parse_args()
    chosen = [row for row in rows() if asked.only in "\t".join(row.values())]
    if asked.sweep:
        for row in chosen:
            for cells in sweep(row):
                print(row["source"], row["a"], row["b"], row["grid"], *cells, sep="\t", flush=True)
        return
    print(*rows()[0], *HEAD, sep="\t")
    for row in chosen:
        print(*row.values(), *cells_of(row), sep="\t", flush=True)


if __name__ == "__main__":
    main()
