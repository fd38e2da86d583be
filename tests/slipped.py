"""Kernels of serving stacks with one place changed, and what `verify` says of each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal

import attention_problems
import numpy as np
from serving_kinds import Served, served
from table_slips import Slip, slips

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel
from pycute_xe.trials.verifier import PROBLEMS, trial

__all__ = ["SLIPPED", "judged", "sample"]

Answer = Literal[
    "disproved", "disproved by a trial", "refused", "without effect", "undecided", "proved"
]

ROWS = {
    "cache write, tokens first": 34,
    "cache write, heads first, s8": 34,
    "experts, starts": 44,
    "experts, counts, gate and up": 34,
    "experts, tiles": 14,
    "weighted combine": 30,
    "linear attention, slots": 44,
    "tiles by tickets": 14,
    "rope": 10,
    "attention, packed": 40,
    "attention, pages": 40,
    "attention, packed, pages": 40,
    "attention, pages, split keys": 22,
}
"""How many slips of each are taken."""

FORMS = {
    "attention, packed": {"packed": True, "causal": True},
    "attention, pages": {"page": 32, "group": 2},
    "attention, packed, pages": {"packed": True, "page": 32, "causal": True},
    "attention, pages, split keys": {
        "page": 32,
        "splits": 2,
        "lse": True,
        "out_type": "f32",
    },
}
LENGTHS = [(5, 70), (1, 33), (7, 7)]
SLIPPED = tuple(ROWS)
BUDGET = 30.0


def problem(name: str) -> Served:
    """Return a kernel with inputs of three requests."""
    if name not in FORMS:
        return served(name)
    rng, options = np.random.default_rng(3), FORMS[name]
    lengths = LENGTHS if "packed" in options else [(5, 70), (5, 33), (5, 7)]
    tilings = attention_problems.tilings()
    given = attention_problems.problem(rng, tilings, lengths, **options)
    return Served(given.kernel, given.operands, (given.wanted,))


def sample(seed: int, counts: dict[str, int] | None = None) -> Iterator[tuple[str, Slip]]:
    """Yield slips of each kernel, drawn at random; the same for the same seed."""
    for name, count in (counts or ROWS).items():
        kernel = problem(name).kernel
        every = list(slips(kernel))
        random.Random(f"{seed} {name}").shuffle(every)
        taken: set[Kernel | None] = {kernel}
        for slip in every:
            if len(taken) <= count and slip.kernel not in taken:
                taken.add(slip.kernel)
                yield name, slip


def judged(name: str, slip: Slip) -> Answer:
    """Return what becomes of a slip; without effect are those that change nothing in any run."""
    if slip.kernel is None:
        return "refused"
    verdict = cx.verify(slip.kernel, budget=BUDGET)
    place = verdict.counterexample
    if verdict.answer in ("disproved", "needs"):
        assert place is not None
        return "disproved" if cx.replay(slip.kernel, place).shows else "undecided"
    for among in PROBLEMS if verdict.answer == "undecided" else ():
        wrong = trial(slip.kernel, {}, among=among)[1]  # as in `verify`, without a clock
        shown_by = wrong.counterexample if wrong is not None else None
        if shown_by is not None and cx.replay(slip.kernel, shown_by).shows:
            return "disproved by a trial"
    if not has_effect(name, slip.kernel):
        return "without effect"
    return "proved" if verdict.answer == "proved" else "undecided"


def has_effect(name: str, kernel: Kernel) -> bool:
    """Whether a run, on tables of three requests or at their edges, shows that it is wrong."""
    one = problem(name)
    try:
        outputs = [cx.run(k, **one.given) for k in (kernel, one.kernel)]
    except CuteError:
        return True
    pairs = [o if isinstance(o, tuple) else (o,) for o in outputs]
    if any(a.tobytes() != b.tobytes() for a, b in zip(*pairs, strict=True)):
        return True
    return trial(kernel, {}, 2_000_000)[1] is not None
