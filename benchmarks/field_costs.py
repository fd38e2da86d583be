"""What `cost` says of the field's own configurations beside what `explore` finds for a problem.

    python benchmarks/field_costs.py [--device b580]

Configurations are those of tests/data/family_gemms.tsv: bf16 and bf16 into f32, all row-major, each
tile with its subgroups and stages once. Problems are those that the field measures row-major
kernels with (tests/data/family_problems.tsv). Rows of the page "What the field's configurations
get right"; estimates, nothing is measured.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

from pycute_xe.costing import Cost, Device, cost_of, facts_of
from pycute_xe.costing.device import get_device
from pycute_xe.errors import CuteError
from pycute_xe.exploring import Candidate, Space, explore

DATA = Path(__file__).parents[1] / "tests/data"
TYPES = ("bf16", "bf16", "f32", "f32")


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a table."""
    text = (DATA / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def configurations() -> Iterator[Candidate]:
    """Yield the field's configurations, each once."""
    wanted = {"A": "bf16", "acc": "f32", "D": "f32", "a": "r", "b": "r"}
    chosen: dict[Candidate, None] = {}
    for row in rows_of("family_gemms.tsv"):
        if all(row[name] == value for name, value in wanted.items()):
            m, n, k, grid_m, grid_n, stages = (
                int(row[name]) for name in ("M", "N", "K", "sg_m", "sg_n", "stages")
            )
            chosen[Candidate((m, n, k), (grid_m, grid_n), stages, int(row["dpas_m"]), TYPES)] = None
    yield from chosen


def problems() -> list[tuple[int, int, int]]:
    """Return the sizes that row-major kernels of bf16 are measured with."""
    every = (
        (int(row["M"]), int(row["N"]), int(row["K"]))
        for row in rows_of("family_problems.tsv")
        if "BF16BF16FP32_RRR" in row["kernel"] and row["L"] == "1"
    )
    return sorted(dict.fromkeys(every))


def priced(one: Candidate, device: Device, sizes: dict[str, int]) -> Cost | str:
    """Return what a configuration costs, or what refuses it."""
    try:
        return cost_of(facts_of(one.kernel(), device.target), device, sizes)
    except CuteError as error:
        return error.condition


def shown(one: Candidate, cost: Cost) -> str:
    """Return a configuration with its time."""
    tile, grid = ("x".join(map(str, part)) for part in (one.tile, one.grid))
    time = f"{cost.least * 1e3:.3g} to {cost.most * 1e3:.3g}"
    return f"{tile}, {grid}, {one.stages} | {time} | {cost.binds}"


def main() -> None:
    """Print a row for each problem, then what refuses configurations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="b580")
    device = get_device(parser.parse_args().device)
    every, refused = list(configurations()), dict[str, list[Candidate]]()
    heads = ("M x N x K", "the field's best", "ms", "binds", "explore's best", "ms", "binds")
    print(f"| {' | '.join((*heads, 'ratio'))} |")
    print("| - | - | - | - | - | - | - | - |")
    for m, n, k in problems():
        sizes = {"M": m, "N": n, "K": k}
        costs: list[tuple[Candidate, Cost]] = []
        for one in every:
            outcome = priced(one, device, sizes)
            if isinstance(outcome, str):
                refused.setdefault(outcome, []).append(one)
            else:
                costs.append((one, outcome))
        field, theirs = min(costs, key=lambda pair: (pair[1].most, pair[1].least, pair[0].key))
        explored = explore(Space(types=TYPES), device, [sizes])
        best = explored.best[0].candidate
        ours = priced(best, device, sizes)
        if isinstance(ours, str):
            raise SystemExit(f"explore chose what cost refuses: {ours}")
        ratio = f"{theirs.most / ours.most:.2f}"
        cells = [f"{m}x{n}x{k}", shown(field, theirs), shown(best, ours), ratio]
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"{len(every)} configurations")
    for why, candidates in refused.items():
        print(f"{len(set(candidates))} refused: {why}: {sorted({str(c) for c in candidates})[0]}")


if __name__ == "__main__":
    main()
