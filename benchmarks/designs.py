"""What `explore` chooses for ten problems, beside the tile that the field chooses most.

    python benchmarks/designs.py [--device b70] [--first 10]

The space is that of `Space()`: the search does not start at the field's tile, 256x256x32 by 8x4
subgroups with two stages (256x256x64 for s8). What is chosen is proved, emitted and, where a
compiler for the target is, compiled; of both the rate by `native.timing` stands beside the time by
`cost`, in TFLOP/s on the cores that the problem fills. Both are estimates; nothing is measured.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

from published_rates import timed

from pycute_xe.costing import Cost, Device, cost_of, facts_of
from pycute_xe.costing.device import get_device
from pycute_xe.emitting import emit
from pycute_xe.errors import ToolError
from pycute_xe.exploring import Candidate, Explored, Space, explore, reasons
from pycute_xe.native import compile
from pycute_xe.trials import verify

Types = tuple[str, str, str, str]

BF16: Types = ("bf16", "bf16", "f32", "f32")
S8: Types = ("s8", "s8", "s32", "s32")
PROBLEMS: list[tuple[int, int, int, Types]] = [
    (4096, 4096, 4096, BF16),
    (4096, 4096, 4096, ("bf16", "bf16", "f32", "bf16")),
    (4096, 4096, 4096, S8),
    (16384, 8192, 4096, BF16),
    (2048, 34816, 5120, BF16),
    (512, 8192, 8192, BF16),
    (257, 1024, 4096, BF16),
    (64, 1280, 5120, BF16),
    (8, 4096, 14336, BF16),
    (1, 13824, 5120, BF16),
]


@dataclass(frozen=True)
class Row:
    """A problem, what was chosen, and how that stands beside the field's tile."""

    problem: dict[str, int]
    explored: Explored
    ours: Cost
    field: Cost
    proved: bool
    characters: int
    seconds: float

    def __str__(self) -> str:
        """A row of a table."""
        one = self.explored.best[0].candidate
        tile, grid = ("x".join(map(str, part)) for part in (one.tile, one.grid))
        times = (
            f"{cost.least * 1e3:.3g} to {cost.most * 1e3:.3g}" for cost in (self.ours, self.field)
        )
        sizes = "x".join(map(str, self.problem.values()))
        a, b, acc, d = one.types
        kinds = f"{a}·{b} → {acc} → {d}"
        chosen = f"{tile}, {grid}, {one.stages}, {one.rows}"
        cells = [f"{sizes}, {kinds}", chosen, *times, f"{self.field.most / self.ours.most:.2f}"]
        cells += [_clocked(self.ours), _clocked(self.field)]
        cells.append("yes" if self.proved and self.characters else "no")
        return f"| {' | '.join(cells)} |"


def _clocked(cost: Cost) -> str:
    """TFLOP/s by the machine code, and whether it uses scratch; no word of what memory binds."""
    if cost.binds == "memory":
        return "memory binds"
    try:
        binary = compile(cost.kernel, cost.device.target)
    except ToolError:
        return "no compiler"
    (low, high), *_ = timed(cost, binary)
    return f"{low:.0f} to {high:.0f}" + (", scratch" if binary.scratch else "")


def row_of(m: int, n: int, k: int, types: Types, device: Device) -> Row:
    """Choose for a problem, prove and emit what is chosen, and price the field's tile."""
    problem = {"M": m, "N": n, "K": k}
    start = time.perf_counter()
    explored = explore(Space(types=types), device, [problem])
    took = time.perf_counter() - start
    tile_k = 64 if types[0] == "s8" else 32
    candidates = (
        explored.best[0].candidate,
        Candidate((256, 256, tile_k), (8, 4), 2, 8, types),
    )
    ours, field = (
        cost_of(facts_of(one.kernel(), device.target), device, problem) for one in candidates
    )
    proved, text = verify(ours.kernel), emit(ours.kernel)
    return Row(problem, explored, ours, field, bool(proved), len(text), took)


def main() -> None:
    """Print the table, and below it why each is before the field's tile."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="b70")
    parser.add_argument("--first", type=int, default=len(PROBLEMS), help="take so many problems")
    asked = parser.parse_args()
    device = get_device(asked.device)
    print(
        "| M x N x K, types | chosen: tile, grid, stages, DPAS rows | ms | ms of the field's tile ",
        end="",
    )
    print("| field's most over chosen's | TFLOP/s by timing | of the field's ", end="")
    print("| proved and emitted |\n| - | - | - | - | - | - | - | - |")
    rows: list[Row] = []
    for problem in PROBLEMS[: asked.first]:
        rows.append(row_of(*problem, device))
        print(rows[-1], flush=True)
    for row in rows:
        sizes = "x".join(map(str, row.problem.values()))
        built = f"{row.explored.built:,} of {row.explored.listed:,} built in {row.seconds:.1f} s"
        print(f"{sizes}: {built}; {'; '.join(reasons(row.ours, row.field))}")


if __name__ == "__main__":
    main()
