"""Random programs that look up tables: answers of `verify` against the truth by all small tables.

``python benchmarks/table_programs.py [FIRST] [LAST] [STEP]``: it prints what is wrong, what is
right and undecided, and how many of a kind got which answer. None may be proved and wrong, or
disproved and right.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from table_programs import program, truth

import pycute_xe as cx
from pycute_xe.errors import CuteError


def main(numbers: range) -> int:
    """Judge the programs of a range; return how many answers are wrong."""
    found: Counter[str] = Counter()
    wrong, start, spent = 0, process_time(), 0.0
    for number in numbers:
        try:
            one = program(number)
        except CuteError as error:
            found[f"refused when built: {error.condition[:60]}"] += 1
            continue
        before = process_time()
        right = truth(one)
        spent += process_time() - before
        verdict = cx.verify(one.kernel)
        found[f"{one.kind}: {_word(right)}, {verdict.answer}"] += 1
        bad = verdict.answer == {True: "disproved", False: "proved", None: "disproved"}[right]
        shown = verdict.answer != "disproved" or verdict.counterexample is not None
        if bad or verdict.answer == "needs" or not shown:
            wrong += 1
            print(f"program {number}, {_word(right)}: {one.told}\n{verdict}", flush=True)
        if right and verdict.answer == "undecided":
            why = {proof.reason for proof in verdict.proofs if proof.reason}
            print(f"program {number}, right, undecided: {one.told}\n  {why}", flush=True)
    for words, times in sorted(found.items()):
        print(f"{times:6} {words}")
    seconds = process_time() - start
    print(f"{wrong} wrong of {len(numbers)}; {seconds:.0f} s of a processor, truth {spent:.0f} s")
    return wrong


def _word(right: bool | None) -> str:
    return {True: "right", False: "wrong", None: "without tables"}[right]


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:4]]
    sys.exit(bool(main(range(*given) if len(given) > 1 else range(5000))))
