"""Whole or a sample: what a test of many cases looks at in `make test` and in `make fuzz`.

`EXAMPLES` counts the generated examples of a test: 10 unless told. Up to 100 a test of many cases
takes its sample; above that, as in `make fuzz`, it takes them all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from random import Random
from typing import TypeVar

T = TypeVar("T")
USUAL = 10
EXAMPLES = int(os.environ.get("EXAMPLES", str(USUAL)))
WHOLE = EXAMPLES > 100


def sampled(cases: Iterable[T], count: int, always: Iterable[T] = ()) -> list[T]:
    """All cases, or so many of them, in their order and the same in every run.

    The cases of ``always`` are added to the sample where chance does not bring them.
    """
    every, kept = list(cases), list(always)
    if WHOLE or len(every) <= count:
        return every
    chosen = {*Random(0).sample(range(len(every)), count)}
    return [case for i, case in enumerate(every) if i in chosen or case in kept]
