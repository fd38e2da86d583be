"""Layouts in colours of one's own, and several side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import index, ne
from typing import Any, SupportsIndex, cast

from pycute_xe.composed import ComposedLayout
from pycute_xe.drawing.folding import folded
from pycute_xe.drawing.scene import CELL_LIMIT, Cell, Panel, Scene, make_panel
from pycute_xe.drawing.tiles import arranged, in_tiles
from pycute_xe.errors import ShapeError, plural
from pycute_xe.grid import grid_of
from pycute_xe.int_tuple import flatten_tuple, unflatten_tuple
from pycute_xe.layout import Layout, size, slice_and_offset
from pycute_xe.typing import Coord, is_tuple

__all__ = ["Colour", "Colours", "coloured", "of_layouts", "of_slice"]

# ------------------------------------------------------------ of layout
# A layout, plain or swizzled, as a grid of its offsets.


def of_layout(layout: Layout | ComposedLayout) -> Scene:
    """Return the grid of a layout: mode 0 down, mode 1 across, one row for rank 1.

    Cells carry the offset (or the coordinate, for basis strides), coloured by it modulo 16.
    Raises `RankError` for other ranks than 1 and 2, `ShapeError` for leaves that are not integers
    and for more cells than a drawing can show.
    """
    grid = grid_of("draw", layout, CELL_LIMIT)
    cells = [
        _cell((i % grid.rows, i // grid.rows), value, grid.flat)
        for i, value in enumerate(grid.values)
    ]
    is_offset = not isinstance(grid.values[0], tuple)
    axes = ("", "mode 0") if grid.flat else ("mode 0", "mode 1")
    return Scene(
        f"Layout {layout}",
        _caption(layout, grid.values),
        (make_panel("", cells, axes, framed=False),),
        legend_title="offset mod 16" if is_offset else "mode 0 mod 16",
        legend=tuple(map(str, range(16))),
    )


def _caption(layout: Layout | ComposedLayout, values: tuple[Any, ...]) -> tuple[str, ...]:
    if isinstance(layout, Layout):
        return (f"{len(values)} coordinates to {_range_of(values)}.",)
    swizzle, inner = layout.swizzle, layout.layout
    linear = [layout.offset + inner(i) for i in range(len(values))]
    moved = sum(map(ne, values, linear))
    read, changed = f"{swizzle.yyy_mask:#b}", f"{swizzle.zzz_mask:#b}"
    before = f"without the swizzle, {_range_of(linear).removeprefix('offsets ')}"
    return (
        f"{len(values)} coordinates to {_range_of(values)}; {before}.",
        f"Bits {read} of an offset are XORed onto bits {changed}: {moved} of the offsets change.",
    )


def _range_of(values: Sequence[Any]) -> str:
    """Return the least range that holds all offsets, or all coordinates along each axis.

    >>> _range_of([0, 2, 4]), _range_of([0, -2]), _range_of([(0, 0), (-1, 3)])
    ('offsets below 5', 'offsets from -2 to 0', 'coordinates from (-1,0) to (0,3)')
    """
    leaves = [flatten_tuple(value) for value in values]
    least, most = (tuple(map(pick, zip(*leaves, strict=True))) for pick in (min, max))
    nest: Any = values[0] if is_tuple(values[0]) else 0
    if min(least) < 0:
        ends = (str(unflatten_tuple(end, nest)).replace(" ", "") for end in (least, most))
        return f"{'coordinates' if nest else 'offsets'} from {' to '.join(ends)}"
    box = unflatten_tuple(tuple(end + 1 for end in most), nest)
    return f"coordinates in {box}" if nest else f"offsets below {box}"


def _cell(place: tuple[int, int], value: Any, flat: bool) -> Cell:
    row, col = place
    data = [("row", row), ("col", col)]
    if isinstance(value, tuple):
        leaves = flatten_tuple(value)
        colour, text = int(leaves[0]), ",".join(map(str, leaves))
    else:
        data.append(("offset", value))
        colour, text = int(value), str(value)
    at = f"({col})" if flat else f"({row}, {col})"
    return Cell(row, col, colour, (text,), tuple(data), f"{at} → {text}")


# ------------------------------------------------------------ side by side

Colour = Callable[[Any], int]
"""From a value of a layout, an offset or a coordinate, to the number of its colour."""
Colours = Colour | Mapping[str, Colour]
"""One such function for all layouts of a drawing, or one for each by its name."""

# Cells that a row of panels may have before the panels stand below each other.
_ROW = 28


def coloured(
    layout: Layout | ComposedLayout, colour: Colour | None = None, view: str | None = None
) -> Scene:
    """Return the grid of a layout, in tiles, in colours that a function of the value says.

    Numbers count modulo 16. ``view`` is one of `arranged`; "grid" is also not folded. Raises the
    errors of `of_layout` and `arranged`, and `ShapeError` where the function gives no integer.

    >>> coloured(Layout(4), lambda offset: offset // 2).legend
    ()
    """
    arrangement = arranged(layout, view)
    scene = replace(of_layout(arrangement.grid), title=f"Layout {layout}")
    if colour is not None:
        scene = _painted(scene, arrangement.grid, colour)
    if arrangement.tile == (0, 0) and view is None and isinstance(layout, ComposedLayout):
        return folded(scene)
    return in_tiles(scene, layout, arrangement)


def of_slice(layout: Layout | ComposedLayout, coord: Coord) -> Scene:
    """Return the grid of a layout in which only the slice at a coordinate is coloured.

    Law: coloured are the cells whose coordinate is ``coord`` with some entries in place of its
    ``None``. Raises `CoordError` where the coordinate does not fit, and as `of_layout`.

    >>> of_slice(Layout((4, 8), (8, 1)), (2, None)).caption[-1]
    'In colour: the 8 coordinates of (2,_).'
    """
    scene = of_layout(layout)
    part, first = slice_and_offset(coord, Layout(layout.shape))
    kept = {first + part(i) for i in range(size(part))}
    panel = scene.panels[0]
    cells = tuple(
        cell if i in kept else replace(cell, colour=None) for i, cell in enumerate(panel.cells)
    )
    text = f"In colour: the {plural(len(kept), 'coordinate')} of {_slice_text(coord)}."
    return replace(scene, panels=(replace(panel, cells=cells),), caption=(*scene.caption, text))


def _slice_text(coord: Coord) -> str:
    if is_tuple(coord):
        return f"({','.join(map(_slice_text, coord))})"
    return "_" if coord is None else str(coord)


def _painted(scene: Scene, layout: Layout | ComposedLayout, colour: Colour) -> Scene:
    panel = scene.panels[0]
    flat = not panel.row_axis

    def painted(cell: Cell) -> Cell:
        value = layout(cell.col) if flat else layout(cell.row, cell.col)
        # Colours of neighbouring numbers look alike, so that a subgroup reads as a scale; five
        # steps apart they do not.
        return replace(cell, colour=5 * _number(colour(value), value) % 16)

    cells = tuple(map(painted, panel.cells))
    return replace(scene, panels=(replace(panel, cells=cells),), legend_title="", legend=())


def _of(colours: Colours | None, name: str) -> Colour | None:
    return (
        cast("Mapping[str, Colour]", colours).get(name) if isinstance(colours, Mapping) else colours
    )


def _number(colour: object, value: object) -> int:
    try:
        return index(cast("SupportsIndex", colour))
    except TypeError:
        raise ShapeError(
            "draw",
            {"value": value, "colour": colour},
            "the colour of the value is not an integer",
            "let colour return a number for each value, such as offset // 16",
        ) from None


def of_layouts(
    named: Mapping[Any, Any], colour: Colours | None = None, view: str | None = None
) -> Scene:
    """Return the grids of several layouts by name, side by side where there is room.

    Raises `ShapeError` for values that are not layouts, or none at all, and as `of_layout` does.

    >>> of_layouts({"A": Layout(4), "B": Layout(4, 2)}).caption
    ('A = 4:1: 4 coordinates to offsets below 4.', 'B = 4:2: 4 coordinates to offsets below 7.')
    """
    if not named or not all(isinstance(v, Layout | ComposedLayout) for v in named.values()):
        raise ShapeError(
            "draw",
            {"x": named},
            "the mapping must hold layouts, at least one",
            'write draw({"A": A, "B": B}) for two layouts',
        )
    scenes = {
        str(name): coloured(layout, _of(colour, name), view) for name, layout in named.items()
    }
    beside = sum(len(scene.panels[0].cols) for scene in scenes.values()) <= _ROW
    panels: list[Panel] = []
    for name, scene in scenes.items():
        for panel in scene.panels:
            at = len(panels)
            whole = f"{name}, {panel.name}" if panel.name else name
            panels.append(replace(panel, name=whole, slot=(at, 0) if beside else (0, at)))
    captions: list[str] = []
    shared: dict[str, list[str]] = {}
    for (name, scene), layout in zip(scenes.items(), named.values(), strict=True):
        captions.append(f"{name} = {layout}: {scene.caption[0]}")
        # What is said of tiles and folds, once for all layouts of which it is said.
        for line in scene.caption[1 + isinstance(layout, ComposedLayout) :]:
            shared.setdefault(line, []).append(name)
    captions += [f"{', '.join(names)}: {line}" for line, names in shared.items()]
    # Offsets and coordinates have different legends; where both are drawn, none fits.
    legends = {(scene.legend_title, scene.legend) for scene in scenes.values()}
    title, legend = legends.pop() if len(legends) == 1 else ("", ())
    return Scene(", ".join(scenes), tuple(captions), tuple(panels), title, legend)
