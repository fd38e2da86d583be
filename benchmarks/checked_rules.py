"""Hold the rules of `explore` against `check`: candidates by chance, each built and judged.

    python benchmarks/checked_rules.py [--count 2000] [--seed 1]

A candidate that arithmetic refuses must not be built, or `check` must refuse it, or its registers
must be so many that kernels spilled. What only building refuses is counted beside it: rules are
necessary, not sufficient.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from typing import Any

from pycute_xe.arch import get_target
from pycute_xe.checking import check
from pycute_xe.costing import facts_of
from pycute_xe.errors import CuteError, LegalityError
from pycute_xe.exploring import Candidate, Space
from pycute_xe.exploring.rules import refusal

TYPES = (
    ("bf16", "bf16", "f32", "f32"),
    ("f16", "f16", "f32", "f16"),
    ("s8", "s8", "s32", "s32"),
    ("tf32", "tf32", "f32", "f32"),
)
NAMES = ("", "XE_2D_U16x32x32_LD_N", "XE_2D_U16x8x16_LD_N", "XE_2D_U8x32x32_LD_N",
         "XE_2D_TF32x16x8_LD_N", "XE_2D_U16x32x16_ST_N")  # fmt: skip
OTHERS: dict[str, Any] = {
    "copies": tuple((a, b) for a in NAMES for b in NAMES),
    "schedules": ("gemm", "slm_gemm", "specialised_gemm", "split_k 4"),
    "modes": (0, 128, 256),
    "epilogue_tiles": ((), (8, 16), (16, 32)),
}


def drawn(space: Space, chosen: random.Random) -> Candidate:
    """A candidate of a space of which no list is made."""
    m, n, k, *others = (chosen.choice(axis) for axis in space.axes.values())
    grid, stages, rows, copies, *more = others
    copies = chosen.choice((copies, ("", "")))  # most named copies do not fit
    return Candidate((m, n, k), grid, stages, rows, space.types, space.orders, copies, *more)


def judged(candidate: Candidate, target: str) -> str:
    """What refuses a candidate once it is built; nothing if nothing does."""
    try:
        kernel = candidate.kernel()
    except CuteError:
        return "not built"
    checked = check(kernel, target)
    if checked.errors:
        return checked.errors[0].broken.rule
    if candidate.mode:
        try:
            facts_of(kernel, target, candidate.mode)
        except LegalityError as error:
            return error.condition
    return "spills" if "spills" in {f.broken.rule for f in checked.findings} else ""


def main() -> None:
    """Print how many of each answer there were, and every candidate of which they contradict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    chosen, spaces = random.Random(asked.seed), [Space(types=types, **OTHERS) for types in TYPES]
    counts, start = Counter[str](), time.perf_counter()
    for number in range(asked.count):
        target = ("pvc", "bmg")[number % 2]
        every = spaces[number // 2 % len(spaces)]
        # Most candidates are refused: one in two is drawn from those that pass.
        candidate = drawn(every, chosen)
        while number % 4 < 2 and refusal(candidate, get_target(target)):
            candidate = drawn(every, chosen)
        by_rule, built = refusal(candidate, get_target(target)), judged(candidate, target)
        if by_rule and not built:
            print(f"refused by {by_rule}, but legal on {target}: {candidate}", flush=True)
        counts[f"{'refused' if by_rule else 'passed'}, then {built or 'legal'}"] += 1
    took = time.perf_counter() - start
    for what, count in counts.most_common():
        print(f"{count:6} {what}")
    print(f"{asked.count} candidates in {took:.0f} s")


if __name__ == "__main__":
    main()
