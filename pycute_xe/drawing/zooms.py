"""A work-group at one glance: its subgroups, one's instructions or messages, one's work-items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import gcd
from operator import mul
from typing import Any

from pycute_xe.arch.registers import RegisterMap
from pycute_xe.atom import TiledCopy, TiledMma, make_tiled_mma
from pycute_xe.drawing.images import Place, Slot, copied, multiplied
from pycute_xe.drawing.of_mma import check_subgroup
from pycute_xe.drawing.scene import Cell, Panel, Plan, Scene, make_panel, owned
from pycute_xe.errors import ShapeError
from pycute_xe.layout import Layout, size

__all__ = ["of_permutation", "of_zooms"]

Slots = Callable[[int], list[Slot]]

WIDTH = 900
"""A work-group at one glance is narrower, in pixels."""
CORNERS = (32, 24, 16, 8)
"""Rows and columns of a step that are shown: as many as there is room for."""
_LEGEND = ("number", tuple(map(str, range(16))))


def of_zooms(x: TiledMma | TiledCopy, what: str | None, subgroup: int) -> Scene:
    """Return a work-group at one glance: its subgroups, their steps, and the work-items of one.

    A step is an instruction of a tiled MMA or a message of a tiled copy. Where each subgroup takes
    one rectangle, it is framed; else each cell names its subgroup.
    """
    slots, axes, bits, step, name = _walked(x, what)
    check_subgroup(x, subgroup)
    first = [s for s in slots(subgroup) if s.group == 0]
    group, area = _work_group(_of_groups(slots, x.num_subgroups), axes, step)
    items = _items(f"{step} 0 of S{subgroup}", first, bits, axes)

    def scene(most: int) -> Scene:
        part, shown = _corner(items, most)
        caption = (
            f"Left: {name}. S: the subgroup that takes a part; +n: n more take the same part.",
            f"Its cells, {area} elements each, are {step}s, # in register order.",
            f"Right: {shown}. T: work-item, V: value. Colours: subgroups and work-items modulo 16.",
        )
        return Scene(f"T{name[1:]} at one glance", caption, (group, part), *_LEGEND)

    return next((s for s in map(scene, CORNERS[:-1]) if Plan(s).width < WIDTH), scene(CORNERS[-1]))


def _work_group(
    parts: Mapping[Place, tuple[tuple[int, ...], int]], axes: tuple[str, str], step: str
) -> tuple[Panel, str]:
    """Return the panel of all steps of a work-group, framed by subgroups, and a step's area."""

    def labelled(part: tuple[tuple[int, ...], int]) -> tuple[int, tuple[str, ...], str]:
        colour, _, words = _subgroups(part[0])
        return colour, (f"#{part[1]}",), f"{step} {part[1]} of {words}"

    panel, (height, width) = _blocks("work-group", parts, labelled, axes, (0, 0))
    taken = {place: subgroups for place, (subgroups, _) in parts.items()}
    rows, cols = _largest(taken)
    corners = [
        (row, col) for row in panel.rows[:: rows // height] for col in panel.cols[:: cols // width]
    ]
    names = tuple(" ".join(_subgroups(taken[corner])[1]) for corner in corners if corner in taken)
    if len(names) == len(corners) == len(set(taken.values())):
        tile = rows // height, cols // width
        panel = replace(panel, tile=tile, tile_names=names)
    else:
        cells = tuple(
            replace(cell, lines=(*_subgroups(taken[cell.row, cell.col])[1][:1], *cell.lines))
            for cell in panel.cells
        )
        panel = replace(panel, cells=cells)
    return replace(panel, compact=True), f"{height} × {width}"


def of_permutation(mma: TiledMma, what: str | None) -> Scene:
    """Return who takes which part of an operand without the permutation, and with it."""
    m, n, k = mma.tile_mnk
    counts = map(mul, mma.atom.shape_mnk, map(size, mma.atom_layout_mnk))
    plain = make_tiled_mma(mma.atom, mma.atom_layout_mnk, (m, n, k))
    panels: list[Panel] = []
    name = ""
    for at, (title, tiled) in enumerate((("before", plain), ("after", mma))):
        slots, axes, _, _, name = _walked(tiled, what)
        groups = _of_groups(slots, tiled.num_subgroups).items()
        taken = {place: subgroups for place, (subgroups, _) in groups}
        panel, (height, width) = _blocks(title, taken, _subgroups, axes, (at, 0))
        panels.append(replace(panel, name=f"{title}, cells of {height} × {width}"))
    by = ", ".join(
        f"{letter} by {perm}" for letter, perm in zip("MNK", mma.permutation, strict=True)
    )
    whole = " × ".join(map(str, counts))
    caption = (
        f"Left: instructions of all subgroups ({whole}) side by side, again and again.",
        f"Right: permuted, {by}.",
        "Colours are subgroups modulo 16; +n: n more subgroups take the same part.",
    )
    return Scene(f"T{name[1:]} before and after the permutation", caption, tuple(panels), *_LEGEND)


def _walked(
    x: TiledMma | TiledCopy, what: str | None
) -> tuple[Slots, tuple[str, str], int, str, str]:
    """Return what each subgroup holds, the axes, bits of an element, and words."""
    if isinstance(x, TiledCopy):
        if what is not None:
            raise ShapeError("draw", {"what": what}, "a copy has one tile", "leave what out")
        y, across = x.y_mode, x.x_mode

        def moved(subgroup: int) -> list[Slot]:
            return [
                Slot(s.element, (s.place[y], s.place[across]), s.group) for s in copied(x, subgroup)
            ]

        tile = " × ".join(map(str, x.tiler_mn))
        return moved, ("y", "x"), x.value_type.bits, "message", f"the {tile} tile of {x.op}"
    operand = what or "C"
    mma, part = x, "C" if operand == "D" else operand
    rows, cols = {"A": ("m", "k"), "B": ("k", "n")}.get(part, ("m", "n"))
    if part not in "ABC" or len(part) != 1:
        raise ShapeError("draw", {"what": what}, "unknown operand", "one of A, B, C, D")

    def slots_of(subgroup: int) -> list[Slot]:
        slots = multiplied(mma, part, subgroup)
        turned = part == "B"
        return [
            Slot(s.element, (s.place[1], s.place[0]) if turned else s.place, s.group) for s in slots
        ]

    bits = mma.atom.operand_type(part).bits  # pyright: ignore[reportArgumentType]
    tile = " × ".join(map(str, mma.operand_tile(part)[:: -1 if part == "B" else 1]))
    return slots_of, (rows, cols), bits, "instruction", f"the {tile} tile of {operand}"


def _of_groups(slots: Slots, count: int) -> dict[Place, tuple[tuple[int, ...], int]]:
    """Return the subgroups that take each element, and in which step the first of them does."""
    out: dict[Place, tuple[tuple[int, ...], int]] = {}
    for subgroup in range(count):
        for slot in slots(subgroup):
            before, step = out.get(slot.place, ((), slot.group))
            out[slot.place] = (*before, subgroup), step
    return out


def _subgroups(taken: tuple[int, ...]) -> tuple[int, tuple[str, ...], str]:
    first, several = min(taken), len(taken) > 1
    more = (f"+{len(taken) - 1}",) if several else ()
    listed = ", ".join(map(str, taken))
    return first, (f"S{first}", *more), f"subgroup{'s' * several} {listed}"


def _blocks(
    name: str,
    parts: Mapping[Place, Any],
    label_of: Callable[[Any], tuple[int, tuple[str, ...], str]],
    axes: tuple[str, str],
    slot: Place,
) -> tuple[Panel, Place]:
    """Return a panel of the largest blocks whose elements have the same owner, and their size."""
    rows, cols = _lines(parts)
    height, width = _largest(parts)
    cells: list[Cell] = []
    for row in rows[::height]:
        for col in cols[::width]:
            if (row, col) in parts:
                colour, lines, words = label_of(parts[row, col])
                area = f"{axes[0]}={row}..{row + height - 1}, {axes[1]}={col}..{col + width - 1}"
                data = ("row", row), ("col", col), ("height", height), ("width", width)
                cells.append(Cell(row, col, colour, lines, data, f"{words}: {area}", colour))
    return make_panel(name, cells, axes, framed=False, slot=slot), (height, width)


def _lines(parts: Mapping[Place, Any]) -> tuple[list[int], list[int]]:
    rows, cols = (sorted({place[axis] for place in parts}) for axis in (0, 1))
    return rows, cols


def _largest(parts: Mapping[Place, Any]) -> Place:
    """Return the rows and columns of the largest blocks whose elements are alike."""
    rows, cols = _lines(parts)
    height = _run(rows, lambda row: [parts.get((row, col)) for col in cols])
    return height, _run(cols, lambda col: [parts.get((row, col)) for row in rows])


def _run(places: list[int], line: Callable[[int], list[Any]]) -> int:
    """Return how many lines side by side are alike, everywhere."""
    step = len(places)
    lines = [line(place) for place in places]
    for i in range(1, len(places)):
        if lines[i] != lines[i - 1] or places[i] != places[i - 1] + 1:
            step = gcd(step, i)
    return step


def _items(name: str, slots: Iterable[Slot], bits: int, axes: tuple[str, str]) -> Panel:
    """Return a panel of the work-items of a step."""
    kept = list(slots)
    owner = RegisterMap(Layout(1 + max(s.element for s in kept)), bits).owner
    cells = [
        owned(s.place, owner(s.element), s.element * bits // 8, f"({s.place[0]}, {s.place[1]})")
        for s in kept
    ]
    return replace(make_panel(name, cells, axes, framed=False, slot=(1, 0)), compact=True)


def _corner(whole: Panel, most: int) -> tuple[Panel, str]:
    """Return the first rows and columns of a panel, and in words what part of it they are."""
    rows, cols = whole.rows[:most], whole.cols[:most]
    if (rows, cols) == (whole.rows, whole.cols):
        return whole, whole.name
    cells = tuple(c for c in whole.cells if c.row in rows and c.col in cols)
    words = f"{len(rows)} × {len(cols)} of the {len(whole.rows)} × {len(whole.cols)} elements of"
    return replace(whole, cells=cells, rows=rows, cols=cols), f"{words} {whole.name}"
