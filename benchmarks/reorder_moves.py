"""Compile every recorded reorder and single move, and hold the moves in the binaries against them.

Needs ocloc and iga64 (see `native.missing`).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pycute_xe as cx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from compiled_moves import (  # pyright: ignore[reportMissingImports]
    instructions_of,
    measured,
    recorded,
    recorded_moves,
)


def main() -> None:
    """Judge the moves; exit with 1 where a binary has others."""
    if cx.native.missing():
        print(cx.native.missing())
        raise SystemExit(2)
    start, pairs, singles = time.perf_counter(), recorded(), recorded_moves()
    wrong = 0
    for pair in pairs:
        found = measured(pair.feed)
        right = found == pair and pair.feed.moves == found.compiled
        wrong += not right
        why = f", {found.cause}" if found.cause else ""
        said = f"{found.compiled} moves of {found.written} in the text{why}"
        print(
            f"{'equal' if right else 'wrong'} {pair.operand} of {pair.mma} by {pair.copy}: {said}"
        )
    counts = instructions_of([*singles])
    differ = sum(a != b for a, b in zip(counts, singles.values(), strict=True))
    print(
        f"{len(pairs) - wrong} of {len(pairs)} reorders and {len(singles) - differ} of "
        f"{len(singles)} single moves equal, {time.perf_counter() - start:.0f} s"
    )
    raise SystemExit(wrong + differ > 0)


if __name__ == "__main__":
    main()
