"""Kinds of serving stacks with one mistake each: a table or sizes show it, nothing is proved."""

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


WRONG: dict[str, tuple[Change, str]] = {
    "lse of packed queries": (unmasked, "disproved"),
    "ALiBi, pages": (moved("numbers", 0), "disproved"),
    "packed scores with a matrix": (moved("bias", 1), "disproved"),
    "drafted tokens, pages": (moved("tree", 1), "disproved"),
    "attention, merging with lse": (moved("lse", 3), "disproved"),
    "an addition and rms_norm": (moved("R", 0), "disproved"),
    "quantisation by groups, s8": (moved("scale", 0), "disproved"),
    "gate and up of rows, s8": (moved("D", 1), "disproved"),
    "latent cache write": (moved("KC", 1), "disproved"),
    "cache write, f8": (moved("KC", 0), "disproved"),
    "convolution of tokens": (moved("X", 0), "disproved"),
    "convolution of tokens, slots": (moved("S", 1), "disproved"),
    "selective scan": (moved("B", 0), "disproved"),
    "selective scan, heads": (moved("dt", 1), "disproved"),
    "delta rule, slots": (moved("beta", 1), "disproved"),
    "experts, 4-bit weights by groups": (moved("sb", 1), "disproved"),
    "experts, 4-bit weights, tokens of s8": (moved("sa", 0), "disproved"),
    "experts, FP8 by blocks": (moved("sa", 0), "disproved"),
    "adapters, shrinking": (moved("W", 0), "disproved"),
    "adapters, expanding": (moved("Y", 0), "disproved"),
    "routing, weights among all": (moved("numbers", 0), "disproved"),
    "grouped routing": (moved("bias", 0), "disproved"),
}


def wrong(name: str) -> Kernel:
    kernel = served(name).kernel
    made = replace(kernel, body=altered(kernel.body, WRONG[name][0]))
    assert made != kernel
    return made


@pytest.mark.long
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_shown(name: str) -> None:
    verdict = cx.verify(wrong(name))
    assert verdict.answer == WRONG[name][1], verdict
    if verdict.counterexample is not None:
        assert cx.replay(wrong(name), verdict.counterexample).shows
