"""The moves of a reorder, counted in binaries: `Feed.moves` is how many there are."""

from __future__ import annotations

from random import Random

import pytest
from compiled_cases import needs_compiler
from compiled_moves import Pair, instructions_of, measured, recorded, recorded_moves
from sampling import sampled


def test_feeds_counts_the_moves_that_binaries_have() -> None:
    pairs = recorded()
    assert len(pairs) == 30
    assert [pair.feed.moves for pair in pairs] == [pair.compiled for pair in pairs]
    assert {pair.operand for pair in pairs} == {"A", "B", "D"}
    for pair in pairs:
        assert bool(pair.cause) == (pair.written != pair.compiled), pair


@needs_compiler
@pytest.mark.whole
@pytest.mark.parametrize("pair", sampled(recorded(), 3), ids=lambda pair: f"{pair.copy} {pair.mma}")
def test_the_compiler_makes_the_moves_that_are_recorded(pair: Pair) -> None:
    assert measured(pair.feed) == pair


@needs_compiler
@pytest.mark.long
def test_single_moves_become_the_instructions_that_are_recorded() -> None:
    found = recorded_moves()
    some = Random(1).sample([*found], 20)
    assert instructions_of(some) == [found[move] for move in some]
