"""Moves of regions as instructions: what `Move.instructions` says, Intel's compiler did."""

from __future__ import annotations

import numpy as np
from compiled_moves import recorded_moves

from pycute_xe.arch.regions import moves_from


def test_a_move_becomes_as_many_instructions_as_the_compiler_made_of_it() -> None:
    found = recorded_moves()
    assert {move: move.instructions for move in found} == found
    assert set(found.values()) == {1, 2}


def test_moves_are_those_of_the_fewest_instructions() -> None:
    """Words of every other dword: 32 at once from where lanes agree, else two steps for 16."""
    every_other = np.arange(0, 64, 2)
    (aligned,) = moves_from(every_other, 16)
    assert (aligned.count, aligned.instructions) == (32, 1)
    rotated = moves_from(np.roll(every_other, 8), 16)
    assert sum(move.instructions for move in rotated) < 32 // 2


def test_no_row_of_a_region_lies_in_two_registers() -> None:
    inside, across = (np.add.outer([first, first + 8], np.arange(4)) for first in (4, 13))
    assert [move.count for move in moves_from(inside.reshape(-1), 32)] == [8]
    assert [move.count for move in moves_from(across.reshape(-1), 32)] == [4, 4]
