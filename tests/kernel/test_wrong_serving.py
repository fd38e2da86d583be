"""Kinds of serving stacks with one mistake each: nothing of it is proved, and most is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from serving_kinds import served

import pycute_xe as cx
from pycute_xe.kernel import AtomicStore, If, Index, Kernel, Load, Loop, Map, Statement, Store
from pycute_xe.kernel.spec.expression import Where

Change = Callable[[Statement], Statement]
"""What becomes of a statement; of one with a body, the body is changed first."""


def altered(body: tuple[Statement, ...], change: Change) -> tuple[Statement, ...]:
    out: list[Statement] = []
    for statement in body:
        inner = statement
        if isinstance(statement, (Loop, If)):
            inner = replace(statement, body=altered(statement.body, change))
        out.append(change(inner))
    return tuple(out)


def moved(operand: str, mode: int, by: int | Callable[[Index], Index] = 1) -> Change:
    """A copy of an operand begins elsewhere: the next token's, page's, adapter's."""

    def change(s: Statement) -> Statement:
        if not isinstance(s, (Load, Store, AtomicStore)) or s.operand != operand:
            return s
        at = list(s.at)
        at[mode] = at[mode] + by if isinstance(by, int) else by(at[mode])
        return replace(s, at=tuple(at))

    return change


def unmasked(s: Statement) -> Statement:
    """The logarithms of rows behind a batch's end are added, too."""
    if isinstance(s, Map) and s.destination == "tSrLse" and isinstance(s.value, Where):
        assert isinstance(s.value.then, Where)
        return replace(s, value=s.value.then.then)
    return s


WRONG: dict[str, Change] = {
    "lse of packed queries": unmasked,
    "ALiBi, pages": moved("numbers", 0),
    "packed scores with a matrix": moved("bias", 1),
    "drafted tokens, pages": moved("tree", 1),
    "attention, merging with lse": moved("lse", 3),
    "an addition and rms_norm": moved("R", 0),
    "quantisation by groups, s8": moved("scale", 0),
    "gate and up of rows, s8": moved("D", 1),
    "latent cache write": moved("KC", 1),
    "cache write, f8": moved("KC", 0),
    "convolution of tokens": moved("X", 0),
    "convolution of tokens, slots": moved("S", 1),
    "selective scan": moved("B", 0),
    "selective scan, heads": moved("dt", 1),
    "delta rule, slots": moved("beta", 1),
    "experts, 4-bit weights by groups": moved("sb", 1),
    "experts, 4-bit weights, tokens of s8": moved("sa", 0),
    "experts, FP8 by blocks": moved("sa", 0),
    "adapters, shrinking": moved("W", 0),
    "adapters, expanding": moved("Y", 0),
    "routing, weights among all": moved("numbers", 0),
    "grouped routing": moved("bias", 0),
    "rms_norm, s8": moved("w", 0),
    "cache write, scales of heads, s8": moved("k_scale", 0),
    "pages gathered": moved("D", 0),
    "embedding": moved("W", 0),
    "4-bit weights widened": moved("zero", 0),
}

OPEN = {"convolution of tokens", "grouped routing"} | {
    name for name in WRONG if name.startswith(("experts", "adapters"))
}
"""A disproof of these is not to be had, or not in the time that a test has."""


def wrong(name: str) -> Kernel:
    kernel = served(name).kernel
    made = replace(kernel, body=altered(kernel.body, WRONG[name]))
    assert made != kernel
    return made


@pytest.mark.long
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_shown(name: str) -> None:
    verdict = cx.verify(wrong(name), budget=2 if name in OPEN else 10)
    assert verdict.answer in ("disproved", "undecided" if name in OPEN else "disproved"), verdict
    if verdict.counterexample is not None:
        assert cx.replay(wrong(name), verdict.counterexample).shows
