"""Read the vISA text of 120 kernels back: each message and DPAS, and whole programs of one in six.

The kernels are those of `compiled_kernels`. Every message and DPAS of every text is read by the
library's parsers and compared with the statement it came from; one program in six is executed as
it was read, at sizes with edges and more than one tile of K, and its result compared with `run`.
No compiler is needed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from compiled_cases import distance  # pyright: ignore[reportMissingImports]
from compiled_kernels import ULPS, Case, drawn
from visa_reader import computed, not_parsed_back  # pyright: ignore[reportMissingImports]


def executed(case: Case) -> list[str]:
    """Run what was read at one tile with edges; say how far it is from a run where it is."""
    m, n, k = case.row.tile
    found, expected = computed(case.kernel(), (m - 3, n - 5, k + 5))
    far, most = distance(found, expected), ULPS * case.mathematical
    return [f"{far} steps apart"] if far > most else []


def main() -> None:
    """Judge the kernels; exit with 1 where any is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--every", type=int, default=6, help="execute one in so many")
    asked = parser.parse_args()
    start, bad, ran, seen = time.process_time(), 0, 0, 0
    for number, case in enumerate(drawn(asked.count)):
        wrong = not_parsed_back(case.kernel())
        seen += 1
        if number % asked.every == 0:
            ran += 1
            wrong += executed(case)
        bad += bool(wrong)
        for line in wrong:
            print(f"{case}\n      {line}", flush=True)
    print(f"{seen - bad} of {seen} read back, {ran} executed, {time.process_time() - start:.0f} s")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
