"""Random programs that look up tables: answers of `verify` against the truth by all small tables.

``python benchmarks/table_programs.py [FIRST] [LAST]``: it prints what is wrong, and how many of a
kind got which answer. None may be proved and wrong, or disproved and right.
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


def main(first: int, last: int) -> int:
    """Judge the programs of a range; return how many answers are wrong."""
    found: Counter[str] = Counter()
    wrong, start = 0, process_time()
    for number in range(first, last):
        try:
            one = program(number)
        except CuteError:
            found["refused when built"] += 1
            continue
        verdict, right = cx.verify(one.kernel), truth(one)
        found[f"{one.kind}: {_word(right)}, {verdict.answer}"] += 1
        bad = verdict.answer == {True: "disproved", False: "proved", None: "disproved"}[right]
        if bad or verdict.answer == "needs":
            wrong += 1
            print(f"program {number}, {_word(right)}: {one.told}\n{verdict}")
    for words, times in sorted(found.items()):
        print(f"{times:6} {words}")
    print(f"{wrong} wrong of {last - first}; {process_time() - start:.0f} s of a processor")
    return wrong


def _word(right: bool | None) -> str:
    return {True: "right", False: "wrong", None: "without tables"}[right]


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:3]]
    sys.exit(bool(main(*(numbers if len(numbers) == 2 else (0, 5000)))))
