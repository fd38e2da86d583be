"""Tiles of attention that do not fit are refused when they are built."""

from __future__ import annotations

import pytest

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel.kinds.attention_tile import attention_tile


@pytest.mark.parametrize("rows", [8, 24])
def test_sums_of_rows_fill_whole_registers(rows: int) -> None:
    op, grid = cx.XE_DPAS_TT(8, "f32", "bf16"), ((2, 1, 1), (1, 1, 1))
    qk, pv = (cx.workgroup_mma(op, (2 * rows, 32, depth), grid) for depth in (16, 32))
    with pytest.raises(KernelError, match=f"{rows} rows of scores.*a tile of 32 queries"):
        attention_tile(qk, pv)
