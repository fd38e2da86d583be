"""A plan carried out on integers, in random orders: what its sums come to, and who waits for ever.

Every slice of a tile is a random integer. Work-groups go on one step at a time, whoever chance
picks; the first piece of a tile sets it, others add, and the last reads it. Nothing here asks
`covers` or `timeline`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

from pycute_xe.kernel.schedules import Counts, Plan, SplitK, StreamK


def outcome(plan: Plan, rng: Random, resident: int | None = None) -> str:
    """Return what goes wrong in one random order; empty where nothing does."""
    slices = Counter(
        (p.group, p.m, p.n, k) for unit in plan.units for p in unit for k in range(p.start, p.stop)
    )
    wanted = {
        (g, m, n, k)
        for g, (rows, columns, depth) in enumerate(plan.groups)
        for m in range(rows)
        for n in range(columns)
        for k in range(depth)
    }
    if slices.keys() != wanted or max(slices.values()) > 1:
        return "coverage"
    values = {place: rng.randrange(-9, 10) for place in sorted(wanted)}
    memory: dict[tuple[int, int, int], int] = defaultdict(int)
    locks: dict[tuple[int, int, int], int] = defaultdict(int)
    result: dict[tuple[int, int, int], int] = {}
    begun, going = 0, list[list[int]]()
    while True:
        while begun < len(plan.units) and (resident is None or len(going) < resident):
            going += [[begun, 0]] if plan.units[begun] else []
            begun += 1
        ready = [
            g for g in going if locks[plan.units[g[0]][g[1]].tile] >= plan.units[g[0]][g[1]].needs
        ]
        if not ready:
            break
        unit = rng.choice(ready)
        p = plan.units[unit[0]][unit[1]]
        mine = sum(values[p.group, p.m, p.n, k] for k in range(p.start, p.stop))
        if plan.fixup == "atomic":
            result[p.tile] = result.get(p.tile, 0) + mine
        elif p.turn == p.parts - 1:
            result[p.tile] = mine + (memory[p.tile] if p.parts > 1 else 0)
        else:
            memory[p.tile] = mine + (memory[p.tile] if p.turn else 0)
        locks[p.tile] += p.gives
        unit[1] += 1
        if unit[1] == len(plan.units[unit[0]]):
            going.remove(unit)
    if going:
        return "deadlock"
    sums: dict[tuple[int, int, int], int] = defaultdict(int)
    for (g, m, n, _), value in values.items():
        sums[g, m, n] += value
    return "" if result == sums else "sums"


def random_case(rng: Random) -> tuple[Plan, int]:
    """Return a plan of random sizes, parts and rules, and how many work-groups are resident."""
    tile = rng.choice([(256, 256, 32), (128, 64, 32), (16, 64, 64), (8, 128, 16)])
    m, n = (rng.randrange(1, 5 * t + 1) for t in tile[:2])
    k = rng.randrange(1, 50 * tile[2])
    counts: Counts = (-(-m // tile[0]), -(-n // tile[1]), -(-k // tile[2]))
    cores = rng.choice([1, 2, 3, 4, 7, 8, 16, 20, 32, 64])
    batch = (counts,) * rng.choice([1, 1, 1, 2])
    fixup = rng.choice(["ordered", "unordered"])
    rules = rng.choice(["all", "xe"])
    if rng.random() < 0.5:
        parts = rng.choice([1, 2, 3, 4, 5, 8, 16])
        plan = SplitK(parts, cores, rng.choice([fixup, "atomic"]), rules).plan(*batch)
    else:
        mode = rng.choice(["stream", "stream", "heuristic"])
        plan = StreamK(cores, fixup, rules, mode, rng.choice([1, 2, 8])).plan(*batch)
    return plan, min(cores, max(1, len(plan.units)))
