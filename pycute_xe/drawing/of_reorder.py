"""Floor 9: a reorder between registers, as arrows."""

from __future__ import annotations

import numpy as np

from pycute_xe.arch.target import grf_bytes
from pycute_xe.bulk import table
from pycute_xe.drawing.images import Place, multiplied
from pycute_xe.drawing.scene import Arrow, Cell, Panel, Scene, make_panel
from pycute_xe.errors import ShapeError
from pycute_xe.kernel import Kernel, Mma, Reorder
from pycute_xe.kernel.ir.renaming import renamings

__all__ = ["of_reorder"]


def of_reorder(kernel: Kernel, what: str | None, subgroup: int) -> Scene:
    """Return the first register that DPAS reads, and those that a reorder fills it from.

    Of a reorder that renames registers, the first one that comes from elsewhere.

    Raises `ShapeError` for another operand than A and B, and where a kernel does not reorder it.
    """
    mma = next((s for s in kernel.statements() if isinstance(s, Mma)), None)
    if what not in ("A", "B") or mma is None:
        raise ShapeError(
            "draw", {"what": what}, "the reorder of an operand of the MMA is drawn", "name A or B"
        )
    fragment = mma.a if what == "A" else mma.b
    found = [s for s in kernel.statements() if isinstance(s, Reorder) and s.destination == fragment]
    if not found:
        raise ShapeError(
            "draw",
            {"what": what},
            f"{fragment} is loaded, not reordered",
            f'draw(kernel, "{what}")',
        )
    reorder = found[0]
    bits = kernel.fragment(fragment).value_type.bits
    line = grf_bytes() * 8 // bits
    places = {s.element: s.place for s in multiplied(mma.mma, what, subgroup)}
    whole = np.argsort(table(reorder.slots).reshape(-1)).reshape(-1, line)
    kept = [i for i, row in enumerate(whole) if (row != np.arange(line) + i * line).any()]
    number = kept[0] if kept else 0
    came_from = whole[number].tolist()
    rows = sorted({source // line for source in came_from})
    held = {source: places[number * line + i] for i, source in enumerate(came_from)}
    before = _panel(
        reorder.source,
        what,
        (0, 0),
        line,
        [row * line + i for row in rows for i in range(line)],
        held,
    )
    after = _panel(fragment, what, (0, 1), line, [number * line + i for i in range(line)], places)
    arrows = _arrows(came_from, {row: i for i, row in enumerate(rows)}, line)
    caption = (
        f"Register {number} of {fragment}, as DPAS reads it, and where {reorder.source} has it.",
        f"Labels are {'m and k' if what == 'A' else 'k and n'}; colours are work-items.",
        f"The reorder is {reorder.slots}; {_cost(kernel, fragment)}.",
    )
    title = f"The reorder of {what} in {kernel.name}, subgroup {subgroup}"
    return Scene(title, caption, (before, after), arrows=arrows)


def _cost(kernel: Kernel, fragment: str) -> str:
    joined = renamings(kernel).get(fragment)
    if joined is None:
        return "it moves data from register to register"
    return "it moves nothing" if joined.moves_nothing else "it renames registers"


def _panel(
    name: str, what: str, slot: Place, line: int, elements: list[int], held: dict[int, Place]
) -> Panel:
    cells: list[Cell] = []
    for element in elements:
        row, col = divmod(element, line)
        data = ("element", element), ("row", row), ("col", col)
        if element not in held:
            cells.append(Cell(row, col, None, ("·",), data, f"element {element} of {name}"))
            continue
        place = held[element][::-1] if what == "B" else held[element]
        lane, words = element % 16, f"{what}[{place[0]}, {place[1]}]"
        tip = f"T{lane} holds {words} in register {row} of {name}"
        cells.append(Cell(row, col, lane, tuple(map(str, place)), data, tip, joint=","))
    return make_panel(name, cells, ("register", "element"), framed=False, slot=slot)


def _arrows(came_from: list[int], rows: dict[int, int], line: int) -> tuple[Arrow, ...]:
    """Return an arrow for the middle of each run of elements that stay side by side."""
    out: list[Arrow] = []
    start = 0
    for i in range(1, len(came_from) + 1):
        ends = i == len(came_from) or came_from[i] != came_from[i - 1] + 1
        if ends:
            middle = (start + i - 1) // 2
            source = came_from[middle]
            here = (0, rows[source // line], source % line)
            out.append((here, (1, 0, middle)))
            start = i
    return tuple(out)
