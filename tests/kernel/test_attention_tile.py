"""Tiles of attention that do not fit are refused when they are built."""

from __future__ import annotations

from typing import Any

import pytest
from attention_problems import tilings
from attention_tile import attention_tile

import pycute_xe as cx
from pycute_xe.errors import KernelError
from pycute_xe.kernel import attention, attention_combine

OP = cx.XE_DPAS_TT(8, "f32", "bf16")


@pytest.mark.parametrize("rows", [8, 24])
def test_sums_of_rows_fill_whole_registers(rows: int) -> None:
    grid = ((2, 1, 1), (1, 1, 1))
    qk, pv = (cx.workgroup_mma(OP, (2 * rows, 32, depth), grid) for depth in (16, 32))
    with pytest.raises(KernelError, match=f"{rows} rows of scores.*a tile of 32 queries"):
        attention_tile(qk, pv)


@pytest.mark.parametrize(
    ("tile", "subgroups", "told"),
    [((32, 32, 32), 1, "2 subgroups are followed by 1"), ((32, 32, 16), 2, "the weights")],
)
def test_the_weights_are_what_the_second_product_reads(
    tile: tuple[int, int, int], subgroups: int, told: str
) -> None:
    qk = cx.workgroup_mma(OP, (32, 32, 16), ((2, 1, 1), (1, 1, 1)))
    with pytest.raises(KernelError, match=told):
        attention_tile(qk, cx.workgroup_mma(OP, tile, ((subgroups, 1, 1), (1, 1, 1))))


@pytest.mark.parametrize(
    ("shape", "options", "told"),
    [
        ({}, {"window": (-1, 3)}, "is negative"),
        ({}, {"window": (3, -1)}, "is negative"),
        ({"queries": 8}, {"lse": True}, "16 queries at a time"),
        ({}, {"page": 0}, "pages of 0 keys"),
        ({}, {"page": -32}, "pages of -32 keys"),
        ({}, {"page": 48}, "pages of 48 keys"),
        ({}, {"out": 0}, "0 columns are not a multiple of the 16"),
        ({}, {"out": -16}, "-16 columns are not a multiple of the 16"),
        ({}, {"out": 24}, "24 columns are not a multiple of the 16"),
        ({"queries": 16, "subgroups": 2, "across": 2}, {}, "queries and keys are both shared out"),
        ({}, {"cached": True, "page": 32}, "cached keys cannot be combined with paged ones"),
        ({}, {"splits": 2}, "put together by their lse"),
        ({}, {"splits": 2, "lse": True, "sink": True}, "put together by their lse"),
        ({}, {"splits": 2, "lse": True, "out_type": "bf16"}, "put together by their lse"),
    ],
)
def test_what_attention_does_not_do(
    shape: dict[str, Any], options: dict[str, Any], told: str
) -> None:
    with pytest.raises(KernelError, match=told):
        attention(*tilings(**shape), **options)


def test_both_products_share_the_queries_alike() -> None:
    first = cx.workgroup_mma(OP, (32, 32, 16), ((4, 1, 1), (1, 1, 1)))
    second = cx.workgroup_mma(OP, (32, 16, 32), (((2, 2), 1, 1), ((2, 1), 1, 1)))
    with pytest.raises(KernelError, match="in different ways"):
        attention(first, second)


def test_parts_are_put_together_16_queries_at_a_time() -> None:
    with pytest.raises(KernelError, match="8 queries, lse is read 16 at a time"):
        attention_combine(cx.workgroup_mma(OP, (8, 16, 16), ((1, 1, 1), (1, 1, 1))), 2)
