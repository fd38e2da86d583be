"""Floor 9: a block-2D message: its elements in memory, in registers and in work-items."""

from __future__ import annotations

from collections.abc import Callable

from pycute_xe.arch import Block2D, grf_bytes
from pycute_xe.drawing.scene import Cell, Panel, Scene, make_panel
from pycute_xe.errors import ShapeError

__all__ = ["of_block2d"]

_Inside = Callable[[int, int], bool]


def of_block2d(message: Block2D, inside: _Inside | None = None) -> Scene:
    """Return a message's elements in memory, in registers and in work-items, below each other.

    Cells carry the number of the element in memory, row by row over all blocks, and have one
    colour for each row of memory. ``inside`` says of (x, y) in the block whether the surface has
    that element; what it has not is a dash, what pads rows and blocks a dot, both without colour.
    Raises `ShapeError` for a prefetch, which reaches no register, and for too many cells.

    >>> scene = of_block2d(Block2D("load", 16, 2, 12))
    >>> [panel.name for panel in scene.panels], len(scene.panels[1].cells)
    (['in memory', 'in registers', 'in work-items'], 32)
    """
    if message.op == "prefetch":
        raise ShapeError(
            "draw", {"x": str(message)}, "a prefetch reaches no register", "draw the load"
        )
    held = message.register_map
    drawn = _Elements(message, inside)
    per_register = grf_bytes() // message.element_bytes
    slots = range(held.elements)
    found = [held.element(slot % held.lanes, slot // held.lanes) for slot in slots]
    registers = [drawn.cell(divmod(slot, per_register), found[slot]) for slot in slots]
    lanes = [drawn.cell(divmod(slot, held.lanes), found[slot]) for slot in slots]
    caption = (
        f"{drawn.wide * message.height} elements of {message.bits} bits fill "
        f"{held.elements // per_register} registers; {drawn.padding(found)} slots are padding."
    )
    return Scene(
        str(message),
        (caption,),
        (
            drawn.memory(),
            make_panel("in registers", registers, ("register", "element"), False, (0, 1)),
            make_panel("in work-items", lanes, ("value", "work-item"), False, (0, 2)),
        ),
        legend_title="",
        legend=(),
    )


class _Elements:
    """The cells of a message's elements, wherever they are drawn."""

    def __init__(self, message: Block2D, inside: _Inside | None) -> None:
        self.message = message
        self.inside = inside
        self.wide = message.width * message.count

    def memory(self) -> Panel:
        places = ((y, x) for y in range(self.message.height) for x in range(self.wide))
        cells = [self.cell((y, x), y * self.wide + x) for y, x in places]
        return make_panel("in memory", cells, ("row", "column"), framed=False)

    def cell(self, place: tuple[int, int], number: int | None) -> Cell:
        """One slot: an element by its number, or padding."""
        y, x = divmod(number, self.wide) if number is not None else (self.message.height, 0)
        if number is None or y >= self.message.height:
            return Cell(*place, None, ("·",), tip="padding")
        if self.inside is not None and not self.inside(x, y):
            return Cell(*place, None, ("–",), tip=f"({y}, {x}) is outside the surface")
        data = (("row", place[0]), ("col", place[1]), ("number", number))
        return Cell(*place, 5 * y % 16, (str(number),), data, f"row {y}, column {x} in memory")

    def padding(self, found: list[int | None]) -> int:
        """Slots that hold no element of the block."""
        last = self.wide * self.message.height
        return sum(number is None or number >= last for number in found)
