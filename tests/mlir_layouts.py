"""Where MLIR's passes that distribute XeGPU put the parts of a tensor, asked and recorded.

A module loads one matrix from shared memory at (0, 0); a pass replaces the load by those of an
owner, whose offsets are arithmetic of ``gpu.subgroup_id`` or ``gpu.lane_id``, evaluated here for
each. Of a slice it makes a row of numbers, each of which is its own offset. Run as a program it
asks the compiler anew and writes ``data/mlir_xegpu_offsets.json.gz``.
"""

from __future__ import annotations

import gzip
import json
import operator
import re
import subprocess
from math import prod
from pathlib import Path
from random import Random
from typing import Any

from mlir_cases import MLIR

DATA = Path(__file__).resolve().parent / "data" / "mlir_xegpu_offsets.json.gz"
COUNT, SLICES = 50, 12
PASSES = {
    "subgroup": "--xegpu-wg-to-sg-distribute",
    "instruction": "--xegpu-blocking",
    "lane": "--xegpu-subgroup-distribute",
    "slice": "--xegpu-wg-to-sg-distribute",
}
_BINARY = {
    "addi": operator.add,
    "muli": operator.mul,
    "remui": operator.mod,
    "divui": operator.floordiv,
}
_LINE = re.compile(r"\s*(%\w+) = (?:(?:arith|index)\.)?([\w.]+) ?(.*)")
_LOAD = re.compile(r"xegpu\.load_matrix %\w+\[(.*?)\].*-> vector<([\dx]*)xf32>")


def version() -> str:
    """The compiler's version."""
    assert MLIR is not None
    done = subprocess.run([MLIR, "--version"], capture_output=True, text=True, check=True)
    return re.search(r"version (\S+)", done.stdout)[1]  # type: ignore[index]


_BROADCAST = re.compile(r"= vector\.broadcast (%\w+) : index to vector<(\d+)xindex>")


def attribute(fields: dict[str, list[int]]) -> str:
    """The text of a layout or, with ``dims``, of a slice of one."""
    layout = ", ".join(f"{name} = {sizes}" for name, sizes in fields.items() if name != "dims")
    layout = f"#xegpu.layout<{layout}>"
    return f"#xegpu.slice<{layout}, dims = {fields['dims']}>" if "dims" in fields else layout


def module(fields: dict[str, list[int]], shape: list[int]) -> str:
    """A module that loads a matrix with a layout and stores it again, or counts along a slice."""
    extents = "x".join(map(str, shape))
    if "dims" in fields:
        step = f"vector.step {{layout_result_0 = {attribute(fields)}}} : vector<{extents}xindex>"
        return f"gpu.module @m {{\ngpu.func @f() {{\n%l = {step}\ngpu.return\n}}\n}}\n"
    memory = f"!xegpu.mem_desc<{extents}xf32>"
    zeros = ", ".join(["%c0"] * len(shape))
    types = ", ".join([memory] + ["index"] * len(shape))
    given = f"<{{layout = {attribute(fields)}}}>"
    return (
        f"gpu.module @m {{\ngpu.func @f(%m: {memory}) {{\n%c0 = arith.constant 0 : index\n"
        f"%l = xegpu.load_matrix %m[{zeros}] {given} : {types} -> vector<{extents}xf32>\n"
        f"xegpu.store_matrix %l, %m[{zeros}] {given} : vector<{extents}xf32>, {types}\n"
        "gpu.return\n}\n}\n"
    )


