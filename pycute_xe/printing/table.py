"""A layout as a table of boxes, as CuTe prints it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycute_xe.basis import ArithTuple, Basis, BasisSum
from pycute_xe.composed import ComposedLayout
from pycute_xe.grid import Grid, grid_of
from pycute_xe.int_tuple import flatten_tuple
from pycute_xe.layout import Layout, cosize
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import IntTuple, is_tuple

__all__ = ["TABLE_LIMIT", "layout_table", "print_layout", "latex_math", "to_latex"]

# ------------------------------------------------------------ latex
# Layouts as LaTeX, a formula or a picture.

LATEX_LIMIT = 4096
"""A picture with more cells is refused: TikZ takes minutes, and the picture would be unreadable."""

_SHADES = 8
_PAGE = (11.5, 17.0)
"""Room for a picture on a page of the class article, in centimetres: width and height."""


@typed
def latex_math(layout: Layout | ComposedLayout | Swizzle | IntTuple) -> str:
    r"""Return the formula of a layout, a swizzle or a nested tuple, for LaTeX's math mode.

    Brackets grow with their depth; a basis stride ``3@1@0`` is :math:`3\,e_{0,1}`. Leaves that are
    not integers stand as they print.

    >>> print(latex_math(Layout(((2, 4), 8), ((1, 16), 2))))
    \left(\left(2,4\right),8\right):\left(\left(1,16\right),2\right)
    >>> print(latex_math(ComposedLayout(Swizzle(2, 0, 3), 0, Layout((8, 8)))))
    \mathrm{Sw}_{2,0,3} \circ 0 \circ \left(8,8\right):\left(1,8\right)
    """
    if isinstance(layout, ComposedLayout):
        parts = (layout.swizzle, layout.offset, layout.layout)
        return r" \circ ".join(map(latex_math, parts))
    if isinstance(layout, Swizzle):
        return rf"\mathrm{{Sw}}_{{{layout.bits},{layout.base},{layout.shift}}}"
    if isinstance(layout, Layout):
        return f"{_tree(layout.shape)}:{_tree(layout.stride)}"
    return _tree(layout)


def _tree(value: IntTuple) -> str:
    if is_tuple(value):
        return rf"\left({','.join(map(_tree, value))}\right)"
    if isinstance(value, Basis):
        unit = f"e_{{{','.join(map(str, value.modes))}}}"
        return unit if value.value == 1 else rf"{_tree(value.value)}\,{unit}"
    if isinstance(value, BasisSum):
        return "+".join(map(_tree, value.terms))
    text = str(value)
    for sign in "%_#&":
        text = text.replace(sign, f"\\{sign}")
    return text


@typed
def to_latex(layout: Layout | ComposedLayout) -> str:
    r"""Return a LaTeX document that draws a layout: its formula over the grid of its offsets.

    Mode 0 runs down, mode 1 across; cells are shaded by their offset modulo 8 and carry it, or the
    coordinate for basis strides. The picture is scaled to fit its page. The document needs the
    package ``tikz`` alone; the ``tikzpicture`` in it can be used in any other. Raises `RankError`
    for other ranks than 1 and 2, `ShapeError` for more than 4096 cells and for leaves that are not
    integers. C++: ``print_latex``.

    >>> for line in to_latex(Layout((1, 2))).splitlines()[4:7]: print(line)
    \begin{tikzpicture}[x=1cm,y=-1cm,scale=1.000,transform shape]
    \node[anchor=south] at (1.00,-0.80) {$\left(1,2\right):\left(0,1\right)$};
    \filldraw[fill=black!0,draw=black] (0,0) rectangle +(1,1) node[midway] {0};
    """
    grid = grid_of("to_latex", layout, LATEX_LIMIT)
    wide = max(len(_label(value)) for value in grid.values)
    unit = max(1.0, 0.22 * wide + 0.2)
    scale = min(1.0, _PAGE[0] / (grid.cols * unit + 1), _PAGE[1] / (grid.rows + 2))
    return "\n".join(
        [
            r"\documentclass{article}",
            r"\usepackage{tikz}",
            r"\pagestyle{empty}",
            r"\begin{document}",
            rf"\begin{{tikzpicture}}[x={unit:g}cm,y=-1cm,scale={scale:.3f},transform shape]",
            rf"\node[anchor=south] at ({grid.cols / 2:.2f},-0.80) {{${latex_math(layout)}$}};",
            *_cells(grid),
            *_numbers(grid, unit),
            r"\end{tikzpicture}",
            r"\end{document}",
        ]
    )


def _cells(grid: Grid) -> Iterator[str]:
    for row in range(grid.rows):
        for col in range(grid.cols):
            value = grid.at(row, col)
            # Up to 49 % black, on which black text still reads.
            shade = 7 * (_number(value) % _SHADES)
            yield (
                rf"\filldraw[fill=black!{shade},draw=black] ({col},{row}) rectangle +(1,1) "
                f"node[midway] {{{_label(value)}}};"
            )


def _numbers(grid: Grid, unit: float) -> Iterator[str]:
    for col in range(grid.cols):
        yield rf"\node at ({col}.5,-0.35) {{\tiny {col}}};"
    for row in range(0 if grid.flat else grid.rows):
        yield rf"\node at ({-0.35 / unit:.2f},{row}.5) {{\tiny {row}}};"


def _number(value: Any) -> int:
    return flatten_tuple(value)[0] if is_tuple(value) else value


def _label(value: Any) -> str:
    return str(value).replace(" ", "") if isinstance(value, ArithTuple) else str(value)


# ------------------------------------------------------------ table

TABLE_LIMIT = 8192
"""A table with more cells is refused: it would be unreadable."""


@typed
def print_layout(layout: Layout | ComposedLayout) -> None:
    """Print a layout and the table of its offsets, mode 0 down and mode 1 across.

    Law: the lines of `layout_table`. Raises as that does. C++: ``print_layout``.

    >>> print_layout(Layout((2, 4), (4, 1)))
    (2,4):(4,1)
          0   1   2   3
        +---+---+---+---+
     0  | 0 | 1 | 2 | 3 |
        +---+---+---+---+
     1  | 4 | 5 | 6 | 7 |
        +---+---+---+---+
    """
    print(layout_table(layout))  # noqa: T201 - what it is for


@typed
def layout_table(layout: Layout | ComposedLayout) -> str:
    """Return the table that `print_layout` prints: the layout, numbered columns, numbered rows.

    Cells hold offsets in elements, or coordinates for basis strides. A layout of rank 1 is one row
    without a number. Blank for blank what C++ prints, where its numbers fit its columns: these are
    as wide as the cosize, here also as the widest number. Raises `RankError` for other ranks than
    1 and 2, `ShapeError` for more than 8192 cells and for leaves that are not integers.
    C++: ``print_layout``, for rank 2 and integer strides.

    >>> print(layout_table(Layout((2, 2), (100, 1))))
    (2,2):(100,1)
            0     1
        +-----+-----+
     0  |   0 |   1 |
        +-----+-----+
     1  | 100 | 101 |
        +-----+-----+
    """
    grid = grid_of("print_layout", layout, TABLE_LIMIT)
    return "\n".join([str(layout), *_lines(grid, _width(layout, grid))])


def _width(layout: Layout | ComposedLayout, grid: Grid) -> int:
    inner = layout.layout if isinstance(layout, ComposedLayout) else layout
    reach = "" if _is_coordinate(grid.values[0]) else str(cosize(inner))
    texts = (reach, str(grid.cols - 1), *map(_label, grid.values))
    return max(map(len, texts))


def _lines(grid: Grid, width: int) -> Iterator[str]:
    gutter = max(2, len(str(grid.rows - 1)))
    blank = " " * (gutter + 2)
    rule = blank + f"+{'-' * (width + 2)}" * grid.cols + "+"
    yield blank + "".join([f"  {col:>{width}} " for col in range(grid.cols)])
    yield rule
    for row in range(grid.rows):
        head = "" if grid.flat else str(row)
        cells = [f"| {_label(grid.at(row, col)):>{width}} " for col in range(grid.cols)]
        yield f"{head:>{gutter}}  {''.join(cells)}|"
        yield rule


def _is_coordinate(value: object) -> bool:
    return isinstance(value, tuple)
