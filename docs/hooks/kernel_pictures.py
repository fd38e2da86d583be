"""Pictures of who owns what in a kernel: the subgroups of a work-group, and the work-items of one.

What its MMA multiplies, as `draw` of the tiled MMA has it; of a kernel that multiplies nothing the
tiles that it loads and stores, as `draw` of their copies has them. A test compares them with what
the kernel's statements leave in registers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from urllib.parse import urlencode

from small_pictures import Area, areas_picture, as_area

from pycute_xe import draw
from pycute_xe.atom import TiledMma
from pycute_xe.drawing.images import Slot, copied, multiplied
from pycute_xe.drawing.scene import Panel
from pycute_xe.kernel import Kernel, Load, Mma, Store
from pycute_xe.layout import size

SMALL = 256
"""Pixels across the widest tile, of subgroups."""


def section(kernel: Kernel) -> list[str]:
    """Return the lines of a page that show who owns what."""
    groups, items = _areas(kernel), list(map(as_area, panels(kernel)))
    by_subgroup = areas_picture(f"{kernel.name}, subgroups", groups, SMALL, "subgroup")
    by_work_item = areas_picture(f"{kernel.name}, work-items", items)
    return [
        (
            "What a work-group holds, by subgroup; a part that several hold is lit with each of "
            "them. Point at a part, or step."
        ),
        "",
        _figure(by_subgroup),
        "",
        "What subgroup 0 holds, by work-item, value by value.",
        "",
        _figure(by_work_item),
        "",
        *_asked(kernel),
    ]


def _figure(picture: str) -> str:
    return f'<figure markdown="0">{picture}</figure>'


def panels(kernel: Kernel) -> Iterator[Panel]:
    """Yield what subgroup 0 holds: of each MMA its operands, else each tile of two modes."""
    for mma in _multiplied(kernel):
        drawn = _drawn(mma.mma)
        for panel, fragment in zip(drawn, (mma.a, mma.b, mma.accumulator), strict=True):
            yield replace(panel, name=f"{fragment}, {panel.name} of the MMA")
    if not _multiplied(kernel):
        for moved in _moved(kernel):
            (panel,) = draw(moved.copy).scene.panels
            yield replace(panel, name=f"{moved.operand}, {moved.fragment}")


@cache
def _drawn(mma: TiledMma) -> tuple[Panel, ...]:
    return draw(mma).scene.panels


def _multiplied(kernel: Kernel) -> list[Mma]:
    """The MMAs whose fragments have a name each, the first of those that share an accumulator."""
    found = {s.accumulator: s for s in reversed([*kernel.statements()]) if isinstance(s, Mma)}
    return list(reversed(found.values()))


def _moved(kernel: Kernel) -> list[Load | Store]:
    found = [s for s in kernel.statements() if isinstance(s, (Load, Store))]
    return list({s.operand: s for s in found}.values())


def _areas(kernel: Kernel) -> list[Area]:
    """The subgroups that hold each part of a work-group's tiles."""
    areas: list[Area] = []
    for mma in _multiplied(kernel):
        for operand, fragment in (("A", mma.a), ("B", mma.b), ("C", mma.accumulator)):
            area = _shared_out(mma.mma, operand)
            heading = f"{fragment}, {operand} of the MMA: {area.heading}"
            areas.append(replace(area, heading=heading))
    if not areas:
        for moved in _moved(kernel):
            copy = moved.copy
            slots = [list(copied(copy, s)) for s in range(copy.num_subgroups)]
            area = _by_subgroup(slots, copy.x_mode == 0)
            heading = f"{moved.operand}, {moved.fragment}: {area.heading}"
            areas.append(replace(area, heading=heading))
    return areas


@cache
def _shared_out(mma: TiledMma, operand: str) -> Area:
    slots = [list(multiplied(mma, operand, s)) for s in range(mma.num_subgroups)]
    return _by_subgroup(slots, operand == "B")


def _by_subgroup(slots: list[list[Slot]], turned: bool) -> Area:
    holders: dict[tuple[int, int], tuple[int, ...]] = defaultdict(tuple)
    for subgroup, held in enumerate(slots):
        for slot in held:
            row, column = slot.place
            place = (column, row) if turned else (row, column)
            holders[place] = (*holders[place], subgroup)
    parts: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    for place, owners in holders.items():
        parts[owners].append(place)
    rows, columns = (1 + max(place[axis] for place in holders) for axis in (0, 1))
    heading = f"{rows} rows, {columns} columns"
    return Area(heading, rows, columns, tuple((o, p, "") for o, p in parts.items()))


def _asked(kernel: Kernel) -> Iterator[str]:
    """A link to the playground, which draws any subgroup with labels, and says who holds what."""
    tiled: list[TiledMma] = [mma.mma for mma in _multiplied(kernel)][:1]
    for mma in tiled:
        asked = {
            "kind": "tile",
            "mma": str(mma.atom),
            "tile": ",".join(map(str, mma.tile_mnk)),
            "subgroups": ",".join(str(size(mode)) for mode in mma.atom_layout_mnk.shape),
        }
        link = f"../playground.md?{urlencode(asked)}"
        yield from (f"[The tile in the playground]({link}), any subgroup of it.", "")
