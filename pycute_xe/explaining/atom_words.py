"""Floor 9: who owns what, in words and small tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from pycute_xe.atom.register_picture import Place, RegisterPicture

__all__ = ["first_places", "listed", "misplaced", "owner_table", "plural", "walk_words"]


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "row"), plural(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}{'s'[: count != 1]}"


def listed(numbers: Iterable[int]) -> str:
    """Return ascending numbers, long runs by their ends.

    >>> listed([0, 16]), listed(range(32)), listed(range(0, 32, 2))
    ('0, 16', '0 to 31', '0, 2, 4, … 30')
    """
    found = list(numbers)
    steps = {b - a for a, b in pairwise(found)}
    if len(found) > 2 and steps == {1}:
        return f"{found[0]} to {found[-1]}"
    if len(found) > 5 and len(steps) == 1:
        return f"{', '.join(map(str, found[:3]))}, … {found[-1]}"
    return ", ".join(map(str, found))


def owner_table(owned: Sequence[Sequence[Place]]) -> list[str]:
    """Return lines of "work-item | columns | rows" for the first, second and last work-item.

    Where work-items own again what others do, for those between which that begins.
    """
    rows = [("work-item", "columns", "rows")]
    last = len(owned) - 1
    again = next((t for t in range(2, last) if owned[t] == owned[0] != owned[1]), None)
    for work_item in (0, 1, None, last) if again is None else (0, None, again - 1, again, last):
        if work_item is None:
            rows.append(("...", "...", "..."))
            continue
        columns = sorted({x for _, x in owned[work_item]})
        down = sorted({y for y, _ in owned[work_item]})
        rows.append((str(work_item), _runs(columns), _runs(down)))
    if len({down for _, _, down in rows[1:] if down != "..."}) == 1:
        rows = [(who, columns, rows[1][2] if who == "..." else d) for who, columns, d in rows]
    wide = max(len(columns) for _, columns, _ in rows)
    return [f"{who:<9} | {columns:<{wide}} | {down}".rstrip() for who, columns, down in rows]


def _runs(numbers: list[int]) -> str:
    """As `listed`, run by run where neighbours lie together: "0, 1 and 32, 33"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if len(runs) == 1 or len(runs) == len(numbers) or len(runs) > 4:
        return listed(numbers)
    return " and ".join(map(listed, runs))


def first_places(places: Sequence[Place | None], count: int = 4) -> str:
    """Return the first (row, column) of a list and its last.

    >>> first_places([(y, 0) for y in range(8)])
    '(0,0) (1,0) (2,0) (3,0) … (7,0)'
    """
    shown = [_place(place) for place in places]
    if len(shown) <= count + 1:
        return " ".join(shown)
    return " ".join([*shown[:count], "…", shown[-1]])


def _place(place: Place | None) -> str:
    return "padding" if place is None else f"({place[0]},{place[1]})"


def walk_words(places: Sequence[Place]) -> str:
    """Say in which steps a list of places walks, the fastest first; empty without steps.

    >>> walk_words([(y + v, x) for y in (0, 2) for x in (0, 16) for v in (0, 1)])
    '2 rows, then 2 columns 16 apart, then 2 rows 2 apart'
    """
    modes = _modes(list(places))
    return "" if modes is None else ", then ".join(_mode_words(*mode) for mode in modes)


def _modes(places: list[Place]) -> list[tuple[int, int, int]] | None:
    modes: list[tuple[int, int, int]] = []
    while len(places) > 1:
        down, right = places[1][0] - places[0][0], places[1][1] - places[0][1]
        run = next((n for n in _divisors(len(places)) if _steps(places, n, down, right)), None)
        if run is None:
            return None
        modes.append((run, down, right))
        places = places[::run]
    return modes


def _divisors(count: int) -> list[int]:
    return [n for n in range(count, 1, -1) if count % n == 0]


def _steps(places: list[Place], run: int, down: int, right: int) -> bool:
    """Whether every ``run`` places step alike."""
    return all(
        place == (places[i - i % run][0] + i % run * down, places[i - i % run][1] + i % run * right)
        for i, place in enumerate(places)
    )


def _mode_words(count: int, down: int, right: int) -> str:
    if down and right:
        return f"{count} times {down} down and {right} right"
    what, step = ("row", down) if down else ("column", right)
    return plural(count, what) + (f" {step} apart" if step != 1 else "")


def misplaced(owned: Sequence[Sequence[Place]], picture: RegisterPicture) -> Place | None:
    """Return the first place in the registers whose owner or value is not the one that is said."""
    said: dict[Place, tuple[int, int]] = {}
    for work_item, held in enumerate(owned):
        for value, place in enumerate(held):
            said.setdefault(place, (work_item, value))  # the first, where several own it
    found = picture.owners()
    return next((place for place in found if found[place] != said.get(place)), None)
