"""The best of an exploration as a picture: time against the registers of a thread."""

from __future__ import annotations

from collections.abc import Sequence

from pycute_xe.arch.target import Target
from pycute_xe.costing import facts_of
from pycute_xe.drawing.scene import Cell, Panel, Scene
from pycute_xe.exploring.space import Candidate

__all__ = ["scene_of"]


def scene_of(title: str, target: Target, ranked: Sequence[tuple[float, Candidate]]) -> Scene:
    """Return candidates by their rank: a row for each time, a column for each count of registers.

    Those in colour 0 are on the front: none takes less time with as few registers, nor as little
    with fewer. What is free of a thread's registers is room for an epilogue.
    """
    counts = [facts_of(one.kernel(), target, one.mode).registers for _, one in ranked]
    times = [f"{seconds * 1e3:.4g}" for seconds, _ in ranked]
    rows, columns = list(dict.fromkeys(times)), sorted(set(counts))
    front = _front([(rows.index(time), count) for time, count in zip(times, counts, strict=True)])
    places: dict[tuple[int, int], list[int]] = {}
    for rank, (time, count) in enumerate(zip(times, counts, strict=True)):
        places.setdefault((rows.index(time), columns.index(count)), []).append(rank)
    cells: list[Cell] = []
    for (row, column), ranks in places.items():
        first = ranks[0]
        more = f" and {len(ranks) - 1} more" if len(ranks) > 1 else ""
        tip = f"{times[first]} ms, {counts[first]} registers: {ranked[first][1]}"
        data = (("rank", first + 1), ("registers", counts[first]), ("candidates", len(ranks)))
        colour = 0 if (row, counts[first]) in front else 1
        cells.append(Cell(row, column, colour, (f"{first + 1}{more}",), data, tip))
    empty = ((r, c) for r in range(len(rows)) for c in range(len(columns)) if (r, c) not in places)
    cells += [Cell(row, column, None, ("",), (), "no candidate") for row, column in empty]
    panel = Panel(
        "", tuple(cells), tuple(range(len(rows))), tuple(range(len(columns))), "ms",
        "registers of a thread", False, row_names=tuple(rows), col_names=tuple(map(str, columns)),
    )  # fmt: skip
    caption = (
        "Numbers are ranks; a row is the time that counts, by cost and not measured.",
        "On the front none takes less time with as few registers, nor as little with fewer.",
    )
    return Scene(title, caption, (panel,), "", ("on the front", "behind it"))


def _front(points: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the points that no other point is before, in one number or in both."""
    every = set(points)
    return {
        (x, y)
        for x, y in every
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in every)
    }
