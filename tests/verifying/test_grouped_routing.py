"""Routing in groups: maxima over groups of what maxima inside them say, and ids of floats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.kernel import Fill, Kernel, Load, Loop, Reduce, grouped_routing
from pycute_xe.verifying.prover import prove


def routed(experts: int = 32, groups: int = 2, best: int = 1, top: int = 1) -> Kernel:
    return grouped_routing(experts, groups, best, top, rows=16, subgroups=1)


@pytest.mark.long
def test_ids_and_weights_are_proved() -> None:
    verdict = prove(routed())
    assert verdict.answer == "proved", str(verdict)
    assert "without roundings to f32" in str(routed().computes)


@pytest.mark.long
def test_two_of_two_groups_are_proved_and_tried() -> None:
    verdict = cx.verify(routed(64, 4, 2, 2), budget=60)
    assert verdict.answer == "proved", str(verdict)
    assert verdict.tried.runs


def slips() -> Iterator[tuple[str, Callable[[], Kernel]]]:
    """Yield kernels with a statement changed, and claims of others."""
    kernel = routed()
    others = {"two groups": routed(best=2), "groups of 16": routed(64, 4), "of 32": routed(64, 2)}
    for name, other in others.items():
        for again, mine in others.items():
            if name != again and other.inputs == mine.inputs:
                yield f"{name} for {again}", lambda a=other, b=mine: replace(a, computes=b.computes)
    for number, one in enumerate(kernel.statements()):
        match one:
            case Loop():
                changed = [replace(one, stop=one.stop - 1), replace(one, start=one.start + 1)]
            case Fill() if "group" in one.fragment or "top" in one.fragment:
                changed = [replace(one, value=0.0)]
            case Reduce():
                changed = [replace(one, how="min")]
            case Load() if number < 9:
                changed = [replace(one, at=tuple(i + 1 for i in one.at))]
            case _:
                changed = []
        for new in changed:
            yield f"{number}: {type(one).__name__}", lambda a=one, b=new: kernel.replace(a, b)


SLIPS = list(slips())


@pytest.mark.parametrize("number", sampled(range(len(SLIPS)), 3))
@pytest.mark.long
def test_slips_are_not_proved(number: int) -> None:
    name, make = SLIPS[number]
    assert prove(make()).answer != "proved", name
