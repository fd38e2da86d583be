"""Floor 9: a tile from afar and from near: its subgroups, one's instructions, one's work-items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import gcd
from typing import Any

from pycute_xe.arch.registers import RegisterMap
from pycute_xe.atom import TiledCopy, TiledMma, make_tiled_mma
from pycute_xe.drawing.images import Place, Slot, copied, multiplied
from pycute_xe.drawing.scene import Cell, Panel, Scene, make_panel, owned
from pycute_xe.errors import CoordError, ShapeError
from pycute_xe.layout import Layout, size

__all__ = ["of_permutation", "of_zooms"]

Slots = Callable[[int], list[Slot]]

_LEGEND = ("number", tuple(map(str, range(16))))


def of_zooms(x: TiledMma | TiledCopy, what: str | None, subgroup: int) -> Scene:
    """Return three panels: who takes which part of the tile, in which step, in which work-item."""
    slots, axes, bits, step, name = _walked(x, what)
    if not 0 <= subgroup < x.num_subgroups:
        raise CoordError(
            "draw",
            {"subgroup": subgroup},
            f"there are {x.num_subgroups} subgroups",
            f"use 0 to {x.num_subgroups - 1}",
        )
    mine = slots(subgroup)
    parts = _of_groups(slots, x.num_subgroups)
    steps = {s.place: s.group for s in mine}
    first = [s for s in mine if s.group == 0]
    panels = (
        _blocks("tile", parts, _subgroups, axes, (0, 0)),
        _blocks(f"subgroup {subgroup}", steps, _step(step), axes, (1, 0)),
        _items(f"{step} 0", first, bits, axes),
    )
    caption = (
        f"Left: which subgroup takes which part of {name}; +n: n more take the same part.",
        f"Middle: in which {step} subgroup {subgroup} takes its part, counted in register order.",
        f"Right: the first {step}, work-item T and value V. Colours are numbers modulo 16.",
    )
    return Scene(f"T{name[1:]} at three zooms", caption, panels, *_LEGEND)


def of_permutation(mma: TiledMma, what: str | None) -> Scene:
    """Return who takes which part of an operand without the permutation, and with it."""
    m, n, k = mma.tile_mnk
    counts = [
        extent * count
        for extent, count in zip(
            mma.atom.shape_mnk, (size(mode) for mode in mma.atom_layout_mnk), strict=True
        )
    ]
    plain = make_tiled_mma(mma.atom, mma.atom_layout_mnk, (m, n, k))
    panels: list[Panel] = []
    name = ""
    for at, (title, tiled) in enumerate((("before", plain), ("after", mma))):
        slots, axes, _, _, name = _walked(tiled, what)
        panels.append(
            _blocks(title, _of_groups(slots, tiled.num_subgroups), _subgroups, axes, (at, 0))
        )
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
        axes = f"y (mode {y})", f"x (mode {across})"
        return moved, axes, x.value_type.bits, "message", f"the {tile} tile of {x.op}"
    operand = what or "C"
    mma, part = x, "C" if operand == "D" else operand
    rows, cols = {"A": ("m", "k"), "B": ("k", "n")}.get(part, ("m", "n"))
    if part not in "ABC" or len(part) != 1:
        raise ShapeError("draw", {"what": what}, "unknown operand", "one of A, B, C, D")

    def held(subgroup: int) -> list[Slot]:
        found = multiplied(mma, part, subgroup)
        turned = part == "B"
        return [
            Slot(s.element, (s.place[1], s.place[0]) if turned else s.place, s.group) for s in found
        ]

    bits = mma.atom.operand_type(part).bits  # pyright: ignore[reportArgumentType]
    tile = " × ".join(map(str, mma.operand_tile(part)[:: -1 if part == "B" else 1]))
    return held, (rows, cols), bits, "instruction", f"the {tile} tile of {operand}"


def _of_groups(slots: Slots, count: int) -> dict[Place, tuple[int, ...]]:
    """Return the subgroups that take each element."""
    out: dict[Place, tuple[int, ...]] = {}
    for subgroup in range(count):
        for slot in slots(subgroup):
            out[slot.place] = (*out.get(slot.place, ()), subgroup)
    return out


def _subgroups(taken: tuple[int, ...]) -> tuple[int, tuple[str, ...], str]:
    first, several = min(taken), len(taken) > 1
    more = (f"+{len(taken) - 1}",) if several else ()
    listed = ", ".join(map(str, taken))
    return first, (f"S{first}", *more), f"subgroup{'s' * several} {listed}"


def _step(step: str) -> Callable[[int], tuple[int, tuple[str, ...], str]]:
    return lambda number: (number, (f"#{number}",), f"{step} {number}")


def _blocks(
    name: str,
    parts: Mapping[Place, Any],
    told: Callable[[Any], tuple[int, tuple[str, ...], str]],
    axes: tuple[str, str],
    slot: Place,
) -> Panel:
    """Return a panel of the largest blocks whose elements have the same owner."""
    rows, cols = (sorted({place[axis] for place in parts}) for axis in (0, 1))
    height = _run(rows, lambda row: [parts.get((row, col)) for col in cols])
    width = _run(cols, lambda col: [parts.get((row, col)) for row in rows])
    cells: list[Cell] = []
    for row in rows[::height]:
        for col in cols[::width]:
            if (row, col) in parts:
                colour, lines, words = told(parts[row, col])
                area = f"{axes[0]}={row}..{row + height - 1}, {axes[1]}={col}..{col + width - 1}"
                data = ("row", row), ("col", col), ("height", height), ("width", width)
                cells.append(Cell(row, col, colour, lines, data, f"{words}: {area}", colour))
    whole = f"{name}, cells of {height} × {width}"
    return make_panel(whole, cells, axes, framed=False, slot=slot)


def _run(places: list[int], line: Callable[[int], list[Any]]) -> int:
    """Return how many lines side by side are alike, everywhere."""
    found = len(places)
    lines = [line(place) for place in places]
    for i in range(1, len(places)):
        if lines[i] != lines[i - 1] or places[i] != places[i - 1] + 1:
            found = gcd(found, i)
    return found


def _items(name: str, slots: Iterable[Slot], bits: int, axes: tuple[str, str]) -> Panel:
    kept = list(slots)
    owner = RegisterMap(Layout(1 + max(s.element for s in kept)), bits).owner
    cells = [
        owned(s.place, owner(s.element), s.element * bits // 8, f"({s.place[0]}, {s.place[1]})")
        for s in kept
    ]
    return make_panel(name, cells, axes, framed=False, slot=(2, 0))
