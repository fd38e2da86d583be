"""How large messages of block-2D atoms may be: figures of the documents."""

from __future__ import annotations

import pytest

from pycute_xe.arch.block2d import Op
from pycute_xe.cutlass.message_limits import can_repeat, largest


@pytest.mark.parametrize(
    ("op", "turned", "bits", "size"),
    [
        ("load", False, 8, (32, 64)),  # rows have at most 64 bytes
        ("load", False, 16, (32, 32)),
        ("load", False, 64, (32, 8)),
        ("store", False, 16, (8, 32)),
        ("load", True, 32, (16, 8)),  # columns have at most 64 bytes, rows at most 8 dwords
        ("load", True, 64, (8, 4)),
    ],
)
def test_the_largest_message(op: Op, turned: bool, bits: int, size: tuple[int, int]) -> None:
    assert largest(op, turned, False, bits) == size


@pytest.mark.parametrize(
    ("bits", "block", "fits"),
    [(8, 2, False), (8, 4, True), (16, 1, False), (16, 2, True), (32, 1, True)],
)
def test_each_of_two_blocks_is_a_dword_wide(bits: int, block: int, fits: bool) -> None:
    assert can_repeat(bits, block, 2) == fits
