"""Units in which values keep their work-item, where tiles start inside a register."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from fed_products import same_work_items

import pycute_xe as cx

WIDTHS = (8, 16, 32)


@pytest.mark.parametrize(
    ("copy", "kind", "tiles", "stays"),
    [
        (cx.XE_LOAD_2D(16, 2, 16), "bf16", 2, True),
        (cx.XE_LOAD_2D(32, 1, 16), "tf32", 2, False),  # the second tile starts at work-item 8
        (cx.XE_LOAD_2D(32, 2, 8), "tf32", 2, False),
    ],
    ids=str,
)
def test_every_tile_has_to_stay_in_its_work_items(
    copy: Any, kind: str, tiles: int, stays: bool
) -> None:
    feed = cx.feeds(copy, f"XE_DPAS_TT<1,f32,{kind}>", "A")
    on_the_machine = [u for u in product(WIDTHS, repeat=2) if same_work_items(feed, *u)]
    assert len(feed.tiles) == tiles
    assert bool(on_the_machine) == stays
    assert feed.units in (on_the_machine or [None])
