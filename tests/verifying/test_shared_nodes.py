"""What a walk through a kernel makes once, and names that sums share: nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attention_problems import tilings

from pycute_xe.holding import columns, elements, memory, nodes
from pycute_xe.holding.contents import Names
from pycute_xe.holding.elements import relocated, substituted, taken
from pycute_xe.holding.following import follow
from pycute_xe.holding.likeness import alike
from pycute_xe.holding.nodes import (
    Call,
    Carried,
    Leaf,
    Node,
    Number,
    Picked,
    Scalar,
    Summed,
    once,
)
from pycute_xe.holding.patience import allowed
from pycute_xe.kernel import attention
from pycute_xe.kernel.index import Index
from pycute_xe.numeric import as_numeric

F32, S32 = as_numeric("f32"), as_numeric("s32")


def leaf(*places: int, operand: str = "A", base: str = "m") -> Leaf:
    table = np.array(places, np.int64).reshape(1, -1, 1)
    return Leaf(operand, (Index(base),), table, np.arange(len(places)))


def total(name: str, body: Node, how: str = "sum", extent: int = 4) -> Summed:
    return Summed(how, ((name, extent),), body, F32)


# ------------------------------------------------------------ names


def test_products_of_one_left_side_share_a_name() -> None:
    names, left = Names(), leaf(0, 1)
    first = names.of(left, leaf(2, 3), "q")
    assert names.of(left, leaf(4, 5), "q") == first
    assert names.of(leaf(0, 1), leaf(4, 5), "q") != first


@pytest.mark.parametrize("wrapped", [lambda x: x, lambda x: Call("exp", (x,), F32)])
def test_a_sum_inside_a_factor_does_not_lend_its_name(wrapped: Callable[[Node], Node]) -> None:
    names, left = Names(), leaf(0, 1)
    inner = names.of(left, leaf(2, 3), "q")
    outer = names.of(left, wrapped(total(inner, left)), "q")
    assert outer != inner
    assert names.of(left, leaf(6, 7), "q") == inner


def test_what_is_put_in_later_may_bring_any_sum() -> None:
    names, left = Names(), leaf(0, 1)
    begun = Carried("x", "k", np.arange(2))
    given: list[tuple[Node, Node]] = [
        (left, leaf(2, 3)),
        (begun, left),
        (begun, left),
        (left, Call("exp", (begun,), F32)),
    ]
    assert len({names.of(a, b, "q") for a, b in given}) == len(given)


# ------------------------------------------------------------ nodes

A, B = leaf(0, 1), leaf(2, 3)
KINDS: list[Callable[[], Node]] = [
    lambda: Call("add", (A, B), F32),
    lambda: Call("add", (B, A), F32),
    lambda: Call("add", (A, B), S32),
    lambda: Call("max", (A, B), F32),
    lambda: total("q", A),
    lambda: total("r", A),
    lambda: total("q", A, "max"),
    lambda: total("q", A, extent=8),
    lambda: Summed("sum", (("q", Index(), Index("K")),), A, F32),
    lambda: Summed("sum", (("q", Index(), Index("N")),), A, F32),
    lambda: Picked(A, A, B),
    lambda: Picked(A, B, A),
    lambda: Number(0.0, F32),
    lambda: Number(-0.0, F32),
    lambda: Number(0.0),
    lambda: Scalar("alpha"),
    lambda: Scalar("beta"),
]


def test_nodes_are_one_where_they_are_made_of_the_same() -> None:
    with allowed(1e6):
        made = [once(kind()) for kind in KINDS]
        assert [once(kind()) for kind in KINDS] == made  # nodes are equal where they are one
        assert len(set(map(id, made))) == len(KINDS)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: taken(x, np.array([1, 0])),
        lambda x: taken(x, np.array([0, 0])),
        lambda x: relocated(x, np.array([[0, 1], [1, 1]]), None, ("q",)),
        lambda x: relocated(x, np.array([[0, 1], [1, 1]]), None, ("r",)),
        lambda x: relocated(x, np.array([[1, 0]]), np.zeros((1, 2), np.int64)),
        lambda x: substituted(x, {"m": Index("n")}),
        lambda x: substituted(x, {"m": Index("n", 1)}),
    ],
)
def test_a_change_that_is_remembered_is_the_change(change: Callable[[Node], Node]) -> None:
    """Other changes of the same node, and the same of others, were remembered before."""
    node = Call("mul", (A, total("k", leaf(5, 7))), F32)
    alone = change(node)
    with allowed(1e9):
        for other in (A, B, Call("mul", (B, A), F32)):
            change(other)
        taken(node, np.array([0, 1]))
        relocated(node, np.array([[0], [1]]), None, ("q",))
        substituted(node, {"m": Index("m", 2)})
        assert alike(change(node), alone)
        assert change(node) is change(node)


def _asked_anew(_: object, make: Callable[[], Any]) -> Any:
    return make()


@pytest.mark.long
@pytest.mark.parametrize("across", [1, 2])
def test_a_walk_that_remembers_nothing_finds_the_same(
    monkeypatch: pytest.MonkeyPatch, across: int
) -> None:
    """Tiles of columns share what they are products of, and subgroups what all of them take."""
    mmas = tilings("bf16", queries=8, keys=32, subgroups=1, across=across)
    kernel = attention(*mmas, out=32, page=32, stages=0)
    known = follow(kernel)
    for module in (columns, elements, memory, nodes):
        monkeypatch.setattr(module, "remembered", _asked_anew)
    anew = follow(kernel)
    assert known.writes
    assert all(alike(x.node, y.node) for x, y in zip(known.writes, anew.writes, strict=True))
