"""Slips with tables: how many are disproved by a table that shows it, or refused when built.

``python benchmarks/table_slips.py [SEED] [NAME …]``: it prints each slip that is neither. None may
be proved; those that change nothing in any run are counted apart.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from slipped import ROWS, judged, sample


def main(seed: int, names: list[str]) -> int:
    """Judge slips; return how many are proved."""
    every: Counter[str] = Counter()
    start = process_time()
    for name in names or ROWS:
        found: Counter[str] = Counter()
        for _, slip in sample(seed, {name: ROWS[name]}):
            answer = judged(name, slip)
            found[answer] += 1
            if answer in ("undecided", "proved", "without effect"):
                print(f"{answer}: {name}: {slip.words}", flush=True)
        print(f"{name}: {dict(found)}; {process_time() - start:.0f} s", flush=True)
        every += found
    print(f"{sum(every.values())} slips: {dict(every)}")
    return every["proved"]


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(bool(main(int(given[0]) if given else 1, given[1:])))
