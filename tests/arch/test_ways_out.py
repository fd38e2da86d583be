"""Ways out with figures, applied: what was refused is then accepted, and no warning is new."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

import pycute_xe as cx
from pycute_xe.arch import Block2D, Surface
from pycute_xe.arch.dpas import DpasMessage, Register
from pycute_xe.arch.rules import Broken, errors

TARGETS = ("pvc", "bmg")
FLAGS = ("transpose", "vnni")


def figures(broken: Iterable[Broken], level: str = "error") -> dict[str, int]:
    """What the ways out of errors say, and those of warnings if these are asked for."""
    found: dict[str, int] = {}
    for one in sorted(broken, key=lambda b: b.level):  # errors first
        if one.level in ("error", level):
            assert one.fix.startswith("make "), one
            for figure in re.split(", | and ", one.fix.removeprefix("make ")):
                name, _, value = figure.rpartition(" ")
                found[name.replace(" ", "_")] = int(value)
    return found


def mended(made: Any, given: dict[str, int]) -> Any:
    return replace(made, **{k: bool(v) if k in FLAGS else v for k, v in given.items()})


def held_against(made: Any, judge: Callable[[Any], tuple[Broken, ...]]) -> None:
    before = judge(made)
    old = {broken.rule for broken in before}
    after = judge(mended(made, figures(before)))
    assert {b.rule for b in after if b.level == "error" or b.rule not in old} == set(), made
    assert judge(mended(made, figures(before, "warning"))) == (), made


@pytest.mark.parametrize("target", TARGETS)
def test_surfaces(target: str) -> None:
    pick = random.Random(1)
    for _ in range(150):
        numbers = [pick.choice((pick.randint(0, 300), pick.randint(0, 1 << 23))) for _ in range(4)]
        held_against(Surface(*numbers), lambda s: s.broken_rules(target))
    # Where two limits leave no room for a multiple of 16, the looser one decides.
    for high in range(2**24 - 20, 2**24 + 20, 3):
        surface = Surface(high, high, high, high - 64)
        found = mended(surface, figures(surface.broken_rules(target)))
        assert errors(found.broken_rules(target)) == ()


@pytest.mark.parametrize("target", TARGETS)
def test_messages(target: str) -> None:
    pick = random.Random(2)
    for _ in range(250):
        sizes = (pick.choice((8, 16, 32, 64)), pick.randint(1, 70), pick.randint(1, 70))
        flags = (pick.random() < 0.3, pick.random() < 0.3)
        op: Any = pick.choice(("load", "store", "prefetch"))
        message = Block2D(op, *sizes, pick.randint(1, 5), *flags)
        held_against(message, lambda m: m.broken_rules(target))


@pytest.mark.parametrize("target", TARGETS)
def test_uses(target: str) -> None:
    """A surface and a place: what `check` says of either is kept by what it says of the other."""
    pick = random.Random(3)
    for _ in range(12):
        bits = pick.choice((8, 16, 32, 64))
        op = cx.XE_LOAD_2D(bits, 8, 256 // bits)
        known = {name: pick.randint(1, 400) for name in ("base", "width", "height", "pitch", "x")}
        report = cx.check(op, target, **known)
        said = figures(f.broken for f in report.findings)
        surface = {name.removeprefix("surface_"): value for name, value in said.items()}
        again = cx.check(op, target, **(known | surface))
        old = {finding.broken.rule for finding in report.findings}
        assert again, (known, surface)
        assert {finding.broken.rule for finding in again.warnings} <= old


@pytest.mark.parametrize("target", TARGETS)
def test_dpas(target: str) -> None:
    pick = random.Random(4)
    for _ in range(100):
        places = [Register(f"V{i + 1}", 4 * pick.randint(0, 99)) for i in range(4)]
        sizes = pick.choice((8, 8, 4)), pick.randint(0, 12), pick.choice((16, 8))
        message = DpasMessage("bf", "bf", *places, *sizes)
        wanted = figures(message.check(target), "warning")
        moved = {
            k: Register(k, wanted.pop(k)) for k in ("dst", "src0", "src1", "src2") & wanted.keys()
        }
        assert replace(message, **wanted, **moved).check(target) == ()


def test_a_pitch_below_the_width_is_told_a_pitch_that_messages_take() -> None:
    fixes = [b.fix for b in Surface(0, 130, 8, 128).broken_rules("bmg")]
    assert fixes == ["make width 132", "make pitch 144"]
