"""A layout as a grid, the value at each coordinate of its one or two modes.

What tables and drawings have in common: which layouts they can show, and why not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycute_xe.basis import coefficients
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import RankError, ShapeError
from pycute_xe.int_tuple import leaves
from pycute_xe.layout import Layout, as_layout, size

__all__ = ["Grid", "demand_integers", "grid_of"]


@dataclass(frozen=True, slots=True)
class Grid:
    """The values of a layout: ``rows`` by ``cols``, ``values`` column by column.

    A layout of rank 1 is one row, and ``flat``. Values are offsets, or coordinates for basis
    strides.

    >>> grid_of("table", Layout((2, 3), (3, 1)), 100).at(1, 2)
    5
    """

    rows: int
    cols: int
    flat: bool
    values: tuple[Any, ...]

    def at(self, row: int, col: int) -> Any:
        """Return the value at a coordinate."""
        return self.values[row + self.rows * col]


def grid_of(operation: str, layout: Layout | ComposedLayout, limit: int) -> Grid:
    """Return the values of a layout of one or two modes, mode 0 down and mode 1 across.

    Law: ``at(i, j) == layout(i, j)``. Nothing is computed before all is known to fit. Raises
    `ShapeError` for leaves that are not integers and for more than ``limit`` values, `RankError`
    for other ranks, both in the name of ``operation``.
    """
    demand_integers(operation, layout)
    if len(layout) not in (1, 2):
        raise RankError(
            operation,
            {"layout": layout},
            f"a grid has two modes, the layout has {len(layout)}",
            "group modes into two, or slice",
        )
    count = size(layout)
    if count > limit:
        raise ShapeError(
            operation,
            {"layout": layout},
            f"{count} cells are more than can be shown ({limit})",
            "show a slice of it",
        )
    flat = len(layout) == 1
    rows = 1 if flat else size(layout[0])
    return Grid(rows, count // rows, flat, tuple([layout(i) for i in range(count)]))


def demand_integers(operation: str, layout: Layout | ComposedLayout) -> None:
    """Raise `ShapeError` for a layout with an extent or stride that is not known as an integer.

    >>> demand_integers("draw", Layout(4))
    """
    plain = layout.layout if isinstance(layout, ComposedLayout) else as_layout(layout)
    for leaf in (*leaves(plain.shape), *leaves(plain.stride)):
        if any(type(number) is not int for number in coefficients(leaf)):
            raise ShapeError(
                operation,
                {"layout": layout},
                f"{leaf} is not known as an integer",
                "substitute numbers first",
            )
