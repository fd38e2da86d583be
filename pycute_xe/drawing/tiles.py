"""Layouts of tiles: as the grid of their modes with frames, or as the matrix that is tiled.

A layout does not tell how it came about: ``zipped_product`` of one pair and ``logical_divide`` of
another can be equal. So a view says how modes are read. Without one a grid of the two modes is
never rearranged; it has frames where its modes are as a divide leaves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from pycute_xe.algebra import coalesce, sort
from pycute_xe.composed import ComposedLayout
from pycute_xe.drawing.scene import Cell, Scene
from pycute_xe.errors import ShapeError, quoted
from pycute_xe.grid import demand_integers
from pycute_xe.int_tuple import leaves
from pycute_xe.layout import Layout, make_layout, size

__all__ = ["AnyLayout", "Arranged", "VIEWS", "arranged", "in_tiles"]

AnyLayout = Layout | ComposedLayout
VIEWS = {
    "tiles": "Modes are (tile, which tile), put in place",
    "columns": "Modes are (tile, which tile), so a column is a tile",
    "blocks": "Each mode is (inside, which tile)",
}
"""How modes are read, and drawn; the view "grid" has no tiles."""


@dataclass(frozen=True)
class Arranged:
    """A layout of one or two modes, drawn as a grid, and the tiles that its cells form.

    ``tile`` counts the rows and columns of a tile, ``view`` says how modes were read.
    ``coordinate`` takes a place in the grid to the index of the given layout's tile mode and of its
    other modes, where the grid is not their own.
    """

    grid: AnyLayout
    tile: tuple[int, int] = (0, 0)
    view: str = "grid"
    coordinate: Callable[[int, int], tuple[int, int]] | None = None


def arranged(layout: AnyLayout, view: str | None = None) -> Arranged:
    """Return the grid of a layout, and its tiles.

    Law: ``grid(i, j)`` is ``layout(*coordinate(i, j))``. Raises `ShapeError` for an unknown view,
    and for one that the number of modes does not allow.

    >>> from pycute_xe.algebra import zipped_divide
    >>> divided = zipped_divide(Layout((8, 8)), (4, 2))
    >>> arranged(divided).tile, arranged(divided, "tiles").tile
    ((8, 1), (4, 2))
    """
    demand_integers("draw", layout)
    view, modes = view or _natural(layout), _modes(layout)
    allowed = (*_views(modes), *(["grid"] if len(modes) <= 2 else []))
    if view not in (*allowed, "grid"):
        raise ShapeError(
            "draw",
            {"layout": layout, "view": view},
            f"a layout of such modes cannot be drawn as {quoted(view)}",
            f"use {' or '.join(map(quoted, allowed))}" if allowed else "group modes into two",
        )
    match view:
        case "tiles":
            return _in_place(layout, _parts(modes))
        case "columns":
            return Arranged(layout, (size(modes[0]), 1), view)
        case "blocks":
            return Arranged(layout, _blocks(modes), view)
        case _:
            return Arranged(layout)


def _views(modes: Sequence[Layout]) -> tuple[str, ...]:
    """Return the readings with tiles that a number of modes allows."""
    tiles = len(_parts(modes)) == 4 and (_is_pair(modes[0]) or len(modes) == 4)
    allowed = tiles, len(modes) == 2, len(modes) <= 2
    return tuple(view for view, allows in zip(VIEWS, allowed, strict=True) if allows)


def _parts(modes: Sequence[Layout]) -> list[Layout]:
    return [part for mode in modes for part in (tuple(mode) if _is_pair(mode) else (mode,))]


def _natural(layout: AnyLayout) -> str:
    """Read modes as a divide leaves them: what it cut in two is whole together."""
    modes = _modes(layout)
    pairs = [_is_pair(mode) for mode in modes]
    if len(modes) == 4 or (len(modes) == 3 and pairs[0]):
        return "tiles"
    if len(modes) > 2 or not any(pairs):
        return "grid"
    if all(map(_is_whole, modes)):
        return "blocks"
    # A tile of a vector is one mode, and the other goes over the tiles.
    zipped = [make_layout(*parts) for parts in zip(*modes, strict=True)] if all(pairs) else []
    whole = all(map(_is_whole, zipped or [make_layout(*modes)]))
    return "columns" if whole and len(modes) == 2 else "grid"


def _is_pair(mode: Layout) -> bool:
    return isinstance(mode.shape, tuple) and len(mode) == 2


def _modes(layout: AnyLayout) -> list[Layout]:
    return list(layout.layout if isinstance(layout, ComposedLayout) else layout)


def _is_whole(mode: Layout) -> bool:
    """Whether the parts of a mode cover one mode, in whichever order."""
    if len(coalesce(mode)) == 1:
        return True
    return all(type(d) is int for d in leaves(mode.stride)) and len(coalesce(sort(mode))) == 1


def _blocks(modes: Sequence[Layout]) -> tuple[int, int]:
    """Rows and columns of a block: the first part of each mode that has parts."""
    inside = [
        size(mode[0]) if isinstance(mode.shape, tuple) and len(mode) > 1 else size(mode)
        for mode in modes
    ]
    return (1, inside[0]) if len(inside) == 1 else (inside[0], inside[1])


def _in_place(layout: AnyLayout, parts: Sequence[Layout]) -> Arranged:
    """Put tiles where they are in the matrix that they tile."""
    rows, cols, down, across = parts
    matrix = make_layout(make_layout(rows, down), make_layout(cols, across))
    tile = size(rows), size(cols)

    def coordinate(row: int, col: int) -> tuple[int, int]:
        (i, m), (j, n) = divmod(row, tile[0]), divmod(col, tile[1])
        return m + tile[0] * n, i + size(down) * j

    grid = layout.with_layout(matrix) if isinstance(layout, ComposedLayout) else matrix
    return Arranged(grid, tile, "tiles", coordinate)


def in_tiles(scene: Scene, layout: AnyLayout, arrangement: Arranged) -> Scene:
    """Return the scene of a layout's grid with frames around its tiles, and their coordinates."""
    panel, (height, width) = scene.panels[0], arrangement.tile
    lines, columns = (len(panel.rows) // height, len(panel.cols) // width) if height else (1, 1)
    if lines * columns == 1 or height * width == 1:
        return scene
    names = [_name(i, j, lines, columns) for i, j in product(range(lines), range(columns))]
    if arrangement.view == "columns" and _is_pair(_modes(arrangement.grid)[1]):
        down = size(_modes(arrangement.grid)[1][0])
        names = [f"({j % down},{j // down})" for j in range(columns)]
    cells = panel.cells
    if arrangement.coordinate is not None:
        cells = tuple(_renamed(cell, arrangement.tile, arrangement.coordinate) for cell in cells)
        panel = replace(panel, row_axis="row", col_axis="column")
    panel = replace(panel, cells=cells, tile=arrangement.tile, tile_names=tuple(names))
    others = [quoted(view) for view in _views(_modes(layout)) if view != arrangement.view]
    caption = (
        *scene.caption,
        f"Frames: tiles of {height} × {width}, named by their place among the tiles.",
        f"{VIEWS[arrangement.view]}{'; also view=' if others else ''}{' or '.join(others)}.",
    )
    return replace(scene, caption=caption, panels=(panel,))


def _name(line: int, column: int, lines: int, columns: int) -> str:
    if lines == 1 or columns == 1:
        return f"{line + column}"
    return f"({line},{column})"


def _renamed(
    cell: Cell, tile: tuple[int, int], coordinate: Callable[[int, int], tuple[int, int]]
) -> Cell:
    """Name a cell by the coordinate of the layout, which is not its place in the grid."""
    (i, m), (j, n) = divmod(cell.row, tile[0]), divmod(cell.col, tile[1])
    row, col = coordinate(cell.row, cell.col)
    data = (("row", row), ("col", col), *cell.data[2:])
    return replace(cell, data=data, tip=f"({m}, {n}) of tile ({i}, {j}) → {cell.label}")
