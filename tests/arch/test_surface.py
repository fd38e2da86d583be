from __future__ import annotations

import pytest
from every import every
from hypothesis import given, strategies as st

from pycute_xe.arch import Surface
from pycute_xe.errors import LegalityError, ShapeError, TargetError

TARGETS = ("pvc", "bmg", "lnl", "ptl")


@pytest.mark.parametrize("target", TARGETS)
def test_a_legal_surface_breaks_nothing(target: str) -> None:
    assert Surface(base=64, width=100, height=7, pitch=112).broken_rules(target) == ()


@every(
    ("surface", "broken"),
    [
        (Surface(32, 64, 1, 64), ["base-64"]),
        (Surface(0, 66, 1, 80), ["width-4"]),
        (Surface(0, 28, 1, 64), ["width-min-32", "width-min-64"]),
        (Surface(0, 32, 1, 64), ["width-min-64"]),
        (Surface(0, 64, 0, 64), ["height-min"]),
        (Surface(0, 128, 1, 64), ["pitch-covers-width"]),
        (Surface(0, 64, 1, 66), ["pitch-4", "pitch-8", "pitch-16"]),
        (Surface(0, 64, 1, 68), ["pitch-8", "pitch-16"]),
        (Surface(0, 64, 1, 72), ["pitch-16"]),
        (Surface(0, 64, 2**24, 64), ["height-max-24-bit"]),
        (Surface(0, 64, 2**24 + 1, 64), ["height-max", "height-max-24-bit"]),
        (Surface(0, 2**24, 1, 2**24), ["width-max-24-bit", "pitch-max-24-bit"]),
    ],
)
def test_each_rule(surface: Surface, broken: list[str]) -> None:
    assert [b.rule for b in surface.broken_rules("pvc")] == broken


def test_pitch_8_is_said_of_pvc_only() -> None:
    found = {t: {b.rule for b in Surface(0, 64, 1, 68).broken_rules(t)} for t in TARGETS}
    assert "pitch-8" in found["pvc"]
    assert "pitch-8" not in found["bmg"] | found["lnl"] | found["ptl"]


def test_a_broken_rule_says_numbers_source_and_way_out() -> None:
    (broken,) = Surface(0, 96, 4, 104).broken_rules("bmg")
    assert broken.level == "warning"
    assert broken.condition == "pitch is 104, must be a multiple of 16"
    assert "cl_intel_subgroup_2d_block_io" in broken.source
    assert broken.fix == "make pitch 112"
    assert "(width)" in Surface(0, 128, 4, 64).broken_rules("bmg")[0].condition


@given(
    base=st.integers(0, 2**20),
    width=st.integers(0, 2**16),
    height=st.integers(0, 2**12),
    pitch=st.integers(0, 2**16),
    target=st.sampled_from(TARGETS),
    strict=st.booleans(),
)
def test_the_nearest_legal_surface(
    base: int, width: int, height: int, pitch: int, target: str, strict: bool
) -> None:
    before = Surface(base, width, height, pitch)
    after = before.nearest_legal(target, strict=strict)
    broken = after.broken_rules(target)
    assert not broken if strict else all(b.level == "warning" for b in broken)
    assert all(after.quantities[name] >= size for name, size in before.quantities.items())
    assert after.nearest_legal(target, strict=strict) == after


def test_what_only_shrinking_would_cure_is_refused() -> None:
    with pytest.raises(LegalityError, match="at most 16777216"):
        Surface(0, 2**24 + 4, 1, 2**24 + 16).nearest_legal("bmg", strict=False)


def test_no_rectangle_no_surface() -> None:
    with pytest.raises(ShapeError):
        Surface(0, -4, 1, 64)
    with pytest.raises(TargetError):
        Surface(0, 64, 1, 64).broken_rules("dg2")
