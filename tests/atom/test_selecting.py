"""What chooses a block-2D operation: the contiguous mode of a tensor, and the height."""

from __future__ import annotations

from typing import Any

import pytest
from every import every

from pycute_xe.arch.rules import errors
from pycute_xe.atom.block2d_op import XE_LOAD_2D, XE_LOAD_2D_TRANSPOSE
from pycute_xe.atom.selection import memory_modes, select_block_2d
from pycute_xe.basis import E
from pycute_xe.errors import KernelError
from pycute_xe.layout import Layout
from pycute_xe.numeric import as_numeric


@pytest.mark.parametrize(
    ("stride", "modes"), [((1, 1), (0, 1)), ((1, 1, "batch"), (0, 1)), (("batch", "ld", 1), (2, 0))]
)
def test_the_first_mode_of_stride_1_is_contiguous(stride: Any, modes: tuple[int, int]) -> None:
    assert memory_modes(stride) == modes


@pytest.mark.parametrize("stride", [(1,), ("ld",), ("a", "b")])
def test_one_mode_of_each_kind_is_needed(stride: Any) -> None:
    with pytest.raises(KernelError, match="one contiguous mode and one strided mode"):
        memory_modes(stride)


@every(("rows", "height"), [(16, 16), (32, 32), (48, 16), (64, 32), (96, 32)])
def test_a_transposing_load_takes_equal_parts_of_up_to_32_rows(rows: int, height: int) -> None:
    """The tallest message of the hardware has 32 rows; parts are powers of two, as in CUTLASS."""
    bf16 = as_numeric("bf16")
    op = select_block_2d(Layout((rows, 16), (E(0), E(1))), bf16, bf16, x=1, y=0)
    assert op == XE_LOAD_2D_TRANSPOSE(32, height, 8)
    assert errors(op.message.check("bmg")) == ()


def test_a_message_has_up_to_four_blocks() -> None:
    """Eight tiles of 16 columns: a row of 128 narrow elements would need eight blocks."""
    tiles = Layout((16, 32, 8), (E(1), E(0), 16 * E(1)))
    op = select_block_2d(tiles, as_numeric("s4"), as_numeric("s8"), x=1, y=0)
    assert op == XE_LOAD_2D(8, 32, 32, 8)
    assert op.message.count == 4
    assert errors(op.message.check("bmg")) == ()


@pytest.mark.parametrize(("rows", "transposes"), [(2, False), (8, True), (16, True)])
def test_less_than_two_bytes_of_a_column_are_not_worth_a_transpose(
    rows: int, transposes: bool
) -> None:
    """sycl-tla 6601377, ``block_2d_transform_selector``: size<0>(layout) * MemBits >= 16."""
    fragment = Layout((rows, 16, 32 // rows), (E(0), E(1), rows * E(0)))
    op = select_block_2d(fragment, as_numeric("s4"), as_numeric("s8"), x=1, y=0)
    assert op.message.transpose is transposes
