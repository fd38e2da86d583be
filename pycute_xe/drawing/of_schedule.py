"""Floor 9: a plan drawn as a timeline: a row for each resident work-group, time to the right."""

from __future__ import annotations

from pycute_xe.drawing.scene import Cell, Panel, Scene
from pycute_xe.errors import ShapeError
from pycute_xe.kernel.schedules import Plan, Slot, Timeline, timeline

__all__ = ["of_schedule"]

COLUMNS = 40
"""Columns at most: a longer plan has several steps in each."""


def of_schedule(x: Plan | Timeline) -> Scene:
    """Return the scene of a plan in time."""
    done = x if isinstance(x, Timeline) else timeline(x)
    if not done.slots:
        raise ShapeError(
            "draw", {"plan": done.plan}, "no work-group computes anything", "give the plan tiles"
        )
    step = -(-done.length // COLUMNS)
    numbers: dict[tuple[int, int, int], int] = {}
    for slot in sorted(done.slots, key=lambda s: s.piece.tile):
        numbers.setdefault(slot.piece.tile, len(numbers))
    cells = [
        _cell(slot, column, step, numbers[slot.piece.tile], group)
        for group, slot in enumerate(done.slots)
        for column in range(-(-slot.start // step), -(-slot.end // step))
    ]
    filled = {(cell.row, cell.col) for cell in cells}
    places = tuple(range(max(s.place for s in done.slots) + 1))
    columns = tuple(range(-(-done.length // step)))
    # Idle places are cells without a label, so that rows keep their length.
    idle = len(done.slots)
    cells += [
        Cell(row, col, None, ("·",), (("place", row),), f"place {row} is idle", idle + row)
        for row in places
        for col in columns
        if (row, col) not in filled
    ]
    axis = f"time, {step} tile{'s' * (step > 1)} of K each" if step > 1 else "time, in tiles of K"
    names = tuple(str(column * step) for column in columns)
    panel = Panel("", tuple(cells), places, columns, "work-group", axis, col_names=names)
    return Scene(str(done.plan), _told(done), (panel,), "tile", _legend(numbers))


def _cell(slot: Slot, column: int, step: int, tile: int, group: int) -> Cell:
    piece, waits = slot.piece, column * step >= slot.ready
    does = f"waits until {piece.needs} of K are added" if waits else f"computes {piece}"
    tip = f"work-group {slot.unit} {does} ({piece.role}), steps {slot.start} to {slot.end}"
    data = (("unit", slot.unit), ("tile", tile), ("start", piece.start), ("stop", piece.stop))
    label = "w" if waits else str(tile)
    return Cell(slot.place, column, None if waits else tile, (label,), data, tip, group)


def _told(done: Timeline) -> tuple[str, ...]:
    """Say how long it takes and how much of that is work."""
    stuck = f" {len(done.stuck)} wait for ever." if done.stuck else ""
    steps = (
        f"{done.length} steps on {done.resident} places, {done.busy:.0%} of them at work, "
        f"{done.waited} steps of waiting.{stuck}"
    )
    what = (
        "A number is a tile of the output, a frame one piece of its K, w a work-group that waits."
    )
    return steps, what


def _legend(numbers: dict[tuple[int, int, int], int]) -> tuple[str, ...]:
    few = [tile for tile, number in numbers.items() if number < 16]
    groups = len({group for group, _, _ in numbers}) > 1
    return tuple(f"{g}:({m},{n})" if groups else f"({m},{n})" for g, m, n in few)
