"""Vectors beside a matrix: a bias for each column or row, and how lanes share it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pycute_xe.atom.block2d_op import XE_LOAD_2D
from pycute_xe.atom.copy_atom import make_copy_atom
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import layout_of, table
from pycute_xe.errors import KernelError
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Fragment, Operand
from pycute_xe.kernel.ir.statements import Convert, Load, Statement
from pycute_xe.kernel.tiles.slots import mma_slots
from pycute_xe.kernel.tiles.spread import Share, Spread
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Vector", "accumulator_places", "one_copy", "vector_copy", "vector_gather"]


BF16 = as_numeric("bf16")


@dataclass(frozen=True)
class Vector:
    """Values for rows or columns: one vector, or one for each group of so many k."""

    operand: Operand
    copy: TiledCopy
    corner: tuple[Index, ...]
    group: int | None
    gather: Layout

    @property
    def filled(self) -> str:
        """The fragment that it is loaded into."""
        return f"tSr{self.operand.name}"

    @property
    def read(self) -> str:
        """The fragment that a transform reads: elements that share bytes are widened first."""
        return f"tSv{self.operand.name}" if self.operand.value_type.bits < 8 else self.filled

    @property
    def fragments(self) -> tuple[Fragment, ...]:
        """The registers of a subgroup's part."""
        slots = self.copy.messages * self.copy.atom.values
        loaded = Fragment(self.filled, self.operand.value_type, slots)
        return (loaded,) if self.read == self.filled else (loaded, Fragment(self.read, BF16, slots))

    def loaded(self, first: Index) -> tuple[Statement, ...]:
        """Return the statements that bring what the tile of K that begins at ``first`` needs."""
        load = self.load(first)
        return (load,) if self.read == self.filled else (load, Convert(self.filled, self.read))

    def load(self, first: Index) -> Load:
        """Return the load of it."""
        rank = len(self.operand.modes)
        if self.group is None:
            return Load(self.copy, self.operand.name, self.corner, self.filled, (None, rank - 1))
        # The vector of a group is a row, whichever mode comes first.
        *lead, place = self.corner
        row, axis = first // self.group, self.operand.contiguous
        pair = (row, place) if axis == rank - 1 else (place, row)
        modes = (2 * rank - 3 - axis, axis)
        return Load(self.copy, self.operand.name, (*lead, *pair), self.filled, modes)


def accumulator_places(mma: TiledMma, letter: str, role: str = "C") -> Ints:
    """Return (subgroup, register element of an operand) → m, n or k in the tile."""
    axis = {"A": "mk", "B": "nk", "C": "mn"}[role].index(letter)
    (_, threads), _ = mma.fragment(role)
    lanes = _along(mma_slots(mma, role), axis)
    starts = _along(threads, axis)
    order = table(mma.operand_subgroups(role))
    return starts[order][:, None] + lanes[None, :]


def _along(layout: Layout, axis: int) -> Ints:
    """Return one coordinate of each value; a layout that never moves has none to tell."""
    coordinates = table(layout)
    column = np.zeros(coordinates.shape[0], dtype=np.int64)
    if coordinates.ndim == 2 and axis < coordinates.shape[1]:
        column += coordinates[:, axis]
    return column


def vector_copy(mma: TiledMma, letter: str, numeric: Numeric, part: int | None = None) -> TiledCopy:
    """Return the copy that gives every subgroup the part of a vector that its rows or columns need.

    One row of a block, a whole register a message; the last may reach past the subgroup's part.
    ``letter`` is "m" for a value for each row, "n" for each column; ``part`` takes only so many.

    >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> from pycute_xe.numeric import as_numeric
    >>> print(vector_copy(mma, "n", as_numeric("f32")))
    XE_LOAD_2D<32,1,16> of f32, 4 per subgroup × 32 subgroups, tile 1x256
    """
    axis = "mn".index(letter)
    spread = Spread.of_share(Share(mma, "C")).along(axis)
    return spread.row("load", numeric, axis, part or len(spread.places))


def one_copy(mma: TiledMma) -> TiledCopy:
    """Return the copy of 16 numbers of f32 of which every subgroup wants the first."""
    atom = make_copy_atom(XE_LOAD_2D(32, 1, 16), as_numeric("f32"))
    threads = make_layout(atom.layout_ref_tv[0], Layout(mma.num_subgroups, 0))
    tv = make_layout(threads, make_layout(atom.layout_ref_tv[1], Layout(1, 0)))
    return TiledCopy(atom, tv, (1, 16), 1, 0)


def vector_gather(mma: TiledMma, letter: str, role: str = "C") -> Layout:
    """Return register element of C, A or B → element of the loaded part that belongs to it.

    >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> print(vector_gather(mma, "n"), vector_gather(mma, "m"))
    (16,32,4):(1,0,16) (16,32,4):(0,1,0)
    """
    part = accumulator_places(mma, letter, role)[0]
    gather = layout_of(tuple(int(x) for x in part - part.min()))
    if gather is None or size(gather) != part.size:
        raise KernelError(
            "epilogue", {"mma": mma}, "no layout broadcasts the vector", "use workgroup_mma"
        )
    return gather
