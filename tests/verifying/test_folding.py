"""Two sums over sets at one distance are one sum; anything else is left as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pycute_xe.holding.arithmetic import folded
from pycute_xe.holding.nodes import Call, Choice, Leaf, Node, Number, Summed
from pycute_xe.kernel import Index

K = Index("k")


def of(
    starts: list[int],
    operand: str = "A",
    base: Index = K,
    how: str = "max",
    inner: str = "mul",
) -> Summed:
    """The elements 0, 2, 4 behind a start, for each of some positions of two subgroups."""
    places = np.array(starts)[:, None] + 2 * np.arange(3)
    table = np.stack((places, 100 + places))[..., None]
    leaf = Leaf(operand, (base,), table, np.arange(len(starts)), ("r",))
    return Summed(how, (("r", 3),), Call(inner, (leaf, Number(2.0))))


def places(node: Node, position: int) -> set[tuple[int, int]]:
    """Which elements of each subgroup a position takes."""
    assert isinstance(node, Summed)
    body: Any = node.body
    leaf = body.arguments[0]
    taken = leaf.table[:, leaf.select[position], ..., 0] + leaf.base[0].offset
    return {(s, int(e)) for s in (0, 1) for e in taken[s].ravel()}


@pytest.mark.parametrize(("function", "how"), [("max", "max"), ("min", "min"), ("add", "sum")])
def test_sets_at_one_distance_are_one(function: str, how: str) -> None:
    one, other = of([0, 20], how=how), of([7, 27], how=how, base=K + 4)
    found = folded(Call(function, (one, other)), lambda: "f")
    assert isinstance(found, Summed)
    assert (found.how, found.over) == (how, (("f", 2), ("r", 3)))
    for position in (0, 1):
        assert places(found, position) == places(one, position) | places(other, position)


@pytest.mark.parametrize(
    ("function", "one", "other"),
    [
        ("max", of([0, 20]), of([7, 28])),  # another distance at each position
        ("max", of([0, 20]), of([7, 27], "B")),
        ("max", of([0, 20]), of([7, 27], base=Index("j"))),
        ("max", of([0, 20]), of([0, 20])),  # the same set
        ("add", of([0, 20]), of([7, 27])),  # the sum of two maxima
        ("add", of([0, 20], how="sum"), of([7, 27])),
        ("sub", of([0, 20], how="sum"), of([7, 27], how="sum")),
        ("max", of([0]), Summed("max", (("r", 4),), of([1]).body)),
        ("max", of([0]), of([1], inner="add")),
        ("max", of([0]), Summed("max", (("r", 3),), Choice(K, K, of([1]).body, Number(0.0)))),
    ],
)
def test_other_sets_are_left_apart(function: str, one: Node, other: Node) -> None:
    node = Call(function, (one, other))
    assert folded(node, lambda: "f") is node