def answer(fields: dict[str, list[int]], shape: list[int], level: str, owners: int) -> Any:
    """The shape of a part, and for each owner the offsets of its parts in their order."""
    assert MLIR is not None
    done = subprocess.run(
        [MLIR, PASSES[level]],
        input=module(fields, shape),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ValueError(done.stderr[:300])
    offsets = [_offsets(done.stdout, owner) for owner in range(owners)]
    return {"part": offsets[0][0], "offsets": [places for _, places in offsets]}


def _offsets(text: str, owner: int) -> tuple[list[int], list[list[int]]]:
    values: dict[str, int] = {}
    part: list[int] = []
    places: list[list[int]] = []
    for line in text.splitlines():
        load = _LOAD.search(line)
        if load:
            part = [int(one) for one in load[2].split("x") if one]
            places.append([_value(one, values) for one in load[1].split(", ")])
            continue
        counted = _BROADCAST.search(line)
        if counted:
            part = [int(counted[2])]
            places.append([values[counted[1]]])
            continue
        match = _LINE.match(line)
        if match is None or "vector<" in line:
            continue
        name, operation, rest = match.groups()
        operands = rest.split(" : ")[0].split(", ")
        if operation in ("gpu.subgroup_id", "gpu.lane_id"):
            values[name] = owner
        elif operation == "constant":
            values[name] = int(operands[0])
        elif operation in _BINARY:
            values[name] = _BINARY[operation](*(_value(one, values) for one in operands))
    return part, places


def _value(text: str, values: dict[str, int]) -> int:
    return values[text] if text.startswith("%") else int(text)


def _split(rng: Random, whole: int) -> int:
    return rng.choice([n for n in range(1, whole + 1) if whole % n == 0])


def cases() -> list[dict[str, Any]]:
    """Layouts of all levels: some go round, some are larger than the tensor, some not powers."""
    rng = Random(2026)
    drawn: list[dict[str, Any]] = []
    while len(drawn) < COUNT:
        level = ("subgroup", "subgroup", "instruction", "lane")[len(drawn) % 4]
        shape = [rng.choice((8, 16, 24, 32, 64, 96)) for _ in range(2)]
        order = rng.choice([None, [0, 1], [1, 0]])
        tile = [_split(rng, one) for one in shape]
        if level == "instruction":
            fields = {"inst_data": tile}
            if prod(shape) // prod(tile) > 64 or tile == shape:
                continue
            drawn.append({"level": level, "shape": shape, "fields": fields, "owners": 1})
            continue
        grid = [_split(rng, one // part) for one, part in zip(shape, tile, strict=True)]
        if level == "subgroup" and rng.random() < 0.3:
            dim = rng.randrange(2)
            grid[dim] = shape[dim] // tile[dim] * rng.choice((2, 4))
        most = 32 if level == "subgroup" else 16
        rounds = prod(shape) // prod(tile) // prod(grid)
        if prod(grid) > most or rounds > 32 or (level == "lane" and prod(grid) != 16):
            continue
        name = "sg" if level == "subgroup" else "lane"
        fields = {f"{name}_layout": grid, f"{name}_data": tile}
        if order:
            fields["order"] = order
        drawn.append({"level": level, "shape": shape, "fields": fields, "owners": prod(grid)})
    return drawn


def slices() -> list[dict[str, Any]]:
    """Rows that remain of matrices, by subgroups."""
    rng = Random(2027)
    drawn: list[dict[str, Any]] = []
    while len(drawn) < SLICES:
        grid = [rng.choice((1, 2, 3, 4, 8)) for _ in range(2)]
        tile = [rng.choice((4, 8, 16, 12)) for _ in range(2)]
        dim = rng.randrange(2)
        extent = grid[1 - dim] * tile[1 - dim] * rng.choice((1, 1, 2, 3))
        fields = {"sg_layout": grid, "sg_data": tile}
        if rng.random() < 0.6:
            fields["order"] = rng.choice(([0, 1], [1, 0]))
        fields["dims"] = [dim]
        owners = prod(grid)
        if 1 < owners <= 32:
            drawn.append({"level": "slice", "shape": [extent], "fields": fields, "owners": owners})
    return drawn


if __name__ == "__main__":
    table = [
        case | answer(case["fields"], case["shape"], case["level"], case["owners"])
        for case in cases() + slices()
    ]
    record = {"compiler": f"mlir-opt {version()}", "rows": table}
    DATA.write_bytes(gzip.compress(json.dumps(record, separators=(",", ":")).encode(), mtime=0))
    print(len(table), record["compiler"], DATA.stat().st_size)
