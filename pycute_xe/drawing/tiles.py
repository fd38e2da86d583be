"""Layouts of tiles as the grids that they tile: what is beside what, and where tiles end.

A layout does not tell how it came about: ``zipped_product`` of one pair and ``logical_divide`` of
another can be equal. So a view says how modes are read, and without one they are read as a divide
of a matrix leaves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product

from pycute_xe.algebra import coalesce
from pycute_xe.composed import ComposedLayout
from pycute_xe.drawing.scene import Cell, Scene
from pycute_xe.errors import ShapeError
from pycute_xe.grid import demand_integers
from pycute_xe.layout import Layout, make_layout, size

__all__ = ["AnyLayout", "Arranged", "VIEWS", "arranged", "in_tiles"]

AnyLayout = Layout | ComposedLayout
_TILES = 'Modes are (tile, which tile); view="blocks" reads each as (inside, which tile).'
_BLOCKS = 'Each mode is (inside, which tile); view="tiles" reads modes as (tile, which tile).'
VIEWS = ("tiles", "blocks", "grid")
"""Readings of modes: (tile, which tile), each as (inside, which tile), without tiles."""


@dataclass(frozen=True)
class Arranged:
    """A layout of one or two modes, drawn as a grid, and the tiles that its cells form.

    ``tile`` counts the rows and columns of a tile, ``reading`` says how modes were read.
    ``coordinate`` takes a place in the grid to the index of the given layout's tile mode and of its
    other modes, where the grid is not their own.
    """

    grid: AnyLayout
    tile: tuple[int, int] = (0, 0)
    reading: str = ""
    coordinate: Callable[[int, int], tuple[int, int]] | None = None


def arranged(layout: AnyLayout, view: str | None = None) -> Arranged:
    """Return the grid of a layout, its tiles side by side.

    Law: ``grid(i, j)`` is ``layout(*coordinate(i, j))``. Raises `ShapeError` for an unknown view,
    and for "tiles" of a layout that has no two modes.

    >>> from pycute_xe.algebra import zipped_divide
    >>> a = arranged(zipped_divide(Layout((8, 8)), (4, 2)))
    >>> a.grid.shape, a.tile
    (((4, 2), (2, 4)), (4, 2))
    """
    demand_integers("draw", layout)
    match view or _natural(layout):
        case "grid":
            return Arranged(layout)
        case "blocks" if len(layout) <= 2:
            return Arranged(layout, _blocks(layout), _BLOCKS if len(layout) == 2 else "")
        case "tiles" if len(layout) > 1:
            return _tiles(layout)
        case _:
            raise ShapeError(
                "draw",
                {"layout": layout, "view": view},
                f"a layout of {len(layout)} modes cannot be drawn as {view!r}",
                f'use one of {", ".join(VIEWS)}; "tiles" needs two modes or more, "blocks" at most '
                "two",
            )


def _natural(layout: AnyLayout) -> str:
    """Read modes as a divide of a matrix leaves them."""
    modes = _modes(layout)
    pairs = [_is_pair(mode) for mode in modes]
    if len(modes) == 4 or (len(modes) == 3 and pairs[0]):
        return "tiles"
    if len(modes) != 2 or not any(pairs):
        return "blocks" if len(modes) == 1 and pairs[0] else "grid"
    if all(pairs):
        zipped = [make_layout(*parts) for parts in zip(*modes, strict=True)]
        return "tiles" if _is_divided(zipped) and not _is_divided(modes) else "blocks"
    # A tile of a vector is one mode, and the other goes over the tiles, unless it is cut in two.
    return "tiles" if pairs[1] and not _is_divided(modes[1:]) else "blocks"


def _is_pair(mode: Layout) -> bool:
    return isinstance(mode.shape, tuple) and len(mode) == 2


def _modes(layout: AnyLayout) -> tuple[Layout, ...]:
    return tuple(layout.layout if isinstance(layout, ComposedLayout) else layout)


def _is_divided(modes: Iterable[Layout]) -> bool:
    """Whether the parts of each mode follow each other, so that it is one mode cut in two."""
    return all(len(coalesce(mode)) == 1 for mode in modes)


def _blocks(layout: AnyLayout) -> tuple[int, int]:
    """Rows and columns of a block: the first part of each mode that has parts."""
    inside = [
        size(mode[0]) if isinstance(mode.shape, tuple) and len(mode) > 1 else size(mode)
        for mode in _modes(layout)
    ]
    return (1, inside[0]) if len(inside) == 1 else (inside[0], inside[1])


def _tiles(layout: AnyLayout) -> Arranged:
    """Put tiles where they are in the matrix; those of a vector are columns."""
    modes = _modes(layout)
    parts = [part for mode in modes for part in (tuple(mode) if _is_pair(mode) else (mode,))]
    tile_is_matrix = _is_pair(modes[0]) or len(modes) == 4
    if len(modes) == 2 and not (tile_is_matrix and _is_pair(modes[1])):
        return Arranged(layout, (size(modes[0]), 1), _TILES)
    if len(parts) != 4:
        condition = f"its tiles and where they are have {len(parts)} modes, not 2 and 2"
        raise ShapeError("draw", {"layout": layout}, condition, "group modes into two, or slice")
    (rows, cols, down, across) = parts
    matrix = make_layout(make_layout(rows, down), make_layout(cols, across))
    tile = size(rows), size(cols)

    def coordinate(row: int, col: int) -> tuple[int, int]:
        (i, m), (j, n) = divmod(row, tile[0]), divmod(col, tile[1])
        return m + tile[0] * n, i + size(down) * j

    grid = layout.with_layout(matrix) if isinstance(layout, ComposedLayout) else matrix
    return Arranged(grid, tile, _TILES if len(modes) == 2 else "", coordinate)


def in_tiles(scene: Scene, found: Arranged) -> Scene:
    """Return the scene of a grid with frames around its tiles, and each tile's coordinate."""
    panel, (height, width) = scene.panels[0], found.tile
    lines, columns = (len(panel.rows) // height, len(panel.cols) // width) if height else (1, 1)
    if lines * columns == 1 or height * width == 1:
        return scene
    names = tuple(_name(i, j, lines, columns) for i, j in product(range(lines), range(columns)))
    cells = panel.cells
    if found.coordinate is not None:
        cells = tuple(_renamed(cell, found.tile, found.coordinate) for cell in cells)
        panel = replace(panel, row_axis="row", col_axis="column")
    panel = replace(panel, cells=cells, tile=found.tile, tile_names=names)
    words = f"Frames: tiles of {height} × {width}, named by their place among the tiles."
    reading = (found.reading,) if found.reading else ()
    return replace(scene, caption=(*scene.caption, words, *reading), panels=(panel,))


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
