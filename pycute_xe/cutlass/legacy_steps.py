"""Floor 6: how a block is dealt to 16 work-items, from the parts of an older name."""

from __future__ import annotations

from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.cutlass.legacy_name import LegacyCopyName
from pycute_xe.errors import DivisibilityError

__all__ = ["Step", "Steps", "memory_steps", "places", "register_steps"]

# One mode of a (work-item, value) map: its extent, and the rows and columns it steps.
Step = tuple[int, int, int]
Steps = tuple[tuple[Step, ...], tuple[Step, ...]]


def register_steps(name: LegacyCopyName) -> Steps:
    """Return the modes of the work-items and of the values of each, in `logical_shape`.

    Raises `DivisibilityError` for a block whose columns 16 work-items cannot share evenly.

    >>> from pycute_xe.cutlass import parse_block2d_name
    >>> register_steps(parse_block2d_name("XE_2D_Packed_U8x8x64_LD_N"))
    (((16, 0, 2),), ((2, 0, 1), (2, 0, 32), (8, 1, 0)))
    """
    rows, cols = name.logical_shape
    if name.says("dealt") == "by eight":
        return ((8, 0, 1), (2, 1, 0)), ((cols // 8, 0, 8), (rows // 2, 2, 0))
    adjacent = _adjacent(name.data_type, cols) if name.packed else 1
    group = SUBGROUP * adjacent
    if cols % group:
        return _narrow(name, rows, cols)
    inner, across = (adjacent, 0, 1), (cols // group, 0, group)
    down = _down(name, rows, across)
    if name.says("order") == "rows first":
        down = ((rows, 1, 0), across)
    return ((SUBGROUP, 0, adjacent),), (inner, *down)


def memory_steps(name: LegacyCopyName) -> tuple[Step, ...] | None:
    """Return the modes that CUTLASS's traits list for the memory side; ``None``: the values."""
    side = name.says("memory_side")
    if side is None:
        return None
    if side == "one value":
        return ((1, 0, 0),)
    rows, cols = name.logical_shape
    if side == "contiguous":
        return (cols, 0, 1), (rows // SUBGROUP, 1, 0)
    inner, across, down = register_steps(name)[1]
    return inner, down, across


def _adjacent(data_type: str, cols: int) -> int:
    """Adjacent columns that a work-item takes of a packed block.

    Two, as documented; of 4-bit elements as many of 8, 4 and 2 as the columns allow.
    """
    if data_type != "U4":
        return 2
    return next((n for n in (8, 4) if cols % (SUBGROUP * n) == 0), 2)


def _down(name: LegacyCopyName, rows: int, across: Step) -> tuple[Step, ...]:
    """Order the values of a work-item: from column to column first, then down the rows.

    VNNI hides here: 16-bit copies take the two rows of a dword first, narrower ones all rows.
    """
    if name.mode != "V":
        return across, (rows, 1, 0)
    if name.bits == 16 and rows % 2 == 0:
        return (2, 1, 0), across, (rows // 2, 2, 0)
    return (rows, 1, 0), across


def _narrow(name: LegacyCopyName, rows: int, cols: int) -> Steps:
    """Deal a block narrower than 16 columns: element ``x + cols * y`` to work-item ``… mod 16``."""
    count = rows * cols
    if not name.packed and SUBGROUP % cols == 0:
        if count % SUBGROUP == 0:
            at_once = SUBGROUP // cols
            return ((cols, 0, 1), (at_once, 1, 0)), ((rows // at_once, at_once, 0),)
        if SUBGROUP % count == 0:  # too few elements: the other work-items repeat them
            return ((cols, 0, 1), (rows, 1, 0), (SUBGROUP // count, 0, 0)), ((1, 0, 0),)
    unit = "pairs of columns" if name.packed else "columns"
    raise DivisibilityError(
        "get_atom",
        {"name": name},
        f"16 work-items cannot share {rows} rows of {cols} columns evenly by {unit}",
        f"use columns in multiples of {SUBGROUP * (2 if name.packed else 1)}",
    )


def places(steps: tuple[Step, ...]) -> list[tuple[int, int]]:
    """Every (row, column) of a list of modes, first mode fastest."""
    out = [(0, 0)]
    for extent, down, right in steps:
        out = [(y + i * down, x + i * right) for i in range(extent) for y, x in out]
    return out
