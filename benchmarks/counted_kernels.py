"""Counts of `cost` beside those of the reference executor's trace, on random kernels of every kind.

    python benchmarks/counted_kernels.py --count 100 --seed 0

Random are product kernels, attention, and what `random_parts` makes; every fourth is a case of
the tests with its inputs. It ends with an error where one count differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from compiled_kinds import CASES  # pyright: ignore[reportMissingImports]
from random_kernels import made

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel

DEVICES = ("b580", "max1550")


def kernels(seed: int) -> Iterator[tuple[str, Kernel, Mapping[str, Any]]]:
    """Yield kernels with what they are given, without end."""
    r, number = random.Random(seed), 0
    cases = list(CASES.items())
    while True:
        number += 1
        if number % 4 == 0:
            name, case = r.choice(cases)
            yield name, *case.make()
            continue
        own = random.Random(r.random())
        try:
            one = made(own)
        except CuteError:
            continue
        sizes = own.choice(one.sizes)
        yield f"{one.kernel.name} {number} {sizes}", one.kernel, one.arrays(sizes, number)


def differences(kernel: Kernel, given: Mapping[str, Any], device: str) -> list[str]:
    """Return each count that differs between what `cost` says and what a run did."""
    _, report = cx.run(kernel, **given, report=True, executor="reference")
    facts = cx.cost(kernel, device, tables=given, **dict(report.sizes)).facts
    pairs = {
        "messages": (dict(facts.messages), report.messages),
        "bytes": (dict(facts.nbytes), report.bytes),
        "dpas": (facts.dpas, report.dpas),
        "barriers": (facts.barriers, report.barriers),
    }
    return [f"{name}: {ours}, a run {runs}" for name, (ours, runs) in pairs.items() if ours != runs]


def main() -> None:
    """Print what differs, how many kernels were refused, and of which kinds they were."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    names: set[str] = set()
    bad = refused = 0
    for i, (name, kernel, given) in enumerate(islice(kernels(asked.seed), asked.count)):
        try:
            wrong = differences(kernel, given, DEVICES[i % 2])
        except CuteError as error:
            refused += 1
            print(f"{name}: refused: {error}")
            continue
        names.add(kernel.name)
        bad += bool(wrong)
        print("\n".join(f"{name}: {one}" for one in wrong), end="\n" if wrong else "")
    print(f"{asked.count} kernels of {len(names)} names, {refused} refused, {bad} differ")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
