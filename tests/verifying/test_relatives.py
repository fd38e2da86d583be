"""Ten relatives of each class of wrong kernels: refused at construction, or disproved and shown."""

from __future__ import annotations

import re

import pytest
from relatives import RELATIVES, UNDECIDED
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import KernelError

CASES = [(name, number) for name, make in RELATIVES.items() for number in range(len(make()))]
# What construction says of those that it refuses, by class.
REFUSED = {
    "A": "the statement moves",
    "B": "D is an output, the statement reads it",
    "C": "bound twice|K is an extent|not free for a variable",
    "D": "bound twice",
    "G": "barrier|half",
    "H": "is read before it is written",
}


@pytest.mark.parametrize(("name", "number"), sampled(CASES, 18))
def test_a_relative_is_refused_or_disproved(name: str, number: int) -> None:
    kernel, refused = None, ""
    try:
        kernel = RELATIVES[name]()[number]()
    except KernelError as error:
        refused = error.condition
    if kernel is None:
        assert re.search(REFUSED[name], refused), refused
        return
    verdict = cx.verify(kernel)
    if verdict.answer == "undecided":
        assert (name, number) in UNDECIDED, str(verdict)
        return
    assert verdict.answer == "disproved", str(verdict)
    found = verdict.counterexample
    assert found is not None
    for executor in ("reference", "fast"):
        assert cx.replay(kernel, found, executor=executor).shows, (executor, str(found))


def test_every_class_has_ten() -> None:
    for name, make in RELATIVES.items():
        left_open = [number for other, number in UNDECIDED if other == name]
        assert len(make()) - len(left_open) >= 10, name
