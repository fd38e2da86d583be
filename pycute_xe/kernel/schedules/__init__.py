"""Floor 7: schedules: which work-group computes which part of which tile, and in what order."""

from __future__ import annotations

from pycute_xe.kernel.schedules.covering import Cover, covers
from pycute_xe.kernel.schedules.dealing import DataParallel, Persistent, Raster
from pycute_xe.kernel.schedules.grouping import Grouped, moe_counts
from pycute_xe.kernel.schedules.plan import Counts, Fixup, Piece, Plan, tile_counts
from pycute_xe.kernel.schedules.splitting import SplitK, StreamK
from pycute_xe.kernel.schedules.tables import plan_tables
from pycute_xe.kernel.schedules.timing import Slot, Timeline, timeline

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
