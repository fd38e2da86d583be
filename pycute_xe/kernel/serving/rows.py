"""Kernels of rows: each subgroup has whole rows of a matrix and goes through them tile by tile."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from pycute_xe.algebra.compose import index_at
from pycute_xe.bulk import layout_of
from pycute_xe.errors import KernelError
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import ELEMENT_INDEX, Index, Tiles
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.kinds.attention_form import F32
from pycute_xe.layout import Layout
from pycute_xe.numeric import as_numeric

__all__ = ["RowBuilder", "rounded"]


class RowBuilder(KernelBuilder):
    """A builder of kernels that go through rows of ``columns`` elements, a tile at a time.

    ``columns`` is a number or the name of an extent; ``tile`` is that of a work-group, whose rows
    ``subgroups`` share out; of a kind that is given ``rows`` alone, its width is ``wide``. Raises
    `KernelError` unless each gets a multiple of 16 rows.
    """

    def __init__(
        self,
        name: str,
        columns: int | str,
        tile: tuple[int, int] | int,
        subgroups: int,
        wide: int = 0,
    ) -> None:
        """Cut the tile."""
        super().__init__(name, subgroups)
        given, usual = {"rows": tile}, f"rows={16 * subgroups}"
        if isinstance(tile, tuple):
            given, usual = {"tile": tile}, f"tile=({16 * subgroups}, 32)"
        tile = tile if isinstance(tile, tuple) else (tile, wide)
        rows = tile[0] // max(subgroups, 1)
        if rows < 16 or rows % 16 or rows * subgroups != tile[0]:
            wrong = f"{subgroups} subgroups do not have a multiple of 16 of {tile[0]} rows each"
            raise KernelError(name, given, wrong, f"use {usual}")
        self.extent, self.tile = columns, tile
        self.part = self.parts(tile, (subgroups, 1))
        self.by_row = self.part.along(0)
        (self.m,) = self.grid(m=Tiles("M", tile[0]))
        self.column, self.of_element = Index(), Index()

    def matrix(self, name: str, kind: str) -> Operand:
        """Declare an input of M rows."""
        return self.input(name, kind, ("M", self.extent))

    @contextmanager
    def tiles(self, var: str) -> Generator[Index]:
        """Do what the ``with`` block writes for each tile of the rows; give its first column."""
        width, columns = self.tile[1], self.extent
        count = Tiles(columns, width) if isinstance(columns, str) else -(-columns // width)
        with self.loop(var, 0, count) as i:
            self.column = i * width
            yield self.column

    def take_rows(self, name: str, operand: Operand) -> None:
        """Load the tile at hand in f32."""
        at = (self.m * self.tile[0], self.column)
        wide = operand.value_type.name == "f32"
        first = name if wide else f"{name}_in"
        self.load(first, operand, self.part, at)
        if not wide:
            self.convert(name, first, "f32")
        places = self.spread_of(name).places[:, 1].tolist()
        self.of_element = index_at(layout_of(places) or Layout(), Index(ELEMENT_INDEX))

    def take_columns(self, name: str, operand: Operand) -> None:
        """Load what a vector says of the columns at hand."""
        self.load(name, operand, self.part.along(1), at=self.column)

    def within(self, value: str, otherwise: str) -> str:
        """Return a value of the tile at hand, and another one behind the last column."""
        return f"where({self.column + self.of_element} < {self.extent}, {value}, {otherwise})"

    def within_rows(self, value: str, otherwise: str, rows: str) -> str:
        """Return a value of the tile at hand, and another one behind the last row."""
        first = index_at(layout_of(self.part.starts[:, 0].tolist()) or Layout(), self.subgroup)
        places = layout_of(self.part.places[:, 0].tolist()) or Layout()
        row = self.m * self.tile[0] + first + index_at(places, Index(ELEMENT_INDEX))
        return f"where({row} < {rows}, {value}, {otherwise})"

    def gather_rows(self, how: str, into: str, value: str) -> None:
        """Combine the values of each row of the tile at hand with those before."""
        combined = {"sum": f"{into} + {into}_part", "max": f"max({into}, {into}_part)"}[how]
        self.map(f"{into}_of", value, "f32")
        self.reduce(f"{into}_part", how, f"{into}_of", axis=1)
        self.map(into, combined)

    def put_rows(self, operand: Operand, value: str) -> None:
        """Store a value of the tile at hand, rounded to the operand's type."""
        self.map(f"{operand.name}_f32", value, "f32")
        name = f"{operand.name}_f32"
        if operand.value_type.name != "f32":
            self.convert(f"{operand.name}_out", name, operand.value_type)
            name = f"{operand.name}_out"
        self.store(operand, name, at=(self.m * self.tile[0], self.column))


def rounded(kind: str, value: str) -> str:
    """Return the claim of a value that is stored in a type.

    >>> rounded("bf16", "X[m,n]"), rounded("f32", "X[m,n]")
    ('bf16(X[m,n])', 'X[m,n]')
    """
    return value if as_numeric(kind) == F32 else f"{kind}({value})"
