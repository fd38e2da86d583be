"""How large messages of block-2D atoms may be: as Intel's compiler takes them, or a document says.

The compiler's answers (`tests/data/igc_block2d.json.gz`) are the authority where it is the strict
one. Where the document of the ESIMD functions allows less, its figures stand here as it gives them.
"""

from __future__ import annotations

from typing import Any

import pytest
from every import every

from pycute_xe.arch.block2d import Op
from pycute_xe.cutlass.legacy_lowering import can_repeat, largest

Rows = list[dict[str, Any]]


def compiled(igc: dict[str, Rows], op: str, suffix: str, bits: int) -> Rows:
    """The messages of a kind that the compiler took."""
    kind = (suffix, bits, "a")
    return [m for m in igc[op] if (m["suffix"], m["bits"], m["verdict"]) == kind]


def most(messages: Rows, quantity: str) -> int:
    return max(m[quantity] for m in messages if m["count"] == 1)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_a_load_is_as_high_and_wide_as_the_compiler_takes_one_block(
    bits: int, igc: dict[str, Rows]
) -> None:
    taken = compiled(igc, "load", "nn", bits)
    assert largest("load", False, False, bits) == (most(taken, "height"), most(taken, "width"))


@pytest.mark.parametrize(("bits", "width"), [(32, 8), (64, 4)])
def test_a_transposing_load_is_as_high_as_the_compiler_takes_it(
    bits: int, width: int, igc: dict[str, Rows]
) -> None:
    """ESIMD functions, load_2d: the width of a transposed block is at most 8, or 4 for 64 bits."""
    height = most(compiled(igc, "load", "tn", bits), "height")
    assert largest("load", True, False, bits) == (height, width)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_a_store_is_as_wide_as_the_compiler_takes_it(bits: int, igc: dict[str, Rows]) -> None:
    """ESIMD functions, store_2d: the height is at most 8; the compiler takes 32."""
    taken = compiled(igc, "store", "nn", bits)
    assert largest("store", False, False, bits) == (8, most(taken, "width"))


@pytest.mark.parametrize("op", ["load", "store"])
def test_what_is_narrower_than_a_dword_is_transposed_as_dwords(op: Op) -> None:
    """ESIMD functions, load_2d: transposed elements have 32 or 64 bits; there is no such store."""
    as_dwords = largest(op, True, False, 32)
    assert [largest(op, True, False, bits) == as_dwords for bits in (8, 16)] == [op == "load"] * 2


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_as_many_blocks_lie_side_by_side_as_the_compiler_takes(
    bits: int, igc: dict[str, Rows]
) -> None:
    taken = {m["count"] for m in compiled(igc, "load", "nn", bits)}
    assert {count for count in range(1, 9) if can_repeat(bits, 4, count)} == taken


@every(
    ("bits", "block", "fits"),
    [(8, 2, False), (8, 4, True), (16, 1, False), (16, 2, True), (32, 1, True)],
)
def test_each_of_two_blocks_is_a_dword_wide(bits: int, block: int, fits: bool) -> None:
    """ESIMD functions, load_2d: a row of a block has at least 4 bytes."""
    assert can_repeat(bits, block, 2) == fits
