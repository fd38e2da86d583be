"""Ways out with figures, applied: what was refused is then accepted, and no warning is new."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from sampling import sampled

import pycute_xe as cx
from pycute_xe.arch import Block2D, Surface
from pycute_xe.arch.dpas import DpasMessage, Register
from pycute_xe.arch.rules import Broken, errors
from pycute_xe.cutlass import shipped_names
from pycute_xe.facts import rows

TARGETS = ("pvc", "bmg")
TOLD = (*TARGETS, "lnl", "ptl", "cri")
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


PRECISIONS = ("bf", "hf", "tf32", "s8", "u8", "s4", "u4", "s2", "u2", "bf8", "hf8", "e2m1", "u1")
NAMED = re.compile(rf"\b({'|'.join(PRECISIONS)}|s1)\b")


def offered(fix: str, pair: tuple[str, str]) -> list[tuple[str, str]]:
    """The pairs of precisions that a way out in words names."""
    if named := NAMED.findall(fix):
        return [(each, each) for each in named]
    of_8_bits = list(product(("s8", "u8"), repeat=2))
    return of_8_bits if "8 bits" in fix else [(each, each) for each in pair] + of_8_bits


@pytest.mark.parametrize("target", TOLD)
def test_precisions(target: str) -> None:
    places = [Register(f"V{i + 1}") for i in range(4)]
    met: set[str] = set()
    for pair in product((*PRECISIONS, "s1"), repeat=2):
        broken = DpasMessage(*pair, *places, 8, 8).check(target)
        for one in broken:
            found = [DpasMessage(*other, *places, 8, 8) for other in offered(one.fix, pair)]
            rules = [{b.rule for b in message.check(target)} for message in found]
            assert all(one.rule not in left for left in rules), (pair, one)
            assert any(not left for left in rules), (pair, one)
            met.add(one.rule)
    refused = {row["id"] for row in rows("dpas", "refused") if target in row.get("targets", TOLD)}
    assert met >= (refused - {"block-scaled"}) | {"pair"}


def test_what_has_no_order_in_registers_has_the_one_of_its_layout() -> None:
    met: dict[str, str] = {}
    for name in sampled(shipped_names(), 80, ("XE_2D_U16x1x32_LD_N",)):
        atom: Any = cx.get_atom(name)
        try:
            atom.in_order("registers")
        except cx.CuteError as refused:
            met[refused.condition.partition(": ")[2]] = refused.fix
            assert atom.in_order("layout")
    assert len(met) >= 2
    assert all('order="layout"' in fix or fix.startswith("use ") for fix in met.values())
