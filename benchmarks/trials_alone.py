"""How many wrong kernels trials alone contradict, with a prover that always answers "proved".

The kernels are those of `fuzz_kernels`: random ones, changed in up to two ways. Wrong are those of
which a run at the sizes of the fuzz differs from NumPy, or that are disproved, and a replay shows
it; right are those that are proved:
    python benchmarks/trials_alone.py --count 1000 --workers 2
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from dataclasses import dataclass
from multiprocessing import Pool
from time import perf_counter

from fuzz_kernels import changed, wrong

from pycute_xe.errors import CuteError
from pycute_xe.trials import replay
from pycute_xe.trials.verifier import trial
from pycute_xe.verifying import prove


@dataclass(frozen=True)
class Outcome:
    """What a seed came to: whether it is wrong, whether a trial says so, and what is told."""

    seed: int
    wrong: str = ""
    contradicted: str = ""
    untried: str = ""
    told: str = ""
    seconds: float = 0.0
    refused: bool = False
    unknown: bool = False

    @property
    def word(self) -> str:
        """What is counted."""
        if self.refused:
            return "refused at construction"
        judged = "wrong" if self.wrong else "undecided" if self.unknown else "right"
        tried = "contradicted" if self.contradicted else "untried" if self.untried else "passed"
        return f"{judged}, {tried}"


def judged(seed: int) -> Outcome:
    """Try the kernel of a seed, and judge it by runs at the sizes of the fuzz."""
    try:
        one, done = changed(seed)
    except CuteError:
        return Outcome(seed, refused=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = next((how for size in one.sizes if (how := wrong(one, size))), "")
        verdict = prove(one.kernel)
        place = verdict.counterexample
        if not how and place is not None and replay(one.kernel, place).shows:
            how = str(place)
        start = perf_counter()
        tried, found = trial(one.kernel, {})
        seconds = perf_counter() - start
    said = f"{found.output} {found.words}" if found is not None else ""
    untried = "" if tried or found else tried.reason
    unknown = not how and verdict.answer != "proved"
    return Outcome(seed, how, said, untried, ", ".join(done), seconds, unknown=unknown)


def main() -> int:
    """Judge so many seeds; print the counts, what is missed, and right ones contradicted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    times: list[float] = []
    with Pool(asked.workers) as pool:
        todo = range(asked.seed, asked.seed + asked.count)
        for one in pool.imap_unordered(judged, todo, chunksize=4):
            counts[one.word] += 1
            times.append(one.seconds)
            if one.word in ("wrong, passed", "right, contradicted", "wrong, untried"):
                print(one, flush=True)
    for word, count in counts.most_common():
        print(f"{count:7} {word}")
    bad = sum(count for word, count in counts.items() if word.startswith("wrong"))
    found = counts["wrong, contradicted"]
    print(f"contradicted: {found} of {bad} wrong, {found / max(1, bad):.1%}")
    print(f"a trial takes {sum(times) / len(times):.3f} s, the longest {max(times):.3f} s")
    return int(counts["right, contradicted"] > 0 or found < 0.98 * bad)


if __name__ == "__main__":
    raise SystemExit(main())
