"""A tensor under the layout of another project, as a matrix of owners."""

from __future__ import annotations

from pycute_xe.dialects import Distributed
from pycute_xe.drawing.scene import CELL_LIMIT, Cell, Scene, make_panel
from pycute_xe.errors import RankError, ShapeError

__all__ = ["of_tensor"]


def of_tensor(tensor: Distributed) -> Scene:
    """Return the owner of each element: lane, value, and the subgroup where there are several."""
    rank = len(tensor.shape)
    if rank > 2:
        wrong = f"the tensor has rank {rank}"
        raise RankError("draw", {"x": tensor}, wrong, "draw one matrix of the batch")
    elements = tensor.by_element
    if len(elements) > CELL_LIMIT:
        wrong = f"{len(elements)} elements are more than the {CELL_LIMIT} cells of a drawing"
        raise ShapeError("draw", {"x": tensor}, wrong, "draw a smaller tensor")
    cells = [_cell(element, owners) for element, owners in elements.items()]
    several = max(map(len, elements.values()))
    caption = [f"{tensor}.", "Colours are lanes, modulo 16; T is the lane, V the value."]
    if tensor.subgroups > 1:
        caption.append("Frames are those of subgroups, whose number S the tooltips say.")
    if several > 1:
        caption.append(f"Up to {several} places own an element: the first is shown.")
    panel = make_panel("", cells, ("row", "column") if rank == 2 else ("", "element"))
    name = type(tensor.encoding).__name__
    return Scene(f"Who owns a tensor under {name}", tuple(caption), (panel,))


def _cell(element: tuple[int, ...], owners: tuple[tuple[int, ...], ...]) -> Cell:
    subgroup, lane, value = owners[0]
    row, col = element if len(element) == 2 else (0, element[0])
    places = ", ".join(f"S{s}·T{t}·V{v}" for s, t, v in owners[:4])
    more = f" and {len(owners) - 4} more" if len(owners) > 4 else ""
    return Cell(
        row,
        col,
        colour=lane,
        lines=(f"T{lane}", f"V{value}"),
        data=(("subgroup", subgroup), ("lane", lane), ("value", value), ("row", row), ("col", col)),
        tip=f"{list(element)} is owned by {places}{more}",
        group=subgroup,
    )
