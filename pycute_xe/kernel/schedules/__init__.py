"""Schedules: which work-group computes which part of which tile, and in what order.

A schedule (`dealing`) makes a `plan` for given counts of tiles: pieces, each work-group's in turn.
`coverage` says whether the plan is right. A plan becomes tables, operands that the statements of
`kernel.scheduled` look up; a plan is drawn by `pycute_xe.drawing`.
"""

from __future__ import annotations

from pycute_xe.kernel.schedules.coverage import Cover, Slot, Timeline, covers, timeline
from pycute_xe.kernel.schedules.dealing import (
    DataParallel,
    Grouped,
    Persistent,
    Raster,
    SplitK,
    StreamK,
    moe_counts,
)
from pycute_xe.kernel.schedules.plan import Counts, Fixup, Piece, Plan, plan_tables, tile_counts

__all__ = [
    "Counts",
    "Cover",
    "DataParallel",
    "Fixup",
    "Grouped",
    "Persistent",
    "Piece",
    "Plan",
    "Raster",
    "Slot",
    "SplitK",
    "StreamK",
    "Timeline",
    "covers",
    "moe_counts",
    "plan_tables",
    "tile_counts",
    "timeline",
]
