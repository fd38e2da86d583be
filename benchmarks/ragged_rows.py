"""The field's attention with lengths, starts and pages: is each row proved, how soon, and right?

``python benchmarks/ragged_rows.py [--run] [--only WORDS] [--every N] [--budget SECONDS]``: a line
for each of 71 rows, and how many of a class were proved. ``--run`` also runs each at three sets of
lengths, empty requests and single keys among them, with NaN behind every length, against float64.
``--needed`` asks which assumptions on tables each row needs.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from os import times
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from attention_problems import off
from family_attention import ALLOWED, Row, rows

import pycute_xe as cx

BUDGET = 60.0
"""Seconds, ample: what counts is how many a proof takes of a processor."""


def ragged() -> tuple[Row, ...]:
    """The rows whose lengths are told by tables."""
    return tuple(row for row in rows() if row.form in ("packed", "paged"))


def spent() -> float:
    """Return the seconds of a processor that this process and its children took."""
    return sum(times()[:4])


def judged(row: Row, budget: float) -> tuple[str, float, dict[str, str]]:
    """Return the answer, the seconds of a processor, and why what is undecided is so."""
    kernel = cx.kernel.attention(*row.mmas(), **row.options)
    start = spent()
    verdict = cx.verify(kernel, budget=budget)
    seconds = spent() - start
    return verdict.answer, seconds, {p.property: p.reason for p in verdict.proofs if p.reason}


def errors(row: Row) -> Iterator[float]:
    """Yield how far off the results of three sets of lengths are, relative to what is allowed."""
    allowed = ALLOWED[row.multiplied] + (4e-3 if row.out_type == "bf16" else 0.0)
    for given in row.ragged_problems():
        yield off(cx.run(given.kernel, **given.operands), given) / allowed


def main(words: list[str]) -> int:
    """Judge rows; return how many were not proved, or wrong."""
    parser = ArgumentParser()
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--needed", action="store_true")
    parser.add_argument("--no-verify", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--budget", type=float, default=BUDGET)
    given = parser.parse_args(words)
    found: Counter[str] = Counter()
    longest, bad = 0.0, 0
    for number, row in enumerate(ragged()[:: given.every]):
        told = f"{row.kind} {row.type} head={row.head} tile={row.tile} subgroups={row.subgroups}"
        told += " causal" * row.causal
        if given.only not in told:
            continue
        line = f"{number:3} {told}:"
        found[f"{row.kind}: all"] += 1
        if not given.no_verify:
            answer, seconds, why = judged(row, given.budget)
            found[f"{row.kind}: {answer}"] += 1
            longest, bad = max(longest, seconds), bad + (answer != "proved")
            line += f" {answer} {seconds:.1f} s {why or ''}"
        if given.needed:
            kernel = cx.kernel.attention(*row.mmas(), **row.options)
            for one in cx.needed_assumptions(kernel, budget=given.budget).rows:
                found[f"{row.kind}: assumptions {one.answer}"] += 1
                line += "" if one else f" {one.answer}: {one.assumption} ({one.reason})"
                bad += not one
        if given.run:
            off_by = list(errors(row))
            right = len(off_by) == 3 and all(error <= 1 for error in off_by)
            found[f"{row.kind}: {'right' if right else 'wrong'} at three sets of lengths"] += 1
            bad += not right
            line += f" {' '.join(f'{error:.2f}' for error in off_by)} of what is allowed"
        print(line, flush=True)
    for words_, count in sorted(found.items()):
        print(f"{count:6} {words_}")
    print(f"longest proof: {longest:.1f} s of a processor")
    return bad


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
